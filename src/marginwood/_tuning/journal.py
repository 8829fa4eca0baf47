"""A journal of finished pieces of work, so that a run that was killed goes on where it stopped.

A *journal* is a text file with one JSON object per line. The first line, the header, says to which data and parameters
the pieces belong. A line is whole when its newline is there: what follows the last newline was being written when the
process died, and is cut off. Python's JSON keeps every bit of a float, so a piece that is read back is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

__all__ = ["Journal", "digest"]

FORMAT = "marginwood journal 1"


def digest(*arrays: Any) -> str:
    """A fingerprint of the values, shapes and types of arrays."""
    fingerprint = hashlib.blake2b(digest_size=16)
    for array in map(np.ascontiguousarray, arrays):
        fingerprint.update(f"{array.dtype.str}{array.shape}".encode())
        fingerprint.update(array.data.cast("B") if array.size else b"")
    return fingerprint.hexdigest()


class Journal:
    """An open journal; `pieces` holds those that were already in the file.

    Parameters
    ----------
    path : path-like
        The file; it is made if it is not there.
    header : dict
        What the pieces depend on. It must survive a round trip through JSON.

    Raises
    ------
    ValueError
        If the file is something else, or a journal of other data or parameters. It is left as it is.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any]) -> None:
        self.path = Path(path)
        first_line = _line({"format": FORMAT, **header})
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        self.pieces: list[dict[str, Any]] = []
        if whole:
            self._check_header(whole.split(b"\n", 1)[0], header)
            self.pieces = self._read_pieces(whole)
        elif not first_line.startswith(content):
            raise ValueError(f"checkpoint: {self.path} is not a journal of marginwood. It is left as it is.")
        self._file = self.path.open("r+b" if content else "wb")
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._write(first_line)

    def _check_header(self, line: bytes, header: dict[str, Any]) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise ValueError(f"checkpoint: {self.path} is not a journal of marginwood. It is left as it is.")
        header = json.loads(json.dumps(header))
        others = [name for name in {**header, **found} if header.get(name) != found.get(name)]
        if others:
            raise ValueError(
                f"checkpoint: {self.path} belongs to other data or parameters: {', '.join(others)} differ. "
                "Delete it or name another file."
            )

    def _read_pieces(self, whole: bytes) -> list[dict[str, Any]]:
        try:
            return [json.loads(line) for line in whole.splitlines()[1:]]
        except ValueError:
            raise ValueError(f"checkpoint: {self.path} is damaged. Delete it or name another file.") from None

    def append(self, piece: dict[str, Any]) -> None:
        """Write a finished piece."""
        self._write(_line(piece))

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"
