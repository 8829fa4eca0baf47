"""Columns of labels as codes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from marginwood._categories import count_categories, encode_features, find_categories

LABELS = ["b", "a", None, "b"]
EXPECTED = [1.0, 0.0, np.nan, 1.0]


def columns_of(labels, code_order):
    """The same labels in every form that is recognised by its type."""
    return {
        "pandas category": pd.DataFrame(
            {"x": [1, 2, 3, 4], "g": pd.Categorical(labels, categories=code_order)}
        ),
        "polars categorical": pl.DataFrame(
            {"x": [1, 2, 3, 4], "g": pl.Series(labels, dtype=pl.Categorical)}
        ),
        "polars enum": pl.DataFrame(
            {"x": [1, 2, 3, 4], "g": pl.Series(labels, dtype=pl.Enum(code_order))}
        ),
    }


@pytest.mark.parametrize("form", columns_of(LABELS, ["a", "b"]))
def test_categories_of_frames_are_found_by_their_type(form):
    X = columns_of(LABELS, ["a", "b"])[form]
    categories = find_categories(X, "from_dtype")
    assert categories == [None, ["a", "b"]]
    np.testing.assert_array_equal(
        encode_features(X, categories), np.column_stack([[1.0, 2, 3, 4], EXPECTED])
    )
    assert count_categories(categories).tolist() == [0, 2]


@pytest.mark.parametrize("form", ["pandas category", "polars enum"])
def test_a_type_that_lists_its_categories_decides_which_there_are_and_their_order(form):
    X = columns_of(LABELS, ["b", "c", "a"])[form]
    assert find_categories(X, "from_dtype")[1] == ["b", "c", "a"]


@pytest.mark.parametrize(
    "chosen", [["g"], [1], [False, True], np.array([1]), np.array([False, True])]
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_text_is_taken_as_categories_if_asked_for_by_name_index_or_mask(chosen, make):
    X = make({"x": [1, 2, 3, 4], "g": LABELS})
    assert find_categories(X, "from_dtype") is None
    categories = find_categories(X, chosen)
    assert categories == [None, ["a", "b"]]
    np.testing.assert_array_equal(encode_features(X, categories)[:, 1], EXPECTED)


def test_arrays_of_numbers_and_of_objects_hold_categories_where_asked():
    numbers = np.array([[3.0, 0.5], [1.0, 0.5], [np.nan, 2.0]])
    categories = find_categories(numbers, [0])
    assert categories == [[1, 3], None]
    np.testing.assert_array_equal(
        encode_features(numbers, categories), [[1, 0.5], [0, 0.5], [np.nan, 2]]
    )
    mixed = [["x", 1], [2, 2], [None, 3]]
    categories = find_categories(mixed, [0])
    assert categories == [[2, "x"], None]
    np.testing.assert_array_equal(encode_features(mixed, categories), [[1, 1], [0, 2], [np.nan, 3]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_booleans_stay_booleans(make):
    X = make({"x": [1, 2, 3], "g": [True, False, True]})
    labels = find_categories(X, ["g"])[1]
    assert [str(label) for label in labels] == [
        "False",
        "True",
    ]  # 0 and 1 would be equal to them, but not in SQL
    np.testing.assert_array_equal(encode_features(X, [None, labels])[:, 1], [1, 0, 1])


def test_unknown_and_missing_labels_are_nan():
    categories = [["a", "b"], [1, 2]]
    X = pd.DataFrame({"g": ["b", "z", None], "h": pd.array([2, 7, pd.NA], dtype="Int64")})
    np.testing.assert_array_equal(
        encode_features(X, categories), [[1, 1], [np.nan, np.nan], [np.nan, np.nan]]
    )


def test_a_label_keeps_its_code_whatever_holds_it():
    categories = find_categories(pd.DataFrame({"g": pd.Categorical([10, 20])}), "from_dtype")
    for other in (
        np.array([[20], [10]]),
        np.array([[20.0], [10.0]]),
        pd.DataFrame({"g": pd.Categorical([20, 10])}),
    ):
        assert encode_features(other, categories).ravel().tolist() == [1.0, 0.0]


def test_labels_that_are_neither_text_nor_numbers_count_by_their_text():
    X = pd.DataFrame({"g": pd.cut([1.0, 9.0, np.nan], [0, 5, 10])})
    categories = find_categories(X, "from_dtype")
    assert categories == [["(0, 5]", "(5, 10]"]]
    np.testing.assert_array_equal(encode_features(X, categories), [[0], [1], [np.nan]])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("by_magic", 'expected "from_dtype", names or indices'),
        (1.5, 'expected "from_dtype", names or indices'),
        (["h"], "columns of X ('x', 'g'), got 'h'"),
        ([2], "expected indices of the 2 features, got 2"),
        ([0.5], "expected indices of the 2 features, got 0.5"),
        ([True], "expected a mask of 2 entries, one per feature, got 1"),
    ],
)
def test_what_does_not_name_features_is_refused(chosen, message):
    X = pd.DataFrame({"x": [1, 2], "g": ["a", "b"]})
    with pytest.raises((TypeError, ValueError), match="categorical_features: ") as caught:
        find_categories(X, chosen)
    assert message in str(caught.value)


def test_a_name_needs_column_names():
    with pytest.raises(ValueError, match="since X has no column names; got 'g'"):
        find_categories([["a"], ["b"]], ["g"])


def test_numbers_and_texts_of_labels_are_the_same_label_where_only_one_is_known():
    assert encode_features(np.array([[2], [1], [7]]), [["1", "2"]])[:2].ravel().tolist() == [
        1.0,
        0.0,
    ]
    assert encode_features(np.array([["2"], ["1"]], dtype=object), [[1, 2]]).ravel().tolist() == [
        1.0,
        0.0,
    ]
