"""Curves and ranges of a report: what is predicted for its rows, and what the rows of each leaf say."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._drawing import SurvivalSteps, curve_ends, survival_steps
from marginwood._fitted import Fitted
from marginwood._trees.table import IntervalTree
from marginwood.distributions import turnbull
from marginwood.intervals import FloatArray, IntArray
from marginwood.metrics import interval_coverage
from marginwood.report._plain import numbers

__all__ = ["leaf_curves", "predicted_ranges", "survival_curves"]

N_TIMES = 61
MAX_LEAVES = 300  # with a curve
MAX_STEPS = 200  # of a curve
N_DIGITS = 4  # of a probability


def survival_curves(distribution: Any, y: FloatArray, *, is_log: bool) -> dict[str, Any] | None:
    """Probabilities of more than each of some times, for the rows of a page and for all rows alike."""
    if distribution is None:
        return None
    low, high = _limits(y, is_log=is_log)
    times = (np.geomspace if is_log else np.linspace)(low, high, N_TIMES)
    curves = np.round(distribution.sf(times), N_DIGITS)
    return {"times": numbers(times), "rows": curves.tolist(), "all": _steps(y, low, high)}


def predicted_ranges(
    fitted: Fitted, X: Any, y: FloatArray, kept: IntArray
) -> dict[str, Any] | None:
    """The ranges of the rows of a page, and the shares of all intervals that ranges contain and meet."""
    if not fitted.predicts("interval"):
        return None
    ranges = fitted.estimator.predict_interval(X)
    coverage = interval_coverage(y, ranges)
    model = getattr(fitted.estimator, "regressor_", fitted.estimator)  # of a transformed target
    return {
        "level": model.confidence_level,
        "mode": model.mode,
        "contain_rate": coverage.contain_rate,
        "meet_rate": coverage.meet_rate,
        "lower": numbers(ranges[kept, 0]),
        "upper": numbers(ranges[kept, 1]),
    }


def leaf_curves(
    tree: IntervalTree, X: FloatArray, y: FloatArray, *, is_log: bool
) -> dict[str, Any]:
    """The estimate of Turnbull of the rows in each leaf, by the leaf's row in the node table."""
    low, high = _limits(y, is_log=is_log)
    leaves = tree.apply(X)
    found, sizes = np.unique(leaves, return_counts=True)
    largest = found[np.argsort(-sizes, kind="stable")][:MAX_LEAVES]
    return {
        str(leaf): _steps(y[leaves == leaf], low, high)
        for leaf in np.sort(largest)
        if np.isfinite(y[leaves == leaf]).any()
    }


def _limits(y: FloatArray, *, is_log: bool) -> tuple[float, float]:
    """Ends of an axis of target values."""
    return curve_ends(y[np.isfinite(y) & (y > 0 if is_log else True)], is_log=is_log)


def _steps(intervals: FloatArray, low: float, high: float) -> dict[str, Any]:
    """Curves as steps: each value holds from its time on."""
    informative = np.isfinite(intervals).any(axis=1)
    steps = survival_steps(turnbull(intervals[informative]), low, high)
    if len(steps.times) > MAX_STEPS:
        kept = np.unique(np.linspace(0, len(steps.times) - 1, MAX_STEPS).round().astype(np.int64))
        steps = SurvivalSteps(*(values[kept] for values in steps))
    times, *curves = steps
    shown = (np.round(curve, N_DIGITS).tolist() for curve in curves)
    return {"times": numbers(times)} | dict(zip(SurvivalSteps._fields[1:], shown, strict=True))
