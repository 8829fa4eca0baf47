"""Fitted estimators as *plain states*: dicts, lists, tuples, strings, numbers and arrays, and nothing else.

An object becomes a dict with the name of its kind under ``CLASS``: an estimator of the package its class and its
attributes, a node table its columns, a pipeline its steps, a booster of XGBoost its bytes. On the way back only
classes of the package are made, without calling anything that the state names, and whatever compiled code reads is
checked first.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from marginwood._archive import ArchiveError, load_transformer
from marginwood._categories import count_categories
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._core.subsets import Subsets
from marginwood._support.checks import is_integer
from marginwood._trees.table import IntervalTree
from marginwood.xgb._boosters import booster_from_bytes, booster_to_bytes

__all__ = ["CLASS", "decode_model", "encode", "known_classes"]

CLASS = "__class__"
MAX_FEATURES = 10_000_000
# What matters to `fit` only and is an object: which of its arguments scikit-learn passes on.
LEFT_OUT = {"_metadata_request"}

ByteArray = npt.NDArray[np.uint8]
Nodes = npt.NDArray[np.void]


@cache
def known_classes() -> dict[str, type[Any]]:
    """Every class that a state may name: the estimators and splitters of the package, by their names."""
    package = importlib.import_module(__name__.partition(".")[0])
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for name in package.__all__:
        getattr(package, name)  # its module is loaded by the first use, and a class exists from then on
    waiting: list[type[Any]] = [BaseEstimator, BaseCrossValidator]
    found: dict[str, type[Any]] = {}
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            if cls.__module__.startswith(f"{package.__name__}."):
                found[cls.__name__] = cls
    return found


def encode(value: Any, name: str = "model") -> Any:
    """The plain state of a value; `name` says in errors where it was found."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        return value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple):
        return type(value)(encode(item, f"{name}[{idx}]") for idx, item in enumerate(value))
    if type(value) is dict:
        items = {key: encode(item, f"{name}[{key!r}]") for key, item in value.items()}
        if all(type(key) is str and key != CLASS for key in items):
            return items
        return {CLASS: "dict", "items": [(encode(key, name), item) for key, item in items.items()]}
    if type(value) is np.ndarray:
        if value.dtype != object:
            return value.copy()
        if value.ndim == 1:
            return {CLASS: "ndarray", "items": encode(value.tolist(), name)}
    if isinstance(value, IntervalTree):
        arrays = {"nodes": value.nodes, "saw_missing": value.saw_missing} | value.subset_arrays()
        return {CLASS: "IntervalTree"} | {name: array.copy() for name, array in arrays.items()}
    if isinstance(value, Pipeline):
        return _encode_pipeline(value, name)
    if type(value).__module__.startswith("xgboost.") and type(value).__name__ == "Booster":
        return {CLASS: "Booster", "content": booster_to_bytes(value)}
    if known_classes().get(type(value).__name__) is type(value):
        return _encode_estimator(value, name)
    raise TypeError(f"{name}: a {type(value).__module__}.{type(value).__name__} cannot be saved.")


def _encode_estimator(estimator: Any, name: str) -> dict[str, Any]:
    """Parameters that are not plain, such as generators and functions, matter to `fit` only: they become defaults."""
    parameters = inspect.signature(type(estimator)).parameters
    state: dict[str, Any] = {CLASS: type(estimator).__name__}
    for key, value in vars(estimator).items():
        if key in LEFT_OUT:
            continue
        try:
            state[key] = encode(value, f"{name}.{key}")
        except TypeError:
            if key not in parameters:
                raise
            state[key] = str(value) if isinstance(value, os.PathLike) else parameters[key].default
    return state


def _encode_pipeline(pipeline: Pipeline, name: str) -> dict[str, Any]:
    """The steps before the last as archives of skops; which folder caches them matters to `fit` only."""
    (*before, (last, model)) = pipeline.steps
    return {
        CLASS: "Pipeline",
        "steps": [(step, _encode_step(value, f"{name}.steps: {step!r}")) for step, value in before],
        "last": last,
        "model": encode(model, f"{name}.steps: {last!r}"),
    }


def _encode_step(step: Any, name: str) -> str | ByteArray:
    import skops.io

    if step is None or isinstance(step, str):
        return "passthrough"
    try:
        content = skops.io.dumps(step)
        load_transformer(content)
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise TypeError(
            f"{name}: this step of the pipeline cannot be saved: {reason} Steps before the model may hold what "
            "skops.io trusts by default: transformers of scikit-learn, without functions of your own."
        ) from error
    return np.frombuffer(content, dtype=np.uint8)


def decode_model(state: Any) -> Any:
    """The fitted estimator of a plain state; raises unless it is sound and predicts."""
    if isinstance(state, dict) and state.get(CLASS) == "Pipeline":
        pipeline = _decode(state)  # its last step comes here again
        check_is_fitted(pipeline[-1])
        return pipeline
    n_features = state.get("n_features_in_") if isinstance(state, dict) else None
    if type(n_features) is not int or not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(f"a model needs n_features_in_ between 1 and {MAX_FEATURES}, got {n_features!r:.60}.")
    model = _decode(state)
    if not hasattr(model, "predict"):
        raise ValueError(f"expected a model, got {type(model).__name__}.")
    if _holds_pipeline(state):  # its steps may need columns by name; the models inside have been tried
        return model
    for n_rows in (2, 3):  # an attribute that should be a number may be an array that happens to fit two rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prediction = np.asarray(model.predict(np.zeros((n_rows, n_features))))
        if prediction.shape != (n_rows,) or prediction.dtype.kind != "f" or np.isnan(prediction).any():
            raise ValueError("the model's predictions are not numbers.")
    return model


def _decode(state: Any) -> Any:
    if isinstance(state, list | tuple):
        return type(state)(_decode(item) for item in state)
    if not isinstance(state, dict):
        return state
    if CLASS not in state:
        return {key: _decode(value) for key, value in state.items()}
    kind = state[CLASS]
    if not isinstance(kind, str):
        raise ValueError(f"{kind!r:.60} is not a class of a model.")
    content = {key: value for key, value in state.items() if key != CLASS}
    if kind in DECODERS:
        return DECODERS[kind](**content)
    if kind not in known_classes():
        raise ValueError(f"{kind!r:.60} is not a class of a model.")
    return _decode_estimator(known_classes()[kind], {key: _decode(value) for key, value in content.items()})


def _decode_dict(items: Any) -> dict[Any, Any]:
    return {_decode(key): _decode(value) for key, value in items}


def _decode_objects(items: Any) -> npt.NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    array[:] = _decode(items)
    return array


def _decode_estimator(cls: type[Any], content: dict[str, Any]) -> Any:
    """An estimator with these attributes; its parts must agree on the number of features."""
    n_features = content.get("n_features_in_")
    tree = content.get("tree_")
    if not isinstance(tree, IntervalTree | None):
        raise ValueError("a tree has no node table.")
    if tree is not None and tree.n_features != n_features:
        raise ValueError(f"a node table is for {tree.n_features} features, and its tree for {n_features!r:.60}.")
    # XGBoost would take features that are not there for missing ones.
    if "booster_" in content and content["booster_"].num_features() != n_features:
        raise ValueError(f"a booster is for other features than its model, which is for {n_features!r:.60}.")
    if "feature_names_in_" in content:
        _check_names(content["feature_names_in_"], n_features)
    if "categories_" in content:
        _check_categories(content["categories_"], n_features, tree)
    n_jobs = content.get("n_jobs")
    if n_jobs is not None:
        if not is_integer(n_jobs):
            raise ValueError(f"n_jobs: expected an integer or None, got {n_jobs!r:.60}.")
        if n_jobs > (os.cpu_count() or 1):
            content["n_jobs"] = -1  # all processors of this machine, not as many threads as a file says
    estimator: Any = object.__new__(cls)
    vars(estimator).update(content)
    return estimator


def _check_names(names: Any, n_features: Any) -> None:
    is_array = isinstance(names, np.ndarray) and names.ndim == 1
    if not is_array or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names_in_: expected an array of {n_features!r:.60} strings.")


def _check_categories(categories: Any, n_features: Any, tree: IntervalTree | None) -> None:
    """Raise unless there is a list of different labels for each feature, or None, as many as the tree knows codes."""
    if categories is not None:
        if not isinstance(categories, list) or len(categories) != n_features:
            raise ValueError(f"categories_: expected a list of {n_features!r:.60} lists of labels, or None.")
        for labels in categories:
            if labels is not None and not _are_labels(labels):
                raise ValueError("categories_: expected lists of different strings and numbers.")
    if tree is not None:
        found, known = (
            [] if counts is None else counts.tolist()
            for counts in (count_categories(categories), tree.subset_arrays().get("n_categories"))
        )
        if found != known:
            raise ValueError("categories_: a node table is for other categories than its tree.")


def _are_labels(labels: Any) -> bool:
    is_list = isinstance(labels, list) and all(isinstance(label, str | int | float) for label in labels)
    return is_list and len(set(labels)) == len(labels)


def _holds_pipeline(state: Any) -> bool:
    """Whether there is a pipeline somewhere inside."""
    if isinstance(state, dict):
        return state.get(CLASS) == "Pipeline" or any(map(_holds_pipeline, state.values()))
    return isinstance(state, list | tuple) and any(map(_holds_pipeline, state))


def _decode_pipeline(steps: Any, last: Any, model: Any) -> Pipeline:
    before = [(name, _decode_step(step)) for name, step in steps]
    names = [*(name for name, _ in before), last]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("the steps of a pipeline need names, one each.")
    # A pipeline among the parameters of a model is not fitted.
    is_fitted = isinstance(model, dict) and "n_features_in_" in model
    return Pipeline([*before, (last, decode_model(model) if is_fitted else _decode(model))])


def _decode_step(step: Any) -> Any:
    if isinstance(step, str) and step == "passthrough":
        return step
    transformer = load_transformer(_as_bytes(step))
    if not isinstance(transformer, BaseEstimator) or not hasattr(transformer, "transform"):
        raise ArchiveError(f"expected a transformer, got {type(transformer).__name__}.")
    return transformer


def _as_bytes(content: Any) -> bytes:
    if not isinstance(content, np.ndarray) or content.dtype != np.uint8 or content.ndim != 1:
        raise ValueError("expected bytes.")
    return content.tobytes()


def _decode_tree(nodes: Any, saw_missing: Any, **arrays: Any) -> IntervalTree:
    if nodes.dtype.names != NODE_DTYPE.names or any(
        nodes.dtype[name] != NODE_DTYPE[name] for name in nodes.dtype.names
    ):
        raise ValueError(f"a node table needs the columns {NODE_DTYPE.names}.")
    if nodes.ndim != 1 or not len(nodes):
        raise ValueError("a node table needs one row per node, and at least one.")
    if saw_missing.dtype != np.bool_ or saw_missing.ndim != 1 or not 1 <= len(saw_missing) <= MAX_FEATURES:
        raise ValueError("saw_missing: expected one boolean per feature.")
    _check_links(nodes)
    _check_splits(nodes, len(saw_missing))
    # The file does not keep the alignment of the table, which kernels are compiled for.
    aligned = np.empty(len(nodes), NODE_DTYPE)
    for name in NODE_DTYPE.names or ():
        aligned[name] = nodes[name]
    return IntervalTree(aligned, saw_missing, _decode_subsets(aligned, len(saw_missing), **arrays) if arrays else None)


def _decode_subsets(nodes: Nodes, n_features: int, n_categories: Any, offsets: Any, codes: Any) -> Subsets:
    """The categories of splits; raises unless kernels can look up every split."""
    kinds = (n_categories, np.int64), (offsets, np.int64), (codes, np.int32)
    if any(not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1 for array, dtype in kinds):
        raise ValueError("expected the categories of splits as arrays of whole numbers.")
    if len(n_categories) != n_features or (n_categories < 0).any():
        raise ValueError("n_categories: expected a number for each feature.")
    starts_and_ends = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(codes)
    if not starts_and_ends or (np.diff(offsets) < 0).any():
        raise ValueError("offsets: expected rising positions in the list of codes.")
    splits = nodes[nodes["children_left"] != LEAF]
    splits = splits[n_categories[splits["feature"]] > 0]
    numbers = splits["threshold"]
    if not np.isin(numbers, np.arange(len(offsets) - 1)).all():
        raise ValueError("a split of categories has no list of codes.")
    for number, most in zip(numbers.astype(np.int64), n_categories[splits["feature"]], strict=True):
        own = codes[offsets[number] : offsets[number + 1]]
        if len(own) and (own[0] < 0 or own[-1] >= most or (np.diff(own) <= 0).any()):
            raise ValueError(f"codes: expected rising numbers below {most}.")
    return Subsets(n_categories.copy(), offsets.copy(), codes.copy())


def _check_links(nodes: Nodes) -> None:
    """Raise unless the root is the first row and every other node is a child of one split before it."""
    splits = np.flatnonzero(nodes["children_left"] != LEAF)
    left = nodes["children_left"][splits].astype(np.int64)
    if (left <= splits).any() or (left + 1 >= len(nodes)).any():
        raise ValueError("children of a node point backwards or beyond the table.")
    if (nodes["children_right"][splits] != left + 1).any():
        raise ValueError("a node's children are not neighbours.")
    if len(np.unique(left)) < len(left) or 2 * len(splits) + 1 != len(nodes):
        raise ValueError("a node has no parent, or two nodes share a child.")


def _check_splits(nodes: Nodes, n_features: int) -> None:
    """Raise unless all fields hold what growing writes: kernels read the features of leaves, too."""
    is_leaf = nodes["children_left"] == LEAF
    feature = nodes["feature"]
    if (nodes["children_right"][is_leaf] != LEAF).any() or (feature[is_leaf] != NO_FEATURE).any():
        raise ValueError("a leaf has a child or a feature.")
    if (feature[~is_leaf] < 0).any() or (feature[~is_leaf] >= n_features).any():
        raise ValueError(f"a split uses a feature beyond the {n_features} of the model.")
    if not np.isin(nodes["missing_go_to_left"], (0, 1)).all():
        raise ValueError("missing_go_to_left: expected 0 or 1.")
    for name in ("value", "impurity", "weighted_n_node_samples"):
        if not np.isfinite(nodes[name]).all():
            raise ValueError(f"a node's {name} is NaN or infinite.")
    for name in ("threshold", "value_low", "value_high"):  # infinite where a split parts NaN, or a side is open
        if np.isnan(nodes[name]).any():
            raise ValueError(f"a node's {name} is NaN.")
    if (nodes["n_node_samples"] < 0).any() or (nodes["weighted_n_node_samples"] < 0).any():
        raise ValueError("a node has fewer than 0 samples.")


# What makes objects that are not estimators, by their names in a state; the arguments are the other entries.
DECODERS: dict[str, Callable[..., Any]] = {
    "Booster": lambda content: booster_from_bytes(_as_bytes(content)),
    "IntervalTree": _decode_tree,
    "Pipeline": _decode_pipeline,
    "dict": _decode_dict,
    "ndarray": _decode_objects,
}
