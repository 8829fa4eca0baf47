"""Numbers among the arguments: what is taken, what is refused, and the words."""

import numpy as np
import pytest

from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood._support.checks import check_count, check_number, check_positive, is_integer

X, Y = np.arange(12.0).reshape(-1, 1), [(value, value + 2) for value in range(12)]


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers_of_any_type_are_counts(value):
    assert is_integer(value)
    count = check_count("n", value, 3)
    assert count == 3
    assert type(count) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, "3", None, [3], np.float32(3)])
def test_other_types_are_no_counts(value):
    assert not is_integer(value)
    with pytest.raises(TypeError, match=r"n: expected an integer >= 1 or None, got .*\.$"):
        check_count("n", value, 1, otherwise=" or None")


@pytest.mark.parametrize("value", [True, "1", None, 1j])
def test_what_is_no_number_has_the_wrong_type(value):
    with pytest.raises(TypeError, match=r"x: expected a finite number > 0, got"):
        check_positive("x", value)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, 10**400, np.float32("inf")])
def test_a_positive_number_is_finite_and_above_zero(value):
    with pytest.raises(ValueError, match=r"x: expected a finite number > 0, got"):
        check_positive("x", value)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, float])
def test_small_types_are_compared_without_overflow(kind):
    check_positive("x", kind(0.5))
    check_number("x", kind(0.5), "less than 1e150", lambda number: number < 1e150)
    assert MaxMarginIntervalTree(margin=kind(0.5)).fit(X, Y).get_n_leaves() > 1


@pytest.mark.parametrize("make", [MaxMarginIntervalBoosting, MaxMarginIntervalForest])
@pytest.mark.parametrize(
    ("n_estimators", "error"), [(5.0, TypeError), (True, TypeError), (0, ValueError)]
)
def test_ensembles_speak_alike(make, n_estimators, error):
    with pytest.raises(error, match=r"n_estimators: expected an integer >= 1, got"):
        make(n_estimators).fit(X, Y)


@pytest.mark.parametrize(
    "name", ["n_iter_no_change", "subsample", "learning_rate", "validation_fraction", "tol"]
)
def test_booleans_are_no_numbers(name):
    with pytest.raises(TypeError, match=rf"{name}: expected .*, got True"):
        MaxMarginIntervalBoosting(**{name: True}).fit(X, Y)
