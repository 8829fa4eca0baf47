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
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["condition", "draw", "find_deviations", "find_tails"]

Row: TypeAlias = tuple[FloatArray, FloatArray]


def _take_row(
    steps: Steps, mass: FloatArray, row: int, low: float = -np.inf, high: float = np.inf
) -> Row:
    """The support intervals of a row, where they are moved to, and their masses.

    Of a row that is not moved only those that may meet an interval: it may have thousands, and
    there may be thousands of intervals.
    """
    start, stop = steps.start[row], steps.stop[row]
    if steps.shift[row] == 0:
        first, last = start, stop
        start = first + np.searchsorted(steps.upper[first:last], low)
        stop = first + np.searchsorted(steps.lower[first:last], high, side="right")
    ends = np.column_stack([steps.lower[start:stop], steps.upper[start:stop]]) + steps.shift[row]
    return ends, mass[start:stop]


def _keep(
    steps: Steps, mass: FloatArray, row: int, interval: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What is left of the support intervals of a row inside a half-open interval, and of their masses."""
    low, high = interval
    ends, whole = _take_row(steps, mass, row, low, high)
    ends = half_open(ends)
    begin, end = np.maximum(ends[:, 0], low), np.minimum(ends[:, 1], high)
    with np.errstate(invalid="ignore"):  # of unbounded ones
        share = np.maximum(end - begin, 0.0) / (ends[:, 1] - ends[:, 0])
    share = np.where(ends[:, 1] == np.inf, high == np.inf, share)
    share = np.where(ends[:, 0] == -np.inf, low == -np.inf, share)
    kept = share > 0
    return name_points(np.column_stack([begin, end])[kept]), share[kept] * whole[kept]


def _refuse(
    steps: Steps, mass: FloatArray, rows: IntArray, intervals: FloatArray, is_bad: BoolArray
) -> None:
    """Raise if there are intervals without mass, and say where it is."""
    below, beyond = np.zeros((2, len(rows)))
    for number in np.flatnonzero(is_bad):
        ends, whole = _take_row(steps, mass, rows[number])
        is_below = (ends[:, 0] == -np.inf) | (ends[:, 1] <= intervals[number, 0])
        below[number], beyond[number] = whole[is_below].sum(), whole[~is_below].sum()
    lower, upper = intervals.T
    raise_first(
        is_bad,
        "given: no mass between lower and upper",
        " The mass of an unbounded support interval counts as infinitely far away.",
        lower=lower,
        upper=upper,
        mass_below=below,
        mass_above=beyond,
    )


def condition(
    steps: Steps, mass: FloatArray, rows: IntArray, intervals: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Support intervals, masses and offsets of rows, given that each value lies in an interval.

    An interval of two equal ends is that value, whatever the distribution says of it.
    """
    parts = [
        (interval[np.newaxis], np.ones(1))
        if interval[0] == interval[1]
        else _keep(steps, mass, row, within)
        for row, interval, within in zip(rows, intervals, half_open(intervals), strict=True)
    ]
    counts = np.array([len(masses) for _, masses in parts])
    _refuse(steps, mass, rows, intervals, counts == 0)
    offsets = np.append(0, np.cumsum(counts))
    kept = np.concatenate([masses / masses.max() for _, masses in parts])
    kept /= np.repeat(np.add.reduceat(kept, offsets[:-1]), counts)
    return np.concatenate([support for support, _ in parts]), kept, offsets


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
    steps: Steps,
    mass: FloatArray,
    tails: FloatArray,
    rows: IntArray,
    intervals: FloatArray,
    n: int,
    random: np.random.RandomState,
) -> FloatArray:
    """Values of shape (rows, n), each inside the interval of its row; two equal ends are that value."""
    values = np.repeat(intervals[:, 1:], n, axis=1)
    choice, share = random.random_sample((2, *values.shape))
    has_none, is_far = np.zeros((2, len(rows)), np.bool_)
    within = half_open(intervals)
    for number in np.flatnonzero(intervals[:, 0] < intervals[:, 1]):
        support, masses = _keep(steps, mass, rows[number], within[number])
        has_none[number] = not len(masses)
        if len(masses):
            scales = tails[rows[number]]
            is_far[number] = np.isnan(scales[np.isinf([support[0, 0], support[-1, 1]])]).any()
            values[number] = _draw_row(support, masses, scales, choice[number], share[number])
    _refuse(steps, mass, rows, intervals, has_none)
    raise_first(
        is_far,
        "sample: nothing tells how far the mass beyond the last limit lies",
        " Such a row has no mass between two finite ends. A model that goes on beyond its limits, such as "
        "CensoredLinearRegression, has values there.",
    )
    return values


def _draw_row(
    support: FloatArray,
    masses: FloatArray,
    scales: FloatArray,
    choice: FloatArray,
    share: FloatArray,
) -> FloatArray:
    """One value for each pair of even numbers: which support interval, and where in it."""
    sums = np.cumsum(masses)
    place = np.searchsorted(sums, choice * sums[-1], side="right")
    lower, upper = support[np.minimum(place, len(support) - 1)].T
    excess = -np.log1p(-share)
    with np.errstate(invalid="ignore", under="ignore"):  # of ends that are not the ones taken
        found = upper - share * (upper - lower)
        found = np.where(np.isinf(upper), lower + scales[1] * excess, found)
        found = np.where(np.isinf(lower), upper - scales[0] * excess, found)
    # A support interval holds its upper end and not its lower one.
    return np.clip(found, np.where(lower == upper, lower, above(lower)), upper)


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
