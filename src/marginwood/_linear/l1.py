"""Linear models for interval labels: squared hinge loss with a margin, and an L1 penalty.

The *objective* is half the mean loss plus `alpha` times the sum of absolute weights of standardised
features; for un-censored targets that is the Lasso. `lasso` holds the solver.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
    refuse_features,
    units_of,
)
from marginwood._linear.features import Standardisation, standardise
from marginwood._linear.lasso import LassoProblem, largest_penalty, solve_path
from marginwood._searchable import ModelPath, Searchable
from marginwood._support.checks import check_count, check_each, check_positive
from marginwood._support.notices import warn
from marginwood.intervals import FloatArray
from marginwood.losses import breakpoints, check_loss

__all__ = ["L1IntervalRegression", "make_task"]

STEPS_PER_DECADE = 10
# The penalties that a search tries, and the last of them as a share of the first.
N_PENALTIES = 100
LAST_SHARE = 1e-3

# Squared losses of smaller targets vanish, and so would penalties on the way to a share of the
# first.
LEAST_SCALE = 1e-150


class _Path(NamedTuple):
    """Linear models in units of the data, one row per penalty."""

    coefs: FloatArray
    intercepts: FloatArray
    gaps: FloatArray
    n_iter: int


class _Task(NamedTuple):
    """A standardised problem and how to bring its solutions back to units of the data."""

    problem: LassoProblem
    standardisation: Standardisation
    centre: float
    scale: float

    def largest_penalty(self) -> float:
        """The least penalty for which all weights are zero."""
        return largest_penalty(self.problem) * self.scale

    def solve(self, alphas: FloatArray, tol: float, max_iter: int) -> _Path:
        """Solve for descending penalties; warn if a gap stays above the tolerance."""
        path = solve_path(self.problem, alphas / self.scale, tol, max_iter)
        worst = path.gaps.argmax()
        if path.gaps[worst] > tol:
            n_rounds = path.n_rounds[worst]
            advice = "Raise max_iter, tol or alpha."
            if n_rounds < max_iter:
                advice = "Rounding hides what more of them would gain: raise tol or alpha."
            warn(
                f"The duality gap is {path.gaps[worst]:.1e}, above tol={tol:g}, after {n_rounds} rounds for "
                f"alpha={alphas[worst]:g}. {advice}",
                ConvergenceWarning,
            )
        with np.errstate(over="ignore"):
            coefs = path.weights * self.scale / self.standardisation.deviation
        if not np.isfinite(coefs).all():
            column = np.argmin(np.isfinite(coefs).all(axis=0))
            deviation = self.standardisation.deviation[column]
            raise ValueError(
                f"X: column {column} has a standard deviation of {deviation:.1g}, too small beside targets of size "
                f"{self.scale:.1g} for a finite weight. Rescale it, or leave it out."
            )
        intercepts = self.centre + self.scale * path.intercepts - coefs @ self.standardisation.mean
        return _Path(coefs, intercepts, path.gaps, int(path.n_rounds.sum()))


class L1IntervalRegression(Searchable, IntervalRegressorMixin, BaseEstimator):
    """Linear model with squared hinge loss, a margin and an L1 penalty.

    It minimises half the mean of the samples' losses plus ``alpha`` times the sum of the absolute
    weights of standardised features. The intercept is not penalised. A sample's loss is the squared
    distance of its prediction from ``[lower + margin, upper - margin]``.

    Parameters
    ----------
    alpha : float, default=0.1
        The penalty, in units of the target.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin.
    tol : float, default=1e-8
        Largest duality gap of a solution, relative to half the mean loss of the best constant.
    max_iter : int, default=1000
        Most rounds of the solver per penalty. They end earlier where rounding hides what they gain.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features in their own units. Constant features have weight 0.
    intercept_ : float
        Prediction where all features are 0.
    alpha_max_ : float
        The least penalty for which all weights vanish; 0 if no feature is correlated with the
        errors of a constant.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties on the way from `alpha_max_` to `alpha`, each solved from the one before.
    coef_path_ : ndarray of shape (n_alphas, n_features_in_)
        Weights for every penalty of `alphas_`.
    intercept_path_ : ndarray of shape (n_alphas,)
        Intercepts for every penalty of `alphas_`.
    dual_gaps_ : ndarray of shape (n_alphas,)
        Relative duality gaps reached.
    n_iter_ : int
        Rounds of the solver, over the whole path.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    IntervalSearchCV : Chooses `alpha` by cross-validation.

    References
    ----------
    .. [1] Rigaill, Hocking, Vert and Bach (2013), "Learning sparse penalties for change-point detection using max
       margin interval regression", Proceedings of the 30th International Conference on Machine
       Learning.

    Examples
    --------
    >>> from marginwood import L1IntervalRegression
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = L1IntervalRegression(alpha=0.05, margin=0.3).fit(X, y)
    >>> int((model.coef_ != 0).sum()), round(float(model.coef_[0]), 2)
    (1, 0.16)
    """

    path_parameters = ("alpha",)

    def __init__(
        self, *, alpha: float = 0.1, margin: float = 0.0, tol: float = 1e-8, max_iter: int = 1000
    ) -> None:
        self.alpha = alpha
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> L1IntervalRegression:
        """Find the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, all finite. Sparse ones stay sparse.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.

        Returns
        -------
        L1IntervalRegression
            The fitted model.
        """
        check_positive("alpha", self.alpha)
        rows = check_rows(self._check_features(X, reset=True), y, sample_weight)
        task = self._make_task(rows)
        self.alpha_max_ = task.largest_penalty()
        n_decades = np.log10(max(self.alpha_max_ / self.alpha, 1.0))
        self.alphas_ = np.geomspace(
            max(self.alpha_max_, self.alpha),
            self.alpha,
            1 + int(np.ceil(STEPS_PER_DECADE * n_decades)),
        )
        path = task.solve(self.alphas_, self.tol, self.max_iter)
        self.coef_path_, self.intercept_path_, self.dual_gaps_, self.n_iter_ = path
        self.coef_ = path.coefs[-1]
        self.intercept_ = float(path.intercepts[-1])
        return self

    def _make_task(self, rows: Rows) -> _Task:
        check_loss("squared_hinge", self.margin)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter, 1)
        return make_task(rows, self.margin)

    def _check_features(self, X: Any, *, reset: bool = False) -> Any:
        return check_finite_features(self, X, reset=reset)

    def _search_space(self, rows: Rows) -> dict[str, Any]:
        def penalties(n_values: int = N_PENALTIES) -> list[float]:
            task = self._make_task(rows)
            # Where no feature pulls, all weights vanish whatever the penalty; any scale will do.
            largest = task.largest_penalty() or task.scale
            return np.geomspace(largest, largest * LAST_SHARE, n_values).tolist()

        return {"margin": [self.margin], "alpha": penalties}

    def _fit_path(self, rows: Rows, values: Mapping[str, Any]) -> PenaltyPath:
        alphas = np.sort(check_each("alpha", values["alpha"], check_positive))[::-1]
        task = self._make_task(rows)
        return PenaltyPath(self, task.solve(alphas, self.tol, self.max_iter), alphas)

    def predict(self, X: Any) -> FloatArray:
        """Predict ``intercept_ + X @ coef_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return self._check_features(X) @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = True
        return tags


class PenaltyPath(ModelPath):
    """The solutions for falling penalties."""

    def __init__(self, estimator: L1IntervalRegression, solved: _Path, alphas: FloatArray) -> None:
        super().__init__(alphas, np.arange(len(alphas)))
        self._estimator = estimator
        self._solved = solved

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions for every penalty."""
        fits = (X @ self._solved.coefs.T).T if issparse(X) else self._solved.coefs @ X.T
        yield from fits + self._solved.intercepts[:, np.newaxis]

    def model(self, step: int) -> L1IntervalRegression:
        """The estimator with one of the solutions."""
        model = copy.copy(self._estimator)
        model.alpha = self.values[step]
        model.coef_ = self._solved.coefs[step]
        model.intercept_ = float(self._solved.intercepts[step])
        model.n_features_in_ = len(model.coef_)
        return model


def check_finite_features(
    estimator: Any, X: Any, *, reset: bool = False, accept_sparse: bool = True
) -> Any:
    """X as a float64 array, or as a sparse matrix by rows, of finite numbers."""
    X = check_features(estimator, X, reset=reset, accept_sparse=accept_sparse)
    refuse_infinite(X)
    return X


def refuse_infinite(X: Any) -> None:
    """Raise unless all features are finite numbers."""
    advice = (
        "A linear model needs finite features: impute them (sklearn.impute.SimpleImputer), drop these columns, or "
        "use MaxMarginIntervalTree, which takes both."
    )
    if not issparse(X):
        refuse_features(~np.isfinite(X), "NaN or infinity", X, advice)
    elif not np.isfinite(X.data).all():
        entries = X.tocoo()
        first = np.flatnonzero(~np.isfinite(entries.data))[0]
        where = (
            f"row {entries.row[first]}, column {entries.col[first]}, value {entries.data[first]}"
        )
        raise ValueError(
            f"X: NaN or infinity among the entries of a sparse matrix (first: {where}). {advice}"
        )


def make_task(data: Rows, margin: float) -> _Task:
    """Standardise features, and bring breakpoints near 0 and 1, so that neither offset nor unit matters."""
    data = data.informative()
    weight = data.weight / data.weight.sum()
    features, standardisation = standardise(data.X, weight)
    starts = breakpoints(data.intervals, margin)
    centre, scale = units_of(starts)
    scale = max(scale, LEAST_SCALE)
    lower, upper = np.ascontiguousarray((starts - centre).T / scale)
    return _Task(LassoProblem(features, lower, upper, weight), standardisation, centre, scale)
