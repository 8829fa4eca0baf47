"""Features made finite numbers, for models that take no NaN, no infinities or no categories."""

from __future__ import annotations

import numpy as np

from marginwood._categories import Categories, list_indicators
from marginwood.intervals import FloatArray

__all__ = ["learn_fill", "make_finite", "sum_indicators"]


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
