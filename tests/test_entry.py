"""Delayed entry (left truncation): R's figures, a brute force, and curves without the bias of ignoring it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

from marginwood import (
    CensoredLinearRegression,
    MaxMarginIntervalForest,
    TransformedIntervalRegressor,
    from_events,
    load,
    make_intervals,
    save,
)
from marginwood._ends import half_open
from marginwood.distributions import turnbull
from marginwood.distributions._late import estimate_late


def product_limit(time, event, entry, at):
    """Kaplan and Meier with delayed entry: at risk at t are the rows with entry < t <= time."""
    survival = 1.0
    for t in np.unique(time[event]):
        if t <= at:
            at_risk = ((entry < t) & (t <= time)).sum()
            survival *= 1 - (event & (time == t)).sum() / at_risk
    return survival


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_right_censored_rows_give_the_product_limit_of_those_at_risk(seed):
    rng = np.random.default_rng(seed)
    entry = rng.integers(0, 5, 30).astype(float)
    entry[rng.random(30) < 0.3] = -np.inf
    time = np.maximum(entry, 0) + rng.integers(1, 6, 30)
    event = rng.random(30) < 0.6
    estimate = turnbull(from_events(time, event), entry=entry, tol=1e-9)
    for at in range(11):
        expected = product_limit(time, event, entry, at)
        assert estimate.sf(at, bound="upper") == pytest.approx(expected, abs=1e-9)


def test_the_curve_is_that_of_r():
    # survfit(Surv(entry, time, event) ~ 1) of these rows, R 4.2.2 with survival 3.5
    entry = [0, 0, 0.5, 1, 1, 2, 2.5, 3, 3, 4]
    time = [1.5, 3, 2, 4, 5, 3, 6, 7, 4.5, 8]
    event = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1]
    estimate = turnbull(from_events(time, event), entry=entry)
    found = estimate.sf([1.5, 3, 4, 4.5, 6, 8])
    expected = [0.8, 0.48, 0.384, 0.3072, 0.2048, 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def likelihood(y, entry, cells, mass):
    """Sum of the logarithms of P(interval) / P(above the entry), masses within cells that no end divides."""
    total = 0.0
    for (lower, upper), e in zip(y, entry, strict=True):
        inside = sum(m for (a, b), m in zip(cells, mass, strict=True) if lower <= a and b <= upper)
        above = sum(m for (a, _), m in zip(cells, mass, strict=True) if a >= e)
        total += np.log(max(inside, 1e-300)) - np.log(max(above, 1e-300))
    return total


@given(st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_no_other_masses_are_more_likely(seed):
    """The brute force puts mass anywhere between any two ends, and follows the slope of logits."""
    rng = np.random.default_rng(seed)
    entry = np.where(rng.random(8) < 0.6, rng.integers(0, 4, 8), -np.inf)
    entry[:2] = -np.inf  # somebody is there from the beginning, so that no cell ends the curve
    lower = np.maximum(entry, 0) + rng.integers(0, 4, 8)
    upper = np.where(rng.random(8) < 0.3, np.inf, lower + rng.integers(0, 4, 8))
    y = np.column_stack([lower, upper])
    y[:2] = [0, np.inf], [3, np.inf]
    y[2] = 9.0
    y = np.where((y[:, :1] <= entry[:, None]) & (y[:, :1] == y[:, 1:]), y + 0.5, y)
    found = estimate_late(y, entry, np.ones(8), 1e-8)
    rows = half_open(y)
    ends = np.unique(np.concatenate([[-np.inf, np.inf], rows.ravel(), entry]))
    cells = list(pairwise(ends))

    def loss(logit):
        mass = np.exp(logit - logit.max())
        return -likelihood(rows, entry, cells, mass / mass.sum())

    best = min(
        minimize(loss, rng.normal(size=len(cells)), method="BFGS", options={"gtol": 1e-6}).fun
        for _ in range(3)
    )
    assert found.log_likelihood >= -best - 1e-4
    ours = np.array(
        [
            sum(
                m
                for (a, b), m in zip(half_open(found.support), found.mass, strict=True)
                if (a, b) == cell
            )
            for cell in cells
        ]
    )
    if ours.sum() == pytest.approx(1):  # every support interval is one of the cells
        assert likelihood(rows, entry, cells, ours) == pytest.approx(found.log_likelihood, abs=1e-6)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_entries_before_everything_change_nothing(seed):
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 8, 40).astype(float)
    upper = np.where(rng.random(40) < 0.3, np.inf, lower + rng.integers(0, 4, 40))
    lower[np.isfinite(upper) & (rng.random(40) < 0.2)] = -np.inf
    y, weight = np.column_stack([lower, upper]), rng.integers(0, 3, 40) + 0.5
    y[0] = 0, 9
    early = turnbull(y, weight, entry=np.full(40, -np.inf), tol=1e-7)
    plain = turnbull(y, weight, tol=1e-7)
    assert early.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-6)
    at = np.arange(10)
    np.testing.assert_allclose(early.sf(at, bound="lower"), plain.sf(at, bound="lower"), atol=1e-3)


def test_a_row_alone_at_risk_does_not_end_the_curve_if_its_interval_leaves_that_open():
    y = [(0.5, 3), (2, 4), (3, 4), (5, np.inf)]
    estimate = turnbull(y, entry=[0, 1, 1, 1])
    assert estimate.sf(1.0) == 1
    assert estimate.sf(4.5) > 0.2
    # An event that leaves nobody does end it, as in R.
    assert turnbull([(0.5, 0.5), *y[1:]], entry=[0, 1, 1, 1]).sf(1.0) == 0


def draw_late(rng, n_rows=300):
    """Weibull times, seen if they are beyond a late entry; every other one between visits, some right-censored."""
    time = rng.weibull(1.5, n_rows) * 4
    entry = np.where(rng.random(n_rows) < 0.2, 0.0, rng.uniform(0, 4, n_rows))
    kept = time > entry
    time, entry = time[kept], entry[kept]
    n_rows = len(time)
    y = from_events(np.minimum(time, 7), time <= 7)
    visits = rng.random(n_rows) < 0.5
    y[visits & (time <= 7), 0] = np.maximum(time - rng.uniform(0, 1, n_rows), entry)[
        visits & (time <= 7)
    ]
    y[visits & (time <= 7), 1] = (time + rng.uniform(0, 1, n_rows))[visits & (time <= 7)]
    return y, entry


@pytest.mark.parametrize("method", ["turnbull", "linear", "forest"])
def test_curves_have_no_bias_where_ignoring_the_entry_has(method):
    rng = np.random.default_rng(0)
    quartiles = 4 * (-np.log([0.75, 0.5, 0.25])) ** (1 / 1.5)
    errors = {"late": [], "ignored": []}
    for draw in range(25 if method == "forest" else 60):
        y, entry = draw_late(rng)
        X = rng.normal(size=(len(y), 1))
        for name, late in (("late", entry), ("ignored", None)):
            if method == "turnbull":
                survival = turnbull(y, entry=late).sf(quartiles)
            elif method == "linear":
                model = CensoredLinearRegression(noise="gumbel", alpha=0)
                with np.errstate(divide="ignore"):
                    model.fit(X, np.log(y), entry=None if late is None else np.log(late))
                survival = model.predict_survival_function([[0.0]], np.log(quartiles))[0]
            else:
                forest = MaxMarginIntervalForest(20, max_depth=1, random_state=draw)
                forest.fit(X, y, entry=late)
                survival = forest.predict_survival_function(X[:10], quartiles).mean(axis=0)
            errors[name].append(survival - [0.75, 0.5, 0.25])
    z = {
        name: np.mean(found, axis=0) / (np.std(found, axis=0) / np.sqrt(len(found)))
        for name, found in errors.items()
    }
    assert np.abs(z["late"]).max() < 2
    assert np.abs(z["ignored"]).min() > 2


def test_files_and_pickles_keep_entries(tmp_path):
    rng = np.random.default_rng(1)
    y, entry = draw_late(rng)
    X = rng.normal(size=(len(y), 2))
    forest = MaxMarginIntervalForest(5, max_depth=2, random_state=0).fit(X, y, entry=entry)
    save(forest, tmp_path / "forest.mw")
    curves = load(tmp_path / "forest.mw").predict_survival_function(X, [1.0, 4.0])
    np.testing.assert_array_equal(curves, forest.predict_survival_function(X, [1.0, 4.0]))
    ignored = forest.fit(X, y).predict_survival_function(X, [1.0, 4.0])
    assert (ignored > curves).mean() > 0.9


def test_rows_that_end_before_their_entry_are_refused():
    y = make_intervals([1, 2], [2, 4])
    with pytest.raises(ValueError, match=r"entry: not below the value.*row 0, entry=2.0"):
        turnbull(y, entry=[2, 1])
    with pytest.raises(ValueError, match=r"entry: not below the value.*row 1, entry=5.0"):
        MaxMarginIntervalForest(3).fit([[0], [1]], y, entry=[1, 5])


def test_groups_have_curves_of_their_own_and_no_bands():
    rng = np.random.default_rng(2)
    y, entry = draw_late(rng)
    group = np.where(np.arange(len(y)) % 2, "a", "b")
    curves = turnbull(y, by=group, entry=entry)
    alone = turnbull(y[group == "a"], entry=entry[group == "a"])
    np.testing.assert_array_equal(curves["a"].support, alone.support)
    with pytest.raises(ValueError, match="no confidence bands of rows with delayed entry"):
        curves["a"].confidence_band()


@pytest.mark.filterwarnings("ignore:y. 1 of 6 rows are")
@pytest.mark.parametrize("lower", [-np.inf, 0.0, 1.0])
def test_rows_that_say_no_more_than_their_entry_change_nothing_whatever_they_weigh(lower):
    y, entry = [[1, 2], [2, 3], [4, 4], [5, np.inf]], [0, 1, 0, 2]
    expected = turnbull(y, entry=entry)
    weight = np.array([1.0, 1, 1, 1, 1e17, 1e300])
    rows = [*y, [lower, np.inf], [1.0, np.inf]]
    found = turnbull(rows, weight, entry=[*entry, 1.0, 1.0])
    assert found.support.tolist() == expected.support.tolist()
    assert found.mass.tolist() == expected.mass.tolist()
    assert turnbull([[1.0, np.inf]], entry=[1.0]).mass.tolist() == [1.0]


@pytest.mark.parametrize(
    "regressor",
    [
        CensoredLinearRegression(noise="gumbel", alpha=0),
        MaxMarginIntervalForest(5, max_depth=2, random_state=0),
    ],
)
def test_entries_are_transformed_like_the_target(regressor):
    rng = np.random.default_rng(3)
    y, entry = draw_late(rng)
    X = rng.normal(size=(len(y), 2))
    model = TransformedIntervalRegressor(regressor, func="log").fit(X, y, entry=entry)
    with np.errstate(divide="ignore"):
        inner = clone(regressor).fit(X, np.log(y), entry=np.log(entry))
    at = np.log([1.0, 4.0])
    expected = inner.predict_survival_function(X, at)
    np.testing.assert_allclose(
        model.regressor_.predict_survival_function(X, at), expected, atol=1e-9
    )
    ignored = model.fit(X, y).regressor_.predict_survival_function(X, at)
    assert (ignored > expected).mean() > 0.9


def test_a_forest_keeps_entries_of_its_own():
    entry = np.full(60, -5.0)
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.column_stack([X[:, 0], X[:, 0] + 1])
    forest = MaxMarginIntervalForest(5, min_samples_leaf=9, random_state=0).fit(X, y, entry=entry)
    before = forest.predict_distribution(X[:3]).sf(0.5)
    entry[:] = -1e-9
    np.testing.assert_array_equal(forest.predict_distribution(X[:3]).sf(0.5), before)
