"""Scorers by name, for the ``scoring`` arguments of scikit-learn and of this package; greater is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from sklearn.metrics import make_scorer

from marginwood.metrics._points import (
    interval_accuracy,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.metrics._ranking import interval_concordance_index, target_interval_auc, target_interval_aum

__all__ = ["SCORERS", "AverageLoss", "average_loss_of", "get_scorer"]

RowLoss: TypeAlias = Literal["squared_distance", "distance", "miss"]

SCORERS: dict[str, Callable[..., float]] = {
    "neg_interval_mean_squared_error": make_scorer(interval_mean_squared_error, greater_is_better=False),
    "neg_interval_mean_absolute_error": make_scorer(interval_mean_absolute_error, greater_is_better=False),
    "interval_accuracy": make_scorer(interval_accuracy),
    "interval_d2": make_scorer(interval_d2_score),
    "interval_concordance_index": make_scorer(interval_concordance_index),
    "target_interval_auc": make_scorer(target_interval_auc),
    "neg_target_interval_aum": make_scorer(target_interval_aum, greater_is_better=False),
}


class AverageLoss(NamedTuple):
    """A score that is ``best`` minus the weighted mean of one loss per row.

    The loss of a row is the distance of its prediction to its interval, that distance squared, or 1 for a
    prediction outside of the interval (a miss).
    """

    best: float
    row_loss: RowLoss


# What a scorer that averages is made of: its metric and its sign; and the score that it is then.
_AVERAGES = (
    (interval_mean_squared_error, -1, AverageLoss(0.0, "squared_distance")),
    (interval_mean_absolute_error, -1, AverageLoss(0.0, "distance")),
    (interval_accuracy, 1, AverageLoss(1.0, "miss")),
)


def get_scorer(scoring: str | Callable[..., float]) -> Callable[..., float]:
    """Return a scorer for scikit-learn's ``scoring`` arguments by its name.

    Parameters
    ----------
    scoring : str or callable
        A key of ``SCORERS``; a callable ``scorer(estimator, X, y)`` is returned as it is.

    Returns
    -------
    callable
        The scorer; greater is better.

    Examples
    --------
    >>> from marginwood.metrics import get_scorer
    >>> get_scorer("interval_d2")
    make_scorer(interval_d2_score, response_method='predict')
    """
    if callable(scoring):
        return scoring
    if scoring not in SCORERS:
        raise ValueError(f"scoring: accepted are {', '.join(SCORERS)}; got {scoring!r}.")
    return SCORERS[scoring]


def average_loss_of(scorer: Any) -> AverageLoss | None:
    """Return which loss per row a scorer averages, or None for one that is not known to average any.

    A scorer is recognised by what it computes: one that a user made of the same metric, or that was pickled or
    copied, averages the same loss.
    """
    # scikit-learn keeps these attributes private. Where one is missing or holds something else, the answer is None.
    if type(scorer) is not type(SCORERS["interval_accuracy"]):
        return None
    if getattr(scorer, "_kwargs", None) != {} or getattr(scorer, "_response_method", None) != "predict":
        return None
    score_func, sign = getattr(scorer, "_score_func", None), getattr(scorer, "_sign", None)
    for metric, metric_sign, average in _AVERAGES:
        if score_func is metric and sign == metric_sign:
            return average
    return None
