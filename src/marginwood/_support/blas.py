"""Linear algebra on one thread, while models are fitted.

Where matrices are small, threads of the BLAS take longer to meet than to work: a search over smooth
models on 137 rows took ten times the processor time on two of them. And what they add up depends on
their number. Threads of this package work side by side instead.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


class _Hold:
    """The one limit of the process: who comes first sets it, who goes last gives the threads back.

    Fits that overlap would otherwise give them back to each other: what one adds up then depended
    on when another one ended, and the last would leave the limit of the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._controller: Any = None
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.restore_original_limits()


_hold = _Hold()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the threads of the BLAS to one."""
    _hold.enter()
    try:
        yield
    finally:
        _hold.leave()
