"""How well predictions order rows, and how well one constant added to all of them can correct their errors.

Two rows can be *compared* if one interval ends before the other begins: then it is known which
value is less. An interval begins right after its lower end, so that ends may touch: a row whose
value is 3 lies before a row that is right-censored at 3, and (1, 3) before (3, 5). But (1, 3) holds
the value 3, and two equal values have no order.

The *residual limits* of a row are ``lower - prediction`` and ``upper - prediction``. With a
constant c added to its prediction, a row is a *false positive* if c is below the first and a *false
negative* if c is above the second. These are the words of changepoint detection, where the
prediction is a penalty: too low a penalty finds changes that are not there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._core.concordance import weigh_pairs
from marginwood._ends import half_open
from marginwood.intervals import FloatArray
from marginwood.metrics._points import _check_arguments

__all__ = [
    "interval_concordance_index",
    "target_interval_auc",
    "target_interval_aum",
    "target_interval_roc",
]


class TargetIntervalROC(NamedTuple):
    """The curve of :func:`target_interval_roc`: three arrays of one length."""

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray


class _ResidualLimits(NamedTuple):
    """Distinct residual limits in falling order, and the weight of lower and of upper ones at each."""

    values: FloatArray
    lower_weight: FloatArray
    upper_weight: FloatArray
    total_weight: float


def interval_concordance_index(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the pairs of rows that the predictions order as the intervals do.

    A pair counts if one interval ends before the other begins: (1, 3) before (3, 5), and a value of
    3 before what is right-censored at 3, but not (1, 3) before a value of 3, which it may be. A
    pair with equal predictions is one half right. For right-censored targets this is Harrell's
    concordance index, with predicted times in place of risks: a later row should have a greater
    prediction.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    y_pred : array-like of shape (n,)
        Predictions; only their order matters.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows. A pair weighs the product of its two.

    Returns
    -------
    float
        1 is best, 0.5 is what chance or a constant gets, 0 is the reversed order.

    Raises
    ------
    ValueError
        If no pair of rows of positive weight can be compared.

    Notes
    -----
    O(n log n) for n rows.

    Examples
    --------
    Row 0 ends before the others begin, and those overlap: two pairs count, of which the predictions
    order one.

    >>> from marginwood.metrics import interval_concordance_index
    >>> interval_concordance_index([(1, 2), (3, 5), (4, float("inf"))], [2.0, 1.0, 6.0])
    0.5
    """
    intervals, prediction, weight = _counted_rows(y_true, y_pred, sample_weight)
    lower, upper = half_open(intervals).T
    over = np.flatnonzero(np.isfinite(upper))
    started = np.flatnonzero(np.isfinite(lower))
    rows = np.concatenate([over, started])
    is_earlier = np.arange(len(rows)) < len(over)
    ends = np.concatenate([upper[over], lower[started]])
    # At one value rows are over before others begin.
    timeline = np.lexsort((~is_earlier, ends))
    values, ranks = np.unique(prediction, return_inverse=True)
    comparable, concordant, tied = weigh_pairs(
        rows[timeline], is_earlier[timeline], ranks, weight, np.zeros(len(values) + 1)
    )
    if comparable == 0:
        raise ValueError(
            "y_true: no two rows of positive weight can be compared, because no interval ends before another begins. "
            "The concordance index needs at least one such pair."
        )
    return float((concordant + tied / 2) / comparable)


def target_interval_roc(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None
) -> TargetIntervalROC:
    """Rates of false positives and true positives for every constant that can be added to the predictions.

    With the constant c, a row is a false positive if its prediction is too low, ``prediction + c <
    lower``, and a false negative if it is too high, ``prediction + c > upper``. The rates are
    shares of the rows with a lower limit, and of those with an upper limit. This is the ROC curve
    of changepoint detection, where the prediction is a logarithmic penalty.

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
    fpr : ndarray of shape (m,)
        Rates of false positives, from 0 to 1.
    tpr : ndarray of shape (m,)
        Rates of true positives, one minus that of false negatives, from 0 to 1.
    thresholds : ndarray of shape (m,)
        Falling constants, the first of which is inf. The rates at k hold for all constants between
        ``thresholds[k]`` and ``thresholds[k + 1]``.

    Raises
    ------
    ValueError
        If no row of positive weight has a lower limit, or none has an upper limit.

    Examples
    --------
    >>> from marginwood.metrics import target_interval_roc
    >>> fpr, tpr, thresholds = target_interval_roc([(1, 2), (4, float("inf"))], [0.0, 1.0])
    >>> thresholds
    array([inf,  3.,  2.,  1.])
    >>> fpr
    array([0. , 0.5, 0.5, 1. ])
    >>> tpr
    array([0., 0., 1., 1.])
    """
    limits = _two_sided_limits(y_true, y_pred, sample_weight)
    false_positive = np.cumsum(limits.lower_weight)
    true_positive = np.cumsum(limits.upper_weight)
    fpr = np.append(0.0, false_positive / false_positive[-1])
    tpr = np.append(0.0, true_positive / true_positive[-1])
    return TargetIntervalROC(fpr, tpr, np.append(np.inf, limits.values))


def target_interval_auc(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Area under the curve of :func:`target_interval_roc`.

    It is the probability that ``upper - prediction`` of a random row with an upper limit is greater
    than ``lower - prediction`` of a random row with a lower limit, and one half if they are equal.
    Adding a constant to all predictions makes no difference.

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
        1 is best: with some constant added, all predictions are inside their intervals, and not on
        an end. Un-censored rows have no inside: if all are predicted exactly, the area is one half.

    Raises
    ------
    ValueError
        If no row of positive weight has a lower limit, or none has an upper limit.

    Examples
    --------
    >>> from marginwood.metrics import target_interval_auc
    >>> target_interval_auc([(1, 2), (4, float("inf"))], [0.0, 1.0])
    0.5
    """
    limits = _two_sided_limits(y_true, y_pred, sample_weight)
    greater = np.cumsum(limits.upper_weight) - limits.upper_weight / 2
    return float(
        limits.lower_weight @ greater / limits.lower_weight.sum() / limits.upper_weight.sum()
    )


def target_interval_aum(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Area under the minimum of false positives and false negatives, over all constants added to the predictions.

    The integral of ``min(FP(c), FN(c))``, where FP and FN are the shares of the rows that are false
    positives and false negatives with the constant c, see :func:`target_interval_roc`. Times the
    number of rows, it is the AUM of `Hillman and Hocking (2023)
    <https://www.jmlr.org/papers/v24/21-0751.html>`_.

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
        0 is best: with some constant added, all predictions are in their intervals. It has the unit
        of the target.

    Examples
    --------
    Constants between 2 and 3 make row 0 a false negative and row 1 a false positive: each is half
    of the rows.

    >>> from marginwood.metrics import target_interval_aum
    >>> target_interval_aum([(1, 2), (4, float("inf"))], [0.0, 1.0])
    0.5
    """
    values, lower_weight, upper_weight, total_weight = _residual_limits(
        y_true, y_pred, sample_weight
    )
    false_positive = np.cumsum(lower_weight)[:-1]
    false_negative = np.cumsum(upper_weight[::-1])[::-1][1:]
    # Halves: the distance of two large numbers may overflow. The area cannot, because min(FP, FN)
    # is at most one half.
    half_width = values[:-1] / 2 - values[1:] / 2
    return float(2 * np.minimum(false_positive, false_negative) / total_weight @ half_width)


def _counted_rows(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return intervals, predictions and weights of the rows of positive weight; the heaviest weighs 1."""
    intervals, prediction, weight = _check_arguments(y_true, y_pred, sample_weight)
    if weight is None:
        return intervals, prediction, np.ones(len(intervals))
    counted = weight > 0
    return intervals[counted], prediction[counted], weight[counted] / weight.max()


def _residual_limits(y_true: Any, y_pred: Any, sample_weight: Any) -> _ResidualLimits:
    intervals, prediction, weight = _counted_rows(y_true, y_pred, sample_weight)
    row, side = np.nonzero(np.isfinite(intervals))
    residual = intervals[row, side] - prediction[row]
    rising, place = np.unique(residual, return_inverse=True)
    weights = np.zeros((2, len(rising)))
    np.add.at(weights, (side, place), weight[row])
    lower_weight, upper_weight = weights[:, ::-1]
    return _ResidualLimits(rising[::-1], lower_weight, upper_weight, float(weight.sum()))


def _two_sided_limits(y_true: Any, y_pred: Any, sample_weight: Any) -> _ResidualLimits:
    """Return the residual limits, or raise unless there are lower and upper ones."""
    limits = _residual_limits(y_true, y_pred, sample_weight)
    for side, weight in (("lower", limits.lower_weight), ("upper", limits.upper_weight)):
        if not weight.any():
            raise ValueError(
                f"y_true: no row of positive weight has a finite {side} limit. Rates need rows with a lower and "
                "rows with an upper limit."
            )
    return limits
