# What the package offers, and where it is: type checkers read this file, and so does __init__.py.
from . import (
    conformal,
    datasets,
    distributions,
    export,
    inference,
    intervals,
    losses,
    metrics,
    model_selection,
    plotting,
    report,
    xgb,
)
from ._baselines.cart import IntervalCART
from ._baselines.dummy import IntervalDummyRegressor
from ._baselines.transformation import TransformationTree
from ._ensemble.crossfit import CrossFittedIntervalRegressor
from ._ensemble.distributional_superlearner import DistributionalSuperLearner
from ._ensemble.residuals import DistributionalIntervalRegressor
from ._ensemble.superlearner import IntervalSuperLearner
from ._ensemble.taught import TaughtRegressor
from ._ensemble.transformed import TransformedIntervalRegressor
from ._linear.censored import CensoredLinearRegression
from ._linear.l1 import L1IntervalRegression
from ._persistence import load, save
from ._resampling.splitters import CensoringStratifiedKFold, RepeatedCensoringStratifiedKFold
from ._smooth.gaussian import KernelIntervalRegression
from ._solver import optimal_costs
from ._trees.boosting import MaxMarginIntervalBoosting
from ._trees.forest import MaxMarginIntervalForest
from ._trees.tree import MaxMarginIntervalTree
from ._tuning.estimator import IntervalSearchCV
from ._warmup import warmup
from .conformal import ConformalIntervalRegressor
from .export import export_text
from .intervals import (
    check_intervals,
    from_brackets,
    from_detection_limits,
    from_events,
    make_intervals,
)
from .metrics import (
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
)

__version__: str

__all__ = [
    "CensoredLinearRegression",
    "CensoringStratifiedKFold",
    "ConformalIntervalRegressor",
    "CrossFittedIntervalRegressor",
    "DistributionalIntervalRegressor",
    "DistributionalSuperLearner",
    "IntervalCART",
    "IntervalDummyRegressor",
    "IntervalSearchCV",
    "IntervalSuperLearner",
    "KernelIntervalRegression",
    "L1IntervalRegression",
    "MaxMarginIntervalBoosting",
    "MaxMarginIntervalForest",
    "MaxMarginIntervalTree",
    "RepeatedCensoringStratifiedKFold",
    "TaughtRegressor",
    "TransformationTree",
    "TransformedIntervalRegressor",
    "check_intervals",
    "conformal",
    "datasets",
    "distributions",
    "export",
    "export_text",
    "from_brackets",
    "from_detection_limits",
    "from_events",
    "inference",
    "interval_accuracy",
    "interval_d2_score",
    "interval_hinge_loss",
    "interval_mean_absolute_error",
    "interval_mean_squared_error",
    "interval_pinball_loss",
    "intervals",
    "load",
    "losses",
    "make_intervals",
    "metrics",
    "model_selection",
    "optimal_costs",
    "plotting",
    "report",
    "save",
    "warmup",
    "xgb",
]
