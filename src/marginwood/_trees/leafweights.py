"""Training rows weighed by the leaves that they share with a query: what a forest knows of a distribution.

To find their leaves again a forest keeps the *codes* of its rows: between which two *cuts*, the
thresholds of all its splits, each value lies. The *leaf weight* of a training row at a query is the
mean, over the trees, of its share of the leaf that the query falls into; trees that did not draw
it, and leaves that it is not in, count 0.
"""

from __future__ import annotations

from functools import partial
from itertools import starmap
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from marginwood._core.nodes import LEAF
from marginwood._support.threads import count_threads
from marginwood._trees.bagging import Draw
from marginwood._trees.table import IntervalTree
from marginwood.distributions import IntervalDistribution
from marginwood.distributions._known import Entries, KnownRows
from marginwood.distributions._weighted import (
    concatenate,
    sort_rows,
    weighted_late,
    weighted_turnbull,
)
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = [
    "LeafWeights",
    "decode_rows",
    "encode_rows",
    "find_cuts",
    "keeps_rows",
    "predict_by_leaves",
]

# Rows whose distributions are found together: their weights take some MB.
QUERIES = 256


def keeps_rows(forest: Any) -> bool:
    """Whether a forest can predict distributions, or will once it is fitted; raises if not."""
    if not forest.keep_rows or hasattr(forest, "estimators_") > hasattr(forest, "_codes"):
        raise AttributeError("the forest keeps no rows; fit it with keep_rows=True.")
    return True


def find_cuts(trees: list[IntervalTree]) -> list[FloatArray]:
    """The thresholds of each feature in any tree, ascending; of one that holds categories, their codes."""
    splits = [tree.nodes[tree.nodes["children_left"] != LEAF] for tree in trees]
    feature = np.concatenate([nodes["feature"] for nodes in splits])
    threshold = np.concatenate([nodes["threshold"] for nodes in splits])
    by_feature = np.argsort(feature, kind="stable")
    ends = np.bincount(feature, minlength=trees[0].n_features).cumsum()
    cuts = [np.unique(own) for own in np.split(threshold[by_feature], ends[:-1])]
    if trees[0].subsets is not None:
        for idx in np.flatnonzero(trees[0].subsets.n_categories):
            cuts[idx] = np.arange(trees[0].subsets.n_categories[idx], dtype=np.float64)
    return cuts


def encode_rows(X: FloatArray, cuts: list[FloatArray]) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The number of the first cut that is no lower than a value; NaN has the last code of all.

    Of the cuts 2 and 5 the values 1, 2, 3, 7 and NaN have the codes 0, 0, 1, 2 and 3: splits at 2
    and 5 tell no more of them apart.
    """
    codes = np.empty(X.shape, dtype=np.min_scalar_type(max(map(len, cuts)) + 1))
    for idx, own in enumerate(cuts):
        codes[:, idx] = np.searchsorted(own, X[:, idx])
        codes[np.isnan(X[:, idx]), idx] = len(own) + 1
    return codes


def decode_rows(codes: npt.NDArray[Any], cuts: list[FloatArray]) -> FloatArray:
    """Rows that go the ways of those that were encoded: each value is the cut, infinity beyond all, or NaN."""
    X = np.empty(codes.shape)
    for idx, own in enumerate(cuts):
        X[:, idx] = np.append(own, [np.inf, np.nan])[codes[:, idx]]
    return X


class LeafWeights:
    """The rows of every leaf of every tree, and their shares of it.

    Parameters
    ----------
    leaves : ndarray of shape (n_trees, n_rows)
        The leaf of each training row.
    weights : list of ndarray of shape (n_rows,)
        The weight of each training row in each tree, 0 if it was not drawn.
    n_nodes : list of int
        Sizes of the trees.
    """

    def __init__(
        self, leaves: npt.NDArray[Any], weights: list[FloatArray], n_nodes: list[int]
    ) -> None:
        rows = []
        shares = []
        sizes = []
        for own, weight, size in zip(leaves, weights, n_nodes, strict=True):
            drawn = np.flatnonzero(weight > 0)
            by_leaf = drawn[np.argsort(own[drawn], kind="stable")]
            rows.append(by_leaf)
            shares.append(weight[by_leaf] / np.bincount(own, weight, size)[own[by_leaf]])
            sizes.append(np.bincount(own[drawn], minlength=size))
        self._rows = np.concatenate(rows).astype(np.int32)
        self._shares = np.concatenate(shares)
        # Where the rows of each node of each tree start, one after another.
        self._starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        self._first_node = np.cumsum([0, *n_nodes[:-1]])

    def at(self, leaves: npt.NDArray[Any], drawn: BoolArray | None, queries: IntArray) -> Entries:
        """The weights at some of the queries with these leaves, of shape (n_queries, n_trees).

        With `drawn`, of shape (n_trees, n_queries), only those of the trees that did not draw them.
        """
        leaves = leaves[queries]
        nodes = leaves + self._first_node
        counts = self._starts[nodes + 1] - self._starts[nodes]
        if drawn is not None:
            counts = np.where(drawn[:, queries].T, 0, counts)
        ends = np.cumsum(counts.ravel())
        # The entries of a query's leaf are neighbours here, too: entry k of the answer is place k
        # plus a shift.
        shift = self._starts[nodes].ravel() - (ends - counts.ravel())
        places = np.arange(ends[-1]) + np.repeat(shift, counts.ravel())
        offsets = np.concatenate([[0], ends[leaves.shape[1] - 1 :: leaves.shape[1]]])
        return Entries(offsets, self._rows[places], self._shares[places])


def predict_by_leaves(
    forest: Any, leaves: npt.NDArray[Any], drawn: BoolArray | None = None
) -> IntervalDistribution:
    """The distributions at rows with these leaves; with `drawn`, only by the trees that did not draw a row."""
    n_rows = len(forest._intervals)
    if any(draw.n_samples != n_rows for draw in starmap(Draw, forest._draws)):
        raise ValueError(
            "predict_distribution: the trees that warm_start kept were grown from other rows."
        )
    weights = [forest._weight * draw.counts() for draw in starmap(Draw, forest._draws)]
    n_nodes = [tree.node_count for tree in forest._tables()]
    shares = LeafWeights(forest._training_leaves().T, weights, n_nodes)
    weigh = partial(shares.at, leaves, drawn)
    training = sort_rows(forest._intervals)
    queries = np.arange(len(leaves))

    def answer(block: IntArray) -> IntervalDistribution:
        if forest._entry is not None:
            return weighted_late(forest._intervals, forest._entry, *weigh(block))
        return weighted_turnbull(training, *weigh(block))

    blocks = [queries[start : start + QUERIES] for start in range(0, len(leaves), QUERIES)]
    run = Parallel(n_jobs=count_threads(forest.n_jobs, len(blocks)), require="sharedmem")
    found = concatenate(run(delayed(answer)(block) for block in blocks))
    if forest._entry is None:
        found._known = KnownRows(forest._intervals, weigh, queries)
    return found
