"""Compare tree, forest, boosting, linear model, XGBoost and constant on your data by cross-validation.

Each model is tuned on the training folds, as by marginwood tune. Where a quarter of the rows or
more are open above, the concordance index and the CRPS of models that predict distributions come
first (--models forest curves). If the data are a folder with a
folds.csv, these are the folds. --groups are kept whole in all other folds, those of tuning
included. Prints a table and saves a picture.

Example:
  marginwood benchmark train.csv --lower low --upper high --cv 5 --out benchmark.png
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing

from marginwood._categories import categorical_columns
from marginwood._cli.data import (
    Data,
    add_categories,
    add_data,
    add_features,
    add_rows,
    add_target,
    read_data,
    takes_categories,
)
from marginwood._cli.errors import DataError
from marginwood._cli.models import (
    MODELS,
    N_FOLDS,
    available_models,
    count,
    fit_model,
    jobs,
    make_model,
    make_tuned,
    takes_folds,
)
from marginwood._ensemble.transformed import TransformedIntervalRegressor
from marginwood._fitted import read
from marginwood._resampling.splitters import CensoringStratifiedKFold
from marginwood._support.extras import install_hint
from marginwood._support.files import check_place, write_whole
from marginwood._tuning.selection import spread
from marginwood.intervals import FloatArray
from marginwood.metrics import (
    interval_accuracy,
    interval_concordance_index,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.metrics._scorers import interval_crps_between_limits
from marginwood.metrics._summary import has_many_open

METRICS: dict[str, Callable[..., float]] = {
    "MSE": interval_mean_squared_error,
    "MAE": interval_mean_absolute_error,
    "inside": interval_accuracy,
    "D2": interval_d2_score,
}
# In front of them where many rows are open above.
RANKING = "concordance"
CRPS = "CRPS"

log = logging.getLogger("marginwood")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_data(parser)
    parser.add_argument(
        "--models",
        nargs="+",
        choices=list(MODELS),
        help="what to compare (default: all but mixtures)",
    )
    parser.add_argument(
        "--cv", metavar="N", type=count, help="number of folds (default: folds.csv, or 5)"
    )
    parser.add_argument(
        "--out", metavar="FILE", default="benchmark.png", help="picture (default: benchmark.png)"
    )
    parser.add_argument(
        "--log",
        action="store_true",
        help="learn the logarithm of the target; scores are of the target itself",
    )
    parser.add_argument(
        "--n-jobs", metavar="N", type=jobs, help="number of threads, -1 for one per processor"
    )
    add_target(parser)
    add_features(parser)
    add_categories(parser)
    add_rows(parser)


def run(args: argparse.Namespace) -> None:
    """Read, score every model on every fold, print the table, save the picture."""
    check_place(args.out)
    data = read_data(args, make_model("tree", {}))
    models = _models(data, args.models)
    splits = _splits(data, args.cv)
    names = [*METRICS, "seconds"]
    if has_many_open(data.y):
        names = [RANKING, CRPS, *names]
    results = {
        name: _score(name, data, splits, args.n_jobs, names, is_log=args.log) for name in models
    }
    print(f"{'':10}" + "".join(f"{name:>12}" for name in [names[0], "+-", *names[1:]]))
    for model, scores in results.items():
        mean = scores.mean(axis=0)
        error = spread(scores[:, 0], ddof=1) / np.sqrt(len(scores))
        cells = [mean[0], error, *mean[1:]]
        shown = ["-" if np.isnan(cell) else f"{cell:.4g}" for cell in cells]
        print(f"{model:10}" + "".join(f"{cell:>12}" for cell in shown))
    if importlib.util.find_spec("matplotlib") is None:
        log.warning("no picture: it needs matplotlib (%s)", install_hint("plot"))
        return
    first = {name: scores[:, 0] for name, scores in results.items()}
    write_whole(args.out, _draw(first, names[0], args.out))
    log.info("picture saved as %s", args.out)


def _splits(data: Data, n_folds: int | None) -> list[Any]:
    """Rows to train on and to test on, for each fold."""
    if n_folds is None and data.folds is not None:
        numbers = np.unique(data.folds)
        if len(numbers) < 2:
            raise DataError(f"{data.source}: folds.csv has a single fold")
        return [
            (np.flatnonzero(data.folds != fold), np.flatnonzero(data.folds == fold))
            for fold in numbers
        ]
    rows = np.empty((len(data.y), 0))
    if data.groups is None:
        return list(CensoringStratifiedKFold(n_folds or N_FOLDS).split(rows, data.y))
    folds = GroupKFold(n_folds) if n_folds else _group_folds(data.source, data.groups)
    return list(folds.split(rows, data.y, data.groups))


def _models(data: Data, chosen: list[str] | None) -> list[str]:
    """The models to compare: the chosen ones, or all that take the features."""
    models = chosen or available_models()
    columns = [data.names[idx] for idx in categorical_columns(data.X)]
    # A constant never looks at the features.
    numbers = [
        name for name in models if name != "constant" and not takes_categories(make_tuned(name, {}))
    ]
    refused = numbers if columns else []
    if not refused:
        return models
    reason = f"{', '.join(refused)} cannot use categories ({', '.join(columns)})"
    if chosen:
        raise DataError(
            f"{data.source}: {reason}; leave {refused[0]} out of --models, or columns out by --drop"
        )
    log.warning("%s: %s; left out", data.source, reason)
    return [name for name in models if name not in refused]


def _score(
    name: str,
    data: Data,
    splits: list[Any],
    n_jobs: int | None,
    names: list[str],
    *,
    is_log: bool,
) -> FloatArray:
    """Scores of a model and the seconds of its training, by these names, one row per fold."""
    scores = np.empty((len(splits), len(names)))
    X = np.zeros((len(data.y), len(data.names))) if name == "constant" else data.X
    by_groups = data.groups is not None and takes_folds(name)
    for fold, (train, test) in enumerate(splits):
        columns = {"sample_weight": data.weight, "groups": data.groups if by_groups else None}
        given = {key: column[train] for key, column in columns.items() if column is not None}
        chosen = {"cv": _group_folds(data.source, given["groups"])} if by_groups else {}
        model = make_tuned(name, chosen, n_jobs=n_jobs)
        model = TransformedIntervalRegressor(model, func="log") if is_log else model
        start = time.perf_counter()
        fit_model(model, _safe_indexing(X, train), data.y[train], data.names, **given)
        seconds = time.perf_counter() - start
        weight = None if data.weight is None else data.weight[test]
        found = _score_fold(model, _safe_indexing(X, test), data.y[test], weight, names)
        scores[fold] = [*found, seconds]
        first = names[0], scores[fold, 0]
        log.info("%s: fold %d of %d, %s %.4g", name, fold + 1, len(splits), *first)
    return scores


def _score_fold(
    model: Any, X: Any, y: FloatArray, weight: FloatArray | None, names: list[str]
) -> list[float]:
    """The scores of these names, but for the last, the seconds; NaN where a model has none."""
    prediction = model.predict(X)
    found = {name: metric(y, prediction, sample_weight=weight) for name, metric in METRICS.items()}
    if RANKING in names:
        found[RANKING] = interval_concordance_index(y, prediction, sample_weight=weight)
        fitted = read(model)
        found[CRPS] = np.nan
        if fitted.predicts("distribution"):
            curves = fitted.predict("distribution", X)
            found[CRPS] = interval_crps_between_limits(y, curves, sample_weight=weight)
    return [found[name] for name in names[:-1]]


def _group_folds(source: str, groups: Any) -> GroupKFold:
    """Folds that keep groups whole, as many as there can be."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise DataError(
            f"{source}: --groups: expected at least two groups in the rows to split, got one"
        )
    return GroupKFold(min(N_FOLDS, n_groups))


def _draw(errors: dict[str, FloatArray], score: str, path: str) -> bytes:
    """A picture of the first score: a dot per fold, a bar at the mean."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1 + 0.5 * len(errors)), layout="constrained")
    axes = figure.subplots()
    for place, values in enumerate(errors.values()):
        axes.plot(values, np.full(len(values), place), "o", color="#7a9cc6", alpha=0.8)
        axes.plot(values.mean(), place, "|", color="#c8442f", markersize=22, markeredgewidth=2.5)
    axes.set_yticks(range(len(errors)), list(errors))
    if score == RANKING:
        what = "concordance index on test folds (dots) and its mean (bars); more is better"
    else:
        axes.set_xlim(left=0)
        what = "interval MSE on test folds (dots) and its mean (bars); less is better"
    axes.set_ylim(len(errors) - 0.5, -0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(what)
    buffer = io.BytesIO()
    suffix = path.rpartition(".")[2]
    known = suffix in figure.canvas.get_supported_filetypes()
    figure.savefig(buffer, dpi=mpl.rcParams["figure.dpi"] * 1.5, format=suffix if known else "png")
    return buffer.getvalue()
