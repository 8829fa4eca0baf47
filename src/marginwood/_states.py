"""Fitted estimators as *plain states*: dicts, lists, tuples, strings, numbers and arrays, and nothing else.

An object becomes a dict with the name of its kind under ``CLASS``: an estimator of the package its
class and its attributes, a node table its columns, a pipeline its steps, a booster of XGBoost its
bytes. On the way back only classes of the package are made, without calling anything that the state
names, and whatever compiled code reads is checked first.
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
from marginwood._soundness import MAX_FEATURES, check_attributes, make_tree
from marginwood._support.threads import cap_jobs
from marginwood._trees.table import IntervalTree

__all__ = ["CLASS", "decode_model", "encode", "known_classes", "shorten"]

CLASS = "__class__"
# What matters to `fit` only and is an object: which of its arguments scikit-learn passes on.
LEFT_OUT = {"_metadata_request"}

ByteArray = npt.NDArray[np.uint8]


PACKAGE = importlib.import_module(__name__.partition(".")[0])


@cache
def find_class(name: str) -> type[Any] | None:
    """The class that a state may name so: an estimator or a splitter of the package, or None.

    No more is loaded than it takes to find it: it may be there already, or be one of the names that
    the package offers.
    """
    if name not in _loaded_classes() and name in PACKAGE.__all__:
        getattr(PACKAGE, name)
    return _loaded_classes().get(name) or known_classes().get(name)


@cache
def known_classes() -> dict[str, type[Any]]:
    """Every class that a state may name, by its name."""
    for module in pkgutil.iter_modules(PACKAGE.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{PACKAGE.__name__}.{module.name}")
    for name in PACKAGE.__all__:
        getattr(
            PACKAGE, name
        )  # its module is loaded by the first use, and a class exists from then on
    return _loaded_classes()


def _loaded_classes() -> dict[str, type[Any]]:
    waiting: list[type[Any]] = [BaseEstimator, BaseCrossValidator]
    found: dict[str, type[Any]] = {}
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            if cls.__module__.startswith(f"{PACKAGE.__name__}."):
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
        from marginwood.xgb._bytes import booster_to_bytes

        return {CLASS: "Booster", "content": booster_to_bytes(value)}
    if find_class(type(value).__name__) is type(value):
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
            f"{name}: this step of the pipeline cannot be saved: {reason} Steps before the model may be "
            "the usual transformers of scikit-learn, without functions of your own."
        ) from error
    return np.frombuffer(content, dtype=np.uint8)


def shorten(state: Any) -> Any:
    """The same with what the objects of a list have in common, such as the trees of a forest, written once."""
    if isinstance(state, dict):
        return {key: shorten(value) for key, value in state.items()}
    if not isinstance(state, list | tuple):
        return state
    items = [shorten(item) for item in state]
    if type(state) is tuple:
        return tuple(items)
    if len(items) < 2 or not all(type(item) is dict and CLASS in item for item in items):
        return items
    shared = {
        key: value
        for key, value in items[0].items()
        if type(value) in (bool, int, float, str, type(None))
        and all(key in own and type(own[key]) is type(value) and own[key] == value for own in items)
    }
    own = [{key: value for key, value in item.items() if key not in shared} for item in items]
    return {CLASS: "list", "shared": shared, "own": own}


def decode_model(state: Any) -> Any:
    """The fitted estimator of a plain state; raises unless it is sound and predicts."""
    if isinstance(state, dict) and state.get(CLASS) == "Pipeline":
        pipeline = _decode(state)  # its last step comes here again
        check_is_fitted(pipeline[-1])
        return pipeline
    n_features = state.get("n_features_in_") if isinstance(state, dict) else None
    if type(n_features) is not int or not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(
            f"a model needs n_features_in_ between 1 and {MAX_FEATURES}, got {n_features!r:.60}."
        )
    model = _decode(state)
    if not hasattr(model, "predict"):
        raise ValueError(f"expected a model, got {type(model).__name__}.")
    if _holds_pipeline(
        state
    ):  # its steps may need columns by name; the models inside have been tried
        return model
    for n_rows in (
        2,
        3,
    ):  # an attribute that should be a number may be an array that happens to fit two rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prediction = np.asarray(model.predict(np.zeros((n_rows, n_features))))
        if (
            prediction.shape != (n_rows,)
            or prediction.dtype.kind != "f"
            or np.isnan(prediction).any()
        ):
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
    cls = find_class(kind)
    if cls is None:
        raise ValueError(f"{kind!r:.60} is not a class of a model.")
    return _decode_estimator(cls, {key: _decode(value) for key, value in content.items()})


def _decode_booster(content: Any) -> Any:
    from marginwood.xgb._bytes import booster_from_bytes

    return booster_from_bytes(_as_bytes(content))


def _decode_dict(items: Any) -> dict[Any, Any]:
    return {_decode(key): _decode(value) for key, value in items}


def _decode_alike(shared: Any, own: Any) -> list[Any]:
    return [_decode({**shared, **state}) for state in own]


def _decode_objects(items: Any) -> npt.NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    array[:] = _decode(items)
    return array


def _decode_estimator(cls: type[Any], content: dict[str, Any]) -> Any:
    check_attributes(content)
    if "n_jobs" in content:
        content["n_jobs"] = cap_jobs(content["n_jobs"])
    estimator: Any = object.__new__(cls)
    vars(estimator).update(content)
    return estimator


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


# What makes objects that are not estimators, by their names in a state; the arguments are the other
# entries.
DECODERS: dict[str, Callable[..., Any]] = {
    "Booster": _decode_booster,
    "IntervalTree": make_tree,
    "Pipeline": _decode_pipeline,
    "dict": _decode_dict,
    "list": _decode_alike,
    "ndarray": _decode_objects,
}
