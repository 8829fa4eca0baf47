"""Properties of `MaxMarginIntervalTree` that hold for any data, and its life among scikit-learn's tools."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from marginwood import MaxMarginIntervalTree
from marginwood._trees.table import find_missing
from marginwood.metrics import get_scorer, interval_d2_score
from strategies import (
    LOSSES,
    count_weights,
    informative_intervals,
    losses,
    margins,
    one_sided_intervals,
    sample_weights,
    tree_problems,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")


def sine_problem(n=400, seed=0):
    """Intervals of mixed censoring around a wave of the first of three features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 3))
    centre = 3 * np.sin(X[:, 0]) + rng.normal(scale=0.3, size=n)
    y = np.column_stack([centre - rng.exponential(size=n), centre + rng.exponential(size=n)])
    kind = rng.integers(5, size=n)
    y[kind == 0, 0] = -inf
    y[kind == 1, 1] = inf
    y[kind == 2] = centre[kind == 2, None]
    return X, y


def cost_of(values, y, margin, loss, weights=None):
    """The training cost of predictions."""
    row_margins = np.where(y[:, 0] == y[:, 1], 0.0, margin)
    errors = (
        np.maximum(y[:, 0] + row_margins - values, 0),
        np.maximum(values - y[:, 1] + row_margins, 0),
    )
    power = 1 if loss == "linear_hinge" else 2
    return (errors[0] ** power + errors[1] ** power) @ (
        np.ones(len(y)) if weights is None else weights
    )


def assert_same_rules(tree, other):
    """The same splits in the same places."""
    np.testing.assert_array_equal(tree.children_left, other.children_left)
    np.testing.assert_array_equal(tree.children_right, other.children_right)
    is_split = tree.children_left != -1
    np.testing.assert_array_equal(tree.feature[is_split], other.feature[is_split])
    np.testing.assert_array_equal(tree.threshold[is_split], other.threshold[is_split])


# Exact: integers and halves shifted by 1e9 are still exact in float64.
@given(tree_problems(weights=count_weights), losses, margins, st.sampled_from([1e9, -1e9]))
def test_a_shift_of_targets_shifts_predictions(problem, loss, margin, shift):
    X, y, weights = problem
    model = MaxMarginIntervalTree(loss=loss, margin=margin)
    tree = clone(model).fit(X, y, weights)
    shifted = clone(model).fit(X, y + shift, weights)
    assert_same_rules(tree.tree_, shifted.tree_)
    np.testing.assert_allclose(shifted.predict(X), tree.predict(X) + shift, rtol=1e-15, atol=0)
    np.testing.assert_allclose(shifted.tree_.impurity, tree.tree_.impurity, rtol=1e-9, atol=1e-9)


@given(tree_problems(weights=count_weights), losses, margins, st.sampled_from([1e-9, 1e12]))
def test_a_scale_of_targets_scales_predictions(problem, loss, margin, scale):
    X, y, weights = problem
    tree = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, weights)
    scaled = MaxMarginIntervalTree(loss=loss, margin=margin * scale).fit(X, y * scale, weights)
    assert_same_rules(tree.tree_, scaled.tree_)
    np.testing.assert_allclose(scaled.predict(X) / scale, tree.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_shift_of_a_billion_does_not_blur_a_large_tree(loss, scale):
    X, y = sine_problem()
    y = np.round(y * 64) / 64
    model = MaxMarginIntervalTree(loss=loss, margin=0.25, max_depth=5)
    tree = clone(model).fit(X, y)
    moved = clone(model).set_params(margin=0.25 * scale).fit(X, (y + 1e9) * scale)
    if scale == 1.0:
        assert_same_rules(tree.tree_, moved.tree_)
    # A product rounds each target by up to 1e-7 of its unit, which may turn near ties but not the
    # quality of the fit.
    expected = cost_of(tree.predict(X), y, 0.25, loss)
    assert cost_of(moved.predict(X) / scale - 1e9, y, 0.25, loss) == pytest.approx(
        expected, rel=0.05
    )


@given(tree_problems(weights=count_weights), losses, margins)
def test_a_whole_weight_is_a_row_repeated(problem, loss, margin):
    X, y, weights = problem
    counts = np.ones(len(y), dtype=int) if weights is None else weights.astype(int)
    weighted = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, counts)
    repeated = MaxMarginIntervalTree(loss=loss, margin=margin).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0)
    )
    assert_same_rules(weighted.tree_, repeated.tree_)
    np.testing.assert_allclose(
        weighted.tree_.impurity, repeated.tree_.impurity, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(
        weighted.tree_.weighted_n_node_samples, repeated.tree_.n_node_samples
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12, atol=1e-12)


@given(st.data(), tree_problems(weights=count_weights), losses, margins)
def test_rows_open_on_both_sides_change_no_cost(data, problem, loss, margin):
    X, y, weights = problem
    n_open = data.draw(st.integers(1, 4))
    extra = data.draw(
        st.lists(
            st.sampled_from([-inf, -1.0, 0.25, 1.0, 7.0, inf, nan]),
            min_size=n_open * X.shape[1],
            max_size=n_open * X.shape[1],
        )
    )
    more_X = np.concatenate([X, np.reshape(extra, (n_open, -1))])
    more_y = np.concatenate([y, np.tile([-inf, inf], (n_open, 1))])
    more_weights = None if weights is None else np.concatenate([weights, np.ones(n_open)])
    tree = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, weights)
    other = MaxMarginIntervalTree(loss=loss, margin=margin).fit(more_X, more_y, more_weights)
    np.testing.assert_allclose(other.tree_.impurity, tree.tree_.impurity, rtol=1e-9, atol=1e-9)
    counted = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    np.testing.assert_allclose(
        other.predict(X[counted]), tree.predict(X[counted]), rtol=1e-12, atol=1e-12
    )
    assert other.tree_.n_node_samples[0] == tree.tree_.n_node_samples[0] + n_open


@given(arrays(np.float64, (4, 3), elements=st.sampled_from([0.0, inf, -inf, nan])))
def test_features_that_hold_nan_are_found(X):
    np.testing.assert_array_equal(find_missing(X), np.isnan(X).any(axis=0))


def test_nan_that_training_never_saw_goes_where_the_weight_went():
    X, y, counts = (
        np.array([[0.0], [1.0], [1.0]]),
        np.array([[0.0, 0.0], [5.0, 5.0], [5.0, 5.0]]),
        [3, 1, 1],
    )
    weighted = MaxMarginIntervalTree().fit(X, y, counts)
    repeated = MaxMarginIntervalTree().fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0)
    )
    assert weighted.predict([[nan]]) == repeated.predict([[nan]]) == 0.0


@given(tree_problems(), losses, margins)
def test_a_split_never_raises_training_cost(problem, loss, margin):
    X, y, weights = problem
    tree = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, weights).tree_
    for node in np.flatnonzero(tree.children_left != -1):
        children = (
            tree.impurity[tree.children_left[node]] + tree.impurity[tree.children_right[node]]
        )
        assert children < tree.impurity[node]
    assert (tree.impurity >= 0).all()


@given(tree_problems(), losses, margins)
def test_every_training_row_reaches_the_leaf_that_counted_it(problem, loss, margin):
    X, y, weights = problem
    model = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, weights)
    weights = np.ones(len(y)) if weights is None else weights
    counted = weights > 0
    n_nodes = model.tree_.node_count
    reached = np.bincount(model.apply(X[counted]), minlength=n_nodes)
    reached_weight = np.bincount(model.apply(X), weights=weights, minlength=n_nodes)
    is_leaf = model.tree_.children_left == -1
    np.testing.assert_array_equal(reached, np.where(is_leaf, model.tree_.n_node_samples, 0))
    leaf_weight = model.tree_.weighted_n_node_samples[is_leaf]
    np.testing.assert_allclose(
        reached_weight[is_leaf], leaf_weight, rtol=0, atol=1e-12 * weights.sum()
    )


@given(st.data(), tree_problems(), losses, margins)
def test_any_row_is_predicted_by_the_leaf_it_reaches(data, problem, loss, margin):
    X, y, weights = problem
    model = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, weights)
    value = st.sampled_from([-inf, -1e300, -0.0, 0.75, 2.0, 1e300, inf, nan])
    row = st.lists(value, min_size=X.shape[1], max_size=X.shape[1])
    unseen = np.array(data.draw(st.lists(row, min_size=1, max_size=8)))
    leaves = model.apply(unseen)
    assert (model.tree_.children_left[leaves] == -1).all()
    np.testing.assert_array_equal(model.predict(unseen), np.ravel(model.tree_.value)[leaves])
    optimal = model.predict_optimal_interval(unseen)
    np.testing.assert_array_equal(
        optimal, np.column_stack([model.tree_.value_low[leaves], model.tree_.value_high[leaves]])
    )
    assert (optimal[:, 0] <= model.predict(unseen)).all()
    assert (model.predict(unseen) <= optimal[:, 1]).all()
    assert np.isfinite(model.predict(unseen)).all()
    paths = model.decision_path(unseen).toarray()
    assert paths[np.arange(len(unseen)), leaves].all()
    assert paths[:, 0].all()


@given(st.data(), tree_problems(weights=count_weights), losses, margins)
def test_the_order_of_rows_does_not_matter(data, problem, loss, margin):
    X, y, weights = problem
    order = np.array(data.draw(st.permutations(range(len(y)))))
    tree = MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y, weights)
    other = MaxMarginIntervalTree(loss=loss, margin=margin).fit(
        X[order], y[order], None if weights is None else weights[order]
    )
    assert_same_rules(tree.tree_, other.tree_)
    np.testing.assert_array_equal(tree.tree_.n_node_samples, other.tree_.n_node_samples)
    np.testing.assert_allclose(tree.tree_.impurity, other.tree_.impurity, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tree.predict(X), other.predict(X), rtol=1e-12, atol=1e-12)


@given(st.data(), one_sided_intervals(), losses, margins)
def test_targets_censored_on_one_side_need_one_leaf(data, y, loss, margin):
    X = np.arange(len(y), dtype=float)[:, None]
    model = MaxMarginIntervalTree(loss=loss, margin=margin).fit(
        X, y, data.draw(sample_weights(len(y)).filter(lambda w: w is None or w.all()))
    )
    end = y[:, 1].min() - margin if np.isinf(y[0, 0]) else y[:, 0].max() + margin
    assert model.tree_.node_count == 1
    np.testing.assert_array_equal(model.predict(X), end)


@given(informative_intervals(min_size=1, max_size=1), losses, margins)
def test_one_row_is_one_leaf(y, loss, margin):
    model = MaxMarginIntervalTree(loss=loss, margin=margin).fit([[0.0]], y)
    assert model.tree_.node_count == 1
    assert np.isfinite(model.predict([[5.0]])).all()


@given(informative_intervals(), losses, margins)
def test_constant_features_leave_one_leaf(y, loss, margin):
    X = np.column_stack([np.full(len(y), 3.0), np.full(len(y), nan), np.full(len(y), inf)])
    assert MaxMarginIntervalTree(loss=loss, margin=margin).fit(X, y).tree_.node_count == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_rows_are_never_separated(loss):
    X = np.tile([[1.0, 2.0], [3.0, nan]], (50, 1))
    y = np.column_stack([np.arange(100.0), np.arange(100.0) + 1])
    model = MaxMarginIntervalTree(loss=loss).fit(X, y)
    assert model.get_n_leaves() <= 2
    assert sorted(model.tree_.n_node_samples[model.tree_.children_left == -1])[0] >= 50


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_node_costs_equal_costs_computed_afresh(loss, weighted, shift):
    X, y = sine_problem(n=3000)
    y = y + shift
    weights = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    model = MaxMarginIntervalTree(loss=loss, margin=0.2, max_depth=8).fit(X, y, weights)
    tree, paths = model.tree_, model.decision_path(X).toarray().astype(bool)
    rounding = 1e-10 * tree.impurity[0]
    for node in range(tree.node_count):
        rows = paths[:, node]
        value = np.ravel(tree.value)[node]
        afresh = cost_of(value, y[rows], 0.2, loss, weights[rows])
        assert tree.impurity[node] == pytest.approx(afresh, rel=1e-8, abs=rounding)
        for nearby in (value - 1e-3, value + 1e-3):
            assert cost_of(nearby, y[rows], 0.2, loss, weights[rows]) >= afresh - rounding


def test_squared_hinge_of_uncensored_targets_is_the_usual_regression_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).astype(np.float32).astype(np.float64)
    y = X[:, 0] * X[:, 1] + rng.normal(size=500)
    ours = MaxMarginIntervalTree(
        loss="squared_hinge", margin=0.7, max_depth=6, min_samples_leaf=3
    ).fit(X, y)
    theirs = DecisionTreeRegressor(max_depth=6, min_samples_leaf=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_stopping_rules_hold(loss):
    X, y = sine_problem()
    model = MaxMarginIntervalTree(loss=loss, margin=0.1)
    is_leaf = {}
    for options in (
        {"max_depth": 3},
        {"min_samples_leaf": 17},
        {"max_leaf_nodes": 9},
        {"min_samples_split": 60},
        {},
    ):
        fitted = clone(model).set_params(**options).fit(X, y)
        tree = fitted.tree_
        leaves = tree.children_left == -1
        is_leaf[str(options)] = leaves.sum()
        assert fitted.get_n_leaves() == leaves.sum()
        if "max_depth" in options:
            assert fitted.get_depth() == 3
        if "min_samples_leaf" in options:
            assert tree.n_node_samples.min() >= 17
        if "max_leaf_nodes" in options:
            assert leaves.sum() == 9
        if "min_samples_split" in options:
            assert tree.n_node_samples[~leaves].min() >= 60
    assert max(is_leaf, key=is_leaf.get) == "{}"


@pytest.mark.parametrize("loss", LOSSES)
def test_importances_name_the_feature_that_matters(loss):
    X, y = sine_problem()
    importances = (
        MaxMarginIntervalTree(loss=loss, margin=0.1, max_depth=3).fit(X, y).feature_importances_
    )
    assert importances.sum() == pytest.approx(1)
    assert importances[0] > 0.9


def test_a_random_state_decides_which_features_are_tried():
    X, y = sine_problem()
    fits = [
        MaxMarginIntervalTree(max_features=1, max_depth=4, random_state=seed).fit(X, y)
        for seed in (0, 0, 1, 2, 3)
    ]
    predictions = [fit.predict(X) for fit in fits]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    assert any((predictions[0] != other).any() for other in predictions[2:])


def test_all_features_tried_make_the_random_state_irrelevant():
    X, y = sine_problem()
    predictions = [
        MaxMarginIntervalTree(max_depth=4, random_state=seed).fit(X, y).predict(X)
        for seed in (0, 1)
    ]
    np.testing.assert_array_equal(*predictions)


def test_the_score_is_the_interval_d2():
    X, y = sine_problem()
    weights = np.random.default_rng(2).exponential(size=len(y))
    model = MaxMarginIntervalTree(max_depth=3).fit(X, y)
    assert model.score(X, y) == pytest.approx(interval_d2_score(y, model.predict(X)))
    assert model.score(X, y, sample_weight=weights) == pytest.approx(
        interval_d2_score(y, model.predict(X), sample_weight=weights)
    )
    assert 0.3 < model.score(X, y) < 1


def test_fitting_leaves_its_inputs_alone():
    X, y = sine_problem()
    weights = np.arange(len(y), dtype=float)
    copies = X.copy(), y.copy(), weights.copy()
    MaxMarginIntervalTree(margin=0.5, max_depth=3).fit(X, y, weights)
    for array, copy in zip((X, y, weights), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_memory_layout_and_integer_types_do_not_matter():
    X, y = sine_problem()
    X = np.round(X)
    expected = MaxMarginIntervalTree(max_depth=3).fit(X, y).predict(X)
    for variant in (
        np.asfortranarray(X),
        X.astype(np.int32),
        X.astype(np.float32),
        X.tolist(),
        np.repeat(X, 2, axis=1)[:, ::2],
    ):
        model = MaxMarginIntervalTree(max_depth=3).fit(variant, np.asfortranarray(y))
        np.testing.assert_array_equal(model.predict(variant), expected)


def test_a_clone_is_unfitted_and_has_the_same_parameters():
    X, y = sine_problem(60)
    model = MaxMarginIntervalTree(loss="linear_hinge", margin=0.3, max_depth=2).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "tree_")
    assert copy.get_params() == model.get_params()


@pytest.mark.parametrize("name", ["neg_interval_mean_squared_error", "interval_d2"])
def test_cross_validation_scores_interval_targets(name):
    X, y = sine_problem()
    model = make_pipeline(StandardScaler(), MaxMarginIntervalTree(max_depth=4))
    scores = cross_val_score(
        model, X, y, scoring=get_scorer(name), cv=KFold(4), error_score="raise"
    )
    worse = cross_val_score(
        model.set_params(maxmarginintervaltree__max_depth=1),
        X,
        y,
        scoring=get_scorer(name),
        cv=KFold(4),
    )
    assert scores.mean() > worse.mean()


def test_grid_search_finds_a_deeper_tree_on_a_wave():
    X, y = sine_problem()
    grid = {"tree__max_depth": [1, 4], "tree__loss": list(LOSSES), "tree__margin": [0.0, 0.2]}
    pipeline = make_pipeline(StandardScaler(), MaxMarginIntervalTree())
    pipeline.steps[1] = ("tree", pipeline.steps[1][1])
    search = GridSearchCV(
        pipeline, grid, cv=3, scoring=get_scorer("interval_d2"), error_score="raise"
    ).fit(X, y)
    assert search.best_params_["tree__max_depth"] == 4
    assert search.best_score_ > 0.3
