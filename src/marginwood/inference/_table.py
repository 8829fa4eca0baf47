"""Table: what inference returns, for terminals, notebooks, dictionaries and frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

import numpy as np

from marginwood._support.extras import install_hint
from marginwood._support.text import one_line

__all__ = ["Table", "make_table"]

# Columns of this name hold probabilities under a hypothesis; smaller ones are all the same news.
P_VALUE = "p"
LEAST_P_VALUE = 1e-4


@dataclass(frozen=True, eq=False)
class Table:
    """Columns with names; ``print`` shows it in a terminal, and a notebook as HTML.

    Parameters
    ----------
    columns : dict of list
        The columns by name, all of one length: texts, numbers, and None or NaN where there is
        nothing to say.
    title : str
        A line above.
    notes : sequence of str
        Lines below.

    Examples
    --------
    >>> from marginwood.inference import Table
    >>> table = Table({"group": ["a", "b"], "n": [10, 7], "median": [2.5, float("inf")]}, title="Groups")
    >>> print(table)
    Groups
    group   n  median
    a      10     2.5
    b       7     inf
    >>> table["n"]
    [10, 7]
    """

    columns: Mapping[str, Sequence[Any]]
    title: str = ""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) != 1:
            raise ValueError(f"columns: expected one length, got {sorted(lengths)}.")
        # Numbers of NumPy print with their type.
        plain = {name: [_plain(value) for value in values] for name, values in self.columns.items()}
        object.__setattr__(self, "columns", plain)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> list[Any]:
        """One column, as a list."""
        return self.to_dict()[name]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name.

        Returns
        -------
        dict of list
            Numbers with all their digits, texts, and None where there is nothing to say.
        """
        return {name: list(values) for name, values in self.columns.items()}

    def to_frame(self) -> Any:
        """Return a frame of pandas, with the first column as its index.

        Returns
        -------
        pandas.DataFrame
            Numbers with all their digits.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(f"to_frame: needs pandas: {install_hint('frames')}.") from None
        return pd.DataFrame(self.to_dict()).set_index(next(iter(self.columns)))

    def __str__(self) -> str:
        cells = [[one_line(cell) for cell in line] for line in self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self.title] if self.title else []
        for line in cells:
            padded = [
                cell.ljust(width) if is_text else cell.rjust(width)
                for cell, width, is_text in zip(line, widths, self._are_texts(), strict=True)
            ]
            lines.append("  ".join(padded).rstrip())
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        alignment = ["left" if is_text else "right" for is_text in self._are_texts()]
        rows = []
        for number, line in enumerate(self._cells()):
            tag = "th" if number == 0 else "td"
            cells = zip(line, alignment, strict=True)
            rows.append(
                "".join(
                    f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
                    for cell, side in cells
                )
            )
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{caption}{body}</table>{notes}"

    def _are_texts(self) -> list[bool]:
        return [any(isinstance(value, str) for value in values) for values in self.columns.values()]

    def _cells(self) -> list[list[str]]:
        """Names of columns, and lines of formatted values."""
        shown = [[_show(name, value) for value in self.columns[name]] for name in self.columns]
        return [list(self.columns), *map(list, zip(*shown, strict=True))]


Made = TypeVar("Made", bound=Table)


def make_table(
    kind: type[Made],
    columns: Mapping[str, Sequence[Any]],
    title: str,
    notes: Sequence[str] = (),
    **figures: Any,
) -> Made:
    """A table of a class that has figures besides, by name."""
    made = kind(columns, title, notes)
    for name, value in figures.items():
        object.__setattr__(made, name, value)
    return made


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _show(name: str, value: Any) -> str:
    """A value as a cell: four digits of numbers, nothing for what is missing."""
    if value is None or value != value:
        return ""
    if not isinstance(value, float):
        return str(value)
    if name == P_VALUE or name.startswith(f"{P_VALUE} "):
        return f"<{LEAST_P_VALUE:.4f}" if value < LEAST_P_VALUE else f"{value:.4f}"
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e7 else f"{value:.0f}"
