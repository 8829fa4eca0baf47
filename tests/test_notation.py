"""What laboratories write, cell by cell and by columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from marginwood._support.notation import read_measurement, read_measurements

NAN = float("nan")


@pytest.mark.parametrize(
    ("text", "side", "number", "is_strict"),
    [
        ("1.2", 0, 1.2, False),
        (" 1.2 ", 0, 1.2, False),
        ("-3", 0, -3.0, False),
        ("\N{MINUS SIGN}3", 0, -3.0, False),
        ("+.5", 0, 0.5, False),
        ("1E-3", 0, 0.001, False),
        ("1,200", 0, 1200.0, False),
        ("1,234,567.8", 0, 1234567.8, False),
        ("1\N{NARROW NO-BREAK SPACE}200", 0, 1200.0, False),
        ("12\N{RIGHT SINGLE QUOTATION MARK}000", 0, 12000.0, False),
        ("<1", -1, 1.0, True),
        ("< 0.5", -1, 0.5, True),
        ("<\N{NO-BREAK SPACE}0.5", -1, 0.5, True),
        ("<=2", -1, 2.0, False),
        ("=<2", -1, 2.0, False),
        ("≤ 2", -1, 2.0, False),
        ("\N{FULLWIDTH LESS-THAN SIGN}2", -1, 2.0, True),
        ("<1,000", -1, 1000.0, True),
        (">50", 1, 50.0, True),
        (">= 50", 1, 50.0, False),
        ("≥50", 1, 50.0, False),
        ("nd(0.5)", -1, 0.5, True),
        ("ND <0.5", -1, 0.5, True),
        ("N.D. 0.5", -1, 0.5, True),
        ("inf", 0, np.inf, False),
        *(
            (word, -1, NAN, True)
            for word in (
                "ND",
                "n.d.",
                "n. d.",
                "BDL",
                "<LOD",
                "< LOQ",
                "Not detected",
                "non-detect",
            )
        ),
        *((word, 0, NAN, False) for word in ("", "  ", "NA", "n/a", "NaN", "null")),
    ],
)
def test_a_cell_is_a_number_a_side_of_one_or_nothing(text, side, number, is_strict):
    found = read_measurement(text)
    assert (found.side, found.is_strict) == (side, is_strict)
    assert_array_equal(found.number, number)


@pytest.mark.parametrize(
    "text",
    [
        "1,2",
        "0,125",
        "1.2 mg/L",
        "<",
        ">",
        "< -",
        "abc",
        "1-2",
        "1 2",
        "12 00",
        "1,20,000",
        "<<1",
        "ndx",
        "<inf",
    ],
)
def test_what_is_no_measurement_is_not_guessed_at(text):
    assert read_measurement(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", "<", ">"]))
def test_every_number_is_read_as_it_is_written(number, sign):
    side = {"": 0, "<": -1, ">": 1}[sign]
    assert read_measurement(f"{sign}{number!r}") == (side, number, side != 0)


@given(st.integers(1000, 10**12))
def test_thousands_are_read_with_any_separator(number):
    for separator in (",", " ", "'"):
        assert read_measurement(f"{number:,}".replace(",", separator)) == (0, number, False)


@pytest.mark.parametrize(
    "dtype", [object, str, np.dtypes.StringDType() if hasattr(np.dtypes, "StringDType") else str]
)
def test_columns_of_texts_are_read(dtype):
    found = read_measurements(np.array(["<1", "2", "ND", ">3", "≤4"], dtype), "y")
    assert_array_equal(found.side, [-1, 0, -1, 1, -1])
    assert_array_equal(found.number, [1, 2, NAN, 3, 4])
    assert_array_equal(found.is_strict, [True, False, True, True, False])


def test_numbers_among_texts_stay_what_they_are():
    found = read_measurements([1.5, "<1", None, 2], "y")
    assert_array_equal(found.side, [0, -1, 0, 0])
    assert_array_equal(found.number, [1.5, 1, NAN, 2])


def test_the_first_cell_that_cannot_be_read_is_shown():
    with pytest.raises(
        ValueError,
        match=r"^Hg: expected a number, '<1', .* in 2 of 3 rows \(first: row 1, Hg=1 mg\)",
    ):
        read_measurements(["1", "1 mg", "2 mg"], "Hg")
