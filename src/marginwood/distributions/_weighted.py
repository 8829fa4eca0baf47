"""One NPMLE for each of many queries, which weigh the rows of one training set differently.

A forest asks this way: at a query, the weight of a training row is how often it shares a leaf with
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginwood._core import cells
from marginwood._core.cells import SortedEnds
from marginwood._core.curves import Steps
from marginwood._core.queries import Answers, Queries, QueryRoom, estimate_queries, make_room
from marginwood._ends import half_open, name_points
from marginwood._support.arrays import raise_first
from marginwood._support.checks import check_positive
from marginwood._support.notices import warn
from marginwood.distributions._late import estimate_late
from marginwood.distributions._steps import IntervalDistribution
from marginwood.intervals import FloatArray, IntArray

__all__ = ["SortedEnds", "concatenate", "sort_rows", "weighted_late", "weighted_turnbull"]

# How many entries of queries are answered at once; the room for their answers grows with it.
BLOCK_ENTRIES = 2**20


def sort_rows(intervals: FloatArray) -> SortedEnds:
    """Checked intervals, sorted by both ends."""
    return cells.sort_rows(half_open(intervals))


def weighted_turnbull(
    training: SortedEnds,
    offsets: IntArray,
    rows: IntArray,
    weights: FloatArray,
    *,
    tol: float = 1e-3,
) -> IntervalDistribution:
    """Estimate one distribution for each query.

    Parameters
    ----------
    training : SortedEnds
        What `sort_rows` makes of checked intervals.
    offsets : ndarray of shape (n_queries + 1,)
        Query i has the entries from ``offsets[i]`` to ``offsets[i + 1]`` of `rows` and `weights`.
    rows : ndarray of shape (n_entries,)
        Numbers of training rows; one that comes more than once in a query counts with the sum of
        its weights.
    weights : ndarray of shape (n_entries,)
        Their weights, on any scale: only their proportions within a query matter.
    tol : float, default=1e-3
        How far the log-likelihood of a query may be from its maximum, its weights scaled so that
        they add up to the effective number of rows, ``sum(w) ** 2 / sum(w ** 2)``. Un-censored and
        right-censored rows have a closed form.

    Returns
    -------
    IntervalDistribution
        One row for each query. Queries without an informative row get all mass on (-inf, inf).
    """
    check_positive("tol", tol)
    offsets = np.ascontiguousarray(offsets, np.int64)
    weights = np.ascontiguousarray(weights, np.float64)
    n_rows = len(training.intervals)
    raise_first(
        (rows < 0) | (rows >= n_rows),
        "rows: not a row of the training set",
        row=rows.astype(np.float64),
    )
    raise_first(
        ~(np.isfinite(weights) & (weights >= 0)),
        "weights: negative, NaN or infinite",
        weight=weights,
    )
    sorted_number = np.empty(n_rows, np.int32)
    sorted_number[training.rows] = np.arange(n_rows)
    room = make_room(training, max(1, min(int(np.diff(offsets).max()), n_rows)))
    parts = []
    for start, stop in _blocks(offsets):
        entries = slice(offsets[start], offsets[stop])
        queries = Queries(
            offsets[start : stop + 1] - offsets[start],
            sorted_number[rows[entries]],
            weights[entries],
        )
        parts.append(_answer(training, queries, tol, room))
    gap = np.concatenate([answers.gap for answers in parts])
    _warn_of_gaps(gap, tol)
    return concatenate([IntervalDistribution._of(*answers[:3]) for answers in parts])


def weighted_late(
    intervals: FloatArray,
    entry: FloatArray,
    offsets: IntArray,
    rows: IntArray,
    weights: FloatArray,
    *,
    tol: float = 1e-3,
) -> IntervalDistribution:
    """The same for rows above their entries; every query needs an informative row."""
    parts = []
    gaps = []
    for start, stop in pairwise(offsets):
        own, place = np.unique(rows[start:stop], return_inverse=True)
        weight: FloatArray = np.bincount(place, weights[start:stop]).astype(np.float64)
        is_counted = (weight > 0) & np.isfinite(intervals[own]).any(axis=1)
        own, weight = own[is_counted], weight[is_counted]
        weight *= weight.sum() / (weight @ weight)  # their sum is the effective number of rows
        found = estimate_late(intervals[own], entry[own], weight, tol)
        gaps.append(found.gap)
        parts.append(
            IntervalDistribution._of(
                found.support, found.mass, np.array([0, len(found.mass)], np.int64)
            )
        )
    _warn_of_gaps(np.array(gaps), tol)
    return concatenate(parts)


def _warn_of_gaps(gap: FloatArray, tol: float) -> None:
    if (gap > tol).any():
        found = f"{np.count_nonzero(gap > tol)} of {len(gap)} queries may be up to {gap.max():.3g}"
        warn(
            f"weighted_turnbull: the log-likelihood of {found} below its maximum (tol={tol}).",
            ConvergenceWarning,
        )


def concatenate(parts: Sequence[IntervalDistribution]) -> IntervalDistribution:
    """The rows of some distributions, one after the other."""
    steps = [part._steps for part in parts]
    pooled = np.cumsum([0] + [len(step.lower) for step in steps])[:-1]
    joined = IntervalDistribution.__new__(IntervalDistribution)
    joined._is_single = False
    joined._mass = np.concatenate([part._mass for part in parts])
    joined._steps = Steps(*map(np.concatenate, zip(*steps, strict=True)))._replace(
        start=np.concatenate(
            [step.start + before for step, before in zip(steps, pooled, strict=True)]
        ),
        stop=np.concatenate(
            [step.stop + before for step, before in zip(steps, pooled, strict=True)]
        ),
    )
    return joined


def _blocks(offsets: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of queries that have about `BLOCK_ENTRIES` entries together, or are alone."""
    start = 0
    n_queries = len(offsets) - 1
    while start < n_queries:
        stop = int(np.searchsorted(offsets, offsets[start] + BLOCK_ENTRIES, side="right")) - 1
        stop = min(max(stop, start + 1), n_queries)
        yield start, stop
        start = stop


def _answer(training: SortedEnds, queries: Queries, tol: float, room: QueryRoom) -> Answers:
    """Answer a block of queries."""
    n_queries = len(queries.offsets) - 1
    most = len(queries.rows) + n_queries
    answers = Answers(
        np.empty((most, 2)), np.empty(most), np.empty(n_queries + 1, np.int64), np.empty(n_queries)
    )
    n_found = estimate_queries(training, queries, tol, room, answers)
    return answers._replace(
        support=name_points(answers.support[:n_found]), mass=answers.mass[:n_found].copy()
    )
