"""Scores of distributions against numerical integration of their definitions, and formulas without censoring."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.intervals import from_detection_limits, from_events, make_intervals
from marginwood.metrics import (
    d_calibration,
    integrated_interval_brier_score,
    interval_brier_score,
    interval_coverage,
    interval_crps,
    interval_log_loss,
    interval_mean_absolute_error,
)
from marginwood.metrics._summary import summarise
from reference import places_of
from strategies import SIDES, count_weights, intervals, sided_intervals

INF = np.inf
WHOLE_LINE = (-INF, INF)


def steps(values, masses):
    """One distribution per row, of some masses at some values."""
    n_rows, n_steps = np.shape(masses)
    support = np.repeat(np.ravel(values), 2).reshape(-1, 2)
    return IntervalDistribution(support, np.ravel(masses), offsets=n_steps * np.arange(n_rows + 1))


class OnlyCdf:
    """Only a cdf."""

    def __init__(self, distribution):
        self.cdf = distribution.cdf


@st.composite
def step_problems(draw, weights=count_weights):
    """Intervals, steps at small whole numbers and halves with masses that add up to 1, and weights."""
    y = draw(st.one_of(intervals(max_size=8), sided_intervals(max_size=8).map(lambda rows: rows.y)))
    n_steps = draw(st.integers(1, 4))
    knots = st.lists(
        st.integers(-12, 12).map(lambda k: k / 2), min_size=n_steps, max_size=n_steps, unique=True
    )
    counts = st.lists(st.integers(1, 4), min_size=n_steps, max_size=n_steps)
    values = np.array([sorted(draw(knots)) for _ in y])
    masses = np.array([draw(counts) for _ in y], float)
    return y, values, masses / masses.sum(axis=1, keepdims=True), draw(weights(len(y)))


def normal_problem(seed=0, n=12):
    """Every kind of censoring, normal distributions of several spreads."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.normal(size=(n, 2)), axis=1)
    y[::4, 0], y[1::4, 1], y[2::4, 1] = -INF, INF, y[2::4, 0]
    return y, stats.norm(loc=rng.normal(size=n), scale=rng.uniform(0.3, 2, size=n)), rng.random(n)


def quad_crps(cdf, lower, upper, low=-INF, high=INF, breaks=()):
    """The definition by numerical integration; far beyond the values of these tests there is nothing to integrate."""
    low, high = max(low, -60.0), min(high, 60.0)
    points = [low, *sorted(b for b in {*breaks, lower, upper} if low < b < high), high]
    total = 0.0
    for left, right in pairwise(points):
        if right <= lower:
            total += quad(lambda t: cdf(t) ** 2, left, right, epsabs=1e-12)[0]
        if left >= upper:
            total += quad(lambda t: (1 - cdf(t)) ** 2, left, right, epsabs=1e-12)[0]
    return total


def row(distribution, i):
    """The cdf of one row of a normal distribution."""
    loc, scale = distribution.kwds["loc"], distribution.kwds["scale"]
    return stats.norm(loc[i], scale[i]).cdf


# CRPS


@pytest.mark.parametrize(
    "span", [WHOLE_LINE, (-0.7, 0.9), (-INF, 0.3), (0.1, INF), (-9.0, -5.0), (5.0, 9.0)]
)
def test_the_crps_is_that_of_numerical_integration(span):
    y, distribution, weight = normal_problem()
    expected = [quad_crps(row(distribution, i), *y[i], *span) for i in range(len(y))]
    value = interval_crps(y, distribution, span=span, sample_weight=weight)
    assert_allclose(value, np.average(expected, weights=weight), rtol=1e-8, atol=1e-12)


def test_the_crps_without_censoring_is_the_closed_form_of_the_normal_distribution():
    rng = np.random.default_rng(0)
    y, loc, scale = rng.normal(size=30), rng.normal(size=30), rng.uniform(0.1, 3, size=30)
    z = (y - loc) / scale
    closed = scale * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert_allclose(interval_crps(y, stats.norm(loc, scale)), closed.mean(), rtol=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [stats.expon(loc=[-1.0, 0.5]), stats.uniform(loc=[0.0, 3.0]), stats.cauchy([0.0, 1.0])],
)
def test_the_crps_of_other_densities_is_that_of_numerical_integration(distribution):
    y, span = np.array([[-2.0, 1.5], [4.0, 4.0]]), (-50.0, 60.0)
    expected = [
        quad_crps(
            lambda t, i=i: distribution.cdf([t, t])[i],
            *y[i],
            *span,
            breaks=(-1.0, 0.0, 0.5, 1.0, 3.0),
        )
        for i in range(2)
    ]
    assert_allclose(interval_crps(y, distribution, span=span), np.mean(expected), rtol=1e-7)


@given(step_problems(), st.sampled_from([WHOLE_LINE, (-3.0, 2.5), (-INF, 1.0), (0.0, INF)]))
def test_the_crps_of_steps_is_that_of_sums_over_pieces(problem, span):
    y, values, masses, weight = problem
    expected = []
    for (lower, upper), knots, mass in zip(y, values, masses, strict=True):
        # All that happens lies between -7 and 7, and the cdf is constant between two of these.
        ends = np.unique(np.clip([-7, 7, *knots, *np.clip([lower, upper], -7, 7)], *span))
        total = 0.0
        for left, right in pairwise(ends):
            level = mass[knots <= left].sum()
            total += (right - left) * (
                (right <= lower) * level**2 + (left >= upper) * (1 - level) ** 2
            )
        expected.append(total)
    value = interval_crps(y, steps(values, masses), span=span, sample_weight=weight)
    assert value >= 0
    assert_allclose(value, np.average(expected, weights=weight), rtol=1e-9, atol=1e-12)


def test_the_crps_of_masses_in_wide_support_intervals_is_that_of_numerical_integration():
    single = IntervalDistribution([(-1.0, 0.5), (0.5, 0.5), (2.0, 4.0)], [0.2, 0.3, 0.5])
    y = np.array([[0.0, 1.0], [0.7, 0.7], [-INF, 3.0], [3.0, INF], [-5.0, -4.0], [6.0, 7.0]])
    expected = [quad_crps(single.cdf, *limits, breaks=(-1.0, 0.5, 2.0, 4.0)) for limits in y]
    for i, limits in enumerate(y):
        assert_allclose(interval_crps([limits], single), expected[i], rtol=1e-9)
    assert_allclose(interval_crps(y, single), np.mean(expected), rtol=1e-9)


def test_the_crps_of_many_rows_is_the_mean_of_theirs():
    rng = np.random.default_rng(0)
    n_steps = rng.integers(1, 30, size=300)
    support = np.concatenate([np.sort(rng.normal(size=2 * k)).reshape(-1, 2) for k in n_steps])
    mass = np.concatenate([rng.dirichlet(np.ones(k)) for k in n_steps])
    distribution = IntervalDistribution(support, mass, offsets=np.append(0, np.cumsum(n_steps)))
    y = np.sort(rng.normal(size=(300, 2)), axis=1)
    each = [interval_crps(y[[i]], distribution[[i]]) for i in range(300)]
    assert_allclose(interval_crps(y, distribution), np.mean(each), rtol=1e-12)


@given(step_problems())
def test_the_crps_of_one_point_is_the_mean_absolute_error(problem):
    y, values, _, weight = problem
    prediction = values[:, 0]
    points = steps(prediction[:, None], np.ones((len(y), 1)))
    expected = interval_mean_absolute_error(y, prediction, sample_weight=weight)
    assert_allclose(interval_crps(y, points, sample_weight=weight), expected, rtol=1e-12)


@given(step_problems())
def test_the_true_value_has_at_least_the_crps_of_its_interval(problem):
    y, values, masses, _ = problem
    distribution = steps(values, masses)
    inside = np.clip(0.25, *y.T)
    assert interval_crps(y, distribution) <= interval_crps(inside, distribution) + 1e-12


def test_mass_beyond_all_values_is_refused_unless_the_span_ends_before():
    above = IntervalDistribution([(1.0, 1.0), (2.0, 2.0), (3.0, INF)], [0.5, 0.25, 0.25])
    message = r"mass beyond all finite values in 1 of 2 rows \(first: row 1, lower=0.0, upper=1.0\).*pass span"
    with pytest.raises(ValueError, match=message):
        interval_crps([(0, INF), (0, 1)], above)
    assert_allclose(interval_crps([(1, 1)], above, span=(0, 4)), 0.5**2 + 2 * 0.25**2)
    assert interval_crps([(0, INF)], above) == 0
    below = IntervalDistribution([(-INF, 1.0), (2.0, 2.0)], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"mass beyond all finite values in 1 of 1 rows"):
        interval_crps([(0, INF)], below)
    assert_allclose(interval_crps([(4, INF)], below, span=(0, 9)), 2 * 0.5**2 + 2)
    nowhere = IntervalDistribution([(-INF, INF)], [1.0])
    assert interval_crps([(4, 5)], nowhere, span=(0, 9)) > 0


def test_tails_too_heavy_to_integrate_are_refused():
    with pytest.raises(ValueError, match=r"distribution: its CRPS could not be integrated.*span"):
        interval_crps([(0, 0)], stats.t(df=[0.3]))


@given(step_problems(), st.integers(-100, 100), st.integers(-30, 30))
def test_the_crps_has_the_unit_of_the_target(problem, shift, exponent):
    y, values, masses, weight = problem
    unit = 2.0**exponent
    value = interval_crps(y, steps(values, masses), sample_weight=weight)
    moved = interval_crps(
        (y + shift) * unit, steps((values + shift) * unit, masses), sample_weight=weight
    )
    assert_allclose(moved, value * unit, rtol=1e-9, atol=1e-12 * unit)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_crps_of_a_row_far_from_its_distribution_is_its_distance(sign):
    y = np.sort([sign * 1e4, sign * 2e4])
    assert_allclose(interval_crps([y], stats.norm([0.0])), 1e4 - 1 / np.sqrt(np.pi), rtol=1e-9)
    span = sorted([sign * 5e3, sign * 3e4])
    assert_allclose(interval_crps([y], stats.norm([0.0]), span=span), 5e3, rtol=1e-9)


# Log loss


def test_the_log_loss_is_that_of_integrated_densities():
    y, distribution, weight = normal_problem()
    losses = []
    for i, (lower, upper) in enumerate(y):
        density = stats.norm(distribution.kwds["loc"][i], distribution.kwds["scale"][i]).pdf
        likelihood = (
            density(lower) if lower == upper else quad(density, lower, upper, epsabs=1e-13)[0]
        )
        losses.append(-np.log(likelihood))
    assert_allclose(
        interval_log_loss(y, distribution, sample_weight=weight),
        np.average(losses, weights=weight),
        rtol=1e-8,
    )


def test_a_probability_far_above_the_median_is_not_lost():
    y = [(9.0, 10.0), (-10.0, -9.0), (9.0, INF)]
    value = [interval_log_loss([limits], stats.norm(0, 1), floor=0) for limits in y]
    assert_allclose(value[0], value[1], rtol=1e-12)
    assert_allclose(value[2], -stats.norm.logsf(9), rtol=1e-12)


def test_an_impossible_interval_costs_the_floor_and_infinity_without_one():
    far = [(1e6, 2e6), (1e6, 1e6)]
    assert_allclose(interval_log_loss(far, stats.norm(loc=[0, 0])), -np.log(np.finfo(float).eps))
    assert_allclose(interval_log_loss(far, stats.norm(loc=[0, 0]), floor=1e-3), -np.log(1e-3))
    assert interval_log_loss(far, stats.norm(loc=[0, 0]), floor=0) == INF


@given(step_problems())
def test_the_log_loss_of_steps_is_that_of_their_mass_in_the_interval(problem):
    y, values, masses, weight = problem
    losses = []
    for (lower, upper), knots, mass in zip(y, values, masses, strict=True):
        inside = knots == lower if lower == upper else (lower < knots) & (knots <= upper)
        losses.append(-np.log(max(mass[inside].sum(), 1e-3)))
    value = interval_log_loss(y, steps(values, masses), floor=1e-3, sample_weight=weight)
    assert value >= -1e-12
    assert_allclose(value, np.average(losses, weights=weight), rtol=1e-9, atol=1e-12)


# Brier score


def test_the_brier_score_without_censoring_is_the_usual_one():
    rng = np.random.default_rng(0)
    y, distribution = rng.normal(size=40), stats.norm(rng.normal(size=40), 1.5)
    times, weight = np.array([-1.0, 0.0, *y[:2], 2.5]), rng.random(40)
    expected = [
        np.average(((y > t) - distribution.sf(np.full(40, t))) ** 2, weights=weight) for t in times
    ]
    reference = stats.norm(100.0)
    scores = interval_brier_score(y, distribution, times, reference=reference, sample_weight=weight)
    assert_allclose(scores, expected, rtol=1e-12)
    assert (
        interval_brier_score(y, distribution, 0.0, reference=reference, sample_weight=weight)
        == scores[1]
    )


def test_the_brier_score_of_a_censored_row_uses_the_reference_inside_of_its_interval_only():
    reference = stats.norm(0.5, 2.0)
    for limits in ([-1.0, 2.0], [-INF, 1.0], [-1.0, INF], [-INF, INF]):
        for time in (-3.0, -1.0, 0.3, 1.0, 2.0, 4.0):
            if time >= limits[1]:
                status = 0.0
            elif time <= limits[0]:
                status = 1.0
            else:
                above, _ = quad(reference.pdf, time, limits[1])
                status = above / quad(reference.pdf, *limits)[0]
            score = interval_brier_score([limits], stats.norm([0.2]), time, reference=reference)
            assert_allclose(score, (status - stats.norm.sf(time, 0.2)) ** 2, rtol=1e-7, atol=1e-12)


def test_the_status_of_a_row_in_a_tail_of_the_reference_keeps_its_digits():
    sure = steps([[0.0]], [[1.0]])
    beyond = stats.norm.sf([10.0, 10.05, 11.0])
    expected = (beyond[1] - beyond[2]) / (beyond[0] - beyond[2])
    assert 0.5 < expected < 0.7
    # By symmetry the status is one minus that of the other tail, and so is what is predicted.
    for sign in (-1, 1):
        y, time = [sorted([sign * 10.0, sign * 11.0])], sign * 10.05
        assert_allclose(
            interval_brier_score(y, sure, time, reference=stats.norm()), expected**2, rtol=1e-6
        )


def test_a_row_that_the_reference_knows_nothing_about_is_left_out():
    y, distribution, reference = (
        [(5.0, 7.0), (0.0, 1.0)],
        stats.norm([0.0, 1.0]),
        stats.uniform(0, 2),
    )
    second = interval_brier_score(y[1:], stats.norm([1.0]), 6.0, reference=reference)
    assert_allclose(interval_brier_score(y, distribution, 6.0, reference=reference), second)
    with pytest.raises(ValueError, match="reference: at time 6 the status of all rows is unknown"):
        interval_brier_score(y[:1], stats.norm([0.0]), 6.0, reference=reference)


def test_the_integrated_brier_score_is_that_of_numerical_integration():
    y, distribution, weight = normal_problem()
    reference = stats.norm(0.3, 1.2)

    def score(t):
        return interval_brier_score(y, distribution, t, reference=reference, sample_weight=weight)

    limits = np.unique(y[np.isfinite(y)])
    area, _ = quad(score, limits[0], limits[-1], points=limits[1:-1], limit=500)
    length = limits[-1] - limits[0]
    value = integrated_interval_brier_score(
        y, distribution, reference=reference, sample_weight=weight
    )
    assert_allclose(value, area / length, rtol=1e-2)
    fine = np.linspace(limits[0], limits[-1], 5001)
    value = integrated_interval_brier_score(
        y, distribution, fine, reference=reference, sample_weight=weight
    )
    assert_allclose(value, area / length, rtol=3e-4)


def test_the_integrated_brier_score_without_censoring_is_the_crps_per_length():
    rng = np.random.default_rng(3)
    y, distribution = rng.normal(size=20), stats.norm(rng.normal(size=20), 0.8)
    span = (y.min(), y.max())
    crps = interval_crps(y, distribution, span=span)
    value = integrated_interval_brier_score(
        y, distribution, np.linspace(*span, 4001), reference=stats.norm()
    )
    assert_allclose(value, crps / (span[1] - span[0]), rtol=1e-3)


def test_the_reference_is_the_estimate_from_the_target_unless_another_is_given():
    y, distribution, weight = normal_problem(n=30)
    y = np.vstack([y, [-INF, INF]])
    distribution, weight = stats.norm(np.linspace(-1, 1, 31)), np.append(weight, 1.0)
    times = [-0.5, 0.1, 0.9]
    default = interval_brier_score(y, distribution, times, sample_weight=weight)
    own = turnbull(y[:-1], weight[:-1])
    assert_allclose(
        interval_brier_score(y, distribution, times, reference=own, sample_weight=weight), default
    )
    other = interval_brier_score(
        y, distribution, times, reference=turnbull(y[:10] + 1), sample_weight=weight
    )
    assert np.abs(other - default).max() > 1e-3
    with pytest.raises(ValueError, match="y_true: no row of positive weight has a finite limit"):
        interval_brier_score(y[[-1]], stats.norm([0.0]), 0.0)


def test_the_status_of_a_row_includes_steps_of_the_reference_at_ends_that_belong_to_it():
    # Two thirds of the mass from 1 to 3 lie at 1.
    reference = IntervalDistribution([(1.0, 1.0), (3.0, 3.0)], [2 / 3, 1 / 3])
    sure = steps([[9.0]], [[1.0]])
    for lower, upper, closed, status in (
        (1, 3, "both", 1 / 3),
        (1, 3, "right", 1),
        (1, 3, "left", 0),
        (1, INF, "right", 1),
        (1, INF, "left", 1 / 3),
    ):
        y = make_intervals([lower], [upper], closed=closed)
        assert_allclose(
            interval_brier_score(y, sure, 2.0, reference=reference), (status - 1) ** 2, atol=1e-15
        )


def test_the_status_at_an_end_is_known_if_the_end_is_outside():
    late = steps([[9.0]], [[1.0]])
    reference = IntervalDistribution([(1.0, 1.0), (3.0, 3.0)], [0.5, 0.5])
    for closed, at_1, at_3 in (("right", 1, 0), ("both", 0.5, 0), ("left", 0, 0)):
        y = make_intervals([1], [3], closed=closed)
        scores = interval_brier_score(y, late, [1.0, 3.0], reference=reference)
        assert_allclose(scores, [(at_1 - 1) ** 2, (at_3 - 1) ** 2], atol=1e-15)


def test_touching_bins_are_explained_best_by_the_true_curve():
    rng = np.random.default_rng(0)
    bins = np.floor(rng.gamma(3.0, size=2000))
    y = make_intervals(bins, bins + 1)
    edges = np.arange(31.0)
    shares = np.diff(stats.gamma(3.0).cdf(edges))
    losses = {}
    for name, power in (("true", 1.0), ("flat", 0.7), ("sharp", 1.4)):
        mass = shares**power / (shares**power).sum()
        curve = IntervalDistribution(np.column_stack([edges[:-1], edges[1:]]), mass)
        losses[name] = interval_log_loss(y, curve)
    assert losses["true"] < min(losses["flat"], losses["sharp"])
    assert_allclose(losses["true"], interval_log_loss(y, stats.gamma(3.0)), rtol=1e-6)
    assert interval_log_loss(y, turnbull(y)) < losses["true"]  # the best for these rows
    # A curve that puts every bin's mass on its lower edge says that none of this can be.
    wrong = IntervalDistribution(np.repeat(edges[:-1], 2).reshape(-1, 2), shares / shares.sum())
    assert interval_log_loss(y, wrong) > losses["true"] + 0.1


# D-calibration


@given(step_problems(), st.integers(2, 10))
def test_the_bins_hold_the_mass_that_each_row_spreads_evenly(problem, n_bins):
    y, values, masses, weight = problem
    distribution = steps(values, masses)
    result = d_calibration(y, distribution, n_bins=n_bins, sample_weight=weight)
    expected = np.zeros(n_bins)
    for i, ((lower, upper), knots, mass) in enumerate(zip(y, values, masses, strict=True)):
        begin = mass[knots < lower].sum() if lower == upper else mass[knots <= lower].sum()
        end = mass[knots <= upper].sum()
        # Mid-points of a fine grid over the range of probabilities, one that no edge of a bin
        # meets.
        grid = begin + (np.arange(20_011) + 0.5) / 20_011 * (end - begin)
        bins = np.minimum((grid * n_bins + 1e-9).astype(int), n_bins - 1)
        expected += (
            np.bincount(bins, minlength=n_bins) / 20_011 * (1 if weight is None else weight[i])
        )
    assert_allclose(result.bin_masses, expected, atol=1e-3 * len(y))
    assert_allclose(result.bin_masses.sum(), len(y) if weight is None else weight.sum(), rtol=1e-12)
    chi_squared = stats.chisquare(result.bin_masses)
    assert_allclose(result.statistic, chi_squared.statistic, rtol=1e-9, atol=1e-9)
    assert_allclose(result.p_value, chi_squared.pvalue, rtol=1e-7)


def test_uncensored_rows_are_counted_by_bin():
    y = stats.norm.ppf([0.05, 0.11, 0.12, 0.55, 0.95, 0.99])
    result = d_calibration(y, stats.norm(loc=np.zeros(6)))
    assert result.bin_masses.tolist() == [1, 2, 0, 0, 0, 1, 0, 0, 0, 2]
    assert_allclose(result.statistic, stats.chisquare(result.bin_masses).statistic)


def test_right_distributions_are_calibrated_and_wrong_ones_are_not():
    rng = np.random.default_rng(0)
    loc = rng.normal(size=1000)
    value = rng.normal(loc)
    y = np.column_stack([np.floor(value), np.floor(value) + 1])
    y[::3] = value[::3, None]
    assert d_calibration(y, stats.norm(loc)).p_value > 0.05
    assert d_calibration(y, stats.norm(loc, 0.6)).p_value < 1e-6
    assert d_calibration(y, stats.norm(loc + 0.5)).p_value < 1e-6


# Coverage


@given(sided_intervals(), st.sampled_from(["array", "pandas"]), st.data())
def test_coverage_counts_ranges_that_contain_and_that_meet_the_interval(rows, form, data):
    sides = (
        rows.closed
        if form == "array"
        else np.repeat(data.draw(st.sampled_from(SIDES)), len(rows.y))
    ).tolist()
    ends = st.tuples(
        st.integers(-8, 8), st.integers(0, 9).map(lambda width: INF if width == 9 else width)
    )
    low, width = np.array([data.draw(ends) for _ in sides], float).T
    high = low + width
    if form == "pandas":
        low = low - (low == high)  # of pandas (1, 1] is empty
        ranges = pytest.importorskip("pandas").arrays.IntervalArray.from_arrays(low, high, sides[0])
    else:
        sides = [
            "both" if is_point else side for is_point, side in zip(low == high, sides, strict=True)
        ]
        ranges = np.column_stack([low, high])
    contains, meets = [], []
    for row, within in zip(
        zip(*rows, strict=True), zip(low, high, sides, strict=True), strict=True
    ):
        (first, last), (begin, end) = places_of(*row), places_of(*within)
        contains.append(begin <= first and last <= end)
        meets.append(max(first, begin) <= min(last, end))
    rates = interval_coverage(rows.y, ranges, closed=sides)
    assert rates == (np.mean(contains), np.mean(meets))
    assert rates.contain_rate <= rates.meet_rate


@pytest.mark.parametrize("closed", SIDES)
def test_whether_infinity_belongs_to_a_range_makes_no_difference(closed):
    pd = pytest.importorskip("pandas")
    ranges = pd.arrays.IntervalArray.from_arrays([-6.0, -INF], [INF, 6.0], closed)
    y = pd.arrays.IntervalArray.from_arrays([0.0, -INF], [INF, 0.0], "both")
    assert interval_coverage(y, ranges) == (1.0, 1.0)


def test_a_value_on_an_end_that_is_open_is_not_covered():
    assert interval_coverage([5.0], [(5, 8)]) == (1, 1)
    assert interval_coverage([5.0], [(5, 8)], closed="right") == (0, 0)
    assert interval_coverage([(5, 6)], [(2, 5)]) == (0, 0)
    assert interval_coverage(from_detection_limits(["<5"]), [(5, 8)]) == (0, 0)
    assert interval_coverage(from_detection_limits(["≤5"]), [(5, 8)]) == (0, 1)


def test_coverage_of_uncensored_rows_is_the_share_inside_by_weight():
    assert interval_coverage(
        [1.0, 2.0, 3.0], [(0, 1), (3, 4), (-INF, INF)], sample_weight=[1, 2, 5]
    ) == (0.75, 0.75)


# All


def test_heavy_right_censoring_lets_flat_curves_win_the_brier_score_but_not_crps_and_log_loss():
    rng = np.random.default_rng(0)
    centre = rng.normal(0, 1.22, 2000)
    value, end = centre + rng.normal(0, 0.7, 2000), rng.normal(-0.45, 0.9, 2000)
    y = from_events(np.minimum(value, end), value <= end)
    true, flat = stats.norm(centre, 0.7), stats.norm(centre / 2, np.hypot(0.7, 0.61))
    assert 0.55 < np.isinf(y[:, 1]).mean() < 0.65
    assert integrated_interval_brier_score(y, flat) < integrated_interval_brier_score(y, true)
    assert interval_crps(y, true) < 0.8 * interval_crps(y, flat)
    assert interval_log_loss(y, true) < 0.9 * interval_log_loss(y, flat)


def test_a_summary_leaves_out_the_scores_that_exact_values_spoil():
    wide = np.column_stack([np.arange(6.0), np.arange(6.0) + 1.5])
    mixed = np.vstack([wide, [(2, 2), (3, 3)]])
    for y, reason in ((wide, ""), (mixed, "y_true: expected no exact values, got 2 in 8 rows.")):
        middle = y.mean(axis=1)
        scores = {
            score.name: score
            for score in summarise(y, middle, turnbull(y).shifted(np.zeros(len(y))))
        }
        assert len(scores) == 6
        assert {score.name for score in scores.values() if score.reason} == (
            {"log loss", "target-interval AUC"} if reason else set()
        )
        assert scores["log loss"].reason == reason


SCORES = {
    "log loss": interval_log_loss,
    "crps": interval_crps,
    "brier": lambda y, d, **kw: interval_brier_score(
        y, d, [-1.0, 0.5, 2.0], reference=stats.norm(0, 3), **kw
    ),
    "integrated brier": lambda y, d, **kw: integrated_interval_brier_score(
        y, d, [-3.0, 0.5, 2.0], reference=stats.norm(0, 3), **kw
    ),
    "calibration": lambda y, d, **kw: d_calibration(y, d, **kw).statistic,
}
scores = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES.keys())


@scores
@given(problem=step_problems())
def test_a_weight_counts_as_that_many_rows(score, problem):
    y, values, masses, weight = problem
    times = np.ones(len(y), int) if weight is None else weight.astype(int)
    repeated = score(
        np.repeat(y, times, axis=0),
        steps(np.repeat(values, times, axis=0), np.repeat(masses, times, axis=0)),
    )
    assert_allclose(
        score(y, steps(values, masses), sample_weight=weight), repeated, rtol=1e-9, atol=1e-9
    )


@scores
@given(problem=step_problems(), seed=st.integers(0, 99))
def test_the_order_of_the_rows_makes_no_difference(score, problem, seed):
    y, values, masses, weight = problem
    mixed = np.random.default_rng(seed).permutation(len(y))
    other = score(
        y[mixed],
        steps(values[mixed], masses[mixed]),
        sample_weight=None if weight is None else weight[mixed],
    )
    assert_allclose(
        score(y, steps(values, masses), sample_weight=weight), other, rtol=1e-9, atol=1e-9
    )


@scores
def test_something_that_is_not_a_distribution_is_refused(score):
    with pytest.raises(
        TypeError, match=r"distribution: expected an object with a method \w+, .*; got ndarray"
    ):
        score([(0, 1)], np.zeros(1))


@scores
def test_a_distribution_of_other_rows_is_refused(score):
    class TwoRows:
        cdf = sf = staticmethod(lambda _t: np.zeros(2) + 0.5)

    y = [(0, 1), (1, 2), (3, 4)]
    with pytest.raises(
        ValueError, match=r"distribution: expected cdf\(t\) to take 3 values, .*; got shape \(2,\)"
    ):
        score(y, TwoRows())
    with pytest.raises(
        ValueError, match="distribution: expected 3 rows, one for each row of y_true; got 2"
    ):
        score(y, steps([[1.0], [2.0]], [[1.0], [1.0]]))


@scores
@pytest.mark.parametrize("value", [np.nan, 1.5, -0.1])
def test_a_cdf_that_is_not_a_probability_is_refused(score, value):
    class Wrong:
        cdf = sf = staticmethod(lambda t: np.where(np.arange(len(t)) == 1, value, 0.5))

    with pytest.raises(
        ValueError, match=r"distribution: cdf is not a probability in 1 of 2 rows .first: row 1"
    ):
        score([(0, 1), (1, 2)], Wrong())


@scores
def test_impossible_targets_and_weights_are_refused_by_name(score):
    with pytest.raises(ValueError, match="y_true: upper < lower"):
        score([(2, 1)], stats.norm([0.0]))
    with pytest.raises(ValueError, match="sample_weight: negative"):
        score([(1, 2)], stats.norm([0.0]), sample_weight=-1.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda y, d: interval_log_loss(y, d, floor=-1),
            ValueError,
            r"floor: expected a number >= 0 and < 1, got -1",
        ),
        (lambda y, d: interval_log_loss(y, d, floor="a"), TypeError, r"floor: expected a number"),
        (
            lambda y, d: interval_crps(y, d, span=(1, 1)),
            ValueError,
            r"span: expected a pair .* got \(1, 1\)",
        ),
        (lambda y, d: interval_crps(y, d, span=3), ValueError, r"span: expected a pair"),
        (
            lambda y, d: interval_crps(y, OnlyCdf(d)),
            TypeError,
            "distribution: expected an object with a method sf",
        ),
        (
            lambda _, d: interval_log_loss([1.0], OnlyCdf(d)),
            TypeError,
            "expected an object with a method pdf",
        ),
        (
            lambda y, d: interval_brier_score(y, d, [], reference=d),
            ValueError,
            r"times: expected a number or shape",
        ),
        (
            lambda y, d: interval_brier_score(y, d, INF, reference=d),
            ValueError,
            "times: NaN or infinite",
        ),
        (
            lambda y, d: interval_brier_score(y, d, 1, reference=0),
            TypeError,
            "reference: expected an object",
        ),
        (
            lambda y, d: integrated_interval_brier_score(y, d, [1, 1], reference=d),
            ValueError,
            r"times: not greater than the one before in 1 of 2 rows \(first: row 1, times=1.0\)",
        ),
        (
            lambda y, d: integrated_interval_brier_score(y, d, [1], reference=d),
            ValueError,
            r"times: expected shape \(m,\) with m >= 2, got shape \(1,\)",
        ),
        (
            lambda y, d: integrated_interval_brier_score(y, d, [1, INF], reference=d),
            ValueError,
            "times: NaN or infinite in 1 of 2 rows",
        ),
        (
            lambda _, d: integrated_interval_brier_score([1.0], d, reference=d),
            ValueError,
            "y_true: expected rows of positive weight with at least two different finite limits",
        ),
        (
            lambda y, d: d_calibration(y, d, n_bins=1),
            ValueError,
            "n_bins: expected an integer >= 2, got 1",
        ),
        (
            lambda y, _: interval_coverage(y, [1.0]),
            ValueError,
            r"y_pred: expected shape \(1, 2\), .* got shape \(1,\)",
        ),
        (lambda y, _: interval_coverage(y, [(2, 1)]), ValueError, "y_pred: upper < lower"),
        (
            lambda y, _: interval_coverage(y, [(1, 2)], closed="up"),
            ValueError,
            "closed: expected one of 'right', 'left'",
        ),
        (
            lambda y, _: interval_coverage(y, [(1, 1)], closed="neither"),
            ValueError,
            "y_pred: no number lies between",
        ),
    ],
)
def test_impossible_arguments_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call([(0.0, 1.0)], stats.norm([0.0]))
