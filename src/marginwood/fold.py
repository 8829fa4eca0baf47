"""One fold of a cross-validation: trees grown on some rows, their whole pruning paths scored on others.

Feature orders and sorted limits depend on the rows alone, so a fold prepares them once for all losses and margins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwood._core.nodes import LEAF
from marginwood._core.order import sort_features
from marginwood._core.predict import apply
from marginwood._core.problem import Target
from marginwood._core.prune import DISTANCE, MISS, SQUARED_DISTANCE, path_losses
from marginwood.intervals import FloatArray
from marginwood.metrics import SCORERS
from marginwood.pruning import PruningPath, collapse, pruning_path
from marginwood.tree import IntervalTree, MaxMarginIntervalTree

__all__ = ["Fold", "Rows", "ScoredPath", "score_subtrees"]

IntArray = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.void]
Scorer = Callable[..., float]

# Scorers that are ``best - mean loss of a row``, and that loss.
AVERAGES = {
    id(SCORERS["neg_interval_mean_squared_error"]): (0.0, SQUARED_DISTANCE),
    id(SCORERS["neg_interval_mean_absolute_error"]): (0.0, DISTANCE),
    id(SCORERS["interval_accuracy"]): (1.0, MISS),
}


class Rows(NamedTuple):
    """Rows of the data; all weights are positive."""

    X: FloatArray
    intervals: FloatArray
    weights: FloatArray

    def take(self, idx: IntArray) -> Rows:
        """The rows of these numbers."""
        return Rows(*(array[idx] for array in self))


class ScoredPath(NamedTuple):
    """The subtrees of a pruning path, their sizes, and their scores on the test rows, if there are any."""

    alphas: FloatArray
    n_leaves: IntArray
    scores: FloatArray


class _Prepared(NamedTuple):
    train: Rows
    orders: npt.NDArray[np.int32]
    target: Target
    test: Rows


class Fold:
    """Rows to train on and rows to test on, or none of these.

    Threads may share a fold. What it prepares is made on first use and lives until `release`.
    """

    def __init__(self, rows: Rows, train: IntArray, test: IntArray) -> None:
        self._rows, self._train, self._test = rows, train, test
        self._lock = threading.Lock()
        self._prepared: _Prepared | None = None

    def release(self) -> None:
        """Forget what was prepared."""
        self._prepared = None

    def _prepare(self) -> _Prepared:
        with self._lock:
            if self._prepared is None:
                train, test = self._rows.take(self._train), self._rows.take(self._test)
                self._prepared = _Prepared(train, sort_features(train.X), Target(train.intervals), test)
            return self._prepared

    def score_path(self, tree: MaxMarginIntervalTree, scorer: Scorer, *, weighted: bool) -> ScoredPath:
        """Grow the tree that an estimator describes, and score every subtree of its pruning path."""
        train, orders, target, test = self._prepare()
        tree = copy(tree)._grow(train.X, orders.copy(), target, train.weights)
        path = pruning_path(tree.tree_.nodes)
        scores = score_subtrees(tree, path, test, scorer, weighted=weighted) if len(test.X) else np.empty(0)
        return ScoredPath(path.alphas, path.n_leaves, scores)


def score_subtrees(
    tree: MaxMarginIntervalTree, path: PruningPath, test: Rows, scorer: Scorer, *, weighted: bool
) -> FloatArray:
    """Score every subtree of a pruning path on some rows; if the score is an average, in one walk per row."""
    nodes = tree.tree_.nodes
    if id(scorer) in AVERAGES:
        best, kind = AVERAGES[id(scorer)]
        return best - path_losses(nodes, path.leaf_from, len(path.alphas), *test, kind) / test.weights.sum()
    weight = {"sample_weight": test.weights} if weighted else {}
    subtree = _Subtree(**tree.get_params())
    subtree.n_features_in_, subtree.rows_ = test.X.shape[1], test.X
    scores = np.empty(len(path.alphas))
    for step, leaves in enumerate(_leaves_along(nodes, path, test.X)):
        subtree.ccp_alpha, subtree.predictions_ = path.alphas[step], nodes["value"][leaves]
        subtree.tree_ = IntervalTree(collapse(nodes, path.leaf_from <= step), tree.tree_.saw_missing)
        scores[step] = scorer(subtree, test.X, test.intervals, **weight)
    return scores


class _Subtree(MaxMarginIntervalTree):
    """A pruned tree that knows its predictions for some rows."""

    def predict(self, X: Any) -> FloatArray:
        """The known predictions, or those of the table for other rows."""
        return self.predictions_ if X is self.rows_ else super().predict(X)


def _leaves_along(nodes: Nodes, path: PruningPath, X: FloatArray) -> Iterator[IntArray]:
    """Yield the leaf of each row in every subtree: each row climbs its own path from its leaf in the whole tree."""
    splits = np.flatnonzero(nodes["children_left"] != LEAF)
    parents = np.zeros(len(nodes), dtype=np.int64)
    parents[nodes["children_left"][splits]] = parents[nodes["children_right"][splits]] = splits
    gone_from = path.leaf_from[parents]  # the first subtree that a node is not in
    gone_from[0] = len(path.alphas)
    leaves = apply(nodes, X)
    for step in range(len(path.alphas)):
        while (gone := gone_from[leaves] <= step).any():
            leaves = np.where(gone, parents[leaves], leaves)
        yield leaves
