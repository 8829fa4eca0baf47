"""Training on a cluster of two processes gives the model of one."""

import numpy as np
import pytest

import marginwood
from clusters import local_client
from marginwood.xgb import XGBIntervalRegressor
from marginwood.xgb_dask import DaskXGBIntervalRegressor

pytest.importorskip("xgboost", reason="XGBoost is optional")
pytest.importorskip("distributed", reason="Dask is optional")
da = pytest.importorskip("dask.array", reason="Dask is optional")

rng = np.random.default_rng(0)
# Fewer values than bins: every worker and every split of the rows sees the same bins.
X = rng.integers(0, 40, size=(2000, 4)) / 10
centre = np.sin(2 * X[:, 0]) + X[:, 1] - 3
y = np.column_stack([centre - rng.exponential(size=2000), centre + rng.exponential(size=2000)])
y[::5, 0], y[1::5, 1] = -np.inf, np.inf
weight = rng.uniform(0.5, 2.0, 2000)


@pytest.fixture(scope="module")
def client():
    with local_client(n_workers=2, processes=True) as client:
        yield client


def spread(array):
    return da.from_array(array, chunks=(500, *array.shape[1:]))


@pytest.mark.parametrize("loss", ["linear_hinge", "squared_hinge"])
def test_the_cluster_predicts_as_one_process_does(client, loss):
    parameters = {
        "n_estimators": 15,
        "loss": loss,
        "margin": 0.2,
        "max_depth": 3,
        "random_state": 0,
        "n_jobs": 1,
    }
    local = XGBIntervalRegressor(**parameters).fit(X, y, weight)
    model = DaskXGBIntervalRegressor(**parameters)
    model.fit(spread(X), spread(y), spread(weight), client=client)
    np.testing.assert_allclose(model.predict(X), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(
        model.predict(spread(X), client=client).compute(), model.predict(X), atol=1e-6
    )


def test_early_stopping_scores_the_rows_of_all_workers(client, tmp_path):
    parameters = {"learning_rate": 0.3, "max_depth": 6, "n_iter_no_change": 3, "n_jobs": 1}
    model = DaskXGBIntervalRegressor(60, **parameters)
    held_out = {"X_val": spread(X[1500:]), "y_val": spread(y[1500:])}
    model.fit(spread(X[:1500]), spread(y[:1500]), **held_out, client=client)
    local = XGBIntervalRegressor(60, **parameters)
    local.fit(X[:1500], y[:1500], X_val=X[1500:], y_val=y[1500:])
    assert model.n_estimators_ == local.n_estimators_ < 60
    np.testing.assert_allclose(model.validation_score_, local.validation_score_, rtol=1e-3)
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    assert type(loaded) is DaskXGBIntervalRegressor
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_frames_are_taken_with_their_names(client):
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frames = pytest.importorskip("dask.dataframe", reason="Dask's frames are optional")
    table = pandas.DataFrame(
        np.column_stack([X, y]), columns=["a", "b", "c", "d", "lower", "upper"]
    )
    table = frames.from_pandas(table, npartitions=3)
    features = table[["a", "b", "c", "d"]]
    model = DaskXGBIntervalRegressor(5).fit(features, table[["lower", "upper"]], client=client)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    local = XGBIntervalRegressor(5).fit(X, y)
    np.testing.assert_allclose(
        model.predict(features, client=client).compute(), local.predict(X), atol=1e-3
    )
    np.testing.assert_allclose(model.predict(features.compute()), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.feature_importances_, local.feature_importances_, atol=1e-3)


WRONG = {
    "no interval": (
        {"y": [(0, 9), (1, 9), (np.nan, 9), (3, 1)]},
        r"y: NaN, upper < lower, .* in 2 of 4 rows \(first: row 2",
    ),
    "one infinity": (
        {"y": [(np.inf, np.inf)] * 4},
        r"both ends at the same infinity in 4 of 4 rows",
    ),
    "nothing said": ({"y": [(-np.inf, np.inf)] * 4}, r"y: all 4 rows are \(-inf, inf\)"),
    "one column": (
        {"y": [[0.0], [1], [2], [3]]},
        r"y: expected a Dask array or dataframe of two columns.*\(4, 1\)",
    ),
    "other rows": ({"y": [(0, 9)] * 3}, "X and y: expected the same number of rows, got 4 and 3"),
    "few weights": (
        {"sample_weight": [1.0, 1]},
        r"sample_weight: expected one weight per row.* got \(2,\)",
    ),
    "a weight below 0": (
        {"sample_weight": [1.0, 1, -1, 1]},
        r"negative in 1 of 4 rows \(first: row 2\)",
    ),
}


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("kind", WRONG)
def test_wrong_targets_and_weights_are_told(kind):
    wrong, message = WRONG[kind]
    arguments = {"X": X[:4], "y": y[:4]} | wrong
    with pytest.raises(ValueError, match=message):
        DaskXGBIntervalRegressor().fit(
            **{name: da.from_array(np.array(value)) for name, value in arguments.items()}
        )


@pytest.mark.usefixtures("client")
def test_wrong_validation_data_are_told_by_their_names():
    model = DaskXGBIntervalRegressor(5, n_iter_no_change=2)
    with pytest.raises(ValueError, match="X_val and y_val: n_iter_no_change needs validation data"):
        model.fit(spread(X), spread(y))
    with pytest.raises(ValueError, match="X_val and y_val: expected both or neither"):
        model.fit(spread(X), spread(y), X_val=spread(X))
    with pytest.raises(ValueError, match="y_val: NaN, upper < lower"):
        model.fit(spread(X), spread(y), X_val=spread(X), y_val=spread(-y))


def test_data_of_this_process_are_refused():
    with pytest.raises(TypeError, match="X: expected a Dask array or dataframe, got ndarray"):
        DaskXGBIntervalRegressor().fit(X, y)


def test_targets_may_lie_in_other_chunks_than_features(client):
    targets = da.from_array(y, chunks=(300, 1))
    model = DaskXGBIntervalRegressor(5, random_state=0).fit(spread(X), targets, client=client)
    same = DaskXGBIntervalRegressor(5, random_state=0).fit(spread(X), spread(y), client=client)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-6)


@pytest.mark.usefixtures("client")
def test_weights_beyond_32_bits_are_refused():
    with pytest.raises(ValueError, match=r"sample_weight: expected at most 1e\+37"):
        DaskXGBIntervalRegressor(2).fit(spread(X), spread(y), spread(np.full(len(X), 1e40)))
