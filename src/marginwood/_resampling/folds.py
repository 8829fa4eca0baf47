"""Folds: rows that train a model, and rows that it has not seen.

A `Fold` leaves its unseen rows out. `Bags` leave none out: each tree of a forest draws its rows, so
that every row is unseen by some trees. The whole has no unseen rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from marginwood._base import Rows, check_features, targets_for
from marginwood._resampling.journal import digest
from marginwood._resampling.splitters import N_SPLITS, make_splitter
from marginwood._resampling.stops import find_watchers, is_staged
from marginwood._support.checks import check_count, is_integer
from marginwood._trees.outofbag import predict_oob_distribution
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray, IntArray

__all__ = [
    "Bags",
    "Fold",
    "fingerprint",
    "make_bags",
    "make_folds",
    "make_whole",
    "mean_unseen",
    "split_rows",
]


@dataclass(frozen=True, eq=False)  # a fold is itself: two with equal rows are two pieces of work
class Fold:
    """Numbers of the rows that train a model, and of those that it has not seen.

    `weighted` says whether models are told the weights, and `groups` are for models that search on
    folds of their own. `watchers` are the weights of the folds that say when boosters stop.
    """

    rows: Rows
    train: IntArray
    unseen: IntArray
    weighted: bool = False
    groups: Any = None
    watchers: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def is_watched(self) -> bool:
        """Whether other folds say when its booster stops."""
        return bool(self.watchers.any())

    def with_features(self, X: Any) -> Self:
        """The same fold of rows with other features."""
        return replace(self, rows=self.rows._replace(X=X))

    def fit(self, estimator: Any, *, watched: bool = False) -> Any:
        """Train a copy.

        Only informative rows count: others would count in shares of rows, and bring a warning with
        their numbers in the fold. If other folds are to watch, a booster keeps all its stages and
        its losses of the unseen rows, for `keep_stages`.
        """
        model = clone(estimator)
        is_informative = self.rows.is_informative
        train, unseen = (part[is_informative[part]] for part in (self.train, self.unseen))
        X, intervals, weight = self.rows
        X_train, y_train = _safe_indexing(X, train), targets_for(model, intervals, train)
        w_train = weight[train] if self.weighted else None
        if watched and self.is_watched and is_staged(model):
            validation = _safe_indexing(X, unseen), intervals[unseen], weight[unseen]
            model._fit_stages(X_train, y_train, w_train, *validation)
            return model
        options: dict[str, Any] = {} if w_train is None else {"sample_weight": w_train}
        if self.groups is not None and takes_groups(model):
            options["groups"] = np.asarray(self.groups)[train]
        return model.fit(X_train, y_train, **options)

    def predict(self, model: Any) -> Any:
        """What a model of this fold predicts of its unseen rows."""
        return model.predict(_safe_indexing(self.rows.X, self.unseen))

    def unseen_by(self, model: Any) -> IntArray:  # noqa: ARG002 (for those to whom it matters)
        """The rows that a model of this fold has not seen."""
        return self.unseen

    def predict_distribution(self, model: Any) -> IntervalDistribution:
        """The distributions of the rows that are `unseen_by` a model of this fold."""
        return model.predict_distribution(_safe_indexing(self.rows.X, self.unseen))


class Bags(Fold):
    """All informative rows, of a forest: each is predicted by the trees that did not draw it."""

    def predict(self, model: Any) -> FloatArray:
        """The predictions of all rows, NaN where every tree drew the row."""
        X = check_features(model, self.rows.X)
        prediction: FloatArray = model._predict(X)
        prediction[self.train] = model._predict_oob(X[self.train])
        return prediction

    def unseen_by(self, model: Any) -> IntArray:
        """The informative rows that some tree did not draw."""
        return self.train[~model._drawn().all(axis=0)]

    def predict_distribution(self, model: Any) -> IntervalDistribution:
        """Their distributions; there must be such rows."""
        return predict_oob_distribution(model, ~model._drawn().all(axis=0))


def takes_groups(model: Any) -> bool:
    """Whether a model has folds of its own, whose groups stay together; to others the word says something else."""
    names = {name.rpartition("__")[2] for name in model.get_params()}
    return "cv" in names and has_fit_parameter(model, "groups")


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


def make_folds(rows: Rows, cv: Any, groups: Any, *, weighted: bool) -> list[Fold]:
    """The folds that an estimator's `cv` means."""
    splits = split_rows(rows, cv, groups)
    watchers = find_watchers(rows, [unseen for _, unseen in splits])
    return [
        Fold(rows, *split, weighted, groups, of_fold)
        for split, of_fold in zip(splits, watchers, strict=True)
    ]


def mean_unseen(found: Mapping[Fold, FloatArray]) -> FloatArray:
    """The mean of what folds predict of every row that they have not seen; NaN where none does."""
    n_rows = len(next(iter(found)).rows.intervals)
    total, n_folds = np.zeros(n_rows), np.zeros(n_rows)
    for fold, prediction in found.items():
        total[fold.unseen] += prediction
        n_folds[fold.unseen] += 1
    return np.where(n_folds > 0, total / np.maximum(n_folds, 1), np.nan)


def fingerprint(folds: Sequence[Fold]) -> dict[str, str]:
    """What models of some folds depend on, beside their parameters, for the header of a journal."""
    X, intervals, weight = folds[0].rows
    found = {"X": digest(X), "y": digest(intervals), "sample_weight": digest(weight)}
    if folds[0].groups is not None:
        found["groups"] = digest(folds[0].groups)
    found["cv"] = digest(*(part for fold in folds for part in (fold.train, fold.unseen)))
    return found


def make_whole(rows: Rows, *, weighted: bool, groups: Any = None) -> Fold:
    """All informative rows to train on, and none that are unseen."""
    every = np.flatnonzero(rows.is_informative)
    return Fold(rows, every, every[:0], weighted, groups)


def make_bags(rows: Rows, *, weighted: bool) -> Bags:
    """All informative rows to train a forest on."""
    every = np.arange(len(rows.intervals))
    return Bags(rows, every[rows.is_informative], every, weighted)


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
