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
from marginwood._core.jit import borrow, inlined, inner
from marginwood._core.rankset import FIRST


@inner
def make_sums(n_ranks):
    """Sums and counts of no limits."""
    return np.zeros((n_ranks + 1, 3)), np.zeros((n_ranks + 1, 2), dtype=np.int32)


@inner
def change(points, loss, sums, counts, rank, kind, sign):
    """Add (sign 1) or take out (sign -1) the limit at `rank`.

    The sums of a limit that is never active cancel; far away they must not be so large that others drown in them.
    """
    points, sums, counts = borrow(points), borrow(sums), borrow(counts)
    b, step = min(max(points[rank, 0], -loss.reach), loss.reach), hinge.step_of(points, loss, rank) * sign
    if kind == LOWER:
        sums[0, 0] -= step
        sums[0, 1] -= step * b
        sums[0, 2] -= step * b * b
        counts[0, LOWER] += sign
    node = rank - FIRST + 1
    while node < sums.shape[0]:
        sums[node, 0] += step
        sums[node, 1] += step * b
        sums[node, 2] += step * b * b
        counts[node, kind] += sign
        node += node & -node


@inlined
def _is_left_of_minimum(loss, b, weight, total, n_right_lower, n_upper):
    """Whether the minimum lies right of the breakpoint `b`, given the piece that starts there.

    For the squared hinge it does as long as `hinge.walk` would step on.
    """
    if loss.code == LINEAR:
        return weight < -loss.weight_slack
    if n_right_lower == 0:
        return n_upper == 0
    return total >= weight * b - loss.total_slack


@inner
def locate(points, loss, ranks, side, sums, counts):
    """The minimum of a side, and how many of its limits lie left of it."""
    points, sums, counts, ranks = borrow(points), borrow(sums), borrow(counts), borrow(ranks)
    weight, total, square = sums[0, 0], sums[0, 1], sums[0, 2]
    n_lower, n_upper, at = np.int64(0), np.int64(0), np.int64(0)
    width = 1
    while 2 * width < sums.shape[0]:
        width *= 2
    while width > 0:
        node = at + width
        width >>= 1
        if node >= sums.shape[0]:
            continue
        k, t = weight + sums[node, 0], total + sums[node, 1]
        lower, upper = n_lower + counts[node, LOWER], n_upper + counts[node, UPPER]
        if _is_left_of_minimum(loss, points[node + FIRST - 1, 0], k, t, counts[0, LOWER] - lower, upper):
            at, weight, total, n_lower, n_upper = node, k, t, lower, upper
            square += sums[node, 2]
    low = rankset.previous_rank(ranks, side, at + FIRST)
    high = rankset.next_rank(ranks, side, at + FIRST - 1)
    n_active = counts[0, LOWER] - n_lower + n_upper
    start = Minimum(low, high, n_active, weight, total, square, 0.0, 0)  # `upper` serves bounds only
    found = hinge.walk_apart(points, loss, ranks, side, start)
    return found, n_lower + n_upper + (found.moves if found.low > low else -found.moves)
