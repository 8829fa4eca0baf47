"""CrossFittedIntervalRegressor: one model per fold, each trained without its fold; their mean predicts.

Every row has a prediction by the models that have not seen it, its *out-of-fold* prediction. It is
as honest as one of new data, and costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    all_or_nothing,
    check_outer_features,
    check_rows,
)
from marginwood._resampling.folds import Fold, make_folds, mean_unseen
from marginwood._resampling.run import run
from marginwood._resampling.stops import keep_stages
from marginwood._support.checks import check_model
from marginwood._trees.table import IntervalTree
from marginwood.intervals import FloatArray

__all__ = ["CrossFittedIntervalRegressor"]


class CrossFittedIntervalRegressor(MetaEstimatorMixin, IntervalRegressorMixin, BaseEstimator):
    """The mean of models of one kind, each trained without one fold of the rows.

    Boosters that have a patience need no rows held out: each has as many stages as are best for the
    *other* models' folds. Its own fold has no say, so that it is predicted as new rows are.

    Parameters
    ----------
    estimator : estimator
        What is trained: an estimator of this package, or any regressor that takes intervals, such
        as a pipeline that ends in one. Where all labels are exact, a regressor of scikit-learn
        does, too.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.

    Attributes
    ----------
    estimators_ : list of estimator
        The models, one per fold.
    oof_prediction_ : ndarray of shape (n_samples,)
        Mean prediction of every training row by the models that were trained without it; NaN if
        there are none.
    folds_ : list of ndarray
        The rows that each model was trained without.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean importances, if the models have any.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Examples
    --------
    >>> from marginwood import CrossFittedIntervalRegressor, MaxMarginIntervalBoosting
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.metrics import interval_d2_score
    >>> X, y = make_sine(random_state=0)
    >>> booster = MaxMarginIntervalBoosting(500, margin=0.2, n_iter_no_change=20, random_state=0)
    >>> model = CrossFittedIntervalRegressor(booster).fit(X, y)
    >>> interval_d2_score(y, model.oof_prediction_) > 0.8
    True
    """

    def __init__(
        self, estimator: Any, *, cv: Any = 5, n_jobs: int | None = None, verbose: int = 0
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> CrossFittedIntervalRegressor:
        """Train a model without each of the folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that stay together in the folds, if `cv` is a number or a splitter that
            knows groups.

        Returns
        -------
        CrossFittedIntervalRegressor
            The fitted models.
        """
        check_model("estimator", self.estimator)
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        folds = make_folds(rows, self.cv, groups, weighted=sample_weight is not None)
        models = run(
            lambda fold: fold.fit(self.estimator, watched=True),
            folds,
            label="folds",
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        keep_stages(models)
        unseen = run(lambda fold: fold.predict(models[fold]), folds, n_jobs=self.n_jobs)
        return self._keep({fold: (models[fold], unseen[fold]) for fold in folds})

    def _keep(self, fitted: dict[Fold, tuple[Any, FloatArray]]) -> CrossFittedIntervalRegressor:
        """Keep the model of every fold; beside it come its predictions of the rows that it has not seen."""
        self.estimators_ = [model for model, _ in fitted.values()]
        self.folds_ = [fold.unseen for fold in fitted]
        self.oof_prediction_ = mean_unseen({fold: found for fold, (_, found) in fitted.items()})
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict the mean of the models' predictions.

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
        X = check_outer_features(self, X)
        return np.mean([model.predict(X) for model in self.estimators_], axis=0)

    @property
    def aggregation(self) -> str:
        """How trees become one prediction, for what reads ensembles of trees; other models are not such."""
        if not all(
            isinstance(getattr(model, "tree_", None), IntervalTree) for model in self.estimators_
        ):
            raise AttributeError("the models are not trees.")
        # Each numbers the categories of its own rows: there are no codes that all node tables
        # share.
        if any(getattr(model, "categories_", None) is not None for model in self.estimators_):
            raise AttributeError("the models are trees of categories.")
        return "mean"

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean importances of the models."""
        check_is_fitted(self)
        return np.mean([model.feature_importances_ for model in self.estimators_], axis=0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
