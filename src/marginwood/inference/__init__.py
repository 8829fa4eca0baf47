"""Answers that can be quoted: tables of estimates with their uncertainty, and tests."""

from marginwood.inference._groups import GroupComparison, TrendAcross, compare_groups
from marginwood.inference._nondetects import censored_summary
from marginwood.inference._table import Table
from marginwood.inference._trend import TrendTest, trend_test

__all__ = [
    "GroupComparison",
    "Table",
    "TrendAcross",
    "TrendTest",
    "censored_summary",
    "compare_groups",
    "trend_test",
]
