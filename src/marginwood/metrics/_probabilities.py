"""What scores ask of a distribution: probabilities of intervals, and integrals of squared probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad_vec

from marginwood.distributions import IntervalDistribution
from marginwood.intervals import BoolArray, FloatArray, as_numbers, raise_first

__all__ = ["crps_of_quantiles", "crps_of_steps", "evaluate", "interval_probability", "make_rows", "probability_range"]

# Probabilities are sums of many numbers: one that differs from 0 or 1 by less than this does not differ.
ROUNDING = 1e-9
# Nodes on [0, 1] of the rule of Gauss that is exact for cubics, and so for squares of straight pieces.
NODES = (0.5 - np.sqrt(1 / 12), 0.5 + np.sqrt(1 / 12))
# Of the integrals over quantiles, in the unit of the target relative to the largest row's.
TOLERANCE = 1e-10
N_SUBINTERVALS = 500
# Rows of step distributions that are integrated at once, to bound the memory.
N_ROWS = 128


class _Tail(NamedTuple):
    """The names of a tail probability and its inverse, in scipy.stats."""

    probability: str
    quantile: str


LOWER_TAIL, UPPER_TAIL = _Tail("cdf", "ppf"), _Tail("sf", "isf")


def make_rows(distribution: Any, n_rows: int, *, name: str = "distribution") -> Any:
    """Return a distribution with a row for each of `n_rows`; a single one of this package is repeated."""
    if not isinstance(distribution, IntervalDistribution):
        return distribution
    try:
        n_found = len(distribution)
    except TypeError:  # a single one has no length
        return distribution.shifted(np.zeros(n_rows))
    if n_found != n_rows:
        raise ValueError(f"{name}: expected {n_rows} rows, one for each row of y_true; got {n_found}.")
    return distribution


def evaluate(distribution: Any, method: str, values: FloatArray, *, name: str = "distribution") -> FloatArray:
    """Call a method with one value per row, and return one number per row."""
    function = getattr(distribution, method, None)
    if not callable(function):
        raise TypeError(
            f"{name}: expected an object with a method {method}, with one distribution per row, such as "
            f"scipy.stats.norm(loc=prediction, scale=spread); got {type(distribution).__name__}."
        )
    if isinstance(distribution, IntervalDistribution):
        found = function(values[:, np.newaxis])[:, 0]
    else:
        found = as_numbers(function(values), f"{name}.{method}")
    if found.shape != values.shape:
        raise ValueError(
            f"{name}: expected {method}(t) to take {len(values)} values, one per row of y_true, and to return "
            f"as many numbers; got shape {found.shape}."
        )
    if method in ("cdf", "sf"):
        possible = (found >= -ROUNDING) & (found <= 1 + ROUNDING)
        raise_first(~possible, f"{name}: {method} is not a probability", value=found)
        return np.clip(found, 0.0, 1.0)
    raise_first(np.isnan(found), f"{name}: {method} is NaN", value=found)
    return found


def _finite(values: FloatArray) -> FloatArray:
    """Values with 0 for infinities, whose probabilities are known."""
    return np.where(np.isfinite(values), values, 0.0)


def _begin(intervals: FloatArray) -> FloatArray:
    """The values below which an interval begins: `lower` of right-censored rows, of the others the next less number."""
    lower, upper = intervals.T
    return np.where(upper == np.inf, lower, np.nextafter(lower, -np.inf))


def probability_range(
    distribution: Any, intervals: FloatArray, *, name: str = "distribution"
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of all below each interval, and of all up to its end."""
    lower, upper = intervals.T
    end = np.where(upper == np.inf, 1.0, evaluate(distribution, "cdf", _finite(upper), name=name))
    if isinstance(distribution, IntervalDistribution):
        return np.maximum(end - distribution.probability(intervals), 0.0), end
    begin = evaluate(distribution, "cdf", _finite(_begin(intervals)), name=name)
    return np.where(lower == -np.inf, 0.0, begin), end


def interval_probability(distribution: Any, intervals: FloatArray, *, name: str = "distribution") -> FloatArray:
    """Return the probability of each interval."""
    if isinstance(distribution, IntervalDistribution):
        return distribution.probability(intervals)
    begin, end = probability_range(distribution, intervals, name=name)
    probability = end - begin
    if hasattr(distribution, "sf"):
        # Beyond the median, differences of what is left above have the smaller rounding error.
        upper = intervals[:, 1]
        above_begin = evaluate(distribution, "sf", _finite(_begin(intervals)))
        above_end = np.where(upper == np.inf, 0.0, evaluate(distribution, "sf", _finite(upper)))
        probability = np.where(begin > 0.5, above_begin - above_end, probability)
    return np.maximum(probability, 0.0)


def crps_of_steps(distribution: IntervalDistribution, intervals: FloatArray, low: float, high: float) -> FloatArray:
    """Return the CRPS of each row between two values, exactly, with masses spread over their support intervals."""
    blocks = [slice(start, start + N_ROWS) for start in range(0, len(intervals), N_ROWS)]
    knots = [_knots(distribution[row].support) for row in range(len(intervals))]
    first, last = (np.array([values[end] for values in knots]) for end in (0, -1))
    if low == -np.inf:
        below = evaluate(distribution, "cdf", np.nextafter(first, -np.inf))
        _refuse_infinite((below > ROUNDING) & (intervals[:, 0] > -np.inf), "below", below)
    if high == np.inf:
        above = 1 - evaluate(distribution, "cdf", last)
        _refuse_infinite((above > ROUNDING) & (intervals[:, 1] < np.inf), "above", above)
    crps = [_integrate_pieces(distribution[rows], knots[rows], intervals[rows], low, high) for rows in blocks]
    return np.concatenate(crps)


def _knots(support: FloatArray) -> FloatArray:
    """The values between which the cdf is straight; there is at least one."""
    ends = np.unique(support[np.isfinite(support)])
    return ends if len(ends) else np.zeros(1)


def _integrate_pieces(
    distribution: IntervalDistribution, knots: list[FloatArray], intervals: FloatArray, low: float, high: float
) -> FloatArray:
    """Sum over the pieces between knots, of which there are as many in every row, some of them empty."""
    n_pieces = max(map(len, knots))
    table = np.array([np.pad(values, (0, n_pieces - len(values)), mode="edge") for values in knots])
    lower, upper = intervals[:, :1], intervals[:, 1:]
    # An interval may end before the first knot, or begin after the last.
    begin = np.minimum(table[:, :1], upper) if low == -np.inf else np.full_like(lower, low)
    end = np.maximum(table[:, -1:], lower) if high == np.inf else np.full_like(upper, high)
    edges = np.hstack([begin, np.clip(table, low, high), end])
    left, right = edges[:, :-1], edges[:, 1:]
    crps = np.zeros(len(intervals))
    for start, stop, goal in ((left, np.minimum(right, lower), 0.0), (np.maximum(left, upper), right, 1.0)):
        width = np.maximum(stop - start, 0.0)
        for node in NODES:
            probability = distribution.cdf(_finite(start) + node * width)
            crps += np.sum(width / 2 * (probability - goal) ** 2, axis=1)
    return crps


def crps_of_quantiles(distribution: Any, intervals: FloatArray, low: float, high: float) -> FloatArray:
    """Return the CRPS of each row between two values, for a distribution with a density.

    The integral of the squared cdf up to b is that of ``2 p (b - quantile(p))`` over probabilities p from 0 to
    ``cdf(b)``: a bounded range, whatever the unit. That from a to b is over probabilities from ``cdf(a)`` on, plus
    ``cdf(a)**2 (b - a)``. The other side is its mirror image.
    """
    lower, upper = np.minimum(intervals[:, 0], high), np.maximum(intervals[:, 1], low)
    left = _tail_integral(distribution, LOWER_TAIL, UPPER_TAIL, low, lower, 1.0)
    return left + _tail_integral(distribution, UPPER_TAIL, LOWER_TAIL, high, upper, -1.0)


def _tail_integral(
    distribution: Any, tail: _Tail, other: _Tail, far: float, near: FloatArray, direction: float
) -> FloatArray:
    """Integrate a squared tail probability from `far`, which may be infinite, to `near`."""
    counted = np.isfinite(near) & ((near > far) if direction > 0 else (near < far))
    near = np.where(counted, near, 0.0)
    most = np.where(counted, evaluate(distribution, tail.probability, near), 0.0)
    rest = evaluate(distribution, other.probability, near)
    least, beyond = np.zeros(len(near)), np.zeros(len(near))
    if np.isfinite(far):
        least = np.minimum(evaluate(distribution, tail.probability, np.full(len(near), far)), most)
        beyond = np.where(counted, least**2 * np.abs(near - far), 0.0)
    spread = most - least
    if not spread.any():
        return beyond

    def integrand(share: float) -> FloatArray:
        probability = least + share * spread
        complement = rest + (1 - share) * spread
        # Each quantile from the probability that is not next to 1. Rows without a tail ask for any.
        from_tail = (spread > 0) & (probability <= 0.5)
        from_rest = (spread > 0) & ~from_tail
        value = np.where(
            from_tail,
            evaluate(distribution, tail.quantile, np.where(from_tail, probability, 0.5)),
            evaluate(distribution, other.quantile, np.where(from_rest, complement, 0.5)),
        )
        return np.where(spread > 0, 2 * spread * probability * direction * (near - value), 0.0)

    with np.errstate(over="ignore", invalid="ignore"):  # of what diverges, which is refused below
        integral, _, info = quad_vec(
            integrand, 0.0, 1.0, epsabs=0.0, epsrel=TOLERANCE, norm="max", limit=N_SUBINTERVALS, full_output=True
        )
    if not info.success or not np.all(np.isfinite(integral)):
        raise ValueError(
            "distribution: its CRPS could not be integrated, because its tails are too heavy or its quantiles jump. "
            "Pass span=(low, high) to integrate between two values only."
        )
    return integral + beyond


def _refuse_infinite(bad: BoolArray, side: str, mass: FloatArray) -> None:
    advice = " The CRPS of such a row is infinite: pass span=(low, high) to integrate between two values only."
    raise_first(bad, f"distribution: mass {side} all finite values", advice, mass=mass)
