"""Trees in DOT, the language of Graphviz."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._drawing import answer, condition, describe_leaf, places, show_number
from marginwood._fitted import read_tree
from marginwood._support.checks import check_count
from marginwood._support.text import one_line
from marginwood.intervals import FloatArray

__all__ = ["export_graphviz"]

# The least and the largest value of a tree; both let black text be read.
COLOURS = np.array([[255.0, 255.0, 255.0], [120.0, 190.0, 230.0]])
# A backslash starts an escape in a label, and & an entity. The others would end the string.
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;", "\n": r"\n"})


def export_graphviz(
    tree: Any, *, feature_names: Any = None, max_depth: int | None = None, decimals: int = 2
) -> str:
    r"""Draw a fitted tree in DOT, which the programs of Graphviz turn into pictures.

    Parameters
    ----------
    tree : estimator
        A fitted tree of this package, or a pipeline that ends in one; of a forest or of boosting,
        one of its ``estimators_``.
    feature_names : sequence of str, default=None
        Names of the features; by default those seen by `fit`, or ``x[0]``, ``x[1]``, ...
    max_depth : int, default=None
        Cut the drawing below this depth.
    decimals : int, default=2
        Digits after the decimal point; a number below 1 has as many as show three significant ones.

    Returns
    -------
    str
        A directed graph; the larger the value of a node, the darker it is.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import export_graphviz
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (4, 6)])
    >>> print(export_graphviz(tree, feature_names=["dose"]))
    digraph tree {
        node [shape=box, style="filled, rounded", fontname="Helvetica"];
        edge [fontname="Helvetica"];
        0 [label="dose <= 1.5\nsamples: 2\ncost: 4.5", fillcolor="#c3e2f4"];
        1 [label="value: 0.5 in [0, 1]\nsamples: 1\ncost: 0", fillcolor="#ffffff"];
        0 -> 1 [label="yes"];
        2 [label="value: 5 in [4, 6]\nsamples: 1\ncost: 0", fillcolor="#78bee6"];
        0 -> 2 [label="no"];
    }
    """
    fitted, table = read_tree(tree)
    check_count("decimals", decimals, 0)
    names = [one_line(name) for name in fitted.feature_names(feature_names)]
    value_name = fitted.value_name("value")
    colours = _colours(table.nodes["value"])
    lines = [
        'node [shape=box, style="filled, rounded", fontname="Helvetica"];',
        'edge [fontname="Helvetica"];',
    ]
    for place in places(table, max_depth):
        node = table.nodes[place.idx]
        label = describe_leaf(node, lambda number: show_number(number, decimals), value_name)
        if node["children_left"] != LEAF:
            comparison = f"<= {show_number(node['threshold'], decimals)}"
            label[0] = condition(
                table, place.idx, names[node["feature"]], comparison, fitted.categories
            )
        text = "..." if place.is_cut else "\n".join(label).translate(ESCAPES)
        lines.append(f'{place.idx} [label="{text}", fillcolor="{colours[place.idx]}"];')
        if place.depth:
            lines.append(f'{place.parent} -> {place.idx} [label="{answer(table, place)}"];')
    return "\n    ".join(["digraph tree {", *lines]) + "\n}"


def _colours(values: FloatArray) -> list[str]:
    """A colour for every value, by its place between the least and the largest."""
    spread = np.ptp(values)
    share = (values - values.min()) / spread if 0 < spread < np.inf else np.zeros(len(values))
    mixed = COLOURS[0] + share[:, np.newaxis] * (COLOURS[1] - COLOURS[0])
    return [
        f"#{red:02x}{green:02x}{blue:02x}"
        for red, green, blue in mixed.round().astype(int).tolist()
    ]
