"""What a sweep reads of a sample, and the ranks of a node's limits."""

import numpy as np

from marginwood._core import hinge, rankset
from marginwood._core.hinge import LOWER, SQUARED
from marginwood._core.jit import borrow, kernel

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


@kernel
def rank_limits(limits, breakpoints, samples, points, centre, loss):
    """Number the limits of a node 1, 2, ... in their samples, and list them by rank in `points`."""
    limits, breakpoints = borrow(limits), borrow(breakpoints)
    samples, points = borrow(samples), borrow(points)
    n_ranks = limits.shape[0]
    points[0, 0], points[0, 1] = -np.inf, np.inf
    points[n_ranks + 1, 0], points[n_ranks + 1, 1] = np.inf, np.inf
    for i in range(n_ranks):
        limit, rank = limits[i], i + 1
        sample = samples[limit >> 1]
        b, step = breakpoints[limit] - centre, sample["weight"]
        if limit & 1 == LOWER:
            sample["lower_rank"], sample["lower"] = rank, b
            step = -step if loss.code == SQUARED else step
        else:
            sample["upper_rank"], sample["upper"] = rank, b
        points[rank, 0], points[rank, 1] = b, step


@kernel
def minimise(limits, points, loss, members):
    """The minimum of all limits of a node; and the size of the sums in which a sweep keeps its costs.

    The sums of the minimum are taken afresh over the active limits, so that a cost of zero is exactly zero.
    """
    limits, points, members = borrow(limits), borrow(points), borrow(members)
    n_lower, weight, total, square, size = np.int64(0), 0.0, 0.0, 0.0, 0.0
    for i in range(limits.shape[0]):
        b, step = points[i + 1, 0], points[i + 1, 1]
        size += abs(step * b * b if loss.code == SQUARED else step * b)
        if limits[i] & 1 == LOWER:
            n_lower += 1
            weight -= step
            total -= step * b
            square -= step * b * b
    rankset.fill(members, limits.shape[0])
    low, moves = np.int64(0), np.int64(0)
    rough = hinge.walk(points, loss, members, low, low + 1, n_lower, weight, total, square, moves)
    weight, total, square = 0.0, 0.0, 0.0
    for i in range(limits.shape[0]):
        is_lower = limits[i] & 1 == LOWER
        if (i + 1 > rough.rank) == is_lower:
            b, own = points[i + 1, 0], -points[i + 1, 1] if is_lower else points[i + 1, 1]
            weight += own
            total += own * b
            square += own * b * b
    low, high, n_active = rough.rank, rough.next_rank, rough.n_active
    return hinge.Minimum(low, high, n_active, weight, total, square, moves), size
