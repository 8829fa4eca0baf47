"""Brackets, bins and visits share ends: what is estimated from them, from one end of the package to the other."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from marginwood import (
    DistributionalIntervalRegressor,
    DistributionalSuperLearner,
    IntervalDummyRegressor,
    L1IntervalRegression,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    from_detection_limits,
    make_intervals,
)
from marginwood.datasets import load_gbsg2, load_incomes
from marginwood.distributions import turnbull
from marginwood.metrics import interval_log_loss
from strategies import sided_intervals


def test_shares_of_incomes_are_those_of_counting():
    y = load_incomes().y
    estimate = turnbull(y)
    for income in (60_000, 90_000):
        assert estimate.sf(income) == pytest.approx(np.mean(y[:, 0] > income - 1))
    np.testing.assert_allclose(estimate.sf([60_000, 90_000]), [0.287, 0.122], atol=5e-4)
    brackets, counts = np.unique(y, axis=0, return_counts=True)
    assert len(brackets) == 24
    np.testing.assert_allclose(estimate.probability(brackets), counts / len(y), atol=1e-9)
    assert estimate.probability(brackets).sum() == pytest.approx(1)


def test_a_forest_of_brackets_has_quantiles_inside_of_them():
    voters = load_incomes()
    forest = MaxMarginIntervalForest(30, min_samples_leaf=20, random_state=0).fit(
        voters.X, voters.y
    )
    quantiles = forest.predict_quantile(voters.X[:50], [0.1, 0.5, 0.9])
    edges = np.unique(voters.y.round())
    assert np.isin(quantiles.round(6), edges).mean() < 0.1
    curves = forest.predict_distribution(voters.X[:50])
    brackets = np.unique(voters.y, axis=0)
    sums = sum(curves.probability(np.tile(bracket, (50, 1))) for bracket in brackets)
    np.testing.assert_allclose(sums, 1)


def test_annual_visits_estimate_the_true_curve():
    grid = np.linspace(0, 6, 61)
    truth = np.exp(-((grid / 4) ** 1.5))
    errors = []
    for seed in range(5):
        last = np.minimum(np.floor(4 * np.random.default_rng(seed).weibull(1.5, 1000)), 6)
        estimate = turnbull(make_intervals(last, np.where(last < 6, last + 1, inf)))
        errors.append(np.abs(estimate.sf(grid) - truth).mean())
    assert np.mean(errors) < 0.015


def test_medians_of_values_in_brackets_are_near_the_values():
    X, value = make_friedman1(300, noise=1.0, random_state=0)
    lower = np.floor(value / 5) * 5
    new, truth = make_friedman1(500, random_state=1)
    forest = MaxMarginIntervalForest(50, min_samples_leaf=5, random_state=0)
    pool = DistributionalSuperLearner(
        [("linear", DistributionalIntervalRegressor(L1IntervalRegression())), ("forest", forest)]
    )
    errors = {}
    for closed, shift in (("right", 0.0), ("left", 0.0), ("right", 1e-6)):
        # An upper end that is moved by much more than a bit keeps brackets apart, whatever reads
        # them.
        y = make_intervals(lower, lower + 5 - shift, closed=closed)
        for name, model in (("forest", forest), ("pool", pool)):
            median = clone(model).fit(X, y).predict_quantile(new, 0.5)
            errors[name, closed, shift] = np.mean((median - truth) ** 2)
    for name, most in (("forest", 7.0), ("pool", 8.0)):
        found = [error for (model, _, _), error in errors.items() if model == name]
        assert max(found) < most
        np.testing.assert_allclose(found, found[-1], rtol=0.1)


def test_events_come_before_censorings_in_units_of_a_transformed_target():
    women = load_gbsg2()
    forest = MaxMarginIntervalForest(10, min_samples_leaf=10, random_state=0)
    model = TransformedIntervalRegressor(forest, func="log").fit(women.X, women.y)
    curves = model.predict_distribution(women.X[:20])
    literal = model.regressor_.predict_distribution(women.X[:20])
    days = np.unique(women.y[:, 0])
    for bound in ("lower", "upper"):
        np.testing.assert_array_equal(
            curves.sf(days, bound=bound), literal.sf(np.log(days), bound=bound)
        )
    assert set(curves[0].support[:, 0]) <= set(days)


@pytest.mark.parametrize("func", ["log", "sqrt", "arcsinh"])
def test_sides_survive_a_transformation_of_the_target(func):
    # One leaf: the curve is that of all rows, in units of the target.
    y = from_detection_limits(["<1e10", "1e10", "<1e10", "1e10", "≥1e10", "3e10", "0.5", "<2"])
    y[:, 0] = np.maximum(y[:, 0], 0)
    X = np.zeros((len(y), 1))
    forest = MaxMarginIntervalForest(5, bootstrap=False, random_state=0)
    curve = TransformedIntervalRegressor(forest, func=func).fit(X, y).predict_distribution(X[:1])[0]
    expected = turnbull(y)
    assert curve.support.tolist() == expected.support.tolist()
    np.testing.assert_allclose(curve.mass, expected.mass, atol=1e-3)
    places = [0.5, 2, 1e10, np.nextafter(1e10, 0), 3e10]
    np.testing.assert_allclose(
        curve.cdf(places, bound="lower"), expected.cdf(places, bound="lower"), atol=1e-3
    )


@pytest.mark.parametrize(
    ("func", "lower"), [("log", -inf), ("log1p", -5e-324), ("sqrt", -5e-324), ("arcsinh", -5e-324)]
)
def test_a_lower_end_of_0_that_belongs_to_its_interval_is_still_one(func, lower):
    y = make_intervals([0, 1], [5, 7], closed="both")
    model = TransformedIntervalRegressor(IntervalDummyRegressor(), func=func)
    ends = model._transform(y, marginwood_transformation(func))
    assert ends[0, 0] == lower
    assert model.fit([[0.0], [1.0]], y).predict([[0.0]]) > 0


def marginwood_transformation(func):
    from marginwood._ensemble.transformed import NAMED

    return NAMED[func]


def test_errors_around_a_prediction_keep_their_sides():
    y = from_detection_limits(["<0.006", "0.006", "<0.006", "0.006", "0.01", "0.03", "10"])
    X = np.zeros((7, 1))
    rows = np.arange(7)
    # All rows have one prediction, from which 0.006 and the number right below it are equally far,
    # in floats.
    model = DistributionalIntervalRegressor(
        IntervalDummyRegressor(), cv=[(rows, rows)], neighbors=None
    ).fit(X, y)
    expected = turnbull(y)
    residual = model.residual_distribution_
    assert len(residual[0].mass) == len(expected.mass)
    np.testing.assert_allclose(residual[0].mass, expected.mass, atol=1e-3)


@given(sided_intervals(min_size=2), st.sampled_from(["linear_hinge", "squared_hinge"]))
def test_sides_change_no_loss_and_no_prediction_by_more_than_the_last_bit(rows, loss):
    plain = make_intervals(rows.lower, rows.upper)
    X = np.arange(len(plain), dtype=float)[:, np.newaxis]
    tree = MaxMarginIntervalTree(loss=loss, max_depth=2)
    with np.errstate(all="raise"):
        first, second = (clone(tree).fit(X[mask(plain)], y[mask(plain)]) for y in (plain, rows.y))
    np.testing.assert_array_equal(first.tree_.threshold, second.tree_.threshold)
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-14)
    np.testing.assert_allclose(first.tree_.impurity, second.tree_.impurity, atol=1e-13)


def mask(y):
    """The informative rows."""
    return np.isfinite(y).any(axis=1)


def test_scores_of_brackets_prefer_the_curve_that_made_them():
    rng = np.random.default_rng(0)
    place = rng.choice(4, size=500, p=[0.1, 0.4, 0.3, 0.2])
    edges = np.array([0.0, 1, 2, 3, 4])
    y = make_intervals(edges[place], edges[place + 1], closed="left")
    assert interval_log_loss(y, turnbull(y)) == pytest.approx(
        -np.mean(np.log(np.bincount(place)[place] / 500))
    )
