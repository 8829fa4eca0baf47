"""The data sets: those of a directory, or simulations and scikit-learn's own regressions with intervals."""

import sys
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, load_linnerud

from marginwood import CensoringStratifiedKFold
from marginwood.datasets import (
    load_folder,
    load_npz,
    make_absolute,
    make_intervals_from_regression,
    make_linear,
    make_sine,
)

SIMULATIONS = {
    "simulated.sin": make_sine,
    "simulated.abs": make_absolute,
    "simulated.linear": make_linear,
}
REGRESSIONS = {"diabetes": load_diabetes, "linnerud": load_linnerud}
N_FOLDS = 5


class DataSet(NamedTuple):
    """Features, intervals and the number of the test fold of every row."""

    name: str
    X: np.ndarray
    y: np.ndarray
    folds: np.ndarray


def data_sets(directory=None):
    """All data sets, those with the fewest numbers first.

    A directory is searched for ``.npz`` files and for folders of csv files, see
    `marginwood.datasets`.
    """
    found = list(_in_directory(directory) if directory else _built_in())
    if not found:
        sys.exit(
            f"--data: expected a directory with .npz files or folders of csv files, got {directory}."
        )
    return sorted(found, key=lambda data_set: (data_set.X.size, data_set.name))


def _in_directory(directory):
    paths = [*directory.rglob("*.npz"), *(path.parent for path in directory.rglob("features.csv"))]
    for path in sorted(paths):
        data = load_folder(path) if path.is_dir() else load_npz(path)
        folds = _deal(data.X, data.y) if data.folds is None else data.folds
        yield DataSet(
            f"{path.parent.name}/{data.name}" if path.parent != directory else data.name,
            data.X,
            data.y,
            folds,
        )


def _built_in():
    for name, make in SIMULATIONS.items():
        X, y = make(random_state=0)
        yield DataSet(name, X, y, _deal(X, y))
    for name, load in REGRESSIONS.items():
        X, values = load(return_X_y=True)
        X, y = make_intervals_from_regression(X, values.reshape(len(X), -1)[:, 0], random_state=0)
        yield DataSet(name, X, y, _deal(X, y))


def _deal(X, y):
    """Folds for data that come without."""
    folds = np.empty(len(X), dtype=np.int64)
    for fold, (_, test) in enumerate(CensoringStratifiedKFold(N_FOLDS).split(X, y), start=1):
        folds[test] = fold
    return folds
