"""Anchored values: every node's rows, and its parent's value as one more un-censored row, decide its value.

``v = argmin sum_i w_i * loss_i(v) + anchor * loss(v - v_parent)``, from the root down. A node's value depends on its
ancestors alone, so all subtrees of a pruning path share it. As the anchor goes to 0, it becomes the point of the
set of minimisers that is nearest to the parent's value.
"""

import numpy as np

from marginwood._core.hinge import LOWER, SQUARED
from marginwood._core.jit import borrow, inner, kernel
from marginwood._core.monotone import child_bounds
from marginwood._core.nodes import LEAF
from marginwood._core.subsets import borrow_subsets, goes_left

# Sums of weights that differ by less, relative to all of them, differ by rounding.
SLACK = 1e-14


@inner
def _first_above(breakpoints, start, stop, value, or_equal):
    """The first of some sorted breakpoints above a value."""
    while start < stop:
        middle = (start + stop) // 2
        if breakpoints[middle] < value or (breakpoints[middle] == value and not or_equal):
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def _nearest_linear(limits, breakpoints, stretch, weights, value, anchor):
    """The minimiser of linear hinges: where the slope, which every breakpoint raises, comes within `anchor` of 0.

    The nearer such place to the parent's value counts, which is that value itself if the slope there is small.
    """
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    start, stop = stretch
    at = _first_above(breakpoints, start, stop, value, True)
    after = _first_above(breakpoints, start, stop, value, False)
    slope = 0.0
    rise = 0.0
    total = 0.0
    for i in range(start, stop):
        weight = weights[limits[i] >> 1]
        total += weight
        # Left of the value, upper limits matter; right of it, lower ones.
        if i < at and limits[i] & 1 != LOWER:
            slope += weight
        elif i >= at and limits[i] & 1 == LOWER:
            slope -= weight
        if at <= i < after:
            rise += weight
    allowed = anchor + SLACK * total
    if slope > allowed:
        i = at
        while i > start and slope > allowed:
            i -= 1
            slope -= weights[limits[i] >> 1]
        return breakpoints[i]
    if slope + rise < -allowed:
        slope += rise
        i = after
        while i < stop and slope < -allowed:
            slope += weights[limits[i] >> 1]
            i += 1
        return breakpoints[i - 1]
    return value


@inner
def _nearest_squared(limits, breakpoints, stretch, weights, value, anchor):
    """The minimiser of squared hinges: the weighted mean of the anchor and of the limits that are violated there.

    The search starts at the parent's value and goes where the violated limits pull; on the piece that it finds the
    sums are taken afresh, because those that were carried along have lost digits.
    """
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    start, stop = stretch
    at = _first_above(breakpoints, start, stop, value, True)
    weight, pull = _violated(limits, breakpoints, start, stop, at, weights, value)
    while pull > 0 and at < stop and value + pull / (anchor + weight) > breakpoints[at]:
        own = weights[limits[at] >> 1] * (-1.0 if limits[at] & 1 == LOWER else 1.0)
        weight += own
        pull += own * (breakpoints[at] - value)
        at += 1
    while pull < 0 and at > start and value + pull / (anchor + weight) < breakpoints[at - 1]:
        at -= 1
        own = weights[limits[at] >> 1] * (1.0 if limits[at] & 1 == LOWER else -1.0)
        weight += own
        pull += own * (breakpoints[at] - value)
    weight, pull = _violated(limits, breakpoints, start, stop, at, weights, value)
    if pull == 0:
        return value
    found = value + pull / (anchor + weight)
    # Rounding must not carry the minimiser beyond its piece.
    if at > start and breakpoints[at - 1] > value:
        found = max(found, breakpoints[at - 1])
    if at < stop and breakpoints[at] < value:
        found = min(found, breakpoints[at])
    return found


@inner
def _violated(limits, breakpoints, start, stop, at, weights, value):
    """Weight of the limits that are violated between the breakpoints before and at `at`, and how they pull."""
    weight = 0.0
    pull = 0.0
    for i in range(start, stop):
        if (i >= at) == (limits[i] & 1 == LOWER):
            weight += weights[limits[i] >> 1]
            pull += weights[limits[i] >> 1] * (breakpoints[i] - value)
    return weight, pull


@inner
def _part(nodes, node, X, subsets, limits, breakpoints, stretch, spare):
    """Move the limits of the rows that a split sends left to the front; returns where the others start."""
    nodes = borrow(nodes)
    X = borrow(X)
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    spare_limits = borrow(spare[0])
    spare_breakpoints = borrow(spare[1])
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
    left, right = np.int64(split["children_left"]), np.int64(split["children_right"])
    low, high = bounds[node, 0], bounds[node, 1]
    left_value, right_value = min(max(values[left], low), high), min(max(values[right], low), high)
    lows, highs = child_bounds(sign, low, high, left_value, right_value)
    bounds[left, 0], bounds[left, 1] = lows[0], highs[0]
    bounds[right, 0], bounds[right, 1] = lows[1], highs[1]
    values[left] = min(max(left_value, lows[0]), highs[0])
    values[right] = min(max(right_value, lows[1]), highs[1])


@kernel
def _anchor(nodes, X, subsets, signs, limits, breakpoints, weights, values, loss, anchor):
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
    spare = np.empty_like(limits), np.empty_like(breakpoints)
    for node in range(nodes.shape[0]):
        if nodes[node]["children_left"] == LEAF:
            continue
        start, stop = stretches[node, 0], stretches[node, 1]
        middle = _part(nodes, node, X, subsets, limits, breakpoints, (start, stop), spare)
        for side in range(2):
            child = np.int64(nodes[node]["children_right"] if side else nodes[node]["children_left"])
            first, last = (middle, stop) if side else (start, middle)
            stretches[child, 0] = first
            stretches[child, 1] = last
            if loss == SQUARED:
                values[child] = _nearest_squared(limits, breakpoints, (first, last), weights, values[node], anchor)
            else:
                values[child] = _nearest_linear(limits, breakpoints, (first, last), weights, values[node], anchor)
        _keep_monotone(values, bounds, node, nodes[node], signs[nodes[node]["feature"]])


def anchor_values(nodes, subsets, X, limits, weights, loss, anchor, signs):
    """Give every node of a grown table, but for the root, its anchored value; rows of weight 0 count as absent."""
    counts = weights[limits.in_order >> 1] > 0
    in_order = limits.in_order[counts]
    breakpoints = limits.breakpoints[counts]
    values = np.empty(len(nodes))
    values[0] = np.ldexp(nodes["value"][0], -limits.exponent)
    _anchor(nodes, X, subsets, signs, in_order, breakpoints, weights, values, loss, float(anchor))
    nodes["value"][1:] = np.ldexp(values[1:], limits.exponent)
