"""The members of a super learner: their fits in pieces, and what they predict of rows that they have not seen.

A *piece* of work is one model without one fold. A forest whose trees draw rows needs no folds: one
fit to all rows is its only piece, and rows are predicted by the trees that did not draw them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, get_tags

from marginwood._base import LARGEST_SEED, Rows, check_features, check_outer_features
from marginwood._categories import Categories
from marginwood._ensemble.checkpoint import Checkpoint, Piece
from marginwood._ensemble.crossfit import (
    CrossFittedIntervalRegressor,
    find_watchers,
    fit_fold,
    is_staged,
    keep_stages,
)
from marginwood._ensemble.library import seeded
from marginwood._support.arrays import as_numbers
from marginwood._support.checks import is_integer
from marginwood._support.threads import check_stopped, run_in_threads
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood.intervals import FloatArray, IntArray

__all__ = ["Finished", "Member", "Training", "make_members", "run_pieces", "takes_finite_only"]


class Member(NamedTuple):
    """A model that is not fitted yet."""

    name: str
    estimator: Any
    takes_finite_only: bool
    is_out_of_bag: bool


class Finished(NamedTuple):
    """A fitted piece: its model, what it predicts of the rows that it has not seen, and how long that took."""

    model: Any
    prediction: FloatArray
    seconds: float


def takes_finite_only(estimator: Any, categories: Categories | None = None) -> bool:
    """Whether an estimator refuses NaN, or X has categories and it takes none, and is simple.

    One that holds others, such as a pipeline, sees X as it is. A booster is what its first model
    is.
    """
    if isinstance(estimator, MaxMarginIntervalBoosting):
        return estimator.init is not None and takes_finite_only(estimator.init, categories)
    is_simple = not any("__" in name for name in estimator.get_params())
    takes_categories = categories is None or hasattr(estimator, "categorical_features")
    return is_simple and not (takes_categories and get_tags(estimator).input_tags.allow_nan)


def make_members(
    models: Sequence[tuple[str, Any]],
    random: np.random.RandomState,
    categories: Categories | None,
    *,
    cv: Any,
    groups: Any,
) -> list[Member]:
    """The members of some models: copies with seeds of their own.

    A forest is scored by the trees that did not draw a row, unless there are groups or folds of the
    user's own.
    """
    bags_serve = groups is None and (cv is None or is_integer(cv))
    members = []
    for name, given in models:
        estimator = seeded(given, np.random.RandomState(random.randint(1, LARGEST_SEED)))
        is_out_of_bag = bags_serve and _leaves_rows_out(estimator)
        members.append(
            Member(name, estimator, takes_finite_only(estimator, categories), is_out_of_bag)
        )
    return members


def _leaves_rows_out(estimator: Any) -> bool:
    """Whether it is a forest whose trees draw rows."""
    return isinstance(estimator, MaxMarginIntervalForest) and bool(estimator.bootstrap)


class Training:
    """Rows, their folds, and how a member is trained on them; `finite` are features for members that take no others."""

    def __init__(
        self,
        rows: Rows,
        splits: list[tuple[IntArray, IntArray]],
        groups: Any,
        finite: FloatArray | None,
        *,
        weighted: bool,
    ) -> None:
        self.rows = rows
        self.splits = splits
        self.weighted = weighted
        self.is_informative = rows.is_informative
        self._watchers = find_watchers(rows, [test for _, test in splits])
        self._groups = groups
        self._finite = None if finite is None else rows._replace(X=finite)

    def rows_for(self, member: Member) -> Rows:
        """The rows with the features that a member takes."""
        return self._finite if member.takes_finite_only and self._finite is not None else self.rows

    def n_pieces(self, member: Member) -> int:
        """How many pieces a member has."""
        return 1 if member.is_out_of_bag else len(self.splits)

    def fit(self, member: Member, fold: int) -> Any:
        """Train a member without a fold, or a forest on all rows."""
        rows = self.rows_for(member)
        if not member.is_out_of_bag:
            return fit_fold(
                member.estimator,
                rows,
                *self.splits[fold],
                weighted=self.weighted,
                groups=self._groups,
                watched=self._watchers[fold].any(),
            )
        every = np.flatnonzero(self.is_informative)
        return fit_fold(member.estimator, rows, every, every[:0], weighted=self.weighted)

    def predict_unseen(self, member: Member, fold: int, model: Any) -> FloatArray:
        """What a model of `fit` predicts of the rows of its fold; of a forest all rows."""
        rows = self.rows_for(member)
        if not member.is_out_of_bag:
            test = self.splits[fold][1]
            name = f"models: {member.name!r}"
            prediction = as_numbers(model.predict(_safe_indexing(rows.X, test)), name)
            if prediction.shape != test.shape:
                expected = f"a prediction for each of {len(test)} rows"
                raise ValueError(f"{name}: expected {expected}, got shape {prediction.shape}.")
            return prediction
        X = check_features(model, rows.X)
        prediction = model._predict(X)
        prediction[self.is_informative] = model._predict_oob(X[self.is_informative])
        return prediction

    def combine(self, member: Member, folds: list[Finished], cv: Any) -> tuple[Any, FloatArray]:
        """A fitted model of all pieces of a member, and its prediction of every row that some piece has not seen."""
        if member.is_out_of_bag:
            return folds[0].model, folds[0].prediction
        rows = self.rows_for(member)
        model = CrossFittedIntervalRegressor(member.estimator, cv=cv)
        check_outer_features(model, rows.X, reset=True)
        models, predictions = (list(part) for part in list(zip(*folds, strict=True))[:2])
        if is_staged(member.estimator):
            keep_stages(models, self._watchers)
            predictions = [
                self.predict_unseen(member, fold, each) for fold, each in enumerate(models)
            ]
        tests = [test for _, test in self.splits]
        model._keep(models, predictions, tests, len(rows.intervals))
        return model, model.oof_prediction_


def run_pieces(
    members: Sequence[Member],
    training: Training,
    checkpoint: Checkpoint | None,
    pieces: Sequence[Piece],
    *,
    n_jobs: int | None,
    advance: Callable[[], None],
    time_left: Callable[[], float] = lambda: math.inf,
) -> dict[Piece, Finished]:
    """Fit the pieces in threads, in their order; those that are not finished in time are given up."""

    def run(piece: Piece) -> Finished:
        member = members[piece.member]
        kept = checkpoint.load(piece) if checkpoint else None
        if kept is not None:
            model, seconds = kept
            return Finished(model, training.predict_unseen(member, piece.fold, model), seconds)
        start = time.perf_counter()
        try:
            model = training.fit(member, piece.fold)
            prediction = training.predict_unseen(member, piece.fold, model)
        except Exception as error:
            error.add_note(f"This happened while the model {member.name!r} was trained.")
            raise
        seconds = time.perf_counter() - start
        check_stopped()
        if checkpoint:
            checkpoint.save(piece, member.name, model, seconds)
        return Finished(model, prediction, seconds)

    finished: dict[Piece, Finished] = {}
    with closing(run_in_threads(run, pieces, n_jobs, time_left=time_left)) as results:
        for piece, result in results:
            finished[piece] = result
            advance()
    return finished
