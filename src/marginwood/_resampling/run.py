"""The one loop over pieces of work: threads, a journal, progress, and a time limit.

A *piece* is what one thread does without asking another, such as a model without one fold.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

from marginwood._support.progress import progress_bar
from marginwood._support.threads import check_stopped, count_threads, run_in_threads

__all__ = ["Keeper", "Shared", "run"]

Key = TypeVar("Key")
Result = TypeVar("Result")


class Keeper(Protocol):
    """What keeps finished pieces on disk."""

    def kept(self) -> Mapping[Any, Any]:
        """The results of pieces that were finished before."""

    def keep(self, piece: Any, result: Any) -> None:
        """Keep the result of a piece, from any thread."""


class Shared(Protocol):
    """What some pieces share, such as the sorted features of a fold."""

    def release(self) -> None:
        """Forget what was prepared: the last of these pieces is done."""


def run(
    work: Callable[[Key], Result],
    pieces: Sequence[Key],
    *,
    label: str = "",
    keeper: Keeper | None = None,
    shared: Callable[[Key], Shared] | None = None,
    certain: Sequence[Key] = (),
    time_left: Callable[[], float] = lambda: math.inf,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[Key, Result]:
    """The results of the pieces that were finished, in the order of the pieces.

    Parameters
    ----------
    work : callable
        From a piece to its result; in threads.
    pieces : sequence
        In the order in which they are begun, but for what they share.
    label : str
        What progress is called.
    keeper : Keeper or None
        A thread keeps the result of its piece before it begins another: a run that is killed loses
        only unfinished ones.
    shared : callable or None
        From a piece to what it shares with others. Threads keep apart as long as they can, and
        there is never more of it prepared than there are threads.
    certain : sequence
        Pieces that are finished first, however long that takes.
    time_left : callable
        Seconds; when there are none, nothing is begun, and what is not finished is given up.
    n_jobs, verbose : int or None
        As of estimators.
    """
    done: dict[Key, Result] = dict(keeper.kept()) if keeper else {}

    def work_off(schedule: _Schedule[Key]) -> tuple[Key, Result]:
        piece = schedule.take()
        result = work(piece)
        check_stopped()  # what nobody waits for is not kept
        if keeper:
            keeper.keep(piece, result)
        schedule.give_back(piece)
        return piece, result

    first = [piece for piece in certain if piece not in done]
    others = [piece for piece in pieces if piece not in done and piece not in certain]
    batches = [(first, lambda: math.inf), (others, time_left)]
    with progress_bar(label, len(pieces), verbose=verbose, done=len(done)) as advance:
        for some, limit in filter(itemgetter(0), batches):
            schedule = _Schedule(some, shared, count_threads(n_jobs, len(some)))
            turns = run_in_threads(work_off, [schedule] * len(some), n_jobs, time_left=limit)
            with closing(turns) as results:
                for _, (piece, result) in results:
                    done[piece] = result
                    advance()
    return {piece: done[piece] for piece in pieces if piece in done}


class _Schedule(Generic[Key]):
    """Which piece a thread takes next: one that shares nothing with what others are at, if there is one.

    So every thread prepares for itself rather than wait for another to do so. A thread for which
    nothing of its own is left helps where most is left to do.
    """

    def __init__(
        self, pieces: Sequence[Key], shared: Callable[[Key], Shared] | None, n_threads: int
    ) -> None:
        self._lock = threading.Lock()
        self._n_threads = n_threads
        self._shared: Callable[[Key], Shared | None] = shared or (lambda _: None)
        self._waiting: dict[Shared | None, list[Key]] = {}
        for piece in reversed(pieces):
            self._waiting.setdefault(self._shared(piece), []).append(piece)
        self._unopened = list(self._waiting)
        self._n_at: dict[Shared | None, int] = {}  # threads at what is prepared

    def take(self) -> Key:
        """The next piece."""
        with self._lock:
            opened = [part for part in self._n_at if self._waiting[part]]
            free = [part for part in opened if not self._n_at[part]]
            if free:
                part = free[0]
            elif self._unopened and len(self._n_at) < self._n_threads:
                part = self._unopened.pop()
            else:
                part = max(opened, key=lambda part: len(self._waiting[part]))
            self._n_at[part] = self._n_at.get(part, 0) + 1
            return self._waiting[part].pop()

    def give_back(self, piece: Key) -> None:
        """Note that a piece is done, and release what it shared if it was the last."""
        part = self._shared(piece)
        with self._lock:
            self._n_at[part] -= 1
            if not self._n_at[part] and not self._waiting[part]:
                del self._n_at[part]
                if part is not None:
                    part.release()
