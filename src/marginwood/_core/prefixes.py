"""The minimum of every prefix of a list of intervals: the paper's solver.

The walk keeps an account of how its running sums may have rounded. Where that could show in a cost,
the prefix is solved afresh (`optimum`). If that happens too often, or the minimum jumps too far,
all are solved by descent.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core import descent, hinge, rankset
from marginwood._core.hinge import LINEAR, LOWER, Minimum, priced
from marginwood._core.jit import (
    PREFETCH_DISTANCE,
    borrow,
    filling,
    inlined,
    inner,
    kernel,
    prefetch,
)
from marginwood._core.optimum import meet
from marginwood._core.rankset import FIRST
from marginwood._core.samples import put_sentinels
from marginwood._core.split import MOVES_PER_LIMIT

# A sum rounds by up to half of 2**-52 of itself at every step, at random: twice the root of the sum
# of squares of 2**-52 of all its values is seven standard deviations of what adds up. That may be
# this share of a cost.
SHARE = 1e-9
NOISE = (2 * 2.0**-52 / SHARE) ** 2
LARGEST = np.finfo(np.float64).max  # prefixes may reach any limit
VALUE_SHARE = 1e-2  # and, squared, this share of it of the distances that a value is a mean of
# Lower costs have no square to compare with the noise, which may have vanished, too.
LEAST_COST = 1e-140
MOST_TIED = 16  # breakpoints next to a value that are looked at


class Results(NamedTuple):
    """What is found for every prefix; the values are in the unit of the breakpoints."""

    costs: np.ndarray
    values: np.ndarray
    moves: np.ndarray


@filling
def rank_all(limits, breakpoints, centre, weights, ranks_of, points, code, prices):
    """Number the limits in `ranks_of`, by sample and kind, and list them by rank in `points`, counted from a centre."""
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    ranks_of = borrow(ranks_of)
    points = borrow(points)
    n_limits = limits.shape[0]
    put_sentinels(points, n_limits)
    uniform = True
    for i in range(weights.shape[0]):
        uniform = uniform and weights[i] == weights[0]
    for i in range(n_limits):
        prefetch(ranks_of, np.int64(limits[min(i + PREFETCH_DISTANCE, n_limits - 1)]))
        limit = limits[i]
        rank = i + FIRST
        ranks_of[limit >> 1, limit & 1] = rank
        weight = priced(code, prices, limit & 1, weights[0] if uniform else weights[limit >> 1])
        points[rank, 0] = breakpoints[i] - centre
        points[rank, 1] = -weight if limit & 1 == LOWER else weight


def adds_exactly(weights):
    """Whether no sum of some of the weights rounds: they are multiples of a unit, and not too many units in all."""
    unit = 2.0 ** np.ceil(np.log2(weights.sum()) + 1) * 2.0**-52
    n_units = weights / unit
    return bool((n_units == np.floor(n_units)).all())


class Noise(NamedTuple):
    """Sums of squares of all values that the sums of a minimum have had; the linear hinge has no use for the last."""

    weight: float
    total: float
    square: float


@inlined
def _more_noise(code, noise, exact, own, products, start, added, walked):
    """The noise after a row of weight `own`, with these squares of products, was added and the minimum walked on."""
    n_steps = 2.0 + (walked.moves - start.moves)
    weight = (
        0.0 if exact else own + max(max(abs(start.weight), abs(added.weight)), abs(walked.weight))
    )
    total = max(max(abs(start.total), abs(added.total)), abs(walked.total))
    square = max(max(start.square, added.square), walked.square) if code != LINEAR else 0.0
    return Noise(
        noise.weight + n_steps * weight * weight,
        noise.total + n_steps * total * total + products,
        noise.square + n_steps * square * square,
    )


@inner
def _least_weight(points, ranks, minimum, mu, blur):
    """The least weight of a piece and of the pieces beyond breakpoints that its value cannot be told from.

    There the same error of a sum moves the value farther: with limits of weight 1 at the end of a
    piece, and of weight 1e-18 beside it, a value that is right to 1e-16 may belong anywhere in the
    next piece. Of many such breakpoints nothing is known.
    """
    least = minimum.weight
    weight = minimum.weight
    rank = minimum.low
    for _ in range(MOST_TIED):
        if mu - points[rank, 0] > blur:
            break
        weight -= points[rank, 1]
        least = min(least, weight)
        rank = rankset.previous_rank(ranks, rankset.LEFT, rank)
    else:
        return 0.0
    weight = minimum.weight
    rank = minimum.high
    for _ in range(MOST_TIED):
        if points[rank, 0] - mu > blur:
            return least
        weight += points[rank, 1]
        least = min(least, weight)
        rank = rankset.next_rank(ranks, rankset.LEFT, rank)
    return 0.0


@inlined
def _is_certain(points, ranks, code, minimum, noise, exact, cost, centre, value):
    """Whether the sums have rounded too little to show in the minimum; weights that add exactly do not round at all."""
    if minimum.n_active == 0:
        return True
    if cost < LEAST_COST and (minimum.total != 0 or minimum.square != 0):
        return False
    weight = NOISE * noise.weight
    total = NOISE * noise.total
    square = NOISE * noise.square
    if code == LINEAR:
        at = points[minimum.low, 0]
        step = abs(points[minimum.low, 1])
        slope = min(abs(minimum.weight), abs(minimum.weight - step))
        is_on_its_side = exact or SHARE * SHARE * weight < slope * slope
        return is_on_its_side and total + at * at * weight <= cost * cost
    # The distance by which the value may be off is compared with the one that the cost is a square
    # of.
    mu = minimum.total / minimum.weight
    twice = mu * mu
    slope = total + twice * weight
    blur = SHARE * np.sqrt(slope) / minimum.weight
    least = minimum.weight
    if slope > 0 and (mu - points[minimum.low, 0] <= blur or points[minimum.high, 0] - mu <= blur):
        least = _least_weight(points, ranks, minimum, mu, blur)
    return (
        square + 4 * twice * total + twice * twice * weight <= cost * cost
        and slope <= VALUE_SHARE * least * cost
        and weight <= minimum.weight * minimum.weight
        and (abs(centre) <= 16 * abs(value) or NOISE * centre * centre * minimum.weight <= cost)
    )


@inner
def _sums_at(points, ranks, side, best, code, moves):
    """The minimum on the piece of an optimum, with its sums afresh, and their noise."""
    points = borrow(points)
    ranks = borrow(ranks)
    n_active = np.int64(0)
    weight = 0.0
    total = 0.0
    square = 0.0
    noise = Noise(0.0, 0.0, 0.0)
    end = points.shape[0] - FIRST
    rank = rankset.next_rank(ranks, side, side)
    while rank < end:
        b = points[rank, 0]
        signed = points[rank, 1]
        if (rank > best.low_rank) == (signed < 0):
            own = signed if code == LINEAR else abs(signed)
            n_active += 1
            weight += own
            total += own * b
            square += own * b * b
            noise = Noise(
                noise.weight + weight * weight,
                noise.total + total * total,
                noise.square + square * square,
            )
        rank = rankset.next_rank(ranks, side, rank)
    minimum = Minimum(best.low_rank, best.high_rank, n_active, weight, total, square, 0.0, moves)
    return minimum, noise


@inner
def _count_between(ranks, side, rank, other):
    """How many ranks of a side lie between two of them, the higher one included."""
    n_ranks = np.int64(0)
    stop = max(rank, other)
    rank = min(rank, other)
    while rank < stop:
        rank = rankset.next_rank(ranks, side, rank)
        n_ranks += 1
    return n_ranks


@inlined
def _value_of(breakpoints, code, minimum, centre):
    """The middle of the minimisers; those of the squared hinge are counted from the centre, breakpoints are not."""
    if code != LINEAR and minimum.n_active > 0:
        return minimum.total / minimum.weight + centre
    low = breakpoints[minimum.low - FIRST] if minimum.low >= FIRST else -np.inf
    high = (
        breakpoints[minimum.high - FIRST] if minimum.high - FIRST < breakpoints.shape[0] else np.inf
    )
    return hinge.middle_of(low, low if code == LINEAR and minimum.weight > 0 else high)


@filling
def solve_by_walking(
    ranks_of, points, breakpoints, weights, exact, ranks, code, prices, centre, results
):
    """Fill the results; says whether the walking budget held. `exact` says that the weights add up exactly."""
    ranks_of = borrow(ranks_of)
    points = borrow(points)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    ranks = borrow(ranks)
    costs = borrow(results.costs)
    values = borrow(results.values)
    moves = borrow(results.moves)
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    n_samples = weights.shape[0]
    budget = MOVES_PER_LIMIT * n_ranks + 64
    n_afresh = 0
    dearest = max(prices[0], prices[1])
    loss = hinge.make_loss(code, prices, 0.0, 0.0, 0.0, LARGEST)
    rankset.reset(ranks, n_ranks)
    minimum = hinge.empty_minimum(n_ranks)
    noise = Noise(0.0, 0.0, 0.0)
    for i in range(n_samples):
        start = minimum
        products = 0.0
        ahead = min(i + PREFETCH_DISTANCE, n_samples - 1)
        for kind in range(2):
            prefetch(points, np.int64(2 * ranks_of[ahead, kind]))
            rank = np.int64(ranks_of[i, kind])
            if rank > 0:
                rankset.move_left(ranks, rank)
                b = points[rank, 0]
                weight = priced(code, prices, kind, weights[i])
                minimum = hinge.add(loss, minimum, rank, kind, b, weight)
                products += weight * b * weight * b
        added = minimum
        minimum = hinge.walk(points, loss, ranks, rankset.LEFT, minimum)
        own = dearest * weights[i]
        noise = _more_noise(code, noise, exact, own, products, start, added, minimum)
        if minimum.n_active == 0:
            minimum = Minimum(minimum.low, minimum.high, 0, 0.0, 0.0, 0.0, 0.0, minimum.moves)
            noise = Noise(0.0, 0.0, 0.0)
        cost = hinge.cost_of(points, loss, minimum)
        value = _value_of(breakpoints, code, minimum, centre)
        moves[i] = minimum.moves - start.moves
        if not _is_certain(points, ranks, code, minimum, noise, exact, cost, centre, value):
            best = meet(breakpoints, points, ranks, rankset.LEFT, code, False)
            n_afresh += i + 1
            moves[i] = _count_between(ranks, rankset.LEFT, start.low, best.low_rank)
            cost = best.cost
            value = best.value
            minimum, noise = _sums_at(points, ranks, rankset.LEFT, best, code, minimum.moves)
        costs[i] = cost
        values[i] = value
        if minimum.moves + n_afresh > budget:
            return False
    return True


@kernel
def solve_by_descent(ranks_of, points, weights, ranks, code, prices, results):
    """The same in O(n log n), wherever the minimum goes; `points` hold the breakpoints as they are."""
    loss = hinge.make_loss(code, prices, 0.0, 0.0, 0.0, LARGEST)
    costs = borrow(results.costs)
    values = borrow(results.values)
    moves = borrow(results.moves)
    n_ranks = points.shape[0] - rankset.N_SENTINELS
    rankset.reset(ranks, n_ranks)
    sums = descent.make_sums(n_ranks)
    low = rankset.LEFT
    n_left = np.int64(0)
    for i in range(weights.shape[0]):
        for kind in range(2):
            rank = np.int64(ranks_of[i, kind])
            if rank > 0:
                rankset.move_left(ranks, rank)
                weight = priced(code, prices, kind, weights[i])
                descent.change(points, loss, sums, rank, kind, weight)
                n_left += rank <= low
        n_before = n_left
        best, n_left = descent.locate(points, loss, ranks, rankset.LEFT, sums)
        low = best.low_rank
        moves[i] = abs(n_left - n_before)
        costs[i] = best.cost
        values[i] = best.value
