"""Threads above serial kernels, for work that the user may interrupt.

Kernels run without the GIL and cannot be interrupted, so they never run in the calling thread: it only waits, and
Ctrl-C reaches it at once. The threads are daemons and finish the piece at hand, whose result is dropped.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import sklearn
from joblib import effective_n_jobs

__all__ = ["run_in_threads"]

Key = TypeVar("Key")
Result = TypeVar("Result")

# On Windows a wait without end cannot be interrupted.
LONGEST_WAIT = 0.5


def run_in_threads(
    function: Callable[[Key], Result], keys: Sequence[Key], n_jobs: int | None = None
) -> Generator[tuple[Key, Result]]:
    """Yield ``key, function(key)`` for every key, as they are finished; the first error is raised.

    `n_jobs` is joblib's: None is 1 unless a ``joblib.parallel_config`` says otherwise, -1 is all processors.
    """
    waiting: queue.SimpleQueue[Key] = queue.SimpleQueue()
    finished: queue.SimpleQueue[tuple[Key, Any, BaseException | None]] = queue.SimpleQueue()
    for key in keys:
        waiting.put(key)
    stop = threading.Event()
    settings = sklearn.get_config()

    def work() -> None:
        sklearn.set_config(**settings)  # scikit-learn's settings belong to a thread
        while not stop.is_set():
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
        for _ in range(min(effective_n_jobs(n_jobs), len(keys))):
            threading.Thread(target=work, name="marginwood", daemon=True).start()
        for _ in keys:
            key, result, error = _wait(finished)
            if error is not None:
                raise error
            yield key, result
    finally:
        stop.set()


def _wait(finished: queue.SimpleQueue[Any]) -> Any:
    while True:
        try:
            return finished.get(timeout=LONGEST_WAIT)
        except queue.Empty:
            continue
