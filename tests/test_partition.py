"""Stable partitions of orders and limits against naive ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core import partition
from marginwood._core.jit import kernel
from marginwood._core.order import NEW_VALUE, SAMPLE_MASK, sort_features
from marginwood._core.split import Effect, Path


@kernel
def mark(order, path, n_left, goes_left, weights):
    return partition.mark(order, path, n_left, goes_left, weights)


@kernel
def partition_limits(limits, breakpoints, stretch, goes_left, spare_limits, spare_breakpoints):
    return partition.partition_limits(
        limits, breakpoints, stretch, goes_left, spare_limits, spare_breakpoints
    )


@kernel
def partition_orders(orders, start, stop, goes_left, spare):
    partition.partition_orders(orders, start, stop, goes_left, spare)


def flagged(samples, column):
    """Samples of one node, in order, with a flag at each first one of a value."""
    values = column[samples]
    is_new = np.append(True, values[1:] != values[:-1])[: len(samples)]
    is_new[1:] &= ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return np.where(is_new, samples | NEW_VALUE, samples)


@st.composite
def nodes_to_divide(draw):
    """Features with ties and NaN, a node in the middle of the orders, and who goes left."""
    n = draw(st.integers(2, 16))
    values = st.sampled_from([-1.0, 0.0, 1.0, 2.0, np.inf, np.nan])
    X = np.array(draw(st.lists(values, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    goes_left = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.uint8)
    return X, goes_left


@given(nodes_to_divide())
def test_an_order_keeps_its_order_on_each_side_and_flags_the_first_of_every_value(node):
    X, goes_left = node
    orders = sort_features(X)
    n = len(X)
    before = orders & SAMPLE_MASK
    partition_orders(orders, 0, n, goes_left, np.full(n, -7, dtype=np.int32))
    for order, samples, column in zip(orders, before, X.T, strict=True):
        is_left = goes_left[samples] == 1
        expected = [flagged(samples[is_left], column), flagged(samples[~is_left], column)]
        np.testing.assert_array_equal(order, np.concatenate(expected))


@given(nodes_to_divide(), st.data())
def test_a_second_split_flags_values_as_if_the_child_had_been_sorted(node, data):
    X, goes_left = node
    orders = sort_features(X)
    n, n_left = len(X), int(goes_left.sum())
    spare = np.full(n, -7, dtype=np.int32)
    partition_orders(orders, 0, n, goes_left, spare)
    rest = orders[:, n_left:].copy()
    again = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.uint8)
    partition_orders(orders, 0, n_left, again, spare)
    for order, samples, column in zip(
        orders, np.argsort(X, axis=0, kind="stable").T, X.T, strict=True
    ):
        samples = samples[goes_left[samples] == 1]
        is_left = again[samples] == 1
        expected = [flagged(samples[is_left], column), flagged(samples[~is_left], column)]
        np.testing.assert_array_equal(order[:n_left], np.concatenate(expected))
    np.testing.assert_array_equal(orders[:, n_left:], rest)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 3), st.integers(0, 3))
def test_limits_and_breakpoints_move_together_and_leave_other_nodes_alone(sides, before, after):
    goes_left = np.array(sides, dtype=np.uint8)
    samples = np.repeat(np.arange(len(sides)), 2)
    node = (2 * samples + np.tile([1, 0], len(sides))).astype(np.int32)
    limits = np.concatenate([np.full(before, -1), node, np.full(after, -2)]).astype(np.int32)
    breakpoints = np.arange(len(limits), dtype=float)
    is_left = np.concatenate(
        [np.full(before, True), goes_left[samples] == 1, np.full(after, False)]
    )
    order = np.argsort(~is_left, kind="stable")
    expected_limits, expected_breakpoints = limits[order], breakpoints[order]
    stretch = before, before + len(node)
    spare = np.full(len(limits), -7, dtype=np.int32)
    middle = partition_limits(
        limits, breakpoints, stretch, goes_left, spare, np.full(len(limits), np.nan)
    )
    assert middle == is_left.sum()
    np.testing.assert_array_equal(limits, expected_limits)
    np.testing.assert_array_equal(breakpoints, expected_breakpoints)


def test_marks_follow_the_path_with_missing_samples_last_or_first():
    order = np.array(
        [4, 2 | NEW_VALUE, 0 | NEW_VALUE, 1, 3 | NEW_VALUE, 5 | NEW_VALUE], dtype=np.int32
    )
    weights = 2.0 ** np.arange(6)
    # Rows 1..4 of the order are the node, its last two samples (1 and 3) hold NaN.
    for missing_left, marked, weight in ((0, [1, 0, 1, 0], 1 + 4), (1, [0, 1, 0, 1], 2 + 8)):
        goes_left = np.full(6, 9, dtype=np.uint8)
        path = Path(0, 1, 5, 2, missing_left, 1, 3, Effect(0, -np.inf, np.inf))
        assert mark(order, path, 2, goes_left, weights) == (weight, 15 - weight)
        assert goes_left.tolist() == [*marked, 9, 9]
