"""One sweep of a node along one feature, and the best split of a node.

A sweep walks the node's samples in the order of a feature. Every sample leaves the right side and
enters the left side; at every boundary the sum of both sides' costs is the price of splitting
there. The minima of both sides are looked for only where a lower bound of that price is less than
the best price so far.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import descent, hinge, rankset
from marginwood._core.jit import PREFETCH_DISTANCE, Constant, borrow, inlined, inner, prefetch
from marginwood._core.order import SAMPLE_MASK

# A sweep that walks further than this many pieces per limit is done again by descent.
MOVES_PER_LIMIT = 8

# How the splits of a node are priced. Descent does what a walking sweep cannot; that is seldom, and
# compiled apart.
WALKING, DESCENDING = Constant(0, "sweeps"), Constant(1, "descent")


class Effect(NamedTuple):
    """What a feature must do to the prediction: 1 to raise it, -1 to lower it, 0 for anything.

    Unless it is 0, the values of both sides must lie between `low` and `high`, too.
    """

    sign: int
    low: float
    high: float


class Path(NamedTuple):
    """The samples of a sweep: rows start..stop of a feature's order, of which the last n_missing hold NaN.

    With `missing_left` the missing ones come first, otherwise last. A split may lie in front of the
    positions `first` to `last`.
    """

    feature: int
    start: int
    stop: int
    n_missing: int
    missing_left: int
    first: int
    last: int
    effect: Effect


class Split(NamedTuple):
    """A split that sends the first `n_left` samples of a path left; ``n_left == 0`` means none.

    The values are minimisers of both sides, any of them if there are many.
    """

    cost: float
    feature: int
    n_left: int
    missing_left: int
    left_value: float
    right_value: float


@inlined
def path_row(path, position):
    """Row of the order that holds the sample at a position of the path."""
    row = path.start + position
    if path.missing_left:
        row += path.stop - path.start - path.n_missing
        if row >= path.stop:
            row -= path.stop - path.start
    return row


@inlined
def make_path(feature, start, stop, n_missing, missing_left, min_samples_leaf, effect):
    """All samples of a node, with as many on either side as a leaf must have, and a number besides any missing ones."""
    # Missing samples that come first do not make a left side by themselves: that split, NaN against
    # all numbers, is the last one of the path on which they come last.
    first = max(min_samples_leaf, n_missing + 1 if missing_left else 1)
    return Path(
        feature,
        start,
        stop,
        n_missing,
        missing_left,
        first,
        stop - start - min_samples_leaf,
        effect,
    )


@inlined
def free():
    """The effect of a feature that may do anything."""
    return Effect(np.int64(0), -np.inf, np.inf)


@inlined
def is_allowed(effect, left, right):
    """Whether the values of two sides have the effect."""
    # Of a node below a monotone split the values are bounded, whichever feature is split next: a
    # child must not step over the other side of that split.
    within = effect.low <= min(left, right) and max(left, right) <= effect.high
    return effect.sign == 0 or (within and effect.sign * (right - left) >= 0)


@inner
def sweep(order, samples, ranks, points, loss, full, path, bounds, best, tolerance):
    """The better of `best` and the splits of one feature; and whether the walking budget held."""
    order = borrow(order)
    samples = borrow(samples)
    ranks = borrow(ranks)
    points = borrow(points)
    bounds = borrow(bounds)
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    # All samples are on the right at first, so the right minimum is that of the node. The left one
    # starts at the same rank: its own minimum will not be far, and a pointer walks from where it is.
    before, after = hinge.leave(hinge.empty_minimum(n_ranks), full.low), full
    cost = best.cost
    n_left = 0
    left_value, right_value = 0.0, 0.0
    row = path_row(path, np.int64(0))
    for position in range(path.last + 1):
        entry = order[np.uint64(row)]
        if row + PREFETCH_DISTANCE < path.stop:
            prefetch(samples, np.int64(order[np.uint64(row + PREFETCH_DISTANCE)] & SAMPLE_MASK))
        row = row + 1 if row + 1 < path.stop else path.start
        # Written as "not more" so that a bound that is NaN, which says nothing, leaves a candidate. The
        # first bound was found for the best split of earlier features; `cost` may have fallen since.
        is_candidate = (
            position >= path.first and not bounds[np.uint64(position)] >= cost - tolerance
        )
        if is_candidate:
            # The same kind of bound where the pointers are now, which is nearer than the node's minimum.
            is_candidate = (
                hinge.bound_of(points, loss, before) + hinge.bound_of(points, loss, after)
                < cost - tolerance
            )
        if is_candidate:
            before = hinge.settle(points, loss, ranks, rankset.LEFT, before)
            after = hinge.settle(points, loss, ranks, rankset.RIGHT, after)
            # Walks of a few pieces per limit leave the sweep linear; 64 more are for nodes of few limits.
            if before.moves + after.moves > MOVES_PER_LIMIT * n_ranks + 64:
                return best, False
            left_cost = hinge.cost_of(points, loss, before)
            if left_cost >= cost - tolerance:
                break  # it only grows from here on
            price = left_cost + hinge.cost_of(points, loss, after)
            if price < cost - tolerance:
                # The price stands for the minimisers. With an effect they may be any point of the flat pieces:
                # the two that lie nearest to each other decide whether the split is allowed.
                left = hinge.value_of(points, loss, before)
                right = hinge.value_of(points, loss, after)
                if path.effect.sign != 0:
                    left = hinge.nearest_of(points, loss, before, path.effect)
                    right = hinge.nearest_of(points, loss, after, path.effect)
                if is_allowed(path.effect, left, right):
                    cost = price
                    n_left = position
                    left_value, right_value = left, right
            before, after = hinge.leave(before, full.low), hinge.leave(after, full.low)
        # The sample changes sides: what the left gains at the breakpoint `b` the right loses there.
        # A lower limit that is not there has rank 0, an upper one that of the sentinel above:
        # neither is ever active, and a step of 0 is added.
        sample = samples[np.uint64(entry & SAMPLE_MASK)]
        weight = hinge.priced(loss.code, loss.prices, hinge.LOWER, sample["weight"])
        rank = np.int64(sample["lower_rank"])
        b = sample["lower"]
        rankset.move_left(ranks, rank)
        before = hinge.add(loss, before, rank, hinge.LOWER, b, weight)
        after = hinge.take(loss, after, rank, hinge.LOWER, b, weight)
        weight = hinge.priced(loss.code, loss.prices, hinge.UPPER, sample["weight"])
        rank = np.int64(sample["upper_rank"])
        b = sample["upper"]
        rank = rank if rank > 0 else n_ranks + rankset.FIRST
        rankset.move_left(ranks, rank)
        before = hinge.add(loss, before, rank, hinge.UPPER, b, weight)
        after = hinge.take(loss, after, rank, hinge.UPPER, b, weight)
    if n_left > 0:
        best = Split(cost, path.feature, n_left, path.missing_left, left_value, right_value)
    return best, True


@inner
def sweep_by_descent(order, samples, ranks, points, loss, path, best, tolerance):
    """The same as `sweep` in O(n log n), wherever the minimum goes and whatever the weights span."""
    order = borrow(order)
    samples = borrow(samples)
    ranks = borrow(ranks)
    points = borrow(points)
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    left_sums, right_sums = descent.make_sums(n_ranks), descent.make_sums(n_ranks)
    # All limits are on the right. A weight's sign is its kind: upper limits have positive ones.
    for rank in range(rankset.FIRST, n_ranks + rankset.FIRST):
        signed = points[rank, 1]
        descent.change(points, loss, right_sums, rank, np.int64(signed > 0), abs(signed))
    for position in range(path.last + 1):
        entry = order[path_row(path, position)]
        # The sign bit of an entry: a new value of the feature starts here, so one may split in front.
        if entry < 0 and position >= path.first:
            before, _ = descent.locate(points, loss, ranks, rankset.LEFT, left_sums)
            after, _ = descent.locate(points, loss, ranks, rankset.RIGHT, right_sums)
            price = before.cost + after.cost
            if price < best.cost - tolerance:
                left, right = before.value, after.value
                if path.effect.sign != 0:
                    left = hinge.nearest(left, before.low, before.high, path.effect)
                    right = hinge.nearest(right, after.low, after.high, path.effect)
                if is_allowed(path.effect, left, right):
                    best = Split(price, path.feature, position, path.missing_left, left, right)
        sample = samples[entry & SAMPLE_MASK]
        rank = np.int64(sample["lower_rank"])
        for kind in range(2):
            if rank > 0:
                weight = hinge.priced(loss.code, loss.prices, kind, sample["weight"])
                rankset.move_left(ranks, rank)
                descent.change(points, loss, left_sums, rank, kind, weight)
                descent.change(points, loss, right_sums, rank, kind, 0.0)
            rank = np.int64(sample["upper_rank"])
    return best
