"""The NPMLE for many queries: each weighs some of the same rows, whose ends are sorted once.

The ends of all rows have *places* in one order. A query marks the places of its own rows in a
bitset and reads them in order: no query sorts anything.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.cells import (
    ONE,
    WORD_BITS,
    Ranges,
    estimate_product,
    find_cells,
    make_ranges,
    merge_rows,
    take_ranges,
)
from marginwood._core.jit import borrow, inner, kernel
from marginwood._core.turnbull import NpmleScratch, certify, make_scratch, maximise

MOST_ROUNDS = 2_000
# A row that weighs less than this share of its query counts as absent.
LEAST_SHARE = 1e-15
# The certificate is a mean over the rows, and rounding keeps that from being smaller.
LEAST_TOLERANCE = 1e-11


class Queries(NamedTuple):
    """Query i has the rows and weights from ``offsets[i]`` to ``offsets[i + 1]``; rows may come more than once."""

    offsets: np.ndarray
    rows: np.ndarray
    weights: np.ndarray


class QueryRoom(NamedTuple):
    """Room for one query: over all rows, over the rows of the query, and over its cells."""

    places: np.ndarray
    marks: np.ndarray
    total_weight: np.ndarray
    number: np.ndarray
    touched: np.ndarray
    cells: np.ndarray
    mass: np.ndarray
    last_seen: np.ndarray
    found: Ranges
    merged: Ranges
    scratch: NpmleScratch


class Answers(NamedTuple):
    """Support intervals and masses, one query after the other; where they start, and the certificates."""

    support: np.ndarray
    mass: np.ndarray
    offsets: np.ndarray
    gap: np.ndarray


@kernel
def find_places(training, places):
    """Fill in where the ends of every interval are in their order; -1 where both are infinite."""
    ends = borrow(training.ends)
    places = borrow(places)
    places[:] = -1
    for place in range(ends.shape[0]):
        places[ends[place] >> 1, ends[place] & 1] = place


def make_room(training, n_touched):
    """Room for queries of at most `n_touched` rows."""
    places = np.empty(training.intervals.shape, np.int32)
    find_places(training, places)
    return QueryRoom(
        places=places,
        marks=np.zeros(len(training.ends) // WORD_BITS + 1, np.uint64),
        total_weight=np.zeros(len(places)),
        number=np.empty(len(places), np.int32),
        touched=np.empty(n_touched, np.int32),
        cells=np.empty((n_touched, 2)),
        mass=np.empty(n_touched),
        last_seen=np.empty(n_touched + 1, np.int32),
        found=make_ranges(n_touched, n_touched),
        merged=make_ranges(n_touched, n_touched),
        scratch=make_scratch(n_touched, n_touched),
    )


@inner
def _add_up(queries, query, room):
    """Add up the weights of the informative rows of a query; return their number and their weight."""
    rows = borrow(queries.rows)
    weights = borrow(queries.weights)
    places = borrow(room.places)
    total_weight = borrow(room.total_weight)
    touched = borrow(room.touched)
    n_touched = 0
    total = 0.0
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
def _mark(n_touched, total, room):
    """Mark the ends of the rows, with their shares of the weight; return the effective number of rows."""
    marks = borrow(room.marks)
    places = borrow(room.places)
    total_weight = borrow(room.total_weight)
    touched = borrow(room.touched)
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
def _estimate(n_rows, n_cells, tolerance, room):
    """Fill in the masses of the cells; return the certificate."""
    found = take_ranges(room.found, n_rows)
    n_merged = merge_rows(found, room.merged, room.last_seen[: n_cells + 1])
    ranges = take_ranges(room.merged, n_merged)
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
        n_touched, total = _add_up(queries, query, room)
        if n_touched == 0:
            answers.support[n_found, 0] = -np.inf
            answers.support[n_found, 1] = np.inf
            answers.mass[n_found] = 1.0
            answers.gap[query] = 0.0
            n_found += 1
            continue
        n_effective = _mark(n_touched, total, room)
        found = room.found
        n_rows, n_cells = find_cells(
            training, room.marks, room.total_weight, found, room.number, room.cells
        )
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
