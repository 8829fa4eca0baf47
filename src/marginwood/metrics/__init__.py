"""Interval metrics, and scorers for scikit-learn's searches."""

from marginwood.metrics._brier import integrated_interval_brier_score, interval_brier_score
from marginwood.metrics._distributions import (
    d_calibration,
    interval_coverage,
    interval_crps,
    interval_log_loss,
)
from marginwood.metrics._importance import permutation_importance
from marginwood.metrics._ipcw import (
    calibration_at,
    cumulative_dynamic_auc,
    integrated_ipcw_brier_score,
    ipcw_brier_score,
)
from marginwood.metrics._points import (
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
)
from marginwood.metrics._ranking import (
    interval_concordance_index,
    target_interval_auc,
    target_interval_aum,
    target_interval_roc,
)
from marginwood.metrics._scorers import SCORERS, get_scorer
from marginwood.metrics._tables import error_table

__all__ = [
    "SCORERS",
    "calibration_at",
    "cumulative_dynamic_auc",
    "d_calibration",
    "error_table",
    "get_scorer",
    "integrated_interval_brier_score",
    "integrated_ipcw_brier_score",
    "interval_accuracy",
    "interval_brier_score",
    "interval_concordance_index",
    "interval_coverage",
    "interval_crps",
    "interval_d2_score",
    "interval_hinge_loss",
    "interval_log_loss",
    "interval_mean_absolute_error",
    "interval_mean_squared_error",
    "interval_pinball_loss",
    "ipcw_brier_score",
    "permutation_importance",
    "target_interval_auc",
    "target_interval_aum",
    "target_interval_roc",
]
