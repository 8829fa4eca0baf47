"""The oracle itself, against numbers worked out by hand."""

from fractions import Fraction
from itertools import chain
from math import inf, isnan, nan

import numpy as np
import pytest

from reference import (
    Limit,
    TooCloseToCall,
    best_split,
    cost_at,
    grow,
    is_greater,
    limits_of,
    minimum,
    predict_row,
    prefix_minima,
    rules,
    threshold_between,
)

LOSSES = ["linear_hinge", "squared_hinge"]


def lower(breakpoint, weight=1):
    return Limit(breakpoint, True, weight)


def upper(breakpoint, weight=1):
    return Limit(breakpoint, False, weight)


def test_the_margin_pulls_both_limits_inwards():
    assert limits_of(1.0, 4.0, 0.5, 3.0) == [lower(Fraction(3, 2), 3), upper(Fraction(7, 2), 3)]


def test_an_uncensored_interval_has_no_margin():
    assert limits_of(2.0, 2.0, 0.5) == [lower(2), upper(2)]


def test_an_infinite_end_gives_no_limit():
    assert limits_of(-inf, 4.0, 1.0) == [upper(3)]
    assert limits_of(4.0, inf, 1.0) == [lower(5)]
    assert limits_of(-inf, inf, 1.0) == []


@pytest.mark.parametrize(
    ("loss", "cost"), [("linear_hinge", 2 * 3 + 1), ("squared_hinge", 2 * 9 + 1)]
)
def test_only_limits_on_the_wrong_side_cost(loss, cost):
    limits = [lower(5, 2), lower(1), upper(1), upper(7)]
    assert cost_at(2, limits, loss) == cost


@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_that_share_a_point_cost_nothing(loss):
    found = minimum([lower(0), upper(5), lower(2), upper(4)], loss)
    assert found == (0, 2, 4)
    assert found.value == 3


@pytest.mark.parametrize("loss", LOSSES)
def test_one_kind_of_limit_is_predicted_by_its_finite_end(loss):
    assert minimum([lower(1), lower(3)], loss) == (0, 3, inf)
    assert minimum([lower(1), lower(3)], loss).value == 3
    assert minimum([upper(1), upper(3)], loss) == (0, -inf, 1)
    assert minimum([upper(1), upper(3)], loss).value == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_no_limits_cost_nothing_and_predict_nan(loss):
    assert minimum([], loss) == (0, -inf, inf)
    assert isnan(minimum([], loss).value)


def test_the_paper_example_of_two_limits():
    # Upper limit 4 and lower limit 1 with margin 1: breakpoints 3 and 2, nothing to pay between
    # them.
    assert minimum(limits_of(-inf, 4.0, 1.0) + limits_of(1.0, inf, 1.0), "linear_hinge") == (
        0,
        2,
        3,
    )


def test_the_linear_hinge_of_uncensored_values_is_the_median():
    limits = [limit for value in (0.0, 1.0, 5.0, 9.0) for limit in limits_of(value, value)]
    assert minimum(limits, "linear_hinge") == (9 + 4, 1, 5)


def test_the_squared_hinge_of_uncensored_values_is_the_mean():
    limits = [limit for value in (0.0, 1.0, 5.0, 9.0) for limit in limits_of(value, value)]
    mean = Fraction(15, 4)
    assert minimum(limits, "squared_hinge") == (107 - 4 * mean**2, mean, mean)


def test_weights_move_the_minimum():
    limits = [upper(0, 3), lower(4, 1)]
    assert minimum(limits, "linear_hinge") == (4, 0, 0)
    assert minimum(limits, "squared_hinge") == (3 * 1 + 9, 1, 1)


def test_a_squared_minimum_ignores_limits_that_are_satisfied_there():
    # Limits 0 and 4 pull to 2; the upper limit 3 is satisfied at 2, the lower limit 3 is not and
    # pulls further.
    assert minimum([upper(0), lower(4), upper(3)], "squared_hinge") == (8, 2, 2)
    assert minimum([upper(0), lower(4), lower(3)], "squared_hinge") == (
        25 - Fraction(49, 3),
        Fraction(7, 3),
        Fraction(7, 3),
    )


def test_prefixes_grow_one_interval_at_a_time():
    minima = prefix_minima([-inf, 4.0, -inf], [0.0, 6.0, inf], 0.0, "linear_hinge", [1.0, 2.0, 1.0])
    assert minima == [(0, -inf, 0), (4, 4, 4), (4, 4, 4)]


@pytest.mark.parametrize(
    ("left", "right", "threshold"),
    [
        (1.0, 2.0, 1.5),
        (-inf, 3.0, -inf),
        (3.0, inf, 3.0),
        (-inf, inf, -inf),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (-1.7e308, 1.7e308, 0.0),
        (1.6e308, 1.7e308, 1.65e308),
        (0.0, 5e-324, 0.0),
    ],
)
def test_a_threshold_separates_its_neighbours(left, right, threshold):
    assert threshold_between(left, right) == pytest.approx(threshold)
    assert left <= threshold_between(left, right) < right


def test_rules_try_both_sides_for_nan_and_nan_alone():
    found = [
        (threshold, missing_left, side.tolist())
        for threshold, missing_left, side in rules(np.array([2.0, nan, 1.0]))
    ]
    assert found == [
        (1.5, False, [False, False, True]),
        (inf, False, [True, False, True]),
        (1.5, True, [False, True, True]),
    ]
    assert list(rules(np.array([nan, nan]))) == []
    assert list(rules(np.array([1.0, 1.0]))) == []


def test_the_first_of_equal_splits_wins():
    limits = [limits_of(value, value) for value in (0.0, 0.0, 6.0, 6.0)]
    column = np.array([0.0, 1.0, 2.0, 3.0])
    parent = minimum([*chain(*limits)], "squared_hinge")
    split = best_split([np.zeros(4), column, column], limits, "squared_hinge", parent)
    assert (split.feature, split.threshold, split.decrease) == (1, 1.5, 36)


def test_no_split_is_found_where_none_lowers_the_cost():
    limits = [limits_of(0.0, 2.0), limits_of(1.0, 3.0)]
    parent = minimum([*chain(*limits)], "linear_hinge")
    assert best_split([np.array([0.0, 1.0])], limits, "linear_hinge", parent) is None


def test_a_comparison_that_rounding_decides_is_refused():
    assert is_greater(1, 0, Fraction(1, 1000))
    assert not is_greater(1, 1, Fraction(1, 1000))
    with pytest.raises(TooCloseToCall):
        is_greater(Fraction(1001, 1000), 1, Fraction(1, 1000))


STAIRS_X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
STAIRS_Y = np.repeat([0.0, 0.0, 1.0, 1.0, 9.0, 9.0], 2).reshape(-1, 2)


def shape(node):
    """The thresholds of a literal tree, nested, with the value of each leaf."""
    if node.split is None:
        return float(node.minimum.value)
    return (node.split.threshold, shape(node.left), shape(node.right))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_staircase_is_learned_step_by_step(loss):
    assert shape(grow(STAIRS_X, STAIRS_Y, loss=loss)) == (3.5, (1.5, 0.0, 1.0), 9.0)
    assert shape(grow(STAIRS_X, STAIRS_Y, loss=loss, max_leaf_nodes=2)) == (3.5, 0.5, 9.0)
    assert shape(grow(STAIRS_X, STAIRS_Y, loss=loss, max_depth=1)) == (3.5, 0.5, 9.0)
    assert shape(grow(STAIRS_X, STAIRS_Y, loss=loss, min_samples_split=5)) == (3.5, 0.5, 9.0)
    assert shape(grow(STAIRS_X, STAIRS_Y, loss=loss, min_impurity_decrease=1.0)) == (3.5, 0.5, 9.0)
    assert (
        shape(grow(STAIRS_X, STAIRS_Y, loss=loss, min_samples_leaf=4))
        == 1.0 + (loss == "squared_hinge") * 7 / 3
    )


def test_rows_of_weight_zero_are_not_there():
    weights = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    root = grow(STAIRS_X, STAIRS_Y, weights, loss="linear_hinge")
    assert shape(root) == (2.5, 0.0, 9.0)
    assert [len(node.rows) for node in root.nodes] == [4, 2, 2]


def test_rows_walk_to_the_leaf_that_counted_them():
    X = np.array([[0.0], [1.0], [nan], [inf], [-inf], [nan]])
    y = np.repeat([0.0, 5.0, 2.0, 9.0, -4.0, 2.0], 2).reshape(-1, 2)
    root = grow(X, y)
    for row in range(6):
        assert row in predict_row(root, X[row]).rows
