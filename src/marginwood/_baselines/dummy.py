"""The best constant: the baseline of all baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import IntervalRegressorMixin, all_or_nothing, check_features, check_rows
from marginwood.intervals import FloatArray
from marginwood.losses import Loss, check_loss, optimal_constant

__all__ = ["IntervalDummyRegressor"]


class IntervalDummyRegressor(IntervalRegressorMixin, BaseEstimator):
    """Predict the constant of least training loss, whatever the features are.

    Parameters
    ----------
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The distance to the interval, or its square, whose mean is the interval MSE.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.

    Attributes
    ----------
    constant_ : float
        The prediction: the middle of `optimal_interval_`, or its finite end.
    optimal_interval_ : tuple of float
        Ends of the interval of all constants of least loss; one may be infinite.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Examples
    --------
    >>> from marginwood import IntervalDummyRegressor
    >>> dummy = IntervalDummyRegressor().fit([[0], [1], [2]], [(0, 2), (1, 4), (-float("inf"), 3)])
    >>> dummy.predict([[5]]).tolist(), dummy.optimal_interval_
    ([1.5], (1.0, 2.0))
    """

    def __init__(self, *, loss: Loss = "squared_hinge", margin: float = 0.0) -> None:
        self.loss = loss
        self.margin = margin

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IntervalDummyRegressor:
        """Find the best constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; only their number is used.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        IntervalDummyRegressor
            The fitted estimator.
        """
        check_loss(self.loss, self.margin)
        data = check_rows(check_features(self, X, reset=True), y, sample_weight)
        best = optimal_constant(
            data.intervals, loss=self.loss, margin=self.margin, sample_weight=data.weight
        )
        self.constant_ = best.value
        self.optimal_interval_ = best.low, best.high
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict the constant for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            The constant.
        """
        check_is_fitted(self)
        return np.full(len(check_features(self, X)), self.constant_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
