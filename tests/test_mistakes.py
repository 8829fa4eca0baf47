"""Targets that are probably not what was meant."""

import numpy as np
import pytest

from marginwood import MaxMarginIntervalTree, from_detection_limits, from_events
from marginwood._mistakes import find_swap
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull
from marginwood.intervals import check_intervals, make_intervals

RANDOM = np.random.RandomState(0)
EVENT_TIMES, CENSORING_TIMES = RANDOM.exponential(100, 60), RANDOM.uniform(50, 250, 60)
TIMES, EVENTS = np.minimum(EVENT_TIMES, CENSORING_TIMES), EVENT_TIMES <= CENSORING_TIMES
CONCENTRATIONS = RANDOM.lognormal(0, 1, 60)


def swap(intervals):
    """The ends of a table in which an open end is an empty cell, in the wrong order."""
    lower, upper = np.where(np.isfinite(intervals), intervals, np.nan).T
    return make_intervals(upper, lower)


@pytest.mark.parametrize(
    "columns", [(TIMES, EVENTS), (EVENTS, TIMES / 365)], ids=["time, event", "event, time"]
)
def test_events_and_times_in_the_wrong_order_are_recognised_in_the_error(columns):
    with pytest.raises(
        ValueError, match=r"upper < lower .* look like times and events: use from_events\(time"
    ):
        MaxMarginIntervalTree().fit(TIMES[:, np.newaxis], np.column_stack(columns).astype(float))


def test_events_and_times_that_make_intervals_are_warned_of_by_fit():
    y = np.column_stack([EVENTS, 1 + TIMES]).astype(float)
    with pytest.warns(
        UserWarning, match=r"every lower end is 0 or 1.* use from_events\(time, event\)"
    ):
        MaxMarginIntervalTree().fit(TIMES[:, np.newaxis], y)
    with pytest.warns(
        UserWarning, match=r"every lower end is 0 or 1.* use from_events\(time, event\)"
    ):
        turnbull(y)


def test_bins_that_start_at_0_and_1_are_no_events():
    y = np.array([(0, 1), (1, 5), (0, 5)] * 10, float)
    MaxMarginIntervalTree().fit(np.arange(30)[:, np.newaxis], y)  # a warning would be an error


def test_swapped_ends_are_recognised_in_the_error():
    with pytest.raises(
        ValueError, match=r"upper < lower in 3 of 4 rows .* look swapped: the lower end comes first"
    ):
        check_intervals([(2.5, 2), (4, 3), (9, 7), (5, 5)])
    with pytest.raises(ValueError, match=r"rows \(first: row 1, lower=4.0, upper=3.0\)\.$"):
        check_intervals([(2, 2.5), (4, 3)])


@pytest.mark.parametrize(
    ("y", "side"),
    [(from_events(TIMES, EVENTS), "below"), (from_detection_limits(CONCENTRATIONS, 0.5), "above")],
    ids=["times", "detection limits"],
)
def test_one_sided_rows_look_swapped_when_they_are_and_only_then(y, side):
    assert find_swap(y) is None
    assert f"one-sided rows are open {side}" in find_swap(swap(y))


def test_what_has_intervals_or_both_sides_or_few_rows_never_looks_swapped():
    assert find_swap(make_sine(random_state=0)[1]) is None
    one_sided = swap(from_events(TIMES, EVENTS))
    assert find_swap(np.vstack([one_sided, [(1, 2)]])) is None
    assert find_swap(np.vstack([one_sided, [(1, np.inf)]])) is None
    assert find_swap(one_sided[:4]) is None
