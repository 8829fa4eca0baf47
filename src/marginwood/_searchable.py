"""What an estimator offers to searches, and *paths*: the models that one fit gives, one for each value tried.

An estimator that a search knows more of than its parameters is `Searchable`. It says what is worth
trying, and which of that one fit serves. A pruning path is *found* by the fit: its models hold from
one value of ``ccp_alpha`` up to the next. All other paths are *given*: each value has a model of
its own.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from marginwood._base import Rows, check_features
from marginwood._support.checks import check_model
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import distances

if TYPE_CHECKING:
    from marginwood.metrics._scorers import AverageLoss

__all__ = [
    "ModelPath",
    "Searchable",
    "SideBySide",
    "average_score",
    "is_searchable",
    "score_prediction",
]

# What the values of a path are before a fit has found them.
FOUND = None
# In place of values to try: those that suit the data.
AUTO = "auto"


class Searchable:
    """What an estimator offers to searches.

    Attributes
    ----------
    path_parameters : tuple of str
        The parameters of which one fit serves all values; the last varies fastest.
    default_folds : {"folds", "repeated", "oob"}
        How candidates are scored unless the user says so: on five folds, on five folds that are
        dealt out three times, or on rows that trees have not drawn.
    parts : tuple of str
        Parameters that are estimators, or None.
    parameters_of_best : dict
        What the best estimator has, whatever the user has said.
    """

    path_parameters: tuple[str, ...] = ()
    default_folds = "folds"
    parts: tuple[str, ...] = ()
    parameters_of_best: Mapping[str, Any] = {}

    @property
    def _is_random(self) -> bool:
        """Whether a fit draws at random; without a parameter `random_state` nobody asks."""
        return True

    def _check_parts(self) -> None:
        """Raise if a parameter that should be an estimator is none: to copy it, or to ask it, would fail otherwise."""
        for name in self.parts:
            check_model(name, getattr(self, name), or_none=True)

    def _check_features(self, X: Any, *, reset: bool = False) -> Any:
        """X as `_prepare` takes it, and as `fit` and `predict` read it."""
        return check_features(self, X, reset=reset)

    def _search_space(self, rows: Rows) -> dict[str, Any]:
        """Parameters and the values to try; for a path, with the other parameters as they are here.

        `AUTO` stands for margins that suit the targets, `FOUND` for a path that the fit finds. A
        function makes as many values as it is asked for.
        """
        raise NotImplementedError

    def _prepare(self, rows: Rows) -> Any:
        """What all fits on the same rows share, such as sorted features."""
        return rows

    def _fit_path(self, prepared: Any, values: Mapping[str, Any]) -> Any:
        """The `ModelPath` of these values of the path's parameters."""
        raise NotImplementedError


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


def is_searchable(estimator: Any) -> bool:
    """Whether an estimator offers a space of its own."""
    return isinstance(estimator, Searchable)


class SideBySide:
    """Paths over the same values, one for each value of another parameter: a row of scores each."""

    def __init__(self, paths: Sequence[ModelPath]) -> None:
        self._paths = paths
        self.values = paths[0].values
        self.complexity = paths[0].complexity

    def scores(self, test: Rows, scorer: Any, *, weighted: bool) -> FloatArray:
        """The scores of all models of all paths on other rows."""
        return np.stack([path.scores(test, scorer, weighted=weighted) for path in self._paths])


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
