"""A forest in a search: one model, scored on other rows or on its own out-of-bag rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import Tags, get_tags

from marginwood._base import Rows, check_features
from marginwood._searchable import ModelPath, average_score, score_prediction
from marginwood._trees.leafweights import keeps_rows, predict_by_leaves
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import BoolArray, FloatArray
from marginwood.metrics._scorers import average_loss_of

__all__ = ["ForestPath", "OutOfBag", "predict_oob_distribution"]


class ForestPath(ModelPath):
    """A forest as the only model of a path: it has out-of-bag rows instead of a parameter to follow."""

    def __init__(self, forest: Any) -> None:
        super().__init__(
            np.zeros(1), np.array([sum(tree.tree_.n_leaves for tree in forest.estimators_)])
        )
        self._forest = forest

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions of the forest."""
        yield self._forest._predict(X)

    def model(self, step: int) -> Any:  # noqa: ARG002 (there is one)
        """The forest."""
        return copy.copy(self._forest)

    def oob_scores(self, rows: Rows, scorer: Any, *, weighted: bool) -> FloatArray:
        """The score of the out-of-bag predictions that there are; NaN if there are none."""
        prediction = self._forest._predict_oob(rows.X)
        known = ~np.isnan(prediction) & (rows.weight > 0)
        if not known.any():
            return np.full(1, np.nan)
        average = average_loss_of(scorer)
        test = rows.take(known)
        if average is not None:
            return np.array([average_score(average, test, prediction[known])])
        forest: Any = self.model(0)
        forest.predict_distribution = lambda _: predict_oob_distribution(self._forest, known)
        return np.array(
            [score_prediction(forest, test, prediction[known], scorer, weighted=weighted)]
        )


def predict_oob_distribution(forest: Any, known: BoolArray) -> IntervalDistribution:
    """The distributions of some training rows by the trees that did not draw them, of which each must have one."""
    keeps_rows(forest)
    return predict_by_leaves(forest, forest._training_leaves()[known], forest._drawn()[:, known])


class OutOfBag:
    """What a forest says of training rows by the trees that did not draw them, of those that any tree left out.

    The features of these rows may be changed, as a permutation does.
    """

    def __init__(self, forest: Any) -> None:
        drawn = forest._drawn()
        self.known = ~drawn.all(axis=0)
        self._forest = forest
        self._by_known = drawn[:, self.known]

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the known rows."""
        return self._forest._predict(check_features(self._forest, X), self._by_known)

    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Distributions for the known rows."""
        keeps_rows(self._forest)
        return predict_by_leaves(self._forest, self._forest.apply(X), self._by_known)

    def __sklearn_tags__(self) -> Tags:
        """Those of the forest, which scorers of scikit-learn ask for."""
        return get_tags(self._forest)
