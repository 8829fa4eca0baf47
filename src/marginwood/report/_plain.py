"""Numbers as JSON takes them: NaN and infinities become the words that JavaScript's ``Number`` reads."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["number", "numbers"]


def number(value: Any) -> float | str:
    """A float, or the word for one that JSON has no token for."""
    value = float(value)
    if np.isfinite(value):
        return value
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def numbers(values: Any) -> list[float | str]:
    """A column of floats."""
    column = np.asarray(values, np.float64)
    return (
        column.tolist()
        if np.isfinite(column).all()
        else [number(value) for value in column.tolist()]
    )
