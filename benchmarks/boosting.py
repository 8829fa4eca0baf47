"""Boosting against XGBoost: time per fit, and interval MSE with every method tuned alike inside the training rows.

A booster's candidates are scored by fivefold cross-validation at every `STEP` rounds; the best candidate and number
of rounds are trained again on all training rows. The forest tunes itself out of bag, the tree by its own
cross-validation. The loss is the squared hinge, as the score is.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks import measure
from benchmarks.problems import MARGIN, simulate
from benchmarks.tuning import data_sets
from marginwood import (
    CensoringStratifiedKFold,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTreeCV,
    interval_mean_squared_error,
)
from marginwood.losses import hinge_loss

LOSSES = ("linear_hinge", "squared_hinge")
OURS = "boosting"
# Rows, rounds, and the largest ratio of times that is wanted.
SIZES = ((10**3, 100, 2.0), (10**4, 50, 5.0), (10**5, 10, float("inf")))
N_FEATURES = 20
DEPTHS = (3, 6)

N_ROUNDS, STEP, LEARNING_RATE = 100, 5, 0.1
TUNED_DEPTHS = (2, 4)
LEAF_SIZES = (1, 5)
MARGINS = (0.0, 0.1, 0.3)  # in standard deviations of the limits
AFT_SCALES = (0.25, 0.5, 1.0)  # in the same unit
AFT_DISTRIBUTIONS = ("normal", "logistic", "extreme")


def train_aft(problem, n_rounds, max_depth, **parameters):
    """XGBoost's accelerated failure time model; its targets are positive times, hence the exponential."""
    import xgboost

    lower, upper = np.exp(problem.y.T)
    data = xgboost.QuantileDMatrix(problem.X, label_lower_bound=lower, label_upper_bound=upper)
    parameters = {"objective": "survival:aft", "max_depth": max_depth, "eta": LEARNING_RATE, **parameters}
    return xgboost.train(parameters, data, n_rounds)


def train_hinge(problem, n_rounds, max_depth, loss, **parameters):
    """The same with one argument changed."""
    import xgboost

    from marginwood.xgb import IntervalObjective

    lower, upper = problem.y.T
    data = xgboost.QuantileDMatrix(problem.X, label_lower_bound=lower, label_upper_bound=upper)
    parameters = {"max_depth": max_depth, "eta": LEARNING_RATE, **parameters}
    return xgboost.train(parameters, data, n_rounds, obj=IntervalObjective(loss, MARGIN))


def stage_times(settings):
    """Yield what was trained, our seconds, XGBoost's, and the largest ratio that is wanted; one thread."""
    for (n_samples, n_rounds, wanted), max_depth in product(SIZES, DEPTHS):
        problem = simulate(n_samples // settings.shrink, N_FEATURES)
        tasks = {
            loss: partial(
                MaxMarginIntervalBoosting(n_rounds, loss=loss, margin=MARGIN, max_depth=max_depth).fit,
                problem.X,
                problem.y,
            )
            for loss in LOSSES
        }
        tasks["aft"] = partial(train_aft, problem, n_rounds, max_depth, nthread=1)
        tasks["linear_hinge"]()
        seconds = measure.best_times(tasks, settings.repeats)
        for loss in LOSSES:
            what = f"{loss}, n={len(problem.X):,} p={N_FEATURES} depth {max_depth}, {n_rounds} rounds"
            yield what, seconds[loss], seconds["aft"], wanted


def objective_times(settings):
    """Yield a loss, seconds of XGBoost with our objective, and with its own ``survival:aft``; two threads."""
    problem = simulate(10**6 // settings.shrink, 10)
    tasks = {loss: partial(train_hinge, problem, 20, 6, loss, nthread=2) for loss in LOSSES}
    tasks["aft"] = partial(train_aft, problem, 20, 6, nthread=2)
    seconds = measure.best_times(tasks, min(settings.repeats, 3))
    for loss in LOSSES:
        yield f"{loss}, n={len(problem.X):,} p=10 depth 6", seconds[loss], seconds["aft"]


class Booster(NamedTuple):
    """`candidates(y)` are keyword arguments of `staged`, which predicts X_test after every `STEP` rounds."""

    candidates: Callable[[Any], list[dict[str, Any]]]
    staged: Callable[..., np.ndarray]


def _spread(y):
    return y[np.isfinite(y)].std() or 1.0


def _grid(**values):
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def _hinge_candidates(leaf_size, y):
    margins = [share * _spread(y) for share in MARGINS]
    return _grid(margin=margins, max_depth=TUNED_DEPTHS, **{leaf_size: LEAF_SIZES})


def _native(X, y, X_test, n_rounds, **parameters):
    model = MaxMarginIntervalBoosting(n_rounds, learning_rate=LEARNING_RATE, **parameters).fit(X, y)
    return np.array(list(model.staged_predict(X_test)))[STEP - 1 :: STEP]


def _staged_booster(booster, X_test, n_rounds):
    import xgboost

    test = xgboost.DMatrix(np.clip(X_test, -1e37, 1e37))
    ends = range(STEP, n_rounds + 1, STEP)
    return np.array([booster.predict(test, iteration_range=(0, end)) for end in ends], dtype=np.float64)


def _xgb_hinge(X, y, X_test, n_rounds, **parameters):
    from marginwood.xgb import XGBIntervalRegressor

    model = XGBIntervalRegressor(n_rounds, learning_rate=LEARNING_RATE, n_jobs=1, **parameters).fit(X, y)
    return _staged_booster(model.booster_, X_test, n_rounds)


def _xgb_aft(X, y, X_test, n_rounds, max_depth, **parameters):
    centre, spread = np.median(y[np.isfinite(y)]), _spread(y)
    problem = Standardised(np.clip(X, -1e37, 1e37), (y - centre) / spread)
    booster = train_aft(problem, n_rounds, max_depth, nthread=1, **parameters)
    with np.errstate(divide="ignore"):
        logarithm = np.log(_staged_booster(booster, X_test, n_rounds))
    return centre + spread * np.nan_to_num(logarithm, nan=1e30, posinf=1e30, neginf=-1e30)


class Standardised(NamedTuple):
    """Features and standardised targets."""

    X: np.ndarray
    y: np.ndarray


def _aft_candidates(distribution, _):
    scales = {"aft_loss_distribution_scale": AFT_SCALES}
    return _grid(aft_loss_distribution=[distribution], max_depth=TUNED_DEPTHS, min_child_weight=LEAF_SIZES, **scales)


def _tuned(booster, X, y, X_test):
    """Predictions of the candidate and number of rounds that cross-validation chooses."""
    candidates = booster.candidates(y)
    losses = np.zeros((len(candidates), N_ROUNDS // STEP))
    for train, test in CensoringStratifiedKFold(5).split(X, y):
        for row, candidate in enumerate(candidates):
            stages = booster.staged(X[train], y[train], X[test], N_ROUNDS, **candidate)
            losses[row] += [hinge_loss(y[test], prediction).sum() for prediction in stages]
    best, stage = np.unravel_index(np.argmin(losses), losses.shape)
    return booster.staged(X, y, X_test, (int(stage) + 1) * STEP, **candidates[best])[-1]


def _forest(X, y, X_test):
    return MaxMarginIntervalForest(random_state=0).tune_oob(X, y).predict(X_test)


def _tree(X, y, X_test):
    return MaxMarginIntervalTreeCV(losses="squared_hinge").fit(X, y).predict(X_test)


METHODS = {
    OURS: partial(_tuned, Booster(partial(_hinge_candidates, "min_samples_leaf"), _native)),
    "XGBoost, hinge objective": partial(_tuned, Booster(partial(_hinge_candidates, "min_child_weight"), _xgb_hinge)),
    **{
        f"XGBoost, AFT {distribution}": partial(_tuned, Booster(partial(_aft_candidates, distribution), _xgb_aft))
        for distribution in AFT_DISTRIBUTIONS
    },
    "forest": _forest,
    "tree": _tree,
}


def fold_errors(settings):
    """Yield data set, fold, method, our interval MSE and that of the method."""
    for name, X, y, splits in data_sets(settings):
        for fold, (train, test) in enumerate(splits, start=1):
            errors = {
                method: interval_mean_squared_error(y[test], predict(X[train], y[train], X[test]))
                for method, predict in METHODS.items()
            }
            for method, error in errors.items():
                if method != OURS:
                    yield name, fold, method, errors[OURS], error
