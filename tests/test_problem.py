"""The limits of a target at any margin against a plain sort, and the units of the grown table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core.hinge import LOWER, UPPER
from marginwood._core.order import sort_features
from marginwood._core.problem import Target, grow_tree, plain, scaled, subsample, times_power_of_two
from marginwood._core.search import Options
from strategies import intervals, margins, scales


@given(intervals(max_size=30), margins, st.sampled_from([1.0, 2.0**-1000, 2.0**400]))
def test_limits_come_by_breakpoint_at_every_margin(y, margin, scale):
    y, margin = y * scale, margin * scale
    limits = Target(y).at(margin)
    samples, kinds = limits.in_order >> 1, limits.in_order & 1
    row_margins = np.where(y[samples, 0] == y[samples, 1], 0.0, margin)
    expected = y[samples, kinds] + np.where(kinds == LOWER, row_margins, -row_margins)
    found = np.ldexp(limits.breakpoints, limits.exponent)
    np.testing.assert_array_equal(found, expected)
    assert (np.diff(limits.breakpoints) >= 0).all()
    assert sorted(limits.in_order.tolist()) == sorted(
        (2 * row + kind) for row, kind in zip(*np.nonzero(np.isfinite(y)), strict=True)
    )


@given(intervals(), margins, scales)
def test_breakpoints_that_can_matter_are_counted_in_a_unit_of_their_size(y, margin, scale):
    # No minimum lies left of all upper or right of all lower limits.
    limits = Target(y * scale).at(margin * scale)
    kinds = limits.in_order & 1
    uppers, lowers = np.flatnonzero(kinds == UPPER), np.flatnonzero(kinds == LOWER)
    if len(uppers) and len(lowers):
        assert (np.abs(limits.breakpoints[uppers[0] : lowers[-1] + 1]) <= 2).all()


def test_one_target_serves_all_margins():
    y = np.array([[0.0, 4.0], [1.0, 1.0], [-np.inf, 2.0], [3.0, np.inf]])
    target = Target(y)
    wide = target.at(2.0)
    narrow = target.at(0.0)
    assert narrow.in_order.tolist() == [0, 2, 3, 5, 6, 1]
    assert wide.in_order.tolist() == Target(y).at(2.0).in_order.tolist()


def test_a_target_without_limits_has_none_at_any_margin():
    limits = Target(np.array([[-np.inf, np.inf]])).at(1.0)
    assert len(limits.in_order) == 0


@pytest.mark.parametrize("largest", [1e-320, 1e-300, 0.3, 1.0, 7.0, 1e300])
def test_weights_are_scaled_so_that_the_largest_is_near_one(largest):
    weights, unit = scaled(np.array([largest, largest / 2]))
    assert 1 <= weights[0] < 2
    np.testing.assert_array_equal(weights * unit, [largest, largest / 2])


@pytest.mark.parametrize("weight", [5e-324, 0.1, 1.1, 1e300])
def test_equal_weights_are_scaled_to_ones_whose_sums_are_exact(weight):
    weights, unit = scaled(np.array([weight, 0.0, weight]))
    assert weights.tolist() == [1.0, 0.0, 1.0]
    assert unit == weight


@pytest.mark.parametrize("exponent", [-2000, -1074, -999, 0, 999, 1073, 2000])
def test_a_power_of_two_multiplies_as_ldexp_does(exponent):
    values = np.array([1.0, -3.0, 0.0, np.inf, 2.0**-500])
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(
            times_power_of_two(values.copy(), exponent), np.ldexp(values, exponent)
        )


@pytest.mark.parametrize("default", [0.0, 42.0])
def test_a_tree_of_rows_without_any_limit_predicts_the_default(default):
    X, y = (
        np.arange(4.0)[:, np.newaxis],
        np.array([[-np.inf, np.inf], [-np.inf, np.inf], [5.0, 6.0], [8.0, 9.0]]),
    )
    weights = np.array([1.0, 2.0, 0.0, 0.0])
    limits = Target(y).at(0.0)._replace(default=default)
    orders, limits = subsample(sort_features(X), limits, weights)
    nodes = grow_tree(
        X,
        orders,
        limits,
        weights,
        "squared_hinge",
        Options(3, 2, 1, 0, 0.0, 1),
        1,
        plain(X.shape[1]),
    )[0]
    assert nodes["value"].tolist() == [default]
    assert (nodes["value_low"][0], nodes["value_high"][0], nodes["impurity"][0]) == (
        -np.inf,
        np.inf,
        0.0,
    )
