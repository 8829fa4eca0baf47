"""Plots of scores: the target-interval ROC, and the calibration of distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood.metrics import (
    calibration_at,
    d_calibration,
    target_interval_auc,
    target_interval_roc,
)
from marginwood.plotting._canvas import FAINT, INTERVAL, PREDICTION, SECOND, make_axes, pyplot

__all__ = ["plot_calibration", "plot_roc"]


def plot_roc(y: Any, prediction: Any, *, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw the target-interval ROC: the error rates that adding a constant to all predictions gives.

    See :func:`~marginwood.metrics.target_interval_roc`. A dot marks the predictions as they are.

    Parameters
    ----------
    y : array-like
        Intervals in any form that `fit` accepts, some with a lower and some with an upper limit.
    prediction : array-like of shape (n_samples,)
        Predictions.
    sample_weight : array-like of shape (n_samples,) or number, default=None
        Weights of the rows.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood.plotting import plot_roc
    >>> ax = plot_roc([(1, 2), (4, float("inf"))], [0.0, 1.0])
    >>> ax.get_legend().get_texts()[0].get_text()
    'AUC 0.500'
    """
    pyplot()
    fpr, tpr, thresholds = target_interval_roc(y, prediction, sample_weight=sample_weight)
    auc = target_interval_auc(y, prediction, sample_weight=sample_weight)
    ax = make_axes(ax, figsize=(4.8, 4.6))
    ax.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, linestyle="--")
    ax.plot(fpr, tpr, color=SECOND, linewidth=2.0, label=f"AUC {auc:.3f}")
    # Rates hold down to the next constant: with 0 a row counts as wrong only strictly outside of
    # its interval.
    lower_wrong, upper_right = _rates_at_zero(fpr, tpr, thresholds)
    ax.plot(
        lower_wrong,
        upper_right,
        "o",
        color=PREDICTION,
        markersize=7,
        label="predictions as they are",
        zorder=3,
    )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(
        xlabel="false positives (prediction below the interval)",
        ylabel="true positives (not above the interval)",
    )
    ax.legend(frameon=False, loc="lower right")
    return ax


def _rates_at_zero(fpr: Any, tpr: Any, thresholds: Any) -> tuple[float, float]:
    """Rates with no constant added: wrong below are the residual limits > 0, right above those >= 0."""
    n_greater = int(np.count_nonzero(thresholds > 0))
    n_at_least = int(np.count_nonzero(thresholds >= 0))
    return fpr[n_greater - 1], tpr[n_at_least - 1]


def plot_calibration(
    y: Any,
    distribution: Any,
    *,
    time: float | None = None,
    n_bins: int = 10,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw how the targets are spread over the probabilities that were predicted for them (D-calibration).

    If the distributions are right, every bin holds the same share. More at both ends than in the
    middle: they are too narrow. More on the left: the targets are less than predicted. See
    :func:`~marginwood.metrics.d_calibration`, whose p-value is in the legend.

    Parameters
    ----------
    y : array-like
        Intervals in any form that `fit` accepts.
    distribution : object
        One distribution per row, as ``model.predict_distribution(X)`` gives them, or like those of
        scipy.stats.
    time : float, default=None
        Draw the calibration at this time instead: the probability of being later, predicted and
        observed, by groups of risk with confidence intervals, see
        :func:`~marginwood.metrics.calibration_at`.
    n_bins : int, default=10
        Number of bins, or of groups of risk, at least 2.
    sample_weight : array-like of shape (n_samples,) or number, default=None
        Weights of the rows; not with a time.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from marginwood.plotting import plot_calibration
    >>> ax = plot_calibration([0.1, 0.2, 2.0, 0.5], norm(loc=[0, 0, 0, 0]), n_bins=2)
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.0, 1.0]
    """
    pyplot()
    if time is not None:
        if sample_weight is not None:
            raise ValueError("sample_weight: expected None with a time.")
        return _plot_at(calibration_at(y, distribution, time, n_groups=n_bins), time, ax)
    result = d_calibration(y, distribution, n_bins=n_bins, sample_weight=sample_weight)
    shares = result.bin_masses / result.bin_masses.sum()
    ax = make_axes(ax, figsize=(6, 3.8))
    edges = np.arange(n_bins) / n_bins
    label = f"targets (p-value {result.p_value:.2g})"
    ax.bar(edges, shares, 0.92 / n_bins, align="edge", color=INTERVAL, label=label)
    ax.axhline(1 / n_bins, color=PREDICTION, linewidth=1.6, linestyle="--", label="calibrated")
    ax.set(
        xlim=(0, 1),
        xlabel="predicted probability of at most the target",
        ylabel="share of the targets",
    )
    ax.margins(y=0.25)
    ax.legend(frameon=False, ncols=2, loc="upper right")
    return ax


def _plot_at(table: Any, time: float, ax: Any) -> Any:
    """Predicted and observed probabilities of being later, a dot for each group of risk."""
    ax = make_axes(ax, figsize=(4.8, 4.6))
    predicted, observed = np.array(table["predicted"]), np.array(table["observed"])
    ax.plot([0, 1], [0, 1], color=PREDICTION, linewidth=1.6, linestyle="--", label="calibrated")
    ax.vlines(predicted, table["lower"], table["upper"], color=INTERVAL, linewidth=2.0)
    ax.plot(predicted, observed, "o", color=SECOND, label="groups of risk, 95 %")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(
        xlabel=f"predicted probability of more than {time:g}",
        ylabel=f"observed share of more than {time:g}",
    )
    ax.legend(frameon=False, loc="upper left")
    return ax
