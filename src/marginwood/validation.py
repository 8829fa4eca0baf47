"""Rows held out while a booster trains: they say when to stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marginwood.base import Rows, check_features, check_rows
from marginwood.checks import check_count, check_number

__all__ = ["check_early_stopping", "check_validation", "hold_out"]


def check_early_stopping(name: str, patience: Any, validation_fraction: Any) -> None:
    """Raise unless `patience`, the parameter called `name`, is None or a count, and the fraction a share."""
    if patience is not None:
        check_count(name, patience, 1, otherwise=" or None")
    check_number("validation_fraction", validation_fraction, "a number between 0 and 1", lambda share: 0 < share < 1)


def check_validation(estimator: Any, X_val: Any, y_val: Any, sample_weight_val: Any) -> Rows | None:
    """Validation data that came as arguments of `fit`, checked; None if there are none."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val: expected both or neither.")
    if X_val is None:
        return None
    X_val = check_features(estimator, X_val)
    return check_rows(X_val, y_val, sample_weight_val)


def hold_out(training: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Split off a random share of the rows, for validation; rows of weight 0 count as absent."""
    training = training.weighted()
    n_rows = len(training.X)
    n_held_out = math.ceil(fraction * n_rows)
    if n_held_out >= n_rows:
        raise ValueError(f"validation_fraction: {fraction} of {n_rows} samples leaves none to train on.")
    rows = np.random.RandomState(seed).permutation(n_rows)
    kept, held_out = training.take(np.sort(rows[n_held_out:])), training.take(np.sort(rows[:n_held_out]))
    if not np.isfinite(kept.intervals).any():
        raise ValueError(
            f"validation_fraction: all {len(kept.X)} samples that {fraction} leaves to train on are (-inf, inf). Pass "
            "validation data of your own, or a smaller share."
        )
    return kept, held_out
