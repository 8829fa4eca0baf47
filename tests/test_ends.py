"""Which numbers intervals hold: sides that travel as the number right below an end."""

from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from marginwood import check_intervals, make_intervals
from marginwood._ends import as_written, below, carry_over, gaps, half_open, name_points
from reference import places_of
from strategies import SIDES, intervals, sided_intervals

LEAST = -5e-324

decimals = st.tuples(st.integers(-(10**12) + 1, 10**12 - 1), st.integers(-40, 40)).map(
    lambda pair: float(f"{pair[0]}e{pair[1]}")
)
wholes = st.integers(-(2**52) + 1, 2**52 - 1).map(float)


def holds(row, x):
    """What the convention says of a row of two numbers."""
    lower, upper = row
    return x == lower if lower == upper else lower < x <= upper


@pytest.mark.parametrize("closed", SIDES)
@pytest.mark.parametrize(
    ("lower", "upper"), [(1.0, 2.0), (0.0, 5.0), (-3.5, 0.0), (-inf, 2.0), (1.0, inf), (0.1, 1e9)]
)
def test_an_interval_holds_the_ends_that_belong_to_it(lower, upper, closed):
    row = make_intervals([lower], [upper], closed=closed)[0]
    middle = max(min(lower, 1e300) / 2 + min(upper, 1e300) / 2, -1e300)
    assert holds(row, middle)
    for end, is_closed, inside, outside in (
        (lower, closed in ("left", "both"), inf, -inf),
        (upper, closed in ("right", "both"), -inf, inf),
    ):
        if np.isfinite(end):
            assert holds(row, end) == is_closed
            assert holds(row, nextafter(end, inside))
            assert not holds(row, nextafter(end, outside))


def test_sides_may_differ_from_row_to_row():
    made = make_intervals([1, 1, 1, 1, 2], [2, 2, 2, 2, 2], closed=[*SIDES, "left"])
    one, two = nextafter(1, 0), nextafter(2, 0)
    assert made.tolist() == [[1, 2], [one, two], [one, 2], [1, two], [2, 2]]


def test_no_rows_are_refused_as_ever():
    with pytest.raises(ValueError, match=r"lower, upper: got shape \(0, 2\)"):
        make_intervals([], [], closed=[])


def test_equal_ends_are_a_value_and_infinite_ends_stay_where_they_are():
    for closed in ("right", "left", "both"):
        assert make_intervals(3, [3.0], closed=closed).tolist() == [[3, 3]]
    for closed in SIDES:
        assert make_intervals([None], [np.nan], closed=closed).tolist() == [[-inf, inf]]


def test_an_end_that_is_open_in_every_row_is_not_a_missing_one():
    assert make_intervals([1.0, 2.0], None, nan="raise").tolist() == [[1, inf], [2, inf]]
    assert make_intervals(None, 3, nan="raise").tolist() == [[-inf, 3]]


def test_the_neighbour_of_0_stands_for_0():
    assert make_intervals([0], [5], closed="both").tolist() == [[LEAST, 5]]
    assert make_intervals([-5], [0], closed="left").tolist() == [[nextafter(-5, -inf), LEAST]]
    assert as_written(np.array([LEAST])).tolist() == [0.0]


def test_the_largest_limits_may_belong_to_their_interval():
    made = make_intervals([-1e150], [1e150], closed="both")
    assert check_intervals(made) is made


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"closed": "up"}, "closed: expected one of 'right', 'left', 'both', 'neither', got 'up'"),
        ({"closed": None}, "closed: expected one of 'right', 'left', 'both', 'neither', got None"),
        (
            {"closed": ["left"]},
            r"closed: expected one of .*, or one for each of 2 rows; got shape \(1,\)",
        ),
        ({"closed": ["left"] * 3}, r"or one for each of 2 rows; got shape \(3,\)"),
        (
            {"closed": ["left", "up"]},
            r"closed: expected one of .*, got another in 1 of 2 rows \(first: row 1, closed=up\)",
        ),
        ({"closed": ["left", 3]}, r"got another in 1 of 2 rows \(first: row 1, closed=3\)"),
        (
            {"upper": [2, 2], "closed": "neither"},
            r"lower, upper: no number lies between open ends in 1 of 2 rows \(first: row 1, lower=2.0, upper=2.0\)",
        ),
        (
            {"lower": [0, nextafter(3, 0)], "closed": "neither"},
            "no number lies between open ends in 1 of 2 rows",
        ),
    ],
)
def test_sides_that_make_no_interval_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_intervals(**({"lower": [1, 2], "upper": [2, 3]} | arguments))


@given(intervals())
def test_half_open_rows_hold_the_same_numbers_and_come_back(y):
    rows = half_open(y)
    assert (rows[:, 0] < rows[:, 1]).all()
    assert_array_equal(name_points(rows), y)
    for row, same in zip(y, rows, strict=True):
        for end in row[np.isfinite(row)]:
            for x in (nextafter(end, -inf), end, nextafter(end, inf)):
                assert holds(row, x) == (same[0] < x <= same[1])


@given(sided_intervals())
def test_ends_are_ordered_as_the_places_where_intervals_begin_and_end(rows):
    lower, upper = half_open(rows.y).T
    places = [places_of(*row) for row in zip(*rows, strict=True)]
    for i, (_, last) in enumerate(places):
        for j, (first, _) in enumerate(places):
            assert (upper[i] <= lower[j]) == (last < first)


@given(st.lists(st.one_of(decimals, wholes), min_size=1, max_size=20))
def test_what_people_wrote_is_read_off_an_end_that_was_moved(numbers):
    values = np.array(numbers) + 0.0
    assert_array_equal(as_written(values), values)
    normal = values[(np.abs(values) > 1e-300) | (values == 0)]
    assert_array_equal(as_written(below(normal)), normal)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_other_numbers_stay_as_they_are_or_become_their_neighbour(numbers):
    values = np.array(numbers)
    shown = as_written(values)
    assert ((shown == values) | (below(shown) == values)).all()


def test_hardly_any_number_that_was_worked_out_is_taken_for_a_moved_one():
    values = np.random.default_rng(0).normal(size=100_000)
    assert np.mean(as_written(values) != values) < 1e-3


@given(sided_intervals(), st.sampled_from([1e10, 0.1, 7.3e-9]))
def test_ends_keep_their_order_through_an_increasing_function(rows, factor):
    y = make_intervals(rows.lower * factor, rows.upper * factor, closed=rows.closed)
    for function in (np.arcsinh, np.cbrt, lambda ends: ends - 1e3 * factor, lambda ends: ends / 3):
        images = carry_over(y, function)
        lower, upper = half_open(y).T
        image_lower, image_upper = half_open(images).T
        assert (images[:, 0] <= images[:, 1]).all()
        # What lies apart stays apart: no row holds more of the others than it did.
        apart = upper[:, np.newaxis] <= lower
        assert (image_upper[:, np.newaxis] <= image_lower)[apart].all()


@given(intervals())
def test_a_function_of_ends_without_neighbours_is_that_function(y):
    assert_array_equal(carry_over(y, np.arcsinh), np.arcsinh(y))


def test_sides_make_no_distance():
    assert gaps(nextafter(50, 0), 50.0) == 0
    assert gaps(LEAST, 0.0) == 0
    assert gaps(1.0, 1.5) == 0.5
    assert gaps(0.0, 1e-310) == 1e-310
