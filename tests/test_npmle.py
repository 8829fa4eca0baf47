"""Turnbull's estimate: against the likelihood on all places where rows differ, and against closed forms."""

import hashlib
import warnings
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from marginwood import from_detection_limits, from_events, make_intervals
from marginwood.datasets import load_diabetic_nephropathy, load_gbsg2
from marginwood.distributions import turnbull
from marginwood.distributions._solve import make_problem
from reference import cells_of, places_of
from strategies import (
    SIDES,
    count_weights,
    informative_intervals,
    sample_weights,
    sided_intervals,
    spread_weights,
)

# Small enough that the estimates of equal problems agree in many digits, masses and all.
FINE = 1e-9


def holds(y, places):
    """Whether each row holds each place: those after its lower end up to its upper one, or its value."""
    lower, upper = y[:, :1], y[:, 1:]
    return np.where(lower == upper, places == lower, (places > lower) & (places <= upper))


def explain(y, weight, n_steps=1000):
    """Log-likelihood after many EM steps, and Jensen's bound of what is missing: all places, no cells, no tricks.

    Ends are whole numbers, or right below them, so rows differ at those and halfway between them.
    """
    y, weight = y[weight > 0], weight[weight > 0]
    finite = y[np.isfinite(y)].round()
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
def weighted_intervals(draw, weights=sample_weights, *, sided=False):
    y = draw(sided_intervals()).y if sided else draw(informative_intervals())
    weight = draw(weights(len(y)))
    counted = np.ones(len(y), bool) if weight is None else weight > 0
    assume(np.isfinite(y[counted]).any())
    return y, weight


def assert_same(first, second, shift=0.0, scale=1.0):
    """Both estimates give every interval between their ends the same probability."""
    ends = np.unique(
        np.concatenate([first.support.ravel(), (second.support.ravel() - shift) / scale])
    )
    pairs = [
        (low, high)
        for i, low in enumerate(ends)
        for high in ends[i:]
        if not (low == high and np.isinf(low))
    ]
    moved = np.array(pairs) * scale + shift
    for bound in ("lower", "upper"):
        found = second.probability(moved, bound=bound)
        np.testing.assert_allclose(found, first.probability(pairs, bound=bound), atol=2e-4)


@given(st.one_of(weighted_intervals(), weighted_intervals(sided=True)))
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


@given(sided_intervals())
def test_cells_and_the_rows_that_hold_them_are_those_of_all_pairs_of_places(rows):
    rows = type(rows)(
        *(column[np.isfinite(rows.lower) | np.isfinite(rows.upper)] for column in rows)
    )
    expected, held = cells_of([places_of(*row) for row in zip(*rows, strict=True)])
    weight = 2.0 ** np.arange(len(held))
    support, ranges = make_problem(rows.y, weight)
    assert support.round().tolist() == [[begin.number, end.number] for begin, end in expected]
    for (begin, end), (lower, upper) in zip(expected, support.tolist(), strict=True):
        if begin == end:
            assert lower == upper == begin.number
        else:
            assert (lower == begin.number) == (begin.side == 1 or np.isinf(lower))
            assert (upper == end.number) == (end.side == 0 or np.isinf(upper))
    found = np.zeros((len(ranges.first), len(support)), bool)
    for row, (first, stop) in enumerate(zip(ranges.first, ranges.stop, strict=True)):
        found[row, first:stop] = True
    # Equal rows are one: their weights are sums of different powers of two.
    patterns, same = np.unique(held, axis=0, return_inverse=True)
    sums = {
        row.tobytes(): weight[same.ravel() == number].sum() for number, row in enumerate(patterns)
    }
    assert sums == {row.tobytes(): total for row, total in zip(found, ranges.weight, strict=True)}


def test_touching_intervals_share_nothing():
    found = turnbull([(1, 2), (2, 3)])
    assert found.support.tolist() == [[1, 2], [2, 3]]
    assert found.mass.tolist() == [0.5, 0.5]
    assert found.cdf([1, 1.5, 2, 2.5, 3]).tolist() == [0, 0.25, 0.5, 0.75, 1]
    closed = turnbull(make_intervals([1, 2], [2, 3], closed="both"))
    assert closed.support.tolist() == [[2, 2]]


# The first two are of R's survfit with type = "interval2" (survival 3.5).
R_VISITS = {0: 120, 1: 172, 2: 197, 3: 144, 4: 120, 5: 84, 6: 163}  # by last visit before the event
R_SURVIVAL = [0.880, 0.708, 0.511, 0.367, 0.247, 0.163]


def test_visits_have_the_curve_of_r():
    lower = np.array(list(R_VISITS), float)
    found = turnbull(make_intervals(lower, np.append(lower[1:], inf)), list(R_VISITS.values()))
    for bound in ("lower", "spread", "upper"):
        np.testing.assert_allclose(found.sf([1, 2, 3, 4, 5, 6], bound=bound), R_SURVIVAL, atol=5e-4)


def test_a_known_case_has_the_masses_of_r():
    lower = [1, 8, 8, 7, 7, 17, 37, 46, 46, 45]
    upper = [7, 8, 10, 16, 14, inf, 44, inf, inf, inf]
    found = turnbull(np.column_stack([lower, upper]), tol=FINE)
    assert found.support.tolist() == [[1, 7], [8, 8], [8, 10], [37, 44], [46, inf]]
    np.testing.assert_allclose(found.mass, [0.1, 0.2, 0.2, 0.125, 0.375], atol=1e-6)


def test_touching_and_overlapping_visits_have_the_masses_of_r():
    found = turnbull([(0, 1), (1, 2), (2, 3), (1, 2)])
    np.testing.assert_allclose(found.sf([1, 2, 3]), [0.75, 0.25, 0.0], atol=1e-12)


# R's survfit stops early, so its curve is right to some 1e-4.
R_NEPHROPATHY = {5: 0.98391, 10: 0.8858, 15: 0.5424, 20: 0.2223, 25: 0.0893, 30: 0.0320, 38: 0.0069}


def test_real_visits_have_the_curve_of_r():
    found = turnbull(load_diabetic_nephropathy().y)
    np.testing.assert_allclose(
        found.sf(list(R_NEPHROPATHY)), list(R_NEPHROPATHY.values()), atol=2e-4
    )


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.sampled_from(SIDES[:2]), st.data())
def test_rows_of_one_cell_each_are_counted(places, closed, data):
    weight = data.draw(spread_weights(len(places)))
    edges = np.array([-inf, 0, 1, 2.5, 4, 5, 9, inf])
    lower, upper = edges[:-1], edges[1:]
    places = np.array(places)
    found = turnbull(make_intervals(lower[places], upper[places], closed=closed), weight)
    counts = np.bincount(places, weight, minlength=7) / weight.sum()
    brackets = make_intervals(lower, upper, closed=closed)
    for bound in ("lower", "spread", "upper"):
        np.testing.assert_allclose(found.probability(brackets, bound=bound), counts, atol=1e-12)
    assert found.gap <= 1e-9 * weight.sum()


def mirror(rows):
    """Ends times -1: what belonged to an interval still does."""
    turned = {"right": "left", "left": "right"}
    closed = np.array([turned.get(name, name) for name in rows.closed])
    return type(rows)(-rows.upper, -rows.lower, closed)


@given(sided_intervals())
def test_a_mirrored_problem_has_the_mirrored_answer(rows):
    found, mirrored = estimate(rows.y, None, FINE), estimate(mirror(rows).y, None, FINE)
    assert found.log_likelihood == pytest.approx(mirrored.log_likelihood, abs=1e-6)
    # Of the smallest masses either estimate may have one more.
    asked = make_intervals(rows.lower, rows.upper, closed=rows.closed)
    back = mirror(rows).y
    for bound in ("lower", "upper"):
        np.testing.assert_allclose(
            found.probability(asked, bound=bound),
            mirrored.probability(back, bound=bound),
            atol=2e-4,
        )


@given(sided_intervals(min_size=2))
def test_open_ends_that_move_by_next_to_nothing_move_no_curve(rows):
    # Open ends, lower ones upwards and upper ones downwards, by 1e-9 of the range; closed ones
    # stay.
    is_range = rows.lower < rows.upper
    step = 1e-9 * 12
    lower = rows.lower + step * (is_range & ~np.isin(rows.closed, ("left", "both")))
    upper = rows.upper - step * (is_range & ~np.isin(rows.closed, ("right", "both")))
    moved = make_intervals(lower, upper, closed=rows.closed)
    places = np.arange(-7, 7.25, 0.25) + 0.01
    for bound in ("lower", "spread", "upper"):
        before = estimate(rows.y, None, FINE).cdf(places, bound=bound)
        np.testing.assert_allclose(
            estimate(moved, None, FINE).cdf(places, bound=bound), before, atol=1e-6
        )


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_detection_limits_give_the_mirror_image_of_kaplan_and_meier(rows):
    value, is_below = np.array(rows, dtype=float).T
    found = turnbull(from_detection_limits(value, nondetect=is_below))
    flipped = turnbull(from_events(-value, is_below == 0))
    at = -np.arange(6.0)
    np.testing.assert_allclose(found.cdf(-at), flipped.sf(at) + flipped.probability(at), atol=1e-12)


def test_a_limit_and_a_detected_value_of_the_same_number_differ():
    # Kaplan and Meier's estimate of the flipped values: 1/6 at 3, 1/6 at 2, then 1/2 at 1 and 1/6
    # below it.
    found = turnbull(from_detection_limits(["3", "2", "1", "1", "<1", "<2"]))
    assert found.support.tolist() == [[-inf, 1], [1, 1], [2, 2], [3, 3]]
    np.testing.assert_allclose(found.mass, [2 / 9, 4 / 9, 1 / 6, 1 / 6], rtol=1e-12)
    np.testing.assert_allclose(found.cdf([0.999, 1, 2]), [2 / 9, 2 / 3, 5 / 6], rtol=1e-12)


# Ammonium in precipitation, in micrograms per litre (lifelines' nh4): how often it was below a
# limit, and detected.
NH4_BELOW = {6: 18, 8: 10, 10: 17, 18: 1}
NH4 = {
    6: 1,
    7: 3,
    8: 1,
    9: 4,
    11: 2,
    12: 3,
    13: 3,
    14: 2,
    15: 4,
    16: 1,
    17: 2,
    19: 2,
    20: 1,
    21: 2,
    22: 2,
    23: 2,
    24: 1,
}
NH4 |= {28: 1, 30: 2, 31: 1, 33: 1, 34: 1, 36: 2}
NH4 |= dict.fromkeys([42, 49, 52, 58, 59, 60, 65, 74, 80, 88, 121, 253], 1)


def test_values_of_a_laboratory_have_the_curve_of_their_flipped_values():
    numbers = np.array([*NH4_BELOW, *NH4]) / 1000
    counts = np.array([*NH4_BELOW.values(), *NH4.values()])
    is_below = np.arange(len(numbers)) < len(NH4_BELOW)
    assert counts.sum() == 102
    found = turnbull(from_detection_limits(numbers, nondetect=is_below), counts)
    for bound in ("lower", "spread", "upper"):
        np.testing.assert_allclose(
            found.cdf([0.006, np.nextafter(0.006, 0)], bound=bound), [0.401, 0.380], atol=5e-4
        )
    flipped = turnbull(from_events(-numbers, ~is_below), counts)
    np.testing.assert_allclose(
        found.cdf(numbers), flipped.sf(-numbers) + flipped.probability(-numbers), atol=1e-12
    )


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


@pytest.mark.parametrize(
    ("unit", "has_weights", "is_exact", "digest"),
    [
        (1.0, False, False, "b019f962f7ed265a"),
        (365.25, True, False, "70b739200a5bea71"),
        (30.0, True, True, "42c293188d809e0d"),
    ],
)
def test_known_and_right_censored_values_have_the_bits_of_kaplan_and_meier(
    unit, has_weights, is_exact, digest
):
    # Frozen from before intervals had sides, on which such rows do not depend.
    y = load_gbsg2().y
    weight = 1.0 + np.arange(len(y)) % 7 if has_weights else None
    found = turnbull(y[:, 0] // unit if is_exact else y / unit, weight)
    answers = (
        found.support,
        found.mass,
        found.cdf(np.arange(0, 90, 0.5)),
        found.quantile(np.arange(11) / 10),
    )
    assert hashlib.sha256(b"".join(array.tobytes() for array in answers)).hexdigest()[:16] == digest


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
    assert scaled.log_likelihood == pytest.approx(
        scale * plain.log_likelihood, rel=1e-6, abs=1e-6 * scale
    )
    assert_same(plain, scaled)


@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 1.0, 1e17]])
def test_rows_that_say_nothing_are_warned_of_and_change_nothing(weight):
    y = [(0, 2), (1, 3), (2.5, inf)]
    with pytest.warns(UserWarning, match=r"y: 1 of 4 rows are \(-inf, inf\)"):
        found = turnbull([*y, (-inf, inf)], weight)
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
    assert (
        loose.log_likelihood
        <= tight.log_likelihood + 1e-8
        <= loose.log_likelihood + loose.gap + 1e-7
    )


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
