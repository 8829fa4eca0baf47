r"""The two losses, as readable NumPy, and the best constant for them.

A *breakpoint* is where the hinge of one limit starts: ``lower + margin`` or ``upper - margin``. A
prediction below the breakpoint of a lower limit, or above that of an upper limit, pays a *hinge*:
the distance to it (``"linear_hinge"``) or the squared distance (``"squared_hinge"``).

The paper's symbols and the words used here:

- :math:`\underline{y}_i` and :math:`\overline{y}_i` are ``lower`` and ``upper``, the ends of an
  interval; where the paper treats both alike, :math:`s_i` is -1 for a lower limit, 1 for an upper.
- :math:`\epsilon` is ``margin``, and :math:`y_i - s_i \epsilon` a ``breakpoint``.
- :math:`\ell` is ``loss``, and :math:`\phi_\ell` the hinge that it makes.
- :math:`\mu` is a constant prediction, ``value`` where it is optimal, and :math:`C_\tau(\mu)` its
  ``cost``: the sum of the hinges of the samples in a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from marginwood._ends import gaps
from marginwood._support.checks import check_choice, check_number
from marginwood.intervals import LARGEST_LIMIT, FloatArray, check_intervals, check_sample_weight

if TYPE_CHECKING:
    from marginwood._core.problem import Limits

__all__ = ["LOSSES", "breakpoints", "hinge_loss", "optimal_constant", "quartile_distance"]

Loss: TypeAlias = Literal["linear_hinge", "squared_hinge"]

LOSSES: tuple[Loss, ...] = ("linear_hinge", "squared_hinge")

# Two numbers that are 0 or larger differ by more than 1e-147, which has a square.
TINY = 1e-130

# A leaf would need a million rows to know more extreme ones.
LEAST_QUANTILE = 1e-6


class OptimalConstant(NamedTuple):
    """The best constant prediction: `value` of [`low`, `high`], where the cost is least."""

    value: float
    low: float
    high: float
    cost: float


def check_loss(loss: Loss, margin: float, quantile: float = 0.5) -> None:
    """Raise unless `loss` is one of the two, `margin` finite and not negative, and the loss has the quantile."""
    check_choice("loss", loss, LOSSES)
    check_margin("margin", margin)
    check_quantile(quantile)
    if quantile != 0.5 and loss != "linear_hinge":
        raise ValueError(
            f'quantile: expected 0.5 with loss="{loss}", got {quantile!r}: squared distances of unequal price '
            'give an expectile, which is no quantile. Set loss="linear_hinge".'
        )


def check_quantile(quantile: Any) -> None:
    """Raise unless a quantile lies between 0 and 1, and not so near to one of them that rows of one kind vanish."""
    expected = f"a number from {LEAST_QUANTILE:g} to {1 - LEAST_QUANTILE:g}"
    check_number(
        "quantile", quantile, expected, lambda share: LEAST_QUANTILE <= share <= 1 - LEAST_QUANTILE
    )


def check_margin(name: str, margin: Any) -> None:
    """Raise unless an argument is a finite number that is not negative."""
    expected = f"a number >= 0 and <= {LARGEST_LIMIT:g}"
    check_number(name, margin, expected, lambda number: 0 <= number <= LARGEST_LIMIT)


def quartile_distance(intervals: FloatArray) -> float:
    """Return the distance between the quartiles of all finite limits: a unit for margins.

    Parameters
    ----------
    intervals : ndarray of shape (n, 2)
        Checked intervals, one limit of which is finite.

    Returns
    -------
    float
        The distance, 0 if half of the limits are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood.losses import quartile_distance
    >>> quartile_distance(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, np.inf]]))
    2.0
    """
    return float(gaps(*np.quantile(intervals[np.isfinite(intervals)], [0.25, 0.75])))


def breakpoints(intervals: FloatArray, margin: float = 0.0) -> FloatArray:
    """Return where the hinges of each interval start.

    Parameters
    ----------
    intervals : ndarray of shape (n, 2)
        Checked intervals.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.

    Returns
    -------
    ndarray of shape (n, 2)
        ``lower + margin`` and ``upper - margin``.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood.losses import breakpoints
    >>> breakpoints(np.array([[1.0, 4.0], [2.0, 2.0], [3.0, np.inf]]), margin=0.5)
    array([[1.5, 3.5],
           [2. , 2. ],
           [3.5, inf]])
    """
    if margin == 0:
        return intervals
    row_margin = np.where(intervals[:, 0] == intervals[:, 1], 0.0, float(margin))
    starts: FloatArray = intervals + np.column_stack([row_margin, -row_margin])
    return starts


def distances(
    intervals: FloatArray, prediction: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """How far each interval lies above a prediction, and how far below; 0 where it does not."""
    below = np.maximum(intervals[:, 0] - prediction, 0.0)
    above = np.maximum(prediction - intervals[:, 1], 0.0)
    return below, above


def hinge_loss(
    intervals: FloatArray,
    prediction: FloatArray | float,
    *,
    loss: Loss = "squared_hinge",
    margin: float = 0.0,
    quantile: float = 0.5,
) -> FloatArray:
    """Return the hinge loss of each row.

    Parameters
    ----------
    intervals : ndarray of shape (n, 2)
        Checked intervals.
    prediction : ndarray of shape (n,) or float
        Finite predictions, or one for all rows.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        Whether a hinge grows with the distance to its breakpoint or with the distance squared.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.
    quantile : float, default=0.5
        Which quantile the linear hinge is to estimate: a prediction below its range costs
        ``2 * quantile`` times the distance, one above ``2 * (1 - quantile)`` times. 0.5 is the
        median.

    Returns
    -------
    ndarray of shape (n,)
        The sum of both limits' hinges.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood.losses import hinge_loss
    >>> hinge_loss(np.array([[1.0, 4.0], [-np.inf, 2.0]]), 5.0)
    array([1., 9.])
    """
    check_loss(loss, margin, quantile)
    below, above = distances(breakpoints(intervals, margin), prediction)
    if loss == "linear_hinge":
        total = 2 * quantile * below + 2 * (1 - quantile) * above
    else:
        total = below**2 + above**2
    return np.asarray(total, np.float64)


def optimal_constant(
    intervals: Any,
    *,
    loss: Loss = "squared_hinge",
    margin: float = 0.0,
    quantile: float = 0.5,
    sample_weight: Any = None,
) -> OptimalConstant:
    """Find the constant prediction with the least total hinge loss, exactly.

    Parameters
    ----------
    intervals : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
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
        Weights of the rows; those below 1e-300 of the largest count as 0.

    Returns
    -------
    value : float
        The middle of the minimisers; their finite end if the other is infinite.
    low, high : float
        Every constant of [low, high] costs the least. `low` is -inf without lower limits, `high`
        is inf without upper limits.
    cost : float
        The least weighted sum of hinges; exactly 0 if one constant satisfies all rows.

    Raises
    ------
    ValueError
        If no row of positive weight has a finite limit.

    Examples
    --------
    >>> from marginwood.losses import optimal_constant
    >>> optimal_constant([(0.0, 2.0), (1.0, 4.0)])
    OptimalConstant(value=1.5, low=1.0, high=2.0, cost=0.0)
    >>> optimal_constant([1.0, 2.0, 6.0], loss="linear_hinge")
    OptimalConstant(value=2.0, low=2.0, high=2.0, cost=5.0)
    >>> optimal_constant(range(10), loss="linear_hinge", quantile=0.9).value
    8.5
    """
    from marginwood._core.problem import best_constant

    check_loss(loss, margin, quantile)
    intervals = check_intervals(intervals, name="intervals")
    weight = check_sample_weight(sample_weight, len(intervals))
    best = best_constant(*_sorted_limits(intervals, margin, weight, quantile), loss)
    return OptimalConstant(best.value, best.low, best.high, best.cost)


def refuse_vanishing_squares(
    intervals: FloatArray, weight: FloatArray | None, margin: float = 0.0
) -> None:
    """Raise if squared distances are below the smallest number, even those from the best constant.

    Squared errors are then 0, and tell no model from another. Rows and weights are checked already.
    """
    from marginwood._core.problem import check_squares

    sizes = np.abs(intervals)
    if 0 < margin < TINY or ((sizes > 0) & (sizes < TINY)).any():
        check_squares(*_sorted_limits(intervals, margin, weight))


def _sorted_limits(
    intervals: FloatArray, margin: float, weight: FloatArray | None, quantile: float = 0.5
) -> tuple[Limits, FloatArray]:
    """The limits of the informative rows, and the weights of these rows."""
    from marginwood._core.problem import Target

    weight = np.ones(len(intervals)) if weight is None else weight
    informative = (weight > 0) & np.isfinite(intervals).any(axis=1)
    if not informative.any():
        raise ValueError("intervals: no row of positive weight has a finite limit.")
    return Target(intervals[informative]).at(float(margin), quantile), weight[informative]
