"""Training rows weighed by the leaves that they share with a query: what a forest knows of a distribution.

The *leaf weight* of a training row at a query is the mean, over the trees, of its share of the leaf
that the query falls into; trees that did not draw it, and leaves that it is not in, count 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwood.distributions._known import Entries
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["LeafWeights"]


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
