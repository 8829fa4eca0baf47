"""Plots of what a model learned about its features."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from marginwood._categories import Categories, encode_features, find_categories
from marginwood._fitted import read
from marginwood._support.checks import check_count
from marginwood._support.tables import library_of
from marginwood.intervals import FloatArray
from marginwood.metrics._importance import PermutationImportance
from marginwood.plotting._canvas import (
    INTERVAL,
    SECOND,
    as_table,
    column_names,
    make_axes,
    pyplot,
    shorten,
)

__all__ = ["plot_importances", "plot_leaderboard", "plot_partial_dependence"]


def plot_importances(
    model: Any, *, feature_names: Any = None, n_top: int = 20, ax: Any = None
) -> Any:
    """Draw the most important features as bars.

    For a forest a line spans the importances in the trees, from their 10 % to their 90 % quantile;
    for permutation importances a deviation of the repeats to both sides.

    Parameters
    ----------
    model : estimator or PermutationImportance
        A fitted tree, forest or boosting, anything of this package with ``feature_importances_``,
        or a pipeline that ends in one. Of any model, what
        :func:`~marginwood.metrics.permutation_importance` returns.
    feature_names : sequence of str, default=None
        Names of the features; by default those that the model saw, or ``x[0]``, ``x[1]``, ...
    n_top : int, default=20
        How many features to show.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_importances
    >>> ax = plot_importances(MaxMarginIntervalTree(max_depth=3).fit(*make_sine(random_state=0)), n_top=3)
    >>> ax.get_yticklabels()[0].get_text()
    'x[0]'
    """
    pyplot()
    check_count("n_top", n_top, 1)
    if isinstance(model, PermutationImportance):
        return _draw_permuted(model, feature_names, n_top, ax)
    fitted = read(model)
    if not hasattr(fitted.estimator, "feature_importances_"):
        name = type(fitted.estimator).__name__
        raise TypeError(
            f"model: expected an estimator with feature_importances_, got {name}. For any model pass what "
            "metrics.permutation_importance(model, X, y) returns."
        )
    names = fitted.feature_names(feature_names)
    importances = np.asarray(fitted.estimator.feature_importances_)
    top = np.argsort(-importances, kind="stable")[:n_top]
    spread = None
    ensemble = fitted.ensemble
    if ensemble is not None and ensemble.aggregation != "sum":
        in_trees = np.array([tree.compute_feature_importances()[top] for tree in ensemble.trees])
        low, high = np.quantile(in_trees, [0.1, 0.9], axis=0)
        spread = _Spread(low, high, f"10 % to 90 % of {len(in_trees)} trees")
    ax = _draw_bars(importances[top], [names[idx] for idx in top], spread, ax)
    ax.set(xlim=(0, None), xlabel="share of the decrease of the cost")
    return ax


class _Spread(NamedTuple):
    """Ends of the lines over some bars, and what the legend calls them."""

    low: FloatArray
    high: FloatArray
    label: str


def _draw_permuted(found: PermutationImportance, feature_names: Any, n_top: int, ax: Any) -> Any:
    names = found.names if feature_names is None else [*map(str, feature_names)]
    if len(names) != len(found.names):
        raise ValueError(f"feature_names: expected {len(found.names)} names, got {len(names)}.")
    mean, std = found.importances_mean, found.importances_std
    top = np.argsort(-mean, kind="stable")[:n_top]
    label = f"deviation of {found.importances.shape[1]} repeats"
    spread = _Spread((mean - std)[top], (mean + std)[top], label)
    ax = _draw_bars(mean[top], [names[idx] for idx in top], spread, ax)
    rows = " on out-of-bag rows" if found.rows == "oob" else ""
    ax.set_xlabel(f"fall of {found.scoring}{rows}, permuted", parse_math=False)
    return ax


def _draw_bars(values: FloatArray, names: list[str], spread: _Spread | None, ax: Any) -> Any:
    """Bars from the top, with lines of their spread."""
    ax = make_axes(ax, figsize=(7, 0.8 + 0.28 * len(values)))
    places = np.arange(len(values))
    ax.barh(places, values, height=0.7, color=INTERVAL)
    if spread is not None:
        ax.hlines(places, spread.low, spread.high, color=SECOND, linewidth=1.6, label=spread.label)
        ax.legend(frameon=False, loc="lower right")
    ax.set_yticks(places, [shorten(name) for name in names], parse_math=False)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    return ax


def plot_leaderboard(model: Any, *, ax: Any = None) -> Any:
    """Draw the weights of a super learner's models as bars, the best model first, with their scores.

    Parameters
    ----------
    model : IntervalSuperLearner or DistributionalSuperLearner
        A fitted super learner, or a pipeline that ends in one. That of distributions is drawn with
        log losses. From a `TransformedIntervalRegressor` pass its ``regressor_``.
    ax : matplotlib axes, default=None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
        `ax`, or the axes of the new figure.

    Examples
    --------
    >>> from marginwood import IntervalDummyRegressor, IntervalSuperLearner, MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_leaderboard
    >>> models = [("constant", IntervalDummyRegressor()), ("tree", MaxMarginIntervalTree(max_depth=4))]
    >>> ax = plot_leaderboard(IntervalSuperLearner(models, random_state=0).fit(*make_sine(random_state=0)))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['tree', 'constant']
    """
    pyplot()
    estimator = read(model).estimator
    if hasattr(estimator, "leaderboard_"):
        what = "score"
        table = estimator.leaderboard_
        names, scores, weights = table.names, table.scores, table.weights
    elif hasattr(estimator, "log_losses_"):
        what = "log loss"
        names = sorted(estimator.log_losses_, key=estimator.log_losses_.__getitem__)
        scores = [estimator.log_losses_[name] for name in names]
        weights = [estimator.weights_[name] for name in names]
    else:
        raise TypeError(f"model: expected a super learner, got {type(estimator).__name__}.")
    places = np.arange(len(names))
    ax = make_axes(ax, figsize=(7, 0.8 + 0.28 * len(places)))
    ax.barh(places, weights, height=0.7, color=INTERVAL)
    for place, weight, score in zip(places, weights, scores, strict=True):
        text = "not finished in time" if np.isnan(score) else f"{what} {score:.4g}"
        ax.annotate(
            text,
            (weight, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_yticks(places, [shorten(name) for name in names], parse_math=False)
    ax.set(
        xlim=(0, 1.25 * max(weights)),
        ylim=(len(places) - 0.5, -0.5),
        xlabel="weight in the mixture",
    )
    ax.tick_params(axis="y", length=0)
    return ax


def plot_partial_dependence(
    model: Any, X: Any, features: Any, *, ax: Any = None, **options: Any
) -> Any:
    """Draw how predictions depend on one or two features, by scikit-learn's ``PartialDependenceDisplay``.

    That takes neither integers nor polars frames nor missing values: here the first two are turned
    into what it takes, and rows in which a drawn feature is missing or infinite are left out. A
    drawn feature that is not of numbers is drawn as bars, one per value.

    Parameters
    ----------
    model : estimator
        A fitted model or pipeline.
    X : array-like of shape (n_samples, n_features)
        Rows to average over, as the model takes them: for a pipeline, a frame may have columns of
        text.
    features : list of int, str or pairs of these
        Features by number or name; a pair makes a map of both.
    ax : matplotlib axes or array of them, default=None
        Where to draw; by default a new figure.
    **options : dict
        Further arguments of ``PartialDependenceDisplay.from_estimator``, as ``kind="both"`` or
        ``grid_resolution``.

    Returns
    -------
    sklearn.inspection.PartialDependenceDisplay
        Its ``axes_`` are the axes, one per feature or pair, its ``figure_`` the figure.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.plotting import plot_partial_dependence
    >>> X, y = make_sine(random_state=0)
    >>> plot_partial_dependence(MaxMarginIntervalTree(max_depth=3).fit(X, y), X, [0, 1]).axes_.shape
    (1, 2)
    """
    pyplot()
    from sklearn.inspection import PartialDependenceDisplay

    check_is_fitted(model)
    if isinstance(features, str) or not hasattr(features, "__len__") or not len(features):
        raise ValueError(
            f"features: expected a list of features and pairs of features, got {features!r}."
        )
    X = as_table(X)
    names = options.setdefault("feature_names", column_names(model, X))
    place_of = {name: idx for idx, name in enumerate(names)} | {
        idx: idx for idx in range(len(names))
    }
    drawn = {
        part
        for feature in features
        for part in (feature if isinstance(feature, tuple | list) else [feature])
    }
    places = sorted(
        {place_of[part] for part in drawn if part in place_of}
    )  # scikit-learn names those it cannot find
    labels: Categories = []
    if library_of(X) == "polars":
        X, labels, model = _encode(X, model)
    X, of_words = _complete_rows(X, places, labels)
    if not len(X):
        raise ValueError(f"X: expected rows in which the features {features} are finite, got none.")
    if of_words:
        options.setdefault("categorical_features", [names[place] for place in of_words])
    if ax is None:
        ax = make_axes(None, figsize=(4.2 * min(len(features), options.get("n_cols", 3)), 3.4))
    with (
        warnings.catch_warnings()
    ):  # where predictions are constant, scikit-learn asks for an axis of no length
        warnings.filterwarnings("ignore", "Attempting to set identical low and high")
        display = PartialDependenceDisplay.from_estimator(model, X, features, ax=ax, **options)
    for axes in filter(None, display.axes_.flat):
        axes.xaxis.label.set_parse_math(False)
        axes.yaxis.label.set_parse_math(False)
    if labels:
        _name_codes(display, labels)
    return display


class _OfCodes(FrozenEstimator):
    """A model of frames of polars, for arrays of numbers in which labels are codes."""

    def __init__(self, estimator: Any, frame: Any, labels: Categories) -> None:
        super().__init__(estimator)
        self.frame = frame
        self.labels = labels

    def predict(self, X: FloatArray) -> Any:
        """What the model predicts of the frame that these numbers mean."""
        columns = []
        for column, labels, values in zip(self.frame.iter_columns(), self.labels, X.T, strict=True):
            if labels is None:
                columns.append(type(column)(column.name, values))
            else:
                words = [None if np.isnan(code) else labels[int(code)] for code in values]
                columns.append(type(column)(column.name, words, column.dtype))
        return self.estimator.predict(type(self.frame)(columns))


def _encode(X: Any, model: Any) -> tuple[FloatArray, Categories, Any]:
    """A frame of polars as numbers, the labels that are codes there, and a model of such numbers.

    scikit-learn takes no frames but those of pandas, which polars makes with the help of pyarrow.
    """
    words = [
        idx
        for idx, dtype in enumerate(X.dtypes)
        if not (dtype.is_numeric() or str(dtype) == "Boolean")
    ]
    labels = find_categories(X, words) or [None] * X.shape[1]
    return encode_features(X, labels), labels, _OfCodes(model, X, labels)


def _name_codes(display: Any, labels: Categories) -> None:
    """Write labels in place of their codes."""
    for axes, places, result in zip(
        display.axes_.flat, display.features, display.pd_results, strict=False
    ):
        codes = result["grid_values"]
        if labels[places[0]] is None:
            continue
        words = [
            [str(labels[place][int(code)]) for code in found]
            for place, found in zip(places, codes, strict=True)
        ]
        if len(places) == 1:
            axes.set_xticks(codes[0], words[0])
        else:  # a map has the first feature on its vertical axis
            axes.set_xticks(range(len(words[1])), words[1])
            axes.set_yticks(range(len(words[0])), words[0])


def _complete_rows(X: Any, places: list[int], labels: Categories) -> tuple[Any, list[int]]:
    """The rows in which these columns hold finite numbers, as floats, or words; and the columns that hold words.

    Of an array `labels` says which columns hold words, as codes.
    """
    if not hasattr(X, "columns"):
        of_words = [place for place in places if labels and labels[place] is not None]
        return X[np.isfinite(X[:, places]).all(axis=1)], of_words
    is_complete = np.ones(len(X), np.bool_)
    of_words = []
    for place in places:
        column = X.iloc[:, place]
        if column.dtype.kind in "biuf":
            column = column.to_numpy(dtype=np.float64, na_value=np.nan)
            X.isetitem(place, column)
            is_complete &= np.isfinite(column)
        else:
            of_words.append(place)
            is_complete &= column.notna().to_numpy()
    return X[is_complete], of_words
