"""Groups: the samples of a node that share a category, and sequences of them.

Samples without a category, whose code is NaN, are a group like any other. An order of such a feature keeps groups
together, but in any sequence: only NaN comes last when a search is over.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import rankset
from marginwood._core.hinge import LOWER
from marginwood._core.jit import borrow, folded, inner
from marginwood._core.optimum import meet
from marginwood._core.order import N_BUCKETS, N_DIGITS, NEW_VALUE, SAMPLE_MASK, argsort
from marginwood._core.rankset import FIRST, N_SENTINELS
from marginwood._core.screen import GROUP

# All subsets of up to this many groups are tried.
FEW = 8
N_SUBSETS = 2 ** (FEW - 1)
# As many keys or fewer are sorted by insertion.
SHORT = 32


class Room(NamedTuple):
    """Room for the groups of one feature in a node.

    `group_of` is the group of each sample. `source` holds the samples of the node, `breakpoints` and `points` their
    limits, one group after the other. `starts` and `limit_starts` say where, with one entry more than there are groups.
    `sequence` lines the groups up; `chosen` are those on the left of the best split.
    """

    group_of: np.ndarray
    source: np.ndarray
    starts: np.ndarray
    limit_starts: np.ndarray
    breakpoints: np.ndarray
    points: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    words: np.ndarray
    spare_words: np.ndarray
    counts: np.ndarray
    sequence: np.ndarray
    chosen: np.ndarray
    proposed: np.ndarray
    sums: np.ndarray
    bounds: np.ndarray


def make_room(group_of, n_samples, n_limits, n_categories):
    """Room for features of up to this many categories; none if there are none."""
    if n_categories == 0:
        n_samples, n_limits = 0, 0
    n_groups = min(n_samples, n_categories + 1)
    keys = np.empty(n_groups, dtype=np.uint64)
    return Room(
        group_of=group_of,
        source=np.empty(n_samples, dtype=np.int32),
        starts=np.empty(n_groups + 1, dtype=np.int64),
        limit_starts=np.empty(n_groups + 1, dtype=np.int64),
        breakpoints=np.empty(n_limits),
        points=np.empty((n_limits + N_SENTINELS, 2)),
        keys=keys,
        values=keys.view(np.float64),
        words=np.empty(n_groups, dtype=np.uint64),
        spare_words=np.empty(n_groups, dtype=np.uint64),
        counts=np.empty((N_DIGITS, N_BUCKETS), dtype=np.int64),
        sequence=np.empty(n_groups, dtype=np.int64),
        chosen=np.empty(n_groups, dtype=np.uint8),
        proposed=np.empty(n_groups, dtype=np.uint8),
        sums=np.empty((2 * GROUP, N_SUBSETS)),
        bounds=np.empty(N_SUBSETS),
    )


@folded
def borrow_room(room):
    """The same without reference counting."""
    return Room(
        borrow(room.group_of), borrow(room.source), borrow(room.starts), borrow(room.limit_starts),
        borrow(room.breakpoints), borrow(room.points), borrow(room.keys), borrow(room.values),
        borrow(room.words), borrow(room.spare_words), borrow(room.counts), borrow(room.sequence),
        borrow(room.chosen), borrow(room.proposed), borrow(room.sums), borrow(room.bounds),
    )  # fmt: skip


@inner
def list_groups(room, order, start, stop):
    """Copy the samples of a node, number their groups as they come, and return how many there are."""
    source = borrow(room.source)
    group_of = borrow(room.group_of)
    starts = borrow(room.starts)
    order = borrow(order)
    n_groups = 0
    for i in range(start, stop):
        entry = order[i]
        if entry < 0 or i == start:
            starts[n_groups] = i - start
            n_groups += 1
        sample = entry & SAMPLE_MASK
        source[i - start] = sample
        group_of[sample] = n_groups - 1
    starts[n_groups] = stop - start
    return n_groups


@inner
def part_limits(room, n_groups, limits, breakpoints, samples):
    """Part the limits of a node by group; they stay in the order of their breakpoints."""
    group_of = borrow(room.group_of)
    ends = borrow(room.limit_starts)
    points = borrow(room.points)
    parted = borrow(room.breakpoints)
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    samples = borrow(samples)
    for group in range(n_groups + 1):
        ends[group] = 0
    for i in range(limits.shape[0]):
        ends[group_of[limits[i] >> 1] + 1] += 1
    for group in range(n_groups):
        ends[group + 1] += ends[group]
    for i in range(limits.shape[0]):
        group = group_of[limits[i] >> 1]
        at = ends[group]
        weight = samples[limits[i] >> 1]["weight"]
        parted[at] = breakpoints[i]
        points[at + FIRST, 1] = -weight if limits[i] & 1 == LOWER else weight
        ends[group] = at + 1
    for group in range(n_groups, 0, -1):
        ends[group] = ends[group - 1]
    ends[0] = 0


@inner
def line_up(room, n_groups, ranks, code):
    """Sort the groups by their minimisers; one without limits comes last."""
    keys = borrow(room.keys)
    values = borrow(room.values)
    words = borrow(room.words)
    sequence = borrow(room.sequence)
    ends = borrow(room.limit_starts)
    points = borrow(room.points)
    breakpoints = borrow(room.breakpoints)
    ranks = borrow(ranks)
    for group in range(n_groups):
        first, last = ends[group], ends[group + 1]
        rankset.reset(ranks, last - first)
        own = meet(breakpoints[first:last], points[first : last + N_SENTINELS], ranks, rankset.RIGHT, code, True)
        values[group] = own.value
        words[group] = np.uint64(group)
    if n_groups > SHORT:
        argsort(keys[:n_groups], words[:n_groups], room.spare_words[:n_groups], room.counts)
        for i in range(n_groups):
            sequence[i] = np.int64(words[i] & np.uint64(0xFFFFFFFF))
        return
    for i in range(n_groups):
        key = values[i]
        j = i
        while j > 0 and not values[sequence[j - 1]] <= key and key == key:
            sequence[j] = sequence[j - 1]
            j -= 1
        sequence[j] = i


@inner
def arrange(room, order, start, n_groups, is_left, side):
    """Write the groups on one side to the order from `start` on, as they are lined up; return where they end."""
    source = borrow(room.source)
    starts = borrow(room.starts)
    sequence = borrow(room.sequence)
    order = borrow(order)
    is_left = borrow(is_left)
    at = start
    for i in range(n_groups):
        group = sequence[i]
        if is_left[group] == side:
            for j in range(starts[group], starts[group + 1]):
                order[at] = source[j]
                at += 1
            order[at - (starts[group + 1] - starts[group])] |= NEW_VALUE
    return at


@inner
def divide(room, order, start, n_groups, is_left):
    """Put the groups that go left before the others; return how many samples they have."""
    middle = arrange(room, order, start, n_groups, is_left, np.uint8(1))
    arrange(room, order, middle, n_groups, is_left, np.uint8(0))
    return middle - start
