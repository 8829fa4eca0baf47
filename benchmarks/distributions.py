"""The NPMLE of Turnbull against a sort of its ends, against itself with fewer rows, and against lifelines."""

from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks import measure
from marginwood import MaxMarginIntervalForest
from marginwood.distributions import turnbull
from marginwood.distributions._weighted import sort_rows, weighted_turnbull

N_INSPECTIONS = 8


def inspect(n_samples, exact=0.0, seed=0):
    """Exponential times between the inspections before and after; some of them seen exactly."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(size=n_samples)
    lower, upper = np.full(n_samples, -np.inf), np.full(n_samples, np.inf)
    inspection = np.zeros(n_samples)
    for _ in range(N_INSPECTIONS):
        inspection += rng.exponential(scale=0.4, size=n_samples)
        kept = rng.random(n_samples) < 0.8
        lower = np.where(kept & (inspection < time), inspection, lower)
        upper = np.where(kept & (inspection >= time) & (upper == np.inf), inspection, upper)
    is_exact = rng.random(n_samples) < exact
    y = np.where(is_exact[:, None], time[:, None], np.column_stack([lower, upper]))
    return y[np.isfinite(y).any(axis=1)]


def inspect_once(n_samples, seed=0):
    """Current status: one inspection for each row."""
    rng = np.random.default_rng(seed)
    time, inspection = rng.exponential(size=n_samples), rng.uniform(0, 3, size=n_samples)
    seen = time <= inspection
    return np.column_stack(
        [np.where(seen, -np.inf, inspection), np.where(seen, inspection, np.inf)]
    )


def censor(n_samples, seed=0):
    """Right-censored times."""
    rng = np.random.default_rng(seed)
    time, end = rng.exponential(size=n_samples), rng.exponential(scale=1.5, size=n_samples)
    return np.column_stack([np.minimum(time, end), np.where(time <= end, time, np.inf)])


def sort_times(settings):
    """Yield what was estimated, its seconds, and those of np.sort of all ends."""
    n_samples = 10**6 // settings.shrink
    samples = {
        "inspections": inspect(n_samples),
        "inspections, 10% exact": inspect(n_samples, exact=0.1),
        "current status": inspect_once(n_samples),
        "right-censored": censor(n_samples),
    }
    for name, y in samples.items():
        turnbull(y[:1000])
        ends = y.ravel()
        seconds = measure.best_times(
            {"ours": partial(turnbull, y), "sort": partial(np.sort, ends)}, settings.repeats
        )
        yield f"{name}, n={len(y):,}", seconds["ours"], seconds["sort"]


def growth_times(settings):
    """Yield the number of rows, seconds, a number an eighth of it, and its seconds."""
    sizes = [10**5 // settings.shrink * times for times in (8, 1)]
    tasks = {n: partial(turnbull, inspect(n, exact=0.1)) for n in sizes}
    tasks[sizes[1]]()
    seconds = measure.best_times(tasks, settings.repeats)
    yield sizes[0], seconds[sizes[0]], sizes[1], seconds[sizes[1]]


def query_times(settings):
    """Yield what was estimated for 10^4 queries, and the seconds, from a tenth of them."""
    n_samples, n_queries, n_entries = 10**4 // settings.shrink, 10**3 // settings.shrink, 3000
    rng = np.random.default_rng(0)
    centres = rng.integers(n_samples, size=(n_queries, 1))
    # As 200 trees with leaves of 15 rows give them: some 400 neighbours, the nearest ones most
    # often.
    rows = (
        centres + np.rint(rng.normal(scale=80, size=(n_queries, n_entries))).astype(int)
    ) % n_samples
    offsets = np.arange(n_queries + 1) * n_entries
    for name, y in (("right-censored", censor(n_samples)), ("inspections", inspect(n_samples))):
        asked = (sort_rows(y), offsets, rows.ravel() % len(y), np.ones(rows.size))
        weighted_turnbull(asked[0], offsets[:2], asked[2][:n_entries], asked[3][:n_entries])
        seconds = measure.best_times(
            {"ours": partial(weighted_turnbull, *asked)}, settings.repeats
        )["ours"]
        yield (
            f"{name}, 10,000 queries of {n_entries:,} entries, n={len(y):,}",
            seconds * 10**4 / n_queries,
        )


def forest_times(settings):
    """Yield the kind of rows, and the seconds in which 200 trees on 10^4 rows predict 10^4 distributions, once."""
    n_samples = 10**4 // settings.shrink
    X = np.random.default_rng(0).normal(size=(2 * n_samples, 5))
    for name, make in (("right-censored", censor), ("inspections", inspect)):
        y = make(2 * n_samples)[:n_samples]
        y = y + (X[: len(y), :1] + X[: len(y), 1:2] / 2)
        forest = MaxMarginIntervalForest(
            200, min_samples_leaf=15, max_features=None, random_state=0
        )
        forest.fit(X[: len(y)], y).predict_distribution(X[:2])
        asked = partial(forest.predict_distribution, X[n_samples:])
        yield (
            f"{name}, forest of 200 trees, {n_samples:,} queries, n={len(y):,}",
            measure.best_times({"ours": asked}, 1)["ours"],
        )


def lifelines_times(settings):
    """Yield what was estimated, our seconds and those of lifelines, once; nothing if it is missing."""
    if find_spec("lifelines") is None:
        print("lifelines is not installed: its npmle is left out")
        return
    from lifelines.fitters.npmle import npmle

    y = np.maximum(inspect(3000 // settings.shrink), 0.0)  # lifelines starts at 0
    turnbull(y)
    seconds = measure.best_times({"ours": partial(turnbull, y)}, settings.repeats)
    seconds |= measure.best_times({"theirs": partial(npmle, *y.T)}, 1)
    yield f"inspections, n={len(y):,}", seconds["ours"], seconds["theirs"]
