"""What other libraries have: tables, through the two protocols by which they hand them on, and pandas' intervals."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = ["as_known_table", "find_intervals", "library_of"]

# Their tables and arrays are taken as they are.
KNOWN = {"numpy", "pandas", "polars", "scipy", "cudf", "cupy", "dask", "builtins"}


def library_of(values: Any) -> str:
    """The name of the package that a value's class comes from."""
    return type(values).__module__.partition(".")[0]


def as_known_table(values: Any, name: str) -> Any:
    """A table with ``__arrow_c_stream__`` or ``__dataframe__`` as a frame of polars or pandas; others as they are."""
    library = library_of(values)
    if library == "polars" and type(values).__name__ == "LazyFrame":
        raise TypeError(
            f"{name}: expected rows, got a LazyFrame of polars, which holds none yet; pass {name}.collect()."
        )
    if library in KNOWN or not _is_table(values):
        return values
    if not hasattr(values, "__arrow_c_stream__"):
        # The older protocol has no reader in polars, and a deprecated one in pandas.
        _need("pyarrow", values, name)
        from pyarrow.interchange import from_dataframe

        values = from_dataframe(values)
    if find_spec("polars"):
        import polars

        try:
            return polars.DataFrame(values)
        except polars.exceptions.DuplicateError as error:
            raise ValueError(f"{name}: expected columns of different names: {error}.") from None
    _need("pyarrow", values, name)
    _need("pandas", values, name)
    import pyarrow

    return pyarrow.table(values).to_pandas()


def find_intervals(values: Any) -> Any:
    """Return the pandas IntervalArray inside a pandas object of intervals, else None."""
    dtype = getattr(values, "dtype", None)
    categories: Any = getattr(getattr(dtype, "categories", None), "dtype", None)
    if type(categories).__name__ == "IntervalDtype":
        # pandas cannot cast to intervals of whole numbers if a value lies in none, which is NaN.
        if getattr(categories.subtype, "kind", "") in "iu":
            categories = type(categories)("float64", categories.closed)
        values = values.astype(categories)
    elif type(dtype).__name__ != "IntervalDtype":
        return None
    return getattr(values, "array", values)


def _is_table(values: Any) -> bool:
    """Whether it offers a table; a column that NumPy can read, such as one of Arrow, offers a stream too."""
    offers = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__dataframe__")
    return offers and (hasattr(values, "columns") or not hasattr(values, "__array__"))


def _need(library: str, values: Any, name: str) -> None:
    if not find_spec(library):
        kind = f"{type(values).__module__}.{type(values).__name__}"
        raise ImportError(
            f"{name}: a table of type {kind} is read with polars or pyarrow: pip install polars pyarrow."
        )
