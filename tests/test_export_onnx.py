"""Models in ONNX, run by onnxruntime: predictions of one tree must be the same doubles."""

import sys
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import marginwood.export._onnx
from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood.export import to_onnx
from strategies import losses, tree_problems
from trees import ENSEMBLES, TREES, X, chain, name_of, probes, y

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")


def run(model, rows):
    exported = to_onnx(model)
    onnx.checker.check_model(exported, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        exported.SerializeToString(), sess_options=options, providers=["CPUExecutionProvider"]
    )
    (prediction,) = session.run(None, {"X": rows})
    assert prediction.dtype == np.float64
    return prediction


@given(tree_problems(), losses)
def test_a_tree_predicts_the_same_doubles(problem, loss):
    tree = MaxMarginIntervalTree(loss=loss, margin=1.0).fit(*problem)
    rows = np.concatenate([problem.X, probes(tree, 40)])
    np.testing.assert_array_equal(run(tree, rows), tree.predict(rows), strict=True)


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_every_kind_of_tree_predicts_the_same_doubles(model):
    rows = probes(model)
    np.testing.assert_array_equal(run(model, rows), model.predict(rows), strict=True)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_values_that_single_precision_cannot_hold_are_exact(scale):
    tree = MaxMarginIntervalTree().fit(X, y * scale)
    np.testing.assert_array_equal(run(tree, X), tree.predict(X), strict=True)


@pytest.mark.parametrize("model", ENSEMBLES, ids=name_of)
@pytest.mark.parametrize("n_rows", [0, 1, 40, 1000])
def test_ensembles_differ_by_rounding_of_the_sum_only(model, n_rows):
    rows = probes(model, 1000)[:n_rows]
    if n_rows == 0:
        assert run(model, rows).shape == (0,)
        return
    np.testing.assert_allclose(run(model, rows), model.predict(rows), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("n_estimators", [1, 2, 7, 50])
def test_the_median_of_a_forest_is_exact(n_estimators):
    forest = MaxMarginIntervalForest(
        n_estimators=n_estimators, aggregation="median", random_state=0
    ).fit(X, y)
    rows = probes(forest)
    np.testing.assert_array_equal(run(forest, rows), forest.predict(rows), strict=True)


def test_models_of_lone_leaves_predict_their_constant():
    rows = np.array([[0.0], [nan], [-inf], [inf]])
    for model in (
        MaxMarginIntervalTree(),
        MaxMarginIntervalForest(n_estimators=3),
        MaxMarginIntervalBoosting(n_estimators=2),
    ):
        assert run(model.fit([[0.0]], [[2.5, inf]]), rows).tolist() == [2.5] * 4


def test_boosting_adds_its_start():
    booster = MaxMarginIntervalBoosting(n_estimators=3, max_depth=1).fit(X, y + 1e6)
    np.testing.assert_allclose(run(booster, X), booster.predict(X), rtol=1e-15)
    assert booster.init_ > 9e5


def test_a_very_deep_tree_is_run():
    tree, rows = chain(2000), np.arange(-1.0, 4002.0, 200.0)[:, np.newaxis]
    np.testing.assert_array_equal(run(tree, rows), tree.predict(rows), strict=True)


def test_input_and_output_are_named():
    graph = to_onnx(TREES[0]).graph
    assert [entry.name for entry in graph.input] == ["X"]
    assert graph.input[0].type.tensor_type.shape.dim[1].dim_value == 3
    assert [entry.name for entry in graph.output] == ["prediction"]
    assert graph.node[0].op_type == "TreeEnsembleRegressor"


def test_what_cannot_be_exported_is_refused(monkeypatch):
    with pytest.raises(NotFittedError):
        to_onnx(MaxMarginIntervalBoosting())
    with pytest.raises(TypeError, match=r"expected a fitted tree.*got LinearRegression"):
        to_onnx(LinearRegression())
    monkeypatch.setattr(marginwood.export._onnx, "MAX_LEAVES", 3)
    with pytest.raises(ValueError, match="trees of up to 3 leaves, got"):
        to_onnx(TREES[0])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[onnx\]"'):
        to_onnx(TREES[0])
