"""Training on a cluster of two processes gives the model of one."""

import numpy as np
import pytest

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
    parameters = {"n_estimators": 15, "loss": loss, "margin": 0.2, "max_depth": 3, "random_state": 0, "n_jobs": 1}
    local = XGBIntervalRegressor(**parameters).fit(X, y, weight)
    model = DaskXGBIntervalRegressor(**parameters)
    model.fit(spread(X), spread(y[:, 0]), spread(y[:, 1]), spread(weight), client=client)
    np.testing.assert_allclose(model.predict(X), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.predict(spread(X), client=client).compute(), model.predict(X), atol=1e-6)


def test_early_stopping_scores_the_rows_of_all_workers(client, tmp_path):
    training = spread(X[:1500]), spread(y[:1500, 0]), spread(y[:1500, 1])
    held_out = spread(X[1500:]), spread(y[1500:, 0]), spread(y[1500:, 1])
    model = DaskXGBIntervalRegressor(60, early_stopping_rounds=3, n_jobs=1)
    model.fit(*training, validation=held_out, client=client)
    local = XGBIntervalRegressor(60, early_stopping_rounds=3, n_jobs=1)
    local.fit(X[:1500], y[:1500], X_val=X[1500:], y_val=y[1500:])
    assert model.n_estimators_ == local.n_estimators_ < 60
    np.testing.assert_allclose(model.validation_score_, local.validation_score_, rtol=1e-3)
    model.save(tmp_path / "model.json")
    loaded = XGBIntervalRegressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_frames_are_taken_with_their_names(client):
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frames = pytest.importorskip("dask.dataframe", reason="Dask's frames are optional")
    table = pandas.DataFrame(np.column_stack([X, y]), columns=["a", "b", "c", "d", "lower", "upper"])
    table = frames.from_pandas(table, npartitions=3)
    features = table[["a", "b", "c", "d"]]
    model = DaskXGBIntervalRegressor(5).fit(features, table["lower"], table["upper"], client=client)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    local = XGBIntervalRegressor(5).fit(X, y)
    np.testing.assert_allclose(model.predict(features, client=client).compute(), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.predict(features.compute()), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.feature_importances_, local.feature_importances_, atol=1e-3)


@pytest.mark.usefixtures("client")
def test_wrong_bounds_are_counted():
    with pytest.raises(ValueError, match="lower and upper: NaN, or upper < lower, in 1 of 4 rows"):
        DaskXGBIntervalRegressor().fit(
            *(da.from_array(a) for a in (X[:4], np.array([0.0, 1, np.nan, 3]), np.full(4, 9.0)))
        )
    with pytest.raises(ValueError, match="validation: early_stopping_rounds needs validation data"):
        DaskXGBIntervalRegressor(early_stopping_rounds=2).fit(None, None, None)


@pytest.mark.usefixtures("client")
def test_weights_beyond_32_bits_are_refused():
    columns = (X, y[:, 0], y[:, 1], np.full(len(X), 1e40))
    with pytest.raises(ValueError, match=r"sample_weight: expected at most 1e\+37"):
        DaskXGBIntervalRegressor(2).fit(*map(spread, columns))
