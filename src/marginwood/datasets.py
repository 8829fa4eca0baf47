"""Interval targets: simulated with a known signal, made of ordinary regressions, or read from files.

The three simulations follow Drouin, Hocking and Laviolette, "Maximum Margin Interval Trees" (2017): many features, of
which one, the signal feature, determines the target through a function f, and intervals of random width and position
around f. Here

- features uniform on (0, 10), the first of them the signal feature;
- centre of an interval: f plus a normal shift with standard deviation 0.2;
- interval: the least and the greatest of 10 normal draws around the centre, with standard deviation 0.3;
- open ends: with probability 0.2 a row has one infinite end, the lower or the upper one with equal chance.

Signals, widths, scatter and open ends agree with the data sets published with the paper.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from marginwood._support.archives import fetch_files
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.cells import BOOLEANS, MISSING
from marginwood._support.checks import check_count, check_number
from marginwood.intervals import FloatArray, IntArray, check_intervals, make_intervals

__all__ = [
    "fetch_paper_data",
    "load_folder",
    "load_npz",
    "make_absolute",
    "make_intervals_from_regression",
    "make_linear",
    "make_sine",
]

FEATURE_MAX = 10.0
SHIFT_SD, DRAW_SD = 0.2, 0.3
N_DRAWS = 10
OPEN_SHARE = 0.2

PAPER_DATA_URL = "https://git.io/mmit-data"
FOLDER_FILES = ("features.csv", "targets.csv", "folds.csv")

RandomState = int | np.random.RandomState | None
Samples = tuple[FloatArray, FloatArray]  # X and y


def make_sine(n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None) -> Samples:
    """Simulate intervals around the sine of the first feature.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=20
        Number of features. All but the first are noise.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform on (0, 10).
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends, of which one is infinite in about a fifth of the rows.

    Examples
    --------
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> X.shape, y.shape
    ((200, 20), (200, 2))
    >>> bool((y[:, 0] < y[:, 1]).all())
    True
    """
    return _simulate(np.sin, n_samples, n_features, random_state)


def make_absolute(n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None) -> Samples:
    """Simulate intervals around the distance of the first feature from 5.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=20
        Number of features. All but the first are noise.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform on (0, 10).
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends, of which one is infinite in about a fifth of the rows.

    Examples
    --------
    >>> from marginwood.datasets import make_absolute
    >>> X, y = make_absolute(50, 3, random_state=0)
    >>> X.shape, y.shape
    ((50, 3), (50, 2))
    """
    return _simulate(distance_from_middle, n_samples, n_features, random_state)


def make_linear(n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None) -> Samples:
    """Simulate intervals around a fifth of the first feature.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=20
        Number of features. All but the first are noise.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform on (0, 10).
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends, of which one is infinite in about a fifth of the rows.

    Examples
    --------
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(50, 3, random_state=0)
    >>> X.shape, y.shape
    ((50, 3), (50, 2))
    """
    return _simulate(fifth, n_samples, n_features, random_state)


def make_intervals_from_regression(
    X: Any,
    y: Any,
    *,
    width: float = 0.5,
    left: float = 0.1,
    right: float = 0.1,
    uncensored: float = 0.0,
    random_state: RandomState = None,
) -> Samples:
    """Turn an ordinary regression data set into one with interval targets.

    Every row gets an interval around its value, whose two sides are uniform on ``(0, width)`` in units of the
    standard deviation of `y`. Then a share of the rows loses the lower end, a share the upper end, and a share
    keeps the value itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features; returned as they are, in float64.
    y : array-like of shape (n_samples,)
        The values.
    width : float, default=0.5
        Mean width of the intervals, in standard deviations of `y`.
    left, right, uncensored : float, default=0.1, 0.1, 0.0
        Probability that a row is left-censored, right-censored, or not censored at all; the rest is
        interval-censored. Their sum must not exceed 1.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends. Every interval holds its row's value.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from marginwood.datasets import make_intervals_from_regression
    >>> from marginwood.intervals import censoring_kind
    >>> X, y = make_intervals_from_regression(*load_diabetes(return_X_y=True), right=0.5, random_state=0)
    >>> round(float((censoring_kind(y) == "right").mean()), 1)
    0.5
    """
    values, X = as_numbers(y, "y"), as_numbers(X, "X")
    if values.ndim != 1 or X.ndim != 2 or len(X) != len(values) or not np.isfinite(values).all():
        raise ValueError(f"X, y: expected rows and one finite value for each; got shapes {X.shape} and {values.shape}.")
    shares = {"left": left, "right": right, "uncensored": uncensored}
    if min(shares.values()) < 0 or sum(shares.values()) > 1 + 1e-12:
        raise ValueError(f"left, right, uncensored: expected shares >= 0 whose sum is at most 1, got {shares}.")
    check_number("width", width, "a finite number >= 0", lambda number: 0 <= number < np.inf)
    random = check_random_state(random_state)
    sides = random.uniform(0.0, width * values.std(), (2, len(values)))
    intervals = np.column_stack([values - sides[0], values + sides[1]])
    draw = _open_ends(intervals, left, right, random)
    is_exact = (draw >= left) & (draw < left + uncensored)
    intervals[is_exact] = values[is_exact, np.newaxis]
    return X, intervals


def load_folder(path: str | os.PathLike[str]) -> Bunch:
    r"""Read a data set from a folder of ``features.csv``, ``targets.csv`` and, if there is one, ``folds.csv``.

    Each file has a header and one line per sample; columns without a name are left out. An empty cell, ``NA``, ``N/A``,
    ``NaN``, ``null`` or ``none`` is a missing feature or the open end of a target. ``Inf`` and ``-Inf`` are infinities,
    ``true`` and ``false`` 1 and 0. This is the layout of the data published with the paper.

    Parameters
    ----------
    path : path-like
        The folder.

    Returns
    -------
    Bunch
        ``X``, ``y`` (lower and upper ends), ``folds`` (the number of each row's test fold, or None),
        ``feature_names`` and ``name``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from marginwood.datasets import load_folder
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "features.csv").write_text("age,dose\n3,1.5\n4,NA\n")
    ...     _ = Path(folder, "targets.csv").write_text("lower,upper\n1,2\n-Inf,5\n")
    ...     data = load_folder(folder)
    >>> data.feature_names, data.y.tolist()
    (['age', 'dose'], [[1.0, 2.0], [-inf, 5.0]])
    """
    features, targets, folds = (Path(path, name) for name in FOLDER_FILES)
    names, X = _read_csv(features)
    ends, y = _read_csv(targets)
    if len(ends) != 2:
        raise ValueError(f"{targets}: expected two columns, lower and upper ends; got {len(ends)}.")
    numbers = check_folds(_read_csv(folds)[1], folds) if folds.exists() else None
    return _bunch(Path(path), X, make_intervals(*y.T), numbers, names)


def load_npz(path: str | os.PathLike[str]) -> Bunch:
    """Read a data set from an ``.npz`` file of arrays ``X``, ``y`` and, if there are, ``folds`` and ``feature_names``.

    Parameters
    ----------
    path : path-like
        The file. Arrays that need pickle are refused.

    Returns
    -------
    Bunch
        ``X``, ``y`` (lower and upper ends), ``folds`` (the number of each row's test fold, or None),
        ``feature_names`` and ``name``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from marginwood.datasets import load_npz
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "toy.npz"), X=[[1.0], [2.0]], y=[[0.0, 1.0], [2.0, np.inf]])
    ...     data = load_npz(Path(folder, "toy.npz"))
    >>> data.name, data.y.tolist()
    ('toy', [[0.0, 1.0], [2.0, inf]])
    """
    path = Path(path)
    with np.load(path, allow_pickle=False) as arrays:
        if not {"X", "y"} <= set(arrays.files):
            raise ValueError(f"{path}: expected arrays X and y, got {', '.join(arrays.files) or 'none'}.")
        X, y = arrays["X"], arrays["y"]
        folds = check_folds(arrays["folds"], path) if "folds" in arrays.files else None
        names = arrays["feature_names"].tolist() if "feature_names" in arrays.files else None
    return _bunch(path, X, y, folds, names)


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


def _read_csv(path: Path) -> tuple[list[str], FloatArray]:
    """Names and numbers of the named columns of a csv file."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file) if line]
    header = [name.strip() for name in lines.pop(0)] if lines else []
    if not any(header):
        raise ValueError(f"{path}: empty, or without names; expected a header of column names above the rows.")
    values = np.empty((len(lines), sum(map(bool, header))))
    for row, line in enumerate(lines):
        if len(line) != len(header):
            raise ValueError(f"{path}: expected {len(header)} columns, got {len(line)} in row {row}.")
        try:
            values[row] = [_number(cell) for cell in compress(line, header)]
        except ValueError as error:
            raise ValueError(f"{path}: {error} in row {row}.") from None
    return list(filter(None, header)), values


def _number(cell: str) -> float:
    """The number that a cell of a csv file stands for."""
    text = cell.strip().lower()
    return np.nan if text in MISSING else float(BOOLEANS.get(text, cell))


def check_folds(folds: Any, source: Path | str) -> IntArray:
    """Numbers of folds as integers; raises for others, naming where they come from and the first row."""
    fold = as_numbers(folds, "folds").ravel()
    raise_first(~np.isfinite(fold) | (fold != np.round(fold)), f"{source}: folds are not whole numbers", fold=fold)
    return fold.astype(np.int64)


def _bunch(path: Path, X: Any, y: Any, folds: IntArray | None, feature_names: list[str] | None) -> Bunch:
    """A data set of checked parts."""
    X, y = as_numbers(X, "X"), check_intervals(y)
    lengths = {"X": len(X), "y": len(y)} | ({} if folds is None else {"folds": len(folds)})
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{path}: expected one number of rows, got {lengths}.")
    return Bunch(X=X, y=y, folds=folds, feature_names=feature_names, name=path.stem)


def distance_from_middle(x: FloatArray) -> FloatArray:
    """Distance from the middle of the feature's range."""
    return np.abs(x - FEATURE_MAX / 2)


def fifth(x: FloatArray) -> FloatArray:
    """A line from 0 to 2 over the feature's range."""
    return x / 5


def _simulate(signal: Callable[..., FloatArray], n_samples: int, n_features: int, random_state: RandomState) -> Samples:
    """Features and intervals around `signal` of the first feature."""
    for name, count in (("n_samples", n_samples), ("n_features", n_features)):
        check_count(name, count, 1)
    random = check_random_state(random_state)
    X = random.uniform(0.0, FEATURE_MAX, (n_samples, n_features))
    centre = signal(X[:, 0]) + random.normal(0.0, SHIFT_SD, n_samples)
    draws = random.normal(centre[:, np.newaxis], DRAW_SD, (n_samples, N_DRAWS))
    y = np.column_stack([draws.min(axis=1), draws.max(axis=1)])
    _open_ends(y, OPEN_SHARE / 2, OPEN_SHARE / 2, random)
    return X, y


def _open_ends(y: FloatArray, left: float, right: float, random: np.random.RandomState) -> FloatArray:
    """Open the lower end of a share `left` of the rows and the upper end of others; returns what decided."""
    # One draw decides about both ends, which keeps them from opening together.
    draw = random.uniform(size=len(y))
    y[draw < left, 0] = -np.inf
    y[draw > 1.0 - right, 1] = np.inf
    return draw
