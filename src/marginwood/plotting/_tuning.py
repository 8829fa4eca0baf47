"""Plots for choosing a tree: the pruning path, and the error of a search over margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._drawing import surface_levels, survey
from marginwood._fitted import Search, read, read_search, read_tree
from marginwood._trees.pruning import pruning_path
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import Loss
from marginwood.plotting._canvas import COLORMAP, PREDICTION, SECOND, make_axes, pyplot

__all__ = ["plot_margin_heatmap", "plot_pruning_path"]


def plot_pruning_path(path: Any, *, ax: Any = None) -> Any:
    """Draw the cost and the number of leaves of every pruned subtree against `ccp_alpha`.

    Parameters
    ----------
    path : estimator or Bunch
        A fitted tree, a pipeline that ends in one, or what `cost_complexity_pruning_path` of a tree
        returns.
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
        alphas = path.ccp_alphas
        costs = path.impurities
        n_leaves = path.n_leaves
    else:
        _, tree = read_tree(path, "path")
        alphas, costs, n_leaves, _ = pruning_path(tree.nodes)
    ax = make_axes(ax, figsize=(7, 4.2))
    start, end = 0.0, 1.0
    if len(alphas) > 1:
        # The axis has no 0; the first subtree is best from there on, and the last one for ever.
        start, end = alphas[1] / 3, alphas[-1] * 3
        ax.set_xscale("log")
    twin = ax.twinx()
    for axes, values, color, style in (
        (ax, costs, SECOND, "-"),
        (twin, n_leaves, PREDICTION, "--"),
    ):
        axes.step(
            [start, *alphas[1:], end],
            [*values, values[-1]],
            where="post",
            color=color,
            linestyle=style,
            linewidth=1.8,
        )
        axes.tick_params(axis="y", colors=color)
    ax.set(xlim=(start, end), xlabel="ccp_alpha", ylim=(0, None))
    ax.set_ylabel("cost per unit of weight", color=SECOND)
    twin.set_yscale("log")
    twin.set_ylabel("leaves (dashed)", color=PREDICTION)
    twin.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    twin.yaxis.set_major_formatter("{x:.0f}")
    twin.yaxis.set_minor_locator(NullLocator())
    twin.spines["top"].set_visible(False)
    return ax


def plot_margin_heatmap(
    search: Any, *, against: str | None = None, loss: Loss | None = None, ax: Any = None
) -> Any:
    """Draw the cross-validated error of a search for every margin and another parameter.

    Pruning paths differ from margin to margin, so a cell of such a search shows the candidate of
    its margin whose alpha, or number of leaves, is the nearest. Parameters that are not drawn are
    those of the chosen candidate, which a star marks.

    Parameters
    ----------
    search : estimator
        A fitted `IntervalSearchCV`, a ``GridSearchCV`` of an estimator of this package, a
        `TransformedIntervalRegressor` of one of these, or a pipeline that ends in one; with
        ``param_margin`` in its ``cv_results_``.
    against : str, default=None
        The other axis: a parameter as "max_depth", or "n_leaves" for a search along pruning paths;
        by default the parameter with the most values.
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
    >>> from marginwood import IntervalSearchCV, MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_margin_heatmap
    >>> search = IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.1, 0.2]}, cv=3)
    >>> search = search.fit(*make_sine(60, 2, random_state=0))
    >>> [label.get_text() for label in plot_margin_heatmap(search).get_xticklabels()]
    ['0', '0.1', '0.2']
    """
    pyplot()
    tried = read_search(search)
    if tried is None or "margin" not in tried.parameters:
        found = (
            type(search).__name__ if tried is None else f"one over {', '.join(tried.parameters)}"
        )
        raise ValueError(f"search: expected a fitted search over margins, got {found}.")
    against = tried.longest("margin") if against is None else against
    if against is None:
        raise ValueError(
            "against: expected a parameter of numbers beside the margin, but the search tried none."
        )
    level = _read_levels(tried, against)
    rows = _read_rows(tried, against, loss)
    levels = surface_levels(level[rows])
    surface = survey(tried, rows, level, levels)
    shown = surface.candidates.T
    table = np.ma.masked_array(tried.errors[shown], shown < 0)
    ax = make_axes(ax, figsize=(7.5, 4.5))
    # matplotlib has no logarithmic colours for numbers near the smallest.
    is_wide = tried.is_error and 1e-200 < table.min() < table.max() / 10
    mesh = ax.pcolormesh(table, cmap=COLORMAP, norm="log" if is_wide else "linear", rasterized=True)
    is_inside = (
        read(search).search is None
    )  # the search is that of a transformed target's regressor
    of_target = "\nof the transformed target" if is_inside else ""
    ax.figure.colorbar(mesh, ax=ax, label=f"cross-validated {tried.what}{of_target}")
    if surface.chosen is not None:
        x, y = surface.chosen
        ax.plot(
            x + 0.5,
            y + 0.5,
            "*",
            markersize=16,
            color="white",
            markeredgecolor="black",
            clip_on=False,
        )
    ax.set_xticks(
        np.arange(len(surface.margins)) + 0.5,
        [f"{value:.2g}" for value in surface.margins],
        rotation=60,
    )
    ticks = np.unique(np.linspace(0, len(levels) - 1, min(len(levels), 12)).round().astype(int))
    ax.set_yticks(ticks + 0.5, [f"{levels[idx]:.2g}".replace("inf", "∞") for idx in ticks])
    ax.set(xlabel="margin", ylabel={"n_leaves": "leaves"}.get(against, against))
    return ax


def _read_levels(tried: Search, against: str) -> FloatArray:
    """The values on the other axis, one per candidate."""
    if against == "n_leaves" and "n_leaves" in tried.results:
        return np.asarray(tried.results["n_leaves"], np.float64)
    if against not in tried.parameters:
        raise ValueError(f"against: expected one of {list(tried.parameters)}, got {against!r}.")
    try:
        return tried.numbers(against)
    except (TypeError, ValueError):
        raise ValueError(f"against: expected a parameter of numbers, got {against!r}.") from None


def _read_rows(tried: Search, against: str, loss: Loss | None) -> IntArray:
    """The candidates to draw: of one loss, and like the chosen one in all that is not drawn."""
    path = tried.longest("margin") if against == "n_leaves" else against
    rows = tried.beside("margin", "loss", *([path] if path else []))
    losses = tried.parameters.get("loss", np.full(len(tried.errors), "", dtype=object))
    loss = losses[tried.best_index] if loss is None else loss
    drawn = rows[(losses[rows] == loss) & np.isfinite(tried.errors[rows])]
    if not len(drawn):
        raise ValueError(
            f"loss: expected one of {sorted(set(losses))} with a finite score, got {loss!r}."
        )
    return drawn
