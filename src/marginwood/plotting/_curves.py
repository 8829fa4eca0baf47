"""Plots of distributions: the estimate of Turnbull, survival curves of rows, quantiles over a feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._drawing import survival_steps
from marginwood._fitted import Fitted, read
from marginwood._predictive import check_times
from marginwood._support.arrays import as_numbers
from marginwood.distributions import turnbull
from marginwood.intervals import FloatArray, check_intervals
from marginwood.plotting._canvas import (
    COLORMAP,
    FAINT,
    INTERVAL,
    MOST_VECTORS,
    PREDICTION,
    SECOND,
    make_axes,
    pyplot,
)
from marginwood.plotting._targets import plot_intervals

__all__ = ["plot_quantiles", "plot_survival", "plot_turnbull"]

N_TIMES = 256
MOST_NAMED = 10  # curves with a colour and a name each
N_GRID = 40  # values of a feature
MOST_ROWS = 100  # that are averaged at each


def plot_turnbull(y: Any, *, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw the estimated probability that a value is greater than t.

    It is the nonparametric maximum likelihood estimate of
    :func:`~marginwood.distributions.turnbull`. Where the intervals do not determine it, its least
    and its greatest curve are drawn and shaded between. Of right-censored rows it is the estimate
    of Kaplan and Meier, with a tick at every censored row.

    Parameters
    ----------
    y : array-like
        Intervals in any form that `fit` accepts.
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
    >>> from marginwood import from_events
    >>> from marginwood.plotting import plot_turnbull
    >>> ax = plot_turnbull(from_events([1, 2, 3, 4], [1, 0, 1, 0]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['Kaplan-Meier', 'not determined', 'censored']
    """
    pyplot()
    intervals = check_intervals(y)
    estimate = turnbull(intervals, sample_weight)
    lower, upper = intervals[np.isfinite(intervals).any(axis=1)].T
    is_censored = upper == np.inf
    is_kaplan_meier = bool(np.all(is_censored | (lower == upper)))
    ends = np.unique(intervals[np.isfinite(intervals)])
    room = 0.05 * (ends[-1] - ends[0]) or 0.1 * abs(ends[0]) or 1.0
    t, least, greatest = survival_steps(estimate, ends[0] - room, ends[-1] + room)
    ax = make_axes(ax, figsize=(7, 4.2))
    style = {"where": "post", "color": SECOND, "linewidth": 1.8}
    ax.step(t, greatest, label="Kaplan-Meier" if is_kaplan_meier else "Turnbull", **style)
    if np.any(least < greatest):
        ax.fill_between(
            t,
            least,
            greatest,
            step="post",
            color=INTERVAL,
            alpha=0.35,
            linewidth=0,
            label="not determined",
        )
        if not is_kaplan_meier:
            ax.step(t, least, **style)
    if is_kaplan_meier and is_censored.any():
        times = np.unique(lower[is_censored])
        marks = {
            "marker": "|",
            "markersize": 8,
            "linestyle": "none",
            "rasterized": len(times) > MOST_VECTORS,
        }
        ax.plot(times, estimate.sf(times, bound="upper"), color=SECOND, label="censored", **marks)
    ax.set(xlim=(t[0], t[-1]), ylim=(0, 1.02), xlabel="t", ylabel="probability of more than t")
    ax.legend(frameon=False)
    return ax


def plot_survival(model: Any, X: Any, times: Any = None, *, ax: Any = None) -> Any:
    """Draw the predicted survival functions of some rows.

    Up to ten rows have a colour each. The curves of more rows are thin lines under their mean.

    Parameters
    ----------
    model : estimator
        A fitted estimator with ``predict_survival_function``, as a forest or a
        `DistributionalIntervalRegressor`; or a pipeline or a search that ends in one.
    X : array-like of shape (n_samples, n_features)
        The rows, as the model takes them.
    times : array-like of shape (m,), default=None
        Values of the target at which to draw, in ascending order; by default 256 over the range of
        the predicted distributions, from the quantile 0.01 to 0.99.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalForest
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_survival
    >>> X, y = make_sine(random_state=0)
    >>> forest = MaxMarginIntervalForest(20, min_samples_leaf=10, random_state=0).fit(X, y)
    >>> len(plot_survival(forest, X[:3]).lines)
    3
    """
    plt = pyplot()
    fitted = _read_distributions(model)
    grid = _spread_times(fitted, X) if times is None else np.atleast_1d(check_times(times))
    curves = fitted.predict("survival_function", X, grid)
    ax = make_axes(ax, figsize=(7, 4.2))
    if len(curves) <= MOST_NAMED:
        colors = plt.get_cmap(COLORMAP)(np.linspace(0, 0.9, len(curves)))
        for row, (curve, color) in enumerate(zip(curves, colors, strict=True)):
            ax.plot(grid, curve, color=color, linewidth=1.8, label=f"row {row}")
    else:
        thin = {
            "color": FAINT,
            "linewidth": 0.7,
            "alpha": 0.6,
            "rasterized": len(curves) > MOST_VECTORS,
        }
        ax.plot(grid, curves.T, **thin)
        ax.plot([], [], color=FAINT, linewidth=0.7, label=f"{len(curves)} rows")
        ax.plot(grid, curves.mean(axis=0), color=SECOND, linewidth=2.2, label="their mean")
    ax.set(ylim=(0, 1.02), xlabel="t", ylabel="predicted probability of more than t")
    ax.legend(frameon=False)
    return ax


def _read_distributions(model: Any) -> Fitted:
    fitted = read(model)
    if not fitted.predicts("survival_function"):
        raise TypeError(
            f"model: expected an estimator that predicts distributions, got {type(fitted.estimator).__name__}; "
            "DistributionalIntervalRegressor gives any estimator one."
        )
    return fitted


def _spread_times(fitted: Fitted, X: Any) -> FloatArray:
    """Evenly spaced values over the range of predicted distributions."""
    quantiles = fitted.predict("quantile", X, np.linspace(0.01, 0.99, 99))
    finite = quantiles[np.isfinite(quantiles)]
    if not len(finite):
        raise ValueError(
            "times: expected values of the target; no quantile of these rows is finite, so name some."
        )
    return np.linspace(finite.min(), finite.max(), N_TIMES)


def plot_quantiles(
    model: Any, X: Any, feature: Any, q: Any = (0.1, 0.5, 0.9), *, y: Any = None, ax: Any = None
) -> Any:
    """Draw how predicted quantiles depend on a feature, as a band.

    At each of up to 40 values, the feature is set to it in up to 100 rows of X, and the quantiles
    that the model predicts for them are averaged by their median. Where that is infinite, a band
    reaches the edge of the axes, and a line breaks off.

    Parameters
    ----------
    model : estimator
        A fitted estimator with ``predict_quantile``, as a forest or a
        `DistributionalIntervalRegressor`; or a pipeline or a search that ends in one.
    X : array-like of shape (n_samples, n_features)
        Rows, as the model takes them.
    feature : int or str
        Number or name of a column of X that holds numbers.
    q : sequence of float, default=(0.1, 0.5, 0.9)
        Shares from 0 to 1. The least and the greatest bound a band, and so on inwards; one in the
        middle is a line.
    y : array-like, default=None
        Intervals of the rows, to be drawn under the band.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalForest
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_quantiles
    >>> X, y = make_sine(random_state=0)
    >>> forest = MaxMarginIntervalForest(20, min_samples_leaf=10, random_state=0).fit(X, y)
    >>> ax = plot_quantiles(forest, X, 0)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['quantiles 0.1 to 0.9', 'median']
    """
    pyplot()
    fitted = _read_distributions(model)
    levels = np.unique(as_numbers(q, "q"))
    if not len(levels) or not (levels[0] >= 0 and levels[-1] <= 1):
        raise ValueError(f"q: expected shares from 0 to 1, got {q!r}.")
    X, place, name = _find_feature(X, feature)
    column = _column(X, place, name)
    known = np.isfinite(column)
    if not known.any():
        raise ValueError(f"X: expected rows in which the feature {feature!r} is finite, got none.")
    grid = np.unique(np.quantile(column[known], np.linspace(0, 1, N_GRID), method="nearest"))
    lines = _quantile_lines(fitted, X, place, grid, levels)
    if not np.isfinite(lines).any():
        raise ValueError(
            "q: expected quantiles that are finite somewhere; more of the mass lies beyond all limits."
        )
    ax = make_axes(ax, figsize=(9, 4.5))
    if y is not None:
        intervals = check_intervals(y)
        if len(intervals) != len(column):
            raise ValueError(
                f"X, y: expected the same number of rows, got {len(column)} in X, {len(intervals)} in y."
            )
        plot_intervals(intervals[known], x=column[known], ax=ax)
    finite = np.where(np.isfinite(lines), lines, np.nan)
    ax.update_datalim([(grid[0], np.nanmin(finite)), (grid[-1], np.nanmax(finite))])
    ax.autoscale_view()
    edges = ax.get_ylim()
    for outer in range(len(levels) // 2):
        low, high = np.clip(lines[outer], *edges), np.clip(lines[-1 - outer], *edges)
        label = f"quantiles {levels[outer]:g} to {levels[-1 - outer]:g}"
        ax.fill_between(
            grid, low, high, color=PREDICTION, alpha=0.25, linewidth=0, label=label, zorder=2.5
        )
    if len(levels) % 2:
        middle = len(levels) // 2
        label = "median" if levels[middle] == 0.5 else f"quantile {levels[middle]:g}"
        ax.plot(grid, finite[middle], color=PREDICTION, linewidth=2.0, label=label, zorder=3)
    ax.set_ylim(edges)
    ax.set_xlabel(name, parse_math=False)
    ax.set_ylabel("target")
    ax.legend(frameon=False, ncols=5, loc="upper right", borderaxespad=0.0)
    return ax


def _find_feature(X: Any, feature: Any) -> tuple[Any, int, str]:
    """X as an array or a frame, the place of one of its columns, and its name."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "columns"):
        X = np.asarray(X, dtype=np.float64)
        names = [f"x[{idx}]" for idx in range(X.shape[1] if X.ndim == 2 else 0)]
    else:
        names = [str(name) for name in X.columns]
    places = {name: idx for idx, name in enumerate(names)} | {idx: idx for idx in range(len(names))}
    if feature not in places:
        raise ValueError(f"feature: expected a column of X, by number or name; got {feature!r}.")
    return X, places[feature], names[places[feature]]


def _column(X: Any, place: int, name: str) -> FloatArray:
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        advice = "plot_partial_dependence draws bars for such values"
        raise ValueError(
            f"feature: expected a column of numbers, got {name!r}; {advice}."
        ) from None


def _quantile_lines(
    fitted: Fitted, X: Any, place: int, grid: FloatArray, levels: FloatArray
) -> FloatArray:
    """The median over rows of each quantile, at every value of a feature: one line per level."""
    rows = np.unique(np.linspace(0, len(X) - 1, MOST_ROWS).round().astype(np.int64))
    repeated = np.tile(rows, len(grid))
    values = np.repeat(grid, len(rows))
    if hasattr(X, "iloc"):
        moved = X.iloc[repeated].reset_index(drop=True)
        moved.isetitem(place, values)
    else:
        moved = X[repeated]
        moved[:, place] = values
    quantiles = fitted.predict("quantile", moved, levels)
    return np.median(quantiles.reshape(len(grid), len(rows), len(levels)), axis=1).T
