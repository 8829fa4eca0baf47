"""Scorers of searches: by name, of scikit-learn, of the user, and what they may look at."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import make_scorer

import marginwood._searchable
import marginwood._trees.forest
from marginwood import (
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
)
from marginwood._base import Rows
from marginwood.metrics import get_scorer, interval_mean_absolute_error, interval_mean_squared_error
from searches import (
    FakePath,
    assert_same_results,
    every_search,
    make_problem,
    make_search,
    split_scores,
)


@every_search
@pytest.mark.parametrize(
    ("name_of_scorer", "metric"),
    [
        ("neg_interval_mean_squared_error", interval_mean_squared_error),
        ("neg_interval_mean_absolute_error", interval_mean_absolute_error),
    ],
)
def test_an_equal_scorer_of_the_user_is_as_fast_and_gives_the_same_bits(
    name, name_of_scorer, metric, monkeypatch
):
    X, y = make_problem()
    calls = []

    def count_calls(*args, **kwargs):
        calls.append(args)
        return score_prediction(*args, **kwargs)

    score_prediction = marginwood._searchable.score_prediction
    for module in (marginwood._searchable, marginwood._trees.outofbag):
        monkeypatch.setattr(module, "score_prediction", count_calls)
    by_name = make_search(name, scoring=name_of_scorer).fit(X, y)
    of_user = make_search(name, scoring=make_scorer(metric, greater_is_better=False)).fit(X, y)
    assert not calls
    assert_same_results(by_name, of_user)
    by_function = make_search(name, scoring=lambda model, X, y: -metric(y, model.predict(X))).fit(
        X, y
    )
    assert calls
    np.testing.assert_allclose(
        by_function.cv_results_["mean_test_score"], by_name.cv_results_["mean_test_score"]
    )


@every_search
def test_models_that_a_scorer_keeps_are_as_if_fitted_by_the_user(name):
    X, y = make_problem()
    kept = []

    def keep(model, X, y):
        kept.append((model, model.predict(X), X))
        return -interval_mean_squared_error(y, model.predict(X))

    make_search(name, scoring=keep).fit(X, y)
    assert kept
    for model, prediction, rows in kept:
        assert "predict" not in vars(model)
        if name != "out of bag":
            np.testing.assert_allclose(model.predict(rows), prediction, rtol=1e-9, atol=1e-9)


@every_search
def test_a_scorer_that_does_not_return_a_number_is_refused(name):
    X, y = make_problem()
    with pytest.raises(
        TypeError, match=r"scoring: expected a scorer that returns a number, got \{'mse': 1\}"
    ):
        make_search(name, scoring=lambda *_: {"mse": 1}).fit(X, y)


@every_search
def test_without_any_score_the_simplest_candidate_is_taken_with_a_warning(name):
    X, y = make_problem()
    with pytest.warns(UserWarning, match="scoring: the score of every candidate is NaN"):
        search = make_search(name, scoring=lambda *_: np.nan).fit(X, y)
    assert np.isnan(search.best_score_)
    assert set(search.cv_results_["rank_test_score"]) == {1}


@every_search
def test_a_candidate_whose_score_is_not_a_number_ranks_last(name):
    X, y = make_problem()
    by_name = make_search(name).fit(X, y)
    unknown = iter([np.nan])

    def scorer(model, X, y):
        return next(unknown, -interval_mean_squared_error(y, model.predict(X)))

    search = make_search(name, scoring=scorer).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    is_unknown = np.isnan(scores)
    assert 1 <= is_unknown.sum() < len(scores)
    np.testing.assert_allclose(
        scores[~is_unknown], by_name.cv_results_["mean_test_score"][~is_unknown]
    )
    assert set(search.cv_results_["rank_test_score"][is_unknown]) == {(~is_unknown).sum() + 1}
    assert search.best_score_ == np.nanmax(scores)


@pytest.mark.parametrize(
    ("errors", "patience", "expected", "n_scored"),
    [
        ([4, 3, 2, 3, 4, 1, 9], None, [4, 3, 2, 3, 4, 1, 9], 7),
        ([4, 3, 2, 3, 4, 1, 9], 2, [4, 3, 2, 3, 4, 4, 4], 5),
        ([4, 3, 2, 3, 4, 1, 9], 3, [4, 3, 2, 3, 4, 1, 9], 7),
        ([4, 4, 4, 1], 2, [4, 4, 4, 4], 3),
        ([1, 2], 2, [1, 2], 2),
    ],
)
def test_the_rest_of_a_path_counts_as_the_last_model_that_was_scored(
    errors, patience, expected, n_scored
):
    path = FakePath(errors, patience)
    test = Rows(np.zeros((2, 1)), np.zeros((2, 2)), np.ones(2))
    scores = path.scores(test, get_scorer("neg_interval_mean_absolute_error"), weighted=False)
    assert (-scores).tolist() == expected
    assert path.n_predicted == n_scored


def test_scores_that_are_not_numbers_do_not_end_a_path_that_gets_better():
    path = FakePath([9, 8, 7, 6, 5], 2)
    test = Rows(np.zeros((2, 1)), np.zeros((2, 2)), np.ones(2))

    def nan_at_first(model, X, _):
        error = model.predict(X)[0]
        return np.nan if error > 7 else -error

    assert path.scores(test, nan_at_first, weighted=False)[2:].tolist() == [-7, -6, -5]


def test_patience_ends_the_stages_of_a_fold_and_not_those_of_the_best_estimator():
    X, y = make_problem()
    booster = MaxMarginIntervalBoosting(60, learning_rate=1.0, subsample=1.0)
    grid = {"loss": ["squared_hinge"], "margin": [0.0], "max_depth": [5], "max_features": [None]}
    patient, hasty = (
        IntervalSearchCV(clone(booster).set_params(n_iter_no_change=n), grid, cv=3).fit(X, y)
        for n in (None, 5)
    )
    for whole, ended in zip(split_scores(patient), split_scores(hasty), strict=True):
        last = next(step for step in range(60) if step - whole[: step + 1].argmax() == 5)
        assert last < 59
        np.testing.assert_array_equal(ended[: last + 1], whole[: last + 1])
        assert set(ended[last:]) == {whole[last]}
    assert hasty.best_estimator_.n_estimators_ == hasty.best_params_["n_estimators"]
    assert hasty.best_estimator_.n_iter_no_change is None


def test_some_numbers_of_stages_are_scored_as_among_all():
    X, y = make_problem()
    every = make_search("boosting").fit(X, y)
    some = make_search("boosting", {"n_estimators": [4, 2]}, estimator__n_estimators=3).fit(X, y)
    is_some = np.isin(every.cv_results_["param_n_estimators"], [2, 4])
    np.testing.assert_array_equal(split_scores(some), split_scores(every)[:, is_some])
    assert set(some.cv_results_["param_n_estimators"]) == {2, 4}


def test_boosting_tries_depths_and_shares_of_the_features_unless_they_are_given():
    X, y = make_problem()
    grid = {"loss": ["squared_hinge"], "margin": [0.0]}
    settings = {"cv": 2, "random_state": 0}
    booster = MaxMarginIntervalBoosting(3)
    free = IntervalSearchCV(booster, grid, **settings).fit(X, y).cv_results_
    assert set(zip(free["param_max_depth"], free["param_max_features"], strict=True)) == {
        (depth, share) for depth in (2, 4) for share in (None, 1 / 3)
    }
    grid |= {"max_depth": [1], "max_features": [None], "subsample": [0.5, 1.0]}
    given = IntervalSearchCV(booster, grid, **settings).fit(X, y)
    assert given.best_estimator_.max_depth == 1
    assert set(given.cv_results_["param_subsample"]) == {0.5, 1.0}
    assert given.best_estimator_.subsample == given.best_params_["subsample"]


def test_boosting_is_searched_behind_a_first_model():
    X, y = make_problem()
    first = L1IntervalRegression(alpha=0.01)
    grid = {"loss": ["squared_hinge"], "margin": [0.1], "max_depth": [2], "max_features": [None]}
    booster = MaxMarginIntervalBoosting(4, init=first, subsample=1.0)
    search = IntervalSearchCV(booster, grid, cv=2).fit(X, y)
    n_stages = search.best_params_["n_estimators"]
    expected = MaxMarginIntervalBoosting(
        n_stages, init=first, margin=0.1, max_depth=2, subsample=1.0, n_iter_no_change=None
    ).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), expected.predict(X))
