"""Ranges with a promise: conformal prediction when labels are intervals."""

from marginwood.conformal._regressor import ConformalIntervalRegressor

__all__ = ["ConformalIntervalRegressor"]
