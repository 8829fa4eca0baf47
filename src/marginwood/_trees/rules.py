"""When a tree stops growing: rules as values, counted for given data only when a tree is grown.

Names and meanings are scikit-learn's. A parameter may be a count (an integer) or a share (a float).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from marginwood._core.grow import Options
from marginwood._support.checks import check_choice, check_count, check_number, is_integer
from marginwood.losses import Loss, check_loss

__all__ = ["AGGREGATIONS", "Rules", "count_draws"]

AGGREGATIONS = ("mean", "median")
UNBOUNDED = 2**31 - 1  # beyond any depth and any number of samples


class Rules(NamedTuple):
    """What a tree minimises and when it stops: the parameters of `MaxMarginIntervalTree`, but for its seed."""

    loss: Loss = "squared_hinge"
    margin: float = 0.0
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    max_features: int | float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0

    def checked(self) -> Rules:
        """The rules, if all of them are sound; otherwise an error that names the parameter."""
        check_loss(self.loss, self.margin)
        check_number("ccp_alpha", self.ccp_alpha, "a number >= 0", lambda number: number >= 0)
        self.options(1, 1, 1.0)
        return self

    def options(self, n_samples: int, n_features: int, total_weight: float) -> Options:
        """The rules as counts, for the kernels."""
        check_number(
            "min_impurity_decrease",
            self.min_impurity_decrease,
            "a finite number >= 0",
            lambda number: 0 <= number < math.inf,
        )
        return Options(
            max_depth=_bound("max_depth", self.max_depth, 1, UNBOUNDED),
            min_samples_split=_count_or_share("min_samples_split", self.min_samples_split, n_samples, 2),
            min_samples_leaf=_count_or_share("min_samples_leaf", self.min_samples_leaf, n_samples, 1),
            max_leaf_nodes=_bound("max_leaf_nodes", self.max_leaf_nodes, 2, 0),
            min_decrease=float(self.min_impurity_decrease) * float(total_weight),
            max_features=_max_features(self.max_features, n_features),
        )


def count_draws(estimator: Any, n_samples: int) -> int:
    """How many rows a tree of a forest draws, from the checked parameters of the forest; 0 is all rows, undrawn."""
    check_count("n_estimators", estimator.n_estimators, 1)
    check_choice("aggregation", estimator.aggregation, AGGREGATIONS)
    max_samples = 1.0 if estimator.max_samples is None else estimator.max_samples
    n_draws = _count_or_share("max_samples", max_samples, n_samples, 1)
    if estimator.bootstrap:
        return n_draws
    if estimator.max_samples is not None:
        raise ValueError("max_samples: nothing is drawn without bootstrap; set bootstrap=True or max_samples=None.")
    if estimator.oob_score:
        raise ValueError("oob_score: every tree has all rows without bootstrap; set bootstrap=True.")
    return 0


def _bound(name: str, value: Any, least: int, none: int) -> int:
    """A count, or what None stands for."""
    if value is None:
        return none
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
