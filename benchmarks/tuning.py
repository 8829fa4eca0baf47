"""The tree that tunes itself: how long the paper's inner protocol takes.

Data sets are ``.npz`` files with `X` and `y` in a directory that the command line names. Without
it, simulations of the same shapes stand in.
"""

from functools import partial

import numpy as np

from benchmarks import measure
from benchmarks.problems import simulate
from marginwood import MaxMarginIntervalTreeCV

# Name, number of rows and of features, threads, and at most how many seconds.
TIMED = (("servo", 167, 19, 1, 0.5), ("neuroblastomaProcessed", 3418, 117, 2, 60.0))
FEWEST_ROWS = 20  # two for each fold
PROTOCOL = {"n_margins": 21, "cv": 10, "max_depth": 30}
# The paper's trees have no anchors; `compare` may hold a version that has none either.
NO_ANCHORS = {"anchors": (0.0,)} if "anchors" in MaxMarginIntervalTreeCV().get_params() else {}


def protocol(**parameters):
    """The paper's inner protocol: 21 margins, 10 folds, trees up to depth 30."""
    return MaxMarginIntervalTreeCV(**PROTOCOL, **NO_ANCHORS, **parameters)


def search_times(settings, losses):
    """Yield what was searched and how many seconds it took, the best of several, and the allowed seconds."""
    for name, n_samples, n_features, n_jobs, allowed in TIMED:
        path = settings.data and next(settings.data.rglob(f"{name}.npz"), None)
        if path:
            X, y = (np.load(path)[key] for key in ("X", "y"))
        else:
            X, y, _ = simulate(max(n_samples // settings.shrink, FEWEST_ROWS), n_features)
            name = "simulated"
        for loss in losses:
            protocol(losses=[loss]).fit(X[:50], y[:50])
            task = partial(protocol(losses=[loss], n_jobs=n_jobs).fit, X, y)
            seconds = measure.best_times({loss: task}, min(settings.repeats, 3))[loss]
            threads = f"{n_jobs} thread{'s' if n_jobs > 1 else ''}"
            yield f"{loss}, {name} n={len(X):,} p={X.shape[1]}, {threads}", seconds, allowed
