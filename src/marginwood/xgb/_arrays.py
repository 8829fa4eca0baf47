"""Arrays where they lie: NumPy's in memory, CuPy's on a GPU.

CuPy is imported only to bring rows of memory to a GPU. What computes with an array asks for its
`namespace`, the module that its class comes from, whose functions have NumPy's names. CuPy refuses
to turn an array into one of NumPy unless it is told to, by `to_host`.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from marginwood._support.tables import library_of

__all__ = ["Bounds", "find_cupy", "is_gpu", "is_on_device", "namespace", "to_device", "to_host"]

# Whose arrays and frames on a GPU are taken.
LIBRARIES = {"cudf", "cupy"}


def namespace(array: Any) -> Any:
    """The module with the functions for an array."""
    return sys.modules[library_of(array)]


def is_on_device(values: Any) -> bool:
    """Whether an array or a frame lies on a GPU; raises TypeError if it does, but is none of CuPy or cuDF."""
    library = library_of(values)
    if library in LIBRARIES:
        return True
    kind = f"{type(values).__module__}.{type(values).__name__}"
    if library == "cupyx":
        raise TypeError(
            f"expected a dense array on a GPU, got {kind}; pass its .get(), a sparse matrix in memory."
        )
    # Tensors in memory have the attribute, too, but it has no value.
    if hasattr(values, "__cuda_array_interface__"):
        advice = "cupy.asarray makes it one of CuPy without copying it"
        raise TypeError(
            f"expected an array in memory, of CuPy or of cuDF, got {kind} on a GPU; {advice}."
        )
    return False


def to_host(values: Any) -> Any:
    """An array or a frame of a GPU as an array of NumPy; others as they are."""
    if not is_on_device(values):
        return values
    return values.to_numpy() if library_of(values) == "cudf" else values.get()


def is_gpu(device: Any) -> bool:
    """Whether that is one of XGBoost's names for a GPU."""
    return str(device).startswith(("cuda", "gpu"))


def find_cupy(device: Any) -> Any:
    """CuPy, if XGBoost's device is a GPU on which it makes arrays, the first one; otherwise None."""
    if not is_gpu(device) or str(device).partition(":")[2] not in ("", "0"):
        return None
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return None
    return cupy if cupy.cuda.is_available() else None


def to_device(values: Any) -> Any:
    """Features in memory as an array of CuPy, in 32 bits."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError(
            "chunks go to a GPU by CuPy, which is not installed: https://docs.cupy.dev."
        ) from error
    return cupy.asarray(values, dtype=np.float32)


class Bounds:
    """Bounds and weights of rows, 32-bit floats of one namespace.

    An objective takes it in place of a DMatrix: it has the same two methods, but the bounds stay
    where they are, and breakpoints are computed once.
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

    def brought_to(self, xp: Any) -> Bounds:
        """These as arrays of a namespace."""
        return Bounds(*map(xp.asarray, (self.lower, self.upper, self.weight)))

    def take(self, rows: Any) -> Bounds:
        """Those of some rows, by a mask in the same namespace."""
        return Bounds(self.lower[rows], self.upper[rows], self.weight[rows])


def shift(lower: Any, upper: Any, margin: float) -> tuple[Any, Any]:
    """Bounds moved inwards by a margin, except those of rows whose bounds are equal."""
    if not margin:
        return lower, upper
    margins = (lower != upper) * np.float32(margin)
    return lower + margins, upper - margins
