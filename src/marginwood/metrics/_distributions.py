"""Scores of predicted distributions, and coverage of predicted ranges.

A *distribution* here means one distribution of a number per row. It is an
:class:`~marginwood.distributions.IntervalDistribution`, whose masses are spread evenly over their support intervals, or
any object like the frozen distributions of scipy.stats, for example ``norm(loc=prediction, scale=spread)`` with arrays:
its ``cdf(t)`` takes an array of one value per row and returns the probabilities ``P(Y <= t)``, one per row. The log
loss of un-censored rows needs ``pdf(t)`` too, and the CRPS ``sf(t)``, ``ppf(q)`` and ``isf(q)``.

The probability of an interval includes its limits, save that a right-censored row ``(lower, inf)`` starts right after
`lower`, as in the estimate of Kaplan and Meier. For distributions with a density this makes no difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import trapezoid
from scipy.stats import chi2

from marginwood._support.checks import check_count, check_number
from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.intervals import FloatArray, as_numbers, check_intervals, check_sample_weight, raise_first
from marginwood.metrics._probabilities import (
    crps_of_quantiles,
    crps_of_steps,
    evaluate,
    interval_probability,
    make_rows,
    probability_range,
)

__all__ = [
    "d_calibration",
    "integrated_interval_brier_score",
    "interval_brier_score",
    "interval_coverage",
    "interval_crps",
    "interval_log_loss",
]

EPSILON = float(np.finfo(np.float64).eps)
N_TIMES = 101


class DCalibration(NamedTuple):
    """Result of :func:`d_calibration`."""

    statistic: float
    p_value: float
    bin_masses: FloatArray


class Coverage(NamedTuple):
    """Result of :func:`interval_coverage`."""

    contain_rate: float
    meet_rate: float


def interval_log_loss(y_true: Any, distribution: Any, *, floor: float = EPSILON, sample_weight: Any = None) -> float:
    """Mean negative logarithm of the probability that the distributions give to the intervals.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an object with
        ``cdf(t)`` and ``pdf(t)`` like those of scipy.stats.
    floor : float, default=2.2e-16
        Probabilities and densities below this count as this: a row that was thought impossible costs 36, not
        infinity. With 0 the loss may be infinite.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        Less is better. Without densities 0 is best; with densities it may be negative.

    Notes
    -----
    An un-censored row counts with the density of its value, which has the unit of one over the target: if the target's
    numbers are very large, lower `floor`. An IntervalDistribution has no density, and an un-censored row counts with
    the mass of the support point at its value. Such points lie where training rows did, so most un-censored rows cost
    the floor: use :func:`interval_crps` to compare such distributions on un-censored rows.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import interval_log_loss
    >>> round(interval_log_loss([(-1, 1), (0, float("inf"))], norm(loc=[0, 0], scale=[1, 1])), 4)
    0.5374
    """
    check_number("floor", floor, "a number >= 0 and < 1", lambda number: 0 <= number < 1)
    intervals, weight = _check_target(y_true, sample_weight)
    rows = make_rows(distribution, len(intervals))
    probability = interval_probability(rows, intervals)
    exact = intervals[:, 0] == intervals[:, 1]
    if exact.any() and not isinstance(rows, IntervalDistribution):
        values = np.where(exact, intervals[:, 0], intervals[exact][0, 0])
        probability = np.where(exact, evaluate(rows, "pdf", values), probability)
    with np.errstate(divide="ignore"):
        return float(np.average(-np.log(np.maximum(probability, floor)), weights=weight))


def interval_crps(
    y_true: Any, distribution: Any, *, span: tuple[float, float] = (-np.inf, np.inf), sample_weight: Any = None
) -> float:
    """Continuous ranked probability score (CRPS) of distributions against intervals.

    The integral of ``F**2`` up to `lower`, plus that of ``(1 - F)**2`` from `upper` on: the score of the true value is
    at least this. For un-censored rows it is the CRPS, and for distributions of one point each the mean absolute error.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an object with
        ``cdf(t)``, ``sf(t)``, ``ppf(q)`` and ``isf(q)`` like those of scipy.stats.
    span : (float, float), default=(-inf, inf)
        Integrate between these two values only. Estimates from censored rows often leave mass beyond all
        finite values; then the score is infinite unless the span ends before.
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

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import interval_crps
    >>> round(interval_crps([(0, 0), (-1, 1), (2, float("inf"))], norm(loc=[0, 0, 0])), 4)
    0.567
    """
    intervals, weight = _check_target(y_true, sample_weight)
    low, high = _check_span(span)
    rows = make_rows(distribution, len(intervals))
    compute = crps_of_steps if isinstance(rows, IntervalDistribution) else crps_of_quantiles
    crps = compute(rows, intervals, low, high)
    return float(np.average(crps, weights=weight))


def interval_brier_score(
    y_true: Any, distribution: Any, times: Any, *, reference: Any = None, sample_weight: Any = None
) -> Any:
    """Mean squared error of the probabilities that the target is greater than each of some times.

    The probability ``1 - cdf(t)`` is compared with the status of the row: 1 if t is at most `lower`, 0 if t is at
    least `upper`. In between, the status is not known; then it is the probability by `reference` that the value is
    greater than t, given that it is in the interval: ``(S(t) - S(upper)) / P(interval)``, with S one minus the cdf.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an object with
        ``cdf(t)`` like those of scipy.stats.
    times : float or array-like of shape (m,)
        Values of the target, in survival analysis times.
    reference : object, default=None
        One distribution for all rows, such as ``turnbull(y_train)`` of :func:`~marginwood.distributions.turnbull`. None
        takes ``turnbull(y_true)``. A row is left out at times inside of its interval if the reference has no mass
        there.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float or ndarray of shape (m,)
        A score per time. 0 is best, and 1/4 is what a probability of one half gets on rows of known status.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import interval_brier_score
    >>> y = [(0, 1), (2, float("inf"))]
    >>> interval_brier_score(y, norm(loc=[0.5, 2.0]), [1.0, 2.0], reference=norm(loc=1.0)).round(4)
    array([0.0602, 0.1272])
    """
    intervals, weight = _check_target(y_true, sample_weight)
    values = as_numbers(times, "times")
    if values.ndim > 1 or not values.size:
        raise ValueError(f"times: expected a number or shape (m,) with m >= 1, got shape {values.shape}.")
    raise_first(~np.isfinite(np.atleast_1d(values)), "times: NaN or infinite", times=np.atleast_1d(values))
    scores = _brier_scores(intervals, distribution, np.atleast_1d(values), reference, weight)
    return scores if values.ndim else float(scores[0])


def integrated_interval_brier_score(
    y_true: Any, distribution: Any, times: Any = None, *, reference: Any = None, sample_weight: Any = None
) -> float:
    """Mean of :func:`interval_brier_score` over a range of times, by the trapezoidal rule.

    For un-censored rows it is :func:`interval_crps` within the same span, divided by its length, up to the error of
    the rule.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an object with
        ``cdf(t)`` like those of scipy.stats.
    times : array-like of shape (m,), default=None
        At least two rising times. None takes 101 evenly spaced ones, from the least to the greatest limit of `y_true`.
    reference : object, default=None
        One distribution for all rows, see :func:`interval_brier_score`.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import integrated_interval_brier_score
    >>> y = [(0, 1), (2, float("inf"))]
    >>> round(integrated_interval_brier_score(y, norm(loc=[0.5, 2.0]), reference=norm(loc=1.0)), 3)
    0.046
    """
    intervals, weight = _check_target(y_true, sample_weight)
    if times is None:
        grid = np.linspace(*limit_range(intervals, weight), N_TIMES)
    else:
        grid = as_numbers(times, "times")
        if grid.ndim != 1 or len(grid) < 2 or not np.all(np.isfinite(grid)) or not np.all(np.diff(grid) > 0):
            raise ValueError("times: expected at least two finite, strictly rising numbers.")
    scores = _brier_scores(intervals, distribution, grid, reference, weight)
    return float(trapezoid(scores, grid) / (grid[-1] - grid[0]))


def d_calibration(y_true: Any, distribution: Any, *, n_bins: int = 10, sample_weight: Any = None) -> DCalibration:
    """Test whether the predicted probabilities are spread as they should be (D-calibration).

    If the distributions are right, ``cdf(y)`` of the true values is uniform on [0, 1]. A row whose value is only known
    to lie in an interval spreads its mass evenly from ``cdf(lower)`` to ``cdf(upper)``; so does an un-censored row over
    a step at its value. The masses of `n_bins` equal bins are compared with equal ones by a chi-squared test.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an object with
        ``cdf(t)`` like those of scipy.stats.
    n_bins : int, default=10
        Number of bins, at least 2.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows. A weight counts as that many rows, so the p-value depends on their sum.

    Returns
    -------
    statistic : float
        The statistic of the test, with ``n_bins - 1`` degrees of freedom.
    p_value : float
        Small if the distributions are not calibrated. Rows that spread their mass make the test cautious: the more are
        censored, the less it finds.
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
    intervals, weight = _check_target(y_true, sample_weight)
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
    return DCalibration(statistic, float(chi2.sf(statistic, n_bins - 1)), masses)


def interval_coverage(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> Coverage:
    """Shares of the intervals that predicted ranges contain, and that they meet.

    The share of ranges that hold the true value is not known where it is censored, but it lies between these two.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n, 2)
        Predicted ranges, ends included; they may be infinite.
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
    intervals, weight = _check_target(y_true, sample_weight)
    if np.shape(y_pred) != intervals.shape:
        raise ValueError(
            f"y_pred: expected shape {intervals.shape}, a (lower, upper) range per row of y_true; "
            f"got shape {np.shape(y_pred)}."
        )
    ranges = check_intervals(y_pred, name="y_pred")
    contains = (ranges[:, 0] <= intervals[:, 0]) & (intervals[:, 1] <= ranges[:, 1])
    meets = (ranges[:, 0] <= intervals[:, 1]) & (intervals[:, 0] <= ranges[:, 1])
    return Coverage(*(float(np.average(rows, weights=weight)) for rows in (contains, meets)))


def limit_range(intervals: FloatArray, weight: FloatArray | None = None) -> tuple[float, float]:
    """Return the least and the greatest limit of the rows of positive weight, or raise if they are the same."""
    counted = intervals if weight is None else intervals[weight > 0]
    limits = counted[np.isfinite(counted)]
    if not limits.size or limits.min() == limits.max():
        raise ValueError(
            "y_true: expected rows of positive weight with at least two different finite limits, between which the "
            "score is integrated."
        )
    return float(limits.min()), float(limits.max())


def _check_target(y_true: Any, sample_weight: Any) -> tuple[FloatArray, FloatArray | None]:
    intervals = check_intervals(y_true, name="y_true")
    return intervals, check_sample_weight(sample_weight, len(intervals))


def _check_span(span: Any) -> tuple[float, float]:
    ends = as_numbers(span, "span")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"span: expected a pair of numbers (low, high) with low < high, got {span!r}.")
    return float(ends[0]), float(ends[1])


def _brier_scores(
    intervals: FloatArray, distribution: Any, times: FloatArray, reference: Any, weight: FloatArray | None
) -> FloatArray:
    """Return a score per time."""
    lower, upper = intervals.T
    n_rows = len(intervals)
    predicted = make_rows(distribution, n_rows)
    known = make_rows(_estimate(intervals, weight) if reference is None else reference, n_rows, name="reference")
    mass = interval_probability(known, intervals, name="reference")
    above_upper = _survival(known, upper, name="reference")
    scores = np.empty(len(times))
    for k, time in enumerate(np.full(n_rows, value) for value in times):
        past = (_survival(known, time, name="reference") - above_upper) / np.where(mass > 0, mass, 1.0)
        status = np.where(upper <= time, 0.0, np.where(time <= lower, 1.0, np.clip(past, 0.0, 1.0)))
        has_status = (upper <= time) | (time <= lower) | (mass > 0)
        counted = np.where(has_status, 1.0 if weight is None else weight, 0.0)
        if not counted.any():
            raise ValueError(
                f"reference: at time {time[0]:g} the status of all rows is unknown, and the reference has no mass in "
                "their intervals. Score at other times."
            )
        scores[k] = np.average((status - _survival(predicted, time)) ** 2, weights=counted)
    return scores


def _estimate(intervals: FloatArray, weight: FloatArray | None) -> IntervalDistribution:
    """Return the distribution of the target, from the rows that say something about it."""
    informative = np.isfinite(intervals).any(axis=1)
    if weight is not None:
        informative &= weight > 0
        weight = weight[informative]
    if not informative.any():
        raise ValueError("y_true: no row of positive weight has a finite limit. Pass a reference.")
    return turnbull(intervals[informative], sample_weight=weight)


def _survival(distribution: Any, values: FloatArray, *, name: str = "distribution") -> FloatArray:
    """Return the probabilities of more than each value."""
    finite = np.isfinite(values)
    above = 1 - evaluate(distribution, "cdf", np.where(finite, values, 0.0), name=name)
    return np.where(finite, above, np.where(values > 0, 0.0, 1.0))
