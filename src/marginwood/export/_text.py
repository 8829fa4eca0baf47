"""Trees as text."""

from __future__ import annotations

from typing import Any

from marginwood._core.nodes import LEAF
from marginwood._drawing import condition, describe_leaf, missing_note, places, show_number
from marginwood._fitted import read_tree
from marginwood._support.checks import check_count
from marginwood._support.text import one_line

__all__ = ["export_text"]


def export_text(
    tree: Any, *, feature_names: Any = None, max_depth: int | None = None, decimals: int = 2
) -> str:
    """Draw a fitted tree as text.

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
        One line per split side; a leaf shows its value, the interval of equally good values, its
        number of samples and its cost.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import MaxMarginIntervalTree, export_text
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([[0.0, 1.0], [0.5, np.inf], [4.0, 6.0]])
    >>> print(export_text(MaxMarginIntervalTree().fit(X, y), feature_names=["dose"]))
    |-- dose <= 1.5
    |   |-- value: 0.5 in [0, 1], samples: 1, cost: 0
    |-- dose > 1.5
    |   |-- value: 5 in [4, 6], samples: 2, cost: 0
    """
    fitted, table = read_tree(tree)
    check_count("decimals", decimals, 0)
    names = [one_line(name) for name in fitted.feature_names(feature_names)]
    value_name = fitted.value_name("value")
    lines = []
    for place in places(table, max_depth):
        if place.depth:
            parent = table.nodes[place.parent]
            comparison = (
                f"{'<=' if place.is_left else '>'} {show_number(parent['threshold'], decimals)}"
            )
            name = names[parent["feature"]]
            rule = condition(
                table, place.parent, name, comparison, fitted.categories, is_left=place.is_left
            )
            lines.append(f"{'|   ' * (place.depth - 1)}|-- {rule}{missing_note(table, place)}")
        node = table.nodes[place.idx]
        if place.is_cut:
            lines.append(f"{'|   ' * place.depth}|-- ...")
        elif node["children_left"] == LEAF:
            parts = describe_leaf(node, lambda number: show_number(number, decimals), value_name)
            leaf = ", ".join(parts)
            lines.append(f"{'|   ' * place.depth}|-- {leaf}")
    return "\n".join(lines)
