"""TransformedIntervalRegressor: a model of a function of the target, such as the logarithm of a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    all_or_nothing,
    check_outer_features,
    check_rows,
    targets_for,
)
from marginwood._ends import below, carry_over, check_entry
from marginwood._predictive import DistributionMixin
from marginwood._support.arrays import raise_first
from marginwood._support.checks import check_choice, check_model
from marginwood._trees.table import IntervalTree
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray

__all__ = ["TransformedIntervalRegressor", "bring_back", "bring_ranges_back", "transform"]

# How far a function and its inverse may be off, relative to the values.
ROUNDING = 1e-6
# By how much ranges grow on the way back: more than the rounding of sums, logarithms and exponentials.
SLACK = 1e-13


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


def transform(values: FloatArray, transformation: Transformation) -> FloatArray:
    """The function of values; -inf for those below all that it takes.

    The number right below the least one that it takes is a lower end that belongs to its interval.
    """
    least = transformation.least
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = transformation.forward(np.maximum(values, least))
    is_below = values < least
    is_end = is_below & (values == below(np.float64(least)))
    return np.where(is_end, below(inside), np.where(is_below, -np.inf, inside))


def bring_back(values: FloatArray, transformation: Transformation) -> FloatArray:
    """The inverse of values that may be infinite; what is below all that the function gives becomes its least value."""
    if np.isfinite(
        transformation.least
    ):  # the square of what is less than the root of the least value would rise
        values = np.maximum(values, transform(np.array(transformation.least), transformation))
    with np.errstate(over="ignore", invalid="ignore"):
        back = np.asarray(transformation.backward(values), np.float64)
    # An inverse may not know infinities, or take them for the square of a number.
    is_lost = np.isinf(values) & (np.isnan(back) | (np.isneginf(values) & np.isposinf(back)))
    return np.where(is_lost, values, back)


def bring_ranges_back(ranges: FloatArray, transformation: Transformation) -> FloatArray:
    """The inverse of both ends of ranges, so that a range which ends at a limit still does.

    The exponential of the logarithm of 712 may be more than 712, and many rows may have that limit.
    """
    slack = SLACK * (1 + np.abs(ranges))
    return bring_back(ranges + slack * [-1, 1], transformation)


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


def _pair_limits(intervals: FloatArray, images: FloatArray) -> FloatArray:
    """The limits of rows whose image is finite, ascending, and their images."""
    is_limit = np.isfinite(intervals) & np.isfinite(images)
    limits, first = np.unique(intervals[is_limit], return_index=True)
    return np.column_stack([limits, images[is_limit][first]])


def _check_pair(limits: FloatArray, transformation: Transformation) -> None:
    """Raise unless two functions rise over some limits, which are sorted, and the second undoes the first."""
    images = transform(limits, transformation)
    with np.errstate(invalid="ignore"):  # equal infinities
        falls = np.flatnonzero(np.diff(images) < -ROUNDING * np.abs(images[1:]))
    if falls.size:
        first = int(falls[0])
        raise ValueError(
            f"func: expected an increasing function, got {images[first]:.6g} for {limits[first]:.6g} and "
            f"{images[first + 1]:.6g} for {limits[first + 1]:.6g}."
        )
    back = bring_back(images, transformation)
    size = np.maximum(np.abs(limits), limits[-1] - limits[0])
    differs = np.flatnonzero(~(np.abs(back - limits) <= ROUNDING * size))
    if differs.size:
        first = int(differs[0])
        raise ValueError(
            f"inverse_func: expected the inverse of func, got {back[first]:.6g} for func({limits[first]:.6g}) = "
            f"{images[first]:.6g}."
        )


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
        What is fitted to the transformed target. Where all labels are exact, a regressor of
        scikit-learn does, too.
    func : {"log", "log1p", "sqrt", "arcsinh"} or callable, default="log"
        The function, increasing. "arcsinh" is close to the logarithm of large numbers of either
        sign.
    inverse_func : callable, default=None
        Its inverse, increasing for all numbers. Only with a callable `func`.

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
    A lower end at or below the least value that the function takes, such as 0 for the logarithm, is
    an open end. Predictions below all that the function gives, such as a negative root, come back
    as the least value that it takes.

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
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        entry: Any = None,
        **fit_params: Any,
    ) -> TransformedIntervalRegressor:
        """Fit the regressor to the transformed target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the regressor takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that stay together in the folds of the regressor.
        entry : array-like of shape (n_samples,), default=None
            Delayed entry in units of the target, of a regressor that takes it.
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
        if sample_weight is not None:
            fit_params["sample_weight"] = rows.weight
        if groups is not None:
            fit_params["groups"] = groups
        if entry is not None:
            entry, _ = check_entry(entry, rows.intervals)
            is_late = np.isfinite(entry)
            fit_params["entry"] = np.full(len(entry), -np.inf)
            fit_params["entry"][is_late] = transform(entry[is_late], transformation)
        self.regressor_ = clone(self.regressor).fit(
            X, targets_for(self.regressor, intervals), **fit_params
        )
        has_ends = hasattr(self, "predict_distribution")
        self._limits = _pair_limits(rows.intervals, intervals) if has_ends else np.empty((0, 2))
        # Predictions need these, whatever the parameters become: files refuse functions that they
        # cannot hold.
        self.func_ = self.func
        self.inverse_func_ = self.inverse_func
        return self

    def _transform(self, intervals: FloatArray, transformation: Transformation) -> FloatArray:
        lower, upper = intervals.T
        beyond = np.asarray(upper <= transformation.least)
        expected = f"y: expected upper ends above {transformation.least:g} for func={self.func!r}, got others"
        advice = " What is known only to be less than the first time is (0, that time); leave other such rows out."
        raise_first(
            beyond, expected, advice if self.func == "log" else "", lower=lower, upper=upper
        )
        before = np.asarray((lower < below(np.float64(transformation.least))) & np.isfinite(lower))
        raise_first(
            before,
            f"y: expected lower ends from {transformation.least:g} on, got others",
            " An unknown end is -inf.",
            lower=lower,
        )
        ends = carry_over(intervals, lambda ends: transform(ends, transformation))
        unknown = np.asarray(np.isnan(ends).any(axis=1))
        raise_first(
            unknown, "func: expected numbers for the ends of y, got NaN", lower=lower, upper=upper
        )
        if callable(self.func):
            _check_pair(np.unique(intervals[np.isfinite(intervals)]), transformation)
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
            The inverse of the regressor's predictions. An inverse of means is not a mean, that of
            medians is a median: one of `predict_distribution`, up to where in a support interval
            its mass lies.
        """
        check_is_fitted(self)
        prediction = self.regressor_.predict(check_outer_features(self, X))
        return bring_back(prediction, self._fitted_transformation())

    @available_if(_regressor_has("predict_distribution"))  # type: ignore[untyped-decorator]
    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        IntervalDistribution
            One row per row of X: the masses of the regressor's distributions, on support intervals
            in units of the target. Masses that are spread over them are spread evenly in these
            units, as those of `turnbull` are.
        """
        check_is_fitted(self)
        inner = self.regressor_.predict_distribution(check_outer_features(self, X))
        return inner._mapped(self._bring_ends_back)

    def _bring_ends_back(self, ends: FloatArray) -> FloatArray:
        """The inverse of ends of support intervals; of those that are limits of training rows, these limits.

        The exponential of the logarithm of 712 may be more than 712, and then an event on that day
        would come later.
        """
        back = bring_back(ends, self._fitted_transformation())
        limits, images = self._limits.T
        place = np.minimum(np.searchsorted(images, ends), len(images) - 1)
        return np.where(images[place] == ends, limits[place], back)

    predict_quantile = available_if(_regressor_has("predict_distribution"))(
        DistributionMixin.predict_quantile
    )
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
            The inverse of both ends. What is promised of the transformed target holds for the
            target.
        """
        check_is_fitted(self)
        ranges = self.regressor_.predict_interval(check_outer_features(self, X), confidence_level)
        return bring_ranges_back(ranges, self._fitted_transformation())

    @property
    def tree_(self) -> IntervalTree:
        """The tree of the regressor, if it is one, with values in units of the target."""
        check_is_fitted(self)
        tree = self.regressor_.tree_
        nodes = tree.nodes.copy()
        for name in ("value", "value_low", "value_high"):
            nodes[name] = bring_back(nodes[name], self._fitted_transformation())
        return IntervalTree(nodes, tree.saw_missing, tree.subsets)

    @property
    def feature_importances_(self) -> FloatArray:
        """Importances of the regressor."""
        check_is_fitted(self)
        return self.regressor_.feature_importances_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.regressor).input_tags.allow_nan
        return tags
