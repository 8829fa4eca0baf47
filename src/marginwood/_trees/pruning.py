"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone, 1984, chapter 3).

Pruning at *alpha* keeps the smallest subtree that minimises ``cost / total weight + alpha * number
of leaves``. As alpha rises, splits collapse into leaves one after another and none comes back: the
*pruning path* is that sequence of subtrees. One number per node, the first subtree in which it is a
leaf, describes all of it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import Bunch

from marginwood._base import Rows
from marginwood._core.nodes import LEAF, NO_FEATURE, parents
from marginwood._searchable import ModelPath
from marginwood._support.checks import check_each, check_not_negative
from marginwood._trees.table import IntervalTree
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["PrunableMixin", "PruningPath", "SubtreePath", "leaves_along", "prune", "pruning_path"]

# Alphas that differ by less, relatively, differ by rounding: they are one.
ALPHA_TOLERANCE = 1e-10


class PruningPath(NamedTuple):
    """Every subtree of a grown tree that is best for some alpha, from the whole tree to the root alone."""

    alphas: FloatArray  # rising from 0; a subtree is best from its alpha up to the next one
    costs: FloatArray  # per unit of total weight
    n_leaves: IntArray
    leaf_from: IntArray  # per node: the first subtree in which it is a leaf, or no longer there

    def at(self, alpha: npt.ArrayLike) -> IntArray:
        """Which subtree is best for each alpha."""
        return subtree_at(self.alphas, alpha)


def subtree_at(alphas: npt.NDArray[Any], alpha: npt.ArrayLike) -> IntArray:
    """Which subtree of a path with these alphas is best for each alpha."""
    return np.searchsorted(alphas, alpha, side="right") - 1


def geometric_means(alphas: npt.NDArray[Any]) -> FloatArray:
    """An alpha well between every two neighbours of a path: candidates for cross-validation."""
    return np.sqrt(alphas[:-1]) * np.sqrt(alphas[1:])  # the product of tiny alphas would vanish


def pruning_path(nodes: npt.NDArray[np.void]) -> PruningPath:
    """Find the pruning path of a node table, in O(n log n) for n nodes."""
    from marginwood._core.prune import collapse_rates

    is_split = nodes["children_left"] != LEAF
    splits = np.flatnonzero(is_split)
    total_weight = nodes["weighted_n_node_samples"][0]
    rates = collapse_rates(nodes) / total_weight
    ascending = np.sort(rates[splits])
    # Of rates that are equal up to rounding, the last stands for all.
    is_last = np.append(np.diff(ascending) > ALPHA_TOLERANCE * ascending[1:], True)[
        : len(ascending)
    ]
    alphas = np.append(0.0, ascending[is_last & (ascending > 0)])
    leaf_from = np.searchsorted(alphas, rates)
    collapsing = leaf_from[splits]
    cost = nodes["impurity"]
    rise = (
        cost[splits] - cost[nodes["children_left"][splits]] - cost[nodes["children_right"][splits]]
    )
    costs = cost[~is_split].sum() + np.cumsum(np.bincount(collapsing, rise, len(alphas)))
    n_leaves = len(splits) + 1 - np.cumsum(np.bincount(collapsing, minlength=len(alphas)))
    return PruningPath(alphas, costs / total_weight, n_leaves, leaf_from)


def prune(nodes: npt.NDArray[np.void], alpha: float) -> npt.NDArray[np.void]:
    """The node table of the smallest subtree that is best for `alpha`; children still come after their parents."""
    path = pruning_path(nodes)
    return collapse(nodes, path.leaf_from <= path.at(alpha))


def collapse(nodes: npt.NDArray[np.void], is_leaf: BoolArray) -> npt.NDArray[np.void]:
    """The node table without what is below the leaves; below a leaf, all nodes must be marked as leaves too."""
    kept_splits = np.flatnonzero(~is_leaf)
    is_kept = np.zeros(len(nodes), dtype=np.bool_)
    is_kept[0] = True
    for side in ("children_left", "children_right"):
        is_kept[nodes[side][kept_splits]] = True
    row_of = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    pruned = nodes[is_kept]
    is_leaf = is_leaf[is_kept]
    for side in ("children_left", "children_right"):
        pruned[side] = np.where(is_leaf, LEAF, row_of[pruned[side]])
    for field, value in (
        ("feature", NO_FEATURE),
        ("threshold", NO_FEATURE),
        ("missing_go_to_left", 0),
    ):
        pruned[field][is_leaf] = value
    return pruned


def leaves_along(
    nodes: npt.NDArray[np.void], path: PruningPath, leaves: IntArray
) -> Iterator[IntArray]:
    """Yield the leaf of each row in every subtree, from its leaf in the whole tree: each row climbs its own path."""
    parent = parents(nodes)
    gone_from = path.leaf_from[parent]  # the first subtree that a node is not in
    gone_from[0] = len(path.alphas)
    for step in range(len(path.alphas)):
        while (gone := gone_from[leaves] <= step).any():
            leaves = np.where(gone, parent[leaves], leaves)
        yield leaves


class SubtreePath(ModelPath):
    """The subtrees of a grown tree, as models of an estimator that has a node table and the parameter `ccp_alpha`."""

    def __init__(
        self, estimator: Any, tree: IntervalTree, path: PruningPath, alphas: Any = None
    ) -> None:
        self._estimator = estimator
        self._tree = tree
        self._path = path
        if alphas is None:
            values = path.alphas
            self._steps = np.arange(len(values))
        else:
            values = np.sort(check_each("ccp_alpha", alphas, check_not_negative))
            self._steps = path.at(values)
        super().__init__(values, path.n_leaves[self._steps])

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions of every subtree."""
        nodes = self._tree.nodes
        times = np.bincount(self._steps, minlength=len(self._path.alphas))
        subtrees = leaves_along(nodes, self._path, self._tree.apply(X))
        for leaves, n_values in zip(subtrees, times, strict=True):
            for _ in range(n_values):
                yield nodes["value"][leaves]

    def model(self, step: int) -> Any:
        """The estimator with the pruned tree."""
        model = copy.copy(self._estimator)
        model.ccp_alpha = self.values[step]
        model.n_features_in_ = self._tree.n_features
        nodes = collapse(self._tree.nodes, self._path.leaf_from <= self._steps[step])
        model.tree_ = IntervalTree(nodes, self._tree.saw_missing, self._tree.subsets)
        return model

    def scores(self, test: Rows, scorer: Any, *, weighted: bool) -> FloatArray:
        """The score of every subtree; if it averages a loss per row, in one walk per row."""
        from marginwood._core.prune import ROW_LOSSES, path_losses
        from marginwood.metrics._scorers import average_loss_of

        average = average_loss_of(scorer)
        if average is None:
            return super().scores(test, scorer, weighted=weighted)
        kind = ROW_LOSSES[average.row_loss]
        tree = self._tree
        path = self._path
        losses = path_losses(
            tree.nodes, tree.subsets, path.leaf_from, len(path.alphas), *test, kind, average.prices
        )[self._steps]
        losses /= test.weight.sum()
        return average.best - (
            np.minimum(losses, 1.0) if average.row_loss == "miss" else losses
        )  # a sum of all weights may round up


class PrunableMixin:
    """The pruning path of an estimator that grows one tree and has the parameter `ccp_alpha`."""

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Find every alpha at which pruning changes the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples, 2)
            Intervals, in any form that `fit` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        Bunch
            ``ccp_alphas``, rising from 0, and of the tree pruned at each of them ``impurities``,
            the cost of its leaves, and ``n_leaves``. Alphas and costs are per unit of total sample
            weight, so that an alpha means the same for data of any size.

        Examples
        --------
        >>> from marginwood import MaxMarginIntervalTree
        >>> path = MaxMarginIntervalTree().cost_complexity_pruning_path([[1], [2], [3]], [0.0, 1.0, 6.0])
        >>> path.ccp_alphas.round(3).tolist(), path.impurities.round(3).tolist()
        ([0.0, 0.167, 6.722], [0.0, 0.167, 6.889])
        """
        path = pruning_path(
            clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight).tree_.nodes
        )
        return Bunch(ccp_alphas=path.alphas, impurities=path.costs, n_leaves=path.n_leaves)
