"""*Paths*: the models that one fit gives, one per value of the parameter along which an estimator is tuned.

Every estimator that tunes itself is searched through two private methods:

- ``_prepare(rows)`` returns what all fits on the same rows share, such as sorted features;
- ``_fit_path(prepared, values)`` returns a `ModelPath`, whose models differ by ``path_parameter``
  only.

A pruning path is *found* by the fit: its models hold from one value of ``ccp_alpha`` up to the
next. All other paths are *given*: `values` is a grid from the simplest model to the most complex,
and each value has a model of its own.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from marginwood._base import Rows
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import distances

if TYPE_CHECKING:
    from marginwood.metrics._scorers import AverageLoss

__all__ = ["ModelPath", "average_score", "score_prediction"]


class ModelPath:
    """The models of one fit.

    Attributes
    ----------
    values : ndarray
        The values of the path's parameter.
    complexity : ndarray
        How complex each model is, as a number that compares between paths of one search: leaves,
        stages and so on.
    patience : int or None
        After how many models without a better score the rest of a long path is not scored; each of
        them counts as the last one that was.
    """

    def __init__(self, values: FloatArray | IntArray, complexity: IntArray) -> None:
        self.values = values
        self.complexity = complexity
        self.patience: int | None = None

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions of every model in turn."""
        raise NotImplementedError

    def model(self, step: int) -> Any:
        """A fitted estimator for one of the models, for scorers that ask for more than predictions."""
        raise NotImplementedError

    def scores(self, test: Rows, scorer: Any, *, weighted: bool) -> FloatArray:
        """The score of every model on other rows."""
        from marginwood.metrics._scorers import average_loss_of

        average = average_loss_of(scorer)
        scores = np.full(len(self.values), np.nan)
        best_step = 0
        for step, prediction in enumerate(self.predictions(test.X)):
            if average is not None:
                scores[step] = average_score(average, test, prediction)
            else:
                scores[step] = score_prediction(
                    self.model(step), test, prediction, scorer, weighted=weighted
                )
            if scores[step] > scores[best_step] or np.isnan(scores[best_step]):
                best_step = step
            if self.patience is not None and step - best_step >= self.patience:
                scores[step + 1 :] = scores[step]
                break
        return scores


def average_score(average: AverageLoss, test: Rows, prediction: FloatArray) -> float:
    """A score that is the best one less the mean of a loss."""
    from marginwood.metrics._points import mean_hinge_loss

    if average.row_loss == "squared_distance":
        return average.best - mean_hinge_loss(
            test.intervals, prediction, test.weight, "squared_hinge"
        )
    below, above = distances(test.intervals, prediction)
    if average.row_loss == "miss":
        losses = (below + above > 0).astype(np.float64)
    else:
        losses = average.prices[0] * below + average.prices[1] * above
    return float(average.best - np.average(losses, weights=test.weight))


def score_prediction(
    model: Any, test: Rows, prediction: FloatArray, scorer: Any, *, weighted: bool
) -> float:
    """What a scorer says of a model whose predictions of the test rows are known; other rows it predicts itself."""

    def predict(
        X: Any,
    ) -> FloatArray:  # scikit-learn's scorers call a model's method by this function's name
        return prediction if X is test.X else type(model).predict(model, X)

    weight = {"sample_weight": test.weight} if weighted else {}
    model.predict = predict
    try:
        score = scorer(model, test.X, test.intervals, **weight)
    finally:
        del model.predict
    if not isinstance(score, numbers.Real):
        raise TypeError(f"scoring: expected a scorer that returns a number, got {score!r}.")
    return float(score)
