"""The most likely linear model with noise of a given shape, by Newton's steps.

A value is ``median + scale * noise``. In the unknowns ``1 / scale`` and ``weights / scale`` the
logarithm of the likelihood of intervals is concave wherever the density of the noise is log-concave
(Burridge, 1981), so steps that always gain end at the maximum. A row that entered late, at e, says
less by the logarithm of the probability of more than e: it counts as a right-censored row at e of
negative weight, and the likelihood need not be concave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from marginwood._linear.noise import Noise
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = [
    "LikelihoodProblem",
    "Maximum",
    "find_ascent",
    "information",
    "log_likelihood",
    "maximise_likelihood",
    "scores",
]

# Narrower intervals, in deviations of the limits, count as known: a difference of probabilities
# would lose digits.
NARROW = 1e-5
# Half a row each, one quartile of a normal sample above and below the centre: they keep the scale
# from 0 and infinity where rows alone would not, for instance if one value lies in all intervals.
PRIOR_WEIGHT = 0.5
PRIOR_LIMIT = 0.67
# How far from the centre the farthest limit may lie where the search starts, in scales of the
# noise.
FARTHEST_START = 5.0
MOST_HALVINGS = 60
# Eigenvalues of a second derivative, relative to the largest, below which it is flat.
FLAT = 1e-12
# What a direction in which the likelihood rises for ever adds to a standardised end, at least.
LEAST_ASCENT = 1e-5


class LikelihoodProblem(NamedTuple):
    """Standardised features, limits of deviation 1 about 0, and weights of rows.

    `alpha` is the penalty per weight; without one there are no half rows either. `entry` is -inf
    for rows that were there from the beginning, `inverse_scale` that of the noise if it is known.
    """

    Z: FloatArray
    lower: FloatArray
    upper: FloatArray
    weight: FloatArray
    noise: Noise
    alpha: float
    entry: FloatArray | None = None
    inverse_scale: float | None = None


class _Rows(NamedTuple):
    """Rows whose standardised ends are ``ends @ unknowns``; 0 in place of an infinite end."""

    below: FloatArray
    above: FloatArray
    has_below: BoolArray
    has_above: BoolArray
    weight: FloatArray
    number: IntArray  # which row of the problem


class _Known(NamedTuple):
    """Rows whose value is known; its standardised form is ``design @ unknowns``."""

    design: FloatArray
    weight: FloatArray
    number: IntArray


class Maximum(NamedTuple):
    """Inverse scale, intercept and weights over the scale; and steps taken."""

    unknowns: FloatArray
    n_iter: int
    is_converged: bool


def maximise_likelihood(problem: LikelihoodProblem, tol: float, max_iter: int) -> Maximum:
    """Newton's steps, halved until they gain; they end when the next could gain no more than `tol` per weight."""
    known, rows = _split(problem)
    total = float(problem.weight.sum())
    unknowns = np.zeros(problem.Z.shape[1] + 2)
    unknowns[0] = problem.inverse_scale or _first_inverse_scale(known, rows)
    penalty = np.full(len(unknowns), problem.alpha * total)
    penalty[:2] = 0.0
    value = _value(known, rows, problem.noise, penalty, unknowns)
    for number in range(1, max_iter + 1):
        gradient, curvature = _derivatives(known, rows, problem.noise, penalty, unknowns)
        if problem.inverse_scale is not None:
            gradient[0] = 0.0
            curvature[0] = curvature[:, 0] = 0.0
        step = _uphill(curvature, gradient, is_concave=problem.entry is None)
        expected = float(step @ gradient) / 2
        is_last = expected <= tol * total
        length = 1.0
        for _ in range(MOST_HALVINGS):
            tried = unknowns + length * step
            found = _value(known, rows, problem.noise, penalty, tried)
            if found >= value + 0.2 * length * expected:
                break
            length /= 2
        else:  # rounding hides what any step would gain
            return Maximum(unknowns, number, is_last)
        unknowns, value = tried, found
        if is_last:  # the step that is left squares the distance from the maximum
            return Maximum(unknowns, number, True)
    return Maximum(unknowns, max_iter, False)


def log_likelihood(problem: LikelihoodProblem, unknowns: FloatArray) -> float:
    """The logarithm of the likelihood without penalty and half rows; densities are of standardised limits."""
    known, rows = _split(problem._replace(alpha=0.0))
    width = (problem.upper - problem.lower)[known.number]
    narrow = np.log(np.where(width > 0, width, 1.0))
    value = _value(known, rows, problem.noise, np.zeros(len(unknowns)), unknowns)
    return value + float(known.weight @ narrow)


def information(problem: LikelihoodProblem, unknowns: FloatArray) -> FloatArray:
    """The second derivative of that logarithm, with the sign changed."""
    known, rows = _split(problem._replace(alpha=0.0))
    return _derivatives(known, rows, problem.noise, np.zeros(len(unknowns)), unknowns)[1]


def scores(problem: LikelihoodProblem, unknowns: FloatArray) -> FloatArray:
    """What every row contributes to the first derivative."""
    known, rows = _split(problem._replace(alpha=0.0))
    found = np.zeros((len(problem.weight), len(unknowns)))
    first = problem.noise.slopes(known.design @ unknowns)[0]
    found[known.number] = (known.weight * first)[:, np.newaxis] * known.design
    found[known.number, 0] += known.weight / unknowns[0]
    from_above, from_below = _pulls(
        rows, problem.noise, rows.above @ unknowns, rows.below @ unknowns
    )
    of_rows = from_above[:, np.newaxis] * rows.above + from_below[:, np.newaxis] * rows.below
    np.add.at(found, rows.number, rows.weight[:, np.newaxis] * of_rows)
    return found


def find_ascent(problem: LikelihoodProblem) -> FloatArray | None:
    """A direction of the unknowns in which the likelihood of rows, were all there from the beginning, rises for ever.

    It moves no known value, no upper end down and no lower end up, and does not lower the inverse
    scale: then no row gets less likely, and the maximum lies at infinity if any gets more likely.
    None if there is no such direction.
    """
    known, rows = _split(problem._replace(alpha=0.0, entry=None))
    raised = np.vstack([rows.above[rows.has_above], -rows.below[rows.has_below]])
    if len(known.design):
        raised = np.vstack([raised, np.eye(1, raised.shape[1])])
    bounds = np.tile([-1.0, 1.0], (raised.shape[1], 1))
    bounds[0] = 0.0, float(problem.inverse_scale is None)
    found = linprog(
        -raised.sum(axis=0),
        A_ub=-raised,
        b_ub=np.zeros(len(raised)),
        A_eq=known.design if len(known.design) else None,
        b_eq=np.zeros(len(known.design)) if len(known.design) else None,
        bounds=bounds,
    )
    if found.x is None or (raised @ found.x).max(initial=0.0) <= LEAST_ASCENT:
        return None
    return np.asarray(found.x)


def _first_inverse_scale(known: _Known, rows: _Rows) -> float:
    """Where the search starts: no limit is too far from the centre."""
    limits = np.concatenate([known.design[:, 0], rows.below[:, 0], rows.above[:, 0]])
    return min(1.0, FARTHEST_START / max(float(np.abs(limits).max()), 1.0))


def _uphill(curvature: FloatArray, gradient: FloatArray, *, is_concave: bool) -> FloatArray:
    """Newton's step; where the likelihood bends upwards, as far as it would be if it bent downwards."""
    if is_concave:
        return np.asarray(np.linalg.lstsq(curvature, gradient, rcond=None)[0])
    values, directions = np.linalg.eigh(curvature)
    bend = np.maximum(np.abs(values), FLAT * np.abs(values).max())
    return directions @ (directions.T @ gradient / bend)


def _split(problem: LikelihoodProblem) -> tuple[_Known, _Rows]:
    """The rows that are known, with the half rows, and all others."""
    Z, lower, upper, weight, _, alpha, entry, _ = problem
    design = np.column_stack([np.ones(len(Z)), Z])
    with np.errstate(invalid="ignore"):
        is_known = upper - lower < NARROW
    values = (lower[is_known] + upper[is_known]) / 2
    number = np.flatnonzero(is_known)
    known = _Known(np.column_stack([values, -design[is_known]]), weight[is_known], number)
    if alpha > 0:
        half_rows = np.zeros((2, Z.shape[1] + 2))
        half_rows[:, 0] = PRIOR_LIMIT, -PRIOR_LIMIT
        half_rows[:, 1] = -1.0
        # Weights below 1, such as shares of a sample, are in another unit than rows: the mean one
        # counts as a row.
        half = PRIOR_WEIGHT * min(1.0, float(weight.mean()))
        known = _Known(
            np.vstack([known.design, half_rows]),
            np.append(known.weight, [half, half]),
            np.append(number, [-1, -1]),
        )
    number = np.flatnonzero(~is_known)
    if entry is not None:
        late = np.flatnonzero(np.isfinite(entry))
        number = np.append(number, late)
        lower = np.append(lower[~is_known], entry[late])
        upper = np.append(upper[~is_known], np.full(len(late), np.inf))
        weight = np.append(weight[~is_known], -weight[late])
    else:
        lower, upper, weight = lower[~is_known], upper[~is_known], weight[~is_known]
    has_below, has_above = np.isfinite(lower), np.isfinite(upper)
    return known, _Rows(
        np.column_stack([np.where(has_below, lower, 0.0), -design[number]]),
        np.column_stack([np.where(has_above, upper, 0.0), -design[number]]),
        has_below,
        has_above,
        weight,
        number,
    )


def _log_probability(rows: _Rows, noise: Noise, below: FloatArray, above: FloatArray) -> FloatArray:
    """Logarithms of the probabilities of intervals of standardised noise."""
    log_cdf = np.where(rows.has_above, noise.log_cdf(above), 0.0)
    log_sf = np.where(rows.has_below, noise.log_sf(below), 0.0)
    # A difference of the two tails that are smaller keeps the digits.
    in_upper_tail = below + above > 0
    larger = np.where(in_upper_tail, log_sf, log_cdf)
    smaller = np.where(in_upper_tail, noise.log_sf(above), noise.log_cdf(below))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        both = larger + np.log(-np.expm1(smaller - larger))
    has_both = rows.has_below & rows.has_above
    return np.where(has_both, both, np.where(rows.has_above, log_cdf, log_sf))


def _value(
    known: _Known, rows: _Rows, noise: Noise, penalty: FloatArray, unknowns: FloatArray
) -> float:
    """The penalised log-likelihood; -inf outside of its domain."""
    if unknowns[0] <= 0:
        return -np.inf
    density = known.weight @ (noise.log_density(known.design @ unknowns) + np.log(unknowns[0]))
    probability = _log_probability(rows, noise, rows.below @ unknowns, rows.above @ unknowns)
    value = float(density + rows.weight @ probability - 0.5 * penalty @ unknowns**2)
    return -np.inf if np.isnan(value) else value


def _derivatives(
    known: _Known, rows: _Rows, noise: Noise, penalty: FloatArray, unknowns: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient of the penalised log-likelihood, and its second derivative with the sign changed."""
    first, second = noise.slopes(known.design @ unknowns)
    gradient = known.design.T @ (known.weight * first) - penalty * unknowns
    gradient[0] += known.weight.sum() / unknowns[0]
    curvature = -known.design.T @ ((known.weight * second)[:, np.newaxis] * known.design)
    curvature[np.diag_indices_from(curvature)] += penalty
    curvature[0, 0] += known.weight.sum() / unknowns[0] ** 2

    below, above = rows.below @ unknowns, rows.above @ unknowns
    from_above, from_below = _pulls(rows, noise, above, below)
    gradient += rows.above.T @ (rows.weight * from_above) + rows.below.T @ (
        rows.weight * from_below
    )
    bend_above = from_above * noise.slopes(above)[0] - from_above**2
    bend_below = from_below * noise.slopes(below)[0] - from_below**2
    crossed = -from_above * from_below
    curvature -= rows.above.T @ ((rows.weight * bend_above)[:, np.newaxis] * rows.above)
    curvature -= rows.below.T @ ((rows.weight * bend_below)[:, np.newaxis] * rows.below)
    product = rows.above.T @ ((rows.weight * crossed)[:, np.newaxis] * rows.below)
    curvature -= product + product.T
    return gradient, curvature


def _pulls(
    rows: _Rows, noise: Noise, above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The derivative of the logarithm of a row's probability by its upper and by its lower end."""
    log_probability = _log_probability(rows, noise, below, above)
    # With p = F(above) - F(below): d log p / d above = f(above) / p, and the other way round below.
    from_above = np.where(rows.has_above, np.exp(noise.log_density(above) - log_probability), 0.0)
    from_below = np.where(rows.has_below, -np.exp(noise.log_density(below) - log_probability), 0.0)
    return from_above, from_below
