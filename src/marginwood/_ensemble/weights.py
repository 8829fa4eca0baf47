"""Weights of models by bagged greedy selection on predictions of rows that the models have not seen.

*Greedy selection* (Caruana and others, 2004): start with nothing, and add, again and again and with
replacement, the model that improves the mean of those chosen the most. Its weight is how often it
was chosen. Done on the rows themselves that overfits, so it is done on bootstrap samples of them,
and the weights are averaged.

Squared distances count from a margin inside the intervals, as boosters do: of good models few
predictions lie outside, and these few rows would choose the weights alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from marginwood._base import Rows
from marginwood._searchable import average_score, score_prediction
from marginwood._trees.boosting import MARGIN
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import breakpoints, quartile_distance
from marginwood.metrics._scorers import AverageLoss, average_loss_of

__all__ = ["score_known", "select_weights"]

N_STEPS = 10
N_BOOTSTRAPS = 20
# Losses that differ by less, relatively, are tied. Ties are common: any mixture inside all
# intervals has no loss.
TIE = 1e-10

# From predictions of candidates, a row each, and the numbers of some bootstraps to a loss for each
# pair.
Losses = Callable[[FloatArray, IntArray], FloatArray]


def select_weights(
    model: Any, rows: Rows, predictions: FloatArray, scorer: Any, *, weighted: bool, seed: int
) -> FloatArray:
    """The weights of models, which sum up to 1.

    Parameters
    ----------
    model : estimator
        Stands for the mixtures, where a scorer asks for a model.
    rows : Rows
        The rows, all of positive weight.
    predictions : ndarray of shape (n_models, n_rows)
        Predictions of the rows by models that have not seen them.
    scorer : callable
        Greater is better.
    weighted : bool
        Whether the scorer is told the weights.
    seed : int
        Seed of the bootstraps.

    Returns
    -------
    ndarray of shape (n_models,)
        The weights.
    """
    random = np.random.RandomState(seed)
    draws = random.randint(0, len(rows.weight), (N_BOOTSTRAPS, len(rows.weight)))
    average = average_loss_of(scorer)
    if average is not None:
        losses_of = _average_losses(rows, draws, average)
    else:
        losses_of = _scorer_losses(model, rows, draws, scorer, weighted=weighted)
    own = losses_of(predictions, np.arange(N_BOOTSTRAPS))
    is_scored = np.isfinite(own).any(axis=0)
    if not is_scored.any():
        raise ValueError(
            "scoring: expected a finite score of at least one model, got NaN or infinity for all."
        )
    chosen = np.zeros((N_BOOTSTRAPS, len(predictions)))
    for step in range(N_STEPS):
        # Bootstraps that have chosen the same models so far share the candidates, which take most
        # of the time.
        for counts in np.unique(chosen, axis=0):
            alike = np.flatnonzero((chosen == counts).all(axis=1))
            candidates = (counts @ predictions + predictions) / (step + 1)
            is_tied = _are_least(losses_of(candidates, alike))
            # Of tied models the one that is better alone, then the first.
            is_tied = _are_least(np.where(is_tied, own[:, alike], np.inf))
            chosen[alike, np.argmax(is_tied, axis=0)] += 1
    # Where no model has a score, the first of them would be chosen for its place.
    return chosen[is_scored].mean(axis=0) / N_STEPS


def _are_least(losses: FloatArray) -> BoolArray:
    """Which rows of each column are tied with the least; one that is not finite counts as the worst."""
    losses = np.where(np.isfinite(losses), losses, np.inf)
    least = losses.min(axis=0)
    return losses <= least + TIE * np.abs(least)


def _average_losses(rows: Rows, draws: IntArray, average: AverageLoss) -> Losses:
    counts = np.array([np.bincount(draw, minlength=len(rows.weight)) for draw in draws])
    weights = (counts * rows.weight).T
    is_squared = average.row_loss == "squared_distance"
    lower, upper = breakpoints(
        rows.intervals, MARGIN * quartile_distance(rows.intervals) if is_squared else 0.0
    ).T

    def losses_of(candidates: FloatArray, bootstraps: IntArray) -> FloatArray:
        below, above = np.maximum(lower - candidates, 0.0), np.maximum(candidates - upper, 0.0)
        if is_squared:
            # Squares of large distances would overflow; the order stays. Within the margins of both
            # ends both count.
            largest = max(below.max(), above.max()) or 1.0
            losses = (below / largest) ** 2 + (above / largest) ** 2
        elif average.row_loss == "miss":
            losses = (below + above > 0).astype(np.float64)
        else:
            losses = average.prices[0] * below + average.prices[1] * above
        return losses @ weights[:, bootstraps]

    return losses_of


def _scorer_losses(
    model: Any, rows: Rows, draws: IntArray, scorer: Any, *, weighted: bool
) -> Losses:
    def losses_of(candidates: FloatArray, bootstraps: IntArray) -> FloatArray:
        losses = np.empty((len(candidates), len(bootstraps)))
        for column, draw in enumerate(draws[bootstraps]):
            drawn = rows.take(draw)
            for row, prediction in enumerate(candidates):
                losses[row, column] = -score_prediction(
                    model, drawn, prediction[draw], scorer, weighted=weighted
                )
        return losses

    return losses_of


def score_known(
    model: Any, rows: Rows, prediction: FloatArray, scorer: Any, *, weighted: bool
) -> float:
    """What a scorer says of known predictions; `model` stands for what made them."""
    average = average_loss_of(scorer)
    if average is not None:
        return average_score(average, rows, prediction)
    return score_prediction(model, rows, prediction, scorer, weighted=weighted)
