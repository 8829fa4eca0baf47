"""Command line of the benchmarks."""

import argparse
import os
import platform
import sys
from importlib.metadata import version
from itertools import chain
from pathlib import Path

# Before NumPy is imported: everything runs on one thread.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

from benchmarks.report import print_table, write_csv
from benchmarks.works import WORKS, Settings


def _progress(rows):
    for row in rows:
        print(f"{row.work}: {row.ratio:.3g}", file=sys.stderr, flush=True)
        yield row


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Ratios, best of several, on one thread."
    )
    parser.add_argument("--only", default=",".join(WORKS), help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="best of how many (default: 5)")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, once: to see that all runs"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/benchmark.csv"),
        help="csv to write (default: %(default)s)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("MARGINWOOD_DATA"),
        help="directory of data sets for tune (default: $MARGINWOOD_DATA, else simulations)",
    )
    options = parser.parse_args()
    names = options.only.split(",")
    if not set(names) <= set(WORKS):
        parser.error(f"--only: expected some of {','.join(WORKS)}, got {options.only}")
    quick = options.quick
    settings = Settings(1 if quick else options.repeats, 10 if quick else 1, options.data)
    write_csv(_progress(chain.from_iterable(WORKS[name](settings) for name in names)), options.out)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scikit-learn"))
    print(f"Python {platform.python_version()}, {libraries}, {platform.machine()}\n")
    print_table(options.out)


if __name__ == "__main__":
    main()
