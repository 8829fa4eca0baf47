"""The minimum of the limits of one side, afresh, and right to rounding whatever weights and breakpoints span.

Two walks start at the outermost limits and meet at the minimum. The one from the left knows about
the upper limits behind it, the one from the right about lower limits. With ``p`` and ``q`` for
where they are, they compare

=============  ======================================  =====================================
squared hinge  ``sum(w * (p - b))`` of upper limits    ``sum(w * (b - q))`` of lower limits
linear hinge   their weight                            their weight
=============  ======================================  =====================================

Both numbers grow along their walk, and their difference is the slope of the cost, so the walk with
less goes on. Only numbers that are not negative are ever added: nothing cancels, no heavy limit
that is satisfied drowns a light one, and a cost of zero is exactly zero. The minimum lies where the
walks meet.

Which walk goes on is a coin toss at every step, and a processor that guesses wrong waits longer
than a step takes. The numbers of a walk do not depend on when it goes on, only where both meet
does. So each goes ahead by STRIDE limits: if it has less there than the other one STRIDE limits
ahead, it passes them all before the other has passed its own.

The linear hinge is flat where both weights are equal. So these are kept in two doubles each, a sum
and what it has rounded off: a limit of 1e-25 of the weight still tips the balance between heavy
ones.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import rankset
from marginwood._core.hinge import LINEAR, LOWER, middle_of, priced
from marginwood._core.jit import borrow, filling, inlined, inner
from marginwood._core.rankset import FIRST, N_SENTINELS

# Sums of two doubles that differ by less than this share are the same sum, rounded in another
# order.
BALANCE = 2.0**-90
# How many limits a walk passes at once while the walks are far apart.
STRIDE = 64


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
    # 1 + 1e-20 against 1: the doubles are equal, and the rests decide.
    difference = (upper - lower) + (upper_rest - lower_rest)
    slack = BALANCE * (upper + lower)
    return -1 if difference < -slack else (1 if difference > slack else 0)


@inlined
def between(upper, lower):
    """Value and cost of squared hinges between the breakpoints p and q, with limits of both kinds active.

    Each kind comes as its weight, first and second moment around p (upper limits) or q (lower
    ones), and that point.
    """
    u, d, s, p = upper
    v, a, t, q = lower
    # The slope at p + x is ``d + u * x - a - v * (gap - x)``, and 0 at x = (a + v * gap - d) / (u + v),
    # the distance from p; `left` is that from q. With one upper limit of weight 1 at p = 0 and one
    # lower at q = 2, the moments d and a are 0: x = 2 / 2 = 1, and the cost is 1 + 1.
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


@inlined
def _pass_squared(b, points, k, walk, down):
    """The walk from the left past the limit at `k`, where its first moment is `down`."""
    u, d, s, p, last_lower, first_upper = walk
    signed = points[np.uint64(k), 1]
    at = b[np.uint64(k - FIRST)]
    # The second moment moves on from p by h: sum(w * (x + h)**2) = s + 2 * d * h + u * h**2.
    h = at - p
    s += (2 * d + u * h) * h
    first_upper = k if (u == 0) & (signed > 0) else first_upper
    last_lower = k if signed < 0 else last_lower
    return u + max(signed, 0.0), down, s, at, last_lower, first_upper


@inlined
def _pass_squared_back(b, points, m, walk, up):
    """The same from the right."""
    v, a, t, q = walk
    at = b[np.uint64(m - FIRST)]
    h = q - at
    t += (2 * a + v * h) * h
    return v + max(-points[np.uint64(m), 1], 0.0), up, t, at


@inlined
def _stride_squared(b, points, k, walk, down):
    """STRIDE limits at once, from the left, and the first moment at the next one."""
    for at in range(k, k + STRIDE):
        walk = _pass_squared(b, points, at, walk, down)
        down = walk[1] + walk[0] * (b[np.uint64(at + 1 - FIRST)] - walk[3])
    return walk, down


@inlined
def _stride_squared_back(b, points, m, walk, up):
    for i in range(STRIDE):
        walk = _pass_squared_back(b, points, m - i, walk, up)
        up = walk[1] + walk[0] * (walk[3] - b[np.uint64(m - i - 1 - FIRST)])
    return walk, up


@inner
def _meet_squared(breakpoints, points, ranks, side, is_full):
    b = borrow(breakpoints)
    points = borrow(points)
    ranks = borrow(ranks)
    # The sentinels below and above all limits of the side.
    low, high = side, points.shape[0] - N_SENTINELS + FIRST + side
    k = rankset.next_rank(ranks, side, low)
    m = rankset.previous_rank(ranks, side, high)
    p, q = (b[k - FIRST], b[m - FIRST]) if k <= m else (0.0, 0.0)
    left = 0.0, 0.0, 0.0, p, low, high
    right = 0.0, 0.0, 0.0, q
    down, up = 0.0, 0.0  # the moments, moved on to the next breakpoints
    # A stride is tried out first and taken only if it cannot pass the meeting point: of two walks,
    # the one whose moment is the smaller STRIDE limits on would have gone there in single steps, too.
    if is_full and m - k >= 2 * STRIDE:
        far_left, far_down = _stride_squared(b, points, k, left, down)
        far_right, far_up = _stride_squared_back(b, points, m, right, up)
        while m - k >= 2 * STRIDE:
            if far_left[1] <= far_right[1]:
                left, down = far_left, far_down
                k += STRIDE
                low = k - 1
                far_left, far_down = _stride_squared(b, points, k, left, down)
            else:
                right, up = far_right, far_up
                m -= STRIDE
                high = m + 1
                far_right, far_up = _stride_squared_back(b, points, m, right, up)
    while k <= m:
        if down <= up:
            left = _pass_squared(b, points, k, left, down)
            low = k
            k = _next(ranks, side, k, is_full)
            down = left[1] + left[0] * (b[k - FIRST] - left[3]) if k <= m else 0.0
        else:
            right = _pass_squared_back(b, points, m, right, up)
            high = m
            m = _previous(ranks, side, m, is_full)
            up = right[1] + right[0] * (right[3] - b[m - FIRST]) if k <= m else 0.0
    u, d, s, p, last_lower, first_upper = left
    v, a, t, q = right
    # Both walks have met violated limits, so the minimum is one point. Otherwise a value satisfies
    # all, and so does all between the last lower limit and the first upper one.
    if v > 0:
        value, cost = between((u, d, s, p), (v, a, t, q))
        return Optimum(low, high, value, value, value, cost)
    if last_lower < first_upper:
        low, high = last_lower, first_upper
    start = b[last_lower - FIRST] if last_lower >= FIRST else -np.inf
    stop = b[first_upper - FIRST] if first_upper - FIRST < b.shape[0] else np.inf
    return Optimum(low, high, middle_of(start, stop), start, stop, 0.0)


@inlined
def _pass_linear(b, points, at, to, walk, up):
    """The walk from the left, past the limit at `at` to the one at `to`; `up` is the weight with the first of them."""
    # Weighted distances move on with the weight passed so far, which includes the limit at `at`.
    sign = 1.0 if to > at else -1.0
    d = walk[2] + up[0] * (sign * (b[np.uint64(to - FIRST)] - b[np.uint64(at - FIRST)]))
    return (up[0], up[1], d), add_exactly(up[0], up[1], max(sign * points[np.uint64(to), 1], 0.0))


@inlined
def _stride_linear(b, points, k, step, walk, up):
    """STRIDE limits at once; a step of -1 is for the walk from the right."""
    for _ in range(STRIDE):
        walk, up = _pass_linear(b, points, k, k + step, walk, up)
        k += step
    return walk, up


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
    left = right = 0.0, 0.0, 0.0  # weight, what it lacks, and weighted distance
    up = add_exactly(0.0, 0.0, max(points[k, 1], 0.0))  # with the limits at k and at m
    low = add_exactly(0.0, 0.0, max(-points[m, 1], 0.0))
    if is_full and m - k >= 2 * STRIDE:
        far_left, far_up = _stride_linear(b, points, k, 1, left, up)
        far_right, far_low = _stride_linear(b, points, m, -1, right, low)
        while m - k >= 2 * STRIDE:
            if compare_weights(far_left[0], far_left[1], far_right[0], far_right[1]) < 0:
                left, up = far_left, far_up
                k += STRIDE
                far_left, far_up = _stride_linear(b, points, k, 1, left, up)
            else:
                right, low = far_right, far_low
                m -= STRIDE
                far_right, far_low = _stride_linear(b, points, m, -1, right, low)
    while k < m:
        if compare_weights(up[0], up[1], low[0], low[1]) < 0:
            following = _next(ranks, side, k, is_full)
            left, up = _pass_linear(b, points, k, following, left, up)
            k = following
        else:
            following = _previous(ranks, side, m, is_full)
            right, low = _pass_linear(b, points, m, following, right, low)
            m = following
    value = b[k - FIRST]
    if low[0] == 0:  # no lower limit at all
        return Optimum(before, k, value, -np.inf, value, 0.0)
    following = rankset.next_rank(ranks, side, k)
    # Equal weights on both sides of the next piece: the cost is flat up to the following breakpoint.
    end = value
    if compare_weights(up[0], up[1], right[0], right[1]) == 0:
        end = b[following - FIRST] if following < behind else np.inf
    return Optimum(k, following, middle_of(value, end), value, end, left[2] + right[2])


@inner
def meet(breakpoints, points, ranks, side, code, is_full):
    """The minimum of a side; `points` holds the signed weights by rank, and `breakpoints` starts at rank FIRST."""
    if code == LINEAR:
        return _meet_linear(breakpoints, points, ranks, side, is_full)
    return _meet_squared(breakpoints, points, ranks, side, is_full)


@filling
def solve(limits, breakpoints, weights, points, ranks, code, prices):
    """The minimum of limits that are listed by breakpoint; `points` and `ranks` are room for them."""
    for i in range(limits.shape[0]):
        weight = priced(code, prices, limits[i] & 1, weights[limits[i] >> 1])
        points[i + FIRST, 1] = -weight if limits[i] & 1 == LOWER else weight
    rankset.reset(ranks, limits.shape[0])
    return meet(breakpoints, points, ranks, rankset.RIGHT, code, True)
