"""The members of a mixture: models that are fitted without each fold, and what they say of rows they have not seen.

A forest whose trees draw rows needs no folds: one fit to all rows is its only piece, and rows are
predicted by the trees that did not draw them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Tags, get_tags

from marginwood._base import (
    LARGEST_SEED,
    IntervalRegressorMixin,
    Rows,
    check_features,
    check_outer_features,
    check_rows,
)
from marginwood._categories import Categories, find_categories, make_indicators
from marginwood._ensemble.crossfit import CrossFittedIntervalRegressor
from marginwood._ensemble.finite import learn_fill, make_finite
from marginwood._ensemble.library import check_models, seeded
from marginwood._resampling.folds import Bags, Fold, make_bags
from marginwood._resampling.stops import is_staged, keep_stages
from marginwood._support.arrays import as_numbers
from marginwood._support.checks import is_integer
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._tuning.estimator import IntervalSearchCV
from marginwood.intervals import FloatArray

__all__ = ["Finished", "Member", "MixtureMixin", "Piece", "list_pieces"]


class Piece(NamedTuple):
    """Numbers of a member and of one of its folds."""

    member: int
    fold: int


class Finished(NamedTuple):
    """A fitted piece: its model, what it predicts of the rows that it has not seen, and how long that took."""

    model: Any
    prediction: FloatArray
    seconds: float


class Member(NamedTuple):
    """A model that is not fitted yet, and its folds, of rows with the features that it takes."""

    name: str
    estimator: Any
    folds: Sequence[Fold]

    @property
    def is_out_of_bag(self) -> bool:
        """Whether one fit to all rows is all."""
        return isinstance(self.folds[0], Bags)

    def fit(self, fold: int) -> Any:
        """Train the model without a fold, or a forest on all rows."""
        return self.folds[fold].fit(self.estimator, watched=True)

    def predict_unseen(self, fold: int, model: Any) -> FloatArray:
        """What a model of `fit` predicts of the rows of its fold; of a forest all rows."""
        name = f"models: {self.name!r}"
        prediction = as_numbers(self.folds[fold].predict(model), name)
        n_rows = len(self.folds[fold].unseen)
        if prediction.shape != (n_rows,):
            expected = f"a prediction for each of {n_rows} rows"
            raise ValueError(f"{name}: expected {expected}, got shape {prediction.shape}.")
        return prediction

    def combine(self, pieces: list[Finished], cv: Any) -> tuple[Any, FloatArray]:
        """A fitted model of all pieces, and its prediction of every row that some piece has not seen."""
        if self.is_out_of_bag:
            return pieces[0].model, pieces[0].prediction
        model = CrossFittedIntervalRegressor(self.estimator, cv=cv)
        check_outer_features(model, self.folds[0].rows.X, reset=True)
        models = [piece.model for piece in pieces]
        unseen = [piece.prediction for piece in pieces]
        if is_staged(self.estimator):
            keep_stages(dict(zip(self.folds, models, strict=True)))
            unseen = [self.predict_unseen(fold, each) for fold, each in enumerate(models)]
        fitted = zip(models, unseen, strict=True)
        model._keep(dict(zip(self.folds, fitted, strict=True)))
        return model, model.oof_prediction_


def list_pieces(members: Sequence[Member]) -> list[Piece]:
    """All pieces of some members."""
    return [
        Piece(number, fold)
        for number, member in enumerate(members)
        for fold in range(len(member.folds))
    ]


class MixtureMixin(MetaEstimatorMixin, IntervalRegressorMixin):
    """What mixtures share: members that see X as it is or, if they take nothing else, as finite numbers."""

    models: Any
    cv: Any
    weights_: dict[str, float]
    estimators_: dict[str, Any]
    categories_: Categories | None
    _takes_finite: list[str]  # names of the models that see finite numbers
    _fill: FloatArray

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows of a fit."""
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        self.categories_ = find_categories(X, "from_dtype")
        return rows

    def _make_members(
        self, models: Sequence[tuple[str, Any]], folds: list[Fold], random: np.random.RandomState
    ) -> list[Member]:
        """The members: copies of models with seeds of their own, and their folds.

        A forest is scored by the trees that did not draw a row, unless there are groups or folds of
        the user's own.
        """
        rows, weighted = folds[0].rows, folds[0].weighted
        estimators = {
            name: seeded(model, np.random.RandomState(random.randint(1, LARGEST_SEED)))
            for name, model in models
        }
        self._takes_finite = [
            name
            for name, estimator in estimators.items()
            if _takes_finite_only(estimator, self.categories_)
        ]
        finite = folds
        if self._takes_finite:
            self._fill = learn_fill(self._as_numbers(rows.X)[rows.weight > 0])
            X = self._as_finite(rows.X)
            finite = [fold.with_features(X) for fold in folds]
        bags_serve = folds[0].groups is None and (self.cv is None or is_integer(self.cv))
        bags = [make_bags(rows, weighted=weighted)]
        return [
            Member(name, estimator, bags)
            if bags_serve and _leaves_rows_out(estimator)
            else Member(name, estimator, finite if name in self._takes_finite else folds)
            for name, estimator in estimators.items()
        ]

    def _features(self, name: str, X: Any) -> Any:
        """The features as a model takes them."""
        return self._as_finite(X) if name in self._takes_finite else X

    def _as_finite(self, X: Any) -> FloatArray:
        return make_finite(self._as_numbers(X), self._fill)

    def _as_numbers(self, X: Any) -> FloatArray:
        codes = check_features(self, X, categories=self.categories_)
        return codes if self.categories_ is None else make_indicators(codes, self.categories_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        models = [] if isinstance(self.models, str) else check_models(self.models)
        tags.input_tags.allow_nan = all(
            _takes_finite_only(model) or get_tags(model).input_tags.allow_nan for _, model in models
        )
        return tags


def _takes_finite_only(estimator: Any, categories: Categories | None = None) -> bool:
    """Whether an estimator refuses NaN, or X has categories and it takes none, and is simple.

    One that holds others, such as a pipeline, sees X as it is. A booster is what its first model
    is, and a search what it tunes.
    """
    if isinstance(estimator, IntervalSearchCV):
        return _takes_finite_only(estimator._unfitted(), categories)
    if isinstance(estimator, MaxMarginIntervalBoosting):
        return estimator.init is not None and _takes_finite_only(estimator.init, categories)
    is_simple = not any("__" in name for name in estimator.get_params())
    takes_categories = categories is None or hasattr(estimator, "categorical_features")
    return is_simple and not (takes_categories and get_tags(estimator).input_tags.allow_nan)


def _leaves_rows_out(estimator: Any) -> bool:
    """Whether it is a forest whose trees draw rows."""
    return isinstance(estimator, MaxMarginIntervalForest) and bool(estimator.bootstrap)
