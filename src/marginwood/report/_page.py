"""The page: content, styles and scripts in one file of HTML that needs neither network nor server.

Names and values from the data reach the page as JSON in a block that browsers do not run. Its
scripts put them in place as text, never as markup, and a content security policy lets these scripts
run and no others.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from string import Template
from typing import Any

from marginwood._support.files import check_place, write_whole
from marginwood.report._content import describe

__all__ = ["render", "write_report"]

SCRIPTS = ("basics.js", "charts.js", "curves.js", "nodes.js", "tree.js", "page.js")


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    row_names: Any = None,
) -> None:
    """Write a report on a fitted model: one HTML page, to be opened in a browser.

    It shows the tree (or the trees of a forest or of boosting), predictions against intervals,
    importances, errors by kind of censoring, scores of the ranking, how the model was tuned, a
    summary of the data, and warnings. Of a model that predicts distributions it shows the curve of
    any row, and their scores; of one that predicts ranges, these and how many intervals they
    contain and meet; of a tree, what the rows of each leaf say about the distribution of the
    target.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of this package, or a pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        Features of the rows to report on, as the model takes them.
    y : array-like of shape (n_samples, 2)
        Their intervals, in any form that `fit` accepts.
    path : str or path
        File to write; it appears whole or not at all.
    title : str, default=""
        What the page calls the data.
    row_names : sequence of str, default=None
        What the page calls the rows, beside their numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.report import write_report
    >>> X, y = make_sine(random_state=0)
    >>> tree = MaxMarginIntervalTree(margin=0.2, max_leaf_nodes=6).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(tree, X, y, path, title="sine")
    >>> path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    if not isinstance(title, str):
        raise TypeError(f"title: expected a string, got {title!r}.")
    check_place(path)
    write_whole(path, render(describe(model, X, y, row_names) | {"title": title}).encode())


def render(content: dict[str, Any]) -> str:
    """The page of a content."""
    style = _read("style.css")
    library = _read("d3.min.js")
    script = "\n".join(_read(name) for name in SCRIPTS)
    return Template(_read("page.html")).substitute(
        style=style,
        library=library,
        licence=_read("d3.LICENSE"),
        script=script,
        content=_as_json(content),
        script_hashes=f"{_hash(library)} {_hash(script)}",
        style_hash=_hash(style),
    )


def _as_json(content: dict[str, Any]) -> str:
    """JSON in ASCII that cannot end the block that it stands in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    """A source expression of a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return files("marginwood.report").joinpath(name).read_text(encoding="utf-8")
