"""Step distributions: what they answer, against masses that are really put somewhere."""

import pickle
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import from_detection_limits, make_intervals
from marginwood._ends import half_open
from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.distributions._weighted import concatenate
from strategies import SIDES

WHOLE = np.arange(-8.0, 9)
POINTS = np.sort(np.concatenate([WHOLE, WHOLE + 0.5, np.nextafter(WHOLE, -inf)]))


@st.composite
def steps(draw, unbounded=True):
    """Support intervals of whole ends, some of them moved to the number right below, and masses of few sizes."""
    numbers = sorted(draw(st.sets(st.integers(-6, 6), min_size=2, max_size=9)))
    ends = [nextafter(end, -inf) if draw(st.booleans()) else float(end) for end in numbers]
    support = []
    while ends:
        low = ends.pop(0)
        if ends and draw(st.booleans()):
            support.append((low, ends[0]))
            if draw(st.booleans()):
                ends.pop(0)  # else what follows touches it
        else:
            support.append((np.ceil(low), np.ceil(low)))
    if unbounded and draw(st.booleans()):
        support[0] = (-inf, support[0][1])
    if unbounded and draw(st.booleans()) and support[-1][0] > -inf:
        support[-1] = (support[-1][0], inf)
    counts = draw(st.lists(st.integers(1, 4), min_size=len(support), max_size=len(support)))
    return np.array(support), np.array(counts) / sum(counts)


def batches():
    return st.lists(steps(), min_size=1, max_size=4)


def join(parts):
    offsets = np.cumsum([0] + [len(mass) for _, mass in parts])
    return IntervalDistribution(
        *(np.concatenate(arrays) for arrays in zip(*parts, strict=True)), offsets
    )


def spread_cdf(support, mass, t):
    """Masses spread evenly; those of unbounded intervals infinitely far away."""
    total = 0.0
    for (low, high), part in zip(support, mass, strict=True):
        if high == inf:
            share = 0.0
        elif low == -inf or high <= t:
            share = 1.0
        else:
            share = (t - low) / (high - low) if low < t else 0.0
        total += part * share
    return total


@given(steps())
def test_the_curves_are_those_of_masses_at_the_ends_and_spread_between_them(step):
    support, mass = step
    found = IntervalDistribution(support, mass)
    at_upper = [mass[support[:, 1] <= t].sum() for t in POINTS]
    # Right after its lower end, unless it is a point.
    at_lower = [mass[(support[:, 0] < t) | (support[:, 1] <= t)].sum() for t in POINTS]
    np.testing.assert_allclose(found.cdf(POINTS, bound="lower"), at_upper, atol=1e-12)
    np.testing.assert_allclose(found.cdf(POINTS, bound="upper"), at_lower, atol=1e-12)
    np.testing.assert_allclose(
        found.cdf(POINTS), [spread_cdf(support, mass, t) for t in POINTS], atol=1e-12
    )
    for bound, opposite in (("lower", "upper"), ("spread", "spread"), ("upper", "lower")):
        np.testing.assert_allclose(
            found.sf(POINTS, bound=bound), 1 - found.cdf(POINTS, bound=opposite), atol=1e-12
        )


@given(batches(), st.sampled_from(["lower", "spread", "upper"]))
def test_curves_rise_from_0_to_1(parts, bound):
    curves = join(parts).cdf(np.concatenate([[-inf], POINTS, [inf]]), bound=bound)
    assert (np.diff(curves, axis=1) >= 0).all()
    assert (curves[:, 0] == 0).all()
    assert (curves[:, -1] == 1).all()


@given(steps(), st.sampled_from([0.0, 0.0625, 0.25, 0.4, 0.5, 0.75, 1.0]))
def test_a_quantile_lies_where_the_curves_reach_its_level(step, q):
    support, mass = step
    found = IntervalDistribution(support, mass)
    sums = np.cumsum(mass)
    shown = support.round()
    low = shown[np.flatnonzero(sums >= q - 1e-9)[0], 0]
    above = np.flatnonzero(sums > q + 1e-9)
    high = shown[above[0] if len(above) else -1, 1]
    assert found.quantile(q).tolist() == [low, high]
    assert found.quantile(q, bound="lower") == low
    assert found.quantile(q, bound="upper") == high
    value = found.quantile(q, bound="spread")
    assert low <= value <= high
    if np.isfinite(value):
        assert (
            found.cdf(value) == pytest.approx(q, abs=1e-9) or (support == value).all(axis=1).any()
        )


@given(
    steps(),
    st.tuples(st.integers(-7, 7), st.integers(-7, 7)),
    st.sampled_from(SIDES),
    st.sampled_from([0, -inf, inf]),
)
def test_the_probability_of_an_interval_is_what_lies_in_it(step, ends, closed, unknown):
    support, mass = step
    found = IntervalDistribution(support, mass)
    low, high = sorted(map(float, ends))
    low, high = (-inf if unknown < 0 else low), (inf if unknown > 0 else high)
    if low == high:
        closed = "both"
    y = make_intervals([low], [high], closed=closed)
    (begin, end), (lower, upper) = half_open(y)[0], half_open(support).T
    meets = (lower < end) & (begin < upper)
    inside = (begin <= lower) & (upper <= end)
    least, between, most = (
        found.probability(y, bound=bound)[0] for bound in ("lower", "spread", "upper")
    )
    assert least == pytest.approx(mass[inside].sum(), abs=1e-12)
    assert most == pytest.approx(mass[meets].sum(), abs=1e-12)
    spread = [
        spread_cdf(support, mass, t) if np.isfinite(t) else float(t > 0) for t in (begin, end)
    ]
    assert between == pytest.approx(spread[1] - spread[0], abs=1e-12)


@given(
    steps(), st.sets(st.integers(-7, 7), min_size=1), st.sampled_from(SIDES[:2]), st.floats(-9, 9)
)
def test_the_probabilities_of_touching_brackets_add_up_to_1(step, edges, closed, shift):
    found = IntervalDistribution(*step).shifted(shift)
    edges = np.array([-inf, *sorted(edges), inf])
    brackets = make_intervals(edges[:-1], edges[1:], closed=closed)
    assert found.probability(brackets).sum() == pytest.approx(1)
    assert found.probability(brackets, bound="lower").sum() <= 1 + 1e-12
    assert found.probability(brackets, bound="upper").sum() >= 1 - 1e-12


@given(steps(), st.floats(-1e3, 1e3))
def test_a_distribution_that_is_moved_says_of_its_support_what_it_shows(step, shift):
    support, mass = step
    moved = IntervalDistribution(support, mass).shifted(shift)
    ends = support + shift
    for bound in ("lower", "spread", "upper"):
        expected = [mass[ends[:, 1] <= end].sum() for end in ends[:, 1]]
        # What lies between two ends of one place has no room to be spread.
        assert (moved.cdf(ends[:, 1], bound=bound) >= np.array(expected) - 1e-12).all()
    finite = np.isfinite(ends).all(axis=1)
    if finite.any():
        np.testing.assert_array_less(mass[finite] - 1e-12, moved.probability(ends[finite]))
    quantiles = moved.quantile([0.25, 0.5], bound="upper")
    assert (moved.cdf(quantiles, bound="lower") >= np.array([0.25, 0.5]) - 1e-9).all()


def test_what_is_shown_is_the_number_that_was_meant():
    found = turnbull(from_detection_limits(["<0.1", "0.1", "3", "≥7"]))
    assert found.support.tolist() == [[-inf, 0.1], [0.1, 0.1], [3, 3], [7, inf]]
    assert found.quantile([0.1, 0.3, 0.6, 0.9]).tolist() == [
        [-inf, 0.1],
        [0.1, 0.1],
        [3, 3],
        [7, inf],
    ]
    assert found.cdf([0.1, nextafter(0.1, 0), 7, nextafter(7, 0)]).tolist() == [
        0.5,
        0.25,
        0.75,
        0.75,
    ]
    # A known value is what it is, whatever it looks like.
    noisy = turnbull([0.7 + 0.1, 1.0])
    assert noisy.support[0].tolist() == [0.7999999999999999, 0.7999999999999999]
    assert noisy.quantile(0.2).tolist() == [0.7999999999999999, 0.7999999999999999]


@given(steps(unbounded=False))
def test_the_mean_is_that_of_the_ends_and_of_the_middles(step):
    support, mass = step
    found = IntervalDistribution(support, mass)
    np.testing.assert_allclose(found.mean(), mass @ support, atol=1e-12)
    assert found.mean(bound="spread") == pytest.approx(mass @ support.mean(axis=1), abs=1e-12)


@given(steps())
def test_a_clipped_mean_is_the_area_above_the_curve(step):
    found = IntervalDistribution(*step)
    grid = np.arange(-4, 5.0)
    # The curve is linear between whole numbers, but for jumps on them.
    middles = found.sf((grid[1:] + grid[:-1]) / 2)
    assert found.mean(bound="spread", within=(-4, 4)) == pytest.approx(
        -4 + middles.sum(), abs=1e-12
    )
    low, high = found.mean(within=(-4, 4))
    assert low - 1e-12 <= found.mean(bound="spread", within=(-4, 4)) <= high + 1e-12


def test_mass_without_a_limit_makes_means_and_quantiles_infinite():
    found = turnbull([(-inf, 1), (2, 2), (2, 2), (3, inf)])
    assert found.mean().tolist() == [-inf, inf]
    assert found.quantile([0.0, 0.5, 1.0]).tolist() == [[-inf, 1], [2, 2], [3, inf]]
    assert found.quantile([0.1, 0.5, 0.9], bound="spread").tolist() == [-inf, 2, inf]
    with pytest.raises(
        ValueError, match=r"mean: mass below every limit and above every limit in 1 of 1 rows"
    ):
        found.mean(bound="spread")


@given(batches(), st.lists(st.integers(-3, 3).map(float), min_size=4, max_size=4))
def test_rows_answer_as_they_would_alone(parts, shifts):
    together = join(parts).shifted(shifts[: len(parts)])
    alone = [
        IntervalDistribution(*part).shifted(shift)
        for part, shift in zip(parts, shifts, strict=False)
    ]
    levels = [0.25, 0.5, 0.9]
    for bound in ("lower", "spread", "upper"):
        for name, points in (("cdf", POINTS), ("sf", POINTS), ("quantile", levels)):
            each = [getattr(one, name)(points, bound=bound) for one in alone]
            assert getattr(together, name)(points, bound=bound).tolist() == [
                row.tolist() for row in each
            ]
    assert together.median().tolist() == [one.median().tolist() for one in alone]
    assert together.mean(within=(-2, 2)).tolist() == [
        one.mean(within=(-2, 2)).tolist() for one in alone
    ]
    y = np.tile([-1.0, 2.0], (len(parts), 1))
    assert together.probability(y).tolist() == [one.probability(y[:1])[0] for one in alone]
    for row, one in enumerate(alone):
        assert together[row].support.tolist() == one.support.tolist()
        assert together[row].mass.tolist() == one.mass.tolist()


def test_rows_can_be_put_together():
    one = turnbull([1.0, 2.0])
    together = concatenate(
        [one, one.shifted([1.0, 5.0])[1:], join([([(0.0, 0.0)], [1.0]), ([(3.0, 4.0)], [1.0])])]
    )
    assert together.quantile(1.0).tolist() == [[2, 2], [7, 7], [0, 0], [3, 4]]
    assert together[3].mass.tolist() == [1.0]


def test_points_are_numbers_or_shared_by_all_rows_or_one_line_for_each():
    two = IntervalDistribution([(0, 0), (4, 4)], [0.5, 0.5]).shifted([0.0, 1.0])
    assert len(two) == 2
    assert two.cdf(0).tolist() == [0.5, 0.0]
    assert two.cdf([0, 1, 5]).tolist() == [[0.5, 0.5, 1.0], [0.0, 0.5, 1.0]]
    assert two.cdf([[0], [5]]).tolist() == [[0.5], [1.0]]
    assert two.quantile(0.9, bound="upper").tolist() == [4, 5]
    assert two.quantile([0.1, 0.9]).shape == (2, 2, 2)
    assert two[1:].sf([1, 2]).tolist() == [[0.5, 0.5]]
    assert two[np.array([1, 0])].cdf(0).tolist() == [0.0, 0.5]


def test_a_single_distribution_keeps_the_shape_of_what_it_is_asked():
    one = turnbull([1.0, 2.0])
    assert one.cdf(1.0).shape == ()
    assert one.cdf([[1.0, 2.0], [3.0, 4.0]]).tolist() == [[0.5, 1.0], [1.0, 1.0]]
    assert one.quantile([[0.1]]).tolist() == [[[1.0, 1.0]]]
    assert repr(one) == "<Turnbull of 2 support intervals>"
    assert repr(one.shifted([1, 2])) == "<IntervalDistribution of 2 rows>"


def test_distributions_survive_pickling():
    found = turnbull([(0, 2), (1, 3), (5, inf)])
    again = pickle.loads(pickle.dumps(found))
    assert again.support.tolist() == found.support.tolist()
    assert again.gap == found.gap
    assert again.cdf(POINTS).tolist() == found.cdf(POINTS).tolist()


ONE = IntervalDistribution([(0, 1), (2, 2)], [0.5, 0.5])
ROWS = ONE.shifted([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ONE.quantile(1.5), "q: expected shares from 0 to 1, got 1.5"),
        (lambda: ONE.quantile([0.5, -0.1]), "q: expected shares from 0 to 1, got -0.1"),
        (lambda: ONE.quantile(np.nan), "q: expected shares from 0 to 1, got nan"),
        (lambda: ONE.cdf([0.0, np.nan]), "t: expected numbers, got NaN or None in 1 of 2 values"),
        (
            lambda: ONE.cdf(0.0, bound="both"),
            "bound: expected one of 'lower', 'spread', 'upper', 'certain', got 'both'",
        ),
        (
            lambda: ONE.sf(0.0, bound="best"),
            "bound: expected one of 'lower', 'spread', 'upper', 'certain', got 'best'",
        ),
        (
            lambda: ONE.mean(bound="best"),
            "bound: expected one of 'both', 'lower', 'spread', 'upper', 'certain', got 'best'",
        ),
        (
            lambda: ONE.shifted([[1.0]]),
            r"by: expected a number or shape \(1,\); got shape \(1, 1\)",
        ),
        (lambda: ONE.mean(within=(3, 1)), r"within: expected two numbers, .* got \(3, 1\)"),
        (lambda: ONE.mean(within=3), "within: expected two numbers, .* got 3"),
        (lambda: ONE.shifted(inf), "by: expected finite numbers, got another"),
        (
            lambda: ROWS.cdf(np.zeros((2, 3))),
            r"t: expected a number, shape \(m,\), or shape \(3, m\)",
        ),
        (lambda: ROWS.shifted([1.0, 2.0]), r"by: expected a number or shape \(3,\)"),
        (lambda: ROWS.probability([(0, 1)]), "y: expected one interval for each of 3 rows, got 1"),
        (
            lambda: IntervalDistribution([(0, 1)], [0.5]),
            "mass: expected masses that add up to 1, got another sum",
        ),
        (
            lambda: IntervalDistribution([(0, 1), (2, 3)], [1.5, -0.5]),
            "mass: expected positive numbers, got another",
        ),
        (lambda: IntervalDistribution([(0, 1)], [1.0, 0.0]), r"mass: expected shape \(1,\)"),
        (
            lambda: IntervalDistribution([(0, 2), (1, 3)], [0.5, 0.5]),
            "support: expected each interval above the one before it",
        ),
        (
            lambda: IntervalDistribution([(0, 0), (0, 0)], [0.5, 0.5]),
            "support: expected each interval above the one before it",
        ),
        (
            lambda: IntervalDistribution([(0, 1)], [1.0], offsets=[0, 2]),
            "offsets: expected increasing integers",
        ),
        (
            lambda: IntervalDistribution([(0, 1)], [1.0], offsets=[0, 0, 1]),
            "offsets: expected increasing integers",
        ),
    ],
)
def test_what_cannot_be_answered_is_named(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


def test_many_rows_have_no_single_support():
    with pytest.raises(AttributeError, match=r"support: there is one for each of 3 rows"):
        _ = ROWS.support
    with pytest.raises(TypeError, match="a single distribution has no rows"):
        _ = ONE[0]
    with pytest.raises(TypeError, match="a single distribution has no length"):
        len(ONE)
