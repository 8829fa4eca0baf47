"""Write a page about a model and data whose intervals are known, to be opened in a browser.

The page is one file that loads nothing: the tree, predictions against intervals, importances,
errors by kind of censoring, the cross-validation, the data, and warnings. The target's columns are
those of the training data, unless others are named.

Example:
  marginwood report tree.mw test.csv --out report.html
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from marginwood._cli.data import add_data, add_keep, add_target, read_data_for
from marginwood._persistence import load_with_header
from marginwood._support.files import check_place
from marginwood.report import write_report

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    add_data(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="HTML file to write")
    add_keep(parser, "name rows by")
    add_target(parser)


def run(args: argparse.Namespace) -> None:
    """Read, describe, write."""
    check_place(args.out)
    model, header = load_with_header(args.model)
    data = read_data_for(args, model, header)
    title = "" if args.data == "-" else Path(args.data).name
    write_report(model, data.X, data.y, args.out, title=title, row_names=data.kept)
    log.info("%s: written", args.out)
