"""Where the nodes of a drawn tree lie.

The root is on the left, and every level of the tree is a column. The *ends* of the drawing are its
leaves and the splits that a depth cuts off; each has a row to itself, and a split lies midway
between its children.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._drawing import DrawnNode, places
from marginwood._trees.table import IntervalTree
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["Layout", "end_of_nodes", "lay_out"]


class Layout(NamedTuple):
    """The nodes that are drawn, parents before their children; the first is the root."""

    places: list[DrawnNode]
    node_idx: IntArray  # in the node table
    parent: IntArray  # place in this list; -1 for the root
    depth: IntArray
    row: FloatArray  # counted from the top
    is_end: BoolArray


def lay_out(tree: IntervalTree, max_depth: int | None) -> Layout:
    """Place the nodes; splits deeper than `max_depth` become ends."""
    drawn = list(places(tree, max_depth))
    node_idx, depth, above, _, is_cut = (np.array(column) for column in zip(*drawn, strict=True))
    position = np.full(tree.node_count + 1, -1)  # the last one is where the root's parent looks
    position[node_idx] = np.arange(len(drawn))
    parent = position[above]
    is_end = is_cut | (tree.children_left[node_idx] == LEAF)
    row = np.where(is_end, np.cumsum(is_end) - 1.0, 0.0)
    for place in range(len(row) - 1, 0, -1):
        row[parent[place]] += row[place] / 2
    return Layout(drawn, node_idx, parent, depth, row, is_end)


def end_of_nodes(tree: IntervalTree, layout: Layout) -> IntArray:
    """For every row of the node table the place in the layout of the end at or above it; -1 for drawn splits."""
    left, right = tree.children_left, tree.children_right
    end = np.full(tree.node_count, -1)
    end[layout.node_idx[layout.is_end]] = np.flatnonzero(layout.is_end)
    for node_idx in np.flatnonzero(left != LEAF):
        if end[node_idx] >= 0:
            end[left[node_idx]] = end[right[node_idx]] = end[node_idx]
    return end
