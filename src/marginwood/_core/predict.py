"""Walking the node table."""

import numpy as np

from marginwood._core.jit import borrow, kernel
from marginwood._core.nodes import LEAF


@kernel
def apply(nodes, X):
    """The leaf of every row of X."""
    nodes, X = borrow(nodes), borrow(X)
    leaves = np.empty(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        node = 0
        while nodes[node]["children_left"] != LEAF:
            value = X[i, nodes[node]["feature"]]
            left = value <= nodes[node]["threshold"]
            if value != value:
                left = nodes[node]["missing_go_to_left"] != 0
            node = nodes[node]["children_left"] if left else nodes[node]["children_right"]
        leaves[i] = node
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
