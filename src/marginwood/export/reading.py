"""What all exports read off a fitted model: node tables, how they make a prediction, the nodes to draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from marginwood._core.nodes import LEAF
from marginwood.base import check_count
from marginwood.boosting import MaxMarginIntervalBoosting
from marginwood.forest import MaxMarginIntervalForest
from marginwood.tree import IntervalTree, TreeReader

__all__ = [
    "Ensemble",
    "Place",
    "describe_leaf",
    "missing_note",
    "places",
    "read_ensemble",
    "read_sum",
    "read_tree",
]

TREES = "a MaxMarginIntervalTree, MaxMarginIntervalTreeCV, TransformationTree or TransformationTreeCV"
ENSEMBLES = "a MaxMarginIntervalForest or MaxMarginIntervalBoosting"


class Ensemble(NamedTuple):
    """Node tables; the prediction is `init` plus the sum, the mean or the median of theirs."""

    trees: list[IntervalTree]
    aggregation: str
    init: float


def read_tree(model: Any) -> IntervalTree:
    """The node table of a fitted tree."""
    if isinstance(model, MaxMarginIntervalForest | MaxMarginIntervalBoosting):
        raise TypeError(f"tree: expected one tree, got a {type(model).__name__}; pass one of its estimators_.")
    if not isinstance(model, TreeReader):
        raise TypeError(f"tree: expected {TREES}, got a {type(model).__name__}.")
    check_is_fitted(model)
    return model.tree_


def read_ensemble(model: Any) -> Ensemble:
    """The node tables of a fitted tree, forest or boosting."""
    if isinstance(model, TreeReader):
        return Ensemble([read_tree(model)], "sum", 0.0)
    if not isinstance(model, MaxMarginIntervalForest | MaxMarginIntervalBoosting):
        raise TypeError(f"model: expected {TREES}, or {ENSEMBLES}, got a {type(model).__name__}.")
    check_is_fitted(model)
    trees = [tree.tree_ for tree in model.estimators_]
    if isinstance(model, MaxMarginIntervalForest):
        return Ensemble(trees, model.aggregation, 0.0)
    return Ensemble(trees, "sum", float(model.init_))


def read_sum(model: Any) -> Ensemble:
    """The same for exports that can only add; a median raises."""
    ensemble = read_ensemble(model)
    if ensemble.aggregation == "median":
        raise ValueError(
            "model: expected a prediction that is a sum, got a forest of aggregation='median'; use 'mean'."
        )
    return ensemble


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
        is_cut = max_depth is not None and depth > max_depth and left[idx] != LEAF
        yield Place(idx, depth, parent, is_left, is_cut)
        if left[idx] != LEAF and not is_cut:
            pending.append((int(right[idx]), depth + 1, idx, False))
            pending.append((int(left[idx]), depth + 1, idx, True))


def missing_note(tree: IntervalTree, place: Place) -> str:
    """Says so if missing values go to this node from its parent; nothing where training saw none."""
    parent = tree.nodes[place.parent]
    is_taken = tree.saw_missing[parent["feature"]] and parent["missing_go_to_left"] == place.is_left
    return " or missing" if is_taken else ""


def describe_leaf(node: Any, number: Callable[[float], str]) -> list[str]:
    """Value with the interval of equally good values, samples, cost."""
    low, high = number(node["value_low"]), number(node["value_high"])
    return [
        f"value: {number(node['value'])} in [{low}, {high}]",
        f"samples: {node['n_node_samples']}",
        f"cost: {number(node['impurity'])}",
    ]
