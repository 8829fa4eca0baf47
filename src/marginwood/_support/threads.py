"""Threads above serial kernels, for work that the user may interrupt.

Kernels run without the GIL and cannot be interrupted, so they never run in the calling thread: it
only waits, and Ctrl-C reaches it at once. The threads are daemons. One whose result nobody waits
for any more stops where a long loop calls `check_stopped`, or at the end of the piece at hand.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import sklearn
from joblib import cpu_count, effective_n_jobs, parallel_config

from marginwood._support.blas import one_blas_thread
from marginwood._support.checks import is_integer

__all__ = ["ask_joblib", "cap_jobs", "check_stopped", "count_threads", "run_in_threads"]

Key = TypeVar("Key")
Result = TypeVar("Result")

# On Windows a wait without end cannot be interrupted.
LONGEST_WAIT = 0.5

# More threads than this would only take turns, and at some number the system starts no more.
MOST_PER_PROCESSOR = 4

# The event by which a thread hears that nobody waits for its work.
_this_thread = threading.local()


class _Stopped(BaseException):
    """Ends work that nobody waits for; not an Exception, which code in between might catch."""


def check_stopped() -> None:
    """End the work of this thread if it is one of `run_in_threads` and nobody waits for it; for long loops to call."""
    stop = getattr(_this_thread, "stop", None)
    if stop is not None and stop.is_set():
        raise _Stopped


def count_threads(n_jobs: int | None, n_pieces: int) -> int:
    """How many threads joblib's `n_jobs` are for some pieces of work: one at least, and none that could do nothing.

    None is 1 unless a ``joblib.parallel_config`` says otherwise, -1 is all processors.
    """
    return max(1, min(ask_joblib(n_jobs), n_pieces, MOST_PER_PROCESSOR * cpu_count()))


def ask_joblib(n_jobs: int | None) -> int:
    """How many threads joblib's `n_jobs` are.

    A process of a pool may start no processes: joblib would warn of that and answer 1.
    """
    if n_jobs is None or not multiprocessing.current_process().daemon:
        return effective_n_jobs(n_jobs)
    with parallel_config(backend="threading"):
        return effective_n_jobs(n_jobs)


def cap_jobs(n_jobs: Any) -> int | None:
    """The `n_jobs` of a file: all processors of this machine, not as many threads or processes as the file says."""
    if n_jobs is not None and not is_integer(n_jobs):
        raise ValueError(f"n_jobs: expected an integer or None, got {n_jobs!r:.60}.")
    return -1 if n_jobs is not None and n_jobs > (os.cpu_count() or 1) else n_jobs


def run_in_threads(
    function: Callable[[Key], Result],
    keys: Sequence[Key],
    n_jobs: int | None = None,
    *,
    time_left: Callable[[], float] = lambda: math.inf,
) -> Generator[tuple[Key, Result]]:
    """Yield ``key, function(key)`` for every key, as they are finished; the first error is raised.

    `n_jobs` is joblib's, see `count_threads`. When `time_left`, in seconds, is not positive any
    more, nothing is begun, and what is not finished by then is given up.
    """
    waiting: queue.SimpleQueue[Key] = queue.SimpleQueue()
    finished: queue.SimpleQueue[tuple[Key, Any, BaseException | None]] = queue.SimpleQueue()
    for key in keys:
        waiting.put(key)
    stop = threading.Event()
    settings = sklearn.get_config()

    def work() -> None:
        sklearn.set_config(**settings)  # scikit-learn's settings belong to a thread
        _this_thread.stop = stop
        while not stop.is_set() and time_left() > 0:
            try:
                key = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((key, function(key), None))
            except BaseException as error:  # handed to the caller
                finished.put((key, None, error))
                return

    try:
        with one_blas_thread():  # here, not in the threads: the BLAS obeys one thread at a time
            for _ in range(count_threads(n_jobs, len(keys))):
                threading.Thread(target=work, name="marginwood", daemon=True).start()
            for _ in keys:
                result = _wait(finished, time_left)
                if result is None:
                    return
                key, value, error = result
                if error is not None:
                    raise error
                yield key, value
    finally:
        stop.set()


def _wait(finished: queue.SimpleQueue[Any], time_left: Callable[[], float]) -> Any:
    """The next result; None if it has not come in time."""
    while True:
        check_stopped()  # whoever waits may be a thread of another call
        seconds = time_left()
        try:
            return finished.get(timeout=max(0.0, min(seconds, LONGEST_WAIT)))
        except queue.Empty:
            if seconds <= 0:
                return None
