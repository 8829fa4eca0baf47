"""The descent against the walk: the same minimum, wherever it jumps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core import descent, hinge, rankset, samples
from marginwood._core.hinge import LINEAR, LOWER, SQUARED, UPPER
from marginwood._core.jit import kernel
from marginwood._core.rankset import FIRST, N_SENTINELS, make_rank_set


@kernel
def run(points, kinds, weights, order, ranks, code):
    """Add limits to the left in this order; per step cost, low, high and number of limits left of the minimum."""
    n_ranks, one = kinds.shape[0], np.int64(1)
    samples.put_sentinels(points, n_ranks)
    reach = max(abs(points[FIRST, 0]), abs(points[-FIRST - 1, 0]))
    loss = hinge.make_loss(code, 2 * weights.sum(), reach)
    rankset.reset(ranks, n_ranks)
    sums, counts = descent.make_sums(n_ranks)
    walked = hinge.empty_minimum(n_ranks)
    steps = np.empty((order.shape[0], 2, 4))
    for i in range(order.shape[0]):
        rank = order[i]
        kind = kinds[rank - FIRST]
        rankset.move_left(ranks, rank)
        walked = hinge.add(loss, walked, rank, kind, points[rank, 0], weights[rank - FIRST])
        walked = hinge.walk(points, loss, ranks, rankset.LEFT, walked)
        n_left = 0
        for j in range(i + 1):
            n_left += order[j] <= walked.low
        descent.change(points, loss, sums, counts, rank, kind, one)
        found, n_found = descent.locate(points, loss, ranks, rankset.LEFT, sums, counts)
        for way in range(2):
            minimum = found if way else walked
            _, low, high = hinge.value_of(points, loss, minimum)
            steps[i, way, 0], steps[i, way, 1] = hinge.cost_of(points, loss, minimum), low
            steps[i, way, 2], steps[i, way, 3] = high, n_found if way else n_left
    # Take all of them out again.
    for i in range(order.shape[0]):
        descent.change(points, loss, sums, counts, order[i], kinds[order[i] - FIRST], -one)
    return steps, np.abs(sums).max(), np.abs(counts).max()


def steps_of(breakpoints, kinds, weights, order, code):
    points = np.full((len(kinds) + N_SENTINELS, 2), np.nan)
    points[FIRST:-FIRST, 0] = breakpoints
    points[FIRST:-FIRST, 1] = np.where(kinds == LOWER, -weights, weights)
    return run(points, kinds, weights, order + FIRST, make_rank_set(len(kinds)), code)


@pytest.mark.parametrize("code", [LINEAR, SQUARED])
@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_the_descent_finds_the_piece_of_the_walk(code, n, seed, weighted):
    rng = np.random.default_rng(seed)
    breakpoints = np.sort(rng.integers(-6, 7, size=n)).astype(float)
    kinds = rng.integers(2, size=n)
    weights = rng.integers(1, 5, size=n).astype(float) if weighted else np.ones(n)
    steps, left_over, n_left_over = steps_of(breakpoints, kinds, weights, rng.permutation(n), code)
    np.testing.assert_allclose(steps[:, 1], steps[:, 0], rtol=1e-12, atol=1e-10)
    assert (left_over, n_left_over) == (0, 0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 63, 64, 65])
def test_every_size_of_tree_finds_a_minimum_beyond_its_last_limit(n):
    breakpoints, kinds = np.arange(n, dtype=float), np.full(n, LOWER)
    for code in (LINEAR, SQUARED):
        steps, *_ = steps_of(breakpoints, kinds, np.ones(n), np.arange(n), code)
        assert steps[-1, 1].tolist() == [0.0, n - 1, np.inf, n]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 63, 64, 65])
def test_every_size_of_tree_finds_a_minimum_before_its_first_limit(n):
    breakpoints, kinds = np.arange(n, dtype=float), np.full(n, UPPER)
    for code in (LINEAR, SQUARED):
        steps, *_ = steps_of(breakpoints, kinds, np.ones(n), np.arange(n), code)
        assert steps[-1, 1].tolist() == [0.0, -np.inf, 0.0, 0]
