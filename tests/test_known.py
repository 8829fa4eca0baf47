"""Bounds that the rows alone give: against rows whose values are put anywhere inside their intervals."""

import pickle
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import MaxMarginIntervalForest, TransformedIntervalRegressor, from_events
from marginwood.datasets import make_sine
from marginwood.distributions import IntervalDistribution, turnbull
from strategies import sided_intervals, spread_weights
from test_distributions import POINTS
from test_leafweights import literal_weights
from test_npmle import estimate


def shares(y, weight, t):
    """The weight of rows that end by t, and of those that begin before."""
    lower, upper = y.T
    begins = np.where(lower == upper, lower <= t, lower < t)
    return np.array([weight @ (upper <= t), weight @ begins]) / weight.sum()


@given(sided_intervals(), st.data())
def test_certain_curves_are_the_shares_of_rows_that_end_and_that_begin(rows, data):
    y = rows.y[np.isfinite(rows.y).any(axis=1)]
    weight = data.draw(spread_weights(len(y)))
    found = estimate(y, weight)
    expected = np.array([shares(y, weight, t) for t in POINTS])
    np.testing.assert_allclose(found.cdf(POINTS, bound="certain"), expected, atol=1e-9)
    np.testing.assert_allclose(found.sf(POINTS, bound="certain"), 1 - expected[:, ::-1], atol=1e-9)


@given(sided_intervals())
def test_the_estimate_lies_within_what_is_certain(rows):
    y = rows.y[np.isfinite(rows.y).any(axis=1)]
    found = estimate(y, None, 1e-9)
    least, most = found.cdf(POINTS, bound="certain").T
    for bound in ("lower", "spread", "upper"):
        curve = found.cdf(POINTS, bound=bound)
        assert (least - 1e-3 <= curve).all()
        assert (curve <= most + 1e-3).all()


@given(sided_intervals(), st.lists(st.floats(0, 1), min_size=40, max_size=40), st.floats(0, 1))
def test_whatever_the_values_are_the_answers_are_bounded(rows, places, q):
    y = rows.y[np.isfinite(rows.y).any(axis=1)]
    found = estimate(y)
    near = np.clip(y, -20, 20)
    place = 1 - np.resize(places, len(y)) * (1 - 1e-9)  # the upper end belongs to a row
    values = near[:, 1] - (1 - place) * (near[:, 1] - near[:, 0])
    values = np.where(
        y[:, 0] == y[:, 1], y[:, 1], np.clip(values, np.nextafter(near[:, 0], inf), near[:, 1])
    )
    low, high = found.quantile(q, bound="certain")
    truth = np.quantile(values, q, method="inverted_cdf")
    assert low <= truth <= high
    least, most = found.mean(bound="certain")
    assert least - 1e-9 <= values.mean() <= most + 1e-9
    least, most = found.mean(bound="certain", within=(-1, 1))
    assert least - 1e-9 <= np.clip(values, -1, 1).mean() <= most + 1e-9
    assert found.median(bound="certain").tolist() == found.quantile(0.5, bound="certain").tolist()


def test_rows_that_say_nothing_count_and_rows_of_no_weight_do_not():
    with pytest.warns(UserWarning, match="carry no information"):
        found = turnbull([(1, 1), (2, 3), (-inf, inf), (0, 0)], [1, 1, 2, 0])
    assert found.cdf([0.5, 1, 2.5, 3], bound="certain").tolist() == [
        [0, 0.5],
        [0.25, 0.75],
        [0.25, 1],
        [0.5, 1],
    ]
    assert found.quantile([0.4, 0.6], bound="certain").tolist() == [[-inf, 3], [1, inf]]


def test_rows_that_change_later_change_no_answer():
    y = np.array([(0.0, 2.0), (1, 1), (1, inf)])
    found = turnbull(y)
    before = found.cdf([0.5, 1, 2], bound="certain")
    y += 10
    np.testing.assert_array_equal(found.cdf([0.5, 1, 2], bound="certain"), before)


def test_exact_rows_leave_nothing_open():
    found = turnbull([3.0, 1.0, 2.0])
    assert found.quantile([0.2, 0.9], bound="certain").tolist() == [[1, 1], [3, 3]]
    np.testing.assert_allclose(found.mean(bound="certain"), [2, 2])


def test_rows_stay_with_a_distribution_that_is_repeated_or_pickled():
    found = turnbull([(0, 2), (1, 1), (1, inf)])
    twice = pickle.loads(pickle.dumps(found.shifted([0.0, 0.0])))
    at = np.array([[0.5, 1, 1.5, 2], [0, 1, 3, 7]])
    np.testing.assert_array_equal(
        twice.cdf(at, bound="certain"), [found.cdf(row, bound="certain") for row in at]
    )
    assert twice[1].quantile(0.5, bound="certain").tolist() == [1, 2]


@pytest.mark.parametrize("is_log", [False, True])
def test_forests_carry_the_rows_of_their_leaves(is_log):
    X, y = make_sine(90, 2, random_state=0)
    if is_log:
        y = from_events(np.exp(y[:, 0].clip(-3, 3)).round(2), np.arange(90) % 3 > 0)
    forest = MaxMarginIntervalForest(12, min_samples_leaf=8, max_features=None, random_state=0)
    model = TransformedIntervalRegressor(forest) if is_log else forest
    model = model.fit(X, y)
    inner = model.regressor_ if is_log else model
    new = np.vstack([X[:30]] * 10)  # more queries than one block
    t = np.unique(y[np.isfinite(y)])[::5]
    found = model.predict_distribution(new)
    expected = (
        [[shares(y, weights, at) for at in t] for weights in literal_weights(inner, X[:30])]
        if not is_log
        else [
            [shares(y, weights, at) for at in t] for weights in literal_weights_of(inner, X[:30], X)
        ]
    )
    np.testing.assert_allclose(
        found.cdf(t, bound="certain"), np.tile(expected, (10, 1, 1)), atol=1e-9
    )
    assert (found.sf(t, bound="certain")[..., 0] <= found.sf(t, bound="lower") + 0.02).all()
    low, high = found[[5, 200]].quantile(0.5, bound="certain").T
    assert (low <= high).all()


def literal_weights_of(forest, X, training):
    import test_leafweights

    before, test_leafweights.X = test_leafweights.X, training
    try:
        return literal_weights(forest, X)
    finally:
        test_leafweights.X = before


def test_a_distribution_without_rows_says_so():
    for one in (
        IntervalDistribution([(0, 1)], [1.0]),
        turnbull([(0, 1), (2, 3)]).given(0, 1),
        turnbull([(0, 1), (2, 3)]).shifted(1.0),  # as errors around a prediction are
    ):
        for ask in (one.cdf, one.sf, one.quantile):
            with pytest.raises(ValueError, match="bound: 'certain' asks the rows behind"):
                ask(0.5, bound="certain")


def test_no_rows_have_no_curves():
    X = np.arange(30.0)[:, np.newaxis]
    forest = MaxMarginIntervalForest(5, random_state=0).fit(X, X[:, 0])
    none = forest.predict_distribution(X)[[]]
    assert none.cdf(1.5, bound="certain").shape == (0, 2)
