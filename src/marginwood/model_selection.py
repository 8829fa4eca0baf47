"""Choosing a model: folds that respect censoring, margins worth trying, estimators that tune themselves."""

from marginwood._resampling.splitters import (
    CensoringStratifiedKFold,
    RepeatedCensoringStratifiedKFold,
)
from marginwood._tuning.boosting import MaxMarginIntervalBoostingCV
from marginwood._tuning.cart import IntervalCARTCV
from marginwood._tuning.forest import MaxMarginIntervalForestCV
from marginwood._tuning.kernel import KernelIntervalRegressionCV
from marginwood._tuning.linear import L1IntervalRegressionCV
from marginwood._tuning.margins import margin_grid
from marginwood._tuning.transformation import TransformationTreeCV
from marginwood._tuning.tree import MaxMarginIntervalTreeCV

__all__ = [
    "CensoringStratifiedKFold",
    "IntervalCARTCV",
    "KernelIntervalRegressionCV",
    "L1IntervalRegressionCV",
    "MaxMarginIntervalBoostingCV",
    "MaxMarginIntervalForestCV",
    "MaxMarginIntervalTreeCV",
    "RepeatedCensoringStratifiedKFold",
    "TransformationTreeCV",
    "margin_grid",
]
