"""Summaries of non-detects and trends of them: against published figures, R, SciPy and brute force."""

from itertools import combinations, permutations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from marginwood import from_detection_limits
from marginwood.datasets import load_mercury
from marginwood.distributions import turnbull
from marginwood.inference import censored_summary, trend_test
from marginwood.inference._nondetects import impute_on_line
from strategies import informative_intervals

# Arsenic in streams of Oahu, micrograms per litre (Helsel 2005, Nondetects and Data Analysis).
ARSENIC = "3.2 2.8 <2 <2 <2 <2 <2 <2 <2 <2 1.7 1.5 <1 <1 <1 <1 0.9 <0.9 0.7 0.7 0.6 0.5 0.5 0.5"


@pytest.fixture(scope="module")
def arsenic():
    return from_detection_limits(ARSENIC.split())


def figures(table, column="estimate"):
    return dict(zip(table["statistic"], table[column], strict=True))


@pytest.mark.parametrize(
    # What NADA prints of them: censtats(Obs, ObsCen).
    ("method", "mean", "deviation", "median"),
    [("npmle", 0.949, None, 0.7), ("ros", 0.972, 0.718, 0.7), ("lognormal", 0.945, 0.656, 0.777)],
)
def test_summaries_are_the_published_ones(arsenic, method, mean, deviation, median):
    found = figures(censored_summary(arsenic, method=method, n_bootstrap=20, random_state=0))
    assert found["mean"] == pytest.approx(mean, abs=6e-4)
    assert found["median"] == pytest.approx(median, abs=6e-4)
    if deviation is not None:  # of Kaplan and Meier, NADA scales the error of the mean instead
        assert found["standard deviation"] == pytest.approx(deviation, abs=6e-4)
    assert found["n"] == 24
    assert found["share censored"] == pytest.approx(13 / 24)
    assert found["detection limits"] == 3


def test_values_on_the_line_are_the_published_ones(arsenic):
    # Helsel (2005), table of the imputed values.
    published = [1.42, 1.14, 0.95, 0.81, 0.68, 0.57, 0.46, 0.35, 0.98, 0.76, 0.58, 0.41, 0.61]
    is_censored = np.isinf(arsenic[:, 0])
    found = impute_on_line(arsenic)
    np.testing.assert_allclose(np.sort(found[is_censored]), np.sort(published), atol=6e-3)
    assert found[~is_censored].tolist() == arsenic[~is_censored, 1].tolist()


def test_multiple_limits_are_handled_as_published():
    # Helsel and Cohn (1988), appendix B: detected values below, between and above two limits.
    values = ["<1"] * 6 + ["<10"] * 3 + ["3", "7", "9", "12", "15", "20", "27", "33", "50"]
    published = [0.47, 0.85, 1.11, 1.27, 1.76, 2.34, 2.5, 3.03, 4.8]
    found = impute_on_line(from_detection_limits(values))
    np.testing.assert_allclose(np.sort(found[:9]), published, atol=1.2e-2)


def test_the_log_normal_fit_is_that_of_r(arsenic):
    # survreg(Surv(As, !cen, type = "left") ~ 1, dist = "lognormal")
    mu, scale, mu_error = -0.2528290104, 0.6269484572, 0.1706139431
    table = censored_summary(arsenic, method="lognormal", q=0.5)
    assert figures(table)["median"] == pytest.approx(np.exp(mu), rel=1e-6)
    assert figures(table)["mean"] == pytest.approx(np.exp(mu + scale**2 / 2), rel=1e-6)
    low, high = figures(table, "lower")["median"], figures(table, "upper")["median"]
    np.testing.assert_allclose(
        np.log([low, high]), mu + np.array([-1.95996398, 1.95996398]) * mu_error, atol=1e-5
    )


def test_quantiles_and_exceedance_are_those_of_the_estimate():
    data = load_mercury()
    table = censored_summary(data.y, q=[0.5, 0.9], threshold=0.3, n_bootstrap=20, random_state=0)
    estimate = turnbull(data.y)
    assert figures(table)["quantile 0.9"] == estimate.quantile(0.9).mean()
    low, high = estimate.confidence_interval()
    assert (figures(table, "lower")["median"], figures(table, "upper")["median"]) == (low, high)
    band = estimate.confidence_band([0.3])
    assert figures(table)["share above 0.3"] == estimate.sf(0.3)
    assert figures(table, "upper")["share above 0.3"] == band.upper[0]


def test_a_quantile_that_is_not_determined_has_bounds_only():
    y = from_detection_limits(["<1", "<1", "2", "3", "4"])
    table = censored_summary(y, q=0.2, n_bootstrap=5, random_state=0)
    assert figures(table)["quantile 0.2"] is None
    assert figures(table, "lower")["quantile 0.2"] == -inf
    assert figures(table, "upper")["quantile 0.2"] == 3


@pytest.mark.parametrize("method", ["npmle", "ros", "lognormal"])
def test_uncensored_values_have_their_own_mean_and_deviation(method):
    values = np.random.default_rng(0).lognormal(1, 0.5, 200)
    found = censored_summary(values, method=method, q=0.5, random_state=0, n_bootstrap=500)
    close = 0.05 if method == "lognormal" else 1e-9
    assert figures(found)["mean"] == pytest.approx(values.mean(), rel=close)
    assert figures(found)["standard deviation"] == pytest.approx(values.std(ddof=1), rel=2 * close)
    low, high = figures(found, "lower")["mean"], figures(found, "upper")["mean"]
    error = values.std() / np.sqrt(200)
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.5 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.5 * error)
    assert low < figures(found)["mean"] < figures(found)["mean, upper limit"] < high


def test_groups_are_summarised_one_by_one():
    data = load_mercury(as_frame=True)
    table = censored_summary(
        data.y, by=data.X["LandUse"], method="lognormal", q=0.5, random_state=0
    )
    frame = table.to_frame()
    assert list(dict.fromkeys(table["group"])) == ["AF", "Ag", "Bkg", "Mine", "Urb"]
    alone = censored_summary(data.y[data.X["LandUse"] == "Ag"], method="lognormal", q=0.5)
    assert frame.loc["Ag", "estimate"].tolist() == alone["estimate"]


def test_the_same_seed_gives_the_same_intervals(arsenic):
    tables = [censored_summary(arsenic, n_bootstrap=50, random_state=3) for _ in range(2)]
    assert str(tables[0]) == str(tables[1])


@pytest.mark.parametrize(
    "y",
    [[1.0], [(-inf, 1)], [(-inf, 1)] * 3, [(1, 2), (3, inf)], [1.0, 1.0], [(-inf, 1), (2, inf)]],
)
def test_next_to_nothing_has_a_summary_by_the_npmle(y):
    table = censored_summary(np.array(y, float), n_bootstrap=10, random_state=0, threshold=1.5)
    assert figures(table)["n"] == len(y)
    assert np.isfinite(figures(table)["mean"])


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([(1, 2), (2, 3)], {"method": "ros"}, "y: neither a value nor a non-detect"),
        ([1.0, 2.0, (-1)], {"method": "ros"}, "y: has no logarithm in 1 of 3 rows"),
        (
            [(-inf, 2), (3, 3)],
            {"method": "ros"},
            "y: a line needs 3 different detected values, got 1",
        ),
        ([(0, 2), (1, 3)], {"method": "lognormal"}, "y: one value lies in all rows"),
        ([(-inf, 1), (2, inf)], {"method": "lognormal"}, "y: rows fit the better the larger"),
        ([0.0, 1.0, 2.0], {"method": "lognormal"}, "y: has no logarithm"),
        ([1.0, 2.0], {"method": "km"}, "method: expected"),
        ([1.0, 2.0], {"q": 0}, "q: expected shares between 0 and 1"),
        ([1.0, 2.0], {"threshold": inf}, "threshold: expected a finite number"),
        ([1.0, 2.0], {"n_bootstrap": 0}, "n_bootstrap: expected"),
        ([1.0, 2.0, (-1)], {"method": "lognormal", "by": list("aab")}, "by: group 'b': y: has no"),
    ],
)
def test_what_a_method_cannot_do_is_said(y, options, message):
    with pytest.raises(ValueError, match=message):
        censored_summary(y if isinstance(y[0], float) else np.array(y, float), **options)


uncensored = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=20
).filter(lambda pairs: len({x for x, _ in pairs}) > 1 and len({y for _, y in pairs}) > 1)


@given(uncensored)
def test_tau_of_uncensored_rows_is_that_of_scipy(pairs):
    x, y = np.array(pairs, float).T
    found, theirs = trend_test(x, y), kendalltau(x, y, method="asymptotic")
    assert found.tau == pytest.approx(theirs.statistic, abs=1e-12)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=1e-9)


@given(uncensored)
def test_the_slope_of_uncensored_rows_is_the_median_of_pairs(pairs):
    x, y = np.array(pairs, float).T
    slopes = [
        (y[j] - y[i]) / (x[j] - x[i]) for i, j in combinations(range(len(x)), 2) if x[i] != x[j]
    ]
    assert trend_test(x, y).slope == pytest.approx(np.median(slopes), abs=1e-9)


def sign(one, other):
    """1 if the first interval is above the second for certain, -1 if below, else 0."""
    is_value = [low == high for low, high in (one, other)]
    if all(is_value):
        return np.sign(one[0] - other[0])
    above = one[0] > other[1] or (one[0] == other[1] and not is_value[0])
    below = one[1] < other[0] or (one[1] == other[0] and not is_value[1])
    return int(above) - int(below)


def concordance(x, y):
    return sum(np.sign(x[j] - x[i]) * sign(y[j], y[i]) for i, j in combinations(range(len(x)), 2))


censored = informative_intervals(min_size=4, max_size=6).map(
    lambda y: y[np.isfinite(y).any(axis=1)]
)


@given(censored.filter(lambda y: len(y) >= 4))
def test_tau_counts_pairs_and_its_variance_is_that_of_permutations(y):
    x = np.arange(len(y)) // 2 * 1.0
    sums = [concordance(x, y[list(order)]) for order in permutations(range(len(y)))]
    if np.var(sums) == 0:
        with pytest.raises(ValueError, match="no two rows differ"):
            trend_test(x, y)
        return
    found = trend_test(x, y)
    n_x = np.sum(x[:, None] < x)
    n_y = sum(sign(one, other) != 0 for one, other in combinations(y, 2))
    assert found.tau == pytest.approx(concordance(x, y) / np.sqrt(n_x * n_y), abs=1e-12)
    from scipy.stats import norm

    assert found.p_value == pytest.approx(
        2 * norm.sf(abs(concordance(x, y)) / np.std(sums)), abs=1e-9
    )


@given(censored.filter(lambda y: len(y) >= 4), st.floats(0.001, 0.3))
def test_as_many_pairs_fall_as_rise_off_the_line(y, step):
    x = np.arange(len(y)) * 1.0
    y = y + 0.0
    try:
        slope = trend_test(x, y).slope
    except ValueError:
        return
    # A little more, and pairs do not rise on balance; a little less, and they do not fall.
    for by, holds in ((step, lambda s: s <= 0), (-step, lambda s: s >= 0)):
        tilted = y - ((slope + by) * x)[:, np.newaxis]
        if np.isfinite(slope):
            assert holds(concordance(x, tilted))


def test_a_line_of_logarithms_predicts_medians():
    data = load_mercury(as_frame=True)
    found = trend_test(data.X["PctWetland"], data.y, log=True)
    plain = trend_test(data.X["PctWetland"], data.y)
    assert (found.tau, found.p_value) == (plain.tau, plain.p_value)
    assert found.predict([10.0])[0] == pytest.approx(np.exp(found.intercept + 10 * found.slope))
    low, high = found.slope_interval
    assert 0 < low < found.slope < high


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1, 2], [1.0, 2.0, 3.0], {}, r"x: expected shape \(3,\)"),
        ([1, 2, np.nan], [1.0, 2.0, 3.0], {}, "x: NaN, missing or infinite in 1 of 3 rows"),
        ([1, 2], [1.0, 2.0], {}, "y: expected from 3 to 5000 informative rows"),
        ([1, 1, 1], [1.0, 2.0, 3.0], {}, "x, y: no two rows differ"),
        ([1, 2, 3], [1.0, 2.0, 0.0], {"log": True}, "y: has no logarithm"),
        ([1, 2, 3], [1.0, 2.0, 3.0], {"level": 2}, "level: expected"),
    ],
)
def test_errors_of_trends_say_what_is_expected(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        trend_test(x, y, **options)


def test_where_nothing_bounds_a_slope_its_interval_is_open():
    y = from_detection_limits(["5", "4"] + ["<1"] * 6)
    assert trend_test(range(1, 9), y).slope_interval[0] == -inf
    assert trend_test([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]).slope_interval == (-inf, inf)
