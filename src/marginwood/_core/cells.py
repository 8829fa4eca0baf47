"""The nonparametric maximum likelihood estimate (NPMLE) of a distribution from intervals.

The likelihood of a row is the probability of its interval. All that it can tell apart are the *cells* (Turnbull's
innermost intervals): a lower end directly followed by an upper end, in the order of all ends. A row is the *range* of
cells that lie in its interval, and the estimate is a mass per cell.

The order at equal values is: lower ends, upper ends, lower ends of right-censored rows. So ``(l, u)`` holds both of
its limits, ``(-inf, u)`` holds u, and ``(l, inf)`` starts right after l: an event at l comes before a censoring at l,
as in the estimate of Kaplan and Meier.

Of the rows (0, 1), (1, 2) and (1, inf) the first two hold the cell [1, 1]; the last two hold the cell (1, 2], which
starts right after 1. The first row gives 1/3 to the first cell, the last one 1/3 to the second, and the row between
them shares its weight in the same proportion: the masses are 1/2 and 1/2.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import borrow, inlined, inner, kernel
from marginwood._core.order import LOW_HALF, argsort, make_workspace


class Ranges(NamedTuple):
    """Rows as ranges of cells ``first <= cell < stop``, nearly in the order of `first`; the weights add up to 1.

    `coverage` is the weight of all rows that hold a cell: the mass of a cell cannot be larger.
    """

    first: np.ndarray
    stop: np.ndarray
    weight: np.ndarray
    coverage: np.ndarray


def make_ranges(n_rows, n_cells):
    """Room for `n_rows` ranges of `n_cells` cells."""
    return Ranges(np.empty(n_rows, np.int32), np.empty(n_rows, np.int32), np.empty(n_rows), np.empty(n_cells + 1))


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
def merge_rows(order, first, stop, weights, merged, last_seen):
    """Fill `merged` with one range for all rows that are equal; return their number. `order` lists the rows."""
    order, first, stop, weights = borrow(order), borrow(first), borrow(stop), borrow(weights)
    coverage, last_seen = borrow(merged.coverage), borrow(last_seen)
    for cell in range(last_seen.shape[0]):
        last_seen[cell] = -1
        coverage[cell] = 0.0
    n_merged = 0
    for i in range(order.shape[0]):
        row = order[i]
        n_merged = put_row(first[row], stop[row], weights[row], n_merged, merged, last_seen)
        coverage[first[row]] += weights[row]
        coverage[stop[row]] -= weights[row]
    for cell in range(1, last_seen.shape[0]):
        coverage[cell] += coverage[cell - 1]
    return n_merged


@inlined
def put_row(first, stop, weight, n_merged, merged, last_seen):
    """Add a row to the last range that stops where it does, if they are equal, or as a new one."""
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
def accumulate(mass, cumulative):
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
def mass_between(cumulative, first, stop):
    return (cumulative[stop, 0] - cumulative[first, 0]) + (cumulative[stop, 1] - cumulative[first, 1])


@kernel
def log_likelihood(ranges, mass, cumulative):
    """Mean logarithm of the probabilities of the ranges; -inf where one is impossible."""
    first, stop, weight = borrow(ranges.first), borrow(ranges.stop), borrow(ranges.weight)
    cumulative = borrow(cumulative)
    accumulate(mass, cumulative)
    total = 0.0
    for i in range(first.shape[0]):
        probability = mass_between(cumulative, first[i], stop[i])
        if not probability > 0.0:
            return -np.inf
        total += weight[i] * np.log(probability)
    return total


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
