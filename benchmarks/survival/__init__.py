"""Survival analysis: how early predictions are, and how distributions compare with those of other libraries."""
