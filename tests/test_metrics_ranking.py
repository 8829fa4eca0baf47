"""Concordance, and the ROC of predictions with a constant added, against their definitions by brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.metrics import auc, roc_auc_score

from marginwood.intervals import from_detection_limits, from_events, make_intervals
from marginwood.metrics import (
    interval_concordance_index,
    target_interval_auc,
    target_interval_aum,
    target_interval_roc,
)
from reference import places_of
from strategies import count_weights, intervals, sample_weights, sided_intervals

INF = np.inf
RANKINGS = [interval_concordance_index, target_interval_auc, target_interval_aum]
Y = np.array([[1.0, 2.0], [-INF, 3.0], [4.0, INF], [5.0, 5.0], [-INF, INF]])
PREDICTION = np.array([4.0, 3.0, 1.0, 5.0, -9.0])


@st.composite
def ranked_rows(draw, weights=sample_weights):
    """Intervals, predictions with ties, and weights. A pair can be compared, so there are limits of both sides."""
    y = draw(intervals(min_size=2))
    values = st.lists(st.integers(-6, 6).map(lambda k: k / 2), min_size=len(y), max_size=len(y))
    prediction, weight = np.array(draw(values)), draw(weights(len(y)))
    assume(
        any(
            order(y, i, j) and _weigh(weight, i, j) > 0
            for i in range(len(y))
            for j in range(len(y))
        )
    )
    return y, prediction, weight


def order(y, i, j):
    """Whether row i is known to lie before row j, which begins right after its lower end unless it is one value."""
    return y[i, 1] < y[j, 0] or (y[i, 1] == y[j, 0] and y[j, 0] < y[j, 1])


def _weigh(weight, i, j):
    return 1.0 if weight is None else weight[i] * weight[j]


def brute_concordance(y, prediction, weight):
    right, total = 0.0, 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if i != j and order(y, i, j):
                total += _weigh(weight, i, j)
                right += _weigh(weight, i, j) * (
                    (prediction[i] < prediction[j]) + (prediction[i] == prediction[j]) / 2
                )
    return right / total


def brute_auc(y, prediction, weight):
    low, high = (y - prediction[:, None]).T
    right, total = 0.0, 0.0
    for i in np.flatnonzero(np.isfinite(high)):
        for j in np.flatnonzero(np.isfinite(low)):
            total += _weigh(weight, i, j)
            right += _weigh(weight, i, j) * ((high[i] > low[j]) + (high[i] == low[j]) / 2)
    return right / total


def errors(y, prediction, weight, constant):
    """Weights of the false positives and the false negatives."""
    weight = np.ones(len(y)) if weight is None else weight
    moved = prediction + constant
    return weight[moved < y[:, 0]].sum(), weight[moved > y[:, 1]].sum()


@given(ranked_rows())
def test_concordance_is_the_share_of_comparable_pairs_in_the_right_order(rows):
    y, prediction, weight = rows
    value = interval_concordance_index(y, prediction, sample_weight=weight)
    assert_allclose(value, brute_concordance(y, prediction, weight), rtol=1e-12)


def test_concordance_of_many_rows_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 40, size=(300, 2)).astype(float), axis=1)
    y[::5, 1], y[1::5, 0] = INF, -INF
    y[2::5, 1] = y[2::5, 0]
    prediction, weight = y[:, 0].clip(0) + rng.integers(-20, 20, 300), rng.random(300)
    assert_allclose(
        interval_concordance_index(y, prediction, sample_weight=weight),
        brute_concordance(y, prediction, weight),
    )


@pytest.mark.parametrize(
    ("time", "event", "prediction", "expected"),
    [
        # Frozen from lifelines 0.30.3 and scikit-survival 0.28.0, which agree: ties in time, in
        # prediction, in both.
        ([1, 2, 3, 4], [1, 1, 0, 1], [1, 2, 3, 4], 1.0),
        ([1, 1, 2, 2, 3], [1, 0, 1, 1, 0], [2, 2, 1, 3, 3], 2 / 3),
        ([3, 3, 3, 1, 2, 2], [1, 0, 1, 1, 0, 1], [1, 1, 2, 2, 2, 0], 0.5),
        ([5, 1, 4, 4, 2, 2, 5, 3], [0, 1, 1, 0, 1, 1, 1, 0], [5, 2, 2, 7, 1, 2, 6, 3], 17.5 / 21),
    ],
)
def test_right_censored_rows_have_the_concordance_of_survival_packages(
    time, event, prediction, expected
):
    assert_allclose(
        interval_concordance_index(from_events(time, event), prediction), expected, rtol=1e-14
    )


def test_touching_rows_are_compared_unless_one_number_lies_in_both():
    assert interval_concordance_index([(3, 3), (3, INF)], [1.0, 2.0]) == 1
    assert interval_concordance_index([(1, 3), (3, 5)], [2.0, 1.0]) == 0
    assert interval_concordance_index(from_detection_limits(["<3", "3"]), [1.0, 2.0]) == 1
    for y in ([(-INF, 3), (3, 3)], make_intervals([1, 3], [3, 5], closed="both")):
        with pytest.raises(ValueError, match="no two rows of positive weight can be compared"):
            interval_concordance_index(y, [1.0, 2.0])


@given(sided_intervals(min_size=2), st.data())
def test_pairs_are_compared_exactly_where_no_number_lies_beyond_one_in_the_other(rows, data):
    places = [places_of(*row) for row in zip(*rows, strict=True)]
    n = len(places)
    pairs = [(i, j) for i in range(n) for j in range(n) if places[i][1] < places[j][0]]
    assume(pairs)
    prediction = np.array(data.draw(st.permutations(range(n))), float)
    share = np.mean([prediction[i] < prediction[j] for i, j in pairs])
    assert_allclose(interval_concordance_index(rows.y, prediction), share, rtol=1e-12)
    with pytest.raises(ValueError, match="y_true: no two rows of positive weight can be compared"):
        interval_concordance_index([(3, 3), (3, 3)], [1.0, 2.0])


@given(ranked_rows())
def test_the_auc_is_the_probability_of_the_right_order_of_residual_limits(rows):
    y, prediction, weight = rows
    value = target_interval_auc(y, prediction, sample_weight=weight)
    assert_allclose(value, brute_auc(y, prediction, weight), rtol=1e-12)


@given(ranked_rows())
def test_the_auc_is_the_area_under_the_curve(rows):
    y, prediction, weight = rows
    curve = target_interval_roc(y, prediction, sample_weight=weight)
    assert_allclose(
        target_interval_auc(y, prediction, sample_weight=weight),
        auc(curve.fpr, curve.tpr),
        rtol=1e-9,
    )


@given(ranked_rows())
def test_the_curve_holds_the_rates_of_all_constants(rows):
    y, prediction, weight = rows
    fpr, tpr, thresholds = target_interval_roc(y, prediction, sample_weight=weight)
    assert thresholds[0] == INF
    assert np.all(np.diff(thresholds) < 0)
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    counted = np.ones(len(y)) if weight is None else weight
    n_lower, n_upper = counted @ np.isfinite(y)
    lowest = np.append(thresholds[1:], thresholds[-1] - 2)
    highest = np.append(thresholds[1] + 2, thresholds[1:])
    for k, constant in enumerate((lowest + highest) / 2):
        false_positive, false_negative = errors(y, prediction, weight, constant)
        assert_allclose(fpr[k], false_positive / n_lower, rtol=1e-9, atol=1e-12)
        assert_allclose(tpr[k], 1 - false_negative / n_upper, rtol=1e-9, atol=1e-9)


@given(ranked_rows())
def test_the_aum_is_the_integral_of_the_lesser_share_of_errors(rows):
    y, prediction, weight = rows
    residuals = (y - prediction[:, None])[np.isfinite(y)]
    total = len(y) if weight is None else weight.sum()
    steps = np.unique(residuals)
    area = sum(
        (right - left) * min(errors(y, prediction, weight, (left + right) / 2))
        for left, right in pairwise(steps)
    )
    assert_allclose(
        target_interval_aum(y, prediction, sample_weight=weight),
        area / total,
        rtol=1e-9,
        atol=1e-12,
    )


def test_the_aum_is_that_of_numerical_integration():
    rng = np.random.default_rng(1)
    y = np.sort(rng.normal(size=(12, 2)), axis=1)
    y[::4, 0], y[1::4, 1] = -INF, INF
    prediction, weight = rng.normal(size=12), rng.random(12)
    steps = np.sort((y - prediction[:, None])[np.isfinite(y)])

    def lesser_error(constant):
        return min(errors(y, prediction, weight, constant))

    area, _ = quad(lesser_error, steps[0], steps[-1], points=steps[1:-1], limit=200)
    assert area > 0
    assert_allclose(
        target_interval_aum(y, prediction, sample_weight=weight), area / weight.sum(), rtol=1e-9
    )


def test_one_sided_rows_have_the_auc_of_a_classifier():
    rng = np.random.default_rng(2)
    is_upper = rng.random(60) < 0.4
    limit, prediction = rng.integers(0, 9, 60), rng.integers(0, 9, 60)
    y = np.where(
        is_upper[:, None],
        np.column_stack([np.full(60, -INF), limit]),
        np.column_stack([limit, np.full(60, INF)]),
    )
    assert_allclose(target_interval_auc(y, prediction), roc_auc_score(is_upper, limit - prediction))


def test_predictions_that_one_constant_corrects_have_no_area_under_the_minimum():
    y = [(0, 2), (3, 5), (-INF, 7), (9, INF)]
    prediction = np.array([1.0, 4.0, 6.0, 10.0]) + 100
    assert target_interval_auc(y, prediction) == 1
    assert target_interval_aum(y, prediction) == 0
    assert interval_concordance_index(y, prediction) == 1


def test_only_rows_of_one_side_have_no_area_under_the_minimum_and_no_curve():
    y = [(1, INF), (2, INF)]
    assert target_interval_aum(y, [0.0, 9.0]) == 0
    assert target_interval_aum([(-INF, INF)], [0.0]) == 0
    for metric in (target_interval_roc, target_interval_auc):
        with pytest.raises(
            ValueError, match="y_true: no row of positive weight has a finite upper limit"
        ):
            metric(y, [0.0, 9.0])
        with pytest.raises(
            ValueError, match="y_true: no row of positive weight has a finite lower limit"
        ):
            metric([(1, 2), (-INF, 2)], [0.0, 9.0], sample_weight=[0.0, 1.0])


def test_the_largest_predictions_have_a_finite_area_under_the_minimum():
    largest = np.finfo(float).max
    assert_allclose(target_interval_aum([(-INF, 0), (0, INF)], [largest, -largest]), largest)


@pytest.mark.parametrize("metric", RANKINGS)
@given(rows=ranked_rows(count_weights))
def test_a_weight_counts_as_that_many_rows(metric, rows):
    y, prediction, weight = rows
    times = np.ones(len(y), int) if weight is None else weight.astype(int)
    repeated = metric(np.repeat(y, times, axis=0), np.repeat(prediction, times))
    # Copies of a row cannot be compared with each other, so they add no pairs to the concordance
    # index.
    assert_allclose(metric(y, prediction, sample_weight=weight), repeated, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", RANKINGS)
@given(rows=ranked_rows(), seed=st.integers(0, 99))
def test_the_order_of_the_rows_makes_no_difference(metric, rows, seed):
    y, prediction, weight = rows
    shuffled = np.random.default_rng(seed).permutation(len(y))
    other = metric(
        y[shuffled],
        prediction[shuffled],
        sample_weight=None if weight is None else weight[shuffled],
    )
    assert_allclose(metric(y, prediction, sample_weight=weight), other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", RANKINGS)
@given(rows=ranked_rows(), shift=st.integers(-1000, 1000), exponent=st.integers(-100, 100))
def test_shifted_predictions_and_another_unit_rank_alike(metric, rows, shift, exponent):
    y, prediction, weight = rows
    value = metric(y, prediction, sample_weight=weight)
    assert_allclose(
        metric(y, prediction + shift, sample_weight=weight), value, rtol=1e-12, atol=1e-12
    )
    unit = 2.0**exponent
    scaled = metric(y * unit, prediction * unit, sample_weight=weight)
    assert_allclose(scaled, value * unit if metric is target_interval_aum else value, rtol=1e-12)


@given(ranked_rows())
def test_concordance_depends_on_the_order_of_the_predictions_alone(rows):
    y, prediction, weight = rows
    value = interval_concordance_index(y, prediction, sample_weight=weight)
    assert interval_concordance_index(y, np.exp(prediction), sample_weight=weight) == value
    reversed_value = interval_concordance_index(y, -prediction, sample_weight=weight)
    assert_allclose(reversed_value, 1 - value, atol=1e-12)


@pytest.mark.parametrize("metric", [*RANKINGS, target_interval_roc])
def test_weights_of_any_size_are_relative(metric):
    weight = np.array([1.0, 2.0, 3.0, 1.0, 0.5])
    for factor in (1e-200, 1e200):
        assert_allclose(
            metric(Y, PREDICTION, sample_weight=factor * weight),
            metric(Y, PREDICTION, sample_weight=weight),
        )


@pytest.mark.parametrize("metric", [*RANKINGS, target_interval_roc])
def test_impossible_arguments_are_refused_by_name(metric):
    with pytest.raises(
        ValueError, match=r"y_pred: expected shape \(5,\), one prediction per row of y_true"
    ):
        metric(Y, [1.0, 2.0])
    with pytest.raises(ValueError, match="y_pred: NaN or infinite in 1 of 5 rows"):
        metric(Y, [1, 2, 3, 4, np.nan])
    with pytest.raises(ValueError, match="y_true: upper < lower"):
        metric([(2, 1)], [1.0])
    with pytest.raises(ValueError, match="sample_weight: negative"):
        metric(Y, PREDICTION, sample_weight=-1.0)
