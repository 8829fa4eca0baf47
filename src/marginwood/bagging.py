"""The trees of a forest: grown from arrays that all of them share, in threads or on a cluster, and combined.

A *draw* is the bootstrap sample of a tree, as a weight per row: a row drawn twice counts twice. So all trees share X,
its feature orders and the sorted limits, and a tree only picks out the rows that it drew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state

from marginwood._core.problem import grow_tree, subsample
from marginwood.intervals import FloatArray
from marginwood.options import growing_options
from marginwood.pruning import prune

__all__ = ["LARGEST_SEED", "Draw", "aggregate", "grow_trees"]

IntArray = npt.NDArray[np.int64]
NodeTable = npt.NDArray[np.void]

LARGEST_SEED = 2**31 - 1
# How often the data is sent to a cluster that has lost every worker that held it.
N_ATTEMPTS = 3


class Draw(NamedTuple):
    """The rows of one tree: `n_draws` out of `n_samples`, with replacement; with 0 draws all rows, once."""

    seed: int
    n_samples: int
    n_draws: int

    def counts(self) -> IntArray:
        """How often each row was drawn."""
        if self.n_draws == 0:
            return np.ones(self.n_samples, dtype=np.int64)
        rows = np.random.RandomState(self.seed).randint(0, self.n_samples, self.n_draws)
        return np.bincount(rows, minlength=self.n_samples)


def grow_one(
    X: Any, orders: Any, in_order: Any, breakpoints: Any, weights: Any, settings: tuple[Any, Any], draw: Draw
) -> NodeTable:
    """Grow one tree; `settings` are an unfitted tree and limits without their arrays.

    The arrays come one by one: a cluster holds each of them once and hands it to every task. They are copied only where
    they come as read-only maps of a file, from joblib's processes: a kernel for those would be compiled anew.
    """
    tree, limits = settings
    arrays = (np.require(np.asarray(array), requirements="W") for array in (X, orders, in_order, breakpoints))
    X, orders, in_order, breakpoints = arrays
    weights = weights * draw.counts()
    orders, limits = subsample(orders, limits._replace(in_order=in_order, breakpoints=breakpoints), weights)
    options = growing_options(tree, orders.shape[1], X.shape[1], weights.sum())
    seed = check_random_state(draw.seed).randint(1, LARGEST_SEED)
    nodes = grow_tree(X, orders, limits, weights, tree.loss, options, seed)
    return prune(nodes, tree.ccp_alpha) if tree.ccp_alpha > 0 else nodes


def grow_trees(
    tree: Any, arrays: Sequence[Any], limits: Any, draws: Sequence[Draw], n_jobs: int | None
) -> Iterable[NodeTable]:
    """Node tables of trees like `tree`, one per draw, from X, orders and weights; where joblib is told to.

    Threads hand over each tree when it is grown, other backends all at the end.
    """
    X, orders, weights = arrays
    shared = [X, orders, limits.in_order, limits.breakpoints, weights]
    settings = tree, limits._replace(in_order=None, breakpoints=None)
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    return_as = "generator" if backend.supports_return_generator else "list"

    def run(shared: Sequence[Any]) -> Iterable[NodeTable]:
        tasks = (delayed(grow_one)(*shared, settings, draw) for draw in draws)
        return Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)(tasks)

    if client is None:
        return run(shared)
    # joblib would send each array to one worker, and with that worker it would be lost: every worker gets a copy.
    for _ in range(N_ATTEMPTS - 1):
        try:
            return run(client.scatter(shared, broadcast=True, hash=False))
        except CancelledError:  # all copies were lost
            continue
    return run(client.scatter(shared, broadcast=True, hash=False))


def aggregate(predictions: FloatArray, absent: Any, aggregation: str) -> FloatArray:
    """One prediction per column, from a row per tree, without the absent ones; NaN where all are. Uses up its input."""
    n_trees, n_columns = predictions.shape
    n_present = np.broadcast_to(n_trees - np.sum(absent, axis=0), n_columns)
    if aggregation == "median":
        predictions[absent] = np.inf
        predictions.sort(axis=0)
        columns = np.arange(n_columns)
        result = (predictions[(n_present - 1) // 2, columns] + predictions[n_present // 2, columns]) / 2
        return np.where(n_present > 0, result, np.nan)
    predictions[absent] = 0.0
    total = np.zeros(n_columns)
    for values in predictions:  # NumPy's own sum takes another order where there is one column
        total += values
    with np.errstate(invalid="ignore"):
        return total / n_present
