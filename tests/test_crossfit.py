"""Cross-fitting: a model without each fold, out-of-fold predictions, the mean."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood
from marginwood import (
    CensoringStratifiedKFold,
    CrossFittedIntervalRegressor,
    IntervalDummyRegressor,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalTree,
)
from marginwood._base import Rows
from marginwood._fitted import read
from marginwood._resampling.stops import find_watchers
from marginwood.datasets import make_sine
from marginwood.metrics import interval_d2_score

X, Y = make_sine(60, 2, random_state=0)
TREE = MaxMarginIntervalTree(max_depth=3)


@parametrize_with_checks([CrossFittedIntervalRegressor(TREE, cv=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_each_row_is_predicted_by_the_model_that_was_trained_without_it():
    model = CrossFittedIntervalRegressor(TREE, cv=4).fit(X, Y)
    assert len(model.estimators_) == 4
    for inner, (train, test) in zip(
        model.estimators_, CensoringStratifiedKFold(4).split(X, Y), strict=True
    ):
        literal = clone(TREE).fit(X[train], Y[train])
        np.testing.assert_array_equal(inner.tree_.nodes, literal.tree_.nodes)
        np.testing.assert_array_equal(model.oof_prediction_[test], literal.predict(X[test]))


def test_the_mean_of_the_models_predicts():
    model = CrossFittedIntervalRegressor(TREE, cv=3).fit(X, Y)
    np.testing.assert_allclose(
        model.predict(X), np.mean([inner.predict(X) for inner in model.estimators_], axis=0)
    )
    assert model.feature_importances_.shape == (2,)


def stages_by_the_others(booster, folds):
    """By hand: a booster per fold without an end, and the stage that is best for the other folds."""
    literal = [
        clone(booster)
        .set_params(n_iter_no_change=None)
        .fit(X[train], Y[train], X_val=X[test], y_val=Y[test])
        for train, test in folds
    ]
    patience = booster.n_iter_no_change
    ended = []
    for model in literal:
        curve = list(model.validation_score_)
        end = next(
            stage
            for stage in range(patience, len(curve))
            if min(curve[stage - patience + 1 : stage + 1])
            >= (1 - booster.tol) * min(curve[: stage - patience + 1])
        )
        ended.append(curve[: end + 1] + [curve[end]] * (len(curve) - end - 1))
    sizes = [len(test) for _, test in folds]
    for fold, model in enumerate(literal):
        others = [number for number in range(len(folds)) if number != fold]
        mean = np.average(
            [ended[other] for other in others], axis=0, weights=[sizes[other] for other in others]
        )
        yield model, int(np.argmin(mean))


def test_the_stages_of_a_booster_are_those_that_suit_the_other_folds():
    booster = MaxMarginIntervalBoosting(300, n_iter_no_change=9, random_state=0)
    model = CrossFittedIntervalRegressor(booster, cv=3).fit(X, Y)
    folds = list(CensoringStratifiedKFold(3).split(X, Y))
    own = [int(np.argmin(inner.validation_score_)) for inner in model.estimators_]
    found = [inner.n_estimators_ - 1 for inner in model.estimators_]
    assert found != own
    for inner, (_, test), (literal, best) in zip(
        model.estimators_, folds, stages_by_the_others(booster, folds), strict=True
    ):
        assert inner.n_estimators_ == min(best + 1, len(inner.validation_score_))
        *_, expected = zip(range(inner.n_estimators_), literal.staged_predict(X), strict=False)
        np.testing.assert_array_equal(inner.predict(X), expected[1])
        np.testing.assert_array_equal(model.oof_prediction_[test], expected[1][test])


def test_folds_that_share_rows_do_not_watch_each_other():
    booster = MaxMarginIntervalBoosting(200, n_iter_no_change=5, random_state=0)
    halves = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    thirds = [(np.arange(20, 60), np.arange(20)), (np.arange(20), np.arange(20, 60))]
    watchers = find_watchers(Rows(X, Y, np.ones(60)), [test for _, test in halves + thirds])
    assert (watchers > 0).astype(int).tolist() == [
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [0, 1, 0, 1],
        [0, 0, 1, 0],
    ]
    (train, test) = halves[0]
    alone = CrossFittedIntervalRegressor(booster, cv=[(train, test)]).fit(X, Y)
    holds_out = clone(booster).fit(X[train], Y[train])
    np.testing.assert_array_equal(alone.estimators_[0].predict(X), holds_out.predict(X))


@pytest.mark.filterwarnings("ignore:y. 20 of 60 rows are")
def test_a_fold_without_information_watches_none():
    y = Y.copy()
    y[:20] = -np.inf, np.inf
    booster = MaxMarginIntervalBoosting(200, n_iter_no_change=5, random_state=0)
    parts = np.split(np.arange(60), 3)
    folds = [(np.setdiff1d(np.arange(60), part), part) for part in parts]
    model = CrossFittedIntervalRegressor(booster, cv=folds).fit(X, y)
    blind = clone(booster).fit(X[20:], y[20:])
    np.testing.assert_array_equal(model.oof_prediction_[:20], blind.predict(X[:20]))
    assert np.isfinite(model.oof_prediction_).all()


@pytest.mark.parametrize("n", [30, 120])
def test_noise_is_predicted_no_better_out_of_fold_than_on_new_rows(n):
    def gain(estimator, X, y, X_new, y_new):
        model = CrossFittedIntervalRegressor(estimator).fit(X, y)
        on_new = np.mean([interval_d2_score(y_new, e.predict(X_new)) for e in model.estimators_])
        return interval_d2_score(y, model.oof_prediction_) - on_new

    booster = MaxMarginIntervalBoosting(learning_rate=0.2, random_state=0)
    too_good = []
    for seed in range(25):
        random = np.random.default_rng(seed)
        data = random.normal(size=(n, 4)), random.normal(size=n)
        data += random.normal(size=(1000, 4)), random.normal(size=1000)
        # Stratified folds are more alike than samples are, which makes the constant too good, too.
        too_good.append(gain(booster, *data) - gain(IntervalDummyRegressor(), *data))
    assert np.mean(too_good) < 2 * np.std(too_good, ddof=1) / 5


def test_threads_change_nothing():
    one, two = (
        CrossFittedIntervalRegressor(TREE, cv=3, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.oof_prediction_, two.oof_prediction_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_weights_reach_the_models_and_rows_of_no_weight_none():
    weight = np.where(np.arange(60) % 3, 1.0, 0.0)
    model = CrossFittedIntervalRegressor(TREE, cv=3).fit(X, Y, sample_weight=weight)
    for inner in model.estimators_:
        assert inner.tree_.weighted_n_node_samples[0] <= weight.sum()
    assert np.isnan(model.oof_prediction_[weight == 0]).all()
    assert not np.isnan(model.oof_prediction_[weight > 0]).any()


def test_rows_that_no_fold_holds_out_have_no_out_of_fold_prediction():
    halves = [(np.arange(30, 60), np.arange(30))]
    model = CrossFittedIntervalRegressor(TREE, cv=halves).fit(X, Y)
    assert np.isnan(model.oof_prediction_).tolist() == [False] * 30 + [True] * 30


def test_a_row_in_several_test_folds_gets_the_mean():
    again = [(np.arange(20, 60), np.arange(20)), (np.arange(40, 60), np.arange(20))]
    model = CrossFittedIntervalRegressor(TREE, cv=again).fit(X, Y)
    literal = np.mean([inner.predict(X[:20]) for inner in model.estimators_], axis=0)
    np.testing.assert_allclose(model.oof_prediction_[:20], literal)


def test_a_pipeline_gets_the_frame_as_it_is_and_survives_a_file(tmp_path):
    frame = pd.DataFrame({"dose": X[:, 0], "site": np.where(X[:, 1] > 0, "left", "right")})
    encode = make_column_transformer((OneHotEncoder(), ["site"]), remainder="passthrough")
    model = CrossFittedIntervalRegressor(make_pipeline(encode, clone(TREE)), cv=3).fit(frame, Y)
    assert model.predict(frame).shape == (60,)
    assert model.feature_names_in_.tolist() == ["dose", "site"]
    marginwood.save(model, tmp_path / "model.mw")
    np.testing.assert_array_equal(
        marginwood.load(tmp_path / "model.mw").predict(frame), model.predict(frame)
    )


def test_a_fit_that_fails_leaves_the_models_as_they_were():
    model = CrossFittedIntervalRegressor(IntervalDummyRegressor(), cv=3).fit(X, Y)
    before = model.estimators_
    model.estimator = MaxMarginIntervalTree(max_depth=0)
    with pytest.raises(ValueError, match="max_depth"):
        model.fit(X, Y)
    assert model.estimators_ is before


def test_trees_are_read_as_an_ensemble_and_boosters_are_not():
    trees = read(CrossFittedIntervalRegressor(TREE, cv=3).fit(X, Y)).ensemble
    assert len(trees.trees) == 3
    assert trees.aggregation == "mean"
    assert (
        read(CrossFittedIntervalRegressor(MaxMarginIntervalBoosting(3), cv=3).fit(X, Y)).ensemble
        is None
    )
