"""From arrays to a grown tree: the door of the core.

Targets are counted from one of their own limits and scaled by a power of two, so that shifted, huge or
subnormal targets meet the same arithmetic; both are exact. The table of a grown tree is in the units of the
targets again.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.grow import Options, Problem, grow, make_scratch
from marginwood._core.hinge import LINEAR, LOWER, SQUARED, UPPER
from marginwood._core.nodes import NODE_DTYPE
from marginwood._core.order import merge_limits, sort_limits

LOSS_CODES = {"linear_hinge": LINEAR, "squared_hinge": SQUARED}
MAX_SAMPLES = 2**30 - 1  # a limit is 2 * sample + kind, in 32 bits


class Limits(NamedTuple):
    """The limits of a target at one margin, in order; `origin`, `margin` and `breakpoints` are scaled."""

    in_order: np.ndarray
    breakpoints: np.ndarray
    origin: float
    margin: float
    exponent: int


class Target:
    """Interval targets, sorted once for all margins.

    Raising the margin moves all lower limits and all upper limits alike, so each of the two lists stays
    sorted, and so do the un-censored rows, which have no margin: the order at any margin is a merge.
    """

    def __init__(self, intervals):
        n_samples = len(intervals)
        values = np.ascontiguousarray(intervals).reshape(-1)
        rows = np.arange(n_samples, dtype=np.int32)
        exact = intervals[:, LOWER] == intervals[:, UPPER]
        lower, upper = np.isfinite(intervals[:, LOWER]), np.isfinite(intervals[:, UPPER])
        self.exact = exact
        self._lower = sort_limits(2 * rows[lower & ~exact] + np.int32(LOWER), values)
        self._upper = sort_limits(2 * rows[upper & ~exact] + np.int32(UPPER), values)
        exact_lower = sort_limits(2 * rows[exact] + np.int32(LOWER), values)
        self._exact = np.column_stack([exact_lower, exact_lower + np.int32(UPPER)]).reshape(-1)
        self.origin = 0.0
        for limits in (self._lower, self._upper, self._exact):
            if len(limits) > 0:
                self.origin = values[limits[len(limits) // 2]]
        self._offsets = intervals - self.origin
        self._reach = np.abs(self._offsets, where=np.isfinite(intervals), out=np.zeros_like(intervals)).max()

    def at(self, margin):
        """The limits at a margin."""
        reach = max(self._reach, margin)
        exponent = int(np.frexp(reach)[1]) if reach > 0 else 0
        margin = float(np.ldexp(margin, -exponent))
        breakpoints = np.ldexp(self._offsets, -exponent)
        breakpoints[:, LOWER] += np.where(self.exact, 0.0, margin)
        breakpoints[:, UPPER] -= np.where(self.exact, 0.0, margin)
        breakpoints = breakpoints.reshape(-1)
        in_order = merge_limits(self._lower, self._upper, breakpoints)
        if len(self._exact):
            in_order = merge_limits(self._exact, in_order, breakpoints)
        origin = float(np.ldexp(self.origin, -exponent))
        return Limits(in_order, breakpoints, origin, margin, exponent)


def scaled(weights):
    """Weights divided by a power of two so that the largest is near 1, and its exponent."""
    exponent = int(np.frexp(weights.max())[1]) - 1
    return np.ldexp(weights, -exponent), exponent


def grow_tree(X, orders, limits, weights, loss, options: Options, seed):
    """Grow a tree; `orders` and ``limits.in_order`` are used up. Returns the node table."""
    weights, weight_exponent = scaled(weights)
    power = 2 if LOSS_CODES[loss] == SQUARED else 1
    cost_exponent = weight_exponent + power * limits.exponent
    problem = Problem(
        X, orders, limits.in_order, limits.breakpoints, weights, LOSS_CODES[loss], limits.origin, limits.margin
    )
    max_leaves = len(X) // options.min_samples_leaf + 1
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
