"""Results as lines of a csv file, from which a run that was stopped goes on.

A *piece* of work has a key, of which the last part is a fingerprint of its data and settings. Its
result is one line, written when it is finished. A line is whole when its newline is there: what
follows the last newline was being written when the process died, and is cut off. Lines with other
fingerprints stay in the file and are not read.
"""

import csv
import io
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import blake2b
from multiprocessing import get_context
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from marginwood._resampling.journal import digest


class Piece(NamedTuple):
    """One piece of work; `function` returns the values of its line."""

    key: tuple[str, ...]
    function: Callable[..., tuple]
    arguments: tuple[Any, ...]


def fingerprint(settings, *arrays):
    """What a result depends on, in 12 letters."""
    return blake2b((repr(settings) + digest(*arrays)).encode(), digest_size=6).hexdigest()


class Table:
    """A csv file whose first columns, the last of them `settings`, are the key of a piece."""

    def __init__(self, path, keys, values):
        self.path = path
        self.columns = (*keys, "settings", *values)
        self._n_keys = len(keys) + 1
        path.parent.mkdir(parents=True, exist_ok=True)

    def _whole_lines(self):
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if whole and whole.split(b"\n", 1)[0].decode() != ",".join(self.columns):
            sys.exit(
                f"{self.path}: expected the columns {', '.join(self.columns)}. Delete it or name another --out."
            )
        return whole

    def read(self, pieces):
        """Lines of those pieces that are done, by key, in the order of the pieces."""
        lines = list(csv.reader(io.StringIO(self._whole_lines().decode())))[1:]
        done = {
            tuple(line[: self._n_keys]): dict(zip(self.columns, line, strict=True))
            for line in lines
        }
        return {piece.key: done[piece.key] for piece in pieces if piece.key in done}

    def run(self, pieces, n_jobs):
        """Do the pieces that are not done."""
        done = self.read(pieces)
        missing = [piece for piece in pieces if piece.key not in done]
        whole = self._whole_lines()
        with self.path.open(
            "r+" if self.path.exists() else "w", newline="", encoding="utf-8"
        ) as file:
            file.truncate(len(whole))
            file.seek(0, io.SEEK_END)
            writer = csv.writer(file, lineterminator="\n")
            if not whole:
                writer.writerow(self.columns)
            shown = 0.0
            for n_done, (piece, values) in enumerate(
                _outcomes(missing, n_jobs), start=len(done) + 1
            ):
                writer.writerow([*piece.key, *map(_one_line, values)])
                file.flush()
                if n_done == len(pieces) or monotonic() - shown > 1.0:
                    shown = monotonic()
                    what = ", ".join(piece.key[:-1])
                    print(
                        f"{self.path.stem} {n_done}/{len(pieces)}: {what}",
                        file=sys.stderr,
                        flush=True,
                    )


def _one_line(value):
    """A value that survives as text without line breaks; floats keep every bit."""
    return (
        repr(float(value))
        if isinstance(value, float | np.floating)
        else " ".join(str(value).split())
    )


def _outcomes(pieces, n_jobs):
    """Pairs of a piece and its values, as they are finished."""
    if n_jobs == 1:
        yield from ((piece, piece.function(*piece.arguments)) for piece in pieces)
        return
    # A fresh interpreter per process: forks of a process with threads may hang.
    pool = ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"))
    try:
        running = {pool.submit(piece.function, *piece.arguments): piece for piece in pieces}
        for future in as_completed(running):
            yield running.pop(future), future.result()
    finally:
        pool.shutdown(cancel_futures=True)
