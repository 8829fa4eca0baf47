"""Finished pieces of a super learner on disk, so that a fit that was killed goes on where it stopped."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from marginwood._persistence import load, save
from marginwood._resampling.journal import Journal

__all__ = ["Checkpoint", "Piece", "as_plain", "describe"]


class Piece(NamedTuple):
    """Numbers of a member and of a fold."""

    member: int
    fold: int


class Checkpoint:
    """A folder that keeps finished pieces: a model file each, and a journal that says which are whole.

    A model that `save` cannot write is not kept; `unsaved` holds the names of such members.
    """

    def __init__(self, folder: str | os.PathLike[str], header: dict[str, Any]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(self._folder / "journal", header)
        self._seconds = {
            Piece(line["member"], line["fold"]): line["seconds"] for line in self._journal.pieces
        }
        self.unsaved: dict[str, str] = {}

    def _path(self, piece: Piece) -> Path:
        return self._folder / f"{piece.member}-{piece.fold}.mw"

    def load(self, piece: Piece) -> tuple[Any, float] | None:
        """The model of a piece and how long it took; None if it is not there."""
        if piece not in self._seconds:
            return None
        return load(self._path(piece)), self._seconds[piece]

    def save(self, piece: Piece, name: str, model: Any, seconds: float) -> None:
        """Keep a piece, from any thread."""
        try:
            save(model, self._path(piece))
        except TypeError as error:
            self.unsaved[name] = str(error)
        else:
            self._journal.append({**piece._asdict(), "seconds": seconds})

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._journal.__exit__(kind, error, trace)


def as_plain(X: Any) -> Any:
    """Features, which may be a frame with text, as an array that a digest can be made of."""
    array = np.asarray(X)
    return array.astype(str) if array.dtype == object else array


def describe(estimator: Any) -> dict[str, str]:
    """The class and all parameters of an estimator that its fit depends on, as text."""
    words = {"class": type(estimator).__name__}
    for name, value in estimator.get_params().items():
        if name.rpartition("__")[2] not in ("n_jobs", "verbose", "checkpoint"):
            words[name] = re.sub(" at 0x[0-9a-fA-F]+", "", str(value))
    return words
