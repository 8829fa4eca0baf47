"""What all estimators that tune themselves promise: scores of a literal cross-validation, found in whatever way."""

import json
import signal
import threading
from contextlib import contextmanager
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood._paths
import marginwood._trees.forest
from marginwood import (
    CensoredLinearRegression,
    CensoringStratifiedKFold,
    IntervalCART,
    IntervalSearchCV,
    KernelIntervalRegression,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    RepeatedCensoringStratifiedKFold,
    TransformationTree,
)
from marginwood._base import Rows
from marginwood._paths import ModelPath, Searchable
from marginwood._resampling.folds import Fold
from marginwood._tuning.search import Point, Trial, score_paths
from marginwood.datasets import make_sine
from marginwood.metrics import get_scorer, interval_mean_absolute_error, interval_mean_squared_error

SEARCHES = {
    "tree": IntervalSearchCV(
        MaxMarginIntervalTree(max_depth=3), {"margin": 2, "anchor": [0.0, 2.0]}, cv=3
    ),
    "forest": IntervalSearchCV(
        MaxMarginIntervalForest(6),
        {"loss": ["squared_hinge"], "margin": 2, "min_samples_leaf": [1, 5]},
        cv=3,
        random_state=0,
    ),
    "out of bag": IntervalSearchCV(
        MaxMarginIntervalForest(12),
        {"loss": ["linear_hinge"], "margin": 2, "max_features": [1, 1.0]},
        random_state=0,
    ),
    "boosting": IntervalSearchCV(
        MaxMarginIntervalBoosting(5, subsample=0.7),
        {"loss": ["squared_hinge"], "margin": 2, "max_depth": [1, 2]},
        cv=3,
        random_state=0,
    ),
    "linear": IntervalSearchCV(
        L1IntervalRegression(tol=1e-12), {"margin": [0.0, 0.2], "alpha": 6}, cv=3
    ),
    "kernel": IntervalSearchCV(
        KernelIntervalRegression(n_components=20),
        {"margin": [0.0, 0.2], "length_scale": [1.0, 2.0], "alpha": [1e-1, 1e-3, 1e-5]},
        cv=3,
        random_state=0,
    ),
    "cart": IntervalSearchCV(
        IntervalCART(max_depth=4), {"margin": [0.0, 0.2]}, cv=3, random_state=0
    ),
    "transformation": IntervalSearchCV(
        TransformationTree(min_samples_split=6, min_samples_leaf=3),
        {"significance": [0.9, 1e-6, 0.1]},
        cv=3,
    ),
    "likelihood": IntervalSearchCV(
        CensoredLinearRegression(), {"noise": ["normal", "logistic"]}, cv=3
    ),
}
FOLDED = [name for name in SEARCHES if name != "out of bag"]

every_search = pytest.mark.parametrize("name", SEARCHES)
every_folded_search = pytest.mark.parametrize("name", FOLDED)


def make_search(name, grid=(), **parameters):
    """A search of `SEARCHES` with other parameters, and with more in its grid."""
    search = clone(SEARCHES[name])
    return search.set_params(grid=search.grid | dict(grid), **parameters)


def make_problem(n=48):
    """Rows of every kind of censoring."""
    X, y = make_sine(n, 3, random_state=0)
    X[:, 1] += y[:, 0].clip(-1, 1)
    y[::7, 1] = y[::7, 0] = np.nan_to_num(y[::7, 0], neginf=0.0)
    return X, y


def parameters_of(search):
    """The parameters of every candidate, in the order of `cv_results_`."""
    columns = {
        name: column for name, column in search.cv_results_.items() if name.startswith("param_")
    }
    n_candidates = len(search.cv_results_["mean_test_score"])
    return [
        {name.removeprefix("param_"): column[[idx]].tolist()[0] for name, column in columns.items()}
        for idx in range(n_candidates)
    ]


def split_scores(search):
    """A row of scores per fold."""
    return np.array(
        [search.cv_results_[f"split{fold}_test_score"] for fold in range(search.n_splits_)]
    )


def assert_same_results(one, other):
    """The same bits, up to the predictions of the best estimator."""
    assert one.cv_results_.keys() == other.cv_results_.keys()
    for column, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, other.cv_results_[column])
    assert one.best_params_ == other.best_params_
    assert one.best_index_ == other.best_index_
    X, _ = make_problem()
    np.testing.assert_array_equal(one.best_estimator_.predict(X), other.best_estimator_.predict(X))


def looks_inside(model, X, y, sample_weight=None):
    """A scorer that looks at more than the predictions of the test rows."""
    errors = (model.predict(X) - np.clip(model.predict(X), *y.T)) ** 2
    size = sum(
        np.count_nonzero(getattr(model, name)) if name == "coef_" else len(getattr(model, name))
        for name in ("estimators_", "coef_")
        if hasattr(model, name)
    )
    if hasattr(model, "tree_"):
        size += model.tree_.n_leaves
    moved = model.predict(X + 1.0).mean()
    return -np.average(errors, weights=sample_weight) - 1e-3 * size + 1e-2 * moved


# Results.


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


# What the search hands on.


@pytest.mark.parametrize("name", ["forest", "out of bag", "boosting"])
def test_an_ensemble_is_read_through_its_search(name):
    X, y = make_problem()
    search = make_search(name)
    for method in ("apply", "predict"):
        with pytest.raises(NotFittedError):
            getattr(search, method)(X)
    search.fit(X, y)
    best = search.best_estimator_
    np.testing.assert_array_equal(search.apply(X), best.apply(X))
    np.testing.assert_array_equal(search.feature_importances_, best.feature_importances_)
    assert search.estimators_ is best.estimators_
    if name == "boosting":
        np.testing.assert_array_equal(list(search.staged_predict(X)), list(best.staged_predict(X)))
    else:
        assert not hasattr(search, "staged_predict")


@pytest.mark.parametrize("name", ["tree", "cart", "transformation"])
def test_a_tree_is_read_through_its_search(name):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    assert search.tree_ is search.best_estimator_.tree_
    np.testing.assert_array_equal(search.apply(X), search.best_estimator_.apply(X))
    assert search.get_n_leaves() == search.best_estimator_.get_n_leaves()
    assert not hasattr(search, "estimators_")
    assert not hasattr(search, "staged_predict")


def test_a_linear_model_is_read_through_its_search():
    X, y = make_problem()
    search = make_search("linear").fit(X, y)
    np.testing.assert_array_equal(search.coef_, search.best_estimator_.coef_)
    assert search.intercept_ == search.best_estimator_.intercept_
    for name in ("apply", "staged_predict", "estimators_", "feature_importances_"):
        assert not hasattr(search, name)


@every_search
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_names_of_columns_reach_the_best_estimator_and_its_trees(name, frame):
    X, y = make_problem()
    X = frame(dict(zip(["age", "dose", "mass"], X.T, strict=True)))
    search = make_search(name).fit(X, y)
    for model in (search, search.best_estimator_, *getattr(search, "estimators_", [])):
        assert model.feature_names_in_.tolist() == ["age", "dose", "mass"]
    np.testing.assert_array_equal(search.best_estimator_.predict(X), search.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        search.predict(X[["mass", "dose", "age"]])


# Scorers.


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

    score_prediction = marginwood._paths.score_prediction
    for module in (marginwood._paths, marginwood._trees.outofbag):
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


class FakePath(ModelPath):
    """Scores given in advance, as predictions of one row whose target is 0."""

    def __init__(self, errors, patience):
        super().__init__(np.arange(len(errors)), np.arange(len(errors)))
        self.errors = errors
        self.patience = patience
        self.n_predicted = 0

    def predictions(self, X):
        for error in self.errors:
            self.n_predicted += 1
            yield np.full(len(X), error)

    def model(self, _):
        return MaxMarginIntervalTree()


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


# Folds.


@every_folded_search
def test_groups_reach_the_splitter(name):
    X, y = make_problem()
    groups = np.arange(len(y)) // 6
    listed = list(GroupKFold(4).split(X, y, groups))
    expected = make_search(name, cv=listed).fit(X, y)
    assert_same_results(make_search(name, cv=GroupKFold(4)).fit(X, y, groups=groups), expected)
    assert_same_results(make_search(name, cv=4).fit(X, y, groups=groups), expected)


def test_groups_that_nobody_reads_are_warned_about():
    X, y = make_problem()
    with pytest.warns(UserWarning, match=r"groups: .* ignore.* GroupKFold"):
        make_search("out of bag", cv="oob").fit(X, y, groups=np.arange(len(y)))


@every_folded_search
def test_one_fold_has_no_standard_error(name):
    X, y = make_problem()
    fold = [(np.arange(30), np.arange(30, 48))]
    one_error = make_search(name, cv=fold, selection="1se").fit(X, y)
    assert one_error.n_splits_ == 1
    assert not one_error.cv_results_["std_test_score"].any()
    assert_same_results(one_error, make_search(name, cv=fold).fit(X, y))


def test_one_standard_error_takes_the_forest_of_fewest_leaves():
    X, y = make_problem()
    least = make_search("forest").fit(X, y)
    simplest = make_search("forest", selection="1se").fit(X, y)
    good = least.cv_results_["mean_test_score"] >= least.best_score_ - np.std(
        split_scores(least)[:, least.best_index_], ddof=1
    ) / np.sqrt(3)
    assert good.sum() > 1
    leaves = [
        sum(
            tree.get_n_leaves()
            for train, _ in CensoringStratifiedKFold(3).split(X, y)
            for tree in clone(least.best_estimator_)
            .set_params(**candidate)
            .fit(X[train], y[train])
            .estimators_
        )
        for candidate in parameters_of(least)
    ]
    assert leaves[simplest.best_index_] == min(np.array(leaves)[good])
    out_of_bag = make_search("out of bag", selection="1se").fit(X, y)
    assert out_of_bag.best_index_ == make_search("out of bag").fit(X, y).best_index_


@pytest.mark.parametrize("name", ["tree", "boosting", "linear", "kernel", "cart", "transformation"])
def test_a_row_of_weight_two_is_two_rows(name):
    X, y = make_problem()
    weight = np.random.default_rng(1).integers(1, 3, size=len(y))
    folds = list(KFold(3).split(X))
    row = np.repeat(np.arange(len(y)), weight)
    twice = [tuple(np.flatnonzero(np.isin(row, part)) for part in fold) for fold in folds]
    parameters = {"estimator__subsample": 1.0} if name == "boosting" else {}
    if name == "transformation":
        parameters = {"estimator__min_samples_split": 2, "estimator__min_samples_leaf": 1}
    if name == "cart":  # in small nodes splits are equally good, and rounding chooses
        parameters = {"estimator__max_depth": 2}
    if name == "kernel":  # all rows are landmarks, and no forest draws any
        parameters = {"estimator__n_components": 200, "grid": {"relevance": (0.0,)}}
    weighted = make_search(name, cv=folds, **parameters).fit(X, y, weight)
    repeated = make_search(name, cv=twice, **parameters).fit(X[row], y[row])
    for column in weighted.cv_results_:
        if column.endswith("score") and column != "rank_test_score":
            np.testing.assert_allclose(
                weighted.cv_results_[column], repeated.cv_results_[column], rtol=1e-5, atol=1e-8
            )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["tree", "boosting", "linear", "kernel", "cart", "transformation"])
def test_rows_of_weight_zero_count_as_absent(name):
    X, y = make_problem()
    weight = np.random.default_rng(2).integers(0, 3, size=len(y)).astype(float)
    kept = weight > 0
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    place = np.cumsum(kept) - 1
    left = [tuple(place[part[kept[part]]] for part in fold) for fold in folds]
    grid = {} if name in ("transformation", "likelihood") else {"margin": [0.0, 0.1]}
    with_zeros = make_search(name, grid, cv=folds).fit(X, y, weight)
    without = make_search(name, grid, cv=left).fit(X[kept], y[kept], weight[kept])
    if name == "linear":  # whose penalties depend on sums over all rows
        np.testing.assert_allclose(split_scores(with_zeros), split_scores(without), rtol=1e-9)
    else:
        assert_same_results(with_zeros, without)


class Recorder(Searchable):
    """An estimator whose rows are counted while they are prepared."""

    prepared = 0
    most = 0
    lock = threading.Lock()

    def _prepare(self, _):
        return Prepared(type(self))

    def _fit_path(self, *_):
        return FakePath([1.0], None)


class Prepared:
    def __init__(self, owner):
        self.owner = owner
        with owner.lock:
            owner.prepared += 1
            owner.most = max(owner.most, owner.prepared)

    def __del__(self):
        with self.owner.lock:
            self.owner.prepared -= 1


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_no_more_folds_are_prepared_than_there_are_threads(n_jobs):
    Recorder.most = 0
    rows = Rows(np.zeros((20, 1)), np.zeros((20, 2)), np.ones(20))
    scorer = get_scorer("neg_interval_mean_squared_error")
    folds = [Trial(Fold(rows, *split), rows, scorer) for split in KFold(10).split(rows.X)]
    points = [Point(Recorder(), {}, {}) for _ in range(3)]
    paths = score_paths(points, folds, n_jobs=n_jobs)
    assert len(paths) == 30
    assert 1 <= Recorder.most <= n_jobs
    assert Recorder.prepared == 0


# Interruptions.


def journal_pieces(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [(line["point"], line["fold"]) for line in lines if "point" in line]


@contextmanager
def recorded_pieces(monkeypatch):
    """The numbers of points that were scored, in a list."""
    found = []
    score = Trial.score

    def record(self, point):
        found.append(point)
        return score(self, point)

    with monkeypatch.context() as patch:
        patch.setattr(Trial, "score", record)
        yield found


def stops(model, X, y):
    """A scorer that fails once, in the middle of a search."""
    stops.n_left -= 1
    if stops.n_left == 0:
        raise KeyboardInterrupt
    return -interval_mean_squared_error(y, model.predict(X))


@every_search
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_that_was_stopped_goes_on_with_what_is_missing(
    name, n_jobs, tmp_path, monkeypatch
):
    X, y = make_problem()
    path = tmp_path / "journal"
    stops.n_left = -1
    whole = make_search(name, scoring=stops).fit(X, y)
    n_calls = -1 - stops.n_left
    stops.n_left = n_calls * 2 // 3
    search = make_search(name, scoring=stops, checkpoint=path, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "best_estimator_")
    done = journal_pieces(path)
    with recorded_pieces(monkeypatch) as scored:
        search.fit(X, y)
    assert_same_results(whole, search)
    pieces = journal_pieces(path)
    assert len(set(pieces)) == len(pieces)
    assert set(done) < set(pieces)
    assert len(scored) == len(pieces) - len(done)
    with recorded_pieces(monkeypatch) as scored:
        assert_same_results(whole, search.fit(X, y))
    assert not scored


@every_search
def test_ctrl_c_is_heard_while_a_piece_never_ends(name):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    before = dict(vars(search))
    go_on = threading.Event()

    def waits(*_):
        if not go_on.is_set():
            signal.raise_signal(signal.SIGINT)
        go_on.wait()
        return 0.0

    search.scoring = waits
    try:
        with pytest.raises(KeyboardInterrupt):
            search.fit(X[:, :2], y)
    finally:
        go_on.set()
    assert vars(search) == before | {"scoring": waits}
    assert search.predict(X).shape == (len(X),)


@every_search
def test_a_scorer_or_a_refit_that_fails_leaves_the_search_as_it_was(name, monkeypatch):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    before = dict(vars(search))

    def fails(*_, **__):
        raise RuntimeError("no luck")

    search.scoring = fails
    with pytest.raises(RuntimeError, match="no luck"):
        search.fit(X[:, :2], y)
    search.scoring = before["scoring"]
    monkeypatch.setattr(type(search.best_estimator_), "fit", fails)
    with pytest.raises(RuntimeError, match="no luck"):
        search.fit(X[:, :2], y)
    assert vars(search) == before


@every_search
def test_progress_is_logged_when_asked_for(name, caplog):
    X, y = make_problem()
    with caplog.at_level("INFO", logger="marginwood"):
        make_search(name).fit(X, y)
        assert not caplog.messages
        make_search(name, verbose=1).fit(X, y)
    counts = [
        message.removeprefix("cross-validation: ").split(" of ") for message in caplog.messages
    ]
    assert counts[-1][0] == counts[-1][1]
    assert all(int(one[0]) < int(other[0]) for one, other in pairwise(counts))


def test_a_journal_of_a_long_grid_with_one_other_value_is_refused(tmp_path):
    X, y = make_problem()
    path = tmp_path / "journal"
    alphas = np.geomspace(1, 1e-3, 2000)
    search = IntervalSearchCV(L1IntervalRegression(tol=1e-3), cv=2, checkpoint=path)
    search.set_params(grid={"alpha": alphas.copy()}).fit(X, y)
    alphas[1000] *= 1.0001
    with pytest.raises(ValueError, match="other data or parameters: grid differ"):
        search.set_params(grid={"alpha": alphas}).fit(X, y)


@pytest.mark.parametrize("name", ["forest", "out of bag", "boosting", "kernel", "cart"])
def test_a_journal_of_random_models_needs_a_seed(name, tmp_path):
    X, y = make_problem()
    with pytest.raises(ValueError, match="random_state: a checkpoint needs a seed"):
        make_search(name, random_state=None, checkpoint=tmp_path / "journal").fit(X, y)
    assert not (tmp_path / "journal").exists()


# scikit-learn.


def expected_failures(search):
    """Check -> why it cannot pass."""
    if isinstance(search.estimator, MaxMarginIntervalForest):
        return {
            "check_sample_weight_equivalence_on_dense_data": "twice as many rows are other rows to draw from"
        }
    if isinstance(search.estimator, TransformationTree):
        return {
            "check_sample_weight_equivalence_on_dense_data": "sizes of nodes count rows, not weights"
        }
    return {}


@parametrize_with_checks(
    [
        IntervalSearchCV(
            MaxMarginIntervalTree(),
            {"loss": ["squared_hinge"], "margin": 2, "anchor": [0.0, 1.0]},
            cv=2,
        ),
        IntervalSearchCV(
            MaxMarginIntervalForest(3), {"loss": ["squared_hinge"], "margin": 2}, random_state=0
        ),
        IntervalSearchCV(
            MaxMarginIntervalForest(3),
            {"loss": ["squared_hinge"], "margin": [0.0]},
            cv=2,
            random_state=0,
        ),
        IntervalSearchCV(
            MaxMarginIntervalBoosting(5, subsample=1.0, learning_rate=0.5),
            {"loss": ["squared_hinge"], "margin": 2, "max_features": [None]},
            cv=2,
        ),
        IntervalSearchCV(L1IntervalRegression(), {"alpha": 5}, cv=3),
        IntervalSearchCV(IntervalCART(), {"margin": [0.0, 0.1]}, cv=3, random_state=0),
        IntervalSearchCV(TransformationTree(), cv=3),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@every_search
def test_parameters_survive_clone_and_set_params(name):
    search = make_search(name)
    name = sorted(search.estimator.get_params())[-1]
    before = search.get_params()
    other = clone(search).set_params(cv=4, selection="1se", **{f"estimator__{name}": 7})
    assert str(clone(search).get_params()) == str(before)
    changed = {"cv": 4, "selection": "1se", f"estimator__{name}": 7, "estimator": other.estimator}
    assert str(other.get_params()) == str(before | changed)
    assert str(search.get_params()) == str(before)


@every_search
def test_nested_cross_validation_is_one_line(name):
    X, y = make_problem()
    model = make_pipeline(StandardScaler(), make_search(name))
    scores = cross_val_score(model, X, y, cv=CensoringStratifiedKFold(2))
    expected = []
    for train, test in CensoringStratifiedKFold(2).split(X, y):
        scaler = StandardScaler().fit(X[train])
        search = make_search(name).fit(scaler.transform(X[train]), y[train])
        expected.append(search.score(scaler.transform(X[test]), y[test]))
    assert scores.tolist() == expected


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@every_folded_search
@pytest.mark.usefixtures("routing")
def test_weights_and_groups_are_routed_through_a_pipeline(name):
    X, y = make_problem()
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    groups = np.arange(len(y)) % 8
    search = make_search(name, cv=GroupKFold(4)).set_fit_request(groups=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
    pipeline.fit(X, y, groups=groups, sample_weight=weight)
    alone = clone(search).fit(pipeline[0].transform(X), y, sample_weight=weight, groups=groups)
    for column, values in alone.cv_results_.items():
        np.testing.assert_array_equal(values, pipeline[-1].cv_results_[column])


@every_folded_search
@pytest.mark.usefixtures("routing")
def test_weights_and_groups_are_routed_through_nested_cross_validation(name):
    X, y = make_problem()
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    groups = np.arange(len(y)) % 8
    search = make_search(name, cv=GroupKFold(2)).set_fit_request(groups=True, sample_weight=True)
    search.set_score_request(sample_weight=True)
    found = cross_validate(
        search,
        X,
        y,
        cv=GroupKFold(2),
        params={"groups": groups, "sample_weight": weight},
        return_estimator=True,
    )
    for (train, test), score, inner in zip(
        GroupKFold(2).split(X, y, groups), found["test_score"], found["estimator"], strict=True
    ):
        alone = make_search(name, cv=GroupKFold(2)).fit(
            X[train], y[train], weight[train], groups[train]
        )
        assert score == alone.score(X[test], y[test], weight[test])
        assert inner.best_params_ == alone.best_params_


# Errors.


@pytest.mark.parametrize(
    ("name", "grid", "error", "message"),
    [
        (
            "forest",
            {"depth": [3]},
            ValueError,
            "grid: expected names among .*max_depth.*, got 'depth'",
        ),
        (
            "likelihood",
            {"depth": [3]},
            ValueError,
            "grid: expected names among .*noise.*, got 'depth'",
        ),
        ("forest", {"n_jobs": [1, 2]}, ValueError, "grid: .*got 'n_jobs'"),
        ("boosting", {"n_iter_no_change": [1, 2]}, ValueError, "grid: .*got 'n_iter_no_change'"),
        ("forest", {"random_state": [1, 2]}, ValueError, "grid: .*got 'random_state'"),
        (
            "forest",
            {"max_depth": []},
            ValueError,
            r"grid: expected a list of .* max_depth, got \[\]",
        ),
        ("forest", {"max_depth": 3}, ValueError, "grid: expected a list of .* max_depth, got 3"),
        ("forest", {"max_features": "sqrt"}, ValueError, "grid: expected a list .*, got 'sqrt'"),
        ("tree", {"anchor": 3}, ValueError, "grid: expected a list .* anchor, or 'auto', got 3"),
        ("linear", {"alpha": 0.5}, ValueError, "grid: .*alpha, or 'auto', or how many, got 0.5"),
        ("linear", {"alpha": 1}, ValueError, "grid: alpha: expected an integer >= 2, got 1"),
        ("linear", {"alpha": "many"}, ValueError, "grid: .* or how many, got 'many'"),
        ("linear", {"alpha": []}, ValueError, "grid: expected a list"),
        (
            "linear",
            {"alpha": [0.1, -1.0]},
            ValueError,
            "alpha: expected a finite number > 0, got -1.0",
        ),
        ("kernel", {"alpha": [0.1, -1.0]}, ValueError, "alpha: expected a number >= .*, got -1.0"),
        ("forest", {"min_samples_leaf": [1, 0]}, ValueError, "min_samples_leaf: expected"),
        (
            "out of bag",
            {"bootstrap": [True, False]},
            ValueError,
            "cv: there are no out-of-bag rows",
        ),
        (
            "boosting",
            {"n_estimators": [0]},
            ValueError,
            "n_estimators: expected an integer >= 1, got 0",
        ),
        ("boosting", {"n_estimators": [2.5]}, TypeError, "n_estimators: expected an integer >= 1"),
        ("transformation", {"significance": [0.5, 1.5]}, ValueError, "significance: .*, got 1.5"),
        ("transformation", {"significance": "many"}, ValueError, "grid: expected a list"),
        ("tree", {"loss": ["hinge"]}, ValueError, "loss: expected one of .*, got 'hinge'"),
        ("tree", {"anchor": [0.0, -1.0]}, ValueError, "anchor: expected a number >= 0, got -1.0"),
        ("tree", {"ccp_alpha": [-1.0]}, ValueError, "ccp_alpha: expected a number >= 0, got -1.0"),
        ("cart", {"max_depth": [0]}, ValueError, "max_depth"),
    ],
    ids=str,
)
def test_a_bad_grid_is_refused_by_name(name, grid, error, message):
    X, y = make_problem()
    with pytest.raises(error, match=message):
        make_search(name, grid).fit(X, y)


@pytest.mark.parametrize("grid", [[("max_depth", [3])], 3, "automatic", None], ids=str)
def test_what_is_no_grid_is_refused(grid):
    X, y = make_problem()
    with pytest.raises(
        TypeError, match=r"grid: expected 'auto' or a dict of parameters of Max.*, got"
    ):
        IntervalSearchCV(MaxMarginIntervalTree(), grid).fit(X, y)
    for empty in ("auto", {}, grid):
        with pytest.raises(TypeError, match="grid: expected a dict of parameters of Censored"):
            IntervalSearchCV(CensoredLinearRegression(), empty).fit(X, y)


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        (
            "out of bag",
            {"bootstrap": False},
            ValueError,
            "cv: there are no out-of-bag rows without bootstrap",
        ),
        (
            "out of bag",
            {"n_estimators": 0},
            ValueError,
            "n_estimators: expected an integer >= 1, got 0",
        ),
        (
            "boosting",
            {"n_estimators": 0},
            ValueError,
            "n_estimators: expected an integer >= 1, got 0",
        ),
        (
            "boosting",
            {"n_estimators": 2.5},
            TypeError,
            "n_estimators: expected an integer >= 1, got 2.5",
        ),
        ("boosting", {"learning_rate": 0.0}, ValueError, "learning_rate: expected"),
        ("boosting", {"n_iter_no_change": 0}, ValueError, "n_iter_no_change: expected"),
        ("linear", {"tol": 0.0}, ValueError, "tol: expected"),
        ("cart", {"max_depth": 0}, ValueError, "max_depth"),
        ("tree", {"max_depth": 0}, ValueError, "max_depth: expected"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(name, parameters, error, message):
    X, y = make_problem()
    search = make_search(name)
    search.estimator.set_params(**parameters)
    with pytest.raises(error, match=message):
        search.fit(X, y)


@pytest.mark.parametrize("estimator", ["tree", MaxMarginIntervalTree, StandardScaler()])
def test_what_is_no_estimator_is_refused(estimator):
    X, y = make_problem()
    with pytest.raises(
        TypeError, match="estimator: expected an estimator with fit and predict, got"
    ):
        IntervalSearchCV(estimator).fit(X, y)


@every_search
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"selection": "best"}, "selection: expected one of 'min', '1se', got 'best'"),
        ({"scoring": "r2"}, "scoring: expected one of .*, got 'r2'"),
        ({"cv": 50}, "expected at most n_samples=48, got 50"),
        ({"cv": 1}, "n_splits: expected an integer >= 2, got 1"),
        (
            {"cv": "five"},
            "cv: expected a number of folds, a splitter or the rows of each fold, got 'five'",
        ),
        (
            {"cv": 2.5},
            "cv: expected a number of folds, a splitter or the rows of each fold, got 2.5",
        ),
        ({"cv": []}, "cv: expected at least one fold"),
        ({"cv": [(np.arange(20), np.arange(0))]}, "cv: no test row of fold 0"),
        ({"cv": [(np.arange(0), np.arange(20))]}, "cv: no training row of fold 0"),
    ],
    ids=str,
)
def test_bad_parameters_of_every_search_are_refused_by_name(name, parameters, message):
    X, y = make_problem()
    with pytest.raises(ValueError, match=message):
        make_search(name, **parameters).fit(X, y)


@pytest.mark.parametrize("name", [name for name in FOLDED if name != "forest"])
def test_only_a_forest_has_out_of_bag_rows(name):
    X, y = make_problem()
    with pytest.raises(ValueError, match=r"cv: expected a number of folds, .* got 'oob'"):
        make_search(name, cv="oob").fit(X, y)


@pytest.mark.parametrize(
    "name", [name for name in SEARCHES if name not in ("transformation", "likelihood")]
)
@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ([-1.0], "margin: expected a number >= 0"),
        ([], "grid: expected a list of values to try for margin"),
        ("automatic", "grid: .* margin, or 'auto', or how many, got 'automatic'"),
        (0, "grid: margin: expected an integer >= 2, got 0"),
    ],
    ids=str,
)
def test_bad_margins_are_refused_by_name(name, margins, message):
    X, y = make_problem()
    with pytest.raises(ValueError, match=message):
        make_search(name, {"margin": margins}).fit(X, y)
