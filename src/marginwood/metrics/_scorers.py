"""Scorers by name, for the ``scoring`` arguments of scikit-learn and of this package; greater is better.

Those of distributions ask the estimator for ``predict_distribution(X)``. The one of the CRPS
integrates from the least to the greatest limit of the rows that it scores. The one of the pinball
loss asks it which quantile it predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from sklearn.metrics import make_scorer
from sklearn.pipeline import Pipeline

from marginwood._support.checks import check_choice
from marginwood.metrics._brier import integrated_interval_brier_score
from marginwood.metrics._distributions import interval_crps, interval_log_loss
from marginwood.metrics._points import (
    interval_accuracy,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
)
from marginwood.metrics._probabilities import check_target, limit_range
from marginwood.metrics._ranking import (
    interval_concordance_index,
    target_interval_auc,
    target_interval_aum,
)

__all__ = [
    "SCORERS",
    "AverageLoss",
    "average_loss_of",
    "default_scoring",
    "get_scorer",
    "quantile_of",
    "scorer_for",
]

Metric: TypeAlias = Callable[..., float]
RowLoss: TypeAlias = Literal["squared_distance", "distance", "miss"]


class DistributionScorer:
    """A scorer ``scorer(estimator, X, y)``: minus a loss of what ``estimator.predict_distribution(X)`` returns."""

    def __init__(self, loss: Metric) -> None:
        self._loss = loss

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the loss."""
        return -self._loss(y, _predict_distribution(estimator, X), sample_weight=sample_weight)

    def __repr__(self) -> str:
        return f"DistributionScorer({self._loss.__name__})"


def _predict_distribution(estimator: Any, X: Any) -> Any:
    """Predict with an estimator, or with the last one of a pipeline, which does not pass this method on."""
    if isinstance(estimator, Pipeline):
        features = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return _predict_distribution(estimator[-1], features)
    if not hasattr(estimator, "predict_distribution"):
        raise TypeError(
            f"estimator: this score expected one with a method predict_distribution, got {type(estimator).__name__}. "
            "Score its predictions instead, for example by 'neg_interval_mean_squared_error'."
        )
    return estimator.predict_distribution(X)


def quantile_of(estimator: Any) -> float | None:
    """The quantile that an estimator predicts, or the last one of a pipeline; None if it knows nothing of quantiles."""
    if isinstance(estimator, Pipeline):
        return quantile_of(estimator[-1])
    quantile = getattr(estimator, "quantile", None)
    if isinstance(quantile, float):
        return quantile
    for name in ("best_estimator_", "estimator", "regressor"):  # of what wraps a model
        if hasattr(estimator, name):
            return quantile_of(getattr(estimator, name))
    return None


class QuantileScorer:
    """A scorer ``scorer(estimator, X, y)``: minus the pinball loss of the quantile that the estimator predicts."""

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the loss."""
        score: float = scorer_for(estimator, self)(estimator, X, y, sample_weight=sample_weight)
        return score

    def __repr__(self) -> str:
        return "QuantileScorer()"


def default_scoring(estimator: Any) -> str:
    """What models are chosen by: the pinball loss of a quantile that is not the median, else squared distances."""
    is_mean = quantile_of(estimator) in (None, 0.5)
    return "neg_interval_mean_squared_error" if is_mean else "neg_interval_pinball_loss"


def scorer_for(estimator: Any, scorer: Metric) -> Metric:
    """A scorer, with the quantile of an estimator if it asks for that."""
    if not isinstance(scorer, QuantileScorer):
        return scorer
    quantile = quantile_of(estimator)
    if quantile is None:
        raise TypeError(
            f"estimator: this score expected one with a quantile, got {type(estimator).__name__}. Say which one it "
            "predicts: make_scorer(interval_pinball_loss, quantile=0.9, greater_is_better=False)."
        )
    return make_scorer(interval_pinball_loss, greater_is_better=False, quantile=quantile)


def interval_crps_between_limits(
    y_true: Any, distribution: Any, *, sample_weight: Any = None
) -> float:
    """The CRPS from the least to the greatest limit of the target: finite also if some mass lies beyond."""
    intervals, weight = check_target(y_true, sample_weight)
    return interval_crps(
        intervals, distribution, span=limit_range(intervals, weight), sample_weight=weight
    )


SCORERS: dict[str, Metric] = {
    "neg_interval_mean_squared_error": make_scorer(
        interval_mean_squared_error, greater_is_better=False
    ),
    "neg_interval_mean_absolute_error": make_scorer(
        interval_mean_absolute_error, greater_is_better=False
    ),
    "neg_interval_pinball_loss": QuantileScorer(),
    "interval_accuracy": make_scorer(interval_accuracy),
    "interval_d2": make_scorer(interval_d2_score),
    "interval_concordance_index": make_scorer(interval_concordance_index),
    "target_interval_auc": make_scorer(target_interval_auc),
    "neg_target_interval_aum": make_scorer(target_interval_aum, greater_is_better=False),
    "neg_interval_log_loss": DistributionScorer(interval_log_loss),
    "neg_interval_crps": DistributionScorer(interval_crps_between_limits),
    "neg_integrated_interval_brier_score": DistributionScorer(integrated_interval_brier_score),
}


class AverageLoss(NamedTuple):
    """A score that is ``best`` minus the weighted mean of one loss per row.

    The loss of a row is the distance of its prediction to its interval, that distance squared, or 1
    for a prediction outside of the interval (a miss). A distance costs one of two `prices` per
    unit, the first if the prediction is below the interval, the second if it is above.
    """

    best: float
    row_loss: RowLoss
    prices: tuple[float, float] = (1.0, 1.0)


# What a scorer that averages is made of: its metric and its sign; and the score that it is then.
_AVERAGES = (
    (interval_mean_squared_error, -1, AverageLoss(0.0, "squared_distance")),
    (interval_mean_absolute_error, -1, AverageLoss(0.0, "distance")),
    (interval_accuracy, 1, AverageLoss(1.0, "miss")),
)


def get_scorer(scoring: str | Metric) -> Metric:
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
    check_choice("scoring", scoring, SCORERS)
    return SCORERS[scoring]


def average_loss_of(scorer: Any) -> AverageLoss | None:
    """Return which loss per row a scorer averages, or None for one that is not known to average any.

    A scorer is recognised by what it computes: one that a user made of the same metric, or that was
    pickled or copied, averages the same loss.
    """
    # scikit-learn keeps these attributes private. Where one is missing or holds something else, the
    # answer is None.
    if type(scorer) is not type(SCORERS["interval_accuracy"]):
        return None
    if getattr(scorer, "_response_method", None) != "predict":
        return None
    options = getattr(scorer, "_kwargs", None)
    score_func = getattr(scorer, "_score_func", None)
    sign = getattr(scorer, "_sign", None)
    if score_func is interval_pinball_loss and sign == -1 and options is not None:
        quantile = options.get("quantile")
        if options.keys() == {"quantile"} and isinstance(quantile, float):
            return AverageLoss(0.0, "distance", (quantile, 1 - quantile))
    if options != {}:
        return None
    for metric, metric_sign, average in _AVERAGES:
        if score_func is metric and sign == metric_sign:
            return average
    return None
