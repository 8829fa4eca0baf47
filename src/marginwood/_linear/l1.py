"""Linear models for interval labels: squared hinge loss with a margin, and an L1 penalty.

The *objective* is half the mean loss plus `alpha` times the sum of absolute weights of standardised features; for
un-censored targets that is the Lasso. `lasso` holds the solver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
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
from marginwood._linear.lasso import Problem, Standardisation, largest_penalty, solve_path, standardise
from marginwood._support.checks import check_count, check_positive
from marginwood._support.notices import warn
from marginwood._tuning.selection import check_selection, choose, mse_by_fold
from marginwood.intervals import FloatArray, as_numbers
from marginwood.losses import breakpoints, check_loss

__all__ = ["L1IntervalRegression", "L1IntervalRegressionCV"]

STEPS_PER_DECADE = 10

# Squared losses of smaller targets vanish, and so would penalties on the way to a share of the first.
LEAST_SCALE = 1e-150


class _Path(NamedTuple):
    """Linear models in units of the data, one row per penalty."""

    coefs: FloatArray
    intercepts: FloatArray
    gaps: FloatArray
    n_iter: int


class _Task(NamedTuple):
    """A standardised problem and how to bring its solutions back to units of the data."""

    problem: Problem
    features: Standardisation
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
            coefs = path.weights * self.scale / self.features.deviation
        if not np.isfinite(coefs).all():
            column = np.argmin(np.isfinite(coefs).all(axis=0))
            deviation = self.features.deviation[column]
            raise ValueError(
                f"X: column {column} has a standard deviation of {deviation:.1g}, too small beside targets of size "
                f"{self.scale:.1g} for a finite weight. Rescale it, or leave it out."
            )
        intercepts = self.centre + self.scale * path.intercepts - coefs @ self.features.mean
        return _Path(coefs, intercepts, path.gaps, int(path.n_rounds.sum()))


class _L1Model(IntervalRegressorMixin, BaseEstimator):
    """What both estimators share."""

    def predict(self, X: Any) -> FloatArray:
        """Predict ``intercept_ + X @ coef_``.

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
        return self._check_features(X) @ self.coef_ + self.intercept_

    def _check_features(self, X: Any, *, reset: bool = False) -> FloatArray:
        X = check_features(self, X, reset=reset)
        advice = (
            "A linear model needs finite features: impute them (sklearn.impute.SimpleImputer), drop these columns, or "
            "use MaxMarginIntervalTree, which takes both."
        )
        refuse_features(~np.isfinite(X), "NaN or infinity", X, advice)
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def _check_fit(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        check_loss("squared_hinge", self.margin)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter, 1)
        return check_rows(self._check_features(X, reset=True), y, sample_weight)


class L1IntervalRegression(_L1Model):
    """Linear model with squared hinge loss, a margin and an L1 penalty.

    It minimises half the mean of the samples' losses plus ``alpha`` times the sum of the absolute weights
    of standardised features. The intercept is not penalised. A sample's loss is the squared distance of its prediction
    from ``[lower + margin, upper - margin]``.

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
        The least penalty for which all weights vanish; 0 if no feature is correlated with the errors of a constant.
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
    L1IntervalRegressionCV : Chooses `alpha` by cross-validation.

    References
    ----------
    .. [1] Rigaill, Hocking, Vert and Bach (2013), "Learning sparse penalties for change-point detection using max
       margin interval regression", Proceedings of the 30th International Conference on Machine Learning.

    Examples
    --------
    >>> from marginwood import L1IntervalRegression
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = L1IntervalRegression(alpha=0.05, margin=0.3).fit(X, y)
    >>> int((model.coef_ != 0).sum()), round(float(model.coef_[0]), 2)
    (1, 0.16)
    """

    def __init__(self, *, alpha: float = 0.1, margin: float = 0.0, tol: float = 1e-8, max_iter: int = 1000) -> None:
        self.alpha = alpha
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> L1IntervalRegression:
        """Find the weights.

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
        L1IntervalRegression
            The fitted model.
        """
        check_positive("alpha", self.alpha)
        task = _make_task(self._check_fit(X, y, sample_weight), self.margin)
        self.alpha_max_ = task.largest_penalty()
        n_decades = np.log10(max(self.alpha_max_ / self.alpha, 1.0))
        self.alphas_ = np.geomspace(
            max(self.alpha_max_, self.alpha), self.alpha, 1 + int(np.ceil(STEPS_PER_DECADE * n_decades))
        )
        path = task.solve(self.alphas_, self.tol, self.max_iter)
        self.coef_path_, self.intercept_path_, self.dual_gaps_, self.n_iter_ = path
        self.coef_, self.intercept_ = path.coefs[-1], float(path.intercepts[-1])
        return self


class L1IntervalRegressionCV(_L1Model):
    """L1-regularised linear model for intervals, whose penalty is chosen by cross-validated interval MSE.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=None
        Penalties to try, in units of the target; None for a path from the one at which all weights vanish.
    n_alphas : int, default=100
        Length of that path.
    alpha_ratio : float, default=0.001
        Last penalty of that path, as a share of the first.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin.
    cv : int, splitter or iterable of (train, test) indices, default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the rows of each fold.
    selection : {"min", "1se"}, default="min"
        The penalty of least mean error, or the largest one within one standard error of it.
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
    alpha_ : float
        The penalty chosen.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties tried, largest first.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Interval MSE of every penalty in every fold.
    coef_path_ : ndarray of shape (n_alphas, n_features_in_)
        Weights for every penalty, fitted to all rows.
    intercept_path_ : ndarray of shape (n_alphas,)
        Intercepts for every penalty, fitted to all rows.
    dual_gaps_ : ndarray of shape (n_alphas,)
        Relative duality gaps reached.
    n_iter_ : int
        Rounds of the solver on all rows, over the whole path.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    L1IntervalRegression : One penalty, given.

    Examples
    --------
    >>> from marginwood import L1IntervalRegressionCV
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = L1IntervalRegressionCV(selection="1se").fit(X[:150], y[:150])
    >>> int((model.coef_ != 0).sum()), round(model.score(X[150:], y[150:]), 1)
    (1, 1.0)
    """

    def __init__(
        self,
        *,
        alphas: Any = None,
        n_alphas: int = 100,
        alpha_ratio: float = 1e-3,
        margin: float = 0.0,
        cv: Any = 5,
        selection: str = "min",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.margin = margin
        self.cv = cv
        self.selection = selection
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> L1IntervalRegressionCV:
        """Choose the penalty, and find the weights for it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, all finite.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        L1IntervalRegressionCV
            The fitted model.
        """
        check_selection(self.selection)
        data = self._check_fit(X, y, sample_weight)
        task = _make_task(data, self.margin)
        self.alphas_ = self._penalties(task)
        self.mse_path_ = mse_by_fold(self._predict_path, data, self.cv, groups)
        path = task.solve(self.alphas_, self.tol, self.max_iter)
        self.coef_path_, self.intercept_path_, self.dual_gaps_, self.n_iter_ = path
        chosen = choose(self.mse_path_, self.selection)
        self.alpha_ = float(self.alphas_[chosen])
        self.coef_, self.intercept_ = path.coefs[chosen], float(path.intercepts[chosen])
        return self

    def _penalties(self, task: _Task) -> FloatArray:
        """The penalties to try, largest first."""
        if self.alphas is not None:
            alphas = np.sort(np.atleast_1d(as_numbers(self.alphas, "alphas")))[::-1]
            if alphas.ndim != 1 or not alphas.size or not (np.isfinite(alphas) & (alphas > 0)).all():
                raise ValueError(f"alphas: expected finite numbers > 0, or None; got {self.alphas!r}.")
            return alphas
        n_alphas = check_count("n_alphas", self.n_alphas, 1)
        check_positive("alpha_ratio", self.alpha_ratio)
        # Where no feature pulls, all weights vanish whatever the penalty; any scale will do.
        largest = task.largest_penalty() or task.scale
        return np.geomspace(largest, largest * min(self.alpha_ratio, 1.0), n_alphas)

    def _predict_path(self, training: Rows, X: FloatArray) -> FloatArray:
        """Predictions for every penalty."""
        path = _make_task(training, self.margin).solve(self.alphas_, self.tol, self.max_iter)
        return path.coefs @ X.T + path.intercepts[:, np.newaxis]


def _make_task(data: Rows, margin: float) -> _Task:
    """Standardise features, and bring breakpoints near 0 and 1, so that neither offset nor unit matters."""
    data = data.informative()
    weight = data.weight / data.weight.sum()
    features = standardise(data.X, weight)
    starts = breakpoints(data.intervals, margin)
    centre, scale = units_of(starts)
    scale = max(scale, LEAST_SCALE)
    lower, upper = np.ascontiguousarray((starts - centre).T / scale)
    return _Task(Problem(features.apply(data.X), lower, upper, weight), features, centre, scale)
