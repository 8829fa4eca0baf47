"""Plots of targets: the intervals themselves, and what a constant prediction for them costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._drawing import curve_ends
from marginwood._resampling.splitters import centres
from marginwood._support.arrays import as_numbers, raise_first
from marginwood.intervals import FloatArray, check_intervals, check_sample_weight
from marginwood.losses import Loss, breakpoints, check_loss, hinge_loss, optimal_constant
from marginwood.plotting._canvas import (
    FAINT,
    INTERVAL,
    MOST_VECTORS,
    PREDICTION,
    SECOND,
    far_off,
    make_axes,
    name_target,
    pyplot,
    show_legend,
)

__all__ = ["plot_cost", "plot_intervals"]

N_GRID = 512
MOST_HINGES = 200
ARROW_SIZE = 30.0  # points; the arrow is half as long


def plot_intervals(
    y: Any, prediction: Any = None, *, ranges: Any = None, x: Any = None, ax: Any = None
) -> Any:
    """Draw targets as bars, with predictions and predicted ranges over them.

    A bar runs from the lower to the upper end of an interval. An open end is an arrow at the other
    end, an exact value a dot. Rows ``(-inf, inf)`` have no place; the legend counts them.

    Parameters
    ----------
    y : array-like
        Intervals in any form that `fit` accepts.
    prediction : array-like of shape (n_samples,), default=None
        Predictions.
    ranges : array-like of shape (n_samples, 2), default=None
        Predicted ranges, such as `ConformalIntervalRegressor.predict_interval` gives. Infinite ones
        run to the edge.
    x : array-like of shape (n_samples,), default=None
        A feature to draw against. By default rows are sorted, by prediction if there is one and
        else by the middle of the interval.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood.plotting import plot_intervals
    >>> ax = plot_intervals([(0, 1), (0.5, float("inf")), (3, 3)], prediction=[0.7, 0.7, 2.5], x=[1, 2, 4])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['interval', 'open end', 'exact value', 'prediction']
    """
    pyplot()
    intervals = check_intervals(y)
    predicted = (
        None if prediction is None else _check_numbers("prediction", prediction, len(intervals))
    )
    spans = None if ranges is None else _check_ranges(ranges, len(intervals))
    middle = centres(intervals)
    if x is None:
        keys, name = (
            (middle, "middle of the interval") if predicted is None else (predicted, "prediction")
        )
        place = np.empty(len(intervals))
        place[np.lexsort((middle, keys))] = np.arange(len(intervals))
    else:
        place = _check_numbers("x", x, len(intervals))
    ax = make_axes(ax, figsize=(9, 4.5))
    _draw_bars(ax, place, intervals)
    if predicted is not None:
        size = 4.5 if len(predicted) <= 500 else 2.5
        ax.plot(
            place, predicted, "o", color=PREDICTION, markersize=size, label="prediction", zorder=3
        )
    ax.set_xlabel(
        f"rows, sorted by {name}" if x is None else getattr(x, "name", None) or "x",
        parse_math=False,
    )
    ax.set_ylabel(name_target(y), parse_math=False)
    ax.margins(y=0.18)  # room for arrows and for the legend
    if spans is not None:
        _draw_ranges(ax, place, spans)
    show_legend(ax)
    return ax


def _check_numbers(name: str, values: Any, n_rows: int) -> FloatArray:
    numbers = as_numbers(values, name)
    if numbers.shape != (n_rows,):
        raise ValueError(
            f"{name}: expected shape ({n_rows},), one number per row of y; got shape {numbers.shape}."
        )
    raise_first(~np.isfinite(numbers), f"{name}: NaN or infinite", "", **{name: numbers})
    return numbers


def _check_ranges(ranges: Any, n_rows: int) -> FloatArray:
    if np.shape(ranges) != (n_rows, 2):
        raise ValueError(
            f"ranges: expected shape ({n_rows}, 2), a lower and an upper end per row of y; got {np.shape(ranges)}."
        )
    return check_intervals(ranges, name="ranges")


def _draw_ranges(ax: Any, x: FloatArray, ranges: FloatArray) -> None:
    """Broad, pale bars behind everything else; infinite ends lie beyond the edge."""
    from matplotlib.collections import LineCollection

    rows, columns = np.nonzero(np.isfinite(ranges))
    ax.update_datalim(np.column_stack([x[rows], ranges[rows, columns]]))
    bars = [
        [(place, low), (place, high)]
        for place, (low, high) in zip(x, far_off(ax, ranges), strict=True)
    ]
    style: dict[str, Any] = {
        "color": PREDICTION,
        "alpha": 0.25,
        "zorder": 0.5,
        "rasterized": len(x) > MOST_VECTORS,
    }
    style |= {"linewidth": min(6.0, max(0.6, 1200 / len(x))), "label": "predicted range"}
    ax.add_collection(LineCollection(bars, **style), autolim=False)
    ax.autoscale_view()


def _draw_bars(ax: Any, x: FloatArray, intervals: FloatArray) -> None:
    """Bars with caps, arrows and dots: one artist each, whatever the number of rows."""
    from matplotlib.path import Path

    lower, upper = intervals.T
    is_exact = lower == upper
    is_bar = np.isfinite(intervals).all(axis=1) & (lower < upper)
    # Thin lines keep many rows apart.
    width = min(1.4, max(0.2, 400 / len(x)))
    style = {"color": INTERVAL, "alpha": 0.8, "rasterized": len(x) > MOST_VECTORS}
    marks = {"linestyle": "none", "fillstyle": "none", "markeredgewidth": width, **style}
    ax.vlines(x[is_bar], lower[is_bar], upper[is_bar], linewidth=width, **style)
    for end in (lower, upper):
        ax.plot(x[is_bar], end[is_bar], marker="_", markersize=min(6.0, 4.3 * width), **marks)
    arrow = np.array([(-0.12, 0), (0.12, 0), (0, 0), (0, 1), (-0.14, 0.76), (0, 1), (0.14, 0.76)])
    codes = [
        Path.MOVETO,
        Path.LINETO,
        Path.MOVETO,
        Path.LINETO,
        Path.MOVETO,
        Path.LINETO,
        Path.LINETO,
    ]
    for direction, start, is_open in ((1, lower, np.isinf(upper)), (-1, upper, np.isinf(lower))):
        rows = is_open & np.isfinite(start)
        marker = Path(arrow * [1, direction], codes)
        ax.plot(x[rows], start[rows], marker=marker, markersize=ARROW_SIZE, **marks)
    ends = intervals[np.isfinite(intervals)]
    if (
        len(ends)
        and curve_ends(ends)[0] == 0
        and not np.any(np.isneginf(lower) & np.isfinite(upper))
    ):
        ax.update_datalim([(x[0], 0.0)])
        ax.lines[-1].sticky_edges.y[:] = [0.0]  # no room below 0, where no arrow needs it
    # The legend shows lines of full width, and an arrow that does not leave its line.
    n_absent = np.count_nonzero(np.isinf(intervals).all(axis=1))
    note = f" ({n_absent} without limits not drawn)" if n_absent else ""
    ax.plot([], [], color=INTERVAL, linewidth=1.4, label=f"interval{note}")
    if np.isinf(intervals).any():
        centred = Path(arrow - [0, 0.5], codes)
        ax.plot(
            [],
            [],
            color=INTERVAL,
            linestyle="none",
            fillstyle="none",
            marker=centred,
            markersize=14,
            label="open end",
        )
    if is_exact.any():
        ax.plot(x[is_exact], lower[is_exact], "o", markersize=3.5, label="exact value", **style)


def plot_cost(
    y: Any,
    *,
    loss: Loss = "squared_hinge",
    margin: float = 0.0,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw what every constant prediction costs: the function that a node of a tree minimises.

    The cost is a sum of hinges, drawn thin for up to 200 rows, and changes its form at their
    breakpoints. Every constant in the shaded interval costs the least.

    Parameters
    ----------
    y : array-like
        Intervals in any form that `fit` accepts.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        Whether a hinge grows with the distance to its breakpoint or with the distance squared.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.
    sample_weight : array-like of shape (n_samples,) or number, default=None
        Weights of the rows.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood.plotting import plot_cost
    >>> ax = plot_cost([(1, float("inf")), (-float("inf"), 4)], loss="linear_hinge", margin=1)
    >>> ax.get_legend().get_texts()[-1].get_text()
    'least cost 0 on [2, 3]'
    """
    pyplot()
    intervals = check_intervals(y)
    weight = check_sample_weight(sample_weight, len(intervals))
    weight = np.ones(len(intervals)) if weight is None else weight
    intervals = intervals[weight > 0]
    weight = weight[weight > 0]
    check_loss(loss, margin)
    starts = np.unique(breakpoints(intervals, margin))
    starts = starts[np.isfinite(starts)]
    if not len(starts):
        raise ValueError("y: expected a row of positive weight with a finite limit, got none.")
    best = optimal_constant(intervals, loss=loss, margin=margin, sample_weight=weight)
    room = 0.2 * (starts[-1] - starts[0]) or 0.1 * abs(starts[0]) or 1.0
    grid = np.linspace(starts[0] - room, starts[-1] + room, N_GRID)
    # The curve bends exactly at the breakpoints; at some of them, if they are denser than the grid.
    grid = np.union1d(grid, starts[:: len(starts) // N_GRID + 1])

    def price(value: float) -> FloatArray:
        return weight * hinge_loss(intervals, value, loss=loss, margin=margin)

    total = np.array([price(value).sum() for value in grid])
    ax = make_axes(ax, figsize=(7, 4.2))
    if len(intervals) <= MOST_HINGES:
        ax.plot(grid, [price(value) for value in grid], color=FAINT, linewidth=0.8, alpha=0.8)
        ax.plot([], [], color=FAINT, linewidth=0.8, label="one row")
    ax.plot(grid, total, color=SECOND, linewidth=2.2, label="all rows")
    places = {"linestyle": "none", "marker": "o", "zorder": 3}
    on_curve = np.interp(starts, grid, total)
    size = 5.0 if len(starts) <= MOST_HINGES else 2.0
    ax.plot(
        starts,
        on_curve,
        markersize=size,
        color=SECOND,
        markerfacecolor="white",
        label="breakpoint",
        **places,
    )
    low, high = np.clip([best.low, best.high], grid[0], grid[-1])
    where = (
        f"at {best.value:.4g}" if best.low == best.high else f"on [{best.low:.4g}, {best.high:.4g}]"
    )
    ax.axvspan(low, high, color=PREDICTION, alpha=0.15, linewidth=0)
    ax.plot(
        [low, high],
        [best.cost] * 2,
        color=PREDICTION,
        linewidth=3,
        solid_capstyle="butt",
        zorder=2.5,
    )
    label = f"least cost {best.cost:.4g} {where}"
    ax.plot(best.value, best.cost, markersize=7, color=PREDICTION, label=label, **places)
    ax.set(
        xlim=(grid[0], grid[-1]),
        xlabel="constant prediction",
        ylabel=f"cost ({loss.replace('_', ' ')})",
    )
    ax.legend(frameon=False, loc="upper center")  # the curve is convex: nothing else is there
    return ax
