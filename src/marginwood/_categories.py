"""Categories: columns of labels, as codes.

A model keeps the *categories* of its features: for each feature the list of its labels, or None if
it holds numbers. The *code* of a label is its place in that list, as a float; a missing label, and
one that is not in the list, is NaN. Labels are strings, numbers and booleans; any other, such as
the intervals of ``pandas.cut``, counts by its text. Numbers that are equal are one label, whatever
their types, and where X to predict holds numbers for texts or texts for numbers, they are read as
what the model knows.

>>> import pandas
>>> X = pandas.DataFrame({"age": [51, 62, 38], "grade": pandas.Categorical(["II", "I", None])})
>>> categories = find_categories(X, "from_dtype")
>>> categories
[None, ['I', 'II']]
>>> encode_features(X, categories).tolist()
[[51.0, 1.0], [62.0, 0.0], [38.0, nan]]
"""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from marginwood._support.checks import is_integer
from marginwood.intervals import FloatArray, IntArray

__all__ = [
    "Categories",
    "Encoded",
    "categorical_columns",
    "count_categories",
    "encode_features",
    "find_categories",
    "join_categories",
    "list_indicators",
    "make_indicators",
    "name_indicators",
]

Categories = list[list[Any] | None]
EXPECTED = '"from_dtype", names or indices of features, a mask with an entry per feature, or None'


class Encoded(NamedTuple):
    """In place of `categorical_features`: X holds codes already."""

    categories: Categories | None


def find_categories(X: Any, categorical_features: Any) -> Categories | None:
    """The categories of a frame or an array to train on; None if no feature has any.

    Those of a pandas category or a polars Enum are the ones of its type, in its order; any others
    are the labels that X holds, in ascending order.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        A frame of pandas or polars, or an array.
    categorical_features : {"from_dtype"}, sequence of str, int or bool, None or Encoded
        As in scikit-learn's HistGradientBoostingRegressor: "from_dtype" takes the columns of a
        frame whose type is categorical, which text is not.

    Returns
    -------
    list or None
        A list of labels or None for each feature.
    """
    if isinstance(categorical_features, Encoded):
        return categorical_features.categories
    if categorical_features is None:
        return None
    chosen = set(_chosen(X, categorical_features))
    if not chosen:
        return None
    X = X if hasattr(X, "columns") else _as_array(X)
    return [_labels(_column(X, idx)) if idx in chosen else None for idx in range(X.shape[1])]


def join_categories(first: Categories, second: Categories) -> Categories:
    """The categories of two parts of the same rows: labels that only the second has make all of them ascend."""
    joined: Categories = []
    for idx, (labels, others) in enumerate(zip(first, second, strict=True)):
        if labels is None and others is not None:
            raise ValueError(
                f"X: expected numbers in column {idx}, as in the chunks before, got categories. Give every chunk the "
                "same types, or name the column in categorical_features."
            )
        if labels is None or others is None or set(others) <= set(labels):
            joined.append(labels)
        else:
            joined.append(_ascending({*labels, *others}))
    return joined


def encode_features(X: Any, categories: Categories) -> FloatArray:
    """X as doubles, with codes in place of labels; features without categories must hold numbers.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        A frame of pandas or polars, or an array.
    categories : list
        What `find_categories` found in the training data.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        In C order. A label that is missing or unknown is NaN.
    """
    X = X if hasattr(X, "columns") else _as_array(X)
    encoded = np.empty((X.shape[0], len(categories)))
    others = [idx for idx, labels in enumerate(categories) if labels is None]
    if others:
        plain = X.iloc[:, others] if hasattr(X, "iloc") else X[:, others]
        encoded[:, others] = check_array(plain, dtype=np.float64, ensure_all_finite=False)
    for idx, labels in enumerate(categories):
        if labels is not None:
            found, places = _distinct(_column(X, idx))
            encoded[:, idx] = np.array([*_codes(found, labels), np.nan])[places]
    return encoded


def _codes(found: list[Any], labels: list[Any]) -> list[float]:
    """The codes of labels that were found, NaN for those that are unknown."""
    if found == labels:  # as in training data, most often
        return list(range(len(labels)))
    code_of = {label: float(code) for code, label in enumerate(labels)}
    by_text = {
        str(label): code for label, code in code_of.items()
    }  # 1 is the label "1" if there is no other
    return [code_of.get(label, by_text.get(str(label), np.nan)) for label in found]


def count_categories(categories: Categories | None) -> IntArray | None:
    """How many categories each feature has, 0 for numbers; None if no feature has any."""
    if categories is None:
        return None
    return np.array([0 if labels is None else len(labels) for labels in categories], dtype=np.int64)


def make_indicators(codes: FloatArray, categories: Categories) -> FloatArray:
    """Numbers as they are, and a column of 0 and 1 for each category but the first; a missing one counts as the first.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_features)
        What `encode_features` makes of X.
    categories : list
        The labels of every feature, None for numbers.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
        Features for models that know numbers only.
    """
    columns = [
        codes[:, idx] if code is None else (codes[:, idx] == code).astype(np.float64)
        for idx, code in list_indicators(categories)
    ]
    return np.column_stack(columns) if columns else np.zeros((len(codes), 1))


def list_indicators(categories: Categories) -> list[tuple[int, int | None]]:
    """The feature of every column, and the code that it indicates, None for numbers."""
    return [
        (idx, code)
        for idx, labels in enumerate(categories)
        for code in ([None] if labels is None else range(1, len(labels)))
    ]


def name_indicators(names: list[str], categories: Categories | None) -> list[str]:
    """The names of these columns: ``age``, ``grade[II]``, ``grade[III]``."""
    if categories is None:
        return names
    return [
        names[idx] if code is None else f"{names[idx]}[{(categories[idx] or [])[code]}]"
        for idx, code in list_indicators(categories)
    ] or names[:1]


def categorical_columns(X: Any) -> list[int]:
    """The columns of a frame whose type is categorical: categories of pandas, Categorical and Enum of polars."""
    dtypes = getattr(X, "dtypes", None) if hasattr(X, "columns") else None
    kinds = [_kind(dtype) for dtype in ([] if dtypes is None else list(dtypes))]
    return [idx for idx, kind in enumerate(kinds) if kind in ("category", "Categorical", "Enum")]


def _kind(dtype: Any) -> str:
    """The name of a type, without what it holds."""
    return str(dtype).partition("(")[0]


def _chosen(X: Any, categorical_features: Any) -> list[int]:
    """The indices of the features that are asked for."""
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return categorical_columns(X)
        raise ValueError(
            f"categorical_features: expected {EXPECTED}, got {categorical_features!r}."
        )
    names = list(X.columns) if hasattr(X, "columns") else None
    n_features = _as_array(X).shape[1] if names is None else len(names)
    entries = (
        np.asarray(categorical_features).tolist() if np.ndim(categorical_features) == 1 else None
    )
    if entries is None:
        raise TypeError(f"categorical_features: expected {EXPECTED}, got {categorical_features!r}.")
    if entries and all(isinstance(entry, bool) for entry in entries):
        if len(entries) != n_features:
            message = (
                f"categorical_features: expected a mask of {n_features} entries, one per feature"
            )
            raise ValueError(f"{message}, got {len(entries)}.")
        return [idx for idx, entry in enumerate(entries) if entry]
    return [_index_of(entry, names, n_features) for entry in entries]


def _index_of(entry: Any, names: list[Any] | None, n_features: int) -> int:
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"categorical_features: expected indices or a mask, since X has no column names; got {entry!r}."
            )
        if entry not in names:
            known = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
            raise ValueError(
                f"categorical_features: expected names of columns of X ({known}), got {entry!r}."
            )
        return names.index(entry)
    if not is_integer(entry) or not 0 <= entry < n_features:
        raise ValueError(
            f"categorical_features: expected indices of the {n_features} features, got {entry!r}."
        )
    return int(entry)


def _as_array(X: Any) -> npt.NDArray[Any]:
    """An array of numbers, or of objects: NumPy would turn numbers beside strings into strings."""
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise ValueError(
            f"X: expected a 2D array of shape (n_samples, n_features), got {array.ndim} dimensions."
        )
    return array


def _column(X: Any, idx: int) -> Any:
    return X.iloc[:, idx] if hasattr(X, "iloc") else X[:, idx]


def _labels(column: Any) -> list[Any]:
    """The labels of a column of training data."""
    declared = getattr(column.dtype, "categories", None)
    if (
        declared is not None and _kind(column.dtype) != "Categorical"
    ):  # polars' own grow while a program runs
        return list(dict.fromkeys(map(_plain, declared)))
    found, places = _distinct(column)
    is_present = np.bincount(places, minlength=len(found) + 1)[:-1] > 0
    present = [label for label, is_there in zip(found, is_present, strict=True) if is_there]
    return _ascending(set(present))


def _ascending(labels: set[Any]) -> list[Any]:
    """Labels in order, numbers before texts."""
    return sorted(labels, key=lambda label: (isinstance(label, str), label))


def _distinct(column: Any) -> tuple[list[Any], IntArray]:
    """Labels of a column, and the place of every row's label among them; that of a missing one is beyond the last."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        found = [_plain(label) for label in column.cat.categories]
        codes = np.asarray(column.cat.codes, dtype=np.int64)
        return found, np.where(codes < 0, len(found), codes)
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        distinct, places = _distinct_numbers(values)
        return _plain_numbers(distinct[distinct == distinct]), places
    place_of: dict[Any, int] = {}
    rows = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        rows[row] = -1 if _is_missing(value) else place_of.setdefault(_plain(value), len(place_of))
    return list(place_of), np.where(rows < 0, len(place_of), rows)


def _distinct_numbers(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """The distinct numbers of an array, ascending, and the place of each value among them; NaN comes last, and once."""
    is_missing = values != values
    present = np.where(is_missing, 0, values)
    if len(values) and present.min() >= 0 and present.max() < 2 * len(values):
        codes = present.astype(np.int64)
        if (
            codes == present
        ).all():  # small whole numbers, as codes are: a table takes a tenth of the time of sorting
            codes[is_missing] = n_codes = int(codes.max()) + 1
            is_there = np.bincount(codes, minlength=n_codes + 1) > 0
            distinct = np.flatnonzero(is_there[:n_codes]).astype(values.dtype)  # booleans stay such
            return distinct, (np.cumsum(is_there) - 1)[codes]
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, places.ravel()


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas.NA, which cannot be compared."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _plain_numbers(values: npt.NDArray[Any]) -> list[Any]:
    """The same for an array of numbers without NaN: whole ones, as most labels are, all at once."""
    if (
        values.dtype.kind == "f"
        and (np.abs(values) < 2**53).all()
        and (values == np.floor(values)).all()
    ):
        values = values.astype(np.int64)
    return (
        [_plain(value) for value in values.tolist()]
        if values.dtype.kind == "f"
        else values.tolist()
    )


def _plain(label: Any) -> Any:
    """A label as a string, a number or a boolean."""
    if type(label) in (bool, int, str):
        return label
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, numbers.Integral):
        return int(label)
    if not isinstance(label, numbers.Real):
        return str(label)
    number = float(label)
    return int(number) if number.is_integer() else number
