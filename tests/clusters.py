"""A Dask cluster on this machine that waits for its workers however slow they start."""

import logging
from contextlib import contextmanager

from conftest import PATIENCE

SETTINGS = {
    "distributed.comm.timeouts.connect": PATIENCE,
    "distributed.comm.timeouts.tcp": PATIENCE,
    "distributed.deploy.lost-worker-timeout": PATIENCE,  # how long a dead worker may take to start again
    "distributed.scheduler.worker-ttl": None,  # a worker that is busy compiling is not dead
}
# Without a limit of memory no worker is paused or restarted because the machine is small.
OPTIONS = {
    "threads_per_worker": 1,
    "dashboard_address": ":0",
    "memory_limit": None,
    "silence_logs": logging.CRITICAL,
}


@contextmanager
def local_client(*, n_workers, processes):
    """The client of a new cluster, which ends with it."""
    import dask
    import distributed

    with (
        dask.config.set(SETTINGS),
        distributed.LocalCluster(n_workers=n_workers, processes=processes, **OPTIONS) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
