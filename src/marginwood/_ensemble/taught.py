"""TaughtRegressor: a simple model that learns what a better one predicts of rows that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_outer_features,
    check_rows,
)
from marginwood._ensemble.teacher import fit_with_unseen, teach
from marginwood._resampling.folds import takes_groups
from marginwood._support.checks import check_model, check_share
from marginwood._tuning.delegation import Delegating
from marginwood._tuning.estimator import IntervalSearchCV
from marginwood.intervals import FloatArray, IntArray

__all__ = ["TaughtRegressor"]


class TaughtRegressor(Delegating, IntervalRegressorMixin, BaseEstimator):
    """A simple model that learns from a better one (distillation).

    The teacher predicts every training row without having seen it, and the student learns from
    that. Labels are noisy, and many say little; a good model's opinion of a row that it has not
    seen is less noisy, so the student is nearer to the truth than if it had learnt from the
    intervals. It predicts, and all else that the student has, this model has, too.

    Parameters
    ----------
    student : estimator
        The model that learns, such as ``IntervalSearchCV(MaxMarginIntervalTree())``. A search
        scores its candidates by the intervals, not by what the teacher says. Labels are numbers, so
        margins that are "auto" are 0 alone.
    teacher : estimator
        The better model: an `IntervalSuperLearner`, a `MaxMarginIntervalForest`, a
        `CrossFittedIntervalRegressor` of any other, or whatever has `oof_prediction_` once it is
        fitted.
    share : float, default=0.8
        The label of a row is the mean of what the teacher predicts of it, which has this weight,
        and of the number nearest to that in the row's interval.

    Attributes
    ----------
    student_ : estimator
        The fitted student; its attributes are those of this model, too.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    The ranges of equally good values in the leaves of a tree that was taught are numbers. A student
    that is a search is scored on rows that its teacher has not seen either: the teacher is trained
    once for every fold, and once for all rows. By default there are five folds. The checkpoint of a
    search keeps the scores of its candidates, not the teacher, which needs a seed.

    Examples
    --------
    >>> from marginwood import IntervalSearchCV, MaxMarginIntervalForest, MaxMarginIntervalTree
    >>> from marginwood import TaughtRegressor
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(100, 5, random_state=0)
    >>> tree = IntervalSearchCV(MaxMarginIntervalTree(), cv=5)
    >>> taught = TaughtRegressor(tree, MaxMarginIntervalForest(random_state=0)).fit(X, y)
    >>> X_new, y_new = make_linear(1000, 5, random_state=1)
    >>> taught.score(X_new, y_new) > tree.fit(X, y).score(X_new, y_new)
    True
    """

    _inside = "student_"

    def __init__(self, student: Any, teacher: Any, *, share: float = 0.8) -> None:
        self.student = student
        self.teacher = teacher
        self.share = share

    def _unfitted(self) -> Any:
        return self.student

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TaughtRegressor:
        """Train the teacher, and then the student on what it says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as teacher and student take them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, for both; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that stay together in the folds of both.

        Returns
        -------
        TaughtRegressor
            The fitted model.
        """
        check_share("share", self.share)
        check_model("student", self.student)
        rows = check_rows(check_outer_features(self, X, reset=True), y, sample_weight)
        weighted = sample_weight is not None

        def label(idx: IntArray | None) -> FloatArray:
            """The labels of some rows, by a teacher that has seen no others; None for all."""
            if idx is None:
                return self._label(X, rows, groups, weighted=weighted)
            labels, known = rows.intervals[idx], rows.is_informative[idx]
            some, seen = idx[known], rows.take(idx[known])
            of_seen = None if groups is None else np.asarray(groups)[some]
            labels[known] = self._label(_safe_indexing(X, some), seen, of_seen, weighted=weighted)
            return labels

        student = clone(self.student)
        if isinstance(student, IntervalSearchCV):
            self.student_ = student._search(X, rows.intervals, sample_weight, groups, label)
            return self
        labels = label(None)
        options = {"sample_weight": sample_weight} if weighted else {}
        if groups is not None and takes_groups(student):
            options["groups"] = groups
        self.student_ = student.fit(X, labels, **options)
        return self

    def _label(self, X: Any, rows: Rows, groups: Any, *, weighted: bool) -> FloatArray:
        _, opinion = fit_with_unseen(
            "teacher", self.teacher, X, rows, weighted=weighted, groups=groups
        )
        return teach(rows, opinion, float(self.share)).intervals

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row by the student.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return self.student_.predict(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.student).input_tags
        return tags
