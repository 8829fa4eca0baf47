"""When a tree stops growing: checks of the parameters that all trees share.

Names and meanings are scikit-learn's. A parameter may be a count (an integer) or a share (a float).
"""

from __future__ import annotations

import math
import numbers
from typing import Any

from marginwood._core.grow import Options

AGGREGATIONS = ("mean", "median")
UNBOUNDED = 2**31 - 1  # beyond any depth and any number of samples


def growing_options(estimator: Any, n_samples: int, n_features: int, total_weight: float) -> Options:
    """Turn the checked parameters of an estimator into the core's `Options`."""
    max_leaf_nodes, max_depth = estimator.max_leaf_nodes, estimator.max_depth
    return Options(
        max_depth=UNBOUNDED if max_depth is None else _count("max_depth", max_depth, 1),
        min_samples_split=_count_or_share("min_samples_split", estimator.min_samples_split, n_samples, 2),
        min_samples_leaf=_count_or_share("min_samples_leaf", estimator.min_samples_leaf, n_samples, 1),
        max_leaf_nodes=0 if max_leaf_nodes is None else _count("max_leaf_nodes", max_leaf_nodes, 2),
        min_decrease=_not_negative("min_impurity_decrease", estimator.min_impurity_decrease) * float(total_weight),
        max_features=_max_features(estimator.max_features, n_features),
    )


def count_draws(estimator: Any, n_samples: int) -> int:
    """How many rows a tree of a forest draws, from the checked parameters of the forest; 0 is all rows, undrawn."""
    if not _is_integer(estimator.n_estimators):
        raise TypeError(f"n_estimators: expected an integer >= 1, got {estimator.n_estimators!r}.")
    if estimator.n_estimators < 1:
        raise ValueError(f"n_estimators: expected an integer >= 1, got {estimator.n_estimators!r}.")
    if estimator.aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation: expected one of {AGGREGATIONS}, got {estimator.aggregation!r}.")
    max_samples = 1.0 if estimator.max_samples is None else estimator.max_samples
    n_draws = _count_or_share("max_samples", max_samples, n_samples, 1)
    if estimator.bootstrap:
        return n_draws
    if estimator.max_samples is not None:
        raise ValueError("max_samples: nothing is drawn without bootstrap; set bootstrap=True or max_samples=None.")
    if estimator.oob_score:
        raise ValueError("oob_score: every tree has all rows without bootstrap; set bootstrap=True.")
    return 0


def check_ccp_alpha(value: Any) -> None:
    """Raise unless the cost of a leaf is a number that is not negative; infinity prunes to the root."""
    if not _is_real(value):
        raise TypeError(f"ccp_alpha: expected a number >= 0, got {value!r}.")
    if not value >= 0:
        raise ValueError(f"ccp_alpha: expected a number >= 0, got {value!r}.")


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _count(name: str, value: Any, least: int) -> int:
    if not _is_integer(value):
        raise TypeError(f"{name}: expected an integer >= {least} or None, got {value!r}.")
    if value < least:
        raise ValueError(f"{name}: expected an integer >= {least} or None, got {value!r}.")
    return min(int(value), UNBOUNDED)


def _count_or_share(name: str, value: Any, n_samples: int, least: int) -> int:
    expected = f"an integer >= {least} or a float in (0, 1] for a share of the samples"
    if not _is_real(value):
        raise TypeError(f"{name}: expected {expected}, got {value!r}.")
    if _is_integer(value):
        if value < least:
            raise ValueError(f"{name}: expected {expected}, got {value!r}.")
        return min(int(value), UNBOUNDED)
    if not 0 < value <= 1:
        raise ValueError(f"{name}: expected {expected}, got {value!r}.")
    return max(least, math.ceil(value * n_samples))


def _not_negative(name: str, value: Any) -> float:
    if not _is_real(value):
        raise TypeError(f"{name}: expected a finite number >= 0, got {value!r}.")
    if not 0 <= value < math.inf:
        raise ValueError(f"{name}: expected a finite number >= 0, got {value!r}.")
    return float(value)


def _max_features(value: Any, n_features: int) -> int:
    expected = 'an integer >= 1, a float in (0, 1], "sqrt", "log2" or None'
    if value is None:
        return n_features
    if isinstance(value, str):
        if value == "sqrt":
            return max(1, int(math.sqrt(n_features)))
        if value == "log2":
            return max(1, int(math.log2(n_features)))
        raise ValueError(f"max_features: expected {expected}, got {value!r}.")
    if not _is_real(value):
        raise TypeError(f"max_features: expected {expected}, got {value!r}.")
    if _is_integer(value):
        if value < 1:
            raise ValueError(f"max_features: expected {expected}, got {value!r}.")
        return min(int(value), n_features)
    if not 0 < value <= 1:
        raise ValueError(f"max_features: expected {expected}, got {value!r}.")
    return max(1, int(value * n_features))
