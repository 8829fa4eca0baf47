"""The rows behind an estimate: what they say of every curve, whatever is assumed.

Each row holds its share of the weight somewhere in its interval. So at most t lies at least the
share of the rows that end by t, and at most that of the rows that begin before t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from marginwood._ends import above
from marginwood.intervals import FloatArray, IntArray

__all__ = ["Entries", "KnownRows", "Pooled"]

# So many queries are weighed at once, to bound the memory.
N_QUERIES = 256


class Entries(NamedTuple):
    """Query i weighs the rows from ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: IntArray
    rows: IntArray
    weights: FloatArray


# Support intervals, masses, and where those of each query start.
Pooled: TypeAlias = tuple[FloatArray, FloatArray, IntArray]


class KnownRows(NamedTuple):
    """Intervals of training rows, and what weighs them for some queries.

    `weigh` takes numbers of queries; it is called when somebody asks, because few do.
    """

    intervals: FloatArray
    weigh: Callable[[IntArray], Entries]
    queries: IntArray

    def extremes(self) -> tuple[Pooled, Pooled]:
        """For different queries, in order, rows that are all as small, and all as large, as can be."""
        lower, upper = self.intervals.T
        # The least number of a row is right above its lower end, which a support interval says.
        least = np.where(lower == upper, upper, above(lower))
        return self._pool(np.column_stack([lower, least])), self._pool(
            np.column_stack([upper, upper])
        )

    def _pool(self, cells: FloatArray) -> Pooled:
        """The cells of the rows of each query, sorted, equal ones as one."""
        # In order of their upper ends a number comes before what begins right after it.
        cells, number = np.unique(cells[:, ::-1], axis=0, return_inverse=True)
        none: IntArray = np.empty(0, np.int64)
        counts, places = [none], [none]
        masses: list[FloatArray] = [np.empty(0)]
        queries = np.unique(self.queries)
        for start in range(0, len(queries), N_QUERIES):
            entries = self.weigh(queries[start : start + N_QUERIES])
            n_queries = len(entries.offsets) - 1
            query = np.repeat(np.arange(n_queries), np.diff(entries.offsets))
            key = query * len(cells) + number.ravel()[entries.rows]
            found, same = np.unique(key, return_inverse=True)
            masses.append(np.bincount(same, entries.weights).astype(np.float64))
            places.append(found % len(cells))
            counts.append(np.bincount(found // len(cells), minlength=n_queries))
        offsets = np.append(0, np.cumsum(np.concatenate(counts)))
        return cells[np.concatenate(places), ::-1], np.concatenate(masses), offsets
