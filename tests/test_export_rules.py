"""Trees as rules."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from sklearn.exceptions import NotFittedError

from marginwood import MaxMarginIntervalTree
from marginwood.export import Condition, Rule, to_rules
from strategies import losses, stopping_rules, tree_problems
from trees import TREES, chain, name_of, probes

pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")


def holds(condition, x):
    """Whether a condition holds, in words of its definition."""
    if np.isnan(x):
        return condition.missing
    return (condition.above is None or x > condition.above) and x <= condition.at_most


def satisfied(rules, row):
    """The rules that a row satisfies; features are named by their position."""
    return [
        rule
        for rule in rules
        if all(holds(condition, row[int(condition.feature)]) for condition in rule.conditions)
    ]


def check(model, rows):
    rules = to_rules(model, feature_names=range(model.n_features_in_))
    assert len(rules) == model.get_n_leaves()
    leaves = model.tree_.nodes[model.apply(rows)]
    ends = np.column_stack([leaves["value_low"], leaves["value_high"]])
    for row, value, (low, high) in zip(rows, model.predict(rows), ends, strict=True):
        (rule,) = satisfied(rules, row)
        assert (rule.value, rule.low, rule.high) == (value, low, high)
    return rules


@given(tree_problems(), losses, stopping_rules())
def test_every_row_satisfies_one_rule_whose_value_is_the_prediction(problem, loss, stopping):
    tree = MaxMarginIntervalTree(loss=loss, margin=1.0, **stopping).fit(*problem)
    check(tree, np.concatenate([problem.X, probes(tree, 40)]))


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_rules_of_every_kind_of_tree_predict_as_it_does(model):
    rules = check(model, probes(model))
    assert sum(rule.n_samples for rule in rules) == model.tree_.n_node_samples[0]
    for rule in rules:
        names = [condition.feature for condition in rule.conditions]
        assert len(set(names)) == len(names)


def test_conditions_of_one_feature_are_merged_and_read_well():
    tree = MaxMarginIntervalTree().fit([[1], [2], [3], [nan]], [(0, 1), (4, 6), (8, 9), (8, inf)])
    assert [str(rule) for rule in to_rules(tree, feature_names=["dose"])] == [
        "dose <= 1.5: 0.5 in [0, 1], samples: 1",
        "1.5 < dose <= 2.5: 5 in [4, 6], samples: 1",
        "(dose > 2.5 or missing): 8.5 in [8, 9], samples: 2",
    ]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition("a", None, 2.0, True), "(a <= 2 or missing)"),
        (Condition("a", -inf, inf, False), "a > -inf"),
        (Condition("a", None, -inf, False), "a <= -inf"),
        (Condition("a", inf, inf, True), "a is missing"),
        (Condition("a", 5.0, 3.0, True), "a is missing"),
        (Condition("a", 5.0, 3.0, False), "5 < a <= 3"),
        (Condition("a", None, inf, False), "a is present"),
        (Condition("a", None, inf, True), "(a <= inf or missing)"),
    ],
)
def test_conditions_at_the_edge_have_words(condition, text):
    assert str(condition) == text


def test_a_lone_leaf_is_a_rule_without_conditions():
    (rule,) = to_rules(MaxMarginIntervalTree().fit([[0.0]], [[2.0, inf]]))
    assert rule == Rule((), 2.0, 2.0, inf, 1)
    assert str(rule) == "always: 2 in [2, inf], samples: 1"


def test_a_very_deep_tree_has_rules_without_recursion():
    rules = to_rules(chain(2000))
    assert len(rules) == 2001
    assert max(len(rule.conditions) for rule in rules) == 1


def test_an_unfitted_tree_is_refused():
    with pytest.raises(NotFittedError):
        to_rules(MaxMarginIntervalTree())


def test_equally_good_values_that_look_alike_are_not_repeated():
    assert str(Rule((), 6.94, 6.94 - 1e-12, 6.94 + 1e-12, 3)) == "always: 6.94, samples: 3"
