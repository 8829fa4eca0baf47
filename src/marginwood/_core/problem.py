"""From arrays to a grown tree: the door of the core.

Targets and weights are scaled by powers of two, which is exact: huge and subnormal ones meet the
same arithmetic. The table of a grown tree is in the units of the targets again.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from marginwood._core import parallel
from marginwood._core.categories import CATEGORIES, NUMBERS
from marginwood._core.grow import count_leaves, grow_on, make_scratch, make_shared, root_of
from marginwood._core.hinge import LINEAR, SQUARED
from marginwood._core.nodes import NODE_DTYPE
from marginwood._core.optimum import solve
from marginwood._core.order import keep_limits, keep_orders, merge_limits, sort_limits
from marginwood._core.rankset import N_SENTINELS, make_rank_set
from marginwood._core.search import Options, Problem
from marginwood._core.subsets import list_subsets

LOSS_CODES = {"linear_hinge": LINEAR, "squared_hinge": SQUARED}
POWERS = {"linear_hinge": 1, "squared_hinge": 2}  # of the target's unit in a cost
# Limits too far away to matter may be as large as this power of two: sums over a billion of them do
# not overflow.
LARGEST_EXPONENT = 900
SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)


# Quantiles that are shares of whole numbers up to this one are meant as these shares.
LARGEST_DENOMINATOR = 1000


class Prices(NamedTuple):
    """What lower and upper limits cost per unit of weight and distance, in multiples of `unit`."""

    lower: float
    upper: float
    unit: float


def prices_of(quantile):
    """The prices with which the linear hinge is least at a quantile: 2 q and 2 (1 - q).

    Those of 0.9 are 9 and 1, in units of 0.2. Sums of whole numbers do not round, so of ten rows
    any value from the ninth to the tenth is as good as the other.
    """
    share = Fraction(quantile).limit_denominator(LARGEST_DENOMINATOR)
    if float(share) != quantile:
        return Prices(2 * quantile, 2 * (1 - quantile), 1.0)
    above = share.denominator - share.numerator
    return Prices(float(share.numerator), float(above), 2 / share.denominator)


class Limits(NamedTuple):
    """The limits of a target at one margin by breakpoint; breakpoints and `margin` are scaled.

    `default` is what a tree predicts that is grown from rows without any limit, in the unit of the
    target.
    """

    in_order: np.ndarray
    breakpoints: np.ndarray
    margin: float
    exponent: int
    prices: Prices
    default: float = 0.0


class Target:
    """Interval targets, sorted once for all margins.

    Raising the margin moves all lower limits and all upper limits alike, so each of the two lists
    stays sorted, and so do the un-censored rows, which have no margin: the order at any margin is a
    merge. Those are the rows of `is_exact`, by default those whose ends are equal.
    """

    def __init__(self, intervals, is_exact=None, team=None):
        is_exact = intervals[:, 0] == intervals[:, 1] if is_exact is None else is_exact
        self._lower, self._upper, self._exact = lists = sort_limits(intervals, is_exact, team)
        self._reach, self._farthest = _reaches(*(values for _, values in lists))

    def at(self, margin, quantile=0.5):
        """The limits at a margin, with the prices of a quantile."""
        reach = max(self._reach, margin)
        exponent = int(np.frexp(reach)[1]) if reach > 0 else 0
        exponent = max(exponent, int(np.frexp(self._farthest)[1]) - LARGEST_EXPONENT)
        margin = float(np.ldexp(margin, -exponent))

        def moved(limits, values, shift):
            values = times_power_of_two(values.copy(), -exponent)
            values += shift
            return limits, values

        in_order, breakpoints = merge_limits(
            *moved(*self._lower, margin), *moved(*self._upper, -margin)
        )
        if len(self._exact[0]):
            in_order, breakpoints = merge_limits(*moved(*self._exact, 0.0), in_order, breakpoints)
        return Limits(in_order, breakpoints, margin, exponent, prices_of(quantile))


def _reaches(lower, upper, exact):
    """The largest absolute value among the limits that matter, and among all.

    Those from the first upper to the last lower limit matter, in either order; of lower limits
    alone only the last, of upper limits alone only the first.
    """
    starts = [values[0] for values in (upper, exact) if values.size]
    stops = [values[-1] for values in (lower, exact) if values.size]
    low, high = min(starts or stops, default=0.0), max(stops or starts, default=0.0)
    ends = [values[end] for values in (lower, upper, exact) if values.size for end in (0, -1)]
    return max(abs(low), abs(high)), max(map(abs, ends), default=0.0)


def times_power_of_two(values, exponent):
    """``np.ldexp`` in place, ten times faster where a product does it."""
    if abs(exponent) >= 1000:
        return np.ldexp(values, exponent, out=values)
    values *= 2.0**exponent
    return values


def scaled(weights):
    """Weights divided by a unit, and the unit: a power of two near the largest; their own size, if they are equal.

    Equal weights are then all 1, beside zeros, and their sums are exact.
    """
    largest = weights.max()
    if weights.min() == largest:
        return np.ones(len(weights)), float(largest)
    if ((weights == largest) | (weights == 0)).all():
        return (weights > 0).astype(np.float64), float(largest)
    exponent = int(np.frexp(largest)[1]) - 1
    return times_power_of_two(weights.copy(), -exponent), float(np.ldexp(1.0, exponent))


def in_units(costs, weight_unit, price_unit, exponent, power):
    """Costs in the units of weights, prices and targets, in place; raises if they are beyond the largest number."""
    mantissa, weight_exponent = np.frexp(weight_unit)
    mantissa *= price_unit
    exponent = int(weight_exponent) + power * exponent
    with np.errstate(over="ignore", under="ignore"):
        if abs(exponent) < 1000:
            costs *= np.ldexp(mantissa, exponent)  # ten times faster than np.ldexp of them all
        else:
            costs *= mantissa
            np.ldexp(costs, exponent, out=costs)
    if not np.isfinite(costs.max()):
        raise ValueError(
            "y: the cost is beyond the largest number, 1.8e308: limits lie so far apart, or weights are so large. "
            "Divide y or sample_weight by a constant."
        )
    return costs


def _solve(limits, weights, loss):
    """The optimum of all limits, in the units of the problem."""
    n_limits = len(limits.in_order)
    points = np.empty((n_limits + N_SENTINELS, 2))
    ranks = make_rank_set(n_limits)
    of_limits = limits.in_order, limits.breakpoints, weights
    return solve(*of_limits, points, ranks, LOSS_CODES[loss], limits.prices[:2])


def best_constant(limits, weights, loss):
    """The optimum of all limits, in the units of weights and targets; they must be of rows of positive weight."""
    weights, weight_unit = scaled(weights)
    best = _solve(limits, weights, loss)
    value, low, high = (
        float(np.ldexp(number, limits.exponent)) for number in (best.value, best.low, best.high)
    )
    units = weight_unit, limits.prices.unit, limits.exponent, POWERS[loss]
    cost = in_units(np.array([best.cost]), *units)[0]
    return best._replace(value=value, low=low, high=high, cost=float(cost))


def check_squares(limits, weights):
    """Raise if squared distances from the best constant vanish: a squared error would tell no model from another."""
    weights, _ = scaled(weights)
    refuse_vanishing(_solve(limits, weights, "squared_hinge").cost, limits.exponent)


def refuse_vanishing(cost, exponent):
    """Raise if a sum of squares in the units of the problem is positive, and below the least normal number in others.

    The unit of the weights does not count: it divides all costs alike.
    """
    if 0 < cost < np.ldexp(SMALLEST_NORMAL, -2 * exponent):
        raise ValueError(
            "y: squared distances between limits are below the smallest number. Multiply y by a constant."
        )


def subsample(orders, limits, weights, team=None):
    """Orders and limits of the samples of positive weight; the arguments stay as they are."""
    n_kept = np.count_nonzero(weights)
    kept_orders = np.empty((len(orders), n_kept), dtype=np.int32)

    def keep(features):
        for one in features:
            keep_orders(orders[one], weights, kept_orders[one])

    if team is None:
        keep([slice(None)])
    else:
        team.map(keep, [slice(feature, feature + 1) for feature in range(len(orders))])
    kept, breakpoints = np.empty_like(limits.in_order), np.empty_like(limits.breakpoints)
    n_limits = keep_limits(limits.in_order, limits.breakpoints, weights, kept, breakpoints)
    return kept_orders, limits._replace(
        in_order=kept[:n_limits], breakpoints=breakpoints[:n_limits]
    )


class Kinds(NamedTuple):
    """What is known of the features: how many categories each has, 0 for numbers, and its effect, 0 for any.

    `n_categories` is None where all features hold numbers.
    """

    n_categories: np.ndarray | None
    signs: np.ndarray


def plain(n_features):
    """The kinds of features that all hold numbers and may do anything."""
    return Kinds(None, np.zeros(n_features, dtype=np.int8))


def grow_tree(X, orders, limits, weights, loss, options: Options, seed, kinds: Kinds, team=None):
    """Grow a tree from the rows that `orders` hold; `orders` and `limits` are used up.

    Returns the node table, and the categories of its splits; None if there are none.
    """
    weights, weight_unit = scaled(weights)
    n_categories, signs = kinds
    has_categories = n_categories is not None and n_categories.any()
    n_categories = n_categories if has_categories else np.zeros(X.shape[1], dtype=np.int64)
    power = POWERS[loss]
    of_rows = X, orders, limits.in_order, limits.breakpoints, weights
    prices = limits.prices
    problem = Problem(*of_rows, n_categories, signs, None, limits.margin, prices[:2])
    mantissa, weight_exponent = np.frexp(weight_unit)
    mantissa *= prices.unit
    with np.errstate(over="ignore", under="ignore"):
        least = np.ldexp(
            options.min_decrease / mantissa, -int(weight_exponent) - power * limits.exponent
        )
    options = options._replace(min_decrease=float(least))
    start = problem, LOSS_CODES[loss], CATEGORIES if has_categories else NUMBERS, options
    nodes = _grow(start, root_of(problem, seed), team)
    if power == 2:
        refuse_vanishing(nodes["impurity"][0], limits.exponent)
    in_units(nodes["impurity"], weight_unit, prices.unit, limits.exponent, power)
    nodes["weighted_n_node_samples"] *= weight_unit
    for field in ("value", "value_low", "value_high"):
        nodes[field] = np.ldexp(nodes[field], limits.exponent)
    if not len(limits.in_order):
        nodes["value"] = limits.default
    return nodes, list_subsets(nodes, X, orders, n_categories) if has_categories else None


def _grow(start, root, team):
    """The node table in the units of the problem, by a team if there is one and it is worth its while."""
    problem, _, _, options = start
    shared = make_shared(problem.weights)
    if team is not None and problem.orders.size >= parallel.LEAST_CELLS:
        return parallel.Growth(team, start, shared).grow(root)
    max_leaves = count_leaves(options, root)
    n_features, n_samples = problem.orders.shape
    n_categories = int(problem.n_categories.max())
    scratch = make_scratch(
        shared, n_features, n_samples, len(problem.limits), max_leaves, n_categories
    )
    nodes = np.empty(2 * max_leaves, dtype=NODE_DTYPE)
    n_nodes, _ = grow_on((*start, scratch, nodes), root, 0, 0)
    return nodes[:n_nodes].copy()
