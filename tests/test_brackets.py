"""Brackets in words: every form, what belongs to it, and what is refused."""

from math import inf, nextafter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import check_intervals, from_brackets, make_intervals


def below(number):
    return nextafter(number, -inf)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(25, 50]", (25, 50)),
        ("[25, 50)", (below(25), below(50))),
        ("[25; 50]", (below(25), 50)),
        ("(-inf, 25]", (-inf, 25)),
        ("[100, inf)", (below(100), inf)),
        ("<10", (-inf, below(10))),
        ("Under 10", (-inf, below(10))),
        ("less than $1,000", (-inf, below(1000))),
        ("≤ 10", (-inf, 10)),
        ("up to 10", (-inf, 10)),
        ("10 or less", (-inf, 10)),
        (">100k", (100_000, inf)),
        ("over 1.5 million", (1_500_000, inf)),
        ("100+", (below(100), inf)),
        ("$105,000 or more", (below(105_000), inf)),
        ("65 and over", (below(65), inf)),
        ("≥ 5 mg/L", (below(5), inf)),
        ("25", (25, 25)),
        ("-5", (-5, -5)),
    ],
)
def test_a_text_says_which_ends_belong(text, expected):
    assert from_brackets([text]).tolist() == [list(expected)]


@pytest.mark.parametrize(
    "text",
    [
        "25-50",
        "25 to 50",
        "25 \N{EN DASH} 50",
        "between 25 and 50",
        "25..50",
        "25.0-50.0",
        "$25-50",
    ],
)
@pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
def test_ranges_are_closed_as_asked(text, closed):
    assert (from_brackets([text], closed=closed) == make_intervals([25], [50], closed=closed)).all()


def test_a_factor_and_a_unit_behind_the_second_number_are_those_of_the_first():
    assert from_brackets(["25-50k"], closed="right").tolist() == [[25_000, 50_000]]
    assert from_brackets(["0.5-1.5 mg/L"], closed="right").tolist() == [[0.5, 1.5]]
    assert from_brackets(["500k-1M"], closed="right").tolist() == [[500_000, 1_000_000]]


def test_negative_numbers_are_told_from_ranges():
    y = from_brackets(["-10 to -5", "-10--5", "-10 - 5"], closed="right")
    assert y.tolist() == [[-10, -5], [-10, -5], [-10, 5]]


def test_ranges_that_touch_hold_their_upper_end_and_others_both():
    touching = from_brackets(["0-10", "10-20"])
    assert touching.tolist() == [[0, 10], [10, 20]]
    apart = from_brackets(["18-24", "25-34", "35+"])
    assert apart.tolist() == [[below(18), 24], [below(25), 34], [below(35), inf]]


def test_decimal_commas_are_read_when_asked_for():
    y = from_brackets(["0,5-1,5", "1.000-2.000", "<0,006"], decimal=",", closed="right")
    assert y.tolist() == [[0.5, 1.5], [1000, 2000], [-inf, below(0.006)]]
    with pytest.raises(ValueError, match=r"'0,5-1,5' \(row 0, once\)"):
        from_brackets(["0,5-1,5"])


def test_all_texts_that_are_refused_are_listed_with_their_rows_and_numbers():
    with pytest.raises(ValueError, match="4 of 6 rows hold no bracket") as raised:
        from_brackets(["0-10", "rich", "10-20", "rich", "", "50-25"])
    text = str(raised.value)
    assert "'rich' (row 1, 2 times)" in text
    assert "'' (row 4, once)" in text
    assert "'50-25' (row 5, once)" in text
    assert "Accepted: '25-50'" in text


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            ["under 10", "10-20k"],
            "factors such as k and M differ: 'under 10' .row 0. and '10-20k' .row 1.",
        ),
        (["5 mg/L", "5 ug/L"], "units differ"),
        (["$10-20", "20-30"], "currencies differ"),
        (["1,000-2,000", "1 000-3 000"], "separators of thousands differ"),
    ],
)
def test_numbers_written_in_two_ways_are_refused(texts, words):
    with pytest.raises(ValueError, match=words):
        from_brackets(texts)


def test_zero_needs_no_factor_and_small_numbers_no_separator():
    y = from_brackets(["0-10k", "10k-20k"], closed="right")
    assert y.tolist() == [[0, 10_000], [10_000, 20_000]]
    y = from_brackets(["under 500", "500-1,000"], closed="right")
    assert y.tolist() == [[-inf, below(500)], [500, 1000]]


@pytest.mark.parametrize("right", [True, False])
def test_cuts_of_pandas_and_polars_give_the_intervals_that_hold_their_values(right):
    values = np.array([1.0, 2.0, 2.5, 4.0, 9.0])
    cut = pd.cut(values, [0, 2, 4, 10], right=right)
    own = from_brackets(cut)
    assert (own == check_intervals(cut)).all()
    # What polars writes.
    names = ["(-inf, 2]", "(2, 4]", "(4, inf]"] if right else ["[-inf, 2)", "[2, 4)", "[4, inf)"]
    places = np.searchsorted([2, 4], values, side="left" if right else "right")
    texts = pl.Series([names[place] for place in places], dtype=pl.Categorical)
    y = from_brackets(texts)
    assert ((y[:, 0] < values) & (values <= y[:, 1])).all()
    assert (from_brackets(cut.astype(str)) == own).all()


def test_ordered_categories_with_edges_take_the_range_between_theirs():
    labels = ["low", "middle", "high"]
    y = pd.Series(pd.Categorical(["high", "low", None], labels, ordered=True))
    expected = [[50, inf], [-inf, 20], [-inf, inf]]
    assert from_brackets(y, edges=[-inf, 20, 50, inf]).tolist() == expected
    y = pl.Series(["high", "low", None], dtype=pl.Enum(labels))
    assert from_brackets(y, edges=[-inf, 20, 50, inf]).tolist() == expected
    cut = pd.cut([3.0, 1.0], [0, 2, 5], labels=["a", "b"])
    assert from_brackets(cut, edges=[0, 2, 5], closed="left").tolist() == [
        [below(2), below(5)],
        [below(0.0), below(2)],
    ]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([0, 1], "edges: expected 4 numbers for 3 categories .low, middle, high., got 2"),
        ([0, 2, 1, 3], "edges: expected numbers in ascending order"),
        ([0, np.nan, 1, 3], "edges: expected numbers in ascending order"),
    ],
)
def test_edges_that_do_not_fit_are_refused(edges, words):
    y = pd.Categorical(["high"], ["low", "middle", "high"], ordered=True)
    with pytest.raises(ValueError, match=words):
        from_brackets(y, edges=edges)


def test_edges_need_an_order():
    with pytest.raises(ValueError, match="expected a column of ordered categories"):
        from_brackets(["low", "high"], edges=[0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "words"), [({"closed": "up"}, "closed"), ({"decimal": ";"}, "decimal")]
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=f"{words}: expected"):
        from_brackets(["1-2"], **arguments)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.sampled_from(["right", "left", "both"]))
def test_numbers_come_back_from_every_way_of_writing_them(lower, width, closed):
    upper = lower + width
    expected = make_intervals([lower], [upper], closed=closed)
    for text in (f"{lower}-{upper}", f"{lower:,} to {upper:,}", f"€{lower} to €{upper}"):
        assert (from_brackets([text], closed=closed) == expected).all()


@given(st.text(alphabet="0123456789.,-+<>=[]() $kMto%", max_size=12))
def test_any_text_is_a_bracket_or_refused_by_name(text):
    try:
        y = from_brackets([text])
    except ValueError as error:
        if not str(error).startswith(("y:", "lower, upper:")):
            raise
    else:
        assert y[0, 0] <= y[0, 1]


def test_a_missing_text_of_pandas_is_refused_as_any_other():
    y = pd.Series(["25-50", pd.NA, None, np.nan], dtype="string")
    with pytest.raises(ValueError, match=r"3 of 4 rows hold no bracket: '' .row 1, 3 times"):
        from_brackets(y)
