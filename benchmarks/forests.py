"""Forests: time against scikit-learn's and scikit-survival's, gain of a second thread, memory.

Both sides grow as many trees, to the end, with a third of the features in every node.
"""

from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks import measure
from benchmarks.problems import MARGIN, simulate
from marginwood import MaxMarginIntervalForest, from_events

# Rows, features, trees.
SIZES = ((10**3, 20, 50), (10**4, 20, 10), (10**5, 10, 4))
LEAF_SIZES = (1, 5)
SCIKIT_LEARN = "scikit-learn RandomForestRegressor"


def ours(n_estimators, loss="squared_hinge", **parameters):
    """Our forest on one thread; each node tries as many features as one of scikit-learn's."""
    parameters = {"max_features": 1 / 3, "n_jobs": 1, "random_state": 0, **parameters}
    return MaxMarginIntervalForest(n_estimators, loss=loss, margin=MARGIN, **parameters)


def scikit_learn(n_estimators, min_samples_leaf):
    """Squared error on the middle of each interval."""
    from sklearn.ensemble import RandomForestRegressor

    options = {
        "max_features": 1 / 3,
        "min_samples_leaf": min_samples_leaf,
        "random_state": 0,
        "n_jobs": 1,
    }
    return RandomForestRegressor(n_estimators, **options)


def _cases(settings, losses):
    """Yield what is measured, a problem, and forests that are not fitted, by loss and scikit-learn's."""
    small = simulate(100, 2)
    for loss in losses:
        ours(1, loss).fit(small.X, small.y).predict(small.X)
    for n_samples, n_features, n_estimators in SIZES:
        problem = simulate(n_samples // settings.shrink, n_features)
        for leaf in LEAF_SIZES:
            forests = {loss: ours(n_estimators, loss, min_samples_leaf=leaf) for loss in losses}
            forests[SCIKIT_LEARN] = scikit_learn(n_estimators, leaf)
            yield (
                f"n={len(problem.X):,} p={n_features} {n_estimators} trees, leaves of {leaf}",
                problem,
                forests,
            )


def _target(problem, name):
    return problem.centre if name == SCIKIT_LEARN else problem.y


def fit_times(settings, losses):
    """Yield what was fitted, the loss, our seconds and scikit-learn's."""
    for what, problem, forests in _cases(settings, losses):
        tasks = {
            name: partial(forest.fit, problem.X, _target(problem, name))
            for name, forest in forests.items()
        }
        seconds = measure.best_times(tasks, settings.repeats)
        for loss in losses:
            yield what, loss, seconds[loss], seconds[SCIKIT_LEARN]


def predict_times(settings):
    """Yield what was predicted, our seconds and scikit-learn's."""
    for what, problem, forests in _cases(settings, ["squared_hinge"]):
        X = simulate(len(problem.X), problem.X.shape[1], seed=1).X
        tasks = {
            name: partial(forest.fit(problem.X, _target(problem, name)).predict, X)
            for name, forest in forests.items()
        }
        seconds = measure.best_times(tasks, settings.repeats)
        yield what, seconds["squared_hinge"], seconds[SCIKIT_LEARN]


def thread_times(settings):
    """Yield what was fitted, and the seconds of two threads and of one."""
    small = simulate(100, 2)
    ours(2, n_jobs=2).fit(small.X, small.y)
    for n_samples, n_features, n_estimators in SIZES[1:]:
        X, y, _ = simulate(n_samples // settings.shrink, n_features)
        tasks = {
            n_jobs: partial(ours(2 * n_estimators, n_jobs=n_jobs).fit, X, y) for n_jobs in (2, 1)
        }
        seconds = measure.best_times(tasks, settings.repeats)
        yield f"n={len(X):,} p={n_features}", seconds[2], seconds[1]


def survival_times(settings):
    """Yield what was fitted, our seconds and scikit-survival's, on right-censored times; nothing if it is missing."""
    if find_spec("sksurv") is None:
        print("scikit-survival is not installed: its forest is left out")
        return
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    X, _, log_time = simulate(5000 // settings.shrink, 20)
    censoring = log_time.mean() + np.log(2 * np.random.default_rng(1).exponential(size=len(X)))
    time, event = np.exp(np.minimum(log_time, censoring)), log_time <= censoring
    n_estimators, options = (
        5,
        {"max_features": 1 / 3, "min_samples_leaf": 3, "random_state": 0, "n_jobs": 1},
    )
    survival = RandomSurvivalForest(n_estimators, **options)
    forest, intervals = (
        MaxMarginIntervalForest(n_estimators, **options),
        from_events(np.log(time), event),
    )
    forest.fit(X[:50], intervals[:50])
    tasks = {
        "ours": partial(forest.fit, X, intervals),
        "theirs": partial(survival.fit, X, Surv.from_arrays(event, time)),
    }
    seconds = measure.best_times(tasks, min(settings.repeats, 2))
    yield (
        f"n={len(X):,} p=20, {np.mean(~event):.0%} right-censored",
        seconds["ours"],
        seconds["theirs"],
    )


def memory(settings):
    """Yield what was fitted, the bytes that a fit of many trees takes beyond X, y and node tables, and those of X."""
    problem = simulate(10**5 // settings.shrink, 10)
    forest = ours(500 // settings.shrink, max_depth=6)
    peak = measure.peak_memory(problem, forest)
    yield f"{forest.n_estimators} trees, n={len(problem.X):,} p=10 depth 6", peak, problem.X
