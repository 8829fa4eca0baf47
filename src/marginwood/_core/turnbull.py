"""The nonparametric maximum likelihood estimate (NPMLE) of a distribution from intervals.

The likelihood of a row is the probability of its interval. All that it can tell apart are the *cells* (Turnbull's
innermost intervals): a lower end directly followed by an upper end, in the order of all ends. A row is the *range* of
cells that lie in its interval, and the estimate is a mass per cell.

The order at equal values is: lower ends, upper ends, lower ends of right-censored rows. So ``(l, u)`` holds both of
its limits, ``(-inf, u)`` holds u, and ``(l, inf)`` starts right after l: an event at l comes before a censoring at l, as in
the estimate of Kaplan and Meier.

Of the rows (0, 1), (1, 2) and (1, inf) the first two hold the cell [1, 1]; the last two hold the cell (1, 2], which
starts right after 1. The first row gives 1/3 to the first cell, the last one 1/3 to the second, and the row between them
shares its weight in the same proportion: the masses are 1/2 and 1/2.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import borrow, inlined, inner, kernel
from marginwood._core.order import LOW_HALF, argsort, make_workspace

# Before an ICM step: EM steps on all cells, and pairs of EM steps, extrapolated, on the cells that have mass.
FULL_STEPS = 2
N_CYCLES = 5
# An extrapolated mass is at least this share of the one that it extrapolates.
LEAST_SHARE = 0.1
# The cells that have mass are improved until their own certificate is this share of that of all cells.
REDUCTION = 0.001
MOST_REDUCED_ROUNDS = 200
# An ICM step must reach this share of the gain that the slope promises; else it is halved.
SUFFICIENT_SHARE = 0.1
MOST_HALVINGS = 40


class Ranges(NamedTuple):
    """Rows as ranges of cells ``first <= cell < stop``, sorted by `first`; the weights add up to 1."""

    first: np.ndarray
    stop: np.ndarray
    weight: np.ndarray


class Scratch(NamedTuple):
    """Room for one problem: arrays over the boundaries of cells, and the ranges of the reduced problem."""

    cumulative: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    level: np.ndarray
    heft: np.ndarray
    count: np.ndarray
    trial: np.ndarray
    last_seen: np.ndarray
    reduced_mass: np.ndarray
    reduced: Ranges


def make_ranges(n_rows):
    """Room for `n_rows` ranges."""
    return Ranges(np.empty(n_rows, np.int32), np.empty(n_rows, np.int32), np.empty(n_rows))


def make_scratch(n_rows, n_cells):
    """Room for problems of at most that size."""
    size = n_cells + 1
    slope, curvature, level, heft, trial, reduced_mass = (np.empty(size) for _ in range(6))
    count = np.empty(size, np.int64)
    last_seen = np.empty(size, np.int32)
    cumulative = np.empty((size, 2))
    arrays = (cumulative, slope, curvature, level, heft, count, trial, last_seen, reduced_mass)
    return Scratch(*arrays, make_ranges(n_rows))


def sort_ends(intervals):
    """Rows in the order of their lower ends and of their upper ends, each an int32 array."""
    orders = np.empty((2, len(intervals)), np.int32)
    _sort_ends(intervals, orders, *make_workspace(len(intervals)))
    return orders


@kernel
def _sort_ends(intervals, orders, values, keys, words, spare, counts):
    intervals, orders, values, words = borrow(intervals), borrow(orders), borrow(values), borrow(words)
    for side in range(2):
        for i in range(intervals.shape[0]):
            values[i] = intervals[i, side]
            words[i] = np.uint64(i)
        argsort(keys, words, spare, counts)
        for i in range(intervals.shape[0]):
            orders[side, i] = np.int32(words[i] & LOW_HALF)


@kernel
def find_cells(intervals, orders, first, stop, cells):
    """Fill `first` and `stop` of every row and the ends of all cells; return the number of cells.

    `orders` may leave rows out, the same ones from both.
    """
    intervals, orders, first, stop = borrow(intervals), borrow(orders), borrow(first), borrow(stop)
    n_rows = orders.shape[1]
    n_cells, start, after_lower = 0, 0.0, False
    low, high, opened = 0, 0, 0
    while high < n_rows:
        value = intervals[orders[1, high], 1]
        if low < n_rows:
            value = min(value, intervals[orders[0, low], 0])
        run = low
        while low < n_rows and intervals[orders[0, low], 0] == value:
            row = orders[0, low]
            low += 1
            if intervals[row, 1] < np.inf or value == -np.inf:
                first[row] = n_cells
                start, after_lower = value, True
        while high < n_rows and intervals[orders[1, high], 1] == value:
            row = orders[1, high]
            high += 1
            if after_lower:
                cells[n_cells, 0] = start
                cells[n_cells, 1] = value
                n_cells += 1
                after_lower = False
            stop[row] = n_cells
        for opened in range(run, low):
            row = orders[0, opened]
            if intervals[row, 1] == np.inf and value > -np.inf:
                first[row] = n_cells
                start, after_lower = value, True
    return n_cells


@kernel
def merge_rows(order, rows, weights, merged, last_seen):
    """Fill `merged` with one range for all rows of one; return their number. `order` lists rows by their first cell."""
    order, weights, last_seen = borrow(order), borrow(weights), borrow(last_seen)
    last_seen[:] = -1
    n_merged = 0
    for i in range(order.shape[0]):
        row = order[i]
        n_merged = _put(rows.first[row], rows.stop[row], weights[row], n_merged, merged, last_seen)
    return n_merged


@inlined
def _put(first, stop, weight, n_merged, merged, last_seen):
    """Add a row to the range that it equals, or as a new one; rows come sorted by their first cell."""
    place = last_seen[stop]
    if place >= 0 and merged.first[place] == first:
        merged.weight[place] += weight
        return n_merged
    merged.first[n_merged] = first
    merged.stop[n_merged] = stop
    merged.weight[n_merged] = weight
    last_seen[stop] = n_merged
    return n_merged + 1


@inner
def _accumulate(mass, cumulative):
    """Running sums in twice the precision: differences of neighbours keep all digits of small masses."""
    mass, cumulative = borrow(mass), borrow(cumulative)
    total, rest = 0.0, 0.0
    cumulative[0, 0] = 0.0
    cumulative[0, 1] = 0.0
    for cell in range(mass.shape[0]):
        part = mass[cell]
        larger = total + part
        taken = larger - total
        rest += (total - (larger - taken)) + (part - taken)
        total = larger
        cumulative[cell + 1, 0] = total
        cumulative[cell + 1, 1] = rest


@inlined
def _mass_between(cumulative, first, stop):
    return (cumulative[stop, 0] - cumulative[first, 0]) + (cumulative[stop, 1] - cumulative[first, 1])


@inner
def _differentiate(ranges, mass, scratch):
    """Fill `slope` with the derivative of the log-likelihood by each mass; return the greatest one.

    At the maximum it is 1 where there is mass and at most 1 elsewhere. For any masses, the log-likelihood is within the
    logarithm of the greatest derivative of its maximum (Jensen's inequality): the certificate.
    """
    first, stop, weight = borrow(ranges.first), borrow(ranges.stop), borrow(ranges.weight)
    cumulative, slope = borrow(scratch.cumulative), borrow(scratch.slope)
    n_cells = mass.shape[0]
    _accumulate(mass, cumulative)
    for cell in range(n_cells + 1):
        slope[cell] = 0.0
    for i in range(first.shape[0]):
        share = weight[i] / _mass_between(cumulative, first[i], stop[i])
        slope[first[i]] += share
        slope[stop[i]] -= share
    running, greatest = 0.0, 0.0
    for cell in range(n_cells):
        running += slope[cell]
        slope[cell] = running
        greatest = max(greatest, running)
    return greatest


@inner
def _expect(mass, slope, expected):
    """One EM step: every row gives its weight to its cells in the proportions of their masses."""
    mass, slope, expected = borrow(mass), borrow(slope), borrow(expected)
    total = 0.0
    for cell in range(mass.shape[0]):
        expected[cell] = mass[cell] * slope[cell]
        total += expected[cell]
    for cell in range(mass.shape[0]):
        expected[cell] /= total


@kernel
def log_likelihood(ranges, mass, cumulative):
    """Mean logarithm of the probabilities of the ranges; -inf where one is impossible."""
    first, stop, weight = borrow(ranges.first), borrow(ranges.stop), borrow(ranges.weight)
    cumulative = borrow(cumulative)
    _accumulate(mass, cumulative)
    total = 0.0
    for i in range(first.shape[0]):
        probability = _mass_between(cumulative, first[i], stop[i])
        if not probability > 0.0:
            return -np.inf
        total += weight[i] * np.log(probability)
    return total


@inner
def _bend(ranges, mass, scratch):
    """Fill `slope` and `curvature` by the cumulative masses at the boundaries; return the log-likelihood."""
    first, stop, weight = borrow(ranges.first), borrow(ranges.stop), borrow(ranges.weight)
    cumulative, slope, curvature = borrow(scratch.cumulative), borrow(scratch.slope), borrow(scratch.curvature)
    _accumulate(mass, cumulative)
    for cell in range(mass.shape[0] + 1):
        slope[cell] = 0.0
        curvature[cell] = 0.0
    total = 0.0
    for i in range(first.shape[0]):
        probability = _mass_between(cumulative, first[i], stop[i])
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

    Fills `trial` with the masses of the cells, and returns the gain that the slopes promise.
    """
    cumulative, slope, curvature = borrow(scratch.cumulative), borrow(scratch.slope), borrow(scratch.curvature)
    level, heft, count, trial = borrow(scratch.level), borrow(scratch.heft), borrow(scratch.count), borrow(scratch.trial)
    top = 0
    for boundary in range(1, n_cells):
        value = cumulative[boundary, 0] + slope[boundary] / curvature[boundary]
        weight = curvature[boundary]
        length = 1
        while top > 0 and level[top - 1] >= value:
            top -= 1
            value = (value * weight + level[top] * heft[top]) / (weight + heft[top])
            weight += heft[top]
            length += count[top]
        level[top] = value
        heft[top] = weight
        count[top] = length
        top += 1
    boundary, below, gain = 1, 0.0, 0.0
    for block in range(top):
        value = min(max(level[block], 0.0), 1.0)
        for _ in range(count[block]):
            gain += slope[boundary] * (value - cumulative[boundary, 0])
            trial[boundary - 1] = value - below
            below = value
            boundary += 1
    trial[n_cells - 1] = 1.0 - below
    return gain


@inner
def _step(ranges, mass, scratch):
    """One ICM step: the iterative convex minorant, halved until the log-likelihood rises as its slope promises."""
    before = _bend(ranges, mass, scratch)
    n_cells = mass.shape[0]
    gain = _pool(n_cells, scratch)
    mass, trial, halved = borrow(mass), borrow(scratch.trial), borrow(scratch.level)[:n_cells]
    length = 1.0
    for _ in range(MOST_HALVINGS):
        for cell in range(n_cells):
            halved[cell] = mass[cell] + length * (trial[cell] - mass[cell])
        after = log_likelihood(ranges, halved, scratch.cumulative)
        if after >= before + SUFFICIENT_SHARE * length * gain:
            for cell in range(n_cells):
                mass[cell] = halved[cell]
            return after
        length *= 0.5
    return before


@inner
def _extrapolate(mass, once, twice, far):
    """Follow two EM steps as far as their lengths suggest (the third scheme of SQUAREM), keeping all masses positive."""
    mass, once, twice, far = borrow(mass), borrow(once), borrow(twice), borrow(far)
    step, bend = 0.0, 0.0
    for cell in range(mass.shape[0]):
        step += (once[cell] - mass[cell]) ** 2
        bend += (twice[cell] - 2.0 * once[cell] + mass[cell]) ** 2
    length = max(1.0, np.sqrt(step / bend)) if bend > 0.0 else 1.0
    total = 0.0
    for cell in range(mass.shape[0]):
        forward = 2.0 * length * (once[cell] - mass[cell])
        turn = length**2 * (twice[cell] - 2.0 * once[cell] + mass[cell])
        far[cell] = max(mass[cell] + forward + turn, LEAST_SHARE * twice[cell])
        total += far[cell]
    for cell in range(mass.shape[0]):
        far[cell] /= total


@inner
def _accelerate(ranges, mass, floor, scratch):
    """Two EM steps, extrapolated unless that falls below `floor`, a bound of the log-likelihood; return the bound.

    Expects the slopes at the masses.
    """
    n_cells = mass.shape[0]
    once, twice, far = scratch.trial[:n_cells], scratch.level[:n_cells], scratch.heft[:n_cells]
    _expect(mass, scratch.slope, once)
    _differentiate(ranges, once, scratch)
    _expect(once, scratch.slope, twice)
    _extrapolate(mass, once, twice, far)
    reached = log_likelihood(ranges, far, scratch.cumulative)
    if reached >= floor:
        mass[:] = far
        return reached
    mass[:] = twice
    return floor


@inner
def _improve(ranges, mass, floor, tolerance, scratch):
    """Some EM steps and an ICM step; return the certificate, at which the masses are left once it is small enough."""
    gap = np.inf
    for _ in range(N_CYCLES):
        gap = np.log(_differentiate(ranges, mass, scratch))
        if gap <= tolerance:
            return gap, floor
        floor = _accelerate(ranges, mass, floor, scratch)
    return gap, _step(ranges, mass, scratch)


@inner
def _reduce(ranges, mass, scratch):
    """Leave out the cells that have no mass, and merge the rows that are the same without them; return both sizes."""
    first, stop, weight = borrow(ranges.first), borrow(ranges.stop), borrow(ranges.weight)
    mass, reduced_mass = borrow(mass), borrow(scratch.reduced_mass)
    n_before, last_seen = borrow(scratch.count), borrow(scratch.last_seen)
    n_cells = 0
    for cell in range(mass.shape[0]):
        n_before[cell] = n_cells
        if mass[cell] > 0.0:
            reduced_mass[n_cells] = mass[cell]
            last_seen[n_cells] = -1
            n_cells += 1
    n_before[mass.shape[0]] = n_cells
    last_seen[n_cells] = -1
    n_rows = 0
    for i in range(first.shape[0]):
        n_rows = _put(n_before[first[i]], n_before[stop[i]], weight[i], n_rows, scratch.reduced, last_seen)
    return n_rows, n_cells


@inner
def _improve_reduced(ranges, mass, floor, tolerance, scratch):
    """Improve the masses of the cells that have some, until those alone are within `tolerance` of their best."""
    n_rows, n_cells = _reduce(ranges, mass, scratch)
    whole = scratch.reduced
    reduced = Ranges(whole.first[:n_rows], whole.stop[:n_rows], whole.weight[:n_rows])
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
def certify(ranges, mass, scratch):
    """How far the log-likelihood of some masses is from its maximum, at most."""
    return max(0.0, np.log(_differentiate(ranges, mass, scratch)))


@kernel
def estimate_product(ranges, mass, n_at_risk):
    """Fill in the masses when every range is one cell or ends with the last one: the estimate of Kaplan and Meier.

    At risk in a cell are the rows of that cell alone and all that start later.
    """
    first, stop, weight = borrow(ranges.first), borrow(ranges.stop), borrow(ranges.weight)
    mass, n_at_risk = borrow(mass), borrow(n_at_risk)
    n_cells = mass.shape[0]
    for cell in range(n_cells):
        mass[cell] = 0.0
        n_at_risk[cell] = 0.0
    for i in range(first.shape[0]):
        if stop[i] == first[i] + 1:
            mass[first[i]] += weight[i]
        elif first[i] > 0:
            n_at_risk[first[i] - 1] += weight[i]
    later = 0.0
    for cell in range(n_cells - 1, -1, -1):
        n_at_risk[cell] += later + mass[cell]
        later = n_at_risk[cell]
    survival = 1.0
    for cell in range(n_cells - 1):
        hazard = mass[cell] / n_at_risk[cell]
        mass[cell] = survival * hazard
        survival *= 1.0 - hazard
    mass[n_cells - 1] = survival


@kernel
def maximise(ranges, mass, tolerance, most_rounds, scratch):
    """Improve masses until the certificate is at most `tolerance`; return it and the number of rounds."""
    n_cells = mass.shape[0]
    expected = scratch.trial[:n_cells]
    n_rounds = 0
    while True:
        n_rounds += 1
        gap = np.log(_differentiate(ranges, mass, scratch))
        if gap <= tolerance or n_rounds >= most_rounds:
            return gap, n_rounds
        for _ in range(FULL_STEPS):
            _expect(mass, scratch.slope, expected)
            mass[:] = expected
            _differentiate(ranges, mass, scratch)
        floor = _step(ranges, mass, scratch)
        n_rounds += _improve_reduced(ranges, mass, floor, max(0.5 * tolerance, REDUCTION * gap), scratch)
