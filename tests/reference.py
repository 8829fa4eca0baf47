"""The slow, obvious oracle: each definition written out, in exact arithmetic.

Numbers are Python integers and fractions, so equality means equality. Nothing here is shared with
the package: a cost is a sum over limits, a minimum is the best of every point where it can lie, a
split is the best of all splits.
"""

from fractions import Fraction
from itertools import combinations, pairwise
from math import inf, isfinite, isnan
from typing import NamedTuple

import numpy as np

TOLERANCE = Fraction(1, 10**10)


class TooCloseToCall(Exception):
    """Rounding may decide this comparison either way, so neither answer is wrong."""


class Limit(NamedTuple):
    """One finite end of an interval: its hinge starts at `breakpoint`."""

    breakpoint: Fraction
    is_lower: bool
    weight: Fraction


class Minimum(NamedTuple):
    """The least cost of a set of limits, and the ends of the set of values that reach it."""

    cost: Fraction
    low: Fraction | float
    high: Fraction | float

    @property
    def value(self):
        """The middle of the set; its finite end if only one is finite; NaN without limits."""
        if self.low == -inf and self.high == inf:
            return float("nan")
        if self.low == -inf:
            return self.high
        if self.high == inf:
            return self.low
        return Fraction(self.low + self.high) / 2


def exact(number):
    """The number as an integer where possible (fast), else as a fraction; infinities stay floats."""
    number = float(number)
    if not isfinite(number):
        return number
    return int(number) if number.is_integer() else Fraction(number)


def limits_of(lower, upper, margin=0.0, weight=1.0, quantile=0.5):
    """The limits of one interval; the margin counts as 0 for an un-censored one.

    A quantile is meant as the decimal that it is written as.
    """
    margin = 0 if lower == upper else exact(margin)
    share = Fraction(str(quantile))
    limits = []
    if isfinite(lower):
        limits.append(Limit(exact(lower) + margin, True, 2 * share * exact(weight)))
    if isfinite(upper):
        limits.append(Limit(exact(upper) - margin, False, 2 * (1 - share) * exact(weight)))
    return limits


def cost_at(value, limits, loss):
    """The cost of predicting `value`."""
    power = {"linear_hinge": 1, "squared_hinge": 2}[loss]
    cost = 0
    for limit in limits:
        distance = limit.breakpoint - value if limit.is_lower else value - limit.breakpoint
        if distance > 0:
            cost += limit.weight * distance**power
    return cost


def minimum(limits, loss):
    """The minimum over every breakpoint and every piece's own minimum."""
    limits = [limit for limit in limits if limit.weight > 0]
    low = max((limit.breakpoint for limit in limits if limit.is_lower), default=-inf)
    high = min((limit.breakpoint for limit in limits if not limit.is_lower), default=inf)
    if low <= high:
        return Minimum(0, low, high)
    points = sorted({limit.breakpoint for limit in limits})
    candidates = list(points)
    if loss == "squared_hinge":
        for left, right in pairwise(points):
            active = [
                k for k in limits if (k.breakpoint >= right if k.is_lower else k.breakpoint <= left)
            ]
            if active:
                vertex = Fraction(
                    sum(k.weight * k.breakpoint for k in active), sum(k.weight for k in active)
                )
                if left < vertex < right:
                    candidates.append(vertex)
    costs = {value: cost_at(value, limits, loss) for value in candidates}
    best = min(costs.values())
    minimisers = [value for value, cost in costs.items() if cost == best]
    return Minimum(best, min(minimisers), max(minimisers))


def prefix_minima(lower, upper, margin=0.0, loss="linear_hinge", sample_weight=None, quantile=0.5):
    """The minimum of the first interval, of the first two, ... of all."""
    weights = np.ones(len(lower)) if sample_weight is None else sample_weight
    limits, minima = [], []
    for ends_and_weight in zip(lower, upper, weights, strict=True):
        limits += limits_of(*ends_and_weight[:2], margin, ends_and_weight[2], quantile)
        minima.append(minimum(limits, loss))
    return minima


class Split(NamedTuple):
    """A rule on one feature; NaN goes left if `missing_left`, which is None where the node has no NaN."""

    feature: int
    threshold: float
    missing_left: bool | None
    goes_left: np.ndarray
    decrease: Fraction


class Node:
    """A node of the literal tree: its rows, its minimum, and, once split, its rule and its two children."""

    def __init__(self, rows, depth, minimum):
        self.rows = rows
        self.depth = depth
        self.minimum = minimum
        self.split = None
        self.left = self.right = None

    @property
    def nodes(self):
        """This node and all below it, parents before children, left before right."""
        return [self] if self.split is None else [self, *self.left.nodes, *self.right.nodes]


def is_greater(number, other, tolerance):
    """Whether `number > other + tolerance`, where that is safe to say."""
    difference = number - other
    if difference <= tolerance / 100:
        return False
    if difference >= tolerance * 100:
        return True
    raise TooCloseToCall


def threshold_between(left, right):
    """The midpoint, or `left` where the midpoint does not separate the two."""
    with np.errstate(invalid="ignore"):
        middle = np.float64(left) / 2 + np.float64(right) / 2
    return float(middle) if left <= middle < right else float(left)


def rules(column):
    """Every way to split a column: at each boundary with NaN right, the last one apart from NaN; then with NaN left."""
    is_missing = np.isnan(column)
    has_missing = bool(is_missing.any())
    values = sorted(set(column[~is_missing].tolist()))
    thresholds = [threshold_between(left, right) for left, right in pairwise(values)]
    for missing_left in (False, True) if has_missing else (None,):
        for threshold in thresholds:
            yield threshold, missing_left, (column <= threshold) | (is_missing & bool(missing_left))
        if values and missing_left is False:
            yield inf, False, ~is_missing


def subsets(column):
    """Every way to split a column of categories, in which NaN counts as one more: the rows that go left."""
    groups = [column == code for code in sorted(set(column[~np.isnan(column)].tolist()))]
    if np.isnan(column).any():
        groups.append(np.isnan(column))
    for size in range(1, len(groups)):
        for chosen in combinations(
            groups[:-1], size
        ):  # the last group goes right: the mirror image is the same split
            yield np.any(chosen, axis=0)


def least_cost_of_subsets(column, limits, loss):
    """The least cost of a split of categories; infinite if there is none."""
    costs = [inf]
    for goes_left in subsets(column):
        sides = [
            [limit for row in np.flatnonzero(side) for limit in limits[row]]
            for side in (goes_left, ~goes_left)
        ]
        costs.append(sum(minimum(side, loss).cost for side in sides))
    return min(costs)


def best_split(columns, limits, loss, parent, min_samples_leaf=1):
    """The split with the least cost, the first one of those that tie; None if none lowers the cost of `parent`."""
    best = None
    tolerance = TOLERANCE * parent.cost
    for feature, column in enumerate(columns):
        for threshold, missing_left, goes_left in rules(column):
            if min(goes_left.sum(), (~goes_left).sum()) < min_samples_leaf:
                continue
            sides = [
                [limit for row in np.flatnonzero(side) for limit in limits[row]]
                for side in (goes_left, ~goes_left)
            ]
            decrease = parent.cost - sum(minimum(side, loss).cost for side in sides)
            if is_greater(decrease, best.decrease if best else 0, tolerance):
                best = Split(feature, threshold, missing_left, goes_left, decrease)
    return best


def grow(
    X,
    y,
    sample_weight=None,
    *,
    loss="squared_hinge",
    margin=0.0,
    quantile=0.5,
    max_depth=None,
    min_samples_split=2,
    min_samples_leaf=1,
    max_leaf_nodes=None,
    min_impurity_decrease=0.0,
):
    """Grow a tree by always splitting the leaf with the largest decrease, the oldest of those that tie."""
    X = np.asarray(X, dtype=float)
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    limits = [
        limits_of(low, high, margin, weight, quantile)
        for (low, high), weight in zip(y, weights, strict=True)
    ]
    total_weight = sum(exact(weight) for weight in weights)

    def new_node(rows, depth):
        return Node(rows, depth, minimum([limit for row in rows for limit in limits[row]], loss))

    def split_of(node):
        if node.depth == max_depth or len(node.rows) < min_samples_split:
            return None
        split = best_split(
            X[node.rows].T, [limits[row] for row in node.rows], loss, node.minimum, min_samples_leaf
        )
        if split is None or min_impurity_decrease == 0:
            return split
        excess = split.decrease - exact(min_impurity_decrease) * total_weight
        if abs(excess) < TOLERANCE * split.decrease:
            raise TooCloseToCall
        return split if excess > 0 else None

    root = new_node(np.flatnonzero(weights > 0), 0)
    frontier = [(root, split_of(root))]
    n_leaves = 1
    while n_leaves != max_leaf_nodes:
        open_leaves = [(node, split) for node, split in frontier if split is not None]
        if not open_leaves:
            break
        node, split = max(open_leaves, key=lambda leaf: leaf[1].decrease)
        node.split = split
        node.left = new_node(node.rows[split.goes_left], node.depth + 1)
        node.right = new_node(node.rows[~split.goes_left], node.depth + 1)
        frontier = [leaf for leaf in frontier if leaf[0] is not node]
        frontier += [(child, split_of(child)) for child in (node.left, node.right)]
        n_leaves += 1
    return root


def predict_row(root, x):
    """Walk one row down a literal tree; a NaN where training saw none is not defined here."""
    node = root
    while node.split is not None:
        value = x[node.split.feature]
        goes_left = node.split.missing_left if isnan(value) else value <= node.split.threshold
        assert goes_left is not None
        node = node.left if goes_left else node.right
    return node


class Place(NamedTuple):
    """A number (side 0), or what is right below it (-1) or above it (1), where an open end leaves its interval."""

    number: float
    side: int


def places_of(lower, upper, closed):
    """The first and the last place of an interval whose ends belong to it as pandas says; equal ends are a value.

    Infinity is no value: as an end it belongs to no interval.
    """
    if lower == upper:
        return Place(lower, 0), Place(upper, 0)
    has_first = closed in ("left", "both") and isfinite(lower)
    has_last = closed in ("right", "both") and isfinite(upper)
    return Place(lower, 0 if has_first else 1), Place(upper, 0 if has_last else -1)


def cells_of(rows):
    """Turnbull's innermost intervals of pairs of places, ascending, and the cells that each row holds.

    A first place and a last place that is not before it, between which no other row begins or ends.
    """
    firsts = sorted({first for first, _ in rows})
    lasts = sorted({last for _, last in rows})
    cells = [
        (first, last)
        for first in firsts
        for last in lasts
        if first <= last
        and not any(first < other <= last for other in firsts)
        and not any(first <= other < last for other in lasts)
    ]
    held = [[first <= begin and end <= last for begin, end in cells] for first, last in rows]
    return cells, np.array(held)
