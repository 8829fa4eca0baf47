"""Where the nodes of a drawn tree lie.

The root is on the left, and every level of the tree is a column. The *ends* of the drawing are its leaves and the
splits that a depth cuts off; each has a row to itself, and a split lies midway between its children.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwood._core.nodes import LEAF
from marginwood.intervals import BoolArray, FloatArray

__all__ = ["Layout", "end_of_nodes", "lay_out"]

IntArray = npt.NDArray[np.int64]


class Layout(NamedTuple):
    """The nodes that are drawn, parents before their children; the first is the root."""

    node_idx: IntArray  # in the node table
    parent: IntArray  # place in this list; -1 for the root
    depth: IntArray
    row: FloatArray  # counted from the top
    is_end: BoolArray


def lay_out(nodes: Any, max_depth: int | None) -> Layout:
    """Place the nodes; splits deeper than `max_depth` become ends."""
    found: list[tuple[int, int, int]] = []
    is_end: list[bool] = []
    pending = [(0, -1, 0)]
    while pending:
        node_idx, parent, depth = pending.pop()
        left, right = nodes["children_left"][node_idx], nodes["children_right"][node_idx]
        is_end.append(bool(left == LEAF or (max_depth is not None and depth > max_depth)))
        if not is_end[-1]:
            pending += [(int(right), len(found), depth + 1), (int(left), len(found), depth + 1)]
        found.append((node_idx, parent, depth))
    node_idx, parent, depth = np.array(found, dtype=np.int64).T
    ends = np.array(is_end)
    row = np.where(ends, np.cumsum(ends) - 1.0, 0.0)
    for place in range(len(row) - 1, 0, -1):
        row[parent[place]] += row[place] / 2
    return Layout(node_idx, parent, depth, row, ends)


def end_of_nodes(nodes: Any, layout: Layout) -> IntArray:
    """For every row of the node table the place in the layout of the end at or above it; -1 for drawn splits."""
    end = np.full(len(nodes), -1)
    end[layout.node_idx[layout.is_end]] = np.flatnonzero(layout.is_end)
    for node_idx in np.flatnonzero(nodes["children_left"] != LEAF):
        if end[node_idx] >= 0:
            end[nodes["children_left"][node_idx]] = end[nodes["children_right"][node_idx]] = end[node_idx]
    return end
