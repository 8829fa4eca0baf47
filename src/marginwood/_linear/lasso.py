"""The solver behind the linear models: squared hinge loss with an L1 penalty, along a path of penalties.

The *objective* of an intercept and weights on standardised features is half the weighted mean of
the squared hinges plus ``alpha`` times the sum of absolute weights. Near a point it is a quadratic
function, as long as the same hinges pay and the weights keep their signs. One *round* of the solver

1. takes the non-zero weights and those zero weights that the loss pulls harder than the penalty
   holds;
2. minimises the quadratic function over these, none of which may change its sign, with damping;
3. goes there as far as the objective itself decreases, then to the exact best intercept.

Rounds end when the duality gap is small enough, or when rounding hides what they gain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwood._linear.features import EPS, Features
from marginwood._support.blas import one_blas_thread
from marginwood.intervals import FloatArray, IntArray

# Rounds in a row without a lower objective or gap, after which rounding is taken to hide what is
# left to gain.
MAX_IDLE_ROUNDS = 10


class LassoProblem(NamedTuple):
    """Standardised features, breakpoints near 0 and weights that sum to 1."""

    features: Features
    lower: FloatArray
    upper: FloatArray
    weight: FloatArray


class Solution(NamedTuple):
    """An intercept and weights, what each row pays for them, and the objective."""

    intercept: float
    weights: FloatArray
    below: FloatArray
    above: FloatArray
    objective: float


class LassoPath(NamedTuple):
    """Solutions for a descending sequence of penalties, one row each."""

    intercepts: FloatArray
    weights: FloatArray
    gaps: FloatArray
    n_rounds: IntArray


def largest_penalty(problem: LassoProblem) -> float:
    """The least penalty for which all weights are zero; 0 if no feature pulls beyond rounding."""
    point = _best_intercept(problem, 0.0, np.zeros(problem.features.n_features), 0.0)
    return _largest_pull(problem, point)


@one_blas_thread()
def solve_path(problem: LassoProblem, alphas: FloatArray, tol: float, max_iter: int) -> LassoPath:
    """Solve for every penalty, each from the solution of the one before.

    A gap is relative to the loss of the best constant. `tol` bounds it unless `max_iter` rounds are
    not enough, or rounding hides what further rounds gain.
    """
    point = _best_intercept(problem, 0.0, np.zeros(problem.features.n_features), 0.0)
    null_loss = max(point.objective, np.finfo(np.float64).tiny)
    solutions = []
    gaps = []
    rounds = []
    damping = 1e-3
    for alpha in alphas:
        point = _best_intercept(problem, point.intercept, point.weights, alpha)
        gap = _duality_gap(problem, point, alpha) / null_loss
        n_rounds = 0
        n_idle = 0
        least_objective = point.objective
        least_gap = gap
        while gap > tol and n_rounds < max_iter and n_idle < MAX_IDLE_ROUNDS:
            point, damping = _descend(problem, point, alpha, damping)
            gap = _duality_gap(problem, point, alpha) / null_loss
            gains = point.objective < least_objective or gap < least_gap
            n_rounds += 1
            n_idle = 0 if gains else n_idle + 1
            least_objective = min(point.objective, least_objective)
            least_gap = min(gap, least_gap)
        solutions.append(point)
        gaps.append(gap)
        rounds.append(n_rounds)
    weights = np.array([solution.weights for solution in solutions])
    return LassoPath(
        np.array([solution.intercept for solution in solutions]),
        weights,
        np.array(gaps),
        np.array(rounds),
    )


def _evaluate(
    problem: LassoProblem, intercept: float, weights: FloatArray, alpha: float, linear: FloatArray
) -> Solution:
    """The point of given coordinates; `linear` is ``Z @ weights``."""
    fit = linear + intercept
    below, above = np.maximum(problem.lower - fit, 0.0), np.maximum(fit - problem.upper, 0.0)
    loss = problem.weight @ (below**2 + above**2) / 2
    return Solution(intercept, weights, below, above, float(loss + alpha * np.abs(weights).sum()))


def _linear(problem: LassoProblem, weights: FloatArray) -> FloatArray:
    support = np.flatnonzero(weights)
    return problem.features.combine(support, weights[support])


def _gradient(problem: LassoProblem, point: Solution) -> FloatArray:
    return problem.features.pull(problem.weight * (point.above - point.below))


def _largest_pull(problem: LassoProblem, point: Solution) -> float:
    """The largest absolute derivative of the loss in a weight; 0 if all may be rounding.

    A derivative is a sum over rows of weight times feature times hinge. A hinge is a difference of
    numbers up to 1 in size, so it may be off by EPS however small it is; each product and the sum
    add the like of EPS times their sizes.
    """
    pull = np.abs(_gradient(problem, point))
    rounding = 16 * EPS * problem.features.reach(problem.weight * (1 + point.above + point.below))
    return float(pull[pull > rounding].max(initial=0.0))


def _best_intercept(
    problem: LassoProblem, intercept: float, weights: FloatArray, alpha: float
) -> Solution:
    """The point of least objective over the intercept."""
    linear = _linear(problem, weights)
    ends = np.concatenate([problem.lower - linear, problem.upper - linear])
    ends = ends[np.isfinite(ends)]
    best = _line_minimum(
        problem, linear, np.ones(len(linear)), 0.0, (ends.min(), intercept, ends.max())
    )
    return _evaluate(problem, best, weights, alpha, linear)


def _line_minimum(
    problem: LassoProblem,
    fit: FloatArray,
    direction: FloatArray,
    tilt: float,
    bracket: tuple[float, float, float],
) -> float:
    """The step in a bracket (left, start, right) that minimises ``loss(fit + step * direction) + tilt * step``.

    The slope is piecewise linear and grows with the step, so Newton's method ends exactly on the
    right piece; halving the bracket keeps it from cycling.
    """
    left, step, right = bracket
    while True:
        moved = fit + step * direction
        below, above = moved < problem.lower, moved > problem.upper
        pulls = np.where(below, moved - problem.lower, 0.0) + np.where(
            above, moved - problem.upper, 0.0
        )
        terms = problem.weight * direction * pulls
        slope = terms.sum() + tilt
        if abs(slope) <= EPS * (np.abs(terms).sum() + abs(tilt)) or (slope < 0 and step == right):
            return step
        left, right = (step, right) if slope < 0 else (left, step)
        curvature = (problem.weight * direction**2) @ (below.astype(np.float64) + above)
        following = step - slope / curvature if curvature > 0 else np.inf
        if not left < following < right:
            following = left + (right - left) / 2
        if not left < following < right:
            return step
        step = following


def _duality_gap(problem: LassoProblem, point: Solution, alpha: float) -> float:
    """The gap between the objective and a dual value, less what may be rounding.

    The dual variables are the hinges' slopes, scaled down until no feature's pull exceeds the
    penalty.
    """
    largest_pull = _largest_pull(problem, point)
    shrink = 1.0 if largest_pull <= alpha else alpha / largest_pull
    below, above = shrink * point.below, shrink * point.above
    gains = below * np.where(below > 0, problem.lower, 0.0) - above * np.where(
        above > 0, problem.upper, 0.0
    )
    squares = (below**2 + above**2) / 2
    rounding = 16 * EPS * (problem.weight @ (np.abs(gains) + squares))
    return max(point.objective - float(problem.weight @ (gains - squares)) - float(rounding), 0.0)


def _descend(
    problem: LassoProblem, point: Solution, alpha: float, damping: float
) -> tuple[Solution, float]:
    """One round: a point of lower objective, and the damping for the next round."""
    gradient = _gradient(problem, point)
    violation = np.where(point.weights == 0, np.abs(gradient) - alpha, 0.0)
    support = np.flatnonzero(point.weights)
    # Few at a time: most weights that are pulled now will not be once the first of them have moved.
    violators = np.argsort(-violation, kind="stable")[: 10 + len(support)]
    working = np.sort(np.append(support, violators[violation[violators] > 0]))
    start = np.append(point.intercept, point.weights[working])
    sign = np.where(start[1:] == 0, -np.sign(gradient[working]), np.sign(start[1:]))
    slope = np.append(
        problem.weight @ (point.above - point.below), gradient[working] + alpha * sign
    )
    active = problem.weight * ((point.above > 0).astype(np.float64) + (point.below > 0))
    hessian = problem.features.gram(working, active)
    hessian[np.diag_indices_from(hessian)] += damping
    step = _minimise_quadratic(hessian, slope, start, np.append(0.0, sign)) - start
    tilt = alpha * float(sign @ step[1:])
    linear = _linear(problem, point.weights)
    direction = problem.features.combine(working, step[1:]) + step[0]
    size = _line_minimum(problem, linear + point.intercept, direction, tilt, (0.0, 1.0, 1.0))
    weights = point.weights.copy()
    weights[working] += size * step[1:]
    damping = np.clip(damping * (0.1 if size > 0.5 else 4.0 if size < 0.1 else 1.0), 1e-10, 1.0)
    return _best_intercept(problem, point.intercept + size * step[0], weights, alpha), float(
        damping
    )


def _minimise_quadratic(
    hessian: FloatArray, slope: FloatArray, start: FloatArray, sign: FloatArray
) -> FloatArray:
    """Minimise a convex quadratic function of given slope at `start`, where coordinates keep their signs.

    A sign of 0 is a free coordinate. Coordinates that reach 0 on the way to the minimum stay there.
    """
    position = start.copy()
    free = np.ones(len(start), np.bool_)
    while True:
        here = slope + hessian @ (position - start)
        target = position.copy()
        target[free] -= np.linalg.solve(hessian[np.ix_(free, free)], here[free])
        crossing = np.flatnonzero(sign * target < 0)
        if not crossing.size:
            return target
        reach = position[crossing] / (position[crossing] - target[crossing])
        position += reach.min() * (target - position)
        stuck = crossing[reach <= reach.min()]
        position[stuck] = 0.0
        free[stuck] = False
