"""The descent against the oracle: the minimum of limits that come and go, wherever it jumps and whatever they weigh."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core import descent, hinge, rankset, samples
from marginwood._core.hinge import LINEAR, LOWER, SQUARED, UPPER
from marginwood._core.jit import kernel
from marginwood._core.rankset import FIRST, N_SENTINELS, make_rank_set
from reference import Limit, exact, minimum

LOSS_NAMES = {LINEAR: "linear_hinge", SQUARED: "squared_hinge"}


@kernel
def run(points, kinds, weights, order, ranks, code):
    """Move limits from the right to the left in this order; per step cost, value, low, high and limits left of them."""
    n_ranks = kinds.shape[0]
    samples.put_sentinels(points, n_ranks)
    loss = hinge.make_loss(code, (1.0, 1.0), 0.0, 0.0, 0.0, np.inf)
    rankset.reset(ranks, n_ranks)
    left, right = descent.make_sums(n_ranks), descent.make_sums(n_ranks)
    for i in range(n_ranks):
        descent.change(points, loss, right, np.int64(i + FIRST), kinds[i], weights[i])
    steps = np.empty((order.shape[0] + 1, 2, 5))
    for i in range(order.shape[0] + 1):
        for side in range(2):
            sums = right if side else left
            found, n_left = descent.locate(points, loss, ranks, np.int64(side), sums)
            steps[i, side, 0], steps[i, side, 1] = found.cost, found.value
            steps[i, side, 2], steps[i, side, 3], steps[i, side, 4] = found.low, found.high, n_left
        if i < order.shape[0]:
            rank = order[i]
            kind, weight = kinds[rank - FIRST], weights[rank - FIRST]
            rankset.move_left(ranks, rank)
            descent.change(points, loss, left, rank, kind, weight)
            descent.change(points, loss, right, rank, kind, 0.0)
    return steps, np.abs(right).max()


def steps_of(breakpoints, kinds, weights, order, code):
    points = np.full((len(kinds) + N_SENTINELS, 2), np.nan)
    points[FIRST:-FIRST, 0] = breakpoints
    points[FIRST:-FIRST, 1] = np.where(kinds == LOWER, -weights, weights)
    return run(points, kinds, weights, order + FIRST, make_rank_set(len(kinds)), code)


@pytest.mark.parametrize("code", [LINEAR, SQUARED])
@given(st.integers(1, 16), st.integers(0, 2**32 - 1), st.sampled_from(["equal", "whole", "wide"]))
def test_both_sides_have_their_minimum_at_every_step(code, n, seed, kind_of_weights):
    rng = np.random.default_rng(seed)
    breakpoints = np.sort(rng.integers(-6, 7, size=n)).astype(float)
    kinds = rng.integers(2, size=n)
    weights = {
        "equal": np.ones(n),
        "whole": rng.integers(1, 5, size=n).astype(float),
        "wide": 10.0 ** -rng.integers(0, 25, n),
    }[kind_of_weights]
    order = rng.permutation(n)
    steps, left_over = steps_of(breakpoints, kinds, weights, order, code)
    limits = [
        Limit(exact(b), k == LOWER, exact(w))
        for b, k, w in zip(breakpoints, kinds, weights, strict=True)
    ]
    for i in range(n + 1):
        for side, chosen in enumerate((order[:i], order[i:])):
            found = minimum([limits[j] for j in chosen], LOSS_NAMES[code])
            cost, value, low, high, n_left = steps[i, side]
            assert cost == pytest.approx(float(found.cost), rel=1e-14, abs=0)
            np.testing.assert_allclose(
                [low, high], [float(found.low), float(found.high)], rtol=1e-15, atol=1e-15
            )
            assert value == pytest.approx(float(found.value), rel=1e-15, abs=1e-15, nan_ok=True)
            if len(chosen):
                assert (
                    np.sum(breakpoints[chosen] < low - 1e-9)
                    <= n_left
                    <= np.sum(breakpoints[chosen] <= high + 1e-9)
                )
    assert left_over == 0


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 63, 64, 65])
def test_every_size_of_tree_finds_a_minimum_beyond_its_last_limit(n):
    breakpoints, kinds = np.arange(n, dtype=float), np.full(n, LOWER)
    for code in (LINEAR, SQUARED):
        steps, *_ = steps_of(breakpoints, kinds, np.ones(n), np.arange(n), code)
        assert steps[-1, 0].tolist() == [0.0, n - 1, n - 1, np.inf, n]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 63, 64, 65])
def test_every_size_of_tree_finds_a_minimum_before_its_first_limit(n):
    breakpoints, kinds = np.arange(n, dtype=float), np.full(n, UPPER)
    for code in (LINEAR, SQUARED):
        steps, *_ = steps_of(breakpoints, kinds, np.ones(n), np.arange(n), code)
        assert steps[-1, 0].tolist() == [0.0, 0.0, -np.inf, 0.0, 0]
