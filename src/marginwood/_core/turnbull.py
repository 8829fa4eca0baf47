"""Maximisation of the likelihood of masses on cells: EM and ICM steps, until a certificate says that it is enough.

An *EM step* (expectation and maximisation) never lowers the likelihood, but crawls; two of them
show where it crawls to. An *ICM step* (iterative convex minorant) is a Newton step for each
cumulative mass by itself, followed by isotonic regression: it empties cells. Few cells keep mass,
so most work is done on those alone, and the others are looked at again at the end.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.cells import (
    Ranges,
    accumulate,
    log_likelihood,
    make_ranges,
    mass_between,
    put_row,
    take_ranges,
)
from marginwood._core.jit import borrow, inner, kernel

# Before an ICM step: EM steps on all cells, and pairs of EM steps, extrapolated, on the cells that
# have mass.
FULL_STEPS = 2
N_CYCLES = 5
# An extrapolated mass is at least this share of the one that it extrapolates.
LEAST_SHARE = 0.1
# The cells that have mass are improved until their own certificate is this share of that of all
# cells.
REDUCTION = 0.001
MOST_REDUCED_ROUNDS = 200
# An ICM step must reach this share of the gain that the slope promises; else it is halved.
SUFFICIENT_SHARE = 0.1
MOST_HALVINGS = 6
# Log-likelihoods that differ by less than this share of them count as equal.
ROUNDING = 1e-12
# The share of a tolerance that every cell may take of it, in the certificate that forgives light
# rows.
SLACK = 0.5


class NpmleScratch(NamedTuple):
    """Room for one problem: arrays over the boundaries of cells, and the ranges of the reduced problem."""

    cumulative: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    level: np.ndarray
    heft: np.ndarray
    count: np.ndarray
    trial: np.ndarray
    saved: np.ndarray
    last_seen: np.ndarray
    reduced_mass: np.ndarray
    reduced: Ranges


def make_scratch(n_rows, n_cells):
    """Room for problems of at most that size."""
    size = n_cells + 1
    slope, curvature, level, heft, trial, saved, reduced_mass = (np.empty(size) for _ in range(7))
    count = np.empty(size, np.int64)
    last_seen = np.empty(size, np.int32)
    cumulative = np.empty((size, 2))
    arrays = (
        cumulative,
        slope,
        curvature,
        level,
        heft,
        count,
        trial,
        saved,
        last_seen,
        reduced_mass,
    )
    return NpmleScratch(*arrays, make_ranges(n_rows, n_cells))


@inner
def _differentiate(ranges, mass, slack, scratch):
    """Fill `slope` with the derivatives of the log-likelihood by the masses; return the certificate.

    At the maximum the derivative d is 1 where there is mass and at most 1 elsewhere. From any
    masses p, the best ones q gain at most ``log(sum(q * d))`` (Jensen's inequality), and no q is
    larger than the coverage c of its cell. So the sum exceeds 1 by no more than the greatest ``d -
    1``, nor than ``slack + sum(c * max(d - 1 - slack, 0))`` for any slack: the second bound
    forgives rows that weigh next to nothing.
    """
    first = borrow(ranges.first)
    stop = borrow(ranges.stop)
    weight = borrow(ranges.weight)
    cumulative = borrow(scratch.cumulative)
    slope = borrow(scratch.slope)
    coverage = borrow(ranges.coverage)
    n_cells = mass.shape[0]
    accumulate(mass, cumulative)
    for cell in range(n_cells + 1):
        slope[cell] = 0.0
    # d log L / d p of a cell is the sum of weight / probability over the rows that cover it. A row
    # covers the cells first..stop - 1: its share is added at one boundary and taken off at the
    # other, and running sums give all cells in one pass. Two rows of weight 1/2, on cells 0..1 and
    # 1..2 with masses (0.2, 0.6, 0.2), have shares 0.625: slopes (0.625, 1.25, 0.625).
    for i in range(first.shape[0]):
        share = weight[i] / mass_between(cumulative, first[i], stop[i])
        slope[first[i]] += share
        slope[stop[i]] -= share
    running = 0.0
    greatest = 1.0
    excess = 0.0
    for cell in range(n_cells):
        running += slope[cell]
        slope[cell] = running
        greatest = max(greatest, running)
        excess += coverage[cell] * max(running - 1.0 - slack, 0.0)
    return np.log1p(min(greatest - 1.0, slack + excess))


@inner
def _expect(mass, slope, expected):
    """One EM step: every row gives its weight to its cells in the proportions of their masses."""
    mass = borrow(mass)
    slope = borrow(slope)
    expected = borrow(expected)
    # Where weights sum to 1 the total does, too, but for rounding, which would add up over steps.
    total = 0.0
    for cell in range(mass.shape[0]):
        expected[cell] = mass[cell] * slope[cell]
        total += expected[cell]
    for cell in range(mass.shape[0]):
        expected[cell] /= total


@inner
def _bend(ranges, mass, scratch):
    """Fill `slope` and `curvature` by the cumulative masses at the boundaries; return the log-likelihood."""
    first = borrow(ranges.first)
    stop = borrow(ranges.stop)
    weight = borrow(ranges.weight)
    cumulative = borrow(scratch.cumulative)
    slope = borrow(scratch.slope)
    curvature = borrow(scratch.curvature)
    # By cumulative masses F a row has log(F[stop] - F[first]): its slope is minus its share at one
    # boundary and plus at the other. Of the matrix of second derivatives ICM keeps the diagonal.
    accumulate(mass, cumulative)
    for cell in range(mass.shape[0] + 1):
        slope[cell] = 0.0
        curvature[cell] = 0.0
    total = 0.0
    for i in range(first.shape[0]):
        probability = mass_between(cumulative, first[i], stop[i])
        share = weight[i] / probability
        bend = share / probability
        slope[first[i]] -= share
        slope[stop[i]] += share
        curvature[first[i]] += bend
        curvature[stop[i]] += bend
        total += weight[i] * np.log(probability)
    return total


@inner
def _pool(n_cells, scratch):
    """Isotonic regression of the Newton steps of all boundaries, weighted by curvature: pool adjacent violators.

    A block of boundaries is kept by its first one and by how far its level is from the cumulative
    mass there, so that no digits of small masses are lost. Returns the number of blocks.
    """
    cumulative = borrow(scratch.cumulative)
    slope = borrow(scratch.slope)
    curvature = borrow(scratch.curvature)
    level = borrow(scratch.level)
    heft = borrow(scratch.heft)
    start = borrow(scratch.count)
    top = 0
    for boundary in range(1, n_cells):
        begin = boundary
        weight = curvature[boundary]
        # Newton's step of this boundary alone; the new cumulative masses must not fall, so neighbours
        # that would cross share their mean, weighted by curvature.
        step = slope[boundary] / weight
        while top > 0:
            rise = mass_between(cumulative, start[top - 1], begin)
            # The old distance of the blocks plus the difference of their steps is the new distance. Of
            # F = (0.3, 0.4) with steps +0.2 and 0 it would be 0.1 - 0.2: both go to one level.
            if rise + (step - level[top - 1]) > 0.0:
                break
            top -= 1
            step = (level[top] * heft[top] + (rise + step) * weight) / (heft[top] + weight)
            weight += heft[top]
            begin = start[top]
        level[top] = step
        heft[top] = weight
        start[top] = begin
        top += 1
    return top


@inner
def _propose(n_cells, n_blocks, scratch):
    """Fill `trial` with the masses of the cells between the blocks; return the gain that the slopes promise."""
    cumulative = borrow(scratch.cumulative)
    slope = borrow(scratch.slope)
    trial = borrow(scratch.trial)
    level = borrow(scratch.level)
    start = borrow(scratch.count)
    gain = 0.0
    below = 0
    below_step = 0.0
    for block in range(n_blocks):
        begin = start[block]
        step = level[block]
        stop = start[block + 1] if block + 1 < n_blocks else n_cells
        # Cumulative masses stay within 0 and 1: a block beyond lies at the end itself, exactly.
        place = begin
        place_step = step
        if cumulative[begin, 0] + step <= 0.0:
            place = 0
            place_step = 0.0
        elif cumulative[begin, 0] + step >= 1.0:
            place = n_cells
            place_step = 0.0
        trial[begin - 1] = max(
            mass_between(cumulative, below, place) + (place_step - below_step), 0.0
        )
        below = place
        below_step = place_step
        for boundary in range(begin, stop):
            # All boundaries of a block go to its new level: the distance is that to `place`, by exact
            # differences of cumulative masses, plus the step.
            gain += slope[boundary] * (mass_between(cumulative, boundary, place) + place_step)
            if boundary > begin:
                trial[boundary - 1] = 0.0
    trial[n_cells - 1] = max(mass_between(cumulative, below, n_cells) - below_step, 0.0)
    return gain


@inner
def _step(ranges, mass, before, scratch):
    """One ICM step: the iterative convex minorant, halved until the log-likelihood rises as its slope promises.

    Expects slopes and curvatures at the boundaries; returns the log-likelihood, which was `before`.
    """
    n_cells = mass.shape[0]
    gain = _propose(n_cells, _pool(n_cells, scratch), scratch)
    mass = borrow(mass)
    trial = borrow(scratch.trial)
    # The levels of blocks have been used up by `_propose`: their room is that of the masses to try.
    halved = borrow(scratch.level)[:n_cells]
    length = 1.0
    for _ in range(MOST_HALVINGS):
        for cell in range(n_cells):
            halved[cell] = mass[cell] + length * (trial[cell] - mass[cell])
        after = log_likelihood(ranges, halved, scratch.cumulative)
        # Armijo's rule. Near the maximum, gains are below rounding, and equal is good enough.
        if after >= before + SUFFICIENT_SHARE * length * gain - ROUNDING * abs(before):
            for cell in range(n_cells):
                mass[cell] = halved[cell]
            return after
        length *= 0.5
    return before


@inner
def _extrapolate(mass, once, twice):
    """Follow two EM steps as far as their lengths suggest (the third scheme of SQUAREM); masses stay positive."""
    mass = borrow(mass)
    once = borrow(once)
    twice = borrow(twice)
    step = 0.0
    bend = 0.0
    for cell in range(mass.shape[0]):
        step += (once[cell] - mass[cell]) ** 2
        bend += (twice[cell] - 2.0 * once[cell] + mass[cell]) ** 2
    # Steps of which each is r times the one before end at mass + step / (1 - r), and the first one
    # is 1 / (1 - r) times the bend: 10 times where EM crawls with r = 0.9. At 1 these are two plain steps.
    length = max(1.0, np.sqrt(step / bend)) if bend > 0.0 else 1.0
    total = 0.0
    for cell in range(mass.shape[0]):
        forward = 2.0 * length * (once[cell] - mass[cell])
        turn = length**2 * (twice[cell] - 2.0 * once[cell] + mass[cell])
        mass[cell] = max(mass[cell] + forward + turn, LEAST_SHARE * twice[cell])
        total += mass[cell]
    for cell in range(mass.shape[0]):
        mass[cell] /= total


@inner
def _accelerate(ranges, mass, scratch):
    """Two EM steps, extrapolated. Expects the slopes at the masses."""
    n_cells = mass.shape[0]
    once, twice = scratch.trial[:n_cells], scratch.level[:n_cells]
    _expect(mass, scratch.slope, once)
    _differentiate(ranges, once, 0.0, scratch)
    _expect(once, scratch.slope, twice)
    _extrapolate(mass, once, twice)


@inner
def _improve(ranges, mass, floor, tolerance, scratch):
    """Extrapolated EM steps and an ICM step; return the certificate and the log-likelihood, which was `floor`.

    The masses are left as soon as the certificate is small enough. Extrapolation may go too far:
    then they start again, with plain EM steps.
    """
    saved = scratch.saved[: mass.shape[0]]
    saved[:] = mass
    gap = np.inf
    for _ in range(N_CYCLES):
        gap = _differentiate(ranges, mass, SLACK * tolerance, scratch)
        if gap <= tolerance:
            return gap, floor
        _accelerate(ranges, mass, scratch)
    reached = _bend(ranges, mass, scratch)
    # Written so that NaN, of an extrapolation too far, starts again as well.
    if not reached >= floor - ROUNDING * abs(floor):
        mass[:] = saved
        _take_steps(ranges, mass, scratch)
        reached = _bend(ranges, mass, scratch)
    return gap, _step(ranges, mass, reached, scratch)


@inner
def _take_steps(ranges, mass, scratch):
    """Some plain EM steps."""
    expected = scratch.trial[: mass.shape[0]]
    for _ in range(FULL_STEPS):
        _differentiate(ranges, mass, 0.0, scratch)
        _expect(mass, scratch.slope, expected)
        mass[:] = expected


@inner
def _reduce(ranges, mass, scratch):
    """Leave out the cells that have no mass, and merge the rows that are the same without them; return both sizes."""
    first = borrow(ranges.first)
    stop = borrow(ranges.stop)
    weight = borrow(ranges.weight)
    mass = borrow(mass)
    reduced_mass = borrow(scratch.reduced_mass)
    coverage = borrow(ranges.coverage)
    reduced_coverage = borrow(scratch.reduced.coverage)
    n_before = borrow(scratch.count)
    last_seen = borrow(scratch.last_seen)
    n_cells = 0
    for cell in range(mass.shape[0]):
        n_before[cell] = n_cells
        if mass[cell] > 0.0:
            reduced_mass[n_cells] = mass[cell]
            reduced_coverage[n_cells] = coverage[cell]
            last_seen[n_cells] = -1
            n_cells += 1
    n_before[mass.shape[0]] = n_cells
    last_seen[n_cells] = -1
    n_rows = 0
    for i in range(first.shape[0]):
        # Rows come in the order of their first cell, so one with the same cells as an earlier row, once
        # cells have gone, finds it by the last row that stopped there.
        n_rows = put_row(
            n_before[first[i]], n_before[stop[i]], weight[i], n_rows, scratch.reduced, last_seen
        )
    return n_rows, n_cells


@inner
def _improve_reduced(ranges, mass, floor, tolerance, scratch):
    """Improve the masses of the cells that have some, until those alone are within `tolerance` of their best."""
    n_rows, n_cells = _reduce(ranges, mass, scratch)
    reduced = take_ranges(scratch.reduced, n_rows)
    reduced_mass = scratch.reduced_mass[:n_cells]
    gap = np.inf
    n_rounds = 0
    while gap > tolerance and n_rounds < MOST_REDUCED_ROUNDS:
        gap, floor = _improve(reduced, reduced_mass, floor, tolerance, scratch)
        n_rounds += 1
    place = 0
    for cell in range(mass.shape[0]):
        if mass[cell] > 0.0:
            mass[cell] = reduced_mass[place]
            place += 1
    return n_rounds


@kernel
def certify(ranges, mass, tolerance, scratch):
    """How far the log-likelihood of some masses is from its maximum, at most; sharpest around the tolerance."""
    return _differentiate(ranges, mass, SLACK * tolerance, scratch)


@kernel
def maximise(ranges, mass, tolerance, most_rounds, scratch):
    """Improve masses until the certificate is at most `tolerance`; return it and the number of rounds."""
    n_rounds = 0
    while True:
        n_rounds += 1
        gap = _differentiate(ranges, mass, SLACK * tolerance, scratch)
        if gap <= tolerance or n_rounds >= most_rounds:
            return gap, n_rounds
        _take_steps(ranges, mass, scratch)
        floor = _step(ranges, mass, _bend(ranges, mass, scratch), scratch)
        n_rounds += _improve_reduced(
            ranges, mass, floor, max(0.5 * tolerance, REDUCTION * gap), scratch
        )
