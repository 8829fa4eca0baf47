"""Answers that can be quoted: tables of estimates with their uncertainty, and tests."""

from marginwood.inference._groups import GroupComparison, TrendAcross, compare_groups
from marginwood.inference._table import Table

__all__ = ["GroupComparison", "Table", "TrendAcross", "compare_groups"]
