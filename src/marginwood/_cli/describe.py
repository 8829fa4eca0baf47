"""Summarise a target of which parts are censored, such as measurements with non-detects, and draw it.

Printed are the number of rows, the share that is censored, mean, upper limit of the mean, standard
deviation and quantiles, each with its confidence interval; by group, if a column of groups is
named, and then whether the groups differ (log-rank test). The picture has boxes of non-detects, or
survival curves of other targets.

Example:
  marginwood describe wells.csv --value arsenic --nondetect flag --by station --out wells.png
  marginwood describe patients.csv --time days --event died --by arm --out survival.pdf
"""

from __future__ import annotations

import argparse
import io
import logging
from typing import Any

import numpy as np

from marginwood import plotting
from marginwood._cli.data import (
    add_data,
    add_target,
    columns_of,
    count_kinds,
    name_kinds,
    named_target,
    read_target,
)
from marginwood._cli.errors import DataError, UsageError
from marginwood._cli.models import count, seed
from marginwood._cli.plot import DPI, check_picture
from marginwood._cli.predict import level
from marginwood._cli.tables import polars, read_table
from marginwood._support.files import write_whole
from marginwood.inference import censored_summary, compare_groups
from marginwood.intervals import FloatArray
from marginwood.plotting._canvas import LINES, name_columns

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_data(parser)
    parser.add_argument("--by", metavar="COL", help="column of groups, such as stations")
    parser.add_argument(
        "--method",
        choices=("npmle", "ros", "lognormal"),
        default="npmle",
        help="how: nonparametric (npmle, the default), regression on order statistics, log-normal",
    )
    parser.add_argument(
        "--threshold", metavar="N", type=float, help="tell how often this value is exceeded"
    )
    parser.add_argument(
        "--level", type=level, default=0.95, help="of confidence intervals (default: 0.95)"
    )
    parser.add_argument(
        "--bootstrap", metavar="N", type=count, default=2000, help="samples (default: 2000)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=seed, default=0, help="of the bootstrap (default: 0)"
    )
    parser.add_argument("--out", metavar="FILE", help="picture to write: .png, .svg or .pdf")
    add_target(parser)


def run(args: argparse.Namespace) -> None:
    """Read, summarise, compare, draw."""
    suffix = check_picture(args.out) if args.out else None
    target = named_target(args)
    if not columns_of(target):
        raise UsageError(
            "name the target's columns: --value COL, or --lower COL --upper COL, or --time COL --event COL"
        )
    table = read_table(args.data)
    if not len(table):
        raise DataError(f"{table.source}: no rows below the header")
    y = read_target(table, target)
    by = None
    if args.by:
        cells = table.kept([args.by])[args.by]
        if cells.null_count():
            cells = cells.cast(polars().String).fill_null("(none)")
        by = cells.to_list()
    log.info("%s: %d rows (%s)", table.source, len(y), name_kinds(count_kinds(y)))
    options = {"method": args.method, "threshold": args.threshold, "level": args.level}
    lines: list[Any] = [
        censored_summary(y, by=by, n_bootstrap=args.bootstrap, random_state=args.seed, **options)
    ]
    if by is not None and len(set(by)) > 1:
        lines += ["", compare_groups(y, by)]
    if suffix:
        axes = _draw(y, by, args.level)
        name = name_columns(
            [target[name] for name in ("time", "value", "lower", "upper") if name in target]
        )
        (axes.set_ylabel if _is_of_nondetects(y) else axes.set_xlabel)(name, parse_math=False)
        buffer = io.BytesIO()
        axes.figure.savefig(buffer, format=suffix, dpi=DPI)
        write_whole(args.out, buffer.getvalue())
        log.info("%s: written", args.out)
    # At the end, so that nothing is printed where something is wrong.
    print(*lines, sep="\n")


def _is_of_nondetects(y: FloatArray) -> bool:
    return not np.isinf(y[:, 1]).any()


def _draw(y: FloatArray, by: list[Any] | None, confidence: float) -> Any:
    """Boxes where no row is open above, else curves."""
    if _is_of_nondetects(y):
        is_positive = bool((y[:, 1] > 0).all() and (y[y[:, 0] == y[:, 1]] > 0).all())
        return plotting.plot_censored_box(y, by=by, log=is_positive, level=confidence)
    if by is not None and len(set(by)) > len(LINES):
        raise UsageError(f"--by: curves of at most {len(LINES)} groups can be told apart")
    return plotting.plot_turnbull(y, by=by, level=confidence, at_risk=True)
