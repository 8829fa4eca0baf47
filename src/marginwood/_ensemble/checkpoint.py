"""Finished pieces of a super learner on disk, so that a fit that was killed goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marginwood._ensemble.members import Finished, Member, Piece
from marginwood._persistence import load, save
from marginwood._resampling.journal import Journal

__all__ = ["Checkpoint"]


class Checkpoint(Journal):
    """A folder that keeps finished pieces: a model file each, and a journal that says which are whole.

    A model that `save` cannot write is not kept; `unsaved` holds the names of such members.
    """

    def __init__(
        self, folder: str | os.PathLike[str], header: dict[str, Any], members: Sequence[Member]
    ) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        super().__init__(self._folder / "journal", header)
        self._members = members
        self.unsaved: dict[str, str] = {}

    def _path(self, piece: Piece) -> Path:
        return self._folder / f"{piece.member}-{piece.fold}.mw"

    def kept(self) -> dict[Piece, Finished]:
        """The pieces that are there."""
        found = {}
        for line in self.pieces:
            piece = Piece(line["member"], line["fold"])
            model = load(self._path(piece))
            prediction = self._members[piece.member].predict_unseen(piece.fold, model)
            found[piece] = Finished(model, prediction, line["seconds"])
        return found

    def keep(self, piece: Piece, result: Finished) -> None:
        """Keep a piece, from any thread."""
        try:
            save(result.model, self._path(piece))
        except TypeError as error:
            self.unsaved[self._members[piece.member].name] = str(error)
        else:
            self.append({**piece._asdict(), "seconds": result.seconds})
