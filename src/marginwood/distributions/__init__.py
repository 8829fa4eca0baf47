"""Distributions of interval-censored values: the NPMLE of Turnbull, and what can be asked of it."""

from marginwood.distributions._bands import ConfidenceBand
from marginwood.distributions._imputation import impute
from marginwood.distributions._npmle import Turnbull, turnbull
from marginwood.distributions._steps import IntervalDistribution

__all__ = ["ConfidenceBand", "IntervalDistribution", "Turnbull", "impute", "turnbull"]
