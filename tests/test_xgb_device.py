"""XGBoost where the data are: slopes, breakpoints and predictions of rows on a GPU never come to memory.

These tests run anywhere: `devices` is a library of arrays that refuses whatever would copy them.
Those that need a GPU are in `test_xgb_gpu`.
"""

import sys
import types
from math import inf, nan

import numpy as np
import pytest
from scipy.sparse import csr_array

from devices import DeviceArray, DeviceFrame, Emulator, copies, library
from marginwood.datasets import make_sine
from marginwood.xgb import (
    IntervalMetric,
    IntervalObjective,
    XGBIntervalRegressor,
    _chunks,
    _model,
    _rounds,
)
from marginwood.xgb._arrays import Bounds, find_cupy
from strategies import LOSSES

xgboost = pytest.importorskip("xgboost", reason="XGBoost is optional")

X, y = make_sine(150, 5, random_state=0)
X = X.astype(np.float32)
weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
slopes_of = IntervalObjective.slopes


@pytest.fixture
def emulated(monkeypatch):
    for module in (_model, _rounds):
        monkeypatch.setattr(module, "import_xgboost", lambda: Emulator(xgboost))


def regressor(**parameters):
    return XGBIntervalRegressor(
        **{"n_estimators": 20, "max_depth": 3, "n_jobs": 1, "random_state": 0, **parameters}
    )


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


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_that_a_matrix_has_on_a_device_are_brought_to_predictions_in_memory(loss):
    class Matrix:
        def get_float_info(self, name):
            return DeviceArray(y[:, int(name == "label_upper_bound")])

        def get_weight(self):
            return DeviceArray(weights)

    prediction = np.linspace(-2, 2, len(X))
    expected = IntervalObjective(loss, 0.3)(prediction, Bounds(*y.T, weights))
    for slope, theirs in zip(
        IntervalObjective(loss, 0.3)(prediction, Matrix()), expected, strict=True
    ):
        np.testing.assert_array_equal(slope, theirs)


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["array", "frame", "targets in memory"])
def test_the_model_of_a_device_is_that_of_memory(loss, kind):
    parameters = {"loss": loss, "margin": 0.1}
    expected = XGBIntervalRegressor(20, max_depth=3, random_state=0, **parameters)
    features = (
        DeviceFrame({name: X[:, idx] for idx, name in enumerate("abcde")})
        if kind == "frame"
        else DeviceArray(X)
    )
    targets = {
        "frame": DeviceFrame({"lower": y[:, 0], "upper": y[:, 1]}),
        "array": DeviceArray(y),
    }.get(kind, y)
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


@pytest.mark.parametrize("kind", ["dart", "features in memory", "sparse features", "chunks"])
def test_where_predictions_come_to_memory_slopes_are_computed_on_the_device(monkeypatch, kind):
    dart = {"xgb_params": {"booster": "dart", "rate_drop": 0.3}} if kind == "dart" else {}

    def fit(features, targets, **parameters):
        model = regressor(**parameters, **dart)
        if kind == "chunks":
            return model.fit_chunks([(features, targets)], X_val=features, y_val=targets)
        return model.fit(features, targets, X_val=features, y_val=targets)

    rows = csr_array(X) if kind == "sparse features" else X
    expected = fit(rows, y)
    for module in (_model, _rounds):
        monkeypatch.setattr(module, "import_xgboost", lambda: Emulator(xgboost, may_copy=True))
    monkeypatch.setattr(_rounds, "find_cupy", lambda device: library if device == "cuda" else None)
    monkeypatch.setattr(_chunks, "to_device", lambda values: values)
    slopes = []
    monkeypatch.setattr(
        IntervalObjective, "slopes", lambda *args: slopes.append(args) or slopes_of(*args)
    )
    model = (
        fit(*map(DeviceArray, (X, y)), device="cuda")
        if kind == "dart"
        else fit(rows, y, device="cuda")
    )
    assert {type(values) for args in slopes for values in args[1:]} == {DeviceArray}
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-6)
    np.testing.assert_allclose(model.validation_score_, expected.validation_score_, rtol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1"])
def test_without_cupy_or_on_another_gpu_slopes_are_computed_in_memory(monkeypatch, device):
    other = types.ModuleType("cupy")
    other.cuda = types.SimpleNamespace(is_available=lambda: device != "cuda")
    monkeypatch.setitem(sys.modules, "cupy", other)
    assert find_cupy(device) is None
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert find_cupy(device) is None


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "gpu"])
def test_cupy_is_found_for_the_first_gpu(monkeypatch, device):
    cupy = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(is_available=lambda: True)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert find_cupy(device) is cupy


@pytest.mark.usefixtures("emulated")
def test_the_score_of_rows_of_a_device_is_that_of_rows_in_memory():
    model = regressor(device="cuda").fit(DeviceArray(X), DeviceArray(y))
    found = model.score(*map(DeviceArray, (X, y, weights)))
    assert found == model.score(DeviceArray(X), y, weights)


@pytest.mark.usefixtures("emulated")
def test_events_and_times_of_a_device_are_recognised():
    events = np.column_stack([np.arange(150) % 2, 1 + np.arange(150)])
    with pytest.warns(UserWarning, match="use from_events"):
        regressor(device="cuda").fit(DeviceArray(X), DeviceArray(events))


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("names", [["X"], ["X_val"]])
def test_rows_of_a_device_need_a_booster_there(names):
    arguments = {"X": X, "y": y, "X_val": X, "y_val": y}
    arguments |= {name: DeviceArray(arguments[name]) for name in names}
    with pytest.raises(
        ValueError, match=r"device: X lies on a GPU, but got device='cpu'; use device='cuda'"
    ):
        regressor().fit(**arguments)
    with pytest.raises(ValueError, match=r"chunk 0: device: X lies on a GPU"):
        regressor().fit_chunks([(DeviceArray(X), y)])


@pytest.mark.usefixtures("emulated")
def test_no_rows_of_a_device_are_refused():
    model = regressor(device="cuda").fit(DeviceArray(X), DeviceArray(y))
    with pytest.raises(
        ValueError, match=r"X: expected at least one row and one feature, got shape \(0, 5\)"
    ):
        model.predict(DeviceArray(X[:0]))
    with pytest.raises(
        ValueError, match=r"X: expected at least one row and one feature, got shape \(150, 0\)"
    ):
        model.fit(DeviceArray(X[:, :0]), DeviceArray(y))


def test_chunks_in_memory_need_cupy_on_a_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match="chunks go to a GPU by CuPy, which is not installed"):
        regressor(device="cuda").fit_chunks([(X, y)])


class Tensor:
    """An array of another library: `interface` says where its values lie, if on a GPU."""

    def __init__(self, values, interface=None):
        self._values = values
        self._interface = interface

    @property
    def __cuda_array_interface__(self):
        if self._interface is None:
            raise AttributeError("not on a GPU")
        return self._interface

    def __array__(self, dtype=None, copy=None):
        assert self._interface is None
        return np.array(self._values, dtype=dtype, copy=copy)

    def __len__(self):
        return len(self._values)

    shape = property(lambda self: self._values.shape)


def test_tensors_in_memory_are_arrays():
    expected = regressor().fit(X, y, weights).predict(X)
    model = regressor().fit(*map(Tensor, (X, y, weights)))
    np.testing.assert_array_equal(model.predict(Tensor(X)), expected)


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_tensors_on_a_gpu_are_refused_with_what_to_do(name):
    arguments = {"X": X, "y": y, "sample_weight": weights}
    arguments[name] = Tensor(arguments[name], interface={})
    with pytest.raises(
        TypeError, match=r"got test_xgb_device\.Tensor on a GPU; cupy\.asarray makes it one of CuPy"
    ):
        regressor().fit(**arguments)


def test_sparse_matrices_on_a_gpu_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(Tensor, "__module__", "cupyx.scipy.sparse._csr")
    with pytest.raises(
        TypeError, match=r"expected a dense array on a GPU, got cupyx.*; pass its \.get\(\)"
    ):
        regressor().fit(Tensor(X), y)


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
    "a negative weight": (
        {"sample_weight": -weights},
        "sample_weight: negative in 150 of 150 rows",
    ),
    "no weight": ({"sample_weight": 0 * weights}, "sample_weight: all weights are zero"),
    "few weights": (
        {"sample_weight": weights[:3]},
        r"sample_weight: expected a number or shape \(150,\)",
    ),
    "one feature": ({"X": X[:, 0]}, "X: expected a 2D array|Reshape your data|2-dimensional"),
    "words": (
        {"X": np.full((150, 5), "a")},
        "X: expected a 2D array of numbers, got 2 dimensions and dtype <U1",
    ),
}


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("kind", WRONG)
def test_wrong_data_of_a_device_are_told_as_those_in_memory(kind):
    arguments = {"X": X, "y": y, "sample_weight": weights} | WRONG[kind][0]
    with pytest.raises(ValueError, match=WRONG[kind][1]):
        regressor(device="cuda").fit(
            **{name: DeviceArray(value) for name, value in arguments.items()}
        )


def test_the_arrays_of_these_tests_refuse_what_cupy_refuses():
    array = DeviceArray(X)
    for use in (
        np.asarray,
        np.isfinite,
        lambda a: a + X,
        lambda a: X * a,
        lambda a: np.maximum(a, 0),
    ):
        with pytest.raises(TypeError):
            use(array)
