"""`optimal_costs`: every prefix's cost and minimiser against the oracle, its pointer moves, and its errors."""

from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz import Problem, solve_by_descent
from marginwood import optimal_costs
from reference import cost_at, exact, limits_of, minimum, prefix_minima
from strategies import (
    LOSSES,
    count_weights,
    crossing_order,
    intervals,
    margins,
    objectives,
    one_sided_intervals,
    scales,
    shifts,
    spread_weights,
)

ROUNDING = 1e-12


def breakpoints_of(y, margin):
    """All breakpoints, as one array."""
    margins_of_rows = np.where(y[:, 0] == y[:, 1], 0.0, margin)
    ends = np.concatenate([y[:, 0] + margins_of_rows, y[:, 1] - margins_of_rows])
    return ends[np.isfinite(ends)]


def rounding_of(y, margin, loss, weights=None):
    """How far a value and a cost may be off: relative to the largest number and the sums that were added."""
    breakpoints = breakpoints_of(y, margin)
    if not breakpoints.size:
        return 0.0, 0.0
    value_error = ROUNDING * np.ptp(breakpoints) + 4 * np.spacing(np.abs(breakpoints).max())
    power = 1 if loss == "linear_hinge" else 2
    distance = np.ptp(breakpoints)
    total = 2 * (len(y) if weights is None else weights.sum())
    return value_error, total * power * distance ** (power - 1) * value_error


def assert_is_oracle(y, margin, objective, weights=None):
    """Costs equal the oracle's, values are the middle of the oracle's set of minimisers."""
    result = optimal_costs(y[:, 0], y[:, 1], margin=margin, **objective, sample_weight=weights)
    minima = prefix_minima(y[:, 0], y[:, 1], margin, **objective, sample_weight=weights)
    value_error, cost_error = rounding_of(y, margin, objective["loss"], weights)
    np.testing.assert_allclose(
        result.costs, [float(m.cost) for m in minima], rtol=1e-10, atol=cost_error
    )
    np.testing.assert_allclose(
        result.values, [float(m.value) for m in minima], rtol=0, atol=value_error
    )
    costs, values = by_descent(y, margin, weights, **objective)
    np.testing.assert_allclose(costs, [float(m.cost) for m in minima], rtol=1e-10, atol=cost_error)
    np.testing.assert_allclose(values, [float(m.value) for m in minima], rtol=0, atol=value_error)


def by_descent(y, margin, weights, loss, quantile=0.5):
    """Costs and values in the way that is the last resort."""
    weights = np.ones(len(y)) if weights is None else weights
    present = np.where((weights > 0)[:, np.newaxis], y, [-inf, inf])
    return solve_by_descent(Problem(None, present, weights, loss, quantile, margin, 0, 0, 0.0))[:2]


@given(intervals(), margins, objectives)
def test_every_prefix_has_the_least_cost_and_the_middle_minimiser(y, margin, objective):
    assert_is_oracle(y, margin, objective)


@given(st.data(), intervals(), margins, objectives)
def test_whole_weights_count_like_repeated_rows(data, y, margin, objective):
    assert_is_oracle(y, margin, objective, data.draw(count_weights(len(y))))


@given(st.data(), intervals(), margins, objectives)
def test_weights_of_several_magnitudes_reach_the_least_cost(data, y, margin, objective):
    # Rounded sums of such weights can make a linear slope of zero or miss one, so any value of
    # least cost is right.
    weights = data.draw(spread_weights(len(y)))
    result = optimal_costs(y[:, 0], y[:, 1], margin=margin, **objective, sample_weight=weights)
    _, cost_error = rounding_of(y, margin, objective["loss"], weights)
    limits = []
    for row, (lower, upper) in enumerate(y):
        limits += limits_of(lower, upper, margin, weights[row], objective.get("quantile", 0.5))
        if not limits:
            assert result.costs[row] == 0
            assert np.isnan(result.values[row])
            continue
        found = minimum(limits, objective["loss"])
        assert result.costs[row] == pytest.approx(float(found.cost), rel=1e-10, abs=cost_error)
        assert (
            float(cost_at(exact(result.values[row]), limits, objective["loss"]) - found.cost)
            <= cost_error
        )
        if objective["loss"] == "squared_hinge":
            assert result.values[row] == pytest.approx(float(found.value), abs=1e-9)


def test_a_light_row_narrows_the_squared_optimum_as_much_as_a_heavy_one():
    values = optimal_costs(
        [-3.0, 0.0], [2.0, 2.0], margin=0.5, loss="squared_hinge", sample_weight=[3.0, 0.01]
    ).values
    assert values.tolist() == [-0.5, 1.0]


@pytest.mark.parametrize("light", [1e-6, 1e-15, 1e-16, 1e-17, 1e-18, 1e-22])
@pytest.mark.parametrize("n_heavy", [1, 3, 20])
def test_light_rows_decide_between_heavy_ones_that_do_not_care(light, n_heavy):
    y = np.array([(1999999.5, np.inf), (-np.inf, 1.5), *[(1e6, 1000001.0)] * n_heavy])
    found = optimal_costs(
        *y.T, loss="squared_hinge", sample_weight=[light, light, *[1.0] * n_heavy]
    )
    assert found.values[1:].tolist() == [1000000.5] * (n_heavy + 1)


@given(one_sided_intervals(), margins, objectives)
def test_limits_of_one_kind_cost_nothing_and_are_predicted_by_their_finite_end(
    y, margin, objective
):
    costs, values, _ = optimal_costs(y[:, 0], y[:, 1], margin=margin, **objective)
    running = (
        np.minimum.accumulate(y[:, 1]) - margin
        if np.isinf(y[0, 0])
        else np.maximum.accumulate(y[:, 0]) + margin
    )
    np.testing.assert_array_equal(costs, 0)
    np.testing.assert_array_equal(values, running)


@given(intervals(), st.sampled_from([0.0, 0.5, 100.0]), objectives, shifts)
def test_a_shift_of_all_limits_changes_no_cost(y, margin, objective, shift):
    assert_is_oracle(y + shift, margin, objective)


@given(intervals(), st.sampled_from([0.0, 0.5, 100.0]), objectives, scales)
def test_tiny_and_huge_limits_are_priced_exactly(y, margin, objective, scale):
    assert_is_oracle(y * scale, margin * scale, objective)


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # as plain Python; what overflows on the way is solved afresh
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("weight_orders", "target_orders"), [(290, 0), (290, 20), (200, 100), (30, 250)]
)
def test_costs_are_right_whatever_weights_and_targets_span(loss, weight_orders, target_orders):
    rng = np.random.default_rng(0)
    for _ in range(30):
        y = np.sort(
            rng.normal(size=(10, 2)) * 10.0 ** -rng.uniform(0, target_orders, size=(10, 1)), axis=1
        )
        y[rng.random(10) < 0.3, 0] = -inf
        y[rng.random(10) < 0.3, 1] = inf
        weights = 10.0 ** -rng.uniform(0, weight_orders, 10)
        result = optimal_costs(*y.T, loss=loss, sample_weight=weights)
        limits = []
        for row, interval in enumerate(y):
            limits += limits_of(*interval, 0.0, weights[row])
            if limits:
                least = minimum(limits, loss).cost
                assert result.costs[row] == pytest.approx(float(least), rel=1e-9, abs=1e-307)
                assert cost_at(exact(result.values[row]), limits, loss) <= least * (1 + exact(1e-9))


@given(intervals(max_size=40), margins)
def test_the_linear_pointer_moves_at_most_once_per_limit(y, margin):
    moves = optimal_costs(y[:, 0], y[:, 1], margin=margin, loss="linear_hinge").moves
    assert (moves >= 0).all()
    assert (moves <= np.isfinite(y).sum(axis=1)).all()


def test_an_interval_without_limits_moves_no_pointer_and_changes_no_minimum():
    lower, upper = np.array([1.0, -inf, 4.0]), np.array([2.0, inf, 5.0])
    for loss in LOSSES:
        costs, values, moves = optimal_costs(lower, upper, loss=loss)
        assert (costs[1], values[1], moves[1]) == (costs[0], values[0], 0)


def test_the_crossing_order_really_crosses_the_cluster():
    y = crossing_order(20, 20)
    values = [float(found.value) for found in prefix_minima(y[:, 0], y[:, 1], 0.0, "squared_hinge")]
    assert all(abs(value) > 10 for value in values[20:])
    assert all(left * right < 0 for left, right in pairwise(values[20:]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_order_that_defeats_walking_is_still_priced_exactly(loss, weighted):
    n_cluster, n_far = 60, 90
    y = crossing_order(n_cluster, n_far)
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0) if weighted else None
    costs, values, _ = optimal_costs(y[:, 0], y[:, 1], loss=loss, sample_weight=weights)
    value_error, cost_error = rounding_of(y, 0.0, loss, np.full(len(y), 2.0))
    for n_rows in range(1, len(y) + 1, 7):
        rows = zip(
            y[:n_rows], np.ones(n_rows) if weights is None else weights[:n_rows], strict=True
        )
        found = minimum(
            [limit for row, weight in rows for limit in limits_of(*row, 0.0, weight)], loss
        )
        assert costs[n_rows - 1] == pytest.approx(float(found.cost), rel=1e-10, abs=cost_error)
        assert values[n_rows - 1] == pytest.approx(float(found.value), abs=value_error)


def test_moves_count_every_breakpoint_that_the_minimum_crosses():
    n_cluster = 200
    y = crossing_order(n_cluster, 300)
    moves = optimal_costs(y[:, 0], y[:, 1], loss="squared_hinge").moves
    assert (moves[n_cluster + 1 :] == n_cluster).all()
    linear_moves = optimal_costs(y[:, 0], y[:, 1], loss="linear_hinge").moves
    assert linear_moves.max() == 1


def cost_in_floats(value, y, margin, loss, weights):
    """The cost of a value and its slope there, afresh."""
    row_margins = np.where(y[:, 0] == y[:, 1], 0.0, margin)
    below = np.maximum(y[:, 0] + row_margins - value, 0)
    above = np.maximum(value - y[:, 1] + row_margins, 0)
    if loss == "linear_hinge":
        return weights @ (below + above)
    return weights @ (below**2 + above**2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_running_sums_do_not_drift_over_many_rows(loss, shift):
    rng = np.random.default_rng(0)
    centre = rng.normal(size=20_000).cumsum() / 50
    y = shift + np.column_stack(
        [centre - rng.exponential(size=len(centre)), centre + rng.exponential(size=len(centre))]
    )
    y[rng.random(len(y)) < 0.2, 0] = -inf
    y[rng.random(len(y)) < 0.2, 1] = inf
    weights = rng.exponential(size=len(y))
    costs, values, _ = optimal_costs(y[:, 0], y[:, 1], margin=0.3, loss=loss, sample_weight=weights)
    for n_rows in (1000, 10_000, 20_000):
        seen = (y[:n_rows], 0.3, loss, weights[:n_rows])
        value = values[n_rows - 1]
        assert costs[n_rows - 1] == pytest.approx(cost_in_floats(value, *seen), rel=1e-9)
        nearby = [cost_in_floats(value + step, *seen) for step in (-1e-3, 1e-3)]
        assert min(nearby) >= costs[n_rows - 1] * (1 - 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_prefix_that_is_satisfied_costs_nothing_although_later_weights_defeat_walking(loss):
    # Each of the later rows outweighs all before it, on the other side; far ends are never reached.
    ends = np.arange(1.0, 41.0) * np.where(np.arange(40) % 2, 1000, -1000)
    lower, upper = np.append(-1e6, ends), np.append(1e6, ends)
    weights = np.append(1.0, 4.0 ** np.arange(40))
    costs, values, moves = optimal_costs(lower, upper, loss=loss, sample_weight=weights)
    minima = prefix_minima(lower, upper, 0.0, loss, weights)
    assert moves.sum() > 8 * 2 * len(lower)
    assert (costs[0], values[0]) == (0.0, 0.0)
    np.testing.assert_allclose(costs, [float(m.cost) for m in minima], rtol=1e-12)
    np.testing.assert_allclose(values, [float(m.value) for m in minima], rtol=1e-12)


def test_the_result_has_one_named_entry_per_prefix():
    result = optimal_costs([0.0, 3.0], [1.0, 4.0])
    assert result._fields == ("costs", "values", "moves")
    assert [len(field) for field in result] == [2, 2, 2]
    assert result.costs.tolist() == [0.0, 2.0]
    assert result.values.tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.0, 1.0], [1.0]), {}, "lower|upper"),
        (([0.0, 2.0], [1.0, 1.5]), {}, "upper < lower"),
        (([nan], [1.0]), {}, "NaN|nan"),
        (([inf], [inf]), {}, "inf"),
        (([0.0], [1.0]), {"margin": -0.5}, "margin"),
        (([0.0], [1.0]), {"margin": nan}, "margin"),
        (([0.0], [1.0]), {"margin": inf}, "margin"),
        (([0.0], [1.0]), {"loss": "hinge"}, "loss.*linear_hinge.*squared_hinge"),
        (([0.0], [1.0]), {"sample_weight": [-1.0]}, "sample_weight"),
        (([0.0], [1.0]), {"sample_weight": [nan]}, "sample_weight"),
        (([0.0], [1.0]), {"sample_weight": [1.0, 1.0]}, "sample_weight"),
    ],
)
def test_bad_arguments_are_named_in_the_error(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        optimal_costs(*arguments, **options)
