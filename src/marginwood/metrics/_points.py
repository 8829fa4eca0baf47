"""Metrics of predictions against intervals.

The *error* of a prediction is its distance to the interval: 0 anywhere inside, and on both ends,
whichever of them belong to it. For un-censored targets every metric here is the usual one of that
name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._core.problem import SMALLEST_NORMAL
from marginwood._ends import above, gaps
from marginwood._support.arrays import as_numbers, raise_first
from marginwood.intervals import BoolArray, FloatArray, check_intervals, check_sample_weight
from marginwood.losses import Loss, hinge_loss, optimal_constant, refuse_vanishing_squares

__all__ = [
    "interval_accuracy",
    "interval_d2_score",
    "interval_hinge_loss",
    "interval_mean_absolute_error",
    "interval_mean_squared_error",
    "interval_pinball_loss",
]


def interval_mean_squared_error(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Mean squared distance of the predictions to the intervals.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from marginwood.metrics import interval_mean_squared_error
    >>> interval_mean_squared_error([(1, 2), (3, float("inf"))], [4.0, 5.0])
    2.0
    """
    return interval_hinge_loss(y_true, y_pred, loss="squared_hinge", sample_weight=sample_weight)


def interval_mean_absolute_error(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Mean distance of the predictions to the intervals.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from marginwood.metrics import interval_mean_absolute_error
    >>> interval_mean_absolute_error([(1, 2), (3, float("inf"))], [4.0, 5.0])
    1.0
    """
    return interval_hinge_loss(y_true, y_pred, loss="linear_hinge", sample_weight=sample_weight)


def interval_pinball_loss(
    y_true: Any, y_pred: Any, *, quantile: float = 0.5, sample_weight: Any = None
) -> float:
    """Mean pinball loss of predicted quantiles.

    A prediction below its interval costs `quantile` times the distance, one above
    ``1 - quantile`` times. For un-censored targets this is scikit-learn's ``mean_pinball_loss``
    with ``alpha=quantile``, and with 0.5 it is half of the mean distance.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions.
    quantile : float, default=0.5
        The quantile that is predicted.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from marginwood.metrics import interval_pinball_loss
    >>> interval_pinball_loss([(1, 2), (8, float("inf"))], [4.0, 5.0], quantile=0.75)
    1.375
    """
    intervals, prediction, weight = _check_arguments(y_true, y_pred, sample_weight)
    return mean_hinge_loss(intervals, prediction, weight, "linear_hinge", quantile=quantile) / 2


def interval_hinge_loss(
    y_true: Any,
    y_pred: Any,
    *,
    loss: Loss = "squared_hinge",
    margin: float = 0.0,
    quantile: float = 0.5,
    sample_weight: Any = None,
) -> float:
    """Mean hinge loss of the predictions: what the trees minimise.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        Whether a hinge grows with the distance to its breakpoint or with the distance squared.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.
    quantile : float, default=0.5
        Which quantile the linear hinge is to estimate: a prediction below its range costs
        ``2 * quantile`` times the distance, one above ``2 * (1 - quantile)`` times. 0.5 is the
        median.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from marginwood.metrics import interval_hinge_loss
    >>> interval_hinge_loss([(1, 3), (2, 6)], [2.5, 4.0], loss="linear_hinge", margin=1.0)
    0.25
    """
    intervals, prediction, weight = _check_arguments(y_true, y_pred, sample_weight)
    return mean_hinge_loss(intervals, prediction, weight, loss, margin, quantile)


def mean_hinge_loss(
    intervals: FloatArray,
    prediction: FloatArray,
    weight: FloatArray | None,
    loss: Loss,
    margin: float = 0.0,
    quantile: float = 0.5,
) -> float:
    """The same of checked arguments."""
    losses = hinge_loss(intervals, prediction, loss=loss, margin=margin, quantile=quantile)
    mean = float(np.average(losses, weights=weight))
    if loss == "squared_hinge" and mean < SMALLEST_NORMAL:
        distance = hinge_loss(intervals, prediction, loss="linear_hinge", margin=margin)
        if np.average(distance, weights=weight) > 0:
            refuse_vanishing_squares(intervals, weight, margin)
    return mean


def interval_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the predictions that lie in their interval or on one of its ends, whichever of them belong to it.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        1 is best. An un-censored row counts only if its prediction is exact.

    Examples
    --------
    >>> from marginwood.metrics import interval_accuracy
    >>> interval_accuracy([(1, 2), (3, float("inf"))], [4.0, 5.0])
    0.5
    """
    intervals, prediction, weight = _check_arguments(y_true, y_pred, sample_weight)
    lower, upper = intervals.T
    # An upper end that does not belong to its interval is the number right below.
    inside = (lower <= prediction) & (prediction <= np.where(lower < upper, above(upper), upper))
    return float(np.average(inside, weights=weight))


def interval_d2_score(
    y_true: Any, y_pred: Any, *, quantile: float | None = None, sample_weight: Any = None
) -> float:
    """Share of the best constant's squared error that the predictions save.

    ``1 - interval_mse(predictions) / interval_mse(best constant)``, where the constant is the
    best one for `y_true` itself. For un-censored targets this is R2. Of predicted quantiles it is
    the share of the best constant's pinball loss.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions.
    quantile : float, default=None
        The quantile that is predicted; None for squared errors.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        1 is best, 0 is as good as the best constant, and worse is negative. Predictions without
        any error score 1, also where a constant has none either or no row is informative. If
        a constant has no error but the predictions have, the score is 0.

    Examples
    --------
    >>> from marginwood.metrics import interval_d2_score
    >>> interval_d2_score([(0, 1), (3, float("inf"))], [1.0, 2.0])
    0.5
    """
    intervals, prediction, weight = _check_arguments(y_true, y_pred, sample_weight)
    is_outside = _lie_outside(intervals, prediction)
    # The score has no unit, so limits are brought near 1, where their squares neither vanish nor
    # overflow; a prediction that is 2^500 times as large stays below 2^501, whose square is finite,
    # too.
    exponent = max(_exponent(intervals[np.isfinite(intervals)]), _exponent(prediction) - 500)
    scaled = np.ldexp(intervals, -exponent)
    rules: dict[str, Any] = {}
    if quantile is not None:
        rules = {"loss": "linear_hinge", "quantile": quantile}
    losses = hinge_loss(scaled, np.ldexp(prediction, -exponent), **rules)
    error = np.average(losses * is_outside, weights=weight)
    if error == 0:
        return 1.0
    best = optimal_constant(scaled, **rules, sample_weight=weight)
    is_missed = _lie_outside(intervals, np.full(len(intervals), np.ldexp(best.value, exponent)))
    total_weight = len(intervals) if weight is None else weight.sum()
    counted = is_missed if weight is None else is_missed & (weight > 0)
    if not counted.any():
        return 0.0
    with np.errstate(over="ignore", divide="ignore"):
        return float(1 - np.float64(error) / (best.cost / total_weight))


def _exponent(values: FloatArray) -> int:
    """The power of 2 that is above the largest of these sizes."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def _lie_outside(intervals: FloatArray, prediction: FloatArray) -> BoolArray:
    """Which predictions lie outside of their intervals by more than the side of an end, and rounding, can explain."""
    distance = hinge_loss(intervals, prediction, loss="linear_hinge")
    return gaps(prediction, prediction + distance) > 0


def _check_arguments(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return checked intervals, predictions and weights, one of each per row."""
    intervals = check_intervals(y_true, name="y_true")
    prediction = as_numbers(y_pred, "y_pred")
    n_samples = len(intervals)
    if prediction.shape != (n_samples,):
        raise ValueError(
            f"y_pred: expected shape ({n_samples},), one prediction per row of y_true; got shape {prediction.shape}."
        )
    raise_first(~np.isfinite(prediction), "y_pred: NaN or infinite", y_pred=prediction)
    return intervals, prediction, check_sample_weight(sample_weight, n_samples)
