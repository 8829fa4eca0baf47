"""Show what a model file holds: the data it was trained on, parameters, importances, the tree.

Example:
  marginwood show tree.mw --max-depth 3
  marginwood show tree.mw --format dot | dot -Tsvg > tree.svg
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from marginwood._cli.errors import DataError, UsageError
from marginwood._cli.models import count
from marginwood._persistence import load_with_header
from marginwood.export import export_graphviz, export_latex, export_text, to_dict, to_rules, to_sql

N_IMPORTANT = 20
DRAWINGS = {"dot": export_graphviz, "latex": export_latex}
FORMS: dict[str, Callable[[Any], str]] = {
    "rules": lambda model: "\n".join(map(str, to_rules(model))),
    "sql": to_sql,
    "json": lambda model: json.dumps(to_dict(model), allow_nan=False),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    parser.add_argument("--max-depth", metavar="N", type=count, help="cut the drawing of the tree below this depth")
    parser.add_argument(
        "--format", choices=["text", *DRAWINGS, *FORMS], default="text", help="all parts as text, or the model as this"
    )


def run(args: argparse.Namespace) -> None:
    """Print all parts, or the model in another form."""
    if args.format in FORMS and args.max_depth is not None:
        raise UsageError(f"--max-depth cannot be set for --format {args.format}")
    model, header = load_with_header(args.model)
    if args.format in (*DRAWINGS, "rules") and not hasattr(model, "tree_"):
        raise DataError(f"{args.model}: --format {args.format} shows one tree, and this is a {header['estimator']}")
    if args.format in FORMS:
        print(FORMS[args.format](model))
    elif args.format in DRAWINGS:
        print(DRAWINGS[args.format](model, max_depth=args.max_depth))
    else:
        for line in describe(model, header, args.max_depth):
            print(line)


def describe(model: Any, header: dict[str, Any], max_depth: int | None) -> Iterator[str]:
    """Lines about a model."""
    notes = header["notes"]
    yield f"{header['estimator']}, saved by marginwood {header['version']}"
    if notes.keys() >= {"data", "rows", "censoring", "target"}:
        kinds = ", ".join(f"{n_rows} {kind}" for kind, n_rows in notes["censoring"].items())
        yield f"trained on {notes['data']}: {notes['rows']} rows ({kinds}), {model.n_features_in_} features"
        yield "target: " + ", ".join(f"--{name} {column}" for name, column in notes["target"].items())
    inner = getattr(model, "best_estimator_", model)
    yield ""
    yield "parameters: " + ", ".join(f"{name}={value!r}" for name, value in inner.get_params(deep=False).items())
    names = header["feature_names"] or [f"x[{idx}]" for idx in range(model.n_features_in_)]
    if hasattr(inner, "coef_"):
        yield from _ranked("weights", names, inner.coef_)
        yield f"  {'intercept':30} {inner.intercept_:.4g}"
    elif hasattr(inner, "feature_importances_"):
        yield from _ranked("importances", names, inner.feature_importances_)
    if hasattr(inner, "tree_"):
        yield ""
        yield export_text(inner, max_depth=max_depth)
    elif hasattr(inner, "estimators_"):
        yield f"\n{len(inner.estimators_)} trees"


def _ranked(title: str, names: list[str], values: Any) -> Iterator[str]:
    """The largest values that are not 0, with their names."""
    order = [idx for idx in np.argsort(-np.abs(values), kind="stable") if values[idx] != 0]
    yield ""
    yield f"{title} ({len(order)} of {len(names)} are not 0):"
    for idx in order[:N_IMPORTANT]:
        yield f"  {' '.join(names[idx].split()):30} {values[idx]:.4g}"
    if len(order) > N_IMPORTANT:
        yield f"  and {len(order) - N_IMPORTANT} more"
