"""Predict a number for every row of a table, and more for models that can: quantiles, survival, ranges.

Columns are found by name, in any order; others are ignored.

Example:
  marginwood predict tree.mw new.csv --keep site sample --decimals 3 --out predictions.csv
  marginwood predict model.mw patients.csv --quantiles 0.1,0.5,0.9 --survival 365,730
  zcat new.csv.gz | marginwood predict tree.mw - --optimal-interval | head
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

import numpy as np

from marginwood._cli.data import TEXT_HINT, add_data, add_keep, open_features, read_features
from marginwood._cli.errors import DataError, UsageError
from marginwood._cli.models import decimals
from marginwood._cli.tables import Table, check_ending, quote_formulas, write_table
from marginwood._ends import as_written
from marginwood._fitted import Fitted, read
from marginwood._persistence import load_with_header
from marginwood.intervals import FloatArray

DISTRIBUTIONS = "fit and tune with --distribution, --model forest or --model curves give some"
# What a model may predict, and what has it.
REMEDIES = {
    "optimal_interval": "trees have equally good predictions",
    "quantile": DISTRIBUTIONS,
    "survival_function": DISTRIBUTIONS,
    "distribution": DISTRIBUTIONS,
    "interval": "fit and tune with --ranges give any model ranges",
}
# Options, and what the model must predict for them.
NEEDED = {
    "optimal_interval": "optimal_interval",
    "quantiles": "quantile",
    "survival": "survival_function",
    "range": "interval",
}

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    add_data(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        default="-",
        help="CSV, TSV, .gz or Parquet file (default: CSV on stdout)",
    )
    add_keep(parser, "put before the predictions")
    parser.add_argument(
        "--safe-cells",
        action="store_true",
        help="put an apostrophe before kept texts that a spreadsheet would compute: those that begin with = + - or @",
    )
    parser.add_argument(
        "--decimals",
        metavar="N",
        type=decimals,
        help="digits after the decimal point (default: all)",
    )
    parser.add_argument(
        "--optimal-interval",
        action="store_true",
        help="add the ends of all equally good predictions, as lower and upper; trees only",
    )
    parser.add_argument(
        "--quantiles",
        metavar="Q,...",
        type=shares,
        help="add quantiles: 0.1,0.5 as q0.1 and q0.5; distributions only",
    )
    parser.add_argument(
        "--survival",
        metavar="T,...",
        type=times,
        help="add the probabilities of more than each value: 365,730 as s365 and s730; distributions only",
    )
    parser.add_argument(
        "--range",
        metavar="LEVEL",
        type=level,
        help="add the range that holds the target with this confidence: 0.9 as lower0.9 and upper0.9; conformal only",
    )


def _numbers(text: str) -> list[float]:
    """Finite numbers between commas, none of them twice."""
    numbers = [float(word) for word in text.split(",")]
    if not np.isfinite(numbers).all() or len(set(numbers)) < len(numbers):
        raise argparse.ArgumentTypeError(
            f"expected different numbers, separated by commas; got {text}"
        )
    return numbers


def shares(text: str) -> list[float]:
    """Numbers from 0 to 1."""
    numbers = _numbers(text)
    if not 0 <= min(numbers) <= max(numbers) <= 1:
        raise argparse.ArgumentTypeError(f"expected numbers from 0 to 1, got {text}")
    return numbers


def times(text: str) -> list[float]:
    """Ascending numbers."""
    numbers = _numbers(text)
    if numbers != sorted(numbers):
        raise argparse.ArgumentTypeError(f"expected numbers in ascending order, got {text}")
    return numbers


def level(text: str) -> float:
    """A number between 0 and 1."""
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"expected a number > 0 and < 1, got {text}")
    return number


def run(args: argparse.Namespace) -> None:
    """Read, predict, write."""
    check_ending(args.out)
    model, header = load_with_header(args.model)
    fitted = read(model)
    for option, what in NEEDED.items():
        if getattr(args, option) and not fitted.predicts(what):
            flag = f"--{option.replace('_', '-')}"
            raise UsageError(
                f"{flag}: {args.model} is a {fitted.name}, which does not predict them; {REMEDIES[what]}"
            )
    table = open_features(args.data)
    X = model_features(model, fitted, header, table)
    columns = {"prediction": model.predict(X)} | more_columns(fitted, X, args)
    columns = {name: as_written(column) for name, column in columns.items()}
    if args.decimals is not None:
        columns = {name: np.round(column, args.decimals) for name, column in columns.items()}
    repeated = columns.keys() & set(args.keep)
    if repeated:
        raise UsageError(
            f"--keep: {', '.join(sorted(repeated))} is a column of the predictions; rename that of the data"
        )
    kept = table.kept(args.keep)
    write_table(args.out, (quote_formulas(kept) if args.safe_cells else kept) | columns)
    log.info("%d predictions", len(X))


def more_columns(fitted: Fitted, X: Any, args: argparse.Namespace) -> dict[str, FloatArray]:
    """The columns that the options ask for."""
    columns: dict[str, FloatArray] = {}
    if args.optimal_interval:
        columns |= _name(["lower", "upper"], fitted.predict("optimal_interval", X))
    if args.quantiles:
        columns |= _name(
            [f"q{share:.15g}" for share in args.quantiles],
            fitted.predict("quantile", X, args.quantiles),
        )
    if args.survival:
        curve = fitted.predict("survival_function", X, args.survival)
        columns |= _name([f"s{time:.15g}" for time in args.survival], curve)
    if args.range:
        names = [f"{end}{args.range:.15g}" for end in ("lower", "upper")]
        columns |= _name(names, fitted.predict("interval", X, args.range))
    return columns


def _name(names: list[str], values: FloatArray) -> dict[str, FloatArray]:
    return dict(zip(names, values.T, strict=True))


def model_features(model: Any, fitted: Fitted, header: dict[str, Any], table: Table) -> Any:
    """The columns that a model takes, by name; by place if it was trained without names."""
    names = header["feature_names"]
    if not len(table):
        raise DataError(f"{table.source}: no rows below the header")
    if names is not None:
        return read_features(table, names, model)
    if names is None and not fitted.steps and len(table.names) != fitted.own.n_features_in_:
        raise DataError(
            f"{table.source}: expected {fitted.own.n_features_in_} columns, since the model knows no names, "
            f"got {len(table.names)}"
        )
    return table.numbers(table.names, TEXT_HINT)
