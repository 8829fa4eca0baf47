"""Distances of intervals from predictions, and the quantiles of them that carry a promise.

The *far* distance of a row is how far a range around its prediction must reach to contain its
interval, the *near* distance how far to meet it. That of the hidden label lies between the two, row
by row, and so do their quantiles.

For the interval ``(2, 5)`` and the prediction 3 the far distance is 2 and the near one 0. In
one-sided modes distances have a sign: for ``lower`` the far distance is 3 - 2 = 1 and the near one
3 - 5 = -2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from marginwood._support.checks import check_number
from marginwood.intervals import FloatArray

__all__ = [
    "MODES",
    "check_level",
    "find_distances",
    "find_rank",
    "kth_smallest",
    "promised_distances",
    "tell_infinite",
]

MODES = ("contains", "meets", "lower", "upper")


def check_level(level: Any) -> None:
    """Raise unless a confidence level lies between 0 and 1."""
    check_number("confidence_level", level, "a number > 0 and < 1", lambda number: 0 < number < 1)


def find_distances(
    residuals: FloatArray, spreads: FloatArray, mode: str
) -> tuple[FloatArray, FloatArray]:
    """Near and far distances of residual intervals, in units of their rows' spreads."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = residuals / spreads[:, np.newaxis]
    # Where there is no spread, no distance is 0 units and any other one infinitely many.
    lower, upper = np.where(np.isnan(scaled), 0.0, scaled).T
    if mode == "lower":
        return -upper, -lower
    if mode == "upper":
        return lower, upper
    return np.maximum(np.maximum(lower, -upper), 0.0), np.maximum(-lower, upper)


def promised_distances(residuals: FloatArray, spreads: FloatArray, mode: str) -> FloatArray:
    """The distances that the promise of a mode is about."""
    near, far = find_distances(residuals, spreads, mode)
    return near if mode == "meets" else far


def find_rank(level: float, n_rows: int) -> int:
    """Which of `n_rows` distances, counted from 1 upwards, covers a new row at a level; beyond them if none does."""
    return math.ceil(_as_written(level) * (n_rows + 1))


def _as_written(level: float) -> Fraction:
    """A level as its decimals say: in floats 0.55 * 100 is more than 55, and would take the next rank."""
    return Fraction(repr(float(level)))


def kth_smallest(values: FloatArray, rank: int) -> Any:
    """The `rank`-th smallest value along the first axis, counted from 1; infinite if there are fewer."""
    if rank > len(values):
        return np.full(values.shape[1:], np.inf)
    return np.partition(values, rank - 1, axis=0)[rank - 1]


def tell_infinite(
    residuals: FloatArray, spreads: FloatArray, mode: str, level: float
) -> str | None:
    """Why ranges at a level are infinite, and what can be done; None if they are finite."""
    n_rows = len(residuals)
    rank = find_rank(level, n_rows)
    n_finite = {
        name: np.count_nonzero(promised_distances(residuals, spreads, name) < np.inf)
        for name in MODES
    }
    if rank <= n_finite[mode]:
        return None
    text = f"confidence_level: ranges at {level} are infinite, because"
    if rank > n_rows:
        n_needed = math.ceil(_as_written(level) / (1 - _as_written(level)))
        return f"{text} there are {n_rows} calibration rows and at least {n_needed} are needed."
    side = {"lower": " below", "upper": " above"}.get(mode, "")
    without_spread = "" if spreads.all() else " or have a spread of 0"
    others = [f"mode={name!r}" for name in ("lower", "upper", "meets") if n_finite[name] >= rank]
    advice = f" Finite at this level: {', '.join(others)}." if others else ""
    return (
        f"{text} {n_rows - n_finite[mode]} of {n_rows} calibration intervals are open{side}{without_spread}, and at "
        f"most {n_rows - rank} may be.{advice}"
    )
