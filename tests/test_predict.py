"""Walking the node table, row by row, against a walk in Python."""

from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest

from marginwood import MaxMarginIntervalTree
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE, parents
from marginwood._core.predict import apply, decision_paths, depths
from marginwood._trees.table import IntervalTree


def node_table(*rows):
    """A table from (feature, threshold, left, right, missing goes left)."""
    nodes = np.zeros(len(rows), dtype=NODE_DTYPE)
    fields = ("feature", "threshold", "children_left", "children_right", "missing_go_to_left")
    for node, row in zip(nodes, rows, strict=True):
        for field, entry in zip(fields, row, strict=True):
            node[field] = entry
    return nodes


A_LEAF = (NO_FEATURE, NO_FEATURE, LEAF, LEAF, 0)
STUMP = node_table((0, 1.5, 1, 2, 0), A_LEAF, A_LEAF)


@pytest.mark.parametrize(
    ("value", "leaf"),
    [(1.5, 1), (np.nextafter(1.5, 2), 2), (-inf, 1), (inf, 2), (-0.0, 1), (nan, 2)],
)
def test_a_row_goes_left_up_to_the_threshold(value, leaf):
    assert apply(STUMP, np.array([[value]]), None).tolist() == [leaf]


def test_nan_goes_where_the_node_sends_it():
    nodes = node_table((0, 1.5, 1, 2, 1), A_LEAF, A_LEAF)
    assert apply(nodes, np.array([[nan], [9.0]]), None).tolist() == [1, 2]


def test_a_threshold_of_infinity_parts_nan_from_all_numbers():
    nodes = node_table((0, inf, 1, 2, 0), A_LEAF, A_LEAF)
    assert apply(nodes, np.array([[-inf], [inf], [nan]]), None).tolist() == [1, 1, 2]


def test_a_lone_root_is_every_rows_leaf_at_depth_zero():
    nodes = node_table(A_LEAF)
    assert apply(nodes, np.array([[nan], [1.0]]), None).tolist() == [0, 0]
    assert depths(nodes).tolist() == [0]


def test_depth_counts_the_steps_from_the_root():
    nodes = node_table(
        (0, 0.0, 1, 2, 0), A_LEAF, (1, 0.0, 3, 4, 0), (0, 5.0, 5, 6, 0), A_LEAF, A_LEAF, A_LEAF
    )
    assert depths(nodes).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_a_path_leads_from_the_root_to_its_leaf():
    nodes = node_table((0, 0.0, 1, 2, 0), A_LEAF, (1, 0.0, 3, 4, 0), A_LEAF, A_LEAF)
    starts, passed = decision_paths(parents(nodes), depths(nodes), np.array([4, 1, 3]))
    assert [passed[a:b].tolist() for a, b in pairwise(starts)] == [[0, 2, 4], [0, 1], [0, 2, 3]]


def test_the_paths_of_no_rows_are_empty():
    starts, passed = decision_paths(parents(STUMP), depths(STUMP), np.empty(0, dtype=np.int64))
    assert (starts.tolist(), passed.tolist()) == ([0], [])


def test_a_path_as_long_as_the_tree_is_deep_takes_as_many_steps():
    # A hundred thousand splits in a row: with a pass over all rows for each level this takes
    # minutes.
    depth = 100_000
    nodes = np.zeros(2 * depth + 1, dtype=NODE_DTYPE)
    splits = np.arange(0, 2 * depth, 2)
    nodes["children_left"] = nodes["children_right"] = LEAF
    nodes["children_left"][splits], nodes["children_right"][splits] = splits + 1, splits + 2
    nodes["threshold"][splits] = np.arange(depth)
    path = IntervalTree(nodes, np.array([False])).decision_path(np.full((5, 1), float(depth)))
    assert path.indptr.tolist() == [row * (depth + 1) for row in range(6)]
    np.testing.assert_array_equal(path.indices[: depth + 1], np.arange(0, 2 * depth + 1, 2))


def test_no_rows_reach_no_leaves():
    assert apply(STUMP, np.empty((0, 1)), None).shape == (0,)


def test_every_row_is_walked_as_in_python():
    rng = np.random.default_rng(0)
    X = rng.choice([-inf, -1.0, 0.0, 0.5, 1.0, inf, nan], size=(200, 3))
    y = np.repeat(rng.normal(size=200), 2).reshape(-1, 2)
    nodes = MaxMarginIntervalTree().fit(X, y).tree_.nodes
    leaves = apply(nodes, X, None)
    for x, leaf in zip(X, leaves, strict=True):
        node = nodes[0]
        at = 0
        while node["children_left"] != LEAF:
            value = x[node["feature"]]
            goes_left = (
                bool(node["missing_go_to_left"]) if np.isnan(value) else value <= node["threshold"]
            )
            at = node["children_left"] if goes_left else node["children_right"]
            node = nodes[at]
        assert leaf == at
    np.testing.assert_array_equal(
        np.bincount(leaves, minlength=len(nodes))[leaves], nodes["n_node_samples"][leaves]
    )
