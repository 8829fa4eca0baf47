"""One sweep against all splits of the oracle, and the sweep by descent against the sweep by walking."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import reference
from columns import make_column, open_column
from marginwood import MaxMarginIntervalTree
from marginwood._core import screen, split
from marginwood._core.jit import kernel
from marginwood._core.nodes import NO_FEATURE
from marginwood._core.split import Split
from marginwood.losses import hinge_loss
from strategies import OBJECTIVES, count_weights, crossing_order, informative_intervals, objectives

TOLERANCE = 1e-10


@kernel
def sweep_both(problem, scratch, stretch, is_screened, tolerance):
    """The best split of the first feature by walking, whether the budget held, and the best split by descent."""
    path, points, loss, best, full = open_column(problem, scratch, stretch)
    cost = best.cost
    order = problem.orders[0]
    zero = np.int64(0)
    none = Split(cost, np.int64(NO_FEATURE), zero, zero, 0.0, 0.0)
    room = scratch.screen
    distances = screen.fill(
        room, order, path.start, path.stop, scratch.samples, points, loss, full, best.value
    )
    screen.screen(room, order, path, loss, distances, np.inf)
    if not is_screened:
        room.bounds[:] = np.where(np.isinf(room.bounds), np.inf, -np.inf)
    walked, in_budget = split.sweep(
        order,
        scratch.samples,
        scratch.ranks,
        points,
        loss,
        full,
        path,
        room.bounds,
        none,
        tolerance * cost,
    )
    descended = split.sweep_by_descent(
        order, scratch.samples, scratch.ranks, points, loss, path, none, tolerance * cost
    )
    return walked, in_budget, descended


def sweeps_of(column, y, weights, objective, missing_left, min_samples_leaf=1, is_screened=True):
    problem, scratch, stretch, exponent, unit = make_column(
        column, y, weights, objective, missing_left, min_samples_leaf
    )
    scratch.points[:] = np.nan
    walked, in_budget, descended = sweep_both(problem, scratch, stretch, is_screened, TOLERANCE)

    def in_units_of_the_target(found):
        cost = found.cost * unit
        left, right = (float(np.ldexp(value, exponent)) for value in found[-2:])
        return found._replace(cost=cost, left_value=left, right_value=right)

    return in_units_of_the_target(walked), in_budget, in_units_of_the_target(descended)


def oracle_split(column, y, weights, objective, missing_left, min_samples_leaf=1):
    """The best of all boundaries with NaN on the given side: its cost and the rows on the left; None if none helps."""
    limits = [
        reference.limits_of(*ends, 0.0, weight, objective.get("quantile", 0.5))
        for ends, weight in zip(y, weights, strict=True)
    ]
    parent = reference.minimum([limit for row in limits for limit in row], objective["loss"])
    best_cost, best_left = parent.cost, None
    for _, side, goes_left in reference.rules(column):
        if (side is not None and side != bool(missing_left)) or min(
            sum(goes_left), sum(~goes_left)
        ) < min_samples_leaf:
            continue
        sides = [
            [limit for row in np.flatnonzero(rows) for limit in limits[row]]
            for rows in (goes_left, ~goes_left)
        ]
        cost = sum(reference.minimum(side, objective["loss"]).cost for side in sides)
        if reference.is_greater(best_cost - cost, 0, reference.TOLERANCE * parent.cost):
            best_cost, best_left = cost, int(goes_left.sum())
    return best_cost, best_left


def assert_same_split(column, y, weights, objective, *splits):
    """The same boundary and price, which is what the children's values cost: any minimiser will do."""
    first = splits[0]
    for found in splits:
        assert (found.feature, found.n_left, found.missing_left) == (
            first.feature,
            first.n_left,
            first.missing_left,
        )
        assert found.cost == pytest.approx(first.cost, rel=1e-9, abs=1e-9)
        if found.n_left > 0:
            order = np.argsort(column, kind="stable")  # NaN comes last
            order = np.roll(order, np.isnan(column).sum() if found.missing_left else 0)
            values = np.empty(len(y))
            values[order[: found.n_left]], values[order[found.n_left :]] = (
                found.left_value,
                found.right_value,
            )
            assert hinge_loss(y, values, **objective) @ weights == pytest.approx(
                found.cost, rel=1e-9, abs=1e-9
            )


@given(
    st.data(),
    informative_intervals(min_size=2, max_size=12),
    objectives,
    st.sampled_from([0, 1]),
    st.integers(1, 3),
)
def test_both_sweeps_find_the_best_of_all_boundaries(
    data, y, objective, missing_left, min_samples_leaf
):
    values = st.sampled_from([0.0, 1.0, 2.0, 3.0, inf, np.nan])
    column = np.array(data.draw(st.lists(values, min_size=len(y), max_size=len(y))))
    weights = data.draw(count_weights(len(y)))
    weights = np.ones(len(y)) if weights is None else np.maximum(weights, 1.0)
    if np.isnan(column).all():
        reject()
    if not np.isnan(column).any():
        missing_left = 0
    try:
        cost, n_left = oracle_split(column, y, weights, objective, missing_left, min_samples_leaf)
    except reference.TooCloseToCall:
        reject()
    walked, in_budget, descended = sweeps_of(
        column, y, weights, objective, missing_left, min_samples_leaf
    )
    assert in_budget
    assert walked.n_left == (n_left or 0)
    assert walked.cost == pytest.approx(float(cost), rel=1e-10, abs=1e-10)
    assert_same_split(column, y, weights, objective, walked, descended)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("missing_left", [0, 1])
def test_the_sweeps_agree_on_many_rows_with_ties_and_missing_values(objective, missing_left):
    rng = np.random.default_rng(7)
    column = rng.choice([*range(60), np.nan], size=400)
    ends = np.sort(rng.integers(-40, 40, size=(400, 2)) + np.nan_to_num(column)[:, None], axis=1)
    y = np.where(rng.random((400, 2)) < 0.3, [-inf, inf], ends)
    weights = rng.integers(1, 4, size=400).astype(float)
    walked, in_budget, descended = sweeps_of(
        column, y, weights, objective, missing_left, min_samples_leaf=20
    )
    assert in_budget
    assert 20 <= walked.n_left <= 380
    assert_same_split(column, y, weights, objective, walked, descended)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_weights_that_round_hide_no_split_with_a_side_without_cost(objective):
    n_without_cost = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n = rng.integers(5, 60)
        column, half = (
            rng.permutation(n).astype(float),
            rng.exponential(size=n) * rng.choice([0.1, 1.0, 5.0]),
        )
        y = (rng.normal(size=n) + (column > n / 2) * rng.choice([0, 3]))[:, None] + np.column_stack(
            [-half, half]
        )
        y[1:] = np.where(rng.random((n - 1, 2)) < rng.choice([0.0, 0.5]), [-inf, inf], y[1:])
        walked, in_budget, descended = sweeps_of(column, y, rng.exponential(size=n), objective, 0)
        assert in_budget
        assert walked.cost == pytest.approx(descended.cost, rel=1e-9, abs=1e-9)
        n_without_cost += walked.n_left > 0 and walked.cost < 1e-9
    assert n_without_cost > 10


def test_a_sweep_that_walks_too_far_says_so_and_finds_nothing():
    y = crossing_order(40, 80)
    walked, in_budget, descended = sweeps_of(
        np.arange(120), y, np.ones(120), {"loss": "squared_hinge"}, 0, is_screened=False
    )
    assert not in_budget
    assert (walked.feature, walked.n_left) == (NO_FEATURE, 0)
    assert descended.n_left > 0


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_tree_on_an_order_that_defeats_walking_splits_where_all_boundaries_are_priced(
    objective, is_reversed
):
    y = crossing_order(40, 60)
    weights = np.ones(len(y))
    if objective["loss"] == "linear_hinge":
        # The weight of the far limits alternates between the two sides, by more than that of the
        # cluster, whatever they cost.
        weights[40], weights[41:] = 100.0, 200.0
        quantile = objective["quantile"]
        weights /= np.where(np.isfinite(y[:, 0]), 2 * quantile, 2 * (1 - quantile))
    column = np.arange(len(y), dtype=float)[:: -1 if is_reversed else 1]
    _, in_budget, descended = sweeps_of(column, y, weights, objective, 0, is_screened=False)
    assert not in_budget
    cost, n_left = oracle_split(column, y, weights, objective, 0)
    assert descended.n_left == n_left
    tree = MaxMarginIntervalTree(**objective, max_depth=1).fit(column[:, None], y, weights).tree_
    assert tree.n_node_samples[1] == n_left
    assert tree.impurity[1:].sum() == pytest.approx(float(cost), rel=1e-9)
