"""Tests of association between features and scores, and the splits that follow from them.

The statistics and their distribution over permutations are those of conditional inference trees
(Hothorn, Hornik and Zeileis, 2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from marginwood._base import Rows
from marginwood.intervals import FloatArray

TINY = float(np.finfo(np.float64).tiny)


class FoundSplit(NamedTuple):
    """A split of a node, and the adjusted p-value of its feature."""

    feature: int
    threshold: float
    missing_go_to_left: bool
    p_value: float


def bounded_features(X: FloatArray) -> FloatArray:
    """Features on [-1, 1], which differences and squares of them neither overflow nor vanish from.

    An infinity becomes the greatest or the least finite value; NaN stays.
    """
    is_finite = np.isfinite(X)
    has_finite = is_finite.any(axis=0)
    high = np.where(has_finite, np.where(is_finite, X, -np.inf).max(axis=0), 0.0)
    low = np.where(has_finite, np.where(is_finite, X, np.inf).min(axis=0), 0.0)
    half_range = np.where(low < high, high / 2 - low / 2, 1.0)
    return np.clip((X - (low / 2 + high / 2)) / half_range, -1.0, 1.0)


def association_log_p_values(X: FloatArray, scores: FloatArray, weight: FloatArray) -> FloatArray:
    """Adjusted log p-values of the association of every feature with the scores.

    Over all permutations of the scores, ``sum_i w_i x_i score_i`` has variance ``Sxx Sss / (W -
    1)`` around its mean, where Sxx and Sss are weighted sums of squared deviations and W is the
    total weight. Standardised, it is the correlation times ``sqrt(W - 1)``. Constant features get
    0.
    """
    observed = ~np.isnan(X)
    weights = np.where(observed, weight[:, np.newaxis], 0.0)
    total = np.maximum(weights.sum(axis=0), TINY)
    share = weights / total
    X = np.where(observed, X, 0.0)
    X = np.where(observed, X - (share * X).sum(axis=0), 0.0)
    deviations = scores[:, np.newaxis] - share.T.dot(scores)
    spread = (share * X**2).sum(axis=0)
    score_spread = (share * deviations**2).sum(axis=0)
    constant = (spread <= 1e-24) | (score_spread == 0)
    scale = np.where(constant, 1.0, np.sqrt(spread) * np.sqrt(score_spread))
    statistic = (
        np.abs((share * X * deviations).sum(axis=0)) / scale * np.sqrt(np.maximum(total - 1, 0.0))
    )
    log_p_values = (
        np.log(2.0) + log_ndtr(-statistic) + np.log(max(int(np.count_nonzero(~constant)), 1))
    )
    return np.where(constant, 0.0, np.minimum(log_p_values, 0.0))


def find_split(
    node: Rows, bounded: FloatArray, scores: FloatArray, min_samples_leaf: int
) -> FoundSplit | None:
    """The best split of the most significant feature that can be split."""
    log_p_values = association_log_p_values(bounded, scores, node.weight)
    share = node.weight / node.weight.sum()
    deviations = share * (scores - np.average(scores, weights=share))
    for feature in np.argsort(log_p_values, kind="stable"):
        found = _best_threshold(node.X[:, feature], deviations, share, min_samples_leaf)
        if found is not None:
            return FoundSplit(int(feature), *found, float(np.exp(log_p_values[feature])))
    return None


def _best_threshold(
    x: FloatArray, deviations: FloatArray, share: FloatArray, min_samples_leaf: int
) -> tuple[float, bool] | None:
    """Threshold and side of NaN that maximise the standardised difference of the two sides' scores.

    For sides of weights L and R, the squared statistic goes with ``L R / (L + R)`` times the
    squared difference of their mean scores. Each side is summed by itself: as the rest of the
    whole, a light one would be rounding.
    """
    missing = np.isnan(x)
    order = np.flatnonzero(~missing)
    order = order[np.argsort(x[order], kind="stable")]
    ascending = x[order]
    last = np.arange(min_samples_leaf - 1, len(order) - min_samples_leaf)
    last = last[ascending[last] < ascending[last + 1]]
    if not last.size:
        return None
    sides = np.array([share, deviations])
    left = np.cumsum(sides[:, order], axis=1)[:, last]
    right = np.cumsum(sides[:, order[::-1]], axis=1)[:, len(order) - 2 - last]
    absent = sides[:, missing].sum(axis=1, keepdims=True)
    choices = [_separation(left, right + absent)]
    if missing.any():
        choices.append(_separation(left + absent, right))
    side, place = np.unravel_index(np.argmax(choices), (len(choices), len(last)))
    below, above = ascending[last[place]], ascending[last[place] + 1]
    with np.errstate(invalid="ignore"):
        middle = below / 2 + above / 2
    return float(middle if below <= middle < above else below), bool(side)


def _separation(left: FloatArray, right: FloatArray) -> FloatArray:
    """Squared difference of mean scores, standardised, from shares and weighted scores of two sides."""
    difference = left[1] / left[0] - right[1] / right[0]
    return difference**2 * left[0] * (right[0] / (left[0] + right[0]))
