"""When a tree stops growing: rules as values, counted for given data only when a tree is grown.

Names and meanings are scikit-learn's. A parameter may be a count (an integer) or a share (a float).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwood._support.checks import (
    check_choice,
    check_count,
    check_not_negative,
    check_number,
    is_integer,
)
from marginwood.losses import LOSSES, Loss, check_loss

if TYPE_CHECKING:
    from marginwood._core.search import Options

__all__ = ["AGGREGATIONS", "UNBOUNDED", "Rules", "count_draws", "most_draws"]

AGGREGATIONS = ("mean", "median")
FEATURE_RULES: dict[Any, Callable[[int], float]] = {"sqrt": math.sqrt, "log2": math.log2}
UNBOUNDED = 2**31 - 1  # beyond any depth and any number of samples


class Rules(NamedTuple):
    """What a tree minimises and when it stops: the parameters of `MaxMarginIntervalTree`, but for its seed."""

    loss: Loss = "squared_hinge"
    margin: float = 0.0
    quantile: float = 0.5
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    max_features: int | float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    anchor: float = 0.0
    monotonic_cst: Any = None

    @classmethod
    def of(cls, estimator: Any, **known: Any) -> Rules:
        """The checked parameters of an estimator, save what is known already; what it has none for stays open."""
        found = {name: getattr(estimator, name) for name in cls._fields if hasattr(estimator, name)}
        return cls(**(found | known)).checked()

    @property
    def losses(self) -> list[Loss]:
        """The losses that a search tries: both, unless a quantile asks for the linear one."""
        return list(LOSSES) if self.quantile == 0.5 else [self.loss]

    def checked(self) -> Rules:
        """The rules, if all of them are sound; otherwise an error that names the parameter."""
        check_loss(self.loss, self.margin, self.quantile)
        for name in ("ccp_alpha", "anchor"):
            check_not_negative(name, getattr(self, name))
        decrease = self.min_impurity_decrease
        check_number(
            "min_impurity_decrease",
            decrease,
            "a finite number >= 0",
            lambda number: 0 <= number < math.inf,
        )
        for name, least in (("max_depth", 1), ("max_leaf_nodes", 2)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least, otherwise=" or None")
        _check_count_or_share("min_samples_split", self.min_samples_split, 2)
        _check_count_or_share("min_samples_leaf", self.min_samples_leaf, 1)
        _check_max_features(self.max_features)
        return self

    def options(self, n_samples: int, n_features: int, total_weight: float) -> Options:
        """Sound rules as counts, for the kernels."""
        from marginwood._core.search import Options

        return Options(
            max_depth=UNBOUNDED if self.max_depth is None else min(int(self.max_depth), UNBOUNDED),
            min_samples_split=_count(self.min_samples_split, n_samples, 2),
            min_samples_leaf=_count(self.min_samples_leaf, n_samples, 1),
            max_leaf_nodes=0
            if self.max_leaf_nodes is None
            else min(int(self.max_leaf_nodes), UNBOUNDED),
            min_decrease=float(self.min_impurity_decrease) * float(total_weight),
            max_features=self._count_features(n_features),
        )

    def signs(self, n_features: int) -> npt.NDArray[np.int8]:
        """The effect of each feature, as -1, 0 or 1; `monotonic_cst` must be that of the data."""
        effects = np.zeros(n_features) if self.monotonic_cst is None else self.monotonic_cst
        return np.array(effects, dtype=np.int8)

    def _count_features(self, n_features: int) -> int:
        value = self.max_features
        if value is None:
            return n_features
        if isinstance(value, str):
            return max(1, int(FEATURE_RULES[value](n_features)))
        return min(int(value), n_features) if is_integer(value) else max(1, int(value * n_features))


def count_draws(estimator: Any, n_samples: int) -> int:
    """How many rows a tree of a forest draws, from the checked parameters of the forest; 0 is all rows, undrawn."""
    check_count("n_estimators", estimator.n_estimators, 1)
    check_choice("aggregation", estimator.aggregation, AGGREGATIONS)
    max_samples = 1.0 if estimator.max_samples is None else estimator.max_samples
    _check_count_or_share("max_samples", max_samples, 1)
    if estimator.bootstrap:
        n_draws, most = _count(max_samples, n_samples, 1), most_draws(n_samples)
        if n_draws > most:
            raise ValueError(
                f"max_samples: expected at most {most} draws from {n_samples} rows, got {n_draws}."
            )
        return n_draws
    if estimator.max_samples is not None:
        raise ValueError(
            "max_samples: nothing is drawn without bootstrap; set bootstrap=True or max_samples=None."
        )
    if estimator.oob_score:
        raise ValueError(
            "oob_score: every tree has all rows without bootstrap; set bootstrap=True."
        )
    return 0


def most_draws(n_samples: int) -> int:
    """The most draws of one tree, which predictions of distributions repeat: a file could ask for any number."""
    return 1000 * max(n_samples, 1000)


def _is_count_or_share(least: int) -> Callable[[Any], bool]:
    return lambda number: number >= least if is_integer(number) else 0 < number <= 1


def _check_count_or_share(name: str, value: Any, least: int) -> None:
    expected = f"an integer >= {least} or a float in (0, 1] for a share of the samples"
    check_number(name, value, expected, _is_count_or_share(least))


def _check_max_features(value: Any) -> None:
    expected = 'an integer >= 1, a float in (0, 1], "sqrt", "log2" or None'
    if isinstance(value, str):
        if value not in FEATURE_RULES:
            raise ValueError(f"max_features: expected {expected}, got {value!r}.")
    elif value is not None:
        check_number("max_features", value, expected, _is_count_or_share(1))


def _count(value: int | float, n_samples: int, least: int) -> int:
    return (
        min(int(value), UNBOUNDED)
        if is_integer(value)
        else max(least, math.ceil(value * n_samples))
    )
