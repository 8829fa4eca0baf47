"""Anchored values: the parent's value counts as one more un-censored row of a node."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood._core.nodes import LEAF
from marginwood.datasets import make_sine
from marginwood.losses import LOSSES, hinge_loss, optimal_constant
from strategies import informative_intervals, objectives

X, Y = make_sine(120, 3, random_state=0)


def rows_of_nodes(tree, X):
    """Which rows pass each node."""
    return tree.decision_path(X).toarray().astype(bool).T


def check_values(tree, X, y, weight):
    """Every node but the root: no value costs less, and none that costs the same is nearer to the parent's value."""
    nodes = tree.tree_.nodes
    members = rows_of_nodes(tree, X)
    for parent in np.flatnonzero(nodes["children_left"] != LEAF):
        anchor = nodes["value"][parent]
        for side in ("children_left", "children_right"):
            child = nodes[side][parent]
            rows = members[child] & (weight > 0)
            intervals = np.vstack([y[rows], [anchor, anchor]])
            weights = np.append(weight[rows], tree.anchor)
            rules = {"loss": tree.loss, "quantile": tree.quantile, "margin": tree.margin}
            best = optimal_constant(intervals, **rules, sample_weight=weights)
            nearest = np.clip(anchor, best.low, best.high)
            assert nodes["value"][child] == pytest.approx(nearest, rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore:y. .* rows are")
@given(
    y=informative_intervals(min_size=2, max_size=14),
    objective=objectives,
    margin=st.sampled_from([0.0, 0.5, 2.0]),
    anchor=st.sampled_from([0.5, 1.0, 7.0]),
    seed=st.integers(0, 99),
)
def test_values_are_those_of_the_rows_and_the_anchor_together(y, objective, margin, anchor, seed):
    random = np.random.RandomState(seed)
    X = random.randint(0, 5, (len(y), 2)).astype(float)
    X[random.random_sample(X.shape) < 0.1] = np.nan
    weight = random.randint(1, 4, len(y)).astype(float)
    tree = MaxMarginIntervalTree(**objective, margin=margin, anchor=anchor).fit(X, y, weight)
    check_values(tree, X, y, weight)


@pytest.mark.parametrize("loss", LOSSES)
def test_light_rows_count_beside_heavy_ones_that_are_satisfied(loss):
    X = np.array([[0.0], [1.0], [1.0], [1.0]])
    y = [(-1.0, -1.0), (1.0, np.inf), (1.0, np.inf), (5.0, 5.0)]
    weight = np.array([1e20, 1e20, 1e20, 3.0])
    tree = MaxMarginIntervalTree(loss=loss, max_depth=1, anchor=1.0).fit(X, y, weight)
    root, _, right = tree.tree_.nodes["value"]
    assert right == pytest.approx((3 * 5.0 + root) / 4 if loss == "squared_hinge" else 5.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_anchor_changes_values_alone(loss):
    plain = MaxMarginIntervalTree(loss=loss, margin=0.1).fit(X, Y).tree_.nodes
    anchored = MaxMarginIntervalTree(loss=loss, margin=0.1, anchor=2.0).fit(X, Y).tree_.nodes
    for name in plain.dtype.names:
        if name == "value":
            assert (plain[name] != anchored[name]).any()
        else:
            np.testing.assert_array_equal(plain[name], anchored[name])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_tiny_anchor_takes_the_nearest_of_the_best_values(loss):
    tree = MaxMarginIntervalTree(loss=loss, anchor=1e-12).fit(X, Y)
    nodes = tree.tree_.nodes
    for parent in np.flatnonzero(nodes["children_left"] != LEAF):
        for side in ("children_left", "children_right"):
            child = nodes[nodes[side][parent]]
            nearest = np.clip(nodes["value"][parent], child["value_low"], child["value_high"])
            assert child["value"] == pytest.approx(nearest, abs=1e-6)


def test_an_infinite_anchor_is_the_constant():
    tree = MaxMarginIntervalTree(anchor=np.inf).fit(X, Y)
    np.testing.assert_array_equal(tree.predict(X), np.full(len(X), tree.tree_.nodes["value"][0]))


def test_pruned_trees_keep_the_values_of_the_whole_one():
    whole = MaxMarginIntervalTree(anchor=1.0).fit(X, Y)
    pruned = MaxMarginIntervalTree(anchor=1.0, ccp_alpha=0.002).fit(X, Y)
    assert 1 < pruned.tree_.n_leaves < whole.tree_.n_leaves
    assert np.isin(pruned.tree_.nodes["value"], whole.tree_.nodes["value"]).all()


@pytest.mark.parametrize("unit", [1e-130, 1e-9, 1e12])
def test_neither_an_offset_nor_a_unit_matters(unit):
    tree = MaxMarginIntervalTree(anchor=1.0, max_depth=4).fit(X, Y)
    other = MaxMarginIntervalTree(anchor=1.0, max_depth=4).fit(X, unit * Y)
    np.testing.assert_allclose(
        other.predict(X), unit * tree.predict(X), rtol=1e-9, atol=unit * 1e-9
    )


@pytest.mark.parametrize("cls", [MaxMarginIntervalForest, MaxMarginIntervalBoosting])
def test_the_trees_of_ensembles_are_anchored(cls):
    plain = cls(5, random_state=0).fit(X, Y)
    anchored = cls(5, anchor=3.0, random_state=0).fit(X, Y)
    assert np.mean(hinge_loss(Y, anchored.predict(X))) > np.mean(hinge_loss(Y, plain.predict(X)))
    first, other = plain.estimators_[0].tree_.nodes, anchored.estimators_[0].tree_.nodes
    np.testing.assert_array_equal(first["threshold"], other["threshold"])


def test_a_draw_counts_in_the_values():
    forest = MaxMarginIntervalForest(3, anchor=2.0, random_state=0).fit(X, Y)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        check_values(tree, X, Y, np.bincount(rows, minlength=len(X)).astype(float))


@pytest.mark.parametrize("anchor", [-1.0, np.nan])
def test_an_anchor_is_not_negative(anchor):
    with pytest.raises(ValueError, match="anchor: expected a number >= 0"):
        MaxMarginIntervalTree(anchor=anchor).fit(X, Y)


def tables(model):
    """The node tables of a fitted model, as bytes."""
    members = getattr(model, "estimators_", [model])
    return [member.tree_.nodes.tobytes() for member in members]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(margin=0.1, ccp_alpha=0.01),
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.1], "anchor": [0.0]}, cv=2),
        MaxMarginIntervalForest(5, margin=0.1, random_state=0),
        MaxMarginIntervalBoosting(5, margin=0.1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_without_an_anchor_nothing_touches_the_values_that_growing_gave(model, loss, monkeypatch):
    model = clone(model)
    is_search = isinstance(model, IntervalSearchCV)
    given = {"loss": [loss], "anchor": [0.0], "margin": [0.1]} if is_search else {}
    model.set_params(**({"grid": given} if is_search else {"loss": loss, "anchor": 0.0}))
    before = tables(model.fit(X, Y))

    def fail(*_):
        raise AssertionError("values were anchored.")

    monkeypatch.setattr("marginwood._core.anchor.anchor_values", fail)
    assert tables(model.fit(X, Y)) == before
    model.set_params(**({"grid": given | {"anchor": [1.0]}} if is_search else {"anchor": 1.0}))
    with pytest.raises(AssertionError, match="values were anchored"):
        model.fit(X, Y)


@pytest.mark.parametrize("loss", LOSSES)
def test_values_without_an_anchor_are_centres_of_the_minimisers(loss):
    features = [[0.0], [1.0], [2.0], [3.0]]
    y = [(0.0, 1.0), (-3.0, 2.0), (4.0, np.inf), (-np.inf, 6.0)]
    tree = MaxMarginIntervalTree(loss=loss, max_depth=1, anchor=0.0).fit(features, y)
    leaves = tree.tree_.nodes[["value", "value_low", "value_high"]][1:].tolist()
    assert leaves == [(0.5, 0.0, 1.0), (5.0, 4.0, 6.0)]
