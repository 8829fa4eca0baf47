"""The models of ``--model``, the estimators behind them, and their options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib.util import find_spec
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from marginwood._baselines.dummy import IntervalDummyRegressor
from marginwood._cli.errors import UsageError
from marginwood._ensemble.distributional_superlearner import DistributionalSuperLearner
from marginwood._ensemble.residuals import DistributionalIntervalRegressor
from marginwood._ensemble.superlearner import IntervalSuperLearner
from marginwood._ensemble.transformed import TransformedIntervalRegressor
from marginwood._fitted import parts_of
from marginwood._linear.l1 import L1IntervalRegression
from marginwood._support.threads import run_in_threads
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.estimator import IntervalSearchCV
from marginwood.conformal import ConformalIntervalRegressor
from marginwood.conformal._distances import MODES
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import LOSSES
from marginwood.xgb import XGBIntervalRegressor

__all__ = [
    "MODELS",
    "NEUTRAL",
    "N_FOLDS",
    "add_model",
    "add_wrappers",
    "available_models",
    "check_groups",
    "count",
    "decimals",
    "fit_model",
    "given_options",
    "inner_verbosity",
    "jobs",
    "make_model",
    "make_tuned",
    "name_features",
    "takes_folds",
    "wrap",
]

# Options that models without threads or random draws may be given.
NEUTRAL = {"n_jobs", "random_state"}
# Most stages of a model that stops when rows held out get no better, and for how many stages it
# waits.
N_FOLDS = 5
MOST_STAGES = 2000
PATIENCE = 20


class Model(NamedTuple):
    """A choice of ``--model``: what `fit` trains, and how `tune` chooses its parameters.

    A search tries values of those that are `searched`, unless the user sets them; `grid` stands in
    the place of its own values. Without a search the estimator chooses for itself, with these
    defaults.
    """

    estimator: type[Any]
    searched: tuple[str, ...] = ()
    grid: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    defaults: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    library: str = "sklearn"


# The one table of models; XGBoost is tuned by stopping early.
MODELS: dict[str, Model] = {
    "tree": Model(MaxMarginIntervalTree, ("loss", "margin", "ccp_alpha")),
    "forest": Model(MaxMarginIntervalForest, ("loss", "margin")),
    # A search over all losses and margins takes minutes where the others take seconds.
    "boosting": Model(
        MaxMarginIntervalBoosting,
        ("loss", "margin", "max_depth", "max_features"),
        {"loss": ["squared_hinge"], "margin": 3},
    ),
    "linear": Model(L1IntervalRegression, ("margin", "alpha")),
    "xgb": Model(
        XGBIntervalRegressor,
        defaults={"n_estimators": MOST_STAGES, "n_iter_no_change": PATIENCE},
        library="xgboost",
    ),
    "constant": Model(IntervalDummyRegressor),
    "auto": Model(IntervalSuperLearner),
    "curves": Model(DistributionalSuperLearner),
}
MIXTURES = ("auto", "curves")


MODEL_HELP = (
    "what to train (default: tree); auto is a mixture of all models, curves one of predicted distributions, whose "
    "medians do not suffer from rows that are open on one side"
)


class Option(NamedTuple):
    """An option of the command line that is a parameter of some models."""

    flag: str
    kind: Callable[[str], Any]
    what: str


def _number(least: float, most: float = np.inf, *, above: bool = False) -> Callable[[str], float]:
    """A parser of finite numbers in a range."""

    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= most or np.isinf(value) or (above and value == least):
            sign = ">" if above else ">="
            upper = f" and <= {most:g}" if np.isfinite(most) else ""
            raise argparse.ArgumentTypeError(
                f"expected a number {sign} {least:g}{upper}, got {text}"
            )
        return value

    return number


def count(text: str) -> int:
    """A whole number >= 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 1, got {text}")
    return value


def decimals(text: str) -> int:
    """A whole number >= 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 0, got {text}")
    return value


def seed(text: str) -> int:
    """A whole number that NumPy's generators take."""
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 0 and < 2^32, got {text}")
    return value


def count_or_share(text: str) -> int | float:
    """A whole number >= 1, or a share of all."""
    if text.isdigit():
        return count(text)
    return _number(0, 1, above=True)(text)


def features_to_try(text: str) -> int | float | str:
    """A count, a share, or the name of a rule."""
    return text if text in ("sqrt", "log2") else count_or_share(text)


def jobs(text: str) -> int:
    """A number of threads: a whole number, -1 for all processors; more than there are would wait for each other."""
    value = int(text)
    if value == 0:
        raise argparse.ArgumentTypeError(
            "expected a number of threads, or -1 for one per processor, got 0"
        )
    return min(value, os.cpu_count() or 1)


OPTIONS = {
    "margin": Option("--margin", _number(0), "how far inside its interval a prediction should lie"),
    "quantile": Option("--quantile", _number(0, 1), "which quantile the linear hinge predicts"),
    "max_depth": Option("--max-depth", count, "depth of the trees"),
    "min_samples_leaf": Option(
        "--min-samples-leaf", count_or_share, "fewest rows of a leaf, or a share of all"
    ),
    "min_samples_split": Option(
        "--min-samples-split", count_or_share, "fewest rows of a node that is split"
    ),
    "max_leaf_nodes": Option("--max-leaf-nodes", count, "most leaves of a tree"),
    "max_features": Option(
        "--max-features", features_to_try, "features tried per node: a count, a share, sqrt, log2"
    ),
    "ccp_alpha": Option("--ccp-alpha", _number(0), "cost of a leaf in pruning"),
    "n_estimators": Option(
        "--n-estimators", count, "number of trees of a forest, or of stages of boosting and xgb"
    ),
    "learning_rate": Option(
        "--learning-rate", _number(0, above=True), "factor of each stage of boosting"
    ),
    "subsample": Option(
        "--subsample", _number(0, 1, above=True), "share of the rows that each stage draws"
    ),
    "alpha": Option("--alpha", _number(0, above=True), "L1 penalty of the linear model"),
    "max_bin": Option("--max-bin", count, "bins of a feature, for xgb (default: 256)"),
    "device": Option("--device", str, "where XGBoost trains: cpu, or cuda for a GPU"),
    "time_limit": Option(
        "--time-limit",
        _number(0, above=True),
        "seconds after which auto trains no further models (default: no limit)",
    ),
    "random_state": Option("--seed", seed, "seed of all random draws (default: 0)"),
    "n_jobs": Option("--n-jobs", jobs, "number of threads, -1 for one per processor (default: 1)"),
}


def add_model(parser: argparse.ArgumentParser) -> None:
    """--model and the parameters of all models."""
    group = parser.add_argument_group("model")
    group.add_argument("--model", choices=list(MODELS), default="tree", help=MODEL_HELP)
    group.add_argument("--loss", choices=LOSSES, help="distance to the interval, or its square")
    for name, option in OPTIONS.items():
        group.add_argument(option.flag, dest=name, type=option.kind, metavar="N", help=option.what)


def add_wrappers(parser: argparse.ArgumentParser) -> None:
    """Options that put something around the model."""
    group = parser.add_argument_group("more than a number")
    group.add_argument(
        "--log",
        action="store_true",
        help="learn the logarithm of the target; the target itself is predicted",
    )
    group.add_argument(
        "--distribution",
        action="store_true",
        help="learn how errors are distributed, for --quantiles and --survival",
    )
    group.add_argument(
        "--ranges",
        choices=MODES,
        help="calibrate ranges for predict --range: they contain or meet intervals, or bound them from below or above",
    )


def inner_verbosity(args: argparse.Namespace) -> int:
    """Whether a model shows its progress: not if there is one for each fold of something around it."""
    return int(not (args.quiet or args.distribution or args.ranges))


def wrap(model: Any, args: argparse.Namespace, cv: Any) -> Any:
    """The model within what the options ask for; a logarithm is outermost, so that ranges are factors."""
    if args.distribution and args.ranges:
        raise UsageError("--distribution and --ranges: expected one of them")
    if args.distribution and isinstance(model, DistributionalSuperLearner):
        raise UsageError("--distribution: --model curves learns distributions itself")
    if args.distribution:
        model = DistributionalIntervalRegressor(
            model, cv=cv, n_jobs=args.n_jobs, verbose=int(not args.quiet)
        )
    if args.ranges:
        is_forest = isinstance(
            model, MaxMarginIntervalForest
        )  # it has rows that its trees did not see
        model = ConformalIntervalRegressor(
            model,
            mode=args.ranges,
            method="oob" if is_forest else "cv",
            cv=cv,
            n_jobs=args.n_jobs,
            random_state=args.random_state or 0,
        )
    return TransformedIntervalRegressor(model, func="log") if args.log else model


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """Parameters that the user set, by the names that estimators have for them."""
    values = {name: getattr(args, name, None) for name in ("loss", *OPTIONS)}
    return {name: value for name, value in values.items() if value is not None}


def available_models() -> list[str]:
    """The models whose libraries are installed."""
    return [
        name for name, model in MODELS.items() if name not in MIXTURES and find_spec(model.library)
    ]


def takes_folds(name: str) -> bool:
    """Whether a model chooses its parameters by folds, which may keep groups whole."""
    model = MODELS[name]
    tuned = IntervalSearchCV if model.searched else model.estimator
    return "cv" in signature(tuned).parameters and "groups" in signature(tuned.fit).parameters


def check_groups(args: argparse.Namespace, groups: IntArray | None, n_folds: int) -> None:
    """Raise if there are fewer groups than folds that keep them whole."""
    n_groups = n_folds if groups is None else len(np.unique(groups))
    if n_groups < n_folds:
        advice = (
            f"; --cv {n_groups} makes fewer folds" if hasattr(args, "cv") and n_groups > 1 else ""
        )
        expected = f"at least {n_folds} groups, one per fold"
        raise UsageError(
            f"--groups: expected {expected}, got {n_groups} in {args.groups!r}{advice}"
        )


def make_model(name: str, options: dict[str, Any], **defaults: Any) -> Any:
    """The estimator of a model with the user's options."""
    return _make(name, MODELS[name].estimator, options, defaults)


def make_tuned(name: str, options: dict[str, Any], **defaults: Any) -> Any:
    """The estimator that chooses a model's parameters; what the user sets is not searched."""
    model = MODELS[name]
    if not model.searched:
        return _make(name, model.estimator, options, defaults | model.defaults)
    of_search = {
        key: options[key] for key in options.keys() & signature(IntervalSearchCV).parameters
    }
    fixed = {key: [options[key]] for key in options.keys() & set(model.searched)}
    others = {key: value for key, value in options.items() if key not in of_search | fixed}
    estimator = _make(name, model.estimator, others, {"random_state": None})
    wanted = {"random_state": 0} | defaults | of_search
    return IntervalSearchCV(estimator, model.grid | fixed, **wanted)


def _make(name: str, cls: type[Any], options: dict[str, Any], defaults: dict[str, Any]) -> Any:
    """An estimator with options; one that it does not have is bad usage, unless it changes no model."""
    known = signature(cls).parameters
    unknown = [option for option in options if option not in known.keys() | NEUTRAL]
    if unknown:
        flags = [OPTIONS[option].flag if option in OPTIONS else f"--{option}" for option in unknown]
        raise UsageError(f"{', '.join(flags)} cannot be set for this command with --model {name}")
    wanted = {"random_state": 0} | defaults | options
    return cls(**{key: value for key, value in wanted.items() if key in known})


def fit_model(model: Any, X: FloatArray, y: FloatArray, names: list[str], **columns: Any) -> Any:
    """Fit a model, with feature names, such that Ctrl-C stops it at once; columns are further arguments, or None."""
    given = {name: column for name, column in columns.items() if column is not None}
    # From few rows these two are grown in the thread that calls them.
    is_plain = isinstance(model, MaxMarginIntervalTree | MaxMarginIntervalBoosting)
    if hasattr(model, "n_jobs") and not is_plain:
        model.fit(X, y, **given)
    else:  # a kernel cannot be interrupted in this thread
        list(run_in_threads(lambda _: model.fit(X, y, **given), [0]))
    return name_features(model, names)


def name_features(model: Any, names: list[str]) -> Any:
    """Tell a model, and those inside it that see the same features, what these are called."""
    model.feature_names_in_ = np.array(names, dtype=object)
    for part in parts_of(model):
        name_features(part, names)
    return model
