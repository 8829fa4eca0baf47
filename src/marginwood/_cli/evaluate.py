"""Score a model on data whose intervals are known, beside the best constant for these data.

Errors are distances from predictions to intervals, 0 inside. D2 is the share of the constant's squared error that
the model saves. The target's columns are those of the training data, unless others are named.

Example:
  marginwood evaluate tree.mw test.csv
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from marginwood._cli.data import Data, add_data, add_target, read_data
from marginwood._persistence import load_with_header
from marginwood.intervals import FloatArray, censoring_kind
from marginwood.losses import optimal_constant
from marginwood.metrics import (
    interval_accuracy,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)

METRICS = {
    "MSE": interval_mean_squared_error,
    "MAE": interval_mean_absolute_error,
    "inside": interval_accuracy,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="file of a model")
    add_data(parser)
    add_target(parser)


def run(args: argparse.Namespace) -> None:
    """Read, predict, print the table."""
    model, header = load_with_header(args.model)
    args.features, args.drop = header["feature_names"], []
    is_pipeline = header["estimator"] == "Pipeline"
    data = read_data(args, default_target=header["notes"].get("target"), encodes_text=is_pipeline)
    for line in score_lines(data, model):
        print(line)


def score_lines(data: Data, model: Any) -> list[str]:
    """A header, a line for all rows and one per kind of censoring."""
    prediction = model.predict(data.X)
    constant = np.full(len(data.y), optimal_constant(data.y).value)
    kinds = censoring_kind(data.y)
    lines = [f"{'':14}{'rows':>9}" + "".join(f"{name:>12}{'constant':>12}" for name in METRICS) + f"{'D2':>9}"]
    groups = {"all": np.full(len(kinds), True)} | {kind: kinds == kind for kind in np.unique(kinds).tolist()}
    for name, rows in groups.items():
        cells = _cells(data.y[rows], prediction[rows], constant[rows])
        d2 = f"{interval_d2_score(data.y, prediction):9.3f}" if name == "all" else ""
        lines.append(f"{name:14}{rows.sum():9d}{cells}{d2}")
    return lines


def _cells(y: FloatArray, prediction: FloatArray, constant: FloatArray) -> str:
    cells = [metric(y, values) for metric in METRICS.values() for values in (prediction, constant)]
    return "".join(f"{cell:12.4g}" for cell in cells)
