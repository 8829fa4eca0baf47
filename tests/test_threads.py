"""Work in threads: everything once, errors to the caller, settings carried over, nothing after a stop."""

import threading

import pytest
import sklearn

from conftest import PATIENCE
from marginwood._support.threads import run_in_threads


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
