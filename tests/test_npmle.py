"""Turnbull's estimate: against the likelihood on all places where rows differ, and against closed forms."""

import warnings
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from marginwood import from_events
from marginwood.distributions import turnbull
from strategies import count_weights, informative_intervals, sample_weights, spread_weights

# Small enough that the estimates of equal problems agree in many digits, masses and all.
FINE = 1e-9


def holds(y, places):
    """Whether each row holds each place; (l, inf) starts right after l."""
    lower, upper = y[:, :1], y[:, 1:]
    after = np.where(upper == inf, places > lower, places >= lower)
    return after & (places <= upper)


def explain(y, weight, n_steps=1000):
    """Log-likelihood after many EM steps, and Jensen's bound of what is missing: all places, no cells, no tricks.

    Ends are whole numbers, so rows differ at those and halfway between them.
    """
    y, weight = y[weight > 0], weight[weight > 0]
    finite = y[np.isfinite(y)]
    places = np.arange(finite.min() - 1, finite.max() + 1.25, 0.5)
    table = np.unique(holds(y, places), axis=1).astype(float)
    mass = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(n_steps):
        slope = (weight / (table @ mass)) @ table / weight.sum()
        mass *= slope
    log_likelihood = weight @ np.log(table @ mass)
    slope = (weight / (table @ mass)) @ table / weight.sum()
    return log_likelihood, weight.sum() * np.log(slope.max())


def estimate(y, weight=None, tol=1e-3):
    """The estimate, without the warning of uninformative rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y: ", UserWarning)
        return turnbull(y, weight, tol)


@st.composite
def weighted_intervals(draw, weights=sample_weights, **sizes):
    y = draw(informative_intervals(**sizes))
    weight = draw(weights(len(y)))
    counted = np.ones(len(y), bool) if weight is None else weight > 0
    assume(np.isfinite(y[counted]).any())
    return y, weight


def assert_same(first, second, shift=0.0, scale=1.0):
    """Both estimates give every interval between their ends the same probability."""
    ends = np.unique(np.concatenate([first.support.ravel(), (second.support.ravel() - shift) / scale]))
    pairs = [(low, high) for i, low in enumerate(ends) for high in ends[i:] if not (low == high and np.isinf(low))]
    moved = np.array(pairs) * scale + shift
    for bound in ("lower", "upper"):
        found = second.probability(moved, bound=bound)
        np.testing.assert_allclose(found, first.probability(pairs, bound=bound), atol=2e-4)


@given(weighted_intervals())
def test_no_distribution_explains_the_rows_better_than_the_certificate_says(problem):
    y, weight = problem
    found = estimate(y, weight)
    weight = np.ones(len(y)) if weight is None else weight
    reached, missing = explain(y, weight)
    rounding = 1e-9 * weight.sum()
    assert 0 <= found.gap <= 1e-3
    assert reached <= found.log_likelihood + found.gap + rounding
    assert found.log_likelihood <= reached + missing + rounding


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1e-6]))
def test_the_certificate_holds_for_rows_from_a_seed(seed, tol):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    y = np.sort(rng.integers(0, 30, size=(n, 2)).astype(float), axis=1)
    kind = rng.integers(5, size=n)
    y[kind == 0, 0] = -inf
    y[kind == 1, 1] = inf
    y[kind == 2, 1] = y[kind == 2, 0]
    found = turnbull(y, tol=tol)
    reached, missing = explain(y, np.ones(n))
    assert found.gap <= tol
    assert reached <= found.log_likelihood + found.gap + 1e-9
    assert found.log_likelihood <= reached + missing + 1e-9


@given(weighted_intervals())
def test_the_log_likelihood_is_that_of_the_probabilities_of_the_rows(problem):
    y, weight = problem
    found = estimate(y, weight)
    weight = np.ones(len(y)) if weight is None else weight
    expected = weight[weight > 0] @ np.log(found.probability(y)[weight > 0])
    assert found.log_likelihood == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(weighted_intervals())
def test_masses_are_positive_and_support_intervals_are_in_order_and_hold_no_end_of_a_row(problem):
    y, weight = problem
    found = estimate(y, weight)
    assert found.support.shape == (len(found.mass), 2)
    assert (found.mass > 0).all()
    assert found.mass.sum() == pytest.approx(1)
    assert (found.support[:, 0] <= found.support[:, 1]).all()
    assert (found.support[:-1, 1] <= found.support[1:, 0]).all()
    counted = y if weight is None else y[weight > 0]
    for low, high in found.support:
        assert not ((low < counted) & (counted < high)).any()


def test_a_known_case_has_its_known_masses():
    lower = [1, 8, 8, 7, 7, 17, 37, 46, 46, 45]
    upper = [7, 8, 10, 16, 14, inf, 44, inf, inf, inf]
    found = turnbull(np.column_stack([lower, upper]), tol=FINE)
    assert found.support.tolist() == [[7, 7], [8, 8], [37, 44], [46, inf]]
    np.testing.assert_allclose(found.mass, [1 / 6, 1 / 3, 1 / 8, 3 / 8], atol=1e-6)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30), st.data())
def test_right_censored_rows_give_the_product_of_kaplan_and_meier(rows, data):
    time, event = np.array(rows, dtype=float).T
    weight = data.draw(spread_weights(len(rows)))
    found = turnbull(from_events(time, event), weight)
    survival = 1.0
    for t in range(6):
        at_risk = weight[time >= t].sum()
        if at_risk > 0:
            survival *= 1 - weight[(time == t) & (event == 1)].sum() / at_risk
        assert found.sf(t) == pytest.approx(survival, abs=1e-12)
    assert found.gap <= 1e-9 * weight.sum()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_left_censored_rows_have_a_closed_form_too(rows):
    value, seen = np.array(rows, dtype=float).T
    found = turnbull(np.column_stack([np.where(seen, value, -inf), value]))
    assert found.gap <= 1e-9
    for t in range(6):
        # From the top down: of those at or below t, the share that was seen at t.
        at_risk = ((value == t) & (seen == 1)).sum() + (value < t).sum()
        if at_risk:
            share = ((value == t) & (seen == 1)).sum() / at_risk
            assert found.probability([(t, t)])[0] == pytest.approx(share * found.cdf(t), abs=1e-12)


def test_uncensored_rows_give_the_empirical_distribution():
    found = turnbull([3.0, 1.0, 3.0, 2.0])
    assert found.support.tolist() == [[1, 1], [2, 2], [3, 3]]
    np.testing.assert_allclose(found.mass, [0.25, 0.25, 0.5], rtol=1e-15)
    assert found.log_likelihood == pytest.approx(2 * np.log(0.25) + 2 * np.log(0.5))
    assert found.gap == pytest.approx(0, abs=1e-14)


def test_an_event_comes_before_a_censoring_at_the_same_time():
    found = turnbull(from_events([1.0, 1.0], [True, False]))
    assert found.support.tolist() == [[1, 1], [1, inf]]
    assert found.mass.tolist() == [0.5, 0.5]


def test_inspections_at_one_time_split_into_before_and_after():
    found = turnbull([(-inf, 5), (-inf, 5), (-inf, 5), (5, inf)])
    assert found.support.tolist() == [[-inf, 5], [5, inf]]
    np.testing.assert_allclose(found.mass, [0.75, 0.25], rtol=1e-12)


@given(weighted_intervals(count_weights))
def test_a_weight_counts_as_copies_of_a_row(problem):
    y, weight = problem
    counts = np.ones(len(y), int) if weight is None else weight.astype(int)
    once = estimate(y, weight, FINE)
    copied = estimate(np.repeat(y, counts, axis=0), None, FINE)
    assert once.log_likelihood == pytest.approx(copied.log_likelihood, abs=1e-6)
    assert_same(once, copied)


@given(weighted_intervals(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(problem, random):
    y, weight = problem
    order = np.array(random.sample(range(len(y)), len(y)))
    shuffled = estimate(y[order], None if weight is None else weight[order], FINE)
    assert_same(estimate(y, weight, FINE), shuffled)


@given(informative_intervals(), st.sampled_from([-3.0, 8.0]), st.sampled_from([0.25, 1.0, 16.0]))
def test_the_estimate_moves_and_stretches_with_the_values(y, shift, scale):
    moved = estimate(y * scale + shift, None, FINE)
    assert_same(estimate(y, None, FINE), moved, shift, scale)


@given(informative_intervals(), st.sampled_from([1e-200, 1e-3, 1e6]))
def test_the_scale_of_the_weights_matters_to_the_log_likelihood_only(y, scale):
    plain = estimate(y, None, FINE)
    scaled = estimate(y, np.full(len(y), scale), FINE * scale)
    assert scaled.log_likelihood == pytest.approx(scale * plain.log_likelihood, rel=1e-6, abs=1e-6 * scale)
    assert_same(plain, scaled)


def test_rows_that_say_nothing_are_warned_of_and_change_nothing():
    y = [(0, 2), (1, 3), (2.5, inf)]
    with pytest.warns(UserWarning, match=r"y: 1 of 4 rows are \(-inf, inf\)"):
        found = turnbull([*y, (-inf, inf)])
    expected = turnbull(y)
    assert found.support.tolist() == expected.support.tolist()
    assert found.mass.tolist() == expected.mass.tolist()
    assert found.log_likelihood == expected.log_likelihood


def test_the_same_rows_give_the_same_bits():
    rng = np.random.default_rng(0)
    y = np.sort(rng.normal(size=(500, 2)), axis=1)
    first, second = turnbull(y), turnbull(y)
    assert first.mass.tobytes() == second.mass.tobytes()
    assert first.gap == second.gap


@pytest.mark.parametrize("exact", [0.0, 0.3])
def test_a_tight_tolerance_is_reached(exact):
    rng = np.random.default_rng(1)
    y = np.sort(rng.normal(size=(2000, 2)), axis=1)
    y[rng.random(2000) < exact, 1] = inf
    y[rng.random(2000) < exact] = rng.normal()
    loose, tight = turnbull(y, tol=0.1), turnbull(y, tol=1e-8)
    assert 1e-8 < loose.gap <= 0.1
    assert tight.gap <= 1e-8
    assert loose.log_likelihood <= tight.log_likelihood + 1e-8 <= loose.log_likelihood + loose.gap + 1e-7


def test_weights_of_very_different_size_are_all_explained():
    rng = np.random.default_rng(2)
    y = np.sort(rng.normal(size=(200, 2)), axis=1)
    weight = 10.0 ** rng.uniform(-12, 0, size=200)
    found = turnbull(y, weight)
    assert (found.probability(y) > 0).all()
    assert found.gap <= 1e-3


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([], {}, r"y: got shape \(0,\)"),
        ([(1, np.nan)], {}, "y: NaN or missing in 1 of 1 rows"),
        ([(2, 1)], {}, "y: upper < lower"),
        ([(-inf, inf)], {}, r"y: all 1 rows are \(-inf, inf\)"),
        ([(-inf, inf), (1, 2)], {"sample_weight": [1, 0]}, "y: all 1 rows of positive weight"),
        ([(1, 2)], {"sample_weight": [0]}, "sample_weight: all weights are zero"),
        ([(1, 2)], {"sample_weight": [1, 2]}, r"sample_weight: expected a number or shape \(1,\)"),
        ([(1, 2)], {"tol": 0.0}, "tol: expected a finite number > 0, got 0.0"),
        ([(1, 2)], {"tol": np.nan}, "tol: expected a finite number > 0, got nan"),
    ],
)
def test_bad_input_is_named(y, options, message):
    with pytest.raises(ValueError, match=message):
        turnbull(y, **options)
