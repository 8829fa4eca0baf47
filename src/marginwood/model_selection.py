"""Choosing a model: folds that respect censoring, margins worth trying, estimators that tune themselves."""

from marginwood._tuning.margins import margin_grid
from marginwood._tuning.splitters import CensoringStratifiedKFold
from marginwood._tuning.tree import MaxMarginIntervalTreeCV

__all__ = ["CensoringStratifiedKFold", "MaxMarginIntervalTreeCV", "margin_grid"]
