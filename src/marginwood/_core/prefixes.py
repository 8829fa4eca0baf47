"""The minimum of every prefix of a list of intervals: the paper's solver."""

import numpy as np

from marginwood._core import descent, hinge, rankset
from marginwood._core.jit import borrow, kernel, prefetch
from marginwood._core.split import MOVES_PER_LIMIT, PREFETCH_DISTANCE


@kernel
def solve_by_walking(samples, points, ranks, loss, costs, values, moves):
    """Fill `costs`, `values` and `moves`; says whether the walking budget held."""
    samples, points, ranks = borrow(samples), borrow(points), borrow(ranks)
    costs, values, moves = borrow(costs), borrow(values), borrow(moves)
    n_samples, n_ranks = samples.shape[0], points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    minimum = hinge.empty_minimum(n_ranks)
    for i in range(n_samples):
        before = minimum.moves
        sample = samples[i]
        if i + PREFETCH_DISTANCE < n_samples:
            prefetch(points, np.int64(samples[i + PREFETCH_DISTANCE]["lower_rank"]))
        weight, rank, b = sample["weight"], np.int64(sample["lower_rank"]), sample["lower"]
        for kind in range(2):
            if rank > 0:
                rankset.move_left(ranks, rank)
                minimum = hinge.add(loss, minimum, rank, kind, b, weight)
            rank, b = np.int64(sample["upper_rank"]), sample["upper"]
        minimum = hinge.walk(points, loss, ranks, rankset.LEFT, minimum)
        costs[i] = hinge.cost_of(points, loss, minimum)
        values[i] = hinge.value_of(points, loss, minimum)[0]
        moves[i] = minimum.moves - before
        if minimum.moves > MOVES_PER_LIMIT * n_ranks + 64:
            return False
    return True


@kernel
def solve_by_descent(samples, points, ranks, loss, costs, values, moves):
    """The same in O(n log n), wherever the minimum goes."""
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    sums, counts = descent.make_sums(n_ranks)
    minimum, n_left = hinge.empty_minimum(n_ranks), np.int64(0)
    for i in range(samples.shape[0]):
        rank = np.int64(samples[i]["lower_rank"])
        for kind in range(2):
            if rank > 0:
                rankset.move_left(ranks, rank)
                descent.change(points, sums, counts, rank, kind, np.int64(1))
                n_left += rank <= minimum.low
            rank = np.int64(samples[i]["upper_rank"])
        n_before = n_left
        minimum, n_left = descent.locate(points, loss, ranks, rankset.LEFT, sums, counts)
        moves[i] = abs(n_left - n_before)
        costs[i] = hinge.cost_of(points, loss, minimum)
        values[i] = hinge.value_of(points, loss, minimum)[0]
