"""Arrays where they lie: NumPy's in memory, CuPy's on a GPU.

Nothing here imports CuPy. What computes with an array asks for its `namespace`, the module that its class comes from,
whose functions have NumPy's names. CuPy refuses to turn an array into one of NumPy unless it is told to, by `to_host`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from marginwood._support.tables import library_of

__all__ = ["Bounds", "is_on_device", "namespace", "to_host"]


def namespace(array: Any) -> Any:
    """The module with the functions for an array."""
    return sys.modules[library_of(array)]


def is_on_device(values: Any) -> bool:
    """Whether an array or a frame lies on a GPU."""
    return hasattr(type(values), "__cuda_array_interface__") or library_of(values) == "cudf"


def to_host(values: Any) -> Any:
    """An array or a frame of a GPU as an array of NumPy; others as they are."""
    if not is_on_device(values):
        return values
    return values.to_numpy() if library_of(values) == "cudf" else values.get()


class Bounds:
    """Bounds and weights of rows, 32-bit floats of one namespace.

    An objective takes it in place of a DMatrix: it has the same two methods, but the bounds stay where they are, and
    breakpoints are computed once.
    """

    def __init__(self, lower: Any, upper: Any, weight: Any) -> None:
        self.lower = lower
        self.upper = upper
        self.weight = weight
        self._breakpoints: dict[float, tuple[Any, Any]] = {}

    def get_float_info(self, name: str) -> Any:
        """One of the bounds, by XGBoost's name."""
        return {"label_lower_bound": self.lower, "label_upper_bound": self.upper}[name]

    def get_weight(self) -> Any:
        """The weights."""
        return self.weight

    def breakpoints(self, margin: float) -> tuple[Any, Any]:
        """Where the hinges of all rows start."""
        if margin not in self._breakpoints:
            self._breakpoints[margin] = shift(self.lower, self.upper, margin)
        return self._breakpoints[margin]

    def take(self, rows: Any) -> Bounds:
        """Those of some rows, by a mask in the same namespace."""
        return Bounds(self.lower[rows], self.upper[rows], self.weight[rows])


def shift(lower: Any, upper: Any, margin: float) -> tuple[Any, Any]:
    """Bounds moved inwards by a margin, except those of rows whose bounds are equal."""
    if not margin:
        return lower, upper
    margins = (lower != upper) * np.float32(margin)
    return lower + margins, upper - margins
