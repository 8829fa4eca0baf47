"""Data sets in folders of csv files and in ``.npz`` files."""

from __future__ import annotations

import csv
import os
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.notation import BOOLEANS, MISSING
from marginwood.intervals import FloatArray, IntArray, check_intervals, make_intervals

__all__ = ["load_folder", "load_npz"]

FOLDER_FILES = ("features.csv", "targets.csv", "folds.csv")


def load_folder(path: str | os.PathLike[str]) -> Bunch:
    r"""Read a data set from a folder of ``features.csv``, ``targets.csv`` and, if present, ``folds.csv``.

    Each file has a header and one line per sample; columns without a name are left out. An empty
    cell, ``NA``, ``N/A``, ``NaN``, ``null`` or ``none`` is a missing feature or the open end of a
    target. ``Inf`` and ``-Inf`` are infinities, ``true`` and ``false`` 1 and 0. This is the layout
    of the data published with the paper.

    Parameters
    ----------
    path : path-like
        The folder.

    Returns
    -------
    Bunch
        ``X``, ``y`` (lower and upper ends), ``folds`` (the number of each row's test fold, or
        None), ``feature_names`` and ``name``.

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
    """Read a data set from an ``.npz`` file of arrays ``X``, ``y`` and, if present, ``folds`` and ``feature_names``.

    Parameters
    ----------
    path : path-like
        The file. Arrays that need pickle are refused.

    Returns
    -------
    Bunch
        ``X``, ``y`` (lower and upper ends), ``folds`` (the number of each row's test fold, or
        None), ``feature_names`` and ``name``.

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
            raise ValueError(
                f"{path}: expected arrays X and y, got {', '.join(arrays.files) or 'none'}."
            )
        X, y = arrays["X"], arrays["y"]
        folds = check_folds(arrays["folds"], path) if "folds" in arrays.files else None
        names = arrays["feature_names"].tolist() if "feature_names" in arrays.files else None
    return _bunch(path, X, y, folds, names)


def _read_csv(path: Path) -> tuple[list[str], FloatArray]:
    """Names and numbers of the named columns of a csv file."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file) if line]
    header = [name.strip() for name in lines.pop(0)] if lines else []
    if not any(header):
        raise ValueError(
            f"{path}: empty, or without names; expected a header of column names above the rows."
        )
    values = np.empty((len(lines), sum(map(bool, header))))
    for row, line in enumerate(lines):
        if len(line) != len(header):
            raise ValueError(
                f"{path}: expected {len(header)} columns, got {len(line)} in row {row}."
            )
        try:
            values[row] = [cell_number(cell) for cell in compress(line, header)]
        except ValueError as error:
            raise ValueError(f"{path}: {error} in row {row}.") from None
    return list(filter(None, header)), values


def cell_number(cell: str) -> float:
    """The number that a cell of a csv file stands for."""
    text = cell.strip().lower()
    return np.nan if text in MISSING else float(BOOLEANS.get(text, cell))


def check_folds(folds: Any, source: Path | str) -> IntArray:
    """Numbers of folds as integers; raises for others, naming where they come from and the first row."""
    fold = as_numbers(folds, "folds").ravel()
    raise_first(
        ~np.isfinite(fold) | (fold != np.round(fold)),
        f"{source}: folds are not whole numbers",
        fold=fold,
    )
    return fold.astype(np.int64)


def _bunch(
    path: Path, X: Any, y: Any, folds: IntArray | None, feature_names: list[str] | None
) -> Bunch:
    """A data set of checked parts."""
    X, y = as_numbers(X, "X"), check_intervals(y)
    lengths = {"X": len(X), "y": len(y)} | ({} if folds is None else {"folds": len(folds)})
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{path}: expected one number of rows, got {lengths}.")
    return Bunch(X=X, y=y, folds=folds, feature_names=feature_names, name=path.stem)
