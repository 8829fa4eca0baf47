"""XGBoost where the data are: slopes, breakpoints and predictions of rows on a GPU never come to memory.

Most tests run anywhere: `devices` is a library of arrays that refuses whatever would copy them. Those marked ``gpu``
need one, with CuPy, and skip without.
"""

from math import inf, nan

import numpy as np
import pytest

from devices import DeviceArray, DeviceFrame, Emulator, copies
from marginwood.datasets import make_sine
from marginwood.xgb import IntervalMetric, IntervalObjective, XGBIntervalRegressor, _model, _rounds
from marginwood.xgb._arrays import Bounds
from strategies import LOSSES

xgboost = pytest.importorskip("xgboost", reason="XGBoost is optional")

X, y = make_sine(150, 5, random_state=0)
X = X.astype(np.float32)
weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))


@pytest.fixture
def emulated(monkeypatch):
    for module in (_model, _rounds):
        monkeypatch.setattr(module, "import_xgboost", lambda: Emulator(xgboost))


def regressor(**parameters):
    return XGBIntervalRegressor(**{"n_estimators": 20, "max_depth": 3, "n_jobs": 1, "random_state": 0, **parameters})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_objective_and_metric_compute_where_the_predictions_lie(loss, margin):
    prediction = np.linspace(-2, 2, len(X), dtype=np.float32)
    host = Bounds(*y.T.astype(np.float32), weights.astype(np.float32))
    device = Bounds(*(DeviceArray(values) for values in (host.lower, host.upper, host.weight)))
    copies.clear()
    objective = IntervalObjective(loss, margin, scale=3.0, factor=0.25)
    found = objective(DeviceArray(prediction), device)
    value = IntervalMetric(loss, margin)(DeviceArray(prediction), device)
    assert not copies
    for ours, theirs in zip(found, objective(prediction, host), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_array_equal(ours.get(), theirs)
    assert value == IntervalMetric(loss, margin)(prediction, host)


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_of_a_matrix_are_brought_to_predictions_on_a_device(loss):
    data = xgboost.DMatrix(X, label_lower_bound=y[:, 0], label_upper_bound=y[:, 1], weight=weights)
    prediction = np.linspace(-2, 2, len(X), dtype=np.float32)
    for slope, expected in zip(
        IntervalObjective(loss, 0.3)(DeviceArray(prediction), data),
        IntervalObjective(loss, 0.3)(prediction, data),
        strict=True,
    ):
        np.testing.assert_array_equal(slope.get(), expected)


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["array", "frame", "targets in memory"])
def test_the_model_of_a_device_is_that_of_memory(loss, kind):
    parameters = {"loss": loss, "margin": 0.1}
    expected = XGBIntervalRegressor(20, max_depth=3, random_state=0, **parameters)
    features = DeviceFrame({name: X[:, idx] for idx, name in enumerate("abcde")}) if kind == "frame" else DeviceArray(X)
    targets = {"frame": DeviceFrame({"lower": y[:, 0], "upper": y[:, 1]}), "array": DeviceArray(y)}.get(kind, y)
    weight = weights if kind == "targets in memory" else DeviceArray(weights)
    model = regressor(device="cuda", **parameters).fit(features, targets, weight)
    prediction = model.predict(features)
    assert type(prediction) is np.ndarray
    with pytest.MonkeyPatch.context() as patch:
        for module in (_model, _rounds):
            patch.setattr(module, "import_xgboost", lambda: xgboost)
        np.testing.assert_allclose(expected.fit(X, y, weights).predict(X), prediction, atol=1e-6)


@pytest.mark.usefixtures("emulated")
def test_no_round_copies_anything():
    counts = []
    for n_estimators in (5, 30):
        copies.clear()
        held_out = {"X_val": DeviceArray(X[:50]), "y_val": DeviceArray(y[:50])}
        model = regressor(n_estimators=n_estimators, device="cuda", margin=0.1)
        model.fit(DeviceArray(X), DeviceArray(y), DeviceArray(weights), **held_out)
        assert len(model.validation_score_) == n_estimators
        counts.append(dict(copies))
    assert counts[0] == counts[1]


@pytest.mark.usefixtures("emulated")
def test_a_share_of_the_rows_of_a_device_is_held_out():
    model = regressor(n_estimators=200, device="cuda", n_iter_no_change=5)
    model.fit(DeviceArray(X), DeviceArray(y))
    assert model.n_estimators_ == np.argmin(model.validation_score_) + 1 < 200


WRONG = {
    "NaN": (
        {"y": np.where(np.arange(150)[:, None] == 7, nan, y)},
        r"y: NaN or missing in 1 of 150 rows \(first: row 7",
    ),
    "swapped": ({"y": -y}, "y: upper < lower"),
    "one infinity": ({"y": np.full((150, 2), inf)}, "y: both ends at the same infinity"),
    "nothing said": ({"y": np.tile([-inf, inf], (150, 1))}, r"y: all 150 rows .*are \(-inf, inf\)"),
    "three columns": ({"y": np.zeros((150, 3))}, r"y: got shape \(150, 3\)"),
    "other rows": ({"y": y[:9]}, "X and y: expected the same number of rows"),
    "a negative weight": ({"sample_weight": -weights}, "sample_weight: negative in 150 of 150 rows"),
    "no weight": ({"sample_weight": 0 * weights}, "sample_weight: all weights are zero"),
    "few weights": ({"sample_weight": weights[:3]}, r"sample_weight: expected a number or shape \(150,\)"),
    "one feature": ({"X": X[:, 0]}, "X: expected a 2D array|Reshape your data|2-dimensional"),
    "words": ({"X": np.full((150, 5), "a")}, "X: expected a 2D array of numbers, got 2 dimensions and dtype <U1"),
}


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("kind", WRONG)
def test_wrong_data_of_a_device_are_told_as_those_in_memory(kind):
    arguments = {"X": X, "y": y, "sample_weight": weights} | WRONG[kind][0]
    with pytest.raises(ValueError, match=WRONG[kind][1]):
        regressor(device="cuda").fit(**{name: DeviceArray(value) for name, value in arguments.items()})


def test_the_arrays_of_these_tests_refuse_what_cupy_refuses():
    array = DeviceArray(X)
    for use in (np.asarray, np.isfinite, lambda a: a + X, lambda a: X * a, lambda a: np.maximum(a, 0)):
        with pytest.raises(TypeError):
            use(array)


@pytest.mark.gpu
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["numpy", "cupy", "cudf"])
def test_a_gpu_grows_the_trees_of_the_processor(loss, kind):
    library = np if kind == "numpy" else pytest.importorskip(kind, reason="needs a GPU")
    cupy = pytest.importorskip("cupy", reason="needs a GPU")
    if not cupy.cuda.is_available():
        pytest.skip("needs a GPU")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, size=(5000, 4)).astype(np.float32) / 10
    centre = np.sin(2 * X[:, 0]) + X[:, 1]
    y = np.column_stack([centre - rng.exponential(size=5000), centre + rng.exponential(size=5000)])
    y[::5, 0], y[1::5, 1] = -inf, inf
    make = library.DataFrame if kind == "cudf" else library.asarray
    features = make({name: X[:, idx] for idx, name in enumerate("abcd")}) if kind == "cudf" else make(X)
    parameters = {"n_estimators": 30, "loss": loss, "margin": 0.1, "random_state": 0}
    model = XGBIntervalRegressor(device="cuda", **parameters)
    model.fit(features, y if kind == "cudf" else make(y), X_val=features, y_val=y)
    local = XGBIntervalRegressor(n_jobs=-1, **parameters).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(model.predict(features), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.validation_score_, local.validation_score_, rtol=1e-3)
