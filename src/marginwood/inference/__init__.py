"""Answers that can be quoted: tables of estimates with their uncertainty, and tests."""

from marginwood.inference._table import Table

__all__ = ["Table"]
