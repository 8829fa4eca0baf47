"""DistributionalIntervalRegressor: the distribution of a model's own errors around its predictions.

The *residual interval* of a row is its interval less its out-of-fold prediction. The maximum likelihood distribution
of all residual intervals, moved to a prediction, is the predictive distribution there.
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
    copy_feature_names,
)
from marginwood._ensemble.crossfit import CrossFittedIntervalRegressor
from marginwood._predictive import DistributionMixin
from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.intervals import FloatArray

__all__ = ["DistributionalIntervalRegressor"]


class DistributionalIntervalRegressor(DistributionMixin, MetaEstimatorMixin, IntervalRegressorMixin, BaseEstimator):
    """Predictive distributions for any estimator that predicts numbers.

    The estimator is cross-fitted; the maximum likelihood distribution of its out-of-fold residual intervals is put
    around its predictions. This assumes that errors are distributed alike for all rows.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package, or any regressor that takes intervals.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the rows of each fold.
    tol : float, default=1e-3
        How far the log-likelihood of the residuals' distribution may be from its maximum.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.

    Attributes
    ----------
    crossfit_ : CrossFittedIntervalRegressor
        The models, with their out-of-fold predictions.
    residual_distribution_ : IntervalDistribution
        The distribution of the residual intervals.
    residual_support_, residual_mass_ : ndarray
        Its support intervals, of shape (k, 2), and their masses.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    MaxMarginIntervalForest : Its own distributions need no assumption on the errors.

    Notes
    -----
    Where most rows are open above, a plain model predicts early, because nothing is paid for predicting too low. The
    median of the residuals is then above 0, and `predict`, which is the median here, later.

    Examples
    --------
    >>> from marginwood import DistributionalIntervalRegressor, MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> model = DistributionalIntervalRegressor(MaxMarginIntervalTree(margin=0.2, max_leaf_nodes=6)).fit(X, y)
    >>> low, middle, high = model.predict_quantile(X[:1], [0.1, 0.5, 0.9])[0]
    >>> bool(low <= middle <= high)
    True
    """

    def __init__(
        self, estimator: Any, *, cv: Any = 5, tol: float = 1e-3, n_jobs: int | None = None, verbose: int = 0
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> DistributionalIntervalRegressor:
        """Cross-fit the estimator and find the distribution of its errors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        DistributionalIntervalRegressor
            The fitted estimator.
        """
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        crossfit = CrossFittedIntervalRegressor(self.estimator, cv=self.cv, n_jobs=self.n_jobs, verbose=self.verbose)
        crossfit.fit(X, rows.intervals, sample_weight, groups)
        copy_feature_names(self, crossfit)
        prediction = crossfit.oof_prediction_
        known = ~np.isnan(prediction) & (rows.weight > 0)
        residual = rows.intervals[known] - prediction[known, np.newaxis]
        found = turnbull(residual, rows.weight[known], tol=self.tol)
        self.residual_support_ = found.support
        self.residual_mass_ = found.mass
        self.crossfit_ = crossfit
        return self

    @property
    def residual_distribution_(self) -> IntervalDistribution:
        """The distribution of the residual intervals."""
        check_is_fitted(self)
        return IntervalDistribution(self.residual_support_, self.residual_mass_)

    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        IntervalDistribution
            One row per row of X.
        """
        check_is_fitted(self)
        return self.residual_distribution_.shifted(self.crossfit_.predict(check_outer_features(self, X)))

    def predict(self, X: Any) -> FloatArray:
        """Predict the median of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Medians. Where more than half of the mass lies beyond all finite limits, the farthest of these.
        """
        check_is_fitted(self)
        prediction = self.crossfit_.predict(check_outer_features(self, X))
        return prediction + finite_median(self.residual_distribution_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean importances of the models."""
        check_is_fitted(self)
        return self.crossfit_.feature_importances_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def finite_median(distribution: IntervalDistribution) -> float:
    """The median of a single distribution, or the finite limit nearest to it."""
    ends = distribution.support[np.isfinite(distribution.support)]
    return float(np.clip(distribution.median(bound="spread"), ends.min(), ends.max()))
