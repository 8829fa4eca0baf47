"""The one loop over pieces of work: threads, a journal, progress, and a time limit.

A *piece* is what one thread does without asking another, such as a model without one fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol, TypeVar

from marginwood._support.progress import progress_bar
from marginwood._support.threads import check_stopped, run_in_threads

__all__ = ["Keeper", "run"]

Key = TypeVar("Key")
Result = TypeVar("Result")


class Keeper(Protocol):
    """What keeps finished pieces on disk."""

    def kept(self) -> Mapping[Any, Any]:
        """The results of pieces that were finished before."""

    def keep(self, piece: Any, result: Any) -> None:
        """Keep the result of a piece, from any thread."""


def run(
    work: Callable[[Key], Result],
    pieces: Sequence[Key],
    *,
    label: str = "",
    keeper: Keeper | None = None,
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
        In the order in which they are begun.
    label : str
        What progress is called.
    keeper : Keeper or None
        A thread keeps the result of its piece before it begins another: a run that is killed loses
        only unfinished ones.
    certain : sequence
        Pieces that are finished first, however long that takes.
    time_left : callable
        Seconds; when there are none, nothing is begun, and what is not finished is given up.
    n_jobs, verbose : int or None
        As of estimators.
    """

    def work_and_keep(piece: Key) -> Result:
        result = work(piece)
        check_stopped()  # what nobody waits for is not kept
        if keeper:
            keeper.keep(piece, result)
        return result

    done: dict[Key, Result] = dict(keeper.kept()) if keeper else {}
    first = [piece for piece in certain if piece not in done]
    others = [piece for piece in pieces if piece not in done and piece not in certain]
    with progress_bar(label, len(pieces), verbose=verbose, done=len(done)) as advance:
        for some, limit in ((first, lambda: math.inf), (others, time_left)):
            with closing(run_in_threads(work_and_keep, some, n_jobs, time_left=limit)) as results:
                for piece, result in results:
                    done[piece] = result
                    advance()
    return {piece: done[piece] for piece in pieces if piece in done}
