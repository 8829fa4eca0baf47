"""Fitted models that tests of exports share, and rows that are hard for them."""

from math import inf, nan

import numpy as np

from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformationTree,
)
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._trees.table import IntervalTree
from marginwood.datasets import make_sine

X, y = make_sine(120, 3, random_state=0)
X[::7, 0], X[1::9, 1], X[::11, 2], X[1::13, 2] = nan, nan, inf, -inf
# What was fitted to data with NaN and infinities, of every class that has trees of ours.
TREES = [
    MaxMarginIntervalTree(margin=0.2),
    IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=3),
    TransformationTree(significance=1.0),
    IntervalSearchCV(TransformationTree(), cv=3),
]
ENSEMBLES = [
    MaxMarginIntervalForest(n_estimators=50, random_state=0),
    MaxMarginIntervalBoosting(
        n_estimators=30, learning_rate=0.3, n_iter_no_change=None, random_state=0
    ),
]
for model in [*TREES, *ENSEMBLES]:
    model.fit(X, y)


def probes(model, n_rows=300, seed=0):
    """Rows of NaN, infinities, every threshold, and the doubles just above and below."""
    trees = [tree.tree_ for tree in getattr(model, "estimators_", [model])]
    thresholds = np.concatenate([tree.threshold[tree.children_left != LEAF] for tree in trees])
    near = [np.nextafter(thresholds, -inf), thresholds, np.nextafter(thresholds, inf)]
    values = np.concatenate([*near, [-inf, -1.0, 0.0, inf, nan, nan]])
    return np.random.default_rng(seed).choice(values, size=(n_rows, model.n_features_in_))


def chain(n_splits):
    """A tree of which every split takes one leaf off: deeper than Python recurses."""
    nodes = np.zeros(2 * n_splits + 1, dtype=NODE_DTYPE)
    is_split = np.arange(len(nodes)) % 2 == 0
    is_split[-1] = False
    nodes["children_left"] = np.where(is_split, np.arange(len(nodes)) + 1, LEAF)
    nodes["children_right"] = np.where(is_split, np.arange(len(nodes)) + 2, LEAF)
    nodes["feature"] = np.where(is_split, 0, NO_FEATURE)
    nodes["threshold"] = nodes["value"] = np.arange(len(nodes))
    tree = MaxMarginIntervalTree().fit([[0.0]], [1.0])
    tree.tree_ = IntervalTree(nodes, np.array([False]))
    return tree


def name_of(model):
    return type(model).__name__
