"""Draw a model, with data or without, as PNG, SVG or PDF.

Without data: tree (the default for a tree), importances, pruning (the path of subtrees) and search
(errors by margin). With data: tree, with the intervals of every leaf; intervals (the default for
other models), with predictions and, with --range, predicted ranges; dependence and quantiles, over
--feature; survival, of the first rows; roc and calibration.

Example:
  marginwood plot tree.mw --out tree.svg
  marginwood plot tree.mw train.csv --out tree.png
  marginwood plot model.mw test.csv --kind intervals --range 0.9 --out ranges.png
  marginwood plot forest.mw train.csv --kind dependence --feature depth --out depth.png
"""

from __future__ import annotations

import argparse
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from marginwood import plotting
from marginwood._categories import categorical_columns
from marginwood._cli.data import Data, add_data, add_target, read_data_for
from marginwood._cli.errors import UsageError
from marginwood._cli.models import count, decimals
from marginwood._cli.predict import REMEDIES, level
from marginwood._cli.tables import polars
from marginwood._fitted import Fitted, read
from marginwood._persistence import load_with_header
from marginwood._support.files import check_place, write_whole
from marginwood.plotting._canvas import make_log, name_columns
from marginwood.plotting._curves import MOST_NAMED

FORMATS = ("png", "svg", "pdf")
DPI = 150

log = logging.getLogger("marginwood")


class Picture(NamedTuple):
    """What there is to draw: the model, the rows, if there are any, their predictions, and the options."""

    model: Any
    fitted: Fitted
    data: Data | None
    prediction: Any
    args: argparse.Namespace

    @property
    def rows(self) -> Data:
        """The rows, of a kind of picture that needs them."""
        if self.data is None:
            raise UsageError(f"--kind {self.args.kind} needs data: marginwood plot MODEL DATA")
        return self.data

    @property
    def target(self) -> str:
        """What the target is called, by the columns that hold it."""
        options = self.rows.target
        return name_columns(
            [options[name] for name in ("time", "value", "lower", "upper") if name in options]
        )

    def features(self, most: int | None = None) -> list[int]:
        """Places of the features that the options name, up to so many."""
        names = self.args.feature or []
        unknown = [name for name in names if name not in self.rows.names]
        if unknown or not names or (most is not None and len(names) > most):
            count = "one feature" if most == 1 else "features"
            raise UsageError(
                f"--feature: expected {count} among {', '.join(self.rows.names[:20])}; got {names}"
            )
        return [self.rows.names.index(name) for name in names]

    def number(self) -> int:
        """Place of the only feature that the options name, which must hold numbers."""
        (place,) = self.features(most=1)
        if place in categorical_columns(self.rows.X):
            got = f"got {self.rows.names[place]!r}, which holds categories; --kind dependence draws those"
            raise UsageError(
                f"--feature: --kind {self.args.kind} expected a column of numbers, {got}"
            )
        return place

    def needs(self, what: str) -> None:
        """Raise unless the model predicts distributions or the like."""
        if not self.fitted.predicts(what):
            missing = (
                f"{self.fitted.name} does not predict {'an' if what == 'interval' else 'a'} {what}"
            )
            raise UsageError(f"--kind {self.args.kind}: {missing}; {REMEDIES[what]}")


def _draw_tree(picture: Picture) -> Any:
    args = picture.args
    X, y = (None, None) if picture.data is None else (picture.data.X, picture.data.y)
    return plotting.plot_tree(picture.model, X, y, max_depth=args.max_depth, decimals=args.decimals)


def _draw_intervals(picture: Picture) -> Any:
    rows = picture.rows
    args = picture.args
    ranges = x = None
    if args.range:
        picture.needs("interval")
        ranges = picture.fitted.predict("interval", rows.X, args.range)
    if args.feature:
        place = picture.number()
        x = polars().Series(rows.names[place], rows.X[:, place])
    axes = plotting.plot_intervals(rows.y, picture.prediction, ranges=ranges, x=x)
    axes.set_ylabel(picture.target, parse_math=False)
    if picture.fitted.is_of_logarithm:
        make_log(axes, "y")
    return axes


def _draw_dependence(picture: Picture) -> Any:
    return plotting.plot_partial_dependence(picture.model, picture.rows.X, picture.features())


def _draw_survival(picture: Picture) -> Any:
    picture.needs("survival_function")
    axes = plotting.plot_survival(picture.model, picture.rows.X[:MOST_NAMED])
    axes.set_xlabel(picture.target, parse_math=False)
    return axes


def _draw_quantiles(picture: Picture) -> Any:
    picture.needs("quantile")
    place = picture.number()
    axes = plotting.plot_quantiles(picture.model, picture.rows.X, place, y=picture.rows.y)
    axes.set_ylabel(picture.target, parse_math=False)
    return axes


def _draw_calibration(picture: Picture) -> Any:
    picture.needs("distribution")
    return plotting.plot_calibration(
        picture.rows.y, picture.fitted.predict("distribution", picture.rows.X)
    )


# What --kind may be.
KINDS: dict[str, Callable[[Picture], Any]] = {
    "tree": _draw_tree,
    "importances": lambda picture: plotting.plot_importances(picture.model),
    "pruning": lambda picture: plotting.plot_pruning_path(picture.model),
    "search": lambda picture: plotting.plot_margin_heatmap(picture.model),
    "intervals": _draw_intervals,
    "dependence": _draw_dependence,
    "survival": _draw_survival,
    "quantiles": _draw_quantiles,
    "roc": lambda picture: plotting.plot_roc(picture.rows.y, picture.prediction),
    "calibration": _draw_calibration,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    add_data(parser, optional=True)
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="file to write: .png, .svg or .pdf"
    )
    parser.add_argument(
        "--kind", choices=list(KINDS), help="what to draw (default: tree, or intervals)"
    )
    parser.add_argument(
        "--feature", metavar="COL", nargs="+", action="extend", help="features to draw over"
    )
    parser.add_argument(
        "--range", metavar="LEVEL", type=level, help="confidence of the ranges to draw"
    )
    parser.add_argument(
        "--max-depth", metavar="N", type=count, help="cut the drawing of a tree below this depth"
    )
    parser.add_argument(
        "--decimals",
        metavar="N",
        type=decimals,
        default=2,
        help="digits after the point (default: 2)",
    )
    add_target(parser)


def check_picture(out: str) -> str:
    """The format of a picture by the name of its file, which can be written."""
    suffix = Path(out).suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise UsageError(f"--out: expected a file that ends in {', '.join(FORMATS)}, got {out}")
    check_place(out)
    return suffix


def run(args: argparse.Namespace) -> None:
    """Read, draw, write."""
    suffix = check_picture(args.out)
    model, header = load_with_header(args.model)
    fitted = read(model)
    args.kind = args.kind or ("tree" if fitted.tree is not None else "intervals")
    data = prediction = None
    if args.data is not None:
        data = read_data_for(args, model, header)
        prediction = model.predict(data.X)
    axes = KINDS[args.kind](Picture(model, fitted, data, prediction, args))
    buffer = io.BytesIO()
    figure = axes.figure if hasattr(axes, "figure") else axes.figure_
    figure.savefig(buffer, format=suffix, dpi=DPI)
    write_whole(args.out, buffer.getvalue())
    log.info("%s: written", args.out)
