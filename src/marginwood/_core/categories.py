"""Splits of categories: which of a feature's categories go left.

A *group* holds the samples of a node that share a category, and one more those that have none. A
split is a sequence of groups and a number of samples that go left, as it is for numbers, and the
same sweep prices it.

A side costs least at some value, and a group prefers the side whose value is cheaper for it. So a
search for the best split looks for a pair of values, by what groups cost at a few (see `pairs`).
What it proposes is priced by a sweep of the side with fewer samples, unless it looks worse than the
best split so far. The values of the sides that come out are then a better pair, and groups change
sides until none wants to. If there are few groups, all subsets are tried out instead.
"""

import numpy as np

from marginwood._core import screen
from marginwood._core.groups import FEW, add_pulls, gather, list_groups, put_back
from marginwood._core.hinge import SQUARED
from marginwood._core.jit import Constant, borrow, folded, inner
from marginwood._core.order import NEW_VALUE
from marginwood._core.pairs import propose, propose_best
from marginwood._core.rankset import N_SENTINELS
from marginwood._core.split import DESCENDING, WALKING, Path, Split, free, sweep, sweep_by_descent

# Whether any feature holds categories: what is needed for them is compiled for those who have some.
NUMBERS, CATEGORIES = Constant(0, ""), Constant(1, "categories")

MAX_ROUNDS = 8  # of groups that change sides
MISSING = np.uint8(2)  # the side of NaN, which comes last in an order


@inner
def _bound_subsets(room, n_groups, screening, loss, distances):
    """Fill the bounds of all subsets that go left, as bits of a number; the last group goes right."""
    sums = borrow(room.subset_sums)
    bounds = borrow(room.bounds)
    block = borrow(screening.sums)
    n_sums = screen.GROUP if loss.code == SQUARED else 2 * screen.GROUP
    n_subsets = 1 << (n_groups - 1)
    for k in range(n_sums):
        sums[k, 0] = 0.0
        for group in range(n_groups - 1):
            for subset in range(1 << group):
                sums[k, subset + (1 << group)] = sums[k, subset] + room.sums[group, k]
    for start in range(0, n_subsets, screen.BLOCK):
        width = min(screen.BLOCK, n_subsets - start)
        for k in range(n_sums):
            for i in range(width):
                block[k, i] = sums[k, start + i]
        screen.bound(screening, width, loss, distances, bounds[start : start + width])


@inner
def _price(problem, scratch, options, place, node, feature, n_groups, way, best):
    """The better of `best` and the split that sends the proposed groups left; these become those with fewer samples."""
    room = scratch.categories
    samples = scratch.samples
    ranks = scratch.ranks
    start, stop = place.start, place.stop
    order = problem.orders[feature]
    n_samples = stop - start
    n_left = np.int64(0)
    for group in range(n_groups):
        n_left += (room.starts[group + 1] - room.starts[group]) * room.proposed[group]
    if 2 * n_left > n_samples:
        n_left = n_samples - n_left
        for group in range(n_groups):
            room.proposed[group] = 1 - room.proposed[group]
    if n_left == 0 or n_left < options.min_samples_leaf:
        return best
    gather(room, order, start, n_groups, room.proposed, np.uint8(1), np.int64(0))
    room.arranged[n_left] = (
        room.arranged[0] | NEW_VALUE
    )  # any sample: the split lies in front of it
    points = scratch.points[: place.limit_stop - place.limit_start + N_SENTINELS]
    path = Path(feature, np.int64(0), n_left + 1, np.int64(0), np.int64(0), n_left, n_left, free())
    if way == DESCENDING:
        return sweep_by_descent(
            room.arranged, samples, ranks, points, node.loss, path, best, node.tolerance
        )
    bounds = scratch.screen.bounds
    bounds[n_left] = -np.inf
    found, _ = sweep(
        room.arranged,
        samples,
        ranks,
        points,
        node.loss,
        node.minimum,
        path,
        bounds,
        best,
        node.tolerance,
    )
    return found


@inner
def _accept(room, n_groups):
    """Choose what is proposed."""
    for group in range(n_groups):
        room.chosen[group] = room.proposed[group]


@inner
def _try_subsets(problem, scratch, options, place, node, feature, n_groups, way, distances, best):
    """The better of `best` and all subsets of few groups.

    Those of the lowest bounds come first, and most are ruled out by what these cost. By descent
    none is left out, as bounds may be rounding.
    """
    room = scratch.categories
    n_subsets = 1 << (n_groups - 1)
    if way == WALKING:
        _bound_subsets(room, n_groups, scratch.screen, node.loss, distances)
    for i in range(1, n_subsets):
        subset = i
        if way == WALKING:
            subset = 1 + np.argmin(room.bounds[1:n_subsets])
            if room.bounds[subset] >= best.cost - node.tolerance:
                break
            room.bounds[subset] = np.inf
        for group in range(n_groups):
            room.proposed[group] = (subset >> group) & 1
        found = _price(problem, scratch, options, place, node, feature, n_groups, way, best)
        if found.cost < best.cost:
            best = found
            _accept(room, n_groups)
    return best


@inner
def _reassign(problem, scratch, options, place, node, feature, n_groups, way, best):
    """Send every group to the side that it prefers, as far as its costs tell, until none changes or the cost rises."""
    room = scratch.categories
    mu = node.optimum.value - node.centre
    for _ in range(MAX_ROUNDS):
        n_changes, _ = propose(
            room, n_groups, best.left_value, best.right_value, mu, options.min_samples_leaf
        )
        if n_changes == 0:
            break
        found = _price(problem, scratch, options, place, node, feature, n_groups, way, best)
        if not found.cost < best.cost:
            break
        best = found
        _accept(room, n_groups)
    return best


@inner
def _settle(room, order, place, n_groups, n_missing, split):
    """Leave an order with the groups that a split sends left in front and NaN behind; return the split of that order.

    The side with fewer samples is the left one, or else that of the lower value.
    """
    chosen = borrow(room.chosen)
    n_left = np.int64(0)
    for group in range(n_groups):
        n_left += (room.starts[group + 1] - room.starts[group]) * chosen[group]
    n_right = place.stop - place.start - n_left
    left_value, right_value = split.left_value, split.right_value
    if n_left > n_right or (n_left == n_right and left_value > right_value):
        n_left, left_value, right_value = n_right, right_value, left_value
        for group in range(n_groups):
            chosen[group] = 1 - chosen[group]
    missing_left = np.int64(0)
    if n_missing > 0:
        missing_left = np.int64(chosen[n_groups - 1])
        chosen[n_groups - 1] = MISSING
    at = np.int64(0)
    for side in (np.uint8(1), np.uint8(0), MISSING):
        at = gather(room, order, place.start, n_groups, chosen, side, at)
    put_back(room, order, place.start, place.stop)
    return Split(split.cost, split.feature, n_left, missing_left, left_value, right_value)


@folded
def search_groups(problem, scratch, options, place, node, feature, n_missing, way, best, distances):
    """The better of `best` and the splits of one feature's categories."""
    room = scratch.categories
    order = problem.orders[feature]
    code = node.loss.code
    n_groups = list_groups(room, scratch.samples, order, place.start, place.stop, node.loss)
    found = best
    if n_groups <= FEW:
        add_pulls(room, scratch.screen.pulls, order, place.start, n_groups, code)
        found = _try_subsets(
            problem, scratch, options, place, node, feature, n_groups, way, distances, found
        )
    else:
        estimate = propose_best(
            room, n_groups, node.optimum.value - node.centre, options.min_samples_leaf
        )
        # Estimates compare features. Whether a node can be split at all is for a sweep to say.
        if estimate < best.cost - node.tolerance or (best.n_left == 0 and estimate < np.inf):
            found = _price(problem, scratch, options, place, node, feature, n_groups, way, best)
            _accept(room, n_groups)
        if found.cost < best.cost:
            found = _reassign(problem, scratch, options, place, node, feature, n_groups, way, found)
    if found.cost < best.cost:
        best = _settle(room, order, place, n_groups, n_missing, found)
    return best
