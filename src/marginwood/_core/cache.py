"""Where compiled kernels are kept between runs: in a folder of the user's, one file per kernel and signature.

The folder is named after all that the machine code depends on, so that a new environment with the same versions starts
warm and nothing stale is ever read. A file starts with a digest: one that is cut short or damaged counts as missing.
"""

import hashlib
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

# A disk without room for one kernel is found before the kernel is compiled.
ROOM = 1 << 20


class UnusableError(Exception):
    """Says why kernels cannot be kept."""


def user_folder():
    """Where programs keep what they can make again."""
    if sys.platform == "win32":
        named = os.environ.get("LOCALAPPDATA", "")
    else:
        named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UnusableError("there is no home folder") from error
    if sys.platform == "win32":
        return home / "AppData" / "Local"
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def digest(*parts):
    """A short name for some bytes; where one part ends and the next begins counts."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:32]


@cache
def digest_files(*paths):
    """Of the names and the contents of files."""
    try:
        return digest(*(part for path in paths for part in (path.name.encode(), path.read_bytes())))
    except OSError as error:
        raise UnusableError(f"{error.strerror or error}: {error.filename}") from error


def digest_core():
    """Of all modules beside this one: a kernel's code is also that of the functions that it calls."""
    return digest_files(*sorted(Path(__file__).parent.glob("*.py")), Path(__file__))


class Store:
    """Files in a folder that only its owner may write to: whoever writes them decides what this process runs."""

    def __init__(self, folder):
        self.folder = folder

    def _check(self):
        """Raise FileNotFoundError if there is no folder, and UnusableError if others may write to it."""
        found = self.folder.stat()
        if os.name != "posix":
            return
        if found.st_uid not in (0, os.geteuid()):
            raise UnusableError(f"{self.folder} belongs to another user")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UnusableError(f"others may write to {self.folder}")

    def read(self, name):
        """What was kept under this name; None if there is nothing, or nothing whole."""
        try:
            self._check()
            content = (self.folder / name).read_bytes()
        except (OSError, UnusableError):
            return None
        head = content[:32]
        kept = content[32:]
        return kept if head == digest(name.encode(), kept).encode() else None

    def write(self, name, content):
        """Keep content under a name, whole or not at all; raise UnusableError if that fails."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check()
            handle, partial = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".partial")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(digest(name.encode(), content).encode() + content)
                Path(partial).replace(self.folder / name)
            except BaseException:
                Path(partial).unlink()
                raise
        except OSError as error:
            raise UnusableError(f"{error.strerror or error}: {self.folder}") from error

    def try_out(self):
        """Raise UnusableError if a kernel could not be kept."""
        self.write(f".{os.getpid()}.probe", bytes(ROOM))
        (self.folder / f".{os.getpid()}.probe").unlink(missing_ok=True)
