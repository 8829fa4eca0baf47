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
from weakref import WeakKeyDictionary

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
    weight : ndarray of shape (n_rows,)
        The weight of each training row.
    draws : list of Draw
        Which rows each tree drew, and how often.
    n_nodes : list of int
        Sizes of the trees.
    """

    def __init__(
        self, leaves: npt.NDArray[Any], weight: FloatArray, draws: list[Draw], n_nodes: list[int]
    ) -> None:
        rows, counts, sizes, totals = [], [], [], []
        for own, draw, size in zip(leaves, draws, n_nodes, strict=True):
            n_drawn = draw.counts()
            drawn = np.flatnonzero((weight > 0) & (n_drawn > 0))
            by_leaf = drawn[np.argsort(own[drawn], kind="stable")]
            rows.append(by_leaf.astype(np.int32))
            counts.append(n_drawn[by_leaf].astype(np.min_scalar_type(n_drawn.max())))
            totals.append(np.bincount(own, weight * n_drawn, size))
            sizes.append(np.bincount(own[drawn], minlength=size))
        self._weight = weight
        # Five bytes for each row of a tree, as a rule; shares would be eight more.
        self._rows = np.concatenate(rows)
        self._counts = np.concatenate(counts)
        self._totals = np.concatenate(totals)
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
        rows = self._rows[places]
        shares = self._weight[rows] * self._counts[places]
        return Entries(
            offsets, rows, shares / np.repeat(self._totals[nodes].ravel(), counts.ravel())
        )


# Of forests that have been asked for distributions: an index is found again, so no file holds it.
_INDEXES: WeakKeyDictionary[Any, tuple[Any, LeafWeights]] = WeakKeyDictionary()


def _index_of(forest: Any) -> LeafWeights:
    """The rows of the leaves of a forest, found once for each fit."""
    kept = _INDEXES.get(forest)
    if kept is None or kept[0] is not forest._codes:
        draws = list(starmap(Draw, forest._draws))
        if any(draw.n_samples != len(forest._intervals) for draw in draws):
            raise ValueError(
                "predict_distribution: the trees that warm_start kept were grown from other rows."
            )
        n_nodes = [tree.node_count for tree in forest._tables()]
        leaves = forest._training_leaves().T
        kept = forest._codes, LeafWeights(leaves, forest._weight, draws, n_nodes)
        _INDEXES[forest] = kept
    return kept[1]


def _estimate(intervals: FloatArray, entries: Entries) -> IntervalDistribution:
    """The estimates of some queries, from the rows alone that any of them weighs."""
    rows, places = np.unique(entries.rows, return_inverse=True)
    rows = rows if len(rows) else np.zeros(1, np.int32)
    return weighted_turnbull(sort_rows(intervals[rows]), entries.offsets, places, entries.weights)


def predict_by_leaves(
    forest: Any, leaves: npt.NDArray[Any], drawn: BoolArray | None = None
) -> IntervalDistribution:
    """The distributions at rows with these leaves; with `drawn`, only by the trees that did not draw a row."""
    weigh = partial(_index_of(forest).at, leaves, drawn)
    queries = np.arange(len(leaves))

    def answer(block: IntArray) -> IntervalDistribution:
        entries = weigh(block)
        if forest._entry is not None:
            return weighted_late(forest._intervals, forest._entry, *entries)
        if len(training) == 0:
            return _estimate(forest._intervals, entries)
        return weighted_turnbull(training[0], *entries)

    blocks = [queries[start : start + QUERIES] for start in range(0, len(leaves), QUERIES)]
    # Few queries weigh few rows: all of them are sorted only where that is shared.
    training = [sort_rows(forest._intervals)] if len(blocks) > 1 and forest._entry is None else []
    run = Parallel(n_jobs=count_threads(forest.n_jobs, len(blocks)), require="sharedmem")
    found = concatenate(run(delayed(answer)(block) for block in blocks))
    if forest._entry is None:
        found._known = KnownRows(forest._intervals, weigh, queries)
    return found
