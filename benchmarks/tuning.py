"""The tree that tunes itself: how long the paper's inner protocol takes.

Data sets are ``.npz`` files with `X` and `y` in a directory that the command line names. Without
it, simulations of the same shapes stand in.
"""

from functools import partial

import numpy as np
from joblib import cpu_count

from benchmarks import measure
from benchmarks.problems import simulate
from marginwood import IntervalSearchCV, MaxMarginIntervalTree

# Name, number of rows and of features, threads, and at most how many seconds.
TIMED = (("servo", 167, 19, 1, 0.5), ("neuroblastomaProcessed", 3418, 117, 2, 60.0))
# Rows and features of the default search in threads; how often faster some threads are to be.
IN_THREADS = ((400, 15), (3000, 15))
WANTED = {2: 1.8, 4: 3.0, 8: 5.0, 16: 8.0}
FEWEST_ROWS = 20  # two for each fold
PROTOCOL = {"n_margins": 21, "cv": 10, "max_depth": 30}


def protocol(loss, n_jobs=1):
    """The paper's inner protocol: 21 margins, no anchors, 10 folds, trees up to depth 30."""
    grid = {"loss": [loss], "margin": PROTOCOL["n_margins"], "anchor": [0.0]}
    tree = MaxMarginIntervalTree(max_depth=PROTOCOL["max_depth"])
    return IntervalSearchCV(tree, grid, cv=PROTOCOL["cv"], n_jobs=n_jobs)


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
            protocol(loss).fit(X[:50], y[:50])
            task = partial(protocol(loss, n_jobs).fit, X, y)
            seconds = measure.best_times({loss: task}, min(settings.repeats, 3))[loss]
            threads = f"{n_jobs} thread{'s' if n_jobs > 1 else ''}"
            yield f"{loss}, {name} n={len(X):,} p={X.shape[1]}, {threads}", seconds, allowed


def thread_times(settings):
    """Yield what the default search was given, its threads, their seconds and those of one, and the wanted ratio.

    No more threads than there are processors.
    """
    for n_samples, n_features in IN_THREADS:
        X, y, _ = simulate(
            max(n_samples // settings.shrink, FEWEST_ROWS + n_samples // 100), n_features
        )
        tasks = {
            n_jobs: partial(IntervalSearchCV(MaxMarginIntervalTree(), n_jobs=n_jobs).fit, X, y)
            for n_jobs in (1, *WANTED)
            if n_jobs <= cpu_count()
        }
        tasks[1]()
        seconds = measure.best_times(tasks, settings.repeats)
        for n_jobs in sorted(tasks.keys() & WANTED):
            what = f"n={len(X):,} p={n_features}, {n_jobs} threads"
            yield what, seconds[n_jobs], seconds[1], 1 / WANTED[n_jobs]
