"""The most likely linear model with errors of a given shape, by Newton's steps.

A value is ``median + scale * error``. In the unknowns ``1 / scale`` and ``weights / scale`` the
logarithm of the likelihood of intervals is concave wherever the density of the error is log-concave
(Burridge, 1981), so steps that always gain end at the maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwood._linear.errors import Error
from marginwood.intervals import BoolArray, FloatArray

__all__ = ["LikelihoodProblem", "maximise_likelihood"]

# Narrower intervals, in deviations of the limits, count as known: a difference of probabilities
# would lose digits.
NARROW = 1e-4
# Half a row each, one quartile of a normal sample above and below the centre: they keep the scale
# from 0 and infinity where rows alone would not, for instance if one value lies in all intervals.
PRIOR_WEIGHT = 0.5
PRIOR_LIMIT = 0.67
# How far from the centre the farthest limit may lie where the search starts, in scales of the
# error.
FARTHEST_START = 5.0
MOST_HALVINGS = 60


class LikelihoodProblem(NamedTuple):
    """Standardised features, limits of deviation 1 about 0, and weights of rows; `alpha` is the penalty per weight."""

    Z: FloatArray
    lower: FloatArray
    upper: FloatArray
    weight: FloatArray
    error: Error
    alpha: float


class _Rows(NamedTuple):
    """Rows whose standardised ends are ``ends @ unknowns``; 0 in place of an infinite end."""

    below: FloatArray
    above: FloatArray
    has_below: BoolArray
    has_above: BoolArray
    weight: FloatArray


class _Known(NamedTuple):
    """Rows whose value is known; its standardised form is ``design @ unknowns``."""

    design: FloatArray
    weight: FloatArray


class Maximum(NamedTuple):
    """Inverse scale, intercept and weights over the scale; and steps taken."""

    unknowns: FloatArray
    n_iter: int
    is_converged: bool


def maximise_likelihood(problem: LikelihoodProblem, tol: float, max_iter: int) -> Maximum:
    """Newton's steps, halved until they gain; they end when the next could gain no more than `tol` per weight."""
    known, rows = _split(problem)
    total = float(problem.weight.sum())
    farthest = max(np.abs(known.design[:, 0]).max(), np.abs(rows.below[:, 0]).max(initial=0.0))
    farthest = max(farthest, np.abs(rows.above[:, 0]).max(initial=0.0))
    unknowns = np.zeros(problem.Z.shape[1] + 2)
    unknowns[0] = min(1.0, FARTHEST_START / farthest)
    penalty = np.full(len(unknowns), problem.alpha * total)
    penalty[:2] = 0.0
    value = _value(known, rows, problem.error, penalty, unknowns)
    for number in range(1, max_iter + 1):
        gradient, curvature = _derivatives(known, rows, problem.error, penalty, unknowns)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        expected = float(step @ gradient) / 2
        if expected <= tol * total:
            return Maximum(unknowns, number, True)
        length = 1.0
        for _ in range(MOST_HALVINGS):
            tried = unknowns + length * step
            found = _value(known, rows, problem.error, penalty, tried)
            if found >= value + 0.2 * length * expected:
                break
            length /= 2
        else:  # rounding hides what any step would gain
            return Maximum(unknowns, number, False)
        unknowns, value = tried, found
    return Maximum(unknowns, max_iter, False)


def _split(problem: LikelihoodProblem) -> tuple[_Known, _Rows]:
    """The rows that are known, with those of the prior, and all others."""
    Z, lower, upper, weight, _, _ = problem
    design = np.column_stack([np.ones(len(Z)), Z])
    with np.errstate(invalid="ignore"):
        is_known = upper - lower < NARROW
    values = (lower[is_known] + upper[is_known]) / 2
    prior = np.zeros((2, Z.shape[1] + 2))
    prior[:, 0] = PRIOR_LIMIT, -PRIOR_LIMIT
    prior[:, 1] = -1.0
    # Weights below 1, such as shares of a sample, are in another unit than rows: the mean one
    # counts as a row.
    prior_weight = PRIOR_WEIGHT * min(1.0, float(weight.mean()))
    known = _Known(
        np.vstack([np.column_stack([values, -design[is_known]]), prior]),
        np.append(weight[is_known], [prior_weight, prior_weight]),
    )
    design, lower, upper = design[~is_known], lower[~is_known], upper[~is_known]
    has_below, has_above = np.isfinite(lower), np.isfinite(upper)
    return known, _Rows(
        np.column_stack([np.where(has_below, lower, 0.0), -design]),
        np.column_stack([np.where(has_above, upper, 0.0), -design]),
        has_below,
        has_above,
        weight[~is_known],
    )


def _log_probability(rows: _Rows, error: Error, below: FloatArray, above: FloatArray) -> FloatArray:
    """Logarithms of the probabilities of intervals of standardised errors."""
    log_cdf = np.where(rows.has_above, error.log_cdf(above), 0.0)
    log_sf = np.where(rows.has_below, error.log_sf(below), 0.0)
    # A difference of the two tails that are smaller keeps the digits.
    in_upper_tail = below + above > 0
    larger = np.where(in_upper_tail, log_sf, log_cdf)
    smaller = np.where(in_upper_tail, error.log_sf(above), error.log_cdf(below))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        both = larger + np.log(-np.expm1(smaller - larger))
    has_both = rows.has_below & rows.has_above
    return np.where(has_both, both, np.where(rows.has_above, log_cdf, log_sf))


def _value(
    known: _Known, rows: _Rows, error: Error, penalty: FloatArray, unknowns: FloatArray
) -> float:
    """The penalised log-likelihood; -inf outside of its domain."""
    if unknowns[0] <= 0:
        return -np.inf
    density = known.weight @ (error.log_density(known.design @ unknowns) + np.log(unknowns[0]))
    probability = _log_probability(rows, error, rows.below @ unknowns, rows.above @ unknowns)
    value = float(density + rows.weight @ probability - 0.5 * penalty @ unknowns**2)
    return -np.inf if np.isnan(value) else value


def _derivatives(
    known: _Known, rows: _Rows, error: Error, penalty: FloatArray, unknowns: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient of the penalised log-likelihood, and its second derivative with the sign changed."""
    first, second = error.slopes(known.design @ unknowns)
    gradient = known.design.T @ (known.weight * first) - penalty * unknowns
    gradient[0] += known.weight.sum() / unknowns[0]
    curvature = -known.design.T @ ((known.weight * second)[:, np.newaxis] * known.design)
    curvature[np.diag_indices_from(curvature)] += penalty
    curvature[0, 0] += known.weight.sum() / unknowns[0] ** 2

    below, above = rows.below @ unknowns, rows.above @ unknowns
    log_probability = _log_probability(rows, error, below, above)
    # With p = F(above) - F(below): d log p / d above = f(above) / p, and the other way round below.
    from_above = np.where(rows.has_above, np.exp(error.log_density(above) - log_probability), 0.0)
    from_below = np.where(rows.has_below, -np.exp(error.log_density(below) - log_probability), 0.0)
    gradient += rows.above.T @ (rows.weight * from_above) + rows.below.T @ (
        rows.weight * from_below
    )
    bend_above = from_above * error.slopes(above)[0] - from_above**2
    bend_below = from_below * error.slopes(below)[0] - from_below**2
    crossed = -from_above * from_below
    curvature -= rows.above.T @ ((rows.weight * bend_above)[:, np.newaxis] * rows.above)
    curvature -= rows.below.T @ ((rows.weight * bend_below)[:, np.newaxis] * rows.below)
    product = rows.above.T @ ((rows.weight * crossed)[:, np.newaxis] * rows.below)
    curvature -= product + product.T
    return gradient, curvature
