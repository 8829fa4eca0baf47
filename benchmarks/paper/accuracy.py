"""Nested cross-validation: every method tuned inside the training rows of every fold of every data set."""

import json
import warnings
from time import process_time

import numpy as np

from benchmarks.paper.table import Piece, Table, fingerprint
from marginwood import interval_accuracy, interval_mean_squared_error

KEYS = ("data set", "fold", "method")
VALUES = ("n", "p", "mse", "accuracy", "seconds", "parameters", "note")


def table(folder):
    """The results: `seconds` are of one processor, tuning and prediction included; `note` says what went wrong."""
    return Table(folder / "accuracy.csv", KEYS, VALUES)


def pieces(data_sets, methods, n_folds=None):
    """The paper's methods first, which take least; small data sets first and, of each, the methods in their order."""
    found = []
    for name, X, y, folds in data_sets:
        for method, (_, predict, settings) in methods.items():
            for fold in np.unique(folds)[:n_folds].tolist():
                is_test = folds == fold
                key = (name, str(fold), method, fingerprint(settings, X, y, is_test))
                found.append(Piece(key, evaluate, (predict, settings, X, y, is_test)))
    return sorted(found, key=lambda piece: methods[piece.key[2]].group != "paper")


def evaluate(predict, settings, X, y, is_test):
    """Train on the other rows and score the test rows; a method that fails has an infinite error."""
    start = process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            prediction, chosen = predict(X[~is_test], y[~is_test], X[is_test], **settings)
            mse = interval_mean_squared_error(y[is_test], prediction)
            inside = interval_accuracy(y[is_test], prediction)
        except Exception as error:
            return (
                *X.shape,
                np.inf,
                0.0,
                process_time() - start,
                "{}",
                f"failed: {type(error).__name__}: {error}",
            )
    note = "; ".join(sorted({str(warning.message) for warning in caught}))
    return *X.shape, mse, inside, process_time() - start, json.dumps(chosen), note


def by_data_set(lines, column="mse"):
    """Means over folds: names of data sets, names of methods, and an array of one row per data set.

    Data sets of which a result is missing are left out.
    """
    methods = list(dict.fromkeys(line["method"] for line in lines))
    values = {}
    for line in lines:
        values.setdefault(line["data set"], {}).setdefault(line["method"], []).append(
            float(line[column])
        )
    complete = {
        name: [np.mean(results[method]) for method in methods]
        for name, results in values.items()
        if len(results) == len(methods) and len({len(folds) for folds in results.values()}) == 1
    }
    return (
        list(complete),
        methods,
        np.array(list(complete.values())).reshape(len(complete), len(methods)),
    )
