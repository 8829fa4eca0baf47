"""The best constant."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import IntervalDummyRegressor
from marginwood.losses import hinge_loss
from strategies import informative_intervals, losses, margins


@parametrize_with_checks([IntervalDummyRegressor()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
@given(y=informative_intervals(), loss=losses, margin=margins)
def test_no_constant_costs_less_than_the_dummys(y, loss, margin):
    dummy = IntervalDummyRegressor(loss=loss, margin=margin).fit(np.zeros((len(y), 1)), y)
    cost = hinge_loss(y, dummy.constant_, loss=loss, margin=margin).sum()
    finite = y[np.isfinite(y)]
    for other in np.linspace(finite.min() - 1, finite.max() + 1, 41):
        assert cost <= hinge_loss(y, other, loss=loss, margin=margin).sum() + 1e-9
    assert dummy.optimal_interval_[0] <= dummy.constant_ <= dummy.optimal_interval_[1]


def test_the_dummy_weighs_rows_and_takes_any_features():
    X, y = [[nan], [inf], [0.0]], [1.0, 2.0, 9.0]
    dummy = IntervalDummyRegressor().fit(X, y, sample_weight=[1, 3, 0])
    np.testing.assert_allclose(dummy.predict(X), 1.75)
    assert dummy.score(X, [1.75, 1.75, 1.75]) == 1
