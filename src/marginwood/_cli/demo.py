"""Train a tree on simulated data with the commands fit, show and evaluate, and draw it.

Example:
  marginwood demo --out demo.png
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from marginwood._cli import evaluate, fit, show
from marginwood._cli.errors import DataError
from marginwood._cli.tables import write_table
from marginwood._persistence import load
from marginwood._support.extras import install_hint
from marginwood._support.files import write_whole
from marginwood.datasets import make_sine
from marginwood.intervals import FloatArray
from marginwood.plotting import plot_intervals

TREE = "#c8442f"
SIGNAL = "#444444"
STEPS = (
    (fit, "fit train.csv --lower lower --upper upper --margin 0.2 --max-depth 4 --out tree.mw"),
    (show, "show tree.mw"),
    (evaluate, "evaluate tree.mw train.csv"),
    (evaluate, "evaluate tree.mw test.csv"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--out", metavar="FILE", default="demo.png", help="picture (default: demo.png)"
    )


def run(args: argparse.Namespace) -> None:
    """Simulate, run the commands in a folder that is removed at the end, draw."""
    out = Path(args.out).resolve()
    with TemporaryDirectory(prefix="marginwood-demo-") as folder, contextlib.chdir(folder):
        for seed, name in enumerate(("train.csv", "test.csv")):
            X, y = make_sine(random_state=seed)
            columns = {f"x{idx}": X[:, idx] for idx in range(X.shape[1])} | {
                "lower": y[:, 0],
                "upper": y[:, 1],
            }
            write_table(name, columns)
        for module, command in STEPS:
            print(f"\n$ marginwood {command}", flush=True)
            parser = argparse.ArgumentParser()
            module.add_arguments(parser)
            module.run(parser.parse_args(command.split()[1:], argparse.Namespace(quiet=True)))
        picture = _draw(load("tree.mw"), *make_sine(random_state=0))
    write_whole(out, picture)
    logging.getLogger("marginwood").info("\npicture saved as %s", args.out)


def _draw(tree: Any, X: FloatArray, y: FloatArray) -> bytes:
    """The intervals against the first feature, and the tree with the other features at their medians."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError(f"the picture needs matplotlib: {install_hint('plot')}") from None
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = plot_intervals(y, x=X[:, 0], ax=figure.subplots())
    grid = np.tile(np.median(X, axis=0), (2000, 1))
    grid[:, 0] = np.linspace(0, 10, len(grid))
    axes.plot(
        grid[:, 0],
        np.sin(grid[:, 0]),
        color=SIGNAL,
        linewidth=1.2,
        linestyle="--",
        label="signal: sin(x)",
    )
    axes.plot(
        grid[:, 0],
        tree.predict(grid),
        color=TREE,
        linewidth=2.4,
        label="tree",
        drawstyle="steps-mid",
    )
    axes.set(xlim=(-0.1, 10.1), xlabel="first feature (the other 19 at their medians for the tree)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Intervals to learn from and the tree learned", loc="left", fontsize=11)
    axes.legend(frameon=False, ncols=4, loc="upper right")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150, format="png")
    return buffer.getvalue()
