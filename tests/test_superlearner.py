"""The super learner: predictions of unseen rows, weights by greedy selection, time limit, checkpoint, odd data."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import strategies
from conftest import PATIENCE
from marginwood import (
    CrossFittedIntervalRegressor,
    DistributionalSuperLearner,
    IntervalDummyRegressor,
    IntervalSuperLearner,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    load,
    save,
)
from marginwood._base import Rows
from marginwood._ensemble import superlearner as module
from marginwood._ensemble import weights as weights_module
from marginwood._ensemble.finite import learn_fill, make_finite
from marginwood._ensemble.library import auto_models
from marginwood._ensemble.members import Member
from marginwood._ensemble.weights import TIE, select_weights
from marginwood._support.threads import check_stopped
from marginwood.datasets import make_sine
from marginwood.metrics import SCORERS, interval_mean_absolute_error, interval_mean_squared_error

X, Y = make_sine(60, 2, random_state=0)
# Two kinds of rows, far apart: a tree predicts their targets without error.
FAR_X = np.repeat([[0.0], [9.0]], 30, axis=0)
FAR_Y = np.repeat([[-1.0, 1.0], [4.0, 6.0]], 30, axis=0)
CONSTANT = ("constant", IntervalDummyRegressor())
TREE = ("tree", MaxMarginIntervalTree(max_depth=3))
LINEAR = ("linear", L1IntervalRegression(alpha=0.01))
FOREST = ("forest", MaxMarginIntervalForest(20))
BOOSTING = ("boosting", MaxMarginIntervalBoosting(40, subsample=0.5, n_iter_no_change=5))
FIVE = [CONSTANT, TREE, LINEAR, FOREST, BOOSTING]


def learn(
    models=FIVE, X=X, y=Y, *, cv=3, random_state=0, sample_weight=None, groups=None, **options
):
    learner = IntervalSuperLearner(models, cv=cv, random_state=random_state, **options)
    return learner.fit(X, y, sample_weight=sample_weight, groups=groups)


def same(first, second, features=X):
    assert first.weights_ == second.weights_
    np.testing.assert_array_equal(first.oof_prediction_, second.oof_prediction_)
    np.testing.assert_array_equal(first.predict(features), second.predict(features))
    np.testing.assert_array_equal(first.leaderboard_.scores, second.leaderboard_.scores)


@parametrize_with_checks(
    [IntervalSuperLearner([CONSTANT, TREE, LINEAR], cv=3, random_state=0)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def literal_weights(predictions, intervals, weight, row_loss, n_bootstraps, n_steps):
    """Greedy selection with replacement on each bootstrap sample, one mixture at a time."""
    low, high = np.quantile(intervals[np.isfinite(intervals)], [0.25, 0.75])
    total = np.zeros(len(predictions))
    for draw in np.random.RandomState(3).randint(0, len(weight), (n_bootstraps, len(weight))):
        lower, upper = intervals[draw].T
        chosen = []
        for _ in range(n_steps):
            tied = range(len(predictions))
            for others in (
                chosen,
                [],
            ):  # as part of the mixture; of tied models the one that is better alone
                losses = {}
                for model in tied:
                    mixture = np.mean(predictions[[*others, model]], axis=0)[draw]
                    losses[model] = sum(
                        weight[row]
                        * row_loss(lower[place], upper[place], mixture[place], (high - low) / 4)
                        for place, row in enumerate(draw)
                    )
                least = min(losses.values())
                tied = [model for model in tied if losses[model] <= least * (1 + TIE)]
            chosen.append(tied[0])
        total += np.bincount(chosen, minlength=len(predictions)) / n_steps
    return total / n_bootstraps


@st.composite
def known_predictions(draw):
    intervals = draw(strategies.informative_intervals(max_size=6))
    n_models = draw(st.integers(1, 4))
    values = st.integers(-6, 6).map(float)
    rows = st.lists(values, min_size=len(intervals), max_size=len(intervals))
    predictions = np.array(draw(st.lists(rows, min_size=n_models, max_size=n_models)))
    weight = np.array(
        draw(st.lists(st.integers(1, 3), min_size=len(intervals), max_size=len(intervals)))
    )
    return predictions, Rows(np.zeros((len(intervals), 1)), intervals, weight.astype(float))


def squared_loss(lower, upper, value, margin):
    """The squared distances from the margins of both ends; one value has no margin."""
    margin = margin if lower < upper else 0.0
    return max(lower + margin - value, 0) ** 2 + max(value - upper + margin, 0) ** 2


ROW_LOSSES = {
    "neg_interval_mean_squared_error": squared_loss,
    "neg_interval_mean_absolute_error": lambda lower, upper, value, _: max(
        lower - value, value - upper, 0
    ),
    # Means of more than four models round, and then lie beside an end of an interval or on it.
    "interval_accuracy": lambda lower, upper, value, _: not lower <= value <= upper,
}


@given(problem=known_predictions(), name=st.sampled_from(list(ROW_LOSSES)))
def test_weights_are_those_of_greedy_selection_one_mixture_at_a_time(problem, name):
    predictions, rows = problem
    n_steps = 2 if name == "interval_accuracy" else 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights_module, "N_BOOTSTRAPS", 2)
        patch.setattr(weights_module, "N_STEPS", n_steps)
        found = select_weights(None, rows, predictions, SCORERS[name], weighted=True, seed=3)
    expected = literal_weights(
        predictions, rows.intervals, rows.weight, ROW_LOSSES[name], 2, n_steps
    )
    np.testing.assert_allclose(found, expected)


def test_a_scorer_that_is_not_known_to_average_gives_the_same_weights(monkeypatch):
    def same_error(y, prediction, sample_weight=None):
        return interval_mean_absolute_error(y, prediction, sample_weight=sample_weight)

    monkeypatch.setattr(weights_module, "N_BOOTSTRAPS", 4)
    options = {"models": [CONSTANT, TREE, FOREST], "sample_weight": np.linspace(1, 2, 60)}
    fast = learn(**options, scoring="neg_interval_mean_absolute_error")
    slow = learn(**options, scoring=make_scorer(same_error, greater_is_better=False))
    assert fast.weights_ == slow.weights_
    assert len(fast.estimators_) > 1
    np.testing.assert_allclose(fast.leaderboard_.scores, slow.leaderboard_.scores)
    assert fast.oof_score_ == pytest.approx(slow.oof_score_)


def test_a_score_of_rankings_chooses_weights_too():
    model = learn([CONSTANT, TREE], FAR_X, FAR_Y, scoring="interval_concordance_index")
    assert model.weights_ == {"constant": 0.0, "tree": 1.0}
    assert model.leaderboard_.names == ["tree", "constant"]
    assert model.leaderboard_.scores[1] == 0.5


def test_scores_that_are_not_finite_are_told_and_choose_nothing():
    def unknown_of_constants(model, X, y):
        prediction = model.predict(X)
        return -interval_mean_squared_error(y, prediction) if np.ptp(prediction) else np.nan

    with pytest.warns(
        UserWarning, match="scoring: expected finite scores, got others for 'constant'"
    ):
        model = learn([CONSTANT, TREE], FAR_X, FAR_Y, scoring=unknown_of_constants)
    assert model.weights_ == {"constant": 0.0, "tree": 1.0}
    for score in (np.nan, np.inf, -np.inf):
        with pytest.raises(
            ValueError, match="scoring: expected a finite score of at least one model"
        ):
            learn([CONSTANT, TREE], scoring=lambda *_, score=score: score)


def test_large_targets_get_the_weights_of_small_ones():
    models = [CONSTANT, TREE, FOREST]
    assert learn(models, y=Y * 2.0**480).weights_ == learn(models).weights_


def test_models_that_predict_the_same_are_tied_and_the_first_is_chosen():
    assert learn([CONSTANT, ("again", clone(CONSTANT[1]))]).weights_ == {
        "constant": 1.0,
        "again": 0.0,
    }


def test_unseen_rows_are_predicted_by_cross_fitting_and_by_out_of_bag_trees():
    model = learn()
    assert sum(model.weights_.values()) == pytest.approx(1)
    unseen = {}
    for name, fitted in model.estimators_.items():
        if name == "forest":
            unseen[name] = clone(fitted).set_params(oob_score=True).fit(X, Y).oob_prediction_
        else:
            features = X if name != "linear" else make_finite(X, learn_fill(X))
            unseen[name] = (
                CrossFittedIntervalRegressor(fitted.estimator, cv=3)
                .fit(features, Y)
                .oof_prediction_
            )
            np.testing.assert_array_equal(unseen[name], fitted.oof_prediction_)
    assert {"forest", "boosting"} < unseen.keys()
    # Weights without a fold are near those of all rows.
    expected = sum(model.weights_[name] * prediction for name, prediction in unseen.items())
    assert 0 < np.abs(model.oof_prediction_ - expected).max() < 0.5
    assert model.oof_score_ == pytest.approx(-interval_mean_squared_error(Y, model.oof_prediction_))


def test_a_fold_has_no_say_in_the_weights_of_its_own_predictions():
    parts = np.split(np.arange(30), 3)
    folds = [(np.setdiff1d(np.arange(30), part), part) for part in parts]
    y = np.repeat([0.0, 8.0, 8.0], 10)
    models = [("low", Always(0.0)), ("high", Always(8.0))]
    model = IntervalSuperLearner(models, cv=folds, random_state=0).fit(X[:30], y)
    assert model.oof_prediction_[:10].tolist() == [8.0] * 10
    others = {}
    for number, part in enumerate(parts):
        rest = np.setdiff1d(np.arange(30), part)
        alone = [(rest, rest)]
        weights = IntervalSuperLearner(models, cv=alone, random_state=0).fit(X[:30], y).weights_
        others[number] = 8.0 * weights["high"]
    np.testing.assert_allclose(model.oof_prediction_, np.repeat(list(others.values()), 10))
    single = IntervalSuperLearner(models, cv=[folds[0]], random_state=0).fit(X[:30], y)
    assert single.oof_prediction_[:10].tolist() == [0.0] * 10
    assert np.isnan(single.oof_prediction_[10:]).all()


def test_the_weighted_mean_of_the_models_that_have_weight_predicts():
    model = learn([*FIVE, ("far", Always(1e3))])
    assert model.estimators_.keys() == {
        name for name, weight in model.weights_.items() if weight > 0
    }
    assert model.weights_["far"] == 0
    expected = sum(
        model.weights_[name] * fitted.predict(X) for name, fitted in model.estimators_.items()
    )
    np.testing.assert_allclose(model.predict(X), expected)
    with_importances = [name for name in model.estimators_ if name not in ("constant", "linear")]
    expected = sum(
        model.weights_[name] * model.estimators_[name].feature_importances_
        for name in with_importances
    )
    np.testing.assert_allclose(
        model.feature_importances_,
        expected / sum(model.weights_[name] for name in with_importances),
    )


def test_models_without_importances_give_none():
    model = learn([CONSTANT])
    assert not hasattr(model, "feature_importances_")


def test_the_table_lists_the_best_model_first_and_prints():
    table = learn([CONSTANT, TREE], FAR_X, FAR_Y).leaderboard_
    assert table.names == ["tree", "constant"]
    assert table.scores[0] > table.scores[1]
    assert table.weights.tolist() == [1.0, 0.0]
    lines = str(table).splitlines()
    assert [line.split()[0] for line in lines] == ["score", "tree", "constant"]
    assert len({len(line) for line in lines}) == 1
    assert pd.DataFrame(table.to_dict()).columns.tolist() == ["name", "score", "weight", "seconds"]


def test_progress_is_logged_when_asked_for(caplog):
    caplog.set_level("INFO", logger="marginwood")
    learn([CONSTANT, FOREST])
    assert not caplog.messages
    learn([CONSTANT, FOREST], verbose=1)
    assert caplog.messages == [f"models x folds: {done} of 4" for done in (1, 2, 3, 4)]


def test_threads_change_nothing():
    same(learn(), learn(n_jobs=3))


def test_a_seed_makes_models_without_one_repeatable():
    same(learn([FOREST, BOOSTING]), learn([FOREST, BOOSTING]))
    assert learn([FOREST]).oof_score_ != learn([FOREST], random_state=1).oof_score_


def test_rows_of_great_weight_decide():
    half = np.arange(60) < 30
    intervals = np.where(half, 0.0, 10.0)
    models = [("low", Always(0.0)), ("high", Always(10.0))]
    assert learn(models, y=intervals, sample_weight=np.where(half, 1e6, 1)).weights_ == {
        "low": 1.0,
        "high": 0.0,
    }
    assert learn(models, y=intervals, sample_weight=np.where(half, 1, 1e6)).weights_ == {
        "low": 0.0,
        "high": 1.0,
    }


class Always(IntervalDummyRegressor):
    """A constant that is given."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y, sample_weight=None):  # noqa: ARG002 (it learns nothing)
        self.n_features_in_ = X.shape[1]
        self.constant_ = self.value
        return self


def test_rows_of_no_weight_and_rows_without_limits_are_not_trained_on():
    weight = np.where(np.arange(60) % 4, 1.0, 0.0)
    open_ends = Y.copy()
    open_ends[1::4] = -np.inf, np.inf
    with pytest.warns(UserWarning, match="-inf, inf"):
        model = learn([CONSTANT, TREE, FOREST], y=open_ends, sample_weight=weight)
    for tree in [*model.estimators_["tree"].estimators_, *model.estimators_["forest"].estimators_]:
        assert tree.tree_.n_node_samples[0] <= 30
    assert np.isfinite(model.oof_prediction_[weight > 0]).all()


def test_groups_stay_together_and_forests_are_cross_fitted_with_them():
    groups = np.arange(60) // 10
    model = learn([FOREST, TREE], groups=groups)
    for fitted in model.estimators_.values():
        assert isinstance(fitted, CrossFittedIntervalRegressor)
        for fold in fitted.folds_:
            assert not set(groups[fold]) & set(np.delete(groups, fold))
    same(model, learn([FOREST, TREE], cv=GroupKFold(3), groups=groups))


def test_rows_that_no_fold_holds_out_have_no_prediction_of_the_mixture():
    model = learn([CONSTANT, TREE], cv=ShuffleSplit(1, test_size=0.5, random_state=0))
    assert np.isnan(model.oof_prediction_).sum() == 30


def test_a_fill_is_a_value_of_the_column():
    features = np.array(
        [[1.0, np.nan], [np.nan, -np.inf], [np.inf, np.nan], [3.0, np.inf], [-np.inf, np.nan]]
    )
    fill = learn_fill(features)
    assert fill.tolist() == [[1, 0], [1, 0], [3, 0]]
    assert make_finite(features, fill).tolist() == [[1, 0], [1, 0], [3, 0], [3, 0], [1, 0]]
    assert np.isnan(features[0, 1])


def odd_rows():
    """30 rows with a constant column, NaN, infinities, a column of NaN, and nine of ten targets right-censored."""
    random = np.random.RandomState(0)
    features = random.standard_normal((30, 6))
    features[:, 1] = 7.0
    features[::4, 2] = np.nan
    features[1, 3], features[2, 3] = np.inf, -np.inf
    features[:, 4] = np.nan
    lower = features[:, 0] + features[:, 5]
    return features, np.column_stack([lower, np.where(np.arange(30) % 10, np.inf, lower)])


def test_the_library_takes_thirty_rows_of_odd_data():
    features, intervals = odd_rows()
    model = learn("auto", features, intervals, cv=5, n_jobs=2)
    assert {
        "constant",
        "linear",
        "tree",
        "forest",
        "forest-all",
        "boosting",
    } <= model.weights_.keys()
    assert np.isfinite(model.predict(features)).all()
    assert np.isfinite(model.predict(np.full((1, 6), np.nan))).all()
    assert np.isfinite(model.leaderboard_.scores).all()


def test_where_nothing_can_be_learned_the_library_predicts_a_constant():
    intervals = np.column_stack([np.arange(30.0) % 5, np.arange(30.0) % 5 + 1])
    model = learn("auto", np.zeros((30, 2)), intervals)
    (constant,) = set(model.predict([[0, 0], [1, 2], [np.nan, np.inf]]))
    assert 2 < constant < 3


def test_the_library_follows_the_number_of_rows_and_features():
    intervals = np.column_stack([np.arange(9.0), np.full(9, np.inf)])
    names = [name for name, _ in auto_models(intervals, 3, 100, None)]
    assert names[0] == "constant"
    kernels = {"kernel", "kernel-middle", "kernel-additive"}
    assert {"linear", "tree", "boosting-linear", "boosting-third"} | kernels < set(names)
    many = [name for name, _ in auto_models(intervals, 3, 10**5, None)]
    assert [name for name in many if name != "xgboost"][:3] == [
        "constant",
        "likelihood",
        "tree-small",
    ]
    assert many[-3:] == ["tree", "linear", "boosting-linear"]
    assert set(many) == {*names, "tree-small"} - kernels
    small = dict(auto_models(intervals, 1, 1, None))
    assert not {"linear", "tree", "boosting-linear", "boosting-third"} & set(small)
    assert not kernels & set(small)
    for n_features, n_rows in ((1, 100), (50, 5000)):
        assert kernels - set(dict(auto_models(intervals, n_features, n_rows, None))) == {
            "kernel-additive"
        }
    assert small["boosting"].margin == 1.0
    assert dict(auto_models(intervals, 3, 100, 4))["linear"].cv.get_n_splits() == 4


def test_a_library_without_xgboost_has_no_such_model(monkeypatch):
    monkeypatch.setattr("marginwood._ensemble.library.find_spec", lambda _: None)
    assert "xgboost" not in dict(auto_models(np.arange(18.0).reshape(9, 2), 3, 100, None))


def test_more_folds_than_groups_are_refused():
    with pytest.raises(
        ValueError, match="cv: expected at most 3 folds, the number of groups, got 5"
    ):
        learn([FOREST, TREE], cv=5, groups=np.arange(60) // 20)


def test_groups_reach_the_searches_inside():
    model = learn("auto", X[:, :1], Y, groups=np.arange(60) // 10, time_limit=None)
    assert isinstance(next(iter(model.estimators_.values())), CrossFittedIntervalRegressor)


def test_frames_keep_their_names_and_pipelines_see_them_as_they_are():
    frame = pd.DataFrame({"dose": X[:, 0], "site": np.where(X[:, 1] > 0, "left", "right")})
    encode = make_column_transformer((OneHotEncoder(), ["site"]), remainder="passthrough")
    model = learn([("pipe", make_pipeline(encode, clone(TREE[1])))], frame)
    assert model.feature_names_in_.tolist() == ["dose", "site"]
    assert model.predict(frame).shape == (60,)
    numbers = pd.DataFrame(X, columns=["dose", "age"])
    framed = learn(X=numbers)
    np.testing.assert_array_equal(framed.predict(numbers), learn().predict(X))
    with pytest.raises(ValueError, match="feature names"):
        framed.predict(numbers[["age", "dose"]])
    scaled = make_pipeline(StandardScaler(), clone(TREE[1]))
    assert learn([("pipe", scaled)], scoring="interval_concordance_index", X=numbers).weights_ == {
        "pipe": 1.0
    }


def test_text_is_refused_by_name():
    frame = pd.DataFrame({"dose": X[:, 0], "site": np.where(X[:, 1] > 0, "left", "right")})
    with pytest.raises(ValueError, match="got text in column 'site'"):
        learn("auto", frame)


def test_plots_and_partial_dependence_read_the_mixture():
    from marginwood.plotting import plot_importances, plot_partial_dependence

    model = learn()
    assert plot_importances(model) is not None
    assert plot_partial_dependence(model, X, [0]) is not None


def test_the_table_is_drawn_with_weights_and_scores():
    from marginwood.plotting import plot_leaderboard

    model = learn([CONSTANT, TREE], FAR_X, FAR_Y)
    ax = plot_leaderboard(model)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["tree", "constant"]
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.0]
    assert [text.get_text() for text in ax.texts] == [
        f"score {score:.4g}" for score in model.leaderboard_.scores
    ]
    with pytest.raises(
        TypeError, match="model: expected a super learner, got MaxMarginIntervalTree"
    ):
        plot_leaderboard(clone(TREE[1]).fit(X, Y))


def test_a_mixture_of_distributions_is_drawn_with_weights_and_log_losses():
    from marginwood.plotting import plot_leaderboard

    model = DistributionalSuperLearner(random_state=0).fit(X, Y)
    ax = plot_leaderboard(model)
    names = [label.get_text() for label in ax.get_yticklabels()]
    losses = [model.log_losses_[name] for name in names]
    assert losses == sorted(model.log_losses_.values())
    assert [bar.get_width() for bar in ax.patches] == [model.weights_[name] for name in names]
    assert [text.get_text() for text in ax.texts] == [f"log loss {loss:.4g}" for loss in losses]


@pytest.fixture
def fake_clock(monkeypatch):
    """A clock that tests move; fits of the model "slow" move it by an hour and never end."""
    now = [0.0]
    workers = []
    fit = Member.fit

    def watched(member, fold):
        if member.name == "slow":
            now[0] += 3600
            workers.append(threading.current_thread())
            while True:
                check_stopped()
        return fit(member, fold)

    monkeypatch.setattr(module, "clock", lambda: now[0])
    monkeypatch.setattr(Member, "fit", watched)
    return workers


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_is_not_finished_in_time_is_left_out_and_stops(fake_clock, n_jobs):
    slow = ("slow", MaxMarginIntervalTree())
    models, late = (
        ([CONSTANT, TREE, slow, LINEAR], "'slow', 'linear' were")
        if n_jobs == 1
        else ([CONSTANT, slow], "'slow' was")
    )
    with pytest.warns(
        UserWarning, match=f"time_limit: {late} not finished in 60 seconds and left out"
    ):
        model = learn(models, time_limit=60, n_jobs=n_jobs)
    assert "slow" not in model.weights_
    assert model.leaderboard_.names[-1] in ("slow", "linear")
    assert np.isnan(model.leaderboard_.scores[-1])
    if n_jobs == 1:
        literal = learn([CONSTANT, TREE])
        assert model.weights_ == literal.weights_
        np.testing.assert_array_equal(model.predict(X), literal.predict(X))
    for worker in fake_clock:
        worker.join(timeout=PATIENCE)
        assert not worker.is_alive()


def test_a_model_that_fails_when_its_time_is_over_is_left_out_like_others(monkeypatch):
    now, may_fail, workers = [0.0], threading.Event(), []

    def fails(member, fold):
        if member.name != "late":
            return fit(member, fold)
        workers.append(threading.current_thread())
        now[0] += 3600
        may_fail.wait(PATIENCE)
        raise RuntimeError("nobody hears this")

    fit = Member.fit
    monkeypatch.setattr(module, "clock", lambda: now[0])
    monkeypatch.setattr(Member, "fit", fails)
    with pytest.warns(
        UserWarning, match="time_limit: 'late' was not finished in 60 seconds and left out"
    ):
        model = learn([CONSTANT, TREE, ("late", MaxMarginIntervalTree())], time_limit=60)
    may_fail.set()
    for worker in workers:
        worker.join(timeout=PATIENCE)
        assert not worker.is_alive()
    assert model.weights_ == learn([CONSTANT, TREE]).weights_


def test_a_model_that_fails_in_time_is_an_error_and_the_others_stop(fake_clock):
    bad = ("bad", MaxMarginIntervalTree(max_depth=0))
    with pytest.raises(ValueError, match="max_depth") as caught:
        learn([CONSTANT, ("slow", MaxMarginIntervalTree()), bad], time_limit=1e9, n_jobs=4)
    assert caught.value.__notes__ == ["This happened while the model 'bad' was trained."]
    for worker in fake_clock:
        worker.join(timeout=PATIENCE)
        assert not worker.is_alive()


@pytest.mark.filterwarnings("ignore:time_limit")
def test_the_constant_is_always_finished():
    model = learn([TREE, CONSTANT, FOREST], time_limit=1e-9)
    assert model.weights_ == {"constant": 1.0}
    assert model.leaderboard_.names == ["constant", "tree", "forest"]


def test_no_finished_model_is_an_error_and_leaves_the_learner_as_it_was():
    model = learn([CONSTANT])
    before = dict(vars(model))
    model.set_params(models=[TREE], time_limit=1e-9)
    with pytest.raises(ValueError, match=r"time_limit: no model was finished in 1e-09 seconds"):
        model.fit(X, Y)
    assert model.estimators_ is before["estimators_"]


def test_boosters_and_forests_stop_soon_when_nobody_waits(monkeypatch):
    """They ask in every stage and tree, so a stop is heard before the work is done."""
    asked = []
    for name in ("stages", "forest"):
        monkeypatch.setattr(
            f"marginwood._trees.{name}.check_stopped", lambda name=name: asked.append(name)
        )
    MaxMarginIntervalBoosting(7).fit(X, Y)
    MaxMarginIntervalForest(5).fit(X, Y)
    assert asked == ["stages"] * 7 + ["forest"] * 5


RUN = """
import json, os, signal, sys
from marginwood._ensemble.members import Member
import test_superlearner as tests

path, n_fits = json.loads(sys.argv[1])
fit, fitted = Member.fit, []

def watched(member, fold):
    if len(fitted) == n_fits:
        os.kill(os.getpid(), signal.SIGKILL)
    fitted.append(member.name)
    return fit(member, fold)

Member.fit = watched
tests.learn(checkpoint=path)
"""


def count_fits(monkeypatch):
    fits = []
    fit = Member.fit

    def watched(member, fold):
        fits.append((member.name, fold))
        return fit(member, fold)

    monkeypatch.setattr(Member, "fit", watched)
    return fits


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
@pytest.mark.parametrize("n_fits", [0, 5, 11])
def test_a_killed_fit_does_only_unfinished_pieces_again(tmp_path, monkeypatch, n_fits):
    path = tmp_path / "pieces"
    command = [sys.executable, "-c", RUN, json.dumps([str(path), n_fits])]
    folder = Path(__file__).parent  # of this module, which the process imports
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, check=False
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    fits = count_fits(monkeypatch)
    resumed = learn(checkpoint=path)
    assert len(fits) == 4 * 3 + 1 - n_fits
    again = learn(checkpoint=path)
    assert len(fits) == 4 * 3 + 1 - n_fits
    whole = learn()
    same(resumed, whole)
    same(again, whole)


@pytest.mark.filterwarnings("ignore:time_limit")
def test_more_time_continues_a_checkpoint(tmp_path, monkeypatch):
    fits = count_fits(monkeypatch)
    first = learn([CONSTANT, TREE], checkpoint=tmp_path / "pieces", time_limit=1e-9)
    assert first.weights_ == {"constant": 1.0}
    n_fits = len(fits)
    second = learn([CONSTANT, TREE], checkpoint=tmp_path / "pieces")
    assert {name for name, _ in fits[n_fits:]} == {"tree"}
    same(second, learn([CONSTANT, TREE]))


def test_what_a_checkpoint_holds_counts_without_time(tmp_path, monkeypatch):
    whole = learn(checkpoint=tmp_path / "pieces")
    monkeypatch.setattr(Member, "fit", None)  # nothing is fitted again
    same(learn(checkpoint=tmp_path / "pieces", time_limit=1e-9), whole)


def test_threads_of_a_model_do_not_matter_to_a_checkpoint(tmp_path, monkeypatch):
    def models(n_jobs):
        forest = MaxMarginIntervalForest(5, n_jobs=n_jobs)
        return [("forest", make_pipeline(StandardScaler(), forest))]

    whole = learn(models(None), checkpoint=tmp_path / "pieces")
    monkeypatch.setattr(Member, "fit", None)
    same(learn(models(2), checkpoint=tmp_path / "pieces"), whole)


def test_a_checkpoint_of_other_data_or_models_is_refused(tmp_path):
    path = tmp_path / "pieces"
    learn([CONSTANT, TREE], checkpoint=path)
    with pytest.raises(ValueError, match="models differ"):
        learn([CONSTANT, ("tree", MaxMarginIntervalTree(max_depth=2))], checkpoint=path)
    with pytest.raises(ValueError, match="y differ"):
        learn([CONSTANT, TREE], y=Y + 1, checkpoint=path)
    with pytest.raises(ValueError, match="random_state"):
        learn([CONSTANT, TREE], checkpoint=path, random_state=1)
    learn([CONSTANT, TREE], checkpoint=path, n_jobs=2, verbose=1)


def test_a_model_that_cannot_be_saved_is_named(tmp_path):
    with pytest.warns(
        UserWarning, match="checkpoint: the model 'mine' is not kept and would be trained again"
    ):
        learn([("mine", Always(1.0))], checkpoint=tmp_path / "pieces")


def test_a_checkpoint_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="random_state: a checkpoint needs a seed"):
        learn(checkpoint=tmp_path / "pieces", random_state=None)
    assert not (tmp_path / "pieces").exists()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"models": "best"}, ValueError, "models: expected 'auto' or a list of .*got 'best'"),
        ({"models": []}, ValueError, "got no models"),
        (
            {"models": [MaxMarginIntervalTree()]},
            ValueError,
            r"got MaxMarginIntervalTree\(\) at place 0",
        ),
        ({"models": [("", TREE[1])]}, ValueError, "at place 0"),
        (
            {"models": [CONSTANT, TREE, CONSTANT]},
            ValueError,
            "names that differ, got 'constant' twice",
        ),
        (
            {"models": [("tree", MaxMarginIntervalTree)]},
            TypeError,
            "models: 'tree': expected an estimator with fit and predict, got the class MaxMarginIntervalTree; call it",
        ),
        (
            {"models": [("tree", 3)]},
            TypeError,
            "models: 'tree': expected an estimator with fit and predict, got 3",
        ),
        ({"time_limit": 0}, ValueError, "time_limit: expected a finite number > 0, got 0"),
        ({"time_limit": "soon"}, TypeError, "time_limit"),
        ({"scoring": "best"}, ValueError, "scoring: expected one of"),
        ({"cv": 61}, ValueError, "expected at most n_samples=60, got 61"),
        ({"scoring": "neg_interval_crps"}, TypeError, "predict_distribution"),
    ],
)
def test_bad_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        learn(**{"models": [CONSTANT, TREE], **options})


def test_an_error_names_the_model():
    with pytest.raises(ValueError, match="max_depth") as caught:
        learn([CONSTANT, ("deep", MaxMarginIntervalTree(max_depth=0))])
    assert caught.value.__notes__ == ["This happened while the model 'deep' was trained."]


class Shaped(Always):
    """Predicts something else than a number per row."""

    def predict(self, X):
        return {
            "column": np.zeros((len(X), 1)),
            "short": np.zeros(3),
            "one": 1.0,
            "text": np.array(["a"] * len(X)),
        }[self.value]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("column", r"expected a prediction for each of 20 rows, got shape \(20, 1\)"),
        ("short", r"got shape \(3,\)"),
        ("one", r"got shape \(\)"),
        ("text", "expected real numbers, got dtype <U1"),
    ],
)
def test_a_model_that_predicts_something_else_than_a_number_per_row_is_named(kind, message):
    with pytest.raises((TypeError, ValueError), match=f"models: 'mine': .*{message}"):
        learn([CONSTANT, ("mine", Shaped(kind))])


def test_a_model_that_predicts_no_numbers_is_an_error():
    with pytest.raises(ValueError, match="'mine' gave none"):
        learn([CONSTANT, ("mine", Always(np.nan))])


def test_a_file_holds_the_whole_mixture(tmp_path):
    numbers = pd.DataFrame(X, columns=["dose", "age"])
    model = learn(X=numbers)
    save(model, tmp_path / "model.mw")
    loaded = load(tmp_path / "model.mw")
    same(model, loaded, features=numbers)
    assert str(loaded.leaderboard_) == str(model.leaderboard_)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


def test_a_checkpoint_keeps_every_model_of_the_library(tmp_path, monkeypatch):
    features, intervals = odd_rows()
    fits = count_fits(monkeypatch)
    first = learn("auto", features, intervals, checkpoint=tmp_path / "pieces")
    n_fits = len(fits)
    same(
        first, learn("auto", features, intervals, checkpoint=tmp_path / "pieces"), features=features
    )
    assert len(fits) == n_fits
