"""The table of errors against the metrics that it holds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from marginwood.intervals import CENSORING_KINDS, censoring_kind
from marginwood.losses import optimal_constant
from marginwood.metrics import (
    error_table,
    interval_accuracy,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from strategies import count_weights, informative_intervals

INF = np.inf
METRICS = {
    "mse": interval_mean_squared_error,
    "mae": interval_mean_absolute_error,
    "inside": interval_accuracy,
}
Y = np.array([[4.0, INF], [1.0, 2.0], [5.0, 5.0], [7.0, INF], [-INF, INF]])
PREDICTION = np.array([1.0, 4.0, 5.0, 8.0, -9.0])


@given(informative_intervals(), st.integers(0, 99))
def test_a_table_holds_the_metrics_of_each_kind_and_of_all(y, seed):
    prediction = np.random.default_rng(seed).integers(-8, 8, len(y)).astype(float)
    table = error_table(y, prediction)
    kinds = censoring_kind(y)
    assert table.groups == ["all", *(kind for kind in CENSORING_KINDS if kind in kinds)]
    constant = np.full(len(y), optimal_constant(y).value)
    for k, group in enumerate(table.groups):
        rows = np.ones(len(y), bool) if group == "all" else kinds == group
        assert table.n_rows[k] == rows.sum()
        for name, metric in METRICS.items():
            assert table.scores[name][k] == metric(y[rows], prediction[rows])
            assert table.constant_scores[name][k] == metric(y[rows], constant[rows])
    assert table.d2 == interval_d2_score(y, prediction)


@given(informative_intervals(), st.data())
def test_a_weight_counts_as_that_many_rows(y, data):
    weight = data.draw(count_weights(len(y)))
    weight = np.ones(len(y)) if weight is None else weight
    weight[np.isfinite(y).any(axis=1)] += 1
    prediction = np.arange(len(y), dtype=float)
    times = weight.astype(int)
    table = error_table(y, prediction, sample_weight=weight)
    repeated = error_table(np.repeat(y, times, axis=0), np.repeat(prediction, times))
    assert table.groups == repeated.groups
    for name in METRICS:
        assert_allclose(table.scores[name], repeated.scores[name], rtol=1e-9, atol=1e-12)
        assert_allclose(
            table.constant_scores[name], repeated.constant_scores[name], rtol=1e-9, atol=1e-9
        )
    assert_allclose(table.d2, repeated.d2, rtol=1e-9, atol=1e-9)


def test_rows_of_no_weight_are_not_counted():
    table = error_table(Y, PREDICTION, sample_weight=[1, 0, 1, 3, 1])
    assert table.groups == ["all", "uncensored", "right", "uninformative"]
    assert table.n_rows.tolist() == [4, 1, 2, 1]
    assert_allclose(table.scores["mse"], [9 / 6, 0, 9 / 4, 0])


def test_a_table_prints_a_line_per_group():
    lines = str(error_table(Y, PREDICTION)).splitlines()
    assert [line.split()[0] for line in lines] == [
        "rows",
        "all",
        "uncensored",
        "right",
        "interval",
        "uninformative",
    ]
    assert lines[0].split() == [
        "rows",
        "MSE",
        "constant",
        "MAE",
        "constant",
        "inside",
        "constant",
        "D2",
    ]
    assert lines[1].split()[:3] == ["all", "5", "2.6"]
    assert len({len(line) for line in lines[:2]}) == 1
    assert len(lines[1].split()) == len(lines[2].split()) + 1


def test_a_table_becomes_a_frame():
    table = error_table(Y, PREDICTION)
    frame = pd.DataFrame(table.to_dict()).set_index("group")
    assert frame.columns.tolist() == [
        *("n", "mse", "constant_mse", "mae", "constant_mae", "inside", "constant_inside", "d2")
    ]
    assert frame.loc["right", "mse"] == 9 / 2
    assert frame.loc["all", "d2"] == table.d2
    assert frame["d2"].isna().sum() == 4


def test_impossible_arguments_are_refused_by_name():
    with pytest.raises(ValueError, match="y_true: no row of positive weight has a finite limit"):
        error_table([(-INF, INF), (1, 2)], [1.0, 2.0], sample_weight=[1, 0])
    with pytest.raises(ValueError, match=r"y_pred: expected shape \(5,\)"):
        error_table(Y, [1.0])
