"""The trees of XGBoost as node tables, for forms that read those.

XGBoost rounds features to single precision and goes left if they are *less* than a threshold. A
node table compares doubles by *at most*: the largest double that is rounded to less than the
threshold is the same question. XGBoost sends the categories that it lists right, a node table left:
there the children change places.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from marginwood._categories import count_categories
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._core.subsets import Subsets
from marginwood._fitted import Ensemble, Fitted, read, read_ensemble
from marginwood._trees.table import IntervalTree
from marginwood.intervals import IntArray
from marginwood.xgb._data import LARGEST_FEATURE

__all__ = ["EXPECTED", "read_any_ensemble"]

EXPECTED = "a fitted tree of marginwood, a forest or boosting of such, XGBoost's included, or a linear model"

LARGEST = np.float32(LARGEST_FEATURE)


def read_any_ensemble(model: Any) -> tuple[Fitted, Ensemble]:
    """A fitted model that is made of trees, those of XGBoost included, and its trees."""
    fitted = read(model, expected=EXPECTED)
    if not hasattr(fitted.estimator, "booster_"):
        return read_ensemble(model)
    if fitted.estimator.zeros_are_missing_:
        raise ValueError(
            "model: it was trained on sparse features and takes zeros for missing, which other programs do not. Train "
            "it on X.toarray() to export it; marginwood.save keeps it as it is."
        )
    learner = json.loads(bytes(fitted.estimator.booster_.save_raw("json")))["learner"]
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree" or any(
        weight != 1 for weight in booster["model"].get("weight_drop", ())
    ):
        raise ValueError(
            "model: expected trees of XGBoost that are added as they are, got booster='dart', which "
            "weighs them. Train it without; marginwood.save keeps it as it is."
        )
    first = json.loads(learner["learner_model_param"]["base_score"])
    n_categories = count_categories(fitted.categories)
    trees = [
        as_table(tree, fitted.own.n_features_in_, n_categories)
        for tree in booster["model"]["trees"]
    ]
    return fitted, Ensemble(trees, "sum", float(np.ravel(first)[0]))


def as_table(
    tree: dict[str, Any], n_features: int, n_categories: IntArray | None = None
) -> IntervalTree:
    """A tree of XGBoost as a node table; its costs and numbers of samples are not known there, and 0 here."""
    listed = listed_codes(tree)
    subsets: list[list[int]] = []
    found: list[tuple[Any, ...]] = []
    waiting = [0]
    n_nodes = 1
    while len(found) < n_nodes:
        node = waiting[len(found)]
        left, right = tree["left_children"][node], tree["right_children"][node]
        if left < 0:
            value = tree["split_conditions"][node]  # of a leaf, its value
            found.append((LEAF, LEAF, NO_FEATURE, NO_FEATURE, 0, value))
            continue
        missing_left = int(tree["default_left"][node])
        at_most = largest_below(np.float32(tree["split_conditions"][node]))
        is_reversed = np.isnan(at_most)  # no number goes left: all of them do the other way round
        if is_reversed:
            at_most = np.inf
        if node in listed:
            is_reversed = True
            at_most = len(subsets)
            subsets.append(sorted(listed[node]))
        if is_reversed:
            left, right, missing_left = right, left, 1 - missing_left
        found.append(
            (n_nodes, n_nodes + 1, tree["split_indices"][node], at_most, missing_left, 0.0)
        )
        waiting += [left, right]
        n_nodes += 2
    nodes = np.zeros(n_nodes, NODE_DTYPE)
    fields = (
        "children_left",
        "children_right",
        "feature",
        "threshold",
        "missing_go_to_left",
        "value",
    )
    for name, column in zip(fields, zip(*found, strict=True), strict=True):
        nodes[name] = column
    saw_missing = np.ones(n_features, np.bool_)
    if n_categories is None:
        return IntervalTree(nodes, saw_missing)
    offsets = np.cumsum([0, *map(len, subsets)])
    codes = np.array([code for subset in subsets for code in subset], np.int32)
    return IntervalTree(nodes, saw_missing, Subsets(n_categories, offsets, codes))


def listed_codes(tree: dict[str, Any]) -> dict[int, list[int]]:
    """The codes that XGBoost sends right, by node; none for splits of numbers."""
    names = ("categories_nodes", "categories_segments", "categories_sizes")
    splits = zip(*(tree.get(name, []) for name in names), strict=True)
    return {node: tree["categories"][start : start + size] for node, start, size in splits}


def largest_below(threshold: np.float32) -> float:
    """The largest double that is less than a threshold once it is rounded; NaN if there is none.

    Infinite features count as the largest numbers that XGBoost takes.
    """
    if threshold > LARGEST:
        return np.inf
    if threshold <= -LARGEST:
        return np.nan
    below = np.nextafter(threshold, np.float32(-np.inf))
    middle = (float(below) + float(threshold)) / 2  # exact in doubles
    # The middle itself is rounded to the one of both whose last bit is 0.
    return middle if np.float32(middle) == below else float(np.nextafter(middle, -np.inf))
