"""The frontier: nodes that wait to be split, as a heap with the highest priority on top."""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import inner

PENDING_DTYPE = np.dtype(
    [
        ("node", np.int64),
        ("depth", np.int64),
        ("start", np.int64),
        ("stop", np.int64),
        ("limit_start", np.int64),
        ("limit_stop", np.int64),
        ("feature", np.int64),
        ("n_left", np.int64),
        ("missing_left", np.int64),
        ("left_centre", np.float64),
        ("right_centre", np.float64),
        ("low", np.float64),
        ("high", np.float64),
        ("seed", np.uint64),
    ],
    align=True,
)


class Frontier(NamedTuple):
    """The first `n_pending` of `slots` are a heap by `priority`; the slots behind them are free."""

    priority: np.ndarray
    slots: np.ndarray
    pending: np.ndarray


def make_frontier(max_leaves):
    """Room for as many nodes as a tree may have leaves."""
    return Frontier(
        np.empty(max_leaves), np.arange(max_leaves), np.empty(max_leaves, dtype=PENDING_DTYPE)
    )


@inner
def push(frontier, n_pending, priority):
    """Add a node; returns its slot in `pending`, to be filled by the caller."""
    keys = frontier.priority
    slots = frontier.slots
    place = n_pending
    slot = slots[n_pending]
    # Parents of lower priority move down; the new node is written once, where it stays.
    while place > 0:
        parent = (place - 1) >> 1
        if keys[parent] >= priority:
            break
        keys[place] = keys[parent]
        slots[place] = slots[parent]
        place = parent
    keys[place] = priority
    slots[place] = slot
    return slot


@inner
def pop(frontier, n_pending):
    """Take out the node of highest priority; its slot keeps its record until the next `push`."""
    keys = frontier.priority
    slots = frontier.slots
    last = n_pending - 1
    top = slots[0]
    priority = keys[last]
    slot = slots[last]
    place = 0
    child = 1
    while child < last:
        if child + 1 < last and keys[child + 1] > keys[child]:
            child += 1
        if priority >= keys[child]:
            break
        keys[place] = keys[child]
        slots[place] = slots[child]
        place = child
        child = 2 * child + 1
    keys[place] = priority
    slots[place] = slot
    slots[last] = top  # free again
    return top
