"""Anchored values: every node's rows, and its parent's value as one more un-censored row, decide its value.

``v = argmin sum_i w_i * loss_i(v) + anchor * loss(v - v_parent)``, from the root down. A node's
value depends on its ancestors alone, so all subtrees of a pruning path share it. As the anchor goes
to 0, it becomes the point of the set of minimisers that is nearest to the parent's value.
"""

from typing import Any, NamedTuple

import numpy as np

from marginwood._core.hinge import LOWER, UPPER, priced
from marginwood._core.jit import borrow, inner, kernel
from marginwood._core.monotone import child_bounds
from marginwood._core.nodes import LEAF
from marginwood._core.optimum import meet
from marginwood._core.rankset import FIRST, N_SENTINELS, RIGHT, make_rank_set, reset
from marginwood._core.subsets import borrow_subsets, goes_left


class AnchorRoom(NamedTuple):
    """Room for the limits of a node and the two of its anchor; `limits` and `breakpoints` also serve to part them.

    Lower and upper limits weigh their row, or the anchor, times one of `prices`.
    """

    prices: Any
    limits: Any
    breakpoints: Any
    points: Any
    ranks: Any


@inner
def _first_above(breakpoints, start, stop, value):
    """The first of some sorted breakpoints that is not below a value."""
    while start < stop:
        middle = (start + stop) // 2
        if breakpoints[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def _nearest_minimiser(limits, breakpoints, stretch, weights, value, room, code):
    """Of the values that cost least with the anchor counted in, the one nearest to the parent's value."""
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    own = borrow(room.breakpoints)
    points = borrow(room.points)
    start, stop = stretch
    anchor = weights[weights.shape[0] - 1]
    prices = room.prices
    lower_anchor = priced(code, prices, LOWER, anchor)
    upper_anchor = priced(code, prices, UPPER, anchor)
    at = _first_above(breakpoints, start, stop, value)
    n_limits = stop - start + 2
    for i in range(n_limits):
        source = start + i if start + i < at else start + i - 2
        if source < at <= start + i:  # the two limits of the anchor
            own[i] = value
            signed = -lower_anchor if start + i == at else upper_anchor
        else:
            own[i] = breakpoints[source]
            kind = limits[source] & 1
            weight = priced(code, prices, kind, weights[limits[source] >> 1])
            signed = -weight if kind == LOWER else weight
        points[i + FIRST, 1] = signed
    reset(room.ranks, n_limits)
    best = meet(own[:n_limits], points[: n_limits + N_SENTINELS], room.ranks, RIGHT, code, True)
    # Squared hinges have one minimiser only, and `low` and `high` are it.
    return min(max(value, best.low), best.high)


@inner
def _part(nodes, node, X, subsets, limits, breakpoints, stretch, room):
    """Move the limits of the rows that a split sends left to the front; returns where the others start."""
    nodes = borrow(nodes)
    X = borrow(X)
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    spare_limits = borrow(room.limits)
    spare_breakpoints = borrow(room.breakpoints)
    left = stretch[0]
    n_right = 0
    feature = nodes[node]["feature"]
    for i in range(stretch[0], stretch[1]):
        limit = limits[i]
        b = breakpoints[i]
        if goes_left(nodes[node], X[limit >> 1, feature], subsets):
            limits[left] = limit
            breakpoints[left] = b
            left += 1
        else:
            spare_limits[n_right] = limit
            spare_breakpoints[n_right] = b
            n_right += 1
    for i in range(n_right):
        limits[left + i] = spare_limits[i]
        breakpoints[left + i] = spare_breakpoints[i]
    return left


@inner
def _keep_monotone(values, bounds, node, split, sign):
    """Clip the values of a split's children to the bounds that they inherit, and to the one between them."""
    left = np.int64(split["children_left"])
    right = np.int64(split["children_right"])
    low, high = bounds[node, 0], bounds[node, 1]
    left_value = min(max(values[left], low), high)
    right_value = min(max(values[right], low), high)
    lows, highs = child_bounds(sign, low, high, left_value, right_value)
    for child, value, low, high in (
        (left, left_value, lows[0], highs[0]),
        (right, right_value, lows[1], highs[1]),
    ):
        bounds[child, 0] = low
        bounds[child, 1] = high
        values[child] = min(max(value, low), high)


@kernel
def _anchor(nodes, X, subsets, signs, limits, breakpoints, weights, values, room, code):
    """Fill `values` from the root's own value down; the limits are partitioned on the way."""
    nodes = borrow(nodes)
    X = borrow(X)
    subsets = borrow_subsets(subsets)
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    values = borrow(values)
    bounds = np.empty((nodes.shape[0], 2))
    bounds[0, 0] = -np.inf
    bounds[0, 1] = np.inf
    stretches = np.zeros((nodes.shape[0], 2), dtype=np.int64)
    stretches[0, 1] = limits.shape[0]
    for node in range(nodes.shape[0]):
        if nodes[node]["children_left"] == LEAF:
            continue
        start, stop = stretches[node, 0], stretches[node, 1]
        middle = _part(nodes, node, X, subsets, limits, breakpoints, (start, stop), room)
        for side in range(2):
            child = np.int64(
                nodes[node]["children_right"] if side else nodes[node]["children_left"]
            )
            first, last = (middle, stop) if side else (start, middle)
            stretches[child, 0] = first
            stretches[child, 1] = last
            here = first, last
            values[child] = _nearest_minimiser(
                limits, breakpoints, here, weights, values[node], room, code
            )
        _keep_monotone(values, bounds, node, nodes[node], signs[nodes[node]["feature"]])


def anchor_values(nodes, subsets, X, limits, weights, loss, anchor, signs):
    """Give every node of a grown table, but for the root, its anchored value; rows of weight 0 count as absent."""
    if np.isinf(anchor):
        nodes["value"] = nodes["value"][0]
        return
    counts = weights[limits.in_order >> 1] > 0
    in_order = limits.in_order[counts]
    breakpoints = limits.breakpoints[counts]
    # The anchor is the last of the weights; in these units none of their sums overflows.
    weights = np.append(weights, anchor)
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    values = np.empty(len(nodes))
    values[0] = np.ldexp(nodes["value"][0], -limits.exponent)
    n_limits = len(in_order) + 2
    points = np.empty((n_limits + N_SENTINELS, 2))
    room = AnchorRoom(
        limits.prices[:2],
        np.empty(n_limits, np.int32),
        np.empty(n_limits),
        points,
        make_rank_set(n_limits),
    )
    _anchor(nodes, X, subsets, signs, in_order, breakpoints, weights, values, room, loss)
    nodes["value"][1:] = np.ldexp(values[1:], limits.exponent)
