"""The trees of XGBoost and linear models in other forms: SQL by SQLite, ONNX by onnxruntime, node tables."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import IntervalSearchCV, L1IntervalRegression
from marginwood.datasets import make_linear, make_sine
from marginwood.export import to_sql
from marginwood.export._xgboost import largest_below, read_any_ensemble
from marginwood.xgb import XGBIntervalRegressor
from test_export_onnx import run as run_onnx
from test_export_sql import run as run_sql

X, Y = make_sine(200, 3, random_state=0)
X[::7, 0] = np.nan
X[3::11, 1] = np.inf
X[5::13, 1] = -np.inf
NAMES = ["a", "b", "c"]


def find_splits(model):
    """Features and thresholds of all splits, as XGBoost tells them."""
    trees = json.loads(bytes(model.booster_.save_raw("json")))["learner"]["gradient_booster"][
        "model"
    ]["trees"]
    return [
        (tree["split_indices"][node], float(tree["split_conditions"][node]))
        for tree in trees
        for node, left in enumerate(tree["left_children"])
        if left >= 0
    ]


@pytest.fixture(scope="module")
def model():
    return XGBIntervalRegressor(20, max_depth=4, n_jobs=1, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def probes(model):
    """Rows at and around every threshold, in doubles that single precision rounds; NaN and infinities."""
    rows = []
    for feature, threshold in find_splits(model):
        below = float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))
        middle = (below + threshold) / 2
        for value in (
            threshold,
            below,
            middle,
            np.nextafter(middle, -np.inf),
            np.nextafter(middle, np.inf),
        ):
            row = X[len(rows) % len(X)].copy()
            row[feature] = value
            rows.append(row)
    assert len(rows) > 100
    return np.array([*rows, *([value] * 3 for value in (np.nan, np.inf, -np.inf, 1e38, -1e38))])


def assert_close(found, expected):
    """Equal but for the last digits: XGBoost adds in single precision."""
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def test_node_tables_of_xgboost_predict_what_it_predicts(model, probes):
    _, ensemble = read_any_ensemble(model)
    found = ensemble.init + np.sum([tree.predict(probes) for tree in ensemble.trees], axis=0)
    assert_close(found, model.predict(probes))


def test_sqlite_predicts_what_xgboost_predicts(model, probes):
    finite = probes[~np.isinf(probes).any(axis=1)]
    assert_close(run_sql(to_sql(model, feature_names=NAMES), finite, NAMES), model.predict(finite))


def test_onnx_predicts_what_xgboost_predicts(model, probes):
    assert_close(run_onnx(model, probes), model.predict(probes))


def test_a_split_that_parts_missing_values_only_keeps_both_directions():
    features = np.array([[0.0], [0.0], [np.nan], [np.nan]] * 5)
    model = XGBIntervalRegressor(3, min_child_weight=0, n_jobs=1).fit(
        features, [0.0, 0.0, 5.0, 5.0] * 5
    )
    rows = np.array([[0.0], [np.nan], [np.inf], [-np.inf], [1.0], [-1.0]])
    assert len(np.unique(model.predict(rows))) > 1
    assert_close(run_onnx(model, rows), model.predict(rows))


@given(st.floats(width=32, min_value=-(2.0**122), max_value=2.0**122))
def test_the_largest_double_below_a_threshold_is_rounded_below_it_and_the_next_one_is_not(
    threshold,
):
    largest = largest_below(np.float32(threshold))
    assert np.float32(largest) < np.float32(threshold)
    assert np.float32(np.nextafter(largest, np.inf)) >= np.float32(threshold)


@pytest.mark.parametrize(
    "linear",
    [
        L1IntervalRegression(alpha=0.05),
        IntervalSearchCV(L1IntervalRegression(), {"alpha": 5}, cv=2),
    ],
)
def test_linear_models_predict_the_same_in_sql_and_onnx(linear):
    features, intervals = make_linear(100, 4, random_state=0)
    linear.fit(features, intervals)
    names = list("abcd")
    sql = to_sql(linear, feature_names=names, table="rows")
    assert sql.count("*") == np.count_nonzero(getattr(linear, "best_estimator_", linear).coef_)
    np.testing.assert_allclose(
        run_sql(sql, features, names), linear.predict(features), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        run_onnx(linear, features), linear.predict(features), rtol=1e-12, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore:.*booster=dart")
def test_other_boosters_of_xgboost_are_refused_by_name():
    model = XGBIntervalRegressor(3, n_jobs=1, xgb_params={"booster": "dart", "rate_drop": 0.9}).fit(
        X, Y
    )
    with pytest.raises(
        ValueError, match=r"added as they are, got booster='dart', which weighs them"
    ):
        to_sql(model, feature_names=NAMES)
