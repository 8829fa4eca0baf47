"""A journal of finished pieces of work, so that a run that was killed goes on where it stopped.

A *journal* is a text file with one JSON object per line. The first line, the header, says to which
version of the package, data and parameters the pieces belong. Each run adds a line that says who it
is, then one for every piece. A line is whole when its newline is there: what follows the last
newline was being written when the process died, and is cut off. Python's JSON keeps every bit of a
float, so a piece that is read back is the same.

One run at a time has a journal: it holds a lock, which the system releases when the process ends,
however it ends. Programs that do not ask for the lock are not kept out. A network file system may
hold it for runs on one computer only: runs on two of them need two journals there.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import re
import socket
import sys
import threading
from collections.abc import Collection, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import issparse

from marginwood._support.notices import warn
from marginwood._version import __version__

__all__ = ["Journal", "describe", "digest"]

# Parameters on which no result depends.
ONLY_SPEED = ("n_jobs", "verbose", "checkpoint")
FORMAT = "marginwood journal 2"
HAS_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def digest(*values: Any) -> str:
    """A fingerprint of the values, shapes and types of arrays; of anything else, of how `describe` tells it.

    A sparse matrix by rows counts as its parts, and cells of text as text.
    """
    fingerprint = hashlib.blake2b(digest_size=16)
    parts = [(v.shape, v.indptr, v.indices, v.data) if issparse(v) else (v,) for v in values]
    for part in chain.from_iterable(parts):
        is_array = hasattr(part, "__array__")
        array = np.ascontiguousarray(part if is_array else json.dumps(describe(part)))
        array = array.astype(str) if array.dtype.hasobject else array
        fingerprint.update(f"{array.dtype.str}{array.shape}".encode())
        fingerprint.update(array.view(np.uint8).data if array.size else b"")
    return fingerprint.hexdigest()


def describe(value: Any, without: Collection[str] = ()) -> Any:
    """An estimator's class and all parameters that its fit depends on, in words that are the same in every process.

    They come as a dict, those of estimators inside it as dicts of their own; `without` names
    parameters that are left out. Anything else comes as JSON can hold it: numbers as text, because
    1 is a count where 1.0 is a share, arrays to the last number, functions by their code, and
    objects that do not say what they are by their pickle.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False).items()
        kept = {name: param for name, param in params if name not in {*ONLY_SPEED, *without}}
        return {"class": type(value).__name__, **describe(kept)}
    if isinstance(value, Mapping):
        return {str(name): describe(item) for name, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(describe(item)) for item in value)
    if issparse(value):
        return digest(value.tocsr())
    value = np.asarray(value).tolist() if hasattr(value, "__array__") else value
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        inside = [content for content in cells if content is not value]  # one that calls itself
        given = value.__defaults__, value.__kwdefaults__, inside
        return [value.__name__, _describe_code(value.__code__), describe(given)]
    if isinstance(value, MethodType):
        return [describe(value.__self__), describe(value.__func__)]
    if isinstance(value, partial):
        return ["partial", describe(value.func), describe(value.args), describe(value.keywords)]
    return _describe_object(value) if HAS_ADDRESS.search(repr(value)) else str(value)


def _describe_code(code: CodeType) -> list[Any]:
    """What a function does, wherever it stands; functions inside it are constants."""
    constants = [
        _describe_code(constant)
        if isinstance(constant, CodeType)
        else [type(constant).__name__, describe(constant)]
        for constant in code.co_consts
    ]
    return [code.co_code.hex(), code.co_names, constants]


def _describe_object(value: Any) -> list[str]:
    """The class of an object of which nothing is told but its address, and a digest of its pickle."""
    name = type(value).__name__
    try:
        content = pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise TypeError(
            f"checkpoint: expected parameters that can be told apart, got {value!r:.200}. Give the "
            f"class {name} a __repr__ that shows what its objects hold."
        ) from None
    return [name, hashlib.blake2b(content, digest_size=16).hexdigest()]


class Journal:
    """An open journal; `pieces` holds those that were already in the file.

    Parameters
    ----------
    path : path-like
        The file; it is made if it is not there.
    header : dict
        What the pieces depend on, beside the version of the package. It must survive a round trip
        through JSON.

    Raises
    ------
    ValueError
        If the file is something else, or a journal of other data or parameters or of another
        version, or if another run has it. It is left as it is.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any]) -> None:
        self.path = Path(path)
        self._writing = threading.Lock()
        # Without a buffer each write is one call of the system, and in append mode it goes to the
        # end of the file.
        self._file = self.path.open("a+b", buffering=0)
        try:
            self.pieces = self._take({"format": FORMAT, "version": __version__, **header})
        except BaseException:
            self._file.close()
            raise

    def _take(self, header: dict[str, Any]) -> list[dict[str, Any]]:
        """Lock the file, check and read it, cut off a line that is not whole, and say who has it."""
        is_free = self._lock()
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if not is_free:
            raise ValueError(
                f"checkpoint: {self.path} is in use by {_last_run(whole)}. Wait until that has ended, or name another "
                "file."
            )
        lines = []
        if whole:
            self._check_header(whole.split(b"\n", 1)[0], header)
            lines = self._read_lines(whole)
        elif not _line(header).startswith(content):
            raise ValueError(
                f"checkpoint: {self.path} is not a journal of marginwood. It is left as it is."
            )
        self._file.truncate(len(whole))
        if not whole:
            self._write(_line(header))
        self._write(_line({"run": {"pid": os.getpid(), "host": socket.gethostname()}}))
        return [line for line in lines if "run" not in line]

    def _lock(self) -> bool:
        """Whether this run has the file; a file system without locks is warned about."""
        try:
            return _lock_if_free(self._file)
        except OSError as error:
            warn(
                f"checkpoint: {self.path} cannot be locked: {error.strerror}. Make sure that no other run uses it."
            )
            return True

    def _check_header(self, line: bytes, header: dict[str, Any]) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError(
                f"checkpoint: {self.path} is not a journal of marginwood. It is left as it is."
            )
        if found.get("version") != __version__:
            raise ValueError(
                f"checkpoint: {self.path} was written by marginwood {found.get('version')}; results of marginwood "
                f"{__version__} may differ. Finish it with that version, delete it, or name another file."
            )
        header = json.loads(json.dumps(header))
        others = [name for name in {**header, **found} if header.get(name) != found.get(name)]
        if others:
            raise ValueError(
                f"checkpoint: {self.path} belongs to other data or parameters: {', '.join(others)} differ. "
                "Delete it or name another file."
            )

    def _read_lines(self, whole: bytes) -> list[dict[str, Any]]:
        try:
            return [dict(json.loads(line)) for line in whole.splitlines()[1:]]
        except (TypeError, ValueError):
            raise ValueError(
                f"checkpoint: {self.path} is damaged. Delete it or name another file."
            ) from None

    def append(self, piece: dict[str, Any]) -> None:
        """Write a finished piece, from any thread; it is on disk when this returns.

        A thread that finishes a piece after the journal was closed, because the user interrupted
        the run, drops it.
        """
        line = _line(piece)
        with self._writing:
            if not self._file.closed:
                self._write(line)

    def _write(self, line: bytes) -> None:
        end = os.fstat(self._file.fileno()).st_size
        try:
            if self._file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(end)  # half a line would be glued to the next one
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._writing:
            self._file.close()


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _last_run(whole: bytes) -> str:
    """Who has a journal: the last run that wrote its name."""
    for line in reversed(whole.splitlines()):
        if line.startswith(b'{"run": '):
            run = json.loads(line)["run"]
            return f"process {run['pid']} on {run['host']}"
    return "another process"


if sys.platform == "win32":
    import msvcrt

    # Windows keeps others from reading what is locked, so that a byte far beyond the end stands for
    # the file.
    FAR_BEYOND = 2**62

    def _lock_if_free(file: BinaryIO) -> bool:
        file.seek(FAR_BEYOND)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _lock_if_free(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
