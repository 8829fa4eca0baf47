"""The nonparametric maximum likelihood estimate (NPMLE) of a distribution from intervals.

The likelihood of a row is the probability of its interval. All that it can tell apart are the
*cells* (Turnbull's innermost intervals): a lower end directly followed by an upper end, in the
order of all ends. A row is the *range* of cells that lie in its interval, and the estimate is a
mass per cell.

Rows and cells hold what is greater than `lower` and at most `upper`, without an exception: a known
value comes as the interval from right below it. So at equal values upper ends come before lower
ends: what ends at 1 and what begins there have nothing in common, and an event at 1 comes before a
censoring at 1, as in the estimate of Kaplan and Meier.

The rows (0, 2], (1, 2] and (1, inf) share the cell (1, 2]. With a row (0, 1] more there is a cell
(0, 1], too, which the first row holds as well; that row shares its weight in the proportion 1 to 2,
and the masses are 1/3 and 2/3.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import borrow, inlined, inner, kernel, trailing_zeros
from marginwood._core.order import LOW_HALF, argsort, make_workspace

WORD_BITS = np.int64(64)
ONE = np.uint64(1)


class SortedEnds(NamedTuple):
    """Intervals in the order of their lower ends; the rows that they were; and the ends of all, in order.

    An end is the number ``2 * i + side`` of the i-th of these intervals. Rows (-inf, inf) come
    last, without ends.
    """

    intervals: np.ndarray
    rows: np.ndarray
    ends: np.ndarray


class Ranges(NamedTuple):
    """Rows as ranges of cells ``first <= cell < stop``, in the order of `first`; the weights add up to 1.

    `coverage` is the weight of all rows that hold a cell: the mass of a cell cannot be larger.
    """

    first: np.ndarray
    stop: np.ndarray
    weight: np.ndarray
    coverage: np.ndarray


def make_ranges(n_rows, n_cells):
    """Room for `n_rows` ranges of `n_cells` cells."""
    return Ranges(
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty(n_rows),
        np.empty(n_cells + 1),
    )


def sort_rows(intervals):
    """Sort intervals ``(lower, upper]`` and their ends."""
    is_uninformative = ~np.isfinite(intervals).any(axis=1)
    n_rows = len(intervals) - np.count_nonzero(is_uninformative)
    workspace = make_workspace(len(intervals))
    by_lower = _argsort(np.where(is_uninformative, np.inf, intervals[:, 0]), workspace)
    intervals = intervals[by_lower]
    by_upper = _argsort(intervals[:n_rows, 1].copy(), workspace)
    ends = np.empty(2 * n_rows, np.int32)
    _sort_ends(intervals[:n_rows], by_upper, ends)
    return SortedEnds(intervals, by_lower, ends)


def _argsort(values, workspace):
    order = np.empty(len(values), np.int32)
    _sort_values(
        values, order, *(array[: len(values)] for array in workspace[:-1]), workspace.counts
    )
    return order


@kernel
def _sort_values(column, order, values, keys, words, spare, counts):
    column = borrow(column)
    order = borrow(order)
    values = borrow(values)
    words = borrow(words)
    for i in range(column.shape[0]):
        values[i] = column[i]
        words[i] = np.uint64(i)
    in_order, _ = argsort(keys, words, spare, counts)
    for i in range(column.shape[0]):
        order[i] = np.int32(in_order[i] & LOW_HALF)


@kernel
def _sort_ends(intervals, by_upper, ends):
    """Merge lower ends and upper ends; at equal values upper ends come first."""
    intervals = borrow(intervals)
    by_upper = borrow(by_upper)
    ends = borrow(ends)
    n_rows = intervals.shape[0]
    low = 0
    for high in range(n_rows):
        row = by_upper[high]
        while low < n_rows and intervals[low, 0] < intervals[row, 1]:
            ends[low + high] = 2 * low
            low += 1
        ends[low + high] = 2 * row + 1


@kernel
def find_cells(training, marks, weights, found, number, cells):
    """Turn the ends that are marked in a bitset into cells and ranges, and unmark them; return how many there are."""
    marks = borrow(marks)
    ends = borrow(training.ends)
    intervals = borrow(training.intervals)
    first = borrow(found.first)
    stop = borrow(found.stop)
    weight = borrow(found.weight)
    weights = borrow(weights)
    number = borrow(number)
    cells = borrow(cells)
    n_rows = 0
    n_cells = 0
    start = 0.0
    after_lower = False
    for word_idx in range(marks.shape[0]):
        word = marks[word_idx]
        marks[word_idx] = 0
        while word != 0:
            end = ends[word_idx * WORD_BITS + trailing_zeros(word)]
            word &= word - ONE  # clears the bit that was read
            row = end >> 1
            if end & 1 == 0:
                number[row] = n_rows
                first[n_rows] = n_cells
                weight[n_rows] = weights[row]
                n_rows += 1
                start = intervals[row, 0]
                after_lower = True
            else:
                if after_lower:
                    cells[n_cells, 0] = start
                    cells[n_cells, 1] = intervals[row, 1]
                    n_cells += 1
                    after_lower = False
                stop[number[row]] = n_cells
    return n_rows, n_cells


@kernel
def take_ranges(ranges, n_rows):
    """The first of the ranges."""
    return Ranges(
        ranges.first[:n_rows], ranges.stop[:n_rows], ranges.weight[:n_rows], ranges.coverage
    )


@kernel
def merge_rows(found, merged, last_seen):
    """Fill `merged` with one range for all of `found` that are equal; return their number."""
    first = borrow(found.first)
    stop = borrow(found.stop)
    weight = borrow(found.weight)
    coverage = borrow(merged.coverage)
    last_seen = borrow(last_seen)
    for cell in range(last_seen.shape[0]):
        last_seen[cell] = -1
        coverage[cell] = 0.0
    n_merged = 0
    for i in range(first.shape[0]):
        n_merged = put_row(first[i], stop[i], weight[i], n_merged, merged, last_seen)
        # Steps up and down, whose running sum is the coverage.
        coverage[first[i]] += weight[i]
        coverage[stop[i]] -= weight[i]
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
    mass = borrow(mass)
    cumulative = borrow(cumulative)
    total = 0.0
    rest = 0.0
    cumulative[0, 0] = 0.0
    cumulative[0, 1] = 0.0
    for cell in range(mass.shape[0]):
        part = mass[cell]
        # What the sum rounds off, exactly (Knuth).
        larger = total + part
        taken = larger - total
        rest += (total - (larger - taken)) + (part - taken)
        total = larger
        cumulative[cell + 1, 0] = total
        cumulative[cell + 1, 1] = rest


@inlined
def mass_between(cumulative, first, stop):
    return (cumulative[stop, 0] - cumulative[first, 0]) + (
        cumulative[stop, 1] - cumulative[first, 1]
    )


@kernel
def log_likelihood(ranges, mass, cumulative):
    """Mean logarithm of the probabilities of the ranges; -inf where one is impossible."""
    first = borrow(ranges.first)
    stop = borrow(ranges.stop)
    weight = borrow(ranges.weight)
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
    first = borrow(ranges.first)
    stop = borrow(ranges.stop)
    weight = borrow(ranges.weight)
    mass = borrow(mass)
    n_at_risk = borrow(n_at_risk)
    n_cells = mass.shape[0]
    for cell in range(n_cells):
        mass[cell] = 0.0
        n_at_risk[cell] = 0.0
    for i in range(first.shape[0]):
        if stop[i] == first[i] + 1:
            mass[first[i]] += weight[i]
        elif first[i] > 0:
            # Censored before this cell begins: at risk in all cells before it.
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
