"""Trees as TikZ pictures for LaTeX."""

from __future__ import annotations

from typing import Any

from marginwood._core.nodes import LEAF
from marginwood._drawing import answer, condition, describe_leaf, places, show_number
from marginwood._fitted import read_tree
from marginwood._support.checks import check_count

__all__ = ["export_latex"]

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
} | {character: f"\\{character}" for character in "{}$&#_%"}


def export_latex(
    tree: Any, *, feature_names: Any = None, max_depth: int | None = None, decimals: int = 2
) -> str:
    r"""Draw a fitted tree in TikZ, by LaTeX's package ``forest``.

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
        A ``forest`` environment, for documents with ``\usepackage{forest}`` and
        ``\usepackage[T1]{fontenc}``; the class ``standalone`` makes a picture of it.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import export_latex
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (4, 6)])
    >>> print(export_latex(tree, feature_names=["dose"]))
    \begin{forest}
      for tree={draw, rounded corners, align=center}
      [{dose $\le 1.5$}
        [{value: $0.5$ in [$0$, $1$]\\samples: 1\\cost: $0$}, edge label={node[midway, left]{yes}}]
        [{value: $5$ in [$4$, $6$]\\samples: 1\\cost: $0$}, edge label={node[midway, right]{no}}]
      ]
    \end{forest}
    """

    def number(value: float) -> str:
        mantissa, _, exponent = show_number(value, decimals).partition("e")
        power = rf" \cdot 10^{{{int(exponent)}}}" if exponent else ""
        return f"${mantissa}{power}$".replace("inf", r"\infty")

    fitted, table = read_tree(tree)
    check_count("decimals", decimals, 0)
    names = [escape(name) for name in fitted.feature_names(feature_names)]
    value_name = fitted.value_name("value")
    lines = [r"\begin{forest}", "  for tree={draw, rounded corners, align=center}"]
    depth = 0
    for place in places(table, max_depth):
        lines += ["  " * level + "]" for level in range(depth, place.depth, -1)]
        depth = place.depth
        node = table.nodes[place.idx]
        edge = ""
        is_end = place.is_cut or node["children_left"] == LEAF
        if place.is_cut:
            label = r"\dots"
        elif is_end:
            label = r"\\".join(describe_leaf(node, number, value_name))
        else:
            name = "" if table.codes_of(place.idx) is not None else names[node["feature"]]
            label = condition(
                table, place.idx, name, rf"$\le {number(node['threshold'])[1:]}", fitted.categories
            )
            label = label if name else names[node["feature"]] + escape(label)
        if place.depth:
            side = "left" if place.is_left else "right"
            edge = f", edge label={{node[midway, {side}]{{{answer(table, place)}}}}}"
        lines.append(f"{'  ' * (depth + 1)}[{{{label}}}{edge}{']' if is_end else ''}")
    lines += ["  " * level + "]" for level in range(depth, 0, -1)]
    return "\n".join([*lines, r"\end{forest}"])


def escape(text: str) -> str:
    """Text that LaTeX prints as it is; characters that cannot be printed become spaces."""
    return "".join(
        SPECIAL.get(character, character if character.isprintable() else " ") for character in text
    )
