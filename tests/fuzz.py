"""A fuzzer: random problems for the core, which is checked in exact fractions.

Problems are drawn to be nasty: weights over up to 24 orders of magnitude, targets over 20, ties
everywhere, margins wider than intervals, open ends, features with NaN and infinities, sweeps that
must go by descent. Constants, prefixes, trees and anchored values must be right to rounding, every
split as good as the best one, and every subtree of a pruning path the best for its alpha. A case is
a number, for `check_case`.
"""

from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from marginwood import optimal_costs
from marginwood._core import prefixes
from marginwood._core.anchor import anchor_values
from marginwood._core.nodes import LEAF, parents
from marginwood._core.order import sort_features
from marginwood._core.problem import (
    LOSS_CODES,
    Target,
    grow_tree,
    in_units,
    plain,
    prices_of,
    scaled,
)
from marginwood._core.prune import SQUARED_DISTANCE, path_losses
from marginwood._core.rankset import FIRST, N_SENTINELS, make_rank_set
from marginwood._core.samples import centre_of
from marginwood._core.search import Options
from marginwood._trees.pruning import geometric_means, pruning_path
from marginwood.losses import breakpoints, optimal_constant

POWERS = {"linear_hinge": 1, "squared_hinge": 2}
EPSILON = 2.0**-52
UNIT = Fraction(1, 2**400)  # of targets and of weights, finer than all that are drawn
# How far a cost may be off, and how much more than the best split one may cost, as shares of the
# cost.
COST_SHARE, PREFIX_SHARE, SPLIT_SHARE = 1e-12, 2e-9, 1e-8
# Flat stretches of the linear hinge are told from sloping ones up to this share of the cost.
FLAT_SHARE = Fraction(1, 10**25)


class Problem(NamedTuple):
    """What is given to the core. Weights are positive, and some row has a limit."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    loss: str
    quantile: float
    margin: float
    max_depth: int
    min_samples_leaf: int
    anchor: float


class Limit(NamedTuple):
    """A limit in UNITs; `sign` is 1 for an upper limit."""

    at: int
    sign: int
    weight: Fraction


class Best(NamedTuple):
    """The least cost, the ends of the set of minimisers, and mean and root mean square distance to active limits."""

    cost: Fraction
    low: Fraction | float
    high: Fraction | float
    mean: Fraction
    root: Fraction


def exact(number):
    """The number in whole UNITs."""
    return int(Fraction(number) / UNIT)


def limits_of(problem, *, is_scaled=True):
    """The limits of every row.

    A breakpoint is the rounded sum of end and margin, a weight the rounded product of a scaled
    weight and a price: that much is the input's.
    """
    weights, unit = scaled(problem.weights) if is_scaled else (problem.weights, 1.0)
    prices = prices_of(problem.quantile)
    unit = Fraction(unit) * Fraction(prices.unit)
    starts = breakpoints(problem.y, problem.margin)
    return [
        [
            Limit(exact(at), sign, unit * exact(weight * price))
            for at, sign, price in zip(ends, (-1, 1), prices[:2], strict=True)
            if isfinite(at)
        ]
        for ends, weight in zip(starts.tolist(), weights.tolist(), strict=True)
    ]


def cost_at(at, limits, power):
    """The cost of predicting `at`."""
    at = at / UNIT
    return sum(k.weight * max(k.sign * (at - k.at), 0) ** power for k in limits) * UNIT ** (
        power + 1
    )


def best_of(limits, power):
    """The minimum: from the left to the first breakpoint where the slope is not negative; there, or just before it."""
    low = max((k.at for k in limits if k.sign < 0), default=-inf)
    high = min((k.at for k in limits if k.sign > 0), default=inf)
    if low <= high:
        return Best(
            Fraction(0),
            *(end * UNIT if isfinite(end) else end for end in (low, high)),
            Fraction(0),
            Fraction(0),
        )
    limits = sorted(limits)
    # Weight, first moment and second moment of the upper limits up to a breakpoint, and of the
    # lower ones beyond it.
    upper, lower = (
        [0, 0, 0],
        [sum(k.weight * k.at**n for k in limits if k.sign < 0) for n in range(3)],
    )
    for i, limit in enumerate(limits):
        at, before = limit.at, (list(upper), list(lower))
        side, change = (upper, 1) if limit.sign > 0 else (lower, -1)
        for n in range(3):
            side[n] += change * limit.weight * at**n
        if power == 1 and upper[0] >= lower[0]:
            cost = upper[0] * at - upper[1] + lower[1] - lower[0] * at
            end = limits[i + 1].at if upper[0] == lower[0] else at
            weight = upper[0] + lower[0]
            mean = Fraction(cost, weight) * UNIT
            return Best(cost * UNIT**2, at * UNIT, end * UNIT, mean, mean)
        if power == 2 and (upper[0] + lower[0]) * at >= upper[1] + lower[1]:
            (u, ut, uq), (v, vt, vq) = before
            mean = Fraction(ut + vt, u + v)
            cost = uq + vq - (ut + vt) * mean
            distance = (u * mean - ut + vt - v * mean) / (u + v) * UNIT
            root = Fraction(sqrt(cost / (u + v) * UNIT**2))
            return Best(cost * UNIT**3, mean * UNIT, mean * UNIT, distance, root)
    raise AssertionError("the slope is not negative right of all breakpoints")


def check_cost(what, cost, best, share, unit=0):
    """The cost is right to rounding; zero is exactly zero."""
    assert isfinite(cost), f"{what}: cost {cost}"
    error = abs(Fraction(cost) - best.cost)
    assert error <= Fraction(share) * best.cost + unit, (
        f"{what}: cost {cost}, right is {float(best.cost)}"
    )


def check_value(what, value, best, limits, power, share):
    """The value is a minimiser, up to rounding of the value and of the distances that it is a mean of."""
    if not limits:
        return
    assert isfinite(value), f"{what}: value {value}"
    at = Fraction(value)
    if power == 1 or best.cost == 0:
        if best.low > -inf and best.high < inf:  # the middle may round
            nearest = min(max(at, best.low), best.high)
            if abs(at - nearest) <= Fraction(float(np.spacing(abs(value)))):
                return
        assert cost_at(at, limits, power) <= best.cost * (1 + FLAT_SHARE), (
            f"{what}: value {value}, right is {float(best.low)} to {float(best.high)}"
        )
        return
    is_walked = (
        share == PREFIX_SHARE
    )  # by running sums, which are counted from the middle of all limits
    distance, ulps = (best.root, 32) if is_walked else (best.mean, 2)
    error = Fraction(share) * distance + ulps * Fraction(float(np.spacing(abs(value))))
    # Where the slope is a sum of numbers that nearly cancel, a value may be farther off: its cost
    # must not show it.
    if abs(at - best.low) > error:
        excess = cost_at(at, limits, power) - best.cost
        assert excess <= best.cost * FLAT_SHARE, (
            f"{what}: value {value!r}, right is {float(best.low)!r}"
        )


def check_constant(problem):
    """`optimal_constant` of all rows."""
    power = POWERS[problem.loss]
    limits = [limit for row in limits_of(problem) for limit in row]
    options = {"loss": problem.loss, "quantile": problem.quantile, "margin": problem.margin}
    found = optimal_constant(problem.y, **options, sample_weight=problem.weights)
    best = best_of(limits, power)
    check_cost("constant", found.cost, best, COST_SHARE)
    check_value("constant", found.value, best, limits, power, 1e-12)
    check_set("constant", found.low, found.high, best, limits, power)


def check_set(what, low, high, best, limits, power):
    """Both ends are minimisers, and nothing beyond them is."""
    if power == 2 and best.cost > 0:
        return
    for found, right in ((low, best.low), (high, best.high)):
        if (
            Fraction(right) != Fraction(found)
            if isfinite(right) and isfinite(found)
            else right != found
        ):
            is_flat = isfinite(found) and cost_at(Fraction(found), limits, power) <= best.cost * (
                1 + FLAT_SHARE
            )
            wrong = f"{what}: {low} to {high}, right is {float(best.low)} to {float(best.high)}"
            assert is_flat, wrong
            assert isfinite(right), wrong
            assert best.cost > 0, wrong


def solve_by_descent(problem):
    """Costs and values of all prefixes, by the way that is the last resort."""
    weights, unit = scaled(problem.weights)
    limits = Target(problem.y).at(problem.margin, problem.quantile)
    ranks_of = np.zeros((len(problem.y), 2), dtype=np.int32)
    n_limits, n = len(limits.in_order), len(problem.y)
    points = np.full((n_limits + N_SENTINELS, 2), np.nan)
    centre = centre_of(limits.in_order, limits.breakpoints)
    code, prices = LOSS_CODES[problem.loss], limits.prices[:2]
    of_limits = limits.in_order, limits.breakpoints, centre, weights
    prefixes.rank_all(*of_limits, ranks_of, points, code, prices)
    points[FIRST : FIRST + n_limits, 0] = limits.breakpoints
    found = prefixes.Results(np.empty(n), np.empty(n), np.empty(n, dtype=np.int64))
    ranks = make_rank_set(n_limits)
    prefixes.solve_by_descent(ranks_of, points, weights, ranks, code, prices, found)
    units = unit, limits.prices.unit, limits.exponent, POWERS[problem.loss]
    costs = in_units(found.costs, *units)
    return costs, np.ldexp(found.values, limits.exponent), found.moves


def check_prefixes(problem):
    """`optimal_costs` of all rows, and the same by descent."""
    power, ends = POWERS[problem.loss], problem.y.T
    options = {"loss": problem.loss, "quantile": problem.quantile, "margin": problem.margin}
    options["sample_weight"] = problem.weights
    ways = {
        "prefix": optimal_costs(*ends, **options),
        "prefix by descent": solve_by_descent(problem),
    }
    limits = []
    for row, own in enumerate(limits_of(problem)):
        limits += own
        best = best_of(limits, power)
        for what, (costs, values, _) in ways.items():
            share = PREFIX_SHARE if what == "prefix" else COST_SHARE
            check_cost(f"{what} {row}", costs[row], best, share)
            check_value(f"{what} {row}", values[row], best, limits, power, share)


def splits_of(X):
    """Which rows go left, for every split of every feature."""
    for column in X.T:
        is_missing = np.isnan(column)
        values = np.unique(column[~is_missing])
        for value in values[:-1]:
            yield column <= value
            if is_missing.any():
                yield (column <= value) | is_missing
        if is_missing.any() and len(values):
            yield ~is_missing


def grow_nodes(problem, by_descent):
    """The node table of a tree."""
    X, y, weights, loss, quantile, margin, max_depth, min_samples_leaf, _ = problem
    options = Options(max_depth, 2, min_samples_leaf, 0, 0.0, X.shape[1], by_descent)
    limits = Target(y).at(margin, quantile)
    kinds = plain(X.shape[1])
    return grow_tree(X, sort_features(X), limits, weights, loss, options, 1, kinds)[0]


def parted(X, rows, node):
    """The rows that a split sends left, and those that it sends right."""
    column = X[rows, node["feature"]]
    left = np.where(np.isnan(column), node["missing_go_to_left"] != 0, column <= node["threshold"])
    return rows[left], rows[~left]


def check_tree(problem, by_descent):
    """Every node of a tree, and that no split is better than the one it has."""
    X, y, _, loss, _, margin, max_depth, min_samples_leaf, _ = problem
    power, what = POWERS[loss], "tree by descent" if by_descent else "tree"
    nodes = grow_nodes(problem, by_descent)
    limits = limits_of(problem)

    def best_of_rows(rows):
        return best_of([limit for row in rows for limit in limits[row]], power)

    places = [(0, np.arange(len(y)), 0)]
    while places:
        node, rows, depth = places.pop()
        row, here = nodes[node], [limit for row in rows for limit in limits[row]]
        best, name = best_of(here, power), f"{what}, node {node}"
        check_cost(name, row["impurity"], best, COST_SHARE)
        check_value(name, row["value"], best, here, power, 1e-12)
        check_set(name, row["value_low"], row["value_high"], best, here, power)
        assert row["n_node_samples"] == len(rows), name
        price = best.cost
        if row["children_left"] >= 0:
            sides = parted(X, rows, row)
            assert min(map(len, sides)) >= min_samples_leaf, name
            price = sum(best_of_rows(side).cost for side in sides)
            assert price < best.cost, f"{name}: a split that does not lower the cost"
            places += [
                (row["children_left"], sides[0], depth + 1),
                (row["children_right"], sides[1], depth + 1),
            ]
        if depth == max_depth or best.cost == 0:
            continue
        at = Fraction(float(row["value"]))
        blurred = [
            (
                k,
                min(
                    max(k.sign * (at - k.at * UNIT), 0),
                    Fraction(8 * EPSILON) * (abs(k.at) * UNIT + Fraction(margin)),
                ),
            )
            for k in here
        ]
        blur = sum(k.weight * UNIT * distance**power for k, distance in blurred)
        for goes_left in splits_of(X[rows]):
            if min(goes_left.sum(), (~goes_left).sum()) >= min_samples_leaf:
                other = best_of_rows(rows[goes_left]).cost + best_of_rows(rows[~goes_left]).cost
                worse = price - other
                assert worse <= Fraction(SPLIT_SHARE) * best.cost + blur, (
                    f"{name}: price {float(price)}, but a split costs {float(other)}, of {float(best.cost)}"
                )


def check_anchors(problem, nodes):
    """Every value of a tree with an anchor: the parent's value is one more row, and the nearest minimiser counts."""
    power, limits = POWERS[problem.loss], limits_of(problem, is_scaled=False)
    nodes = nodes.copy()
    target = Target(problem.y).at(problem.margin, problem.quantile)
    signs = plain(problem.X.shape[1]).signs
    anchor_values(
        nodes,
        None,
        problem.X,
        target,
        problem.weights,
        LOSS_CODES[problem.loss],
        problem.anchor,
        signs,
    )
    places = [(0, np.arange(len(problem.y)))]
    while places:
        node, rows = places.pop()
        if nodes["children_left"][node] == LEAF:
            continue
        parent = Fraction(float(nodes["value"][node]))
        prices = prices_of(problem.quantile)
        pulls = [
            Limit(exact(parent), sign, Fraction(prices.unit) * exact(problem.anchor * price))
            for sign, price in zip((-1, 1), prices[:2], strict=True)
        ]
        children = nodes["children_left"][node], nodes["children_right"][node]
        for child, side in zip(children, parted(problem.X, rows, nodes[node]), strict=True):
            here, value, name = (
                pulls + [limit for row in side for limit in limits[row]],
                nodes["value"][child],
                "anchor",
            )
            best = best_of(here, power)
            check_value(f"{name}, node {child}", value, best, here, power, 1e-12)
            nearest = min(max(parent, best.low), best.high)
            is_near = abs(Fraction(float(value)) - nearest) <= Fraction(
                float(np.spacing(abs(value)))
            )
            assert is_near or power == 2 or not best.low <= value <= best.high, (
                f"{name}, node {child}: value {value} is not the nearest minimiser, {float(nearest)}"
            )
            places.append((child, side))


def check_pruning(problem, nodes):
    """No subtree beats the one that a pruning path has for an alpha, below any node; costs on all rows are right."""
    path, total = pruning_path(nodes), Fraction(float(nodes["weighted_n_node_samples"][0]))
    cost = [Fraction(float(impurity)) / total for impurity in nodes["impurity"]]
    rows_of, losses, parent = (
        [np.arange(len(problem.y))] + [None] * (len(nodes) - 1),
        [],
        parents(nodes),
    )
    intervals = [
        (Fraction(low) if low > -inf else low, Fraction(high) if high < inf else high)
        for low, high in problem.y
    ]
    for idx, node in enumerate(nodes):  # children come after their parents
        if node["children_left"] != LEAF:
            rows_of[node["children_left"]], rows_of[node["children_right"]] = parted(
                problem.X, rows_of[idx], node
            )
        value = Fraction(float(node["value"]))
        missed = [
            (max(intervals[row][0] - value, value - intervals[row][1], 0), row)
            for row in rows_of[idx]
        ]
        losses.append(
            sum(Fraction(float(problem.weights[row])) * Fraction(miss) ** 2 for miss, row in missed)
        )
    found = path_losses(
        nodes,
        None,
        path.leaf_from,
        len(path.alphas),
        problem.X,
        problem.y,
        problem.weights,
        SQUARED_DISTANCE,
        (1.0, 1.0),
    )
    for alpha in [*path.alphas.tolist(), *geometric_means(path.alphas).tolist()]:
        step, best, kept, leaves = path.at(alpha), {}, {}, {}
        for idx in range(len(nodes) - 1, -1, -1):
            below = [
                child
                for child in (nodes["children_left"][idx], nodes["children_right"][idx])
                if child != LEAF
            ]
            as_leaf = cost[idx] + Fraction(alpha)
            best[idx] = min(as_leaf, sum(best[child] for child in below)) if below else as_leaf
            is_leaf = path.leaf_from[idx] <= step
            kept[idx] = as_leaf if is_leaf else sum(kept[child] for child in below)
            leaves[idx] = [idx] if is_leaf else [leaf for child in below for leaf in leaves[child]]
        present = [idx for idx in kept if not idx or path.leaf_from[parent[idx]] > step]
        for idx in present:
            assert kept[idx] - best[idx] <= Fraction(1e-9) * cost[idx], (
                f"pruning at {alpha}, node {idx}"
            )
        right = sum(losses[leaf] for leaf in leaves[0])
        assert len(leaves[0]) == path.n_leaves[step], (
            f"pruning at {alpha}: {path.n_leaves[step]} leaves"
        )
        assert abs(Fraction(float(found[step])) - right) <= Fraction(1e-12) * right, (
            f"pruning at {alpha}: loss {found[step]}, right is {float(right)}"
        )


def _wide(rng, n, orders):
    return 10.0 ** rng.uniform(-orders, 0, n)


def draw_weights(rng, n):
    """Equal, whole, scattered or wide weights; wide ones with ties among the heavy and among the light."""
    kind = rng.integers(7)
    if kind == 0:
        return np.full(n, rng.choice([1.0, 1.1, 1e-9]))
    if kind == 1:
        return rng.integers(1, 4, n).astype(float)
    if kind == 2:
        return rng.exponential(size=n)
    if kind == 3:
        return _wide(rng, n, 24)
    if kind == 4:
        return rng.choice([1.0, 10.0 ** -float(rng.integers(1, 25))], n)
    if kind == 5:
        return 10.0 ** -rng.integers(0, 25, n).astype(float)
    return 4.0 ** np.arange(n) if rng.random() < 0.5 else 4.0 ** -np.arange(n)


def draw_centres(rng, n):
    """Targets on a grid full of ties, scattered, far from 0, or over 20 orders of magnitude."""
    kind = rng.integers(6)
    if kind == 0:
        return rng.integers(-6, 7, n).astype(float)
    if kind == 1:
        return rng.normal(size=n)
    if kind == 2:
        return rng.choice([1e6, -1e9]) + rng.integers(-6, 7, n) / 4
    if kind == 3:
        return rng.choice([-1.0, 1.0], n) * _wide(rng, n, 20) * 1e10
    if kind == 4:
        return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.integers(-10, 11, n)
    return np.where(np.arange(n) % 2, 1, -1) * 2.0 ** np.arange(n)


def draw_intervals(rng, n):
    """Intervals of every kind of censoring around such targets."""
    centre, share = draw_centres(rng, n), rng.random(n)
    width = rng.choice([0.0, 0.1, 1.0, 5.0]) * np.where(rng.random(n) < 0.5, 1.0, np.abs(centre))
    y = np.column_stack([centre - width, centre + width])
    open_share = rng.choice([0.0, 0.2, 0.45])
    y[share < open_share, 0] = -inf
    y[share > 1 - open_share, 1] = inf
    y[rng.random(n) < rng.choice([0.0, 0.1]), :] = -inf, inf
    if not np.isfinite(y).any():
        y[0] = centre[0]
    return y


def draw_problem(case):
    """The problem of a case number."""
    rng = np.random.default_rng(case)
    n, n_features = int(rng.choice([2, 3, 5, 8, 12, 20])), int(rng.integers(1, 4))
    X = rng.integers(0, rng.choice([2, 5, 40]), (n, n_features)).astype(float)
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = rng.choice([np.nan, inf, -inf])
    y, loss = draw_intervals(rng, n), rng.choice(sorted(POWERS))
    margin = float(rng.choice([0.0, 0.0, 0.5, 3.0, 1e-9, 1e6]))
    order = np.argsort(X[:, 0], kind="stable") if rng.random() < 0.3 else np.arange(n)
    weights, max_depth, min_samples_leaf = (
        draw_weights(rng, n),
        int(rng.integers(1, 4)),
        int(rng.integers(1, 3)),
    )
    anchor = float(rng.choice([1.0, 3.0, 10.0 ** rng.uniform(-24, 3), rng.choice(weights)]))
    quantile = float(rng.choice([0.5, 0.5, 0.1, 0.9, 0.25, 0.999, 0.123456789]))
    objective = (str(loss), quantile if loss == "linear_hinge" else 0.5)
    rows = X, y[order], weights
    return Problem(*rows, *objective, margin, max_depth, min_samples_leaf, anchor)


def check_case(case):
    """Check everything on the problem of a case."""
    problem = draw_problem(case)
    check_constant(problem)
    check_prefixes(problem)
    check_tree(problem, by_descent=False)
    check_tree(problem, by_descent=True)
    nodes = grow_nodes(problem, by_descent=False)
    check_anchors(problem, nodes)
    check_pruning(problem, nodes)
