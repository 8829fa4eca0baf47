"""TransformedIntervalRegressor: a model of a function of the target, such as the logarithm of a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from marginwood._base import IntervalRegressorMixin, all_or_nothing, check_outer_features, check_rows
from marginwood._predictive import DistributionMixin
from marginwood._support.arrays import raise_first
from marginwood._support.checks import check_choice, check_model
from marginwood._trees.table import IntervalTree
from marginwood.intervals import FloatArray, check_intervals

__all__ = ["TransformedIntervalRegressor"]


class Transformation(NamedTuple):
    """An increasing function, its inverse, and the least value that it takes."""

    forward: Callable[[Any], Any]
    backward: Callable[[Any], Any]
    least: float


NAMED = {
    "log": Transformation(np.log, np.exp, 0.0),
    "log1p": Transformation(np.log1p, np.expm1, -1.0),
    "sqrt": Transformation(np.sqrt, np.square, 0.0),
    "arcsinh": Transformation(np.arcsinh, np.sinh, -np.inf),
}


class TransformedDistribution:
    """Distributions of a target whose transform has the distributions `inner`."""

    def __init__(self, inner: Any, transformation: Transformation) -> None:
        self._inner = inner
        self._transformation = transformation

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, rows: Any) -> TransformedDistribution:
        return TransformedDistribution(self._inner[rows], self._transformation)

    def cdf(self, t: Any, **options: Any) -> FloatArray:
        """Probability of at most t."""
        return self._inner.cdf(self._forward(t), **options)

    def sf(self, t: Any, **options: Any) -> FloatArray:
        """Probability of more than t."""
        return self._inner.sf(self._forward(t), **options)

    def probability(self, y: Any, **options: Any) -> FloatArray:
        """Probability of an interval."""
        return self._inner.probability(self._forward(check_intervals(y)), **options)

    def quantile(self, q: Any, **options: Any) -> FloatArray:
        """The least value that a share q does not exceed."""
        with np.errstate(over="ignore"):
            return self._transformation.backward(self._inner.quantile(q, **options))

    def median(self, **options: Any) -> FloatArray:
        """The value that is exceeded as often as not."""
        return self.quantile(0.5, **options)

    def _forward(self, values: Any) -> FloatArray:
        return transform(np.asarray(values, np.float64), self._transformation)


def transform(values: FloatArray, transformation: Transformation) -> FloatArray:
    """The function of values; -inf for those below all that it takes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = transformation.forward(np.maximum(values, transformation.least))
    return np.where(values < transformation.least, -np.inf, inside)


def bring_back(values: FloatArray, transformation: Transformation) -> FloatArray:
    """The inverse of values that may be infinite, or below all that the function gives."""
    if np.isfinite(transformation.least):  # the square of what is less than the root of the least value would rise
        values = np.maximum(values, transform(np.array(transformation.least), transformation))
    with np.errstate(over="ignore", invalid="ignore"):
        back = np.asarray(transformation.backward(values), np.float64)
    return np.where(np.isposinf(values), np.inf, np.where(np.isneginf(values), transformation.least, back))


def _find_transformation(func: Any, inverse_func: Any) -> Transformation:
    """The transformation that the parameters mean."""
    if isinstance(func, str):
        check_choice("func", func, NAMED)
        if inverse_func is not None:
            raise ValueError(f"inverse_func: expected None with func={func!r}, which has its own.")
        return NAMED[func]
    if not callable(func) or not callable(inverse_func):
        raise TypeError(
            f"func, inverse_func: expected the name of a function, or two functions, got {func!r} and {inverse_func!r}."
        )
    return Transformation(func, inverse_func, -np.inf)


def _regressor_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        getattr(getattr(self, "regressor_", self.regressor), name)
        return True

    return check


class TransformedIntervalRegressor(MetaEstimatorMixin, IntervalRegressorMixin, BaseEstimator):
    """Fit a regressor to an increasing function of the target, and bring its predictions back.

    Both ends of the intervals are transformed; infinite ones are allowed, which scikit-learn's
    ``TransformedTargetRegressor`` refuses.

    Parameters
    ----------
    regressor : estimator
        What is fitted to the transformed target.
    func : {"log", "log1p", "sqrt", "arcsinh"} or callable, default="log"
        The function, increasing. "arcsinh" is close to the logarithm of large numbers of either sign.
    inverse_func : callable, default=None
        Its inverse. Only with a callable `func`.

    Attributes
    ----------
    regressor_ : estimator
        The fitted regressor.
    func_, inverse_func_ : str or callable
        The function and its inverse.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    A lower end at or below the least value that the function takes, such as 0 for the logarithm, is an open end.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree, TransformedIntervalRegressor, from_events
    >>> days = from_events([10, 1000, 12, 900], [True, True, False, True])
    >>> model = TransformedIntervalRegressor(MaxMarginIntervalTree()).fit([[0], [1], [0], [1]], days)
    >>> model.predict([[1]]).round(1).tolist()
    [948.7]
    """

    def __init__(self, regressor: Any, *, func: Any = "log", inverse_func: Any = None) -> None:
        self.regressor = regressor
        self.func = func
        self.inverse_func = inverse_func

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> TransformedIntervalRegressor:
        """Fit the regressor to the transformed target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the regressor takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        **fit_params : dict
            Further arguments of the regressor's `fit`.

        Returns
        -------
        TransformedIntervalRegressor
            The fitted model.
        """
        check_model("regressor", self.regressor)
        transformation = _find_transformation(self.func, self.inverse_func)
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        intervals = self._transform(rows.intervals, transformation)
        options = fit_params if sample_weight is None else {**fit_params, "sample_weight": rows.weight}
        self.regressor_ = clone(self.regressor).fit(X, intervals, **options)
        # Predictions need these, whatever the parameters become: files refuse functions that they cannot hold.
        self.func_ = self.func
        self.inverse_func_ = self.inverse_func
        return self

    def _transform(self, intervals: FloatArray, transformation: Transformation) -> FloatArray:
        lower, upper = intervals.T
        beyond = np.asarray(upper <= transformation.least)
        expected = f"y: expected upper ends above {transformation.least:g} for func={self.func!r}, got others"
        advice = " What is known only to be less than the first time is (0, that time); leave other such rows out."
        raise_first(beyond, expected, advice if self.func == "log" else "", lower=lower, upper=upper)
        before = np.asarray((lower < transformation.least) & np.isfinite(lower))
        raise_first(
            before,
            f"y: expected lower ends from {transformation.least:g} on, got others",
            " An unknown end is -inf.",
            lower=lower,
        )
        ends = np.column_stack([transform(lower, transformation), transform(upper, transformation)])
        unknown = np.asarray(np.isnan(ends).any(axis=1))
        raise_first(unknown, "func: expected numbers for the ends of y, got NaN", lower=lower, upper=upper)
        raise_first(
            ends[:, 0] > ends[:, 1], "func: expected an increasing function; it falls", lower=lower, upper=upper
        )
        return ends

    def _fitted_transformation(self) -> Transformation:
        return _find_transformation(self.func_, self.inverse_func_)

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row, in units of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            The inverse of the regressor's predictions. An inverse of means is not a mean, that of medians is a median.
        """
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            return self._fitted_transformation().backward(self.regressor_.predict(check_outer_features(self, X)))

    @available_if(_regressor_has("predict_distribution"))  # type: ignore[untyped-decorator]
    def predict_distribution(self, X: Any) -> TransformedDistribution:
        """Predict the distribution of the target for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        TransformedDistribution
            With `cdf`, `sf`, `probability`, `quantile` and `median` in units of the target.
        """
        check_is_fitted(self)
        inner = self.regressor_.predict_distribution(check_outer_features(self, X))
        return TransformedDistribution(inner, self._fitted_transformation())

    predict_quantile = available_if(_regressor_has("predict_distribution"))(DistributionMixin.predict_quantile)
    predict_survival_function = available_if(_regressor_has("predict_distribution"))(
        DistributionMixin.predict_survival_function
    )

    @available_if(_regressor_has("predict_interval"))  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, confidence_level: float | None = None) -> FloatArray:
        """Predict a range for every row, in units of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        confidence_level : float, default=None
            Probability of what is promised, instead of that of the regressor.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The inverse of both ends. What is promised of the transformed target holds for the target.
        """
        check_is_fitted(self)
        ranges = self.regressor_.predict_interval(check_outer_features(self, X), confidence_level)
        return bring_back(ranges, self._fitted_transformation())

    @property
    def tree_(self) -> IntervalTree:
        """The tree of the regressor, if it is one, with values in units of the target."""
        check_is_fitted(self)
        tree = self.regressor_.tree_
        nodes = tree.nodes.copy()
        for name in ("value", "value_low", "value_high"):
            nodes[name] = bring_back(nodes[name], self._fitted_transformation())
        return IntervalTree(nodes, tree.saw_missing)

    @property
    def feature_importances_(self) -> FloatArray:
        """Importances of the regressor."""
        check_is_fitted(self)
        return self.regressor_.feature_importances_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.regressor).input_tags.allow_nan
        return tags
