"""The NPMLE as arrays: rows as ranges of cells, and the masses of cells that explain them best."""

from __future__ import annotations

import numpy as np

from marginwood._core import cells
from marginwood._core.turnbull import NpmleScratch, certify, maximise
from marginwood._ends import half_open, name_points
from marginwood.intervals import FloatArray

__all__ = ["LEAST_TOLERANCE", "make_problem", "solve"]

# The certificate is a mean over the rows, and rounding keeps that from being smaller.
LEAST_TOLERANCE = 1e-11
# Enough for all but long regular chains of intervals, where one row after the other passes on a
# change.
MOST_ROUNDS = 2_000


def make_problem(intervals: FloatArray, weight: FloatArray) -> tuple[FloatArray, cells.Ranges]:
    """Cells, and the rows as ranges of them, equal ones merged."""
    n_rows = len(intervals)
    training = cells.sort_rows(half_open(intervals))
    marks = np.full(n_rows // 32 + 1, ~np.uint64(0))
    marks[-1] = (1 << 2 * n_rows % 64) - 1
    found = cells.make_ranges(n_rows, 0)
    number = np.empty(n_rows, np.int32)
    support = np.empty((n_rows, 2))
    _, n_cells = cells.find_cells(training, marks, weight[training.rows], found, number, support)
    merged = cells.make_ranges(n_rows, n_cells)
    n_merged = cells.merge_rows(found, merged, np.empty(n_cells + 1, np.int32))
    return name_points(support[:n_cells]), cells.take_ranges(merged, n_merged)


def solve(
    ranges: cells.Ranges, n_cells: int, tolerance: float, scratch: NpmleScratch
) -> tuple[FloatArray, float]:
    """Masses of the cells, and the certificate as a mean over the rows."""
    mass = np.full(n_cells, 1.0 / n_cells)
    is_one_cell = ranges.stop == ranges.first + 1
    if np.all(is_one_cell | (ranges.stop == n_cells)):
        cells.estimate_product(ranges, mass, scratch.slope)
    elif np.all(is_one_cell | (ranges.first == 0)):
        mirrored = ranges._replace(first=n_cells - ranges.stop, stop=n_cells - ranges.first)
        cells.estimate_product(mirrored, mass, scratch.slope)
        mass = mass[::-1].copy()
    else:
        maximise(ranges, mass, tolerance, MOST_ROUNDS, scratch)
    return mass, certify(ranges, mass, tolerance, scratch)
