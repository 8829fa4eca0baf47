"""What a sweep reads of a sample, and the ranks of a node's limits."""

from typing import NamedTuple

import numpy as np

from marginwood._core import rankset
from marginwood._core.hinge import LINEAR, LOWER, SQUARED, UPPER, Minimum, priced
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inlined, inner, prefetch
from marginwood._core.optimum import meet
from marginwood._core.rankset import FIRST

# Half a cache line; a rank of 0 means that there is no such limit.
SAMPLE_DTYPE = np.dtype(
    [
        ("lower_rank", np.int32),
        ("upper_rank", np.int32),
        ("lower", np.float64),
        ("upper", np.float64),
        ("weight", np.float64),
    ],
    align=True,
)

# Limits lighter than this share of the heaviest, or of all, are lost in sums that heavy ones have
# passed through.
LIGHT = 1e-7
LIGHT_IN_ALL = 1e-11
# So many limits are looked at together where the first of a kind is searched.
BLOCK = 4096


class Spread(NamedTuple):
    """What decides how far the running sums of a sweep can be trusted; sums over the limits that may be active.

    `distance` and `size` are sums of weighted distances and losses, as seen from the centre;
    `light` is the weight of those that are LIGHT. `blur` is the cost that the last digits of the
    breakpoints make.
    """

    weight: float
    distance: float
    size: float
    light: float
    blur: float


@inner
def put_sentinels(points, n_ranks):
    """Surround the ranks by limits at minus and plus infinity."""
    for i in range(2):
        points[i, 0] = -np.inf
        points[i, 1] = np.inf
        points[n_ranks + FIRST + i, 0] = np.inf
        points[n_ranks + FIRST + i, 1] = np.inf


@inner
def rank_limits(limits, breakpoints, samples, points, centre, code, prices):
    """Number the limits of a node FIRST, FIRST + 1, ... in their samples, and list them by rank in `points`."""
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    samples = borrow(samples)
    points = borrow(points)
    n_ranks = limits.shape[0]
    put_sentinels(points, n_ranks)
    for i in range(n_ranks):
        if i + PREFETCH_DISTANCE < n_ranks:
            prefetch(samples, np.int64(limits[i + PREFETCH_DISTANCE] >> 1))
        limit = limits[i]
        rank = i + FIRST
        sample = samples[limit >> 1]
        b = breakpoints[i] - centre
        weight = priced(code, prices, limit & 1, sample["weight"])
        if limit & 1 == LOWER:
            sample["lower_rank"] = rank
            sample["lower"] = b
        else:
            sample["upper_rank"] = rank
            sample["upper"] = b
        points[rank, 0] = b
        points[rank, 1] = -weight if limit & 1 == LOWER else weight


@inner
def contested(limits):
    """Where the first upper limit is, and where the last lower one ends.

    A limit outside of this range is never active at the minimum of any part of the limits: left of
    the first upper limit no cost falls to the left, right of the last lower one none falls to the
    right. However far away it is, it must not count in tolerances. The range is empty if one value
    satisfies all.
    """
    first, last = 0, limits.shape[0]
    while first < limits.shape[0] and limits[first] & 1 == LOWER:
        first += 1
    while last > 0 and limits[last - 1] & 1 != LOWER:
        last -= 1
    return first, last


def _first_of(limits, kind):
    """Where the first limit of a kind is; their number if there is none. Most often it is in the first block."""
    for start in range(0, len(limits), BLOCK):
        is_kind = (limits[start : start + BLOCK] & 1) == kind
        if is_kind.any():
            return start + int(np.argmax(is_kind))
    return len(limits)


def centre_of(limits, breakpoints):
    """The breakpoint in the middle of the range that is contested; 0 without any limit."""
    n_limits = len(limits)
    first = _first_of(limits, UPPER)
    last = n_limits - _first_of(limits[::-1], LOWER)
    return float(breakpoints[min((first + last) // 2, n_limits - 1)]) if n_limits > 0 else 0.0


class _Sums(NamedTuple):
    """Of the limits of one kind that are active; `light` is the weight of all in the range that are."""

    n_active: int
    weight: float
    total: float
    square: float
    blur: float
    light: float


@inlined
def _add_up(breakpoints, points, start, stop, sign, code, value, ulps, is_light):
    """The sums of the limits of a sign at positions start..stop, all of which are active."""
    n_active = np.int64(0)
    weight = 0.0
    total = 0.0
    square = 0.0
    blur = 0.0
    light = 0.0
    for i in range(start, stop):
        b = points[i + FIRST, 0]
        signed = sign * points[i + FIRST, 1]
        own = max(signed, 0.0)
        n_active += signed > 0
        weight += own
        total += own * b
        square += own * b * b
        violation = min(abs(breakpoints[i] - value), ulps[0] * abs(breakpoints[i]) + ulps[1])
        blur += own * violation * (violation if code == SQUARED else 1.0)
        light += abs(signed) if abs(signed) < is_light else 0.0
    return _Sums(n_active, weight, total, square, blur, light)


@inner
def minimise(limits, breakpoints, points, ranks, code):
    """The minimum of all limits of a node."""
    rankset.reset(ranks, limits.shape[0])
    return meet(breakpoints, points, ranks, rankset.RIGHT, code, True)


@inner
def start_from(best, limits, breakpoints, points, code, ulps):
    """The minimum of a node as a sweep starts from it, and the spread of the limits.

    `ulps` is the relative error of a breakpoint, and the error that it has from the margin.
    """
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    points = borrow(points)
    first, last = contested(limits)
    weight = 0.0
    heaviest = 0.0
    distance = 0.0
    size = 0.0
    for i in range(first, last):
        b = abs(points[i + FIRST, 0])
        own = abs(points[i + FIRST, 1])
        weight += own
        heaviest = max(heaviest, own)
        distance += own * b
        size += own * b * b
    is_light = max(LIGHT * heaviest, LIGHT_IN_ALL * weight)
    middle = best.low_rank - FIRST + 1
    up = _add_up(
        breakpoints, points, first, min(middle, last), 1.0, code, best.value, ulps, is_light
    )
    low = _add_up(
        breakpoints, points, max(middle, first), last, -1.0, code, best.value, ulps, is_light
    )
    spread = Spread(
        weight,
        distance,
        size if code == SQUARED else distance,
        up.light + low.light,
        up.blur + low.blur,
    )
    n_active = up.n_active + low.n_active
    moves = np.int64(0)
    if code == LINEAR:
        sums = up.weight - low.weight, up.total - low.total, up.total
    else:
        sums = up.weight + low.weight, up.total + low.total, up.square + low.square
    return Minimum(best.low_rank, best.high_rank, n_active, *sums, up.weight, moves), spread
