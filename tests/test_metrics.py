from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_squared_error, r2_score

from marginwood import make_intervals
from marginwood.losses import optimal_constant
from marginwood.metrics import (
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
)
from strategies import count_weights, intervals, losses, margins, sided_intervals

INF = np.inf
METRICS = [
    interval_mean_squared_error,
    interval_mean_absolute_error,
    interval_accuracy,
    interval_hinge_loss,
    interval_d2_score,
    partial(interval_pinball_loss, quantile=0.9),
    partial(interval_d2_score, quantile=0.1),
]
Y = np.array([[1.0, 2.0], [-INF, 3.0], [4.0, INF], [5.0, 5.0], [-INF, INF]])
PREDICTION = np.array([4.0, 3.0, 1.0, 5.0, -9.0])


@st.composite
def scored_predictions(draw, weights=count_weights):
    y = draw(intervals())
    values = st.lists(st.integers(-12, 12).map(lambda k: k / 2), min_size=len(y), max_size=len(y))
    return y, np.array(draw(values)), draw(weights(len(y)))


def test_errors_are_distances_to_the_interval():
    assert interval_mean_squared_error(Y, PREDICTION) == (4 + 9) / 5
    assert interval_mean_absolute_error(Y, PREDICTION) == (2 + 3) / 5
    assert interval_accuracy(Y, PREDICTION) == 3 / 5
    assert interval_pinball_loss(Y, PREDICTION) == (2 + 3) / 10
    assert interval_pinball_loss(Y, PREDICTION, quantile=0.75) == (0.25 * 2 + 0.75 * 3) / 5


@given(sided_intervals(), st.data())
def test_sides_change_errors_by_the_last_bit_at_most(rows, data):
    plain = make_intervals(rows.lower, rows.upper)
    values = st.lists(st.integers(-7, 7).map(float), min_size=len(plain), max_size=len(plain))
    prediction = np.array(data.draw(values))
    for metric in METRICS:
        assert_allclose(metric(rows.y, prediction), metric(plain, prediction), atol=1e-12)


def test_a_prediction_on_an_end_has_no_error_whichever_side_it_is_of():
    y = make_intervals(
        [-INF, -INF, 0, 0, 5],
        [0, 5, 5, 5, INF],
        closed=["neither", "neither", "neither", "both", "left"],
    )
    assert interval_accuracy(y, [0.0, 5.0, 0.0, 5.0, 5.0]) == 1
    assert interval_d2_score(y, [0.0, 5.0, 0.0, 5.0, 5.0]) == 1
    assert (
        interval_d2_score(
            make_intervals([-INF, 0], [0, 0], closed=["neither", "right"]), [0.0, 0.0]
        )
        == 1
    )
    assert interval_accuracy([5.0], [np.nextafter(5, 9)]) == 0


@given(scored_predictions())
def test_the_squared_error_is_that_of_the_paper(problem):
    y, prediction, sample_weight = problem
    low, high = y.T
    miss = np.zeros(len(y))
    miss[prediction < low] = (prediction - low)[prediction < low]
    miss[prediction > high] = (prediction - high)[prediction > high]
    expected = np.average(miss**2, weights=sample_weight)
    assert_allclose(
        interval_mean_squared_error(y, prediction, sample_weight=sample_weight), expected
    )


@given(scored_predictions(), losses, margins)
def test_the_hinge_loss_is_never_below_the_best_constants(problem, loss, margin):
    y, prediction, _ = problem
    value = interval_hinge_loss(y, np.full(len(y), prediction[0]), loss=loss, margin=margin)
    if np.isfinite(y).any():
        assert value * len(y) >= optimal_constant(y, loss=loss, margin=margin).cost * (1 - 1e-12)
    else:
        assert value == 0


@pytest.mark.parametrize("metric", METRICS)
@given(problem=scored_predictions())
def test_a_weight_counts_as_that_many_rows(metric, problem):
    y, prediction, sample_weight = problem
    times = np.ones(len(y), int) if sample_weight is None else sample_weight.astype(int)
    repeated = metric(np.repeat(y, times, axis=0), np.repeat(prediction, times))
    assert_allclose(
        metric(y, prediction, sample_weight=sample_weight), repeated, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("metric", "usual"),
    [
        (interval_mean_squared_error, mean_squared_error),
        (interval_mean_absolute_error, mean_absolute_error),
        (interval_d2_score, r2_score),
        (
            partial(interval_pinball_loss, quantile=0.9),
            partial(mean_pinball_loss, alpha=0.9),
        ),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_uncensored_targets_are_scored_as_usual(metric, usual, weighted, shift):
    rng = np.random.default_rng(0)
    y = shift + rng.normal(size=50)
    prediction = y + rng.normal(size=50)
    sample_weight = rng.random(50) if weighted else None
    expected = usual(y, prediction, sample_weight=sample_weight)
    assert_allclose(metric(y, prediction, sample_weight=sample_weight), expected, rtol=1e-9)


@given(scored_predictions(), st.sampled_from([0.1, 0.5, 0.9]))
def test_the_d2_of_a_quantile_is_the_share_of_the_pinball_loss_that_is_saved(problem, quantile):
    y, prediction, weight = problem
    assume(np.isfinite(y if weight is None else y[weight > 0]).any())
    rules = {"loss": "linear_hinge", "quantile": quantile}
    best = optimal_constant(y, **rules, sample_weight=weight)
    assume(best.cost > 0)
    total = len(y) if weight is None else weight.sum()
    own = 2 * interval_pinball_loss(y, prediction, quantile=quantile, sample_weight=weight)
    found = interval_d2_score(y, prediction, quantile=quantile, sample_weight=weight)
    assert_allclose(found, 1 - own / (best.cost / total), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("y", "prediction", "expected"),
    [
        ([2.0, 2.0], [2.0, 2.0], 1.0),
        ([2.0, 2.0], [2.0, 3.0], 0.0),
        ([(0, 2), (1, 3)], [1.0, 2.0], 1.0),
        ([(0, 2), (1, 3)], [1.0, 4.0], 0.0),
        ([(-INF, INF), (-INF, INF)], [1.0, 4.0], 1.0),
        ([0.1, 0.1, 0.1], [0.1, 0.1, 0.2], 0.0),
        ([7.0], [7.0], 1.0),
        ([7.0], [8.0], 0.0),
    ],
)
def test_d2_is_one_without_error_and_zero_where_only_a_constant_has_none(y, prediction, expected):
    assert interval_d2_score(y, prediction) == expected


@pytest.mark.parametrize("prediction", [1.0, 1e150])
@pytest.mark.parametrize("limit", [5e-324, 1e-300, 1e-140])
def test_predictions_far_beyond_tiny_limits_have_a_d2_without_overflow(limit, prediction):
    assert interval_d2_score([(-INF, -limit), (-INF, 0)], [prediction, prediction]) == 0.0
    is_apart = limit > 1e-320  # others are 0 but for the side of an end
    assert (
        interval_d2_score([(-INF, -limit), (limit, INF)], [prediction, prediction]) < -1e30
    ) == is_apart


def test_the_best_constant_has_a_d2_of_zero():
    y = [(0, 1), (3, 4), (8, INF), (-INF, 2)]
    assert_allclose(interval_d2_score(y, np.full(4, optimal_constant(y).value)), 0, atol=1e-15)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("y_pred", "error", "message"),
    [
        (
            [1.0, 2.0],
            ValueError,
            r"y_pred: expected shape \(5,\), one prediction per row of y_true; got shape \(2,\)",
        ),
        (PREDICTION.reshape(-1, 1), ValueError, r"y_pred: expected shape .* got shape \(5, 1\)"),
        (
            [1, 2, np.nan, 4, 5],
            ValueError,
            r"y_pred: NaN or infinite in 1 of 5 rows \(first: row 2, y_pred=nan\)",
        ),
        ([1, 2, 3, 4, INF], ValueError, "y_pred: NaN or infinite in 1 of 5 rows"),
        (list("abcde"), TypeError, "y_pred: expected real numbers, got dtype <U1"),
    ],
)
def test_impossible_predictions_are_refused(metric, y_pred, error, message):
    with pytest.raises(error, match=message):
        metric(Y, y_pred)


@pytest.mark.parametrize("metric", METRICS)
def test_impossible_targets_and_weights_are_refused_by_name(metric):
    with pytest.raises(ValueError, match="y_true: upper < lower"):
        metric([(2, 1)], [1.0])
    with pytest.raises(ValueError, match=r"sample_weight: expected a number or shape \(5,\)"):
        metric(Y, PREDICTION, sample_weight=[1.0])
