"""What scores of distributions share: checks, probabilities of intervals, and integrals of squared probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad_vec

from marginwood._core.crps import integrate_crps
from marginwood._ends import half_open
from marginwood._support.arrays import as_numbers, raise_first
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray, check_intervals, check_sample_weight

__all__ = [
    "check_target",
    "crps_of_quantiles",
    "crps_of_steps",
    "evaluate",
    "interval_probability",
    "limit_range",
    "make_rows",
    "probability_range",
]

# Probabilities are sums of many numbers: one that differs from 0 or 1 by less than this does not
# differ.
ROUNDING = 1e-9
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


def check_target(y_true: Any, sample_weight: Any) -> tuple[FloatArray, FloatArray | None]:
    """Return checked intervals and weights."""
    intervals = check_intervals(y_true, name="y_true")
    return intervals, check_sample_weight(sample_weight, len(intervals))


def make_rows(distribution: Any, n_rows: int, *, name: str = "distribution") -> Any:
    """Return a distribution with a row for each of `n_rows`; a single one of this package is repeated."""
    if not isinstance(distribution, IntervalDistribution):
        return distribution
    try:
        n_found = len(distribution)
    except TypeError:  # a single one has no length
        return distribution.shifted(np.zeros(n_rows))
    if n_found != n_rows:
        raise ValueError(
            f"{name}: expected {n_rows} rows, one for each row of y_true; got {n_found}."
        )
    return distribution


def evaluate(
    distribution: Any, method: str, values: FloatArray, *, name: str = "distribution"
) -> FloatArray:
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


def probability_range(
    distribution: Any, intervals: FloatArray, *, name: str = "distribution"
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of all below each interval, and of all up to its end."""
    lower, upper = half_open(intervals).T
    end = np.where(upper == np.inf, 1.0, evaluate(distribution, "cdf", _finite(upper), name=name))
    if isinstance(distribution, IntervalDistribution):
        return np.maximum(end - distribution.probability(intervals), 0.0), end
    begin = evaluate(distribution, "cdf", _finite(lower), name=name)
    return np.where(lower == -np.inf, 0.0, begin), end


def interval_probability(
    distribution: Any, intervals: FloatArray, *, name: str = "distribution"
) -> FloatArray:
    """Return the probability of each interval."""
    if isinstance(distribution, IntervalDistribution):
        return distribution.probability(intervals)
    begin, end = probability_range(distribution, intervals, name=name)
    probability = end - begin
    if hasattr(distribution, "sf"):
        # Beyond the median, differences of what is left above have the smaller rounding error.
        lower, upper = half_open(intervals).T
        above_begin = evaluate(distribution, "sf", _finite(lower), name=name)
        above_end = np.where(
            upper == np.inf, 0.0, evaluate(distribution, "sf", _finite(upper), name=name)
        )
        probability = np.where(begin > 0.5, above_begin - above_end, probability)
    return np.maximum(probability, 0.0)


def crps_of_steps(
    distribution: IntervalDistribution, intervals: FloatArray, low: float, high: float
) -> FloatArray:
    """Return the CRPS of each row between two values, exactly, with masses spread over their support intervals."""
    crps = np.empty(len(intervals))
    for start in range(0, len(intervals), N_ROWS):
        rows = range(start, min(start + N_ROWS, len(intervals)))
        singles = [distribution[row] for row in rows]
        masses = [single.mass for single in singles]
        integrate_crps(
            np.concatenate([single._ends for single in singles]),
            np.concatenate(masses),
            np.append(0, np.cumsum([len(mass) for mass in masses])),
            intervals[start : rows.stop],
            (low, high),
            crps[start : rows.stop],
        )
    advice = " The CRPS of such a row is infinite: pass span=(low, high) to integrate between two values only."
    lower, upper = intervals.T
    raise_first(
        np.isinf(crps),
        "distribution: mass beyond all finite values",
        advice,
        lower=lower,
        upper=upper,
    )
    return crps


def crps_of_quantiles(
    distribution: Any, intervals: FloatArray, low: float, high: float
) -> FloatArray:
    """Return the CRPS of each row between two values, for a distribution with a density.

    The integral of the squared cdf up to b is that of ``2 p (b - quantile(p))`` over probabilities
    p from 0 to ``cdf(b)``: a bounded range, whatever the unit. That from a to b is over
    probabilities from ``cdf(a)`` on, plus ``cdf(a)**2 (b - a)``. The other side is its mirror
    image.
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
    least = np.zeros(len(near))
    beyond = np.zeros(len(near))
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
            integrand,
            0.0,
            1.0,
            epsabs=0.0,
            epsrel=TOLERANCE,
            norm="max",
            limit=N_SUBINTERVALS,
            full_output=True,
        )
    if not info.success or not np.all(np.isfinite(integral)):
        raise ValueError(
            "distribution: its CRPS could not be integrated, because its tails are too heavy or its quantiles jump. "
            "Pass span=(low, high) to integrate between two values only."
        )
    return integral + beyond
