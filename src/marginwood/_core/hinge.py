"""Running minimum of a weighted sum of hinges, under insertion and removal of limits.

The sum is convex and made of pieces, one between each two neighbouring breakpoints. `Minimum` points at
the piece that holds the minimum and keeps that piece's coefficients. With ``b`` for the breakpoint and
``w`` for the weight of a limit, and sums over the limits that matter on the piece,

=================  =============================================  ===========================
loss               piece                                          lower limits enter with
=================  =============================================  ===========================
linear hinge       ``weight * mu - total``                        ``-w * (1, b)``
squared hinge      ``weight * mu**2 - 2 * total * mu + square``   ``+w * (1, b, b**2)``
=================  =============================================  ===========================

Upper limits enter with ``+w * (...)`` in both. Lower limits matter on the pieces left of them, upper
limits on the pieces right of them, so moving the pointer right over a limit adds ``step * (1, b, b**2)``
with ``step = w`` for the linear hinge and ``step = w`` (upper) or ``-w`` (lower) for the squared one: the
paper's Lemma 1. In the paper's letters the pointer is J, the piece M and the breakpoints b.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import rankset
from marginwood._core.jit import inlined

LINEAR, SQUARED = 0, 1
LOWER, UPPER = 0, 1

# Sums of weights are compared with this tolerance relative to the total weight, sums of weighted
# breakpoints relative to their own size: far above rounding, far below anything that changes a cost.
WEIGHT_TOLERANCE = 1e-11
TOTAL_TOLERANCE = 1e-13


class Loss(NamedTuple):
    """`code` is LINEAR or SQUARED; `slack` is the tolerance for the slope of a linear hinge."""

    code: int
    slack: float


class Minimum(NamedTuple):
    """The piece between the members `rank` and `next_rank` holds the minimum."""

    rank: int
    next_rank: int
    n_active: int
    weight: float
    total: float
    square: float
    moves: int


@inlined
def empty_minimum(n_ranks):
    """The minimum of no limits."""
    return Minimum(0, n_ranks + 1, 0, 0.0, 0.0, 0.0, 0)


@inlined
def walk(points, loss, members, low, high, n_active, weight, total, square, moves):
    """Move the pointer to the piece that holds the minimum, in one direction only."""
    start, last = moves, points.shape[0] - 1
    if loss.code == LINEAR:
        while weight < -loss.slack and high < last:
            weight += points[high, 1]
            total += points[high, 1] * points[high, 0]
            low = high
            high = rankset.next_member(members, low)
            moves += 1
        if moves == start:
            while low > 0 and weight - points[low, 1] >= -loss.slack:
                weight -= points[low, 1]
                total -= points[low, 1] * points[low, 0]
                high = low
                low = rankset.previous_member(members, high)
                moves += 1
        return Minimum(low, high, 0, weight, total, 0.0, moves)
    while (
        n_active > 0
        and high < last
        and total >= weight * points[high, 0] - TOTAL_TOLERANCE * abs(total)
    ):
        b, step = points[high, 0], points[high, 1]
        n_active += 1 if step > 0 else -1
        weight += step
        total += step * b
        square += step * b * b
        low = high
        high = rankset.next_member(members, low)
        moves += 1
    if moves == start:
        while n_active > 0 and low > 0 and total < weight * points[low, 0]:
            b, step = points[low, 0], points[low, 1]
            n_active -= 1 if step > 0 else -1
            weight -= step
            total -= step * b
            square -= step * b * b
            high = low
            low = rankset.previous_member(members, high)
            moves += 1
    if n_active == 0:
        weight, total, square = 0.0, 0.0, 0.0
    return Minimum(low, high, n_active, weight, total, square, moves)


@inlined
def insert(points, loss, members, minimum, rank, kind, b, weight):
    """Add the limit at `rank`."""
    rankset.insert(members, rank)
    low, high, n_active, k, t, tt, moves = minimum
    active = (rank > low) == (kind == LOWER)
    n_active += active
    high = min(high, rank) if rank > low else high
    if kind == LOWER and loss.code == LINEAR:
        weight = -weight
    weight = weight if active else 0.0
    k += weight
    t += weight * b
    tt += weight * b * b
    return walk(points, loss, members, low, high, n_active, k, t, tt, moves)


@inlined
def remove(points, loss, members, minimum, rank, kind, b, weight):
    """Take out the limit at `rank`."""
    rankset.remove(members, rank)
    low, high, n_active, k, t, tt, moves = minimum
    active = (rank > low) == (kind == LOWER)
    n_active -= active
    if kind == LOWER and loss.code == LINEAR:
        weight = -weight
    weight = weight if active else 0.0
    k -= weight
    t -= weight * b
    tt -= weight * b * b
    if rank == low:
        low = rankset.previous_member(members, rank)
    elif rank == high:
        high = rankset.next_member(members, rank)
    return walk(points, loss, members, low, high, n_active, k, t, tt, moves)


@inlined
def cost_of(points, loss, minimum):
    """Cost at the minimum."""
    if loss.code == LINEAR:
        if minimum.rank == 0:
            return 0.0
        return max(minimum.weight * points[minimum.rank, 0] - minimum.total, 0.0) + 0.0
    if minimum.n_active == 0:
        return 0.0
    return max(minimum.square - minimum.total * minimum.total / minimum.weight, 0.0)


@inlined
def value_of(points, loss, minimum):
    """The prediction and the ends of the set of minimisers; all NaN without any limit."""
    low, high = points[minimum.rank, 0], points[minimum.next_rank, 0]
    if loss.code == LINEAR:
        if minimum.weight > loss.slack:
            high = low
    elif minimum.n_active > 0:
        low = high = minimum.total / minimum.weight
    if low == -np.inf and high == np.inf:
        return np.nan, np.nan, np.nan
    if low == -np.inf:
        return high, low, high
    if high == np.inf:
        return low, low, high
    return low + (high - low) / 2, low, high
