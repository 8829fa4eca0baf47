"""The minimum of every prefix of a list of intervals: the paper's solver."""

import numpy as np

from marginwood._core import descent, hinge, rankset
from marginwood._core.hinge import LOWER
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inner, kernel, prefetch
from marginwood._core.samples import contested, put_sentinels
from marginwood._core.split import MOVES_PER_LIMIT


@kernel
def rank_all(limits, breakpoints, weights, ranks_of, points):
    """Number the limits in `ranks_of`, by sample and kind, and list them by rank in `points`.

    Returns how far from 0 a breakpoint lies that may count in a minimum.
    """
    limits, breakpoints, weights = borrow(limits), borrow(breakpoints), borrow(weights)
    ranks_of, points = borrow(ranks_of), borrow(points)
    put_sentinels(points, limits.shape[0])
    uniform = True
    for i in range(weights.shape[0]):
        uniform = uniform and weights[i] == weights[0]
    last = limits.shape[0] - 1
    for i in range(limits.shape[0]):
        prefetch(ranks_of, np.int64(limits[min(i + PREFETCH_DISTANCE, last)]))
        limit, rank = limits[i], i + rankset.FIRST
        ranks_of[limit >> 1, limit & 1] = rank
        weight = weights[0] if uniform else weights[limit >> 1]
        points[rank, 0] = breakpoints[i]
        points[rank, 1] = -weight if limit & 1 == LOWER else weight
    first, last = contested(limits)
    return max(abs(breakpoints[first]), abs(breakpoints[last - 1])) if first < last else 0.0


@inner
def _loss_of_all(code, weights, reach):
    weight = 0.0
    for i in range(weights.shape[0]):
        weight += weights[i]
    return hinge.make_loss(code, 2 * weight, reach)


@kernel
def solve_by_walking(ranks_of, points, weights, ranks, code, reach, costs, values, moves):
    """Fill `costs`, `values` and `moves`; says whether the walking budget held."""
    loss = _loss_of_all(code, weights, reach)
    ranks_of, points, weights, ranks = borrow(ranks_of), borrow(points), borrow(weights), borrow(ranks)
    costs, values, moves = borrow(costs), borrow(values), borrow(moves)
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    minimum = hinge.empty_minimum(n_ranks)
    n_samples = weights.shape[0]
    for i in range(n_samples):
        before = minimum.moves
        ahead = min(i + PREFETCH_DISTANCE, n_samples - 1)
        for kind in range(2):
            prefetch(points, np.int64(2 * ranks_of[ahead, kind]))
            rank = np.int64(ranks_of[i, kind])
            if rank > 0:
                rankset.move_left(ranks, rank)
                minimum = hinge.add(loss, minimum, rank, kind, points[rank, 0], weights[i])
        minimum = hinge.walk(points, loss, ranks, rankset.LEFT, minimum)
        costs[i] = hinge.cost_of(points, loss, minimum)
        values[i] = hinge.value_of(points, loss, minimum)[0]
        moves[i] = minimum.moves - before
        if minimum.moves > MOVES_PER_LIMIT * n_ranks + 64:
            return False
    return True


@kernel
def solve_by_descent(ranks_of, points, weights, ranks, code, reach, costs, values, moves):
    """The same in O(n log n), wherever the minimum goes."""
    loss = _loss_of_all(code, weights, reach)
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    sums, counts = descent.make_sums(n_ranks)
    minimum, n_left = hinge.empty_minimum(n_ranks), np.int64(0)
    for i in range(weights.shape[0]):
        for kind in range(2):
            rank = np.int64(ranks_of[i, kind])
            if rank > 0:
                rankset.move_left(ranks, rank)
                descent.change(points, loss, sums, counts, rank, kind, np.int64(1))
                n_left += rank <= minimum.low
        n_before = n_left
        minimum, n_left = descent.locate(points, loss, ranks, rankset.LEFT, sums, counts)
        moves[i] = abs(n_left - n_before)
        costs[i] = hinge.cost_of(points, loss, minimum)
        values[i] = hinge.value_of(points, loss, minimum)[0]
