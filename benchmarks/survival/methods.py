"""One small adapter per method: ``fit(X, y, **parameters)`` returns a function of features and times, the curves."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from marginwood import (
    DistributionalSuperLearner,
    MaxMarginIntervalForest,
    TransformedIntervalRegressor,
)

N_TREES = 100
PENALTIES = tuple({"penalizer": penalty} for penalty in (0.01, 0.1))
LEAVES = (10, 20, 40)
FORESTS = tuple(
    {"min_samples_leaf": leaf, "max_features": share}
    for leaf, share in product((5, 15), (1 / 3, 1.0))
)


class Method(NamedTuple):
    """A way to predict survival curves, the parameters that it is tuned over, and whether it takes any intervals."""

    name: str
    fit: Callable[..., Any]
    grid: tuple[dict[str, Any], ...]
    takes_intervals: bool


def fit_recipe(X, y):
    """What the guide recommends: curves of log times by linear models and forests, which it weighs by itself."""
    model = TransformedIntervalRegressor(DistributionalSuperLearner(random_state=0), func="log")
    return model.fit(X, y).predict_survival_function


def fit_forest(X, y, **parameters):
    """Our forest of log times; curves by leaf weights."""
    forest = MaxMarginIntervalForest(N_TREES, random_state=0, **parameters)
    return TransformedIntervalRegressor(forest, func="log").fit(X, y).predict_survival_function


def _frames(X, y):
    """Columns for lifelines: standardised features and both ends."""
    import pandas as pd

    scaler = StandardScaler().fit(X)

    def make(features):
        return pd.DataFrame(
            scaler.transform(features), columns=[f"x{column}" for column in range(X.shape[1])]
        )

    frame = make(X)
    frame["lower"], frame["upper"] = y.T
    return make, frame


def fit_weibull(X, y, penalizer):
    """Lifelines' accelerated failure times."""
    from lifelines import WeibullAFTFitter

    make, frame = _frames(X, y)
    model = WeibullAFTFitter(penalizer=penalizer).fit_interval_censoring(frame, "lower", "upper")
    return lambda features, times: (
        model.predict_survival_function(make(features), times=times).to_numpy().T
    )


def fit_cox(X, y, penalizer):
    """Lifelines' proportional hazards, with Breslow's baseline."""
    from lifelines import CoxPHFitter

    make, frame = _frames(X, y)
    frame["event"] = np.isfinite(frame.pop("upper"))
    model = CoxPHFitter(penalizer=penalizer).fit(frame, "lower", "event")
    return lambda features, times: (
        model.predict_survival_function(make(features), times=times).to_numpy().T
    )


def fit_survival_forest(X, y, **parameters):
    """Scikit-survival's forest."""
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    model = RandomSurvivalForest(N_TREES, random_state=0, **parameters).fit(
        X, Surv.from_arrays(np.isfinite(y[:, 1]), y[:, 0])
    )

    def predict(features, times):
        curves = model.predict_survival_function(features, return_array=True)
        place = np.searchsorted(model.unique_times_, times, side="right")
        return np.column_stack([np.ones(len(features)), curves])[:, place]

    return predict


def fit_surpyval(X, y, min_leaf_samples):
    """SurPyval's tree with a Weibull distribution in every leaf."""
    from surpyval.beta.ml.forest.tree import SurvivalTree

    lower, upper = y.T
    kind = np.select([lower == upper, upper == np.inf, lower <= 0], [0, 1, -1], 2)
    value = np.column_stack(
        [
            np.where(kind == -1, upper, lower),
            np.where(kind == 2, upper, np.where(kind == -1, upper, lower)),
        ]
    )
    model = SurvivalTree.fit(
        x=value if (kind == 2).any() else value[:, 0],
        Z=X,
        c=kind,
        min_leaf_samples=min_leaf_samples,
        n_features_split="all",
        min_split_gain="aic",
        random_state=0,
    )
    return lambda features, times: model.sf(times, features, grid=True)


METHODS = (
    Method("marginwood, recipe", fit_recipe, ({},), True),
    Method("marginwood, forest", fit_forest, FORESTS, True),
    Method("Cox (lifelines)", fit_cox, PENALTIES, False),
    Method("Weibull AFT (lifelines)", fit_weibull, PENALTIES, True),
    Method("survival forest (scikit-survival)", fit_survival_forest, FORESTS, False),
    Method(
        "tree (SurPyval)", fit_surpyval, tuple({"min_leaf_samples": leaf} for leaf in LEAVES), True
    ),
)
