"""Which splits of a feature may be better than the best one so far: a bound of every split's price, before any sweep.

At the minimiser ``mu`` of a node's cost, let a side violate lower limits by ``x``, of total weight
``c``, and upper limits by ``y``, of total weight ``d``. Say its own minimum lies at ``mu + z``, z >
0. There it violates those upper limits by ``y + z`` and costs, with weights in all sums, at least

=================  ==========================================================================================
squared hinge      ``sum(x**2 + y**2) - 2 * z * sum(x - y) + d * z**2 >= sum(x**2 + y**2) - sum(x - y)**2 / d``
linear hinge       ``max(sum(x) - c * z, 0) + sum(y) + d * z          >= sum(y) + sum(x) * d / c``
=================  ==========================================================================================

and for z < 0 the two kinds change places. The linear hinge has no curvature, and among noise its
bound says little. So the cost and the slope of a side are also taken at one value on either side of
``mu``: where the slope has changed its sign, no cost in between is below the point at which both
tangents meet.

These sums run over the samples of the side, and what a sample adds to them, its pull, is the same
for all features: the bounds of all splits of a feature cost a fraction of a sweep. They show most
of them to be worse than the best one so far.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import hinge, rankset
from marginwood._core.hinge import SQUARED, TINY
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inlined, inner, prefetch
from marginwood._core.order import SAMPLE_MASK
from marginwood._core.split import Path, path_row

# Pulls come in groups, which are added up one after the other: faster than all eight at once.
GROUP = 4
# The sums of this many splits are written down and then turned into bounds, several in one
# instruction.
BLOCK = 64
# Rows whose pulls are filled and added up in one go.
FILLED = 4096
CACHE_LINE = 64
# How many ranks from the minimum to either side value, in square roots of the number of limits: the
# minima of a node's parts scatter that far.
SPREAD = 1.5


class Screen(NamedTuple):
    """Room for the pulls of samples, for their sums over a node and over a side, and for a path's bounds.

    Squared hinge: one group per sample, ``x**2 + y**2, x - y, c, d``. Linear hinge: two groups,
    ``x, y, c, d`` and the cost and the slope at the value on the left and at the value on the
    right.
    """

    pulls: np.ndarray
    totals: np.ndarray
    running: np.ndarray
    sums: np.ndarray
    bounds: np.ndarray


def make_screen(pulls, n_splits):
    """Room for the bounds of this many splits."""
    return Screen(
        pulls=pulls,
        totals=np.empty(2 * GROUP),
        running=np.empty(2 * GROUP),
        sums=np.empty((2 * GROUP, BLOCK)),
        bounds=np.empty(n_splits),
    )


def make_pulls(n_samples):
    """Room for the pulls of samples: groups, two in each line of the cache, so that a sample's lie in one."""
    n_groups = 2 * n_samples
    room = np.empty((n_groups + 2) * GROUP)  # up to seven numbers are skipped
    start = (-room.ctypes.data % CACHE_LINE) // room.itemsize
    return room[start : start + n_groups * GROUP].reshape(n_groups, GROUP)


@inlined
def borrow_screen(room):
    """The same without reference counting."""
    pulls, totals, running, sums, bounds = room
    return Screen(borrow(pulls), borrow(totals), borrow(running), borrow(sums), borrow(bounds))


@inlined
def _violations(sample, loss, value):
    """The distances from a value to a sample's two limits, 0 if satisfied, and their weights."""
    # Computed, not branched to: whether a limit is there, and violated, is anyone's guess.
    x = max(sample["lower"] - value, 0.0) * np.float64(sample["lower_rank"] > 0)
    y = max(value - sample["upper"], 0.0) * np.float64(sample["upper_rank"] > 0)
    lower = hinge.priced(loss.code, loss.prices, hinge.LOWER, sample["weight"])
    upper = hinge.priced(loss.code, loss.prices, hinge.UPPER, sample["weight"])
    return x, y, lower * np.float64(x > 0), upper * np.float64(y > 0)


@inner
def _side_values(points, loss, minimum, mu):
    """The values left and right of the minimiser `mu` at which tangents are taken."""
    # Of n limits those of a random half put their minimum some sqrt(n) ranks from that of all: the
    # tangents are most use a little farther out. With 100 limits that is 15 ranks to either side.
    last = points.shape[0] - rankset.N_SENTINELS + rankset.FIRST - 1
    # The share of exact labels below a quantile q scatters with the root of q (1 - q), a quarter
    # for the median.
    lower, upper = loss.prices
    scatter = 2 * np.sqrt(lower * upper) / (lower + upper)
    n_ranks = np.int64(SPREAD * np.sqrt(last) * scatter)
    left = min(max(points[max(minimum.low - n_ranks, rankset.FIRST), 0], -loss.reach), mu)
    right = max(min(points[min(minimum.high + n_ranks, last), 0], loss.reach), mu)
    return left, right


@inlined
def _put(pulls, at, group, sums):
    """Write down a group of pulls; return the sums with it."""
    pulls[at, 0] = group[0]
    pulls[at, 1] = group[1]
    pulls[at, 2] = group[2]
    pulls[at, 3] = group[3]
    return sums[0] + group[0], sums[1] + group[1], sums[2] + group[2], sums[3] + group[3]


@inner
def _fill_rows(pulls, sums, order, stretch, samples, loss, values):
    """Fill the pulls of the samples in a stretch of an order, at the minimiser and left and right; fill their sums."""
    pulls = borrow(pulls)
    sums = borrow(sums)
    order = borrow(order)
    samples = borrow(samples)
    mu, left, right = values
    # Pulls lie by sample, so that any feature's order can pick them; any will do to fill them.
    n_groups = np.uint64(1 if loss.code == SQUARED else 2)
    start, stop = stretch
    first = second = (0.0, 0.0, 0.0, 0.0)
    for row in range(start, stop):
        ahead = np.int64(order[np.uint64(min(row + PREFETCH_DISTANCE, stop - 1))] & SAMPLE_MASK)
        prefetch(samples, ahead)
        prefetch(pulls, ahead * np.int64(n_groups) * GROUP)
        idx = np.uint64(order[np.uint64(row)] & SAMPLE_MASK)
        sample = samples[idx]
        at = idx * n_groups
        x, y, c, d = _violations(sample, loss, mu)
        if loss.code == SQUARED:
            # By the table: the cost at mu, minus half the slope there, and the weights that pull up and down.
            first = _put(pulls, at, (c * x * x + d * y * y, c * x - d * y, c, d), first)
        else:
            first = _put(pulls, at, (c * x, d * y, c, d), first)
            x, y, c, d = _violations(sample, loss, left)
            # At the other two values only what a tangent needs.
            cost, slope = c * x + d * y, d - c
            x, y, c, d = _violations(sample, loss, right)
            second = _put(pulls, at + np.uint64(1), (cost, slope, c * x + d * y, d - c), second)
    for i in range(GROUP):
        sums[i] = first[i]
        sums[GROUP + i] = second[i]


@inner
def fill(room, order, start, stop, samples, points, loss, minimum, mu):
    """Fill the pulls of a node's samples at its minimiser `mu`; return how far the values left and right of it are.

    Their sums are those of stretches of FILLED rows, added up, which rounds less than one long sum.
    """
    totals = borrow(room.totals)
    running = borrow(room.running)
    left, right = _side_values(points, loss, minimum, mu)
    totals[:] = 0.0
    for first in range(start, stop, FILLED):
        stretch = first, min(first + FILLED, stop)
        _fill_rows(room.pulls, running, order, stretch, samples, loss, (mu, left, right))
        for i in range(totals.shape[0]):
            totals[i] += running[i]
    return mu - left, right - mu


@inner
def _add_up(room, order, row, width, group, n_groups):
    """Write down the sums of a group of pulls in front of each of the entries row..row + width, and add these."""
    pulls = borrow(room.pulls)
    running = borrow(room.running)
    sums = borrow(room.sums)
    order = borrow(order)
    first = group * GROUP
    # What is written in front of an entry are the sums of all before it: the left side of a split
    # there.
    a = running[first]
    b = running[first + 1]
    c = running[first + 2]
    d = running[first + 3]
    for i in range(width):
        u = np.uint64(i)  # unsigned: no check for an index from the end
        sums[first, u] = a
        sums[first + 1, u] = b
        sums[first + 2, u] = c
        sums[first + 3, u] = d
        if group == 0:
            ahead = (
                order[np.uint64(min(row + i + PREFETCH_DISTANCE, order.shape[0] - 1))] & SAMPLE_MASK
            )
            prefetch(pulls, np.int64(ahead) * n_groups * GROUP)
        idx = np.uint64(order[np.uint64(row + i)] & SAMPLE_MASK) * np.uint64(n_groups) + np.uint64(
            group
        )
        a += pulls[idx, 0]
        b += pulls[idx, 1]
        c += pulls[idx, 2]
        d += pulls[idx, 3]
    running[first] = a
    running[first + 1] = b
    running[first + 2] = c
    running[first + 3] = d


@inlined
def _least_of_tangents(
    x, y, c, d, left_cost, left_slope, right_cost, right_slope, distances, slack
):
    """A lower bound of the cost of a side with these sums of pulls; without branches, for the sake of `bound`.

    Where the slope changes its sign towards the other value, the height at which the tangents at
    ``mu`` and there meet. Otherwise the minimum lies beyond that value, and the tangent there meets
    the cost of the limits that are violated already at ``mu`` and only get worse: never lower than
    the bound of the module's table. Sums of weights are differences: `slack` is more than their
    rounding.
    """
    # Violated lower limits of weight `c` pull up, so the side's own minimum lies right of mu if they
    # outweigh the upper ones. Then the tangent at the value on the right is the other one; by its
    # mirror image on the left, whose slope changes its sign, both cases are one formula.
    is_right = c > d
    cost = right_cost if is_right else left_cost
    slope = right_slope if is_right else -left_slope
    pull = abs(c - d)
    distance = distances[1] if is_right else distances[0]
    meets = slope > slack
    worse = max((d if is_right else c) - slack, 0.0)
    floor = (y if is_right else x) + worse * distance
    fall = slack - slope
    # Where both tangents meet, their height is the mean of their heights at mu, each weighted by the
    # slope of the other. With 6 and a pull of 2 at mu, cost 5 and slope 1 at a distance of 4 that is
    # (6 * 1 + (5 - 4) * 2) / 3 = 8/3, at z = 5/3: 6 - 2 * 5/3 = 5 - 1 * (4 - 5/3).
    total = (
        (x + y) * slope + pull * (cost - slope * distance) if meets else cost * worse + fall * floor
    )
    weight = slope + pull if meets else fall + worse
    return total / max(weight, TINY)


@inner
def bound(room, width, loss, distances, bounds):
    """Turn the sums in front of a block's entries into bounds."""
    sums = borrow(room.sums)
    t = borrow(room.totals)
    bounds = borrow(bounds)
    slack = loss.weight_slack
    t0 = t[0]
    t1 = t[1]
    t2 = t[2]
    t3 = t[3]
    t4 = t[4]
    t5 = t[5]
    t6 = t[6]
    t7 = t[7]
    if loss.code == SQUARED:
        for i in range(width):
            u = np.uint64(i)
            a = sums[0, u]
            b = sums[1, u]
            c = sums[2, u]
            d = sums[3, u]
            # The right side has what is left of the node's totals.
            after = hinge.least_squared(t0 - a, t1 - b, t2 - c, t3 - d)
            bounds[u] = hinge.least_squared(a, b, c, d) + after
    else:
        for i in range(width):
            u = np.uint64(i)
            a = sums[0, u]
            b = sums[1, u]
            c = sums[2, u]
            d = sums[3, u]
            e = sums[4, u]
            f = sums[5, u]
            g = sums[6, u]
            h = sums[7, u]
            before = _least_of_tangents(a, b, c, d, e, f, g, h, distances, slack)
            bounds[u] = before + _least_of_tangents(
                t0 - a, t1 - b, t2 - c, t3 - d, t4 - e, t5 - f, t6 - g, t7 - h, distances, slack
            )


@inner
def _bound_block(room, order, path, start, loss, distances, bounds):
    """Fill the bounds of the splits from a position on, infinity where there is none; returns how many, up to BLOCK."""
    bounds = borrow(bounds)
    width = min(BLOCK, path.last + 1 - start)
    # The rows of NaN are the last of the order and the first of such a path: a block ends between.
    if path.missing_left and start < path.n_missing:
        width = min(width, path.n_missing - start)  # the rows of a block are neighbours
    row = path_row(path, start)
    n_groups = 1 if loss.code == SQUARED else 2
    for group in range(n_groups):
        _add_up(room, order, row, width, group, n_groups)
    bound(room, width, loss, distances, bounds)
    for i in range(width):
        u = np.uint64(i)
        # No new value starts at an entry without the sign bit: there is no split.
        if order[np.uint64(row) + u] >= 0 or start + i < path.first:
            bounds[u] = np.inf
    return width


@inner
def screen(room, order, path, loss, distances, price):
    """Fill the bounds of a path; return it with only the splits from the first to the last that may cost less.

    If none may, or there is none, the first comes after the last.
    """
    order = borrow(order)
    room = borrow_screen(room)
    first = path.last + 1
    last = path.last
    start = np.int64(0)
    room.running[:] = 0.0
    while start <= path.last:
        bounds = room.bounds[start:]
        width = _bound_block(room, order, path, start, loss, distances, bounds)
        for i in range(width):
            # A bound that is NaN rules nothing out.
            if not bounds[np.uint64(i)] >= price:
                first, last = min(first, start + i), start + i
        start += width
    return Path(
        path.feature,
        path.start,
        path.stop,
        path.n_missing,
        path.missing_left,
        first,
        last,
        path.effect,
    )


@inner
def least_bound(room, order, path, loss, distances):
    """The least bound of a path, minus infinity if one is not a number; `room` need hold those of a block only."""
    order = borrow(order)
    room = borrow_screen(room)
    least = np.inf
    start = np.int64(0)
    room.running[:] = 0.0
    while start <= path.last:
        width = _bound_block(room, order, path, start, loss, distances, room.bounds)
        for i in range(width):
            own = room.bounds[np.uint64(i)]
            least = min(least, own if own == own else -np.inf)
        start += width
    return least
