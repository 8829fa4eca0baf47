"""Minimal cost-complexity pruning, and what every subtree of the pruning path costs on other rows."""

import numpy as np

from marginwood._core.jit import borrow, inner, kernel
from marginwood._core.nodes import LEAF
from marginwood._core.subsets import borrow_subsets, goes_left

NONE = np.int64(-1)
DISTANCE, SQUARED_DISTANCE, MISS = 0, 1, 2  # what `path_losses` sums over rows
ROW_LOSSES = {"distance": DISTANCE, "squared_distance": SQUARED_DISTANCE, "miss": MISS}


@inner
def _meld(links, rates, a, b):
    """Join two skew heaps, the highest rate on top; returns the top."""
    links = borrow(links)
    rates = borrow(rates)
    if a == NONE:
        return b
    if b == NONE:
        return a
    if rates[a] < rates[b]:
        a, b = b, a
    top = a
    while True:
        # The right heap is melded with b and becomes the left one: swapping sides is what keeps
        # skew heaps flat.
        rest = links[a, 1]
        links[a, 1] = links[a, 0]
        if rest == NONE:
            links[a, 0] = b
            return top
        if rates[rest] < rates[b]:
            rest, b = b, rest
        links[a, 0] = rest
        a = rest


@kernel
def collapse_rates(nodes):
    """For every node the cost per leaf at which pruning makes it a leaf; 0 for a leaf.

    A split is worth the decrease of the cost that it brings for its one more leaf. A split worth no
    more than one below it collapses together with that one, so the two are pooled and worth their
    average. Repeated until every split is worth more than all below it, this gives the weakest-link
    sequence. The pools below a node wait in a heap, and each leaves it at most once: O(n log n) for
    any shape of tree.
    """
    nodes = borrow(nodes)
    n_nodes = nodes.shape[0]
    rates = np.zeros(n_nodes)
    decreases = np.zeros(n_nodes)
    n_splits = np.zeros(n_nodes, dtype=np.int64)
    links = np.empty((n_nodes, 2), dtype=np.int64)
    for node in range(n_nodes - 1, -1, -1):  # children before their parents
        left = np.int64(nodes[node]["children_left"])
        right = np.int64(nodes[node]["children_right"])
        if left == LEAF:
            continue
        decrease = nodes[node]["impurity"] - nodes[left]["impurity"] - nodes[right]["impurity"]
        decrease = max(decrease, 0.0)
        size = 1
        pool = _meld(
            links, rates, left if n_splits[left] else NONE, right if n_splits[right] else NONE
        )
        while pool != NONE and rates[pool] * size >= decrease:
            decrease += decreases[pool]
            size += n_splits[pool]
            pool = _meld(links, rates, links[pool, 0], links[pool, 1])
        decreases[node] = decrease
        n_splits[node] = size
        rates[node] = decrease / size
        links[node, 0] = pool
        links[node, 1] = NONE
    # A split is gone at the latest when one above it is.
    for node in range(n_nodes):
        if n_splits[node]:
            left, right = nodes[node]["children_left"], nodes[node]["children_right"]
            rates[left] = min(rates[left], rates[node])
            rates[right] = min(rates[right], rates[node])
    return rates


@inner
def _row_loss(value, lower, upper, kind, prices):
    """What one prediction costs: its distance to the interval, that squared, or 1 outside.

    Distances below and above the interval have a price each.
    """
    below = max(lower - value, 0.0)
    above = max(value - upper, 0.0)
    distance = max(below, above)
    if kind == SQUARED_DISTANCE:
        return distance * distance
    if kind == MISS:
        return 1.0 if distance > 0 else 0.0
    return prices[0] * below + prices[1] * above


@inner
def _add_to_range(sums, start, stop, amount):
    """Add to the blocks of a binary hierarchy that make up start:stop."""
    sums = borrow(sums)
    start += sums.shape[0] // 2
    stop += sums.shape[0] // 2
    while start < stop:
        if start & 1:
            sums[start] += amount
            start += 1
        if stop & 1:
            stop -= 1
            sums[stop] += amount
        start >>= 1
        stop >>= 1


@kernel
def path_losses(nodes, subsets, leaf_from, n_subtrees, X, intervals, weights, kind, prices):
    """The weighted loss of every subtree of a pruning path on some rows, in one walk per row.

    Node `j` is a leaf from subtree ``leaf_from[j]`` on, until its parent is one: what its rows lose
    with its value belongs to that range of subtrees. Nothing is ever subtracted, so that a loss of
    0 is exactly 0.
    """
    nodes = borrow(nodes)
    leaf_from = borrow(leaf_from)
    X = borrow(X)
    subsets = borrow_subsets(subsets)
    losses = np.zeros(nodes.shape[0])
    for i in range(X.shape[0]):
        node = np.int64(0)
        lower, upper = intervals[i, 0], intervals[i, 1]
        while True:
            value = nodes[node]["value"]
            losses[node] += weights[i] * _row_loss(value, lower, upper, kind, prices)
            if nodes[node]["children_left"] == LEAF:
                break
            left = goes_left(nodes[node], X[i, nodes[node]["feature"]], subsets)
            node = np.int64(nodes[node]["children_left"] if left else nodes[node]["children_right"])
    sums = np.zeros(2 * n_subtrees)
    _add_to_range(sums, leaf_from[0], n_subtrees, losses[0])
    for node in range(nodes.shape[0]):
        if nodes[node]["children_left"] != LEAF:
            left, right = nodes[node]["children_left"], nodes[node]["children_right"]
            _add_to_range(sums, leaf_from[left], leaf_from[node], losses[left])
            _add_to_range(sums, leaf_from[right], leaf_from[node], losses[right])
    # From blocks down to single subtrees.
    for block in range(1, n_subtrees):
        sums[2 * block] += sums[block]
        sums[2 * block + 1] += sums[block]
    return sums[n_subtrees:]
