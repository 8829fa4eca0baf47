"""The command line of an experiment that is run by itself."""

import argparse
from pathlib import Path


def run_alone(arguments, description, count, make_table, make_pieces):
    """Run an experiment; returns the folder of its files and the lines of its table.

    `count` is the one number that it can be given: flag, default and help.
    """
    flag, default, what = count
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/paper"),
        help="directory for the csv file and the figure",
    )
    parser.add_argument(flag, dest="count", type=int, default=default, help=what)
    options = parser.parse_args(arguments)
    table = make_table(options.out)
    pieces = make_pieces(options.count)
    table.run(pieces, 1)
    return options.out, list(table.read(pieces).values())
