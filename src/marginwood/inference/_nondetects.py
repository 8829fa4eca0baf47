"""Summaries of values of which some are only known to lie below a detection limit, or in an interval.

Three methods: the NPMLE, which for non-detects is the estimate of Kaplan and Meier from above;
*ROS*, regression on order statistics, which puts non-detects on the log-normal line of the detected
values (Helsel and Cohn 1988); and the log-normal distribution by maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr, ndtri
from sklearn.utils import check_random_state

from marginwood._ends import as_written
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import check_choice, check_count, check_number, check_share
from marginwood._support.labels import read_labels
from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.inference._table import Table
from marginwood.inference._trend import take_logarithms
from marginwood.intervals import FloatArray, IntArray, check_informative, check_intervals

__all__ = ["censored_summary", "impute_on_line"]

FEWEST_DETECTED = 3  # for a line through them
MOST_SHOWN = 4  # detection limits
MOST_BLOCKS = 200  # of the jackknife
STEP = 1e-4  # of numerical derivatives
FARTHEST = 1e4  # standard deviations of a fit, in those of the limits

Rows = list[tuple[str, Any, Any, Any]]


class _Asked(NamedTuple):
    """What is asked of every group."""

    shares: FloatArray
    threshold: float | None
    level: float
    n_bootstrap: int
    rng: Any


def censored_summary(
    y: Any,
    *,
    by: Any = None,
    method: Literal["npmle", "ros", "lognormal"] = "npmle",
    q: Any = (0.1, 0.25, 0.5, 0.75, 0.9),
    threshold: float | None = None,
    level: float = 0.95,
    n_bootstrap: int = 2000,
    random_state: Any = None,
) -> Table:
    """Summarise censored values: how many are censored, mean, standard deviation, quantiles.

    Parameters
    ----------
    y : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts, as
        ``from_detection_limits`` makes of measurements.
    by : array-like of shape (n,), default=None
        Labels of groups, such as stations: a summary of each.
    method : {"npmle", "ros", "lognormal"}, default="npmle"
        ``"npmle"`` assumes no distribution, and takes any censoring; a mass below the least limit
        counts at that limit in mean and standard deviation (Efron 1967). ``"ros"`` takes positive
        values and non-detects, and puts these on the log-normal line of the values that were
        detected. ``"lognormal"`` is that distribution by maximum likelihood, for any censoring.
    q : number or array-like, default=(0.1, 0.25, 0.5, 0.75, 0.9)
        Shares of the quantiles.
    threshold : number, default=None
        A value whose probability of being exceeded is asked.
    level : float, default=0.95
        Of confidence intervals, and of the one-sided upper limit of the mean (its UCL).
    n_bootstrap : int, default=2000
        Samples of the bootstrap (BCa) behind intervals of mean and standard deviation, and of
        everything by ROS.
    random_state : int, RandomState or None, default=None
        For the bootstrap.

    Returns
    -------
    Table
        A line for each statistic, with estimate and confidence interval; `by` group.

    Notes
    -----
    A quantile that the NPMLE leaves open, because it lies below the least or beyond the greatest
    limit, has bounds but no estimate. Intervals of the NPMLE's quantiles and of its exceedance are those of
    :meth:`~marginwood.distributions.Turnbull.confidence_band`. Those of the log-normal distribution
    are by the delta method, on logarithms (Cox's, for the mean) and on normal scores.

    Examples
    --------
    >>> from marginwood import from_detection_limits
    >>> from marginwood.inference import censored_summary
    >>> y = from_detection_limits(["<1", "1.2", "<2", "2.5", "3.1", "<1", "4.7", "8.3"])
    >>> print(censored_summary(y, method="lognormal", q=0.5, threshold=5))
    Log-normal distribution, maximum likelihood, 0.95 confidence
    statistic           estimate    lower   upper
    n                          8
    share censored         0.375
    detection limits           2        1       2
    mean                   2.941    1.202   7.198
    mean, upper limit      6.233
    standard deviation     4.017   0.7057   22.86
    median                 1.738   0.7893   3.826
    share above 5         0.1515  0.02846  0.4379
    """
    check_choice("method", method, ("npmle", "ros", "lognormal"))
    check_share("level", level)
    check_count("n_bootstrap", n_bootstrap, 1)
    if threshold is not None:
        check_number("threshold", threshold, "a finite number", np.isfinite)
    shares = np.atleast_1d(as_numbers(q, "q"))
    if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
        raise ValueError(f"q: expected shares between 0 and 1, got {q!r:.80}.")
    intervals = check_intervals(y)
    asked = _Asked(shares, threshold, level, n_bootstrap, check_random_state(random_state))
    names: list[Any] = [None]
    codes = np.zeros(len(intervals), np.int64)
    if by is not None:
        names, codes = read_labels(by, len(intervals), "by")
    lines: list[tuple[Any, ...]] = []
    for code, name in enumerate(names):
        try:
            found = _summarise(intervals[codes == code], method, asked)
        except ValueError as error:
            raise ValueError(
                str(error) if name is None else f"by: group {name!r}: {error}"
            ) from None
        lines += [(name, *line) for line in found]
    cells = list(zip(*lines, strict=True))
    columns = {} if by is None else {"group": [str(name) for name in cells[0]]}
    columns |= dict(zip(("statistic", "estimate", "lower", "upper"), cells[1:], strict=True))  # type: ignore[arg-type]
    return Table(columns, f"{METHODS[method]}, {level:.4g} confidence")


METHODS = {
    "npmle": "Nonparametric estimate (Kaplan-Meier, Turnbull)",
    "ros": "Regression on order statistics",
    "lognormal": "Log-normal distribution, maximum likelihood",
}


def _summarise(intervals: FloatArray, method: str, asked: _Asked) -> Rows:
    """The lines of one group."""
    check_informative(intervals)
    intervals = intervals[np.isfinite(intervals).any(axis=1)]
    is_censored = intervals[:, 0] < intervals[:, 1]
    limits = np.unique(as_written(intervals[np.isinf(intervals[:, 0]), 1]))
    lines: Rows = [
        ("n", len(intervals), None, None),
        ("share censored", float(is_censored.mean()), None, None),
    ]
    if len(limits):
        # The least and the greatest detection limit.
        lines.append(("detection limits", len(limits), float(limits[0]), float(limits[-1])))
    solve = {"npmle": _by_npmle, "ros": _by_ros, "lognormal": _by_lognormal}[method]
    return lines + solve(intervals, asked)


def _name_quantile(share: float) -> str:
    return "median" if share == 0.5 else f"quantile {share:g}"


def _name_exceedance(threshold: float) -> str:
    return f"share above {threshold:g}"


def _by_npmle(intervals: FloatArray, asked: _Asked) -> Rows:
    estimate = turnbull(intervals)

    def moments(rows: IntArray) -> FloatArray:
        return np.array(_moments(turnbull(intervals[rows]), len(rows)))

    lines = _bootstrap(intervals, moments, ["mean", "standard deviation"], asked)
    bounds = estimate.quantile(asked.shares)
    ends = estimate.confidence_interval(asked.shares, level=asked.level)
    for share, pair, (low, high) in zip(asked.shares, bounds, ends, strict=True):
        known = float(pair.mean()) if np.isfinite(pair).all() else None
        lines.append((_name_quantile(share), known, float(low), float(high)))
    if asked.threshold is not None:
        band = estimate.confidence_band([asked.threshold], level=asked.level)
        share = float(estimate.sf(asked.threshold))
        lines.append(
            (_name_exceedance(asked.threshold), share, float(band.lower[0]), float(band.upper[0]))
        )
    return lines


def _moments(estimate: IntervalDistribution, n_rows: int) -> tuple[float, float]:
    """Mean and standard deviation, each mass in the middle of its interval, or at its finite end."""
    lower, upper = estimate.support.T
    middle = np.where(np.isinf(lower), upper, np.where(np.isinf(upper), lower, (lower + upper) / 2))
    mean = float(estimate.mass @ middle)
    variance = float(estimate.mass @ (middle - mean) ** 2)
    return mean, float(np.sqrt(variance * n_rows / max(n_rows - 1, 1)))


def impute_on_line(intervals: FloatArray) -> FloatArray:
    """Detected values, and in place of non-detects those of the log-normal line, by plotting positions.

    Positions of Hirsch and Stedinger (1987): each detection limit has the probability that it is
    exceeded, from the rows that can tell, and rows between two limits share what lies between.
    """
    is_detected = intervals[:, 0] == intervals[:, 1]
    values = intervals[:, 1]
    written = np.where(is_detected, values, as_written(values))
    limits = np.concatenate([[-np.inf], np.unique(written[~is_detected]), [np.inf]])
    n_bins = len(limits) - 1
    place = np.searchsorted(limits, written, side="right") - 1  # the last limit that is not greater
    detected = np.bincount(place[is_detected], minlength=n_bins)
    exceedance = np.zeros(n_bins + 1)
    for idx in range(n_bins - 1, 0, -1):
        n_below = np.count_nonzero(
            np.where(is_detected, written < limits[idx], written <= limits[idx])
        )
        n_all = detected[idx] + n_below
        exceedance[idx] = exceedance[idx + 1] + detected[idx] / n_all * (1 - exceedance[idx + 1])
    exceedance[0] = 1.0
    position = np.empty(len(values))
    for idx in range(n_bins):
        for chosen, width in (
            (is_detected & (place == idx), exceedance[idx] - exceedance[idx + 1]),
            (~is_detected & (place == idx), 1 - exceedance[idx]),
        ):
            rows = np.flatnonzero(chosen)
            rank = np.empty(len(rows))
            rank[np.argsort(values[rows], kind="stable")] = np.arange(1, len(rows) + 1)
            start = 1 - exceedance[idx] if is_detected[rows].any() else 0.0
            position[rows] = start + width * rank / (len(rows) + 1)
    scores = ndtri(position)
    slope, intercept = np.polyfit(scores[is_detected], np.log(values[is_detected]), 1)
    return np.where(is_detected, values, np.exp(intercept + slope * scores))


def _by_ros(intervals: FloatArray, asked: _Asked) -> Rows:
    is_detected = intervals[:, 0] == intervals[:, 1]
    raise_first(
        ~(is_detected | np.isinf(intervals[:, 0])),
        'y: neither a value nor a non-detect; method="npmle" takes any interval,',
        lower=intervals[:, 0],
        upper=intervals[:, 1],
    )
    take_logarithms(intervals)
    if len(np.unique(intervals[is_detected, 0])) < FEWEST_DETECTED:
        raise ValueError(
            f"y: a line needs {FEWEST_DETECTED} different detected values, got "
            f'{len(np.unique(intervals[is_detected, 0]))}. method="npmle" needs none.'
        )
    names = ["mean", "standard deviation", *map(_name_quantile, asked.shares)]
    if asked.threshold is not None:
        names.append(_name_exceedance(asked.threshold))

    def measure(rows: IntArray) -> FloatArray:
        sample = intervals[rows]
        if len(np.unique(sample[sample[:, 0] == sample[:, 1], 0])) < FEWEST_DETECTED - 1:
            return np.full(len(names), np.nan)
        full = impute_on_line(sample)
        found = [full.mean(), full.std(ddof=1), *np.quantile(full, asked.shares)]
        if asked.threshold is not None:
            found.append(np.mean(full > asked.threshold))
        return np.array(found)

    return _bootstrap(intervals, measure, names, asked)


def _by_lognormal(intervals: FloatArray, asked: _Asked) -> Rows:
    logs = take_logarithms(intervals)
    at, covariance = _fit_normal(logs)
    z = float(ndtri((1 + asked.level) / 2))

    def line(
        name: str, function: Callable[[FloatArray], Any], back: Any = np.exp
    ) -> tuple[Any, ...]:
        """A statistic, by a function of the parameters in which it is nearly normal."""
        slope = np.array(
            [(function(at + step) - function(at - step)) / (2 * STEP) for step in STEP * np.eye(2)]
        )
        error = float(np.sqrt(slope @ covariance @ slope))
        middle = function(at)
        return name, *(float(back(middle + c * error)) for c in (0.0, -z, z)), middle, error

    def log_mean(p: FloatArray) -> Any:
        return p[0] + np.exp(2 * p[1]) / 2

    mean = line("mean", log_mean)
    limit = float(np.exp(mean[4] + ndtri(asked.level) * mean[5]))
    lines: Rows = [mean[:4], ("mean, upper limit", limit, None, None)]
    deviation = line(
        "standard deviation", lambda p: log_mean(p) + 0.5 * np.log(np.expm1(np.exp(2 * p[1])))
    )
    lines.append(deviation[:4])
    for share in asked.shares:
        score = float(ndtri(share))
        lines.append(line(_name_quantile(share), lambda p, c=score: p[0] + c * np.exp(p[1]))[:4])  # type: ignore[misc]
    if asked.threshold is not None:
        above = np.log(asked.threshold) if asked.threshold > 0 else -np.inf
        if np.isinf(above):
            lines.append((_name_exceedance(asked.threshold), 1.0, None, None))
        else:
            name = _name_exceedance(asked.threshold)
            lines.append(line(name, lambda p: (p[0] - above) / np.exp(p[1]), ndtr)[:4])
    return lines


def _fit_normal(intervals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and logarithm of the standard deviation of a normal distribution, and their covariance."""
    # A row that held all positive values says nothing.
    intervals = intervals[np.isfinite(intervals).any(axis=1)]
    lower, upper = intervals.T
    is_known = lower == upper
    finite = intervals[np.isfinite(intervals)]
    if (
        np.max(lower, initial=-np.inf) <= np.min(upper, initial=np.inf)
        or len(np.unique(finite)) < 2
    ):
        raise ValueError(
            "y: one value lies in all rows, so that no log-normal distribution is the most likely one. "
            'method="npmle" gives bounds.'
        )
    known = lower[is_known]
    ends = intervals[~is_known]

    def cost(p: FloatArray) -> float:
        scale = np.exp(p[1])
        z = (known - p[0]) / scale
        value = 0.5 * z @ z + len(z) * p[1]
        low, high = ((ends - p[0]) / scale).T
        # In the tail where both are small: differences there keep their digits.
        flip = low + high > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        log_high, log_low = log_ndtr(high), log_ndtr(low)
        return float(
            value - (log_high + np.log(-np.expm1(np.minimum(log_low - log_high, -1e-300)))).sum()
        )

    spread = max(float(np.std(finite)), 1e-3)
    start = np.array([float(np.median(finite)), np.log(spread)])
    simplex = start + np.array([[0.0, 0.0], [spread, 0.0], [0.0, 1.0]])
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000, "initial_simplex": simplex}
    at = np.asarray(minimize(cost, start, method="Nelder-Mead", options=options).x)
    steps = STEP * 10 * np.eye(2)
    hessian = np.array(
        [
            [
                (cost(at + a + b) - cost(at + a - b) - cost(at - a + b) + cost(at - a - b))
                / (400 * STEP**2)
                for a in steps
            ]
            for b in steps
        ]
    )
    if not (np.linalg.eigvalsh(hessian) > 0).all() or np.exp(at[1]) > FARTHEST * spread:
        raise ValueError(
            "y: rows fit the better the larger the standard deviation, so that no log-normal distribution is the most "
            'likely one. method="npmle" assumes none.'
        )
    return at, np.linalg.inv(hessian)


def _bootstrap(
    intervals: FloatArray,
    measure: Callable[[IntArray], FloatArray],
    names: list[str],
    asked: _Asked,
) -> Rows:
    """Statistics with intervals of the bias-corrected and accelerated bootstrap (Efron 1987)."""
    n_rows = len(intervals)
    estimate = measure(np.arange(n_rows))
    draws = np.array(
        [measure(asked.rng.randint(n_rows, size=n_rows)) for _ in range(asked.n_bootstrap)]
    )
    # The jackknife leaves out one row after the other, or one block of many.
    every = np.arange(n_rows)
    n_blocks = min(n_rows, MOST_BLOCKS)
    without = estimate[np.newaxis]
    if n_rows > 1:
        without = np.array([measure(every[every % n_blocks != block]) for block in range(n_blocks)])
    lines: Rows = []
    tail = (1 - asked.level) / 2
    for place, name in enumerate(names):
        levels = np.array([tail, 1 - tail, asked.level])
        low, high, limit = _accelerated(estimate[place], draws[:, place], without[:, place], levels)
        lines.append((name, float(estimate[place]), low, high))
        if name == "mean":
            lines.append(("mean, upper limit", limit, None, None))
    return lines


def _accelerated(
    estimate: float, draws: FloatArray, without: FloatArray, levels: FloatArray
) -> list[float]:
    """Quantiles of bootstrapped statistics, moved by their bias and by the skewness of the jackknife."""
    draws, without = draws[np.isfinite(draws)], without[np.isfinite(without)]
    if not len(draws):
        return [np.nan] * len(levels)
    # Draws that are equal to the estimate count half: statistics of few values have many.
    below = (np.mean(draws < estimate) + np.mean(draws <= estimate)) / 2
    size = 1 / (2 * len(draws))
    bias = float(ndtri(np.clip(below, size, 1 - size)))
    apart = without.mean() - without
    apart /= np.abs(apart).max(initial=0.0) or 1.0
    scale = float((apart**2).sum()) ** 1.5
    skewness = float((apart**3).sum()) / (6 * scale) if scale > 0 else 0.0
    z = bias + ndtri(levels)
    moved = ndtr(bias + z / (1 - skewness * z))
    return [float(value) for value in np.quantile(draws, moved)]
