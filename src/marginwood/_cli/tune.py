"""Train a model that chooses its own parameters, and save it.

A tree chooses its loss, margin and pruning, boosting its margin and stages, and a linear model its
penalty, by cross-validation; a forest chooses its loss and margin by out-of-bag error; xgb stops
when rows held out get no better; auto weighs all of them, and curves weighs distributions that
linear models and forests predict. What is set is not searched. A tree with a teacher learns from
what a forest, or auto, predicts of rows that it has not seen.

Example:
  marginwood tune train.csv --lower low --upper high --cv 10 --selection 1se --n-jobs -1 --out
  tree.mw
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from typing import Any

from sklearn.model_selection import GroupKFold

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
    NEUTRAL,
    add_model,
    add_wrappers,
    check_groups,
    count,
    fit_model,
    given_options,
    inner_verbosity,
    make_model,
    make_tuned,
    takes_folds,
    wrap,
)
from marginwood._ensemble.taught import TaughtRegressor
from marginwood._persistence import save
from marginwood._support.files import check_place
from marginwood.metrics import SCORERS

TEACHERS = ("forest", "auto")  # models that have predictions of rows that they have not seen

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_data(parser)
    parser.add_argument("--out", metavar="MODEL", required=True, help="file to save the model to")
    tuning = parser.add_argument_group("tuning")
    tuning.add_argument(
        "--cv",
        metavar="N",
        type=count,
        help="number of folds (default: 5; for a tree dealt out three times)",
    )
    tuning.add_argument(
        "--selection", choices=["min", "1se"], help="least error, or the simplest model near it"
    )
    tuning.add_argument(
        "--scoring",
        choices=list(SCORERS),
        help="what to maximise (default: minus the interval MSE, or the pinball loss of a quantile)",
    )
    tuning.add_argument(
        "--checkpoint", metavar="FILE", help="journal from which a run that was stopped goes on"
    )
    tuning.add_argument(
        "--teacher", choices=TEACHERS, help="a better model that a tree learns from"
    )
    add_target(parser)
    add_features(parser)
    add_categories(parser)
    add_rows(parser)
    add_model(parser)
    add_wrappers(parser)


def run(args: argparse.Namespace) -> None:
    """Read, tune, save."""
    if args.checkpoint and (args.distribution or args.ranges):
        raise UsageError(
            "--checkpoint belongs to one search, and --distribution and --ranges tune once per fold"
        )
    chosen = {
        name: getattr(args, name)
        for name in ("cv", "selection", "scoring", "checkpoint")
        if getattr(args, name)
    }
    cv = GroupKFold(args.cv or N_FOLDS) if args.groups else args.cv or N_FOLDS
    if args.groups and not takes_folds(args.model):
        raise UsageError(f"--groups cannot be set for --model {args.model}, which has no folds")
    if args.groups:
        chosen["cv"] = cv
    tuned = make_tuned(args.model, given_options(args) | chosen, verbose=inner_verbosity(args))
    model = wrap(_with_teacher(tuned, args, cv), args, cv)
    check_place(args.out)
    data = read_data(args, model)
    check_groups(args, data.groups, args.cv or N_FOLDS)
    model = fit_model(
        model, data.X, data.y, data.names, sample_weight=data.weight, groups=data.groups
    )
    save(model, args.out, notes=data.notes())
    log.info("%s", "; ".join([f"{args.out}: saved", *describe_choice(model)]))


def _with_teacher(model: Any, args: argparse.Namespace, cv: Any) -> Any:
    """The model, or what learns it from a teacher, if there is one."""
    if not args.teacher:
        return model
    if args.model != "tree":
        raise UsageError(f"--teacher cannot be set for this command with --model {args.model}")
    drawn = {name: value for name, value in given_options(args).items() if name in NEUTRAL}
    teacher = make_model(args.teacher, drawn, cv=cv, verbose=inner_verbosity(args))
    return TaughtRegressor(model, teacher)


def describe_choice(model: Any) -> Iterator[str]:
    """What a tuned model chose, or the weights of a mixture, in a line; no line of a model that chose nothing."""
    model = getattr(model, "regressor_", model)  # of the logarithm
    what = "chosen"
    chosen = getattr(model, "best_params_", {})
    if hasattr(model, "weights_"):
        what = "weights"
        chosen = {name: weight for name, weight in model.weights_.items() if weight > 0}
    elif not chosen and getattr(model, "n_iter_no_change", None) is not None:
        chosen = {"n_estimators": model.n_estimators_}
    words = [
        f"{name} {f'{value:.4g}' if isinstance(value, int | float) else value}"
        for name, value in chosen.items()
    ]
    if words:
        yield f"{what}: {', '.join(words)}"
