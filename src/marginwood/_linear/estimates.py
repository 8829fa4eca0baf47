"""From the unknowns of the solver to estimates in the user's units, and how sure they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._base import Rows
from marginwood._core.problem import SMALLEST_NORMAL
from marginwood._linear.likelihood import (
    LikelihoodProblem,
    Maximum,
    find_ascent,
    information,
    log_likelihood,
    maximise_likelihood,
    scores,
)
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["Units", "check_maximum", "estimate", "in_units", "independent_columns", "unit_of"]

# A column counts as a sum of others if less than this of it is left beside them.
LEAST_REST = 1e-9
# Curvature per row below which a direction without a maximum is looked for, which takes longer.
SMALL_CURVATURE = 1e-3
# The deviation of limits that are one value, relative to that.
LEAST_UNIT = 1e-6
# Relative to the curvature along single unknowns: less cannot be told from none.
LEAST_CURVATURE = 1e-11


class Units(NamedTuple):
    """What standardised limits and features were made with."""

    centre: float
    scale: float
    mean: FloatArray
    deviation: FloatArray

    def bring_back(self, unknowns: FloatArray) -> tuple[float, FloatArray, float]:
        """Location, weights and scale in the units of the data."""
        scale = float(self.scale / unknowns[0])
        coef = scale * unknowns[2:] / self.deviation
        return self.centre + scale * float(unknowns[1]) - float(coef @ self.mean), coef, scale

    def slopes(self, unknowns: FloatArray) -> FloatArray:
        """The derivatives of location, weights and the logarithm of the scale by the unknowns."""
        _, coef, scale = self.bring_back(unknowns)
        n_unknowns = len(unknowns)
        slope = np.zeros((n_unknowns, n_unknowns))
        slope[1:-1, 0] = -coef / unknowns[0]
        slope[1:-1, 2:] = np.diag(scale / self.deviation)
        slope[0] = -self.mean @ slope[1:-1]
        slope[0, 0] -= scale * unknowns[1] / unknowns[0]
        slope[0, 1] = scale
        slope[-1, 0] = -1 / unknowns[0]
        return slope


class Estimates(NamedTuple):
    """Of a maximum: the covariance of location, weights and log scale, and logarithms of likelihoods."""

    covariance: FloatArray
    log_likelihood: float
    null_log_likelihood: float


def estimate(
    problem: LikelihoodProblem, found: Maximum, units: Units, groups: IntArray | None
) -> Estimates:
    """How sure a maximum is; with groups, the sums of their scores say how much estimates vary.

    The covariance is the inverse of the second derivative of the logarithm of the likelihood with
    the sign changed, or that around the products of these sums (the sandwich).
    """
    is_free = slice(0 if problem.inverse_scale is None else 1, None)
    inverse = np.linalg.inv(information(problem, found.unknowns)[is_free, is_free])
    if groups is not None:
        of_rows = scores(problem, found.unknowns)[:, is_free]
        sums = np.zeros((int(groups.max()) + 1, of_rows.shape[1]))
        np.add.at(sums, groups, of_rows)
        inverse = inverse @ (sums.T @ sums) @ inverse
    slope = units.slopes(found.unknowns)
    slope = slope if problem.inverse_scale is None else slope[:-1, 1:]
    null = problem._replace(Z=problem.Z[:, :0])
    constant = maximise_likelihood(null, 1e-9, 100)
    return Estimates(
        slope @ inverse @ slope.T,
        in_units(problem, units, log_likelihood(problem, found.unknowns)),
        in_units(problem, units, log_likelihood(null, constant.unknowns)),
    )


def in_units(problem: LikelihoodProblem, units: Units, value: float) -> float:
    """A logarithm of a likelihood whose densities are per unit of the data."""
    is_exact = problem.lower == problem.upper
    return value - float(problem.weight[is_exact].sum() * np.log(units.scale))


def independent_columns(Z: FloatArray) -> BoolArray:
    """Which columns are no sums of the columns before them and a constant."""
    n_rows, n_columns = Z.shape
    directions = np.empty((n_rows, n_columns + 1), order="F")
    directions[:, 0] = n_rows**-0.5
    is_free = np.zeros(n_columns, np.bool_)
    for idx, column in enumerate(Z.T):
        found = directions[:, : 1 + int(is_free.sum())]
        rest = column - found @ (found.T @ column)
        rest -= found @ (found.T @ rest)  # once more, for the digits that the first pass lost
        length = float(np.linalg.norm(rest))
        if length > LEAST_REST * float(np.linalg.norm(column)) > 0:
            is_free[idx] = True
            directions[:, is_free.sum()] = rest / length
    return is_free


def check_maximum(problem: LikelihoodProblem, found: Maximum, terms: list[str]) -> None:
    """Raise unless the likelihood has one maximum, at finite parameters, which was found."""
    is_free = slice(0 if problem.inverse_scale is None else 1, None)
    curvature = information(problem, found.unknowns)[is_free, is_free]
    total = float(problem.weight.sum())
    values = np.linalg.eigvalsh(curvature)
    if found.is_converged and values[0] > SMALL_CURVATURE * total:
        return
    advice = "Give a penalty (alpha=0.01, the default), or fewer features and more rows."
    ascent = find_ascent(problem)
    if ascent is not None:
        why = _explain(problem, ascent, terms)
        raise ValueError(
            f"y: the likelihood has no maximum at finite parameters, since {why}. {advice}"
        )
    size = np.sqrt(np.maximum(np.diag(curvature), np.finfo(np.float64).tiny))
    relative = np.linalg.eigvalsh(curvature / np.outer(size, size))
    if not relative[0] > LEAST_CURVATURE:
        raise ValueError(f"y: the rows leave open which parameters are most likely. {advice}")


def _explain(problem: LikelihoodProblem, ascent: FloatArray, terms: list[str]) -> str:
    """Why the likelihood rises for ever in a direction."""
    if not np.isfinite(problem.upper).any():
        return "no row has a finite upper end: every value may be arbitrarily large"
    if not np.isfinite(problem.lower).any():
        return "no row has a finite lower end: every value may be arbitrarily small"
    weights = np.abs(ascent[2:])
    named: list[Any] = [
        repr(terms[idx]) for idx in np.argsort(-weights, kind="stable")[:5] if weights[idx] > 1e-3
    ]
    features = ", ".join(named) or "a constant"
    return f"{features} can lie inside of all intervals, or parts them completely (separation)"


def unit_of(rows: Rows) -> tuple[float, float]:
    """Weighted mean and standard deviation of the finite limits; an un-censored row counts as two."""
    is_finite = np.isfinite(rows.intervals)
    limits = rows.intervals[is_finite]
    if limits.min() == limits.max():
        # A deviation of 1 would depend on the unit, and one like the value on the unit of its
        # exponential.
        value = float(limits[0])
        return value, max(LEAST_UNIT * abs(value or 1.0), SMALLEST_NORMAL)
    weight = np.broadcast_to(rows.weight[:, np.newaxis], is_finite.shape)[is_finite]
    centre = float(np.average(limits, weights=weight))
    # Near 1, where the squares of distances neither vanish nor overflow.
    exponent = np.frexp(np.abs(limits - centre).max())[1]
    distance = np.ldexp(limits - centre, -exponent)
    return centre, float(
        np.ldexp(np.sqrt(np.average(distance**2, weights=weight)), exponent)
    ) or 1.0
