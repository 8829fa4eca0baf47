"""Writing files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file under another name in the same folder, bring it to the disk, and rename it.

    A link is followed. Something that is there and is no file, such as a pipe, is written to as it is.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
