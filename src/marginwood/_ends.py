"""Which numbers an interval holds, and how that travels in pairs of numbers.

A row ``(lower, upper)`` with ``lower < upper`` holds every x with ``lower < x <= upper``; where
both are equal it is that value. Other sides need no flag, because floating-point numbers have
neighbours: an end whose side is the other one is *moved* to the number right below it, here marked
by a minus.

====================  ==========  ==========================
what is known         row         for instance
====================  ==========  ==========================
2 < x <= 5            (2, 5)      between two visits
2 <= x < 5            (2-, 5-)    a bracket "2 to under 5"
2 <= x <= 5           (2-, 5)
2 < x < 5             (2, 5-)
x < 5                 (-inf, 5-)  "<5" of a laboratory
x >= 5                (5-, inf)
====================  ==========  ==========================

So one order of ends serves all rows: at equal values an interval ends before the next one begins.
The value 5 alone is the interval from right below 5 to 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import check_choice

__all__ = [
    "SIDES",
    "above",
    "as_written",
    "below",
    "carry_over",
    "check_entry",
    "close_ends",
    "gaps",
    "half_open",
    "move_ends",
    "name_points",
    "read_sides",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

# Whether the lower and the upper end belong to the interval, by the names that pandas has for it.
SIDES = {
    "right": (False, True),
    "left": (True, False),
    "both": (True, True),
    "neither": (False, False),
}
# Ends this many neighbours apart count as one where distances are asked for.
N_NEIGHBORS = 4
# Numbers that people write have at most so many digits, or are whole.
N_DIGITS = 12
LEAST_PLAIN, MOST_PLAIN = 1e-11, 2.0**52  # from the second on every number is whole
POWERS = 10.0 ** np.arange(23)  # exact
SMALLEST_NORMAL = np.finfo(np.float64).smallest_normal


@np.errstate(under="ignore", over="ignore")  # the neighbour of 0 is subnormal
def below(values: FloatArray | np.float64) -> FloatArray:
    """The neighbours of numbers that are right below them; infinities are their own."""
    return np.where(np.isinf(values), values, np.nextafter(values, -np.inf))


@np.errstate(under="ignore", over="ignore")
def above(values: FloatArray) -> FloatArray:
    """The neighbours of numbers that are right above them; infinities are their own. 0 has no sign."""
    return np.where(np.isinf(values), values, np.nextafter(values, np.inf) + 0.0)


def gaps(low: Any, high: Any) -> FloatArray:
    """How far numbers lie apart; 0 where they are the same but for their side, and for rounding since."""
    size = np.spacing(np.maximum(np.abs(low), np.abs(high)))
    return np.where(high - low > N_NEIGHBORS * size, high - low, 0.0)


def half_open(intervals: FloatArray) -> FloatArray:
    """All rows as ``(lower, upper]``: a value v holds what lies between the number right below v and v."""
    lower, upper = intervals.T
    return np.column_stack([np.where(lower == upper, below(lower), lower), upper])


def name_points(intervals: FloatArray) -> FloatArray:
    """The reverse of `half_open`: an interval that holds one number is that number twice."""
    lower, upper = intervals.T
    return np.column_stack([np.where(above(lower) == upper, upper, lower), upper])


def move_ends(lower: FloatArray, upper: FloatArray, has_lower: Any, has_upper: Any) -> FloatArray:
    """Intervals whose ends belong to them or do not; equal ends are a value whatever is said of them."""
    is_range = lower < upper
    return np.column_stack(
        [
            np.where(is_range & has_lower, below(lower), lower),
            np.where(is_range & ~has_upper, below(upper), upper),
        ]
    )


def close_ends(lower: FloatArray, upper: FloatArray, closed: Any, name: str) -> FloatArray:
    """Intervals from their ends and what is closed: one name for all rows, or one for each. Errors call them `name`."""
    if np.ndim(closed) == 0:
        check_choice("closed", closed, SIDES)
        sides = np.array([SIDES[closed]])
    else:
        names: npt.NDArray[Any] = np.asarray(closed, dtype=object)
        expected = f"closed: expected one of {', '.join(map(repr, SIDES))}"
        if names.shape != lower.shape:
            raise ValueError(
                f"{expected}, or one for each of {len(lower)} rows; got shape {names.shape}."
            )
        known = np.array([isinstance(one, str) and one in SIDES for one in names], np.bool_)
        raise_first(~known, f"{expected}, got another", closed=names)
        sides = np.array([SIDES[one] for one in names], np.bool_).reshape(-1, 2)
    has_lower, has_upper = sides.T
    intervals = move_ends(lower, upper, has_lower, has_upper)
    is_empty = ~has_lower & ~has_upper & (intervals[:, 0] == intervals[:, 1]) & np.isfinite(lower)
    raise_first(is_empty, f"{name}: no number lies between open ends", lower=lower, upper=upper)
    return intervals


def as_written(values: FloatArray) -> FloatArray:
    """What ends were before they were moved, for people to read: the number right above, if that is a short one.

    Of whole numbers and those of at most 12 digits no two are neighbours, and next to no other
    number is right below one: 0.49999999999999994 is read as 0.5, and what a computer worked out
    stays as it is.
    """
    meant = above(values)
    is_moved = _is_short(meant)
    is_moved[is_moved] = ~_is_short(values[is_moved])
    return np.where(is_moved, meant, values)


def _is_short(values: FloatArray) -> BoolArray:
    """Which numbers are whole, or have at most 12 digits."""
    sizes = np.abs(values)
    is_plain = (sizes >= LEAST_PLAIN) & (sizes < MOST_PLAIN)
    near = np.where(is_plain, values, 1.0)
    # A whole number over an exact power of ten is rounded once, as a decimal is when it is read.
    power = N_DIGITS - 1 - np.floor(np.log10(np.abs(near))).astype(np.intp)
    scale = POWERS[np.maximum(power, 0)]
    is_short = np.asarray(
        ((np.rint(near) == near) | (np.rint(near * scale) / scale == near))
        & (is_plain | (sizes == 0))
    )
    # Of the others subnormal ones have few digits of their own.
    for place in np.flatnonzero(~is_plain & (sizes >= SMALLEST_NORMAL) & (sizes < np.inf)):
        value = float(values.flat[place])
        is_short.flat[place] = float(f"{value:.{N_DIGITS}g}") == value
    return is_short


def read_sides(intervals: FloatArray) -> tuple[FloatArray, npt.NDArray[np.str_]]:
    """Intervals for people to read: their ends as they were written, and which of them are closed, as in `SIDES`."""
    is_point = intervals[:, :1] == intervals[:, 1:]
    written = np.where(is_point, intervals, as_written(intervals))
    has_lower, has_upper = (is_point | ((written != intervals) == [True, False])).T
    kinds = [has_lower & has_upper, has_lower, has_upper]
    return written, np.select(kinds, ["both", "left", "right"], "neither")


def carry_over(ends: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """The images of rows under a function that increases in each; an end right below another one stays below it.

    Rounding gives 1e10 and the number right below it one logarithm: then "<1e10" would hold 1e10.
    """
    images = function(ends)
    neighbors = above(ends)
    is_moved = np.isfinite(ends) & np.isin(neighbors, ends)
    if is_moved.any():
        most = below(function(np.where(is_moved, neighbors, ends)))
        images = np.where(is_moved, np.minimum(images, most), images)
        images[:, 1] = np.maximum(images[:, 0], images[:, 1])
    return images


def check_entry(entry: Any, intervals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Checked entries, and what is left of the intervals above them; -inf is there from the beginning.

    A row is seen because its value is greater than its entry (delayed entry, left truncation).
    """
    n_rows = len(intervals)
    entry = as_numbers(entry, "entry")
    if entry.shape != (n_rows,):
        raise ValueError(
            f"entry: expected shape ({n_rows},), one for each row, got shape {entry.shape}."
        )
    raise_first(
        np.isnan(entry) | np.isposinf(entry),
        "entry: NaN or infinite",
        " Rows that were there from the beginning have -inf.",
        entry=entry,
    )
    lower, upper = intervals.T
    is_outside = np.where(lower == upper, lower <= entry, upper <= entry)
    raise_first(
        is_outside,
        "entry: not below the value of its row",
        " Only what lies above its entry is ever seen: leave out rows that ended before.",
        entry=entry,
        lower=lower,
        upper=upper,
    )
    return entry.copy(), np.column_stack([np.maximum(lower, entry), upper])
