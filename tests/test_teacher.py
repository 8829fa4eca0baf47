"""Trees that learn from a better model."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwood import (
    CensoredLinearRegression,
    CensoringStratifiedKFold,
    CrossFittedIntervalRegressor,
    IntervalDummyRegressor,
    IntervalSearchCV,
    IntervalSuperLearner,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TaughtRegressor,
    export_text,
    load,
    save,
)
from marginwood._base import Rows
from marginwood._ensemble.teacher import teach
from marginwood.datasets import make_sine
from marginwood.losses import hinge_loss

X, Y = make_sine(80, 3, random_state=0)
X_NEW, Y_NEW = make_sine(1000, 3, random_state=1)
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
FOREST = MaxMarginIntervalForest(30, max_features=None, min_samples_leaf=3, random_state=0)
BOOSTER = MaxMarginIntervalBoosting(margin=0.3, random_state=0)
MIXTURE = IntervalSuperLearner(
    [("constant", IntervalDummyRegressor()), ("forest", FOREST)], cv=3, random_state=0
)


class Teacher(BaseEstimator):
    """Remembers how it was fitted, and has opinions that are given."""

    seen: ClassVar[list] = []

    def __init__(self, opinion=None):
        self.opinion = opinion

    def fit(self, X, y, sample_weight=None, groups=None):
        Teacher.seen.append((X, y, sample_weight, groups))
        self.oof_prediction_ = y[:, 0] if self.opinion is None else self.opinion[: len(y)]
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def __sklearn_tags__(self):
        return MaxMarginIntervalTree().__sklearn_tags__()


def labels_of(opinion, share, y=Y):
    """The labels, one by one; intervals where there is no opinion, or nothing is known."""
    labels = np.empty((len(y), 2))
    for row, (guess, (lower, upper)) in enumerate(zip(opinion, y, strict=True)):
        if np.isnan(guess) or np.isinf([lower, upper]).all():
            labels[row] = lower, upper
        else:
            nearest = min(max(guess, lower), upper)
            labels[row] = (1 - share) * nearest + share * guess
    return labels


def learn(*, teacher, share=0.8, grid=(), **parameters):
    """A tree that learns from a teacher; parameters are those of its search, or of the tree as ``estimator__``."""
    search = IntervalSearchCV(MaxMarginIntervalTree(), {"anchor": (0.0, 1.0)} | dict(grid), cv=3)
    return TaughtRegressor(search.set_params(**parameters), teacher, share=share)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_labels_lie_between_the_opinion_and_the_interval(share):
    opinion = np.random.default_rng(0).normal(size=len(Y))
    opinion[::7] = np.nan
    taught = teach(Rows(X, Y, np.ones(len(Y))), opinion, share).intervals
    np.testing.assert_allclose(taught, labels_of(opinion, share))
    inside = hinge_loss(Y, opinion) == 0
    np.testing.assert_allclose(taught[inside, 0], opinion[inside])


def test_rows_that_carry_no_information_learn_nothing():
    intervals = np.vstack([Y[:5], [[-np.inf, np.inf]]])
    weight = np.array([1.0, 1, 0, 1, 1, 1])
    taught = teach(Rows(X[:6], intervals, weight), np.array([0.5] * 5 + [-np.inf]), 1.0).intervals
    np.testing.assert_array_equal(taught[[2, 5]], intervals[[2, 5]])


def test_the_tree_is_grown_from_the_labels_and_scored_where_its_teacher_has_seen_nothing_either():
    search = learn(teacher=FOREST, share=0.7, estimator__max_depth=3).fit(X, Y)
    opinion = clone(FOREST).set_params(oob_score=True).fit(X, Y).oob_prediction_
    labels = labels_of(opinion, 0.7)
    assert search.best_params_["margin"] == 0.0
    own = MaxMarginIntervalTree(max_depth=3, **search.best_params_)
    np.testing.assert_array_equal(clone(own).fit(X, labels).predict(X_NEW), search.predict(X_NEW))
    for fold, (train, test) in enumerate(CensoringStratifiedKFold(3).split(X, Y)):
        apart = clone(FOREST).set_params(oob_score=True).fit(X[train], Y[train]).oob_prediction_
        of_fold = labels_of(apart, 0.7, Y[train])
        prediction = clone(own).fit(X[train], of_fold).predict(X[test])
        score = search.cv_results_[f"split{fold}_test_score"][search.best_index_]
        assert score == pytest.approx(-hinge_loss(Y[test], prediction).mean())


@pytest.mark.parametrize("teacher", [FOREST, MIXTURE, CrossFittedIntervalRegressor(BOOSTER)])
def test_a_taught_tree_is_nearer_to_the_truth(teacher):
    X, Y = make_sine(200, 3, random_state=0)
    plain = IntervalSearchCV(MaxMarginIntervalTree()).fit(X, Y)
    taught = TaughtRegressor(IntervalSearchCV(MaxMarginIntervalTree()), teacher).fit(X, Y)
    assert taught.score(X_NEW, Y_NEW) > plain.score(X_NEW, Y_NEW) + 0.01


def test_rows_weights_and_groups_reach_the_teacher_of_all_rows_and_those_of_folds():
    groups = np.arange(len(X)) // 10
    Teacher.seen.clear()
    learn(teacher=Teacher()).fit(X, Y, WEIGHTS, groups)
    given, *others = Teacher.seen[0]
    assert given is X
    for found, expected in zip(others, (Y, WEIGHTS, groups), strict=True):
        np.testing.assert_array_equal(found, expected)
    folds = GroupKFold(3).split(X, Y, groups)
    for seen, (train, _) in zip(Teacher.seen[1:], folds, strict=True):
        train = train[WEIGHTS[train] > 0]
        for found, expected in zip(seen, (X, Y, WEIGHTS, groups), strict=True):
            np.testing.assert_array_equal(found, expected[train])
    learn(teacher=Teacher()).fit(X, Y)
    assert Teacher.seen[-1][2:] == (None, None)


@pytest.mark.filterwarnings("ignore:y. 16 of 80 rows are")
def test_rows_without_information_are_hidden_from_the_teachers_of_folds():
    y = Y.copy()
    y[::5] = -np.inf, np.inf
    Teacher.seen.clear()
    learn(teacher=Teacher()).fit(X, y)
    assert [len(seen[0]) for seen in Teacher.seen] == [80] + [
        np.isfinite(y[train]).any(axis=1).sum()
        for train, _ in CensoringStratifiedKFold(3).split(X, y)
    ]


def test_the_score_of_noise_is_no_better_with_a_teacher_than_without():
    too_good = []
    for seed in range(16):
        random = np.random.default_rng(seed)
        features, new = random.normal(size=(60, 3)), random.normal(size=(2000, 3))
        y, y_new = random.normal(size=60), random.normal(size=2000)

        def gain(search, features=features, new=new, y=y, y_new=y_new):
            """By how much a score is better than that of new rows: the best of some is, a little."""
            on_new = 1 - np.mean((search.fit(features, y).predict(new) - y_new) ** 2) / y_new.var()
            return 1 + search.best_score_ / y.var() - on_new

        taught = learn(teacher=clone(FOREST).set_params(random_state=seed), cv=5)
        too_good.append(gain(taught) - gain(clone(taught.student)))
    assert np.mean(too_good) < 2 * np.std(too_good, ddof=1) / 4


def test_out_of_bag_rows_are_not_unseen_by_a_teacher():
    student = IntervalSearchCV(MaxMarginIntervalForest(5, random_state=0), {"margin": (0.0, 0.1)})
    taught = TaughtRegressor(student, FOREST)
    assert taught.fit(X, Y).n_splits_ == 5
    with pytest.raises(ValueError, match="cv: a teacher has seen the rows that are out of bag"):
        taught.set_params(student__cv="oob").fit(X, Y)


def test_categories_and_missing_values_are_taught():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0, "a", "b"))})
    frame.loc[::9, "x"] = np.nan
    search = learn(teacher=MIXTURE).fit(frame, Y)
    labels = labels_of(clone(MIXTURE).fit(frame, Y).oof_prediction_, 0.8)
    own = MaxMarginIntervalTree(**search.best_params_).fit(frame, labels)
    np.testing.assert_array_equal(search.predict(frame), own.predict(frame))


def test_threads_change_nothing(tmp_path):
    one = learn(teacher=FOREST, estimator__max_features=1, random_state=0).fit(X, Y)
    two = learn(
        teacher=FOREST,
        estimator__max_features=1,
        random_state=0,
        n_jobs=2,
        checkpoint=tmp_path / "log",
    ).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X_NEW), two.predict(X_NEW))
    assert one.best_score_ == two.best_score_


def test_a_checkpoint_belongs_to_what_the_teacher_said(tmp_path):
    learn(teacher=FOREST, checkpoint=tmp_path / "log").fit(X, Y)
    n_pieces = (tmp_path / "log").read_text().count('"point"')
    learn(teacher=clone(FOREST).set_params(n_jobs=2), checkpoint=tmp_path / "log").fit(X, Y)
    assert (tmp_path / "log").read_text().count('"point"') == n_pieces
    with pytest.raises(ValueError, match=r"checkpoint: .*labels"):
        learn(teacher=Teacher(np.zeros(len(X))), checkpoint=tmp_path / "log").fit(X, Y)


def test_it_is_a_tree_like_any_other(tmp_path):
    search = learn(teacher=FOREST, estimator__max_leaf_nodes=4).fit(X, Y)
    assert export_text(search).count("samples") == 4
    save(search, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X_NEW), search.predict(X_NEW))
    assert loaded.teacher.get_params() == FOREST.get_params()
    pipeline = make_pipeline(StandardScaler(), learn(teacher=FOREST))
    assert cross_val_score(pipeline, X, Y, cv=CensoringStratifiedKFold(3)).mean() > 0.5


def test_groups_need_a_teacher_that_keeps_them_together():
    groups = np.arange(len(X)) % 10
    with pytest.raises(ValueError, match="teacher: MaxMarginIntervalForest knows no groups"):
        learn(teacher=FOREST).fit(X, Y, groups=groups)
    learn(teacher=CrossFittedIntervalRegressor(FOREST)).fit(X, Y, groups=groups)


def test_a_forest_of_scikit_learn_is_no_teacher_unless_it_is_cross_fitted():
    is_exact = np.isfinite(Y).all(axis=1)
    exact = Y[is_exact].mean(axis=1)
    foreign = RandomForestRegressor(30, random_state=0)
    with pytest.raises(
        TypeError, match=r"teacher: .*got RandomForestRegressor. Wrap it in a CrossFitted"
    ):
        learn(teacher=foreign).fit(X[is_exact], exact)
    taught = learn(teacher=CrossFittedIntervalRegressor(foreign)).fit(X[is_exact], exact)
    assert taught.score(X[is_exact], exact) > 0.8


def test_margins_of_rows_without_an_opinion_may_be_chosen():
    opinion = np.full(len(X), np.nan)
    opinion[:2] = 0.0
    search = learn(teacher=Teacher(opinion), grid={"margin": (0.0, 0.2)}).fit(X, Y)
    assert set(search.cv_results_["param_margin"]) == {0.0, 0.2}
    assert set(learn(teacher=Teacher(opinion)).fit(X, Y).cv_results_["param_margin"]) == {0.0}


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"teacher": "forest"},
            TypeError,
            "teacher: expected an estimator with fit and predict, got 'forest'",
        ),
        ({"teacher": MaxMarginIntervalForest}, TypeError, "teacher: .* call it"),
        (
            {"teacher": MaxMarginIntervalTree()},
            TypeError,
            "teacher: .*IntervalTree. Wrap it in a CrossFitted",
        ),
        (
            {"teacher": Teacher(np.zeros(3))},
            ValueError,
            r"teacher: expected 80 predictions .* shape \(3,\)",
        ),
        (
            {"teacher": FOREST, "share": 1.5},
            ValueError,
            "share: expected a number from 0 to 1, got 1.5",
        ),
        (
            {"teacher": Teacher(np.full(len(X), np.nan))},
            ValueError,
            "teacher: no informative row has a prediction",
        ),
    ],
)
def test_a_wrong_teacher_is_named(parameters, error, message):
    with pytest.raises(error, match=message):
        learn(**parameters).fit(X, Y)


def test_groups_of_folds_do_not_reach_a_student_that_has_none():
    X, y = make_sine(60, 2, random_state=0)
    teacher = CrossFittedIntervalRegressor(MaxMarginIntervalTree(max_depth=2))
    taught = TaughtRegressor(CensoredLinearRegression(), teacher)
    taught.fit(X, y, groups=np.arange(60) % 6)
    assert taught.predict(X).shape == (60,)
