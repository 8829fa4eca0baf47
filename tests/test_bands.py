"""Confidence bands: against R, against maxima of the likelihood under a constraint, and as properties."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from marginwood import from_events, make_intervals
from marginwood.datasets import load_diabetic_nephropathy, load_gbsg2, load_mercury
from marginwood.distributions import turnbull
from strategies import informative_intervals

# Rows that carry no information bring a warning; what is done about them is tested elsewhere.
rows = informative_intervals().map(lambda y: y[np.isfinite(y).any(axis=1)])


# How far a bound may be off: log-likelihoods are compared within 1e-4 of their maxima.
CLOSE = 2e-3


def holds(y, places):
    lower, upper = y[:, :1], y[:, 1:]
    return np.where(lower == upper, places == lower, (places > lower) & (places <= upper))


def profile(y, t, survival, n_steps=1000):
    """The greatest log-likelihood with S(t) fixed: EM on all places, whose both sides keep their masses."""
    finite = y[np.isfinite(y)]
    places = np.unique(np.arange(finite.min() - 1, finite.max() + 1.25, 0.5))
    places = np.unique(np.append(places, [t, t + 0.25]))
    table = holds(y, places).astype(float)
    is_right = places > t
    mass = np.where(is_right, survival / is_right.sum(), (1 - survival) / (~is_right).sum())
    for _ in range(n_steps):
        expected = mass * ((1 / (table @ mass)) @ table)
        for side, total in ((is_right, survival), (~is_right, 1 - survival)):
            if expected[side].any():  # else no row is there, and its mass may lie anywhere
                mass[side] = expected[side] * (total / expected[side].sum())
    return np.log(table @ mass).sum()


# survfit(Surv(time, cens) ~ 1, data = GBSG2, conf.type = "log-log"); lifelines' are the same.
R_TIMES = [200, 500, 1000, 2000, 2500]
R_LOWER = [0.961273149249, 0.820122915724, 0.618953265673, 0.412597445453, 0.249125254796]
R_UPPER = [0.985286144340, 0.874899257064, 0.693614693213, 0.510727683244, 0.438273958289]


def test_bands_of_right_censored_rows_are_those_of_r():
    band = turnbull(load_gbsg2().y).confidence_band(R_TIMES)
    np.testing.assert_allclose(band.lower, R_LOWER, atol=1e-6)
    np.testing.assert_allclose(band.upper, R_UPPER, atol=1e-6)
    assert (band.method, band.level) == ("greenwood", 0.95)


def test_intervals_of_quantiles_are_those_of_r():
    # The function quantile of R, of the same fit.
    found = turnbull(load_gbsg2().y).confidence_interval([0.1, 0.25, 0.5, 0.6])
    assert found.tolist() == [[357, 455], [600, 799], [1528, 2018], [2018, inf]]


def test_bands_of_left_censored_rows_are_those_of_flipped_ones():
    # survfit(Surv(-Hg, det) ~ 1, data = mercury, conf.type = "log-log"): S(-t) is F(t-).
    lower = [0.7346466061463, 0.3723888733236, 0.1331688546149, 0.0428422401051]
    upper = [0.868841069618, 0.540600138370, 0.266745089255, 0.150344344553]
    estimate = turnbull(load_mercury().y)
    band = estimate.confidence_band(np.nextafter([0.5, 0.2, 0.1, 0.05], -inf))
    assert band.method == "greenwood"
    np.testing.assert_allclose(1 - band.upper, lower, atol=1e-6)
    np.testing.assert_allclose(1 - band.lower, upper, atol=1e-6)


def test_a_weight_of_two_is_a_row_twice():
    y = load_gbsg2().y
    once = turnbull(np.vstack([y, y])).confidence_band(R_TIMES)
    twice = turnbull(y, sample_weight=2).confidence_band(R_TIMES)
    np.testing.assert_allclose(once.lower, twice.lower, rtol=1e-12)
    np.testing.assert_allclose(once.upper, twice.upper, rtol=1e-12)


@given(rows, st.integers(-8, 8), st.sampled_from([0.5, 0.95]))
def test_bounds_cost_as_much_log_likelihood_as_is_allowed(y, t, level):
    estimate = turnbull(y, tol=1e-6)
    band = estimate.confidence_band([t], level=level)
    if band.method == "greenwood":
        return
    most = chi2.ppf(level, 1) * (0.68 if "cube" in band.method else 1.0)
    for bound in (band.lower[0], band.upper[0]):
        cost = 2 * (estimate.log_likelihood - profile(y, t, bound))
        if 0 < bound < 1:
            assert cost == pytest.approx(most, abs=0.02)
        else:
            assert cost <= most + 0.02


@given(rows, st.sampled_from([0.8, 0.95]))
def test_bands_hold_the_estimate_fall_and_grow_with_the_level(y, level):
    estimate = turnbull(y)
    times = np.append(np.arange(-10.0, 10.5, 0.5), [-inf, inf])
    band = estimate.confidence_band(np.sort(times), level=level)
    assert (band.lower >= 0).all()
    assert (band.upper <= 1).all()
    assert (band.lower <= estimate.sf(band.times, bound="upper") + CLOSE).all()
    assert (band.upper >= estimate.sf(band.times, bound="lower") - CLOSE).all()
    wider = estimate.confidence_band(band.times, level=0.99)
    assert (wider.lower <= band.lower + CLOSE).all()
    assert (wider.upper >= band.upper - CLOSE).all()
    if band.method != "greenwood":
        assert (np.diff(band.lower) <= CLOSE).all()
        assert (np.diff(band.upper) <= CLOSE).all()


@given(rows, st.sampled_from([0.25, 0.5, 0.75]))
def test_intervals_of_quantiles_are_where_the_band_comes_down(y, share):
    estimate = turnbull(y)
    low, high = estimate.confidence_interval(share)
    assert low <= high
    ends = np.unique(y[np.isfinite(y)])
    gaps = np.concatenate([ends[:1] - 1, (ends[:-1] + ends[1:]) / 2, ends[-1:] + 1])
    band = estimate.confidence_band(gaps)
    is_apart = (np.abs(band.lower - (1 - share)) > CLOSE) & (np.abs(band.upper - 1 + share) > CLOSE)
    inside = (band.lower <= 1 - share) & (band.upper >= 1 - share)
    if band.method != "greenwood":
        assert ((low < gaps) & (gaps < high))[is_apart].tolist() == inside[is_apart].tolist()


def test_a_curve_at_one_is_uncertain_all_the_same():
    estimate = turnbull(from_events([1, 2, 3, 4], [0, 0, 1, 1]))
    # All four, or the two that are not censored before, live on with probability s: s ** n.
    band = estimate.confidence_band([0.5, 2.5])
    np.testing.assert_allclose(band.lower, np.exp(-chi2.ppf(0.95, 1) / [8, 4]), atol=1e-3)
    assert band.upper.tolist() == [1, 1]


@pytest.mark.parametrize(
    "y", [[(3, inf)], [(-inf, 3)], [2.0], [(1, 2)], [(3, inf)] * 5, [(1, 2), (4, inf)]]
)
def test_bands_of_next_to_nothing_are_wide_and_finite(y):
    band = turnbull(np.array(y, float)).confidence_band([-5, 1.5, 2, 3, 9, inf, -inf])
    assert np.isfinite(band.lower).all()
    assert np.isfinite(band.upper).all()
    assert (band.lower <= band.upper).all()
    low, high = turnbull(np.array(y, float)).confidence_interval()
    assert low <= high


def test_the_limit_follows_from_the_rows():
    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.uniform([0, 0.05], [1, 0.4], (60, 2)), axis=1)
    assert turnbull(ends).confidence_band([1]).method == "likelihood ratio (cube-root limit)"
    planned = np.column_stack([np.floor(ends[:, 0] * 8), 1 + np.floor(ends[:, 1] * 8)])
    chi = "likelihood ratio (chi-squared limit)"
    assert turnbull(planned).confidence_band([1]).method == chi
    ends[:6] = ends[:6, :1]
    assert turnbull(ends).confidence_band([1]).method == chi


def test_there_is_an_estimate_for_each_group():
    data = load_diabetic_nephropathy()
    names = np.array(data.categories["gender"])[data.X[:, 0].astype(int)]
    groups = turnbull(data.y, by=names)
    assert list(groups) == ["female", "male"]
    for name, estimate in groups.items():
        alone = turnbull(data.y[names == name])
        assert estimate.mass.tolist() == alone.mass.tolist()
        assert estimate.confidence_interval().tolist() == alone.confidence_interval().tolist()


def test_the_order_of_groups_is_that_of_their_type():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Categorical(["low", "high", "low"], ["low", "middle", "high"])
    assert list(turnbull([1.0, 2.0, 3.0], by=labels)) == ["low", "high"]
    assert list(turnbull([1.0, 2.0, 3.0], by=pandas.Series(labels))) == ["low", "high"]
    assert list(turnbull([1.0, 2.0, 3.0], by=[2, "b", 1])) == [1, 2, "b"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: turnbull([1.0, 2.0], by=["a"]), r"by: expected shape \(2,\), one label per row"),
        (lambda: turnbull([1.0, 2.0], by=["a", None]), "by: missing label at row 1"),
        (lambda: turnbull([1.0, 2.0], by=[0.5, np.nan]), "by: missing label at row 1"),
        (
            lambda: turnbull([(1, 2), (-inf, inf)], by=["a", "b"]),
            r"by: group 'b': y: all 1 rows are \(-inf, inf\)",
        ),
        (lambda: turnbull([1.0]).confidence_band(level=1.5), "level: expected"),
        (lambda: turnbull([1.0]).confidence_band([np.nan]), "times: expected numbers"),
        (lambda: turnbull([1.0]).confidence_interval(1.5), "q: expected shares from 0 to 1"),
    ],
)
def test_errors_say_what_is_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ends_that_were_moved_are_shown_as_they_were():
    y = make_intervals([1, 2, 3, 4, 5, 6] * 5, [3, 5, 6, 7, 8, 9] * 5, closed="left")
    low, high = turnbull(y).confidence_interval()
    assert low == round(low)
    assert high == round(high)
