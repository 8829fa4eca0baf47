"""Score a model on data whose intervals are known, beside the best constant for these data.

Errors are distances from predictions to intervals, 0 inside. D2 is the share of the constant's
squared error that the model saves. The concordance index is the share of pairs of rows that are
predicted in the right order, the AUC that of the target-interval ROC. A model that predicts
distributions is scored by them, too, beside the estimate of Turnbull (of Kaplan and Meier, if rows
are right-censored) for these data: of log loss, CRPS and integrated Brier score, less is better,
and a small p-value of D-calibration says that probabilities are wrong. Where a quarter of the rows
or more are open above, these scores come first: distances say little there. Of a model that predicts
ranges it is said how many intervals they contain and meet. The target's columns are those of the
training data, unless others are named.

Example:
  marginwood evaluate tree.mw test.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from marginwood._cli.data import add_data, add_target, read_data_for
from marginwood._fitted import read
from marginwood._persistence import load_with_header
from marginwood.metrics import error_table, interval_coverage
from marginwood.metrics._summary import Score, has_many_open, summarise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    add_data(parser)
    add_target(parser)
    parser.add_argument("--weight", metavar="COL", help="column of weights for the table of errors")


def run(args: argparse.Namespace) -> None:
    """Read, predict, print the tables."""
    model, header = load_with_header(args.model)
    data = read_data_for(args, model, header)
    fitted = read(model)
    prediction = model.predict(data.X)
    errors = str(error_table(data.y, prediction, sample_weight=data.weight))
    distribution = (
        fitted.predict("distribution", data.X) if fitted.predicts("distribution") else None
    )
    scores = "\n".join(score_lines(summarise(data.y, prediction, distribution)))
    print(*((scores, errors) if has_many_open(data.y) else (errors, scores)), sep="\n\n")
    if fitted.predicts("interval"):
        coverage = interval_coverage(data.y, fitted.predict("interval", data.X))
        print(
            f"\nranges contain {coverage.contain_rate:.1%} of the intervals, and meet {coverage.meet_rate:.1%}"
        )


def score_lines(scores: list[Score]) -> Iterator[str]:
    """A header, and a line per score."""
    yield f"{'':23}{'model':>12}{'constant':>12}"
    for score in scores:
        values = [score.model, score.constant]
        cells = "".join(f"{'-' if value is None else f'{value:.4g}':>12}" for value in values)
        yield f"{score.name:23}{cells}{f'  not defined: {score.reason}' if score.reason else ''}"
