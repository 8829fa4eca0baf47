"""Parquet files that need not fit in memory, a number of rows at a time."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginwood._cli.data import (
    TEXT_HINT,
    choose_categories,
    columns_of,
    count_kinds,
    feature_names,
    name_kinds,
    named_target,
    read_target,
)
from marginwood._cli.errors import DataError, UsageError
from marginwood._cli.models import name_features
from marginwood._cli.tables import PARQUET, Table, first_line, polars
from marginwood.intervals import FloatArray

__all__ = ["add_chunks", "fit_chunks"]

log = logging.getLogger("marginwood")


def add_chunks(parser: argparse.ArgumentParser) -> None:
    """The option that asks for chunks."""
    parser.add_argument(
        "--chunk-rows",
        metavar="N",
        type=int,
        help="with --model xgb and a Parquet file: rows to hold in memory at a time, for files larger than memory",
    )


class ChunkedFile:
    """The features and targets that the options name, read again whenever `chunks` is called."""

    def __init__(self, args: argparse.Namespace) -> None:
        if args.chunk_rows < 1:
            raise UsageError(f"--chunk-rows: expected a whole number >= 1, got {args.chunk_rows}")
        if args.model != "xgb":
            raise UsageError(
                f"--chunk-rows goes with --model xgb, got {args.model}: other models need all rows at once"
            )
        self.target = named_target(args)
        if not columns_of(self.target):
            raise UsageError(
                "name the target's columns: --lower COL --upper COL, or --time COL --event COL"
            )
        self.weight = args.weight
        self.source = args.data
        self._n_chunk = args.chunk_rows
        self._frame, self._columns, self.n_rows = _scan(args.data)
        if not self.n_rows:
            raise DataError(f"{self.source}: no rows")
        first = self._table(0)
        self.names = feature_names(args, first, columns_of(self.target) | {self.weight})
        self._categories = choose_categories(first, self.names, True, args.categories)
        self.kinds: Counter[str] = Counter()

    def _table(self, start: int) -> Table:
        """The rows from a place on, of the columns that are read."""
        pl = polars()
        try:
            frame = self._frame.slice(start, self._n_chunk).collect()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{self.source}: damaged Parquet file: {first_line(error)}") from None
        where = f"{self.source}, rows from {start} on"
        return Table(where if start else self.source, self._columns, frame)

    def chunks(self) -> Iterator[tuple[Any, FloatArray, FloatArray | None]]:
        """Features, intervals and weights, chunk by chunk; counts the kinds of censoring."""
        kinds: Counter[str] = Counter()
        for start in range(0, self.n_rows, self._n_chunk):
            table = self._table(start)
            y = read_target(table, self.target)
            kinds.update(count_kinds(y))
            weight = table.numbers([self.weight]).ravel() if self.weight else None
            yield self._features(table), y, weight
        self.kinds = kinds

    def _features(self, table: Table) -> Any:
        """Numbers, or a frame if there are categories; the first chunk has said which columns hold them."""
        if self._categories:
            return table.labelled(self.names, self._categories)
        return table.numbers(self.names, TEXT_HINT)

    def notes(self) -> dict[str, Any]:
        """What a model file says about the data that it was trained on."""
        return {
            "data": Path(self.source).name,
            "rows": self.n_rows,
            "censoring": dict(self.kinds),
            "target": self.target,
        }


def fit_chunks(model: Any, args: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Train a model on a file, chunk by chunk; returns it and the notes of its file."""
    file = ChunkedFile(args)
    if not hasattr(model, "fit_chunks"):
        raise UsageError(
            "--chunk-rows goes with --model xgb alone: what is put around a model needs all rows at once"
        )
    model.fit_chunks(file.chunks)
    kinds = name_kinds(file.kinds)
    log.info("%s: %d rows (%s), %d features", file.source, file.n_rows, kinds, len(file.names))
    return name_features(model, file.names), file.notes()


def _scan(path: str) -> tuple[Any, list[str], int]:
    """A Parquet file that is read when rows are asked for, the names of its columns, and the number of its rows."""
    pl = polars()
    if path == "-" or not Path(path).is_file():
        raise UsageError(f"--chunk-rows: expected a Parquet file, got {path}")
    with Path(path).open("rb") as file:
        if file.read(len(PARQUET)) != PARQUET:
            raise DataError(
                f"{path}: --chunk-rows expected a Parquet file; convert it, or leave the option out"
            )
    try:
        frame = pl.scan_parquet(path)
        columns = [name.strip() for name in frame.collect_schema().names()]
        return frame, columns, frame.select(pl.len()).collect().item()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: damaged Parquet file: {first_line(error)}") from None
