"""Which groups go left, by a pair of values: those that cost less at the lower one.

The best split of groups has a pair of values, the minimisers of its sides, and every group is on
the side whose value is cheaper for it: all it takes to know is the pair. At first it is the best of
the values for which the costs of groups are known, one from the left of the node's minimiser and
one from the right. Then, by turns, each side gets the value where its costs are least, and groups
go to the side that they prefer. Between the values for which they are known, costs follow a
parabola through the nearest three.

If that leaves too few samples on a side, groups move there from the other, those first whose costs
rise least per sample, and turns go on from what comes out.

With costs (4, 1, 1, 4) at the values (-2, -1, 1, 2), the cost at 0 is that of the parabola through
(-2, 4), (-1, 1) and (1, 1), which is 0: the `factors` of these three costs are -1/3, 1 and 1/3.
"""

import numpy as np

from marginwood._core.frontier import pop, push
from marginwood._core.groups import HALF, N_VALUES
from marginwood._core.jit import borrow, inner
from marginwood._core.lanes import (
    N_LANES,
    first_pairs,
    load,
    lower_of,
    second_pairs,
    spread,
    store,
    total,
    with_last,
)

# How often values and groups take turns.
MAX_TURNS = 6
# From how many of the best pairs a search may start, where a look at all groups is cheap: they are
# LARGE on average.
N_STARTS = 4
LARGE = 4


@inner
def _price_pairs(room, n_groups):
    """Fill what a split costs if every group goes to the cheaper of two values, for all pairs of values."""
    costs = borrow(room.costs)
    # There are 4 x 4 pairs of a value on the left and one on the right: those of the first two values
    # on the left in the lanes of `first`, those of the other two in `second`. A group adds the lower of
    # its two costs to each pair; so costs (4, 1 | 1, 4) of two values on either side add 1, 4, 1, 1.
    first = second = spread(0.0)
    for group in range(n_groups):
        own = load(costs, group * N_VALUES)
        right = with_last(own)
        first = first + lower_of(first_pairs(own), right)
        second = second + lower_of(second_pairs(own), right)
    store(room.pairs, np.int64(0), first)
    store(room.pairs, np.int64(N_LANES), second)


@inner
def _add_factors(room, value, sign):
    """Add the factors of costs that give the cost at a value, which is moved into their range."""
    values = borrow(room.values)
    factors = borrow(room.factors)
    # The middle one of the three values through which the parabola goes: the nearest that has
    # neighbours on both sides.
    at = 1
    for i in range(2, N_VALUES - 1):
        at = i if abs(values[i] - value) <= abs(values[at] - value) else at
    h = values[at] - values[at - 1]
    k = values[at + 1] - values[at]
    z = min(max(value - values[at], -h), k)
    # Lagrange's polynomials. Values may coincide (`h` or `k` is 0), where the node has few limits:
    # then a line goes through two of them, or the cost of the one there is stands for all.
    if h > 0 and k > 0:
        factors[at - 1] += sign * z * (z - k) / (h * (h + k))
        factors[at] += sign * (z + h) * (k - z) / (h * k)
        factors[at + 1] += sign * z * (z + h) / (k * (h + k))
    elif k > 0:
        factors[at] += sign * (k - z) / k
        factors[at + 1] += sign * z / k
    elif h > 0:
        factors[at] += sign * (h + z) / h
        factors[at - 1] -= sign * z / h
    else:
        factors[at] += sign


@inner
def _even_out(room, n_groups, n_left, least):
    """Move groups to the side that has too few samples, as far as the other keeps enough, and add up costs again.

    When there are enough, those that the last ones have made needless go back: a small group may
    have come before a large one that is enough by itself. Returns how many samples are on the left.
    """
    costs = borrow(room.costs)
    starts = borrow(room.starts)
    proposed = borrow(room.proposed)
    slots = room.queue.slots
    factors = load(room.factors, np.int64(0))
    n_samples = starts[n_groups]
    # The side with too few samples, as `proposed` writes it: 1 is the left one.
    short = np.uint8(n_left < least)
    n_short = n_left if short else n_samples - n_left
    for group in range(n_groups):
        excess = total(load(costs, group * N_VALUES) * factors) / (
            starts[group + 1] - starts[group]
        )
        # The heap gives the group first that costs least to move, per sample; those on the short side
        # are pushed as well, behind all others, so that slots hold every group once.
        slots[group] = group
        gain = -excess if short else excess
        push(room.queue, group, gain if proposed[group] != short else -np.inf)
    n_waiting = n_groups
    while n_short < least and n_waiting > 0:
        group = pop(room.queue, n_waiting)
        n_waiting -= 1
        size = starts[group + 1] - starts[group]
        # A group that is too large for what the other side may lose is skipped, not split.
        if proposed[group] != short and n_short + size <= n_samples - least:
            proposed[group] = short
            n_short += size
    # The slots behind those that wait hold what was taken out, the last first.
    for i in range(n_waiting, n_groups):
        size = starts[slots[i] + 1] - starts[slots[i]]
        if proposed[slots[i]] == short and n_short - size >= least:
            proposed[slots[i]] = 1 - short
            n_short -= size
    before = after = spread(0.0)
    for group in range(n_groups):
        own = load(costs, group * N_VALUES)
        before = before + own * spread(1.0 if proposed[group] == 1 else 0.0)
        after = after + own * spread(0.0 if proposed[group] == 1 else 1.0)
    store(room.sides, np.int64(0), before)
    store(room.sides, np.int64(N_LANES), after)
    return n_short if short else n_samples - n_short


@inner
def propose(room, n_groups, left, right, mu, least):
    """Propose for every group the side that it prefers if these are their values; add up the costs of both sides.

    Groups to which it is all the same go where the value is nearer to the node's, because a side
    far away is for those that belong there. Some have to move if a side has fewer samples than the
    least that it must have. Returns how many groups change, all if some had to move, and how many
    samples are on the left: still too few or too many if there is no way.
    """
    costs = borrow(room.costs)
    starts = borrow(room.starts)
    proposed = borrow(room.proposed)
    room.factors[:] = 0.0
    _add_factors(room, left, 1.0)
    _add_factors(room, right, -1.0)
    factors = load(room.factors, np.int64(0))
    # Groups whose limits both values satisfy cost 0 at both: without this rule they would pile up
    # on one side by chance of rounding.
    is_nearer = abs(left - mu) < abs(right - mu)
    before = after = spread(0.0)
    n_changes = np.int64(0)
    n_left = np.int64(0)
    for group in range(n_groups):
        own = load(costs, group * N_VALUES)
        # What the group costs at the left value beyond what it costs at the right one.
        excess = total(own * factors)
        is_left = (excess < 0) | ((excess == 0) & is_nearer)
        n_changes += is_left != (proposed[group] == 1)
        n_left += (starts[group + 1] - starts[group]) * is_left
        proposed[group] = is_left
        before = before + own * spread(1.0 if is_left else 0.0)
        after = after + own * spread(0.0 if is_left else 1.0)
    store(room.sides, np.int64(0), before)
    store(room.sides, np.int64(N_LANES), after)
    if not least <= n_left <= starts[n_groups] - least:
        return n_groups, _even_out(room, n_groups, n_left, least)
    return n_changes, n_left


@inner
def _least_of(room, side):
    """Where a side costs least, and how much: the least of its costs, or of the parabola through that and the next."""
    values = borrow(room.values)
    costs = borrow(room.sides)
    # Costs are convex: their minimum lies between the neighbours of the least one known.
    at = np.argmin(costs[side])
    value, cost = values[at], costs[side, at]
    at = min(max(at, 1), N_VALUES - 2)
    h = values[at] - values[at - 1]
    k = values[at + 1] - values[at]
    if h > 0 and k > 0:
        left_slope = (costs[side, at] - costs[side, at - 1]) / h
        right_slope = (costs[side, at + 1] - costs[side, at]) / k
        curvature = (right_slope - left_slope) / (h + k)
        if curvature > 0:
            slope = (left_slope * k + right_slope * h) / (h + k)
            z = min(max(-slope / (2 * curvature), -h), k)
            value, cost = values[at] + z, max(costs[side, at] + z * (slope + z * curvature), 0.0)
    return value, cost


@inner
def _start(room, n_groups, mu, least):
    """Propose the sides of one of the best pairs of values, the one whose sides cost least at values of their own.

    Returns the pair, and whether it leaves enough samples on either side.
    """
    _price_pairs(room, n_groups)
    n_samples = room.starts[n_groups]
    best_left = best_right = left = right = mu
    lowest = np.inf
    # The best pair on the grid need not be the best after its values have moved. Where groups are
    # large the next three are looked at as well.
    for _ in range(N_STARTS if n_samples >= LARGE * n_groups else 1):
        pair = np.argmin(room.pairs)
        room.pairs[pair] = np.inf
        left, right = room.values[pair // HALF], room.values[HALF + pair % HALF]
        _, n_left = propose(room, n_groups, left, right, mu, least)
        cost = _least_of(room, np.int64(0))[1] + _least_of(room, np.int64(1))[1]
        if least <= n_left <= n_samples - least and cost < lowest:
            best_left, best_right, lowest = left, right, cost
    if left != best_left or right != best_right:
        propose(room, n_groups, best_left, best_right, mu, least)
    return best_left, best_right, lowest < np.inf


@inner
def propose_best(room, n_groups, mu, least):
    """Propose the best split into sides of so many samples or more; returns about what it costs, infinity if none."""
    left, right, is_found = _start(room, n_groups, mu, least)
    if not is_found:
        return np.inf
    estimate = np.inf
    for _ in range(MAX_TURNS):
        kept = left, right
        left, left_cost = _least_of(room, np.int64(0))
        right, right_cost = _least_of(room, np.int64(1))
        is_lower = left_cost + right_cost < estimate
        estimate = left_cost + right_cost
        n_changes, n_left = propose(room, n_groups, left, right, mu, least)
        if not least <= n_left <= room.starts[n_groups] - least:
            propose(room, n_groups, *kept, mu, least)
            break
        # Where groups have to move, all count as changed: turns end when the cost falls no more.
        if n_changes == 0 or (n_changes == n_groups and not is_lower):
            break
    return estimate
