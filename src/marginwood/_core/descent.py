"""Finding a minimum in O(log n), wherever it jumps: sums over ranks in Fenwick trees.

The squared hinge, and the linear hinge with weights, can make the pointer of `hinge.Minimum` cross all
pieces at every step. Here the coefficients of a piece are prefix sums: those left of every limit, plus the
steps over all limits up to a rank. A Fenwick tree finds the rank where the minimum lies by descent.

``sums[i]`` holds a node of the tree for (step, step * b, step * b**2), ``counts[i]`` for the numbers of lower and
upper limits; row 0 holds the coefficients and the number of lower limits left of every limit.
"""

import numpy as np

from marginwood._core import hinge, rankset
from marginwood._core.hinge import LINEAR, LOWER, UPPER, Minimum
from marginwood._core.jit import borrow, kernel


@kernel
def make_sums(n_ranks):
    """Sums and counts of no limits."""
    return np.zeros((n_ranks + 1, 3)), np.zeros((n_ranks + 1, 2), dtype=np.int32)


@kernel
def change(points, sums, counts, rank, kind, sign):
    """Add (sign 1) or take out (sign -1) the limit at `rank`; rank 0 is no limit."""
    if rank == 0:
        return
    points, sums, counts = borrow(points), borrow(sums), borrow(counts)
    b, step = points[rank, 0], points[rank, 1] * sign
    if kind == LOWER:
        sums[0, 0] -= step
        sums[0, 1] -= step * b
        sums[0, 2] -= step * b * b
        counts[0, LOWER] += sign
    node = np.int64(rank)
    while node < sums.shape[0]:
        sums[node, 0] += step
        sums[node, 1] += step * b
        sums[node, 2] += step * b * b
        counts[node, kind] += sign
        node += node & -node


@kernel
def locate(points, loss, members, sums, counts):
    """The minimum of the members, and how many of them lie left of it."""
    points, sums, counts = borrow(points), borrow(sums), borrow(counts)
    n_ranks = points.shape[0] - 2
    weight, total, square = sums[0, 0], sums[0, 1], sums[0, 2]
    n_lower, n_upper, rank = np.int64(0), np.int64(0), np.int64(0)
    width = 1
    while 2 * width <= n_ranks:
        width *= 2
    while width > 0:
        node = rank + width
        if node <= n_ranks:
            k, t = weight + sums[node, 0], total + sums[node, 1]
            lower, upper = n_lower + counts[node, LOWER], n_upper + counts[node, UPPER]
            if loss.code == LINEAR:
                left_of_minimum = k < -loss.slack
            else:
                n_active = counts[0, LOWER] - lower + upper
                all_lower_left = lower == counts[0, LOWER] and upper > 0
                slack = hinge.TOTAL_TOLERANCE * abs(t)
                left_of_minimum = n_active == 0 or (
                    not all_lower_left and t >= k * points[node, 0] - slack
                )
            if left_of_minimum:
                rank, weight, total, n_lower, n_upper = node, k, t, lower, upper
                square += sums[node, 2]
        width >>= 1
    high = rankset.next_member(members, rank)
    low = rankset.previous_member(members, rank + 1)
    n_active = counts[0, LOWER] - n_lower + n_upper
    moves = np.int64(0)
    found = hinge.walk(points, loss, members, low, high, n_active, weight, total, square, moves)
    n_left = n_lower + n_upper + (found.moves if found.rank > low else -found.moves)
    return found, n_left
