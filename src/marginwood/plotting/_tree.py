"""plot_tree: boxes for nodes, and beside every leaf the intervals that it holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._drawing import (
    DrawnNode,
    answer,
    condition,
    describe_value,
    show_number,
    survival_steps,
)
from marginwood._fitted import Fitted, read_tree
from marginwood._support.checks import check_choice, check_count
from marginwood._trees.table import IntervalTree
from marginwood.distributions import turnbull
from marginwood.intervals import FloatArray, IntArray, check_intervals
from marginwood.plotting._canvas import (
    COLORMAP,
    FAINT,
    INTERVAL,
    MOST_VECTORS,
    PREDICTION,
    SECOND,
    make_axes,
    pyplot,
    shorten,
)
from marginwood.plotting._layout import Layout, end_of_nodes, lay_out

__all__ = ["plot_tree"]

# Inches, for text of this size in points; a drawing that has less room is scaled down as a whole.
FONT_SIZE = 8.0
ROW = 0.38
BOX_HEIGHT = 0.31
PADDING = 0.09
ELBOW = 0.12
STRIP_WIDTH = 2.6
STRIP_HEIGHT = 0.3
FOOT = 0.65
SCALE_WIDTH = 1.8
TITLE = 0.3
EDGE = 0.15
LARGEST_FIGURE = 60.0
# Smaller text cannot be read, and has no exact width any more.
LEAST_FONT_SIZE = 1.0


class Drawing(NamedTuple):
    """A layout in inches: the corner and size of each box, and how much the whole is scaled."""

    ax: Any
    layout: Layout
    left: FloatArray
    width: FloatArray
    middle: FloatArray
    scale: float

    def write(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        """Write text as it stands: a dollar sign starts no formula."""
        if size * self.scale >= LEAST_FONT_SIZE:
            self.ax.text(
                x, y, text, fontsize=size * self.scale, va="center", parse_math=False, **style
            )


def plot_tree(
    tree: Any,
    X: Any = None,
    y: Any = None,
    *,
    leaves: str = "intervals",
    feature_names: Any = None,
    max_depth: int | None = None,
    decimals: int = 2,
    ax: Any = None,
) -> Any:
    """Draw a fitted tree, from its root on the left to its leaves on the right.

    A box has the colour of its node's value. A split shows its rule, a leaf its value, the interval
    of equally good values and its number of samples. With `X` and `y` a strip beside every leaf
    shows the intervals of its rows, in the order of their lower ends; an open end runs to the edge
    of the strip, and an exact value is a point. A line marks the leaf's value, a band the equally
    good ones.

    Parameters
    ----------
    tree : estimator
        A fitted tree of this package, or a pipeline that ends in one; of a forest or of boosting,
        one of its ``estimators_``.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to show beside their leaves, of the training data or of others; of a pipeline, before
        its steps.
    y : array-like, default=None
        Their intervals, in any form that `fit` accepts.
    leaves : {"intervals", "curves"}, default="intervals"
        What to show of the rows of a leaf: their intervals, or the probability that a value is
        greater, from 1 down to 0, as :func:`~marginwood.distributions.turnbull` estimates it
        (Kaplan-Meier of right-censored rows).
    feature_names : sequence of str, default=None
        Names of the features; by default those seen by `fit`, or ``x[0]``, ``x[1]``, ...
    max_depth : int, default=None
        Cut the drawing below this depth.
    decimals : int, default=2
        Digits after the decimal point; a number below 1 has as many as show three significant ones.
    ax : matplotlib axes, default=None
        Where to draw; text is scaled to the room there. By default a new figure of the size that
        the tree needs.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_tree
    >>> X, y = make_sine(random_state=0)
    >>> ax = plot_tree(MaxMarginIntervalTree(max_depth=2).fit(X, y), X, y)
    >>> len(ax.patches)
    7
    """
    plt = pyplot()
    check_choice("leaves", leaves, DRAWERS)
    fitted, table = read_tree(tree)
    names = [shorten(name) for name in fitted.feature_names(feature_names)]
    decimals = check_count("decimals", decimals, 0)
    leaf_idx, intervals = _check_rows(fitted, table, X, y)
    layout = lay_out(table, max_depth)
    texts = [_describe(table, place, names, fitted.categories, decimals) for place in layout.places]
    branches = [answer(table, place) for place in layout.places]
    drawing, tree_width = _make_room(ax, layout, texts, branches, with_strip=intervals is not None)
    value = table.nodes["value"][layout.node_idx]
    colors = plt.cm.ScalarMappable(plt.Normalize(*_widen(value.min(), value.max(), 1e-3)), COLORMAP)
    _draw_branches(drawing, branches)
    _draw_boxes(drawing, texts, colors.to_rgba(value))
    _draw_scale(drawing, colors, fitted.value_name("value"))
    if leaf_idx is not None and intervals is not None:
        strip = _make_strips(drawing, tree_width, table.nodes, intervals)
        DRAWERS[leaves](drawing, strip, end_of_nodes(table, layout)[leaf_idx], intervals)
        _mark_values(drawing, strip, table.nodes)
    return drawing.ax


def _check_rows(
    fitted: Fitted, tree: IntervalTree, X: Any, y: Any
) -> tuple[IntArray | None, FloatArray | None]:
    """The leaf and the interval of every row that is to be shown."""
    if (X is None) != (y is None):
        raise ValueError(
            "X, y: expected both, to show the intervals of every leaf, or none of them."
        )
    if X is None:
        return None, None
    leaves = tree.apply(fitted.transform(X))
    intervals = check_intervals(y)
    if len(leaves) != len(intervals):
        raise ValueError(
            f"X, y: expected the same number of rows, got {len(leaves)} in X, {len(intervals)} in y."
        )
    return leaves, intervals


def _describe(
    tree: IntervalTree, place: DrawnNode, names: list[str], categories: Any, decimals: int
) -> str:
    """What the box of a node says."""
    node = tree.nodes[place.idx]

    def show(number: float) -> str:
        return show_number(number, decimals).replace("-", "−")  # noqa: RUF001

    if place.is_cut:
        first = "…"
    elif node["children_left"] == LEAF:
        first = describe_value(node, show)
    else:
        comparison = f"≤ {show(node['threshold'])}"
        first = shorten(condition(tree, place.idx, names[node["feature"]], comparison, categories))
    n_samples = node["n_node_samples"]
    return f"{first}\n{n_samples} sample{'s' if n_samples != 1 else ''}"


def _make_room(
    ax: Any, layout: Layout, texts: list[str], branches: list[str], *, with_strip: bool
) -> tuple[Drawing, float]:
    """Measure all text, place the columns, and set up axes in inches; returns the drawing and the width of the tree."""
    n_columns = layout.depth.max() + 1
    box_width = np.zeros(n_columns)
    gap = np.zeros(n_columns)
    np.maximum.at(
        box_width, layout.depth, [_text_width(text, FONT_SIZE) + 2 * PADDING for text in texts]
    )
    np.maximum.at(
        gap, layout.depth, [_text_width(branch, FONT_SIZE - 1) + 2 * ELBOW for branch in branches]
    )
    gap[0] = 0.0
    column_left = np.cumsum(gap) + np.append(0.0, np.cumsum(box_width)[:-1])
    tree_width = max(column_left[-1] + box_width[-1], SCALE_WIDTH)
    width = tree_width + (STRIP_WIDTH + 3 * ELBOW if with_strip else 0.0)
    n_rows = layout.is_end.sum()
    height = n_rows * ROW + FOOT
    if ax is None:
        size = np.minimum([width + 2 * EDGE, height + EDGE + TITLE], LARGEST_FIGURE)
        frame = (
            EDGE / size[0],
            EDGE / size[1],
            1 - 2 * EDGE / size[0],
            1 - (EDGE + TITLE) / size[1],
        )
        ax = pyplot().figure(figsize=size).add_axes(frame)
    room = make_axes(ax).get_window_extent()
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    scale = min(room.width / width, room.height / height) / ax.figure.dpi
    middle = FOOT + (n_rows - layout.row - 0.5) * ROW
    return Drawing(
        ax, layout, column_left[layout.depth], box_width[layout.depth], middle, scale
    ), tree_width


def _text_width(text: str, size: float) -> float:
    """The width of the widest line, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    return (
        max(
            text_to_path.get_text_width_height_descent(line, font, False)[0]
            for line in text.split("\n")
        )
        / 72
    )


def _draw_branches(drawing: Drawing, branches: list[str]) -> None:
    """A line with two corners from each parent to each child, and the answer that leads there."""
    from matplotlib.collections import LineCollection

    lines = []
    parent = drawing.layout.parent
    for child in range(1, len(parent)):
        start = drawing.left[parent[child]] + drawing.width[parent[child]]
        corner = start + ELBOW
        end = drawing.left[child]
        from_y, to_y = drawing.middle[parent[child]], drawing.middle[child]
        lines.append([(start, from_y), (corner, from_y), (corner, to_y), (end, to_y)])
        drawing.write(corner + 0.04, to_y + 0.07, branches[child], FONT_SIZE - 1, color="#555555")
    drawing.ax.add_collection(
        LineCollection(lines, colors=FAINT, linewidths=0.9 * drawing.scale, zorder=0)
    )


def _draw_boxes(drawing: Drawing, texts: list[str], colors: FloatArray) -> None:
    """A box per node, of the width of its column, with text that stands out from its colour."""
    from matplotlib.patches import FancyBboxPatch

    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)[:, :3]
    is_dark = linear @ [0.2126, 0.7152, 0.0722] < 0.18  # where white and black contrast alike
    places = zip(drawing.left, drawing.middle, drawing.width, texts, colors, is_dark, strict=True)
    for left, middle, width, text, color, dark in places:
        corner = (left, middle - BOX_HEIGHT / 2)
        style = "round,pad=0,rounding_size=0.06"
        drawing.ax.add_patch(
            FancyBboxPatch(corner, width, BOX_HEIGHT, style, facecolor=color, edgecolor="none")
        )
        ink = "white" if dark else "black"
        drawing.write(
            left + width / 2, middle, text, FONT_SIZE, ha="center", color=ink, linespacing=1.15
        )


def _draw_scale(drawing: Drawing, colors: Any, name: str) -> None:
    """The colour scale of the values, under the root."""
    bottom = 0.2
    frame = drawing.ax.inset_axes(
        (PADDING, bottom, SCALE_WIDTH - 2 * PADDING, 0.1), transform=drawing.ax.transData
    )
    drawing.ax.figure.colorbar(colors, cax=frame, orientation="horizontal")
    frame.locator_params(axis="x", nbins=5)
    frame.tick_params(
        labelsize=(FONT_SIZE - 1) * drawing.scale, length=2 * drawing.scale, pad=2 * drawing.scale
    )
    drawing.write(PADDING, bottom + 0.2, name, FONT_SIZE - 1)


def _make_strips(drawing: Drawing, left: float, nodes: Any, intervals: FloatArray) -> Any:
    """One axis of target values, with room beside every end."""
    layout = drawing.layout
    scale = drawing.scale
    ends = np.flatnonzero(layout.is_end)
    height = len(ends) * ROW
    start = left + 3 * ELBOW
    strip = drawing.ax.inset_axes(
        (start, FOOT, STRIP_WIDTH, height), transform=drawing.ax.transData
    )
    limits = np.append(intervals[np.isfinite(intervals)], nodes["value"][layout.node_idx[ends]])
    strip.set(
        xlim=_widen(limits.min(), limits.max(), 0.04),
        ylim=(FOOT, FOOT + height),
        yticks=[],
        facecolor="none",
    )
    strip.spines[["left", "top", "right"]].set_visible(False)
    strip.tick_params(labelsize=(FONT_SIZE - 1) * scale, length=2 * scale, pad=2 * scale)
    strip.locator_params(axis="x", nbins=5)
    strip.set_xlabel("target", fontsize=(FONT_SIZE - 1) * scale, labelpad=2 * scale)
    from_x = drawing.left[ends] + drawing.width[ends]
    y = drawing.middle[ends]
    drawing.ax.hlines(y, from_x, start, color=FAINT, linewidth=0.6 * scale, linestyle=":", zorder=0)
    return strip


def _draw_intervals(drawing: Drawing, strip: Any, end: IntArray, intervals: FloatArray) -> None:
    """The intervals of the rows of every end."""
    low, high = strip.get_xlim()
    order = np.lexsort((intervals[:, 1], intervals[:, 0], end))
    intervals = intervals[order]
    end = end[order]
    sizes = np.bincount(end, minlength=len(drawing.layout.row))
    n_rows = sizes[end]
    place = np.arange(len(end)) - (np.cumsum(sizes) - sizes)[end]
    y = drawing.middle[end] + STRIP_HEIGHT * ((place + 0.5) / n_rows - 0.5)
    is_exact = intervals[:, 0] == intervals[:, 1]
    widths = np.minimum(1.2, 72 * STRIP_HEIGHT / n_rows[~is_exact]) * drawing.scale
    style = {"color": INTERVAL, "rasterized": len(end) > MOST_VECTORS}
    strip.hlines(
        y[~is_exact],
        *np.clip(intervals[~is_exact].T, low, high),
        linewidth=widths,
        capstyle="round",
        **style,
    )
    strip.plot(
        intervals[is_exact, 0],
        y[is_exact],
        "o",
        markersize=2.2 * drawing.scale,
        markeredgewidth=0,
        **style,
    )


def _draw_curves(drawing: Drawing, strip: Any, end: IntArray, intervals: FloatArray) -> None:
    """The survival curve of the rows of every end; shaded where they do not determine it."""
    informative = np.isfinite(intervals).any(axis=1)
    for number in np.unique(end[informative]):
        estimate = turnbull(intervals[informative & (end == number)])
        t, *curves = survival_steps(estimate, *strip.get_xlim())
        bottom = drawing.middle[number] - STRIP_HEIGHT / 2
        least, greatest = (bottom + STRIP_HEIGHT * curve for curve in curves[:2])
        strip.fill_between(t, bottom, least, step="post", color=SECOND, alpha=0.15, linewidth=0)
        strip.fill_between(t, least, greatest, step="post", color=INTERVAL, alpha=0.5, linewidth=0)
        strip.step(t, greatest, where="post", color=SECOND, linewidth=1.0 * drawing.scale)


def _mark_values(drawing: Drawing, strip: Any, nodes: Any) -> None:
    """The value and the optimal interval of every end."""
    ends = np.flatnonzero(drawing.layout.is_end)
    middle = drawing.middle[ends]
    shown = nodes[drawing.layout.node_idx[ends]]
    low, high = np.clip([shown["value_low"], shown["value_high"]], *strip.get_xlim())
    strip.barh(middle, high - low, STRIP_HEIGHT, low, color=PREDICTION, alpha=0.25)
    half = STRIP_HEIGHT / 2 + 0.02
    strip.vlines(
        shown["value"],
        middle - half,
        middle + half,
        color=PREDICTION,
        linewidth=1.6 * drawing.scale,
    )


DRAWERS = {"intervals": _draw_intervals, "curves": _draw_curves}


def _widen(low: float, high: float, share: float) -> tuple[float, float]:
    """Ends of an axis with that share of room beyond two numbers; some room, if they are one."""
    room = share * (high - low)
    if room < 1e-12 * max(abs(low), abs(high)) or room == 0:
        room = 0.1 * abs(low) or 1.0
    return low - room, high + room
