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
from marginwood._core.jit import inlined, inner

LINEAR, SQUARED = 0, 1
LOWER, UPPER = 0, 1

# Sums are compared with tolerances relative to all that went into them: far above rounding, far below
# anything that changes a cost.
WEIGHT_TOLERANCE = 1e-11
TOTAL_TOLERANCE = 1e-13


class Loss(NamedTuple):
    """`code` is LINEAR or SQUARED; the slacks are tolerances for sums of weights and of weighted breakpoints.

    Breakpoints beyond `reach`, on either side, belong to limits that are never active at a minimum.
    """

    code: int
    weight_slack: float
    total_slack: float
    reach: float


@inner
def make_loss(code, weight, reach):
    """The loss for limits of this total weight, of which those that matter lie within -reach and reach."""
    return Loss(code, WEIGHT_TOLERANCE * weight, TOTAL_TOLERANCE * weight * reach, reach)


class Minimum(NamedTuple):
    """The piece between the ranks `low` and `high` of a side holds the minimum."""

    low: int
    high: int
    n_active: int
    weight: float
    total: float
    square: float
    moves: int


@inlined
def empty_minimum(n_ranks):
    """The minimum of an empty left side."""
    return Minimum(rankset.LEFT, n_ranks + rankset.FIRST, 0, 0.0, 0.0, 0.0, 0)


@inlined
def add(loss, minimum, rank, kind, b, weight):
    """Add the limit at `rank` to the sums; `walk` then finds the minimum."""
    low, high, n_active, k, t, tt, moves = minimum
    active = (rank > low) == (kind == LOWER)
    high = min(high, rank) if rank > low else high
    own = -weight if kind == LOWER and loss.code == LINEAR else weight
    own = own if active else 0.0
    return Minimum(low, high, n_active + active, k + own, t + own * b, tt + own * b * b, moves)


@inlined
def take(loss, minimum, rank, kind, b, weight, ranks):
    """Take the limit at `rank`, which has just left the right side, out of the sums."""
    low, high, n_active, k, t, tt, moves = minimum
    active = (rank > low) == (kind == LOWER)
    own = -weight if kind == LOWER and loss.code == LINEAR else weight
    own = own if active else 0.0
    if rank == low:
        low = rankset.previous_rank(ranks, rankset.RIGHT, rank)
    elif rank == high:
        high = rankset.next_rank(ranks, rankset.RIGHT, rank)
    return Minimum(low, high, n_active - active, k - own, t - own * b, tt - own * b * b, moves)


@inlined
def _is_right_of(loss, b, n_active, weight, total):
    """Whether the minimum lies right of the piece that ends at the breakpoint `b`."""
    if loss.code == LINEAR:
        return weight < -loss.weight_slack
    return n_active > 0 and total >= weight * b - loss.total_slack


@inlined
def _is_left_of(loss, b, step, n_active, weight, total):
    """Whether the minimum lies left of the piece that starts at the breakpoint `b`."""
    if loss.code == LINEAR:
        return weight - step >= -loss.weight_slack
    return n_active > 0 and total < weight * b - loss.total_slack


@inlined
def walk(points, loss, ranks, side, minimum):
    """Move to the piece that holds the minimum, in one direction only."""
    low, high, n_active, weight, total, square, moves = minimum
    start, end = moves, points.shape[0] - rankset.FIRST
    while high < end and _is_right_of(loss, points[high, 0], n_active, weight, total):
        b, step = points[high, 0], points[high, 1]
        n_active += 1 if step > 0 else -1
        weight += step
        total += step * b
        square += step * b * b
        low, moves = high, moves + 1
        high = rankset.next_rank(ranks, side, low)
    if moves == start:
        while low >= rankset.FIRST and _is_left_of(loss, points[low, 0], points[low, 1], n_active, weight, total):
            b, step = points[low, 0], points[low, 1]
            n_active -= 1 if step > 0 else -1
            weight -= step
            total -= step * b
            square -= step * b * b
            high, moves = low, moves + 1
            low = rankset.previous_rank(ranks, side, high)
    if loss.code == SQUARED and n_active == 0:
        weight, total, square = 0.0, 0.0, 0.0
    return Minimum(low, high, n_active, weight, total, square, moves)


@inner
def walk_apart(points, loss, ranks, side, minimum):
    """`walk`, compiled once for those who call it seldom."""
    return walk(points, loss, ranks, side, minimum)


@inlined
def cost_of(points, loss, minimum):
    """Cost at the minimum."""
    if loss.code == LINEAR:
        if minimum.low < rankset.FIRST:
            return 0.0
        return max(minimum.weight * points[minimum.low, 0] - minimum.total, 0.0) + 0.0
    if minimum.n_active == 0:
        return 0.0
    return max(minimum.square - minimum.total * minimum.total / minimum.weight, 0.0)


@inlined
def value_of(points, loss, minimum):
    """The prediction and the ends of the set of minimisers; all NaN without any limit."""
    low, high = points[minimum.low, 0], points[minimum.high, 0]
    if loss.code == LINEAR:
        if minimum.weight > loss.weight_slack:
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
