"""What a report says, as one dictionary that is ready for JSON. All numbers come from the model and the metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._fitted import Fitted, read
from marginwood._trees.table import IntervalTree
from marginwood._version import __version__
from marginwood.intervals import (
    CENSORING_KINDS,
    FloatArray,
    censoring_kind,
    check_informative,
    check_intervals,
)
from marginwood.losses import hinge_loss, optimal_constant
from marginwood.metrics import (
    interval_accuracy,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.report._plain import number, numbers
from marginwood.report._trees import node_tables
from marginwood.report._tuning import candidates, error_curves, search_surface

__all__ = ["describe"]

MAX_ROWS = 2000
MAX_CELLS = 200_000  # feature values of these rows
N_WORST = 10
N_FEATURES = 200  # in the table of features

SCORES = {
    "mse": interval_mean_squared_error,
    "mae": interval_mean_absolute_error,
    "inside": interval_accuracy,
}


def describe(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """The whole content of a report on a fitted model and data with known intervals."""
    fitted = read(model)
    prediction = np.asarray(model.predict(X), np.float64)  # X as it came: a frame's names are checked here
    X, words = _as_numbers(fitted, X)
    y = check_intervals(y)
    if len(X) != len(y):
        raise ValueError(f"X and y: expected the same number of rows, got {len(X)} in X and {len(y)} in y.")
    if not np.isfinite(y).any():
        check_informative(y)  # it raises
    ensemble = fitted.ensemble
    trees = [] if ensemble is None else ensemble.trees
    tables = node_tables(trees)
    names = fitted.feature_names()
    surface = search_surface(fitted.search)
    split_on = sorted({feature for table in tables for feature in table["feature"] if feature >= 0})
    return {
        "version": __version__,
        "model": fitted.name,
        "parameters": _parameters(fitted),
        "adds_up": ensemble is not None and ensemble.aggregation == "sum" and fitted.tree is None,
        "features": names,
        "n_rows": len(y),
        "scores": _scores(y, prediction),
        "kinds": _kinds(y, prediction),
        "importances": _importances(fitted.estimator),
        "feature_table": _feature_table(fitted.estimator, X, words),
        "target": _target_summary(y),
        "n_trees": len(trees),
        "trees": tables,
        "saw_missing": np.flatnonzero(trees[0].saw_missing).tolist() if trees else [],
        "rows": _rows(X, y, prediction, split_on),
        "curves": error_curves(fitted, X, y),
        "surface": surface,
        "candidates": candidates(fitted.search, has_surface=surface is not None),
        "warnings": _step_notes(fitted) + _warnings(trees, tables, X, y, names),
    }


def _as_numbers(fitted: Fitted, X: Any) -> tuple[FloatArray, list[int]]:
    """X as the estimator sees it, and its columns of words, which become NaN; a tree sees none."""
    shown = fitted.after_steps(X)
    if fitted.ensemble is not None or not hasattr(shown, "columns"):
        return fitted.transform(X), []
    columns, words = np.full((len(shown), len(shown.columns)), np.nan), []
    for idx, name in enumerate(shown.columns):
        try:
            columns[:, idx] = np.asarray(shown[name], dtype=np.float64)
        except (TypeError, ValueError):  # the model has predicted from it, so it encodes words inside
            words.append(idx)
    return columns, words


def _parameters(fitted: Fitted) -> dict[str, str]:
    """Parameters as text, those that a search chose first."""
    chosen = dict(getattr(fitted.own, "best_params_", {}))
    if hasattr(fitted.estimator, "oob_score_"):
        chosen["out-of-bag D2"] = round(float(fitted.estimator.oob_score_), 4)
    given = {name: value for name, value in fitted.own.get_params(deep=False).items() if name not in chosen}
    return {name: str(value) for name, value in (chosen | given).items()}


def _step_notes(fitted: Fitted) -> list[str]:
    """Says that features are not columns of the data, where steps change them."""
    if not fitted.steps:
        return []
    steps = ", then ".join(fitted.step_names)
    return [f"The features on this page are what the model sees: the columns of the data after {steps}."]


def _scores(y: FloatArray, prediction: FloatArray) -> dict[str, Any]:
    """D2, and each metric of the model and of the best constant."""
    constant = np.full(len(y), optimal_constant(y).value)
    pairs = {name: [metric(y, prediction), metric(y, constant)] for name, metric in SCORES.items()}
    return {"d2": interval_d2_score(y, prediction), **pairs}


def _kinds(y: FloatArray, prediction: FloatArray) -> list[dict[str, Any]]:
    """Metrics by kind of censoring, for the kinds that occur."""
    kind = censoring_kind(y)
    groups = [(name, kind == name) for name in CENSORING_KINDS if (kind == name).any()]
    return [
        {"kind": name, "rows": int(rows.sum())}
        | {score: metric(y[rows], prediction[rows]) for score, metric in SCORES.items()}
        for name, rows in groups
    ]


def _importance_values(model: Any) -> FloatArray | None:
    values = getattr(model, "coef_", getattr(model, "feature_importances_", None))
    return None if values is None else np.asarray(values, np.float64)


def _importances(model: Any) -> dict[str, Any] | None:
    """Features by importance, or by the size of their weight, without those at 0."""
    values = _importance_values(model)
    if values is None:
        return None
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    name = "weights" if hasattr(model, "coef_") else "importances"
    return {"name": name, "feature": order.tolist(), "value": numbers(values[order])}


def _feature_table(model: Any, X: FloatArray, words: list[int]) -> dict[str, Any]:
    """Missing and infinite values and the range of the most important features that are numbers."""
    values = _importance_values(model)
    order = np.arange(X.shape[1]) if values is None else np.argsort(-np.abs(values), kind="stable")
    order = order[~np.isin(order, words)][:N_FEATURES]
    finite = np.isfinite(X[:, order])
    return {
        "feature": order.tolist(),
        "missing": np.isnan(X[:, order]).sum(axis=0).tolist(),
        "infinite": np.isinf(X[:, order]).sum(axis=0).tolist(),
        "low": numbers(np.where(finite, X[:, order], np.inf).min(axis=0)),
        "high": numbers(np.where(finite, X[:, order], -np.inf).max(axis=0)),
    }


def _target_summary(y: FloatArray) -> dict[str, Any]:
    limits, width = y[np.isfinite(y)], y[:, 1] - y[:, 0]
    width = width[np.isfinite(width) & (width > 0)]
    return {
        "low": number(limits.min()) if len(limits) else None,
        "high": number(limits.max()) if len(limits) else None,
        "width": number(np.median(width)) if len(width) else None,
    }


def _rows(X: FloatArray, y: FloatArray, prediction: FloatArray, split_on: list[int]) -> dict[str, Any]:
    """The rows that the page holds: all, or evenly spaced ones and those of the largest errors."""
    error = hinge_loss(y, prediction, loss="linear_hinge")
    worst = np.argsort(-error, kind="stable")[:N_WORST]
    n_kept = min(len(X), MAX_ROWS, max(1, MAX_CELLS // max(1, len(split_on))))
    kept = np.linspace(0, len(X) - 1, n_kept).round().astype(np.int64)
    if n_kept < len(X):
        kept = np.union1d(kept, worst)
    return {
        "row": kept.tolist(),
        "lower": numbers(y[kept, 0]),
        "upper": numbers(y[kept, 1]),
        "prediction": numbers(prediction[kept]),
        "error": numbers(error[kept]),
        "worst": worst[error[worst] > 0].tolist(),
        "values": {str(feature): numbers(X[kept, feature]) for feature in split_on},
    }


def _warnings(
    trees: list[IntervalTree], tables: list[dict[str, Any]], X: FloatArray, y: FloatArray, names: list[str]
) -> list[str]:
    """What a reader should know before trusting the rest."""
    found = []
    n_open = int((~np.isfinite(y).any(axis=1)).sum())
    if n_open:
        found.append(
            f"{n_open} of {len(y)} rows are (-inf, inf): they say nothing about the target, and any prediction of them "
            "counts as right."
        )
    if np.isinf(X).any():
        found.append(f"There are infinities in {_name_columns(np.isinf(X).any(axis=0), names)}.")
    if trees:
        surprising = np.isnan(X).any(axis=0) & ~trees[0].saw_missing
        if surprising.any():
            found.append(
                f"There are missing values in {_name_columns(surprising, names)}, and none in training: such "
                "rows go to the side of a split that held more training rows."
            )
    if len(trees) == 1:
        found += _tree_warnings(trees[0], len(y))
    n_nodes = len(tables[0]["id"]) if tables else 0
    if tables and n_nodes < trees[0].node_count:
        found.append(f"This page holds the top {n_nodes} of the {trees[0].node_count} nodes of the tree.")
    if len(tables) < len(trees):
        found.append(f"This page holds the first {len(tables)} of {len(trees)} trees.")
    return found


def _tree_warnings(tree: IntervalTree, n_rows: int) -> list[str]:
    found = []
    leaves = tree.nodes[tree.nodes["children_left"] == LEAF]
    one_sided = np.isinf(leaves["value_low"]) != np.isinf(leaves["value_high"])
    if one_sided.any():
        found.append(
            f"{one_sided.sum()} of {len(leaves)} leaves are one-sided: their training rows bound the prediction from "
            "one side only, so it is the nearest value that satisfies them, not a centre."
        )
    unbounded = np.isinf(leaves["value_low"]) & np.isinf(leaves["value_high"])
    if unbounded.any():
        found.append(
            f"{unbounded.sum()} of {len(leaves)} leaves have no limit at all and predict what their parent does."
        )
    used = np.unique(tree.feature[tree.feature >= 0])
    if len(used) < tree.n_features:
        found.append(f"The tree splits on {len(used)} of {tree.n_features} features; the others are never used.")
    if tree.n_node_samples[0] == n_rows:
        found.append(
            f"The model was trained on {n_rows} rows, as many as there are here. If they are the same, its scores "
            "flatter it."
        )
    return found


def _name_columns(columns: Any, names: list[str]) -> str:
    """The names of up to five features."""
    chosen = [names[idx] for idx in np.flatnonzero(columns)[:5]]
    n_more = int(columns.sum()) - len(chosen)
    return ", ".join(chosen) + (f" and {n_more} more" if n_more else "")
