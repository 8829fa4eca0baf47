"""CensoredLinearRegression: a linear model with errors of a given shape, by maximum likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import IntervalRegressorMixin, Rows, all_or_nothing, check_rows
from marginwood._core.problem import SMALLEST_NORMAL
from marginwood._linear.errors import ERRORS, Error
from marginwood._linear.features import standardise
from marginwood._linear.l1 import check_finite_features
from marginwood._linear.likelihood import LikelihoodProblem, maximise_likelihood
from marginwood._predictive import DistributionMixin
from marginwood._support.blas import one_blas_thread
from marginwood._support.checks import check_choice, check_count, check_number, check_positive
from marginwood._support.notices import warn
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray

__all__ = ["CensoredLinearRegression"]

# The distribution of errors in steps: so many of one width between quantiles of so small shares. A
# probability is then off by less than 1e-4. Beyond, each step is wider than the one before, up to
# where next to nothing is left: there the exponential of an error may still matter to a mean.
N_STEPS = 400
TAIL = 1e-6
GROWTH = 1.05 ** np.arange(1, 150)
LEAST_LOG = np.log(1e-300)
# The deviation of limits that are one value, relative to that.
LEAST_UNIT = 1e-6


class CensoredLinearRegression(DistributionMixin, IntervalRegressorMixin, BaseEstimator):
    """Linear model of censored values by maximum likelihood; it predicts distributions.

    A value is ``intercept_ + x @ coef_`` and an error, whose distribution has a known shape, a
    median of 0 and a scale that is the same for all rows. Of logarithms of times this is the model
    of accelerated failure times: log-normal, log-logistic or Weibull.

    Parameters
    ----------
    error : {"normal", "logistic", "gumbel"}, default="normal"
        The shape of the errors. "gumbel" is the distribution of the smallest of many values: times
        whose logarithms have it are Weibull's.
    alpha : float, default=0.01
        Penalty: half of it times the sum of squares of the weights, in scales of the error per
        deviation of a feature, is taken from the mean log-likelihood.
    tol : float, default=1e-9
        How much the next step may still gain, in units of the mean log-likelihood.
    max_iter : int, default=100
        Most steps of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features in their own units. Constant features have weight 0.
    intercept_ : float
        The median where all features are 0.
    scale_ : float
        The scale of the errors: their standard deviation if they are normal.
    n_iter_ : int
        Steps of the solver.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    L1IntervalRegression : No assumption on the errors, and few features; its predictions are early under censoring.
    DistributionalSuperLearner : Weighs these models and forests.

    Notes
    -----
    Two half rows, two thirds of a deviation of the limits above and below their mean, are added
    where all features have their means. They settle what the rows leave open, for instance the
    scale of errors if one constant lies in all intervals. Beside few rows they count, too: of five
    exact values around a line the scale is mostly larger than the most likely one, now and then
    twice as large. With n rows the difference shrinks like 1 / n.

    Where all limits are one value, nothing tells the scale of the errors: it is about a millionth
    of that value.

    A row of weight 2 counts as two rows. Weights with a mean below 1 count as shares: all of them
    divided by one number give the same model.

    References
    ----------
    .. [1] Burridge (1981), "A note on maximum likelihood estimation for regression models using grouped data", Journal
       of the Royal Statistical Society B 43.

    Examples
    --------
    >>> from marginwood import CensoredLinearRegression
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = CensoredLinearRegression(error="logistic").fit(X, y)
    >>> low, high = model.predict_quantile(X[:1], [0.1, 0.9])[0]
    >>> bool(low < model.predict(X[:1])[0] < high)
    True
    """

    def __init__(
        self, *, error: str = "normal", alpha: float = 0.01, tol: float = 1e-9, max_iter: int = 100
    ) -> None:
        self.error = error
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CensoredLinearRegression:
        """Find the most likely weights and scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, all finite.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.

        Returns
        -------
        CensoredLinearRegression
            The fitted model.
        """
        check_choice("error", self.error, ERRORS)
        check_number("alpha", self.alpha, "a number >= 0", lambda alpha: 0 <= alpha < np.inf)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter, 1)
        X = check_finite_features(self, X, reset=True, accept_sparse=False)
        self._solve(check_rows(X, y, sample_weight).informative())
        return self

    @one_blas_thread()
    def _solve(self, rows: Rows) -> None:
        shares = rows.weight / rows.weight.sum()
        features, standardisation = standardise(rows.X, shares)
        Z = features.combine(np.arange(features.n_features), np.eye(features.n_features))
        # Weights that the penalty allows are combinations of rows: with more features than rows,
        # few unknowns do.
        basis = None
        if Z.shape[1] > len(Z):
            basis, triangle = np.linalg.qr(Z.T)
            Z = triangle.T
        centre, scale = _unit_of(rows)
        lower, upper = (rows.intervals.T - centre) / scale
        error = ERRORS[self.error]
        problem = LikelihoodProblem(Z, lower, upper, rows.weight, error, float(self.alpha))
        found = maximise_likelihood(problem, self.tol, self.max_iter)
        if not found.is_converged:
            warn(
                f"The likelihood was not certainly maximised in {found.n_iter} steps. Raise max_iter, tol or alpha.",
                ConvergenceWarning,
            )
        weights = found.unknowns[2:] if basis is None else basis @ found.unknowns[2:]
        self.scale_ = float(scale / found.unknowns[0])
        self.coef_ = self.scale_ * weights / standardisation.deviation
        location = (
            centre
            + self.scale_ * float(found.unknowns[1])
            - float(self.coef_ @ standardisation.mean)
        )
        self.intercept_ = location + self.scale_ * float(error.quantile(np.array(0.5)))
        self.n_iter_ = found.n_iter

    def predict(self, X: Any) -> FloatArray:
        """Predict medians: ``intercept_ + X @ coef_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Medians.
        """
        check_is_fitted(self)
        return check_finite_features(self, X, accept_sparse=False) @ self.coef_ + self.intercept_

    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        IntervalDistribution
            One row per row of X, in steps: 400 narrow ones, and wider ones for the last millionth
            on either side, up to where 1e-300 is left.
        """
        prediction = self.predict(X)
        error = ERRORS[self.error]
        edges, mass = _make_steps(error)
        ends = self.scale_ * (edges - error.quantile(np.array(0.5)))
        # Not checked: of targets near the largest that are allowed, tails lie beyond.
        return IntervalDistribution._of(np.column_stack([ends[:-1], ends[1:]]), mass).shifted(
            prediction
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _make_steps(error: Error) -> tuple[FloatArray, FloatArray]:
    """Edges of steps, and the probabilities between them."""
    low, high = error.quantile(np.array([TAIL, 1 - TAIL]))
    edges = np.linspace(low, high, N_STEPS + 1)
    beyond = np.cumsum((edges[1] - edges[0]) * GROWTH)
    edges = np.concatenate([edges[0] - beyond[::-1], edges, edges[-1] + beyond])
    edges = edges[np.minimum(error.log_cdf(edges), error.log_sf(edges)) > LEAST_LOG]
    # Differences of the smaller tail, so that small probabilities keep their digits.
    below, above = np.exp(error.log_cdf(edges)), np.exp(error.log_sf(edges))
    return edges, np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def _unit_of(rows: Rows) -> tuple[float, float]:
    """Weighted mean and standard deviation of the finite limits; an un-censored row counts as two."""
    is_finite = np.isfinite(rows.intervals)
    limits = rows.intervals[is_finite]
    if limits.min() == limits.max():
        # A deviation of 1 would depend on the unit, and one like the value on the unit of its
        # exponential.
        value = float(limits[0])
        return value, max(LEAST_UNIT * abs(value or 1.0), SMALLEST_NORMAL)
    weight = np.broadcast_to(rows.weight[:, np.newaxis], is_finite.shape)[is_finite]
    centre = float(np.average(limits, weights=weight))
    # Near 1, where the squares of distances neither vanish nor overflow.
    exponent = np.frexp(np.abs(limits - centre).max())[1]
    distance = np.ldexp(limits - centre, -exponent)
    return centre, float(
        np.ldexp(np.sqrt(np.average(distance**2, weights=weight)), exponent)
    ) or 1.0
