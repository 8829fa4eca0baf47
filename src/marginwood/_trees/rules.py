"""When a tree stops growing: checks of the parameters that all trees share.

Names and meanings are scikit-learn's. A parameter may be a count (an integer) or a share (a float).
"""

from __future__ import annotations

import math
from typing import Any

from marginwood._core.grow import Options
from marginwood._support.checks import check_count, check_number, is_integer

AGGREGATIONS = ("mean", "median")
UNBOUNDED = 2**31 - 1  # beyond any depth and any number of samples


def growing_options(estimator: Any, n_samples: int, n_features: int, total_weight: float) -> Options:
    """Turn the checked parameters of an estimator into the core's `Options`."""
    max_leaf_nodes, max_depth = estimator.max_leaf_nodes, estimator.max_depth
    min_decrease = estimator.min_impurity_decrease
    check_number("min_impurity_decrease", min_decrease, "a finite number >= 0", lambda number: 0 <= number < math.inf)
    return Options(
        max_depth=UNBOUNDED if max_depth is None else _count("max_depth", max_depth, 1),
        min_samples_split=_count_or_share("min_samples_split", estimator.min_samples_split, n_samples, 2),
        min_samples_leaf=_count_or_share("min_samples_leaf", estimator.min_samples_leaf, n_samples, 1),
        max_leaf_nodes=0 if max_leaf_nodes is None else _count("max_leaf_nodes", max_leaf_nodes, 2),
        min_decrease=float(min_decrease) * float(total_weight),
        max_features=_max_features(estimator.max_features, n_features),
    )


def count_draws(estimator: Any, n_samples: int) -> int:
    """How many rows a tree of a forest draws, from the checked parameters of the forest; 0 is all rows, undrawn."""
    check_count("n_estimators", estimator.n_estimators, 1)
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
    check_number("ccp_alpha", value, "a number >= 0", lambda number: number >= 0)


def _count(name: str, value: Any, least: int) -> int:
    return min(check_count(name, value, least, otherwise=" or None"), UNBOUNDED)


def _count_or_share(name: str, value: Any, n_samples: int, least: int) -> int:
    expected = f"an integer >= {least} or a float in (0, 1] for a share of the samples"
    _check_count_or_share(name, value, expected, least)
    return min(int(value), UNBOUNDED) if is_integer(value) else max(least, math.ceil(value * n_samples))


def _check_count_or_share(name: str, value: Any, expected: str, least: int) -> None:
    check_number(name, value, expected, lambda number: number >= least if is_integer(number) else 0 < number <= 1)


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
    _check_count_or_share("max_features", value, expected, 1)
    return min(int(value), n_features) if is_integer(value) else max(1, int(value * n_features))
