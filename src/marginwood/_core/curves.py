"""What is asked of step distributions, for many of them at once.

A *step distribution* is a list of masses, each somewhere in its own support interval, which holds
its upper end and not its lower one; two equal ends are a *point*. Where inside is not known, so
every answer has three forms, by `bound`: SPREAD, the masses spread evenly over their support
intervals (those of unbounded ones at infinity), and LOWER and UPPER, the least and the greatest
answer that any place of the masses gives.

Ends are compared where they are moved to: a distribution says of its own support, as it is shown,
what it should.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import borrow, inlined, kernel

LOWER = -1
SPREAD = 0
UPPER = 1

# Two sums of masses that should be equal differ by no more than this.
ROUNDING = 1e-12


class Steps(NamedTuple):
    """Distributions over pooled support intervals: row i has those from ``start[i]`` to ``stop[i]``, moved by `shift`.

    `cumulative` sums the masses from the first one of the row.
    """

    lower: np.ndarray
    upper: np.ndarray
    cumulative: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    shift: np.ndarray


@kernel
def accumulate_segments(mass, offsets, cumulative):
    """Running sums within every segment, scaled to end at exactly 1."""
    mass = borrow(mass)
    offsets = borrow(offsets)
    cumulative = borrow(cumulative)
    for segment in range(offsets.shape[0] - 1):
        total = 0.0
        for i in range(offsets[segment], offsets[segment + 1]):
            total += mass[i]
            cumulative[i] = total
        for i in range(offsets[segment], offsets[segment + 1]):
            cumulative[i] /= total


@inlined
def _borrow(steps):
    return Steps(
        borrow(steps.lower),
        borrow(steps.upper),
        borrow(steps.cumulative),
        borrow(steps.start),
        borrow(steps.stop),
        borrow(steps.shift),
    )


@inlined
def _count_before(values, start, stop, shift, point, at_point):
    """How many of sorted values, moved by `shift`, lie before a point, or `at_point`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        value = values[middle] + shift
        if value < point or (at_point and value == point):
            low = middle + 1
        else:
            high = middle
    return low - start


@inlined
def _count_begun(steps, row, point):
    """How many support intervals of a row hold a number that is at most a point."""
    lower, upper, shift = steps.lower, steps.upper, steps.shift[row]
    low, high = steps.start[row], steps.stop[row]
    while low < high:
        middle = (low + high) >> 1
        if lower[middle] + shift < point or upper[middle] + shift <= point:
            low = middle + 1
        else:
            high = middle
    return low - steps.start[row]


@inlined
def _sum_before(cumulative, start, place):
    return cumulative[place - 1] if place > start else 0.0


@inlined
def _share(lower, upper, low, high):
    """The share of a mass, spread over (lower, upper], between `low` and `high`."""
    if lower == -np.inf:
        return 1.0 if low == -np.inf else 0.0
    if upper == np.inf:
        return 1.0 if high == np.inf else 0.0
    return max(min(upper, high) - max(lower, low), 0.0) / (upper - lower)


@kernel
def cumulate(steps, points, bound, probability):
    """Fill in the probability of at most ``points[row, column]``."""
    steps = _borrow(steps)
    lower, upper, cumulative = steps.lower, steps.upper, steps.cumulative
    points = borrow(points)
    probability = borrow(probability)
    for row in range(points.shape[0]):
        start = steps.start[row]
        stop = steps.stop[row]
        shift = steps.shift[row]
        for column in range(points.shape[1]):
            point = points[row, column]
            place = start + _count_before(upper, start, stop, shift, point, True)
            value = _sum_before(cumulative, start, place)
            if place < stop and bound != LOWER and lower[place] + shift < point:
                if bound == UPPER:
                    value = cumulative[place]
                else:
                    share = _share(lower[place], upper[place], -np.inf, point - shift)
                    value += share * (cumulative[place] - value)
            probability[row, column] = value


@kernel
def invert(steps, levels, bound, quantile, is_end):
    """Fill in the quantiles of ``levels[row, column]``, and whether they are ends of support intervals, not points."""
    lower = borrow(steps.lower)
    upper = borrow(steps.upper)
    cumulative = borrow(steps.cumulative)
    levels = borrow(levels)
    quantile = borrow(quantile)
    is_end = borrow(is_end)
    for row in range(levels.shape[0]):
        start = steps.start[row]
        stop = steps.stop[row]
        shift = steps.shift[row]
        for column in range(levels.shape[1]):
            level = levels[row, column]
            # Masses from `low` to `high` may hold the quantile: two if the level is reached exactly
            # between them.
            low = start + _count_before(
                cumulative, start, stop, 0.0, max(level - ROUNDING, ROUNDING), False
            )
            high = start + _count_before(
                cumulative, start, stop, 0.0, min(level + ROUNDING, 1.0 - ROUNDING), True
            )
            low = min(low, high)
            if bound == LOWER:
                value = lower[low]
            elif bound == UPPER:
                value = upper[high]
            elif low < high and 0.0 < level < 1.0:
                value = 0.5 * (upper[low] + lower[high])
            else:
                value = _spread_quantile(steps, start, low, level)
            quantile[row, column] = value + shift
            is_end[row, column] = _is_end(lower[low], upper[low], value) or _is_end(
                lower[high], upper[high], value
            )


@inlined
def _is_end(lower, upper, value):
    return lower < upper and value in (lower, upper)


@inlined
def _spread_quantile(steps, start, place, level):
    lower, upper = steps.lower[place], steps.upper[place]
    if lower == -np.inf:
        return -np.inf
    if upper == np.inf:
        return np.inf
    before = _sum_before(steps.cumulative, start, place)
    share = (level - before) / (steps.cumulative[place] - before)
    return lower + min(max(share, 0.0), 1.0) * (upper - lower)


@inlined
def _mass_outside(steps, row, place, low, high, bound):
    """How much of the mass of a support interval that meets an interval lies outside of it."""
    lower, upper, shift = steps.lower[place], steps.upper[place], steps.shift[row]
    first, last = lower + shift, upper + shift
    if first == last or (low <= first and last <= high):
        return 0.0
    mass = steps.cumulative[place] - _sum_before(steps.cumulative, steps.start[row], place)
    return (
        mass if bound == LOWER else mass * (1.0 - _share(lower, upper, low - shift, high - shift))
    )


@kernel
def measure(steps, intervals, bound, probability):
    """Fill in the probability of ``intervals[row, column]``, which hold what support intervals of such ends hold."""
    steps = _borrow(steps)
    cumulative = steps.cumulative
    intervals = borrow(intervals)
    probability = borrow(probability)
    for row in range(intervals.shape[0]):
        start, stop, shift = steps.start[row], steps.stop[row], steps.shift[row]
        for column in range(intervals.shape[1]):
            low, high = intervals[row, column, 0], intervals[row, column, 1]
            # Support intervals that meet the interval, from `first` to `last`; those between them
            # lie inside.
            first = start + _count_before(steps.upper, start, stop, shift, low, low < high)
            last = start + _count_begun(steps, row, high)
            value = 0.0
            if first < last:
                value = cumulative[last - 1] - _sum_before(cumulative, start, first)
                if bound != UPPER:
                    value -= _mass_outside(steps, row, first, low, high, bound)
                if bound != UPPER and first < last - 1:
                    value -= _mass_outside(steps, row, last - 1, low, high, bound)
            probability[row, column] = min(max(value, 0.0), 1.0)


@inlined
def _mean_between(lower, upper, low, high):
    """The mean of a number spread over [lower, upper] and clipped to [low, high]."""
    if lower >= high:
        return high
    if upper <= low:
        return low
    if lower == upper:
        return lower
    if lower == -np.inf:
        return low
    if upper == np.inf:
        return high
    a, b = max(lower, low), min(upper, high)
    total = 0.5 * (b - a) * (a + b)
    if lower < low:
        total += (low - lower) * low
    if upper > high:
        total += (upper - high) * high
    return total / (upper - lower)


@kernel
def average(steps, low, high, bound, mean):
    """Fill in the means of numbers clipped to [low, high]; NaN where masses lie at both infinities."""
    lower = borrow(steps.lower)
    upper = borrow(steps.upper)
    cumulative = borrow(steps.cumulative)
    mean = borrow(mean)
    for row in range(mean.shape[0]):
        start = steps.start[row]
        shift = steps.shift[row]
        total = 0.0
        is_low, is_high = False, False
        for place in range(start, steps.stop[row]):
            mass = cumulative[place] - _sum_before(cumulative, start, place)
            a, b = lower[place] + shift, upper[place] + shift
            if bound == LOWER:
                value = min(max(a, low), high)
            elif bound == UPPER:
                value = min(max(b, low), high)
            else:
                value = _mean_between(a, b, low, high)
            if value == -np.inf:
                is_low |= mass > 0.0
            elif value == np.inf:
                is_high |= mass > 0.0
            else:
                total += mass * value
        if is_low or is_high:
            total = np.nan if is_low and is_high else (-np.inf if is_low else np.inf)
        mean[row] = total
