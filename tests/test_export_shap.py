"""SHAP values of exported models, against the definition of Shapley values, and by shap itself."""

import itertools
import math
import warnings
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.exceptions import NotFittedError

from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood.export import to_shap
from strategies import losses, no_weights, tree_problems
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
        return expectation(tree, row, known, left if row[feature] <= tree["thresholds"][node] else right)
    weight = tree["node_sample_weight"]
    sides = [weight[side] * expectation(tree, row, known, side) for side in (left, right)]
    return sum(sides) / (weight[left] + weight[right])


def shapley_values(exported, row):
    """The expected value and the mean gain of every feature over all sets of known features, by definition."""
    n_features = len(row)

    def value(known):
        return exported["base_offset"] + sum(expectation(tree, row, known) for tree in exported["trees"])

    gains = np.zeros(n_features)
    for feature in range(n_features):
        others = [other for other in range(n_features) if other != feature]
        for size in range(n_features):
            share = math.factorial(size) * math.factorial(n_features - size - 1) / math.factorial(n_features)
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
    np.testing.assert_allclose(expected + values.sum(axis=1), model.predict(rows), rtol=1e-9, atol=1e-9)


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
