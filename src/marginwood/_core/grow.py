"""Growing a tree: open a node, find its best split, carry it out, open the children, and so on.

A node is a stretch of rows in every feature's order and a stretch of the limits; a split partitions
these stretches stably, so nothing is sorted again.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import frontier, partition, rankset
from marginwood._core.groups import borrow_room, make_room
from marginwood._core.jit import borrow, filling, folded, inner, kernel
from marginwood._core.monotone import child_bounds
from marginwood._core.nodes import LEAF, NO_FEATURE
from marginwood._core.order import SAMPLE_MASK
from marginwood._core.samples import SAMPLE_DTYPE, centre_of
from marginwood._core.screen import borrow_screen, make_pulls, make_screen
from marginwood._core.search import (
    NOT_PRICED,
    Place,
    Problem,
    Scratch,
    n_missing_in,
    open_place,
    prepare,
    search,
    seed_of_child,
)
from marginwood._core.split import DESCENDING, WALKING, free, make_path, path_row


class Shared(NamedTuple):
    """Room for growing one tree, by sample: nodes that are grown side by side have none in common."""

    samples: np.ndarray
    goes_left: np.ndarray
    pulls: np.ndarray


def make_shared(weights):
    """Fresh room for samples of these weights."""
    n_samples = len(weights)
    samples = np.empty(n_samples, dtype=SAMPLE_DTYPE)  # on huge pages, which np.zeros are not
    words = samples.view(np.float64).reshape(n_samples, -1)
    words[:, :-1] = 0.0  # finite, because limits that are not there count 0 times their breakpoint
    samples["weight"] = weights
    return Shared(samples, np.empty(n_samples, dtype=np.uint8), make_pulls(n_samples))


def make_scratch(shared, n_features, n_samples, n_limits, max_leaves, n_categories=0):
    """Fresh scratch for a node and all that is below it; memory that no node needs is never touched."""
    return Scratch(
        samples=shared.samples,
        points=np.empty((n_limits + rankset.N_SENTINELS, 2)),
        ranks=rankset.make_rank_set(n_limits),
        goes_left=shared.goes_left,
        spare=np.empty(max(n_samples, n_limits), dtype=np.int32),
        spare_breakpoints=np.empty(n_limits),
        features=np.empty(n_features, dtype=np.int64),
        random=np.empty(1, dtype=np.uint64),
        screen=make_screen(shared.pulls, n_samples),
        categories=make_room(n_samples, n_categories),
        frontier=frontier.make_frontier(max_leaves),
    )


def root_of(problem, seed):
    """The place of the root."""
    n_samples = problem.orders.shape[1]
    n_limits = len(problem.limits)
    weight = float(problem.weights.sum())
    centre = centre_of(problem.limits, problem.breakpoints)
    return Place(
        0, 0, 0, n_samples, 0, n_limits, weight, centre, 0.0, -np.inf, np.inf, np.uint64(seed)
    )


def count_leaves(options, place):
    """How many leaves there may be below a place."""
    max_leaves = (place.stop - place.start) // options.min_samples_leaf + 1
    if options.max_leaf_nodes > 0:
        max_leaves = min(max_leaves, options.max_leaf_nodes)
    if options.max_depth - place.depth < 31:
        max_leaves = min(max_leaves, 2 ** (options.max_depth - place.depth))
    return max_leaves


@folded
def write(row, place, best):
    """Fill the row of a node as a leaf."""
    row["threshold"] = NO_FEATURE
    row["feature"] = NO_FEATURE
    row["children_left"], row["children_right"] = LEAF, LEAF
    row["missing_go_to_left"] = 0
    row["value"] = (
        place.parent_value
        if best.value != best.value
        else min(max(best.value, place.low), place.high)
    )
    row["value_low"], row["value_high"] = best.low, best.high
    row["impurity"] = best.cost
    row["weighted_n_node_samples"] = place.weight
    row["n_node_samples"] = place.stop - place.start


@folded
def may_split(options, depth, n_samples):
    least = max(options.min_samples_split, 2 * options.min_samples_leaf)
    return depth < options.max_depth and n_samples >= least


@inner
def wait(scratch, options, place, node, split, n_pending):
    """Put a node on the frontier if its split is worth it or not yet priced; returns how many are there."""
    decrease = node.optimum.cost - split.cost
    priority = decrease if options.max_leaf_nodes > 0 else np.float64(place.node)
    if split.feature == NOT_PRICED:
        priority = np.inf if options.max_leaf_nodes > 0 else priority
    elif split.n_left == 0 or decrease < options.min_decrease:
        return n_pending
    item = scratch.frontier.pending[frontier.push(scratch.frontier, n_pending, priority)]
    item["node"] = place.node
    item["depth"] = place.depth
    item["start"], item["stop"] = place.start, place.stop
    item["limit_start"], item["limit_stop"] = place.limit_start, place.limit_stop
    item["feature"] = split.feature
    item["n_left"] = split.n_left
    item["missing_left"] = split.missing_left
    item["seed"] = place.seed
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
def divide(problem, scratch, options, item, row, n_nodes):
    """Carry out the split of a pending node, but for the orders: fill its row and partition its limits.

    Returns the places of its children, and whether the orders must be partitioned: they are needed
    below, or later.
    """
    start, stop = item["start"], item["stop"]
    feature = item["feature"]
    n_left = item["n_left"]
    order = problem.orders[feature]
    depth = item["depth"] + 1
    n_missing = n_missing_in(problem.X, order, start, stop, feature)
    path = make_path(
        feature, start, stop, n_missing, item["missing_left"], options.min_samples_leaf, free()
    )
    row["children_left"], row["children_right"] = n_nodes, n_nodes + 1
    row["feature"] = feature
    row["threshold"] = _threshold(problem.X, path, order, feature, n_left)
    goes_left = scratch.goes_left
    left_weight, right_weight = partition.mark(order, path, n_left, goes_left, problem.weights)
    row["missing_go_to_left"] = path.missing_left if n_missing > 0 else left_weight > right_weight
    first, last = item["limit_start"], item["limit_stop"]
    split = start + n_left
    value = row["value"]
    middle = partition.partition_limits(
        problem.limits,
        problem.breakpoints,
        (first, last),
        goes_left,
        scratch.spare,
        scratch.spare_breakpoints,
    )
    seeds = seed_of_child(item["seed"], np.uint64(0)), seed_of_child(item["seed"], np.uint64(1))
    a, b = item["left_centre"], item["right_centre"]
    low, high = child_bounds(problem.signs[feature], item["low"], item["high"], a, b)
    left = Place(
        n_nodes,
        depth,
        start,
        split,
        first,
        middle,
        left_weight,
        a,
        value,
        low[0],
        high[0],
        seeds[0],
    )
    right = Place(
        n_nodes + 1,
        depth,
        split,
        stop,
        middle,
        last,
        right_weight,
        b,
        value,
        low[1],
        high[1],
        seeds[1],
    )
    # Which categories went left is read off the orders when the tree is complete.
    goes_on = (
        may_split(options, depth, max(n_left, stop - split)) or problem.n_categories[feature] > 0
    )
    return left, right, goes_on


@folded
def borrow_problem(problem, loss):
    X, orders, limits, breakpoints, weights, n_categories, signs, _, margin, prices = problem
    return Problem(
        borrow(X), borrow(orders), borrow(limits), borrow(breakpoints), borrow(weights),
        borrow(n_categories), borrow(signs), loss, margin, prices,
    )  # fmt: skip


@folded
def borrow_scratch(scratch):
    (
        samples,
        points,
        ranks,
        goes_left,
        spare,
        spare_breakpoints,
        features,
        random,
        screen,
        groups,
        waiting,
    ) = scratch
    return Scratch(
        borrow(samples), borrow(points), borrow(ranks), borrow(goes_left), borrow(spare),
        borrow(spare_breakpoints), borrow(features), borrow(random), borrow_screen(screen), borrow_room(groups),
        frontier.Frontier(borrow(waiting.priority), borrow(waiting.slots), borrow(waiting.pending)),
    )  # fmt: skip


@filling
def grow(problem, loss, kinds, options, scratch, nodes, place, n_nodes, n_pending):
    """Grow a tree into the table `nodes` from the place of its root; returns how many nodes there are, and are pending.

    None is pending when the tree is complete. Otherwise the first must be priced by descent, or has
    too many rows, and growth goes on from there.
    """
    problem = borrow_problem(problem, loss)
    scratch = borrow_scratch(scratch)
    nodes = borrow(nodes)
    left = right = place
    n_fresh = 1 if n_nodes == 0 else 0
    while True:
        for side in range(n_fresh):
            place = right if side else left
            centre, reach, best = open_place(problem, scratch, place)
            write(nodes[n_nodes], place, best)
            n_nodes += 1
            if best.cost == 0 or not may_split(options, place.depth, place.stop - place.start):
                continue
            node = prepare(problem, scratch, place, centre, reach, best)
            if best.cost > node.tolerance:
                split = search(problem, scratch, options, place, node, WALKING, kinds)
                n_pending = wait(scratch, options, place, node, split, n_pending)
        if n_pending == 0 or 2 * options.max_leaf_nodes == n_nodes + 1:
            return n_nodes, np.int64(0)
        item = scratch.frontier.pending[scratch.frontier.slots[0]]
        if item["feature"] == NOT_PRICED or item["stop"] - item["start"] > options.largest:
            return n_nodes, n_pending
        item = scratch.frontier.pending[frontier.pop(scratch.frontier, n_pending)]
        n_pending -= 1
        n_fresh = 2
        left, right, goes_on = divide(problem, scratch, options, item, nodes[item["node"]], n_nodes)
        if goes_on:
            partition.partition_orders(
                problem.orders, left.start, right.stop, scratch.goes_left, scratch.spare
            )


@kernel
def price_by_descent(problem, loss, kinds, options, scratch, nodes, n_pending):
    """Price the splits of the first pending node by descent; returns how many nodes are pending then."""
    problem = borrow_problem(problem, loss)
    scratch = borrow_scratch(scratch)
    nodes = borrow(nodes)
    item = scratch.frontier.pending[frontier.pop(scratch.frontier, n_pending)]
    row = nodes[item["node"]]
    weight = row["weighted_n_node_samples"]
    value = row["value"]
    first, last = item["limit_start"], item["limit_stop"]
    stretch = (item["start"], item["stop"], first, last)
    seed = item["seed"]
    place = Place(
        item["node"], item["depth"], *stretch, weight, value, value, item["low"], item["high"], seed
    )
    centre, reach, best = open_place(problem, scratch, place)
    node = prepare(problem, scratch, place, centre, reach, best)
    split = search(problem, scratch, options, place, node, DESCENDING, kinds)
    return wait(scratch, options, place, node, split, n_pending - 1)


def is_priced(scratch):
    """Whether the first pending node is."""
    waiting = scratch.frontier
    return waiting.pending[waiting.slots[0]]["feature"] != NOT_PRICED


def grow_on(arguments, place, n_nodes, n_pending):
    """Grow, and price by descent what must be; a node that is pending then has too many rows."""
    *_, scratch, _ = arguments
    n_nodes, n_pending = grow(*arguments, place, n_nodes, n_pending)
    while n_pending > 0 and not is_priced(scratch):
        n_pending = price_by_descent(*arguments, n_pending)
        n_nodes, n_pending = grow(*arguments, place, n_nodes, n_pending)
    return n_nodes, n_pending
