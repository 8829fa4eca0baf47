"""The fitted tree is the literal tree: the same rules, values, optimal sets, costs and counts, node by node."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from marginwood import MaxMarginIntervalTree
from marginwood._core.order import sort_features
from marginwood._core.problem import Target, grow_tree, plain
from marginwood._trees.rules import Rules
from marginwood._trees.table import IntervalTree
from reference import TooCloseToCall, grow, predict_row
from strategies import (
    LOSSES,
    TreeProblem,
    count_weights,
    crossing_order,
    margins,
    no_weights,
    objectives,
    scales,
    stopping_rules,
    tree_problems,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")

ROUNDING = 1e-11


def literal_tree(problem, **options):
    """The oracle's tree; an example whose best split hangs on rounding is thrown away."""
    try:
        return grow(*problem, **options)
    except TooCloseToCall:
        reject()


def table_order(node, tree, node_id):
    """Pairs of a literal node and its row in the node table, matched from the root down."""
    yield node, node_id
    is_leaf = tree.children_left[node_id] == -1
    assert is_leaf == (node.split is None), f"node {node_id}"
    if not is_leaf:
        yield from table_order(node.left, tree, tree.children_left[node_id])
        yield from table_order(node.right, tree, tree.children_right[node_id])


def assert_same_tree(root, tree, size=1.0, power=1):
    """Compare node by node; `size` is the magnitude of the targets, `power` that of the loss."""
    atol = ROUNDING * size
    pairs = list(table_order(root, tree, 0))
    assert len(pairs) == tree.node_count
    for node, node_id in pairs:
        assert tree.n_node_samples[node_id] == len(node.rows)
        if node.split is not None:
            assert tree.feature[node_id] == node.split.feature
            assert tree.threshold[node_id] == node.split.threshold
            if node.split.missing_left is not None:
                assert bool(tree.missing_go_to_left[node_id]) == node.split.missing_left
        assert np.ravel(tree.value[node_id])[0] == pytest.approx(
            float(node.minimum.value), rel=1e-10, abs=atol
        )
        assert tree.value_low[node_id] == pytest.approx(
            float(node.minimum.low), rel=1e-10, abs=atol
        )
        assert tree.value_high[node_id] == pytest.approx(
            float(node.minimum.high), rel=1e-10, abs=atol
        )
        assert tree.impurity[node_id] == pytest.approx(
            float(node.minimum.cost), rel=1e-9, abs=ROUNDING * size**power
        )


def assert_fits_literally(problem, **options):
    """Fit both and compare tables and predictions."""
    root = literal_tree(problem, **options)
    X, y, sample_weight = problem
    tree = MaxMarginIntervalTree(**options).fit(X, y, sample_weight=sample_weight)
    power = 1 if options["loss"] == "linear_hinge" else 2
    size = np.abs(y[np.isfinite(y)]).max() + options["margin"]
    assert_same_tree(root, tree.tree_, size, power)
    expected = [predict_row(root, X[row]).minimum.value for row in root.rows]
    np.testing.assert_allclose(
        tree.predict(X[root.rows]),
        np.array(expected, dtype=float),
        rtol=1e-10,
        atol=ROUNDING * size,
    )


def tree_by_descent(problem, loss, margin, quantile=0.5, **rules):
    """The tree that is grown if every split is priced by descent."""
    X, y, weights = problem
    kept = np.ones(len(y), bool) if weights is None else weights > 0
    X, y, weights = X[kept], y[kept], np.ones(len(y)) if weights is None else weights[kept]
    options = Rules(**rules).options(*X.shape, weights.sum())
    limits = Target(y).at(margin, quantile)
    nodes = grow_tree(
        X,
        sort_features(X),
        limits,
        weights,
        loss,
        options._replace(by_descent=True),
        1,
        plain(X.shape[1]),
    )[0]
    return IntervalTree(nodes, np.isnan(X.max(axis=0)))


@given(tree_problems(weights=no_weights), objectives, margins)
def test_an_unweighted_tree_is_the_literal_tree(problem, objective, margin):
    assert_fits_literally(problem, margin=margin, **objective)


@given(tree_problems(weights=count_weights), objectives, margins)
def test_a_tree_with_whole_weights_is_the_literal_tree(problem, objective, margin):
    assert_fits_literally(problem, margin=margin, **objective)


@given(tree_problems(), objectives, margins, stopping_rules())
def test_a_tree_that_is_stopped_is_the_literal_tree(problem, objective, margin, rules):
    assert_fits_literally(problem, margin=margin, **objective, **rules)


@given(tree_problems(), objectives, margins, stopping_rules())
def test_a_tree_that_is_grown_by_descent_is_the_literal_tree(problem, objective, margin, rules):
    root = literal_tree(problem, margin=margin, **objective, **rules)
    size = np.abs(problem.y[np.isfinite(problem.y)]).max() + margin
    power = 1 if objective["loss"] == "linear_hinge" else 2
    assert_same_tree(
        root, tree_by_descent(problem, margin=margin, **objective, **rules), size, power
    )


@given(tree_problems(weights=count_weights), objectives, st.sampled_from([0.0, 0.5]), scales)
def test_a_tree_on_tiny_or_huge_targets_is_the_literal_tree(problem, objective, margin, scale):
    # A power of two keeps the grid exact, so ties stay ties.
    scale = 2.0 ** np.round(np.log2(scale))
    X, y, sample_weight = problem
    if objective["loss"] == "squared_hinge" and scale < 1e-200:
        reject()  # every cost underflows to zero
    assert_fits_literally(
        TreeProblem(X, y * scale, sample_weight), margin=margin * scale, **objective
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("missing", [False, True])
def test_an_order_that_defeats_walking_is_split_literally(loss, missing):
    y = crossing_order(20, 60)
    order = np.arange(len(y), dtype=float)
    # Far limits lose their rows and change their weights in pairs, so that the rest still
    # alternates.
    if missing:
        order[[30, 31, 44, 45]] = np.nan
    weights = 1.0 + np.arange(len(y)) // 2 % 2
    assert_fits_literally(
        TreeProblem(order[:, None], y, weights), loss=loss, margin=0.0, max_depth=1
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_light_row_narrows_the_optimum_as_much_as_a_heavy_one(loss):
    y = np.array([[-3.0, 2.0], [0.0, 2.0]])
    model = MaxMarginIntervalTree(loss=loss, margin=0.5).fit([[0.0], [1.0]], y, [3.0, 0.01])
    assert model.predict_optimal_interval([[0.0]]).tolist() == [[0.5, 1.5]]


@pytest.mark.parametrize("loss", LOSSES)
def test_nan_goes_where_it_costs_less(loss):
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]])
    for target, missing_left in ((0.0, True), (9.0, False)):
        y = np.array([[0.0, 0.0], [9.0, 9.0], [target, target], [target, target]])
        tree = MaxMarginIntervalTree(loss=loss).fit(X, y)
        assert (tree.tree_.threshold[0], tree.tree_.missing_go_to_left[0]) == (0.5, missing_left)
        np.testing.assert_array_equal(tree.predict(X), y[:, 0])


@pytest.mark.parametrize("loss", LOSSES)
def test_nan_alone_can_be_one_side(loss):
    X = np.array([[0.0], [inf], [np.nan], [np.nan]])
    y = np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 4.0], [4.0, 4.0]])
    tree = MaxMarginIntervalTree(loss=loss).fit(X, y)
    assert (tree.tree_.threshold[0], bool(tree.tree_.missing_go_to_left[0])) == (inf, False)
    np.testing.assert_array_equal(tree.predict(X), y[:, 0])


@pytest.mark.parametrize("loss", LOSSES)
def test_infinite_features_are_separated_from_their_neighbours(loss):
    X = np.array([[-inf], [-1.7e308], [0.0], [1.7e308], [inf]])
    y = np.repeat(np.arange(5.0) ** 2, 2).reshape(-1, 2)
    tree = MaxMarginIntervalTree(loss=loss).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y[:, 0])


@pytest.mark.parametrize("loss", LOSSES)
def test_neighbouring_floats_are_separated(loss):
    values = [1.0, np.nextafter(1.0, 2.0), 5e-324, 0.0, -5e-324, 1e308, np.nextafter(1e308, inf)]
    X = np.array(values)[:, None]
    y = np.repeat(np.arange(len(values), dtype=float), 2).reshape(-1, 2)
    tree = MaxMarginIntervalTree(loss=loss).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y[:, 0])


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_splits_go_to_the_lowest_feature_and_threshold(loss):
    column = np.array([0.0, 1.0, 2.0, 3.0])
    X = np.column_stack([np.zeros(4), column, column])
    y = np.array([[0.0, 0.0], [8.0, 8.0], [8.0, 8.0], [0.0, 0.0]])
    tree = MaxMarginIntervalTree(loss=loss, max_depth=1).fit(X, y).tree_
    # Either end alone leaves 0, 8, 8 on the other side.
    assert (tree.feature[0], tree.threshold[0]) == (1, 0.5)
