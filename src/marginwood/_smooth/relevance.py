"""Relevance: which features matter, as the importances of a forest say."""

from __future__ import annotations

import threading

import numpy as np

from marginwood._base import Rows
from marginwood._trees.boosting import MARGIN
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood.intervals import FloatArray
from marginwood.losses import quartile_distance

__all__ = ["RelevantRows"]

N_TREES = 50
MOST_DRAWN = 1000  # rows of a tree that asks which features matter
LEAST_RELEVANCE = 1e-3  # of the greatest


class RelevantRows:
    """Informative rows, and how much their features matter, which is found when it is first asked for."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows.informative()
        self._lock = threading.Lock()
        self._importances: FloatArray | None = None

    def scales(self, power: float) -> FloatArray:
        """What to multiply standardised features by; the mean of the squares is 1 over those that vary."""
        n_features = self.rows.X.shape[1]
        if power == 0:
            return np.ones(n_features)
        with self._lock:
            if self._importances is None:
                self._importances = self._ask_forest()
        largest = self._importances.max()
        if not largest > 0:
            return np.ones(n_features)
        squares = (self._importances / largest) ** power + LEAST_RELEVANCE
        is_varying = self.rows.X.min(axis=0) < self.rows.X.max(axis=0)
        scales: FloatArray = np.sqrt(squares / squares[is_varying].mean())
        return scales

    def _ask_forest(self) -> FloatArray:
        """The importances of a forest that always draws the same."""
        X, intervals, weight = self.rows
        forest = MaxMarginIntervalForest(
            N_TREES,
            margin=MARGIN * quartile_distance(intervals),
            max_features=None,
            min_samples_leaf=3,
            max_samples=min(1.0, MOST_DRAWN / len(X)),
            random_state=0,
        )
        return forest.fit(X, intervals, sample_weight=weight).feature_importances_
