"""A forest grown by a cluster of two processes is the one grown here, even if workers die."""

import os
import pickle
import signal

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from clusters import local_client
from conftest import PATIENCE
from marginwood import MaxMarginIntervalForest

distributed = pytest.importorskip("distributed", reason="Dask is optional")

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = np.sort(X[:, :1] + rng.normal(size=(400, 2)), axis=1)
y[::5, 0], y[1::5, 1] = -np.inf, np.inf
FOREST = MaxMarginIntervalForest(16, margin=0.2, max_depth=5, random_state=0)
N_WORKERS = 2
DASK = {"backend": "dask", "wait_for_workers_timeout": PATIENCE}


@pytest.fixture(scope="module")
def client():
    with local_client(n_workers=N_WORKERS, processes=True) as client:
        yield client


@pytest.fixture
def scattered(client, monkeypatch):
    """What is sent to the workers: for each call of `scatter` the objects and how many workers hold each."""
    calls, scatter = [], client.scatter

    def record(data, *args, **kwargs):
        futures = scatter(data, *args, **kwargs)
        calls.append((data, [len(holders) for holders in client.who_has(futures).values()]))
        return futures

    monkeypatch.setattr(client, "scatter", record)
    return calls


def make_plugin(mark, pids):
    """A plugin that kills workers, once, as soon as one of them has grown a tree and not yet said so."""

    class Killer(distributed.WorkerPlugin):
        def transition(self, key, start, finish, **_):
            if "grow_one" in str(key) and (start, finish) == ("executing", "memory"):
                try:
                    mark.touch(exist_ok=False)
                except FileExistsError:
                    return
                for pid in sorted(pids, key=os.getpid().__eq__):  # itself last
                    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    return Killer()


def assert_same_forest(forest, other):
    for tree, other_tree in zip(forest.estimators_, other.estimators_, strict=True):
        assert tree.tree_.nodes.tobytes() == other_tree.tree_.nodes.tobytes()
    np.testing.assert_array_equal(forest.predict(X), other.predict(X))


def test_the_cluster_grows_the_same_forest_from_data_that_is_sent_once(scattered):
    local = clone(FOREST).set_params(oob_score=True).fit(X, y)
    with joblib.parallel_config(**DASK):
        forest = clone(local).fit(X, y)
    assert_same_forest(forest, local)
    np.testing.assert_array_equal(forest.oob_prediction_, local.oob_prediction_)
    assert forest.oob_score_ == local.oob_score_
    ((rows, n_holders),) = scattered
    assert rows.X is X
    assert n_holders == [N_WORKERS]
    # Features and their orders, limits and their order, targets and weights, each once.
    n_limits = np.count_nonzero(np.isfinite(y))
    arrays = X.nbytes + 4 * X.size + 12 * n_limits + y.nbytes + 8 * len(X)
    assert arrays <= len(pickle.dumps(rows)) < 1.05 * arrays


@pytest.mark.parametrize(("n_deaths", "least_times_sent"), [(1, 1), (N_WORKERS, 2)])
def test_workers_that_die_cost_time_and_not_the_result(
    client, scattered, tmp_path, n_deaths, least_times_sent
):
    pids = list(client.run(os.getpid).values())
    client.register_plugin(make_plugin(tmp_path / "killed", pids[:n_deaths]))
    with joblib.parallel_config(**DASK):
        forest = clone(FOREST).fit(X, y)
    assert_same_forest(forest, clone(FOREST).fit(X, y))
    assert len(scattered) >= least_times_sent
    client.wait_for_workers(N_WORKERS, timeout=PATIENCE)
    assert set(client.run(os.getpid).values()).isdisjoint(pids[:n_deaths])


def test_a_cluster_of_one_thread_grows_the_same_forest():
    with local_client(n_workers=1, processes=False), joblib.parallel_config(**DASK):
        forest = clone(FOREST).fit(X, y)
    assert_same_forest(forest, clone(FOREST).fit(X, y))
