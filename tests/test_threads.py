"""Work in threads: everything once, errors to the caller, settings carried over, nothing after a stop."""

import queue
import threading

import joblib
import numpy as np
import pytest
import sklearn

from conftest import PATIENCE
from marginwood import (
    CrossFittedIntervalRegressor,
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood._core import parallel
from marginwood._support.threads import (
    MOST_PER_PROCESSOR,
    check_stopped,
    count_threads,
    run_in_threads,
)
from marginwood.datasets import make_sine


@pytest.mark.parametrize("n_jobs", [None, 1, 3, -1])
def test_every_key_is_worked_once(n_jobs):
    results = list(run_in_threads(lambda key: key**2, range(20), n_jobs))
    assert sorted(results) == [(key, key**2) for key in range(20)]


def test_no_keys_give_no_results():
    assert list(run_in_threads(str, [])) == []


def test_nothing_runs_in_the_calling_thread():
    ((_, name),) = run_in_threads(lambda _: threading.current_thread(), [0])
    assert name is not threading.current_thread()
    assert name.daemon


def test_two_jobs_run_at_the_same_time():
    both = threading.Barrier(2, timeout=PATIENCE)
    assert len(list(run_in_threads(lambda _: both.wait(), [0, 1], 2))) == 2


def test_an_error_reaches_the_caller_and_stops_the_rest():
    begun = []

    def work(key):
        begun.append(key)
        raise LookupError(f"piece {key}")

    with pytest.raises(LookupError, match="piece 0"):
        list(run_in_threads(work, range(1000)))
    assert begun == [0]


def test_closing_the_results_stops_the_work():
    begun, may_go_on = [], threading.Semaphore(1)

    def work(key):
        may_go_on.acquire()
        begun.append(key)
        return threading.current_thread()

    results = run_in_threads(work, range(100))
    _, worker = next(results)
    results.close()
    may_go_on.release()
    worker.join(timeout=PATIENCE)
    assert not worker.is_alive()
    assert len(begun) <= 2


def test_settings_of_scikit_learn_reach_the_threads():
    with sklearn.config_context(assume_finite=True):
        ((_, settings),) = run_in_threads(lambda _: sklearn.get_config(), [0])
    assert settings["assume_finite"] is True


def busy(begun):
    """Work that never ends by itself."""
    begun.put(threading.current_thread())
    while True:
        check_stopped()


def test_work_that_nobody_waits_for_ends_where_it_checks():
    begun = queue.SimpleQueue()
    results = run_in_threads(lambda key: busy(begun) if key else key, [0, 1])
    next(results)
    worker = begun.get(timeout=PATIENCE)
    results.close()
    worker.join(timeout=PATIENCE)
    assert not worker.is_alive()


def test_threads_of_threads_hear_of_it_too():
    begun = queue.SimpleQueue()
    results = run_in_threads(
        lambda key: list(run_in_threads(busy, [begun])) if key else key, [0, 1]
    )
    next(results)
    inner = begun.get(timeout=PATIENCE)
    results.close()
    inner.join(timeout=PATIENCE)
    assert not inner.is_alive()


def test_a_check_outside_of_such_threads_does_nothing():
    check_stopped()


def test_what_is_not_finished_in_time_is_given_up():
    begun, seconds_left = queue.SimpleQueue(), [1.0]

    def work(key):
        if key == 2:
            seconds_left[0] = 0.0
            busy(begun)
        return key

    assert list(run_in_threads(work, range(4), time_left=lambda: seconds_left[0])) == [
        (0, 0),
        (1, 1),
    ]
    worker = begun.get(timeout=PATIENCE)
    worker.join(timeout=PATIENCE)
    assert not worker.is_alive()


def test_nothing_begins_when_no_time_is_left():
    begun = []
    assert list(run_in_threads(begun.append, range(100), 4, time_left=lambda: 0.0)) == []
    assert begun == []


def test_there_are_no_more_threads_than_pieces_of_work_nor_than_processors_can_use():
    assert count_threads(None, 5) == 1
    assert count_threads(2, 5) == 2
    assert count_threads(100_000, 3) == 3
    assert count_threads(100_000, 0) == 1
    assert count_threads(100_000, 100_000) == MOST_PER_PROCESSOR * joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert count_threads(None, 5) == 2


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=3),
        MaxMarginIntervalForest(3, random_state=0),
        MaxMarginIntervalBoosting(3, random_state=0),
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=3),
        CrossFittedIntervalRegressor(MaxMarginIntervalTree(max_depth=2), cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_threads_that_the_system_would_not_start_are_not_asked_for(model, monkeypatch):
    X, y = make_sine(60, 2, random_state=0)
    expected = sklearn.clone(model).fit(X, y).predict(X)
    started, start = [], threading.Thread.start

    def start_few(thread):
        started.append(thread)
        if len(started) > 1000:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(parallel, "LEAST_CELLS", 1)
    monkeypatch.setattr(threading.Thread, "start", start_few)
    model = sklearn.clone(model).set_params(n_jobs=100_000).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected)
    if isinstance(model, MaxMarginIntervalForest):
        model.predict_distribution(X)
