"""Downloading an archive and unpacking files of it: all of it arrives, or nothing does.

A download goes into a hidden folder beside its destination. It is checked there and renamed at the
end, so that what has its final name is whole.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

__all__ = ["fetch_files"]

CHUNK = 1 << 20
# What is downloaded and what is unpacked may have so many bytes each: data sets have less, and a
# small archive may hold as much as a disk does. A file takes a block of the disk, even if it is
# empty.
LARGEST = 1 << 28
BLOCK = 1 << 12
REPOSITORIES = "github.com"


def fetch_files(
    url: str,
    destination: Path,
    names: frozenset[str],
    *,
    sha256: str | None = None,
    timeout: float = 60.0,
) -> None:
    """Download a zip archive and unpack the files of some names to ``destination / folder / name``.

    `folder` is the last folder of a file's path in the archive. The address may also be the page of
    a GitHub repository, whose archive is taken. Raises OSError, with the address and the reason, if
    anything goes wrong.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=destination.parent) as folder:
        archive, unpacked = Path(folder, "archive"), Path(folder, "unpacked")
        unpacked.mkdir()
        try:
            _download(url, archive, timeout)
            _check_digest(archive, sha256)
            n_files = _unpack(archive, unpacked, names)
        except (
            Exception
        ) as error:  # zipfile alone has some ten kinds of errors for what is no sound archive
            raise OSError(
                f"{url}: {_reason(error)} Nothing was written to {destination}."
            ) from error
        if not n_files:
            raise OSError(f"{url}: the archive holds no file named {' or '.join(sorted(names))}.")
        # Another process may have been faster; what it wrote is whole too.
        with suppress(OSError):
            unpacked.rename(destination)
    if not destination.is_dir():
        raise OSError(f"{destination}: cannot be written.")


def _download(url: str, path: Path, timeout: float, *, is_archive: bool = False) -> None:
    """Write what an address holds to a file; raise if less arrives than was announced, or too much.

    A page of a repository has an archive beside it, unless the address is that of the archive
    already.
    """
    with urllib.request.urlopen(url, timeout=timeout) as response:
        is_page = response.headers.get_content_type() == "text/html"
        if not is_page:
            expected = response.headers.get("Content-Length")
            received = 0
            with path.open("wb") as file:
                while chunk := response.read(CHUNK):
                    received += file.write(chunk)
                    if received > LARGEST:
                        raise OSError(f"expected at most {LARGEST} bytes, got more.")
            if expected is not None and received != int(expected):
                raise OSError(
                    f"the download broke off after {received} of {expected} bytes. Try again."
                )
    if is_page:
        page = response.url.rstrip("/")
        # Any other page, such as one to log in to a network, comes in place of all that is asked
        # for.
        if is_archive or urlsplit(page).hostname != REPOSITORIES:
            raise OSError("expected a zip archive, got a web page.")
        _download(f"{page}/archive/HEAD.zip", path, timeout, is_archive=True)


def _check_digest(path: Path, sha256: str | None) -> None:
    """Raise unless the file has the digest that is expected, if any is."""
    if sha256 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256.lower():
            raise OSError(f"expected a file of sha256 {sha256}, got {found}.")


def _unpack(archive: Path, folder: Path, names: frozenset[str]) -> int:
    """Write the wanted files of an archive; returns how many. Paths that lead elsewhere raise."""
    if not zipfile.is_zipfile(archive):
        raise OSError("expected a zip archive, got something else.")
    n_files = n_bytes = 0
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            path = member.filename
            parts = PurePosixPath(path.replace("\\", "/")).parts
            if member.is_dir() or not parts or parts[-1] not in names:
                continue
            if len(parts) < 2 or ".." in parts or parts[0] == "/" or ":" in parts[0]:
                raise OSError(
                    f"the archive holds a file at {path!r}, which is not inside a folder of it."
                )
            n_bytes += max(member.file_size, BLOCK)
            if n_bytes > LARGEST:
                raise OSError(f"expected files of at most {LARGEST} bytes in all, got more.")
            target = folder / parts[-2] / parts[-1]
            target.parent.mkdir(exist_ok=True)
            if target.exists():
                raise OSError(f"the archive holds two files at {parts[-2]}/{parts[-1]}.")
            with zipped.open(member) as source, target.open("xb") as file:
                shutil.copyfileobj(source, file, CHUNK)
            n_files += 1
    return n_files


def _reason(error: BaseException) -> str:
    """What went wrong, for people."""
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}."
    if isinstance(error, urllib.error.URLError | TimeoutError | ConnectionError):
        reason = getattr(error, "reason", error)
        return (
            f"cannot be reached ({reason}). Check the connection, or download it elsewhere and "
            "pass a file:// address."
        )
    if isinstance(error, OSError | ValueError):
        return str(error)
    return f"the archive is damaged, incomplete or of a kind that is not read ({error}). Try again."
