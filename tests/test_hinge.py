"""The running minimum under insertion and removal against the oracle, at every step."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core import hinge, rankset, samples
from marginwood._core.hinge import LINEAR, LOWER, SQUARED, UPPER
from marginwood._core.jit import kernel
from marginwood._core.rankset import FIRST, N_SENTINELS, make_rank_set
from reference import Limit, exact, minimum

LOSS_NAMES = {LINEAR: "linear_hinge", SQUARED: "squared_hinge"}
codes = st.sampled_from([LINEAR, SQUARED])


@kernel
def run(points, limits, weights, order, ranks, code):
    """Move limits from the right side to the left in this order; per step cost, value and moves of both sides."""
    samples.put_sentinels(points, limits.shape[0])
    reach = max(abs(points[FIRST, 0]), abs(points[-FIRST - 1, 0]))
    weight = weights.sum()
    loss = hinge.make_loss(code, (1.0, 1.0), weight, 2 * weight * reach, 2 * weight, reach)
    breakpoints = points[FIRST:-FIRST, 0].copy()
    best = samples.minimise(limits, breakpoints, points, ranks, code)
    after, _ = samples.start_from(best, limits, breakpoints, points, code, (0.0, 0.0))
    before = hinge.empty_minimum(limits.shape[0])
    steps = np.empty((order.shape[0] + 1, 2, 3))
    for i in range(order.shape[0] + 1):
        for side in range(2):
            found = after if side else before
            steps[i, side, 0] = hinge.cost_of(points, loss, found)
            steps[i, side, 1] = hinge.value_of(points, loss, found)
            steps[i, side, 2] = found.moves
        if i < order.shape[0]:
            rank = order[i]
            kind, b, weight = (
                np.int64(limits[rank - FIRST] & 1),
                points[rank, 0],
                weights[rank - FIRST],
            )
            rankset.move_left(ranks, rank)
            before = hinge.add(loss, before, rank, kind, b, weight)
            after = hinge.take(loss, after, rank, kind, b, weight)
            before = hinge.walk(points, loss, ranks, rankset.LEFT, before)
            after = hinge.settle(points, loss, ranks, rankset.RIGHT, after)
    return steps


class Limits(NamedTuple):
    """Limits by breakpoint, and the order in which they change sides."""

    breakpoints: np.ndarray
    kinds: np.ndarray
    weights: np.ndarray
    order: np.ndarray

    def run(self, code):
        n_limits = len(self.kinds)
        points = np.full((n_limits + N_SENTINELS, 2), np.nan)
        points[FIRST:-FIRST, 0] = self.breakpoints
        points[FIRST:-FIRST, 1] = np.where(self.kinds == LOWER, -self.weights, self.weights)
        limits = (2 * np.arange(n_limits) + self.kinds).astype(np.int32)
        return run(points, limits, self.weights, self.order + FIRST, make_rank_set(n_limits), code)

    def oracle(self, chosen, code):
        rows = zip(self.breakpoints[chosen], self.kinds[chosen], self.weights[chosen], strict=True)
        limits = [Limit(exact(b), kind == LOWER, exact(weight)) for b, kind, weight in rows]
        return minimum(limits, LOSS_NAMES[code])


@st.composite
def limit_lists(draw, weights, max_size=14):
    """Up to `max_size` limits; breakpoints on a small grid, so that most of them tie."""
    n = draw(st.integers(1, max_size))
    breakpoints = np.sort(
        np.array(draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)), dtype=float)
    )
    kinds = np.array(draw(st.lists(st.sampled_from([LOWER, UPPER]), min_size=n, max_size=n)))
    drawn = np.array(draw(st.lists(weights, min_size=n, max_size=n)), dtype=float)
    return Limits(breakpoints, kinds, drawn, np.array(draw(st.permutations(range(n)))))


ones = st.just(1.0)
counts = st.integers(1, 4)


@given(limit_lists(st.one_of(ones, counts)), codes)
def test_both_sides_have_the_least_cost_at_a_minimiser_at_every_step(limits, code):
    steps = limits.run(code)
    for i in range(len(limits.order) + 1):
        for side, chosen in enumerate((limits.order[:i], limits.order[i:])):
            found = limits.oracle(chosen, code)
            cost, value, _ = steps[i, side]
            assert cost == pytest.approx(float(found.cost), rel=1e-12, abs=1e-11)
            if len(chosen) == 0:
                assert np.isnan(value)
                continue
            assert float(found.low) - 1e-12 <= value <= float(found.high) + 1e-12
            # A side that loses limits may stay at one end of the set.
            if side == 0:
                assert value == pytest.approx(float(found.value), rel=1e-12, abs=1e-12)


@given(limit_lists(st.integers(-8, 8).map(lambda power: 10.0**power)), codes)
def test_weights_of_many_magnitudes_reach_the_least_cost_on_the_growing_side(limits, code):
    steps = limits.run(code)
    scale = float(limits.weights.sum()) * (10.0 if code == LINEAR else 100.0)
    for i in range(1, len(limits.order) + 1):
        cost, value, *_ = steps[i, 0]
        chosen = limits.order[:i]
        found = limits.oracle(chosen, code)
        assert cost == pytest.approx(float(found.cost), rel=1e-10, abs=1e-10 * scale)
        assert np.isfinite(value)


@given(limit_lists(ones, max_size=30))
def test_with_equal_weights_the_linear_pointer_moves_at_most_once_per_limit(limits):
    moves = limits.run(LINEAR)[:, :, 2]
    assert (np.diff(moves, axis=0) <= 1).all()


@given(limit_lists(counts))
def test_a_side_that_loses_all_its_limits_ends_without_a_minimum(limits):
    for code in (LINEAR, SQUARED):
        cost, value, *_ = limits.run(code)[-1, 1]
        assert cost == 0
        assert np.isnan(value)


def test_a_walk_crosses_as_many_pieces_as_it_must():
    # One far lower limit of great weight pulls the minimum over all upper limits.
    breakpoints = np.append(np.arange(20.0), 1000.0)
    kinds = np.append(np.full(20, UPPER), LOWER)
    weights = np.append(np.ones(20), 1000.0)
    limits = Limits(breakpoints, kinds, weights, np.arange(21))
    for code in (LINEAR, SQUARED):
        steps = limits.run(code)
        assert steps[-2, 0, 1] == 0.0
        assert steps[-1, 0, 1] > 900
        assert steps[-1, 0, 2] - steps[-2, 0, 2] >= 20
