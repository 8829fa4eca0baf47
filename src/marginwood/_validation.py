"""Rows held out while a booster trains: they say when to stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marginwood._base import Rows, check_features, check_rows
from marginwood._support.checks import check_count, check_number
from marginwood.intervals import BoolArray

__all__ = [
    "BOOSTER_NAMES",
    "VALIDATION_NAMES",
    "check_early_stopping",
    "check_pair",
    "check_validation",
    "draw_held_out",
    "hold_out",
    "stop_early",
]

# What other libraries call arguments of all boosters here, and those of their `fit`.
BOOSTER_NAMES = {
    "early_stopping_rounds": "n_iter_no_change",
    "early_stopping": "n_iter_no_change, the number of rounds to wait, or None",
    "max_iter": "n_estimators",
}
VALIDATION_NAMES = {
    "eval_set": "X_val and y_val",
    "sample_weight_eval_set": "sample_weight_val",
    "validation_data": "X_val and y_val",
    "early_stopping_rounds": "n_iter_no_change of the constructor",
}


def check_early_stopping(patience: Any, validation_fraction: Any) -> None:
    """Raise unless `n_iter_no_change` is None or a count, and the fraction a share."""
    if patience is not None:
        check_count("n_iter_no_change", patience, 1, otherwise=" or None")
    check_number(
        "validation_fraction",
        validation_fraction,
        "a number between 0 and 1",
        lambda share: 0 < share < 1,
    )


def check_pair(X_val: Any, y_val: Any) -> None:
    """Raise unless there are features and targets to validate with, or neither."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val: expected both or neither.")


def check_validation(estimator: Any, X_val: Any, y_val: Any, sample_weight_val: Any) -> Rows | None:
    """Validation data that came as arguments of `fit`, checked; None if there are none."""
    check_pair(X_val, y_val)
    if X_val is None:
        return None
    X_val = check_features(estimator, X_val)
    return check_rows(X_val, y_val, sample_weight_val)


def hold_out(training: Rows, fraction: float, seed: int) -> tuple[Rows, Rows | None]:
    """Split off a random share of the informative rows, for validation; rows of weight 0 count as absent.

    A single informative row is not held out.
    """
    training = training.weighted()
    candidates = np.any(np.isfinite(training.intervals), axis=1)
    if candidates.sum() == 1:
        return training, None
    held_out = draw_held_out(candidates, fraction, seed)
    return training.take(~held_out), training.take(held_out)


def stop_early(booster: Any) -> Any:
    """Keep the stages of a booster that has a patience up to the one of the least validation loss."""
    if len(booster.validation_score_) and booster.n_iter_no_change is not None:
        booster._keep_stages(int(np.argmin(booster.validation_score_)) + 1)
    return booster


def draw_held_out(candidates: BoolArray, fraction: float, seed: int) -> BoolArray:
    """Which rows are held out: a random share of the candidates."""
    rows = np.flatnonzero(candidates)
    n_held_out = math.ceil(fraction * len(rows))
    if n_held_out >= len(rows):
        raise ValueError(
            f"validation_fraction: expected a share that leaves rows to train on, got {fraction} of {len(rows)}."
        )
    held_out = np.zeros(len(candidates), dtype=np.bool_)
    held_out[np.random.RandomState(seed).permutation(rows)[:n_held_out]] = True
    return held_out
