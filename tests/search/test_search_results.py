"""Scores of searches are those of a literal cross-validation, whatever way they are found in."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, LeaveOneOut, cross_val_score

import marginwood._searchable
import marginwood._trees.forest
from marginwood import (
    CensoringStratifiedKFold,
    IntervalSearchCV,
    MaxMarginIntervalForest,
    RepeatedCensoringStratifiedKFold,
)
from marginwood.metrics import get_scorer
from searches import (
    assert_same_results,
    every_folded_search,
    every_search,
    looks_inside,
    make_problem,
    make_search,
    parameters_of,
    split_scores,
)


@every_search
def test_results_have_one_shape(name):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    results = search.cv_results_
    n_candidates = len(results["mean_test_score"])
    assert n_candidates > 1
    assert all(len(column) == n_candidates for column in results.values())
    np.testing.assert_allclose(
        results["mean_test_score"], split_scores(search).mean(axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(
        results["std_test_score"], split_scores(search).std(axis=0), atol=1e-12
    )
    assert results["rank_test_score"].dtype == np.int32
    assert results["rank_test_score"].min() == 1
    assert results["rank_test_score"][search.best_index_] == 1
    assert (
        search.best_score_
        == results["mean_test_score"][search.best_index_]
        == results["mean_test_score"].max()
    )
    assert search.best_params_ == parameters_of(search)[search.best_index_]
    assert search.best_params_.items() <= search.best_estimator_.get_params().items()
    assert search.n_splits_ == (1 if name == "out of bag" else 3)
    alone = clone(search.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), search.predict(X))
    assert search.score(X, y) == alone.score(X, y)


@every_folded_search
@pytest.mark.parametrize(
    "scoring", ["neg_interval_mean_absolute_error", "interval_d2", looks_inside]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_a_literal_cross_validation(name, scoring, weighted):
    X, y = make_problem()
    weight = np.random.default_rng(0).uniform(0.2, 3, size=len(y)) if weighted else None
    search = make_search(name, scoring=scoring).fit(X, y, weight)
    scorer = get_scorer(scoring)
    for candidate, found in zip(parameters_of(search), split_scores(search).T, strict=True):
        model = clone(search.best_estimator_).set_params(**candidate)
        for (train, test), score in zip(
            CensoringStratifiedKFold(3).split(X, y), found, strict=True
        ):
            model.fit(X[train], y[train], weight if weight is None else weight[train])
            part = {} if weight is None else {"sample_weight": weight[test]}
            assert score == pytest.approx(
                scorer(model, X[test], y[test], **part), rel=1e-5, abs=1e-7
            )


@every_folded_search
def test_the_best_score_is_what_scikit_learn_says_of_the_best_estimator(name):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    scorer = get_scorer("neg_interval_mean_squared_error")
    scores = cross_val_score(
        search.best_estimator_, X, y, cv=CensoringStratifiedKFold(3), scoring=scorer
    )
    assert search.best_score_ == pytest.approx(scores.mean(), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("aggregation", ["mean", "median"])
@pytest.mark.parametrize(
    "scoring", ["neg_interval_mean_squared_error", "interval_concordance_index"]
)
def test_out_of_bag_scores_are_those_of_a_plain_forest_of_the_same_seed(
    weighted, aggregation, scoring
):
    X, y = make_problem()
    weight = (
        np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float) if weighted else None
    )
    search = make_search(
        "out of bag", scoring=scoring, estimator__aggregation=aggregation, random_state=7
    ).fit(X, y, weight)
    metric = get_scorer(scoring)._score_func
    for candidate, found in zip(
        parameters_of(search), search.cv_results_["mean_test_score"], strict=True
    ):
        forest = MaxMarginIntervalForest(
            12, aggregation=aggregation, oob_score=True, random_state=7, **candidate
        )
        with np.errstate(all="raise"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                marginwood._trees.forest, "warn", lambda _: None
            )  # rows that every tree drew
            forest.fit(X, y, weight)
        known = ~np.isnan(forest.oob_prediction_) & (True if weight is None else weight > 0)
        part = {} if weight is None else {"sample_weight": weight[known]}
        error = metric(y[known], forest.oob_prediction_[known], **part)
        assert found == pytest.approx(error * get_scorer(scoring)._sign)


def test_a_score_of_the_out_of_bag_rows_may_look_into_the_forest():
    X, y = make_problem()
    search = make_search("out of bag", scoring=looks_inside, estimator__n_estimators=30).fit(X, y)
    forest = clone(search.best_estimator_).set_params(oob_score=True).fit(X, y)
    prediction = forest.oob_prediction_
    errors = (prediction - np.clip(prediction, *y.T)) ** 2
    expected = -errors.mean() - 1e-3 * 30 + 1e-2 * forest.predict(X + 1.0).mean()
    assert search.best_score_ == pytest.approx(expected)


def test_counts_and_shares_stay_apart():
    X, y = make_problem()
    search = make_search("out of bag").fit(X, y)
    assert [repr(value) for value in search.cv_results_["param_max_features"]] == ["1", "1.0"] * 2
    assert len(np.unique(search.cv_results_["mean_test_score"])) == 4
    best = search.best_params_["max_features"]
    assert search.best_estimator_.estimators_[0].max_features_ == {"1": 1, "1.0": 3}[repr(best)]


def test_candidates_of_a_forest_draw_the_same_rows():
    X, y = make_problem()
    search = IntervalSearchCV(
        MaxMarginIntervalForest(4, max_features=None),
        {"loss": ["squared_hinge"], "margin": [0.0, 0.0, 0.0]},
    ).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) == 1


@every_folded_search
def test_no_cv_is_five_stratified_folds_dealt_out_three_times_for_trees_and_none_for_forests(name):
    X, y = make_problem()
    search = (
        make_search(name, cv=None, estimator__n_estimators=30)
        if name == "forest"
        else (make_search(name, cv=None))
    )
    repeated = RepeatedCensoringStratifiedKFold(5, n_repeats=3, random_state=0)
    folds, n_splits = {"tree": (repeated, 15), "forest": ("oob", 1)}.get(name, (5, 5))
    assert search.fit(X, y).n_splits_ == n_splits
    assert_same_results(search, clone(search).set_params(cv=folds).fit(X, y))


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_with_groups_no_cv_is_five_folds_of_groups(name):
    X, y = make_problem()
    groups = np.arange(len(y)) % 7
    search = make_search(name, cv=None).fit(X, y, groups=groups)
    assert_same_results(
        search, make_search(name, cv=list(GroupKFold(5).split(X, y, groups))).fit(X, y)
    )


@every_search
def test_threads_change_nothing(name):
    X, y = make_problem()
    assert_same_results(make_search(name).fit(X, y), make_search(name, n_jobs=3).fit(X, y))


def test_the_best_forest_has_the_threads_of_the_search():
    X, y = make_problem()
    assert make_search("out of bag", n_jobs=2).fit(X, y).best_estimator_.n_jobs == 2
    assert make_search("out of bag").fit(X, y).best_estimator_.n_jobs is None


def test_the_best_forest_is_grown_where_joblib_is_told_to(monkeypatch):
    X, y = make_problem()
    n_threads = []
    grow_trees = marginwood._trees.forest.grow_trees

    def record(*args):
        n_threads.append(joblib.effective_n_jobs(args[-1]))
        return grow_trees(*args)

    monkeypatch.setattr(marginwood._trees.forest, "grow_trees", record)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        make_search("out of bag").fit(X, y)
    assert n_threads == [1, 1, 1, 1, 2]  # the candidates side by side, then the best one


@every_search
def test_targets_whose_squared_errors_vanish_are_refused(name):
    X, y = make_problem()
    with pytest.raises(ValueError, match=r"^y: squared distances .* Multiply y"):
        make_search(name).fit(X, np.ldexp(y, -565))


def test_targets_whose_squared_errors_vanish_are_refused_though_no_fold_shows_it():
    X, y = make_problem(12)
    with pytest.raises(ValueError, match=r"^y: squared distances .* Multiply y"):
        make_search("cart", cv=LeaveOneOut()).fit(X, np.ldexp(y, -565))


@pytest.mark.parametrize("scoring", ["interval_d2", "neg_interval_mean_absolute_error"])
def test_targets_whose_squares_vanish_are_tuned_by_scores_without_squares(scoring):
    X, y = make_problem()
    grid = {"loss": ["linear_hinge"]}
    search = make_search("tree", grid, scoring=scoring).fit(X, y)
    same = make_search("tree", grid, scoring=scoring).fit(X, np.ldexp(y, -565))
    np.testing.assert_allclose(np.ldexp(same.predict(X), 565), search.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["forest", "out of bag", "boosting", "kernel", "cart"])
def test_a_random_state_that_is_used_up_gives_one_seed_to_all_candidates(name):
    X, y = make_problem()
    one, other = (
        make_search(name, random_state=np.random.RandomState(5)).fit(X, y) for _ in range(2)
    )
    assert_same_results(one, other)
    assert_same_results(
        one, make_search(name, random_state=one.best_estimator_.random_state).fit(X, y)
    )


@pytest.mark.parametrize("name", ["forest", "out of bag"])
def test_distributions_are_those_of_the_best_forest(name):
    X, y = make_problem()
    search = make_search(name)
    with pytest.raises(NotFittedError):
        search.predict_distribution(X)
    forest = search.fit(X, y).best_estimator_
    times = [-1.0, 0.0, 0.5]
    np.testing.assert_array_equal(
        search.predict_distribution(X).sf(times), forest.predict_distribution(X).sf(times)
    )
    np.testing.assert_array_equal(
        search.predict_survival_function(X, times), forest.predict_survival_function(X, times)
    )
    np.testing.assert_array_equal(
        search.predict_quantile(X, [0.1, 0.5]), forest.predict_quantile(X, [0.1, 0.5])
    )
    assert np.isfinite(get_scorer("neg_interval_log_loss")(search, X, y))


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_a_grid_takes_the_parameters_that_the_search_hands_on(name):
    X, y = make_problem()
    search = make_search(
        name, grid={"anchor": np.array([0.0, 4.0]), "max_features": (None, "sqrt")}
    ).fit(X, y)
    candidates = {
        (candidate["anchor"], candidate["max_features"]) for candidate in parameters_of(search)
    }
    assert candidates == {(0.0, None), (0.0, "sqrt"), (4.0, None), (4.0, "sqrt")}
    assert make_search(name, estimator__anchor=4.0).fit(X, y).best_estimator_.anchor == 4.0
