"""When the boosters of folds stop: where the other folds' rows, which neither of them predicts, are predicted best.

A booster that stopped where its own fold is predicted best would predict that one too well: on pure
noise as if a tenth of the variance could be explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marginwood._base import Rows
from marginwood.intervals import FloatArray, IntArray

__all__ = ["find_watchers", "is_staged", "keep_stages"]


def is_staged(estimator: Any) -> bool:
    """Whether it is a booster that stops early."""
    can_stop = getattr(estimator, "_fit_stages", None) is not None
    return can_stop and estimator.n_iter_no_change is not None


def find_watchers(rows: Rows, tests: list[IntArray]) -> FloatArray:
    """For each fold the weights of those that say how many stages its booster keeps.

    They share no unseen row with it, and weigh what their informative rows do. Where there is none,
    as for a single fold, a booster holds out rows of its own.
    """
    weight = np.where(rows.is_informative, rows.weight, 0.0)
    unseen = np.zeros((len(tests), len(weight)), np.float32)
    for fold, test in enumerate(tests):
        unseen[fold, test[weight[test] > 0]] = 1.0
    total = unseen @ (weight / max(weight.max(), np.finfo(float).tiny))
    is_apart = unseen @ unseen.T == 0
    return np.where(is_apart & (total[:, np.newaxis] > 0), total, 0.0)


def keep_stages(models: Mapping[Any, Any]) -> None:
    """Cut the boosters of folds where the losses of those that watch them have the least mean.

    A curve of losses that has ended stays where it was.
    """
    watched = {
        fold: model for fold, model in models.items() if fold.is_watched and is_staged(model)
    }
    curves = [model.validation_score_ for model in watched.values()]
    n_stages = max(map(len, curves), default=0)
    losses = np.array([np.pad(curve, (0, n_stages - len(curve)), "edge") for curve in curves])
    numbers = [number for number, fold in enumerate(models) if fold in watched]
    for fold, model in watched.items():
        mean = fold.watchers[numbers] @ losses
        model._keep_stages(int(np.argmin(mean)) + 1)
