"""Running minimum of a weighted sum of hinges, under insertion and removal of limits.

The sum is convex and made of pieces, one between each two neighbouring breakpoints. `Minimum`
points at the piece that holds the minimum and keeps that piece's coefficients. With ``b`` for the
breakpoint and ``w`` for the weight of a limit, and sums over the limits that matter on the piece,

=================  =============================================  ===========================
loss               piece                                          lower limits enter with
=================  =============================================  ===========================
linear hinge       ``weight * mu - total``                        ``-w * (1, b)``
squared hinge      ``weight * mu**2 - 2 * total * mu + square``   ``+w * (1, b, b**2)``
=================  =============================================  ===========================

Upper limits enter with ``+w * (...)`` in both. Lower limits matter on the pieces left of them,
upper limits on the pieces right of them, so moving the pointer right over a limit adds ``step * (1,
b, b**2)`` with ``step = w`` for the linear hinge and ``step = w`` (upper) or ``-w`` (lower) for the
squared one: the paper's Lemma 1. In the paper's letters the pointer is J, the piece M and the
breakpoints b.

``points[rank]`` holds the breakpoint of a limit and its weight, which is negative for lower limits.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import rankset
from marginwood._core.jit import Constant, inlined, inner

LINEAR, SQUARED = Constant(0, "the linear hinge"), Constant(1, "the squared hinge")
LOWER, UPPER = 0, 1
TINY = 1e-300  # instead of a zero to divide by

# Far above the rounding of running sums, far below anything that changes a cost: shares of all
# weight, and of the weighted distances, of the limits that may be active.
WEIGHT_TOLERANCE = 1e-11
TOTAL_TOLERANCE = 1e-13
LEAST_WEIGHT = 1e-12


class Loss(NamedTuple):
    """`code` is LINEAR or SQUARED; the slacks exceed the rounding of sums of weights and of weighted breakpoints.

    Active limits that weigh `least` or less in all may be nothing but rounding, and cost nothing.
    Breakpoints beyond `reach`, which is finite, on either side, belong to limits that are never
    active at a minimum. Lower and upper limits weigh their row times one of the two `prices`, which
    are 1 with the squared hinge.
    """

    code: int
    prices: tuple
    weight_slack: float
    total_slack: float
    least: float
    reach: float


@inlined
def priced(code, prices, kind, weight):
    """What a limit of a row of this weight weighs."""
    return weight * prices[kind] if code == LINEAR else weight


@inner
def make_loss(code, prices, weight, distance, contested, reach):
    """The loss for rows of this weight; limits that matter have the weighted distance, the weight and the reach."""
    return Loss(
        code,
        prices,
        WEIGHT_TOLERANCE * ((prices[LOWER] + prices[UPPER]) * weight),
        TOTAL_TOLERANCE * distance,
        LEAST_WEIGHT * contested,
        reach,
    )


class Minimum(NamedTuple):
    """The piece between the ranks `low` and `high` of a side holds the minimum; `weight` and `total` are its sums.

    `upper` is what upper limits have of `weight`. Bounds also need what upper limits have of
    `total` for the linear hinge, which has no use for a sum of squares: there, `square` is that
    part. Upper limits at 1 and 3 and a lower one at 5, each of weight 1, are all active at mu = 4:
    ``weight = 1 + 1 - 1``, ``total = 1 + 3 - 5``, ``upper = 1 + 1`` and ``square = 1 + 3`` for the
    linear hinge; ``3``, ``9``, ``2`` and ``1 + 9 + 25`` for the squared one.
    """

    low: int
    high: int
    n_active: int
    weight: float
    total: float
    square: float
    upper: float
    moves: int


@inlined
def empty_minimum(n_ranks):
    """The minimum of an empty left side."""
    return Minimum(rankset.LEFT, n_ranks + rankset.FIRST, 0, 0.0, 0.0, 0.0, 0.0, 0)


@inlined
def _shift(loss, sums, step, upper_step, b):
    """Sums with ``step * (1, b, b**2)`` added; `upper_step` is what upper limits have of `step`."""
    weight, total, square, upper = sums
    square += step * b * b if loss.code == SQUARED else upper_step * b
    return weight + step, total + step * b, square, upper + upper_step


@inlined
def _change(loss, minimum, rank, kind, b, weight):
    """The number of active limits and the sums, with this limit added; a negative weight takes it out."""
    active = (rank > minimum.low) == (kind == LOWER)
    step = -weight if kind == LOWER and loss.code == LINEAR else weight
    step = step if active else 0.0
    change = 1 if weight > 0 else -1
    n_active = minimum.n_active + (change if active else 0)
    sums = minimum.weight, minimum.total, minimum.square, minimum.upper
    return n_active, _shift(loss, sums, step, step if kind == UPPER else 0.0, b)


@inlined
def add(loss, minimum, rank, kind, b, weight):
    """Add the limit at `rank` to the sums; `walk` then finds the minimum."""
    low, high = minimum.low, minimum.high
    high = min(high, rank) if rank > low else high
    n_active, (k, t, tt, upper) = _change(loss, minimum, rank, kind, b, weight)
    return Minimum(low, high, n_active, k, t, tt, upper, minimum.moves)


@inlined
def take(loss, minimum, rank, kind, b, weight):
    """Take the limit at `rank` out of the sums; `settle` then finds the minimum."""
    n_active, (k, t, tt, upper) = _change(loss, minimum, rank, kind, b, -weight)
    return Minimum(minimum.low, minimum.high, n_active, k, t, tt, upper, minimum.moves)


@inlined
def step_of(points, loss, rank):
    """What moving right over a limit adds to the weight of the piece."""
    return points[rank, 1] if loss.code == SQUARED else abs(points[rank, 1])


@inlined
def _is_right_of(loss, b, n_active, weight, total):
    """Whether the minimum lies right of the piece that ends at the breakpoint `b`."""
    if loss.code == LINEAR:
        return weight < 0
    return n_active > 0 and total >= weight * b - loss.total_slack


@inlined
def _is_left_of(loss, b, step, n_active, weight, total):
    """Whether the minimum lies left of the piece that starts at the breakpoint `b`."""
    if loss.code == LINEAR:
        return weight - step >= 0
    return n_active > 0 and total < weight * b - loss.total_slack


@inlined
def walk(points, loss, ranks, side, minimum):
    """Move to the piece that holds the minimum, in one direction only.

    It never steps over a breakpoint beyond the reach: where light limits are all that is active,
    their sums may be nothing but what heavy ones have rounded off, and point anywhere. Sentinels
    lie beyond any reach.
    """
    low, high, n_active, weight, total, square, upper, moves = minimum
    start = moves
    while points[high, 0] <= loss.reach and _is_right_of(
        loss, points[high, 0], n_active, weight, total
    ):
        b = points[high, 0]
        signed = points[high, 1]
        step = step_of(points, loss, high)
        n_active += 1 if signed > 0 else -1
        weight, total, square, upper = _shift(
            loss, (weight, total, square, upper), step, max(signed, 0.0), b
        )
        low = high
        moves += 1
        high = rankset.next_rank(ranks, side, low)
    if moves == start:
        while points[low, 0] >= -loss.reach:
            b = points[low, 0]
            signed = points[low, 1]
            step = step_of(points, loss, low)
            if not _is_left_of(loss, b, step, n_active, weight, total):
                break
            n_active -= 1 if signed > 0 else -1
            weight, total, square, upper = _shift(
                loss, (weight, total, square, upper), -step, -max(signed, 0.0), b
            )
            high = low
            moves += 1
            low = rankset.previous_rank(ranks, side, high)
    if loss.code == SQUARED and n_active == 0:
        weight = 0.0
        total = 0.0
        square = 0.0
        upper = 0.0
    return Minimum(low, high, n_active, weight, total, square, upper, moves)


@inlined
def settle(points, loss, ranks, side, minimum):
    """Find the minimum of a side whose limits have changed since `low` and `high` were its own."""
    low, high, n_active, weight, total, square, upper, moves = minimum
    high = rankset.next_rank(ranks, side, low)
    low = rankset.previous_rank(ranks, side, high)
    return walk(
        points, loss, ranks, side, Minimum(low, high, n_active, weight, total, square, upper, moves)
    )


@inlined
def leave(minimum, rank):
    """A minimum to be settled later: the sums of its piece, seen from the rank in it that is nearest to `rank`.

    With `rank` at the minimum of a node no limit that is too far away to matter there ever enters
    the sums.
    """
    low, high, n_active, weight, total, square, upper, moves = minimum
    low = min(max(low, rank), high - 1)
    return Minimum(low, high, n_active, weight, total, square, upper, moves)


@inlined
def least_squared(cost, pull, lower, upper):
    """A lower bound of the least cost of squared hinges: see `screen`.

    They cost `cost` at some value and are drawn to the right by `pull`; the violated limits weigh
    `lower` and `upper`.
    """
    against = max(upper if pull > 0 else lower, 0.0)  # a zero may come as a difference, rounded
    return max(cost * against - pull * pull, 0.0) / max(against, TINY)


@inlined
def least_linear(lower_cost, upper_cost, lower, upper):
    """The same for linear hinges, of which the lower and the upper limits cost this much."""
    ratio = max(min(lower, upper), 0.0) / max(max(lower, upper), TINY)
    return upper_cost + lower_cost * ratio if lower > upper else lower_cost + upper_cost * ratio


@inlined
def bound_of(points, loss, minimum):
    """A lower bound of the cost, from the breakpoint at `low`, whether or not the minimum is settled."""
    _, _, _, weight, total, square, upper, _ = minimum
    mu = points[minimum.low, 0]
    if minimum.low < rankset.FIRST:
        return 0.0
    if loss.code == SQUARED:
        pull = total - weight * mu
        return least_squared(square - mu * (total + pull), pull, weight - upper, upper)
    lower = upper - weight
    return least_linear(square - total - lower * mu, upper * mu - square, lower, upper)


@inlined
def cost_of(points, loss, minimum):
    """Cost at the minimum."""
    if loss.code == LINEAR:
        if minimum.low < rankset.FIRST:
            return 0.0
        return max(minimum.weight * points[minimum.low, 0] - minimum.total, 0.0) + 0.0
    if minimum.n_active <= 1 or minimum.weight <= loss.least:
        return 0.0
    return max(minimum.square - minimum.total * minimum.total / minimum.weight, 0.0)


@inlined
def value_of(points, loss, minimum):
    """A minimiser: the middle of all, or their finite end; NaN without any limit."""
    low, high = points[minimum.low, 0], points[minimum.high, 0]
    if loss.code == LINEAR:
        high = low if minimum.weight > 0 else high
    elif minimum.n_active > 0:
        return min(max(minimum.total / minimum.weight, low), high)
    return middle_of(low, high)


@inlined
def nearest(value, low, high, bounds):
    """The minimiser between `low` and `high` that is nearest to some bounds, if `value` is not within them."""
    return min(max(min(max(value, bounds.low), bounds.high), low), high)


@inlined
def nearest_of(points, loss, minimum, bounds):
    """The same for a running minimum."""
    value = value_of(points, loss, minimum)
    low, high = points[minimum.low, 0], points[minimum.high, 0]
    is_unique = minimum.weight > 0 if loss.code == LINEAR else minimum.n_active > 0
    return value if is_unique else nearest(value, low, high, bounds)


@inlined
def middle_of(low, high):
    """The middle of a set of minimisers, or its finite end; NaN if it has none."""
    if low == -np.inf:
        return high if high < np.inf else np.nan
    return low if high == np.inf else low + (high - low) / 2
