"""Folds, the loop over pieces of work, and estimators in the words of journals."""

import json
import threading
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import PATIENCE
from marginwood import (
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood._base import Rows
from marginwood._resampling.folds import Fold, make_bags, make_folds, make_whole
from marginwood._resampling.journal import describe
from marginwood._resampling.run import run
from marginwood.datasets import make_sine

X, Y = make_sine(60, random_state=0)


def make_rows():
    intervals, weight = Y.copy(), np.ones(len(X))
    intervals[3] = (-np.inf, np.inf)
    weight[5] = 0
    return Rows(X, intervals, weight)


class Memory:
    """A keeper that holds some pieces already."""

    def __init__(self, done):
        self.done = done
        self.order = []

    def kept(self):
        return self.done

    def keep(self, piece, result):
        self.order.append((piece, result))


def test_what_is_kept_is_not_done_again_and_results_follow_the_pieces():
    begun = []

    def square(piece):
        begun.append(piece)
        return piece**2

    memory = Memory({2: 4, 7: 49})
    assert list(run(square, [3, 2, 1], keeper=memory).items()) == [(3, 9), (2, 4), (1, 1)]
    assert begun == [3, 1]
    assert memory.order == [(3, 9), (1, 1)]


def test_certain_pieces_are_finished_without_time_and_others_are_not_begun():
    found = run(lambda piece: -piece, [1, 2, 3], certain=[2], time_left=lambda: 0.0)
    assert found == {2: -2}


def test_a_result_that_comes_too_late_is_not_kept():
    now, may_end, memory = [1.0], threading.Event(), Memory({})
    workers = []

    def wait(piece):
        workers.append(threading.current_thread())
        now[0] = 0.0
        may_end.wait(PATIENCE)
        return piece

    assert run(wait, ["late"], keeper=memory, time_left=lambda: now[0]) == {}
    may_end.set()
    for worker in workers:
        worker.join(PATIENCE)
    assert memory.order == []


def test_a_piece_that_fails_ends_the_loop_with_its_error():
    def fail(piece):
        if piece == 1:
            raise KeyError(piece)
        return piece

    with pytest.raises(KeyError, match="1"):
        run(fail, [0, 1, 2], n_jobs=2)


class Part:
    """Something that some pieces share."""

    def __init__(self, log):
        self.log = log
        self.is_released = False

    def release(self):
        assert not self.is_released
        self.is_released = True


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_keep_to_parts_of_their_own_and_release_each_at_its_last_piece(n_jobs):
    lock = threading.Lock()
    parts = [Part([]) for _ in range(4)]
    most_open = 0

    def work(piece):
        nonlocal most_open
        with lock:
            part = parts[piece // 5]
            assert not part.is_released
            part.log.append(piece)
            most_open = max(most_open, sum(bool(p.log) and not p.is_released for p in parts))
        return piece

    pieces = list(range(20))
    found = run(work, pieces, shared=lambda piece: parts[piece // 5], n_jobs=n_jobs)
    assert list(found) == pieces
    assert most_open <= n_jobs
    for number, part in enumerate(parts):
        assert sorted(part.log) == list(range(5 * number, 5 * number + 5))
        assert part.is_released


def test_a_thread_without_a_part_of_its_own_helps_another():
    part = Part([])
    both_are_at_work = threading.Barrier(2, timeout=PATIENCE)
    run(lambda _: both_are_at_work.wait(), [0, 1], shared=lambda _: part, n_jobs=2)
    assert part.is_released


def test_progress_counts_what_was_kept(caplog):
    caplog.set_level("INFO", logger="marginwood")
    run(lambda piece: piece, [0, 1, 2], label="pieces", keeper=Memory({0: 0}), verbose=1)
    assert caplog.messages == ["pieces: 2 of 3", "pieces: 3 of 3"]


def test_a_fold_trains_on_informative_rows_and_predicts_all_unseen_ones():
    rows = make_rows()
    for fold in make_folds(rows, 3, None, weighted=True):
        model = fold.fit(MaxMarginIntervalTree(max_depth=3))
        train = fold.train[rows.is_informative[fold.train]]
        assert len(train) == np.count_nonzero(fold.train != 3)
        literal = MaxMarginIntervalTree(max_depth=3)
        literal.fit(X[train], rows.intervals[train], rows.weight[train])
        np.testing.assert_array_equal(fold.predict(model), literal.predict(X[fold.unseen]))
        assert fold.unseen_by(model) is fold.unseen


def test_a_booster_that_is_watched_keeps_all_its_stages_and_its_losses_of_unseen_rows():
    booster = MaxMarginIntervalBoosting(200, n_iter_no_change=3, random_state=0)
    fold = make_folds(make_rows(), 3, None, weighted=False)[0]
    rows = fold.rows
    train, unseen = (part[rows.is_informative[part]] for part in (fold.train, fold.unseen))
    stopped = clone(booster).fit(
        X[train], rows.intervals[train], X_val=X[unseen], y_val=rows.intervals[unseen]
    )
    watched = fold.fit(booster, watched=True)
    np.testing.assert_array_equal(watched.validation_score_, stopped.validation_score_)
    assert len(watched.estimators_) == len(watched.validation_score_)
    own = clone(booster).fit(X[train], rows.intervals[train])
    np.testing.assert_array_equal(fold.fit(booster).predict(X), own.predict(X))
    assert len(own.estimators_) != len(stopped.estimators_)


@pytest.mark.filterwarnings("ignore:oob_score")
def test_rows_are_unseen_by_the_trees_that_did_not_draw_them():
    rows = make_rows()
    bags = make_bags(rows, weighted=False)
    model = bags.fit(MaxMarginIntervalForest(4, oob_score=True, random_state=0))
    informative = np.flatnonzero(rows.is_informative)
    known = informative[~np.isnan(model.oob_prediction_)]
    np.testing.assert_array_equal(bags.unseen_by(model), known)
    np.testing.assert_array_equal(bags.predict(model)[informative], model.oob_prediction_)
    others = np.flatnonzero(~rows.is_informative)
    np.testing.assert_array_equal(bags.predict(model)[others], model.predict(X[others]))
    assert len(bags.predict_distribution(model)) == len(known)


def test_other_features_leave_the_rows_of_a_fold():
    fold = make_whole(make_rows(), weighted=False, groups=np.arange(60))
    other = fold.with_features(-X)
    assert isinstance(other, Fold)
    np.testing.assert_array_equal(other.rows.X, -X)
    assert other.train is fold.train
    assert other.groups is fold.groups


def test_an_estimator_in_words_is_known_by_what_its_fit_depends_on():
    def words(**params):
        search = IntervalSearchCV(L1IntervalRegression()).set_params(**params)
        return describe(make_pipeline(StandardScaler(), search))

    plain = words()
    assert json.loads(json.dumps(plain)) == plain
    assert words(n_jobs=3, verbose=1, checkpoint="here") == plain
    assert words(estimator__tol=1e-3) != plain
    assert words(grid={"margin": [0]}) != words(grid={"margin": [0.0]})
    margins = np.linspace(0, 1, 5000)
    others = margins.copy()
    others[2500] += 1e-9
    assert words(grid={"margin": margins}) != words(grid={"margin": others})
    assert words(grid={"margin": margins}) == words(grid={"margin": margins.tolist()})
    first, second = (words(scoring=partial(max, 0, key=lambda _: 0)) for _ in range(2))
    assert first == second
