"""Command line of the paper's experiments."""

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

# Before NumPy is imported: every process runs on one thread.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

from benchmarks.paper import accuracy, figures, functions, moves, report
from benchmarks.paper.data import data_sets
from benchmarks.paper.methods import METHODS, quick_methods


class Extent(NamedTuple):
    """How much is done; None for all."""

    n_sets: int | None
    n_folds: int | None
    n_margins: int
    n_features: int | None
    sizes: tuple[int, ...]
    repeats: int


FULL = Extent(
    None, None, 7, None, tuple(round(10 ** (exponent / 2)) for exponent in range(6, 15)), 3
)
QUICK = Extent(5, 2, 3, 5, (10**3, 10**4, 10**5), 2)


def experiments(extent, methods, folder, directory):
    """Name, table and pieces of every experiment."""
    chosen = data_sets(directory)
    small = chosen[: extent.n_sets]
    return {
        "moves": (
            moves.moves_table(folder),
            moves.moves_pieces(small, extent.n_margins, extent.n_features),
        ),
        "solver": (
            moves.solver_table(folder),
            moves.solver_pieces(chosen, extent.sizes, extent.repeats),
        ),
        "functions": (functions.table(folder), functions.pieces(methods)),
        "accuracy": (accuracy.table(folder), accuracy.pieces(small, methods, extent.n_folds)),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="The experiments of the paper. Run it again to go on where it stopped.",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("MARGINWOOD_DATA"),
        help="directory of data sets (default: $MARGINWOOD_DATA, else simulations and scikit-learn's regressions)",
    )
    parser.add_argument(
        "--out", type=Path, help="directory for csv files and figures (default: build/paper)"
    )
    parser.add_argument(
        "--only", choices=("moves", "solver", "functions", "accuracy"), help="one experiment"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of processes, of one thread each (default: 1)"
    )
    parser.add_argument(
        "--folds", type=int, help="how many folds of each data set to test on (default: all)"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="the methods to run (default: all)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small data sets and coarse tuning: to see that all runs",
    )
    parser.add_argument(
        "--draw", action="store_true", help="run nothing: figures and tables of what is done"
    )
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs: expected an integer of at least 1, got {options.jobs}")
    if options.folds is not None and options.folds < 1:
        parser.error(f"--folds: expected an integer of at least 1, got {options.folds}")
    extent, methods = (QUICK, quick_methods()) if options.quick else (FULL, METHODS)
    if options.methods:
        unknown = [name for name in options.methods if name not in methods]
        if unknown:
            parser.error(f"--methods: expected some of {list(methods)}, got {unknown}")
        methods = {name: methods[name] for name in options.methods}
    extent = extent._replace(n_folds=options.folds or extent.n_folds)
    folder = options.out or Path("build/paper-quick" if options.quick else "build/paper")
    directory = Path(options.data) if options.data else None
    planned = experiments(extent, methods, folder, directory)
    lines = {}
    for name, (table, pieces) in planned.items():
        if not options.draw and options.only in (None, name):
            table.run(pieces, options.jobs)
        lines[name] = list(table.read(pieces).values())
    figures.draw(lines, methods, folder)
    report.write(lines["accuracy"], folder)
    print(f"csv files and figures: {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
