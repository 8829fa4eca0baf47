"""What a report says, as one dictionary that is ready for JSON. All numbers come from the model and the metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from marginwood._categories import (
    Categories,
    categorical_columns,
    count_categories,
    encode_features,
    find_categories,
    list_indicators,
)
from marginwood._ends import as_written, read_sides
from marginwood._fitted import Fitted, read
from marginwood._version import __version__
from marginwood.intervals import FloatArray, IntArray, check_informative, check_intervals
from marginwood.losses import hinge_loss
from marginwood.metrics import error_table
from marginwood.metrics._summary import has_many_open, score_quantile, summarise
from marginwood.metrics._tables import ErrorTable
from marginwood.report._curves import leaf_curves, predicted_ranges, survival_curves
from marginwood.report._plain import number, numbers
from marginwood.report._trees import node_tables
from marginwood.report._tuning import candidates, error_curves, search_surface
from marginwood.report._warnings import find_warnings

__all__ = ["describe"]

MAX_ROWS = 2000
MAX_CELLS = 200_000  # feature values of these rows
N_WORST = 10
N_FEATURES = 200  # in the table of features


def describe(model: Any, X: Any, y: Any, row_names: Any = None) -> dict[str, Any]:
    """The whole content of a report on a fitted model and data with known intervals."""
    fitted = read(model)
    prediction = np.asarray(
        model.predict(X), np.float64
    )  # X as it came: a frame's names are checked here
    given = fitted.after_steps(X)
    X, categories = _as_numbers(fitted, X)
    y = check_intervals(y)
    if len(X) != len(y):
        raise ValueError(
            f"X and y: expected the same number of rows, got {len(X)} in X and {len(y)} in y."
        )
    if not np.isfinite(y).any():
        check_informative(y)  # it raises
    ensemble = fitted.ensemble
    trees = [] if ensemble is None else ensemble.trees
    tables = node_tables(trees)
    names = fitted.feature_names()
    surface = search_surface(fitted.search)
    split_on = sorted({feature for table in tables for feature in table["feature"] if feature >= 0})
    errors = error_table(y, prediction)
    error = hinge_loss(y, prediction, loss="linear_hinge")
    worst = np.argsort(-error, kind="stable")[:N_WORST]
    kept, spaced = _kept_rows(len(y), len(split_on), worst)
    is_log = fitted.is_of_logarithm and bool(np.any((y > 0) & np.isfinite(y)))
    distribution = None
    if fitted.predicts("distribution"):
        distribution = fitted.estimator.predict_distribution(_safe_indexing(given, kept))
    return {
        "version": __version__,
        "model": fitted.name,
        "outcome": fitted.value_name("prediction"),
        "parameters": _parameters(fitted),
        "adds_up": ensemble is not None and ensemble.aggregation == "sum" and fitted.tree is None,
        "features": names,
        "categories": fitted.categories,
        "n_rows": len(y),
        "scores": _scores(errors),
        "kinds": _kinds(errors),
        "has_many_open": has_many_open(y),
        "more_scores": _more_scores(fitted, y, prediction, distribution, kept, spaced),
        "importances": _importances(fitted.estimator),
        "feature_table": _feature_table(fitted.estimator, X, categories),
        "target": _target_summary(y) | {"is_log": is_log},
        "n_trees": len(trees),
        "trees": tables,
        "saw_missing": np.flatnonzero(trees[0].saw_missing).tolist() if trees else [],
        "rows": _rows(X, y, prediction, error, split_on, kept)
        | {"worst": worst[error[worst] > 0].tolist(), "name": _row_names(row_names, len(y), kept)},
        "ranges": predicted_ranges(fitted, given, y, kept),
        "survival": survival_curves(distribution, y, is_log=is_log),
        "leaf_curves": {} if fitted.tree is None else leaf_curves(fitted.tree, X, y, is_log=is_log),
        "curves": error_curves(fitted, X, y),
        "surface": surface,
        "candidates": candidates(fitted.search, has_surface=surface is not None),
        "warnings": find_warnings(fitted, tables, X, y, names),
    }


def _as_numbers(fitted: Fitted, X: Any) -> tuple[FloatArray, Categories | None]:
    """X as the estimator sees it, with codes for categories, and the categories of all features."""
    shown = fitted.after_steps(X)
    if fitted.ensemble is not None or not hasattr(shown, "columns"):
        return fitted.transform(X), fitted.categories
    categories = fitted.categories
    if (
        categories is None
    ):  # a column of words is encoded inside, since the model has predicted from it
        words = [idx for idx, name in enumerate(shown.columns) if not _holds_numbers(shown[name])]
        categories = find_categories(shown, sorted({*words, *categorical_columns(shown)}))
    return encode_features(shown, categories or [None] * len(shown.columns)), categories


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _parameters(fitted: Fitted) -> dict[str, str]:
    """Parameters as text, those that a search chose first."""
    chosen = dict(getattr(fitted.own, "best_params_", {}))
    if hasattr(fitted.estimator, "oob_score_"):
        chosen["out-of-bag D2"] = round(float(fitted.estimator.oob_score_), 4)
    given = {
        name: value
        for name, value in fitted.own.get_params(deep=False).items()
        if name not in chosen
    }
    return {name: str(value) for name, value in (chosen | given).items()}


def _scores(errors: ErrorTable) -> dict[str, Any]:
    """D2, and each metric of the model and of the best constant."""
    pairs = {
        name: [float(errors.scores[name][0]), float(errors.constant_scores[name][0])]
        for name in errors.scores
    }
    return {"d2": errors.d2, **pairs}


def _kinds(errors: ErrorTable) -> list[dict[str, Any]]:
    """Metrics by kind of censoring, for the kinds that occur."""
    return [
        {"kind": group, "rows": int(errors.n_rows[place])}
        | {name: float(values[place]) for name, values in errors.scores.items()}
        for place, group in enumerate(errors.groups)
        if place
    ]


def _more_scores(
    fitted: Fitted,
    y: FloatArray,
    prediction: FloatArray,
    distribution: Any,
    kept: IntArray,
    spaced: IntArray,
) -> dict[str, Any]:
    """Scores of the ranking of all rows and of a quantile, and of the distributions of evenly spaced rows."""
    scores = summarise(y, prediction)
    if distribution is not None:
        places = np.searchsorted(kept, spaced)
        scores += summarise(y[spaced], prediction[spaced], distribution[places])[len(scores) :]
    if fitted.quantile is not None:
        scores.append(score_quantile(y, prediction, fitted.quantile))
    return {
        "scores": [
            {name: "" if value is None else value for name, value in score._asdict().items()}
            for score in scores
        ],
        "n_rows": len(spaced),
    }


def _importance_values(model: Any) -> FloatArray | None:
    """Of every feature, its importance or weight; of categories the largest weight."""
    values = getattr(model, "coef_", getattr(model, "feature_importances_", None))
    categories = getattr(model, "categories_", None)
    if categories is None or not hasattr(model, "coef_"):
        return None if values is None else np.asarray(values, np.float64)
    largest = np.zeros(len(categories))
    for (idx, _), weight in zip(list_indicators(categories), model.coef_, strict=False):
        if abs(weight) > abs(largest[idx]):
            largest[idx] = weight
    return largest


def _importances(model: Any) -> dict[str, Any] | None:
    """Features by importance, or by the size of their weight, without those at 0."""
    values = _importance_values(model)
    if values is None:
        return None
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    name = "weights" if hasattr(model, "coef_") else "importances"
    return {"name": name, "feature": order.tolist(), "value": numbers(values[order])}


def _feature_table(model: Any, X: FloatArray, categories: Categories | None) -> dict[str, Any]:
    """Missing and infinite values and the range, or the number of categories, of the most important features."""
    values = _importance_values(model)
    order = np.arange(X.shape[1]) if values is None else np.argsort(-np.abs(values), kind="stable")
    order = order[:N_FEATURES]
    n_categories = count_categories(categories)
    finite = np.isfinite(X[:, order])
    return {
        "feature": order.tolist(),
        "categories": [0] * len(order) if n_categories is None else n_categories[order].tolist(),
        "missing": np.isnan(X[:, order]).sum(axis=0).tolist(),
        "infinite": np.isinf(X[:, order]).sum(axis=0).tolist(),
        "low": numbers(np.where(finite, X[:, order], np.inf).min(axis=0)),
        "high": numbers(np.where(finite, X[:, order], -np.inf).max(axis=0)),
    }


def _target_summary(y: FloatArray) -> dict[str, Any]:
    limits = as_written(y[np.isfinite(y)])
    width = y[:, 1] - y[:, 0]
    width = width[np.isfinite(width) & (width > 0)]
    return {
        "low": number(limits.min()) if len(limits) else None,
        "high": number(limits.max()) if len(limits) else None,
        "width": number(np.median(width)) if len(width) else None,
    }


def _kept_rows(n_rows: int, n_features: int, worst: IntArray) -> tuple[IntArray, IntArray]:
    """The rows that the page holds: all, or evenly spaced ones and the worst; and the evenly spaced ones alone."""
    n_kept = min(n_rows, MAX_ROWS, max(1, MAX_CELLS // max(1, n_features)))
    spaced = np.linspace(0, n_rows - 1, n_kept).round().astype(np.int64)
    return (np.union1d(spaced, worst) if n_kept < n_rows else spaced), spaced


def _row_names(names: Any, n_rows: int, kept: IntArray) -> list[str]:
    """Names of the rows that the page holds; none if they have none."""
    if names is None:
        return []
    if len(names) != n_rows:
        raise ValueError(f"row_names: expected {n_rows} names, one per row of X, got {len(names)}.")
    return [str(names[row]) for row in kept.tolist()]


def _rows(
    X: FloatArray,
    y: FloatArray,
    prediction: FloatArray,
    error: FloatArray,
    split_on: list[int],
    kept: IntArray,
) -> dict[str, Any]:
    """Columns of the rows that the page holds."""
    ends, closed = read_sides(y[kept])
    return {
        "row": kept.tolist(),
        "lower": numbers(ends[:, 0]),
        "upper": numbers(ends[:, 1]),
        "closed": closed.tolist(),
        "prediction": numbers(prediction[kept]),
        "error": numbers(error[kept]),
        "values": {str(feature): numbers(X[kept, feature]) for feature in split_on},
    }
