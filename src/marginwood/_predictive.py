"""What every estimator of distributions predicts: quantiles and survival functions, from `predict_distribution`."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._support.arrays import as_numbers
from marginwood.intervals import FloatArray

__all__ = ["DistributionMixin", "check_times"]


class DistributionMixin:
    """Quantiles and survival functions of an estimator that has `predict_distribution`."""

    def predict_distribution(self, X: Any) -> Any:
        """Predict the distribution of the target for every row."""
        raise NotImplementedError

    def predict_quantile(self, X: Any, q: Any) -> FloatArray:
        """Predict quantiles of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        q : float or array-like of shape (m,)
            Shares from 0 to 1; 0.5 is the median.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, m)
            Quantiles of masses that are spread evenly over their support intervals; infinite where
            the data do not reach. ``predict_distribution(X).quantile(q)`` gives the interval that
            holds them for certain.
        """
        return self.predict_distribution(X).quantile(q, bound="spread")

    def predict_survival_function(self, X: Any, times: Any) -> FloatArray:
        """Predict the probability that the target is greater than each of some values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        times : float or array-like of shape (m,)
            Values of the target, in ascending order.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, m)
            Probabilities, falling along the times.
        """
        return self.predict_distribution(X).sf(check_times(times))


def check_times(times: Any) -> FloatArray:
    """A number, or finite numbers in ascending order."""
    values = as_numbers(times, "times")
    if values.ndim > 1 or not values.size:
        raise ValueError(
            f"times: expected a number or several in one list, got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("times: expected finite numbers, got NaN or an infinity.")
    falls = np.flatnonzero(np.diff(np.atleast_1d(values)) < 0)
    if falls.size:
        first = int(falls[0])
        raise ValueError(
            f"times: expected ascending numbers, got {values[first]} before {values[first + 1]}."
        )
    return values
