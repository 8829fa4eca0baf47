"""The forest against its definition: trees on draws of rows, combined; and the same forest wherever it is grown."""

import io
import pickle
import tracemalloc
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood._support.progress
import marginwood._trees.bagging
from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    interval_d2_score,
    interval_mean_squared_error,
)
from marginwood._base import BLOCK
from marginwood._trees.bagging import aggregate
from marginwood.datasets import make_sine
from marginwood.model_selection import margin_grid
from strategies import LOSSES, losses, margins, no_weights, tree_problems

# Check -> why it cannot pass.
EXPECTED_WITH_BOOTSTRAP = {
    "check_sample_weight_equivalence_on_dense_data": "twice as many rows are other rows to draw from"
}


@parametrize_with_checks(
    [
        MaxMarginIntervalForest(n_estimators=5, random_state=0),
        MaxMarginIntervalForest(n_estimators=5, bootstrap=False, random_state=0),
        MaxMarginIntervalForest(
            n_estimators=5, loss="linear_hinge", aggregation="median", n_jobs=2, random_state=0
        ),
    ],
    expected_failed_checks=lambda forest: EXPECTED_WITH_BOOTSTRAP if forest.bootstrap else {},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = np.sort(X[:, :1] + rng.normal(size=(60, 2)), axis=1)
    y[::7, 0], y[3::7, 1], y[5::7, 1] = -np.inf, np.inf, y[5::7, 0]
    X[::9, 1], X[4::11, 2] = np.nan, np.inf
    return X, y


def tables(forest):
    """The node tables as bytes: equal for equal bits only."""
    return [tree.tree_.nodes.tobytes() for tree in forest.estimators_]


# Same seed, same forest.


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_the_forest_does_not_depend_on_where_it_is_grown(problem, backend, n_jobs):
    forest = MaxMarginIntervalForest(n_estimators=6, margin=0.2, oob_score=True, random_state=3)
    with pytest.warns(UserWarning, match="out-of-bag"):
        here = clone(forest).fit(*problem)
    with (
        joblib.parallel_config(backend, n_jobs=n_jobs),
        pytest.warns(UserWarning, match="out-of-bag"),
    ):
        there = clone(forest).fit(*problem)
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        prediction = there.predict(problem[0])
    assert tables(here) == tables(there)
    np.testing.assert_array_equal(here.predict(problem[0]), prediction)
    np.testing.assert_array_equal(here.oob_prediction_, there.oob_prediction_)


@pytest.mark.parametrize("aggregation", ["mean", "median"])
def test_predictions_do_not_depend_on_threads_or_on_the_other_rows(problem, aggregation):
    forest = MaxMarginIntervalForest(n_estimators=5, aggregation=aggregation, random_state=0).fit(
        *problem
    )
    X = np.random.default_rng(1).normal(size=(BLOCK + 3, 5))
    alone = np.concatenate([forest.predict(X[:1]), forest.predict(X[1:4])])
    one = forest.predict(X)
    many = forest.set_params(n_jobs=2).predict(X)
    np.testing.assert_array_equal(one, many)
    np.testing.assert_array_equal(one[:4], alone)


def test_other_seeds_give_other_forests(problem):
    first, second = (
        MaxMarginIntervalForest(n_estimators=2, random_state=seed).fit(*problem) for seed in (0, 1)
    )
    assert tables(first) != tables(second)


def test_a_generator_as_seed_moves_on(problem):
    forest = MaxMarginIntervalForest(n_estimators=2, random_state=np.random.RandomState(0))
    assert tables(forest.fit(*problem)) != tables(forest.fit(*problem))


def test_a_pickled_forest_predicts_the_same_bits(problem):
    forest = MaxMarginIntervalForest(n_estimators=3, random_state=0).fit(*problem)
    loaded = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(loaded.predict(problem[0]), forest.predict(problem[0]))
    assert [rows.tolist() for rows in loaded.estimators_samples_] == [
        s.tolist() for s in forest.estimators_samples_
    ]


# Every tree is the tree of its rows.


@pytest.mark.filterwarnings("ignore:y. .* carry no information")
@given(problem=tree_problems(), loss=losses, margin=margins)
def test_one_tree_on_all_rows_and_features_is_the_tree(problem, loss, margin):
    tree = MaxMarginIntervalTree(loss=loss, margin=margin)
    forest = MaxMarginIntervalForest(
        1, loss=loss, margin=margin, bootstrap=False, max_features=None
    )
    tree.fit(problem.X, problem.y, problem.sample_weight)
    forest.fit(problem.X, problem.y, problem.sample_weight)
    expected, grown = tree.tree_, forest.estimators_[0].tree_
    np.testing.assert_array_equal(grown.feature, expected.feature)
    np.testing.assert_array_equal(grown.threshold, expected.threshold)
    np.testing.assert_allclose(grown.value, expected.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(grown.impurity, expected.impurity, rtol=1e-7, atol=1e-7)


@pytest.mark.filterwarnings("ignore:y. .* carry no information")
@given(
    problem=tree_problems(weights=no_weights),
    loss=losses,
    margin=margins,
    seed=st.integers(0, 1000),
)
def test_a_draw_is_the_same_as_its_rows_repeated(problem, loss, margin, seed):
    """Both trees have least cost in every node; where splits tie, rounding may choose."""
    options = {"loss": loss, "margin": margin, "max_depth": 1}
    forest = MaxMarginIntervalForest(1, max_features=None, random_state=seed, **options).fit(
        problem.X, problem.y
    )
    rows = forest.estimators_samples_[0]
    if not np.isfinite(problem.y[rows]).any():
        assert forest.estimators_[0].get_n_leaves() == 1
        return
    repeated = MaxMarginIntervalTree(**options).fit(problem.X[rows], problem.y[rows]).tree_
    drawn = forest.estimators_[0].tree_
    np.testing.assert_allclose(drawn.weighted_n_node_samples[0], len(rows))
    np.testing.assert_allclose(drawn.value[0], repeated.value[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(drawn.impurity[0], repeated.impurity[0], rtol=1e-9, atol=1e-9)
    leaves = [tree.impurity[tree.children_left == -1].sum() for tree in (drawn, repeated)]
    np.testing.assert_allclose(*leaves, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "options",
    [
        {"max_features": 2},
        {"max_features": "sqrt", "max_leaf_nodes": 6},
        {"max_samples": 0.4, "min_samples_leaf": 0.1, "min_impurity_decrease": 0.02},
        {"ccp_alpha": 0.05, "max_depth": 4, "min_samples_split": 6},
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_tree_is_one_fitted_alone_with_the_weights_of_its_draw(problem, loss, options):
    X, y = problem
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y))
    forest = MaxMarginIntervalForest(4, loss=loss, margin=0.1, random_state=5, **options).fit(
        X, y, weight
    )
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=len(y))
        alone = clone(tree).fit(X, y, counts * weight)
        assert alone.max_features_ == tree.max_features_
        np.testing.assert_array_equal(alone.tree_.feature, tree.tree_.feature)
        np.testing.assert_array_equal(alone.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_allclose(alone.predict(X), tree.predict(X), rtol=1e-9)


def test_weights_of_zero_leave_rows_out(problem):
    X, y = problem
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    forest = MaxMarginIntervalForest(3, bootstrap=False, random_state=0)
    left_out = clone(forest).fit(X[weight > 0], y[weight > 0]).predict(X)
    np.testing.assert_allclose(forest.fit(X, y, weight).predict(X), left_out, rtol=1e-9)


def test_a_tree_that_draws_no_limit_predicts_the_best_constant_of_all_rows():
    X, y = np.arange(5.0)[:, None], np.array([[3.0, 5.0], [7.0, 9.0], *3 * [[-np.inf, np.inf]]])
    with pytest.warns(UserWarning, match="carry no information"):
        forest = MaxMarginIntervalForest(30, max_samples=1, random_state=0).fit(X, y)
    assert {tree.tree_.value[0, 0, 0] for tree in forest.estimators_} == {4.0, 8.0, 6.0}


# Draws.


@pytest.mark.parametrize(
    ("max_samples", "n_draws"), [(None, 60), (1.0, 60), (0.5, 30), (7, 7), (90, 90), (1e-9, 1)]
)
def test_a_tree_draws_as_many_rows_as_asked_for(problem, max_samples, n_draws):
    forest = MaxMarginIntervalForest(3, max_depth=1, max_samples=max_samples, random_state=0).fit(
        *problem
    )
    assert [len(rows) for rows in forest.estimators_samples_] == 3 * [n_draws]
    roots = [tree.tree_.nodes[0] for tree in forest.estimators_]
    assert [root["weighted_n_node_samples"] for root in roots] == 3 * [n_draws]
    assert [root["n_node_samples"] for root in roots] == [
        len(set(rows)) for rows in forest.estimators_samples_
    ]


def test_without_bootstrap_every_tree_has_every_row_once(problem):
    forest = MaxMarginIntervalForest(2, max_depth=1, bootstrap=False, random_state=0).fit(*problem)
    for rows in forest.estimators_samples_:
        np.testing.assert_array_equal(rows, np.arange(60))


def test_the_draws_of_a_fitted_forest_do_not_follow_its_parameters(problem):
    forest = MaxMarginIntervalForest(2, max_depth=1, max_samples=10, random_state=0).fit(*problem)
    before = [rows.tolist() for rows in forest.estimators_samples_]
    forest.set_params(max_samples=None)
    assert [rows.tolist() for rows in forest.estimators_samples_] == before


# Predictions.


def test_the_prediction_is_the_mean_or_the_median_of_the_trees(problem):
    X, y = problem
    forest = MaxMarginIntervalForest(4, random_state=0).fit(X, y)
    single = [tree.predict(X) for tree in forest.estimators_]
    np.testing.assert_allclose(forest.predict(X), np.mean(single, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(
        forest.set_params(aggregation="median").predict(X), np.median(single, axis=0)
    )


@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.integers(0, 2**18 - 1),
    st.sampled_from(["mean", "median"]),
)
def test_absent_predictions_do_not_count(rows, absent_bits, aggregation):
    predictions = np.array(rows, dtype=float)
    absent = (
        (absent_bits >> np.arange(predictions.size) & 1).astype(bool).reshape(predictions.shape)
    )
    combined = aggregate(predictions.copy(), absent, aggregation)
    for column in range(3):
        present = predictions[~absent[:, column], column]
        expected = getattr(np, aggregation)(present) if len(present) else np.nan
        np.testing.assert_allclose(combined[column], expected, rtol=1e-12)


def test_apply_gives_the_leaf_of_every_tree(problem):
    X, y = problem
    forest = MaxMarginIntervalForest(3, random_state=0).fit(X, y)
    expected = np.column_stack([tree.apply(X) for tree in forest.estimators_])
    np.testing.assert_array_equal(forest.apply(X), expected)


def test_importances_are_the_mean_of_the_trees_and_sum_to_one(problem):
    forest = MaxMarginIntervalForest(5, random_state=0).fit(*problem)
    mean = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, mean / mean.sum())
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1)
    assert np.argmax(forest.feature_importances_) == 0


def test_a_forest_of_roots_has_no_important_feature():
    forest = MaxMarginIntervalForest(2, random_state=0).fit(
        [[1.0], [2.0]], [[0.0, 1.0], [0.0, 1.0]]
    )
    assert forest.feature_importances_.tolist() == [0.0]


def test_names_of_features_reach_the_trees_and_are_checked(problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcde"))
    forest = MaxMarginIntervalForest(2, random_state=0).fit(frame, y)
    assert forest.estimators_[0].feature_names_in_.tolist() == list("abcde")
    assert np.isfinite(forest.predict(frame)).all()
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(frame[list("edcba")])


# Out of bag.


@pytest.mark.parametrize("aggregation", ["mean", "median"])
@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_bag_predictions_are_those_of_the_trees_that_did_not_draw_a_row(
    problem, aggregation, weighted
):
    X, y = problem
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    forest = MaxMarginIntervalForest(
        20, aggregation=aggregation, max_samples=40, oob_score=True, random_state=1
    )
    forest.fit(X, y, weight)
    trees = list(zip(forest.estimators_, forest.estimators_samples_, strict=True))
    for row in range(len(y)):
        values = [tree.predict(X[[row]])[0] for tree, rows in trees if row not in rows]
        np.testing.assert_allclose(
            forest.oob_prediction_[row], getattr(np, aggregation)(values), rtol=1e-12
        )
    expected = interval_d2_score(y, forest.oob_prediction_, sample_weight=weight)
    assert forest.oob_score_ == pytest.approx(expected)


def test_rows_that_every_tree_drew_have_no_out_of_bag_prediction(problem):
    X, y = problem
    with pytest.warns(UserWarning, match=r"oob_score: \d+ of 60 rows were drawn by every tree"):
        forest = MaxMarginIntervalForest(1, oob_score=True, random_state=0).fit(X, y)
    drawn = np.isin(np.arange(60), forest.estimators_samples_[0])
    np.testing.assert_array_equal(np.isnan(forest.oob_prediction_), drawn)
    assert forest.oob_score_ == pytest.approx(
        interval_d2_score(y[~drawn], forest.oob_prediction_[~drawn])
    )


def test_a_forest_without_out_of_bag_rows_has_no_score():
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        forest = MaxMarginIntervalForest(2, oob_score=True).fit([[1.0]], [[0.0, 1.0]])
    assert np.isnan(forest.oob_score_)


# Warm start.


@pytest.mark.parametrize("oob_score", [False, True])
def test_adding_trees_gives_the_forest_grown_at_once(problem, oob_score):
    forest = MaxMarginIntervalForest(
        30, max_samples=30, oob_score=oob_score, warm_start=True, random_state=0
    )
    forest.fit(*problem)
    first = forest.estimators_[0]
    forest.set_params(n_estimators=40).fit(*problem)
    at_once = clone(forest).fit(*problem)
    assert forest.estimators_[0] is first
    assert tables(forest) == tables(at_once)
    assert [s.tolist() for s in forest.estimators_samples_] == [
        s.tolist() for s in at_once.estimators_samples_
    ]
    if oob_score:
        np.testing.assert_array_equal(forest.oob_prediction_, at_once.oob_prediction_)


def test_a_warm_start_without_more_trees_keeps_the_forest(problem):
    forest = MaxMarginIntervalForest(2, warm_start=True, random_state=0).fit(*problem)
    before = tables(forest)
    assert tables(forest.fit(*problem)) == before


def test_a_warm_start_with_fewer_trees_is_refused(problem):
    forest = MaxMarginIntervalForest(3, max_depth=1, warm_start=True).fit(*problem)
    with pytest.raises(ValueError, match="n_estimators: expected at least the 3 trees"):
        forest.set_params(n_estimators=2).fit(*problem)


def test_a_warm_start_on_other_rows_has_no_out_of_bag_score(problem):
    X, y = problem
    forest = MaxMarginIntervalForest(3, max_depth=1, warm_start=True).fit(X, y)
    forest.set_params(n_estimators=4).fit(X[:50], y[:50])
    assert [rows.max() < 50 for rows in forest.estimators_samples_] == [False, False, False, True]
    with pytest.raises(ValueError, match="another number of rows"):
        forest.set_params(n_estimators=5, oob_score=True).fit(X, y)
    assert len(forest.estimators_) == 4


# Tuning.


@pytest.mark.parametrize("weighted", [False, True])
def test_a_search_takes_the_candidate_of_least_out_of_bag_error(problem, weighted):
    X, y = problem
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    search = IntervalSearchCV(
        MaxMarginIntervalForest(15, max_samples=40), {"min_samples_leaf": [1, 4]}, random_state=2
    )
    search.fit(X, y, weight)
    candidates = list(product(LOSSES, margin_grid(y, 7).tolist(), [1, 4]))
    errors = []
    for loss, margin, leaf in candidates:
        alone = MaxMarginIntervalForest(
            15,
            loss=loss,
            margin=margin,
            min_samples_leaf=leaf,
            max_samples=40,
            oob_score=True,
            random_state=2,
        ).fit(X, y, weight)
        errors.append(interval_mean_squared_error(y, alone.oob_prediction_, sample_weight=weight))
    results = search.cv_results_
    found = zip(
        results["param_loss"],
        results["param_margin"],
        results["param_min_samples_leaf"],
        strict=True,
    )
    assert list(found) == candidates
    np.testing.assert_allclose(results["mean_test_score"], np.negative(errors))
    assert tuple(search.best_params_.values()) == candidates[int(np.argmin(errors))]
    assert tables(clone(search.best_estimator_).fit(X, y, weight)) == tables(search.best_estimator_)
    assert search.best_estimator_.random_state == 2


def test_a_search_logs_candidates_and_no_trees(problem, caplog):
    search = IntervalSearchCV(
        MaxMarginIntervalForest(20),
        {"loss": ["squared_hinge"], "margin": [0.0, 0.2]},
        verbose=1,
        random_state=0,
    )
    with caplog.at_level("INFO", logger="marginwood"):
        search.fit(*problem)
    assert caplog.messages == ["cross-validation: 1 of 2", "cross-validation: 2 of 2"]


def test_a_search_takes_single_values_for_losses_and_margins(problem):
    search = IntervalSearchCV(
        MaxMarginIntervalForest(5, max_samples=30),
        {"margin": [0.1], "loss": ["linear_hinge"], "max_features": ["sqrt", None]},
        random_state=0,
    ).fit(*problem)
    assert search.cv_results_["param_max_features"].tolist() == ["sqrt", None]
    assert set(search.cv_results_["param_margin"]) == {0.1}
    assert search.best_params_.keys() == {"loss", "margin", "max_features"}


# Parameters, memory, progress.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators: expected an integer >= 1, got 0"),
        ({"n_estimators": 2.5}, TypeError, "n_estimators"),
        ({"n_estimators": True}, TypeError, "n_estimators"),
        ({"aggregation": "mode"}, ValueError, "aggregation: expected one of .*, got 'mode'"),
        ({"max_samples": 0}, ValueError, "max_samples"),
        ({"max_samples": 1.5}, ValueError, "max_samples"),
        ({"max_samples": np.nan}, ValueError, "max_samples"),
        ({"max_samples": "half"}, TypeError, "max_samples"),
        ({"bootstrap": False, "max_samples": 5}, ValueError, "max_samples: nothing is drawn"),
        ({"bootstrap": False, "oob_score": True}, ValueError, "oob_score: every tree has all rows"),
        ({"loss": "hinge"}, ValueError, "loss"),
        ({"margin": -1}, ValueError, "margin"),
        ({"max_features": 0}, ValueError, "max_features"),
        ({"min_samples_leaf": 0}, ValueError, "min_samples_leaf"),
        ({"ccp_alpha": -1.0}, ValueError, "ccp_alpha"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(problem, options, error, message):
    with pytest.raises(error, match=message):
        MaxMarginIntervalForest(**{"n_estimators": 2, **options}).fit(*problem)


def test_trees_hold_their_node_tables_and_nothing_of_the_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 8)), np.sort(rng.normal(size=(2000, 2)), axis=1)
    forest = MaxMarginIntervalForest(
        1, max_depth=1, max_features=1, warm_start=True, random_state=0
    ).fit(X, y)
    tracemalloc.start()
    try:
        forest.set_params(n_estimators=31).fit(X, y)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Beside the leaf of every row, for distributions, all thirty trees take less than one copy of
    # X; pickled, less than one copy of its orders, beside the target and the weights.
    of_leaves = 4 * len(X) * forest.n_estimators
    assert held < X.nbytes + of_leaves
    assert len(pickle.dumps(forest)) < X.nbytes / 2 + of_leaves + y.nbytes + 8 * len(X)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_bar_counts_the_trees_on_a_terminal_when_asked_for(problem, verbose, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(marginwood._support.progress.sys, "stderr", terminal)
    MaxMarginIntervalForest(4, max_depth=1, verbose=verbose, random_state=0).fit(*problem)
    assert ("4/4" in terminal.getvalue()) == bool(verbose)


def test_a_signal_in_one_of_many_features_is_found_by_trees_that_try_all():
    X, y = make_sine(200, 20, random_state=0)
    X_new, y_new = make_sine(300, 20, random_state=1)
    forest = MaxMarginIntervalForest(60, random_state=0).fit(X, y)
    assert forest.max_features_ == 20
    third = MaxMarginIntervalForest(60, max_features=1 / 3, random_state=0).fit(X, y)
    assert third.max_features_ == 6
    assert 1 - forest.score(X_new, y_new) < 0.5 * (1 - third.score(X_new, y_new))


def test_where_all_features_matter_a_third_is_tried():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 9))
    target = X.sum(axis=1)
    assert MaxMarginIntervalForest(30, random_state=0).fit(X, target).max_features_ == 3


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_features", [9, 30])
def test_the_forest_is_the_one_with_the_number_of_features_that_was_chosen(n_features, n_jobs):
    X, y = make_sine(120, n_features, random_state=2)
    forest = MaxMarginIntervalForest(25, n_jobs=n_jobs, random_state=3).fit(X, y)
    same = MaxMarginIntervalForest(25, max_features=forest.max_features_, random_state=3).fit(X, y)
    assert (forest.predict(X) == same.predict(X)).all()


def test_a_warm_start_keeps_the_number_of_features():
    X, y = make_sine(200, 20, random_state=0)
    forest = MaxMarginIntervalForest(25, warm_start=True, random_state=0).fit(X, y)
    chosen = forest.max_features_
    assert chosen == 20
    grown = forest.set_params(n_estimators=30).fit(X, y)
    assert grown.max_features_ == chosen
    assert {tree.max_features_ for tree in grown.estimators_} == {chosen}


def test_of_many_rows_few_choose(monkeypatch):
    X, y = make_sine(300, 20, random_state=0)
    forest = MaxMarginIntervalForest(25, random_state=0).fit(X, y)
    monkeypatch.setattr(marginwood._trees.bagging, "MOST_PILOT_ROWS", 150)
    other = MaxMarginIntervalForest(25, random_state=0).fit(X, y)
    assert other.max_features_ == forest.max_features_ == 20
    assert (other.predict(X) == forest.predict(X)).all()


def test_few_trees_try_a_third_of_the_features():
    X, y = make_sine(200, 20, random_state=0)
    assert MaxMarginIntervalForest(24, random_state=0).fit(X, y).max_features_ == 6


def test_without_rows_out_of_bag_a_third_of_the_features_is_tried():
    X, y = make_sine(100, 20, random_state=0)
    forest = MaxMarginIntervalForest(3, bootstrap=False, random_state=0).fit(X, y)
    assert forest.max_features_ == 6
