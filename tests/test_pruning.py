"""Pruning against the definition: collapse the weakest links, again and again, in exact arithmetic."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

import strategies
from marginwood import MaxMarginIntervalTree
from marginwood._base import Rows
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._core.prune import DISTANCE, MISS, SQUARED_DISTANCE, path_losses
from marginwood._trees.pruning import SubtreePath, geometric_means, prune, pruning_path
from marginwood.datasets import make_sine
from marginwood.metrics import (
    SCORERS,
    interval_accuracy,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
)


def table(children, decreases, leaf_cost=0):
    """A node table with this many children pairs: node `children[i]` is split i-th, and lowers the cost so much."""
    nodes = np.zeros(2 * len(children) + 1, dtype=NODE_DTYPE)
    nodes["children_left"] = nodes["children_right"] = LEAF
    nodes["feature"] = nodes["threshold"] = NO_FEATURE
    nodes["weighted_n_node_samples"] = 1
    nodes["impurity"] = leaf_cost
    for i, node in enumerate(children):
        nodes["children_left"][node], nodes["children_right"][node] = 2 * i + 1, 2 * i + 2
        nodes["feature"][node] = nodes["threshold"][node] = i
    for node, decrease in sorted(zip(children, decreases, strict=True), reverse=True):
        left = nodes["children_left"][node]
        nodes["impurity"][node] = nodes["impurity"][left] + nodes["impurity"][left + 1] + decrease
    return nodes


@st.composite
def tables(draw, max_splits=12):
    """Trees of any shape whose costs are small whole numbers, so that ties are frequent and exact."""
    children, decreases, leaves = [], [], [0]
    for i in range(draw(st.integers(0, max_splits))):
        children.append(leaves.pop(draw(st.integers(0, len(leaves) - 1))))
        leaves += [2 * i + 1, 2 * i + 2]
        decreases.append(draw(st.integers(1, 6)))
    return table(children, decreases, draw(st.integers(0, 2)))


def below(nodes, splits, top):
    """The splits at and below a node, and its leaves."""
    if top not in splits:
        return set(), {top}
    parts = [
        below(nodes, splits, int(nodes[side][top])) for side in ("children_left", "children_right")
    ]
    return {top}.union(*(part[0] for part in parts)), set().union(*(part[1] for part in parts))


def weakest_link_sequence(nodes):
    """Pairs of an alpha and the splits that are left, as in the book: all links that are weakest collapse together."""
    splits = set(np.flatnonzero(nodes["children_left"] != LEAF).tolist())
    cost = [Fraction(number) for number in nodes["impurity"]]
    sequence = [(Fraction(0), frozenset(splits))]
    while splits:
        strength = {}
        for node in splits:
            leaves = below(nodes, splits, node)[1]
            strength[node] = (cost[node] - sum(cost[leaf] for leaf in leaves)) / (len(leaves) - 1)
        alpha = min(strength.values())
        while splits and min(strength.values()) <= alpha:
            for node in [node for node in splits if strength[node] <= alpha]:
                splits -= below(nodes, splits, node)[0]
            strength = {}
            for node in splits:
                leaves = below(nodes, splits, node)[1]
                strength[node] = (cost[node] - sum(cost[leaf] for leaf in leaves)) / (
                    len(leaves) - 1
                )
        sequence.append((alpha, frozenset(splits)))
    return sequence


def best_subtree(nodes, alpha, top=0):
    """The least cost plus alpha per leaf of all subtrees, and the fewest leaves that reach it."""
    as_leaf = (Fraction(nodes["impurity"][top]) + alpha, 1)
    if nodes["children_left"][top] == LEAF:
        return as_leaf
    left, right = (
        best_subtree(nodes, alpha, int(nodes[side][top]))
        for side in ("children_left", "children_right")
    )
    return min(as_leaf, (left[0] + right[0], left[1] + right[1]))


@given(tables())
def test_the_path_is_the_weakest_link_sequence(nodes):
    path = pruning_path(nodes)
    sequence = weakest_link_sequence(nodes)
    np.testing.assert_allclose(path.alphas, [float(alpha) for alpha, _ in sequence], rtol=1e-12)
    for step, (_, splits) in enumerate(sequence):
        assert set(np.flatnonzero(path.leaf_from > step).tolist()) == splits
        assert path.n_leaves[step] == len(splits) + 1
        leaves = below(nodes, splits, 0)[1]
        assert path.costs[step] == pytest.approx(nodes["impurity"][sorted(leaves)].sum())


@given(tables(), st.fractions(0, 8, max_denominator=97))
def test_the_subtree_at_alpha_is_the_smallest_of_the_best(nodes, alpha):
    path = pruning_path(nodes)
    assume(np.abs(path.alphas - float(alpha)).min() > 1e-9)
    step = path.at(float(alpha))
    cost, n_leaves = best_subtree(nodes, alpha)
    assert path.costs[step] + float(alpha) * path.n_leaves[step] == pytest.approx(float(cost))
    assert path.n_leaves[step] == n_leaves


@given(tables(), st.integers(0, 12))
def test_a_pruned_table_is_compact_and_keeps_its_order(nodes, step):
    path = pruning_path(nodes)
    step = min(step, len(path.alphas) - 1)
    pruned = prune(nodes, path.alphas[step])
    is_leaf = pruned["children_left"] == LEAF
    assert len(pruned) == 2 * path.n_leaves[step] - 1
    splits = pruned[~is_leaf]
    assert (splits["children_left"] > np.flatnonzero(~is_leaf)).all()
    np.testing.assert_array_equal(splits["children_right"], splits["children_left"] + 1)
    children = np.sort(np.concatenate([splits["children_left"], splits["children_right"]]))
    np.testing.assert_array_equal(children, np.arange(1, len(pruned)))
    assert (pruned["feature"][is_leaf] == NO_FEATURE).all()
    assert (pruned["children_right"][is_leaf] == LEAF).all()
    assert set(splits["feature"]) == set(nodes["feature"][path.leaf_from > step])
    np.testing.assert_array_equal(pruning_path(pruned).alphas[1:], path.alphas[step + 1 :])


def test_pruning_leaves_the_grown_table_as_it_is():
    nodes = table([0, 1], [3, 1])
    before = nodes.copy()
    assert len(prune(nodes, np.inf)) == 1
    assert (nodes == before).all()


@pytest.mark.parametrize("rising", [True, False])
def test_a_tree_as_deep_as_it_has_leaves_is_pruned(rising):
    n_splits = 20_000
    children = np.concatenate([[0], 2 * np.arange(n_splits - 1) + 1]).tolist()
    decreases = np.arange(n_splits) + 1 if rising else n_splits - np.arange(n_splits)
    path = pruning_path(table(children, decreases.tolist()))
    if rising:  # every split below is worth more, so all collapse at once
        assert path.alphas.tolist() == [0, (n_splits + 1) / 2]
    else:
        assert path.alphas.tolist() == list(range(n_splits + 1))


@pytest.mark.filterwarnings("ignore:.*carry no information about the target")
@given(
    strategies.tree_problems(),
    st.sampled_from(["linear_hinge", "squared_hinge"]),
    st.sampled_from([0.0, 1.5]),
)
def test_the_path_of_a_fitted_tree_is_monotone_and_nested(problem, loss, margin):
    path = MaxMarginIntervalTree(loss=loss, margin=margin).cost_complexity_pruning_path(*problem)
    assert path.ccp_alphas[0] == 0
    assert (np.diff(path.ccp_alphas) > 0).all()
    assert (np.diff(path.impurities) > -1e-12).all()
    finer, n_leaves = np.arange(len(problem.X)), np.inf
    for alpha in path.ccp_alphas:
        tree = MaxMarginIntervalTree(loss=loss, margin=margin, ccp_alpha=alpha).fit(*problem)
        leaves = tree.apply(problem.X)
        for leaf in np.unique(finer):
            assert len(set(leaves[finer == leaf])) == 1
        assert tree.get_n_leaves() < n_leaves
        finer, n_leaves = leaves, tree.get_n_leaves()
    assert n_leaves == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_without_censoring_the_path_is_that_of_cart(weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    weight = rng.uniform(0.5, 2, size=80) if weighted else None
    ours, theirs = MaxMarginIntervalTree(), DecisionTreeRegressor(random_state=0)
    our_path = ours.cost_complexity_pruning_path(X, y, weight)
    their_path = theirs.cost_complexity_pruning_path(X, y, weight)
    np.testing.assert_allclose(our_path.ccp_alphas, their_path.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(our_path.impurities, their_path.impurities, atol=1e-12)
    for alpha in (0.005, 0.02, 0.1):
        predictions = [
            tree.set_params(ccp_alpha=alpha).fit(X, y, weight).predict(X) for tree in (ours, theirs)
        ]
        np.testing.assert_allclose(*predictions)


def test_alphas_do_not_depend_on_the_size_of_the_data():
    X, y = make_sine(60, 2, random_state=0)
    tree = MaxMarginIntervalTree(margin=0.2)
    once = tree.cost_complexity_pruning_path(X, y)
    thrice = tree.cost_complexity_pruning_path(np.tile(X, (3, 1)), np.tile(y, (3, 1)))
    np.testing.assert_allclose(thrice.ccp_alphas, once.ccp_alphas, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "prices", "metric"),
    [
        (SQUARED_DISTANCE, (1.0, 1.0), interval_mean_squared_error),
        (DISTANCE, (1.0, 1.0), interval_mean_absolute_error),
        (DISTANCE, (0.9, 0.1), partial(interval_pinball_loss, quantile=0.9)),
        (MISS, (1.0, 1.0), lambda *args, **kwargs: 1 - interval_accuracy(*args, **kwargs)),
    ],
)
def test_one_walk_gives_the_loss_of_every_subtree(kind, prices, metric):
    X, y = make_sine(150, 3, random_state=1)
    X[::7, 0] = np.nan
    weight = np.random.default_rng(0).uniform(0.1, 3, size=75)
    nodes = MaxMarginIntervalTree(margin=0.3).fit(X[:75], y[:75]).tree_.nodes
    path = pruning_path(nodes)
    assert len(path.alphas) > 10
    losses = path_losses(
        nodes, None, path.leaf_from, len(path.alphas), X[75:], y[75:], weight, kind, prices
    )
    for alpha, loss in zip(path.alphas, losses, strict=True):
        pruned = MaxMarginIntervalTree(margin=0.3, ccp_alpha=alpha).fit(X[:75], y[:75])
        expected = metric(y[75:], pruned.predict(X[75:]), sample_weight=weight)
        assert loss / weight.sum() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "error"), [(-0.1, ValueError), (np.nan, ValueError), ("1", TypeError)]
)
def test_a_bad_ccp_alpha_is_refused_by_name(value, error):
    with pytest.raises(error, match="ccp_alpha"):
        MaxMarginIntervalTree(ccp_alpha=value).fit([[0.0], [1.0]], [0.0, 1.0])


def test_candidates_lie_between_neighbouring_alphas():
    np.testing.assert_allclose(geometric_means(np.array([0.0, 1.0, 4.0, 9.0])), [0, 2, 6])
    assert geometric_means(np.zeros(1)).size == 0
    assert geometric_means(np.array([0.0, 1e-200, 1e200]))[1] == pytest.approx(1.0)


def test_no_accuracy_is_below_zero_where_every_row_is_missed():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y, weight = rng.normal(size=(40, 1)), rng.normal(size=40), rng.exponential(size=40)
        tree = MaxMarginIntervalTree().fit(X, y)
        missed = Rows(X, np.column_stack([y + 1000, y + 1000]), weight)
        scores = SubtreePath(tree, tree.tree_, pruning_path(tree.tree_.nodes)).scores(
            missed, SCORERS["interval_accuracy"], weighted=True
        )
        assert len(scores) > 5
        assert (scores >= 0).all()
        np.testing.assert_allclose(scores, 0, atol=1e-15)
