"""Interval metrics, and scorers for scikit-learn's searches."""

from marginwood.metrics._points import (
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.metrics._ranking import (
    TargetIntervalROC,
    interval_concordance_index,
    target_interval_auc,
    target_interval_aum,
    target_interval_roc,
)
from marginwood.metrics._scorers import SCORERS, get_scorer

__all__ = [
    "SCORERS",
    "TargetIntervalROC",
    "get_scorer",
    "interval_accuracy",
    "interval_concordance_index",
    "interval_d2_score",
    "interval_hinge_loss",
    "interval_mean_absolute_error",
    "interval_mean_squared_error",
    "target_interval_auc",
    "target_interval_aum",
    "target_interval_roc",
]
