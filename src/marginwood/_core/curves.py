"""What is asked of step distributions, for many of them at once.

A *step distribution* is a list of masses, each somewhere in its own support interval. Where inside is not known, so
every answer has three forms, by `bound`: SPREAD, the masses spread evenly over their support intervals (those of
unbounded ones at infinity), and LOWER and UPPER, the least and the greatest answer that any place of the masses gives.
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
def _count_at_most(values, start, stop, point):
    """How many values from `start` to `stop`, which are sorted, are at most `point`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= point:
            low = middle + 1
        else:
            high = middle
    return low - start


@inlined
def _count_below(values, start, stop, point):
    """How many values from `start` to `stop`, which are sorted, are less than `point`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < point:
            low = middle + 1
        else:
            high = middle
    return low - start


@inlined
def _sum_before(cumulative, start, place):
    return cumulative[place - 1] if place > start else 0.0


@inlined
def _share(lower, upper, low, high):
    """The share of a mass, spread over [lower, upper], between `low` and `high`."""
    if lower == -np.inf:
        return 1.0 if low == -np.inf else 0.0
    if upper == np.inf:
        return 1.0 if high == np.inf else 0.0
    return (min(upper, high) - max(lower, low)) / (upper - lower)


@kernel
def cumulate(steps, points, bound, probability):
    """Fill in the probability of at most ``points[row, column]``."""
    lower = borrow(steps.lower)
    upper = borrow(steps.upper)
    cumulative = borrow(steps.cumulative)
    points = borrow(points)
    probability = borrow(probability)
    for row in range(points.shape[0]):
        start = steps.start[row]
        stop = steps.stop[row]
        shift = steps.shift[row]
        for column in range(points.shape[1]):
            point = points[row, column] - shift
            place = start + _count_at_most(upper, start, stop, point)
            value = _sum_before(cumulative, start, place)
            if place < stop and bound != LOWER:
                # A lower end before infinity is a right-censored one: the mass lies beyond it.
                is_on_end = lower[place] == point and point > -np.inf and upper[place] < np.inf
                is_inside = lower[place] < point or is_on_end
                if is_inside and bound == UPPER:
                    value = cumulative[place]
                elif is_inside:
                    share = _share(lower[place], upper[place], -np.inf, point)
                    value += share * (cumulative[place] - value)
            probability[row, column] = value


@kernel
def invert(steps, levels, bound, quantile):
    """Fill in the quantiles of ``levels[row, column]``."""
    lower = borrow(steps.lower)
    upper = borrow(steps.upper)
    cumulative = borrow(steps.cumulative)
    levels = borrow(levels)
    quantile = borrow(quantile)
    for row in range(levels.shape[0]):
        start = steps.start[row]
        stop = steps.stop[row]
        shift = steps.shift[row]
        for column in range(levels.shape[1]):
            level = levels[row, column]
            # Masses from `low` to `high` may hold the quantile: two if the level is reached exactly between them.
            low = start + _count_below(cumulative, start, stop, max(level - ROUNDING, ROUNDING))
            high = start + _count_at_most(cumulative, start, stop, min(level + ROUNDING, 1.0 - ROUNDING))
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
def _mass_outside(steps, start, place, low, high, bound):
    """How much of the mass of a support interval that meets [low, high] lies outside of it."""
    lower, upper = steps.lower[place], steps.upper[place]
    if low <= lower and upper <= high:
        return 0.0
    mass = steps.cumulative[place] - _sum_before(steps.cumulative, start, place)
    return mass if bound == LOWER else mass * (1.0 - _share(lower, upper, low, high))


@kernel
def measure(steps, intervals, bound, probability):
    """Fill in the probability of ``intervals[row, column]``: closed, but ``(l, inf)`` starts right after l."""
    lower = borrow(steps.lower)
    upper = borrow(steps.upper)
    cumulative = borrow(steps.cumulative)
    intervals = borrow(intervals)
    probability = borrow(probability)
    for row in range(intervals.shape[0]):
        start = steps.start[row]
        stop = steps.stop[row]
        shift = steps.shift[row]
        for column in range(intervals.shape[1]):
            low, high = intervals[row, column, 0] - shift, intervals[row, column, 1] - shift
            # Support intervals that meet the interval, from `first` to `last`; those between them lie inside.
            if high == np.inf and low > -np.inf:
                first = start + _count_at_most(upper, start, stop, low)
            else:
                first = start + _count_below(upper, start, stop, low)
            last = start + _count_at_most(lower, start, stop, high)
            value = 0.0
            if first < last:
                value = cumulative[last - 1] - _sum_before(cumulative, start, first)
                if bound != UPPER:
                    value -= _mass_outside(steps, start, first, low, high, bound)
                if bound != UPPER and first < last - 1:
                    value -= _mass_outside(steps, start, last - 1, low, high, bound)
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
