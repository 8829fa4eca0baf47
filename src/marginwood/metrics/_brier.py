"""Brier scores: squared errors of the probability that the target is greater than some time.

A distribution is what :mod:`marginwood.metrics._distributions` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from marginwood._support.arrays import as_numbers, raise_first
from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.intervals import BoolArray, FloatArray
from marginwood.metrics._probabilities import (
    check_target,
    evaluate,
    interval_probability,
    limit_range,
    make_rows,
)

__all__ = ["integrated_interval_brier_score", "interval_brier_score"]

N_TIMES = 101


def interval_brier_score(
    y_true: Any, distribution: Any, times: Any, *, reference: Any = None, sample_weight: Any = None
) -> float | FloatArray:
    """Mean squared error of the predicted probabilities that the target exceeds each of the given times.

    The probability ``1 - cdf(t)`` is compared with the status of the row: 0 if t is at least
    `upper`, 1 if t is at most `lower` and less than `upper`. In between, the status is not known;
    then it is the probability by `reference` that the value is greater than t, given that it is in
    the interval.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an
        object with ``cdf(t)`` like those of scipy.stats.
    times : float or array-like of shape (m,)
        Values of the target, in survival analysis times.
    reference : object, default=None
        One distribution for all rows, such as ``turnbull(y_train)`` of
        :func:`~marginwood.distributions.turnbull`, or one per row. None takes ``turnbull(y_true)``.
        A row is left out at times inside of its interval if the reference has no mass there.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float or ndarray of shape (m,)
        A score per time. 0 is best, and 1/4 is what a probability of one half gets on rows of known
        status.

    Notes
    -----
    One reference for all rows knows nothing about features. Where it stands for many rows, curves
    that are closer to it than the truth score better: under heavy right-censoring flat curves win.
    Simulated with 61 % of the rows right-censored, the integrated score of the true curves was
    0.044, that of curves with half the effect and a spread to match 0.041. Then compare models by
    :func:`interval_crps` (0.177 and 0.245) or, if they have densities, by
    :func:`interval_log_loss` (0.57 and 0.72). A `reference` may have one distribution per row, too. The scored curves
    themselves rank these two rightly, but prefer curves that are too sure: with 0.85 of the spread
    0.0234, the true ones 0.0237.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import interval_brier_score
    >>> y = [(0, 1), (2, float("inf"))]
    >>> interval_brier_score(y, norm(loc=[0.5, 2.0]), [1.0, 2.0], reference=norm(loc=1.0)).round(4)
    array([0.0602, 0.1272])
    """
    intervals, weight = check_target(y_true, sample_weight)
    values = as_numbers(times, "times")
    if values.ndim > 1 or not values.size:
        raise ValueError(
            f"times: expected a number or shape (m,) with m >= 1, got shape {values.shape}."
        )
    raise_first(
        ~np.isfinite(np.atleast_1d(values)), "times: NaN or infinite", times=np.atleast_1d(values)
    )
    scores = _brier_scores(intervals, distribution, np.atleast_1d(values), reference, weight)
    return scores if values.ndim else float(scores[0])


def integrated_interval_brier_score(
    y_true: Any,
    distribution: Any,
    times: Any = None,
    *,
    reference: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean of :func:`interval_brier_score` over a range of times, by the trapezoidal rule.

    For un-censored rows it is :func:`interval_crps` within the same span, divided by its length, up
    to the error of the rule.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an
        object with ``cdf(t)`` like those of scipy.stats.
    times : array-like of shape (m,), default=None
        At least two rising times. None takes 101 evenly spaced ones, from the least to the greatest
        limit of `y_true`.
    reference : object, default=None
        One distribution for all rows, see :func:`interval_brier_score`.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Notes
    -----
    Under heavy right-censoring it prefers flat curves to the true ones, see
    :func:`interval_brier_score`.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.metrics import integrated_interval_brier_score
    >>> y = [(0, 1), (2, float("inf"))]
    >>> round(integrated_interval_brier_score(y, norm(loc=[0.5, 2.0]), reference=norm(loc=1.0)), 3)
    0.046
    """
    intervals, weight = check_target(y_true, sample_weight)
    if times is None:
        grid = np.linspace(*limit_range(intervals, weight), N_TIMES)
    else:
        grid = as_numbers(times, "times")
        if grid.ndim != 1 or len(grid) < 2:
            raise ValueError(f"times: expected shape (m,) with m >= 2, got shape {grid.shape}.")
        raise_first(~np.isfinite(grid), "times: NaN or infinite", times=grid)
        raise_first(
            np.diff(grid, prepend=-np.inf) <= 0,
            "times: not greater than the one before",
            times=grid,
        )
    scores = _brier_scores(intervals, distribution, grid, reference, weight)
    return float(trapezoid(scores, grid) / (grid[-1] - grid[0]))


def _brier_scores(
    intervals: FloatArray,
    distribution: Any,
    times: FloatArray,
    reference: Any,
    weight: FloatArray | None,
) -> FloatArray:
    """Return a score per time."""
    predicted = make_rows(distribution, len(intervals))
    if reference is None:
        reference = _estimate(intervals, weight)
    reference = make_rows(reference, len(intervals), name="reference")
    mass = interval_probability(reference, intervals, name="reference")
    scores = np.empty(len(times))
    for k, time in enumerate(times):
        status, is_known = _status(intervals, time, reference, mass)
        counted = np.where(is_known, 1.0 if weight is None else weight, 0.0)
        if not counted.any():
            raise ValueError(
                f"reference: at time {time:g} the status of all rows is unknown, and the reference has no mass in "
                "their intervals. Score at other times."
            )
        above = 1 - evaluate(predicted, "cdf", np.full(len(intervals), time))
        scores[k] = np.average((status - above) ** 2, weights=counted)
    return scores


def _status(
    intervals: FloatArray, time: float, reference: Any, mass: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return the probability that each row is greater than a time, and whether it has any; `mass` is the intervals'."""
    lower, upper = intervals.T
    is_inside = (lower < time) & (time < upper)
    later = np.column_stack([np.where(is_inside, time, lower), upper])
    share = interval_probability(reference, later, name="reference") / np.where(mass > 0, mass, 1.0)
    status = np.where(is_inside, np.minimum(share, 1.0), upper > time)
    return status, ~is_inside | (mass > 0)


def _estimate(intervals: FloatArray, weight: FloatArray | None) -> IntervalDistribution:
    """Return the distribution of the target, from the informative rows."""
    informative = np.isfinite(intervals).any(axis=1)
    if weight is not None:
        informative &= weight > 0
        weight = weight[informative]
    if not informative.any():
        raise ValueError("y_true: no row of positive weight has a finite limit. Pass a reference.")
    return turnbull(intervals[informative], sample_weight=weight)
