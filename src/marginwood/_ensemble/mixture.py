"""Mixtures of distributions: the weights of their members, and what is asked of them.

A *mixture* is the weighted mean of some curves. Between the limits of the training rows it is known in
steps; what lies beyond is left to those members that reach there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginwood._base import Rows
from marginwood._ends import below, half_open, name_points
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray

__all__ = [
    "choose_limits",
    "climb",
    "find_medians",
    "make_steps",
    "measure",
    "select_weights",
    "widen",
]

# An exactly known value has no probability under steps, so that rows are scored by the bins that
# they touch.
N_BINS = 20
# A distribution that rules out what happened is not ruled out itself.
LEAST_PROBABILITY = 1e-3
# Few steps from equal weights: what the rows cannot tell apart stays nearly equal.
N_STEPS = 30
# Models of less weight are not worth their time.
LEAST_WEIGHT = 0.01
# Between so many limits of the training rows, at most, a mixed curve is straight.
MOST_LIMITS = 512
# Of the range that holds a median: enough for all digits.
N_HALVINGS = 60


def climb(
    weights: FloatArray, probability: FloatArray, weight: FloatArray, n_steps: int
) -> FloatArray:
    """Lower the log loss of a mixture by steps of expectation and maximisation.

    Parameters
    ----------
    weights : ndarray of shape (n_models,)
        Where to start, positive.
    probability : ndarray of shape (n_models, n_rows)
        What each model said of the value of each row, positive.
    weight : ndarray of shape (n_rows,)
        Weights of the rows.
    n_steps : int
        Number of steps.

    Returns
    -------
    ndarray of shape (n_models,)
        Weights that sum up to 1.
    """
    for _ in range(n_steps):
        parts = weights[:, np.newaxis] * probability
        weights = (parts / parts.sum(axis=0)) @ weight / weight.sum()
    return weights


def select_weights(probability: FloatArray, weight: FloatArray) -> FloatArray:
    """Weights of the models, small ones 0."""
    weights = climb(np.full(len(probability), 1 / len(probability)), probability, weight, N_STEPS)
    weights[weights < min(LEAST_WEIGHT, weights.max())] = 0.0
    return weights / weights.sum()


def choose_limits(rows: Rows) -> FloatArray:
    """The limits of the rows or, of many, quantiles of them; what lies exactly at the least one has a place, too."""
    intervals = rows.informative().intervals
    shares = np.linspace(0.0, 1.0, MOST_LIMITS)
    limits = np.unique(intervals[np.isfinite(intervals)])
    if len(limits) > MOST_LIMITS:
        limits = np.unique(np.quantile(limits, shares, method="inverted_cdf"))
    return np.concatenate([below(limits[:1]), limits])


def widen(rows: Rows) -> FloatArray:
    """The intervals of rows, their ends moved outwards to the edges of bins, which hold their upper edge, too."""
    known = rows.informative().intervals
    limits = known[np.isfinite(known)]
    edges = np.unique(np.quantile(limits, np.arange(1, N_BINS) / N_BINS, method="inverted_cdf"))
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    lower, upper = half_open(rows.intervals).T
    begin = np.searchsorted(edges, lower, side="right") - 1
    end = np.searchsorted(edges, upper)
    return np.column_stack([edges[begin], edges[end]])


def measure(distribution: IntervalDistribution, bins: FloatArray) -> FloatArray:
    """The probability of more than the lower and at most the upper edge of each row."""
    curve = distribution.cdf(np.where(np.isfinite(bins), bins, 0.0))
    curve = np.where(np.isfinite(bins), curve, np.array([0.0, 1.0]))
    return np.maximum(curve[:, 1] - curve[:, 0], LEAST_PROBABILITY)


def make_steps(mixed: FloatArray, limits: FloatArray) -> IntervalDistribution:
    """Distributions of the curves that are `mixed` at the limits, one per row."""
    mass = np.diff(mixed, axis=1, prepend=0.0, append=1.0)
    # Between neighbouring numbers, such as the first two limits, lies what is exactly at the
    # second.
    support = name_points(np.column_stack([np.append(-np.inf, limits), np.append(limits, np.inf)]))
    rows, steps = np.nonzero(mass > 0)
    offsets = np.searchsorted(rows, np.arange(len(mass) + 1))
    kept = mass[rows, steps]
    kept /= np.repeat(np.add.reduceat(kept, offsets[:-1]), np.diff(offsets))
    return IntervalDistribution._of(support[steps], kept, offsets)


def find_medians(
    mixed: FloatArray,
    limits: FloatArray,
    members: Sequence[IntervalDistribution],
    weights: Sequence[float],
) -> FloatArray:
    """Medians of mixtures; beyond the limits those of the mixture's mass there, placed as the members place theirs.

    The curve of a forest ends at the last limit, that of a linear model goes on: where the mixture is
    at 0.4 there and 0.6 are left, the median is where a sixth of what the linear models have left
    is reached. With no member that goes on it is the last limit.
    """
    medians = np.clip(make_steps(mixed, limits).median(bound="spread"), limits[1], limits[-1])
    late = np.flatnonzero(mixed[:, -1] < 0.5)
    if len(late):
        known = mixed[late, -1]
        chosen = [member[late] for member in members]
        start = np.full(len(late), limits[-1])
        stop = np.max([member.quantile(1.0, bound="lower") for member in chosen], axis=0)
        found = _find_share(
            chosen, weights, start, np.maximum(start, stop), (0.5 - known) / (1 - known)
        )
        medians[late] = np.where(np.isnan(found), limits[-1], found)
    early = np.flatnonzero(mixed[:, 0] > 0.5)
    if len(early):
        chosen = [member[early] for member in members]
        stop = np.full(len(early), limits[0])
        start = np.min([member.quantile(0.0, bound="upper") for member in chosen], axis=0)
        found = _find_share(chosen, weights, np.minimum(start, stop), stop, 0.5 / mixed[early, 0])
        medians[early] = np.where(np.isnan(found) | (found == limits[0]), limits[1], found)
    return medians


def _find_share(
    members: Sequence[IntervalDistribution],
    weights: Sequence[float],
    start: FloatArray,
    stop: FloatArray,
    share: FloatArray,
) -> FloatArray:
    """Where a share of what members have between two values of each row is reached; NaN if they have nothing."""

    def mix(values: FloatArray) -> FloatArray:
        curves = [member.cdf(values[:, np.newaxis])[:, 0] for member in members]
        return np.asarray(weights) @ np.array(curves)

    least, most = mix(start), mix(stop)
    wanted = least + share * (most - least)
    low, high = start.copy(), stop.copy()
    for _ in range(N_HALVINGS):
        middle = low + (high - low) / 2
        is_before = mix(middle) < wanted
        low = np.where(is_before, middle, low)
        high = np.where(is_before, high, middle)
    return np.where(most > least, high, np.nan)
