"""The trees of a forest: grown from arrays that all of them share, in threads or on a cluster, and combined.

A *draw* is the bootstrap sample of a tree, as a weight per row: a row drawn twice counts twice. So all trees share X,
its feature orders and the sorted limits, and a tree only picks out the rows that it drew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state

from marginwood._base import LARGEST_SEED, Rows
from marginwood._core.problem import Target, grow_tree, subsample
from marginwood._trees.pruning import prune
from marginwood._trees.rules import growing_options
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import optimal_constant

__all__ = ["Draw", "Training", "aggregate", "grow_trees"]

NodeTable = npt.NDArray[np.void]

# How often the data is sent to a cluster that keeps losing it.
MAX_ATTEMPTS = 3


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


class Training(NamedTuple):
    """Rows, sorted once for all trees and for all candidates of a search."""

    rows: Rows
    orders: Any
    target: Target


def _as_array(array: Any) -> Any:
    """An array as kernels take it, from whatever a backend hands over.

    A cluster of one thread is not used by joblib, and futures come here. To joblib's processes come read-only maps of
    files; they are copied, because kernels would be compiled anew for them.
    """
    array = array.result() if hasattr(array, "result") else array
    return np.require(np.asarray(array), requirements="W")


def grow_one(
    X: Any, orders: Any, in_order: Any, breakpoints: Any, weights: Any, settings: tuple[Any, Any], draw: Draw
) -> NodeTable:
    """Grow one tree; `settings` are an unfitted tree and limits without their arrays.

    The arrays come one by one: a cluster holds each of them once and hands it to every task.
    """
    tree, limits = settings
    X, orders, in_order, breakpoints, weights = map(_as_array, (X, orders, in_order, breakpoints, weights))
    weights = weights * draw.counts()
    orders, limits = subsample(orders, limits._replace(in_order=in_order, breakpoints=breakpoints), weights)
    options = growing_options(tree, orders.shape[1], X.shape[1], weights.sum())
    seed = check_random_state(draw.seed).randint(1, LARGEST_SEED)
    nodes = grow_tree(X, orders, limits, weights, tree.loss, options, seed)
    return prune(nodes, tree.ccp_alpha) if tree.ccp_alpha > 0 else nodes


def grow_trees(tree: Any, training: Training, draws: Sequence[Draw], n_jobs: int | None) -> Iterator[NodeTable]:
    """Yield node tables of trees like `tree`, one per draw, grown where joblib is told to.

    joblib's own way with a Dask cluster is to send an array to one worker, and to lose it with that worker. Here every
    worker gets a copy before the first task; if all copies are lost, the trees that are still missing are grown anew.
    """
    rows = training.rows
    default = optimal_constant(rows.intervals, loss=tree.loss, margin=tree.margin, sample_weight=rows.weight).value
    limits = training.target.at(float(tree.margin))._replace(default=default)  # of a draw without any limit
    arrays = [rows.X, training.orders, limits.in_order, limits.breakpoints, rows.weight]
    settings = tree, limits._replace(in_order=None, breakpoints=None)
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    return_as = "generator" if backend.supports_return_generator else "list"
    n_grown, n_attempts = 0, 0
    while n_grown < len(draws):
        n_attempts += 1
        shared = arrays if client is None else client.scatter(arrays, broadcast=True, hash=False)
        tasks = (delayed(grow_one)(*shared, settings, draw) for draw in draws[n_grown:])
        try:
            for nodes in Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)(tasks):
                n_grown += 1
                yield nodes
        except CancelledError:
            if n_attempts == MAX_ATTEMPTS:
                raise


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
