"""Choosing a model: folds that respect censoring, margins worth trying, estimators that tune themselves."""

from marginwood._resampling.splitters import (
    CensoringStratifiedKFold,
    RepeatedCensoringStratifiedKFold,
)
from marginwood._tuning.estimator import IntervalSearchCV
from marginwood._tuning.margins import margin_grid

__all__ = [
    "CensoringStratifiedKFold",
    "IntervalSearchCV",
    "RepeatedCensoringStratifiedKFold",
    "margin_grid",
]
