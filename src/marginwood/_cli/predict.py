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
from marginwood._cli.tables import Table, polars, write_table
from marginwood._fitted import Fitted, read
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
    fitted = read(model)
    if args.optimal_interval and not hasattr(fitted.estimator, "predict_optimal_interval"):
        raise UsageError(f"--optimal-interval: {args.model} is not a tree but {fitted.name}")
    X = model_features(fitted, header, open_features(args.data))
    columns = {"prediction": model.predict(X)}
    if args.optimal_interval:
        columns["lower"], columns["upper"] = fitted.estimator.predict_optimal_interval(fitted.transform(X)).T
    write_table(args.out, columns)
    log.info("%d predictions", len(X))


def model_features(fitted: Fitted, header: dict[str, Any], table: Table) -> Any:
    """The columns that a model takes, by name; by place if it was trained without names."""
    names = header["feature_names"]
    if not len(table):
        raise DataError(f"{table.source}: no rows below the header")
    if names is not None and fitted.steps:
        return _cells(table, names)
    if names is None and not fitted.steps and len(table.names) != fitted.own.n_features_in_:
        raise DataError(
            f"{table.source}: the model knows no names and takes {fitted.own.n_features_in_} columns, "
            f"got {len(table.names)}"
        )
    return table.numbers(table.names if names is None else names, TEXT_HINT)


def _cells(table: Table, names: list[str]) -> Any:
    """Columns as they are, text or numbers, for the steps of a pipeline."""
    unusable = [name for name in names if name not in table.places or name in table.repeated]
    if unusable:
        table.numbers(unusable)  # it raises
    return polars().DataFrame({name: table.frame.to_series(table.places[name]) for name in names})
