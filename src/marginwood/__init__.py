"""Regression when labels are intervals: maximum margin interval trees."""

from marginwood.baselines import IntervalCART, IntervalDummyRegressor
from marginwood.boosting import MaxMarginIntervalBoosting
from marginwood.export import export_text
from marginwood.forest import MaxMarginIntervalForest
from marginwood.intervals import check_intervals, from_detection_limits, from_events, make_intervals
from marginwood.linear import L1IntervalRegression, L1IntervalRegressionCV
from marginwood.metrics import (
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.model_selection import CensoringStratifiedKFold, MaxMarginIntervalTreeCV
from marginwood.persistence import load, save
from marginwood.solver import optimal_costs
from marginwood.transformation import TransformationTree, TransformationTreeCV
from marginwood.tree import MaxMarginIntervalTree
from marginwood.version import __version__ as __version__
from marginwood.warmup import warmup

__all__ = [
    "CensoringStratifiedKFold",
    "IntervalCART",
    "IntervalDummyRegressor",
    "L1IntervalRegression",
    "L1IntervalRegressionCV",
    "MaxMarginIntervalBoosting",
    "MaxMarginIntervalForest",
    "MaxMarginIntervalTree",
    "MaxMarginIntervalTreeCV",
    "TransformationTree",
    "TransformationTreeCV",
    "check_intervals",
    "export_text",
    "from_detection_limits",
    "from_events",
    "interval_accuracy",
    "interval_d2_score",
    "interval_hinge_loss",
    "interval_mean_absolute_error",
    "interval_mean_squared_error",
    "load",
    "make_intervals",
    "optimal_costs",
    "save",
    "warmup",
]
