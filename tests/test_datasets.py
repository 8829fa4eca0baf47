import numpy as np
import pytest

from marginwood.datasets import make_absolute, make_linear, make_sine

SIGNALS = {
    make_sine: np.sin,
    make_absolute: lambda x: np.abs(x - 5),
    make_linear: lambda x: x / 5,
}
each_maker = pytest.mark.parametrize("make", SIGNALS)


@each_maker
def test_default_shape_is_200_rows_of_20_features(make):
    X, y = make(random_state=0)
    assert X.shape == (200, 20)
    assert y.shape == (200, 2)
    assert X.dtype == y.dtype == np.float64


@each_maker
def test_features_lie_between_0_and_10(make):
    X, _ = make(1000, 3, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 10
    np.testing.assert_allclose(X.mean(axis=0), 5, atol=0.4)


@each_maker
def test_lower_is_below_upper_and_one_end_is_finite(make):
    _, y = make(5000, 1, random_state=0)
    assert (y[:, 0] < y[:, 1]).all()
    assert np.isfinite(y).any(axis=1).all()


@each_maker
def test_a_fifth_of_each_end_is_open(make):
    _, y = make(20_000, 1, random_state=0)
    np.testing.assert_allclose(np.isinf(y).mean(axis=0), 0.2, atol=0.01)


@each_maker
def test_closed_intervals_are_centred_on_the_signal_of_the_first_feature(make):
    X, y = make(20_000, 2, random_state=0)
    closed = np.isfinite(y).all(axis=1)
    deviation = y[closed].mean(axis=1) - SIGNALS[make](X[closed, 0])
    assert abs(deviation.mean()) < 0.01
    # Shift 0.2 and the middle of the extremes of 10 normal draws of 0.3 (0.13) together.
    np.testing.assert_allclose(deviation.std(), 0.24, atol=0.01)


def test_closed_intervals_are_as_wide_as_the_range_of_ten_normal_draws():
    _, y = make_sine(20_000, 1, random_state=0)
    closed = np.isfinite(y).all(axis=1)
    np.testing.assert_allclose(np.diff(y[closed]).mean(), 3.078 * 0.3, atol=0.01)


@each_maker
def test_a_seed_repeats_and_another_seed_differs(make):
    X, y = make(random_state=3)
    X_again, y_again = make(random_state=np.random.RandomState(3))
    X_other, y_other = make(random_state=4)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert (X_other != X).any()
    assert (y_other != y).any()


def test_makers_share_features_for_one_seed():
    np.testing.assert_array_equal(make_sine(random_state=0)[0], make_linear(random_state=0)[0])


@pytest.mark.parametrize("argument", ["n_samples", "n_features"])
def test_counts_below_one_are_refused_by_name(argument):
    with pytest.raises(ValueError, match=f"{argument}: .* got 0"):
        make_sine(**{argument: 0})
