"""Trees that split categories, against all subsets; and monotone effects of numbers beside them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from marginwood import MaxMarginIntervalTree
from marginwood._core.nodes import LEAF
from strategies import count_weights, informative_intervals, losses, margins

nan = float("nan")

pytestmark = pytest.mark.filterwarnings("ignore:y.*:UserWarning")


@st.composite
def problems(draw, max_categories=7, missing=True):
    """Codes of a few categories, with or without NaN, and targets."""
    n = draw(st.integers(2, 14))
    codes = [float(code) for code in range(draw(st.integers(2, max_categories)))]
    column = draw(st.lists(st.sampled_from([*codes, nan] if missing else codes), min_size=n, max_size=n))
    y = draw(informative_intervals(min_size=n, max_size=n))
    weights = draw(count_weights(n))
    return np.array(column)[:, np.newaxis], y, np.ones(n) if weights is None else np.maximum(weights, 1.0)


def limits_of_rows(y, weights, margin):
    return [reference.limits_of(*ends, margin, weight) for ends, weight in zip(y, weights, strict=True)]


@given(problems(), losses, margins)
def test_a_split_of_few_categories_is_the_best_of_all_subsets(problem, loss, margin):
    X, y, weights = problem
    model = MaxMarginIntervalTree(loss=loss, margin=margin, categorical_features=[0]).fit(X, y, weights)
    limits = limits_of_rows(y, weights, margin)
    tree = model.tree_
    passed = model.decision_path(X).toarray().astype(bool)
    for idx in range(tree.node_count):
        rows = np.flatnonzero(passed[:, idx])
        own = [limits[row] for row in rows]
        cost = reference.minimum([limit for row in own for limit in row], loss).cost
        best = min(cost, reference.least_cost_of_subsets(X[rows, 0], own, loss))
        children = [idx] if tree.children_left[idx] == LEAF else [tree.children_left[idx], tree.children_right[idx]]
        assert tree.impurity[children].sum() == pytest.approx(float(best), rel=1e-9, abs=1e-9)


@given(problems(), losses)
def test_rows_reach_the_leaves_that_they_trained_and_the_left_side_has_fewer(problem, loss):
    X, y, weights = problem
    model = MaxMarginIntervalTree(loss=loss, categorical_features=[0]).fit(X, y, weights)
    tree = model.tree_
    assert np.bincount(model.apply(X), minlength=tree.node_count)[tree.children_left == LEAF].tolist() == (
        tree.n_node_samples[tree.children_left == LEAF].tolist()
    )
    splits = tree.children_left != LEAF
    n_left, n_right = (tree.n_node_samples[children[splits]] for children in (tree.children_left, tree.children_right))
    assert (n_left <= n_right).all()
