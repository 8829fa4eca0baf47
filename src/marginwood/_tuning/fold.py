"""One fold of a cross-validation: trees grown on some rows, their whole pruning paths scored on others.

Feature orders and sorted limits depend on the rows alone, so a fold prepares them once for all losses and margins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwood._base import Rows
from marginwood._core.order import sort_features
from marginwood._core.predict import apply
from marginwood._core.problem import Target
from marginwood._core.prune import DISTANCE, MISS, SQUARED_DISTANCE, path_losses
from marginwood._trees.pruning import PruningPath, collapse, leaves_along, pruning_path
from marginwood._trees.table import IntervalTree
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood.intervals import FloatArray, IntArray
from marginwood.metrics import SCORERS

__all__ = ["Fold", "ScoredPath", "score_subtrees"]

Nodes = npt.NDArray[np.void]
Scorer = Callable[..., float]

# Scorers that are ``best - mean loss of a row``, and that loss.
AVERAGES = {
    id(SCORERS["neg_interval_mean_squared_error"]): (0.0, SQUARED_DISTANCE),
    id(SCORERS["neg_interval_mean_absolute_error"]): (0.0, DISTANCE),
    id(SCORERS["interval_accuracy"]): (1.0, MISS),
}


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
    """Rows to train on and rows to test on, or none of these; all of positive weight.

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
        tree = copy(tree)._grow(train.X, orders.copy(), target, train.weight)
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
        losses = path_losses(nodes, path.leaf_from, len(path.alphas), *test, kind) / test.weight.sum()
        return best - (np.minimum(losses, 1.0) if kind == MISS else losses)  # a sum of all weights may round up
    weight = {"sample_weight": test.weight} if weighted else {}
    subtree = _Subtree(**tree.get_params())
    subtree.n_features_in_, subtree.rows_ = test.X.shape[1], test.X
    scores = np.empty(len(path.alphas))
    for step, leaves in enumerate(leaves_along(nodes, path, apply(nodes, test.X))):
        subtree.ccp_alpha, subtree.predictions_ = path.alphas[step], nodes["value"][leaves]
        subtree.tree_ = IntervalTree(collapse(nodes, path.leaf_from <= step), tree.tree_.saw_missing)
        scores[step] = scorer(subtree, test.X, test.intervals, **weight)
    return scores


class _Subtree(MaxMarginIntervalTree):
    """A pruned tree that knows its predictions for some rows."""

    def predict(self, X: Any) -> FloatArray:
        """The known predictions, or those of the table for other rows."""
        return self.predictions_ if X is self.rows_ else super().predict(X)
