"""XGBoost on a GPU, with arrays of CuPy and frames of cuDF: skipped where there is none."""

import json
import os
import pickle
import subprocess
import sys
from math import inf, nan

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import marginwood
from marginwood.xgb import IntervalMetric, IntervalObjective, XGBIntervalRegressor
from strategies import LOSSES

xgboost = pytest.importorskip("xgboost", reason="XGBoost is optional")

pytestmark = pytest.mark.gpu

rng = np.random.default_rng(0)
# Few different values, each in a bin of its own: a GPU and the processor draw the same bins.
X = rng.integers(0, 40, size=(5000, 4)).astype(np.float32) / 10
centre = np.sin(2 * X[:, 0]) + X[:, 1]
y = np.column_stack([centre - rng.exponential(size=5000), centre + rng.exponential(size=5000)])
y[::5, 0], y[1::5, 1] = -inf, inf
weights = rng.uniform(0.5, 2.0, len(X))


@pytest.fixture
def cupy():
    cupy = pytest.importorskip("cupy", reason="needs a GPU")
    if not cupy.cuda.is_available():
        pytest.skip("needs a GPU")
    return cupy


def regressor(**parameters):
    defaults = {
        "n_estimators": 30,
        "max_depth": 4,
        "margin": 0.1,
        "random_state": 0,
        "device": "cuda",
        "n_jobs": -1,
    }
    return XGBIntervalRegressor(**(defaults | parameters))


def splits_of(model):
    """Feature, threshold and default side of every split, and where leaves are, tree by tree."""
    trees = []
    for tree in json.loads(bytes(model.booster_.save_raw("json")))["learner"]["gradient_booster"][
        "model"
    ]["trees"]:
        columns = zip(
            tree["left_children"], tree["right_children"], tree["split_indices"], tree["split_conditions"],
            tree["default_left"], strict=True,
        )  # fmt: skip

        def walk(node, columns=tuple(columns)):
            left, right, feature, threshold, default = columns[node]
            return None if left < 0 else (feature, threshold, default, walk(left), walk(right))

        trees.append(walk(0))
    return trees


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["numpy", "cupy", "cudf"])
def test_a_gpu_grows_the_trees_of_the_processor(cupy, loss, kind):
    library = {"numpy": np, "cupy": cupy}.get(kind) or pytest.importorskip(
        kind, reason="needs cuDF"
    )
    if kind == "cudf":
        features = library.DataFrame({name: X[:, idx] for idx, name in enumerate("abcd")})
        targets = library.DataFrame({"lower": y[:, 0], "upper": y[:, 1]})
    else:
        features, targets = library.asarray(X), library.asarray(y)
    model = regressor(loss=loss).fit(features, targets, weights, X_val=features, y_val=targets)
    local = regressor(loss=loss, device="cpu").fit(X, y, weights, X_val=X, y_val=y)
    assert splits_of(model) == splits_of(local)
    np.testing.assert_allclose(model.predict(features), local.predict(X), atol=1e-4)
    np.testing.assert_allclose(model.validation_score_, local.validation_score_, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_trees_do_not_depend_on_where_slopes_are_computed(cupy, loss, monkeypatch):
    near = regressor(loss=loss).fit(cupy.asarray(X), cupy.asarray(y))
    features_in_memory = regressor(loss=loss).fit(X, y)
    monkeypatch.setitem(sys.modules, "cupy", None)
    slopes_in_memory = regressor(loss=loss).fit(X, y)
    for model in (features_in_memory, slopes_in_memory):
        assert splits_of(near) == splits_of(model)
        np.testing.assert_array_equal(near.predict(X), model.predict(X))


def exact(cupy):
    return cupy.asarray(centre)


FORMS = {
    "exact labels": exact,
    "whole numbers": lambda cupy: cupy.asarray(np.floor(centre).astype(np.int64)),
    "32-bit floats": lambda cupy: cupy.asarray(y.astype(np.float32)),
    "columns in memory order": lambda cupy: cupy.asfortranarray(cupy.asarray(y)),
    "every second row": lambda cupy: cupy.repeat(cupy.asarray(y), 2, axis=0)[::2],
    "arrays of NumPy": lambda _: y,
    "lists": lambda _: y.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_targets_on_a_gpu_come_in_the_forms_that_arrays_have(cupy, form):
    targets = FORMS[form](cupy)
    in_memory = targets.get() if isinstance(targets, cupy.ndarray) else targets
    model = regressor().fit(cupy.asarray(X), targets)
    local = regressor(device="cpu").fit(X, in_memory)
    np.testing.assert_allclose(model.predict(X), local.predict(X), atol=1e-4)
    assert model.score(cupy.asarray(X), targets) == pytest.approx(
        local.score(X, in_memory), abs=1e-4
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_features_on_a_gpu_may_have_any_type_and_order(cupy, order, dtype):
    values = np.asarray(10 * X, dtype=dtype)
    features = cupy.array(values, order=order)
    model = regressor().fit(features, cupy.asarray(y))
    local = regressor(device="cpu").fit(values, y)
    assert splits_of(model) == splits_of(local)
    np.testing.assert_allclose(model.predict(features[::2]), local.predict(values[::2]), atol=1e-4)


def test_missing_and_infinite_features_on_a_gpu_are_data(cupy):
    holes = X.copy()
    holes[::3, 0], holes[1::4, 1], holes[2::5, 1] = nan, inf, -inf
    model = regressor().fit(cupy.asarray(holes), cupy.asarray(y))
    far = regressor().fit(holes, y)
    assert splits_of(model) == splits_of(far)
    np.testing.assert_array_equal(model.predict(holes), far.predict(holes))
    # Rows whose interval holds the prediction cost nothing on either side of a split: among splits
    # that differ in such rows alone, a GPU and the processor choose differently.
    local = regressor(device="cpu").fit(holes, y)
    assert model.score(holes, y) == pytest.approx(local.score(holes, y), abs=0.01)
    np.testing.assert_allclose(model.predict(holes), model.predict(cupy.asarray(holes)), atol=1e-6)


@pytest.mark.parametrize("weight", ["cupy", "numpy", "whole numbers", "one number"])
def test_weights_on_a_gpu_are_those_in_memory(cupy, weight):
    values = {"whole numbers": np.arange(len(X)) % 3, "one number": 2.0}.get(weight, weights)
    there = values if weight in ("numpy", "one number") else cupy.asarray(values)
    model = regressor().fit(cupy.asarray(X), cupy.asarray(y), there)
    local = regressor(device="cpu").fit(X, y, values)
    assert splits_of(model) == splits_of(local)
    found = model.score(cupy.asarray(X), cupy.asarray(y), there)
    assert found == pytest.approx(local.score(X, y, values), abs=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_gpu_stops_early(cupy, loss):
    stopping = {"n_estimators": 500, "learning_rate": 0.5, "n_iter_no_change": 3, "loss": loss}
    model = regressor(**stopping).fit(cupy.asarray(X), cupy.asarray(y), cupy.asarray(weights))
    far = regressor(**stopping).fit(X, y, weights)
    assert model.n_estimators_ == far.n_estimators_ == np.argmin(model.validation_score_) + 1 < 500
    assert splits_of(model) == splits_of(far)
    np.testing.assert_allclose(model.validation_score_, far.validation_score_, rtol=1e-5)
    local = regressor(device="cpu", **stopping).fit(X, y, weights)
    assert model.score(X, y) == pytest.approx(local.score(X, y), abs=0.02)


@pytest.mark.parametrize(
    "params", [{"booster": "dart", "rate_drop": 0.2}, {"num_parallel_tree": 3}, {"max_leaves": 6}]
)
def test_other_boosters_train_on_arrays_of_a_gpu(cupy, params):
    # Draws differ between a GPU and the processor.
    model = regressor(xgb_params=params).fit(
        cupy.asarray(X), cupy.asarray(y), X_val=cupy.asarray(X), y_val=y
    )
    far = regressor(xgb_params=params).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(model.predict(X), far.predict(X), atol=1e-4)
    np.testing.assert_allclose(model.validation_score_, far.validation_score_, rtol=1e-4)


def test_a_gpu_draws_rows_and_features(cupy):
    draws = {
        "subsample": 0.5,
        "colsample_bytree": 0.5,
        "monotonic_cst": [0, 1, 0, 0],
        "tree_method": "approx",
    }
    model = regressor(**draws).fit(cupy.asarray(X), cupy.asarray(y))
    assert model.score(X, y) > 0.8
    line = np.tile(X[:1], (40, 1))
    line[:, 1] = np.arange(40) / 10
    assert (np.diff(model.predict(cupy.asarray(line))) >= 0).all()


WITHOUT_GPU = """
import pickle, sys
from pathlib import Path
import numpy as np
import marginwood

folder = Path(sys.argv[1])
X, expected = np.load(folder / "X.npy"), np.load(folder / "expected.npy")
models = pickle.loads((folder / "model.pickle").read_bytes()), marginwood.load(folder / "model.mw")
for model in models:
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)
"""


def test_a_model_of_a_gpu_predicts_where_there_is_none(cupy, tmp_path):
    model = regressor().fit(cupy.asarray(X), cupy.asarray(y))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "expected.npy", model.predict(cupy.asarray(X)))
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    marginwood.save(model, tmp_path / "model.mw")
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GPU, tmp_path],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["of the processor", "pickled", "saved"])
def test_a_model_predicts_rows_of_a_gpu_wherever_it_comes_from(cupy, tmp_path, kind):
    local = regressor(device="cpu").fit(X, y)
    expected = local.predict(X)
    model = (
        local if kind == "of the processor" else regressor().fit(cupy.asarray(X), cupy.asarray(y))
    )
    if kind == "pickled":
        model = pickle.loads(pickle.dumps(model))
    if kind == "saved":
        marginwood.save(model, tmp_path / "model.mw")
        model = marginwood.load(tmp_path / "model.mw")
    for rows in (X, cupy.asarray(X), X, cupy.asarray(X)):
        prediction = model.predict(rows)
        assert type(prediction) is np.ndarray
        assert prediction.dtype == np.float64
        np.testing.assert_allclose(prediction, expected, atol=1e-4)


def test_scikit_learn_divides_arrays_of_a_gpu(cupy):
    model = regressor()
    scores = cross_val_score(model, cupy.asarray(X), cupy.asarray(y), cv=3)
    np.testing.assert_allclose(scores, cross_val_score(clone(model), X, y, cv=3), atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["DMatrix", "QuantileDMatrix"])
def test_scripts_train_with_the_objective_on_a_gpu(cupy, loss, kind):
    def train(device, array):
        bounds = {"label_lower_bound": array(y[:, 0]), "label_upper_bound": array(y[:, 1])}
        data = getattr(xgboost, kind)(array(X), weight=array(weights), **bounds)
        params = {
            "device": device,
            "base_score": 1.0,
            "max_depth": 4,
            "disable_default_eval_metric": True,
        }
        results = {}
        booster = xgboost.train(
            params, data, 20, obj=IntervalObjective(loss, 0.1), custom_metric=IntervalMetric(loss),
            evals=[(data, "train")], evals_result=results, verbose_eval=False,
        )  # fmt: skip
        return booster.predict(xgboost.DMatrix(X)), next(iter(results["train"].values()))

    for found, expected in zip(train("cuda", cupy.asarray), train("cpu", np.asarray), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-3)


# XGBoost recommends other allocators for chunks.
@pytest.mark.filterwarnings("ignore:.*The overhead of iterating through external memory")
@pytest.mark.parametrize("kind", ["numpy", "cupy"])
def test_chunks_train_on_a_gpu(cupy, kind):
    array = {"numpy": np, "cupy": cupy}[kind].asarray
    chunks = [
        (array(X[start::4]), array(y[start::4]), array(weights[start::4])) for start in range(4)
    ]
    model = regressor().fit_chunks(chunks, X_val=array(X), y_val=array(y))
    local = regressor(device="cpu").fit(X, y, weights, X_val=X, y_val=y)
    np.testing.assert_allclose(model.predict(array(X)), local.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.validation_score_, local.validation_score_, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:.*The overhead of iterating through external memory")
@pytest.mark.parametrize("in_chunks", [False, True])
def test_features_in_memory_may_have_categories_on_a_gpu(cupy, in_chunks):  # noqa: ARG001 (skips without a GPU)
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["letter"] = pandas.Categorical(np.array(list("uvwxyz"))[rng.integers(0, 6, len(X))])
    target = y + frame["letter"].cat.codes.to_numpy()[:, np.newaxis] % 3
    local = regressor(device="cpu").fit(frame, target)
    if in_chunks:
        model = regressor().fit_chunks([(frame[start::4], target[start::4]) for start in range(4)])
    else:
        model = regressor().fit(frame, target)
    np.testing.assert_allclose(model.predict(frame), local.predict(frame), atol=1e-3)


@pytest.mark.parametrize(
    "wrong", ["NaN", "swapped", "nothing said", "three columns", "other rows", "negative weight"]
)
def test_wrong_data_on_a_gpu_are_told_as_those_in_memory(cupy, wrong):
    arguments = {"X": X, "y": y, "sample_weight": weights} | {
        "NaN": {"y": np.where(np.arange(len(y))[:, np.newaxis] == 7, nan, y)},
        "swapped": {"y": y[:, ::-1]},
        "nothing said": {"y": np.tile([-inf, inf], (len(y), 1))},
        "three columns": {"y": np.zeros((len(y), 3))},
        "other rows": {"y": y[:9]},
        "negative weight": {"sample_weight": -weights},
    }[wrong]
    with pytest.raises(ValueError, match=r"^(y|X and y|sample_weight): ") as local:
        regressor(device="cpu").fit(**arguments)
    with pytest.raises(type(local.value)) as error:
        regressor().fit(**{name: cupy.asarray(value) for name, value in arguments.items()})
    assert str(error.value) == str(local.value)


def test_sparse_matrices_of_cupy_are_refused_with_what_to_do(cupy):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    with pytest.raises(
        TypeError, match=r"expected a dense array on a GPU, got cupyx.*; pass its \.get\(\)"
    ):
        regressor().fit(sparse.csr_matrix(cupy.asarray(X)), y)
