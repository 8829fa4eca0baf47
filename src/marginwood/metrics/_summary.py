"""Scores of rankings and of distributions, beside those of a prediction that is the same for all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from marginwood.distributions import turnbull
from marginwood.intervals import FloatArray, censoring_kind
from marginwood.losses import optimal_constant
from marginwood.metrics._brier import integrated_interval_brier_score
from marginwood.metrics._distributions import d_calibration, interval_log_loss
from marginwood.metrics._ipcw import integrated_ipcw_brier_score
from marginwood.metrics._points import interval_pinball_loss
from marginwood.metrics._ranking import interval_concordance_index, target_interval_auc
from marginwood.metrics._scorers import interval_crps_between_limits

__all__ = ["Score", "has_many_open", "score_quantile", "summarise"]

RANKINGS: dict[str, Callable[..., float]] = {
    "concordance index": interval_concordance_index,
    "target-interval AUC": target_interval_auc,
}
OF_DISTRIBUTIONS: dict[str, Callable[..., float]] = {
    "log loss": interval_log_loss,
    "CRPS": interval_crps_between_limits,
    "integrated Brier score": integrated_interval_brier_score,
    "D-calibration p-value": lambda y, distribution: d_calibration(y, distribution).p_value,
}
# Where a larger share of rows is open above, distances to intervals say little: a model of late
# values misses the few events, and lies in all other intervals.
MANY_OPEN = 0.25
# Steps give an exact value no probability, unless it was seen in training; the estimate for these
# rows has a step at each of them. And an exact value is missed whatever constant is added to its
# prediction.
OF_INTERVALS = ("log loss", "target-interval AUC")


class Score(NamedTuple):
    """A score of a model and of the same prediction for all rows; or None twice and why it is not defined."""

    name: str
    model: float | None
    constant: float | None
    reason: str = ""


def summarise(y: FloatArray, prediction: FloatArray, distribution: Any = None) -> list[Score]:
    """Scores of rankings; with distributions, those too, beside the estimate of Turnbull for these rows."""
    constant = np.full(len(y), np.median(prediction))
    scores = [_compute(name, metric, y, prediction, constant) for name, metric in RANKINGS.items()]
    if distribution is not None:
        informative = np.isfinite(y).any(axis=1)
        estimate = turnbull(y[informative]).shifted(np.zeros(len(y)))
        metrics = dict(OF_DISTRIBUTIONS)
        if set(censoring_kind(y)) == {"uncensored", "right"}:
            metrics["IPCW Brier score"] = integrated_ipcw_brier_score
        scores += [
            _compute(name, metric, y, distribution, estimate) for name, metric in metrics.items()
        ]
    return scores


def has_many_open(y: FloatArray) -> bool:
    """Whether rankings and distributions say more than distances: many rows have no upper end."""
    return bool(np.isposinf(y[:, 1]).mean() >= MANY_OPEN)


def score_quantile(y: FloatArray, prediction: FloatArray, quantile: float) -> Score:
    """The pinball loss of predicted quantiles, beside that of the best constant for these rows."""
    best = optimal_constant(y, loss="linear_hinge", quantile=quantile)
    own = interval_pinball_loss(y, prediction, quantile=quantile)
    return Score(f"pinball loss, quantile {quantile:g}", own, best.cost / 2 / len(y))


def _compute(
    name: str, metric: Callable[..., float], y: FloatArray, ours: Any, theirs: Any
) -> Score:
    n_exact = np.count_nonzero(y[:, 0] == y[:, 1])
    if name in OF_INTERVALS and n_exact:
        return Score(
            name, None, None, f"y_true: expected no exact values, got {n_exact} in {len(y)} rows."
        )
    try:
        return Score(name, metric(y, ours), metric(y, theirs))
    except ValueError as error:  # data that a score cannot rank or compare
        return Score(name, None, None, str(error))
