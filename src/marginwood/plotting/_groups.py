"""Pictures of groups: curves with confidence bands and a table of rows at risk, and boxes of non-detects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._drawing import curve_ends
from marginwood._ends import as_written
from marginwood._support.checks import check_share
from marginwood._support.labels import read_labels
from marginwood.distributions import Turnbull, turnbull
from marginwood.inference._groups import compare_groups, show_p_value
from marginwood.intervals import FloatArray, check_intervals, check_sample_weight
from marginwood.plotting._canvas import (
    FAINT,
    LINES,
    MOST_VECTORS,
    PREDICTION,
    make_axes,
    make_log,
    name_target,
    pyplot,
    shorten,
)

__all__ = ["plot_censored_box", "plot_groups"]

# Bands by likelihood ratios are asked at so many places at most.
MOST_PLACES = 100
LINE = 11.0  # from one line of small text to the next, in points
# Below the axes: their ticks and their name.
ROOM_OF_AXIS = 44.0
WIDTH = 0.5  # of a box


class Group(NamedTuple):
    """One group: its name, informative rows, estimate and colour."""

    name: str
    rows: FloatArray
    estimate: Turnbull
    color: str

    @property
    def is_kaplan_meier(self) -> bool:
        """Whether all rows are values, or open above."""
        lower, upper = self.rows.T
        return bool(np.all((lower == upper) | (upper == np.inf)))


def plot_groups(
    y: Any,
    by: Any,
    level: float | None,
    at_risk: bool | None,
    test: Any,
    log: bool,
    sample_weight: Any,
    ax: Any,
) -> Any:
    """The figure for a paper."""
    level = 0.95 if level is None and by is not None else level
    if level:
        check_share("level", level)
    text = None
    if test is not None:
        found = compare_groups(y, by, weights=test, sample_weight=sample_weight)
        name = "log-rank" if test == "logrank" else "Peto-Prentice"
        text = f"{name} p {show_p_value(found.p_value)}"
    ax = make_axes(ax, figsize=(7, 4.6))
    counted = by is not None if at_risk is None else at_risk
    _draw_groups(ax, y, by, sample_weight, level=level or None, at_risk=counted, log=log)
    if text:
        ax.text(0.02, 0.04, text, transform=ax.transAxes, size="small")
    ax.set_xlabel(name_target(y), parse_math=False)
    ax.set_ylabel("probability of more")
    return ax


def _draw_groups(
    ax: Any, y: Any, by: Any, sample_weight: Any, *, level: float | None, at_risk: bool, log: bool
) -> None:
    """Draw a curve for each group, with names beside them, and the table below."""
    groups = _make_groups(y, by, sample_weight)
    finite = np.concatenate([group.rows[np.isfinite(group.rows)] for group in groups])
    if log and (finite <= 0).any():
        finite = finite[finite > 0]
    if not len(finite):
        raise ValueError("log: expected positive ends of intervals, got none.")
    low, high = curve_ends(finite, is_log=log)
    if log:
        make_log(ax, "x")
    ends = [_draw_curve(ax, group, low, high, level) for group in groups]
    ax.set(xlim=(low, high), ylim=(0, 1.03))
    if len(groups) > 1:
        _name_curves(ax, groups, ends)
    if at_risk:
        _count_at_risk(ax, groups)


def _make_groups(y: Any, by: Any, sample_weight: Any) -> list[Group]:
    intervals = check_intervals(y)
    weight = check_sample_weight(sample_weight, len(intervals))
    by = np.full(len(intervals), "") if by is None else by
    labels = read_labels(by, len(intervals), "by")
    if len(labels.names) > len(LINES):
        raise ValueError(
            f"by: expected at most {len(LINES)} groups, which have a colour each, got {len(labels.names)}."
        )
    estimates = turnbull(intervals, weight, by=by)
    informative = np.isfinite(intervals).any(axis=1)
    if weight is not None:
        informative &= weight > 0
    return [
        Group(
            shorten(str(name)),
            intervals[informative & (labels.codes == code)],
            estimates[name],
            color,
        )
        for (code, name), color in zip(enumerate(labels.names), LINES, strict=False)
    ]


def _draw_curve(ax: Any, group: Group, low: float, high: float, level: float | None) -> float:
    """Draw one curve, what is not determined of it, its band and its censored rows; return its last height."""
    estimate, color = group.estimate, group.color
    finite = group.rows[np.isfinite(group.rows)]
    # Beyond the last row nothing is known; a curve that reaches 0 before stays there.
    reaches_zero = np.isfinite(estimate.support[-1, 1])
    high = high if reaches_zero else min(high, max(low, float(finite.max())))
    times = np.unique(
        np.append(np.append(finite, estimate.support.ravel()).clip(low, high), [low, high])
    )
    # A curve is constant between two ends.
    between = np.append((times[:-1] + times[1:]) / 2, times[-1])
    least, greatest = (estimate.sf(between, bound=bound) for bound in ("lower", "upper"))
    style = {"where": "post", "color": color, "linewidth": 1.8}
    if not reaches_zero and len(times) > 1:
        least[-1], greatest[-1] = least[-2], greatest[-2]
    ax.step(times, greatest, label=group.name, **style)
    if np.any(least < greatest) and not group.is_kaplan_meier:
        ax.step(times, least, **style)
        ax.fill_between(times, least, greatest, step="post", color=color, alpha=0.35, linewidth=0)
    if level is not None:
        some = np.unique(np.linspace(0, len(times) - 1, MOST_PLACES).round().astype(np.intp))
        chosen = np.arange(len(times)) if group.is_kaplan_meier else some
        if not reaches_zero and len(chosen) > 1:
            between[-1] = between[-2]
        band = estimate.confidence_band(between[chosen], level=level)
        shade = {"step": "post", "color": color, "alpha": 0.14, "linewidth": 0}
        ax.fill_between(times[chosen], band.lower, band.upper, **shade)
    lower, upper = group.rows.T
    if group.is_kaplan_meier and np.isinf(upper).any():
        marked = np.unique(lower[np.isinf(upper)])
        marked = marked[(marked >= low) & (marked <= high)]
        ticks = {"marker": "|", "markersize": 6, "linestyle": "none", "markeredgewidth": 0.9}
        ax.plot(
            marked,
            estimate.sf(marked, bound="upper"),
            color=color,
            rasterized=len(marked) > MOST_VECTORS,
            **ticks,
        )
    return float(greatest[-2]) if len(greatest) > 1 else 1.0


def _name_curves(ax: Any, groups: list[Group], ends: list[float]) -> None:
    """Names beside the ends of curves, or a legend where two curves end near each other."""
    line = LINE * ax.figure.dpi / 72 / max(ax.bbox.height, 1.0) * 1.03
    if np.diff(np.sort(ends)).min() < line:
        ax.legend(frameon=False)
        return
    for group, height in zip(groups, ends, strict=True):
        ax.annotate(
            group.name,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            color=group.color,
            va="center",
            size="small",
            annotation_clip=False,
            parse_math=False,
        )


def _count_at_risk(ax: Any, groups: list[Group]) -> None:
    """Below the axes, how many rows of each group are known to reach the values of the ticks."""

    def put(text: str, place: float, by: tuple[float, float], side: str, color: str) -> None:
        """Write some points away from a value, at the foot of the axes."""
        ax.annotate(
            text,
            (place, 0.0),
            xycoords=("data", "axes fraction"),
            xytext=by,
            textcoords="offset points",
            ha=side,
            va="top",
            size="small",
            color=color,
            annotation_clip=False,
            parse_math=False,
        )

    low, high = ax.get_xlim()
    is_survival = all(group.is_kaplan_meier for group in groups)
    head = "at risk" if is_survival else "known to be as large or larger"
    put(head, low, (0.0, -ROOM_OF_AXIS), "left", FAINT)
    for number, group in enumerate(groups):
        depth = -ROOM_OF_AXIS - LINE * (number + 1.2)
        put(group.name, low, (-14.0, depth), "right", group.color)
        for tick in ax.get_xticks():
            if low <= tick <= high:
                count = np.count_nonzero(group.rows[:, 0] >= tick)
                put(f"{count:,}", tick, (0.0, depth), "center", group.color)


def plot_censored_box(
    y: Any, *, by: Any = None, log: bool = False, level: float = 0.95, ax: Any = None
) -> Any:
    r"""Draw boxes of censored values, such as concentrations with non-detects.

    A box reaches from the first to the third quartile of the nonparametric estimate, with a line at
    the median and a notch of its confidence interval; whiskers reach from quantile 0.05 to 0.95. Up
    to the greatest detection limit of its group, where single values are not known, a box is pale.
    Dashed lines are detection limits, dots values that were detected. Below each group stand its
    rows and how many are censored.

    Parameters
    ----------
    y : array-like
        Intervals in any form that `fit` accepts. The name of a series, or what those of two columns
        share, is that of the axis.
    by : array-like of shape (n,), default=None
        Labels of groups: a box each.
    log : bool, default=False
        Whether values are on a log axis.
    level : float, default=0.95
        Of the confidence interval of the median.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import from_detection_limits
    >>> from marginwood.plotting import plot_censored_box
    >>> ax = plot_censored_box(from_detection_limits(["<1", "1.2", "<2", "2.5", "3.1"]))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['5 rows\n40% censored']
    """
    pyplot()
    check_share("level", level)
    intervals = check_intervals(y)
    labels = np.full(len(intervals), "") if by is None else by
    names, codes = read_labels(labels, len(intervals), "by")
    estimates = list(turnbull(intervals, by=labels).values())
    finite = intervals[np.isfinite(intervals)]
    finite = finite[finite > 0] if log else finite
    if not len(finite):
        raise ValueError("log: expected positive ends of intervals, got none.")
    ax = make_axes(ax, figsize=(max(3.2, 1.3 * len(names) + 1.4), 4.2))
    if log:
        make_log(ax, "y")
    floor = float(finite.min()) / 2 if log else min(0.0, float(finite.min()))
    # A log axis is even in logarithms.
    floor, top = (floor, float(finite.max()))
    ticks = []
    for place, name in enumerate(names):
        rows = intervals[codes == place]
        _draw_box(ax, place, rows, estimates[place], (floor, top), level)
        share = np.mean(rows[:, 0] < rows[:, 1])
        count = f"{len(rows):,} rows\n{share:.0%} censored"
        ticks.append(f"{shorten(str(name))}\n{count}" if by is not None else count)
    ax.set_xticks(range(len(names)), ticks, parse_math=False)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_ylabel(name_target(y), parse_math=False)
    return ax


def _draw_box(
    ax: Any,
    place: int,
    rows: FloatArray,
    estimate: Turnbull,
    within: tuple[float, float],
    level: float,
) -> None:
    """One box, its whiskers, and the values that were detected."""
    color = LINES[0]
    lower, upper = rows.T
    bounds = estimate.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    # A quantile with one bound is drawn there: that of a non-detect at its limit.
    bounds = np.where(np.isinf(bounds), bounds[:, ::-1], bounds).clip(*within)
    least, first, middle, third, most = bounds.mean(axis=1)
    low, high = estimate.confidence_interval(level=level).clip(*within)
    left, right, notch = place - WIDTH / 2, place + WIDTH / 2, WIDTH / 6
    limits = as_written(upper[np.isinf(lower) & np.isfinite(upper)])
    limit = float(limits.max()) if len(limits) else within[0]
    for bottom, end, alpha in ((first, min(third, limit), 0.12), (max(first, limit), third, 0.42)):
        if bottom < end:
            ax.fill_between([left, right], bottom, end, color=color, alpha=alpha, linewidth=0)
    ax.plot(
        [left, right, right, left, left], [first, first, third, third, first], color=color, lw=1.1
    )
    ax.plot(
        [place, place, np.nan, place, place],
        [least, first, np.nan, third, most],
        color=color,
        lw=1.1,
    )
    ax.plot([left, right], [middle, middle], color=PREDICTION, lw=2.2, solid_capstyle="butt")
    ax.fill_betweenx(
        [low, high], place - notch, place + notch, color=PREDICTION, alpha=0.25, linewidth=0
    )
    if len(limits):
        for value in np.unique(limits):
            ax.plot(
                [left - 0.06, right + 0.06], [value, value], color=FAINT, lw=0.9, ls=(0, (4, 2))
            )
    detected = lower[lower == upper]
    if len(detected):
        # Side by side in a fixed order, so that the picture is the same each time.
        shift = (np.arange(len(detected)) * 0.618034 % 1 - 0.5) * WIDTH * 0.7
        dots = {"marker": "o", "markersize": 2.6, "linestyle": "none", "alpha": 0.55, "mew": 0}
        ax.plot(
            place + shift, detected, color=color, rasterized=len(detected) > MOST_VECTORS, **dots
        )
