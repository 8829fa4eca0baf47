"""How a model's error depends on what was chosen: curves over trees and parameters, and what a search tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._base import BLOCK, own_d2
from marginwood._drawing import surface_levels, survey
from marginwood._fitted import Ensemble, Fitted, Search, read
from marginwood._trees.bagging import aggregate
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import hinge_loss
from marginwood.report._plain import number, numbers

__all__ = ["candidates", "error_curves", "search_surface"]

N_POINTS = 50  # of a curve over the trees of an ensemble
N_CANDIDATES = 50  # in the table of candidates
WIDE = 100.0  # an axis that spans more than this factor is logarithmic
UNITS = {
    "linear_hinge": "mean distance to the interval",
    "squared_hinge": "mean squared distance to the interval",
}


def error_curves(fitted: Fitted, X: FloatArray, y: FloatArray) -> list[dict[str, Any]]:
    """Lines of an error over the trees of an ensemble, and over the path of a search."""
    curves = []
    ensemble = fitted.ensemble
    if ensemble is not None and fitted.tree is None:
        curves.append(_ensemble_curve(fitted, ensemble, X, y))
    if fitted.search is not None:
        curves += _search_curve(fitted.search)
    return curves


def _ensemble_curve(fitted: Fitted, ensemble: Ensemble, X: FloatArray, y: FloatArray) -> Any:
    """The error of the first trees: on these rows, out of bag if they are the training rows, and as training saw it."""
    model, quantile = fitted.estimator, fitted.quantile
    counts = np.unique(np.geomspace(1, len(ensemble.trees), N_POINTS).round().astype(np.int64))
    loss = _loss_of(model)
    rules = {"loss": loss, "quantile": quantile or 0.5}
    lines = [_line("these data", counts, _errors_of_first(ensemble, counts, X, y, rules))]
    drawn = _drawn_rows(model, y)
    if drawn is not None:
        errors = _errors_of_first(ensemble, counts, X, y, rules, drawn)
        known = ~np.isnan(errors)
        lines.append(_line("out of bag", counts[known], errors[known]))
    is_ours = hasattr(model, "train_score_")  # XGBoost validates without the margin
    validation = "validation, with margin" if is_ours else "validation"
    for name, attribute in (
        ("training, with margin", "train_score_"),
        (validation, "validation_score_"),
    ):
        scores = getattr(model, attribute, ())
        if len(scores):
            lines.append(_line(name, np.arange(len(scores)) + 1, scores))
    x = "stages" if ensemble.aggregation == "sum" else "trees"
    unit = UNITS[loss] if quantile is None else f"mean loss of the quantile {quantile:g}"
    return _curve(x, unit, lines, len(ensemble.trees))


def _loss_of(model: Any) -> str:
    """The loss that an ensemble has, or all models in it; squared distances, as in D2, if there is no such."""
    models = (
        [model]
        if hasattr(model, "loss")
        else [read(member).estimator for member in model.estimators_]
    )
    losses = [getattr(part, "loss", None) for part in models]
    known = [loss for loss in UNITS if all(loss == other for other in losses)]
    return known[0] if known else "squared_hinge"


def _errors_of_first(
    ensemble: Ensemble,
    counts: IntArray,
    X: FloatArray,
    y: FloatArray,
    rules: dict[str, Any],
    drawn: BoolArray | None = None,
) -> FloatArray:
    """The mean loss of the first trees, as many as each count says; with `drawn`, by trees that did not draw a row."""
    trees, aggregation, init = ensemble
    total = np.zeros(len(counts))
    n_rows = np.zeros(len(counts))
    for start in range(0, len(X), BLOCK):
        rows = slice(start, start + BLOCK)
        predictions = np.array([tree.predict(X[rows]) for tree in trees])
        sums = init + np.cumsum(predictions, axis=0)
        for place, count in enumerate(counts):
            prediction = sums[count - 1]
            if aggregation != "sum":
                absent = False if drawn is None else drawn[:count, rows]
                prediction = aggregate(predictions[:count].copy(), absent, aggregation)
            known = ~np.isnan(prediction)
            total[place] += hinge_loss(y[rows][known], prediction[known], **rules).sum()
            n_rows[place] += known.sum()
    with np.errstate(invalid="ignore"):
        return total / n_rows


def _drawn_rows(model: Any, y: FloatArray) -> BoolArray | None:
    """Which rows each tree drew, of shape (n_estimators, n_rows); None unless y gives the out-of-bag score again."""
    predicted = getattr(model, "oob_prediction_", None)
    if predicted is None or len(predicted) != len(y):
        return None
    known = ~np.isnan(predicted)
    if not known.any() or not np.isclose(
        own_d2(model, y[known], predicted[known], None), model.oob_score_
    ):
        return None
    drawn = np.zeros((len(model.estimators_), len(y)), np.bool_)
    for tree, rows in zip(drawn, model.estimators_samples_, strict=True):
        tree[rows] = True
    return drawn


def _search_curve(search: Search) -> list[dict[str, Any]]:
    """The mean over the folds along the parameter with most values, the others being those that were chosen."""
    name = search.longest()
    if name is None:
        return []
    x = search.numbers(name)
    chosen = search.best_index
    rows = search.beside(name)
    if "n_leaves" in search.results and not np.isfinite(x[rows]).all():
        # No axis has a place for an infinite alpha; the size of the tree says the same.
        name = "leaves"
        x = np.asarray(search.results["n_leaves"], np.float64)
    rows = rows[np.isfinite(x[rows]) & np.isfinite(search.errors[rows])]
    rows = rows[np.argsort(x[rows], kind="stable")]
    if len(rows) < 2:
        return []
    least, most = x[rows[0]], x[rows[-1]]
    is_wide = 0 < least < most / WIDE
    name_of_line = f"mean over {search.n_splits} folds" if search.n_splits > 1 else search.what
    lines = [_line(name_of_line, x[rows], search.errors[rows])]
    return [_curve(name, search.what, lines, x[chosen], log_x=bool(is_wide))]


def _line(name: str, x: Any, y: Any) -> dict[str, Any]:
    return {"name": name, "x": numbers(x), "y": numbers(y)}


def _curve(
    x: str, y: str, lines: list[dict[str, Any]], chosen: float, *, log_x: bool = False
) -> dict[str, Any]:
    return {"x": x, "y": y, "lines": lines, "chosen": number(chosen), "log_x": log_x}


def search_surface(search: Search | None) -> dict[str, Any] | None:
    """Scores by loss, margin and the path of a search, on levels that all margins share.

    Parameters beside these are as they were chosen.
    """
    if search is None or "margin" not in search.varied:
        return None
    path = search.longest("margin")
    if path is None or path not in search.varied:
        return None
    shown = search.beside("loss", "margin", path)
    level = search.numbers(path)
    losses = search.parameters.get("loss")
    levels = surface_levels(level[shown])
    parts = []
    chosen = {}
    for loss in [None] if losses is None else dict.fromkeys(losses[shown]):
        rows = shown if losses is None else shown[losses[shown] == loss]
        surface = survey(search, rows, level, levels)
        name = "" if loss is None else str(loss)
        parts.append(
            {"loss": name, "margins": numbers(surface.margins)}
            | _cells(search, level, surface.candidates)
        )
        if surface.chosen is not None:
            chosen = {"loss": name, "row": surface.chosen[0], "column": surface.chosen[1]}
    return {"level": path, "losses": parts, "chosen": chosen} | _scoring(search)


def _cells(search: Search, level: FloatArray, idx: IntArray) -> dict[str, Any]:
    """Error, spread, level and, where they are known, leaves of candidates; NaN where there is none."""
    columns = {"error": search.errors, "std": search.results["std_test_score"], "level": level}
    if "n_leaves" in search.results:
        columns["leaves"] = search.results["n_leaves"]
    cells = {
        name: np.where(idx < 0, np.nan, np.asarray(column)[idx]) for name, column in columns.items()
    }
    return {name: [numbers(row) for row in rows] for name, rows in cells.items()}


def candidates(search: Search | None, *, has_surface: bool) -> dict[str, Any] | None:
    """The best candidate of each combination of parameters beside the one with most values, the best first.

    None if there is but one combination, or if a surface shows all of them.
    """
    if search is None:
        return None
    path = search.longest()
    others = [name for name in search.varied if name != path]
    if not others or (has_surface and not set(others) - {"loss", "margin"}):
        return None
    parameters = search.parameters
    errors = search.errors
    order = np.argsort(
        np.where(np.isnan(errors), np.inf, errors if search.is_error else -errors), kind="stable"
    )
    best_of: dict[tuple[str, ...], int] = {}
    for idx in [search.best_index, *order.tolist()]:  # the chosen one need not have the least error
        best_of.setdefault(tuple(str(parameters[name][idx]) for name in others), idx)
    rows = list(best_of.values())[:N_CANDIDATES]
    names = [name for name in search.varied if name in others or name == path]
    return {
        "names": names,
        "rows": [[_show(parameters[name][idx]) for name in names] for idx in rows],
        "errors": numbers(errors[rows]),
        "n_more": len(best_of) - len(rows),
    } | _scoring(search)


def _show(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _scoring(search: Search) -> dict[str, Any]:
    return {"scoring": search.what, "is_error": search.is_error, "folds": search.n_splits}
