"""What all drawings share: the nodes of a tree and what is said of them, the steps of a curve, the cells of a search.

A *place* is a node in a drawing: where it lies under the root, and whether the drawing is cut off
there. A *surface* shows the candidates of a search by margin and by *level*, the value of another
parameter, on levels that all margins share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor, inf, log10
from typing import Any, NamedTuple

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._fitted import Search
from marginwood._support.checks import check_count
from marginwood._support.text import one_line
from marginwood._trees.table import IntervalTree
from marginwood.distributions import Turnbull
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = [
    "DrawnNode",
    "Surface",
    "answer",
    "condition",
    "curve_ends",
    "describe_leaf",
    "describe_value",
    "make_surface",
    "missing_note",
    "name_value",
    "places",
    "show_labels",
    "show_number",
    "surface_levels",
    "survey",
    "survival_steps",
]

LEAST_PLAIN, MOST_PLAIN = 1e-4, 1e7  # numbers outside are written as 2.4e-06
MOST_LABELS = 12  # of a split of categories
MOST_LEVELS = 40  # of a surface, beside 0 and infinity
ROOM = 0.05  # beside curves, as a share of their width
NEAR = 10.0  # 0 is on an axis if it is less than so many times as far away as the values from each other


class DrawnNode(NamedTuple):
    """A node to draw; `is_cut` says that its children are not drawn though it has some."""

    idx: int
    depth: int
    parent: int
    is_left: bool
    is_cut: bool


def places(tree: IntervalTree, max_depth: int | None) -> Iterator[DrawnNode]:
    """The nodes down to one below `max_depth`; every parent comes before its children, the left before the right."""
    if max_depth is not None:
        check_count("max_depth", max_depth, 0)
    left, right = tree.children_left, tree.children_right
    pending = [(0, 0, LEAF, False)]
    while pending:
        idx, depth, parent, is_left = pending.pop()
        is_cut = bool(max_depth is not None and depth > max_depth and left[idx] != LEAF)
        yield DrawnNode(idx, depth, parent, is_left, is_cut)
        if left[idx] != LEAF and not is_cut:
            pending.append((int(right[idx]), depth + 1, idx, False))
            pending.append((int(left[idx]), depth + 1, idx, True))


def parts_missing(tree: IntervalTree, idx: int) -> bool:
    """Whether a split parts only missing values from all others: numbers go left, categories right."""
    codes = tree.codes_of(idx)
    if codes is not None:
        return not len(codes)
    split = tree.nodes[idx]
    return bool(split["threshold"] == inf and not split["missing_go_to_left"])


def condition(
    tree: IntervalTree,
    idx: int,
    name: str,
    comparison: str,
    categories: Any = None,
    *,
    is_left: bool = True,
) -> str:
    """What holds on one side of a split: a comparison, or plain words where only missing values are parted.

    A split of categories lists the labels that go left; `categories` are those of all features.
    """
    codes = tree.codes_of(idx)
    if parts_missing(tree, idx):
        comparison = "is present" if is_left == (codes is None) else "is missing"
    elif codes is not None:
        labels = categories[tree.nodes[idx]["feature"]]
        comparison = (
            f"{'in' if is_left else 'not in'} {show_labels([labels[code] for code in codes])}"
        )
    return f"{name} {comparison}"


def show_labels(labels: list[Any], most: int = MOST_LABELS) -> str:
    """A set of labels, of which the first ones are shown if they are many."""
    shown = [one_line(str(label)) for label in labels[:most]]
    rest = [] if len(labels) <= most else [f"... {len(labels) - most} more"]
    return f"{{{', '.join(shown + rest)}}}"


def missing_note(tree: IntervalTree, place: DrawnNode) -> str:
    """Says so if missing values go to this node, too; nothing where training saw none."""
    parent = tree.nodes[place.parent]
    is_taken = tree.saw_missing[parent["feature"]] and parent["missing_go_to_left"] == place.is_left
    return " or missing" if is_taken and not parts_missing(tree, place.parent) else ""


def answer(tree: IntervalTree, place: DrawnNode) -> str:
    """What a row answers to the split above this node to come here; nothing at the root."""
    return ("yes" if place.is_left else "no") + missing_note(tree, place) if place.depth else ""


def show_number(value: float, decimals: int) -> str:
    """A number with so many digits after the point, or three significant ones if it is below 1; no zeros at its end."""
    size = abs(value)
    if size == 0:
        return "0"
    if not LEAST_PLAIN <= size < MOST_PLAIN:
        return f"{value:.{decimals + 1}g}"  # infinities, too
    if size < 1:
        decimals = max(decimals, 2 - floor(log10(size)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def describe_value(node: Any, number: Callable[[float], str]) -> str:
    """Value with the interval of equally good values, if there are others."""
    return name_value(node["value"], node["value_low"], node["value_high"], number)


def name_value(value: float, low: float, high: float, number: Callable[[float], str]) -> str:
    """A value and the interval of those that cost its rows the least, in which an anchored one need not lie."""
    texts = number(value), number(low), number(high)
    if texts[0] == texts[1] == texts[2]:
        return texts[0]
    if low <= value <= high:
        return f"{texts[0]} in [{texts[1]}, {texts[2]}]"
    alone = texts[1] if texts[1] == texts[2] else f"[{texts[1]}, {texts[2]}]"
    return f"{texts[0]} (its rows alone: {alone})"


def describe_leaf(node: Any, number: Callable[[float], str], name: str) -> list[str]:
    """Value, by its name, samples, cost."""
    return [
        f"{name}: {describe_value(node, number)}",
        f"samples: {node['n_node_samples']}",
        f"cost: {number(node['impurity'])}",
    ]


def curve_ends(values: FloatArray, *, is_log: bool = False) -> tuple[float, float]:
    """Where survival curves over some values begin, and where they end with some room.

    Curves of values that are not negative begin at 0, where all that can happen lies ahead, save those of values like
    1950 and 2000. A log axis has room on both sides of positive values.
    """
    low, high = float(values.min()), float(values.max())
    if is_log:
        factor = (high / low) ** ROOM if low < high else 2.0
        return low / factor, high * factor
    room = ROOM * (high - low) or 0.1 * abs(low) or 1.0
    return (0.0 if 0 <= low <= NEAR * (high - low) else low - room), high + room


class SurvivalSteps(NamedTuple):
    """The least and the greatest survival function of an estimate; each value holds from its time on."""

    times: FloatArray
    least: FloatArray
    greatest: FloatArray
    # Those that the rows allow, whatever is assumed.
    certain_least: FloatArray
    certain_greatest: FloatArray


def survival_steps(estimate: Turnbull, low: float, high: float) -> SurvivalSteps:
    """The steps of an estimate between two values."""
    # Rows that are all as small, and all as large, as can be begin and end where the rows do.
    smallest, largest = estimate._extremes()
    ends = np.append(smallest.support[:, 0], largest.support[:, 1])
    ends = np.concatenate([estimate.support.ravel(), ends, np.array([low, high])])
    times = np.unique(ends.clip(low, high))
    # A curve is constant between two ends, and what is open above starts right after its end.
    between = np.append((times[:-1] + times[1:]) / 2, times[-1])
    least, greatest = (estimate.sf(between, bound=bound) for bound in ("lower", "upper"))
    return SurvivalSteps(times, least, greatest, *estimate.sf(between, bound="certain").T)


class Surface(NamedTuple):
    """Candidates by margin and level."""

    margins: FloatArray
    candidates: IntArray  # a row per margin, a column per level; -1 where no candidate is near
    chosen: tuple[int, int] | None  # row and column of the chosen candidate


def surface_levels(level: FloatArray) -> FloatArray:
    """The columns of a surface: all levels, or a geometric series if they are many."""
    levels = np.unique(level)
    inner = levels[(levels > 0) & np.isfinite(levels)]
    if len(inner) <= MOST_LEVELS:
        return levels
    series = np.geomspace(inner[0], inner[-1], MOST_LEVELS)
    if np.all(inner == inner.round()):
        series = series.round()
    return np.unique(np.concatenate([levels[levels <= 0], series, levels[np.isinf(levels)]]))


def survey(search: Search, rows: IntArray, level: FloatArray, levels: FloatArray) -> Surface:
    """The surface of some candidates of a search; `level` is of all of them, and so is the numbering of the cells."""
    score = np.asarray(search.results["mean_test_score"], np.float64)
    # A path has a candidate near every level; a grid has no more than the points that it tried.
    is_path = "n_leaves" in search.results or len(levels) < len(np.unique(level[rows]))
    is_chosen = rows == search.best_index
    reach = np.inf if is_path else 1e-9
    surface = make_surface(
        search.numbers("margin")[rows], level[rows], score[rows], is_chosen, levels, reach
    )
    return surface._replace(
        candidates=np.where(surface.candidates < 0, -1, rows[surface.candidates])
    )


def make_surface(
    margin: FloatArray,
    level: FloatArray,
    score: FloatArray,
    is_chosen: BoolArray,
    levels: FloatArray,
    reach: float = np.inf,
) -> Surface:
    """For every margin and level the candidate whose own level is nearest, on a log scale and within reach.

    Of equally near ones it is the best, save that the chosen candidate always has a cell.
    """
    margins = np.unique(margin)
    places = _log_places(levels, levels)
    chosen = None
    candidates = np.empty((len(margins), len(levels)), np.int64)
    for row, value in enumerate(margins):
        own = np.flatnonzero(margin == value)
        own = own[np.argsort(-score[own], kind="stable")]
        distance = np.abs(places[:, np.newaxis] - _log_places(level[own], levels))
        nearest = distance.min(axis=1)
        best = own[(distance <= nearest[:, np.newaxis] + 1e-9).argmax(axis=1)]
        candidates[row] = np.where(nearest <= reach, best, -1)
        for place in np.flatnonzero(is_chosen[own]):
            chosen = row, int(distance[:, place].argmin())
            candidates[chosen] = own[place]
    return Surface(margins, candidates, chosen)


def _log_places(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Values on a log scale, with 0 and infinity a step of 1 beyond all other levels."""
    inner = levels[(levels > 0) & np.isfinite(levels)]
    least, most = np.log10([inner.min(), inner.max()]) if len(inner) else (0.0, 0.0)
    with np.errstate(divide="ignore"):
        return np.clip(np.log10(np.maximum(values, 0.0)), least - 1, most + 1)
