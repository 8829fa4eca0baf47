"""The NPMLE of rows with delayed entry (left truncation): the curve of all, of whom only the late are seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwood._core.late import CERTAIN, LateRows, make_late_rows, maximise_late
from marginwood._ends import half_open, name_points
from marginwood.intervals import FloatArray

__all__ = ["LateEstimate", "estimate_late"]

MOST_ROUNDS = 20_000


class LateEstimate(NamedTuple):
    """Support intervals, masses, the log-likelihood given the entries, and how far it is from its maximum."""

    support: FloatArray
    mass: FloatArray
    log_likelihood: float
    gap: float


def estimate_late(
    intervals: FloatArray, entry: FloatArray, weight: FloatArray, tolerance: float
) -> LateEstimate:
    """Estimate from intervals above their entries and positive weights.

    An estimate can tell apart what lies between a lower end and an upper end, or an entry: at an
    entry the risk grows, so an event is most likely right before it.
    """
    entered = np.unique(entry[np.isfinite(entry)])
    rows = half_open(intervals)
    marks = np.column_stack([np.full(len(entered), -np.inf), entered])
    support = _find_support(np.vstack([rows, marks]))
    lower, upper = support[:, 0].copy(), support[:, 1].copy()
    is_open = np.isposinf(rows[:, 1])
    n_cells = len(support) - int(np.isposinf(upper[-1]))
    first = np.minimum(np.searchsorted(lower, rows[:, 0], side="left"), n_cells)
    stop = np.where(is_open, first, np.searchsorted(upper, rows[:, 1], side="right"))
    start = np.searchsorted(upper, entry, side="right")
    late = make_late_rows(start, first, stop, weight, n_cells)
    increment = _first_increments(late)
    room = np.empty((4, n_cells + 1))
    value, gap = maximise_late(late, increment, room, tolerance, MOST_ROUNDS)
    reaching = np.exp(-np.concatenate([[0.0], np.cumsum(increment)]))
    mass = np.append(-np.diff(reaching), reaching[-1])[: len(support)]
    has_mass = mass > np.finfo(np.float64).eps
    mass = mass[has_mass]
    return LateEstimate(name_points(support[has_mass]), mass / mass.sum(), value, gap)


def _find_support(rows: FloatArray) -> FloatArray:
    """Where a lower end is directly followed by an upper end; at equal values upper ends come first."""
    ends = rows.T.ravel()
    is_lower = np.repeat([True, False], len(rows))
    order = np.lexsort((is_lower, ends))
    ends, is_lower = ends[order], is_lower[order]
    place = np.flatnonzero(is_lower[:-1] & ~is_lower[1:])
    return np.column_stack([ends[place], ends[place + 1]])


def _first_increments(late: LateRows) -> FloatArray:
    """The best increments if every row held one cell; nobody survives a cell that no row passes.

    Before others enter, such a cell would end the curve for all of them. So it is left out if the
    rows that hold it hold others: of (0, 3] at risk from 0 and (2, 4] at risk from 1, the first has
    its event after 1.
    """
    is_passed = late.passing > 0
    increment = np.log1p(late.holding / np.where(is_passed, late.passing, 1.0))
    increment = np.where(late.holding > 0, np.where(is_passed, increment, CERTAIN), 0.0)
    last_start = int(late.start.max())
    is_early = ~is_passed & (np.arange(len(increment)) < last_start)
    n_others = np.concatenate([[0], np.cumsum((late.holding > 0) & ~is_early)])
    has_event = late.stop > late.first
    is_bound = has_event & (n_others[late.stop] == n_others[late.first])
    is_needed = np.zeros(len(increment) + 1)
    np.add.at(is_needed, late.first[is_bound], 1)
    np.subtract.at(is_needed, late.stop[is_bound], 1)
    return np.where(is_early & (np.cumsum(is_needed)[:-1] == 0), 0.0, increment)
