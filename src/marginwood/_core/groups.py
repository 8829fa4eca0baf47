"""Groups: the samples of a node that share a category, and sequences of them.

Samples without a category, whose code is NaN, are a group like any other. An order of such a feature keeps groups
together, but in any sequence: only NaN comes last when a search is over.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.hinge import SQUARED, TINY
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inlined, inner, prefetch
from marginwood._core.order import LOW_HALF, N_BUCKETS, N_DIGITS, NEW_VALUE, SAMPLE_MASK, argsort
from marginwood._core.screen import GROUP

# All subsets of up to this many groups are tried.
FEW = 8
N_SUBSETS = 2 ** (FEW - 1)
# As many keys or fewer are sorted by insertion.
SHORT = 32


class GroupRoom(NamedTuple):
    """Room for the groups of one feature in a node.

    `starts` says where groups start in the order of the feature, counted from the start of the node, with one entry
    more than there are groups; `sums` are their pulls. `sequence` lines them up, and `arranged` holds samples as a
    sweep is to meet them. `bounds` are those of the splits in front of each group, or of all subsets of few, whose
    pulls are `subset_sums`. `chosen` are the groups on the left of the best split.
    """

    arranged: np.ndarray
    starts: np.ndarray
    sums: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    words: np.ndarray
    spare_words: np.ndarray
    counts: np.ndarray
    sequence: np.ndarray
    chosen: np.ndarray
    proposed: np.ndarray
    subset_sums: np.ndarray
    bounds: np.ndarray


def make_room(n_samples, n_categories):
    """Room for features of up to this many categories; None if there are none."""
    if n_categories == 0:
        return None
    n_groups = min(n_samples, n_categories + 1)
    keys = np.empty(n_groups, dtype=np.uint64)
    return GroupRoom(
        arranged=np.empty(n_samples, dtype=np.int32),
        starts=np.empty(n_groups + 1, dtype=np.int64),
        sums=np.empty((n_groups, 2 * GROUP)),
        keys=keys,
        values=keys.view(np.float64),
        words=np.empty(n_groups, dtype=np.uint64),
        spare_words=np.empty(n_groups, dtype=np.uint64),
        counts=np.empty((N_DIGITS, N_BUCKETS), dtype=np.int64),
        sequence=np.empty(n_groups, dtype=np.int64),
        chosen=np.empty(n_groups, dtype=np.uint8),
        proposed=np.empty(n_groups, dtype=np.uint8),
        subset_sums=np.empty((2 * GROUP, N_SUBSETS)),
        bounds=np.empty(max(n_groups, N_SUBSETS)),
    )


@inlined
def borrow_room(room):
    """The same without reference counting; None stays None."""
    if room is None:
        return None
    return GroupRoom(
        borrow(room.arranged), borrow(room.starts), borrow(room.sums), borrow(room.keys), borrow(room.values),
        borrow(room.words), borrow(room.spare_words), borrow(room.counts), borrow(room.sequence),
        borrow(room.chosen), borrow(room.proposed), borrow(room.subset_sums), borrow(room.bounds),
    )  # fmt: skip


@inner
def list_groups(room, pulls, order, start, stop, code):
    """Number the groups of a node as they come and add up their pulls; returns how many there are."""
    starts = borrow(room.starts)
    sums = borrow(room.sums)
    pulls = borrow(pulls)
    order = borrow(order)
    n_parts = 1 if code == SQUARED else 2
    n_groups = 0
    starts[0] = 0
    for part in range(n_parts):
        first = GROUP * part
        group = -1
        a = 0.0
        b = 0.0
        c = 0.0
        d = 0.0
        for i in range(start, stop):
            # Sums are begun afresh by a factor and written at every sample: groups may be small, and the end of one
            # cannot be foreseen.
            is_new = order[i] < 0 or i == start
            kept = 0.0 if is_new else 1.0
            group += is_new
            if part == 0:
                ahead = np.int64(order[min(i + PREFETCH_DISTANCE, stop - 1)] & SAMPLE_MASK)
                prefetch(pulls, ahead * n_parts * GROUP)
            at = np.uint64(order[i] & SAMPLE_MASK) * np.uint64(n_parts) + np.uint64(part)
            a = a * kept + pulls[at, 0]
            b = b * kept + pulls[at, 1]
            c = c * kept + pulls[at, 2]
            d = d * kept + pulls[at, 3]
            own = np.uint64(group)
            sums[own, first] = a
            sums[own, first + 1] = b
            sums[own, first + 2] = c
            sums[own, first + 3] = d
            starts[np.uint64(group + 1)] = i + 1 - start
        n_groups = group + 1
    return n_groups


@inner
def line_up(room, n_groups, code):
    """Sort the groups by how far their minimisers lie right of the node's, as their pulls tell."""
    keys = borrow(room.keys)
    values = borrow(room.values)
    words = borrow(room.words)
    sequence = borrow(room.sequence)
    sums = borrow(room.sums)
    for group in range(n_groups):
        lower = max(sums[group, 2], TINY)
        upper = max(sums[group, 3], TINY)
        if code == SQUARED:
            values[group] = sums[group, 1] / (lower + upper)  # Newton's step
        elif lower > upper:
            # On the way to the minimiser the violated lower limits fall to the weight of the upper ones: a share of
            # them is passed, and their mean distance is the scale of that way.
            values[group] = sums[group, 0] / lower * ((lower - upper) / lower)
        else:
            values[group] = sums[group, 1] / upper * ((lower - upper) / upper)
        words[group] = np.uint64(group)
    if n_groups > SHORT:
        in_order, _ = argsort(keys[:n_groups], words[:n_groups], room.spare_words[:n_groups], room.counts)
        for i in range(n_groups):
            sequence[i] = np.int64(in_order[i] & LOW_HALF)
        return
    for i in range(n_groups):
        key = values[i]
        j = i
        while j > 0 and values[sequence[j - 1]] > key:
            sequence[j] = sequence[j - 1]
            j -= 1
        sequence[j] = i


@inner
def gather(room, order, start, n_groups, is_left, side, at):
    """Write the groups on one side to `arranged` from `at` on, as they are lined up; return where they end."""
    arranged = borrow(room.arranged)
    starts = borrow(room.starts)
    sequence = borrow(room.sequence)
    order = borrow(order)
    is_left = borrow(is_left)
    for i in range(n_groups):
        group = sequence[i]
        if is_left[group] == side:
            first = at
            for j in range(start + starts[group], start + starts[group + 1]):
                arranged[at] = order[j] & SAMPLE_MASK
                at += 1
            arranged[first] |= NEW_VALUE
    return at


@inner
def put_back(room, order, start, stop):
    """Replace the order of a node by the one that is arranged."""
    arranged = borrow(room.arranged)
    order = borrow(order)
    for i in range(start, stop):
        order[i] = arranged[i - start]
