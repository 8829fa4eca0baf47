"""The minimum of all limits at once, in exact fractions: weights over 24 orders of magnitude, targets over 20."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import (
    IntervalCART,
    MaxMarginIntervalTree,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    optimal_costs,
)
from marginwood._core import rankset
from marginwood._core.jit import kernel
from marginwood._core.optimum import STRIDE, meet
from marginwood._core.problem import LOSS_CODES, Target
from marginwood.losses import optimal_constant
from reference import cost_at, exact, limits_of, minimum
from strategies import LOSSES, intervals

pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
both_losses = pytest.mark.parametrize("loss", LOSSES)


def optima(y, weights, loss):
    """The same optimum three ways: a leaf of a tree, the last prefix, the constant; as value and cost each."""
    leaf = MaxMarginIntervalTree(loss=loss).fit(np.zeros((len(y), 1)), y, weights).tree_
    prefixes = optimal_costs(*np.transpose(y), loss=loss, sample_weight=weights)
    constant = optimal_constant(y, loss=loss, sample_weight=weights)
    return {
        "leaf": (leaf.value[0, 0, 0], leaf.impurity[0]),
        "prefix": (prefixes.values[-1], prefixes.costs[-1]),
        "constant": (constant.value, constant.cost),
    }


@both_losses
@pytest.mark.parametrize("light", [1e-11, 1e-13, 1e-17, 1e-24])
def test_a_light_row_costs_its_weight_and_does_not_move_a_heavy_one(loss, light):
    for value, cost in optima([(54.0, inf), (-46.0, -46.0)], [1.0, light], loss).values():
        assert value == pytest.approx(54, rel=1e-9)
        assert cost == pytest.approx(light * (100 if loss == "linear_hinge" else 10_000), rel=1e-9)


@both_losses
@pytest.mark.parametrize("light", [1e-11, 1e-17, 1e-24])
def test_light_rows_decide_where_heavy_ones_are_indifferent(loss, light):
    y = [(-100.0, 100.0), (-inf, 0.0), (-inf, 0.0), (5.0, inf)]
    for value, cost in optima(y, [1.0, light, light, light], loss).values():
        limits = [
            limit
            for row, weight in zip(y, [1.0, *3 * [light]], strict=True)
            for limit in limits_of(*row, 0.0, weight)
        ]
        found = minimum(limits, loss)
        assert value == pytest.approx(float(found.value), rel=1e-12)
        assert cost == pytest.approx(float(found.cost), rel=1e-12)


@pytest.mark.parametrize("light", [1e-13, 1e-20, 1e-24])
def test_a_light_row_tips_the_balance_of_heavy_ones(light):
    y = [(-inf, 0.0), (10.0, inf), (5.0, inf)]
    for value, _ in optima(y, [1.0, 1.0, light], "linear_hinge").values():
        assert value == 7.5


def test_a_prefix_of_near_limits_is_priced_beside_limits_that_are_far():
    costs, values, _ = optimal_costs(
        [1e-10, -inf, 1e10, -inf], [inf, -3e-10, inf, -1e10], loss="squared_hinge"
    )
    np.testing.assert_allclose(costs, [0.0, 8e-20, 0.5e20, 2e20], rtol=1e-9)
    np.testing.assert_allclose(values[:2], [1e-10, -1e-10], rtol=1e-9)


@st.composite
def wide_problems(draw):
    """Intervals whose ends, and weights that, are decades apart."""
    y = draw(intervals(min_size=1, max_size=9))
    n = len(y)
    decades = np.array(draw(st.lists(st.integers(-10, 10), min_size=n, max_size=n)), dtype=float)
    weights = 10.0 ** -np.array(
        draw(st.lists(st.integers(0, 24), min_size=n, max_size=n)), dtype=float
    )
    y = y * 10.0 ** decades[:, np.newaxis]
    return (np.vstack([y, [0.0, 1.0]]), np.append(weights, 1.0))


@given(wide_problems(), st.sampled_from(LOSSES))
def test_wide_weights_and_targets_have_the_optimum_of_the_oracle(problem, loss):
    y, weights = problem
    limits = [
        limit
        for row, weight in zip(y, weights, strict=True)
        for limit in limits_of(*row, 0.0, weight)
    ]
    found = minimum(limits, loss)
    for name, (value, cost) in optima(y, weights, loss).items():
        assert cost == pytest.approx(
            float(found.cost), rel=2e-9 if name == "prefix" else 1e-12, abs=0
        )
        at_value = cost_at(exact(value), limits, loss)
        # What the last digit of a value costs is the value's own rounding.
        next_to = max(cost_at(exact(np.nextafter(value, end)), limits, loss) for end in (-inf, inf))
        assert at_value <= max(found.cost * (1 + exact(1e-12)), next_to)


@kernel
def _meet_both_ways(breakpoints, points, ranks, code):
    rankset.reset(ranks, breakpoints.shape[0])
    in_strides = meet(breakpoints, points, ranks, rankset.RIGHT, code, True)
    return in_strides, meet(breakpoints, points, ranks, rankset.RIGHT, code, False)


@given(
    st.integers(1, 5 * STRIDE), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(LOSSES)
)
def test_walks_in_strides_meet_where_single_steps_do(n_rows, seed, is_tied, loss):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.normal(size=(n_rows, 2)) * [1.0, rng.choice([0.1, 1.0, 10.0])], axis=1)
    y = np.round(y) if is_tied else y
    y[rng.random(n_rows) < rng.random(), 0] = -inf
    y[rng.random(n_rows) < rng.random(), 1] = inf
    limits = Target(y).at(rng.choice([0.0, 0.5]))
    weights = np.ones(n_rows) if is_tied else 10.0 ** rng.uniform(-20, 0, n_rows)
    points = np.zeros((len(limits.in_order) + rankset.N_SENTINELS, 2))
    signs = np.where(limits.in_order & 1, 1.0, -1.0)
    points[rankset.FIRST : len(signs) + rankset.FIRST, 1] = signs * weights[limits.in_order >> 1]
    ranks = rankset.make_rank_set(len(signs))
    in_strides, in_steps = _meet_both_ways(limits.breakpoints, points, ranks, LOSS_CODES[loss])
    np.testing.assert_array_equal(in_strides, in_steps)


@pytest.mark.parametrize("light", [1e-26, 1e-28, 1e-290])
def test_a_light_row_decides_between_heavy_ones_until_it_is_lost_beside_them(light):
    for value, cost in optima(
        np.array([(0.0, 0.0), (10.0, 10.0), (7.0, 7.0)]), [1.0, 1.0, light], "linear_hinge"
    ).values():
        assert cost == 10
        assert value == 7 if light == 1e-26 else 0 <= value <= 10


@pytest.mark.parametrize("scale", [1e-170, 1e-300, 1e140])
def test_a_score_has_no_unit(scale):
    y, prediction = np.array([[0.0, 1.0], [3.0, 4.0], [7.0, inf]]), np.array([2.0, 2.0, 5.0])
    assert interval_d2_score(y * scale, prediction * scale) == pytest.approx(
        interval_d2_score(y, prediction)
    )


def test_costs_beyond_the_largest_number_are_refused():
    y, weights = np.array([-1e150, 1e150]), [1e9, 1e9]
    for attempt in (
        lambda: MaxMarginIntervalTree().fit([[0.0], [1.0]], y, weights),
        lambda: optimal_costs(y, y, loss="squared_hinge", sample_weight=weights),
        lambda: optimal_constant(y, sample_weight=weights),
    ):
        with pytest.raises(
            ValueError,
            match=r"^y: the cost is beyond the largest number.* Divide y or sample_weight",
        ):
            attempt()


def test_trees_of_limits_whose_squares_vanish_are_refused():
    for model in (MaxMarginIntervalTree(), IntervalCART()):
        with pytest.raises(ValueError, match=r"^y: squared distances .* Multiply y"):
            model.fit([[0.0], [1.0]], [1e-170, 2e-170])
    tree = MaxMarginIntervalTree(loss="linear_hinge").fit([[0.0], [1.0]], [1e-170, 2e-170])
    assert tree.predict([[0.0], [1.0]]).tolist() == [1e-170, 2e-170]


def test_squared_errors_that_vanish_are_refused_where_a_constant_has_some():
    y = np.array([1e-170, 2e-170, 4e-170])
    with pytest.raises(ValueError, match=r"^y: squared distances .* Multiply y"):
        interval_mean_squared_error(y, y[::-1])
    with pytest.raises(ValueError, match=r"^y: squared distances .* Multiply y"):
        interval_hinge_loss([(0.0, inf), (-inf, 0.0)], [0.0, 0.0], margin=1e-170)
    assert interval_mean_absolute_error(y, y[::-1]) == pytest.approx(2e-170)
    assert interval_mean_squared_error(y, y) == 0


def test_errors_of_no_weight_beside_the_targets_are_no_reason_to_refuse():
    assert interval_mean_squared_error([0.0, 1.0], [1e-170, 1.0]) == 0
    assert interval_mean_squared_error([1e-170], [2e-170]) == 0  # a constant has no error
    assert (
        interval_mean_squared_error(
            [(-inf, inf), (0.0, 1e-170)], [2e-170, 1.0], sample_weight=[1.0, 0.0]
        )
        == 0
    )
