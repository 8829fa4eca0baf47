"""Features made finite numbers, for models that take no NaN, no infinities or no categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._base import Rows, check_features
from marginwood._categories import Categories, list_indicators, make_indicators
from marginwood.intervals import FloatArray

__all__ = ["FiniteMixin", "learn_fill", "make_finite", "sum_indicators"]


class FiniteMixin:
    """A mixture whose models see X as it is or, those that take nothing else, as finite numbers."""

    categories_: Categories | None
    _takes_finite: list[str]  # names of the models that see finite numbers
    _fill: FloatArray

    def _learn_finite(self, rows: Rows, names: list[str]) -> None:
        """Find out what stands for NaN and infinities, for the models of these names."""
        self._takes_finite = names
        if names:
            self._fill = learn_fill(self._as_numbers(rows.X)[rows.weight > 0])

    def _as_finite(self, X: Any) -> FloatArray:
        """X for these models."""
        return make_finite(self._as_numbers(X), self._fill)

    def _as_numbers(self, X: Any) -> FloatArray:
        codes = check_features(self, X, categories=self.categories_)
        return codes if self.categories_ is None else make_indicators(codes, self.categories_)


def learn_fill(X: FloatArray) -> FloatArray:
    """What stands for NaN, minus infinity and infinity in each column: its median, least and greatest finite value.

    The median is one of the values. A column without finite values gets zeros.
    """
    fill = np.zeros((3, X.shape[1]))
    for column, values in enumerate(X.T):
        finite = np.sort(values[np.isfinite(values)])
        if len(finite):
            fill[:, column] = finite[(len(finite) - 1) // 2], finite[0], finite[-1]
    return fill


def make_finite(X: FloatArray, fill: FloatArray) -> FloatArray:
    """A copy without NaN and infinities."""
    median, least, greatest = fill
    return np.where(
        np.isnan(X), median, np.clip(X, least, greatest, where=np.isinf(X), out=X.copy())
    )


def sum_indicators(importances: FloatArray, categories: Categories | None) -> FloatArray:
    """Importances of features, from those of the columns that `make_indicators` makes of them."""
    if categories is None:
        return importances
    features = [idx for idx, _ in list_indicators(categories)]
    totals = np.zeros(len(categories))
    np.add.at(totals, features or [0], importances)
    return totals
