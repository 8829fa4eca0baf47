"""Orders of features and of limits against NumPy's stable sort."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core.hinge import LOWER, UPPER
from marginwood._core.order import (
    NEW_VALUE,
    SAMPLE_MASK,
    SHORT_RUN,
    merge_limits,
    sort_features,
    sort_limits,
)
from strategies import intervals

NASTY = [
    0.0,
    -0.0,
    1.0,
    np.nextafter(1.0, 2.0),
    -1.0,
    5e-324,
    -5e-324,
    1.7e308,
    -1.7e308,
    inf,
    -inf,
    nan,
    -nan,
]

columns = st.one_of(
    st.lists(st.sampled_from(NASTY), min_size=1, max_size=40),
    st.lists(st.floats(), min_size=1, max_size=40),
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40),
)


def assert_is_order(order, column):
    """Stable, NaN last, and flagged at each first sample of a value."""
    samples = order & SAMPLE_MASK
    np.testing.assert_array_equal(samples, np.argsort(column, kind="stable"))
    values = column[samples]
    is_same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    np.testing.assert_array_equal(order < 0, np.append(True, ~is_same))


@given(columns)
def test_an_order_is_numpys_stable_one_with_a_flag_at_every_first_value(column):
    column = np.array(column)
    assert_is_order(sort_features(column[:, None])[0], column)


def test_nan_of_either_sign_is_one_value():
    negative_nan = np.uint64(0xFFF8000000000001)
    column = np.array([nan, 1.0, nan, 2.0])
    column.view(np.uint64)[2] = negative_nan
    order = sort_features(column[:, None])[0]
    assert (order & SAMPLE_MASK).tolist() == [1, 3, 0, 2]
    assert (order < 0).tolist() == [True, True, True, False]


def test_zeros_of_either_sign_are_one_value():
    order = sort_features(np.array([[0.0], [-0.0], [0.0]]))[0]
    assert order.tolist() == [NEW_VALUE, 1, 2]


# Keys that agree in their 32 highest differing bits leave runs of 1, 2, few and many to the second
# step.
@pytest.mark.parametrize("run", [1, 2, 3, SHORT_RUN, SHORT_RUN + 1, 500])
def test_runs_of_nearly_equal_values_are_sorted_to_the_last_bit(run):
    rng = np.random.default_rng(run)
    near = [
        base * (1 + 2.0**-52 * rng.integers(0, 2 * run, size=run))
        for base in (-1e300, -1.0, 1e-300, 1.0, 3.0)
    ]
    column = rng.permutation(np.concatenate(near))
    assert_is_order(sort_features(column[:, None])[0], column)


def test_features_are_sorted_independently_of_each_other():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=300), np.full(300, 2.0), rng.integers(4, size=300), np.full(300, nan)]
    )
    orders = sort_features(X)
    assert orders.shape == (4, 300)
    assert orders.dtype == np.int32
    for order, column in zip(orders, X.T, strict=True):
        assert_is_order(order, column)


@pytest.mark.parametrize("kind", [LOWER, UPPER])
@pytest.mark.parametrize("exact", [False, True])
@given(y=intervals(max_size=30))
def test_finite_limits_of_one_kind_come_sorted_with_their_values(kind, exact, y):
    limits, values = sort_limits(y, y[:, 0] == y[:, 1])[2 if exact else kind]
    limits, values = (limits[kind::2], values[kind::2]) if exact else (limits, values)
    chosen = np.flatnonzero(np.isfinite(y[:, kind]) & ((y[:, 0] == y[:, 1]) == exact))
    expected = chosen[np.argsort(y[chosen, kind], kind="stable")]
    np.testing.assert_array_equal(limits, 2 * expected + kind)
    np.testing.assert_array_equal(values, y[expected, kind])


sorted_values = st.lists(st.integers(-4, 4).map(float), max_size=12).map(sorted).map(np.array)


@given(sorted_values, sorted_values)
def test_a_merge_is_a_stable_sort_of_both_lists(values_a, values_b):
    limits_a = np.arange(len(values_a), dtype=np.int32)
    limits_b = 100 + np.arange(len(values_b), dtype=np.int32)
    limits, values = merge_limits(
        limits_a, values_a.astype(float), limits_b, values_b.astype(float)
    )
    both = np.concatenate([values_a, values_b])
    order = np.argsort(both, kind="stable")
    np.testing.assert_array_equal(limits, np.concatenate([limits_a, limits_b])[order])
    np.testing.assert_array_equal(values, both[order])
