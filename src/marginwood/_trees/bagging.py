"""The trees of a forest: grown from arrays that all of them share, in threads or on a cluster, and combined.

A *draw* is the bootstrap sample of a tree, as a weight per row: a row drawn twice counts twice. So
all trees share X, its feature orders and the sorted limits, and a tree only picks out the rows that
it drew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state

from marginwood._base import LARGEST_SEED
from marginwood._support.threads import count_threads
from marginwood._trees.growing import Grown, SortedRows, grow
from marginwood._trees.rules import Rules
from marginwood._trees.table import IntervalTree
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import hinge_loss

__all__ = ["THIRD", "Draw", "aggregate", "choose_features", "grow_trees"]

THIRD = 1 / 3
# A share of the trees, up to so many of at most so many rows each, chooses between a third of the
# features and all; with fewer than the least it is a third. All are chosen where they have less
# than LEAST_GAIN of the error. See docs/decisions/trees.md.
PILOTS = 1 / 5
FEWEST_PILOTS, MOST_PILOTS = 5, 20
MOST_PILOT_ROWS = 2000
LEAST_GAIN = 0.9
# How often the data is sent to a cluster that keeps losing it.
MAX_ATTEMPTS = 3
# Rows that are drawn at once: the numbers of all would take 8 bytes each.
DRAWN_AT_ONCE = 2**20


class Draw(NamedTuple):
    """The rows of one tree: `n_draws` out of `n_samples`, with replacement; with 0 draws all rows, once."""

    seed: int
    n_samples: int
    n_draws: int

    def counts(self) -> IntArray:
        """How often each row was drawn."""
        if self.n_draws == 0:
            return np.ones(self.n_samples, dtype=np.int64)
        random = np.random.RandomState(self.seed)
        counts = np.zeros(self.n_samples, dtype=np.int64)
        for start in range(0, self.n_draws, DRAWN_AT_ONCE):
            rows = random.randint(0, self.n_samples, min(self.n_draws - start, DRAWN_AT_ONCE))
            counts += np.bincount(rows, minlength=self.n_samples)
        return counts


def grow_one(rows: Any, rules: Rules, draw: Draw) -> Grown:
    """Grow one tree of a forest."""
    # A cluster of one thread is not used by joblib, and the future itself comes here.
    rows = rows.result() if hasattr(rows, "result") else rows
    seed = int(check_random_state(draw.seed).randint(1, LARGEST_SEED))
    return grow(rows, rules, seed, draw.counts())


def grow_trees(
    rows: SortedRows, rules: Rules, draws: Sequence[Draw], n_jobs: int | None
) -> Iterator[Grown]:
    """Yield a tree per draw, grown where joblib is told to.

    joblib's own way with a Dask cluster is to send an argument to one worker, and to lose it with
    that worker. Here every worker gets a copy before the first task; if all copies are lost, the
    trees that are still missing are grown anew.
    """
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    if getattr(backend, "supports_sharedmem", False):  # threads of this process
        n_jobs = count_threads(n_jobs, len(draws))
    return_as = "generator" if backend.supports_return_generator else "list"
    n_grown = 0
    n_attempts = 0
    while n_grown < len(draws):
        n_attempts += 1
        shared = rows if client is None else _scatter(rows, client, anew=n_attempts > 1)
        tasks = (delayed(grow_one)(shared, rules, draw) for draw in draws[n_grown:])
        try:
            for grown in Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)(tasks):
                n_grown += 1
                yield grown
        except CancelledError:
            if n_attempts == MAX_ATTEMPTS:
                raise


def _scatter(rows: SortedRows, client: Any, *, anew: bool) -> Any:
    """The rows on every worker; they stay there for the next trees."""
    if anew or rows.on_cluster is None or rows.on_cluster[0] is not client:
        rows.on_cluster = client, client.scatter(rows, broadcast=True, hash=False)
    return rows.on_cluster[1]


def choose_features(
    rows: SortedRows, rules: Rules, draws: Sequence[Draw], aggregation: str, n_jobs: int | None
) -> tuple[Rules, list[Grown]]:
    """A third of the features in each node, or all, as some trees say out of bag; and those of them that can stay."""
    n_pilots = min(int(PILOTS * len(draws)), MOST_PILOTS)
    if n_pilots < FEWEST_PILOTS:
        return rules._replace(max_features=THIRD), []
    first = draws[:n_pilots]
    draws = [draw._replace(n_draws=min(draw.n_draws, MOST_PILOT_ROWS)) for draw in first]
    drawn = np.array([draw.counts() > 0 for draw in draws])
    is_scored = ~drawn.all(axis=0)
    X, intervals, weight = rows.rows.take(is_scored)
    tried = []
    for share in (THIRD, None):
        own = rules._replace(max_features=share)
        grown = list(grow_trees(rows, own, draws, n_jobs))
        tables = [IntervalTree(one.nodes, rows.saw_missing, one.subsets) for one in grown]
        predictions = np.array([table.predict(X) for table in tables])
        prediction = aggregate(predictions, drawn[:, is_scored], aggregation)
        losses = hinge_loss(intervals, prediction, loss=rules.loss, quantile=rules.quantile)
        tried.append((own, grown, float((weight * losses).sum())))
    third, whole = tried
    rules, grown, _ = whole if whole[2] < LEAST_GAIN * third[2] else third
    return rules, grown if draws == first else []


def aggregate(predictions: FloatArray, absent: Any, aggregation: str) -> FloatArray:
    """One prediction per column, from a row per tree, without the absent ones; NaN where all are. Uses up its input."""
    n_trees, n_columns = predictions.shape
    n_present = np.broadcast_to(n_trees - np.sum(absent, axis=0), n_columns)
    if aggregation == "median":
        predictions[absent] = np.inf
        predictions.sort(axis=0)
        columns = np.arange(n_columns)
        result = (
            predictions[(n_present - 1) // 2, columns] + predictions[n_present // 2, columns]
        ) / 2
        return np.where(n_present > 0, result, np.nan)
    predictions[absent] = 0.0
    total = np.zeros(n_columns)
    for values in predictions:  # NumPy's own sum takes another order where there is one column
        total += values
    with np.errstate(invalid="ignore"):
        return total / n_present
