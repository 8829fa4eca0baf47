import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from marginwood import MaxMarginIntervalTree, from_detection_limits, make_intervals
from marginwood import losses as module
from marginwood.losses import breakpoints, hinge_loss, optimal_constant
from reference import limits_of, minimum
from strategies import (
    LOSSES,
    count_weights,
    informative_intervals,
    losses,
    margins,
    objectives,
    one_sided_intervals,
    sample_weights,
    scales,
    shifts,
    sided_intervals,
)

INF = np.inf
EVERY_KIND = np.array([[1.0, 4.0], [2.0, 2.0], [3.0, INF], [-INF, 5.0], [-INF, INF]])


@st.composite
def weighted_intervals(draw, weights=sample_weights):
    y = draw(informative_intervals())
    sample_weight = draw(weights(len(y)))
    if sample_weight is not None:
        assume(np.isfinite(y[sample_weight > 0]).any())
    return y, sample_weight


def brute_force(y, margin, sample_weight, loss, quantile=0.5):
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    limits = [
        limit
        for row, weight in zip(y, weights, strict=True)
        for limit in limits_of(*row, margin, weight, quantile)
    ]
    return minimum(limits, loss)


def test_there_are_two_losses():
    assert module.LOSSES == LOSSES


def test_breakpoints_lie_a_margin_inside_except_for_uncensored_rows():
    expected = [[1.5, 3.5], [2.0, 2.0], [3.5, INF], [-INF, 4.5], [-INF, INF]]
    assert_array_equal(breakpoints(EVERY_KIND, 0.5), expected)


@pytest.mark.parametrize(
    ("loss", "expected"), [("linear_hinge", [3, 4, 0, 2, 0]), ("squared_hinge", [9, 16, 0, 4, 0])]
)
def test_a_row_pays_for_the_distance_to_its_breakpoints(loss, expected):
    assert_array_equal(hinge_loss(EVERY_KIND, 6.0, loss=loss, margin=1.0), expected)


def test_a_margin_wider_than_the_interval_is_paid_for_at_both_limits():
    assert_array_equal(hinge_loss(np.array([[0.0, 2.0]]), 1.0, margin=3.0), [8.0])


@given(weighted_intervals(), objectives, margins)
def test_the_optimal_constant_is_that_of_the_brute_force(problem, objective, margin):
    y, sample_weight = problem
    expected = brute_force(y, margin, sample_weight, **objective)
    found = optimal_constant(y, **objective, margin=margin, sample_weight=sample_weight)
    assert_allclose(found.low, float(expected.low), rtol=1e-12, atol=1e-12)
    assert_allclose(found.high, float(expected.high), rtol=1e-12, atol=1e-12)
    assert_allclose(found.value, float(expected.value), rtol=1e-12, atol=1e-12)
    assert_allclose(found.cost, float(expected.cost), rtol=1e-12)


@given(weighted_intervals(), objectives, margins)
def test_the_cost_is_the_sum_of_the_row_losses_at_the_value(problem, objective, margin):
    y, sample_weight = problem
    found = optimal_constant(y, **objective, margin=margin, sample_weight=sample_weight)
    row_loss = hinge_loss(y, found.value, **objective, margin=margin)
    weights = 1.0 if sample_weight is None else sample_weight
    assert_allclose(found.cost, np.sum(row_loss * weights), rtol=1e-9, atol=1e-20)


@given(weighted_intervals(count_weights), objectives, margins)
def test_a_weight_counts_as_that_many_rows(problem, objective, margin):
    y, sample_weight = problem
    assume(sample_weight is not None)
    repeated = optimal_constant(
        np.repeat(y, sample_weight.astype(int), axis=0), **objective, margin=margin
    )
    weighted = optimal_constant(y, **objective, margin=margin, sample_weight=sample_weight)
    assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-14)


@given(weighted_intervals(), objectives, margins, shifts)
def test_shifted_intervals_have_a_shifted_optimum_of_the_same_cost(
    problem, objective, margin, shift
):
    y, sample_weight = problem
    plain = optimal_constant(y, **objective, margin=margin, sample_weight=sample_weight)
    shifted = optimal_constant(y + shift, **objective, margin=margin, sample_weight=sample_weight)
    assert_allclose(shifted[:3], np.array(plain[:3]) + shift, rtol=1e-15, atol=1e-12)
    assert_allclose(shifted.cost, plain.cost, rtol=1e-12, atol=1e-12 if shift == 0.1 else 0)


@given(weighted_intervals(), objectives, margins, scales)
def test_scaled_intervals_have_a_scaled_optimum(problem, objective, margin, scale):
    y, sample_weight = problem
    plain = optimal_constant(y, **objective, margin=margin, sample_weight=sample_weight)
    scaled = optimal_constant(
        y * scale, **objective, margin=margin * scale, sample_weight=sample_weight
    )
    smallest = np.finfo(float).smallest_subnormal
    assert_allclose(
        scaled[:3], np.array(plain[:3]) * scale, rtol=1e-12, atol=max(1e-13 * scale, 2 * smallest)
    )
    power = 1 if objective["loss"] == "linear_hinge" else 2
    tiny = 1e-13 * scale**power + 1e2 * smallest
    assert_allclose(scaled.cost, plain.cost * scale**power, rtol=1e-12, atol=tiny)


@given(one_sided_intervals(), objectives, margins)
def test_one_sided_rows_are_satisfied_at_the_finite_end(y, objective, margin):
    found = optimal_constant(y, **objective, margin=margin)
    end = y[:, 0].max() + margin if np.isfinite(y[0, 0]) else y[:, 1].min() - margin
    assert found.value == end
    assert sorted(found[1:3]) == sorted([end, INF if np.isfinite(y[0, 0]) else -INF])
    assert found.cost == 0.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [0.0, 0.1, 1e9])
def test_the_cost_is_exactly_zero_where_one_constant_satisfies_all_rows(loss, shift):
    y = np.array([[0.1, 0.7], [0.3, 0.9], [-INF, 0.6], [0.2, INF]]) + shift
    value, low, high, cost = optimal_constant(y, loss=loss, sample_weight=[0.1, 0.2, 0.3, 0.7])
    assert (low, high, cost) == (0.3 + shift, 0.6 + shift, 0.0)
    assert low < value < high


@given(sided_intervals(), losses, margins)
def test_sides_change_the_optimum_by_the_last_bit_at_most(rows, loss, margin):
    plain = optimal_constant(make_intervals(rows.lower, rows.upper), loss=loss, margin=margin)
    assert_allclose(
        optimal_constant(rows.y, loss=loss, margin=margin), plain, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_the_neighbour_of_0_counts_as_0(loss):
    # The square of the distance between them is below the smallest number.
    y = from_detection_limits(["<0", "0", "≥0", "0"])
    assert optimal_constant(y, loss=loss) == (0, 0, 0, 0)
    assert (
        MaxMarginIntervalTree(loss=loss).fit(np.arange(4.0)[:, np.newaxis], y).predict([[0.0]]) == 0
    )


def test_sides_are_no_quartile_distance():
    assert module.quartile_distance(from_detection_limits(["<50", "50", "<50", "50", "≥50"])) == 0


def test_weights_that_do_not_add_up_exactly_leave_the_linear_minimum_flat():
    y = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 11.0])
    weight = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]
    found = optimal_constant(y, loss="linear_hinge", sample_weight=weight)
    assert (found.low, found.high) == (2.0, 3.0)


def test_one_far_outlier_does_not_disturb_the_linear_optimum():
    found = optimal_constant([0.1, 0.2, 0.3, 0.4, 1e150], loss="linear_hinge")
    assert found.value == 0.3


def test_a_million_rows_agree_with_the_mean_and_the_median():
    y = 1e9 + np.random.default_rng(0).normal(size=1_000_001)
    assert_allclose(optimal_constant(y).value - 1e9, np.mean(y - 1e9), rtol=0, atol=2e-7)
    assert optimal_constant(y, loss="linear_hinge").value == np.median(y)


def test_rows_of_weight_zero_are_as_good_as_absent():
    found = optimal_constant([1.0, 3.0, 1e100], sample_weight=[1, 1, 0])
    assert found == optimal_constant([1.0, 3.0])


@pytest.mark.parametrize("sample_weight", [None, [1.0, 0.0]])
def test_an_optimum_without_any_limit_is_refused(sample_weight):
    rows = [(-INF, INF), (1.0, 2.0)][: 1 if sample_weight is None else 2]
    with pytest.raises(ValueError, match="no row of positive weight has a finite limit"):
        optimal_constant(rows, sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"loss": "hinge"},
            ValueError,
            "loss: expected one of 'linear_hinge', 'squared_hinge', got 'hinge'",
        ),
        ({"margin": -1}, ValueError, "margin: expected a number >= 0 and <= 1e\\+150, got -1"),
        ({"margin": np.nan}, ValueError, "margin: expected a number >= 0"),
        ({"margin": INF}, ValueError, "margin: expected a number >= 0"),
        ({"margin": "1"}, TypeError, "margin: expected a number >= 0 and <= 1e\\+150, got '1'"),
        ({"margin": None}, TypeError, "margin: expected a number >= 0 and <= 1e\\+150, got None"),
    ],
)
def test_an_unknown_loss_or_an_impossible_margin_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        optimal_constant([1.0, 2.0], **arguments)
