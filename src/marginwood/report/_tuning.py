"""How a model's error depends on what was chosen: curves over trees, stages and penalties, and the CV surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._base import BLOCK
from marginwood._trees.bagging import aggregate
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._tuning.surface import make_surface, surface_levels
from marginwood._tuning.tree import MaxMarginIntervalTreeCV
from marginwood.intervals import FloatArray
from marginwood.losses import hinge_loss
from marginwood.metrics import interval_d2_score, interval_hinge_loss
from marginwood.report._plain import number, numbers

__all__ = ["candidates", "cv_surface", "error_curve"]

N_POINTS = 50  # of a curve over the trees of a forest
UNITS = {"linear_hinge": "mean distance to the interval", "squared_hinge": "mean squared distance to the interval"}


def error_curve(model: Any, X: FloatArray, y: FloatArray) -> dict[str, Any] | None:
    """Lines of an error over trees, stages or penalties; `chosen` is where the model stands."""
    if isinstance(model, MaxMarginIntervalForest):
        return _forest_curve(model, X, y)
    if isinstance(model, MaxMarginIntervalBoosting):
        return _boosting_curve(model, X, y)
    if hasattr(model, "mse_path_"):
        alphas = np.asarray(model.alphas_)
        line = _line("mean over the folds", alphas[alphas > 0], model.mse_path_.mean(axis=1)[alphas > 0])
        return _curve("alpha", UNITS["squared_hinge"], [line], model.alpha_, log_x=True)
    return None


def _forest_curve(forest: MaxMarginIntervalForest, X: FloatArray, y: FloatArray) -> dict[str, Any]:
    """The interval MSE of the first trees, on these rows and, if they are the training rows, out of bag."""
    n_trees = len(forest.estimators_)
    counts = np.unique(np.geomspace(1, n_trees, N_POINTS).round().astype(np.int64))
    drawn = _drawn_rows(forest, y)
    total, oob_total, n_oob = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    for start in range(0, len(X), BLOCK):
        rows = slice(start, start + BLOCK)
        predictions = np.array([tree.tree_.predict(X[rows]) for tree in forest.estimators_])
        for place, count in enumerate(counts):
            first = aggregate(predictions[:count].copy(), False, forest.aggregation)
            total[place] += hinge_loss(y[rows], first).sum()
            if drawn is not None:
                first = aggregate(predictions[:count].copy(), drawn[:count, rows], forest.aggregation)
                known = ~np.isnan(first)
                oob_total[place] += hinge_loss(y[rows][known], first[known]).sum()
                n_oob[place] += known.sum()
    lines = [_line("these data", counts, total / len(X))]
    if drawn is not None:
        lines.append(_line("out of bag", counts[n_oob > 0], oob_total[n_oob > 0] / n_oob[n_oob > 0]))
    return _curve("trees", UNITS["squared_hinge"], lines, n_trees)


def _drawn_rows(forest: MaxMarginIntervalForest, y: FloatArray) -> Any:
    """Which rows each tree drew, of shape (n_estimators, n_rows); None unless y gives the out-of-bag score again."""
    predicted = getattr(forest, "oob_prediction_", None)
    if predicted is None or len(predicted) != len(y):
        return None
    known = ~np.isnan(predicted)
    if not known.any() or not np.isclose(interval_d2_score(y[known], predicted[known]), forest.oob_score_):
        return None
    drawn = np.zeros((len(forest.estimators_), len(y)), np.bool_)
    for tree, rows in zip(drawn, forest.estimators_samples_, strict=True):
        tree[rows] = True
    return drawn


def _boosting_curve(model: MaxMarginIntervalBoosting, X: FloatArray, y: FloatArray) -> dict[str, Any]:
    errors = [interval_hinge_loss(y, prediction, loss=model.loss) for prediction in model._staged(X)]
    lines = [_line("these data", np.arange(len(errors)) + 1, errors)]
    for name, scores in (("training, with margin", model.train_score_), ("validation", model.validation_score_)):
        if len(scores):
            lines.append(_line(name, np.arange(len(scores)) + 1, scores))
    return _curve("stages", UNITS[model.loss], lines, model.n_estimators_)


def _line(name: str, x: Any, y: Any) -> dict[str, Any]:
    return {"name": name, "x": numbers(x), "y": numbers(y)}


def _curve(x: str, y: str, lines: list[dict[str, Any]], chosen: float, *, log_x: bool = False) -> dict[str, Any]:
    return {"x": x, "y": y, "lines": lines, "chosen": number(chosen), "log_x": log_x}


def candidates(model: Any) -> dict[str, Any] | None:
    """What `tune_oob` tried: a row of parameters and the out-of-bag error of each."""
    results = getattr(model, "tuning_results_", None)
    if not results:
        return None
    params, errors = results["params"], np.asarray(results["oob_mse"])
    names = [name for name in params[0] if len({str(candidate[name]) for candidate in params}) > 1]
    rows = [[str(candidate[name]) for name in names] for candidate in params]
    best = None if np.isnan(errors).all() else int(np.nanargmin(errors))
    return {"names": names, "rows": rows, "errors": numbers(errors), "best": best}


def cv_surface(model: Any) -> dict[str, Any] | None:
    """Cross-validated scores by loss, margin and alpha, on a grid of alphas that all margins share."""
    if not isinstance(model, MaxMarginIntervalTreeCV):
        return None
    results, losses, chosen = model.cv_results_, [], {}
    levels = surface_levels(results["param_ccp_alpha"])
    for loss in dict.fromkeys(results["param_loss"].tolist()):
        rows = np.flatnonzero(results["param_loss"] == loss)
        margin, alpha, score = (results[name][rows] for name in ("param_margin", "param_ccp_alpha", "mean_test_score"))
        surface = make_surface(margin, alpha, score, rows == model.best_index_, levels)
        losses.append({"loss": loss, "margins": numbers(surface.margins)} | _cells(results, rows[surface.candidates]))
        if surface.chosen is not None:
            chosen = {"loss": loss, "row": surface.chosen[0], "column": surface.chosen[1]}
    scoring = model.scoring if isinstance(model.scoring, str) else "score"
    return {"scoring": scoring, "losses": losses, "chosen": chosen, "folds": model.n_splits_}


def _cells(results: dict[str, Any], idx: Any) -> dict[str, Any]:
    names = {"score": "mean_test_score", "std": "std_test_score", "alpha": "param_ccp_alpha", "leaves": "n_leaves"}
    return {name: [numbers(results[column][row]) for row in idx] for name, column in names.items()}
