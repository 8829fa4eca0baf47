"""What a sweep reads of a sample, and the ranks of a node's limits."""

import numpy as np

from marginwood._core import hinge, rankset
from marginwood._core.hinge import LOWER, SQUARED
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inner, prefetch
from marginwood._core.rankset import FIRST

# Half a cache line; a rank of 0 means that there is no such limit.
SAMPLE_DTYPE = np.dtype(
    [
        ("lower_rank", np.int32),
        ("upper_rank", np.int32),
        ("lower", np.float64),
        ("upper", np.float64),
        ("weight", np.float64),
    ],
    align=True,
)

# Taking sums afresh moves the minimum at most once or twice, by the rounding of the first walk.
MAX_ROUNDS = 4


@inner
def put_sentinels(points, n_ranks):
    """Surround the ranks by limits at minus and plus infinity."""
    for i in range(2):
        points[i, 0], points[i, 1] = -np.inf, np.inf
        points[n_ranks + FIRST + i, 0], points[n_ranks + FIRST + i, 1] = np.inf, np.inf


@inner
def rank_limits(limits, breakpoints, samples, points, centre):
    """Number the limits of a node FIRST, FIRST + 1, ... in their samples, and list them by rank in `points`."""
    limits, breakpoints = borrow(limits), borrow(breakpoints)
    samples, points = borrow(samples), borrow(points)
    n_ranks = limits.shape[0]
    put_sentinels(points, n_ranks)
    for i in range(n_ranks):
        if i + PREFETCH_DISTANCE < n_ranks:
            prefetch(samples, np.int64(limits[i + PREFETCH_DISTANCE] >> 1))
        limit, rank = limits[i], i + FIRST
        sample = samples[limit >> 1]
        b, weight = breakpoints[i] - centre, sample["weight"]
        if limit & 1 == LOWER:
            sample["lower_rank"], sample["lower"] = rank, b
        else:
            sample["upper_rank"], sample["upper"] = rank, b
        points[rank, 0], points[rank, 1] = b, -weight if limit & 1 == LOWER else weight


@inner
def contested(limits):
    """Where the first upper limit is, and where the last lower one ends.

    A limit outside of this range is never active at the minimum of any part of the limits: left of the first upper
    limit no cost falls to the left, right of the last lower one none falls to the right. However far away it is, it
    must not count in tolerances. The range is empty if one value satisfies all.
    """
    first, last = 0, limits.shape[0]
    while first < limits.shape[0] and limits[first] & 1 == LOWER:
        first += 1
    while last > 0 and limits[last - 1] & 1 != LOWER:
        last -= 1
    return first, last


@inner
def minimise(limits, points, loss, ranks):
    """The minimum of all limits of a node; and the size of the sums in which a sweep keeps its costs.

    The sums of the minimum are taken afresh over the active limits, until that moves it no further: a cost of
    zero is then exactly zero, and the set of minimisers is the whole of it.
    """
    limits, points, ranks = borrow(limits), borrow(points), borrow(ranks)
    n_ranks = limits.shape[0]
    n_lower, weight, total, square, size = 0, 0.0, 0.0, 0.0, 0.0
    first, last = contested(limits)
    for i in range(first, last):
        b, step = points[i + FIRST, 0], hinge.step_of(points, loss, i + FIRST)
        size += abs(step * b * b if loss.code == SQUARED else step * b)
        if limits[i] & 1 == LOWER:
            n_lower += 1
            weight -= step
            total -= step * b
            square -= step * b * b if loss.code == SQUARED else 0.0
    rankset.reset(ranks, n_ranks)
    high = np.int64(first + FIRST if first < n_ranks else n_ranks + FIRST + 1)
    low = rankset.previous_rank(ranks, rankset.RIGHT, high)
    minimum = hinge.Minimum(low, high, n_lower, weight, total, square, 0.0, 0)
    moves = np.int64(0)
    for _ in range(MAX_ROUNDS):
        minimum = hinge.walk_apart(points, loss, ranks, rankset.RIGHT, minimum)
        if minimum.moves == moves:
            break
        low, high, n_active, weight, total, square, upper, moves = minimum
        weight, total, square, upper = 0.0, 0.0, 0.0, 0.0
        for i in range(n_ranks):
            is_lower = limits[i] & 1 == LOWER
            if (i + FIRST > low) == is_lower:
                b, own = points[i + FIRST, 0], hinge.step_of(points, loss, i + FIRST) * (-1 if is_lower else 1)
                own_upper = 0.0 if is_lower else own
                weight += own
                total += own * b
                square += own * b * b if loss.code == SQUARED else own_upper * b
                upper += own_upper
        minimum = hinge.Minimum(low, high, n_active, weight, total, square, upper, moves)
    low, high, n_active, weight, total, square, upper, moves = minimum
    return hinge.Minimum(low, high, n_active, weight, total, square, upper, 0), size
