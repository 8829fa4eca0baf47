"""The models that a super learner weighs: those of the user, or a library that suits most data.

The library is ordered by what a model costs with all its folds, roughly, the cheapest first: a
short time is then well spent. At 400 rows each smooth model takes longer than all others together.
At 4,000 rows forests take a third of a booster's time; the linear model is cheaper there, but not
at 16,000. At 30,000 rows one thread takes 0.1 seconds for the small tree, 2 or 4 for a forest, 3
for XGBoost, 5 for a booster, 11 for the tuned tree and 60 to 80 for what holds a linear model; at
100,000 rows XGBoost takes a quarter of a forest's time.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from marginwood._base import LARGEST_SEED
from marginwood._baselines.dummy import IntervalDummyRegressor
from marginwood._linear.censored import CensoredLinearRegression
from marginwood._linear.l1 import L1IntervalRegression
from marginwood._resampling.splitters import N_SPLITS
from marginwood._smooth.gaussian import KernelIntervalRegression
from marginwood._support.checks import check_model
from marginwood._trees.boosting import MARGIN, MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.estimator import IntervalSearchCV
from marginwood.intervals import FloatArray
from marginwood.losses import quartile_distance
from marginwood.xgb import XGBIntervalRegressor

__all__ = ["auto_models", "check_models", "seeded"]

NARROW_MARGIN = 0.1  # of the distance between the quartiles of the limits
THIRD = 1 / 3
N_PENALTIES = 30
MANY_CELLS = 200_000  # beyond, kernels that look at one feature after the other take longer than all others together
MANY_ROWS = 10_000  # beyond, smooth models take longer than all others together
FAST_ON_MANY = ("constant", "likelihood", "tree-small", "xgboost")
SLOW_ON_MANY = ("tree", "linear", "boosting-linear")


def auto_models(
    intervals: FloatArray, n_features: int, n_rows: int, n_groups: int | None
) -> list[tuple[str, Any]]:
    """The library for these informative intervals.

    `n_rows` and `n_groups` are those of the smallest training fold; without groups the latter is
    None.
    """
    distance = quartile_distance(intervals)
    wide, narrow = MARGIN * distance, NARROW_MARGIN * distance
    n_splits = min(N_SPLITS, n_rows if n_groups is None else n_groups)
    cv = n_splits if n_groups is None else GroupKFold(max(n_splits, 2))
    models: dict[str, Any] = {
        "constant": IntervalDummyRegressor(),
        "likelihood": CensoredLinearRegression(),
        "forest-all": MaxMarginIntervalForest(max_features=None, min_samples_leaf=3),
        "forest": MaxMarginIntervalForest(max_features=THIRD),
    }
    if n_splits >= 2:
        models["tree"] = IntervalSearchCV(
            MaxMarginIntervalTree(), {"margin": (0.0, narrow, wide)}, cv=cv
        )
    models["boosting"] = MaxMarginIntervalBoosting(margin=wide)
    if find_spec("xgboost"):
        models["xgboost"] = XGBIntervalRegressor(
            600,
            margin=wide,
            learning_rate=0.05,
            max_depth=3,
            subsample=0.5,
            n_iter_no_change=30,
            n_jobs=1,
        )
    if n_splits >= 2:
        linear = L1IntervalRegression(tol=1e-5)
        models["linear"] = IntervalSearchCV(linear, {"alpha": N_PENALTIES}, cv=cv)
        # Its folds mix groups: a booster hands none on to its first model, of which only the
        # penalty is at stake.
        grid = {"margin": (wide,), "alpha": N_PENALTIES}
        first = IntervalSearchCV(linear, grid, cv=n_splits)
        models["boosting-linear"] = MaxMarginIntervalBoosting(margin=wide, init=first)
    models["boosting-depth2"] = MaxMarginIntervalBoosting(margin=narrow, max_depth=2)
    if n_features > 1:
        models["boosting-third"] = MaxMarginIntervalBoosting(margin=wide, max_features=THIRD)
    if n_splits >= 2 and n_rows <= MANY_ROWS:
        # A margin beyond most intervals: their middles count rather than their ends.
        middle = KernelIntervalRegression(margin=distance, additivity=0.0)
        models["kernel-middle"] = IntervalSearchCV(middle, cv=cv)
        is_small = n_rows * n_features <= MANY_CELLS
        smooth = KernelIntervalRegression(margin=wide, additivity=0.5 if is_small else 0.0)
        models["kernel"] = IntervalSearchCV(smooth, cv=cv)
        if n_features > 1 and is_small:
            additive = KernelIntervalRegression(margin=wide, additivity=1.0)
            models["kernel-additive"] = IntervalSearchCV(additive, cv=cv)
    if n_rows > MANY_ROWS:
        models = _order_for_many_rows(models, wide)
    return list(models.items())


def _order_for_many_rows(models: dict[str, Any], margin: float) -> dict[str, Any]:
    """The same models and a tree that takes no time to speak of, the fast ones first and the slow ones last."""
    small = MaxMarginIntervalTree(margin=margin, max_depth=8, min_samples_leaf=20)
    models = models | {"tree-small": small}
    others = [name for name in models if name not in (*FAST_ON_MANY, *SLOW_ON_MANY)]
    return {
        name: models[name] for name in (*FAST_ON_MANY, *others, *SLOW_ON_MANY) if name in models
    }


def check_models(models: Any) -> list[tuple[str, Any]]:
    """The models of a user, or an error that says what is wrong with them."""
    expected = "models: expected 'auto' or a list of (name, estimator)"
    if isinstance(models, str) or not isinstance(models, list | tuple):
        raise ValueError(f"{expected}, got {models!r}.")
    if not models:
        raise ValueError(f"{expected}, got no models.")
    names = []
    for number, pair in enumerate(models):
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not isinstance(pair[0], str)
            or not pair[0]
        ):
            raise ValueError(f"{expected}, got {pair!r} at place {number}.")
        name, estimator = pair
        check_model(f"models: {name!r}", estimator)
        if name in names:
            raise ValueError(f"models: expected names that differ, got {name!r} twice.")
        names.append(name)
    return [(name, estimator) for name, estimator in models]


def seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """A copy whose random states that are None, also inside it, are seeds: fits are then the same on any thread.

    A search needs none beside that of its estimator.
    """
    copied = clone(estimator)
    params = copied.get_params()
    for name, value in sorted(params.items()):
        owner, _, last = name.rpartition("__")
        is_search = isinstance(params[owner] if owner else copied, IntervalSearchCV)
        if value is None and last == "random_state" and not is_search:
            copied.set_params(**{name: int(random.randint(1, LARGEST_SEED))})
    return copied
