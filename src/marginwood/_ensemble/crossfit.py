"""CrossFittedIntervalRegressor: one model per fold, each trained without its fold; their mean predicts.

Every row has a prediction by the models that have not seen it, its *out-of-fold* prediction. It is
as honest as one of new data, and costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_outer_features,
    check_rows,
    targets_for,
)
from marginwood._support.checks import check_model
from marginwood._support.progress import progress_bar
from marginwood._support.threads import run_in_threads
from marginwood._trees.table import IntervalTree
from marginwood._tuning.selection import split_rows
from marginwood.intervals import FloatArray, IntArray

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
        splits = split_rows(rows, self.cv, groups)
        tests = [test for _, test in splits]
        watchers = find_watchers(rows, tests)
        models: list[Any] = [None] * len(splits)

        def train(fold: int) -> Any:
            return fit_fold(
                self.estimator,
                rows,
                *splits[fold],
                weighted=sample_weight is not None,
                groups=groups,
                watched=watchers[fold].any(),
            )

        def predict(fold: int) -> FloatArray:
            return models[fold].predict(_safe_indexing(X, tests[fold]))

        with progress_bar("folds", len(splits), verbose=self.verbose) as advance:
            for fold, model in run_in_threads(train, range(len(splits)), self.n_jobs):
                models[fold] = model
                advance()
        keep_stages(models, watchers)
        found = dict(run_in_threads(predict, range(len(splits)), self.n_jobs))
        predictions = [found[fold] for fold in range(len(splits))]
        return self._keep(models, predictions, tests, len(rows.intervals))

    def _keep(
        self,
        models: list[Any],
        predictions: list[FloatArray],
        tests: list[IntArray],
        n_rows: int,
    ) -> CrossFittedIntervalRegressor:
        """Keep the model of every fold; beside it come its predictions of the rows that it was trained without."""
        total = np.zeros(n_rows)
        n_models = np.zeros(n_rows)
        for prediction, test in zip(predictions, tests, strict=True):
            total[test] += prediction
            n_models[test] += 1
        self.estimators_ = models
        self.folds_ = tests
        self.oof_prediction_ = np.where(n_models > 0, total / np.maximum(n_models, 1), np.nan)
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


def fit_fold(
    estimator: Any,
    rows: Rows,
    train: IntArray,
    test: IntArray,
    *,
    weighted: bool,
    groups: Any = None,
    watched: bool = False,
) -> Any:
    """A model of the informative training rows.

    Others carry no information, but would count in shares of rows, and bring a warning with their
    numbers in the fold. A booster that is `watched` has its losses of the test rows, and all stages
    until these say stop; `keep_stages` is to follow.
    """
    model = clone(estimator)
    is_informative = rows.is_informative
    train, test = train[is_informative[train]], test[is_informative[test]]
    X, y = _safe_indexing(rows.X, train), targets_for(model, rows.intervals, train)
    weight = rows.weight[train] if weighted else None
    if watched and is_staged(model):
        X_val, y_val = _safe_indexing(rows.X, test), rows.intervals[test]
        model._fit_stages(X, y, weight, X_val, y_val, rows.weight[test])
        return model
    options: dict[str, Any] = {"sample_weight": weight} if weighted else {}
    if groups is not None and has_fit_parameter(model, "groups"):
        options["groups"] = np.asarray(groups)[train]
    return model.fit(X, y, **options)


def is_staged(estimator: Any) -> bool:
    """Whether it is a booster that stops early."""
    return (
        getattr(estimator, "_fit_stages", None) is not None
        and estimator.n_iter_no_change is not None
    )


def find_watchers(rows: Rows, tests: list[IntArray]) -> FloatArray:
    """For each fold the weights of the folds that say how many stages its booster keeps.

    They share no row with it, and weigh what their informative rows do. Where there is none, as for
    a single fold, a booster holds out rows of its own.
    """
    weight = np.where(rows.is_informative, rows.weight, 0.0)
    held_out = np.zeros((len(tests), len(weight)), np.float32)
    for fold, test in enumerate(tests):
        held_out[fold, test[weight[test] > 0]] = 1.0
    total = held_out @ (weight / max(weight.max(), np.finfo(float).tiny))
    is_apart = held_out @ held_out.T == 0
    return np.where(is_apart & (total[:, np.newaxis] > 0), total, 0.0)


def keep_stages(models: list[Any], watchers: FloatArray) -> None:
    """Cut boosters of folds at the stage at which those that watch them have the least mean loss.

    A booster that stopped where its own fold is predicted best would predict that one too well: on
    pure noise as if a tenth of the variance could be explained. A curve of losses that has ended
    stays where it was.
    """
    if not is_staged(models[0]):
        return
    watched = np.flatnonzero(watchers.any(axis=1))
    curves = [models[fold].validation_score_ for fold in watched]
    n_stages = max(map(len, curves), default=0)
    losses = np.array([np.pad(curve, (0, n_stages - len(curve)), "edge") for curve in curves])
    for fold in watched:
        mean = watchers[fold, watched] @ losses
        models[fold]._keep_stages(int(np.argmin(mean)) + 1)
