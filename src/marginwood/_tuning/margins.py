"""Margins worth trying for a target."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._ends import gaps
from marginwood._support.checks import check_count
from marginwood.intervals import FloatArray, check_intervals

__all__ = ["margin_grid"]

SMALLEST_MARGIN = 1e-3  # of the range of the limits


def margin_grid(y: Any, n_margins: int = 21) -> FloatArray:
    """Margins worth trying for a target.

    Parameters
    ----------
    y : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    n_margins : int, default=21
        How many margins, 0 among them.

    Returns
    -------
    ndarray
        0, and a geometric series from the smallest gap between two finite limits, but at least a
        thousandth of their range, up to their range. Only 0 if all limits are the same.

    Examples
    --------
    >>> from marginwood.model_selection import margin_grid
    >>> margin_grid([(0, 1), (3, 9), (-float("inf"), 9)], n_margins=4).round(3).tolist()
    [0.0, 1.0, 3.0, 9.0]
    """
    n_margins = check_count("n_margins", n_margins, 1)
    intervals = check_intervals(y)
    limits = np.unique(intervals[np.isfinite(intervals)])
    steps = gaps(limits[:-1], limits[1:])
    if not steps.any():
        return np.zeros(1)
    largest = limits[-1] - limits[0]
    smallest = max(steps[steps > 0].min(), SMALLEST_MARGIN * largest)
    return np.append(0.0, np.geomspace(smallest, largest, n_margins - 1))
