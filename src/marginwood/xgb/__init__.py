"""XGBoost on interval targets, for big data; needs the extra ``marginwood[xgboost]``.

`IntervalObjective` and `IntervalMetric` are for scripts that call XGBoost themselves,
`XGBIntervalRegressor` is a scikit-learn estimator.
"""

from marginwood.xgb._model import XGBIntervalRegressor
from marginwood.xgb._objective import IntervalMetric, IntervalObjective

__all__ = ["IntervalMetric", "IntervalObjective", "XGBIntervalRegressor"]
