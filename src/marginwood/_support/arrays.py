"""Whatever holds numbers as arrays of float64, and errors that show the first bad row."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from marginwood._support.tables import as_known_table

__all__ = ["as_columns", "as_numbers", "raise_first"]


def as_numbers(
    values: Any, name: str, *, allow_bool: bool = False, expected: str = "real numbers"
) -> npt.NDArray[np.float64]:
    """Return values of any shape as float64, with NaN for whatever stands for missing; errors say what is expected."""
    if issparse(values):
        raise TypeError(
            f"{name}: expected a dense array, got a sparse matrix; pass {name}.toarray()."
        )
    values = as_known_table(values, name)
    is_frame = hasattr(values, "shape") and hasattr(values, "columns")
    if isinstance(values, np.ma.MaskedArray):
        array = np.where(values.mask, np.nan, values.data) if values.mask.any() else values.data
    else:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise ValueError(
                f"{name}: expected an array of numbers, got rows of different lengths."
            ) from error
    # polars casts a boolean column beside a float one, so a frame is asked for its own types.
    has_bool = is_frame and any(str(dtype).lower().startswith("bool") for dtype in values.dtypes)
    kind = "b" if has_bool else array.dtype.kind
    if kind == "O":
        try:
            return np.array([_number(value, allow_bool) for value in array.ravel()]).reshape(
                array.shape
            )
        except TypeError as error:
            raise TypeError(f"{name}: expected {expected}, got {error}.{_advise(array)}") from None
    if kind == "b" and not allow_bool:
        raise TypeError(
            f"{name}: expected numbers, got booleans. For times with event indicators use from_events(time, event)."
        )
    if kind not in "biuf":
        raise TypeError(f"{name}: expected {expected}, got dtype {array.dtype}.{_advise(array)}")
    return array.astype(np.float64, copy=False)


def as_columns(**arguments: Any) -> list[npt.NDArray[np.float64]]:
    """Return arguments as 1-D float64 arrays of one length; numbers and None are repeated."""
    arrays = {name: as_numbers(value, name) for name, value in arguments.items()}
    shapes = {name: array.shape for name, array in arrays.items() if array.ndim}
    if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
        came = ", ".join(f"{name} has shape {shape}" for name, shape in shapes.items())
        raise ValueError(f"{', '.join(arrays)}: expected 1-D arrays of one length; {came}.")
    return list(np.broadcast_arrays(*map(np.atleast_1d, arrays.values())))


def _number(value: Any, allow_bool: bool) -> float:
    """Return one element of an object array as a float, NaN where it stands for missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    try:
        is_bool = isinstance(value, bool | np.bool_)
        if isinstance(value, str | bytes | np.datetime64 | np.timedelta64) or (
            is_bool and not allow_bool
        ):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        shown = f"{value!r:.60}"
        raise TypeError(f"{shown} of type {type(value).__name__}") from None


def _advise(array: npt.NDArray[Any]) -> str:
    """What to do with dates, durations and texts of laboratories."""
    values = array.ravel()
    if array.dtype.kind in "mM" or any(isinstance(value, date | timedelta) for value in values):
        return " Of dates take the time since a start, and divide by a unit: (date - start) / np.timedelta64(1, 'D')."
    if any(isinstance(value, str) and value.lstrip().startswith(("<", ">")) for value in values):
        return " Measurements such as '<5' are read by from_detection_limits(y)."
    return ""


def raise_first(
    bad: npt.NDArray[np.bool_], problem: str, advice: str = "", **columns: npt.NDArray[Any]
) -> None:
    """Raise a ValueError that counts the bad rows and shows the first one, if there is any."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        shown = "".join(f", {name}={column[row]}" for name, column in columns.items())
        raise ValueError(
            f"{problem} in {np.count_nonzero(bad)} of {len(bad)} rows (first: row {row}{shown}).{advice}"
        )
