"""Monotone effects: predictions along a feature, whatever the data; with exact labels, scikit-learn's tree."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from strategies import informative_intervals, losses, margins

pytestmark = pytest.mark.filterwarnings("ignore:y.*:UserWarning")

nan = float("nan")
GRID = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]


@st.composite
def problems(draw):
    n = draw(st.integers(2, 16))
    entries = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, nan]), min_size=2 * n, max_size=2 * n)
    return np.array(draw(entries)).reshape(n, 2), draw(
        informative_intervals(min_size=n, max_size=n)
    )


def assert_monotone(model, sign):
    """Along the first feature, wherever the second is."""
    for other in (*GRID, nan):
        line = model.predict([[value, other] for value in GRID])
        assert (sign * np.diff(line) >= 0).all()


@given(problems(), losses, margins, st.sampled_from([-1, 1]), st.sampled_from([0.0, 0.5, 3.0]))
def test_the_predictions_of_a_tree_are_monotone_for_any_data(problem, loss, margin, sign, anchor):
    model = MaxMarginIntervalTree(
        loss=loss, margin=margin, monotonic_cst=[sign, 0], anchor=anchor
    ).fit(*problem)
    assert_monotone(model, sign)


@given(problems(), losses, st.sampled_from([-1, 1]), st.floats(0.0, 2.0))
@settings(max_examples=30)
def test_pruned_trees_stay_monotone(problem, loss, sign, alpha):
    model = MaxMarginIntervalTree(
        loss=loss, monotonic_cst=[sign, 0], ccp_alpha=alpha, max_leaf_nodes=6
    ).fit(*problem)
    assert_monotone(model, sign)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalForest(10, random_state=0, aggregation="median"),
        MaxMarginIntervalBoosting(
            20, learning_rate=0.5, max_depth=2, random_state=0, subsample=0.7
        ),
        IntervalSearchCV(MaxMarginIntervalTree(), {"loss": ["squared_hinge"], "margin": 2}, cv=2),
        IntervalSearchCV(
            MaxMarginIntervalForest(5), {"loss": ["squared_hinge"], "margin": [0.0]}, random_state=0
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ensembles_and_searches_are_monotone(model, sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(80, 2))
    y = np.sort(np.sin(3 * X[:, :1]) + rng.normal(size=(80, 2)), axis=1)
    name = "estimator__monotonic_cst" if hasattr(model, "grid") else "monotonic_cst"
    assert_monotone(model.set_params(**{name: (sign, 0)}).fit(X, y), sign)


def test_the_effect_is_obeyed_and_not_merely_absent():
    X = np.arange(40.0)[:, None]
    rising, falling = (
        MaxMarginIntervalTree(monotonic_cst=[sign]).fit(X, X[:, 0]) for sign in (1, -1)
    )
    assert rising.get_n_leaves() == 40
    assert falling.get_n_leaves() == 1


@pytest.mark.parametrize("seed", range(20))
def test_with_exact_labels_the_tree_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32).astype(float)
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=60)
    effects = rng.permutation([1, -1, 0])
    # Small nodes have equally good splits, of which each library takes its own.
    rules = {"max_depth": 4, "min_samples_leaf": 5, "monotonic_cst": effects}
    ours = MaxMarginIntervalTree(**rules).fit(X, y)
    theirs = DecisionTreeRegressor(**rules, random_state=0).fit(X, y)
    others = rng.normal(size=(200, 3)).astype(np.float32).astype(float)
    np.testing.assert_allclose(ours.predict(others), theirs.predict(others), rtol=1e-7, atol=1e-9)


def test_effects_may_be_given_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    y = rng.normal(size=50)
    by_name = MaxMarginIntervalTree(monotonic_cst={"b": -1}).fit(X, y)
    by_place = MaxMarginIntervalTree(monotonic_cst=[0, -1]).fit(X, y)
    np.testing.assert_array_equal(by_name.predict(X), by_place.predict(X))
    search = IntervalSearchCV(
        MaxMarginIntervalTree(monotonic_cst={"b": -1}), {"margin": [0.0]}, cv=2
    ).fit(X, y)
    assert search.best_estimator_.monotonic_cst == {"b": -1}


@pytest.mark.parametrize(
    ("effects", "message"),
    [
        ([1], "2 entries, got 1"),
        ([1, 2], "got 2 for feature 1"),
        ("up", "expected -1, 0 or 1 for each feature"),
        (1, "expected -1, 0 or 1 for each feature"),
        ({"c": 1}, "features of X ('a', 'g'), got 'c'"),
        ({"g": 1}, "feature 'g' holds categories, which have no direction"),
    ],
)
def test_effects_that_are_none_are_refused(effects, message):
    X = pd.DataFrame({"a": [1, 2, 3], "g": pd.Categorical(["u", "v", "u"])})
    with pytest.raises((TypeError, ValueError), match="monotonic_cst: ") as caught:
        MaxMarginIntervalTree(monotonic_cst=effects).fit(X, [1.0, 2, 3])
    assert message in str(caught.value)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match="since X has no feature names; got a dict"):
        MaxMarginIntervalTree(monotonic_cst={"a": 1}).fit([[1], [2]], [1.0, 2])
