"""The paper's solver as a function: the cheapest constant prediction for every prefix of the intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._core import prefixes
from marginwood._core.problem import (
    LOSS_CODES,
    POWERS,
    Target,
    in_units,
    scaled,
    times_power_of_two,
)
from marginwood._core.rankset import FIRST, N_SENTINELS, make_rank_set
from marginwood._core.samples import centre_of
from marginwood.intervals import FloatArray, IntArray, check_intervals, check_sample_weight
from marginwood.losses import Loss, check_loss

__all__ = ["OptimalCosts", "optimal_costs"]


class OptimalCosts(NamedTuple):
    """Cost, minimiser and pointer moves, one entry per prefix."""

    costs: FloatArray
    values: FloatArray
    moves: IntArray


def optimal_costs(
    lower: Any,
    upper: Any,
    *,
    margin: float = 0.0,
    loss: Loss = "linear_hinge",
    quantile: float = 0.5,
    sample_weight: Any = None,
) -> OptimalCosts:
    """Minimise the cost of a constant prediction for every prefix of a list of intervals.

    Entry ``i`` of the result belongs to the first ``i + 1`` intervals. All of them together take
    O(n log n) time for either loss, whatever the order of the intervals.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        Ends of the intervals; they may be infinite.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.
    loss : {"linear_hinge", "squared_hinge"}, default="linear_hinge"
        The price of a prediction outside that range: its distance, or its squared distance.
    quantile : float, default=0.5
        Which quantile the linear hinge is to estimate: a prediction below its range costs
        ``2 * quantile`` times the distance, one above ``2 * (1 - quantile)`` times. 0.5 is the
        median.
    sample_weight : array-like of shape (n,), default=None
        Weights; all 1 if not given. Intervals of weight 0 count as absent.

    Returns
    -------
    OptimalCosts
        Named tuple ``(costs, values, moves)`` of arrays of shape (n,). A value is the middle of the
        set of minimisers, or its finite end, and NaN where no interval of the prefix has a finite
        end. `moves` counts the breakpoints that the minimum stepped over when the interval was
        added; for the linear hinge with equal weights and prices it is at most one per limit, the paper's
        Theorem 2.

    Notes
    -----
    A cost is right to 1e-9 of itself whatever targets and weights span, and 0 where one value
    satisfies all intervals. Intervals lighter than 1e-300 of the heaviest count as absent. The cost
    at a value is the least, to rounding. Where that leaves a choice, as between two equally heavy
    intervals for the linear hinge, the value may be any of the tie as soon as all that would decide
    weighs less than 1e-26 of the rest.

    Examples
    --------
    >>> from marginwood import optimal_costs
    >>> lower, upper = [0, 2, 5], [1, 3, 6]
    >>> result = optimal_costs(lower, upper)
    >>> result.costs.tolist()
    [0.0, 1.0, 4.0]
    >>> result.values.tolist()
    [0.5, 1.5, 2.5]
    """
    check_loss(loss, margin, quantile)
    lower, upper = np.asarray(lower), np.asarray(upper)
    if lower.ndim != 1 or lower.shape != upper.shape:
        raise ValueError(
            f"lower and upper: expected 1-D arrays of one length, got shapes {lower.shape} and {upper.shape}."
        )
    intervals = check_intervals(np.column_stack([lower, upper]), name="(lower, upper)")
    weights = check_sample_weight(sample_weight, len(intervals))
    weights = np.ones(len(intervals)) if weights is None else weights
    if not weights.all():
        intervals[weights == 0] = -np.inf, np.inf
    weights, weight_unit = scaled(weights)

    limits = Target(intervals).at(float(margin), quantile)
    prices = limits.prices[:2]
    n_samples = len(intervals)
    n_limits = len(limits.in_order)
    ranks_of = np.empty((n_samples, 2), dtype=np.int32)  # on huge pages, which np.zeros are not
    ranks_of[:] = 0
    points = np.empty((n_limits + N_SENTINELS, 2))
    ranks = make_rank_set(n_limits)
    code = LOSS_CODES[loss]
    centre = centre_of(limits.in_order, limits.breakpoints)
    of_limits = limits.in_order, limits.breakpoints, centre, weights
    prefixes.rank_all(*of_limits, ranks_of, points, code, prices)

    found = prefixes.Results(
        np.empty(n_samples), np.empty(n_samples), np.empty(n_samples, dtype=np.int64)
    )
    is_plain = sample_weight is None and limits.prices.lower.is_integer()
    exact = is_plain or prefixes.adds_exactly(np.multiply.outer(prices, weights))
    of_rows = ranks_of, points, limits.breakpoints, weights
    if not prefixes.solve_by_walking(*of_rows, exact, ranks, code, prices, centre, found):
        points[FIRST : FIRST + n_limits, 0] = limits.breakpoints
        prefixes.solve_by_descent(ranks_of, points, weights, ranks, code, prices, found)
    units = weight_unit, limits.prices.unit, limits.exponent, POWERS[loss]
    costs = in_units(found.costs, *units)
    return OptimalCosts(costs, times_power_of_two(found.values, limits.exponent), found.moves)
