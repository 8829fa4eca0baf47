"""What all drawings of a tree share: its node table, the nodes to draw, and what is said of them.

A *place* is a node in a drawing: where it lies under the root, and whether the drawing is cut off there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from marginwood._core.nodes import LEAF
from marginwood._support.checks import check_count
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.table import IntervalTree, TreeReader

__all__ = [
    "TREES",
    "Place",
    "answer",
    "condition",
    "describe_leaf",
    "describe_value",
    "missing_note",
    "places",
    "read_tree",
]

TREES = "a MaxMarginIntervalTree, MaxMarginIntervalTreeCV, TransformationTree or TransformationTreeCV"


def read_tree(model: Any) -> IntervalTree:
    """The node table of a fitted tree."""
    if isinstance(model, MaxMarginIntervalForest | MaxMarginIntervalBoosting):
        raise TypeError(f"tree: expected one tree, got a {type(model).__name__}; pass one of its estimators_.")
    if not isinstance(model, TreeReader):
        raise TypeError(f"tree: expected {TREES}, got a {type(model).__name__}.")
    check_is_fitted(model)
    return model.tree_


class Place(NamedTuple):
    """A node to draw; `is_cut` says that its children are not drawn though it has some."""

    idx: int
    depth: int
    parent: int
    is_left: bool
    is_cut: bool


def places(tree: IntervalTree, max_depth: int | None) -> Iterator[Place]:
    """The nodes down to one below `max_depth`; every parent comes before its children, the left before the right."""
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    left, right = tree.children_left, tree.children_right
    pending = [(0, 0, LEAF, False)]
    while pending:
        idx, depth, parent, is_left = pending.pop()
        is_cut = bool(max_depth is not None and depth > max_depth and left[idx] != LEAF)
        yield Place(idx, depth, parent, is_left, is_cut)
        if left[idx] != LEAF and not is_cut:
            pending.append((int(right[idx]), depth + 1, idx, False))
            pending.append((int(left[idx]), depth + 1, idx, True))


def parts_missing(split: Any) -> bool:
    """Whether a split sends every number to the left and only missing values to the right."""
    return bool(split["threshold"] == inf and not split["missing_go_to_left"])


def condition(split: Any, name: str, comparison: str, *, is_left: bool = True) -> str:
    """What holds on one side of a split: a comparison, or plain words where only missing values are parted."""
    if parts_missing(split):
        comparison = "is present" if is_left else "is missing"
    return f"{name} {comparison}"


def missing_note(tree: IntervalTree, place: Place) -> str:
    """Says so if missing values go to this node, too; nothing where training saw none."""
    parent = tree.nodes[place.parent]
    is_taken = tree.saw_missing[parent["feature"]] and parent["missing_go_to_left"] == place.is_left
    return " or missing" if is_taken and not parts_missing(parent) else ""


def answer(tree: IntervalTree, place: Place) -> str:
    """What a row answers to the split above this node to come here; nothing at the root."""
    return ("yes" if place.is_left else "no") + missing_note(tree, place) if place.depth else ""


def describe_value(node: Any, number: Callable[[float], str]) -> str:
    """Value with the interval of equally good values."""
    return f"{number(node['value'])} in [{number(node['value_low'])}, {number(node['value_high'])}]"


def describe_leaf(node: Any, number: Callable[[float], str]) -> list[str]:
    """Value, samples, cost."""
    return [
        f"value: {describe_value(node, number)}",
        f"samples: {node['n_node_samples']}",
        f"cost: {number(node['impurity'])}",
    ]
