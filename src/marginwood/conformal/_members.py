"""What members say of rows, and the ranges that follow.

A *member* is a model that some calibration rows did not train: the model of a fold, a tree of a
forest, or the only model there is. A calibration row is predicted by the members that have not seen
it. On a new row it stands for the range around the prediction of the same members, as wide as the
row's own distance; the ends of all these ranges vote.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from marginwood._base import check_features
from marginwood._ensemble.crossfit import CrossFittedIntervalRegressor
from marginwood._ensemble.transformed import TransformedIntervalRegressor, transform
from marginwood._trees.bagging import aggregate
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood.conformal._distances import kth_smallest
from marginwood.intervals import BoolArray, FloatArray

__all__ = ["SPREADS", "Members", "ask_models", "ask_trees", "find_reach", "find_scale"]

SPREADS = ("trees", "distribution")
# Entries of the table, calibration rows x new rows, that is held at once.
LARGEST_TABLE = 2**22
# Where quantiles tell the standard deviation of a distribution.
SHARES = np.arange(1, 20) / 20


class Members(NamedTuple):
    """What each member predicts for each row, and its spread there.

    Without spreads, that of several members is the standard deviation of their predictions.
    """

    predictions: FloatArray
    spreads: FloatArray | None
    aggregation: str

    def take(self, chosen: BoolArray, rows: slice) -> Members:
        """Some members on some rows."""
        spreads = None if self.spreads is None else self.spreads[chosen, rows]
        return Members(self.predictions[chosen, rows], spreads, self.aggregation)

    def combine(self, absent: Any = False) -> tuple[FloatArray, FloatArray]:
        """One prediction and one spread for each row, by the members that are not absent; NaN where all are."""
        centre = aggregate(self.predictions.copy(), absent, self.aggregation)
        if self.spreads is None:
            return centre, np.sqrt(aggregate((self.predictions - centre) ** 2, absent, "mean"))
        return centre, aggregate(self.spreads.copy(), absent, "mean")


def ask_models(models: list[Any], X: Any, spread: str | None) -> Members:
    """Each model is a member; those of a transformed target predict on its scale."""
    predictions = np.array([model.predict(X) for model in models], np.float64)
    scale = find_scale(models[0])
    if scale is not None:
        predictions = transform(predictions, scale._fitted_transformation())
    if spread is None:
        return Members(predictions, np.ones_like(predictions), "mean")
    find_spread = _spread_of_trees if spread == "trees" else _spread_of_distribution
    return Members(predictions, np.array([find_spread(model, X) for model in models]), "mean")


def ask_trees(forest: MaxMarginIntervalForest, X: Any, spread: str | None) -> Members:
    """Each tree of a forest is a member."""
    X = check_features(forest, X)

    def predict_block(rows: slice) -> FloatArray:
        return np.column_stack([tree.tree_.predict(X[rows]) for tree in forest.estimators_])

    predictions = np.ascontiguousarray(forest._over_blocks(predict_block, len(X)).T)
    return Members(predictions, None if spread else np.ones_like(predictions), forest.aggregation)


def find_scale(model: Any) -> TransformedIntervalRegressor | None:
    """The model of a transformed target that a fitted model is, or ends in: distances are those of its scale."""
    while not isinstance(model, TransformedIntervalRegressor):
        model = (
            model.estimators_[0]
            if isinstance(model, CrossFittedIntervalRegressor)
            else _part(model)
        )
        if model is None:
            return None
    return model


def _part(model: Any) -> Any:
    """The model in which a pipeline or a search ends, or that is frozen; None of any other model."""
    if isinstance(model, Pipeline):
        return model[-1]
    if isinstance(model, FrozenEstimator):
        return model.estimator
    return getattr(model, "best_estimator_", None)


def _look_inside(model: Any, X: Any) -> tuple[Any, Any]:
    """The innermost model that predicts on the scale of distances, and X as it takes it."""
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X)
    part = model.regressor_ if isinstance(model, TransformedIntervalRegressor) else _part(model)
    return (model, X) if part is None else _look_inside(part, X)


def _spread_of_trees(model: Any, X: Any) -> FloatArray:
    """Standard deviation of the trees' predictions."""
    forest, X = _look_inside(model, X)
    if not isinstance(forest, MaxMarginIntervalForest):
        raise TypeError(
            "spread: 'trees' expects a MaxMarginIntervalForest, or a search or pipeline that ends in one; got "
            f"{type(model).__name__}."
        )
    return ask_trees(forest, X, "trees").combine()[1]


def _spread_of_distribution(model: Any, X: Any) -> FloatArray:
    """Standard deviation of the distribution, by its quantiles; mass beyond the data counts at the nearest limit."""
    model, X = _look_inside(model, X)
    if not hasattr(model, "predict_distribution"):
        raise TypeError(
            f"spread: 'distribution' expects an estimator with predict_distribution, got {type(model).__name__}."
        )
    distribution = model.predict_distribution(X)
    quantiles = distribution.quantile(SHARES, bound="spread")
    lower, upper = np.moveaxis(distribution.quantile(SHARES), -1, 0)
    limits = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    return np.std(np.where(np.isfinite(quantiles), quantiles, limits), axis=1)


def find_reach(
    members: Members, held_out: BoolArray, distances: FloatArray, rank: int
) -> FloatArray:
    """How far from 0 the ranges of new rows reach, downwards and upwards, as two rows.

    `held_out` says which members have not seen which calibration row. A range reaches as far as the
    range of the calibration row of this rank, counted from the one that reaches least.
    """
    n_rows = members.predictions.shape[1]
    groups, group_idx = np.unique(held_out, axis=1, return_inverse=True)
    reach = np.empty((2, n_rows))
    if groups.shape[1] == 1:  # all ranges have one centre, so that the radius alone decides
        centre, spread = members.take(groups[:, 0], slice(None)).combine()
        radius = _scale(spread, kth_smallest(distances, rank))
        return np.array([radius - centre, radius + centre])
    n_block = max(1, LARGEST_TABLE // len(distances))
    group_idx = group_idx.ravel()
    rows_of_groups = np.split(
        np.argsort(group_idx, kind="stable"), np.cumsum(np.bincount(group_idx))[:-1]
    )
    for start in range(0, n_rows, n_block):
        block = slice(start, min(start + n_block, n_rows))
        table = np.empty((2, len(distances), block.stop - start))
        for chosen, rows in zip(groups.T, rows_of_groups, strict=True):
            centre, spread = members.take(chosen, block).combine()
            radius = _scale(spread, distances[rows, np.newaxis])
            table[0, rows] = radius - centre
            table[1, rows] = radius + centre
        reach[:, block] = [kth_smallest(side, rank) for side in table]
    return reach


def _scale(spread: FloatArray, distance: FloatArray) -> FloatArray:
    """A distance in units of the target; an infinite one stays so where there is no spread."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(distance), distance, spread * distance)
