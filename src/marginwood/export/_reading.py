"""What exports read off a fitted model: its node tables, and how they make a prediction."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from marginwood._drawing import TREES, read_tree
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.table import IntervalTree, TreeReader

__all__ = ["Ensemble", "read_ensemble", "read_sum"]

ENSEMBLES = "a MaxMarginIntervalForest or MaxMarginIntervalBoosting"


class Ensemble(NamedTuple):
    """Node tables; the prediction is `init` plus the sum, the mean or the median of theirs."""

    trees: list[IntervalTree]
    aggregation: str
    init: float


def read_ensemble(model: Any) -> Ensemble:
    """The node tables of a fitted tree, forest or boosting."""
    if isinstance(model, TreeReader):
        return Ensemble([read_tree(model)], "sum", 0.0)
    if not isinstance(model, MaxMarginIntervalForest | MaxMarginIntervalBoosting):
        raise TypeError(f"model: expected {TREES}, or {ENSEMBLES}, got a {type(model).__name__}.")
    check_is_fitted(model)
    trees = [tree.tree_ for tree in model.estimators_]
    if isinstance(model, MaxMarginIntervalForest):
        return Ensemble(trees, model.aggregation, 0.0)
    return Ensemble(trees, "sum", float(model.init_))


def read_sum(model: Any) -> Ensemble:
    """The same for exports that can only add; a median raises."""
    ensemble = read_ensemble(model)
    if ensemble.aggregation == "median":
        raise ValueError(
            "model: expected a prediction that is a sum, got a forest of aggregation='median'; use 'mean'."
        )
    return ensemble
