"""Monotone effects as users name them: `monotonic_cst`, for each feature or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["effects_of"]

EXPECTED = "-1, 0 or 1 for each feature, as a sequence or as a dict by the names of features"


def effects_of(estimator: Any) -> tuple[int, ...] | None:
    """The effect of each feature; None if every feature may do anything."""
    given = estimator.monotonic_cst
    if given is None:
        return None
    n_features = estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None)
    categories = getattr(estimator, "categories_", None)
    if isinstance(given, Mapping):
        given = _by_index(given, names, n_features)
    if isinstance(given, str) or np.ndim(given) != 1:
        raise TypeError(f"monotonic_cst: expected {EXPECTED}, got {given!r}.")
    if len(given) != n_features:
        raise ValueError(
            f"monotonic_cst: expected {EXPECTED}: {n_features} entries, got {len(given)}."
        )
    for idx, effect in enumerate(given):
        if effect not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst: expected {EXPECTED}, got {effect!r} for feature {idx}."
            )
        if effect != 0 and categories is not None and categories[idx] is not None:
            name = repr(idx if names is None else names[idx])
            raise ValueError(
                f"monotonic_cst: feature {name} holds categories, which have no direction; expected 0."
            )
    effects = tuple(int(effect) for effect in given)
    return effects if any(effects) else None


def _by_index(given: Mapping[Any, Any], names: Any, n_features: int) -> list[Any]:
    if names is None:
        raise ValueError(
            "monotonic_cst: expected a sequence, since X has no feature names; got a dict."
        )
    known = names.tolist()
    unknown = [name for name in given if name not in known]
    if unknown:
        shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(
            f"monotonic_cst: expected names of features of X ({shown}), got {unknown[0]!r}."
        )
    effects: list[Any] = [0] * n_features
    for name, effect in given.items():
        effects[known.index(name)] = effect
    return effects
