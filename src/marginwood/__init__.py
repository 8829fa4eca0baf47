"""Regression when labels are intervals: maximum margin interval trees."""

from marginwood._baselines.cart import IntervalCART
from marginwood._baselines.dummy import IntervalDummyRegressor
from marginwood._baselines.transformation import TransformationTree
from marginwood._ensemble.crossfit import CrossFittedIntervalRegressor
from marginwood._ensemble.distributional import DistributionalIntervalRegressor
from marginwood._ensemble.pool import DistributionalSuperLearner
from marginwood._ensemble.superlearner import IntervalSuperLearner
from marginwood._ensemble.transformed import TransformedIntervalRegressor
from marginwood._linear.censored import CensoredLinearRegression
from marginwood._linear.kernel import KernelIntervalRegression
from marginwood._linear.l1 import L1IntervalRegression
from marginwood._persistence import load, save
from marginwood._solver import optimal_costs
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.boosting import MaxMarginIntervalBoostingCV
from marginwood._tuning.cart import IntervalCARTCV
from marginwood._tuning.forest import MaxMarginIntervalForestCV
from marginwood._tuning.kernel import KernelIntervalRegressionCV
from marginwood._tuning.linear import L1IntervalRegressionCV
from marginwood._tuning.splitters import CensoringStratifiedKFold
from marginwood._tuning.transformation import TransformationTreeCV
from marginwood._tuning.tree import MaxMarginIntervalTreeCV
from marginwood._version import __version__ as __version__
from marginwood._warmup import warmup
from marginwood.conformal import ConformalIntervalRegressor
from marginwood.export import export_text
from marginwood.intervals import check_intervals, from_detection_limits, from_events, make_intervals
from marginwood.metrics import (
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)

__all__ = [
    "CensoredLinearRegression",
    "CensoringStratifiedKFold",
    "ConformalIntervalRegressor",
    "CrossFittedIntervalRegressor",
    "DistributionalIntervalRegressor",
    "DistributionalSuperLearner",
    "IntervalCART",
    "IntervalCARTCV",
    "IntervalDummyRegressor",
    "IntervalSuperLearner",
    "KernelIntervalRegression",
    "KernelIntervalRegressionCV",
    "L1IntervalRegression",
    "L1IntervalRegressionCV",
    "MaxMarginIntervalBoosting",
    "MaxMarginIntervalBoostingCV",
    "MaxMarginIntervalForest",
    "MaxMarginIntervalForestCV",
    "MaxMarginIntervalTree",
    "MaxMarginIntervalTreeCV",
    "TransformationTree",
    "TransformationTreeCV",
    "TransformedIntervalRegressor",
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
