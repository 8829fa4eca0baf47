"""Targets that are probably not what was meant: events and times taken for ends, or ends that are swapped."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwood._support.notices import warn

__all__ = ["explain_codes", "explain_order", "find_swap", "warn_of_events"]

FEWEST_TIMES = 10  # different ones, before ends look like events and times
FEWEST_ROWS = 5  # of each kind, before one-sided rows look swapped
# Shares of pairs of a one-sided and an un-censored row in which the limit is the greater one. Times
# that are open above tend to be late, limits of detection lie below most of what was detected.
LATE = 0.6
LOW = 0.1


def explain_codes(event: npt.NDArray[np.float64]) -> str:
    """What event codes other than 0 and 1 mean, and who has that; nothing if it cannot be told."""
    codes = set(np.unique(event[~np.isnan(event)]).tolist())
    if codes == {1.0, 2.0}:
        return " Codes 1 and 2 are R's: 1 is censored, 2 an event. Pass event == 2."
    if codes > {0.0, 1.0} and all(code >= 0 and code.is_integer() for code in codes):
        return (
            " More codes are competing risks, which are not here: lifelines (AalenJohansenFitter), hazardous and R's "
            "survival and cmprsk have them. Pass event == 1 to count the other events as right-censored."
        )
    return ""


def explain_order(intervals: npt.NDArray[np.float64]) -> str:
    """What upper ends below lower ends may come from; nothing if it cannot be told."""
    lower, upper = intervals.T
    if np.isin(upper, (0, 1)).all() or np.isin(lower, (0, 1)).all():
        return " They look like times and events: use from_events(time, event)."
    both = np.isfinite(intervals).all(axis=1) & (lower != upper)
    if np.all(upper[both] < lower[both]):
        return " They look swapped: the lower end comes first."
    return ""


def warn_of_events(intervals: npt.NDArray[np.float64]) -> None:
    """Warn if all lower ends are 0 or 1 while upper ends vary, as events and times do."""
    lower, upper = intervals.T
    is_code = np.isin(lower, (0, 1)).all() and lower.min() < lower.max()
    if is_code and np.isfinite(upper).all() and len(np.unique(upper)) >= FEWEST_TIMES:
        warn(
            "y: every lower end is 0 or 1. If these are events and the upper ends are times, use "
            "from_events(time, event)."
        )


def find_swap(intervals: npt.NDArray[np.float64]) -> str | None:
    """Why lower and upper ends look swapped, where every row is a valid interval; None if they do not."""
    lower, upper = intervals.T
    exact = np.sort(lower[lower == upper])
    below = upper[np.isinf(lower) & np.isfinite(upper)]
    above = lower[np.isinf(upper) & np.isfinite(lower)]
    limits = below if len(below) else above
    has_others = len(exact) + len(below) + len(above) < len(intervals) or (
        len(below) and len(above)
    )
    if has_others or min(len(exact), len(limits)) < FEWEST_ROWS:
        return None
    share = np.searchsorted(exact, limits).mean() / len(exact)
    if (share > LATE) if len(below) else (share < LOW):
        side, other = ("below", "above") if len(below) else ("above", "below")
        return (
            f"all {len(limits)} one-sided rows are open {side}, yet most of their limits lie "
            f"{other} the exact values"
        )
    return None
