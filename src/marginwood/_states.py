"""Fitted estimators as *plain states*: dicts, lists, tuples, strings, numbers and arrays, and nothing else.

An object becomes a dict with its class's name under ``CLASS``. On the way back only the classes of `ESTIMATORS` are
made, without calling anything that the state names, and each node table is checked before a kernel sees it.
"""

from __future__ import annotations

import importlib
import inspect
import os
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeRegressor

from marginwood._core.nodes import LEAF, NODE_DTYPE
from marginwood._trees.table import IntervalTree

__all__ = ["ESTIMATORS", "decode_model", "encode"]

# Every estimator that can be saved, and its module.
ESTIMATORS = {
    "CensoringStratifiedKFold": "_tuning.splitters",
    "IntervalCART": "_baselines.cart",
    "IntervalDummyRegressor": "_baselines.dummy",
    "L1IntervalRegression": "_linear.l1",
    "L1IntervalRegressionCV": "_tuning.linear",
    "MaxMarginIntervalBoosting": "_trees.boosting",
    "MaxMarginIntervalForest": "_trees.forest",
    "MaxMarginIntervalTree": "_trees.tree",
    "MaxMarginIntervalTreeCV": "_tuning.tree",
    "TransformationTree": "_baselines.transformation",
    "TransformationTreeCV": "_tuning.transformation",
}
CLASS = "__class__"
MAX_FEATURES = 10_000_000
MAX_JOBS = 1024

Nodes = npt.NDArray[np.void]


def encode(value: Any, name: str = "model") -> Any:
    """The plain state of a value; `name` says in errors where it was found."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        return value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple):
        return type(value)(encode(item, f"{name}[{idx}]") for idx, item in enumerate(value))
    if type(value) is dict and all(type(key) is str and key != CLASS for key in value):
        return {key: encode(item, f"{name}[{key!r}]") for key, item in value.items()}
    if type(value) is np.ndarray:
        if value.dtype != object:
            return value.copy()
        if value.ndim == 1:
            return {CLASS: "ndarray", "items": encode(value.tolist(), name)}
    if isinstance(value, IntervalTree):
        return {CLASS: "IntervalTree", "nodes": value.nodes.copy(), "saw_missing": value.saw_missing.copy()}
    if type(value) is DecisionTreeRegressor:
        return _encode_cart(value)
    if ESTIMATORS.get(type(value).__name__) == type(value).__module__.removeprefix("marginwood."):
        return _encode_estimator(value, name)
    own = " It has a method save of its own." if hasattr(value, "save") else ""
    raise TypeError(f"{name}: a {type(value).__module__}.{type(value).__name__} cannot be saved.{own}")


def _encode_estimator(estimator: Any, name: str) -> dict[str, Any]:
    """Parameters that are not plain, such as generators and functions, matter to `fit` only: they become defaults."""
    parameters = inspect.signature(type(estimator)).parameters
    state: dict[str, Any] = {CLASS: type(estimator).__name__}
    for key, value in vars(estimator).items():
        try:
            state[key] = encode(value, f"{name}.{key}")
        except TypeError:
            if key not in parameters:
                raise
            state[key] = str(value) if isinstance(value, os.PathLike) else parameters[key].default
    return state


def _encode_cart(tree: DecisionTreeRegressor) -> dict[str, Any]:
    inner = tree.tree_.__getstate__()
    return {
        CLASS: "DecisionTreeRegressor",
        "parameters": {key: encode(value) for key, value in tree.get_params().items() if key != "random_state"},
        "nodes": inner["nodes"].copy(),
        "values": inner["values"].copy(),
        "max_depth": int(inner["max_depth"]),
        "n_features": int(tree.n_features_in_),
    }


def decode_model(state: Any) -> Any:
    """The fitted estimator of a plain state; raises ValueError unless it is sound and predicts."""
    n_features = state.get("n_features_in_") if isinstance(state, dict) else None
    if type(n_features) is not int or not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(f"a model needs n_features_in_ between 1 and {MAX_FEATURES}, got {n_features!r:.60}.")
    model = _decode(state, n_features)
    if not hasattr(model, "predict"):
        raise ValueError(f"expected a model, got {type(model).__name__}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prediction = np.asarray(model.predict(np.zeros((2, n_features))))
    if len(prediction) != 2 or prediction.dtype.kind != "f":
        raise ValueError("the model's predictions are not numbers.")
    return model


def _decode(state: Any, n_features: int) -> Any:
    if isinstance(state, list | tuple):
        return type(state)(_decode(item, n_features) for item in state)
    if not isinstance(state, dict):
        return state
    content = {key: _decode(value, n_features) for key, value in state.items() if key != CLASS}
    kind = state.get(CLASS)
    if CLASS not in state:
        return content
    if kind == "ndarray":
        array = np.empty(len(content["items"]), dtype=object)
        array[:] = content["items"]
        return array
    if kind == "IntervalTree":
        return _decode_tree(content, n_features)
    if kind == "DecisionTreeRegressor":
        return _decode_cart(content, n_features)
    if not isinstance(kind, str) or kind not in ESTIMATORS:
        raise ValueError(f"{kind!r:.60} is no class of a model.")
    if content.get("n_features_in_", n_features) != n_features:
        raise ValueError("parts of the model have different numbers of features.")
    if not isinstance(content.get("tree_"), IntervalTree | None):
        raise ValueError("a tree has no node table.")
    if content.get("n_jobs") is not None:
        content["n_jobs"] = min(content["n_jobs"], MAX_JOBS)  # whatever the file says
    cls = getattr(importlib.import_module(f"marginwood.{ESTIMATORS[kind]}"), kind)
    estimator = cls.__new__(cls)
    vars(estimator).update(content)
    return estimator


def _decode_tree(content: dict[str, Any], n_features: int) -> IntervalTree:
    saved, saw_missing = content["nodes"], content["saw_missing"]
    if saved.dtype.names != NODE_DTYPE.names or any(
        saved.dtype[name] != NODE_DTYPE[name] for name in saved.dtype.names
    ):
        raise ValueError(f"a node table needs the columns {NODE_DTYPE.names}.")
    if saw_missing.dtype != np.bool_ or saw_missing.shape != (n_features,):
        raise ValueError("saw_missing needs one boolean per feature.")
    _check_nodes(saved, saved["children_left"], saved["children_right"], saved["feature"], n_features)
    if np.isnan(saved["threshold"]).any():
        raise ValueError("a threshold is NaN.")
    splits = saved["children_left"] != LEAF
    if (saved["children_right"] != saved["children_left"] + 1)[splits].any():
        raise ValueError("a node's children are not neighbours.")
    # The file does not keep the alignment of the table, which kernels are compiled for.
    nodes = np.empty(len(saved), NODE_DTYPE)
    for name in NODE_DTYPE.names or ():
        nodes[name] = saved[name]
    return IntervalTree(nodes, saw_missing)


def _decode_cart(content: dict[str, Any], n_features: int) -> DecisionTreeRegressor:
    """scikit-learn's tree with checked nodes; a stump lends the class, which is private."""
    tree = DecisionTreeRegressor(**content["parameters"])
    nodes, values = content["nodes"], content["values"]
    stump = DecisionTreeRegressor(max_depth=1).fit(np.zeros((2, n_features)), np.zeros(2))
    expected = stump.tree_.__getstate__()["nodes"].dtype
    if nodes.dtype != expected or content["n_features"] != n_features:
        raise ValueError("the tree was made by another version of scikit-learn, or is damaged.")
    _check_nodes(nodes, nodes["left_child"], nodes["right_child"], nodes["feature"], n_features)
    if values.dtype != np.float64 or values.shape != (len(nodes), 1, 1):
        raise ValueError("a tree needs one value per node.")
    inner = type(stump.tree_)(n_features, np.ones(1, dtype=np.intp), 1)
    depth = min(max(int(content["max_depth"]), 0), len(nodes))
    inner.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    vars(tree).update(vars(stump) | {"tree_": inner} | content["parameters"])
    return tree


def _check_nodes(nodes: Nodes, left: Any, right: Any, feature: Any, n_features: int) -> None:
    """Raise unless every split has a feature and two children further down that no other split has."""
    if nodes.ndim != 1 or not len(nodes):
        raise ValueError("a node table needs one row per node, and at least one.")
    splits = np.flatnonzero(left != LEAF)
    children = np.concatenate([left[splits], right[splits]]).astype(np.int64)
    parents = np.concatenate([splits, splits])
    if (children <= parents).any() or (children >= len(nodes)).any():
        raise ValueError("children of a node point backwards or beyond the table.")
    if len(np.unique(children)) != len(children):
        raise ValueError("two nodes share a child.")
    if (feature[splits] < 0).any() or (feature[splits] >= n_features).any():
        raise ValueError(f"a split uses a feature beyond the {n_features} of the model.")
