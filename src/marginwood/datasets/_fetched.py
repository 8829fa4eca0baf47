"""Data sets that are downloaded once and kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from scipy.io import arff

from marginwood._support.archives import fetch_files
from marginwood._support.checks import check_choice
from marginwood.datasets._files import FOLDER_FILES
from marginwood.datasets._real import Table, answer, read_numbers
from marginwood.intervals import from_events

__all__ = ["fetch_paper_data", "fetch_survival_data"]

PAPER_DATA_URL = "https://git.io/mmit-data"
# A wheel is a zip file; only data are taken out of it. The path is the digest by which the index
# keeps it for good.
SURVIVAL_DATA_URL = (
    "https://files.pythonhosted.org/packages/c5/de/4da2f99a2c043b3032806f2408af09e7f0e3a2425edefaec5aa969b2106e/"
    "scikit_survival-0.28.0-cp311-cp311-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl"
)
SURVIVAL_DATA_SHA256 = "d5816b07570ad8edf849502ea59abdd1391d74aaa6f9215224c38c0887fcb1d5"


class Survival(NamedTuple):
    """The columns of a table that hold the time and the event, what an event is called, and columns after it."""

    time: str
    event: str
    happened: str
    later: tuple[str, ...] = ()


SURVIVAL_DATA = {
    "flchain": Survival("futime", "death", "dead", later=("chapter",)),
    "veteran": Survival("Survival_in_days", "Status", "dead"),
    "whas500": Survival("lenfol", "fstat", "1"),
}


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
        Where data is kept; by default the folder that the environment variable MARGINWOOD_DATA
        names, else ``~/marginwood_data``.
    url : str, default="https://git.io/mmit-data"
        A zip archive, or the page of a GitHub repository. A ``file://`` address works too.
    sha256 : str, default=None
        Digest that the archive must have; None for no check. No digest can be given here, since the
        archive of the authors may change: to be sure of the same data, keep that of a download that
        you trust.
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
    folder = _find_home(data_home) / "paper"
    if not folder.is_dir():
        _check_allowed(folder, download_if_missing)
        fetch_files(url, folder, frozenset(FOLDER_FILES), sha256=sha256, timeout=timeout)
    return {
        path.name: path for path in sorted(folder.iterdir()) if (path / "features.csv").exists()
    }


def fetch_survival_data(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    url: str = SURVIVAL_DATA_URL,
    sha256: str | None = SURVIVAL_DATA_SHA256,
    download_if_missing: bool = True,
    timeout: float = 60.0,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Download right-censored survival data that may not be packaged here, once.

    They come with scikit-survival 0.28.0, under the GPL:

    - "flchain": days to death of 7874 people, by free light chains in their blood [1]_;
    - "veteran": days to death of 137 patients with lung cancer [2]_;
    - "whas500": days to death of 500 patients after a heart attack [3]_.

    Parameters
    ----------
    name : {"flchain", "veteran", "whas500"}
        Which of them.
    data_home : path-like, default=None
        Where data is kept; by default the folder that the environment variable MARGINWOOD_DATA
        names, else ``~/marginwood_data``.
    url : str, default=the wheel of scikit-survival 0.28.0 on PyPI
        A zip archive with the files, of 4 MB. A ``file://`` address works too.
    sha256 : str, default=the digest of that wheel
        Digest that the archive must have; None for no check.
    download_if_missing : bool, default=True
        Whether to download what is not there; otherwise that raises.
    timeout : float, default=60.0
        Seconds to wait for the server.
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    Raises
    ------
    OSError
        If the archive cannot be had, or is damaged. Nothing is written then.

    References
    ----------
    .. [1] Dispenzieri et al., "Use of nonclonal serum immunoglobulin free light chains to predict overall survival in
       the general population", Mayo Clinic Proceedings 87 (2012), 517-523.
    .. [2] Kalbfleisch and Prentice, "The Statistical Analysis of Failure Time Data", Wiley (2002).
    .. [3] Hosmer, Lemeshow and May, "Applied Survival Analysis", Wiley (2008).

    Examples
    --------
    >>> from marginwood.datasets import fetch_survival_data
    >>> data = fetch_survival_data("whas500")  # doctest: +SKIP
    """
    check_choice("name", name, SURVIVAL_DATA)
    folder = _find_home(data_home) / "survival"
    if not folder.is_dir():
        _check_allowed(folder, download_if_missing)
        wanted = frozenset(f"{known}.arff" for known in SURVIVAL_DATA)
        fetch_files(url, folder, wanted, sha256=sha256, timeout=timeout)
    table = _read_arff(folder / "data" / f"{name}.arff")
    known = SURVIVAL_DATA[name]
    y = from_events(
        read_numbers(table[known.time]), [cell == known.happened for cell in table[known.event]]
    )
    not_features = (known.time, known.event, *known.later)
    return answer(fetch_survival_data, table, not_features, y, return_X_y, as_frame, name)


def _find_home(data_home: str | os.PathLike[str] | None) -> Path:
    return Path(
        data_home or os.environ.get("MARGINWOOD_DATA") or Path.home() / "marginwood_data"
    ).expanduser()


def _check_allowed(folder: Path, download_if_missing: bool) -> None:
    if not download_if_missing:
        raise OSError(f"{folder}: not there, and download_if_missing is False.")


def _read_arff(path: Path) -> Table:
    """The cells of a file of Weka, an empty one where nothing is known."""
    rows, header = arff.loadarff(path)
    table = {}
    for column, kind in zip(header.names(), header.types(), strict=True):
        cells = (
            [cell.decode() for cell in rows[column]]
            if kind == "nominal"
            else [str(cell) for cell in rows[column]]
        )
        table[column] = ["" if cell == "?" else cell for cell in cells]
    return table
