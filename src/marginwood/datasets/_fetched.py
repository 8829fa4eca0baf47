"""Data sets that are downloaded once and kept."""

from __future__ import annotations

import os
from pathlib import Path

from marginwood._support.archives import fetch_files
from marginwood.datasets._files import FOLDER_FILES

__all__ = ["fetch_paper_data"]

PAPER_DATA_URL = "https://git.io/mmit-data"


def fetch_paper_data(
    *,
    data_home: str | os.PathLike[str] | None = None,
    url: str = PAPER_DATA_URL,
    sha256: str | None = None,
    download_if_missing: bool = True,
    timeout: float = 60.0,
) -> dict[str, Path]:
    """Download the data sets of the maximum margin interval trees paper, once.

    Parameters
    ----------
    data_home : path-like, default=None
        Where data is kept; by default the folder that the environment variable MARGINWOOD_DATA names, else
        ``~/marginwood_data``.
    url : str, default="https://git.io/mmit-data"
        A zip or tar archive, or the page of a GitHub repository. A ``file://`` address works too.
    sha256 : str, default=None
        Digest that the archive must have; None for no check.
    download_if_missing : bool, default=True
        Whether to download what is not there; otherwise that raises.
    timeout : float, default=60.0
        Seconds to wait for the server.

    Returns
    -------
    dict of str to Path
        The folder of every data set by its name, for `load_folder`.

    Raises
    ------
    OSError
        If the archive cannot be had, or is damaged. Nothing is written then.

    Examples
    --------
    >>> from marginwood.datasets import fetch_paper_data, load_folder
    >>> servo = load_folder(fetch_paper_data()["servo"])  # doctest: +SKIP
    """
    home = Path(data_home or os.environ.get("MARGINWOOD_DATA") or Path.home() / "marginwood_data").expanduser()
    folder = home / "paper"
    if not folder.is_dir():
        if not download_if_missing:
            raise OSError(f"{folder}: not there, and download_if_missing is False.")
        fetch_files(url, folder, frozenset(FOLDER_FILES), sha256=sha256, timeout=timeout)
    return {path.name: path for path in sorted(folder.iterdir()) if (path / "features.csv").exists()}
