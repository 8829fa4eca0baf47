"""The best split of a node: open it, then price the splits of its features.

A node is a stretch of rows in every feature's order and a stretch of the limits.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import hinge, rankset
from marginwood._core.categories import CATEGORIES, search_groups
from marginwood._core.frontier import Frontier
from marginwood._core.groups import GroupRoom, choose_values
from marginwood._core.hinge import SQUARED, Loss, Minimum
from marginwood._core.jit import Constant, folded, inner
from marginwood._core.nodes import NO_FEATURE
from marginwood._core.optimum import Optimum
from marginwood._core.order import SAMPLE_MASK
from marginwood._core.samples import contested, minimise, rank_limits, start_from
from marginwood._core.screen import Screen, fill, screen
from marginwood._core.split import (
    DESCENDING,
    WALKING,
    Effect,
    Split,
    make_path,
    sweep,
    sweep_by_descent,
)

# A split must lower the cost by this share of the node's cost, ...
COST_TOLERANCE = 1e-10
# ... by more than the rounding of a sweep's running sums, ...
SUM_TOLERANCE = 1e-14
# ... and by more than this many units in the last place of its targets can cause.
ULPS = 4.0
EPSILON = 2.0**-52
# Where the rounding of running sums may be a larger share of the node's cost, splits are priced by
# descent.
PRICE_TOLERANCE = 1e-9

NOT_PRICED = -3  # instead of the feature of a split

ONE = np.uint64(1)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
MULTIPLIER = np.uint64(0x9E3779B1)


class Problem(NamedTuple):
    """What a tree is grown from. `breakpoints` are those of `limits`.

    `n_categories` of a feature are 0 if it holds numbers; `signs` say which way it must move the
    prediction, 0 for any. Orders, limits and breakpoints are permuted while the tree grows. Python
    gives the loss apart, because numba takes long to see the type of a tuple that holds a constant.
    Lower and upper limits weigh their row times one of `prices`.
    """

    X: np.ndarray
    orders: np.ndarray
    limits: np.ndarray
    breakpoints: np.ndarray
    weights: np.ndarray
    n_categories: np.ndarray
    signs: np.ndarray
    loss: Constant | None
    margin: float
    prices: tuple


class Options(NamedTuple):
    """When to stop; `max_leaf_nodes` of 0 means no bound, and growth in depth rather than best first.

    With `by_descent` all splits are priced in the way that is otherwise the last resort. Nodes of
    more rows than `largest` are left to the caller.
    """

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_leaf_nodes: int
    min_decrease: float
    max_features: int
    by_descent: bool = False
    largest: int = 2**31 - 1


class Scratch(NamedTuple):
    """Room for growing a tree or a part of one. `points` holds the limits of a node by rank."""

    samples: np.ndarray
    points: np.ndarray
    ranks: np.ndarray
    goes_left: np.ndarray
    spare: np.ndarray
    spare_breakpoints: np.ndarray
    features: np.ndarray
    random: np.ndarray
    screen: Screen
    categories: GroupRoom
    frontier: Frontier


class Place(NamedTuple):
    """A node to come: its stretches of rows and limits, a first guess of its minimiser, its bounds and its seed."""

    node: int
    depth: int
    start: int
    stop: int
    limit_start: int
    limit_stop: int
    weight: float
    centre: float
    parent_value: float
    low: float
    high: float
    seed: np.uint64


class Node(NamedTuple):
    """The minimum of a node's cost; `loss` and `minimum` count breakpoints from its centre.

    `is_wide` says that running sums may miss what makes up the cost.
    """

    optimum: Optimum
    loss: Loss
    minimum: Minimum
    centre: float
    tolerance: float
    is_wide: bool


@folded
def open_place(problem, scratch, place):
    """Rank the limits of a node; returns the centre of its breakpoints, how far they reach from it, and the optimum."""
    limits = problem.limits[place.limit_start : place.limit_stop]
    breakpoints = problem.breakpoints[place.limit_start : place.limit_stop]
    points = points_of(scratch, place)
    centre = place.centre
    reach = 0.0
    n_limits = limits.shape[0]
    if n_limits > 0:
        first, last = contested(limits)
        first, last = min(first, last - 1), max(first, last - 1)
        low, high = breakpoints[max(first, 0)], breakpoints[min(last, n_limits - 1)]
        centre = centre if low <= centre <= high else (high if centre > high else low)
        reach = max(centre - low, high - centre)
    rank_limits(limits, breakpoints, scratch.samples, points, centre, problem.loss, problem.prices)
    return centre, reach, minimise(limits, breakpoints, points, scratch.ranks, problem.loss)


@folded
def prepare(problem, scratch, place, centre, reach, best):
    """What a search for the best split starts from."""
    limits = problem.limits[place.limit_start : place.limit_stop]
    breakpoints = problem.breakpoints[place.limit_start : place.limit_stop]
    points = points_of(scratch, place)
    ulps = ULPS * EPSILON, ULPS * EPSILON * problem.margin
    start, spread = start_from(best, limits, breakpoints, points, problem.loss, ulps)
    loss = hinge.make_loss(
        problem.loss, problem.prices, place.weight, spread.distance, spread.weight, reach
    )
    is_wide = not _can_trust_sums(best.cost, loss, spread)
    tolerance = (
        COST_TOLERANCE * best.cost + spread.blur + (0.0 if is_wide else SUM_TOLERANCE * spread.size)
    )
    return Node(best, loss, start, centre, tolerance, is_wide)


@inner
def _can_trust_sums(cost, loss, spread):
    """Whether the running sums of a sweep price all splits of a node up to a small share of its cost.

    They round by a share of all that passes through them. Then the pointer of the linear hinge may
    stop anywhere that sums of weights cannot tell apart, and the cost of light limits alone, with
    the squared hinge, is anything.
    """
    if loss.code == SQUARED:
        lost = 4 * spread.light * loss.reach * loss.reach
        return max(SUM_TOLERANCE * spread.size, lost) <= PRICE_TOLERANCE * cost
    return SUM_TOLERANCE * spread.weight * loss.reach <= PRICE_TOLERANCE * cost


@inner
def n_missing_in(X, order, start, stop, feature):
    """How many samples of order[start:stop] have NaN: they come last."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        value = X[order[middle] & SAMPLE_MASK, feature]
        if value != value:
            high = middle
        else:
            low = middle + 1
    return stop - low


@folded
def draw(features, random, n_drawn):
    """The next feature, without replacement, by an xorshift generator."""
    state = random[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    random[0] = state
    chosen = n_drawn + np.int64(state % np.uint64(features.shape[0] - n_drawn))
    features[n_drawn], features[chosen] = features[chosen], features[n_drawn]
    return features[n_drawn]


@inner
def seed_of_child(seed, side):
    """A seed that depends on a node's own seed and on the side alone: four rounds of a Feistel network."""
    left, right = seed >> HALF, seed & LOW_HALF
    for _ in range(4):
        # Factors of 32 bits: their product does not overflow.
        mixed = ((right + side + ONE) * MULTIPLIER >> np.uint64(16)) & LOW_HALF
        left, right = right, left ^ mixed
    return (left << HALF) | right


@folded
def begin_draws(scratch, place):
    """Put the features in their own order and the generator at the node's seed, which must not be 0."""
    for i in range(scratch.features.shape[0]):
        scratch.features[i] = i
    scratch.random[0] = place.seed | ONE


@folded
def points_of(scratch, place):
    """The room for the limits of a node."""
    return scratch.points[: place.limit_stop - place.limit_start + rankset.N_SENTINELS]


@folded
def fill_screen(problem, scratch, place, node):
    """What `try_path` needs before it walks: the pulls; returns the distances to the values left and right."""
    order = problem.orders[0]
    mu = node.optimum.value - node.centre
    points = points_of(scratch, place)
    start, stop = place.start, place.stop
    choose_values(scratch.categories, points, mu)
    return fill(
        scratch.screen, order, start, stop, scratch.samples, points, node.loss, node.minimum, mu
    )


@folded
def varying(problem, place, feature):
    """The number of missing values of a feature in a node; -1 if there is nothing to split."""
    X = problem.X
    order = problem.orders[feature]
    n_missing = n_missing_in(X, order, place.start, place.stop, feature)
    first, last = (
        X[order[place.start] & SAMPLE_MASK, feature],
        X[order[place.stop - 1] & SAMPLE_MASK, feature],
    )
    return -1 if first == last or n_missing == place.stop - place.start else n_missing


@folded
def path_of(problem, options, place, node, key):
    """The path of a key: a feature, how many samples miss it, and whether these go left."""
    effect = Effect(
        np.int64(problem.signs[key[0]]), place.low - node.centre, place.high - node.centre
    )
    return make_path(
        key[0], place.start, place.stop, key[1], key[2], options.min_samples_leaf, effect
    )


@folded
def try_path(problem, scratch, options, place, node, distances, key, best, way, kinds):
    """The better of `best` and the splits of one path; and whether this was the way to price them.

    All splits of a feature that holds categories are one path.
    """
    in_budget = True
    if kinds == CATEGORIES and problem.n_categories[key[0]] > 0:
        best = search_groups(
            problem, scratch, options, place, node, key[0], key[1], way, best, distances
        )
    else:
        path = path_of(problem, options, place, node, key)
        order = problem.orders[path.feature]
        points = points_of(scratch, place)
        samples = scratch.samples
        ranks = scratch.ranks
        loss = node.loss
        tolerance = node.tolerance
        if way == DESCENDING:
            best = sweep_by_descent(order, samples, ranks, points, loss, path, best, tolerance)
        else:
            path = screen(scratch.screen, order, path, loss, distances, best.cost - tolerance)
            if path.first <= path.last:
                bounds = scratch.screen.bounds
                best, in_budget = sweep(
                    order, samples, ranks, points, loss, node.minimum, path, bounds, best, tolerance
                )
    return best, in_budget


@folded
def search(problem, scratch, options, place, node, way, kinds):
    """The best split of a node; ``n_left == 0`` if none lowers the cost, NOT_PRICED if this is not the way to find it.

    Features that do not vary in the node do not count as tried, and the search goes on past
    `max_features` until a split is found, as in scikit-learn.
    """
    best = Split(node.optimum.cost, NO_FEATURE, 0, 0, 0.0, 0.0)
    not_priced = Split(node.optimum.cost, NOT_PRICED, 0, 0, 0.0, 0.0)
    n_features = problem.orders.shape[0]
    n_tried = 0
    distances = (0.0, 0.0)
    if way == WALKING and (node.is_wide or options.by_descent):
        return not_priced
    if way == WALKING or kinds == CATEGORIES:  # categories need its pulls and values
        distances = fill_screen(problem, scratch, place, node)
    if options.max_features < n_features:
        begin_draws(scratch, place)
    for i in range(n_features):
        feature = i
        if options.max_features < n_features:
            if n_tried >= options.max_features and best.n_left > 0:
                break
            feature = draw(scratch.features, scratch.random, i)
        n_missing = varying(problem, place, feature)
        if n_missing < 0:
            continue
        n_tried += 1
        n_paths = 2 if n_missing > 0 and problem.n_categories[feature] == 0 else 1
        for missing_left in range(n_paths):
            key = feature, n_missing, missing_left
            best, in_budget = try_path(
                problem, scratch, options, place, node, distances, key, best, way, kinds
            )
            if not in_budget:
                return not_priced
    return best
