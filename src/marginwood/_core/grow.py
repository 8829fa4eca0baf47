"""Growing a tree: open a node, find its best split, carry it out, open the children, and so on.

A node is a stretch of rows in every feature's order and a stretch of the limits; a split partitions these
stretches stably, so nothing is sorted again.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import frontier, hinge, partition, rankset
from marginwood._core.categories import CATEGORIES, Room, borrow_room, make_room, search_groups
from marginwood._core.hinge import SQUARED, Loss, Minimum
from marginwood._core.jit import Constant, borrow, filling, folded, inner, kernel
from marginwood._core.monotone import child_bounds
from marginwood._core.nodes import LEAF, NO_FEATURE
from marginwood._core.optimum import Optimum
from marginwood._core.order import SAMPLE_MASK
from marginwood._core.samples import SAMPLE_DTYPE, centre_of, contested, minimise, rank_limits, start_from
from marginwood._core.screen import Screen, borrow_screen, fill, make_screen, screen
from marginwood._core.split import (
    DESCENDING,
    WALKING,
    Effect,
    Split,
    free,
    make_path,
    path_row,
    sweep,
    sweep_by_descent,
)

# A split must lower the cost by this share of the node's cost, ...
COST_TOLERANCE = 1e-10
# ... by more than the rounding of a sweep's running sums, ...
SUM_TOLERANCE = 1e-14
# ... and by more than this many units in the last place of its targets can cause.
ULPS = 4.0
EPSILON = 2.0**-52
# Where the rounding of running sums may be a larger share of the node's cost, splits are priced by descent.
PRICE_TOLERANCE = 1e-9

NOT_PRICED = -3  # instead of the feature of a split


class Problem(NamedTuple):
    """What a tree is grown from. `breakpoints` are those of `limits`.

    `n_categories` of a feature are 0 if it holds numbers; `signs` say which way it must move the prediction, 0 for any.
    Orders, limits and breakpoints are permuted while the tree grows. Python gives the loss apart, because numba takes
    long to see the type of a tuple that holds a constant.
    """

    X: np.ndarray
    orders: np.ndarray
    limits: np.ndarray
    breakpoints: np.ndarray
    weights: np.ndarray
    n_categories: np.ndarray
    signs: np.ndarray
    loss: Constant | None
    margin: float


class Options(NamedTuple):
    """When to stop; `max_leaf_nodes` of 0 means no bound, and growth in depth rather than best first.

    With `by_descent` all splits are priced in the way that is otherwise the last resort.
    """

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_leaf_nodes: int
    min_decrease: float
    max_features: int
    by_descent: bool = False


class Scratch(NamedTuple):
    """Room for growing one tree. `points` holds the limits of a node by rank."""

    samples: np.ndarray
    points: np.ndarray
    ranks: np.ndarray
    goes_left: np.ndarray
    spare: np.ndarray
    spare_breakpoints: np.ndarray
    features: np.ndarray
    random: np.ndarray
    screen: Screen
    categories: Room
    frontier: frontier.Frontier


class Place(NamedTuple):
    """A node to come: its stretches of rows and limits, a first guess of its minimiser, and bounds of its value."""

    node: int
    depth: int
    start: int
    stop: int
    limit_start: int
    limit_stop: int
    weight: float
    centre: float
    parent_value: float
    low: float
    high: float


class Node(NamedTuple):
    """The minimum of a node's cost; `loss` and `minimum` count breakpoints from its centre.

    `is_wide` says that running sums may miss what makes up the cost.
    """

    optimum: Optimum
    loss: Loss
    minimum: Minimum
    centre: float
    tolerance: float
    is_wide: bool


def make_scratch(weights, n_features, n_limits, max_leaves, seed, n_categories=0):
    """Fresh scratch for `grow`; memory that no node needs is never touched."""
    n_samples = len(weights)
    samples = np.empty(n_samples, dtype=SAMPLE_DTYPE)  # on huge pages, which np.zeros are not
    for field in ("lower_rank", "upper_rank", "lower", "upper"):
        samples[field] = 0  # finite, because limits that are not there count 0 times their breakpoint
    samples["weight"] = weights
    return Scratch(
        samples=samples,
        points=np.empty((n_limits + rankset.N_SENTINELS, 2)),
        ranks=rankset.make_rank_set(n_limits),
        goes_left=np.empty(n_samples, dtype=np.uint8),
        spare=np.empty(max(n_samples, n_limits), dtype=np.int32),
        spare_breakpoints=np.empty(n_limits),
        features=np.arange(n_features),
        random=np.array([seed], dtype=np.uint64),
        screen=make_screen(n_samples),
        categories=make_room(n_samples, n_limits, n_categories),
        frontier=frontier.make_frontier(max_leaves),
    )


@folded
def _open(problem, scratch, place):
    """Rank the limits of a node; returns the centre of its breakpoints, how far they reach from it, and the optimum."""
    limits = problem.limits[place.limit_start : place.limit_stop]
    breakpoints = problem.breakpoints[place.limit_start : place.limit_stop]
    points = scratch.points[: limits.shape[0] + rankset.N_SENTINELS]
    centre, reach = place.centre, 0.0
    n_limits = limits.shape[0]
    if n_limits > 0:
        first, last = contested(limits)
        first, last = min(first, last - 1), max(first, last - 1)
        low, high = breakpoints[max(first, 0)], breakpoints[min(last, n_limits - 1)]
        centre = centre if low <= centre <= high else (high if centre > high else low)
        reach = max(centre - low, high - centre)
    rank_limits(limits, breakpoints, scratch.samples, points, centre)
    return centre, reach, minimise(limits, breakpoints, points, scratch.ranks, problem.loss)


@folded
def _prepare(problem, scratch, place, centre, reach, best):
    """What a search for the best split starts from."""
    limits = problem.limits[place.limit_start : place.limit_stop]
    breakpoints = problem.breakpoints[place.limit_start : place.limit_stop]
    points = scratch.points[: limits.shape[0] + rankset.N_SENTINELS]
    ulps = ULPS * EPSILON, ULPS * EPSILON * problem.margin
    start, spread = start_from(best, limits, breakpoints, points, problem.loss, ulps)
    loss = hinge.make_loss(problem.loss, 2 * place.weight, spread.distance, spread.weight, reach)
    is_wide = not _can_trust_sums(best.cost, loss, spread)
    tolerance = COST_TOLERANCE * best.cost + spread.blur + (0.0 if is_wide else SUM_TOLERANCE * spread.size)
    return Node(best, loss, start, centre, tolerance, is_wide)


@inner
def _can_trust_sums(cost, loss, spread):
    """Whether the running sums of a sweep price all splits of a node up to a small share of its cost.

    They round by a share of all that passes through them. Then the pointer of the linear hinge may stop anywhere
    that sums of weights cannot tell apart, and the cost of light limits alone, with the squared hinge, is anything.
    """
    if loss.code == SQUARED:
        lost = 4 * spread.light * loss.reach * loss.reach
        return max(SUM_TOLERANCE * spread.size, lost) <= PRICE_TOLERANCE * cost
    return SUM_TOLERANCE * spread.weight * loss.reach <= PRICE_TOLERANCE * cost


@inner
def _n_missing(X, order, start, stop, feature):
    """How many samples of order[start:stop] have NaN: they come last."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        value = X[order[middle] & SAMPLE_MASK, feature]
        if value != value:
            high = middle
        else:
            low = middle + 1
    return stop - low


@folded
def _draw(features, random, n_drawn):
    """The next feature, without replacement, by an xorshift generator."""
    state = random[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    random[0] = state
    chosen = n_drawn + np.int64(state % np.uint64(features.shape[0] - n_drawn))
    features[n_drawn], features[chosen] = features[chosen], features[n_drawn]
    return features[n_drawn]


@folded
def _search(problem, scratch, options, place, node, way, kinds):
    """The best split of a node; ``n_left == 0`` if none lowers the cost, NOT_PRICED if this is not the way to find it.

    Features that do not vary in the node do not count as tried, and the search goes on past
    `max_features` until a split is found, as in scikit-learn.
    """
    best = Split(node.optimum.cost, NO_FEATURE, 0, 0, 0.0, 0.0)
    not_priced = Split(node.optimum.cost, NOT_PRICED, 0, 0, 0.0, 0.0)
    start, stop, samples, ranks, loss = place.start, place.stop, scratch.samples, scratch.ranks, node.loss
    n_features, n_tried = problem.orders.shape[0], 0
    points = scratch.points[: place.limit_stop - place.limit_start + rankset.N_SENTINELS]
    distances = 0.0, 0.0
    if way == WALKING:
        if node.is_wide or options.by_descent:
            return not_priced
        room, mu = scratch.screen, node.optimum.value - node.centre
        distances = fill(room, problem.orders[0], start, stop, samples, points, loss, node.minimum, mu)
    for i in range(n_features):
        feature = i
        if options.max_features < n_features:
            if n_tried >= options.max_features and best.n_left > 0:
                break
            feature = _draw(scratch.features, scratch.random, i)
        order = problem.orders[feature]
        n_missing = _n_missing(problem.X, order, start, stop, feature)
        first = problem.X[order[start] & SAMPLE_MASK, feature]
        last = problem.X[order[stop - 1] & SAMPLE_MASK, feature]
        if first == last or n_missing == stop - start:
            continue
        n_tried += 1
        if kinds == CATEGORIES and problem.n_categories[feature] > 0:
            best, in_budget = search_groups(
                problem, scratch, options, place, node, feature, n_missing, way, best, distances
            )
            if not in_budget:
                return not_priced
            continue
        effect = Effect(np.int64(problem.signs[feature]), place.low - node.centre, place.high - node.centre)
        for missing_left in range(2 if n_missing > 0 else 1):
            path = make_path(feature, start, stop, n_missing, missing_left, options.min_samples_leaf, effect)
            if way == DESCENDING:
                best = sweep_by_descent(order, samples, ranks, points, loss, path, best, node.tolerance)
            else:
                path = screen(room, order, path, loss, distances, best.cost - node.tolerance)
                if path.first > path.last:
                    continue
                best, in_budget = sweep(
                    order, samples, ranks, points, loss, node.minimum, path, room.bounds, best, node.tolerance
                )
                if not in_budget:
                    return not_priced
    return best


@folded
def _write(row, place, best):
    """Fill the row of a node as a leaf."""
    row["threshold"], row["feature"] = NO_FEATURE, NO_FEATURE
    row["children_left"], row["children_right"], row["missing_go_to_left"] = LEAF, LEAF, 0
    row["value"] = place.parent_value if best.value != best.value else min(max(best.value, place.low), place.high)
    row["value_low"], row["value_high"] = best.low, best.high
    row["impurity"], row["weighted_n_node_samples"] = best.cost, place.weight
    row["n_node_samples"] = place.stop - place.start


@folded
def _may_split(options, depth, n_samples):
    least = max(options.min_samples_split, 2 * options.min_samples_leaf)
    return depth < options.max_depth and n_samples >= least


@inner
def _wait(scratch, options, place, node, split, n_pending):
    """Put a node on the frontier if its split is worth it or not yet priced; returns how many are there."""
    decrease = node.optimum.cost - split.cost
    priority = decrease if options.max_leaf_nodes > 0 else np.float64(place.node)
    if split.feature == NOT_PRICED:
        priority = np.inf if options.max_leaf_nodes > 0 else priority
    elif split.n_left == 0 or decrease < options.min_decrease:
        return n_pending
    item = scratch.frontier.pending[frontier.push(scratch.frontier, n_pending, priority)]
    item["node"], item["depth"] = place.node, place.depth
    item["start"], item["stop"] = place.start, place.stop
    item["limit_start"], item["limit_stop"] = place.limit_start, place.limit_stop
    item["feature"], item["n_left"] = split.feature, split.n_left
    item["missing_left"] = split.missing_left
    item["low"], item["high"] = place.low, place.high
    item["left_centre"] = node.centre + split.left_value
    item["right_centre"] = node.centre + split.right_value
    return n_pending + 1


@folded
def _threshold(X, path, order, feature, n_left):
    """The midpoint of the last value on the left and the first on the right; it must separate them."""
    a = X[order[path_row(path, n_left - 1)] & SAMPLE_MASK, feature]
    b = X[order[path_row(path, n_left)] & SAMPLE_MASK, feature]
    if b != b:
        return np.inf
    middle = a / 2 + b / 2
    return middle if a <= middle < b else a


@folded
def _divide(problem, scratch, options, item, row, n_nodes):
    """Carry out the split of a pending node: fill its row and partition its stretches."""
    start, stop, feature, n_left = item["start"], item["stop"], item["feature"], item["n_left"]
    order, depth = problem.orders[feature], item["depth"] + 1
    n_missing = _n_missing(problem.X, order, start, stop, feature)
    path = make_path(feature, start, stop, n_missing, item["missing_left"], options.min_samples_leaf, free())
    row["children_left"], row["children_right"], row["feature"] = n_nodes, n_nodes + 1, feature
    row["threshold"] = _threshold(problem.X, path, order, feature, n_left)
    goes_left, spare = scratch.goes_left, scratch.spare
    left_weight, right_weight = partition.mark(order, path, n_left, goes_left, problem.weights)
    row["missing_go_to_left"] = path.missing_left if n_missing > 0 else left_weight > right_weight
    first, last, split, value = item["limit_start"], item["limit_stop"], start + n_left, row["value"]
    middle = partition.partition_limits(
        problem.limits, problem.breakpoints, (first, last), goes_left, spare, scratch.spare_breakpoints
    )
    # Which categories went left is read off the orders when the tree is complete.
    if _may_split(options, depth, max(n_left, stop - split)) or problem.n_categories[feature] > 0:
        partition.partition_orders(problem.orders, start, stop, goes_left, spare)
    centres = item["left_centre"], item["right_centre"]
    lows, highs = child_bounds(problem.signs[feature], item["low"], item["high"], centres[0], centres[1])
    left = Place(n_nodes, depth, start, split, first, middle, left_weight, centres[0], value, lows[0], highs[0])
    right = Place(n_nodes + 1, depth, split, stop, middle, last, right_weight, centres[1], value, lows[1], highs[1])
    return left, right


@folded
def _borrow_problem(problem, loss):
    X, orders, limits, breakpoints, weights, n_categories, signs, _, margin = problem
    return Problem(
        borrow(X), borrow(orders), borrow(limits), borrow(breakpoints), borrow(weights),
        borrow(n_categories), borrow(signs), loss, margin,
    )  # fmt: skip


@folded
def _borrow_scratch(scratch):
    samples, points, ranks, goes_left, spare, spare_breakpoints, features, random, screen, groups, waiting = scratch
    return Scratch(
        borrow(samples), borrow(points), borrow(ranks), borrow(goes_left), borrow(spare),
        borrow(spare_breakpoints), borrow(features), borrow(random), borrow_screen(screen), borrow_room(groups),
        frontier.Frontier(borrow(waiting.priority), borrow(waiting.slots), borrow(waiting.pending)),
    )  # fmt: skip


@filling
def grow(problem, loss, kinds, options, scratch, nodes, n_nodes, n_pending):
    """Grow a tree into the table `nodes`, of which some rows may be there; returns how many there are, and are pending.

    None is pending when the tree is complete; otherwise the first must be priced by descent, and growth goes on from
    there.
    """
    problem, scratch, nodes = _borrow_problem(problem, loss), _borrow_scratch(scratch), borrow(nodes)
    weight, zero = 0.0, np.int64(0)
    for i in range(problem.weights.shape[0]):
        weight += problem.weights[i]
    n_samples, n_limits = problem.orders.shape[1], problem.limits.shape[0]
    centre = centre_of(problem.limits, problem.breakpoints)
    left = Place(zero, zero, zero, n_samples, zero, n_limits, weight, centre, 0.0, -np.inf, np.inf)
    right, n_fresh = left, 1 if n_nodes == 0 else 0
    while True:
        for side in range(n_fresh):
            place = right if side else left
            centre, reach, best = _open(problem, scratch, place)
            _write(nodes[n_nodes], place, best)
            n_nodes += 1
            if best.cost == 0 or not _may_split(options, place.depth, place.stop - place.start):
                continue
            node = _prepare(problem, scratch, place, centre, reach, best)
            if best.cost > node.tolerance:
                split = _search(problem, scratch, options, place, node, WALKING, kinds)
                n_pending = _wait(scratch, options, place, node, split, n_pending)
        if n_pending == 0 or 2 * options.max_leaf_nodes == n_nodes + 1:
            return n_nodes, zero
        if scratch.frontier.pending[scratch.frontier.slots[0]]["feature"] == NOT_PRICED:
            return n_nodes, n_pending
        item = scratch.frontier.pending[frontier.pop(scratch.frontier, n_pending)]
        n_pending, n_fresh = n_pending - 1, 2
        left, right = _divide(problem, scratch, options, item, nodes[item["node"]], n_nodes)


@kernel
def price_by_descent(problem, loss, kinds, options, scratch, nodes, n_pending):
    """Price the splits of the first pending node by descent; returns how many nodes are pending then."""
    problem, scratch, nodes = _borrow_problem(problem, loss), _borrow_scratch(scratch), borrow(nodes)
    item = scratch.frontier.pending[frontier.pop(scratch.frontier, n_pending)]
    row = nodes[item["node"]]
    weight, value = row["weighted_n_node_samples"], row["value"]
    first, last = item["limit_start"], item["limit_stop"]
    stretch, bounds = (item["start"], item["stop"], first, last), (item["low"], item["high"])
    place = Place(item["node"], item["depth"], *stretch, weight, value, value, *bounds)
    centre, reach, best = _open(problem, scratch, place)
    node = _prepare(problem, scratch, place, centre, reach, best)
    split = _search(problem, scratch, options, place, node, DESCENDING, kinds)
    return _wait(scratch, options, place, node, split, n_pending - 1)
