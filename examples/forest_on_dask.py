"""Grow a forest on a Dask cluster of two processes, kill one of them meanwhile, and compare with the forest grown here.

Needs the extra: ``pip install ".[dask]"``.
"""

import logging
import os
import signal
import threading
from time import perf_counter, sleep

import joblib
from dask.distributed import Client, LocalCluster

from marginwood import MaxMarginIntervalForest
from marginwood.datasets import make_sine


def kill_when_busy(client, pid):
    """Kill a worker as soon as the cluster grows trees."""
    while not any(client.processing().values()):
        sleep(0.05)
    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    print(f"killed the worker with process id {pid}")


def main():
    X, y = make_sine(10_000, random_state=0)
    forest = MaxMarginIntervalForest(n_estimators=100, margin=0.2, oob_score=True, random_state=0)

    start = perf_counter()
    forest.fit(X, y)
    print(
        f"here, one thread: {perf_counter() - start:.1f} s, out-of-bag D2 {forest.oob_score_:.3f}"
    )
    local = [tree.tree_.nodes.tobytes() for tree in forest.estimators_]

    # A remote cluster differs in one line: Client("tcp://scheduler:8786"). Its workers need
    # marginwood installed.
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    with cluster, Client(cluster) as client:
        client.run(
            MaxMarginIntervalForest(n_estimators=1).fit, X[:10], y[:10]
        )  # imports and kernels, once per worker
        pids = sorted(client.run(os.getpid).values())
        for victim in (None, pids[0]):
            if victim is not None:
                threading.Thread(target=kill_when_busy, args=(client, victim)).start()
            start = perf_counter()
            with joblib.parallel_config(backend="dask"):
                forest.fit(X, y)
            print(
                f"on the cluster: {perf_counter() - start:.1f} s, out-of-bag D2 {forest.oob_score_:.3f}"
            )
            same = [tree.tree_.nodes.tobytes() for tree in forest.estimators_] == local
            print(f"the same trees, bit for bit: {same}")


if __name__ == "__main__":
    main()
