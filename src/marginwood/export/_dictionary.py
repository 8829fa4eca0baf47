"""Models as dictionaries that JSON can hold, and back.

The content is the plain state that `states` makes, which is also what model files hold. What JSON
lacks is written as an object with a name under ``__class__``: ``table`` (an array with columns),
``array``, ``tuple``, and ``float`` for a number that is not finite. Infinities and NaN are the
texts ``inf``, ``-inf`` and ``nan``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwood._fitted import read
from marginwood._states import CLASS, decode_model, encode
from marginwood._support.text import escaped
from marginwood._version import __version__

__all__ = ["from_dict", "to_dict"]

FORMAT = 1
# Types of arrays, and the types that their items may come as.
ITEM_TYPES: dict[str, tuple[type, ...]] = {"bool": (bool,), "str": (str,)}
ITEM_TYPES |= dict.fromkeys(
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"], (int,)
)
ITEM_TYPES |= dict.fromkeys(
    ["float16", "float32", "float64"], (float, int)
)  # JSON may have turned 2.0 into 2
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_dict(model: Any) -> dict[str, Any]:
    """Turn a fitted estimator into a dictionary that `json.dumps` writes as standard JSON.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package. Parameters that are objects, such as a ``RandomState``,
        a function or a splitter of scikit-learn, matter to `fit` only; the dictionary holds their
        defaults. A pipeline that changes the columns is refused: pass its last step, or write all
        of it to a file with `marginwood.save`.

    Returns
    -------
    dict
        ``format``, a whole number, ``version`` of the package, and ``model``: the class and the
        attributes.

    See Also
    --------
    marginwood.save : One file, smaller and faster to read.

    Examples
    --------
    >>> import json
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import from_dict, to_dict
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (2, 3)])
    >>> text = json.dumps(to_dict(tree), allow_nan=False)
    >>> from_dict(json.loads(text)).predict([[1.2]]).tolist()
    [0.5]
    """
    own = read(model).untransformed("to_dict").own
    return {
        "format": FORMAT,
        "version": __version__,
        "model": _to_json(encode(own, type(own).__name__)),
    }


def from_dict(state: Any) -> Any:
    """Turn a dictionary made by `to_dict` back into the estimator.

    Parameters
    ----------
    state : dict
        What `to_dict` returned, or what became of it as JSON.

    Returns
    -------
    estimator
        The fitted estimator; its predictions are those of the original, bit for bit.

    Raises
    ------
    ValueError
        If the dictionary is something else, is damaged, or was made by a newer version.

    See Also
    --------
    to_dict : Makes the dictionary; its example shows both.
    """
    try:
        if (
            not isinstance(state, dict)
            or type(state.get("format")) is not int
            or state["format"] < 1
        ):
            raise ValueError("expected a dictionary of to_dict, with a format.")
        if state["format"] > FORMAT:
            raise ValueError(
                f"it has format {state['format']}, this version reads up to {FORMAT}. Update marginwood."
            )
        return decode_model(_from_json(state["model"]))
    except ImportError:  # XGBoost is not installed
        raise
    except Exception as error:
        reason = str(escaped(error)).strip().split("\n")[0] or type(error).__name__
        kind = f"{type(error).__name__}: " if isinstance(error, LookupError) else ""
        raise ValueError(f"state: not a model of marginwood, or damaged: {kind}{reason}") from error


def _to_json(value: Any) -> Any:
    """A plain state without what JSON lacks."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        columns = {name: _to_json(value[name]) for name in value.dtype.names}
        return {CLASS: "table", "columns": columns}
    if isinstance(value, np.ndarray):
        dtype = "str" if value.dtype.kind == "U" else str(value.dtype)
        if dtype not in ITEM_TYPES:
            raise TypeError(
                f"model: expected arrays of numbers, booleans or texts, got one of {dtype}."
            )
        items = value.ravel().tolist()
        if float in ITEM_TYPES[dtype]:
            items = [item if math.isfinite(item) else str(item) for item in items]
        return {CLASS: "array", "dtype": dtype, "shape": list(value.shape), "items": items}
    if isinstance(value, float) and not math.isfinite(value):
        return {CLASS: "float", "text": str(value)}
    if isinstance(value, tuple):
        return {CLASS: "tuple", "items": [_to_json(item) for item in value]}
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    return (
        {key: _to_json(item) for key, item in value.items()} if isinstance(value, dict) else value
    )


def _from_json(value: Any) -> Any:
    """The plain state again."""
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(CLASS)
    if kind == "float":
        return NOT_FINITE[value["text"]]
    if kind == "array":
        return _read_array(value)
    if kind == "tuple":
        return tuple(_from_json(value["items"]))
    content = {key: _from_json(item) for key, item in value.items()}
    return _read_table(content["columns"]) if kind == "table" else content


def _read_array(value: dict[str, Any]) -> npt.NDArray[Any]:
    """An array of which every item is of its type."""
    dtype = value["dtype"]
    items = value["items"]
    types = ITEM_TYPES[dtype]
    if float in types:
        items = [NOT_FINITE.get(item, item) if isinstance(item, str) else item for item in items]
    if not all(type(item) in types for item in items):
        raise ValueError(f"an item of an array is not of {dtype}.")
    if (
        types == (int,)
        and items
        and not np.iinfo(dtype).min <= min(items) <= max(items) <= np.iinfo(dtype).max
    ):
        raise ValueError(f"an item of an array is beyond {dtype}.")
    return np.array(items, dtype=dtype).reshape(value["shape"])


def _read_table(columns: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.void]:
    dtype = np.dtype([(name, column.dtype) for name, column in columns.items()], align=True)
    (length,) = {len(column) for column in columns.values()}
    table = np.empty(length, dtype)
    for name, column in columns.items():
        table[name] = column
    return table
