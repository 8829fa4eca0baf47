"""A smooth model for interval labels: squared hinge loss with a margin in the space of Gaussian kernels.

The prediction is a weighted sum of *bumps*, Gaussian functions of the distance to some training
rows, the *landmarks*. Its *roughness* is its squared norm in the kernel's space. With all rows as
landmarks that is kernel ridge regression, on intervals; with fewer it is Nystroem's approximation.

A Gaussian of all features together learns any interaction, but needs many rows for it. A mean of
Gaussians of single features learns a sum of functions of one feature each. The kernel is a mixture
of both.

Distances that count all features alike hide a signal in few of many features. So features may be
scaled by their *relevance*, the importances of a forest.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    BLOCK,
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_rows,
    units_of,
)
from marginwood._linear.features import standardise
from marginwood._linear.l1 import LEAST_SCALE, check_finite_features
from marginwood._searchable import ModelPath, Searchable
from marginwood._smooth.relevance import RelevantRows
from marginwood._support.blas import one_blas_thread
from marginwood._support.checks import (
    check_count,
    check_each,
    check_not_negative,
    check_number,
    check_positive,
    check_share,
)
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import breakpoints, check_loss, optimal_constant

__all__ = ["KernelIntervalRegression", "check_alpha"]

MAX_ROUNDS = 100
LEAST_STEP = 1e-4
LEAST_ALPHA = 1e-12  # with less, rounding decides
# Directions of the kernel's space whose share is less are rounding.
LEAST_SHARE = 1e-10


# What a search tries.
PENALTIES = np.geomspace(1e-1, 1e-7, 13).tolist()
LENGTH_SCALES = (0.5, 1.0, 2.0, 4.0)
RELEVANCES = (0.0, 0.5, 1.0)


class _Point(NamedTuple):
    """Weights of the directions of the kernel's space, an intercept, and what they predict and cost."""

    weights: FloatArray
    intercept: float
    prediction: FloatArray
    cost: float


class _Problem(NamedTuple):
    """``sum_i weight_i * hinges_i(design_i @ weights + intercept) + alpha * weights @ weights`` is to be minimised.

    The weights of the rows sum up to 1.
    """

    design: FloatArray
    lower: FloatArray
    upper: FloatArray
    weight: FloatArray

    def at(self, weights: FloatArray, intercept: float, alpha: float) -> _Point:
        """The point with these weights and intercept."""
        prediction = self.design @ weights + intercept
        below = np.maximum(self.lower - prediction, 0.0)
        above = np.maximum(prediction - self.upper, 0.0)
        cost = self.weight @ (below**2 + above**2) + alpha * (weights @ weights)
        return _Point(weights, intercept, prediction, float(cost))

    def minimise(self, point: _Point, alpha: float) -> _Point:
        """Newton's steps, halved until the cost falls.

        Between breakpoints the cost is quadratic, so once a whole step leaves the same limits
        violated it has reached the minimum.
        """
        point = self.at(point.weights, point.intercept, alpha)
        for _ in range(MAX_ROUNDS):
            below = point.prediction < self.lower
            above = point.prediction > self.upper
            weights, intercept = self._minimum_of_piece(point, below, above, alpha)
            step = 1.0
            while True:
                moved = self.at(
                    point.weights + step * (weights - point.weights),
                    point.intercept + step * (intercept - point.intercept),
                    alpha,
                )
                if moved.cost <= point.cost or step < LEAST_STEP:
                    break
                step /= 2
            if not moved.cost < point.cost:
                return point
            is_same = np.array_equal(moved.prediction < self.lower, below)
            is_same &= np.array_equal(moved.prediction > self.upper, above)
            point = moved
            if is_same and step == 1.0:
                return point
        return point

    def _minimum_of_piece(
        self, point: _Point, below: Any, above: Any, alpha: float
    ) -> tuple[FloatArray, float]:
        """Where the quadratic of the limits that are violated at a point is least."""
        active = self.weight * (below.astype(np.float64) + above)
        rows = np.flatnonzero(active)
        if not len(rows):
            return np.zeros_like(point.weights), point.intercept
        ends = np.where(below[rows], self.lower[rows], 0.0) + np.where(
            above[rows], self.upper[rows], 0.0
        )
        roots = np.sqrt(active[rows])
        design = np.empty((len(rows), self.design.shape[1] + 1))
        design[:, 0] = roots
        np.multiply(self.design[rows], roots[:, np.newaxis], out=design[:, 1:])
        matrix = design.T @ design  # of an array and itself the BLAS computes one half
        diagonal = np.arange(1, len(matrix))
        matrix[diagonal, diagonal] += alpha
        target = design.T @ (self.weight[rows] * ends / roots)
        _, found, info = dposv(
            matrix.T, target, overwrite_a=True
        )  # it is symmetric, and LAPACK reads it by columns
        if info:
            raise np.linalg.LinAlgError(
                f"alpha={alpha:g} is too small for these rows: rounding decides. Raise it."
            )
        return found[1:], float(found[0])


class _Task(NamedTuple):
    """A problem, its landmarks, and how to bring its solutions back to units of the data."""

    problem: _Problem
    start: float
    mean: FloatArray
    deviation: FloatArray
    landmarks: FloatArray
    directions: FloatArray
    centre: float
    scale: float

    @one_blas_thread()
    def solve(self, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights of the bumps and intercepts for falling penalties, each solved from the one before."""
        point = self.problem.at(np.zeros(self.directions.shape[1]), self.start, float(alphas[0]))
        coefs = np.empty((len(alphas), len(self.landmarks)))
        intercepts = np.empty(len(alphas))
        for step, alpha in enumerate(alphas.tolist()):
            point = self.problem.minimise(point, alpha)
            coefs[step] = self.scale * (self.directions @ point.weights)
            intercepts[step] = self.centre + self.scale * point.intercept
        return coefs, intercepts


class KernelIntervalRegression(Searchable, IntervalRegressorMixin, BaseEstimator):
    """Smooth model with Gaussian kernels, squared hinge loss, a margin and a roughness penalty.

    It minimises the mean of the samples' losses plus ``alpha`` times the squared norm of the
    prediction in the kernel's space; the intercept is not penalised. A sample's loss is the squared
    distance of its prediction from ``[lower + margin, upper - margin]``. Where features carry a
    smooth signal together, it is nearer to it than trees; far from all rows, in every feature, it
    predicts the intercept.

    Parameters
    ----------
    alpha : float, default=1e-3
        The penalty of roughness, at least 1e-12.
    length_scale : float, default=1.0
        How far a row's influence reaches, as a share of the root mean squared distance between two
        rows, over the square root of 2.
    relevance : float, default=0.0
        Features are scaled by their importances in a forest, to half of this power: 0 counts them
        all alike, 1 lets those that do not matter hardly count.
    additivity : float, default=0.5
        Share of the kernel that is a mean of Gaussians of single features, so that features add up;
        the rest is one Gaussian of all features, so that they interact.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin.
    n_components : int, default=100
        Most landmarks; with more rows they are drawn at random.
    random_state : int, RandomState instance or None, default=None
        Seed of that draw.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features_in_)
        The landmarks, standardised and scaled.
    dual_coef_ : ndarray of shape (n_landmarks,)
        Weights of their bumps.
    intercept_ : float
        The prediction far from all rows, in every feature.
    mean_ : ndarray of shape (n_features_in_,)
        Means of the features.
    deviation_ : ndarray of shape (n_features_in_,)
        Their standard deviations, over what they are scaled by; infinite for constant features,
        which do not count.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    IntervalSearchCV : Chooses these parameters by cross-validation.

    Examples
    --------
    >>> from marginwood import KernelIntervalRegression
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> model = KernelIntervalRegression(margin=0.2).fit(X[:, :1], y)
    >>> round(model.score(X[:, :1], y), 2)
    0.96
    """

    path_parameters = ("alpha",)

    def __init__(
        self,
        *,
        alpha: float = 1e-3,
        length_scale: float = 1.0,
        relevance: float = 0.0,
        additivity: float = 0.5,
        margin: float = 0.0,
        n_components: int = 100,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.length_scale = length_scale
        self.relevance = relevance
        self.additivity = additivity
        self.margin = margin
        self.n_components = n_components
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelIntervalRegression:
        """Find the weights of the bumps.

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
        KernelIntervalRegression
            The fitted model.
        """
        check_alpha("alpha", self.alpha)
        rows = check_rows(self._check_features(X, reset=True), y, sample_weight)
        task = self._make_task(self._prepare(rows))
        coefs, intercepts = task.solve(np.array([self.alpha], dtype=np.float64))
        self._keep(task, coefs[0], intercepts[0])
        return self

    def _keep(self, task: _Task, coef: FloatArray, intercept: float) -> None:
        self.landmarks_ = task.landmarks
        self.mean_ = task.mean
        self.deviation_ = task.deviation
        self.dual_coef_ = coef
        self.intercept_ = float(intercept)

    @one_blas_thread()
    def _make_task(self, prepared: RelevantRows) -> _Task:
        check_loss("squared_hinge", self.margin)
        check_positive("length_scale", self.length_scale)
        check_not_negative("relevance", self.relevance)
        check_share("additivity", self.additivity)
        n_landmarks = check_count("n_components", self.n_components, 1)
        rows = prepared.rows
        weight = rows.weight / rows.weight.sum()
        _, (mean, deviation) = standardise(rows.X, weight)
        deviation = deviation / prepared.scales(self.relevance)
        Z = _apply(rows.X, mean, deviation)
        landmarks = Z
        if len(landmarks) > n_landmarks:
            drawn = check_random_state(self.random_state).permutation(len(landmarks))[:n_landmarks]
            landmarks = landmarks[np.sort(drawn)]
        shares, vectors = np.linalg.eigh(self._bumps(landmarks, landmarks, deviation))
        counts = shares > LEAST_SHARE * shares[-1]
        directions = vectors[:, counts] / np.sqrt(shares[counts])
        starts = breakpoints(rows.intervals, self.margin)
        centre, scale = units_of(starts)
        scale = max(scale, LEAST_SCALE)
        best = optimal_constant(rows.intervals, margin=self.margin, sample_weight=rows.weight).value
        lower, upper = np.ascontiguousarray((starts - centre).T / scale)
        problem = _Problem(self._bumps(Z, landmarks, deviation) @ directions, lower, upper, weight)
        return _Task(
            problem, (best - centre) / scale, mean, deviation, landmarks, directions, centre, scale
        )

    def _bumps(self, Z: FloatArray, landmarks: FloatArray, deviation: FloatArray) -> FloatArray:
        """The bump of every landmark at every row of standardised features; it is 1 at the landmark itself."""

        def gaussians(features: IntArray) -> FloatArray:
            distances = cdist(Z[:, features], landmarks[:, features], "sqeuclidean")
            return np.exp(distances / (-2 * self.length_scale**2 * len(features)))

        varying = np.flatnonzero(np.isfinite(deviation))
        if not len(varying):
            return np.ones((len(Z), len(landmarks)))
        bumps: FloatArray = np.zeros((len(Z), len(landmarks)))
        if self.additivity < 1:
            bumps += (1 - self.additivity) * gaussians(varying)
        if self.additivity > 0:
            bumps += sum(map(gaussians, varying[:, np.newaxis])) * (self.additivity / len(varying))
        return bumps

    def _check_features(self, X: Any, *, reset: bool = False) -> Any:
        return check_finite_features(self, X, reset=reset, accept_sparse=False)

    def _search_space(self, rows: Rows) -> dict[str, Any]:  # noqa: ARG002 (nothing depends on them)
        return {
            "margin": [self.margin],
            "length_scale": LENGTH_SCALES,
            "relevance": RELEVANCES,
            "additivity": [self.additivity],
            "alpha": PENALTIES,
        }

    def _prepare(self, rows: Rows) -> RelevantRows:
        return RelevantRows(rows)

    def _fit_path(self, rows: RelevantRows, values: Mapping[str, Any]) -> RoughnessPath:
        alphas = np.sort(check_each("alpha", values["alpha"], check_alpha))[::-1]
        return RoughnessPath(self, self._make_task(rows), alphas)

    def predict(self, X: Any) -> FloatArray:
        """Predict the weighted sum of the bumps, and the intercept.

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
        X = self._check_features(X)
        return self._combine(X, self.dual_coef_) + self.intercept_

    def _combine(self, X: FloatArray, coefs: FloatArray) -> FloatArray:
        """Sums of bumps for one or several lists of weights, block by block of rows."""
        blocks = []
        for start in range(0, len(X), BLOCK):
            Z = _apply(X[start : start + BLOCK], self.mean_, self.deviation_)
            blocks.append(self._bumps(Z, self.landmarks_, self.deviation_) @ coefs.T)
        return np.concatenate(blocks)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def check_alpha(name: str, value: Any) -> None:
    """Raise unless an argument is a penalty that is more than rounding."""
    check_number(name, value, f"a number >= {LEAST_ALPHA:g}", lambda alpha: alpha >= LEAST_ALPHA)


def _apply(X: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Standardised features; a difference may exceed the largest double, a half cannot."""
    Z: FloatArray = (X / 2 - mean / 2) / (deviation / 2)
    return Z


class RoughnessPath(ModelPath):
    """The solutions for falling penalties."""

    def __init__(
        self, estimator: KernelIntervalRegression, task: _Task, alphas: FloatArray
    ) -> None:
        super().__init__(alphas, np.arange(len(alphas)))
        self._estimator = copy.copy(estimator)
        self._coefs, self._intercepts = task.solve(alphas)
        self._estimator._keep(task, self._coefs[-1], self._intercepts[-1])
        self._estimator.n_features_in_ = len(task.mean)

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions for every penalty."""
        yield from (self._estimator._combine(X, self._coefs) + self._intercepts).T

    def model(self, step: int) -> KernelIntervalRegression:
        """The estimator with one of the solutions."""
        model = copy.copy(self._estimator)
        model.alpha = self.values[step]
        model.dual_coef_ = self._coefs[step]
        model.intercept_ = float(self._intercepts[step])
        return model
