"""One feature as a problem of the core, and its node opened: where the tests of bounds and of sweeps start."""

from typing import NamedTuple

import numpy as np

from marginwood._core import hinge, samples
from marginwood._core.grow import Scratch, make_scratch, make_shared
from marginwood._core.jit import inner
from marginwood._core.order import sort_features
from marginwood._core.problem import LOSS_CODES, POWERS, Target, plain
from marginwood._core.rankset import N_SENTINELS
from marginwood._core.search import Problem
from marginwood._core.split import free, make_path


class Column(NamedTuple):
    """A problem of one feature; `stretch` makes its path, and costs are in units of ``2**exponent`` to the power."""

    problem: Problem
    scratch: Scratch
    stretch: tuple
    exponent: int
    cost_unit: float


def make_column(column, y, weights, objective, missing_left=0, min_samples_leaf=1):
    """The problem of one feature without margin."""
    X = np.asarray(column, dtype=float)[:, np.newaxis]
    loss = objective["loss"]
    limits = Target(y).at(0.0, objective.get("quantile", 0.5))
    kinds = np.zeros(1, np.int64), plain(1).signs
    problem = Problem(
        X,
        sort_features(X),
        limits.in_order,
        limits.breakpoints,
        weights,
        *kinds,
        LOSS_CODES[loss],
        limits.margin,
        limits.prices[:2],
    )
    scratch = make_scratch(make_shared(weights), 1, len(weights), len(limits.in_order), 1)
    stretch = (0, 0, len(X), int(np.isnan(X).sum()), missing_left, min_samples_leaf)
    unit = limits.prices.unit * 2.0 ** (limits.exponent * POWERS[loss])
    return Column(problem, scratch, stretch, limits.exponent, unit)


@inner
def open_column(problem, scratch, stretch):
    """Path, breakpoints by rank, loss, optimum and minimum of the node of all rows."""
    path = make_path(*stretch, free())
    points = scratch.points[: problem.limits.shape[0] + N_SENTINELS]
    limits, breakpoints = problem.limits, problem.breakpoints
    reach = max(abs(breakpoints[0]), abs(breakpoints[-1]))
    code, prices, weight = problem.loss, problem.prices, problem.weights.sum()
    of_limits = (prices[0] + prices[1]) * weight
    loss = hinge.make_loss(code, prices, weight, of_limits * reach, of_limits, reach)
    samples.rank_limits(limits, breakpoints, scratch.samples, points, 0.0, code, prices)
    best = samples.minimise(limits, breakpoints, points, scratch.ranks, problem.loss)
    full, _ = samples.start_from(best, limits, breakpoints, points, problem.loss, (0.0, 0.0))
    return path, points, loss, best, full
