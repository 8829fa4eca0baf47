"""Models in ONNX; needs the extra ``marginwood[onnx]``.

ONNX's operator for trees compares doubles but adds and returns single precision. So it is only
asked for the number of the leaf that a row comes to, in each tree, and standard operators look the
leaves' values up and add them, in doubles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwood._core.nodes import LEAF
from marginwood._fitted import Ensemble, read
from marginwood._support.extras import install_hint
from marginwood._trees.table import IntervalTree
from marginwood.export._xgboost import EXPECTED, read_any_ensemble

__all__ = ["to_onnx"]

# Versions that runtimes of 2022 read.
OPSETS = {"": 17, "ai.onnx.ml": 3}
IR_VERSION = 8
# Leaf numbers are exact in single precision up to here.
MAX_LEAVES = 2**24


def to_onnx(model: Any) -> Any:
    """Turn a fitted tree, forest, boosting or linear model into an ONNX model.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest or boosting of this package, XGBoost's included, or a linear model. A
        pipeline that changes the columns is refused: pass its last step, which predicts from the
        changed ones.

    Returns
    -------
    onnx.ModelProto
        Its input ``X`` holds doubles of shape (n_samples, n_features), NaN for missing values; its
        output ``prediction`` holds doubles of shape (n_samples,).

    Notes
    -----
    Predictions are those of the estimator; where many trees are added, a runtime may add in another
    order, which changes last digits. XGBoost itself adds in single precision. A runtime holds some
    20 bytes per row and tree, so pass rows of large data in parts.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import to_onnx
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (2, 3)])
    >>> from onnxruntime import InferenceSession
    >>> session = InferenceSession(to_onnx(tree).SerializeToString(), providers=["CPUExecutionProvider"])
    >>> session.run(None, {"X": np.array([[1.2], [1.6]])})[0].tolist()
    [0.5, 2.5]
    """
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise ImportError(f"to_onnx needs ONNX: {install_hint('onnx')}.") from error
    fitted = read(model, expected=EXPECTED).untransformed("to_onnx").of_numbers("to_onnx")
    if hasattr(fitted.estimator, "coef_"):
        constants = {
            "weights": fitted.estimator.coef_,
            "intercept": np.array(fitted.estimator.intercept_),
        }
        nodes = [
            helper.make_node("MatMul", ["X", "weights"], ["sum"]),
            helper.make_node("Add", ["sum", "intercept"], ["prediction"]),
        ]
    else:
        _, ensemble = read_any_ensemble(model)
        constants, nodes = _aggregate(ensemble, helper.make_node)
        attributes = {
            name: numpy_helper.from_array(value, name) if name.endswith("_as_tensor") else value
            for name, value in _tree_attributes(ensemble.trees).items()
        }
        trees = helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["leaf"], domain="ai.onnx.ml", **attributes
        )
        nodes = [
            trees,
            helper.make_node("Cast", ["leaf"], ["number"], to=TensorProto.INT64),
            *nodes,
        ]
    graph = helper.make_graph(
        nodes,
        type(fitted.own).__name__,
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, fitted.own.n_features_in_])],
        [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, [None])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="marginwood"
    )


def _tree_attributes(trees: list[IntervalTree]) -> dict[str, Any]:
    """Attributes of the operator: all nodes of all trees, and for each leaf its number among those of its tree."""
    nodes = np.concatenate([tree.nodes for tree in trees])
    is_leaf = nodes["children_left"] == LEAF
    tree_ids = np.repeat(np.arange(len(trees)), [tree.node_count for tree in trees])
    node_ids = np.concatenate([np.arange(tree.node_count) for tree in trees])
    numbers = np.concatenate([np.arange(tree.n_leaves, dtype=np.float64) for tree in trees])
    if numbers.max() >= MAX_LEAVES:
        raise ValueError(
            f"model: to_onnx expected trees of up to {MAX_LEAVES} leaves, got {int(numbers.max()) + 1}."
        )

    def of_splits(values: npt.NDArray[Any]) -> Any:
        return np.where(is_leaf, 0, values).tolist()

    return {
        "n_targets": len(trees),
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_featureids": of_splits(nodes["feature"]),
        "nodes_values_as_tensor": np.where(is_leaf, 0.0, nodes["threshold"]),
        "nodes_truenodeids": of_splits(nodes["children_left"]),
        "nodes_falsenodeids": of_splits(nodes["children_right"]),
        "nodes_missing_value_tracks_true": of_splits(nodes["missing_go_to_left"]),
        "target_treeids": tree_ids[is_leaf].tolist(),
        "target_nodeids": node_ids[is_leaf].tolist(),
        "target_ids": tree_ids[is_leaf].tolist(),
        "target_weights_as_tensor": numbers,
    }


def _aggregate(ensemble: Ensemble, make_node: Any) -> tuple[dict[str, Any], list[Any]]:
    """Constants and operators from the leaf numbers of every tree to one prediction."""
    trees, aggregation, init = ensemble
    leaf_values = [tree.nodes["value"][tree.children_left == LEAF] for tree in trees]
    first = np.concatenate([[0], np.cumsum([len(values) for values in leaf_values])[:-1]]).astype(
        np.int64
    )
    constants = {
        "first": first,
        "values": np.concatenate(leaf_values),
        "columns": np.array([1]),
        "init": init,
    }
    nodes = [
        make_node("Add", ["number", "first"], ["place"]),
        make_node("Gather", ["values", "place"], ["value"]),
    ]
    summed = "value"
    n_summed = len(trees)
    if aggregation == "median":
        constants |= {
            "n_trees": np.array([len(trees)]),
            "middle": np.array([(len(trees) - 1) // 2, len(trees) // 2]),
        }
        nodes.append(
            make_node("TopK", ["value", "n_trees"], ["ascending", "order"], axis=1, largest=0)
        )
        nodes.append(make_node("Gather", ["ascending", "middle"], ["middles"], axis=1))
        summed = "middles"
        n_summed = 2
    nodes.append(make_node("ReduceSum", [summed, "columns"], ["sum"], keepdims=0))
    if aggregation == "sum":
        nodes.append(make_node("Add", ["init", "sum"], ["prediction"]))
    else:
        constants["n_summed"] = float(n_summed)
        nodes.append(make_node("Div", ["sum", "n_summed"], ["prediction"]))
    used = {name for node in nodes for name in node.input}
    return {name: np.asarray(value) for name, value in constants.items() if name in used}, nodes
