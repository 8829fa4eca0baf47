"""Writing files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

__all__ = ["check_place", "write_whole"]


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError if a file can surely not be written here: better before long work than after it."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        return
    folder = path.resolve().parent
    code = 0 if os.access(folder, os.W_OK) else errno.EACCES if folder.is_dir() else errno.ENOENT
    if code:
        raise OSError(code, os.strerror(code), str(path))


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file under another name in the same folder, bring it to the disk, and rename it.

    A link is followed. Something that is there and is no file, such as a pipe, is written to as it is. Raises OSError.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:  # it names another file, if any
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, content: bytes | memoryview) -> None:
    partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
