"""Folds of checked rows, and which of the candidates that they scored is chosen.

A *path* is a list of models from the simplest to the most complex, one per value of a penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from marginwood._base import Rows
from marginwood._tuning.splitters import make_splitter
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import hinge_loss

SELECTIONS = ("min", "1se")
# Mean scores that differ by less, relatively, differ by rounding: they are tied.
SCORE_TOLERANCE = 1e-10


def split_rows(rows: Rows, cv: Any, groups: Any) -> list[tuple[IntArray, IntArray]]:
    """Numbers of the rows to train on and to test on, of positive weight, for each fold."""
    splits = []
    for number, split in enumerate(make_splitter(cv).split(rows.X, rows.intervals, groups)):
        train, test = (np.arange(len(rows.X))[part] for part in split)
        train, test = train[rows.weight[train] > 0], test[rows.weight[test] > 0]
        if not np.isfinite(rows.intervals[train]).any():
            raise ValueError(f"cv: no training row of fold {number} has a finite limit and a positive weight.")
        if len(test) == 0:
            raise ValueError(f"cv: no test row of fold {number} has a positive weight.")
        splits.append((train, test))
    if not splits:
        raise ValueError(f"cv: expected at least one fold, got none from {cv!r}.")
    return splits


def mse_by_fold(
    predict_path: Callable[[Rows, FloatArray], FloatArray], rows: Rows, cv: Any, groups: Any = None
) -> FloatArray:
    """Cross-validated interval MSE of a path, of shape (length of the path, number of folds).

    ``predict_path(training, X)`` fits the path and predicts, one row per model.
    """
    errors = []
    for train, test in split_rows(rows, cv, groups):
        held_out = rows.take(test)
        predictions = predict_path(rows.take(train), held_out.X)
        losses = [hinge_loss(held_out.intervals, prediction) for prediction in predictions]
        errors.append(np.average(losses, axis=1, weights=held_out.weight))
    return np.column_stack(errors)


def check_selection(selection: str) -> None:
    """Raise unless `selection` is one of the two rules."""
    if selection not in SELECTIONS:
        raise ValueError(f"selection: accepted are {', '.join(map(repr, SELECTIONS))}; got {selection!r}.")


def good_enough(means: FloatArray, deviations: FloatArray, n_folds: int, selection: str) -> BoolArray:
    """Which candidates a selection rule lets through, by the means and deviations of their scores over folds.

    ``"min"`` takes those tied with the greatest mean, ``"1se"`` those within one standard error of it.
    """
    best = int(np.argmax(means))
    slack = SCORE_TOLERANCE * abs(means[best])
    if selection == "1se" and n_folds > 1:
        slack += deviations[best] / np.sqrt(n_folds - 1)  # deviations divide by n
    return ~(means < means[best] - slack)  # where no candidate has a score, the slack is NaN and all are tied


def choose(mse_path: FloatArray, selection: str) -> int:
    """The place on a path of the simplest model that is good enough."""
    n_folds = mse_path.shape[1]
    return int(np.argmax(good_enough(-mse_path.mean(axis=1), spread(mse_path.T), n_folds, selection)))


def spread(scores: FloatArray, *, ddof: int = 0) -> FloatArray:
    """Standard deviation over the first axis, of scores whose squares may overflow: those of targets near 1e100 do."""
    _, exponent = np.frexp(np.abs(scores).max(axis=0))
    with np.errstate(invalid="ignore"):  # NaN for infinite scores
        return np.ldexp(np.ldexp(scores, -exponent).std(axis=0, ddof=ddof), exponent)
