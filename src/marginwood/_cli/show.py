"""Show what a model file holds: the data it was trained on, parameters, importances, the tree.

Example:
  marginwood show tree.mw --max-depth 3
  marginwood show tree.mw --format dot | dot -Tsvg > tree.svg
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from marginwood._cli.data import name_kinds
from marginwood._cli.errors import DataError, UsageError
from marginwood._cli.models import count, decimals
from marginwood._cli.tune import describe_choice
from marginwood._fitted import Fitted, read
from marginwood._persistence import load_with_header
from marginwood._support.files import write_whole
from marginwood._support.text import one_line, printable
from marginwood.export import (
    export_graphviz,
    export_latex,
    export_text,
    to_dict,
    to_onnx,
    to_rules,
    to_sql,
)

N_IMPORTANT = 20
N_DECIMALS = 2
DRAWINGS = {"dot": export_graphviz, "latex": export_latex}
FORMS: dict[str, Callable[[Any], str]] = {
    "rules": lambda model: "\n".join(map(str, to_rules(model))),
    "sql": to_sql,
    "json": lambda model: json.dumps(to_dict(model), allow_nan=False),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    parser.add_argument(
        "--max-depth", metavar="N", type=count, help="cut the drawing of the tree below this depth"
    )
    parser.add_argument(
        "--decimals",
        metavar="N",
        type=decimals,
        help=f"digits after the point (default: {N_DECIMALS})",
    )
    parser.add_argument(
        "--format",
        choices=["text", *DRAWINGS, *FORMS, "onnx"],
        default="text",
        help="all parts as text, or the model as this",
    )
    parser.add_argument(
        "--out", metavar="FILE", default="-", help="file to write (default: stdout)"
    )


def run(args: argparse.Namespace) -> None:
    """Print all parts, or the model in another form."""
    for option in ("max_depth", "decimals"):
        if args.format in (*FORMS, "onnx") and getattr(args, option) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} cannot be set for --format {args.format}"
            )
    n_decimals = N_DECIMALS if args.decimals is None else args.decimals
    model, header = load_with_header(args.model)
    fitted = read(model)
    if args.format in (*DRAWINGS, "rules") and fitted.tree is None:
        raise DataError(
            f"{args.model}: --format {args.format} shows one tree, and this is a {fitted.name}"
        )
    if args.format == "onnx":
        if args.out == "-":
            raise UsageError("--format onnx is not text: name a file by --out")
        write_whole(args.out, to_onnx(model).SerializeToString())
        return
    if args.format in FORMS:
        text = FORMS[args.format](model)
    elif args.format in DRAWINGS:
        text = DRAWINGS[args.format](model, max_depth=args.max_depth, decimals=n_decimals)
    else:
        text = printable("\n".join(describe(fitted, header, args.max_depth, n_decimals)))
    if args.out != "-":
        write_whole(args.out, f"{text}\n".encode())
        return
    # Programs need the names in SQL as they are; a terminal would obey them.
    print(printable(text) if sys.stdout.isatty() else text)


def describe(
    fitted: Fitted, header: dict[str, Any], max_depth: int | None, decimals: int
) -> Iterator[str]:
    """Lines about a model."""
    notes = header["notes"]
    estimator = fitted.estimator
    yield one_line(f"{fitted.name}, saved by marginwood {header['version']}")
    if notes.keys() >= {"data", "rows", "censoring", "target"}:
        data = f"{notes['data']}: {notes['rows']} rows ({name_kinds(notes['censoring'])})"
        yield one_line(f"trained on {data}, {estimator.n_features_in_} features")
        target = [
            f"--{name.replace('_', '-')} {column}" for name, column in notes["target"].items()
        ]
        yield one_line("target: " + " ".join(target))
    yield ""
    yield "parameters: " + ", ".join(
        f"{name}={value!r}" for name, value in estimator.get_params(deep=False).items()
    )
    yield from map(one_line, describe_choice(fitted.own))
    names = fitted.feature_names()
    if hasattr(estimator, "coef_"):
        yield from _ranked("weights", getattr(estimator, "terms_", names), estimator.coef_)
        yield f"  {'intercept':30} {estimator.intercept_:.4g}"
    elif hasattr(estimator, "feature_importances_"):
        yield from _ranked("importances", names, estimator.feature_importances_)
    ensemble = fitted.ensemble
    if fitted.tree is not None:
        yield ""
        yield export_text(estimator, feature_names=names, max_depth=max_depth, decimals=decimals)
    elif ensemble is not None:
        yield f"\n{len(ensemble.trees)} trees"


def _ranked(title: str, names: list[str], values: Any) -> Iterator[str]:
    """The largest values that are not 0, with their names."""
    order = [idx for idx in np.argsort(-np.abs(values), kind="stable") if values[idx] != 0]
    yield ""
    yield f"{title} ({len(order)} of {len(names)} are not 0):"
    for idx in order[:N_IMPORTANT]:
        yield f"  {one_line(names[idx]):30} {values[idx]:.4g}"
    if len(order) > N_IMPORTANT:
        yield f"  and {len(order) - N_IMPORTANT} more"
