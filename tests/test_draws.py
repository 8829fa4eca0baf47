"""Distributions given what is known of a value, draws from them, and complete labels."""

import pickle
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from marginwood import (
    CensoredLinearRegression,
    DistributionalSuperLearner,
    MaxMarginIntervalForest,
    TransformedIntervalRegressor,
    from_events,
    make_intervals,
)
from marginwood.datasets import make_sine
from marginwood.distributions import IntervalDistribution, impute, turnbull
from strategies import SIDES, informative_intervals
from test_distributions import POINTS, batches, join, steps
from test_npmle import estimate

ENDS = st.sampled_from([-inf, *np.arange(-8, 8.5, 0.5).tolist(), inf])


def holds(low, high, values):
    """What the convention says of an interval."""
    return (values == low) if low == high else (low < values) & (values <= high)


@given(steps(), ENDS, ENDS, st.sampled_from(SIDES))
def test_a_condition_keeps_the_shares_of_what_lies_inside(step, low, high, closed):
    low, high = min(low, high), max(low, high)
    if low == high:
        high = low + 1 if np.isfinite(low) else -low
    low, high = make_intervals([low], [high], closed=closed)[0] if low < high else (-inf, inf)
    whole = IntervalDistribution(*step)
    begin, end = whole.cdf([low, high])
    if end - begin < 1e-12:
        # A support interval of which nothing lies below its least number has no mass at its end.
        with pytest.raises(ValueError, match="given: no mass between lower and upper in 1 of 1"):
            whole.given(low, high)
        return
    found = whole.given(low, high)
    inside = np.clip(POINTS, low, high)
    expected = (whole.cdf(inside) - begin) / (end - begin)
    np.testing.assert_allclose(found.cdf(POINTS), expected, atol=1e-9)
    assert found.mass.sum() == pytest.approx(1)
    again = IntervalDistribution(found._ends, found.mass)  # in order, and masses positive
    assert again.cdf(POINTS).tolist() == found.cdf(POINTS).tolist()


@given(batches(), st.data())
def test_rows_are_conditioned_as_they_would_be_alone(parts, data):
    low = np.array(data.draw(st.lists(ENDS, min_size=len(parts), max_size=len(parts))))
    low = np.where(low == inf, 8.0, low)
    together = join(parts).shifted(np.arange(len(parts)))
    alone = [IntervalDistribution(*part).shifted(row) for row, part in enumerate(parts)]
    try:
        expected = [one.given(end, inf) for one, end in zip(alone, low, strict=True)]
    except ValueError:
        with pytest.raises(ValueError, match="given: no mass"):
            together.given(low, None)
        return
    found = together.given(low, None)
    for row, one in enumerate(expected):
        assert found[row].support.tolist() == one.support.tolist()
        assert found[row].mass.tolist() == one.mass.tolist()


def test_a_value_that_is_known_is_itself_whatever_the_distribution_says():
    found = turnbull([(0, 2), (1, 3)]).given([1.5, 7, 1], [1.5, 7, 3])
    assert [found[row].support.tolist() for row in range(3)] == [[[1.5, 1.5]], [[7, 7]], [[1, 2]]]
    assert turnbull([1.0, 2.0]).given(1, 1).support.tolist() == [[1, 1]]


def test_remaining_life_is_that_of_those_who_lived_so_long():
    rng = np.random.default_rng(0)
    life = rng.weibull(1.5, 500) * 8
    whole, left = turnbull(life), turnbull(life[life > 5])
    given_5 = whole.given(5, inf)
    assert given_5.support.tolist() == left.support.tolist()
    np.testing.assert_allclose(given_5.mass, left.mass)
    assert given_5.mean(bound="spread") == pytest.approx(life[life > 5].mean())


@given(steps(), st.integers(0, 2**32 - 1))
def test_draws_lie_in_support_intervals_as_often_as_these_have_mass(step, seed):
    support, mass = step
    whole = IntervalDistribution(support, mass)
    is_far = np.isinf(support).any(axis=1)
    if is_far.any() and (is_far.all() or np.ptp(support[np.isfinite(support)]) < 0.5):
        with pytest.raises(ValueError, match="sample: nothing tells how far"):
            whole.sample(3)
        return
    draws = whole.sample(200, random_state=seed)
    # An even draw is next to never the upper end itself, which may be a point, too.
    inside = np.array(
        [holds(low, high, draws) & ((draws < high) | (low == high)) for low, high in support]
    )
    assert (inside.sum(axis=0) == 1).all()
    counts = inside.sum(axis=1)
    # Six deviations of a binomial count.
    assert (np.abs(counts - 200 * mass) <= 6 * np.sqrt(200 * mass * (1 - mass)) + 1e-9).all()
    np.testing.assert_array_equal(draws, whole.sample(200, random_state=seed))


def test_draws_have_the_curve_of_the_distribution():
    whole = IntervalDistribution([(0, 1), (1, 1), (2, 6)], [0.2, 0.3, 0.5])
    draws = whole.sample(20_000, random_state=0)
    for t in np.arange(0, 6.5, 0.25):
        assert np.mean(draws <= t) == pytest.approx(whole.cdf(t), abs=0.015)
    assert draws.mean() == pytest.approx(whole.mean(bound="spread"), abs=0.05)
    assert draws.std() == pytest.approx(whole.std(), abs=0.03)
    rows = whole.shifted([0.0, 100.0]).sample(5, random_state=0)
    assert rows.shape == (2, 5)
    assert (rows[1] > 100 - 1e-9).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("origin", [0.0, 1950.0])
def test_the_tail_goes_on_with_the_mean_hazard_of_what_was_seen(sign, origin):
    # Of exponential values, all that is greater than 1 is censored there.
    values = np.random.default_rng(0).exponential(2.0, 4000)
    rows = np.column_stack([np.minimum(values, 1), np.where(values < 1, values, inf)])
    rows = sign * rows[:, ::sign] + origin
    whole = turnbull(rows)
    draws = sign * (whole.sample(4000, random_state=1) - origin)
    assert kstest(draws, "expon", args=(0, 2.0)).pvalue > 0.01
    # What is known to lie beyond keeps that hazard.
    ends = sorted([sign * 3 + origin, sign * inf])
    left = sign * (whole.given(*ends).sample(4000, random_state=2) - origin) - 3
    assert kstest(left, "expon", args=(0, 2.0)).pvalue > 0.01


def test_a_tail_without_anything_before_it_is_refused():
    rows = IntervalDistribution([(0, 0), (1, inf), (4, inf)], [0.5, 0.5, 1.0], [0, 2, 3])
    with pytest.raises(ValueError, match=r"how far .* in 1 of 2 rows \(first: row 1\)"):
        rows.sample(3)
    with pytest.raises(ValueError, match=r"how far .* in 1 of 2 rows \(first: row 1\)"):
        rows.given(5, None).sample(3)
    assert rows[:1].given(5, None).sample(3, random_state=0).min() > 5


def test_draws_stay_inside_of_the_narrowest_and_the_widest_intervals():
    one = 1.0
    for low, high in [(one, nextafter(one, 2)), (-1e150, 1e150), (0.0, 5e-324), (-5e-324, 0.0)]:
        draws = IntervalDistribution([(low, high)], [1.0]).sample(50, random_state=0)
        assert ((low < draws) & (draws <= high)).all()


@given(informative_intervals(), st.integers(0, 100))
def test_complete_labels_lie_inside_their_intervals(y, seed):
    whole = estimate(y)
    is_far = np.isinf(whole.support).any(axis=1)
    finite = whole.support[~is_far]
    limits = whole.support[np.isfinite(whole.support)]
    if is_far.any() and (not len(finite) or np.ptp(limits) < 0.5):
        return  # nothing tells how far
    labels = impute(y, whole, n_imputations=3, random_state=seed)
    assert labels.shape == (3, len(y))
    for row, (low, high) in enumerate(y):
        assert holds(low, high, labels[:, row]).all()


@pytest.mark.parametrize("name", ["forest", "times", "line of times", "mixture"])
def test_labels_are_drawn_from_the_distributions_of_models(name):
    X, y = make_sine(100, 2, random_state=0)
    times = from_events(np.exp(y[:, 0].clip(-3, 3)), np.arange(100) % 3 > 0)
    forest = MaxMarginIntervalForest(10, min_samples_leaf=15, random_state=0)
    model, y = {
        "forest": (forest, y),
        "times": (TransformedIntervalRegressor(forest), times),
        "line of times": (TransformedIntervalRegressor(CensoredLinearRegression()), times),
        "mixture": (DistributionalSuperLearner(random_state=0), times),
    }[name]
    labels = impute(y, model.fit(X, y).predict_distribution(X), random_state=0)
    assert labels.shape == (10, 100)
    assert np.isfinite(labels).all()
    for row, (low, high) in enumerate(y):
        assert holds(low, high, labels[:, row]).all()
    # Sets differ where labels were not known.
    assert ((np.ptp(labels, axis=0) > 0) == (y[:, 0] < y[:, 1])).all()


def test_rubin_s_rules_have_the_coverage_of_complete_labels():
    # Slopes of an ordinary line through labels that were censored in half of the rows.
    rng = np.random.default_rng(0)
    n_hits, n_trials = 0, 60
    for _ in range(n_trials):
        x = rng.normal(size=80)
        value = 1 + 2 * x + rng.normal(size=80)
        limit = rng.normal(1.5, 2, size=80)
        y = np.column_stack([np.minimum(value, limit), np.where(value <= limit, value, inf)])
        slopes, variances = [], []
        for seed in range(8):
            rows = rng.integers(80, size=80)  # the model is an estimate, too
            model = CensoredLinearRegression().fit(x[rows, np.newaxis], y[rows])
            distribution = model.predict_distribution(x[:, np.newaxis])
            labels = impute(y, distribution, n_imputations=1, random_state=seed)[0]
            (slope, _), covariance = np.polyfit(x, labels, 1, cov=True)
            slopes.append(slope)
            variances.append(covariance[0, 0])
        total = np.mean(variances) + (1 + 1 / 8) * np.var(slopes, ddof=1)
        n_hits += abs(np.mean(slopes) - 2) <= 2 * np.sqrt(total)
    assert n_hits >= 0.88 * n_trials


def test_conditioned_distributions_survive_pickling_and_are_taken_by_row():
    found = turnbull([(0, 1), (1, 3), (3, inf)]).given([0, 2, 3], [1, inf, inf])
    again = pickle.loads(pickle.dumps(found))
    expected = found.sample(4, random_state=0)
    np.testing.assert_array_equal(again.sample(4, random_state=0), expected)
    assert found[2].sample(2, random_state=0).shape == (2,)
    assert (found[[2, 1]].sample(4, random_state=0)[0] > 3).all()


ONE = IntervalDistribution([(0, 1), (2, 2), (3, inf)], [0.3, 0.5, 0.2])
ROWS = ONE.shifted([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: ONE.given(3, 1), ValueError, "upper < lower in 1 of 1 rows"),
        (
            lambda: ONE.given([0, 1, 4], [1, 1.5, 5]),
            ValueError,
            r"given: no mass between lower and upper in 2 of 3 rows \(first: row 1, lower=1.0, upper=1.5, "
            r"mass_below=0.3, mass_above=0.7\)",
        ),
        (lambda: ONE.given(np.nan, 1), ValueError, "lower, upper: NaN or missing in 1 of 1 rows"),
        (
            lambda: ROWS.given([0, 1], 3),
            ValueError,
            "expected numbers or one for each of 3 rows, got 2",
        ),
        (lambda: ROWS.given("a", 3), TypeError, "lower: expected real numbers"),
        (lambda: ONE.sample(0), ValueError, "n: expected an integer >= 1, got 0"),
        (lambda: ONE.sample(2.0), TypeError, "n: expected an integer >= 1, got 2.0"),
        (
            lambda: impute([1.0], 3),
            TypeError,
            "distribution: expected an IntervalDistribution, .* got int",
        ),
        (
            lambda: impute([1.0, 2.0], ROWS),
            ValueError,
            "distribution: expected one, or one for each of 2 rows of y, got 3",
        ),
        (
            lambda: impute([1.0], ONE, n_imputations=0),
            ValueError,
            "n_imputations: expected an integer >= 1, got 0",
        ),
        (lambda: impute([(1, 1), (7, 5)], ONE), ValueError, "y: upper < lower in 1 of 2 rows"),
        (
            lambda: impute([(1, 1), (5, 7)], ONE),
            ValueError,
            r"given: no mass between lower and upper in 1 of 2 rows \(first: row 1, lower=5.0, upper=7.0",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


@given(steps(unbounded=False), st.sampled_from([1.0, 1e-160, 1e140]))
def test_the_deviation_is_that_of_masses_spread_evenly(step, unit):
    support, mass = step[0] * unit, step[1]
    middle, width = support.mean(axis=1), np.ptp(support, axis=1)
    second = mass @ ((middle / unit) ** 2 + (width / unit) ** 2 / 12)
    expected = unit * np.sqrt(max(second - (mass @ (middle / unit)) ** 2, 0))
    found = IntervalDistribution(support, mass).std()
    np.testing.assert_allclose(found, expected, atol=1e-6 * unit)


def test_the_deviation_with_mass_without_a_limit_is_infinite():
    assert ROWS.std().tolist() == [inf] * 3
    assert IntervalDistribution([(2, 2)], [1.0]).std() == 0
