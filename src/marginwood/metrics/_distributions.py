"""Scores of predicted distributions, and coverage of predicted ranges.

A *distribution* here means one distribution of a number per row. It is an
:class:`~marginwood.distributions.IntervalDistribution`, whose masses are spread evenly over their support intervals, or
any object like the frozen distributions of scipy.stats, for example ``norm(loc=prediction,
scale=spread)`` with arrays: its ``cdf(t)`` takes an array of one value per row and returns the
probabilities ``P(Y <= t)``, one per row. The log loss of un-censored rows needs ``pdf(t)`` too, and
the CRPS ``sf(t)``, ``ppf(q)`` and ``isf(q)``.

The probability of an interval is that of more than `lower` and at most `upper`; where both are
equal, that of this value. For distributions with a density sides make no difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from marginwood._ends import close_ends, half_open
from marginwood._support.arrays import as_numbers
from marginwood._support.checks import check_count, check_number
from marginwood._support.tables import find_intervals
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray, check_intervals
from marginwood.metrics._probabilities import (
    check_target,
    crps_of_quantiles,
    crps_of_steps,
    evaluate,
    interval_probability,
    make_rows,
    probability_range,
)

__all__ = [
    "d_calibration",
    "interval_coverage",
    "interval_crps",
    "interval_log_loss",
]

EPSILON = float(np.finfo(np.float64).eps)


class DCalibration(NamedTuple):
    """Result of :func:`d_calibration`."""

    statistic: float
    p_value: float
    bin_masses: FloatArray


class Coverage(NamedTuple):
    """Result of :func:`interval_coverage`."""

    contain_rate: float
    meet_rate: float


def interval_log_loss(
    y_true: Any, distribution: Any, *, floor: float = EPSILON, sample_weight: Any = None
) -> float:
    """Mean negative logarithm of the probability that the distributions give to the intervals.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an
        object with ``cdf(t)`` and ``pdf(t)`` like those of scipy.stats.
    floor : float, default=2.2e-16
        Probabilities and densities below this count as this: a row that was thought impossible
        costs 36, not infinity. With 0 the loss may be infinite.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        Less is better. Without densities 0 is best; with densities it may be negative.

    Notes
    -----
    An un-censored row counts with the density of its value, which has the unit of one over the
    target: if the target's numbers are very large, lower `floor`. An IntervalDistribution has no
    density, and an un-censored row counts with the mass of the support point at its value. Such
    points lie where training rows did, so most un-censored rows cost the floor: use
    :func:`interval_crps` to compare such distributions on un-censored rows.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import interval_log_loss
    >>> round(interval_log_loss([(-1, 1), (0, float("inf"))], norm(loc=[0, 0], scale=[1, 1])), 4)
    0.5374
    """
    check_number("floor", floor, "a number >= 0 and < 1", lambda number: 0 <= number < 1)
    intervals, weight = check_target(y_true, sample_weight)
    rows = make_rows(distribution, len(intervals))
    probability = interval_probability(rows, intervals)
    exact = intervals[:, 0] == intervals[:, 1]
    if exact.any() and not isinstance(rows, IntervalDistribution):
        values = np.where(exact, intervals[:, 0], intervals[exact][0, 0])
        probability = np.where(exact, evaluate(rows, "pdf", values), probability)
    with np.errstate(divide="ignore"):
        return float(np.average(-np.log(np.maximum(probability, floor)), weights=weight))


def interval_crps(
    y_true: Any,
    distribution: Any,
    *,
    span: tuple[float, float] = (-np.inf, np.inf),
    sample_weight: Any = None,
) -> float:
    """Continuous ranked probability score (CRPS) of distributions against intervals.

    The integral of ``F**2`` up to `lower`, plus that of ``(1 - F)**2`` from `upper` on: the score
    of the true value is at least this. For un-censored rows it is the CRPS, and for distributions
    of one point each the mean absolute error.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an
        object with ``cdf(t)``, ``sf(t)``, ``ppf(q)`` and ``isf(q)`` like those of scipy.stats.
    span : (float, float), default=(-inf, inf)
        Integrate between these two values only. Estimates from censored rows often leave mass
        beyond all finite values; then the score is infinite unless the span ends before.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best. It has the unit of the target.

    Raises
    ------
    ValueError
        If the score of a row is infinite.

    Notes
    -----
    A right-censored row costs nothing beyond its limit, an event costs something at all later
    values. So under heavy right-censoring curves that are a little early score best. Simulated with
    61 % of the rows right-censored and normal errors of spread 0.7, the score of the true curves
    was 0.1773, that of curves that are 0.1 too early 0.1749. The expected :func:`interval_log_loss`
    is least for the true curves, if censoring says nothing about the value itself.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import interval_crps
    >>> round(interval_crps([(0, 0), (-1, 1), (2, float("inf"))], norm(loc=[0, 0, 0])), 4)
    0.567
    """
    intervals, weight = check_target(y_true, sample_weight)
    low, high = _check_span(span)
    rows = make_rows(distribution, len(intervals))
    compute = crps_of_steps if isinstance(rows, IntervalDistribution) else crps_of_quantiles
    crps = compute(rows, intervals, low, high)
    return float(np.average(crps, weights=weight))


def d_calibration(
    y_true: Any, distribution: Any, *, n_bins: int = 10, sample_weight: Any = None
) -> DCalibration:
    """Test whether the predicted probabilities are spread as they should be (D-calibration).

    If the distributions are right, ``cdf(y)`` of the true values is uniform on [0, 1]. A row whose
    value is only known to lie in an interval spreads its mass evenly from ``cdf(lower)`` to
    ``cdf(upper)``; so does an un-censored row over a step at its value. The masses of `n_bins`
    equal bins are compared with equal ones by a chi-squared test.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an
        object with ``cdf(t)`` like those of scipy.stats.
    n_bins : int, default=10
        Number of bins, at least 2.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows. A weight counts as that many rows, so the p-value depends on their sum.

    Returns
    -------
    statistic : float
        The statistic of the test, with ``n_bins - 1`` degrees of freedom.
    p_value : float
        Small if the distributions are not calibrated. Rows that spread their mass make the test
        cautious: the more are censored, the less it finds.
    bin_masses : ndarray of shape (n_bins,)
        Mass of each bin, from probability 0 to 1; they add up to the number of rows.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import d_calibration
    >>> d_calibration([0.1, 0.2, 2.0, 0.5], norm(loc=[0, 0, 0, 0]), n_bins=2).bin_masses
    array([0., 4.])
    """
    check_count("n_bins", n_bins, 2)
    intervals, weight = check_target(y_true, sample_weight)
    begin, end = probability_range(make_rows(distribution, len(intervals)), intervals)
    edges = np.arange(n_bins + 1) / n_bins
    overlap = np.minimum(end[:, None], edges[1:]) - np.maximum(begin[:, None], edges[:-1])
    width = np.where(end > begin, end - begin, 1.0)
    shares = np.maximum(overlap, 0.0) / width[:, None]
    point = np.flatnonzero(end <= begin)
    shares[point, np.minimum((begin[point] * n_bins).astype(np.int64), n_bins - 1)] = 1.0
    masses = shares.sum(axis=0) if weight is None else weight @ shares
    expected = masses.sum() / n_bins
    statistic = float(np.sum((masses - expected) ** 2) / expected)
    return DCalibration(statistic, float(chdtrc(n_bins - 1, statistic)), masses)


def interval_coverage(
    y_true: Any, y_pred: Any, *, closed: Any = "both", sample_weight: Any = None
) -> Coverage:
    """Shares of the intervals that predicted ranges contain, and that they meet.

    The share of ranges that hold the true value is not known where it is censored, but it lies
    between these two. A value on an end that does not belong to an interval, or to a range, is
    outside of it.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n, 2)
        Predicted ranges; their ends may be infinite.
    closed : {"both", "left", "right", "neither"} or array-like of shape (n,), default="both"
        Which ends of the ranges belong to them: both, as in those of `predict_interval`. Intervals
        of pandas have their own.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    contain_rate : float
        Share of the rows whose whole interval lies in its range.
    meet_rate : float
        Share of the rows whose interval has a value in common with its range.

    Examples
    --------
    >>> from marginwood.metrics import interval_coverage
    >>> interval_coverage([(1, 2), (3, float("inf")), (5, 5)], [(0, 2), (2, 4), (6, 7)])
    Coverage(contain_rate=0.3333333333333333, meet_rate=0.6666666666666666)
    """
    intervals, weight = check_target(y_true, sample_weight)
    is_plain = find_intervals(y_pred) is None
    if np.shape(y_pred) != (intervals.shape if is_plain else (len(intervals),)):
        raise ValueError(
            f"y_pred: expected shape {intervals.shape}, a (lower, upper) range per row of y_true; "
            f"got shape {np.shape(y_pred)}."
        )
    ranges = check_intervals(y_pred, name="y_pred")
    if is_plain:
        ranges = close_ends(ranges[:, 0], ranges[:, 1], closed, "y_pred")
    (low, high), (lower, upper) = half_open(ranges).T, half_open(intervals).T
    contains = (low <= lower) & (upper <= high)
    meets = (low < upper) & (lower < high)
    return Coverage(*(float(np.average(rows, weights=weight)) for rows in (contains, meets)))


def _check_span(span: Any) -> tuple[float, float]:
    ends = as_numbers(span, "span")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(
            f"span: expected a pair of numbers (low, high) with low < high, got {span!r}."
        )
    return float(ends[0]), float(ends[1])
