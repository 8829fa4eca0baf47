"""Subsets: the categories that the splits of a tree send left."""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import borrow, inlined, kernel, trailing_zeros
from marginwood._core.nodes import LEAF
from marginwood._core.order import SAMPLE_MASK


class Subsets(NamedTuple):
    """The categories that go left at each split of categories, whose threshold is the number of its subset.

    Subset j holds the codes from ``offsets[j]`` to ``offsets[j + 1]``, ascending. All other
    categories go right, and NaN goes where missing values go. `n_categories` of a feature are 0 if
    it holds numbers.
    """

    n_categories: np.ndarray
    offsets: np.ndarray
    codes: np.ndarray


@inlined
def borrow_subsets(subsets):
    """The same without reference counting; None stays None."""
    if subsets is None:
        return None
    return Subsets(borrow(subsets.n_categories), borrow(subsets.offsets), borrow(subsets.codes))


@inlined
def _is_of_categories(subsets, at):
    return subsets.n_categories[at["feature"]] > 0


@inlined
def _is_listed(subsets, number, code):
    """Whether a subset holds a code; NaN is in none."""
    start = subsets.offsets[number]
    stop = end = subsets.offsets[number + 1]
    while start < stop:
        middle = (start + stop) >> 1
        if subsets.codes[middle] < code:
            start = middle + 1
        else:
            stop = middle
    return start < end and subsets.codes[start] == code


@inlined
def goes_left(at, value, subsets):
    """Whether a split, a row of a node table, sends a value left; of a leaf the answer means nothing."""
    is_left = (value <= at["threshold"]) | ((value != value) & (at["missing_go_to_left"] != 0))
    if (
        subsets is not None
        and at["children_left"] != LEAF
        and value == value
        and _is_of_categories(subsets, at)
    ):
        is_left = _is_listed(subsets, np.int64(at["threshold"]), value)
    return is_left


def list_subsets(nodes, X, orders, n_categories):
    """Read off the orders of a complete tree which categories its splits send left; fills thresholds."""
    n_samples = orders.shape[1]
    # The left side has fewer samples, so that a sample is in the subsets of no more splits than it
    # can be halved.
    codes = np.empty(n_samples * max(int(n_samples).bit_length(), 1), dtype=np.int32)
    offsets = np.empty(len(nodes) // 2 + 1, dtype=np.int64)
    n_subsets = _list_subsets(nodes, X, orders, n_categories, offsets, codes)
    return Subsets(
        n_categories, offsets[: n_subsets + 1].copy(), codes[: offsets[n_subsets]].copy()
    )


@kernel
def _list_subsets(nodes, X, orders, n_categories, offsets, codes):
    nodes = borrow(nodes)
    X = borrow(X)
    orders = borrow(orders)
    codes = borrow(codes)
    starts = np.zeros(nodes.shape[0], dtype=np.int64)
    words = np.zeros((n_categories.max() >> 6) + 1, dtype=np.uint64)
    n_subsets = 0
    n_codes = np.int64(0)
    offsets[0] = 0
    for node in range(nodes.shape[0]):
        left, right = nodes[node]["children_left"], nodes[node]["children_right"]
        feature = nodes[node]["feature"]
        if left == LEAF:
            continue
        start, stop = starts[node], starts[node] + nodes[left]["n_node_samples"]
        starts[left], starts[right] = start, stop
        if n_categories[feature] == 0:
            continue
        first, last = words.shape[0], -1
        for i in range(start, stop):
            code = X[orders[feature, i] & SAMPLE_MASK, feature]
            if code == code:
                word = np.int64(code) >> 6
                words[word] |= np.uint64(1) << np.uint64(np.int64(code) & 63)
                first, last = min(first, word), max(last, word)
        for word in range(first, last + 1):
            while words[word] != 0:
                codes[n_codes] = 64 * word + trailing_zeros(words[word])
                words[word] &= words[word] - np.uint64(1)
                n_codes += 1
        nodes[node]["threshold"] = n_subsets
        n_subsets += 1
        offsets[n_subsets] = n_codes
    return n_subsets
