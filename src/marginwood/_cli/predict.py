"""Predict a number for every row of a table.

Columns are found by name, in any order; others are ignored.

Example:
  marginwood predict tree.mw new.csv --out predictions.csv
  zcat new.csv.gz | marginwood predict tree.mw - --optimal-interval | head
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

from marginwood._cli.data import TEXT_HINT, add_data, open_features
from marginwood._cli.errors import DataError, UsageError
from marginwood._cli.tables import Table, write_table
from marginwood._persistence import load_with_header

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    add_data(parser)
    parser.add_argument(
        "--out", metavar="FILE", default="-", help="CSV, TSV, .gz or Parquet file (default: CSV on stdout)"
    )
    parser.add_argument(
        "--optimal-interval", action="store_true", help="add the ends of all equally good predictions; trees only"
    )


def run(args: argparse.Namespace) -> None:
    """Read, predict, write."""
    model, header = load_with_header(args.model)
    tree = getattr(model, "best_estimator_", model)
    if args.optimal_interval and not hasattr(tree, "predict_optimal_interval"):
        raise UsageError(f"--optimal-interval: {args.model} is no tree but {header['estimator']}")
    X = model_features(model, header, open_features(args.data))
    columns = {"prediction": model.predict(X)}
    if args.optimal_interval:
        columns["lower"], columns["upper"] = tree.predict_optimal_interval(X).T
    write_table(args.out, columns)
    log.info("%d predictions", len(X))


def model_features(model: Any, header: dict[str, Any], table: Table) -> Any:
    """The features of a model, by name; by place if it was trained without names."""
    names = header["feature_names"]
    if names is None:
        names = table.names
        if len(names) != model.n_features_in_:
            raise DataError(
                f"{table.source}: the model knows no names and takes {model.n_features_in_} columns, got {len(names)}"
            )
    if not len(table):
        raise DataError(f"{table.source}: no rows below the header")
    return table.columns(names) if header["estimator"] == "Pipeline" else table.numbers(names, TEXT_HINT)
