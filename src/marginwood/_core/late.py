"""The NPMLE of rows that entered late, which are seen only because their value is greater than their entry.

With the increments of the cumulative hazard over the cells, the likelihood of such a row has two
factors: it passed the cells from its entry to its interval, and met an event in its interval,

    exp(-sum of increments before) * (1 - exp(-sum of increments inside)).

Its logarithm is concave in the increments, whatever the entries are: those before an entry do not
occur in it. For rows with one cell each, or none, the best increments have a closed form, the
product of Kaplan and Meier with the rows at risk; otherwise EM steps of Poisson counts are taken,
pairs of them extrapolated, until a bound says that it is enough.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import borrow, inner, kernel

# An increment that nobody survives: exp(-x) is 0 for larger ones.
CERTAIN = 800.0
# Increments change by no more than this factor in an extrapolated step.
MOST_CHANGE = 1e6


class LateRows(NamedTuple):
    """Rows at risk from cell `start`, with their event in ``first <= cell < stop``, or after all if there is none.

    `passing` is the weight of the rows that pass a cell, `holding` that of those whose interval
    holds it.
    """

    start: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    weight: np.ndarray
    passing: np.ndarray
    holding: np.ndarray


def make_late_rows(start, first, stop, weight, n_cells):
    """The rows, and what passes and holds each of `n_cells` cells."""
    passing = np.zeros(n_cells + 1)
    holding = np.zeros(n_cells + 1)
    has_event = stop > first
    np.add.at(passing, start, weight)
    np.subtract.at(passing, first, weight)
    np.add.at(holding, first[has_event], weight[has_event])
    np.subtract.at(holding, stop[has_event], weight[has_event])
    # Whole weights must leave 0 where no row is: differences of others may leave rounding.
    count = np.zeros((2, n_cells + 1), np.int64)
    np.add.at(count[0], start, 1)
    np.subtract.at(count[0], first, 1)
    np.add.at(count[1], first[has_event], 1)
    np.subtract.at(count[1], stop[has_event], 1)
    is_there = np.cumsum(count, axis=1)[:, :-1] > 0
    passing = np.where(is_there[0], np.cumsum(passing)[:-1], 0.0)
    holding = np.where(is_there[1], np.cumsum(holding)[:-1], 0.0)
    return LateRows(start, first, stop, weight, passing, holding)


@inner
def _pull(rows, increment, pull, cumulative):
    """Fill `pull` with what events pull each increment up by, and return the log-likelihood and the bound of it.

    With ``u = 1 / (exp(x) - 1)`` of the sum x of increments in a row's interval, the pull is the
    sum of weight times u over the rows that hold a cell. Where it is at most the weight that
    passes, the sum of ``u log u - (1 + u) log(1 + u)`` bounds every log-likelihood (its dual
    problem); all u are scaled so that it is.
    """
    n_cells = increment.shape[0]
    cumulative[0] = 0.0
    value = 0.0
    for cell in range(n_cells):
        cumulative[cell + 1] = cumulative[cell] + increment[cell]
        pull[cell] = 0.0
        if rows.passing[cell] > 0.0:
            value -= rows.passing[cell] * increment[cell]
    pull[n_cells] = 0.0
    for i in range(rows.first.shape[0]):
        if rows.stop[i] > rows.first[i]:
            inside = cumulative[rows.stop[i]] - cumulative[rows.first[i]]
            pulled = rows.weight[i] / np.expm1(min(inside, CERTAIN / 2.0))
            pull[rows.first[i]] += pulled
            pull[rows.stop[i]] -= pulled
            value += rows.weight[i] * np.log(-np.expm1(-inside))
    share = 1.0
    running = 0.0
    for cell in range(n_cells):
        running += pull[cell]
        pull[cell] = max(running, 0.0)
        if rows.passing[cell] > 0.0 and pull[cell] > rows.passing[cell]:
            share = min(share, rows.passing[cell] / pull[cell])
    bound = 0.0
    for i in range(rows.first.shape[0]):
        if rows.stop[i] > rows.first[i]:
            inside = cumulative[rows.stop[i]] - cumulative[rows.first[i]]
            u = share / np.expm1(min(inside, CERTAIN / 2.0))
            bound += rows.weight[i] * (u * np.log(u) - (1.0 + u) * np.log1p(u))
    return value, bound


@inner
def _expect(rows, increment, pull, after):
    """An EM step: expected events over those at risk. Never lowers the likelihood."""
    for cell in range(increment.shape[0]):
        after[cell] = increment[cell]
        if rows.passing[cell] > 0.0 and rows.holding[cell] > 0.0:
            events = rows.holding[cell] + pull[cell]
            after[cell] *= events / (rows.holding[cell] + rows.passing[cell])


@inner
def _extrapolate(increment, once, twice):
    """Follow the logarithms of two EM steps as far as their lengths suggest."""
    step = 0.0
    bend = 0.0
    for cell in range(increment.shape[0]):
        if twice[cell] > 0.0 and increment[cell] < CERTAIN:
            forward = np.log(once[cell] / increment[cell])
            turn = np.log(twice[cell] / once[cell]) - forward
            # By mass: increments on their way to 0 would take all the attention.
            step += twice[cell] * forward**2
            bend += twice[cell] * turn**2
    length = max(1.0, np.sqrt(step / bend)) if bend > 0.0 else 1.0
    for cell in range(increment.shape[0]):
        if twice[cell] > 0.0 and increment[cell] < CERTAIN:
            forward = np.log(once[cell] / increment[cell])
            turn = np.log(twice[cell] / once[cell]) - forward
            change = 2.0 * length * forward + length**2 * turn
            limit = np.log(MOST_CHANGE)
            increment[cell] *= np.exp(min(max(change, -limit), limit))
            increment[cell] = min(max(increment[cell], np.float64(1e-300)), CERTAIN / 2.0)


@kernel
def maximise_late(rows, increment, room, tolerance, most_rounds):
    """Improve the increments until the log-likelihood is within `tolerance` of its maximum; return it and the gap.

    `room` are four arrays that are longer by one.
    """
    increment = borrow(increment)
    n_cells = increment.shape[0]
    pull, cumulative, once, twice = room[0], room[1], room[2][:n_cells], room[3][:n_cells]
    n_rounds = 0
    reached = -np.inf
    while True:
        value, bound = _pull(rows, increment, pull, cumulative)
        if not value >= reached:  # extrapolated too far
            increment[:] = twice
            value, bound = _pull(rows, increment, pull, cumulative)
        reached = value
        n_rounds += 1
        if bound - value <= tolerance or n_rounds >= most_rounds:
            return value, bound - value
        _expect(rows, increment, pull, once)
        _pull(rows, once, pull, cumulative)
        _expect(rows, once, pull, twice)
        _extrapolate(increment, once, twice)
