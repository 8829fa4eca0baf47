"""What is left of distributions inside intervals, and values drawn from them.

A mass is spread evenly over its support interval. That of an unbounded one counts as infinitely
far away in all probabilities; draws have an exponential tail there.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from marginwood._core.curves import Steps
from marginwood._ends import above, gaps, half_open, name_points
from marginwood._support.arrays import raise_first
from marginwood.intervals import FloatArray, IntArray

__all__ = ["condition", "draw", "find_deviations", "find_tails"]

Row: TypeAlias = tuple[FloatArray, FloatArray]


def _take_row(steps: Steps, mass: FloatArray, row: int) -> Row:
    """The support intervals of a row, where they are moved to, and their masses."""
    start, stop = steps.start[row], steps.stop[row]
    ends = np.column_stack([steps.lower[start:stop], steps.upper[start:stop]]) + steps.shift[row]
    return ends, mass[start:stop]


def condition(
    steps: Steps, mass: FloatArray, rows: IntArray, intervals: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Support intervals, masses and offsets of rows, given that each value lies in an interval.

    An interval of two equal ends is that value, whatever the distribution says of it.
    """
    supports, masses = [], []
    below, beyond = np.zeros(len(rows)), np.zeros(len(rows))
    is_value = intervals[:, 0] == intervals[:, 1]
    for number, (low, high) in enumerate(half_open(intervals)):
        if is_value[number]:
            supports.append(intervals[[number]])
            masses.append(np.ones(1))
            continue
        ends, whole = _take_row(steps, mass, rows[number])
        ends = half_open(ends)
        begin, end = np.maximum(ends[:, 0], low), np.minimum(ends[:, 1], high)
        is_far_below, is_far_above = ends[:, 0] == -np.inf, ends[:, 1] == np.inf
        with np.errstate(invalid="ignore"):  # of unbounded ones
            share = np.maximum(end - begin, 0.0) / (ends[:, 1] - ends[:, 0])
        share = np.where(is_far_above, high == np.inf, share)
        share = np.where(is_far_below, low == -np.inf, share)
        kept = share > 0
        if not kept.any():
            is_below = is_far_below | (ends[:, 1] <= low)
            below[number], beyond[number] = whole[is_below].sum(), whole[~is_below].sum()
        supports.append(name_points(np.column_stack([begin, end])[kept]))
        masses.append(share[kept] * whole[kept])
    lower, upper = intervals.T
    raise_first(
        below + beyond > 0,
        "given: no mass between lower and upper",
        " The mass of an unbounded support interval counts as infinitely far away.",
        lower=lower,
        upper=upper,
        mass_below=below,
        mass_above=beyond,
    )
    offsets = np.cumsum([0, *map(len, masses)])
    mass = np.concatenate([part / part.max() for part in masses])
    mass /= np.repeat(np.add.reduceat(mass, offsets[:-1]), np.diff(offsets))
    return np.concatenate(supports), mass, offsets


def find_tails(steps: Steps, mass: FloatArray) -> FloatArray:
    """Scales of the tails beyond the least and the greatest finite end of each row; NaN if nothing tells.

    Between these two ends the hazard was log(p / q) / distance in the mean, where p is what lies
    beyond the first of them and q what lies beyond the last: so it goes on.
    """
    tails = np.full((len(steps.start), 2), np.nan)
    for row in range(len(tails)):
        ends, parts = _take_row(steps, mass, row)
        finite = ends[np.isfinite(ends)]
        far = np.array([parts[ends[:, 0] == -np.inf].sum(), parts[ends[:, 1] == np.inf].sum()])
        left = parts.sum() - far[::-1]
        has_tail = (far > 0) & (left > far)
        distance = gaps(finite[0], finite[-1]) if len(finite) else 0.0
        if distance > 0:
            tails[row, has_tail] = distance / np.log(left[has_tail] / far[has_tail])
    return tails


def draw(
    steps: Steps, mass: FloatArray, tails: FloatArray, n: int, random: np.random.RandomState
) -> FloatArray:
    """Values of shape (rows, n)."""
    values = np.empty((len(steps.start), n))
    choice, share = random.random_sample((2, *values.shape))
    far = np.zeros(len(values), np.bool_)
    for row in range(len(values)):
        ends, parts = _take_row(steps, mass, row)
        sums = np.cumsum(parts)
        place = np.searchsorted(sums, choice[row] * sums[-1], side="right")
        lower, upper = ends[np.minimum(place, len(ends) - 1)].T
        far[row] = np.isnan(tails[row][np.isinf([ends[0, 0], ends[-1, 1]])]).any()
        excess = -np.log1p(-share[row])
        with np.errstate(invalid="ignore", under="ignore"):  # of ends that are not the ones taken
            inside = upper - share[row] * (upper - lower)
            found = np.where(np.isinf(upper), lower + tails[row, 1] * excess, inside)
            found = np.where(np.isinf(lower), upper - tails[row, 0] * excess, found)
        # A support interval holds its upper end and not its lower one.
        least = np.where(lower == upper, lower, above(lower))
        values[row] = np.clip(found, least, upper)
    raise_first(
        far,
        "sample: nothing tells how far the mass beyond the last limit lies",
        " Such a row has no mass between two finite ends. A model that goes on beyond its limits, such as "
        "CensoredLinearRegression, has values there.",
    )
    return values


def find_deviations(steps: Steps, mass: FloatArray) -> FloatArray:
    """The standard deviation of each row; infinite with mass in an unbounded support interval."""
    deviations = np.empty(len(steps.start))
    for row in range(len(deviations)):
        ends, parts = _take_row(steps, mass, row)
        if np.isinf(ends).any():
            deviations[row] = np.inf
            continue
        share = parts / parts.sum()
        middle, width = (ends / 2).sum(axis=1), ends[:, 1] - ends[:, 0]
        distance = middle - share @ middle
        unit = max(np.abs(distance).max(), width.max()) or 1.0  # of squares that do not overflow
        deviations[row] = unit * np.sqrt(
            share @ ((distance / unit) ** 2 + (width / unit) ** 2 / 12)
        )
    return deviations
