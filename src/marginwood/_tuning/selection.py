"""Folds of checked rows, and which of the candidates that they scored is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from marginwood._base import Rows
from marginwood._resampling.splitters import N_SPLITS, make_splitter
from marginwood._support.checks import check_count, is_integer
from marginwood.intervals import BoolArray, FloatArray, IntArray

SELECTIONS = ("min", "1se")
# Mean scores that differ by less, relatively, differ by rounding: they are tied.
SCORE_TOLERANCE = 1e-10


def _with_groups(cv: Any, groups: Any) -> Any:
    """The folds that `cv` means: with groups, a number of folds that keep each of them together."""
    if groups is None or not (cv is None or is_integer(cv)):
        return cv
    n_splits = N_SPLITS if cv is None else check_count("cv", cv, 2)
    n_groups = len(np.unique(groups))
    if n_groups < n_splits:
        raise ValueError(
            f"cv: expected at most {n_groups} folds, the number of groups, got {n_splits}."
        )
    return GroupKFold(n_splits)


def split_rows(rows: Rows, cv: Any, groups: Any) -> list[tuple[IntArray, IntArray]]:
    """Numbers of the rows to train on and to test on, of positive weight, for each fold.

    Groups stay together if `cv` is a number of folds; a splitter may do what it likes with them.
    """
    splits = []
    for number, split in enumerate(
        make_splitter(_with_groups(cv, groups)).split(rows.X, rows.intervals, groups)
    ):
        train, test = (np.arange(len(rows.intervals))[part] for part in split)
        train, test = train[rows.weight[train] > 0], test[rows.weight[test] > 0]
        if not np.isfinite(rows.intervals[train]).any():
            raise ValueError(
                f"cv: no training row of fold {number} has a finite limit and a positive weight."
            )
        if len(test) == 0:
            raise ValueError(f"cv: no test row of fold {number} has a positive weight.")
        splits.append((train, test))
    if not splits:
        raise ValueError(f"cv: expected at least one fold, got none from {cv!r}.")
    return splits


def good_enough(
    means: FloatArray, deviations: FloatArray, n_folds: int, selection: str
) -> BoolArray:
    """Which candidates a selection rule lets through, by the means and deviations of their scores over folds.

    ``"min"`` takes those tied with the greatest mean, ``"1se"`` those within one standard error of
    it.
    """
    best = int(np.argmax(means))
    slack = SCORE_TOLERANCE * abs(means[best])
    if selection == "1se" and n_folds > 1:
        slack += deviations[best] / np.sqrt(n_folds - 1)  # deviations divide by n
    return ~(
        means < means[best] - slack
    )  # where no candidate has a score, the slack is NaN and all are tied


def select(
    means: FloatArray, deviations: FloatArray, complexity: IntArray, n_folds: int, selection: str
) -> int:
    """The least complex candidate among those whose score is good enough, then the one of the best score."""
    means = np.where(np.isnan(means), -np.inf, means)
    good = np.flatnonzero(good_enough(means, deviations, n_folds, selection))
    return int(good[np.lexsort((-means[good], complexity[good]))[0]])


def spread(scores: FloatArray, *, ddof: int = 0) -> FloatArray:
    """Standard deviation over the first axis, of scores whose squares may overflow: those of targets near 1e100 do."""
    _, exponent = np.frexp(np.abs(scores).max(axis=0))
    with np.errstate(invalid="ignore"):  # NaN for infinite scores
        return np.ldexp(np.ldexp(scores, -exponent).std(axis=0, ddof=ddof), exponent)
