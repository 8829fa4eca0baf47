"""Where compiled kernels are kept between runs: in a folder of the user's, one file per kernel and signature.

The folder is named after all that the machine code depends on, so that a new environment with the
same versions starts warm and nothing stale is ever read. A file starts with a digest: one that is
cut short or damaged counts as missing.
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

BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MAX_LINKS = 40  # as in Linux: more are taken for a circle


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


def _open_here(path):
    """A file of its folder: no link is followed, and nothing waits for the writer of a pipe."""
    flags = (getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
    return os.fdopen(os.open(path, os.O_RDONLY | sum(flags)), "rb")


def _examine(path, owner, writable_by_others=0):
    """Raise UnusableError if another user can change what lies at a path."""
    if owner not in (0, os.geteuid()):
        raise UnusableError(f"{path} belongs to another user")
    if writable_by_others:
        raise UnusableError(f"others may write to {path}")


def _examine_folder(path, found, is_last):
    """Raise UnusableError if another user can put something else in the place of what lies in a folder.

    Two folders above may be written to: a sticky one (such as /tmp), which keeps others from what
    is not theirs, and one of the user's own group, the custom of some systems (umask 002). What
    lies below is examined in any case.
    """
    others = found.st_mode & BY_OTHERS
    if not is_last:
        if found.st_gid == os.getegid():
            others &= ~stat.S_IWGRP
        if found.st_mode & stat.S_ISVTX:
            others = 0
    _examine(path, found.st_uid, others)


class Store:
    """Files in a folder that only its owner may write to: whoever writes them decides what this process runs.

    Whoever may change a folder above it can put another one in its place, so all of them are
    examined.
    """

    def __init__(self, folder):
        self.folder = folder

    def _locate(self, make=False):
        """The folder, by a path without links; UnusableError if somebody else can lead it elsewhere.

        From the root down, each step is taken from a folder that has been examined: nobody else can
        swap what is found there before it is used. A link counts as the folders that it leads
        through.
        """
        if os.name != "posix":
            if make:
                self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder
        here = Path()
        ahead = [*reversed(self.folder.absolute().parts)]
        n_links = 0
        while ahead:
            here /= ahead.pop()  # a part that is absolute starts again from the root
            if make and not os.path.lexists(here):
                here.mkdir(mode=0o700, exist_ok=True)
            found = here.lstat()
            if stat.S_ISLNK(found.st_mode):
                _examine(here, found.st_uid)
                ahead += reversed(here.readlink().parts)
                here = here.parent
                n_links += 1
                if n_links > MAX_LINKS:
                    raise UnusableError(f"{self.folder} leads through too many links")
            else:
                _examine_folder(here, found, is_last=not ahead)
        return here

    def read(self, name):
        """What was kept under this name; None if there is nothing, or nothing whole."""
        try:
            with _open_here(self._locate() / name) as file:
                found = os.fstat(file.fileno())
                if os.name == "posix":
                    _examine(name, found.st_uid, found.st_mode & BY_OTHERS)
                content = file.read()
        except (OSError, UnusableError):
            return None
        head = content[:32]
        kept = content[32:]
        return kept if head == digest(name.encode(), kept).encode() else None

    def write(self, name, content):
        """Keep content under a name, whole or not at all; raise UnusableError if that fails."""
        try:
            folder = self._locate(make=True)
            handle, partial = tempfile.mkstemp(dir=folder, prefix=".", suffix=".partial")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(digest(name.encode(), content).encode() + content)
                Path(partial).replace(folder / name)
            except BaseException:
                Path(partial).unlink()
                raise
        except OSError as error:
            raise UnusableError(f"{error.strerror or error}: {self.folder}") from error

    def try_out(self):
        """Raise UnusableError if a kernel could not be kept."""
        self.write(f".{os.getpid()}.probe", bytes(ROOM))
        (self.folder / f".{os.getpid()}.probe").unlink(missing_ok=True)
