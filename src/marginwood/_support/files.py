"""Writing files that appear whole or not at all.

A file is written under another name, the *partial* file, and renamed. A process that is killed in
between leaves its partial file behind; the next one that writes the same file removes it. So that
it does not remove those of processes which are still writing, a writer holds a lock on its partial
file, which ends with the process.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

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

    A link is followed, and a file that is replaced keeps its permissions. Something that is there
    and is not a file, such as a pipe, is written to as it is. Raises OSError.
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
    prefix = f".{path.name[:100]}."
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    _remove_abandoned(path.parent, prefix)
    # Closed to others until it has the right permissions; a new file has those that the user's mask
    # leaves.
    partial, file = _open_partial(path, prefix, 0o666 if mode is None else 0o600)
    try:
        with file:
            if mode is not None:
                partial.chmod(mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                partial.replace(path)  # while it is locked: nobody takes it for abandoned
        if fcntl is None:
            partial.replace(path)  # Windows renames closed files only
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _open_partial(path: Path, prefix: str, mode: int) -> tuple[Path, BinaryIO]:
    """A new partial file, which this process has locked."""
    while True:
        partial = path.with_name(f"{prefix}{secrets.token_hex(4)}.partial")
        file = os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")
        # Another process may have found it before it was locked, and removed it.
        if _is_locked(file, otherwise=True) and partial.exists():
            return partial, file
        file.close()


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove the partial files of processes that are no more."""
    with suppress(OSError):  # a folder that may be written to but not read
        for partial in list(folder.iterdir()):
            if partial.name.startswith(prefix) and partial.name.endswith(".partial"):
                with suppress(OSError):  # it has vanished, or belongs to somebody else
                    _remove_unlocked(partial)


def _remove_unlocked(partial: Path) -> None:
    if not stat.S_ISREG(partial.lstat().st_mode):
        return  # nobody's partial file, but a pipe, say, or a link
    if fcntl is None:
        partial.unlink()
        return
    # It may have become a pipe since then: that is opened without waiting for a writer.
    with os.fdopen(os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if _is_locked(file, otherwise=False):
            partial.unlink()


def _is_locked(file: BinaryIO, *, otherwise: bool) -> bool:
    """Whether this process got the lock of a file; `otherwise` is the answer where there are no locks."""
    if fcntl is None:
        return otherwise
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return otherwise
    return True
