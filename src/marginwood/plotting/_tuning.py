"""Plots for choosing a tree: the pruning path, and the error of a search over margins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwood._trees.pruning import pruning_path
from marginwood._tuning.surface import make_surface, surface_levels
from marginwood.intervals import BoolArray, FloatArray, as_numbers
from marginwood.plotting._canvas import COLORMAP, PREDICTION, SECOND, make_axes, pyplot

__all__ = ["plot_margin_heatmap", "plot_pruning_path"]


def plot_pruning_path(path: Any, *, ax: Any = None) -> Any:
    """Draw the cost and the number of leaves of every pruned subtree against alpha.

    Parameters
    ----------
    path : MaxMarginIntervalTree or Bunch
        A fitted tree, or what its `cost_complexity_pruning_path` returns.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure, with the cost; the leaves are on a twin of it.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.plotting import plot_pruning_path
    >>> ax = plot_pruning_path(MaxMarginIntervalTree().fit([[1], [2], [3]], [0.0, 1.0, 6.0]))
    >>> ax.get_ylabel()
    'cost per unit of weight'
    """
    pyplot()
    from matplotlib.ticker import LogLocator, NullLocator

    if hasattr(path, "ccp_alphas") and hasattr(path, "n_leaves"):
        alphas, costs, n_leaves = path.ccp_alphas, path.impurities, path.n_leaves
    else:
        check_is_fitted(path)
        if not hasattr(path, "tree_"):
            raise TypeError(f"path: expected a fitted tree or its pruning path, got {type(path).__name__}.")
        alphas, costs, n_leaves, _ = pruning_path(path.tree_.nodes)
    ax = make_axes(ax, figsize=(7, 4.2))
    start, end = 0.0, 1.0
    if len(alphas) > 1:
        # The axis has no 0; the first subtree is best from there on, and the last one for ever.
        start, end = alphas[1] / 3, alphas[-1] * 3
        ax.set_xscale("log")
    twin = ax.twinx()
    for axes, values, color, style in ((ax, costs, SECOND, "-"), (twin, n_leaves, PREDICTION, "--")):
        axes.step(
            [start, *alphas[1:], end], [*values, values[-1]], where="post", color=color, linestyle=style, linewidth=1.8
        )
        axes.tick_params(axis="y", colors=color)
    ax.set(xlim=(start, end), xlabel="alpha", ylim=(0, None))
    ax.set_ylabel("cost per unit of weight", color=SECOND)
    twin.set_yscale("log")
    twin.set_ylabel("leaves (dashed)", color=PREDICTION)
    twin.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    twin.yaxis.set_major_formatter("{x:.0f}")
    twin.yaxis.set_minor_locator(NullLocator())
    twin.spines["top"].set_visible(False)
    return ax


def plot_margin_heatmap(search: Any, *, against: str = "ccp_alpha", loss: str | None = None, ax: Any = None) -> Any:
    """Draw the cross-validated error of a search for every margin and another parameter.

    Pruning paths differ from margin to margin, so a cell of `MaxMarginIntervalTreeCV` shows the candidate of its margin
    whose alpha, or number of leaves, is the nearest. A star marks the chosen candidate.

    Parameters
    ----------
    search : MaxMarginIntervalTreeCV or GridSearchCV
        A fitted search with ``param_margin`` in its ``cv_results_``.
    against : str, default="ccp_alpha"
        The other axis: "ccp_alpha" or "n_leaves", or another parameter of a grid search, as "max_depth".
    loss : {"linear_hinge", "squared_hinge"}, default=None
        Which of the losses to show, if several were tried; by default that of the chosen candidate.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTreeCV
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_margin_heatmap
    >>> search = MaxMarginIntervalTreeCV(cv=3, margins=[0.0, 0.1, 0.2]).fit(*make_sine(60, 2, random_state=0))
    >>> [label.get_text() for label in plot_margin_heatmap(search).get_xticklabels()]
    ['0', '0.1', '0.2']
    """
    pyplot()
    check_is_fitted(search)
    results = getattr(search, "cv_results_", {})
    margin, level, score, is_chosen = _read_candidates(results, getattr(search, "best_index_", None), against, loss)
    levels = surface_levels(level)
    # A path of subtrees has one for every alpha; a grid search has no more than the points that it tried.
    surface = make_surface(margin, level, score, is_chosen, levels, reach=np.inf if "n_leaves" in results else 1e-9)
    shown = surface.candidates.T
    is_error = isinstance(search.scoring, str) and search.scoring.startswith("neg_")
    table = np.ma.masked_array(-score[shown] if is_error else score[shown], shown < 0)
    ax = make_axes(ax, figsize=(7.5, 4.5))
    # matplotlib has no logarithmic colours for numbers near the smallest.
    is_wide = is_error and 1e-200 < table.min() < table.max() / 10
    mesh = ax.pcolormesh(table, cmap=COLORMAP, norm="log" if is_wide else "linear", rasterized=True)
    what = search.scoring.removeprefix("neg_").replace("_", " ") if isinstance(search.scoring, str) else "score"
    ax.figure.colorbar(mesh, ax=ax, label=f"cross-validated {what}")
    if surface.chosen is not None:
        x, y = surface.chosen
        ax.plot(x + 0.5, y + 0.5, "*", markersize=16, color="white", markeredgecolor="black", clip_on=False)
    ax.set_xticks(np.arange(len(surface.margins)) + 0.5, [f"{value:.2g}" for value in surface.margins], rotation=60)
    ticks = np.unique(np.linspace(0, len(levels) - 1, min(len(levels), 12)).round().astype(int))
    ax.set_yticks(ticks + 0.5, [f"{levels[idx]:.2g}".replace("inf", "∞") for idx in ticks])
    ax.set(xlabel="margin", ylabel={"ccp_alpha": "alpha", "n_leaves": "leaves"}.get(against, against))
    return ax


def _read_candidates(
    results: Any, best_idx: int | None, against: str, loss: str | None
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Margin, other parameter and score of the candidates with one loss, and which of them is the chosen one."""
    key = against if against == "n_leaves" else f"param_{against}"
    for name, argument in (("param_margin", "search"), ("mean_test_score", "search"), (key, "against")):
        if name not in results:
            found = ", ".join(column for column in results if column.startswith("param_")) or "no parameters"
            raise ValueError(f"{argument}: expected {name!r} in the search's cv_results_, which has {found}.")
    losses = np.asarray(results.get("param_loss", np.full(len(results["param_margin"]), "")), dtype=object)
    loss = losses[best_idx or 0] if loss is None else loss
    rows = np.flatnonzero((losses == loss) & np.isfinite(results["mean_test_score"]))
    if not len(rows):
        raise ValueError(f"loss: expected one of {sorted(set(losses))} with a finite score, got {loss!r}.")
    level = as_numbers([np.inf if value is None else value for value in results[key]], against)
    margin, score = as_numbers(results["param_margin"], "margin"), np.asarray(results["mean_test_score"])
    return margin[rows], level[rows], score[rows], rows == best_idx
