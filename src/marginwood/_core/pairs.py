"""Which groups go left, by a pair of values: those that cost less at the lower one.

The best split of groups has a pair of values, the minimisers of its sides, and every group is on the side whose value
is cheaper for it: all it takes to know is the pair. At first it is the best of the values for which the costs of
groups are known, one from the left of the node's minimiser and one from the right. Then, by turns, each side gets the
value where its costs are least, and groups go to the side that they prefer. Between the values for which they are
known, costs follow a parabola through the nearest three.

With costs (4, 1, 1, 4) at the values (-2, -1, 1, 2), the cost at 0 is that of the parabola through (-2, 4), (-1, 1)
and (1, 1), which is 0: the `factors` of these three costs are -1/3, 1 and 1/3.
"""

import numpy as np

from marginwood._core.groups import HALF, N_VALUES
from marginwood._core.jit import borrow, inner
from marginwood._core.lanes import N_LANES, first_pairs, load, lower_of, second_pairs, spread, store, total, with_last

# How often values and groups take turns.
MAX_TURNS = 6
# From how many of the best pairs a search may start, where a look at all groups is cheap: they are LARGE on average.
N_STARTS = 4
LARGE = 4


@inner
def _price_pairs(room, n_groups):
    """Fill what a split costs if every group goes to the cheaper of two values, for all pairs of values."""
    costs = borrow(room.costs)
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
    at = 1
    for i in range(2, N_VALUES - 1):
        at = i if abs(values[i] - value) <= abs(values[at] - value) else at
    h = values[at] - values[at - 1]
    k = values[at + 1] - values[at]
    z = min(max(value - values[at], -h), k)
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
def propose(room, n_groups, left, right, mu):
    """Propose for every group the side that it prefers if these are their values; add up the costs of both sides.

    Groups to which it is all the same go where the value is nearer to the node's, because a side far away is for those
    that belong there. Returns how many groups change, and how many samples are on the left.
    """
    costs = borrow(room.costs)
    starts = borrow(room.starts)
    proposed = borrow(room.proposed)
    room.factors[:] = 0.0
    _add_factors(room, left, 1.0)
    _add_factors(room, right, -1.0)
    factors = load(room.factors, np.int64(0))
    is_nearer = abs(left - mu) < abs(right - mu)
    before = after = spread(0.0)
    n_changes = np.int64(0)
    n_left = np.int64(0)
    for group in range(n_groups):
        own = load(costs, group * N_VALUES)
        excess = total(own * factors)
        is_left = (excess < 0) | ((excess == 0) & is_nearer)
        n_changes += is_left != (proposed[group] == 1)
        n_left += (starts[group + 1] - starts[group]) * is_left
        proposed[group] = is_left
        before = before + own * spread(1.0 if is_left else 0.0)
        after = after + own * spread(0.0 if is_left else 1.0)
    store(room.sides, np.int64(0), before)
    store(room.sides, np.int64(N_LANES), after)
    return n_changes, n_left


@inner
def _least_of(room, side):
    """Where a side costs least, and how much: the least of its costs, or of the parabola through that and the next."""
    values = borrow(room.values)
    costs = borrow(room.sides)
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
    """Propose the sides of the best pair of values that leaves so many samples on either; returns it, and if any does.

    Of the best pairs it is the one whose sides cost least at values of their own.
    """
    _price_pairs(room, n_groups)
    n_samples = room.starts[n_groups]
    n_starts = N_STARTS if n_samples >= LARGE * n_groups else 1
    best_left = best_right = left = right = mu
    lowest = np.inf
    n_found = 0
    for _ in range(room.pairs.shape[0]):
        pair = np.argmin(room.pairs)
        left, right = room.values[pair // HALF], room.values[HALF + pair % HALF]
        _, n_left = propose(room, n_groups, left, right, mu)
        if least <= n_left <= n_samples - least:
            cost = _least_of(room, np.int64(0))[1] + _least_of(room, np.int64(1))[1]
            n_found += 1
            if n_found == 1 or cost < lowest:
                best_left, best_right, lowest = left, right, cost
        if n_found == n_starts:
            break
        room.pairs[pair] = np.inf
    if left != best_left or right != best_right:
        propose(room, n_groups, best_left, best_right, mu)
    return best_left, best_right, n_found > 0


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
        estimate = left_cost + right_cost
        n_changes, n_left = propose(room, n_groups, left, right, mu)
        if not least <= n_left <= room.starts[n_groups] - least:
            propose(room, n_groups, *kept, mu)
            break
        if n_changes == 0:
            break
    return estimate
