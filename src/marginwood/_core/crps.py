"""The continuous ranked probability score (CRPS) of step distributions."""

import numpy as np

from marginwood._core.jit import borrow, inlined, kernel

# A cumulated mass that differs from 0 or 1 by less than this does not differ.
ROUNDING = 1e-9


@inlined
def _square_integral(start, stop, low, high, before, after):
    """The integral from `low` to `high` of a squared line that goes from `before` at `start` to `after` at `stop`."""
    low, high = max(start, low), min(stop, high)
    if not low < high or max(abs(before), abs(after)) < ROUNDING:
        return 0.0
    if high - low == np.inf:
        return np.inf
    if before == after:  # the only pieces that may be infinite
        return (high - low) * before**2
    slope = (after - before) / (stop - start)
    first, last = before + slope * (low - start), before + slope * (high - start)
    return (high - low) * (first * first + first * last + last * last) / 3


@inlined
def _piece(start, stop, before, after, lower, upper, low, high):
    """What one straight piece of a cdf costs an interval: its square below, and that of one minus it above."""
    below = _square_integral(start, stop, low, min(lower, high), before, after)
    return below + _square_integral(start, stop, max(upper, low), high, 1.0 - before, 1.0 - after)


@kernel
def integrate_crps(support, mass, offsets, intervals, span, crps):
    """Fill in the CRPS of every row within `span`; infinite where mass lies beyond all values.

    Row i has the support intervals, sorted, and masses from ``offsets[i]`` to ``offsets[i + 1]``.
    Each mass is spread evenly over its support interval, or infinitely far away if that is
    unbounded.
    """
    support = borrow(support)
    mass = borrow(mass)
    offsets = borrow(offsets)
    intervals = borrow(intervals)
    crps = borrow(crps)
    low, high = span[0], span[1]
    for row in range(crps.shape[0]):
        lower, upper = intervals[row, 0], intervals[row, 1]
        end = -np.inf
        level = 0.0
        total = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            first, last = support[k, 0], support[k, 1]
            if first > -np.inf and last < np.inf:
                after = level + mass[k]
                total += _piece(end, first, level, level, lower, upper, low, high)
                total += _piece(first, last, level, after, lower, upper, low, high)
                end = last
                level = after
            elif first == -np.inf:
                level += mass[k]
        crps[row] = total + _piece(end, np.inf, level, level, lower, upper, low, high)
