"""Train a model with given parameters and save it.

Example:
  marginwood fit train.csv --lower low --upper high --margin 0.5 --out tree.mw marginwood fit
  patients.csv --time days --event died --drop id --model forest --out forest.mw marginwood fit
  large.parquet --lower low --upper high --model xgb --chunk-rows 1000000 --out model.mw
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

from sklearn.model_selection import GroupKFold

from marginwood._cli.chunks import add_chunks, fit_chunks
from marginwood._cli.data import (
    add_categories,
    add_data,
    add_features,
    add_rows,
    add_target,
    read_data,
)
from marginwood._cli.errors import UsageError
from marginwood._cli.models import (
    N_FOLDS,
    add_model,
    add_wrappers,
    check_groups,
    fit_model,
    given_options,
    inner_verbosity,
    make_model,
    wrap,
)
from marginwood._ensemble.distributional_superlearner import DistributionalSuperLearner
from marginwood._ensemble.residuals import DistributionalIntervalRegressor
from marginwood._persistence import save
from marginwood._support.files import check_place

MEDIANS = "; medians are not made for D2: marginwood evaluate scores the distributions"

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_data(parser)
    parser.add_argument("--out", metavar="MODEL", required=True, help="file to save the model to")
    add_target(parser)
    add_features(parser)
    add_categories(parser)
    add_rows(parser)
    add_chunks(parser)
    add_model(parser)
    add_wrappers(parser)


def run(args: argparse.Namespace) -> None:
    """Read, train, save."""
    if args.groups and not (args.distribution or args.ranges):
        raise UsageError(
            "--groups matter to folds: use them with --distribution or --ranges, or with marginwood tune"
        )
    cv = GroupKFold(N_FOLDS) if args.groups else N_FOLDS
    model = wrap(
        make_model(args.model, given_options(args), verbose=inner_verbosity(args)), args, cv
    )
    check_place(args.out)
    if args.chunk_rows is not None:
        model, notes = fit_chunks(model, args)
        save(model, args.out, notes=notes)
        log.info("%s: saved", args.out)
        return
    data = read_data(args, model)
    check_groups(args, data.groups, N_FOLDS)
    model = fit_model(
        model, data.X, data.y, data.names, sample_weight=data.weight, groups=data.groups
    )
    save(model, args.out, notes=data.notes())
    score = model.score(data.X, data.y, sample_weight=data.weight)
    log.info(
        "%s: saved, D2 on the training data %.3f%s",
        args.out,
        score,
        MEDIANS if predicts_medians(model) else "",
    )


def predicts_medians(model: Any) -> bool:
    """Whether predictions are medians, whose D2 may be negative for a good model."""
    inner = getattr(model, "regressor_", model)  # of the logarithm
    return isinstance(inner, DistributionalIntervalRegressor | DistributionalSuperLearner)
