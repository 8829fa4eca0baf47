"""What all plots share: the import of matplotlib, axes, short names, colours for every eye and for grey prints."""

from __future__ import annotations

import re
from math import floor, log10
from typing import Any

import numpy as np

from marginwood._drawing import show_number
from marginwood._support.extras import install_hint
from marginwood._support.tables import as_known_table, library_of
from marginwood._support.text import one_line
from marginwood.intervals import FloatArray

__all__ = [
    "COLORMAP",
    "FAINT",
    "INTERVAL",
    "LINES",
    "MOST_VECTORS",
    "PREDICTION",
    "SECOND",
    "as_table",
    "column_names",
    "far_off",
    "make_axes",
    "make_log",
    "name_columns",
    "name_target",
    "pyplot",
    "shorten",
    "show_legend",
]

INTERVAL = "#6b93c7"
PREDICTION = "#c8442f"
SECOND = "#1d3f66"
FAINT = "#8a8a8a"
LINES = (SECOND, PREDICTION, INTERVAL, "#c4912a", "#3f8a63", "#8a5a9c")
COLORMAP = "viridis"
# More lines than this are a bitmap within a vector file, which would be slow to show otherwise.
MOST_VECTORS = 5000

LONGEST_NAME = 22
SIDE_WORDS = {
    "bound",
    "end",
    "limit",
}  # that names of two columns share, and that say nothing of the target
FAR = (
    1000.0  # times the greatest value: outside of what is drawn, on a linear axis and on a log axis
)


def pyplot() -> Any:
    """Import matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"marginwood.plotting needs matplotlib: {install_hint('plot')}."
        ) from error
    return plt


def make_axes(ax: Any, **figure: Any) -> Any:
    """Return `ax`, or new axes where it is None."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(layout="constrained", **figure)
        ax.spines[["top", "right"]].set_visible(False)
    elif not isinstance(ax, plt.Axes):
        raise TypeError(f"ax: expected matplotlib axes or None, got {type(ax).__name__}.")
    return ax


def shorten(name: str) -> str:
    """A name on one line, without its middle if it is long: long names often begin alike."""
    name = one_line(name)
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def make_log(ax: Any, name: str) -> None:
    """Make the axis "x" or "y" a log axis with plain numbers: 10 and 100, and over few decades 20 and 50, too."""
    ax.set(**{f"{name}scale": "log"})
    axis = getattr(ax, f"{name}axis")

    def show_between(value: float, _: Any) -> str:
        low, high = axis.get_view_interval()
        digit = round(value / 10 ** floor(log10(value)))
        return show_number(value, 2) if high < 1000 * low and digit in (2, 5) else ""

    axis.set_major_formatter(lambda value, _: show_number(value, 2))
    axis.set_minor_formatter(show_between)


def show_legend(ax: Any) -> None:
    """A legend for data of any shape: narrow enough for a column of text, pale behind its words."""
    columns = 4 if len(ax.get_legend_handles_labels()[0]) <= 4 else 3
    place = {"loc": "upper right", "borderaxespad": 0.0, "columnspacing": 1.4}
    ax.legend(
        ncols=columns, fontsize="small", facecolor=ax.get_facecolor(), edgecolor="none", **place
    )


def far_off(ax: Any, values: FloatArray) -> FloatArray:
    """Values, with numbers far outside of what is drawn in place of infinities."""
    low, high = np.nan_to_num(
        ax.dataLim.intervaly, posinf=0.0, neginf=1.0
    )  # of nothing it is from inf to -inf
    room = FAR * max(high - low, abs(high), abs(low))
    return np.clip(values, low - room, high + room)


def name_target(y: Any) -> str:
    """What to call the target: by the name of a series, or by those of a frame's columns."""
    return name_columns(list(getattr(y, "columns", [getattr(y, "name", None)])))


def name_columns(names: list[Any]) -> str:
    """What to call a target whose columns have these names: that of ``dose_min`` and ``dose_max`` is dose."""
    name = names[0] if names else None
    if len(names) > 1:
        words, others = (re.split(r"[\s_.]+", str(name)) for name in names[:2])
        name = " ".join(word for word in words if word in others and word.lower() not in SIDE_WORDS)
    return shorten(name) if name and isinstance(name, str) else "target"


def as_table(X: Any) -> Any:
    """A copy of X, as an array of numbers or as a frame of pandas or polars."""
    X = as_known_table(X, "X")
    if hasattr(X, "to_pandas") and library_of(X) != "polars":
        X = X.to_pandas()
    if hasattr(X, "iloc"):
        return X.copy()
    return X.clone() if hasattr(X, "columns") else np.array(X, dtype=np.float64)


def column_names(model: Any, X: Any) -> list[str]:
    """The names of the columns that a model takes, before the steps of a pipeline."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    names = getattr(model, "feature_names_in_", None)
    return (
        [f"x[{idx}]" for idx in range(X.shape[1] if X.ndim == 2 else 0)]
        if names is None
        else list(names)
    )
