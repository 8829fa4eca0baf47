"""Boosting against XGBoost: time per fit, and the price of our objective inside XGBoost."""

from functools import partial
from itertools import product

import numpy as np
from sklearn.base import clone

from benchmarks import measure
from benchmarks.problems import MARGIN, simulate
from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalTree

LOSSES = ("linear_hinge", "squared_hinge")
# Rows, rounds, and the largest ratio of times that is wanted.
SIZES = ((10**3, 100, 2.0), (10**4, 50, 5.0), (10**5, 10, float("inf")))
N_FEATURES = 20
DEPTHS = (3, 6)
LEARNING_RATE = 0.1


def train_aft(X, y, n_rounds, max_depth, nthread, **parameters):
    """XGBoost's accelerated failure time model; its targets are positive times, hence the exponential."""
    import xgboost

    lower, upper = np.exp(y.T)
    data = xgboost.QuantileDMatrix(
        X, label_lower_bound=lower, label_upper_bound=upper, nthread=nthread
    )
    parameters = {"eta": LEARNING_RATE, "max_depth": max_depth, "nthread": nthread, **parameters}
    parameters["objective"] = "survival:aft"
    return xgboost.train(parameters, data, n_rounds)


def train_hinge(problem, n_rounds, max_depth, loss, nthread):
    """The same with one argument changed."""
    import xgboost

    from marginwood.xgb import IntervalObjective

    lower, upper = problem.y.T
    data = xgboost.QuantileDMatrix(
        problem.X, label_lower_bound=lower, label_upper_bound=upper, nthread=nthread
    )
    parameters = {"eta": LEARNING_RATE, "max_depth": max_depth, "nthread": nthread}
    return xgboost.train(parameters, data, n_rounds, obj=IntervalObjective(loss, MARGIN))


def ours(n_rounds, loss, max_depth, **parameters):
    """Our booster on all rows, without early stopping; nothing that matters is left to the defaults of a version."""
    return MaxMarginIntervalBoosting(
        n_rounds,
        loss=loss,
        margin=MARGIN,
        learning_rate=LEARNING_RATE,
        max_depth=max_depth,
        subsample=1.0,
        n_iter_no_change=None,
        **parameters,
    )


def _times(settings, n_samples, n_rounds, max_depth, n_threads):
    """Yield a loss, what was trained, our seconds and XGBoost's."""
    X, y, _ = simulate(n_samples // settings.shrink, N_FEATURES)
    on_threads = {"n_jobs": n_threads} if n_threads > 1 else {}
    tasks = {
        loss: partial(ours(n_rounds, loss, max_depth, **on_threads).fit, X, y) for loss in LOSSES
    }
    tasks["aft"] = partial(train_aft, X, y, n_rounds, max_depth, nthread=n_threads)
    for loss in LOSSES:
        tasks[loss]()  # kernels are compiled or read outside the clock
    seconds = measure.best_times(tasks, settings.repeats)
    for loss in LOSSES:
        what = f"{loss}, n={len(X):,} p={N_FEATURES} depth {max_depth}, {n_rounds} rounds"
        yield what, seconds[loss], seconds["aft"]


def stage_times(settings):
    """Yield what was trained, our seconds, XGBoost's, and the largest ratio that is wanted; one thread."""
    for (n_samples, n_rounds, wanted), max_depth in product(SIZES, DEPTHS):
        for row in _times(settings, n_samples, n_rounds, max_depth, 1):
            yield *row, wanted


def level_times(settings):
    """Yield what was trained on many rows, our seconds and XGBoost's; both on two threads."""
    n_samples, n_rounds, _ = SIZES[-1]
    for max_depth in DEPTHS:
        yield from _times(settings, n_samples, n_rounds, max_depth, 2)


def thread_times(settings):
    """Yield what was grown, and the seconds of two threads and of one: a tree, and boosting, for each loss."""
    tree, booster = (
        simulate(10**6 // settings.shrink, 10),
        simulate(10**5 // settings.shrink, N_FEATURES),
    )
    for loss in LOSSES:
        models = {
            "fit, depth 8": (MaxMarginIntervalTree(max_depth=8, loss=loss, margin=MARGIN), tree),
            "boost, depth 6, 10 rounds": (ours(10, loss, 6), booster),
        }
        for what, (model, (X, y, _)) in models.items():
            tasks = {
                n_jobs: partial(clone(model).set_params(n_jobs=n_jobs).fit, X, y)
                for n_jobs in (2, 1)
            }
            tasks[2]()
            seconds = measure.best_times(tasks, settings.repeats)
            yield f"{what}, {loss}, n={len(X):,} p={X.shape[1]}", seconds[2], seconds[1]


def objective_times(settings):
    """Yield a loss, seconds of XGBoost with our objective, and with its own ``survival:aft``; two threads."""
    problem = simulate(10**6 // settings.shrink, 10)
    tasks = {loss: partial(train_hinge, problem, 20, 6, loss, nthread=2) for loss in LOSSES}
    tasks["aft"] = partial(train_aft, problem.X, problem.y, 20, 6, nthread=2)
    seconds = measure.best_times(tasks, min(settings.repeats, 3))
    for loss in LOSSES:
        yield f"{loss}, n={len(problem.X):,} p=10 depth 6", seconds[loss], seconds["aft"]
