"""The methods that are compared, each with all that its tuning depends on.

Methods of the paper choose by 10-fold cross-validation of the interval MSE; boosters by five folds,
because each of their candidates takes as long as many trees; the forest by its out-of-bag rows. The
forest chooses among 16 candidates, every booster among 32 and the number of rounds. "MMIT" is the
tree as this package tunes it, which chooses its anchor as well; it, "boosting, defaults" and "super
learner" are what a user gets who sets nothing. "MMIT, taught" is such a tree whose teacher is such
a super learner.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper import boosters
from benchmarks.tuning import PROTOCOL
from marginwood import (
    IntervalCART,
    IntervalDummyRegressor,
    IntervalSearchCV,
    IntervalSuperLearner,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TaughtRegressor,
    TransformationTree,
)

MARGINS = (0.0, 0.25, 0.5, 1.0)  # of ensembles, in standard deviations of the limits
SCALES = (0.125, 0.25, 0.5, 1.0)  # of AFT models, in the same unit
SHARES = (1 / 3, 1.0)  # of the features that compete in a node


class Method(NamedTuple):
    """``predict(X, y, X_test, **settings)`` returns predictions and the parameters it chose.

    `group` is "paper" for methods of the paper, "ours" or "outside".
    """

    group: str
    predict: Callable[..., tuple[np.ndarray, dict[str, Any]]]
    settings: dict[str, Any]


def _constant(X, y, X_test):
    return IntervalDummyRegressor().fit(X, y).predict(X_test), {}


def _finite(X, X_test):
    """Features for models that need finite ones: infinities become the column's extremes, NaN its median."""
    inner = np.where(np.isfinite(X), X, np.nan)
    inner[:, np.isnan(inner).all(axis=0)] = 0.0
    low, middle, high = (
        np.nanmin(inner, axis=0),
        np.nanmedian(inner, axis=0),
        np.nanmax(inner, axis=0),
    )
    # Only infinities are moved: a finite test value beyond the training rows is as it is.
    return [
        np.where(
            np.isnan(part),
            middle,
            np.where(part == -np.inf, low, np.where(part == np.inf, high, part)),
        )
        for part in (X, X_test)
    ]


def _linear(X, y, X_test, *, cv, n_margins):
    X, X_test = _finite(X, X_test)
    model = IntervalSearchCV(L1IntervalRegression(), {"margin": n_margins}, cv=cv).fit(X, y)
    return model.predict(X_test), model.best_params_


def _cart(X, y, X_test, *, cv, n_margins, max_depth):
    X, X_test = _finite(X, X_test)
    cart = IntervalCART(max_depth=max_depth, random_state=0)
    return _tuned_tree(IntervalSearchCV(cart, {"margin": n_margins}, cv=cv), X, y, X_test)


def _transformation_tree(X, y, X_test, *, cv, max_depth=None):
    tree = TransformationTree(max_depth=max_depth)
    return _tuned_tree(IntervalSearchCV(tree, cv=cv), X, y, X_test)


def _tree(X, y, X_test, *, loss, cv, n_margins, max_depth):
    """The tree of the paper, which has no anchors."""
    grid = {"loss": [loss], "margin": n_margins, "anchor": (0.0,)}
    tree = MaxMarginIntervalTree(max_depth=max_depth)
    return _tuned_tree(IntervalSearchCV(tree, grid, cv=cv), X, y, X_test)


def _our_tree(X, y, X_test, *, cv=None):
    return _tuned_tree(IntervalSearchCV(MaxMarginIntervalTree(), cv=cv), X, y, X_test)


def _taught_tree(X, y, X_test):
    teacher = IntervalSuperLearner(random_state=0)
    tree = TaughtRegressor(IntervalSearchCV(MaxMarginIntervalTree()), teacher)
    return _tuned_tree(tree, X, y, X_test)


def _tuned_tree(search, X, y, X_test):
    search.fit(X, y)
    return search.predict(X_test), {**search.best_params_, "n_leaves": search.get_n_leaves()}


def _forest(X, y, X_test, *, n_trees, margins, grid):
    margins = [share * boosters.spread(y) for share in margins]
    search = IntervalSearchCV(
        MaxMarginIntervalForest(n_trees),
        {"loss": ["squared_hinge"], "margin": margins, **grid},
        random_state=0,
    )
    search.fit(X, y)
    return search.predict(X_test), search.best_params_


def _boosting(X, y, X_test, **settings):
    model = MaxMarginIntervalBoosting(random_state=0, **settings).fit(X, y)
    return model.predict(X_test), {"n_estimators": model.n_estimators_}


def _super_learner(X, y, X_test, **settings):
    model = IntervalSuperLearner(random_state=0, **settings).fit(X, y)
    return model.predict(X_test), {
        name: round(weight, 3) for name, weight in model.weights_.items()
    }


def _booster(group, name, **grid):
    grid |= {"max_depth": (2, 4), "subsample": (0.5, 1.0), "max_features": SHARES}
    settings = {"booster": name, "n_rounds": 100, "learning_rate": 0.1, "cv": 5, "grid": grid}
    return Method(group, boosters.tuned, settings)


METHODS = {
    "Constant": Method("paper", _constant, {}),
    "L1-Linear": Method("paper", _linear, {"n_margins": 7, "cv": 10}),
    "TransfoTree": Method("paper", _transformation_tree, {"cv": 10}),
    "Interval-CART": Method("paper", _cart, PROTOCOL),
    "MMIT-L": Method("paper", _tree, {"loss": "linear_hinge", **PROTOCOL}),
    "MMIT-S": Method("paper", _tree, {"loss": "squared_hinge", **PROTOCOL}),
    "MMIT": Method("ours", _our_tree, {}),
    "MMIT, taught": Method("ours", _taught_tree, {}),
    "super learner": Method("ours", _super_learner, {}),
    "boosting, defaults": Method("ours", _boosting, {}),
    "forest": Method(
        "ours",
        _forest,
        {
            "n_trees": 100,
            "margins": MARGINS,
            "grid": {"min_samples_leaf": (1, 5), "max_features": SHARES},
        },
    ),
    "boosting": _booster("ours", "native", margin=MARGINS),
    "XGBoost hinge": _booster("ours", "xgboost_hinge", margin=MARGINS),
    **{
        f"AFT {distribution}": _booster(
            "outside", "xgboost_aft", distribution=(distribution,), scale=SCALES
        )
        for distribution in ("normal", "logistic", "extreme")
    },
}

# What a quick run puts in the place of settings of these names.
_QUICK = {"n_margins": 3, "cv": 3, "n_trees": 20, "n_rounds": 20}


def quick_methods():
    """The same methods with coarse tuning: to see that all runs."""
    quick = {}
    for name, method in METHODS.items():
        settings = {key: _QUICK.get(key, value) for key, value in method.settings.items()}
        if "grid" in settings:
            settings["grid"] = {key: values[-1:] for key, values in settings["grid"].items()}
        quick[name] = method._replace(settings=settings)
    return quick
