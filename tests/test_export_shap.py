"""SHAP values of exported models, against the definition of Shapley values, and by shap itself."""

import itertools
import math
import warnings
from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood._core.nodes import LEAF
from marginwood.export import _shap, to_codes, to_shap
from strategies import informative_intervals, losses, no_weights, tree_problems
from trees import ENSEMBLES, TREES, X, chain, name_of, probes, y

pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")


def expectation(tree, row, known, node=0):
    """The tree's mean prediction when only some features are known: at other splits both sides count by weight."""
    left, right = tree["children_left"][node], tree["children_right"][node]
    if left == -1:
        return tree["values"][node, 0]
    feature = tree["features"][node]
    if feature in known:
        if np.isnan(row[feature]):
            return expectation(tree, row, known, tree["children_default"][node])
        return expectation(
            tree, row, known, left if row[feature] <= tree["thresholds"][node] else right
        )
    weight = tree["node_sample_weight"]
    sides = [weight[side] * expectation(tree, row, known, side) for side in (left, right)]
    return sum(sides) / (weight[left] + weight[right])


def expectation_of_nodes(tree, row, known, node=0):
    """The same of a node table, whose splits may be of categories."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left == LEAF:
        return tree.nodes["value"][node]
    value = row[tree.feature[node]]
    if tree.feature[node] in known:
        listed = tree.codes_of(node)
        is_left = value <= tree.threshold[node] if listed is None else value in listed
        if np.isnan(value):
            is_left = tree.missing_go_to_left[node]
        return expectation_of_nodes(tree, row, known, left if is_left else right)
    weight = tree.weighted_n_node_samples
    sides = [weight[side] * expectation_of_nodes(tree, row, known, side) for side in (left, right)]
    return sum(sides) / (weight[left] + weight[right])


def shapley_values(exported, row):
    """The expected value and the mean gain of every feature over all sets of known features, by definition."""

    def value(known):
        return exported["base_offset"] + sum(
            expectation(tree, row, known) for tree in exported["trees"]
        )

    return gains_of(value, len(row))


def gains_of(value, n_features):
    """`value` of no known feature, and the mean gain of every feature."""
    gains = np.zeros(n_features)
    for feature in range(n_features):
        others = [other for other in range(n_features) if other != feature]
        for size in range(n_features):
            share = (
                math.factorial(size)
                * math.factorial(n_features - size - 1)
                / math.factorial(n_features)
            )
            for known in itertools.combinations(others, size):
                gains[feature] += share * (value({*known, feature}) - value({*known}))
    return value(set()), gains


@pytest.fixture(scope="module")
def explain():
    """Expected value and SHAP values by shap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing it warns of what matplotlib will deprecate
        shap = pytest.importorskip("shap")

    def values(exported, rows):
        explainer = shap.TreeExplainer(exported)
        return np.asarray(explainer.expected_value).item(), explainer.shap_values(rows)

    return values


@settings(max_examples=40)
@given(tree_problems(), losses)
def test_shapley_values_of_the_dictionary_add_up_to_the_prediction(problem, loss):
    tree = MaxMarginIntervalTree(loss=loss, margin=1.0).fit(*problem)
    exported, rows = to_shap(tree), np.concatenate([problem.X[:4], probes(tree, 6)])
    for row, prediction in zip(rows, tree.predict(rows), strict=True):
        expected, gains = shapley_values(exported, row)
        np.testing.assert_allclose(expected + gains.sum(), prediction, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", ENSEMBLES, ids=name_of)
def test_shapley_values_of_an_ensemble_add_up_too(model):
    rows = probes(model, 5)
    for row, prediction in zip(rows, model.predict(rows), strict=True):
        expected, gains = shapley_values(to_shap(model), row)
        np.testing.assert_allclose(expected + gains.sum(), prediction, rtol=1e-12)


def test_the_expected_value_weighs_leaves_by_their_samples():
    tree = MaxMarginIntervalTree().fit([[0.0], [0.0], [1.0]], [3.0, 3.0, 9.0])
    assert shapley_values(to_shap(tree), np.array([1.0])) == (5.0, np.array([4.0]))


def test_shap_agrees_with_the_definition(explain):
    @settings(max_examples=40)
    @given(tree_problems(no_weights), losses)
    def check(problem, loss):
        tree = MaxMarginIntervalTree(loss=loss, margin=1.0, max_depth=4).fit(*problem)
        exported, rows = to_shap(tree), np.concatenate([problem.X, probes(tree, 10)])
        expected, values = explain(exported, rows)
        for row, gains in zip(rows, values, strict=True):
            wanted = shapley_values(exported, row)
            np.testing.assert_allclose(expected, wanted[0], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(gains, wanted[1], rtol=1e-10, atol=1e-10)

    check()


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=name_of)
def test_values_of_shap_add_up_to_the_prediction(explain, model):
    rows = probes(model)
    expected, values = explain(to_shap(model), rows)
    np.testing.assert_allclose(
        expected + values.sum(axis=1), model.predict(rows), rtol=1e-9, atol=1e-9
    )


@st.composite
def category_problems(draw):
    """Codes of two features with categories, a number, with NaN among all of them, and targets."""
    n_rows = draw(st.integers(2, 14))
    n_categories = draw(st.integers(2, 9)), 3, 3
    codes = [st.sampled_from([*map(float, range(n)), nan]) for n in n_categories]
    columns = [draw(st.lists(code, min_size=n_rows, max_size=n_rows)) for code in codes]
    return np.column_stack(columns), draw(informative_intervals(min_size=n_rows, max_size=n_rows))


def test_values_of_categories_are_those_of_their_splits(explain):
    @settings(max_examples=60)
    @given(category_problems(), losses)
    def check(problem, loss):
        tree = MaxMarginIntervalTree(loss=loss, margin=1.0, categorical_features=[0, 1]).fit(
            *problem
        )
        rows = to_codes(tree, np.concatenate([problem[0], [[nan, nan, nan], [77.0, 0.0, 1.0]]]))
        expected, values = explain(to_shap(tree), rows)
        np.testing.assert_allclose(
            expected + values.sum(axis=1), tree.tree_.predict(rows), rtol=1e-9, atol=1e-9
        )
        for row, gains in zip(rows, values, strict=True):
            wanted = gains_of(
                lambda known, row=row: expectation_of_nodes(tree.tree_, row, known), 3
            )
            np.testing.assert_allclose(expected, wanted[0], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(gains, wanted[1], rtol=1e-9, atol=1e-9)

    check()


@pytest.mark.parametrize("missing_go_to_left", [0, 1])
@pytest.mark.parametrize("codes", [[], [0, 1, 2, 3], [0, 2], [1, 2], [3]])
def test_missing_categories_go_where_the_split_sends_them(codes, missing_go_to_left):
    labels = list("ABCD")
    tree = MaxMarginIntervalTree(categorical_features=[0]).fit(
        [[label] for label in labels], [1.0, 1.0, 9.0, 9.0]
    )
    tree.tree_.nodes["missing_go_to_left"][0] = missing_go_to_left
    tree.tree_.subsets = tree.tree_.subsets._replace(
        offsets=np.array([0, len(codes)]), codes=np.array(codes, np.int32)
    )
    rows = to_codes(tree, [*([label] for label in labels), [None]])
    (exported,) = to_shap(tree)["trees"]
    found = [expectation(exported, row, {0}) for row in rows]
    assert found == [tree.tree_.predict(row[np.newaxis])[0] for row in rows]
    assert expectation(exported, rows[0], set()) == 5.0


@pytest.mark.parametrize("kind", [MaxMarginIntervalForest, MaxMarginIntervalBoosting])
def test_values_of_ensembles_of_categories_add_up_to_the_prediction(explain, kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"site": pd.Categorical(rng.choice(list("ABCDEFGHIJ"), 80)), "dose": rng.normal(size=80)}
    )
    model = kind(n_estimators=20, random_state=0).fit(
        X, X["dose"] + X["site"].isin(["A", "D", "H"])
    )
    X["site"] = X["site"].cat.add_categories("unknown")
    X.loc[:2, "site"] = "unknown"
    expected, values = explain(to_shap(model), to_codes(model, X))
    np.testing.assert_allclose(expected + values.sum(axis=1), model.predict(X), rtol=1e-9)


def test_a_split_of_many_categories_stays_shallow():
    labels = [[f"{number:03}"] for number in range(256)]
    tree = MaxMarginIntervalTree(categorical_features=[0], max_depth=1).fit(
        labels, [0.0, 5.0] * 128
    )
    (exported,) = to_shap(tree)["trees"]
    depth = np.zeros(len(exported["values"]), int)
    for children in zip(exported["children_left"], exported["children_right"], strict=True):
        parent = np.flatnonzero(exported["children_left"] == children[0])[0]
        depth[[child for child in children if child != LEAF]] = depth[parent] + 1
    assert len(depth) == 511
    assert depth.max() == 8


def test_categories_that_would_make_a_huge_tree_are_refused(monkeypatch):
    monkeypatch.setattr(_shap, "MAX_NODES", 8)
    X = [["A"], ["B"], ["C"], ["D"], ["E"]]
    forest = MaxMarginIntervalForest(
        n_estimators=4, bootstrap=False, categorical_features=[0], max_depth=1
    )
    with pytest.raises(ValueError, match="at most 8 nodes, got more"):
        to_shap(forest.fit(X, [1.0, 9.0, 1.0, 9.0, 1.0]))


def test_shap_compares_in_doubles(explain):
    threshold = 1.0 + 2.0**-40
    tree = MaxMarginIntervalTree().fit([[1.0], [1.0 + 2.0**-39]], [0.0, 8.0])
    assert tree.tree_.threshold[0] == threshold
    _, values = explain(to_shap(tree), np.array([[threshold], [np.nextafter(threshold, 2.0)]]))
    assert values.tolist() == [[-4.0], [4.0]]


def test_shap_explains_lone_leaves(explain):
    rows = np.array([[0.0], [nan], [inf]])
    for model in (MaxMarginIntervalTree(), MaxMarginIntervalBoosting(n_estimators=2)):
        expected, values = explain(to_shap(model.fit([[0.0]], [2.5])), rows)
        assert expected == 2.5
        assert not values.any()


def test_the_dictionary_is_a_copy():
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0]], [3.0, 9.0])
    for array in to_shap(tree)["trees"][0].values():
        array[:] = 0
    assert tree.predict([[1.0]]).tolist() == [9.0]


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(ValueError, match="aggregation='median'"):
        to_shap(MaxMarginIntervalForest(n_estimators=2, aggregation="median").fit(X, y))
    with pytest.raises(NotFittedError):
        to_shap(MaxMarginIntervalForest())
    with pytest.raises(TypeError, match="expected a fitted tree"):
        to_shap(chain)
