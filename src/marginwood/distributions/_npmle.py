"""The nonparametric maximum likelihood estimate (NPMLE) of Turnbull, with a certificate."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginwood._core import cells
from marginwood._core.turnbull import NpmleScratch, certify, make_scratch, maximise
from marginwood._ends import half_open, name_points
from marginwood._mistakes import warn_of_events
from marginwood._support.checks import check_positive
from marginwood._support.notices import warn
from marginwood.distributions._known import Entries, KnownRows
from marginwood.distributions._steps import IntervalDistribution
from marginwood.intervals import (
    FloatArray,
    IntArray,
    check_informative,
    check_intervals,
    check_sample_weight,
)

__all__ = ["Turnbull", "turnbull"]

# A row that weighs less than this share of all rows counts as absent: its mass could not be told
# from rounding.
LEAST_SHARE = 1e-15
# The certificate is a mean over the rows, and rounding keeps that from being smaller.
LEAST_TOLERANCE = 1e-11
# Enough for all but long regular chains of intervals, where one row after the other passes on a
# change.
MOST_ROUNDS = 2_000


class Turnbull(IntervalDistribution):
    """What :func:`turnbull` returns: the distribution that explains intervals best.

    Attributes
    ----------
    support : ndarray of shape (k, 2)
        Support intervals: outside of them the estimate has no mass.
    mass : ndarray of shape (k,)
        Their masses, positive, adding up to 1.
    log_likelihood : float
        Sum of the logarithms of the probabilities of the rows, times their weights.
    gap : float
        How much larger the log-likelihood of any other distribution can be, at most.
    """

    log_likelihood: float
    gap: float


def turnbull(y: Any, sample_weight: Any = None, tol: float = 1e-3) -> Turnbull:
    """Estimate the distribution of values that are known only as intervals.

    The result is the nonparametric maximum likelihood estimate: of all distributions the one that
    makes the intervals most probable. Un-censored rows give the empirical distribution,
    right-censored ones the estimate of Kaplan and Meier; these, and left-censored rows, have a
    closed form. Everything else is iterated until the log-likelihood is certain to be within `tol`
    of its maximum.

    Parameters
    ----------
    y : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts, of any
        kind of censoring. An interval holds its upper end and not its lower one, unless
        `make_intervals` was told otherwise: ``(1, 2)`` and ``(2, 3)`` have nothing in common, and
        an event comes before a censoring at the same time.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows. A row of weight 2 counts as two.
    tol : float, default=1e-3
        How far the log-likelihood may be from its maximum. Rounding sets a limit: 1e-11 times the
        sum of the weights.

    Returns
    -------
    Turnbull
        The distribution, with its `log_likelihood` and the certified `gap`.

    Examples
    --------
    >>> from marginwood.distributions import turnbull
    >>> inf = float("inf")
    >>> estimate = turnbull([(0, 2), (1, 3), (5, 6), (5, inf), (-inf, 7)])
    >>> estimate.support.tolist()
    [[1.0, 2.0], [5.0, 6.0]]
    >>> estimate.mass.round(3).tolist()
    [0.5, 0.5]
    >>> estimate.gap <= 1e-3
    True
    """
    check_positive("tol", tol)
    intervals = check_intervals(y)
    weight = check_sample_weight(sample_weight, len(intervals))
    check_informative(intervals, weight)
    warn_of_events(intervals)
    every = np.ones(len(intervals)) if weight is None else weight
    known = KnownRows(intervals, partial(_weigh_all, every), np.zeros(1, np.int64))
    intervals, weight = _leave_out(intervals, every)
    total = float(weight.sum())
    support, ranges = make_problem(intervals, weight / total)
    scratch = make_scratch(len(ranges.first), len(support))
    mass, gap = _solve(ranges, len(support), max(tol / total, LEAST_TOLERANCE), scratch)
    if total * gap > max(tol, LEAST_TOLERANCE * total):
        warn(
            f"turnbull: the log-likelihood may be {total * gap:.3g} below its maximum, which is more than tol={tol}.",
            ConvergenceWarning,
        )
    has_mass = mass > 0
    result = Turnbull._of(support[has_mass], mass[has_mass])
    result.log_likelihood = total * float(cells.log_likelihood(ranges, mass, scratch.cumulative))
    result.gap = total * gap
    result._known = known
    return result


def _weigh_all(weight: FloatArray, _: IntArray) -> Entries:
    """The rows of the one query that there is."""
    rows = np.flatnonzero(weight)
    return Entries(np.array([0, len(rows)]), rows, weight[rows])


def _leave_out(intervals: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The informative rows, and their weights."""
    counted = np.isfinite(intervals).any(axis=1)
    counted &= weight > LEAST_SHARE * weight[counted].sum()
    return intervals[counted], weight[counted]


def make_problem(intervals: FloatArray, weight: FloatArray) -> tuple[FloatArray, cells.Ranges]:
    """Cells, and the rows as ranges of them, equal ones merged."""
    n_rows = len(intervals)
    training = cells.sort_rows(half_open(intervals))
    marks = np.full(n_rows // 32 + 1, ~np.uint64(0))
    marks[-1] = (1 << 2 * n_rows % 64) - 1
    found = cells.make_ranges(n_rows, 0)
    number = np.empty(n_rows, np.int32)
    support = np.empty((n_rows, 2))
    _, n_cells = cells.find_cells(training, marks, weight[training.rows], found, number, support)
    merged = cells.make_ranges(n_rows, n_cells)
    n_merged = cells.merge_rows(found, merged, np.empty(n_cells + 1, np.int32))
    return name_points(support[:n_cells]), cells.take_ranges(merged, n_merged)


def _solve(
    ranges: cells.Ranges, n_cells: int, tolerance: float, scratch: NpmleScratch
) -> tuple[FloatArray, float]:
    """Masses of the cells, and the certificate as a mean over the rows."""
    mass = np.full(n_cells, 1.0 / n_cells)
    is_one_cell = ranges.stop == ranges.first + 1
    if np.all(is_one_cell | (ranges.stop == n_cells)):
        cells.estimate_product(ranges, mass, scratch.slope)
    elif np.all(is_one_cell | (ranges.first == 0)):
        mirrored = ranges._replace(first=n_cells - ranges.stop, stop=n_cells - ranges.first)
        cells.estimate_product(mirrored, mass, scratch.slope)
        mass = mass[::-1].copy()
    else:
        maximise(ranges, mass, tolerance, MOST_ROUNDS, scratch)
    return mass, certify(ranges, mass, tolerance, scratch)
