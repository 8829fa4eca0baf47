"""What a reader of a report should know before trusting the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._base import own_d2
from marginwood._baselines.transformation import TransformationTree
from marginwood._core.nodes import LEAF
from marginwood._ensemble.distributional_superlearner import DistributionalSuperLearner
from marginwood._ensemble.residuals import DistributionalIntervalRegressor
from marginwood._fitted import Fitted
from marginwood._linear.censored import CensoredLinearRegression
from marginwood._trees.table import IntervalTree, find_missing
from marginwood.intervals import FloatArray
from marginwood.metrics import interval_mean_squared_error

__all__ = ["find_warnings"]

# What predicts medians of distributions that take open ends into account.
MEDIANS = (
    CensoredLinearRegression,
    DistributionalIntervalRegressor,
    DistributionalSuperLearner,
    TransformationTree,
)
MOST_OPEN = 0.3  # share of rows open on one side from which on predictions of plain models are early, or late


def find_warnings(
    fitted: Fitted, tables: list[dict[str, Any]], X: FloatArray, y: FloatArray, names: list[str]
) -> list[str]:
    """Sentences about the steps before the model, the data, its trees and what its scores are worth."""
    ensemble = fitted.ensemble
    trees = [] if ensemble is None else ensemble.trees
    found = (
        _step_notes(fitted) + _open_sides(fitted.estimator, y) + _data_warnings(trees, X, y, names)
    )
    if fitted.tree is not None:
        found += _tree_warnings(fitted.tree)
    found += _training_rows(fitted, trees, X, y)
    n_nodes = len(tables[0]["id"]) if tables else 0
    if tables and n_nodes < trees[0].node_count:
        found.append(
            f"This page holds the top {n_nodes} of the {trees[0].node_count} nodes of the tree."
        )
    if len(tables) < len(trees):
        found.append(f"This page holds the first {len(tables)} of {len(trees)} trees.")
    return found


def _step_notes(fitted: Fitted) -> list[str]:
    """Says that features are not columns of the data, where steps change them."""
    if not fitted.steps:
        return []
    steps = ", then ".join(fitted.step_names)
    return [
        f"The features on this page are what the model sees: the columns of the data after {steps}."
    ]


def _open_sides(model: Any, y: FloatArray) -> list[str]:
    """Says that predictions are early where many rows are open above, and late where many are open below."""
    is_open = np.isinf(y)
    one_sided = is_open & ~is_open.all(axis=1, keepdims=True)
    found = []
    for side, where, wrong, tendency in (
        (1, "above", "low", "early"),
        (0, "below", "high", "late"),
    ):
        share = one_sided[:, side].mean()
        if share > MOST_OPEN and not _predicts_medians(model):
            found.append(
                f"{share:.0%} of the rows are open {where}. A prediction that is too {wrong} costs nothing on them, "
                f"so predictions of this model tend to be too {wrong} ({tendency}). DistributionalIntervalRegressor "
                "around it (--distribution on the command line) predicts medians, which are not."
            )
    return found


def _predicts_medians(model: Any) -> bool:
    """Whether predictions come from distributions that take open ends into account."""
    inner = getattr(model, "regressor_", None)  # of a transformed target
    return isinstance(model, MEDIANS) or (inner is not None and _predicts_medians(inner))


def _training_rows(
    fitted: Fitted, trees: list[IntervalTree], X: FloatArray, y: FloatArray
) -> list[str]:
    """Says that the rows may be, or are, those of training; for a forest, with what it scores out of bag."""
    model = fitted.estimator
    known = getattr(model, "_intervals", None)  # of a forest
    if known is not None and np.array_equal(known, y):
        prediction = model._predict_oob(X)
        rows = ~np.isnan(prediction)
        text = "The model was trained on these intervals. If their features are the same, too, its scores flatter it."
        if rows.any() and np.isfinite(y[rows]).any():
            d2 = own_d2(model, y[rows], prediction[rows], None)
            error = interval_mean_squared_error(y[rows], prediction[rows])
            text += " Out of bag, by the trees that did not draw a row, "
            text += f"D2 is {d2:.4g} and the interval MSE {error:.4g}."
        return [text]
    if known is None and _n_training_rows(model, trees) == len(y):
        return [
            f"The model was trained on {len(y)} rows, as many as there are here. If they are the same, its scores "
            "flatter it."
        ]
    return []


def _n_training_rows(model: Any, trees: list[IntervalTree]) -> int | None:
    """How many rows a model was trained on; None if it does not tell."""
    for part in ("regressor_", "estimator_"):  # of a wrapper
        if hasattr(model, part):
            return _n_training_rows(getattr(model, part), trees)
    for rows in ("_intervals", "oof_prediction_", "residuals_"):
        if hasattr(model, rows):
            return len(getattr(model, rows))
    # A booster holds rows out and draws from the others, so its first tree does not know how many
    # there were.
    if hasattr(model, "_n_rows"):
        return int(model._n_rows)
    return int(trees[0].n_node_samples[0]) if trees else None


def _data_warnings(
    trees: list[IntervalTree], X: FloatArray, y: FloatArray, names: list[str]
) -> list[str]:
    found = []
    n_open = int((~np.isfinite(y).any(axis=1)).sum())
    if n_open:
        found.append(
            f"{n_open} of {len(y)} rows are (-inf, inf): they carry no information about the target, and "
            "any prediction of them counts as right."
        )
    if np.isinf(X).any():
        found.append(f"There are infinities in {_name_columns(np.isinf(X).any(axis=0), names)}.")
    if trees:
        surprising = find_missing(X) & ~trees[0].saw_missing
        if surprising.any():
            found.append(
                f"There are missing values in {_name_columns(surprising, names)}, and none in training: such "
                "rows go to the side of a split that held more training rows."
            )
    return found


def _tree_warnings(tree: IntervalTree) -> list[str]:
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
        found.append(
            f"The tree splits on {len(used)} of {tree.n_features} features; the others are never used."
        )
    return found


def _name_columns(columns: Any, names: list[str]) -> str:
    """The names of up to five features."""
    chosen = [names[idx] for idx in np.flatnonzero(columns)[:5]]
    n_more = int(columns.sum()) - len(chosen)
    return ", ".join(chosen) + (f" and {n_more} more" if n_more else "")
