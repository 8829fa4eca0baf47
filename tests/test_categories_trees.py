"""Trees that split categories, against all subsets; and monotone effects of numbers beside them."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import reference
from marginwood import (
    IntervalDummyRegressor,
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    export_text,
    load,
    save,
)
from marginwood._core.nodes import LEAF
from marginwood._core.order import sort_features
from marginwood._core.problem import Kinds, Target, grow_tree
from marginwood._trees.rules import Rules
from marginwood.export import (
    export_graphviz,
    export_latex,
    from_dict,
    to_codes,
    to_dict,
    to_onnx,
    to_rules,
    to_sql,
)
from strategies import count_weights, informative_intervals, losses, margins, objectives

nan = float("nan")

pytestmark = pytest.mark.filterwarnings("ignore:y.*:UserWarning")


@st.composite
def problems(draw, max_categories=7, missing=True):
    """Codes of a few categories, with or without NaN, and targets."""
    n = draw(st.integers(2, 14))
    codes = [float(code) for code in range(draw(st.integers(2, max_categories)))]
    column = draw(
        st.lists(st.sampled_from([*codes, nan] if missing else codes), min_size=n, max_size=n)
    )
    y = draw(informative_intervals(min_size=n, max_size=n))
    weights = draw(count_weights(n))
    return (
        np.array(column)[:, np.newaxis],
        y,
        np.ones(n) if weights is None else np.maximum(weights, 1.0),
    )


def limits_of_rows(y, weights, margin, quantile=0.5):
    return [
        reference.limits_of(*ends, margin, weight, quantile)
        for ends, weight in zip(y, weights, strict=True)
    ]


@given(problems(), objectives, margins)
def test_a_split_of_few_categories_is_the_best_of_all_subsets(problem, objective, margin):
    X, y, weights = problem
    model = MaxMarginIntervalTree(**objective, margin=margin, categorical_features=[0]).fit(
        X, y, weights
    )
    limits = limits_of_rows(y, weights, margin, objective.get("quantile", 0.5))
    tree = model.tree_
    passed = model.decision_path(X).toarray().astype(bool)
    for idx in range(tree.node_count):
        rows = np.flatnonzero(passed[:, idx])
        own = [limits[row] for row in rows]
        cost = reference.minimum([limit for row in own for limit in row], objective["loss"]).cost
        best = min(cost, reference.least_cost_of_subsets(X[rows, 0], own, objective["loss"]))
        children = (
            [idx]
            if tree.children_left[idx] == LEAF
            else [tree.children_left[idx], tree.children_right[idx]]
        )
        assert tree.impurity[children].sum() == pytest.approx(float(best), rel=1e-9, abs=1e-9)


def split_by_descent(problem, margin, loss, quantile=0.5, min_samples_leaf=1):
    """The node table of one split whose price comes from descent."""
    X, y, weights = problem
    options = (
        Rules(max_depth=1, min_samples_leaf=min_samples_leaf)
        .options(*X.shape, weights.sum())
        ._replace(by_descent=True)
    )
    kinds = Kinds(np.array([40]), np.zeros(1, dtype=np.int8))
    return grow_tree(
        X, sort_features(X), Target(y).at(margin, quantile), weights, loss, options, 1, kinds
    )[0]


@given(problems(), objectives, margins)
@settings(max_examples=30)
def test_a_split_that_is_priced_by_descent_is_the_best_of_all_subsets(problem, objective, margin):
    X, y, weights = problem
    nodes = split_by_descent(problem, margin, **objective)
    limits = limits_of_rows(y, weights, margin, objective.get("quantile", 0.5))
    cost = reference.minimum([limit for row in limits for limit in row], objective["loss"]).cost
    best = min(cost, reference.least_cost_of_subsets(X[:, 0], limits, objective["loss"]))
    leaves = nodes["impurity"][nodes["children_left"] == LEAF]
    assert leaves.sum() == pytest.approx(float(best), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("min_samples_leaf", [1, 190])
def test_many_categories_are_split_alike_by_walking_and_by_descent(min_samples_leaf):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 40, size=(400, 1)).astype(float)
    y = np.sort(rng.normal(size=(400, 2)), axis=1) + rng.normal(size=40)[X.astype(int)]
    for loss in ("linear_hinge", "squared_hinge"):
        model = MaxMarginIntervalTree(
            loss=loss, max_depth=1, min_samples_leaf=min_samples_leaf, categorical_features=[0]
        )
        tree = model.fit(X, y).tree_
        nodes = split_by_descent((X, y, np.ones(400)), 0.0, loss, min_samples_leaf=min_samples_leaf)
        assert tree.n_node_samples[1:].min() >= min_samples_leaf
        np.testing.assert_allclose(nodes["impurity"], tree.impurity, rtol=1e-9)
        assert nodes["n_node_samples"].tolist() == tree.n_node_samples.tolist()


@given(problems(), losses)
def test_rows_reach_the_leaves_that_they_trained_and_the_left_side_has_fewer(problem, loss):
    X, y, weights = problem
    model = MaxMarginIntervalTree(loss=loss, categorical_features=[0]).fit(X, y, weights)
    tree = model.tree_
    assert np.bincount(model.apply(X), minlength=tree.node_count)[
        tree.children_left == LEAF
    ].tolist() == (tree.n_node_samples[tree.children_left == LEAF].tolist())
    splits = tree.children_left != LEAF
    n_left, n_right = (
        tree.n_node_samples[children[splits]]
        for children in (tree.children_left, tree.children_right)
    )
    assert (n_left <= n_right).all()


def test_many_categories_are_split_as_few_are_and_no_category_would_gain_much_by_changing_sides():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, 2000).astype(float)
    centre = rng.normal(size=60)[codes.astype(int)] + rng.normal(scale=0.5, size=2000)
    y = np.column_stack([centre - rng.exponential(size=2000), centre + rng.exponential(size=2000)])
    for loss in ("linear_hinge", "squared_hinge"):
        tree = MaxMarginIntervalTree(loss=loss, max_depth=1, categorical_features=[0]).fit(
            codes[:, None], y
        )
        goes_left = tree.apply(codes[:, None]) == 1
        values = tree.tree_.nodes["value"][1:]
        distances = [
            np.maximum(np.maximum(y[:, 0] - value, value - y[:, 1]), 0.0) for value in values
        ]
        left, right = (distance ** (1 if loss == "linear_hinge" else 2) for distance in distances)
        impurity = tree.tree_.impurity
        tiny = 1e-4 * (impurity[0] - impurity[1:].sum())
        for code in range(60):
            own = codes == code
            assert len(set(goes_left[own])) == 1
            here, there = (left, right) if goes_left[own][0] else (right, left)
            assert here[own].sum() <= there[own].sum() + tiny


def heavy_tailed_node(seed):
    """Categories of very different sizes, some of them far out, and intervals of which many are open."""
    rng = np.random.default_rng(seed)
    n_rows, n_categories = 600, 40
    codes = rng.choice(n_categories, n_rows, p=rng.dirichlet(np.full(n_categories, 0.5)))
    effect = rng.standard_t(2, size=n_categories)
    centre = effect[codes] + rng.normal(size=n_rows)
    y = centre[:, np.newaxis] + rng.exponential(size=(n_rows, 2)) * [-1, 1]
    y[rng.random(n_rows) < 0.2, 0] = -np.inf
    y[rng.random(n_rows) < 0.2, 1] = np.inf
    return codes, y


@pytest.mark.parametrize("min_samples_leaf", [1, 0.1, 0.4])
@pytest.mark.parametrize("loss", ["linear_hinge", "squared_hinge"])
def test_a_split_of_many_categories_costs_about_as_little_as_the_best_division_of_them_in_line(
    loss, min_samples_leaf
):
    excesses = []
    for seed in range(12):
        codes, y = heavy_tailed_node(seed)
        costs = {}
        in_line = np.empty(len(codes))
        for code in np.unique(codes):
            own = codes == code
            in_line[own] = (
                IntervalDummyRegressor(loss=loss)
                .fit(np.zeros((own.sum(), 1)), y[own])
                .predict([[0.0]])
            )
        for name, column, chosen in (("categories", codes, [0]), ("in line", in_line, None)):
            tree = MaxMarginIntervalTree(
                loss=loss,
                max_depth=1,
                min_samples_leaf=min_samples_leaf,
                categorical_features=chosen,
            )
            impurity = tree.fit(column[:, np.newaxis].astype(float), y).tree_.impurity
            costs[name] = impurity[1:].sum() / impurity[0] if len(impurity) > 1 else 1.0
        excesses.append(costs["categories"] - costs["in line"])
    assert np.mean(excesses) < 1e-3
    assert max(excesses) < 0.02


def test_a_numeric_feature_of_two_values_and_one_of_two_categories_grow_the_same_tree():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 2, 80), rng.normal(size=80)])
    y = np.sort(rng.normal(size=(80, 2)), axis=1) + 3 * X[:, :1]
    numbers = MaxMarginIntervalTree(max_depth=4).fit(X, y)
    categories = MaxMarginIntervalTree(max_depth=4, categorical_features=[0]).fit(X, y)
    np.testing.assert_array_equal(numbers.predict(X), categories.predict(X))


def test_missing_and_unknown_categories_go_with_nan_and_absent_ones_to_the_larger_side():
    X = np.array([["a"], ["a"], ["b"], ["b"], ["b"], ["c"], [None]], dtype=object)
    y = [0.0, 0, 5, 5, 5, 5, 0]
    tree = MaxMarginIntervalTree(categorical_features=[0]).fit(X, y)
    assert tree.predict(
        np.array([["a"], ["b"], ["c"], [None], ["never seen"]], dtype=object)
    ).tolist() == [
        0,
        5,
        5,
        0,
        0,
    ]
    frame = pd.DataFrame(
        {"g": pd.Categorical(["a", "a", "b", "b", "b"], categories=["a", "b", "declared"])}
    )
    tree = MaxMarginIntervalTree().fit(frame, [0.0, 0, 5, 5, 5])
    assert tree.predict(pd.DataFrame({"g": ["declared", "never seen"]})).tolist() == [5, 5]


def breast_cancer(n=120):
    """A frame with the columns, types and targets of a well-known study: numbers, a binary factor, an ordered one."""
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": rng.integers(30, 80, n).astype(float),
            "horTh": pd.Categorical.from_codes(rng.integers(0, 2, n), ["no", "yes"]),
            "menostat": pd.Categorical.from_codes(rng.integers(0, 2, n), ["Post", "Pre"]),
            "tgrade": pd.Categorical.from_codes(grade, ["I", "II", "III"], ordered=True),
        }
    )
    time = 100 * (4 - grade) * rng.exponential(size=n) + 1
    event = rng.random(n) < 0.5
    y = np.array(list(zip(event, time, strict=True)), dtype=[("cens", bool), ("time", float)])
    return X, y


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=3),
        MaxMarginIntervalForest(5, oob_score=True, random_state=0),
        MaxMarginIntervalBoosting(5, subsample=0.5, anchor=1.0, random_state=0),
        IntervalSearchCV(
            MaxMarginIntervalTree(max_depth=3), {"loss": ["linear_hinge"], "margin": 2}, cv=2
        ),
        IntervalSearchCV(
            MaxMarginIntervalForest(5), {"loss": ["squared_hinge"], "margin": [0.0]}, random_state=0
        ),
        IntervalSearchCV(
            MaxMarginIntervalBoosting(5),
            {"loss": ["squared_hinge"], "margin": [0.0]},
            cv=2,
            random_state=0,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:oob_score")
def test_every_model_of_trees_takes_a_frame_with_categories_and_keeps_them_in_files(
    model, tmp_path
):
    X, y = breast_cancer()
    model = clone(model).fit(X, y)
    assert model.categories_ == [None, ["no", "yes"], ["Post", "Pre"], ["I", "II", "III"]]
    expected = model.predict(X)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), expected)
    np.testing.assert_array_equal(loaded.apply(X), model.apply(X))
    np.testing.assert_array_equal(
        from_dict(json.loads(json.dumps(to_dict(model)))).predict(X), expected
    )
    as_text = X.astype(dict.fromkeys(("horTh", "menostat", "tgrade"), str))
    np.testing.assert_array_equal(model.predict(as_text), expected)
    for member in getattr(model, "estimators_", [])[:1]:
        assert member.predict(X).shape == (len(X),)


def test_a_search_chooses_the_model_that_a_fit_by_hand_gives():
    X, y = breast_cancer()
    search = IntervalSearchCV(
        MaxMarginIntervalTree(),
        {"loss": ["linear_hinge"], "margin": [0.0, 20.0], "anchor": [1.0]},
        cv=3,
    ).fit(X, y)
    by_hand = MaxMarginIntervalTree(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), by_hand.predict(X))
    assert search.best_estimator_.categorical_features == "from_dtype"


def test_out_of_bag_predictions_are_those_of_the_trees_that_did_not_draw_a_row():
    X, y = breast_cancer()
    forest = MaxMarginIntervalForest(30, max_depth=3, oob_score=True, random_state=1).fit(X, y)
    for row in range(0, 120, 17):
        undrawn = [
            tree.predict(X.iloc[[row]])[0]
            for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True)
            if row not in drawn
        ]
        assert forest.oob_prediction_[row] == pytest.approx(
            np.mean(undrawn) if undrawn else nan, nan_ok=True
        )


def test_pruned_and_anchored_trees_read_categories_as_grown_ones_do():
    X, y = breast_cancer()
    whole = MaxMarginIntervalTree(loss="linear_hinge").fit(X, y)
    path = whole.cost_complexity_pruning_path(X, y)
    pruned = MaxMarginIntervalTree(
        loss="linear_hinge", ccp_alpha=path.ccp_alphas[-2], anchor=2.0
    ).fit(X, y)
    assert 1 < pruned.get_n_leaves() < whole.get_n_leaves()
    counts = np.bincount(pruned.apply(X), minlength=pruned.tree_.node_count)
    is_leaf = pruned.tree_.children_left == LEAF
    assert counts[is_leaf].tolist() == pruned.tree_.n_node_samples[is_leaf].tolist()


def small_tree():
    X = pd.DataFrame(
        {"tgrade": pd.Categorical(["I", "I", "II", "II", "III", "III", "III", "III", "III"])}
    )
    return MaxMarginIntervalTree(max_depth=1).fit(X, [1.0, 1, 1, 1, 9, 9, 9, 9, 9]), X


def test_drawings_rules_and_sql_show_the_labels():
    tree, X = small_tree()
    assert "tgrade in {I, II}" in export_text(tree)
    assert "tgrade not in {I, II}" in export_text(tree)
    assert "tgrade in {I, II}" in export_graphviz(tree)
    assert r"tgrade in \{I, II\}" in export_latex(tree)
    assert [str(rule).partition(":")[0] for rule in to_rules(tree)] == [
        "tgrade in {I, II}",
        "(tgrade in {III} or missing)",
    ]
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE rows (tgrade TEXT)")
        labels = [*X["tgrade"], None, "unknown"]
        base.executemany("INSERT INTO rows VALUES (?)", [(label,) for label in labels])
        found = [value for (value,) in base.execute(f"SELECT {to_sql(tree)} FROM rows")]
    assert found == tree.predict(pd.DataFrame({"tgrade": labels})).tolist()
    with pytest.raises(
        ValueError, match="takes features of numbers, and 'tgrade' holds categories"
    ):
        to_onnx(tree)


def test_a_tree_of_the_logarithm_shows_the_labels_and_predicts_from_them():
    _, X = small_tree()
    y = [1.0, 1, 1, 1, 9, 9, 9, 9, 9]
    model = TransformedIntervalRegressor(MaxMarginIntervalTree(max_depth=1)).fit(X, y)
    assert "tgrade in {I, II}" in export_text(model)
    assert "IN ('I', 'II')" in to_sql(model)
    assert model.tree_.predict(to_codes(model, X)).tolist() == model.predict(X).tolist()


@given(problems(), losses)
@settings(max_examples=20)
def test_sql_sends_every_category_as_the_tree_does(problem, loss):
    X, y, weights = problem
    labels = np.where(
        np.isnan(X), None, np.char.add("it's ", np.nan_to_num(X).astype(int).astype(str))
    )
    tree = MaxMarginIntervalTree(loss=loss, categorical_features=[0]).fit(
        labels.astype(object), y, weights
    )
    rows = [*labels[:, 0].tolist(), None, "unknown"]
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE rows (g TEXT)")
        base.executemany("INSERT INTO rows VALUES (?)", [(label,) for label in rows])
        query = f"SELECT {to_sql(tree, feature_names=['g'])} FROM rows"
        found = [value for (value,) in base.execute(query)]
    assert found == tree.predict(np.array(rows, dtype=object)[:, None]).tolist()


def damaged(state, **changes):
    tree = state["model"]["tree_"]
    for name, items in changes.items():
        tree[name] = {**tree[name], "items": items, "shape": [len(items)]}
    return state


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codes": [0, 3]}, "rising numbers below 3"),
        ({"codes": [1, 0]}, "rising numbers below 3"),
        ({"codes": [-1, 0]}, "rising numbers below 3"),
        ({"offsets": [0, 3]}, "rising positions"),
        ({"offsets": [1, 2]}, "rising positions"),
        ({"offsets": [0, 2, 1, 2]}, "rising positions"),
        ({"offsets": []}, "rising positions"),
        ({"offsets": [0], "codes": []}, "has no list of codes"),
        ({"n_categories": [3, 0]}, "a number for each feature"),
        ({"n_categories": [4]}, "other categories than its tree"),
        ({"n_categories": [0]}, "other categories than its tree"),
    ],
)
def test_a_state_whose_categories_lead_nowhere_is_refused(changes, message):
    state = damaged(to_dict(small_tree()[0]), **changes)
    with pytest.raises(ValueError, match=message):
        from_dict(state)


def test_a_threshold_that_is_no_list_and_labels_that_are_none_are_refused():
    state = to_dict(small_tree()[0])
    state["model"]["tree_"]["nodes"]["columns"]["threshold"]["items"][0] = 0.5
    with pytest.raises(ValueError, match="has no list of codes"):
        from_dict(state)
    for labels in (
        [["I", "II"]],
        [["I", "I", "II"]],
        [[["I"], "II", "III"]],
        None,
        ["I", "II", "III"],
    ):
        state = to_dict(small_tree()[0])
        state["model"]["categories_"] = labels
        with pytest.raises(ValueError, match="categories_: "):
            from_dict(state)


def test_a_column_without_any_category_splits_nothing():
    frame = pd.DataFrame(
        {"size": np.arange(30.0), "town": pd.Categorical([None] * 30, categories=[])}
    )
    y = np.arange(30.0)
    tree = MaxMarginIntervalTree().fit(frame, y)
    alone = MaxMarginIntervalTree().fit(frame[["size"]], y)
    np.testing.assert_array_equal(tree.predict(frame), alone.predict(frame[["size"]]))
    assert tree.feature_importances_.tolist() == [1, 0]


@pytest.mark.parametrize("n_columns", [1, 2])
def test_columns_without_any_category_are_kept_in_files(n_columns, tmp_path):
    frame = pd.DataFrame(
        {f"town{idx}": pd.Categorical([None] * 9, categories=[]) for idx in range(n_columns)}
    )
    frame["size"] = np.arange(9.0)
    for model in (MaxMarginIntervalTree(), MaxMarginIntervalForest(2, random_state=0)):
        model.fit(frame, np.arange(9.0))
        save(model, tmp_path / "model.mw")
        for again in (
            load(tmp_path / "model.mw"),
            from_dict(json.loads(json.dumps(to_dict(model)))),
        ):
            np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
