"""Finding a minimum in O(log n), wherever it jumps, and right to rounding whatever weights and breakpoints span.

The squared hinge, and the linear hinge with weights, can make the pointer of `hinge.Minimum` cross
all pieces at every step, and running sums lose light limits among heavy ones. Here the sums stand
in a binary tree over the ranks. A node holds the weight and the first and second moment of the
upper limits below it, around its last breakpoint, and those of the lower limits around its first
one. So the sums of two neighbours make those of their parent, and nothing is ever subtracted. The
two walks of `optimum` meet here, level by level.

A row of the tree: weight, first and second moment of upper limits, the same of lower ones, and the
number of limits. For the linear hinge the second moment gives way to what the weight has rounded
off.
"""

import numpy as np

from marginwood._core import rankset
from marginwood._core.hinge import LINEAR, UPPER, middle_of
from marginwood._core.jit import borrow, inlined, inner
from marginwood._core.optimum import Optimum, add_exactly, between, compare_weights
from marginwood._core.rankset import FIRST, N_SENTINELS

N_COLUMNS = 7
UPPERS = 0
LOWERS = 3
COUNT = 6


@inner
def make_sums(n_ranks):
    """The tree of no limits; row 1 is its root, and the leaves are the last half."""
    n_leaves = 1
    while n_leaves < n_ranks:
        n_leaves *= 2
    return np.zeros((2 * n_leaves, N_COLUMNS))


@inlined
def _breakpoint(points, leaf):
    """The breakpoint of a leaf; leaves beyond the ranks stay empty, at the last one."""
    return points[min(leaf, points.shape[0] - N_SENTINELS - 1) + FIRST, 0]


@inlined
def _join(code, near, far, h):
    """Weight and moments of two groups of limits around the point of the near one; that of the far one is `h` away."""
    if code == LINEAR:
        weight, rest = add_exactly(near[0], near[2] + far[2], far[0])
        return weight, near[1] + (far[1] + far[0] * h), rest
    return (
        near[0] + far[0],
        near[1] + (far[1] + far[0] * h),
        near[2] + (far[2] + (2 * far[1] + far[0] * h) * h),
    )


@inlined
def _group(sums, node, first):
    return sums[node, first], sums[node, first + 1], sums[node, first + 2]


@inner
def change(points, loss, sums, rank, kind, weight):
    """Put the limit at `rank` in with this weight; a weight of 0 takes it out."""
    points = borrow(points)
    sums = borrow(sums)
    n_leaves = sums.shape[0] >> 1
    node = n_leaves + rank - FIRST
    width = 1  # leaves below a child of the node that is computed
    sums[node, UPPERS if kind == UPPER else LOWERS] = weight
    sums[node, COUNT] = 1.0 if weight > 0 else 0.0
    while node > 1:
        node >>= 1
        start = node * 2 * width - n_leaves
        left = 2 * node
        right = 2 * node + 1
        middle = start + width
        h = _breakpoint(points, start + 2 * width - 1) - _breakpoint(points, middle - 1)
        group = _join(loss.code, _group(sums, right, UPPERS), _group(sums, left, UPPERS), h)
        sums[node, UPPERS], sums[node, UPPERS + 1], sums[node, UPPERS + 2] = group
        h = _breakpoint(points, middle) - _breakpoint(points, start)
        group = _join(loss.code, _group(sums, left, LOWERS), _group(sums, right, LOWERS), h)
        sums[node, LOWERS], sums[node, LOWERS + 1], sums[node, LOWERS + 2] = group
        sums[node, COUNT] = sums[left, COUNT] + sums[right, COUNT]
        width *= 2


@inlined
def _lies_right(code, upper, lower, gap):
    """Whether the minimum lies right of a point, given the upper limits up to it and the lower ones from `gap` on."""
    if code == LINEAR:
        return compare_weights(upper[0], upper[2], lower[0], lower[2]) < 0
    if lower[0] > 0:
        return upper[1] <= lower[1] + lower[0] * gap
    return upper[0] == 0


@inner
def locate(points, loss, ranks, side, sums):
    """The minimum of a side, and how many of its limits lie left of it."""
    points = borrow(points)
    sums = borrow(sums)
    ranks = borrow(ranks)
    code = loss.code
    n_ranks = points.shape[0] - N_SENTINELS
    n_leaves = sums.shape[0] >> 1
    if sums[1, COUNT] == 0:
        return Optimum(side, n_ranks + FIRST + side, np.nan, -np.inf, np.inf, 0.0), np.int64(0)
    # The upper limits left of the node that is looked at, around p; the lower limits right of it,
    # around q.
    upper = (0.0, 0.0, 0.0)
    p = _breakpoint(points, 0)
    lower = (0.0, 0.0, 0.0)
    q = _breakpoint(points, n_ranks - 1)
    node = 1
    start = 0
    width = n_leaves
    n_left = 0.0
    is_flat = False
    while node < n_leaves:
        width >>= 1
        left_end = _breakpoint(points, start + width - 1)
        right_start = _breakpoint(points, start + width)
        uppers = _join(code, _group(sums, 2 * node, UPPERS), upper, left_end - p)
        lowers = _join(code, _group(sums, 2 * node + 1, LOWERS), lower, q - right_start)
        node *= 2
        if _lies_right(code, uppers, lowers, right_start - left_end):
            upper = uppers
            p = left_end
            n_left += sums[node, COUNT]
            node += 1
            start += width
        else:
            lower = lowers
            q = right_start
    # The leaf itself: its limit belongs to the left if the minimum lies right of it.
    b = _breakpoint(points, start)
    uppers = _join(code, _group(sums, node, UPPERS), upper, b - p)
    if _lies_right(code, uppers, lower, q - b):
        upper = uppers
        p = b
        n_left += sums[node, COUNT]
        start += 1
    else:
        is_flat = code == LINEAR and compare_weights(uppers[0], uppers[2], lower[0], lower[2]) == 0
        lower = _join(code, _group(sums, node, LOWERS), lower, q - b)
        q = b
    at = min(start, n_ranks) + FIRST
    if code == LINEAR:
        best = _linear_optimum(points, ranks, side, at, (upper, p), (lower, q), is_flat)
        return best, np.int64(n_left + (lower[0] > 0))
    low, high = rankset.previous_rank(ranks, side, at), rankset.next_rank(ranks, side, at - 1)
    if upper[0] > 0 and lower[0] > 0:
        value, cost = between((*upper, p), (*lower, q))
        return Optimum(low, high, value, value, value, cost), np.int64(n_left)
    begin, end = points[low, 0], points[high, 0]
    return Optimum(low, high, middle_of(begin, end), begin, end, 0.0), np.int64(n_left)


@inlined
def _linear_optimum(points, ranks, side, at, left, right, is_flat):
    """The minimum at the first limit from rank `at` on; where no lower limit is left there is none at all."""
    upper, p = left
    lower, q = right
    rank = rankset.next_rank(ranks, side, at - 1)
    b = points[rank, 0]
    if lower[0] == 0:
        return Optimum(rankset.previous_rank(ranks, side, at), rank, b, -np.inf, b, 0.0)
    following = rankset.next_rank(ranks, side, rank)
    end = points[following, 0] if is_flat else b
    cost = (upper[1] + upper[0] * (b - p)) + (lower[1] + lower[0] * (q - b))
    return Optimum(rank, following, middle_of(b, end), b, end, cost)
