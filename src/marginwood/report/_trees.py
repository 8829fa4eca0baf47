"""Node tables as columns for the page, within a bound on the number of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._core.predict import depths
from marginwood._trees.table import IntervalTree
from marginwood.report._plain import numbers

__all__ = ["node_tables"]

MAX_NODES = 100_000  # about 12 MB of text


def node_tables(trees: list[IntervalTree]) -> list[dict[str, Any]]:
    """Columns of the first trees, as many as fit into `MAX_NODES`; a first tree that does not fit loses its depths."""
    tables: list[dict[str, Any]] = []
    n_free = MAX_NODES
    for tree in trees:
        if tables and tree.node_count > n_free:
            break
        tables.append(_columns(tree))
        n_free -= tree.node_count
    return tables


def _columns(tree: IntervalTree) -> dict[str, Any]:
    """One list per column. `id` is the row in the node table; a split without children was cut off."""
    depth = depths(tree.nodes)
    deepest = np.searchsorted(np.cumsum(np.bincount(depth)), MAX_NODES, side="right") - 1
    kept = np.flatnonzero(depth <= deepest)
    places = np.full(tree.node_count + 1, LEAF)  # the last one is where LEAF itself looks
    places[kept] = np.arange(len(kept))
    nodes = tree.nodes[kept]
    return {
        "id": kept.tolist(),
        "left": places[nodes["children_left"]].tolist(),
        "right": places[nodes["children_right"]].tolist(),
        "feature": nodes["feature"].tolist(),
        "threshold": numbers(nodes["threshold"]),
        "missing_left": (nodes["missing_go_to_left"] != 0).astype(int).tolist(),
        "value": numbers(nodes["value"]),
        "low": numbers(nodes["value_low"]),
        "high": numbers(nodes["value_high"]),
        "cost": numbers(nodes["impurity"]),
        "samples": nodes["n_node_samples"].tolist(),
    } | _codes(tree, kept.tolist())


def _codes(tree: IntervalTree, kept: list[int]) -> dict[str, Any]:
    """The codes that go left at splits of categories, null at other nodes; nothing if there are no categories."""
    if tree.subsets is None:
        return {}
    is_leaf = tree.children_left == LEAF
    codes = [None if is_leaf[idx] else tree.codes_of(idx) for idx in kept]
    return {"codes": [None if own is None else own.tolist() for own in codes]}
