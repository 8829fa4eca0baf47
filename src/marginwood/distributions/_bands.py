"""How far the truth may be from the NPMLE: confidence bands of its curve, pointwise.

Where rows are un-censored, or intervals that share no cell, or open on one side only, the estimate
is a product of shares, and Greenwood's formula gives the variance of its logarithm. All other rows
need the *likelihood ratio*: S(t) = s is in the band unless fixing it costs more log-likelihood than
chance does. To fix it needs no solver of its own. The NPMLE of the rows and one more, (t, inf),
of weight w, has a greater S(t); and no distribution with that S(t) explains the rows better, since
the added row sees S(t) alone. So the end of the band is found in w, by the solver of the NPMLE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

from marginwood._core import cells
from marginwood._core.turnbull import make_scratch
from marginwood._ends import above, as_written, below, half_open
from marginwood.distributions._solve import LEAST_TOLERANCE, make_problem, solve
from marginwood.intervals import BoolArray, FloatArray

__all__ = ["Band", "ConfidenceBand", "is_left_censored", "make_band"]

# The log-likelihoods that are compared are this close to their maxima, and the ratio is met within:
CLOSE = 1e-4
CLOSE_RATIO = 1e-3
MOST_STEPS = 60
# Estimates from intervals whose ends all differ come as close to the truth as the cube root of the
# number of rows. Twice their log-likelihood ratio has its own limit (Banerjee and Wellner 2001),
# whose upper quantiles are 0.59 of those of chi-squared. With 100 and 400 rows the share is larger:
# `python -m benchmarks --only bands` shows how often the truth is covered with this one.
CUBE_ROOT_SHARE = 0.68
# With at least so many un-censored rows, or ends that another row has too, chi-squared is right.
LEAST_EXACT = 0.1
LEAST_SHARED = 0.5


class ConfidenceBand(NamedTuple):
    """Bounds of the probability of more than t, at some t: each holds the truth with `level`.

    Parameters
    ----------
    times : ndarray of shape (m,)
        Where.
    lower, upper : ndarray of shape (m,)
        Bounds of S(t). Each pair is a confidence interval by itself; that all hold at once is less
        likely.
    level : float
        Their level.
    method : str
        ``"greenwood"``, or ``"likelihood ratio"`` with the limit that it is compared with.
    """

    times: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    method: str


class Band(NamedTuple):
    """Bounds of S at any t, and the number of a row's end from which on a bound is low enough."""

    lower: Callable[[FloatArray], FloatArray]
    upper: Callable[[FloatArray], FloatArray]
    method: str
    ends: FloatArray

    def invert(self, share: float) -> list[float]:
        """Where the lower bound, and where the upper one, comes down to a share."""
        gaps = (self.ends[:-1] + self.ends[1:]) / 2
        ends = self.ends
        gaps = np.concatenate([below(ends[:1]), gaps, above(ends[-1:])])
        starts = np.concatenate([[-np.inf], as_written(ends), [np.inf]])
        return [
            float(starts[_find_first(gaps, lambda t: self.lower(t) <= share)]),
            float(starts[_find_first(gaps, lambda t: self.upper(t) < share)]),
        ]


def make_band(intervals: FloatArray, weight: FloatArray, level: float) -> Band:
    """The band of informative rows."""
    ends = np.unique(intervals[np.isfinite(intervals)])
    rows = half_open(intervals)
    steps = _greenwood(rows, weight, float(ndtri((1 + level) / 2)))
    is_root_n = steps is not None or _is_root_n(intervals, weight)
    most = float(chi2.ppf(level, 1)) * (1.0 if is_root_n else CUBE_ROOT_SHARE)
    ratio = _Ratio.of(rows, weight, most)
    if steps is None:
        method = f"likelihood ratio ({'chi-squared' if is_root_n else 'cube-root'} limit)"
        return Band(ratio.lower, ratio.upper, method, ends)
    # Greenwood's formula says nothing of a curve that is at 1 or at 0.
    return Band(
        lambda t: steps.read(t, steps.lower, steps.starts, "left", ratio.lower),
        lambda t: steps.read(t, steps.upper, steps.stops, "right", ratio.upper),
        "greenwood",
        ends,
    )


def _find_first(gaps: FloatArray, holds: Callable[[FloatArray], BoolArray]) -> int:
    """The first gap between ends in which a bound is low enough, by halving: bounds never rise."""
    low, high = 0, len(gaps)
    while low < high:
        middle = (low + high) // 2
        if holds(gaps[middle : middle + 1])[0]:
            high = middle
        else:
            low = middle + 1
    return low


def _is_root_n(intervals: FloatArray, weight: FloatArray) -> bool:
    """Whether the estimate is as precise as a share: enough rows are un-censored, or ends are shared."""
    is_exact = intervals[:, 0] == intervals[:, 1]
    if weight[is_exact].sum() >= LEAST_EXACT * weight.sum():
        return True
    row_weight = np.repeat(weight, 2)[np.isfinite(intervals).ravel()]
    finite, place = np.unique(intervals[np.isfinite(intervals)], return_inverse=True)
    total = np.bincount(place, row_weight, len(finite))[place]
    return bool(row_weight[total > row_weight].sum() >= LEAST_SHARED * row_weight.sum())


class _Steps(NamedTuple):
    """Bounds of S before the first cell, between cells, and after the last; NaN where it is 0 or 1."""

    starts: FloatArray
    stops: FloatArray
    lower: FloatArray
    upper: FloatArray

    @staticmethod
    def read(
        t: FloatArray,
        bound: FloatArray,
        ends: FloatArray,
        side: Literal["left", "right"],
        otherwise: Callable[[FloatArray], FloatArray],
    ) -> FloatArray:
        """A bound at some t."""
        answer = bound[np.searchsorted(ends, t, side=side)]
        unknown = np.isnan(answer)
        answer[unknown] = otherwise(t[unknown])
        return answer


def _greenwood(rows: FloatArray, weight: FloatArray, z: float) -> _Steps | None:
    """Bounds by Greenwood's formula with the log-log transformation; None where it does not apply."""
    support, ranges = make_problem(rows, weight / weight.sum())
    n_cells = len(support)
    is_one_cell = ranges.stop == ranges.first + 1
    starts, stops = half_open(support).T
    if np.all(is_one_cell | (ranges.stop == n_cells)) and not is_left_censored(rows):
        survival = _log_log(ranges, n_cells, weight.sum(), z)
        return _Steps(starts, stops, *survival)
    if np.all(is_one_cell | (ranges.first == 0)):
        mirrored = ranges._replace(first=n_cells - ranges.stop, stop=n_cells - ranges.first)
        least, greatest = _log_log(mirrored, n_cells, weight.sum(), z)
        return _Steps(starts, stops, 1 - greatest[::-1], 1 - least[::-1])
    return None


def is_left_censored(rows: FloatArray) -> bool:
    """Whether some rows are open below and none above: then all is done as of their mirror images."""
    return bool(np.isinf(rows[:, 0]).any() and not np.isinf(rows[:, 1]).any())


def _log_log(
    ranges: cells.Ranges, n_cells: int, total: float, z: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the probability of lying after each number of cells."""
    n_events, n_at_risk = count_events(ranges, n_cells, total)
    left = n_at_risk - n_events
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_survival = np.cumsum(np.log(left / n_at_risk))
        spread = np.sqrt(np.cumsum(n_events / (n_at_risk * left)))
        factor = np.exp(np.multiply.outer([z, -z], spread / -log_survival))
        bounds = np.exp(log_survival * factor)
    bounds[:, ~(np.isfinite(log_survival) & (log_survival < 0))] = np.nan
    unknown = np.full((2, 1), np.nan)
    least, greatest = np.hstack([unknown, bounds])
    return least, greatest


def count_events(ranges: cells.Ranges, n_cells: int, total: float) -> tuple[FloatArray, FloatArray]:
    """How many rows lie in each cell, and how many in it or beyond: rows are one cell, or end with the last."""
    is_event = ranges.stop == ranges.first + 1
    n_events = np.bincount(ranges.first[is_event], ranges.weight[is_event], n_cells)
    # A row that is open above is at risk in all cells before its first one.
    n_starting = np.bincount(ranges.first, ranges.weight, n_cells)
    beyond = np.append(np.cumsum(n_starting[::-1])[::-1], 0.0)[1:]
    # Sums of shares of the total, as the counts that they are.
    return _as_counts(n_events * total), _as_counts((n_events + beyond) * total)


def _as_counts(values: Any) -> FloatArray:
    """Numbers, whole where they are so but for rounding: the last at risk must be all that have an event."""
    whole = np.rint(values)
    return np.where(np.abs(values - whole) <= 1e-9 * np.maximum(whole, 1.0), whole, values)


class _Ratio(NamedTuple):
    """Bounds by the likelihood ratio, of half-open rows."""

    rows: FloatArray
    weight: FloatArray
    most: float
    best: float

    @classmethod
    def of(cls, rows: FloatArray, weight: FloatArray, most: float) -> _Ratio:
        """The bounds at which twice the log-likelihood ratio is `most`."""
        return cls(rows, weight, most, _maximise(rows, weight)[0])

    def lower(self, t: FloatArray) -> FloatArray:
        """Lower bounds of S: 1 less the greatest mass on (-inf, t]."""
        return 1.0 - np.array([self._greatest(-np.inf, value) for value in t])

    def upper(self, t: FloatArray) -> FloatArray:
        """Upper bounds of S: the greatest mass on (t, inf]."""
        return np.array([self._greatest(value, np.inf) for value in t])

    def _greatest(self, low: float, high: float) -> float:
        """The greatest probability of one more row that costs no more log-likelihood than allowed."""
        if low == high:
            return 0.0
        if low == -np.inf and high == np.inf:
            return 1.0
        inside = np.column_stack([self.rows[:, 0].clip(low), self.rows[:, 1].clip(max=high)])
        may_hold_all = (inside[:, 0] < inside[:, 1]).all()
        if may_hold_all and 2 * (self.best - _maximise(inside, self.weight)[0]) <= self.most:
            return 1.0
        rows = np.vstack([self.rows, [[low, high]]])

        def tilt(extra: float) -> tuple[float, float]:
            """What one more row of some weight costs, as a square root, and its probability."""
            value, probability = _maximise(rows, np.append(self.weight, extra))
            if not value > -np.inf:  # a row of next to no weight has lost its mass to rounding
                return np.inf, probability
            cost = 2 * (self.best - (value - extra * np.log(probability)))
            return np.sqrt(max(cost, 0.0)) - np.sqrt(self.most), probability

        return _find_root(tilt, float(self.weight.sum()), CLOSE_RATIO * np.sqrt(self.most))


def _find_root(tilt: Callable[[float], tuple[float, float]], total: float, close: float) -> float:
    """The probability at the weight whose cost is that which is allowed: false position, and doubling before."""
    low, low_excess = 0.0, -np.inf
    high, high_excess = np.inf, np.inf
    extra = np.sqrt(total)
    side = 0
    probability = 1.0
    for _ in range(MOST_STEPS):
        excess, found = tilt(extra)
        probability = found if np.isfinite(excess) else probability
        if abs(excess) <= close:
            break
        # An end that stays twice counts half (the Illinois rule): else it might stay for ever.
        if excess < 0:
            low, low_excess = extra, excess
            high_excess *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, high_excess = extra, excess
            low_excess *= 0.5 if side > 0 else 1.0
            side = 1
        if high == np.inf:
            extra *= 2.0
        elif low == 0.0:
            extra /= 2.0
        elif high_excess == np.inf:
            extra = np.sqrt(low * high)
        else:
            extra = low - low_excess * (high - low) / (high_excess - low_excess)
    return probability


def _maximise(rows: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """The greatest log-likelihood, and the probability that it gives the last row."""
    total = float(weight.sum())
    support, ranges = make_problem(rows, weight / total)
    scratch = make_scratch(len(ranges.first), len(support))
    mass, _ = solve(ranges, len(support), max(CLOSE / total, LEAST_TOLERANCE), scratch)
    value = total * float(cells.log_likelihood(ranges, mass, scratch.cumulative))
    starts, stops = half_open(support).T
    low, high = rows[-1]
    return value, min(float(mass[(starts >= low) & (stops <= high)].sum()), 1.0)
