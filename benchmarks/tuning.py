"""The tree that tunes itself: how long the paper's inner protocol takes, and how good the chosen trees are.

Data sets are ``.npz`` files with `X`, `y` and `folds` (the number of the test fold of each row), in a directory that
the command line names. Without it, simulations of the same shapes stand in.
"""

from functools import partial

import numpy as np

from benchmarks import measure
from benchmarks.problems import simulate
from marginwood import CensoringStratifiedKFold, MaxMarginIntervalTreeCV, interval_mean_squared_error
from marginwood.datasets import make_absolute, make_linear, make_sine
from marginwood.losses import optimal_constant

# Name, number of rows and of features, threads, and at most how many seconds.
TIMED = (("servo", 167, 19, 1, 0.5), ("neuroblastomaProcessed", 3418, 117, 2, 60.0))
SIMULATIONS = {"sine": make_sine, "absolute": make_absolute, "linear": make_linear}


def protocol(**parameters):
    """The paper's inner protocol: 21 margins, 10 folds, trees up to depth 30."""
    return MaxMarginIntervalTreeCV(n_margins=21, cv=10, max_depth=30, **parameters)


def search_times(settings, losses):
    """Yield what was searched and how many seconds it took, the best of several, and the allowed seconds."""
    for name, n_samples, n_features, n_jobs, allowed in TIMED:
        path = settings.data and next(settings.data.rglob(f"{name}.npz"), None)
        if path:
            X, y = (np.load(path)[key] for key in ("X", "y"))
        else:
            X, y, _ = simulate(n_samples // settings.shrink, n_features)
            name = "simulated"
        for loss in losses:
            protocol(losses=[loss]).fit(X[:50], y[:50])
            task = partial(protocol(losses=[loss], n_jobs=n_jobs).fit, X, y)
            seconds = measure.best_times({loss: task}, min(settings.repeats, 3))[loss]
            threads = f"{n_jobs} thread{'s' if n_jobs > 1 else ''}"
            yield f"{loss}, {name} n={len(X):,} p={X.shape[1]}, {threads}", seconds, allowed


def fold_errors(settings):
    """Yield the name of a data set, a fold, the interval MSE of the tuned tree on it, and that of the best constant."""
    for name, X, y, splits in data_sets(settings):
        for fold, (train, test) in enumerate(splits, start=1):
            model = protocol(n_jobs=-1).fit(X[train], y[train])
            constant = np.full(len(test), optimal_constant(y[train]).value)
            errors = [interval_mean_squared_error(y[test], values) for values in (model.predict(X[test]), constant)]
            yield name, fold, *errors


def data_sets(settings):
    """Yield name, X, y and splits."""
    if settings.data:
        for path in sorted(settings.data.rglob("*.npz")):
            with np.load(path) as content:
                X, y, folds = (content[key] for key in ("X", "y", "folds"))
            splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]
            yield f"{path.parent.name}/{path.stem}", X, y, splits
        return
    for name, make in SIMULATIONS.items():
        X, y = make(200 // settings.shrink + 20, 20, random_state=0)
        yield f"simulated {name}", X, y, list(CensoringStratifiedKFold(5).split(X, y))
