"""From arrays to a grown tree: the door of the core.

Targets are counted from one of their own limits and scaled by a power of two, so that shifted, huge or
subnormal targets meet the same arithmetic; both are exact. The table of a grown tree is in the units of the
targets again.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.grow import Options, Problem, grow, make_scratch
from marginwood._core.hinge import LINEAR, SQUARED
from marginwood._core.nodes import NODE_DTYPE
from marginwood._core.order import keep_limits, keep_orders, merge_limits, sort_limits

LOSS_CODES = {"linear_hinge": LINEAR, "squared_hinge": SQUARED}
MAX_SAMPLES = 2**30 - 1  # a limit is 2 * sample + kind, in 32 bits


class Limits(NamedTuple):
    """The limits of a target at one margin by breakpoint; breakpoints, `origin` and `margin` are scaled."""

    in_order: np.ndarray
    breakpoints: np.ndarray
    origin: float
    margin: float
    exponent: int


class Target:
    """Interval targets, sorted once for all margins.

    Raising the margin moves all lower limits and all upper limits alike, so each of the two lists stays
    sorted, and so do the un-censored rows, which have no margin: the order at any margin is a merge. Those are the
    rows of `is_exact`, by default those whose ends are equal.
    """

    def __init__(self, intervals, is_exact=None):
        is_exact = intervals[:, 0] == intervals[:, 1] if is_exact is None else is_exact
        self._lower, self._upper, self._exact = lists = sort_limits(intervals, is_exact)
        self.origin, self._reach, self._farthest = _centre(*(values for _, values in lists))

    def at(self, margin):
        """The limits at a margin."""
        reach = max(self._reach, margin)
        exponent = int(np.frexp(reach)[1]) if reach > 0 else 0
        exponent = max(exponent, int(np.frexp(self._farthest)[1]) - 1000)
        margin = float(np.ldexp(margin, -exponent))

        def moved(limits, values, shift):
            values = times_power_of_two(values - self.origin, -exponent)
            values += shift
            return limits, values

        in_order, breakpoints = merge_limits(*moved(*self._lower, margin), *moved(*self._upper, -margin))
        if len(self._exact[0]):
            in_order, breakpoints = merge_limits(*moved(*self._exact, 0.0), in_order, breakpoints)
        origin = float(np.ldexp(self.origin, -exponent))
        return Limits(in_order, breakpoints, origin, margin, exponent)


def _centre(*lists):
    """A limit amid those that matter; the distances from it to the farthest of these, and to the farthest of all.

    Those from the first upper to the last lower limit matter, in either order; of lower limits alone only the last, of
    upper limits alone only the first.
    """
    lower, upper, exact = lists
    starts = [values[0] for values in (upper, exact) if values.size]
    stops = [values[-1] for values in (lower, exact) if values.size]
    low, high = sorted((min(starts or stops, default=0.0), max(stops or starts, default=0.0)))
    lists = [values for values in lists if values.size]
    inside = [values[values.searchsorted(low) : values.searchsorted(high, "right")] for values in lists]
    longest = max(inside, key=len, default=np.zeros(1))
    origin = longest[len(longest) // 2]
    farthest = max((abs(values[end] - origin) for values in lists for end in (0, -1)), default=0.0)
    return origin, max(origin - low, high - origin), farthest


def times_power_of_two(values, exponent):
    """``np.ldexp`` in place, ten times faster where a product does it."""
    if abs(exponent) >= 1000:
        return np.ldexp(values, exponent, out=values)
    values *= 2.0**exponent
    return values


def scaled(weights):
    """Weights divided by a power of two so that the largest is near 1, and its exponent."""
    exponent = int(np.frexp(weights.max())[1]) - 1
    return times_power_of_two(weights.copy(), -exponent), exponent


def subsample(orders, limits, weights):
    """Orders and limits of the samples of positive weight; the arguments stay as they are."""
    n_kept = np.count_nonzero(weights)
    kept_orders = np.empty((len(orders), n_kept), dtype=np.int32)
    keep_orders(orders, weights, kept_orders)
    kept, breakpoints = np.empty_like(limits.in_order), np.empty_like(limits.breakpoints)
    n_limits = keep_limits(limits.in_order, limits.breakpoints, weights, kept, breakpoints)
    return kept_orders, limits._replace(in_order=kept[:n_limits], breakpoints=breakpoints[:n_limits])


def grow_tree(X, orders, limits, weights, loss, options: Options, seed):
    """Grow a tree from the rows that `orders` hold; `orders` and `limits` are used up. Returns the node table."""
    weights, weight_exponent = scaled(weights)
    power = 2 if LOSS_CODES[loss] == SQUARED else 1
    cost_exponent = weight_exponent + power * limits.exponent
    problem = Problem(
        X, orders, limits.in_order, limits.breakpoints, weights, LOSS_CODES[loss], limits.origin, limits.margin
    )
    max_leaves = orders.shape[1] // options.min_samples_leaf + 1
    if options.max_leaf_nodes > 0:
        max_leaves = min(max_leaves, options.max_leaf_nodes)
    if options.max_depth < 31:
        max_leaves = min(max_leaves, 2**options.max_depth)
    scratch = make_scratch(weights, X.shape[1], len(limits.in_order), max_leaves, seed)
    options = options._replace(min_decrease=float(np.ldexp(options.min_decrease, -cost_exponent)))
    nodes = np.empty(2 * max_leaves, dtype=NODE_DTYPE)
    nodes = nodes[: grow(problem, options, scratch, nodes)].copy()
    nodes["impurity"] = np.ldexp(nodes["impurity"], cost_exponent)
    nodes["weighted_n_node_samples"] = np.ldexp(nodes["weighted_n_node_samples"], weight_exponent)
    for field in ("value", "value_low", "value_high"):
        nodes[field] = np.ldexp(nodes[field] + limits.origin, limits.exponent)
    return nodes
