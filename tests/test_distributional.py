"""Predictive distributions from residual intervals."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CrossFittedIntervalRegressor,
    DistributionalIntervalRegressor,
    IntervalDummyRegressor,
    L1IntervalRegression,
    MaxMarginIntervalTree,
    from_events,
)
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull

X, Y = make_sine(80, 2, random_state=0)
TREE = MaxMarginIntervalTree(max_depth=3)


@parametrize_with_checks([DistributionalIntervalRegressor(TREE, cv=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_the_distribution_of_residual_intervals_is_put_around_predictions():
    model = DistributionalIntervalRegressor(TREE, cv=4).fit(X, Y)
    inner = CrossFittedIntervalRegressor(TREE, cv=4).fit(X, Y)
    residual = turnbull(Y - inner.oof_prediction_[:, np.newaxis])
    np.testing.assert_allclose(model.residual_distribution_.mass, residual.mass)
    times = np.linspace(-2, 2, 9)
    expected = [residual.sf(times - prediction) for prediction in inner.predict(X)]
    np.testing.assert_allclose(model.predict_survival_function(X, times), expected, atol=1e-12)


def test_curves_fall_from_one_to_zero_and_quantiles_rise():
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    curves = model.predict_survival_function(X, np.linspace(-9, 9, 50))
    assert ((curves >= 0) & (curves <= 1)).all()
    assert (np.diff(curves, axis=1) <= 0).all()
    assert (np.diff(model.predict_quantile(X, [0.1, 0.5, 0.9]), axis=1) >= 0).all()


def test_permuted_rows_are_predicted_alike():
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    order = np.random.RandomState(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict_quantile(X[order], 0.3), model.predict_quantile(X, 0.3)[order])


def test_the_prediction_is_the_median():
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), model.predict_distribution(X).median(bound="spread"))


def test_a_median_beyond_all_data_is_the_farthest_limit():
    times = np.arange(1.0, 31.0)
    y = from_events(times, times < 5)
    model = DistributionalIntervalRegressor(IntervalDummyRegressor(), cv=3).fit(times.reshape(-1, 1), y)
    assert np.isinf(model.predict_quantile([[1.0]], 0.9)).all()
    assert np.isfinite(model.predict([[1.0]])).all()


def test_right_censored_predictions_are_later_than_those_of_the_plain_model():
    random = np.random.RandomState(0)
    x = random.standard_normal((600, 1))
    time = x[:, 0] + random.standard_normal(600)
    end = random.standard_normal(600) + 0.5
    y = from_events(np.minimum(time, end), time <= end)
    plain = L1IntervalRegression(alpha=0.01).fit(x, y)
    model = DistributionalIntervalRegressor(L1IntervalRegression(alpha=0.01)).fit(x, y)
    bias = [np.mean(predicted - x[:, 0]) for predicted in (plain.predict(x), model.predict(x))]
    assert bias[0] < -0.15
    assert abs(bias[1]) < abs(bias[0]) / 2


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([2.0, 1.0], "times: expected ascending numbers, got 2.0 before 1.0"),
        ([1.0, np.nan], "times: expected finite numbers"),
        ([], "times: expected a number or several"),
    ],
)
def test_times_out_of_order_are_refused(times, message):
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict_survival_function(X, times)
