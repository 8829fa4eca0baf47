"""Trends of censored values: Kendall's tau-b, and the line of Akritas, Murphy and LaValley (1995).

Two rows say that y rises with x if the row with the larger x lies above the other one for certain,
and nothing if their intervals overlap. The *slope* is where as many pairs rise as fall once the
line is taken off: a pair of rows rises up to one slope and falls from another one on, so all of
them in order hold the answer, and of un-censored rows it is the median of the slopes of all pairs
(Theil and Sen).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from marginwood._ends import carry_over, half_open
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import check_share
from marginwood.distributions import turnbull
from marginwood.inference._table import Table, make_table
from marginwood.intervals import FloatArray, check_intervals

__all__ = ["TrendTest", "take_logarithms", "trend_test"]

FEWEST = 3
MOST = 5_000  # rows; all pairs are looked at, so time and memory grow with the square


class TrendTest(Table):
    """What :func:`trend_test` returns: a table, and its figures.

    Attributes
    ----------
    tau, p_value : float
        Kendall's tau-b, and the probability of one as far from 0 if there is no trend.
    slope, slope_interval : float and (float, float)
        The slope of the line and its confidence interval.
    intercept : float
        The median of ``y - slope * x``, which the NPMLE estimates.
    is_log : bool
        Whether the line is one of the logarithm.
    """

    tau: float
    p_value: float
    slope: float
    slope_interval: tuple[float, float]
    intercept: float
    is_log: bool

    def predict(self, x: Any) -> FloatArray:
        """The line at some x.

        Parameters
        ----------
        x : array-like
            Where.

        Returns
        -------
        ndarray
            ``intercept + slope * x``; of a test with ``log=True`` its exponential, a median.

        Examples
        --------
        >>> from marginwood.inference import trend_test
        >>> trend_test([1, 2, 3], [2.0, 4.0, 6.0]).predict([4]).tolist()
        [8.0]
        """
        line = np.asarray(self.intercept + self.slope * as_numbers(x, "x"))
        return np.exp(line) if self.is_log else line


def trend_test(x: Any, y: Any, *, log: bool = False, level: float = 0.95) -> TrendTest:
    """Test whether censored values rise or fall with x, and draw the line: the Mann-Kendall test.

    Parameters
    ----------
    x : array-like of shape (n,)
        Numbers, such as dates in years.
    y : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    log : bool, default=False
        Whether the line is one of the natural logarithm of y: a slope of 0.1 is a rise by 11 % per
        unit of x. tau and its p-value do not depend on it. Open ends may be 0 or infinite.
    level : float, default=0.95
        Of the confidence interval of the slope.

    Returns
    -------
    TrendTest
        A table with `tau`, `p_value`, `slope`, `slope_interval`, `intercept` and a method
        `predict`.

    Notes
    -----
    tau-b is the sum of the signs of pairs over the geometric mean of the numbers of pairs that
    differ for certain in x and in y; the variance of that sum is the one under permutation, which
    counts ties and pairs that overlap (Daniels 1944; Brown, Hollander and Korwar 1974). Of
    un-censored rows both are those of ``scipy.stats.kendalltau(..., method="asymptotic")``.

    Examples
    --------
    >>> from marginwood import from_detection_limits
    >>> from marginwood.inference import trend_test
    >>> y = from_detection_limits(["<1", "<1", "1.5", "<2", "2.5", "3", "2.8", "4"])
    >>> print(trend_test(range(1, 9), y))
    Trend of 8 rows, 3 of them censored
                     estimate  lower  upper       p
    Kendall's tau-b    0.8487                0.0043
    slope                 0.5  0.325    inf
    intercept               0
    """
    check_share("level", level)
    intervals = check_intervals(y)
    intervals = take_logarithms(intervals) if log else intervals
    place = as_numbers(x, "x")
    if place.shape != (len(intervals),):
        raise ValueError(
            f"x: expected shape ({len(intervals)},), one number per row of y; got shape {place.shape}."
        )
    raise_first(
        ~np.isfinite(place), "x: NaN, missing or infinite", " Leave out rows without one.", x=place
    )
    informative = np.isfinite(intervals).any(axis=1)
    intervals, place = intervals[informative], place[informative]
    n_rows = len(place)
    if not FEWEST <= n_rows <= MOST:
        raise ValueError(
            f"y: expected from {FEWEST} to {MOST} informative rows, of which all pairs are compared; got {n_rows}. "
            "Of more, draw some at random."
        )
    order = np.argsort(place, kind="stable")
    place, (lower, upper) = place[order], half_open(intervals[order]).T
    x_sign = np.sign(place[:, np.newaxis] - place).astype(np.int8)
    y_sign = (lower[:, np.newaxis] >= upper).astype(np.int8) - (lower >= upper[:, np.newaxis])
    concordance = float(np.einsum("ij,ij->", x_sign, y_sign, dtype=np.int64)) / 2
    deviation = np.sqrt(_permutation_variance(x_sign, y_sign))
    if deviation == 0:
        raise ValueError(
            "x, y: no two rows differ for certain in both, so that there is no trend to test."
        )
    pairs = np.sqrt(np.count_nonzero(x_sign) / 2) * np.sqrt(np.count_nonzero(y_sign) / 2)
    p_value = float(2 * norm.sf(abs(concordance) / deviation))
    rising, falling = _pair_slopes(place, intervals[order])
    z = float(norm.ppf((1 + level) / 2))
    slope = sum(_solve_slope(rising, falling, 0.0)) / 2
    ends = (
        _solve_slope(rising, falling, z * deviation)[0],
        _solve_slope(rising, falling, -z * deviation)[1],
    )
    residuals = intervals[order] - slope * place[:, np.newaxis]
    middle = turnbull(residuals).median()
    intercept = float(middle[np.isfinite(middle)].mean()) if np.isfinite(middle).any() else np.nan
    n_censored = int(np.count_nonzero(intervals[:, 0] < intervals[:, 1]))
    columns = {
        "": ["Kendall's tau-b", "slope", "intercept"],
        "estimate": [concordance / pairs, slope, intercept],
        "lower": [None, ends[0], None],
        "upper": [None, ends[1], None],
        "p": [p_value, None, None],
    }
    title = f"Trend of {n_rows} rows, {n_censored} of them censored"
    return make_table(
        TrendTest,
        columns,
        title,
        tau=concordance / pairs,
        p_value=p_value,
        slope=slope,
        slope_interval=ends,
        intercept=intercept,
        is_log=log,
    )


def take_logarithms(intervals: FloatArray) -> FloatArray:
    """Intervals of the natural logarithm; what may be 0 or less is open below."""
    lower, upper = intervals.T
    raise_first(
        (upper <= 0) | ((lower == upper) & (lower <= 0)),
        "y: has no logarithm",
        " Values must be positive; a non-detect is (-inf, limit).",
        lower=lower,
        upper=upper,
    )
    with np.errstate(divide="ignore"):
        return carry_over(np.where(intervals > 0, intervals, 0.0), np.log)


def _permutation_variance(a: Any, b: Any) -> float:
    """The variance of half the sum of ``a * b`` when rows of one change places; both are antisymmetric."""
    n = len(a)
    sums = [float((np.sum(c, axis=1, dtype=np.int64) ** 2).sum()) for c in (a, b)]
    squares = [float(np.count_nonzero(c)) for c in (a, b)]
    triples = (sums[0] - squares[0]) * (sums[1] - squares[1]) / (n * (n - 1) * (n - 2))
    return triples + squares[0] * squares[1] / (2 * n * (n - 1))


def _pair_slopes(place: FloatArray, intervals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Up to which slopes pairs rise, and from which slopes on they fall, in order."""
    lower, upper = intervals.T
    rising, falling = [], []
    for row in range(len(place) - 1):
        later = slice(int(np.searchsorted(place, place[row], side="right")), None)
        distance = place[later] - place[row]
        rising.append((lower[later] - upper[row]) / distance)
        falling.append((upper[later] - lower[row]) / distance)
    return np.sort(np.concatenate(rising)), np.sort(np.concatenate(falling))


def _solve_slope(rising: FloatArray, falling: FloatArray, excess: float) -> tuple[float, float]:
    """Between which slopes more pairs rise than fall by some number: slopes of pairs, or infinite ones."""
    ends = np.unique(np.concatenate([rising, falling]))
    ends = ends[np.isfinite(ends)]
    # Right below and right above each end: a pair of un-censored rows rises up to its slope.
    above = (len(rising) - np.searchsorted(rising, ends, "right")) - np.searchsorted(
        falling, ends, "right"
    )
    below = (len(rising) - np.searchsorted(rising, ends, "left")) - np.searchsorted(
        falling, ends, "left"
    )
    low = np.flatnonzero(above <= excess)
    high = np.flatnonzero(below >= excess)
    low_end = float(ends[low[0]]) if len(low) else np.inf
    high_end = float(ends[high[-1]]) if len(high) else -np.inf
    if excess != 0:  # a limit of the slope: nothing may bound it
        low_end = -np.inf if not len(ends) or below[0] <= excess else low_end
        high_end = np.inf if not len(ends) or above[-1] >= excess else high_end
    return low_end, high_end
