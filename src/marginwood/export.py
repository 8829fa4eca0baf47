"""Fitted trees in other forms, for people and programs."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from marginwood._core.nodes import LEAF
from marginwood.base import check_feature_names

__all__ = ["export_text"]


def export_text(tree: Any, *, feature_names: Any = None, max_depth: int | None = None, decimals: int = 2) -> str:
    """Draw a fitted tree as text.

    Parameters
    ----------
    tree : MaxMarginIntervalTree
        A fitted tree.
    feature_names : sequence of str, default=None
        Names of the features; by default those seen by `fit`, or ``x[0]``, ``x[1]``, ...
    max_depth : int, default=None
        Cut the drawing below this depth.
    decimals : int, default=2
        Digits after the decimal point.

    Returns
    -------
    str
        One line per split side; a leaf shows its value, the interval of equally good values, its number of
        samples and its cost.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import MaxMarginIntervalTree, export_text
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([[0.0, 1.0], [0.5, np.inf], [4.0, 6.0]])
    >>> print(export_text(MaxMarginIntervalTree().fit(X, y), feature_names=["dose"]))
    |-- dose <= 1.50
    |   |-- value: 0.50 in [0.00, 1.00], samples: 1, cost: 0.00
    |-- dose > 1.50
    |   |-- value: 5.00 in [4.00, 6.00], samples: 2, cost: 0.00
    """
    check_is_fitted(tree)
    names = check_feature_names(tree, feature_names)
    nodes, lines = tree.tree_.nodes, []
    pending = [(0, 0, "")]
    while pending:
        idx, depth, rule = pending.pop()
        node, indent = nodes[idx], "|   " * depth
        if rule:
            lines.append(f"{'|   ' * (depth - 1)}|-- {rule}")
        is_cut = max_depth is not None and depth > max_depth
        if node["children_left"] == LEAF or is_cut:
            end = "..." if is_cut and node["children_left"] != LEAF else _leaf(node, decimals)
            lines.append(f"{indent}|-- {end}")
            continue
        name, threshold = names[node["feature"]], f"{node['threshold']:.{decimals}f}"
        missing = " or missing" if tree.tree_.saw_missing[node["feature"]] else ""
        left, right = (missing, "") if node["missing_go_to_left"] else ("", missing)
        pending.append((node["children_right"], depth + 1, f"{name} > {threshold}{right}"))
        pending.append((node["children_left"], depth + 1, f"{name} <= {threshold}{left}"))
    return "\n".join(lines)


def _leaf(node: Any, decimals: int) -> str:
    low, high = (f"{node[end]:.{decimals}f}" for end in ("value_low", "value_high"))
    return (
        f"value: {node['value']:.{decimals}f} in [{low}, {high}], "
        f"samples: {node['n_node_samples']}, cost: {node['impurity']:.{decimals}f}"
    )
