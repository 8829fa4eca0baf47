"""Reading and writing tables: CSV, TSV, both gzipped, Parquet, and CSV through pipes.

A cell that is empty or one of `MISSING` is missing. Numbers are parsed column by column when they
are asked for, so text in a column that nobody uses does no harm. Errors count rows from 0, as those
of the library do.
"""

from __future__ import annotations

import csv
import gzip
import io
import logging
import re
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwood._cli.errors import DataError, UsageError
from marginwood._support.extras import install_hint
from marginwood._support.files import write_whole
from marginwood._support.notation import BOOLEANS, MISSING
from marginwood.intervals import FloatArray, IntArray

__all__ = ["Table", "check_ending", "quote_formulas", "read_table", "write_table"]

SEPARATORS = ",;\t"
MARKED = ("1", "true", "yes", "<", "u", "nd")
UNMARKED = ("0", "false", "no")
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
FORMULA = r"^[=+\-@\t\r\n]"
TEXTS = ("", ".csv", ".tsv", ".txt")
UTF16 = (b"\xff\xfe", b"\xfe\xff")
# What may come through a pipe, or out of a gzip file, in bytes: neither says before how much that
# is.
LARGEST_STREAM = 1 << 31
BLOCK = 1 << 20

log = logging.getLogger("marginwood")


def polars() -> Any:
    """The module polars, or an error that says how to install it."""
    try:
        import polars
    except ImportError:
        raise DataError(f"tables are read with polars: {install_hint('cli')}") from None
    return polars


class Table:
    """Named columns of a file; columns without a name are left out."""

    def __init__(
        self, source: str, names: list[str], frame: Any, *, decimal_comma: bool = False
    ) -> None:
        self.source = source
        self.frame = frame
        self.decimal_comma = decimal_comma
        self.places = {name: place for place, name in enumerate(names) if name}
        self.names = list(self.places)
        self.repeated = {name for name, count in Counter(names).items() if count > 1 and name}
        if len(self.names) < len(set(names)):
            log.info("%s: columns without a name are left out", source)

    def __len__(self) -> int:
        return self.frame.height

    def numbers(self, names: list[str], hint: str = "") -> FloatArray:
        """Columns as float64, NaN where a cell is missing; text raises with a hint, in which {0} is the name."""
        self._check_names(names)
        values = np.empty((len(self), len(names)))
        errors = {}
        for idx, name in enumerate(names):
            try:
                values[:, idx] = self._parse(name, hint.format(name))
            except DataError as error:
                errors[name] = error
        if len(errors) > 1:
            raise DataError(
                f"{next(iter(errors.values()))}; no numbers in {', '.join(map(repr, errors))}"
            )
        if errors:
            raise next(iter(errors.values()))
        return values

    def text_columns(self, names: list[str]) -> list[str]:
        """Those of some columns that hold categories or text; among numbers, a few cells of text are errors."""
        self._check_names(names)
        return [name for name in names if self._is_text(name)]

    def labelled(self, names: list[str], categories: list[str]) -> Any:
        """Columns as a frame of polars, in which some hold categories, as they are written, and all others numbers."""
        self._check_names(names)
        numbers = [name for name in names if name not in categories]
        values = self.numbers(numbers)
        found = {name: values[:, idx] for idx, name in enumerate(numbers)}
        for name in set(names) & set(categories):
            pl = polars()
            cells = self.frame.to_series(self.places[name]).cast(pl.String).str.strip_chars()
            found[name] = cells.set(cells.str.to_lowercase().is_in(MISSING), None).cast(
                pl.Categorical
            )
        return polars().DataFrame({name: found[name] for name in names})

    def _is_text(self, name: str) -> bool:
        pl = polars()
        cells = self.frame.to_series(self.places[name])
        if cells.dtype in (pl.Categorical, pl.Enum):
            return True
        if cells.dtype != pl.String:
            return False
        try:
            self._parse(name, "")
        except DataError:
            return cells.cast(pl.Float64, strict=False).count() <= cells.count() / 2
        return False

    def columns(self, names: list[str]) -> Any:
        """Columns as a frame of polars, for models that encode text themselves: numbers where all cells are numbers."""
        self._check_names(names)
        found = {}
        for name in names:
            try:
                found[name] = self._parse(name, "")
            except DataError:
                found[name] = self.frame.to_series(self.places[name])
        return polars().DataFrame(found)

    def measurements(self, name: str) -> npt.NDArray[np.object_]:
        """A column of what laboratories write, as numbers and texts with a decimal point."""
        self._check_names([name])
        cells = self.frame.to_series(self.places[name])
        if cells.dtype != polars().String:
            return self._parse(name, "").astype(object)
        if self.decimal_comma:
            cells = cells.str.replace(",", ".", literal=True)
        return cells.fill_null("").to_numpy().astype(object)

    def flags(self, name: str) -> npt.NDArray[np.bool_]:
        """A column that marks rows: by 1 and 0, true and false, yes and no, or a mark (``<``, U, ND) where it is so.

        Among marks an empty cell is none; beside 0, false or no it is an error.
        """
        self._check_names([name])
        pl = polars()
        text = self.frame.to_series(self.places[name]).cast(pl.String).fill_null("")
        text = text.str.strip_chars().str.to_lowercase().replace({"1.0": "1", "0.0": "0"})
        marked, unmarked = text.is_in(MARKED), text.is_in(UNMARKED)
        if not unmarked.any():
            unmarked = text.is_in(MISSING)
        odd = ~(marked | unmarked)
        if odd.any():
            row = odd.arg_true()[0]
            found = self.frame.to_series(self.places[name])[row]
            raise DataError(
                f"{self.source}: column {name!r}, row {row}: expected 1 or 0, true or false, yes or no, or a mark "
                f"({', '.join(MARKED[3:])}) beside empty cells; got {found!r:.60}"
            )
        return marked.to_numpy()

    def codes(self, name: str) -> IntArray:
        """A column of anything as the number of each cell's value; empty cells are a value, too."""
        self._check_names([name])
        cells = self.frame.to_series(self.places[name]).cast(polars().String).fill_null("")
        _, codes = np.unique(cells.to_numpy(), return_inverse=True)
        return codes.astype(np.int64)

    def kept(self, names: list[str]) -> dict[str, Any]:
        """Columns as they are."""
        self._check_names(names)
        return {name: self.frame.to_series(self.places[name]) for name in names}

    def _check_names(self, names: list[str]) -> None:
        absent = [name for name in names if name not in self.places]
        if absent:
            have = ", ".join(self.names[:20]) + (", ..." if len(self.names) > 20 else "")
            raise DataError(
                f"{self.source}: no column named {', '.join(map(repr, absent[:10]))}; there are: {have}"
            )
        repeated = [name for name in names if name in self.repeated]
        if repeated:
            raise DataError(
                f"{self.source}: more than one column is named {', '.join(map(repr, repeated))}; rename them"
            )

    def _parse(self, name: str, hint: str) -> FloatArray:
        pl = polars()
        cells = self.frame.to_series(self.places[name])
        if cells.dtype != pl.String:
            if not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Null)):
                raise DataError(
                    f"{self.source}: column {name!r}: expected numbers, got {cells.dtype}{hint}"
                )
            return cells.cast(pl.Float64).fill_null(np.nan).to_numpy()
        numbers = cells.cast(pl.Float64, strict=False)
        if (
            numbers.null_count() > cells.null_count()
        ):  # not numbers as they are: look closer at these
            odd = numbers.is_null() & cells.is_not_null()
            text = cells.filter(odd).str.strip_chars().str.to_lowercase().replace(BOOLEANS)
            parsed = text.cast(pl.Float64, strict=False)
            if self.decimal_comma:
                parsed = parsed.fill_null(
                    text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
                )
            bad = parsed.is_null() & ~text.is_in(MISSING)
            if bad.any():
                row = odd.arg_true()[bad.arg_true()[0]]
                where = f"{self.source}: column {name!r}, row {row}"
                raise DataError(f"{where}: expected a number, got {cells[row]!r:.60}{hint}")
            numbers = numbers.scatter(odd.arg_true(), parsed)
        return numbers.fill_null(np.nan).to_numpy()


def read_table(path: str) -> Table:
    """Read a file, or stdin for ``-``; its kind is seen from its first bytes."""
    source = "stdin" if path == "-" else path
    if path == "-":
        content = _read_stream(source, sys.stdin.buffer)
    elif Path(path).is_file():
        content = Path(path).read_bytes()
    else:
        with Path(path).open("rb") as file:
            content = _read_stream(source, file)
    if content.startswith(GZIP):
        try:
            content = _read_stream(source, gzip.GzipFile(fileobj=io.BytesIO(content)))
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{source}: damaged gzip file: {error}") from None
    if content.startswith(PARQUET):
        return _read_parquet(source, content)
    if content.startswith(UTF16):
        raise DataError(f"{source}: UTF-16 text; save it as UTF-8")
    return _read_csv(source, content)


def _read_stream(source: str, file: Any) -> bytes:
    """All of a file that may never end, such as a pipe or a device; what is no text ends with its first block."""
    parts = []
    n_bytes = 0
    while block := file.read(BLOCK):
        parts.append(block)
        n_bytes += len(block)
        if b"\0" in block and not parts[0].startswith((GZIP, PARQUET, *UTF16)):
            raise DataError(f"{source}: expected text, gzip or Parquet, got NUL bytes")
        if n_bytes > LARGEST_STREAM:
            raise DataError(
                f"{source}: more than {LARGEST_STREAM} bytes; write them to a plain file, and name that"
            )
    return b"".join(parts)


def _read_parquet(source: str, content: bytes) -> Table:
    pl = polars()
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except Exception as error:
        raise DataError(f"{source}: damaged Parquet file: {first_line(error)}") from None
    return Table(source, [name.strip() for name in frame.columns], frame)


def _read_csv(source: str, content: bytes) -> Table:
    pl = polars()
    try:
        lines = _decode(content)
        separator = max(SEPARATORS, key=re.sub('"[^"]*"', "", lines.readline()).count)
        lines.seek(0)
        names = [name.strip() for name in next(csv.reader(lines, delimiter=separator), [])]
        if not any(names):
            raise DataError(f"{source}: empty, or without a header of column names")
        if all(_is_number(name) for name in names):
            raise DataError(
                f"{source}: line 1 holds numbers ({', '.join(names[:3])}); a header is needed"
            )
        if (
            content.endswith((b"\n\n", b"\n\r\n")) and len(names) > 1
        ):  # blank lines at the end are no rows
            content = content.rstrip(b" \r\n")  # not tabs: they may end empty cells
        try:
            frame = pl.read_csv(
                content, separator=separator, null_values="NA", infer_schema_length=1000
            )
        except pl.exceptions.PolarsError:
            # A later cell is of another type. All as text takes three times as long.
            frame = _read_text(source, content, separator, len(names))
        _check_fields(source, content, separator, frame)
    except (UnicodeDecodeError, csv.Error, pl.exceptions.PolarsError) as error:
        reason = first_line(error)
        reason = "not UTF-8 text; save it as UTF-8" if "utf" in reason else reason
        raise DataError(f"{source}: {reason}") from None
    if frame.width != len(names):
        raise DataError(
            f"{source}: expected {len(names)} columns, as in the header, got {frame.width}"
        )
    return Table(source, names, frame, decimal_comma=separator == ";")


def _read_text(source: str, content: bytes, separator: str, n_fields: int) -> Any:
    """All cells as text; raises at the first row with more fields than the header, which polars does not name."""
    pl = polars()
    try:
        return pl.read_csv(content, separator=separator, infer_schema_length=0)
    except pl.exceptions.PolarsError as error:
        if "more fields" in str(error):
            advice = f"a cell that holds {separator!r} must be in quotes"
            for row, fields in enumerate(
                csv.reader(_decode(content), delimiter=separator), -1
            ):  # -1 is the header
                if len(fields) > n_fields:
                    where = f"{source}: row {row}"
                    raise DataError(
                        f"{where}: expected {n_fields} fields, got {len(fields)}; {advice}"
                    ) from None
        raise


def _decode(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")


def _check_fields(source: str, content: bytes, separator: str, frame: Any) -> None:
    """Raise at the first row with fewer fields than the header, whose last cells polars takes for empty ones."""
    n_fields = frame.width
    if n_fields == 1 or not frame.to_series(-1).null_count():
        return
    # Longer rows are refused already, so the number of separators tells, far faster than csv does.
    bare = re.sub(b'"[^"]*"', b"", content)
    if bare.count(separator.encode()) == (len(frame) + 1) * (n_fields - 1):
        return
    for row, fields in enumerate(
        csv.reader(_decode(content), delimiter=separator), -1
    ):  # -1 is the header
        if len(fields) < n_fields:
            advice = f"a cell may be empty, but its {separator!r} must be there"
            raise DataError(
                f"{source}: row {row}: expected {n_fields} fields, got {len(fields)}; {advice}"
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def quote_formulas(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns of polars in which texts, and names, that a spreadsheet would compute are behind an apostrophe."""
    pl = polars()
    quoted = {}
    for name, column in columns.items():
        cells = column
        if cells.dtype in (pl.String, pl.Categorical, pl.Enum):
            text = cells.cast(pl.String)
            is_formula = text.str.contains(FORMULA) & text.cast(pl.Float64, strict=False).is_null()
            cells = ("'" + text).zip_with(is_formula.fill_null(value=False), text)
        quoted[f"'{name}" if re.match(FORMULA, name) else name] = cells
    return quoted


def check_ending(path: str) -> None:
    """Raise if the ending of a name says that another kind of file is expected than `write_table` writes."""
    lowered = path.lower()
    if Path(lowered.removesuffix(".gz")).suffix not in TEXTS and not lowered.endswith(".parquet"):
        expected = "a file that ends in csv, tsv, txt, one of these and gz, or parquet"
        raise UsageError(f"--out: expected {expected}, got {path}")


def write_table(path: str, columns: dict[str, Any]) -> None:
    """Write columns to a file of the kind that its suffix says, or as CSV to stdout for ``-``."""
    pl = polars()
    frame = pl.DataFrame(columns)
    buffer = io.BytesIO()
    ending = path.lower()
    if ending.endswith(".parquet"):
        frame.write_parquet(buffer)
    else:
        frame.write_csv(buffer, separator="\t" if ending.endswith((".tsv", ".tsv.gz")) else ",")
    if path == "-":
        rest = buffer.getbuffer()
        while rest:  # with PYTHONUNBUFFERED a write may be partial
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    elif ending.endswith(".gz"):
        write_whole(path, gzip.compress(buffer.getvalue(), mtime=0))
    else:
        write_whole(path, buffer.getbuffer())
