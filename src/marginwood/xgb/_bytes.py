"""Boosters of XGBoost as bytes, and back.

XGBoost trusts the JSON of a model: a link beyond a tree ends the process. So what it is given is
not the text itself but the parts of it that are known, checked and written anew: trees on numbers
with one output, plain ones and those of ``booster="dart"``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwood._support.extras import install_hint

__all__ = ["booster_from_bytes", "booster_to_bytes", "import_xgboost", "settle"]

OBJECTIVE = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}
CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
NUMBERS = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
FEATURE_TYPES = {"float", "int", "i", "q", "c"}
MOST_CATEGORIES = 2**24  # XGBoost keeps a bit for each
LARGEST = 2**31 - 1
NO_CHILD = -1
NO_PARENT = DELETED = LARGEST


def import_xgboost() -> Any:
    """XGBoost, or an ImportError that says how to get it."""
    try:
        import xgboost
    except ImportError as error:
        raise ImportError(f"marginwood.xgb needs XGBoost: {install_hint('xgboost')}.") from error
    return xgboost


def settle(booster: Any, **params: Any) -> None:
    """Set parameters of a booster. That is not safe in threads, so it is done only if it has others."""
    known = getattr(booster, "settled", {})
    if known | params != known:
        booster.set_param(params)
        booster.settled = known | params


def booster_to_bytes(booster: Any) -> npt.NDArray[np.uint8]:
    """A booster as JSON; raises TypeError if it could not be read again."""
    content = bytes(booster.save_raw("json"))
    try:
        check_booster(content)
    except (LookupError, TypeError, ValueError) as error:
        raise TypeError(f"booster_: this kind of booster cannot be saved: {error}") from error
    return np.frombuffer(content, dtype=np.uint8)


def booster_from_bytes(content: bytes) -> Any:
    """The booster of `booster_to_bytes`; raises ValueError, LookupError or TypeError if anything is wrong with it."""
    checked = check_booster(content)
    return import_xgboost().Booster(
        {"nthread": 1}, model_file=bytearray(json.dumps(checked).encode())
    )


def check_booster(content: bytes) -> dict[str, Any]:
    """The parts of a booster's JSON that XGBoost needs, checked."""
    model = json.loads(content)
    learner = model["learner"]
    version = [_as_count(str(part)) for part in _as_list(model["version"])]
    parameters = learner["learner_model_param"]
    n_features = _as_count(parameters["num_feature"])
    single = {"num_class": "0", "num_target": "1"}
    if not n_features or any(parameters[name] != value for name, value in single.items()):
        raise ValueError("expected features, and one output.")
    if learner["objective"].get("name") != OBJECTIVE["name"]:
        raise ValueError("expected the objective that hinge losses are trained beside.")
    base_score = parameters["base_score"]
    is_vector = base_score.startswith("[")  # since XGBoost 3.1
    base_score = repr(float(_as_numbers([float(base_score.strip("[]"))])[0]))
    names, types = (
        [str(text) for text in _as_list(learner[f"feature_{key}"])] for key in ("names", "types")
    )
    if (
        len(names) not in (0, n_features)
        or len(types) not in (0, n_features)
        or not FEATURE_TYPES.issuperset(types)
    ):
        raise ValueError("expected a name and a numeric type for each feature, or none.")
    checked = {
        "attributes": {str(key): str(value) for key, value in learner["attributes"].items()},
        "feature_names": names,
        "feature_types": types,
        "gradient_booster": _check_gradient_booster(learner["gradient_booster"], n_features),
        "learner_model_param": {
            **single,
            "base_score": f"[{base_score}]" if is_vector else base_score,
            "boost_from_average": "0",
            "num_feature": str(n_features),
        },
        "objective": OBJECTIVE,
    }
    return {"learner": checked, "version": version}


def _check_gradient_booster(booster: dict[str, Any], n_features: int) -> dict[str, Any]:
    if booster["name"] == "gbtree":
        return {"name": "gbtree", "model": _check_trees(booster["model"], n_features)}
    if booster["name"] != "dart":
        raise ValueError("expected trees.")
    trees = _check_gradient_booster(booster["gbtree"], n_features)
    if trees["name"] != "gbtree":
        raise ValueError("expected trees.")
    return {
        "name": "dart",
        "gbtree": trees,
        "weight_drop": _check_weights(booster["weight_drop"], trees["model"]["trees"]),
    }


def _check_weights(weights: Any, trees: list[Any]) -> list[float]:
    """The weights of trees, none if all are added as they are."""
    numbers = _as_numbers(weights)
    if len(numbers) not in (0, len(trees)):
        raise ValueError("expected one weight per tree.")
    return numbers.tolist()


def _check_trees(model: dict[str, Any], n_features: int) -> dict[str, Any]:
    trees = [
        _check_tree(tree, number, n_features)
        for number, tree in enumerate(_as_list(model["trees"]))
    ]
    n_parallel = _as_count(model["gbtree_model_param"]["num_parallel_tree"])
    starts = _as_integers(model["iteration_indptr"]).tolist()
    if (
        not n_parallel
        or starts != list(range(0, len(trees) + 1, n_parallel))
        or starts[-1] != len(trees)
    ):
        raise ValueError("expected equally many trees in each round.")
    categories: dict[str, Any] = (
        {"cats": {"enc": [], "feature_segments": [], "sorted_idx": []}} if "cats" in model else {}
    )
    # Since XGBoost 3.4 the weights of `dart` stand beside the trees.
    weights = (
        {"weight_drop": _check_weights(model["weight_drop"], trees)}
        if "weight_drop" in model
        else {}
    )
    return (
        categories
        | weights
        | {
            "gbtree_model_param": {
                "num_parallel_tree": str(n_parallel),
                "num_trees": str(len(trees)),
            },
            "iteration_indptr": starts,
            "tree_info": [0] * len(trees),
            "trees": trees,
        }
    )


def _check_tree(tree: dict[str, Any], number: int, n_features: int) -> dict[str, Any]:
    numbers = {name: _as_numbers(tree[name]) for name in NUMBERS}
    links = {
        name: _as_integers(tree[name]) for name in ("left_children", "right_children", "parents")
    }
    features = _as_integers(tree["split_indices"])
    default_left = _as_integers(tree["default_left"])
    n_nodes = len(features)
    if {len(array) for array in (*numbers.values(), *links.values(), default_left)} != {
        n_nodes
    } or not n_nodes:
        raise ValueError("the columns of a tree have different lengths, or none.")
    is_kept = _check_links(*links.values())
    categories = _check_subsets(tree, is_kept & (links["left_children"] != NO_CHILD))
    if ((features[is_kept] < 0) | (features[is_kept] >= n_features)).any():
        raise ValueError(f"a split uses a feature beyond the {n_features} of the model.")
    if not np.isin(default_left, (0, 1)).all():
        raise ValueError("default_left: expected 0 or 1.")
    # Nodes that XGBoost has pruned stay in the columns, and their feature says so.
    features[~is_kept] = DELETED
    return {
        **{name: array.tolist() for name, array in (numbers | links).items()},
        **categories,
        "split_indices": features.tolist(),
        "default_left": default_left.tolist(),
        "id": number,
        "tree_param": {
            "num_deleted": str(np.count_nonzero(~is_kept)),
            "num_feature": str(n_features),
            "num_nodes": str(n_nodes),
            "size_leaf_vector": "1",
        },
    }


def _check_subsets(tree: dict[str, Any], is_split: npt.NDArray[np.bool_]) -> dict[str, list[int]]:
    """The categories of splits, one after the other, and where those of each split are."""
    split_type = _as_integers(tree["split_type"])
    codes, nodes, starts, sizes = (_as_integers(tree[name]) for name in CATEGORIES)
    if len(split_type) != len(is_split) or not np.isin(split_type, (0, 1)).all():
        raise ValueError("split_type: expected 0 or 1 for each node.")
    if not len(nodes) == len(starts) == len(sizes) or not np.array_equal(
        nodes, np.flatnonzero(split_type)
    ):
        raise ValueError("a split by category has no categories.")
    if (
        not is_split[nodes].all()
        or (starts != np.cumsum(sizes) - sizes).any()
        or sizes.sum() != len(codes)
    ):
        raise ValueError("the categories of a split lie beyond its tree.")
    if (sizes < 1).any() or (codes < 0).any() or (codes >= MOST_CATEGORIES).any():
        raise ValueError(f"expected categories from 0 to {MOST_CATEGORIES - 1}.")
    found = dict(zip(CATEGORIES, (codes, nodes, starts, sizes), strict=True)) | {
        "split_type": split_type
    }
    return {name: array.tolist() for name, array in found.items()}


def _check_links(left: Any, right: Any, parents: Any) -> npt.NDArray[np.bool_]:
    """Which nodes hang at the root; raises unless they are a tree and all others are leaves."""
    n_nodes = len(left)
    splits = np.flatnonzero(left != NO_CHILD)
    children = np.concatenate([left[splits], right[splits]])
    if (
        (children <= 0).any()
        or (children >= n_nodes).any()
        or (right[left == NO_CHILD] != NO_CHILD).any()
    ):
        raise ValueError("a child lies beyond its tree.")
    if len(np.unique(children)) < len(children):
        raise ValueError("two nodes of a tree share a child.")
    if (parents[children] != np.concatenate([splits, splits])).any() or parents[0] != NO_PARENT:
        raise ValueError("children and parents of a tree do not agree.")
    if ((parents[1:] < 0) | (parents[1:] >= n_nodes)).any():
        raise ValueError("a parent lies beyond its tree.")
    is_kept = np.zeros(n_nodes, dtype=np.bool_)
    level = np.array([0])
    while len(level):  # a node has one parent, so no node comes twice
        is_kept[level] = True
        level = level[left[level] != NO_CHILD]
        level = np.concatenate([left[level], right[level]])
    if not is_kept[splits].all():
        raise ValueError("a split does not hang at the root.")
    return is_kept


def _as_list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError("expected a list.")
    return values


def _as_count(text: Any) -> int:
    """A whole number that is kept as text."""
    if (
        not isinstance(text, str)
        or not text.isascii()
        or not text.isdigit()
        or int(text[:20]) > LARGEST
    ):
        raise ValueError("expected a count.")
    return int(text)


def _as_integers(values: Any) -> npt.NDArray[np.int64]:
    array = np.array(_as_list(values) or np.empty(0, dtype=np.int64))
    if (
        array.ndim != 1
        or array.dtype.kind != "i"
        or (array < -LARGEST).any()
        or (array > LARGEST).any()
    ):
        raise ValueError("expected a list of whole numbers.")
    return array.astype(np.int64)


def _as_numbers(values: Any) -> npt.NDArray[np.float64]:
    """Numbers that 32-bit floats can hold."""
    array = np.array(_as_list(values) or np.empty(0))
    if (
        array.ndim != 1
        or array.dtype.kind not in "if"
        or not (np.abs(array) <= np.finfo(np.float32).max).all()
    ):
        raise ValueError("expected a list of numbers.")
    return array.astype(np.float64)
