"""Labels of groups: a name for each row, of a list, an array or a column of pandas or polars."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Labels", "read_labels"]


class Labels(NamedTuple):
    """The names in order, each with a row at least, and the place of each row's name among them."""

    names: list[Any]
    codes: npt.NDArray[np.int64]


def read_labels(values: Any, n_rows: int, name: str) -> Labels:
    """Labels in the order of their categorical type if they have one, else in ascending order.

    Raises unless there is one for each row, and none is missing.
    """
    ranks = getattr(getattr(values, "cat", values), "categories", None)
    order = [] if ranks is None else [_plain(one) for one in ranks]
    cells: npt.NDArray[Any] = np.asarray(values, dtype=object)
    if cells.shape != (n_rows,):
        raise ValueError(
            f"{name}: expected shape ({n_rows},), one label per row; got shape {cells.shape}."
        )
    labels = [_plain(cell) for cell in cells]
    for row, label in enumerate(labels):
        # NaN, NaT and NA differ from themselves, or cannot tell.
        if label is None or (label == label) is not True:
            raise ValueError(
                f"{name}: missing label at row {row}. Leave out the row, or give it a name of its own."
            )
    found = set(labels)
    if not order:
        try:
            order = sorted(found)
        except TypeError:  # texts beside numbers
            order = sorted(found, key=lambda label: (type(label).__name__, str(label)))
    names = [label for label in order if label in found]
    places = {label: place for place, label in enumerate(names)}
    return Labels(names, np.array([places[label] for label in labels], np.int64))


def _plain(value: Any) -> Any:
    """A scalar of NumPy as the number or text that it is."""
    return value.item() if isinstance(value, np.generic) else value
