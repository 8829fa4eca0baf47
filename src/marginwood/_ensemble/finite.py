"""Features made finite, for models that take neither NaN nor infinities."""

from __future__ import annotations

import numpy as np

from marginwood._categories import Categories
from marginwood.intervals import FloatArray

__all__ = ["learn_fill", "make_finite"]


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
    return np.where(np.isnan(X), median, np.clip(X, least, greatest, where=np.isinf(X), out=X.copy()))


def make_indicators(codes: FloatArray, categories: Categories) -> FloatArray:
    """Numbers as they are, and a column of 0 and 1 for each category but the first; a missing one counts as the first.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_features)
        What `encode_features` makes of X.
    categories : list
        The labels of every feature, None for numbers.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
        Features for models that know numbers only.
    """
    columns = []
    for column, labels in zip(codes.T, categories, strict=True):
        others = [None] if labels is None else range(1, len(labels))
        columns += [column if code is None else (column == code).astype(np.float64) for code in others]
    return np.column_stack(columns) if columns else np.zeros((len(codes), 1))
