"""The minimum of the limits of one side, afresh, and right to rounding whatever weights and breakpoints span.

Two walks start at the outermost limits and meet at the minimum. The one from the left knows about the upper limits
behind it, the one from the right about lower limits. With ``p`` and ``q`` for where they are, they compare

=============  ======================================  =====================================
squared hinge  ``sum(w * (p - b))`` of upper limits    ``sum(w * (b - q))`` of lower limits
linear hinge   their weight                            their weight
=============  ======================================  =====================================

Both numbers grow along their walk, and their difference is the slope of the cost, so the walk with less goes on. Only
numbers that are not negative are ever added: nothing cancels, no heavy limit that is satisfied drowns a light one, and
a cost of zero is exactly zero. The minimum lies where the walks meet.

The linear hinge is flat where both weights are equal. So these are kept in two doubles each, a sum and what it has
rounded off: a limit of 1e-25 of the weight still tips the balance between heavy ones.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import rankset
from marginwood._core.hinge import LINEAR, LOWER, middle_of
from marginwood._core.jit import borrow, filling, inlined, inner
from marginwood._core.rankset import FIRST, N_SENTINELS

# Sums of two doubles that differ by less than this share are the same sum, rounded in another order.
BALANCE = 2.0**-90


class Optimum(NamedTuple):
    """The least cost, on the piece between two ranks; `value` is the middle, or the finite end, of [low, high]."""

    low_rank: int
    high_rank: int
    value: float
    low: float
    high: float
    cost: float


@inlined
def add_exactly(total, rest, number):
    """``total + rest`` with a number added: a rounded sum and what it lacks."""
    added = total + number
    part = added - total
    return added, rest + ((total - (added - part)) + (number - part))


@inlined
def compare_weights(upper, upper_rest, lower, lower_rest):
    """1 if upper limits outweigh lower ones, 0 if both weigh the same, else -1; sums of two doubles each."""
    difference = (upper - lower) + (upper_rest - lower_rest)
    slack = BALANCE * (upper + lower)
    return -1 if difference < -slack else (1 if difference > slack else 0)


@inlined
def between(upper, lower):
    """Value and cost of squared hinges between the breakpoints p and q, with limits of both kinds active.

    Each kind comes as its weight, first and second moment around p (upper limits) or q (lower ones), and that point.
    """
    u, d, s, p = upper
    v, a, t, q = lower
    gap = q - p
    right = min(max((a + v * gap - d) / (u + v), 0.0), gap)
    left = min(max((d + u * gap - a) / (u + v), 0.0), gap)
    is_near_p = right <= left  # the smaller of both distances has more digits
    right, left = (right, gap - right) if is_near_p else (gap - left, left)
    cost = (s + (2 * d + u * right) * right) + (t + (2 * a + v * left) * left)
    return p + right if is_near_p else q - left, cost


@inlined
def _next(ranks, side, rank, is_full):
    """The next rank of a side; in a full one all ranks are its own."""
    return rank + 1 if is_full else rankset.next_rank(ranks, side, rank)


@inlined
def _previous(ranks, side, rank, is_full):
    return rank - 1 if is_full else rankset.previous_rank(ranks, side, rank)


@inner
def _meet_squared(breakpoints, points, ranks, side, is_full):
    b = borrow(breakpoints)
    points = borrow(points)
    ranks = borrow(ranks)
    low, high = side, points.shape[0] - N_SENTINELS + FIRST + side
    k = rankset.next_rank(ranks, side, low)
    m = rankset.previous_rank(ranks, side, high)
    last_lower, first_upper = low, high
    u = 0.0
    d = 0.0
    s = 0.0
    v = 0.0
    a = 0.0
    t = 0.0
    p, q = (b[k - FIRST], b[m - FIRST]) if k <= m else (0.0, 0.0)
    down, up = 0.0, 0.0  # the moments, moved on to the next breakpoints
    while k <= m:
        if down <= up:
            h = b[k - FIRST] - p
            signed = points[k, 1]
            s += (2 * d + u * h) * h
            d = down
            p = b[k - FIRST]
            low = k
            first_upper = k if u == 0 and signed > 0 else first_upper
            last_lower = k if signed < 0 else last_lower
            u += max(signed, 0.0)
            k = _next(ranks, side, k, is_full)
            down = d + u * (b[k - FIRST] - p) if k <= m else 0.0
        else:
            h = q - b[m - FIRST]
            t += (2 * a + v * h) * h
            a = up
            q = b[m - FIRST]
            high = m
            v += max(-points[m, 1], 0.0)
            m = _previous(ranks, side, m, is_full)
            up = a + v * (q - b[m - FIRST]) if k <= m else 0.0
    if v > 0:
        value, cost = between((u, d, s, p), (v, a, t, q))
        return Optimum(low, high, value, value, value, cost)
    if last_lower < first_upper:
        low, high = last_lower, first_upper
    start = b[last_lower - FIRST] if last_lower >= FIRST else -np.inf
    stop = b[first_upper - FIRST] if first_upper - FIRST < b.shape[0] else np.inf
    return Optimum(low, high, middle_of(start, stop), start, stop, 0.0)


@inner
def _meet_linear(breakpoints, points, ranks, side, is_full):
    b = borrow(breakpoints)
    points = borrow(points)
    ranks = borrow(ranks)
    before = side
    behind = points.shape[0] - N_SENTINELS + FIRST + side
    k = rankset.next_rank(ranks, side, before)
    m = rankset.previous_rank(ranks, side, behind)
    if k > m:
        return Optimum(before, behind, np.nan, -np.inf, np.inf, 0.0)
    u = 0.0
    u_rest = 0.0
    d = 0.0
    v = 0.0
    l_rest = 0.0
    a = 0.0
    up, up_rest = add_exactly(u, u_rest, max(points[k, 1], 0.0))  # with the limits at k and at m
    low, low_rest = add_exactly(v, l_rest, max(-points[m, 1], 0.0))
    while k < m:
        if compare_weights(up, up_rest, low, low_rest) < 0:
            u = up
            u_rest = up_rest
            at = k
            k = _next(ranks, side, k, is_full)
            d += u * (b[k - FIRST] - b[at - FIRST])
            up, up_rest = add_exactly(u, u_rest, max(points[k, 1], 0.0))
        else:
            v = low
            l_rest = low_rest
            at = m
            m = _previous(ranks, side, m, is_full)
            a += v * (b[at - FIRST] - b[m - FIRST])
            low, low_rest = add_exactly(v, l_rest, max(-points[m, 1], 0.0))
    value = b[k - FIRST]
    if low == 0:  # no lower limit at all
        return Optimum(before, k, value, -np.inf, value, 0.0)
    following = rankset.next_rank(ranks, side, k)
    end = value
    if compare_weights(up, up_rest, v, l_rest) == 0:
        end = b[following - FIRST] if following < behind else np.inf
    return Optimum(k, following, middle_of(value, end), value, end, d + a)


@inner
def meet(breakpoints, points, ranks, side, code, is_full):
    """The minimum of a side; `points` holds the signed weights by rank, and `breakpoints` starts at rank FIRST."""
    if code == LINEAR:
        return _meet_linear(breakpoints, points, ranks, side, is_full)
    return _meet_squared(breakpoints, points, ranks, side, is_full)


@filling
def solve(limits, breakpoints, weights, points, ranks, code):
    """The minimum of limits that are listed by breakpoint; `points` and `ranks` are room for them."""
    for i in range(limits.shape[0]):
        weight = weights[limits[i] >> 1]
        points[i + FIRST, 1] = -weight if limits[i] & 1 == LOWER else weight
    rankset.reset(ranks, limits.shape[0])
    return meet(breakpoints, points, ranks, rankset.RIGHT, code, True)
