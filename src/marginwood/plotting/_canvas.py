"""What all plots share: the import of matplotlib, axes, short names, colours for every eye and for grey prints."""

from __future__ import annotations

from typing import Any

from marginwood._support.extras import install_hint
from marginwood._support.text import one_line

__all__ = [
    "COLORMAP",
    "FAINT",
    "INTERVAL",
    "MOST_VECTORS",
    "PREDICTION",
    "SECOND",
    "make_axes",
    "pyplot",
    "shorten",
]

INTERVAL = "#6b93c7"
PREDICTION = "#c8442f"
SECOND = "#1d3f66"
FAINT = "#8a8a8a"
COLORMAP = "viridis"
# More lines than this are a bitmap within a vector file, which would be slow to show otherwise.
MOST_VECTORS = 5000

LONGEST_NAME = 22


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
