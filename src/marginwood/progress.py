"""A progress bar for people who watch: on a terminal, when asked for, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(description: str, total: int, *, verbose: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr if `verbose` and stderr is a terminal; yields a function that advances it by one."""
    if not verbose or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task(description, total=total, completed=done)
        yield lambda: progress.advance(task)
