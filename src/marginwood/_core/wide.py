"""A node in pieces, for threads that share it: what `grow` does in one go, as kernels of their own.

One thread owns the node: it opens it, tries its paths in order, and divides it. Others tell it
ahead which paths cannot be better than what it has found, and partition orders.
"""

from typing import NamedTuple

from marginwood._core import frontier, partition
from marginwood._core.grow import borrow_problem, borrow_scratch, divide, may_split, wait, write
from marginwood._core.hinge import Loss, Minimum
from marginwood._core.jit import borrow, filling, folded
from marginwood._core.optimum import Optimum
from marginwood._core.screen import least_bound
from marginwood._core.search import (
    NOT_PRICED,
    Node,
    begin_draws,
    draw,
    fill_screen,
    open_place,
    path_of,
    prepare,
    try_path,
    varying,
)
from marginwood._core.split import WALKING, Split


class Opened(NamedTuple):
    """A node that is open, as Python can hold it: `slacks` are its loss but for the code."""

    optimum: Optimum
    slacks: tuple
    minimum: Minimum
    centre: float
    tolerance: float
    is_wide: bool
    distances: tuple


@folded
def _node_of(opened, loss):
    prices, weight_slack, total_slack, least, reach = opened.slacks
    loss_of_node = Loss(loss, prices, weight_slack, total_slack, least, reach)
    return Node(
        opened.optimum,
        loss_of_node,
        opened.minimum,
        opened.centre,
        opened.tolerance,
        opened.is_wide,
    )


@filling
def open_node(problem, loss, options, scratch, nodes, place, found):
    """Open a node and write its row as that of a leaf; list the features that vary, in the order in which to try them.

    Returns what is known of the node, and how many features were found, with their numbers of
    missing values; none if the node is to stay a leaf.
    """
    problem = borrow_problem(problem, loss)
    scratch = borrow_scratch(scratch)
    nodes = borrow(nodes)
    centre, reach, best = open_place(problem, scratch, place)
    write(nodes[place.node], place, best)
    node = prepare(problem, scratch, place, centre, reach, best)
    distances = (0.0, 0.0)
    n_found = 0
    n_features = problem.orders.shape[0]
    if (
        best.cost > node.tolerance
        and best.cost > 0
        and may_split(options, place.depth, place.stop - place.start)
    ):
        if not node.is_wide:
            distances = fill_screen(problem, scratch, place, node)
        if options.max_features < n_features:
            begin_draws(scratch, place)
        for i in range(n_features):
            feature = (
                draw(scratch.features, scratch.random, i)
                if options.max_features < n_features
                else i
            )
            n_missing = varying(problem, place, feature)
            if n_missing >= 0:
                found[n_found, 0] = feature
                found[n_found, 1] = n_missing
                n_found += 1
    own = node.loss
    slacks = own.prices, own.weight_slack, own.total_slack, own.least, own.reach
    opened = Opened(
        best, slacks, node.minimum, node.centre, node.tolerance, node.is_wide, distances
    )
    return opened, n_found


@filling
def least_of_path(problem, loss, options, room, place, opened, key):
    """A lower bound of the price of all splits of a path, which must be one of numbers."""
    problem = borrow_problem(problem, loss)
    node = _node_of(opened, loss)
    path = path_of(problem, options, place, node, (key[0], key[1], key[2]))
    return least_bound(room, problem.orders[path.feature], path, node.loss, opened.distances)


@filling
def try_paths(problem, loss, kinds, options, scratch, place, opened, keys, least, best):
    """The better of `best` and the splits of some paths, one after the other; NOT_PRICED as in `search`.

    A path whose least price is known, and no NaN, is passed over where `search` would find that no
    split of it can be better: the split is the same, to the last bit.
    """
    problem = borrow_problem(problem, loss)
    scratch = borrow_scratch(scratch)
    node = _node_of(opened, loss)
    for i in range(keys.shape[0]):
        if least[i] >= best.cost - node.tolerance:
            continue
        key = (keys[i, 0], keys[i, 1], keys[i, 2])
        distances = opened.distances
        best, in_budget = try_path(
            problem, scratch, options, place, node, distances, key, best, WALKING, kinds
        )
        if not in_budget:
            return Split(node.optimum.cost, NOT_PRICED, 0, 0, 0.0, 0.0)
    return best


@filling
def push_node(options, scratch, place, opened, split, n_pending):
    """Put a node on the frontier if its split is worth it or not yet priced; returns how many are there."""
    return wait(borrow_scratch(scratch), options, place, opened, split, n_pending)


@filling
def divide_node(problem, loss, options, scratch, nodes, n_nodes, n_pending):
    """Carry out the split of the first pending node, but for the orders; returns what `divide` does."""
    problem = borrow_problem(problem, loss)
    scratch = borrow_scratch(scratch)
    nodes = borrow(nodes)
    item = scratch.frontier.pending[frontier.pop(scratch.frontier, n_pending)]
    return divide(problem, scratch, options, item, nodes[item["node"]], n_nodes)


@filling
def partition_features(orders, start, stop, goes_left, spare):
    """Partition the orders of some features."""
    partition.partition_orders(orders, start, stop, goes_left, spare)
