"""The NPMLE for many queries: each weighs some of the same rows, whose ends are sorted once.

The ends of all rows have *places* in one order. A query marks the places of its own rows in a bitset and reads them in
order: no query sorts anything.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.cells import Ranges, estimate_product, make_ranges, merge_rows, sort_ends
from marginwood._core.jit import borrow, inlined, inner, kernel, trailing_zeros
from marginwood._core.turnbull import Scratch, certify, make_scratch, maximise

WORD_BITS = np.int64(64)
ONE = np.uint64(1)
MOST_ROUNDS = 10_000
# A row that weighs less than this share of its query counts as absent.
LEAST_SHARE = 1e-15
# The certificate is a mean over the rows, and rounding keeps that from being smaller.
LEAST_TOLERANCE = 1e-13


class SortedRows(NamedTuple):
    """Intervals; the places of their ends in the order of all, -1 where both are infinite; and what ends there.

    An end is the number ``2 * row + side``.
    """

    intervals: np.ndarray
    places: np.ndarray
    ends: np.ndarray


class Queries(NamedTuple):
    """Query i has the rows and weights from ``offsets[i]`` to ``offsets[i + 1]``; rows may come more than once."""

    offsets: np.ndarray
    rows: np.ndarray
    weights: np.ndarray


class Room(NamedTuple):
    """Room for one query: over all rows, over the rows of the query, and over its cells."""

    marks: np.ndarray
    total_weight: np.ndarray
    touched: np.ndarray
    number: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    weight: np.ndarray
    in_order: np.ndarray
    cells: np.ndarray
    mass: np.ndarray
    last_seen: np.ndarray
    merged: Ranges
    scratch: Scratch


class Answers(NamedTuple):
    """Support intervals and masses, one query after the other; where they start, and the certificates."""

    support: np.ndarray
    mass: np.ndarray
    offsets: np.ndarray
    gap: np.ndarray


def sort_rows(intervals):
    """Sort the ends of checked intervals."""
    places = np.empty(intervals.shape, np.int32)
    ends = np.empty(2 * len(intervals), np.int32)
    n_ends = _place_ends(intervals, sort_ends(intervals), places, ends)
    return SortedRows(intervals, places, ends[:n_ends])


@kernel
def _place_ends(intervals, orders, places, ends):
    """The order of `cells.find_cells`: at one value lower ends, upper ends, lower ends of right-censored rows."""
    intervals, orders, places, ends = borrow(intervals), borrow(orders), borrow(places), borrow(ends)
    n_rows = orders.shape[1]
    low, high, place = 0, 0, 0
    while high < n_rows:
        value = intervals[orders[1, high], 1]
        if low < n_rows:
            value = min(value, intervals[orders[0, low], 0])
        run = low
        while low < n_rows and intervals[orders[0, low], 0] == value:
            row = orders[0, low]
            low += 1
            if intervals[row, 1] < np.inf:
                place = _place(row, 0, place, places, ends)
        while high < n_rows and intervals[orders[1, high], 1] == value:
            row = orders[1, high]
            high += 1
            if intervals[row, 0] > -np.inf or value < np.inf:
                place = _place(row, 1, place, places, ends)
        for opened in range(run, low):
            row = orders[0, opened]
            if intervals[row, 1] == np.inf and value > -np.inf:
                place = _place(row, 0, place, places, ends)
    for row in range(n_rows):
        if intervals[row, 0] == -np.inf and intervals[row, 1] == np.inf:
            places[row, 0] = -1
            places[row, 1] = -1
    return place


@inlined
def _place(row, side, place, places, ends):
    places[row, side] = place
    ends[place] = 2 * row + side
    return place + 1


def make_room(n_rows, n_touched, n_ends):
    """Room for queries of at most `n_touched` of `n_rows` rows."""
    return Room(
        marks=np.zeros(n_ends // WORD_BITS + 1, np.uint64),
        total_weight=np.zeros(n_rows),
        touched=np.empty(n_touched, np.int32),
        number=np.empty(n_rows, np.int32),
        first=np.empty(n_touched, np.int32),
        stop=np.empty(n_touched, np.int32),
        weight=np.empty(n_touched),
        in_order=np.arange(n_touched, dtype=np.int32),
        cells=np.empty((n_touched, 2)),
        mass=np.empty(n_touched),
        last_seen=np.empty(n_touched + 1, np.int32),
        merged=make_ranges(n_touched, n_touched),
        scratch=make_scratch(n_touched, n_touched),
    )


@inner
def _add_up(queries, query, training, room):
    """Add up the weights of the rows of a query that say something; return their number and their weight."""
    rows, weights, places = borrow(queries.rows), borrow(queries.weights), borrow(training.places)
    total_weight, touched = borrow(room.total_weight), borrow(room.touched)
    n_touched, total = 0, 0.0
    for entry in range(queries.offsets[query], queries.offsets[query + 1]):
        row = rows[entry]
        if weights[entry] > 0.0 and places[row, 0] >= 0:
            if total_weight[row] == 0.0:
                touched[n_touched] = row
                n_touched += 1
            total_weight[row] += weights[entry]
            total += weights[entry]
    return n_touched, total


@inner
def _mark(n_touched, total, training, room):
    """Mark the ends of the rows, with their shares of the weight; return the effective number of rows."""
    marks, places = borrow(room.marks), borrow(training.places)
    total_weight, touched = borrow(room.total_weight), borrow(room.touched)
    squares = 0.0
    for i in range(n_touched):
        row = touched[i]
        share = total_weight[row] / total
        total_weight[row] = share
        squares += share * share
        if share > LEAST_SHARE:
            for side in range(2):
                place = np.int64(places[row, side])
                marks[place // WORD_BITS] |= ONE << np.uint64(place % WORD_BITS)
    return 1.0 / squares


@inner
def _read_marks(training, room):
    """Turn marked ends into cells and ranges, and unmark them; return the numbers of rows and cells."""
    marks, ends, intervals = borrow(room.marks), borrow(training.ends), borrow(training.intervals)
    number, first, stop, weight = borrow(room.number), borrow(room.first), borrow(room.stop), borrow(room.weight)
    cells, total_weight = borrow(room.cells), borrow(room.total_weight)
    n_rows, n_cells = 0, 0
    start, after_lower = 0.0, False
    for word_idx in range(marks.shape[0]):
        word = marks[word_idx]
        marks[word_idx] = 0
        while word != 0:
            end = ends[word_idx * WORD_BITS + trailing_zeros(word)]
            word &= word - ONE
            row, side = end >> 1, end & 1
            value = intervals[row, side]
            if side == 0:
                number[row] = n_rows
                first[n_rows] = n_cells
                weight[n_rows] = total_weight[row]
                n_rows += 1
                start, after_lower = value, True
            else:
                if after_lower:
                    cells[n_cells, 0] = start
                    cells[n_cells, 1] = value
                    n_cells += 1
                    after_lower = False
                stop[number[row]] = n_cells
    return n_rows, n_cells


@inner
def _estimate(n_rows, n_cells, tolerance, room):
    """Fill in the masses of the cells; return the certificate."""
    order, last_seen = room.in_order[:n_rows], room.last_seen[: n_cells + 1]
    n_merged = merge_rows(order, room.first, room.stop, room.weight, room.merged, last_seen)
    merged = room.merged
    ranges = Ranges(merged.first[:n_merged], merged.stop[:n_merged], merged.weight[:n_merged], merged.coverage)
    mass = room.mass[:n_cells]
    has_closed_form = True
    for i in range(n_merged):
        has_closed_form &= ranges.stop[i] == n_cells or ranges.stop[i] == ranges.first[i] + 1
    if has_closed_form:
        estimate_product(ranges, mass, room.scratch.slope)
        return certify(ranges, mass, tolerance, room.scratch)
    mass[:] = 1.0 / n_cells
    gap, _ = maximise(ranges, mass, tolerance, MOST_ROUNDS, room.scratch)
    return gap


@kernel
def estimate_queries(training, queries, tol, room, answers):
    """Fill in the estimate of every query; `tol` is for a log-likelihood of as many rows as are effective."""
    n_found = 0
    for query in range(queries.offsets.shape[0] - 1):
        answers.offsets[query] = n_found
        n_touched, total = _add_up(queries, query, training, room)
        if n_touched == 0:
            answers.support[n_found, 0] = -np.inf
            answers.support[n_found, 1] = np.inf
            answers.mass[n_found] = 1.0
            answers.gap[query] = 0.0
            n_found += 1
            continue
        n_effective = _mark(n_touched, total, training, room)
        n_rows, n_cells = _read_marks(training, room)
        tolerance = max(tol / n_effective, LEAST_TOLERANCE)
        answers.gap[query] = n_effective * _estimate(n_rows, n_cells, tolerance, room)
        for i in range(n_touched):
            room.total_weight[room.touched[i]] = 0.0
        for cell in range(n_cells):
            if room.mass[cell] > 0.0:
                answers.support[n_found, 0] = room.cells[cell, 0]
                answers.support[n_found, 1] = room.cells[cell, 1]
                answers.mass[n_found] = room.mass[cell]
                n_found += 1
    answers.offsets[queries.offsets.shape[0] - 1] = n_found
    return n_found
