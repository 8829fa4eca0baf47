"""Tests of groups: against R's survdiff, against derivatives of likelihoods, and against all permutations."""

from itertools import permutations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import make_intervals
from marginwood.datasets import load_diabetic_nephropathy, load_gbsg2, load_mercury
from marginwood.distributions import turnbull
from marginwood.inference import compare_groups
from strategies import informative_intervals

rows = informative_intervals(min_size=4, max_size=8).map(lambda y: y[np.isfinite(y).any(axis=1)])


@pytest.fixture(scope="module")
def women():
    return load_gbsg2(as_frame=True)


# s <- survdiff(Surv(time, cens) ~ horTh, GBSG2, rho = rho); s$chisq, s$obs, s$exp; and ~ tgrade.
R_FIGURES = {
    ("horTh", "logrank"): (8.56478085354, [205, 94], [180.34308295833, 118.65691704166]),
    ("horTh", "peto"): (
        8.71379144171,
        [157.76497482084, 69.28182556642],
        [138.58203510726, 88.46476528],
    ),
    ("tgrade", "logrank"): (
        21.0944345875,
        [18, 202, 79],
        [42.1623203506, 198.2095773199, 58.6281023295],
    ),
    ("tgrade", "peto"): (
        25.5843406283,
        [12.0198622910, 150.1648148099, 64.8621232864],
        [31.3743782266, 150.0655952767, 45.6068268840],
    ),
}


@pytest.mark.parametrize(("column", "weights"), R_FIGURES)
def test_right_censored_groups_are_compared_as_in_r(women, column, weights):
    statistic, observed, expected = R_FIGURES[column, weights]
    found = compare_groups(women.y, women.X[column], weights=weights)
    assert found.statistic == pytest.approx(statistic, abs=1e-8)
    np.testing.assert_allclose(found.observed, observed, rtol=1e-9)
    np.testing.assert_allclose(found.expected, expected, rtol=1e-9)
    assert found.df == len(observed) - 1


# survdiff(Surv(time, cens) ~ horTh + strata(menostat), GBSG2, rho = rho)$chisq
@pytest.mark.parametrize(
    ("weights", "statistic"), [("logrank", 9.51177577228), ("peto", 9.06048179364)]
)
def test_strata_are_those_of_r(women, weights, statistic):
    found = compare_groups(women.y, women.X["horTh"], strata=women.X["menostat"], weights=weights)
    assert found.statistic == pytest.approx(statistic, abs=1e-8)
    assert found.title.endswith("stratified")


# survdiff(Surv(-Hg, HgCen == "False") ~ LandUse, mercury, rho = rho)$chisq
@pytest.mark.parametrize(
    ("weights", "statistic"), [("logrank", 74.1796824749), ("peto", 68.8432083635)]
)
def test_left_censored_groups_are_compared_as_flipped_ones_are_in_r(weights, statistic):
    data = load_mercury(as_frame=True)
    found = compare_groups(data.y, data.X["LandUse"], weights=weights)
    assert found.statistic == pytest.approx(statistic, abs=1e-8)
    assert found.df == 4


def scores_of(y, weights, step=1e-5):
    """Derivatives of each row's log-likelihood by the effect of a group, at no effect."""
    estimate = turnbull(y, tol=1e-9)
    ends = np.column_stack([np.where(y[:, 0] == y[:, 1], y[:, 0] - 1e-9, y[:, 0]), y[:, 1]])
    high, low = (
        estimate.sf(end, bound=bound) for end, bound in zip(ends.T, ("upper", "lower"), strict=True)
    )

    def shifted(survival, by):
        if weights == "logrank":
            return survival ** np.exp(by)
        odds = survival * np.exp(-by)
        return odds / (odds + 1 - survival)

    up, down = (np.log(shifted(high, by) - shifted(low, by)) for by in (step, -step))
    return (up - down) / (2 * step)


@pytest.mark.parametrize("weights", ["logrank", "peto"])
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_derivatives_of_the_likelihood(weights, seed):
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 6, 40).astype(float)
    y = np.column_stack([start, start + rng.integers(0, 4, 40)])
    y[:4, 0], y[4:12, 1] = -inf, inf
    groups = rng.integers(0, 3, 40)
    found = compare_groups(y, groups, weights=weights)
    scores = scores_of(y, weights)
    assert abs(scores.sum()) < 1e-2
    np.testing.assert_allclose(
        found.observed - found.expected, np.bincount(groups, scores - scores.mean()), atol=1e-2
    )


@given(rows.filter(lambda y: 4 <= len(y) <= 6), st.sampled_from(["logrank", "peto"]))
def test_permutations_are_all_tried(y, weights):
    groups = np.arange(len(y)) % 2
    found = compare_groups(y, groups, weights=weights, n_permutations=1)
    # Sums of one group decide between two; they are taken from the test with all labels but one.
    alone = [compare_groups(y, np.arange(len(y)) == row, weights=weights) for row in range(len(y))]
    scores = np.array([one.observed[1] - one.expected[1] for one in alone])
    scores = scores - scores.mean()
    sums = [abs(scores[list(order)] @ groups) for order in permutations(range(len(y)))]
    least = abs(scores @ groups) - 1e-7
    assert found.permutation_p_value == pytest.approx(np.mean(np.array(sums) >= least))


@given(rows.filter(lambda y: len(y) >= 4))
def test_a_weight_of_two_is_a_row_twice(y):
    groups = np.arange(len(y)) % 2
    once = compare_groups(np.vstack([y, y]), np.append(groups, groups))
    twice = compare_groups(y, groups, sample_weight=2.0)
    assert once.statistic == pytest.approx(twice.statistic, abs=1e-4)
    assert once.df == twice.df


@given(
    informative_intervals(min_size=4)
    .map(lambda y: y[np.isfinite(y).any(axis=1)])
    .filter(lambda y: len(y) > 3),
    st.permutations(range(3)),
)
def test_names_of_groups_do_not_matter(y, order):
    groups = np.arange(len(y)) % 3
    found, renamed = (compare_groups(y, labels) for labels in (groups, np.array(order)[groups]))
    assert renamed.statistic == pytest.approx(found.statistic, abs=1e-8)
    np.testing.assert_allclose(renamed.observed[order], found.observed, atol=1e-9)


def test_permuted_labels_agree_with_chi_squared_in_a_large_sample():
    data = load_diabetic_nephropathy()
    found = compare_groups(data.y, data.X[:, 0], n_permutations=2000, random_state=0)
    assert found.permutation_p_value == pytest.approx(found.p_value, abs=0.03)
    again = compare_groups(data.y, data.X[:, 0], n_permutations=2000, random_state=0)
    assert again.permutation_p_value == found.permutation_p_value


def test_strata_are_permuted_apart():
    y = [1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0]
    groups, strata = list("aabbaabb"), list("xxxxyyyy")
    found = compare_groups(y, groups, strata=strata, n_permutations=1)
    assert found.permutation_p_value == 2 / 36


def test_a_trend_is_the_log_rank_test_of_two_groups(women):
    two = compare_groups(women.y, women.X["horTh"])
    trend = two.trend()
    assert trend.z**2 == pytest.approx(two.statistic)
    assert trend.p_value == pytest.approx(two.p_value)
    three = compare_groups(women.y, women.X["tgrade"])
    assert three.trend().z > 4
    assert three.trend([0, 10, 20]).z == pytest.approx(three.trend().z)


def test_pairs_are_compared_by_themselves_and_adjusted(women):
    grades = women.X["tgrade"]
    found = compare_groups(women.y, grades).pairwise()
    for one, other, p in zip(found["group"], found["against"], found["p"], strict=True):
        pair = grades.isin([one, other])
        alone = compare_groups(women.y[pair], grades[pair])
        assert p == pytest.approx(alone.p_value)
    # Holm: the least p times 3, the next one times 2.
    assert np.sort(found["p Holm"]).tolist() == pytest.approx(
        (np.sort(found["p"]) * [3, 2, 1]).tolist()
    )


def test_the_table_says_what_was_tested(women):
    found = compare_groups(women.y, women.X["horTh"])
    assert str(found).splitlines()[-1] == "chi-squared 8.565 on 1 degree of freedom, p = 0.0034"
    assert found.to_dict()["observed"] == [205, 94]
    assert "Log-rank test" in found._repr_html_()


def test_rows_that_are_all_alike_show_no_difference():
    found = compare_groups([(1, 2)] * 4, list("aabb"), n_permutations=10)
    assert (found.statistic, found.df, found.p_value) == (0.0, 0, 1.0)
    assert found.permutation_p_value == 1.0
    assert compare_groups([(1, inf)] * 4, list("aabb")).p_value == 1.0


def test_moved_ends_are_told_apart():
    y = make_intervals([1, 2, 2, 3], [2, 3, 3, 4], closed="left")
    found = compare_groups(y, list("aabb"))
    assert found.observed.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: compare_groups(y, list("aaa")), "groups: expected two or more"),
        (lambda y: compare_groups(y, list("ab")), r"groups: expected shape \(3,\)"),
        (
            lambda y: compare_groups(y, list("aab"), strata=[1, None, 1]),
            "strata: missing label at row 1",
        ),
        (lambda y: compare_groups(y, list("aab"), weights="gehan"), "weights: expected"),
        (
            lambda y: compare_groups(y, list("aab"), n_permutations=0),
            "n_permutations: expected an integer >= 1",
        ),
        (
            lambda y: compare_groups(y, list("aab"), n_permutations=9, sample_weight=[1, 2, 1]),
            "n_permutations: rows with weights cannot change places",
        ),
        (
            lambda y: compare_groups(y, list("aab"), sample_weight=[1, 1, 0]),
            "groups: expected two or more",
        ),
        (
            lambda y: compare_groups(y, list("aab")).trend([1]),
            "scores: expected a finite number for each of 2",
        ),
    ],
)
def test_errors_say_what_is_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call([(1, 2), (2, 3), (4, inf)])


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=4, max_size=10))
def test_left_censored_rows_are_those_of_their_mirror_images(pairs):
    value, is_seen = np.array(pairs).T.astype(float)
    groups = np.arange(len(value)) % 2
    left = make_intervals(np.where(is_seen, value, -inf), value)
    right = make_intervals(-value, np.where(is_seen, -value, inf), closed="right")
    if is_seen.all() or not is_seen.any():
        return
    flipped = compare_groups(right, groups)
    # An upper end belongs to its interval, and its mirror image is not open where it should be.
    left[is_seen == 0, 1] = np.nextafter(left[is_seen == 0, 1], -inf)
    found = compare_groups(left, groups)
    assert found.statistic == pytest.approx(flipped.statistic, abs=1e-8)
    band, mirror = (
        turnbull(left).confidence_band(np.arange(7) - 0.5),
        turnbull(right).confidence_band(0.5 - np.arange(7)),
    )
    np.testing.assert_allclose(band.lower, 1 - mirror.upper, atol=1e-3)
    np.testing.assert_allclose(band.upper, 1 - mirror.lower, atol=1e-3)


def test_many_rows_are_drawn_even_if_they_have_few_arrangements():
    y = np.arange(3000.0)
    groups = np.arange(3000) == 0
    first, second = (
        compare_groups(y, groups, n_permutations=200, random_state=seed).p_value for seed in (0, 0)
    )
    assert first == second == pytest.approx(round(first * 201) / 201)
