"""Walking the node table."""

import numpy as np

from marginwood._core.jit import borrow, inlined, kernel
from marginwood._core.nodes import LEAF
from marginwood._core.subsets import borrow_subsets, goes_left


@inlined
def _step(nodes, X, subsets, row, node):
    """The child of `node` that a row goes to; a leaf stays where it is.

    The child is computed, not chosen: a choice compiles to a jump, which is wrong every other time
    (twice as slow).
    """
    at = nodes[node]
    value = X[row, max(at["feature"], 0)]
    left = np.int64(at["children_left"])
    right = np.int64(at["children_right"])
    child = right + (left - right) * np.int64(goes_left(at, value, subsets))
    return node if left == LEAF else child


@kernel
def apply(nodes, X, subsets):
    """The leaf of every row of X; `subsets` is None for a tree that splits numbers alone.

    Four rows walk at a time: a step waits for memory, and the waits of four overlap.
    """
    nodes = borrow(nodes)
    X = borrow(X)
    subsets = borrow_subsets(subsets)
    n_rows = X.shape[0]
    leaves = np.empty(n_rows, dtype=np.int64)
    for first in range(0, n_rows, 4):
        second = min(first + 1, n_rows - 1)
        third = min(first + 2, n_rows - 1)
        fourth = min(first + 3, n_rows - 1)
        a = b = c = d = np.int64(0)
        moved = True
        # Children have larger numbers than their parents, so the sum grows until all four are at a
        # leaf.
        while moved:
            before = a + b + c + d
            a = _step(nodes, X, subsets, first, a)
            b = _step(nodes, X, subsets, second, b)
            c = _step(nodes, X, subsets, third, c)
            d = _step(nodes, X, subsets, fourth, d)
            moved = a + b + c + d != before
        leaves[first] = a
        leaves[second] = b
        leaves[third] = c
        leaves[fourth] = d
    return leaves


@kernel
def depths(nodes):
    """The depth of every node; children come after their parents."""
    depth = np.zeros(nodes.shape[0], dtype=np.int64)
    for node in range(nodes.shape[0]):
        if nodes[node]["children_left"] != LEAF:
            depth[nodes[node]["children_left"]] = depth[node] + 1
            depth[nodes[node]["children_right"]] = depth[node] + 1
    return depth


@kernel
def decision_paths(parent, depth, leaves):
    """The nodes from the root to every leaf of a list, one after the other, and where each path starts."""
    starts = np.zeros(leaves.shape[0] + 1, dtype=np.int64)
    for i in range(leaves.shape[0]):
        starts[i + 1] = starts[i] + depth[leaves[i]] + 1
    passed = np.empty(starts[-1], dtype=np.int64)
    for i in range(leaves.shape[0]):
        node = leaves[i]
        for at in range(starts[i + 1] - 1, starts[i] - 1, -1):
            passed[at] = node
            node = parent[node]
    return starts, passed
