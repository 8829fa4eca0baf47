"""How far long work has come: a bar on terminals, lines everywhere else, and only when asked for."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

N_LINES = 10

log = logging.getLogger("marginwood")


@contextmanager
def progress_bar(
    description: str, total: int, *, verbose: int, done: int = 0
) -> Iterator[Callable[[], None]]:
    """Show progress if `verbose`; yields a function that advances it by one.

    On a terminal a bar appears on stderr. Otherwise there are ten lines, as in notebooks and pipes:
    in the log, if the logger "marginwood" shows information, and else on stderr.
    """
    if not verbose or not sys.stderr.isatty():
        count = itertools.count(done + 1)
        yield lambda: _log_step(description, next(count), total) if verbose else None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task(description, total=total, completed=done)
        yield lambda: progress.advance(task)


def _log_step(description: str, step: int, total: int) -> None:
    if step * N_LINES // total > (step - 1) * N_LINES // total:
        if log.isEnabledFor(logging.INFO) and log.hasHandlers():
            log.info("%s: %d of %d", description, step, total)
        else:
            sys.stderr.write(f"{description}: {step} of {total}\n")
            sys.stderr.flush()
