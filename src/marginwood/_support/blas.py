"""Linear algebra on one thread, while models are fitted.

Where matrices are small, threads of the BLAS take longer to meet than to work: a search over smooth models on 137 rows
took ten times the processor time on two of them. And what they add up depends on their number. Threads of this package
work side by side instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the threads of the BLAS to one."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
