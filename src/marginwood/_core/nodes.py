"""The node table: a fitted tree is one array with a row per node.

Row 0 is the root, a split's two children are neighbouring rows, and ``children_left == LEAF`` marks
a leaf.
"""

import numpy as np

LEAF = -1
NO_FEATURE = -2  # as in scikit-learn's tables

# What a step of `predict` reads comes first, in 24 bytes: it touches one cache line. A tree grown
# to the end has two nodes per row, so the links are 32-bit.
NODE_DTYPE = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.int32),
        ("children_left", np.int32),
        ("children_right", np.int32),
        ("missing_go_to_left", np.int32),
        ("value", np.float64),
        ("value_low", np.float64),
        ("value_high", np.float64),
        ("impurity", np.float64),
        ("weighted_n_node_samples", np.float64),
        ("n_node_samples", np.int64),
    ],
    align=True,
)


def parents(nodes):
    """The row of every node's parent; 0 for the root."""
    splits = np.flatnonzero(nodes["children_left"] != LEAF)
    found = np.zeros(len(nodes), dtype=np.int64)
    found[nodes["children_left"][splits]] = found[nodes["children_right"][splits]] = splits
    return found
