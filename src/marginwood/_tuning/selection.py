"""Which of the candidates that were scored on folds is chosen."""

from __future__ import annotations

import numpy as np

from marginwood.intervals import BoolArray, FloatArray, IntArray

SELECTIONS = ("min", "1se")
# Mean scores that differ by less, relatively, differ by rounding: they are tied.
SCORE_TOLERANCE = 1e-10


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
