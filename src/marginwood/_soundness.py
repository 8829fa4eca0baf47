"""What a fitted model holds, checked before anything reads it: the way in for whatever comes from a file.

Compiled code trusts its arrays. A link beyond a node table, or an interval with an end that is NaN,
makes it read beyond them. They reach it as parts of node tables, which `make_tree` checks, and as
attributes of fitted estimators: `ATTRIBUTES` names all that the package sets, arrays and others,
with a check for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from marginwood._categories import count_categories, list_indicators
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._support.checks import is_integer
from marginwood._trees.rules import UNBOUNDED, most_draws
from marginwood._trees.table import IntervalTree
from marginwood.intervals import check_intervals

if TYPE_CHECKING:
    from marginwood._core.subsets import Subsets

__all__ = ["ATTRIBUTES", "MAX_FEATURES", "check_attributes", "make_tree"]

MAX_FEATURES = 10_000_000

Nodes: TypeAlias = npt.NDArray[np.void]
# All attributes of an estimator, by name: what one must hold may depend on others.
Attributes: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[
    [Any, Attributes], Any
]  # it returns whether an attribute is sound, or raises
Predicate: TypeAlias = Callable[[Any], Any]


def check_attributes(found: Attributes) -> None:
    """Raise unless the attributes of an estimator are such as `fit` sets.

    Parameters may hold anything, since `fit` checks them, and so may attributes that the user has
    added.
    """
    for name, check in ATTRIBUTES.items():
        if name in found and not check(found[name], found):
            raise ValueError(f"{name}: not what fit would have set.")


def _own(holds: Predicate) -> Check:
    """A check that needs no other attribute."""
    return lambda value, _: holds(value)


def _is_array(value: Any, kind: Any, *lengths: int | None) -> bool:
    """Whether a value is an array of this type in C order, as kernels take it; None is any length."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == kind  # of the machine's byte order, too
        and value.flags.c_contiguous
        and value.ndim == len(lengths)
        and all(length in (None, own) for length, own in zip(lengths, value.shape, strict=True))
    )


def _array(
    *shape: int | str | None, kind: Any = np.float64, holds: Predicate = np.isfinite
) -> Check:
    """An array of which `holds` is true everywhere.

    In the shape None is any length, and a name is the length of that attribute, or the number that
    it is.
    """

    def check(value: Any, found: Attributes) -> bool:
        named: list[Any] = [
            found[length] if isinstance(length, str) else length for length in shape
        ]
        lengths = [len(length) if hasattr(length, "__len__") else length for length in named]
        return _is_array(value, kind, *lengths) and bool(np.all(holds(value)))

    return check


def _list_of(holds: Predicate) -> Predicate:
    return lambda value: isinstance(value, list) and all(map(holds, value))


def _dict_of(holds: Predicate) -> Predicate:
    """Values by name."""
    return lambda value: (
        isinstance(value, dict) and all(map(_is_name, value)) and all(map(holds, value.values()))
    )


def _is_name(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return is_integer(value) and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) is float or is_integer(value)  # JSON may have turned 2.0 into 2


def _is_finite(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value)


def _is_model(value: Any) -> bool:
    return hasattr(value, "predict")


def _is_known(values: Any) -> Any:
    return ~np.isnan(values)


def _is_share(values: Any) -> Any:
    """Whether numbers may be weights."""
    return np.isfinite(values) & (values >= 0)


def _rises(values: Any) -> Any:
    return np.isfinite(values).all() and (np.diff(values) > 0).all()


def _limits_rise(pairs: Any) -> Any:
    """Whether limits rise, and their images do not fall: rounding may give two limits one image."""
    return (
        np.isfinite(pairs).all()
        and (np.diff(pairs, axis=0) >= [np.finfo(np.float64).smallest_subnormal, 0]).all()
    )


def _anything(_: Any) -> bool:
    return True


def _check_tree(value: Any, found: Attributes) -> bool:
    if not isinstance(value, IntervalTree):
        raise ValueError("a tree has no node table.")
    n_features = found.get("n_features_in_")
    if value.n_features != n_features:
        raise ValueError(
            f"a node table is for {value.n_features} features, and its tree for {n_features!r:.60}."
        )
    return True


def _check_booster(value: Any, found: Attributes) -> bool:
    """XGBoost would take features that are not there for missing ones."""
    return bool(value.num_features() == found["n_features_in_"])


def _check_categories(value: Any, found: Attributes) -> bool:
    """Whether there is a list of different labels for each feature, or None, as many as the tree knows codes."""
    if value is not None and not (
        _list_of(_are_labels)(value) and len(value) == found["n_features_in_"]
    ):
        return False
    if "tree_" in found:
        both = count_categories(value), found["tree_"].subset_arrays().get("n_categories")
        # A feature may have no label at all: then there are no splits of categories.
        counts, known = ([] if each is None or not each.any() else each.tolist() for each in both)
        if counts != known:
            raise ValueError("categories_: a node table is for other categories than its tree.")
    return True


def _are_labels(labels: Any) -> bool:
    are_plain = _list_of(lambda label: isinstance(label, str | int | float))
    return labels is None or (are_plain(labels) and len(set(labels)) == len(labels))


def _check_weights_of_terms(value: Any, found: Attributes) -> bool:
    """Whether there is a weight for each feature, or for each category but the first."""
    categories = found.get("categories_")
    n_terms = found["n_features_in_"] if categories is None else len(list_indicators(categories))
    return _is_array(value, np.float64, max(n_terms, 1)) and bool(np.isfinite(value).all())


def _check_covariance(value: Any, found: Attributes) -> bool:
    n_parameters = len(found["coef_"]) + (2 if found.get("scale") is None else 1)
    return _is_array(value, np.float64, n_parameters, n_parameters)


def _check_weights(value: Any, found: Attributes) -> bool:
    is_sound = _dict_of(lambda weight: _is_finite(weight) and weight >= 0)(value)
    return is_sound and abs(sum(value[name] for name in found["estimators_"]) - 1) < 1e-6


def _check_codes(value: Any, found: Attributes) -> bool:
    from marginwood._trees.leafweights import find_cuts

    cuts = find_cuts([member.tree_ for member in found["estimators_"]])
    return (
        value.dtype in (np.uint8, np.uint16, np.uint32)
        and _is_array(value, value.dtype, len(found["_intervals"]), len(cuts))
        and all((value[:, idx] < len(own) + 2).all() for idx, own in enumerate(cuts))
    )


def _check_draws(value: Any, found: Attributes) -> bool:
    """Whether there is a draw for every tree; after a warm start not all need be from rows that are kept."""
    from marginwood._trees.bagging import Draw

    draws = [Draw(*draw) for draw in value]
    return len(draws) == len(found["estimators_"]) and all(
        all(map(is_integer, draw))
        and 0 <= draw.seed < 2**32
        and 0 < draw.n_samples <= UNBOUNDED
        and 0 <= draw.n_draws <= most_draws(draw.n_samples)
        for draw in draws
    )


def _check_offsets(value: Any, found: Attributes) -> bool:
    """Whether the parts of residual distributions, one for each centre, belong together."""
    from marginwood.distributions import IntervalDistribution

    distribution = IntervalDistribution(found["residual_support_"], found["residual_mass_"], value)
    return value.dtype == np.int64 and len(distribution) == len(found["centres_"])


def _check_results(value: Any, _: Attributes) -> bool:
    """Whether there are columns of one length, and the parameters of as many candidates."""
    shape = value["mean_test_score"].shape
    columns = {name: column for name, column in value.items() if name != "params"}
    params = value.get("params", [{}] * shape[0])
    return (
        _dict_of(lambda column: isinstance(column, np.ndarray) and column.shape == shape)(columns)
        and len(shape) == 1
        and len(params) == shape[0]
        and _list_of(_dict_of(_anything))(params)
    )


ATTRIBUTES: dict[str, Check] = {
    # What all estimators have, and models inside of others.
    "n_features_in_": _own(lambda value: is_integer(value) and 1 <= value <= MAX_FEATURES),
    "feature_names_in_": _array(
        "n_features_in_", kind=object, holds=lambda names: [*map(_is_name, names)]
    ),
    **dict.fromkeys(("best_estimator_", "estimator_", "regressor_", "student_"), _own(_is_model)),
    "estimators_": _own(
        lambda value: value and (_list_of(_is_model)(value) or _dict_of(_is_model)(value))
    ),
    # Trees.
    "tree_": _check_tree,
    "categories_": _check_categories,
    "booster_": _check_booster,
    "max_features_": _own(_is_count),
    "p_values_": _array(None, holds=_anything),
    # Forests.
    "_intervals": _own(
        lambda value: _is_array(value, np.float64, None, 2) and len(check_intervals(value))
    ),
    "_weight": _array("_intervals", holds=_is_share),
    "_entry": _array("_intervals", holds=lambda values: values < np.inf),
    "_codes": _check_codes,
    "_draws": _check_draws,
    "oob_prediction_": _array(None, holds=_anything),
    "oob_score_": _own(_is_number),
    # Boosting.
    "init_": _own(lambda value: _is_finite(value) or _is_model(value)),
    "margin_": _own(_is_finite),
    **dict.fromkeys(("n_estimators_", "_n_rows", "_seed"), _own(_is_count)),
    **dict.fromkeys(("train_score_", "validation_score_"), _array(None, holds=_anything)),
    "zeros_are_missing_": _own(_is_flag),
    # Linear and smooth models, and constants.
    "coef_": _check_weights_of_terms,
    "terms_": _own(_list_of(_is_name)),
    "covariance_": _check_covariance,
    "standard_errors_": _array("covariance_", holds=_anything),
    **dict.fromkeys(
        ("location_", "log_likelihood_", "null_log_likelihood_", "n_samples_", "aic_", "bic_"),
        _own(_is_finite),
    ),
    "n_groups_": _own(_is_count),
    **dict.fromkeys(("intercept_", "alpha_max_", "constant_"), _own(_is_finite)),
    "scale_": _own(lambda value: _is_finite(value) and value > 0),
    "n_iter_": _own(_is_count),
    **dict.fromkeys(("alphas_", "dual_gaps_"), _array(None)),
    "coef_path_": _array("alphas_", "n_features_in_"),
    "intercept_path_": _array("alphas_"),
    "landmarks_": _array("dual_coef_", "n_features_in_"),
    "dual_coef_": _array(None),
    "mean_": _array("n_features_in_"),
    "deviation_": _array(
        "n_features_in_", holds=lambda values: values > 0
    ),  # infinite for a constant feature
    "optimal_interval_": _own(
        lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))
    ),
    # Searches.
    **dict.fromkeys(("best_index_", "n_splits_"), _own(_is_count)),
    "best_params_": _own(_dict_of(_anything)),
    "best_score_": _own(_is_number),
    "cv_results_": _check_results,
    # Cross-fitted models and mixtures.
    "folds_": _own(_list_of(lambda rows: _is_array(rows, np.int64, None))),
    "oof_prediction_": _array(None, holds=_anything),
    "oof_score_": _own(_is_number),
    "weights_": _check_weights,
    **dict.fromkeys(("log_losses_", "_scores", "_seconds"), _own(_dict_of(_is_number))),
    "limits_": _array(None, holds=_rises),
    "_takes_finite": _own(_list_of(_is_name)),
    "_fill": _array(3, None),
    # Distributions of errors, ranges, and functions of the target.
    "centres_": _array(None, holds=_rises),
    "residual_support_": _array(None, 2, holds=_is_known),
    "residual_mass_": _array("residual_support_"),
    "residual_offsets_": _check_offsets,
    "residuals_": _array(None, 2, holds=_is_known),
    "spreads_": _array("residuals_", holds=lambda values: values >= 0),
    "calibration_idx_": _array("residuals_", kind=np.int64, holds=_anything),
    "_held_out": _array(None, "residuals_", kind=np.bool_, holds=_anything),
    "_has_trees_as_members": _own(_is_flag),
    "_limits": _array(None, 2, holds=_limits_rise),
    **dict.fromkeys(
        ("_spread", "func_", "inverse_func_"), _own(lambda value: value is None or _is_name(value))
    ),
}


def make_tree(nodes: Any, saw_missing: Any, **arrays: Any) -> IntervalTree:
    """The node table of these parts; raises unless all that kernels read of them is sound."""
    if nodes.dtype.names != NODE_DTYPE.names or any(
        nodes.dtype[name] != NODE_DTYPE[name] for name in nodes.dtype.names
    ):
        raise ValueError(f"a node table needs the columns {NODE_DTYPE.names}.")
    if nodes.ndim != 1 or not len(nodes):
        raise ValueError("a node table needs one row per node, and at least one.")
    if (
        saw_missing.dtype != np.bool_
        or saw_missing.ndim != 1
        or not 1 <= len(saw_missing) <= MAX_FEATURES
    ):
        raise ValueError("saw_missing: expected one boolean per feature.")
    _check_links(nodes)
    _check_splits(nodes, len(saw_missing))
    # The file does not keep the alignment of the table, which kernels are compiled for.
    aligned = np.empty(len(nodes), NODE_DTYPE)
    for name in NODE_DTYPE.names or ():
        aligned[name] = nodes[name]
    return IntervalTree(
        aligned, saw_missing, _make_subsets(aligned, len(saw_missing), **arrays) if arrays else None
    )


def _make_subsets(
    nodes: Nodes, n_features: int, n_categories: Any, offsets: Any, codes: Any
) -> Subsets:
    """The categories of splits; raises unless kernels can look up every split."""
    from marginwood._core.subsets import Subsets

    kinds = (n_categories, np.int64), (offsets, np.int64), (codes, np.int32)
    if any(
        not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1
        for array, dtype in kinds
    ):
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
    for name in (
        "threshold",
        "value_low",
        "value_high",
    ):  # infinite where a split parts NaN, or a side is open
        if np.isnan(nodes[name]).any():
            raise ValueError(f"a node's {name} is NaN.")
    if (nodes["n_node_samples"] < 0).any() or (nodes["weighted_n_node_samples"] < 0).any():
        raise ValueError("a node has fewer than 0 samples.")
