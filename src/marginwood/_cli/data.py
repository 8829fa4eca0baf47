"""Features and targets from the files that the user names: one table, or a folder of them.

The folder is the layout of `datasets.load_folder`: ``features.csv``, ``targets.csv`` and perhaps
``folds.csv``.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from marginwood._cli.errors import DataError, UsageError, with_options
from marginwood._cli.tables import Table, read_table
from marginwood._ends import SIDES
from marginwood._ensemble.members import MixtureMixin
from marginwood._mistakes import find_swap
from marginwood._support.notation import read_measurements
from marginwood.datasets._files import FOLDER_FILES, check_folds
from marginwood.intervals import (
    FloatArray,
    IntArray,
    censoring_kind,
    from_detection_limits,
    from_events,
    make_intervals,
)

__all__ = [
    "TEXT_HINT",
    "Data",
    "add_categories",
    "add_data",
    "add_features",
    "add_keep",
    "add_rows",
    "add_target",
    "choose_categories",
    "columns_of",
    "count_kinds",
    "feature_names",
    "name_kinds",
    "named_target",
    "open_features",
    "read_data",
    "read_data_for",
    "read_features",
    "read_target",
    "takes_categories",
]

FEATURES, TARGETS, FOLDS = FOLDER_FILES
LIMITS = ("lower_limit", "upper_limit")
MEASURED_OPTIONS = ("value", "nondetect", *LIMITS)
COLUMN_OPTIONS = ("lower", "upper", "time", "event", *MEASURED_OPTIONS)
MEASURED_HINT = "; cells such as <1 and ND are read by --value {0!r}"
TARGET_HINTS = {
    "lower": MEASURED_HINT,
    "upper": MEASURED_HINT,
    "event": "; --event expects 1 or true (event at that time) and 0 or false (later)",
}
TEXT_HINT = (
    "; train without it (--drop {0!r}), or turn it into numbers (one column of 0 and 1 per value)"
)

FEWEST_IDS = 10  # different texts, before a column looks like an id

log = logging.getLogger("marginwood")


class Data(NamedTuple):
    """Rows to learn from or to score; `target` holds the options that name the target columns.

    `X` is an array, or a frame of polars for a model that encodes text.
    """

    source: str
    names: list[str]
    X: Any
    y: FloatArray
    target: dict[str, str]
    folds: IntArray | None
    weight: FloatArray | None = None
    groups: IntArray | None = None
    kept: list[str] | None = None  # names of rows

    def notes(self) -> dict[str, Any]:
        """What a model file says about the data that it was trained on."""
        return {
            "data": Path(self.source).name,
            "rows": len(self.y),
            "censoring": count_kinds(self.y),
            "target": self.target,
        }


def add_data(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The argument that names the data."""
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?" if optional else None,
        help="CSV, TSV (either may be gzipped) or Parquet file, - for CSV from stdin, or a folder of "
        f"{FEATURES}, {TARGETS} and perhaps {FOLDS}; errors count the rows below the header from 0",
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    """Options that name the columns of the target."""
    group = parser.add_argument_group(
        "target",
        "Ends, times with events, or measurements. An empty cell or NA is an open end, as inf and -inf are.",
    )
    group.add_argument("--lower", metavar="COL", help="column of lower ends")
    group.add_argument("--upper", metavar="COL", help="column of upper ends")
    group.add_argument(
        "--closed",
        choices=tuple(SIDES),
        help="with --lower and --upper: the ends that belong to intervals (right)",
    )
    group.add_argument("--time", metavar="COL", help="column of times, with --event")
    group.add_argument(
        "--event", metavar="COL", help="column of 1 (event at that time) and 0 (later)"
    )
    group.add_argument(
        "--value",
        metavar="COL",
        help="column of measurements: 1.2, <1, <=1, >50, >=50, ND (not detected)",
    )
    group.add_argument(
        "--nondetect",
        metavar="COL",
        help="with --value: column of 1 where the value is only an upper limit, else 0",
    )
    group.add_argument(
        "--lower-limit",
        metavar="N|COL",
        help="with --value: number or column; at or below it nothing is detected",
    )
    group.add_argument(
        "--upper-limit", metavar="N|COL", help="with --value: number or column; values end there"
    )


def add_features(parser: argparse.ArgumentParser) -> None:
    """Options that choose the columns to learn from."""
    group = parser.add_argument_group("features", "By default all columns that are not the target.")
    group.add_argument(
        "--features", metavar="COL", nargs="+", action="extend", help="columns to learn from"
    )
    group.add_argument(
        "--drop", metavar="COL", nargs="+", action="extend", default=[], help="columns to leave out"
    )


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Options that name columns about rows: weights, groups and what is kept."""
    group = parser.add_argument_group("rows")
    group.add_argument(
        "--weight", metavar="COL", help="column of weights: a row of weight 2 counts as two rows"
    )
    group.add_argument(
        "--groups", metavar="COL", help="column of groups, such as sites; folds keep them whole"
    )


def add_keep(parser: argparse.ArgumentParser, where: str) -> None:
    """The option that carries columns along."""
    parser.add_argument(
        "--keep",
        metavar="COL",
        nargs="+",
        action="extend",
        default=[],
        help=f"columns, such as an id, to {where}",
    )


def add_categories(parser: argparse.ArgumentParser) -> None:
    """The option that names columns of categories."""
    parser.add_argument(
        "--categories",
        metavar="COL",
        nargs="+",
        action="extend",
        help="columns whose values are categories (default: those that hold text; not for linear models)",
    )


def named_target(args: argparse.Namespace) -> dict[str, str]:
    """The target options that were given; raises unless they make up one way to name a target."""
    given = {
        name: getattr(args, name) for name in (*COLUMN_OPTIONS, "closed") if getattr(args, name)
    }
    events = given.keys() & {"time", "event"}
    measured = given.keys() & set(MEASURED_OPTIONS)
    if "closed" in given and (events or measured):
        raise UsageError("--closed goes with --lower and --upper")
    if events and (len(events) == 1 or len(given) > 2):
        raise UsageError("--time and --event go together, and with no other option of the target")
    if measured and ("value" not in given or len(measured) < len(given)):
        raise UsageError(
            "--nondetect, --lower-limit and --upper-limit go with --value, and --value with nothing else"
        )
    return given


def read_data(
    args: argparse.Namespace, model: Any = None, default_target: dict[str, str] | None = None
) -> Data:
    """Read features and target as the options say; for a model that takes text, the features as a frame."""
    target = named_target(args)
    if not columns_of(target):
        target = (default_target or {}) | target
    folder = Path(args.data)
    folds = None
    if args.data != "-" and folder.is_dir():
        features, targets = _read_folder(folder, FEATURES), _read_folder(folder, TARGETS)
        if not columns_of(target):
            if len(targets.names) != 2:
                raise DataError(
                    f"{targets.source}: expected two columns, got {len(targets.names)}; use --lower, --upper"
                )
            target |= dict(zip(("lower", "upper"), targets.names, strict=True))
        if len(features) != len(targets):
            raise DataError(
                f"{folder}: {len(features)} rows in {FEATURES}, {len(targets)} in {TARGETS}"
            )
        if (folder / FOLDS).exists():
            folds = _read_folds(folder, len(features))
    elif not columns_of(target):
        raise UsageError(
            "name the target's columns: --lower COL --upper COL, or --time COL --event COL, or --value COL"
        )
    else:
        features = targets = read_table(args.data)
    if not len(targets):
        raise DataError(f"{targets.source}: no rows below the header")
    y = read_target(targets, target)
    weight = features.numbers([args.weight]).ravel() if getattr(args, "weight", None) else None
    groups = features.codes(args.groups) if getattr(args, "groups", None) else None
    others = {getattr(args, option, None) for option in ("weight", "groups")}
    names = feature_names(
        args, features, columns_of(target) | others if features is targets else others
    )
    X = read_features(features, names, model, getattr(args, "categories", None))
    log.info(
        "%s: %d rows (%s), %d features",
        features.source,
        len(X),
        name_kinds(count_kinds(y)),
        len(names),
    )
    swap = find_swap(y)
    if swap is not None and "value" not in target:
        log.warning("warning: %s: are lower and upper swapped?", swap)
    _warn_of_open_side(y, target)
    return Data(
        args.data,
        names,
        X,
        y,
        target,
        folds,
        weight,
        groups,
        _row_names(features, getattr(args, "keep", [])),
    )


def columns_of(target: dict[str, str]) -> set[str | None]:
    """The columns that the options of a target name."""
    return {target[name] for name in COLUMN_OPTIONS if name in target}


def _warn_of_open_side(y: FloatArray, target: dict[str, str]) -> None:
    """Warn if all rows are open on the same side, as they are if the option of the other ends was forgotten."""
    kinds = count_kinds(y).keys() - {"uninformative"}
    if kinds not in ({"left"}, {"right"}):
        return
    side, size, other = (
        ("above", "large", "upper") if kinds == {"right"} else ("below", "small", "lower")
    )
    is_forgotten = other not in target and not target.keys() & {"time", "value"}
    advice = (
        f"; --{other} names the other ends, and --value a column of measurements"
        if is_forgotten
        else ""
    )
    log.warning(
        "warning: all rows are open %s, so that any %s number satisfies them%s", side, size, advice
    )


def read_data_for(args: argparse.Namespace, model: Any, header: dict[str, Any]) -> Data:
    """Read the features of a saved model, and the target that the options or its file name."""
    args.features = header["feature_names"]
    args.drop = []
    return read_data(
        args, model if args.features is not None else None, header["notes"].get("target")
    )


def read_features(
    table: Table, names: list[str], model: Any, chosen: list[str] | None = None
) -> Any:
    """Columns as a model takes them: numbers, or a frame if it knows categories or encodes text inside.

    Of a model that is not fitted yet, the categories are the chosen columns, or those of text.
    """
    parts = () if model is None else (model, *model.get_params().values())
    if any(isinstance(part, Pipeline) for part in parts):
        return table.columns(names)
    knows_categories = model is not None and takes_categories(model)
    if not hasattr(model, "n_features_in_"):
        categories = choose_categories(table, names, knows_categories, chosen)
    elif hasattr(model, "categories_"):
        known = dict(zip(names, model.categories_ or [None] * len(names), strict=True))
        # Labels that are all numbers were numbers in the training data, too.
        categories = [
            name
            for name, labels in known.items()
            if any(isinstance(label, str) for label in labels or [])
        ]
    else:
        categories = table.text_columns(names) if knows_categories else []
    return table.labelled(names, categories) if categories else table.numbers(names, TEXT_HINT)


def takes_categories(model: Any) -> bool:
    """Whether a model, or one inside it, takes categories."""
    parts = (model, *model.get_params().values())
    return any(
        hasattr(part, "categorical_features") or isinstance(part, MixtureMixin) for part in parts
    )


def choose_categories(
    table: Table, names: list[str], knows_categories: bool, chosen: list[str] | None
) -> list[str]:
    """The columns that a model is to take as categories: the chosen ones, or those of text."""
    if chosen is None:
        found = table.text_columns(names) if knows_categories else []
        if found:
            log.info("%s: columns of text are categories: %s", table.source, ", ".join(found))
        _warn_of_ids(table, found)
        return found
    if not knows_categories:
        expected = "tree, forest, boosting, xgb, auto and curves take categories"
        raise UsageError(f"--categories: this model takes numbers only; {expected}")
    unknown = ", ".join(repr(name) for name in chosen if name not in names)
    if unknown:
        raise UsageError(f"--categories: expected columns to learn from, got {unknown}")
    return chosen


def _warn_of_ids(table: Table, categories: list[str]) -> None:
    """Warn of columns of which no two cells are the same: nothing can be learnt from them."""
    for name in categories:
        cells = table.frame.to_series(table.places[name]).drop_nulls()
        if len(cells) >= FEWEST_IDS and cells.n_unique() == len(cells):
            advice = f"leave it out by --drop {name!r}"
            log.warning(
                "warning: %s: column %r differs in every row, as an id does; %s",
                table.source,
                name,
                advice,
            )


def open_features(path: str) -> Table:
    """The table of features: a file, or the one of a folder."""
    if path != "-" and Path(path).is_dir():
        return _read_folder(Path(path), FEATURES)
    return read_table(path)


def _read_folder(folder: Path, name: str) -> Table:
    if not (folder / name).exists():
        raise DataError(
            f"{folder}: a folder without {name}; name a file, or a folder of {FEATURES} and {TARGETS}"
        )
    return read_table(str(folder / name))


def _read_folds(folder: Path, n_rows: int) -> IntArray:
    table = read_table(str(folder / FOLDS))
    if len(table) != n_rows:
        raise DataError(
            f"{table.source}: expected {n_rows} whole numbers, one per row; got {len(table)} rows"
        )
    return check_folds(table.numbers(table.names[:1]), table.source)


def read_target(table: Table, target: dict[str, str]) -> FloatArray:
    try:
        if "value" in target:
            return _read_measurements(table, target)
        columns = {
            name: table.numbers([target[name]], TARGET_HINTS.get(name, "")).ravel()
            for name in COLUMN_OPTIONS
            if name in target
        }
        if "time" in columns:
            return from_events(columns["time"], columns["event"])
        return make_intervals(
            columns.get("lower"), columns.get("upper"), closed=target.get("closed", "right")
        )
    except ValueError as error:
        if isinstance(error, DataError | UsageError):
            raise
        raise DataError(f"{table.source}: {with_options(str(error))}") from None


def _read_measurements(table: Table, target: dict[str, str]) -> FloatArray:
    """Intervals of measurements; a row without one is uninformative."""
    column = target["value"]
    cells = table.measurements(column)
    flags = table.flags(target["nondetect"]) if "nondetect" in target else None
    limits = [_read_limit(table, name, target[name]) if name in target else None for name in LIMITS]
    found = read_measurements(cells, column)
    missing = (found.side == 0) & np.isnan(found.number)
    if flags is not None and limits[0] is not None:
        missing &= ~flags
    cells[missing] = 0.0
    y = from_detection_limits(cells, *limits, nondetect=None if flags is None else flags & ~missing)
    y[missing] = (-np.inf, np.inf)
    return y


def _read_limit(table: Table, name: str, text: str) -> float | FloatArray:
    """A limit for all rows, or a column of them."""
    if text in table.places:
        return table.numbers([text]).ravel()
    try:
        return float(text)
    except ValueError:
        flag = f"--{name.replace('_', '-')}"
        raise UsageError(
            f"{flag}: expected a number or a column; {table.source} has no column {text!r}"
        ) from None


def count_kinds(y: FloatArray) -> dict[str, int]:
    """Number of rows of each kind of censoring that occurs."""
    kinds, counts = np.unique(censoring_kind(y), return_counts=True)
    return dict(zip(kinds.tolist(), counts.tolist(), strict=True))


def name_kinds(counts: dict[str, int]) -> str:
    """These numbers in words."""
    return ", ".join(
        f"{n_rows} {kind.replace('uncensored', 'un-censored')}" for kind, n_rows in counts.items()
    )


def _row_names(table: Table, columns: list[str]) -> list[str] | None:
    """What the rows are called by columns that are kept."""
    if not columns:
        return None
    cells = [
        ["" if cell is None else str(cell) for cell in column]
        for column in table.kept(columns).values()
    ]
    return [", ".join(row) for row in zip(*cells, strict=True)]


def feature_names(args: argparse.Namespace, table: Table, target: Any) -> list[str]:
    """Names of the columns to learn from."""
    unknown = [name for name in args.drop if name not in table.places]
    if unknown:
        table.numbers(unknown)
    chosen = args.features
    if chosen is None:
        chosen = [name for name in table.names if name not in target]
    elif len(set(chosen)) < len(chosen):
        raise UsageError("--features: a column is named twice")
    for option in (*COLUMN_OPTIONS, "weight", "groups"):
        column = getattr(args, option, None)
        if column in target and column in chosen:
            flag = f"--{option.replace('_', '-')}"
            raise UsageError(
                f"{flag}: expected a column that is no feature of the model, got {column!r}"
            )
    names = [name for name in chosen if name not in args.drop]
    if not names:
        raise DataError(f"{table.source}: no columns are left to learn from")
    return names
