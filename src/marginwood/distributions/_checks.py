"""Checks of what distributions are made of and asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwood._support.arrays import as_numbers, raise_first
from marginwood.intervals import FloatArray, IntArray

__all__ = ["check_offsets", "check_range", "check_steps"]

# How far the masses of one distribution may be from adding up to 1.
LARGEST_EXCESS = 1e-6


def check_range(within: Any) -> tuple[float, float]:
    """Return the two ends of a range, or raise."""
    ends = as_numbers(within, "within")
    if ends.shape != (2,) or not ends[0] <= ends[1]:
        raise ValueError(
            f"within: expected two numbers, (low, high) with low <= high, got {within!r:.80}."
        )
    return float(ends[0]), float(ends[1])


def check_offsets(offsets: Any, n_masses: int) -> IntArray:
    """Return where rows start, as int64, or raise."""
    starts: npt.NDArray[Any] = np.asarray(offsets)
    expected = f"offsets: expected increasing integers from 0 to {n_masses}, the number of masses"
    is_list = starts.ndim == 1 and len(starts) >= 2 and starts.dtype.kind in "iu"
    if (
        not is_list
        or starts[0] != 0
        or starts[-1] != n_masses
        or not (np.diff(starts.astype(np.int64)) > 0).all()
    ):
        raise ValueError(f"{expected}, got {offsets!r:.80}.")
    return starts.astype(np.int64)


def check_steps(support: FloatArray, mass: FloatArray, offsets: IntArray) -> None:
    """Raise unless the support intervals of every row are in order and its masses add up to 1."""
    raise_first(
        ~(np.isfinite(mass) & (mass > 0)), "mass: expected positive numbers, got another", mass=mass
    )
    follows = np.ones(len(mass), np.bool_)
    follows[offsets[:-1]] = False
    before = np.concatenate([support[:1], support[:-1]])
    crossed = follows & ((before[:, 1] > support[:, 0]) | (before == support).all(axis=1))
    raise_first(
        crossed,
        "support: expected each interval above the one before it, got another",
        lower=support[:, 0],
        upper=support[:, 1],
    )
    sums = np.add.reduceat(mass, offsets[:-1])
    raise_first(
        np.abs(sums - 1) > LARGEST_EXCESS,
        "mass: expected masses that add up to 1, got another sum",
        sum=sums,
    )
