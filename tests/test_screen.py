"""Bounds of prices: never above the price, close enough to be of use, and without a trace in the tree."""

from math import inf
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from columns import make_column, open_column
from marginwood import MaxMarginIntervalTree
from marginwood._core import screen
from marginwood._core.jit import kernel
from marginwood._core.split import Path
from marginwood.losses import hinge_loss
from strategies import OBJECTIVES, count_weights, informative_intervals, objectives


@kernel
def screened(problem, scratch, stretch, share):
    """The node's cost and the path screened with this share of it as the price; the bounds stay in the scratch."""
    path, points, loss, best, full = open_column(problem, scratch, stretch)
    order = problem.orders[0]
    room = scratch.screen
    distances = screen.fill(
        room, order, path.start, path.stop, scratch.samples, points, loss, full, best.value
    )
    return best.cost, screen.screen(room, order, path, loss, distances, share * best.cost)


class Screened(NamedTuple):
    """In units of the target: the node's cost, the path, the bound in front of every position, the pulls' sums."""

    cost: float
    path: Path
    bounds: np.ndarray
    totals: np.ndarray


def screen_column(column, y, weights, objective, share, missing_left=0, min_samples_leaf=1):
    problem, scratch, stretch, _, unit = make_column(
        column, y, weights, objective, missing_left, min_samples_leaf
    )
    scratch.screen.bounds[:] = -inf  # of another feature
    cost, path = screened(problem, scratch, stretch, share)
    return Screened(unit * cost, path, unit * scratch.screen.bounds, unit * scratch.screen.totals)


def prices(column, y, weights, objective):
    """How many rows go left and the price, for every split of a column without missing values."""
    limits = [
        reference.limits_of(*ends, 0.0, weight, objective.get("quantile", 0.5))
        for ends, weight in zip(y, weights, strict=True)
    ]
    for _, _, goes_left in reference.rules(column):
        sides = [
            [limit for row in np.flatnonzero(rows) for limit in limits[row]]
            for rows in (goes_left, ~goes_left)
        ]
        yield (
            int(goes_left.sum()),
            float(sum(reference.minimum(side, objective["loss"]).cost for side in sides)),
        )


@given(st.data(), informative_intervals(min_size=2, max_size=10), objectives, st.floats(0.0, 1.0))
def test_no_split_below_the_price_is_screened_out(data, y, objective, share):
    column = np.array(
        data.draw(st.lists(st.integers(0, 6), min_size=len(y), max_size=len(y))), dtype=float
    )
    weights = data.draw(count_weights(len(y)))
    weights = np.ones(len(y)) if weights is None else np.maximum(weights, 1.0)
    found = screen_column(column, y, weights, objective, share)
    for n_left, price in prices(column, y, weights, objective):
        assert found.bounds[n_left] <= price + 1e-9 * found.cost
        if price < share * found.cost * (1 - 1e-9):
            assert found.path.first <= n_left <= found.path.last


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("shape", ["noise", "signal", "one-sided"])
def test_the_bounds_of_many_splits_are_never_above_their_prices_and_among_noise_close(
    objective, shape
):
    rng = np.random.default_rng(5)
    column, weights = rng.permutation(400).astype(float), rng.uniform(0.5, 2.0, 400)
    y = (
        rng.normal(size=(400, 1))
        + (column[:, None] > 250 if shape == "signal" else 0)
        + np.array([-0.2, 0.2])
    )
    y[rng.random(400) < 0.3, 0] = -inf
    y[rng.random(400) < (0.9 if shape == "one-sided" else 0.2), 1] = inf
    values = np.unique(y[np.isfinite(y)])
    values = (
        np.union1d(values, np.linspace(values[0], values[-1], 2000))
        if objective["loss"] == "squared_hinge"
        else values
    )
    order = np.argsort(column)
    lefts = np.cumsum(
        weights[order] * np.array([hinge_loss(y[order], value, **objective) for value in values]),
        axis=1,
    )
    true = (lefts.min(axis=0) + (lefts[:, -1:] - lefts).min(axis=0))[:-1]
    found = screen_column(column, y, weights, objective, 1.0)
    assert np.all(found.bounds[1:] <= true * (1 + 1e-9))
    if shape == "noise":
        # Few rows lie beyond an outer quantile, and they decide.
        share = 0.01 if 0.2 < objective.get("quantile", 0.5) < 0.8 else 0.03
        assert np.median(true - found.bounds[1:]) < share * found.cost


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_splits_of_noise_are_screened_out_once_a_good_one_is_known(objective):
    rng = np.random.default_rng(3)
    noise, y = rng.normal(size=2000), rng.normal(size=(2000, 1)) + np.array([-0.2, 0.2])
    y[rng.random(2000) < 0.3, 0] = -inf
    path = screen_column(noise, y, np.ones(2000), objective, 0.95).path
    assert path.first > path.last
    path = screen_column(y[:, 1], y, np.ones(2000), objective, 0.95).path
    assert path.first < path.last


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_pulls_add_up_to_the_cost_of_the_node(objective):
    rng = np.random.default_rng(4)
    y = np.sort(rng.normal(size=(50, 2)), axis=1)
    cost, _, _, totals = screen_column(
        np.arange(50), y, rng.uniform(0.5, 2, size=50), objective, 1.0
    )
    assert (
        totals[0] if objective["loss"] == "squared_hinge" else totals[0] + totals[1]
    ) == pytest.approx(cost)


@pytest.mark.parametrize("missing_left", [0, 1])
def test_missing_values_count_on_their_side(missing_left):
    y = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0], [5.0, 5.0]])
    column = [0.0, 1.0, np.nan, np.nan]
    path = screen_column(column, y, np.ones(4), {"loss": "squared_hinge"}, 0.5, missing_left).path
    assert path.first > path.last if missing_left else (path.first, path.last) == (2, 2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_screening_with_weights_that_round_finds_the_best_split_of_every_node(objective):
    rng = np.random.default_rng(0)
    X, y, weights = (
        rng.normal(size=(300, 3)),
        np.repeat(rng.normal(size=(300, 1)), 2, axis=1),
        rng.uniform(0.5, 2, size=300),
    )
    tree = MaxMarginIntervalTree(**objective).fit(X, y, weights)
    path = tree.decision_path(X).toarray().astype(bool)
    for node in np.flatnonzero(tree.tree_.children_left >= 0):
        rows = path[:, node]
        if rows.sum() <= 12:
            children = tree.tree_.children_left[node], tree.tree_.children_right[node]
            splits = (
                price
                for column in X[rows].T
                for _, price in prices(column, y[rows], weights[rows], objective)
            )
            assert tree.tree_.impurity[list(children)].sum() == pytest.approx(min(splits), abs=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_path_without_room_for_a_split_stays_without(objective):
    # With ten missing values on the left and four samples in every leaf no split is left.
    column, y = [1.0, 2.0, *[np.nan] * 10], np.repeat(np.arange(12.0)[:, None], 2, axis=1)
    path = screen_column(
        column, y, np.ones(12), objective, 1.0, missing_left=1, min_samples_leaf=4
    ).path
    assert path.first > path.last
