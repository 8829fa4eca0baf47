"""Carrying out a split: stable partitions of a node's stretches of the limits and of every order.

Indices are unsigned here: nothing is compiled that looks for one from the end, which takes half of
the time.
"""

import numpy as np

from marginwood._core.jit import borrow, inner
from marginwood._core.order import NOTHING, ONE, SAMPLE_MASK
from marginwood._core.split import path_row


@inner
def mark(order, path, n_left, goes_left, weights):
    """Mark the samples that go left, the first `n_left` of the path; return the weights of both sides."""
    order = borrow(order)
    goes_left = borrow(goes_left)
    weights = borrow(weights)
    left_weight, right_weight = 0.0, 0.0
    for position in range(path.stop - path.start):
        sample = order[path_row(path, position)] & SAMPLE_MASK
        is_left = position < n_left
        goes_left[sample] = is_left
        left_weight += weights[sample] if is_left else 0.0
        right_weight += 0.0 if is_left else weights[sample]
    return left_weight, right_weight


@inner
def partition_limits(limits, breakpoints, stretch, goes_left, spare_limits, spare_breakpoints):
    """Move the limits of samples that go left to the front; return where the others start."""
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    goes_left = borrow(goes_left)
    spare_limits = borrow(spare_limits)
    spare_breakpoints = borrow(spare_breakpoints)
    left = np.uint64(stretch[0])
    n_right = np.uint64(0)
    for i in range(np.uint64(stretch[0]), np.uint64(stretch[1])):
        limit = limits[i]
        b = breakpoints[i]
        is_left = np.uint64(goes_left[np.uint64(limit >> 1)])
        limits[left] = limit
        breakpoints[left] = b
        spare_limits[n_right] = limit
        spare_breakpoints[n_right] = b
        left += is_left
        n_right += ONE - is_left
    for i in range(n_right):
        limits[left + np.uint64(i)] = spare_limits[i]
        breakpoints[left + np.uint64(i)] = spare_breakpoints[i]
    return np.int64(left)


@inner
def partition_orders(orders, start, stop, goes_left, spare):
    """The same for every feature's order.

    An entry starts a new value on its side if any entry since the last one of that side did.
    """
    orders = borrow(orders)
    goes_left = borrow(goes_left)
    spare = borrow(spare)
    for feature in range(orders.shape[0]):
        order = orders[feature]
        left = np.uint64(start)
        n_right = np.uint64(0)
        new_left, new_right = NOTHING, NOTHING
        for i in range(np.uint64(start), np.uint64(stop)):
            entry = order[i]
            sample = entry & SAMPLE_MASK
            new = entry & ~SAMPLE_MASK
            is_left = np.uint64(goes_left[np.uint64(sample)])
            # A boundary between two values stands on both sides until an entry of that side takes
            # it over.
            new_left |= new
            new_right |= new
            order[left] = sample | new_left
            spare[n_right] = sample | new_right
            left += is_left
            n_right += ONE - is_left
            new_left = NOTHING if is_left else new_left
            new_right = new_right if is_left else NOTHING
        for i in range(n_right):
            order[left + np.uint64(i)] = spare[i]
