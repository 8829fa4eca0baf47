"""MaxMarginIntervalForest: many trees on bootstrap samples, with random candidate features in every node.

A bootstrap sample is a weight per row: a row drawn twice counts twice. So all trees share X, its feature orders and
the sorted limits, and a tree only picks out the rows that it drew.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._core.order import sort_features
from marginwood._core.problem import Target, grow_tree, subsample
from marginwood.base import IntervalRegressorMixin, check_features, check_targets
from marginwood.intervals import FloatArray
from marginwood.losses import check_loss
from marginwood.metrics import interval_d2_score, interval_mean_squared_error
from marginwood.model_selection import margin_grid
from marginwood.options import growing_options
from marginwood.progress import progress_bar
from marginwood.tree import IntervalTree, MaxMarginIntervalTree

__all__ = ["MaxMarginIntervalForest"]

IntArray = npt.NDArray[np.int64]

# Rows that all trees predict before the next rows: the block stays in the cache.
BLOCK = 4096
LARGEST_SEED = 2**31 - 1
AGGREGATIONS = ("mean", "median")
N_MARGINS = 7


def count_draws(seed: int, n_samples: int, n_draws: int) -> IntArray:
    """How often the bootstrap sample of a tree holds each row."""
    if n_draws == 0:
        return np.ones(n_samples, dtype=np.int64)
    return np.bincount(np.random.RandomState(seed).randint(0, n_samples, n_draws), minlength=n_samples)


def grow_one(
    X: FloatArray, orders: Any, in_order: Any, breakpoints: FloatArray, weights: FloatArray, settings: Any, seed: int
) -> npt.NDArray[np.void]:
    """Grow one tree. Large arrays come one by one, so that a cluster sends each of them once."""
    limits, n_draws, loss, options = settings
    limits = limits._replace(in_order=in_order, breakpoints=breakpoints)
    weights = weights * count_draws(seed, len(X), n_draws)
    return grow_tree(X, *subsample(orders, limits, weights), weights, loss, options, seed)


class MaxMarginIntervalForest(IntervalRegressorMixin, BaseEstimator):
    """Random forest of maximum margin interval trees.

    Every tree is grown on a bootstrap sample, and every node tries a random part of the features. The prediction is the
    mean, or the median, of the trees' predictions. The result depends on `random_state` only, not on `n_jobs` or
    on where the trees are grown.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The loss of the trees.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target.
    max_depth : int, default=None
        Depth of the trees; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples. A row that was drawn twice counts once.
    max_features : int, float, {"sqrt", "log2"} or None, default=1/3
        How many features to try in each node; a float is a share, None is all.
    max_leaf_nodes : int, default=None
        Grow the trees best first, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Least decrease of the cost by a split, per unit of total sample weight.
    bootstrap : bool, default=True
        Draw the rows of each tree with replacement; otherwise every tree has all rows.
    max_samples : int or float, default=None
        How many rows to draw for each tree; a float is a share, None is as many as there are.
    aggregation : {"mean", "median"}, default="mean"
        How the trees' predictions become one.
    oob_score : bool, default=False
        Score every row by the trees that did not draw it.
    n_jobs : int, default=None
        Number of threads (joblib's rule). Within ``joblib.parallel_config(backend="dask")`` the trees are
        grown by the cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features.
    verbose : int, default=0
        Show a progress bar if stderr is a terminal.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.

    Attributes
    ----------
    estimators_ : list of MaxMarginIntervalTree
        The trees.
    estimators_samples_ : list of ndarray
        The rows that each tree drew, with repetitions.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean of the trees' importances.
    oob_prediction_ : ndarray of shape (n_samples,)
        Prediction of every row by the trees that did not draw it; NaN if all drew it. With `oob_score` only.
    oob_score_ : float
        Interval D2 of these predictions. With `oob_score` only.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalForest
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> forest = MaxMarginIntervalForest(n_estimators=50, margin=0.2, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.5
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: str = "squared_hinge",
        margin: float = 0.0,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = 1 / 3,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        aggregation: str = "mean",
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.margin = margin
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.aggregation = aggregation
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MaxMarginIntervalForest:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; they multiply how often a row was drawn.

        Returns
        -------
        MaxMarginIntervalForest
            The fitted forest.
        """
        self._check_parameters()
        X = check_features(self, X, reset=not (self.warm_start and hasattr(self, "estimators_")))
        intervals, weights = check_targets(X, y, sample_weight)
        return self._fit(X, intervals, weights, sort_features(X), Target(intervals))

    def _fit(
        self, X: FloatArray, intervals: FloatArray, weights: FloatArray, orders: Any, target: Target
    ) -> MaxMarginIntervalForest:
        """Grow the forest from checked rows, sorted features and sorted limits, all of which stay as they are."""
        kept = self.estimators_ if self.warm_start and hasattr(self, "estimators_") else []
        seeds = self._draw_seeds(len(kept))
        limits = target.at(float(self.margin))
        options = growing_options(self, X.shape[0], X.shape[1], weights.sum())
        settings = limits._replace(in_order=None, breakpoints=None), self._n_draws(len(X)), self.loss, options
        shared = X, orders, limits.in_order, limits.breakpoints, weights, settings
        saw_missing = np.isnan(X.max(axis=0))
        trees = [
            self._as_tree(nodes, saw_missing, seed)
            for nodes, seed in zip(self._grow(shared, seeds), seeds, strict=True)
        ]
        self.estimators_ = kept + trees
        self.n_samples_ = len(X)
        if self.oob_score:
            self._score_oob(X, intervals, weights)
        return self

    def _grow(self, shared: tuple[Any, ...], seeds: IntArray) -> Iterator[npt.NDArray[np.void]]:
        """Grow one tree per seed, in threads or wherever joblib is told to."""
        backend, _ = get_active_backend(prefer="threads")
        as_generator = getattr(backend, "supports_return_generator", False)
        run = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator" if as_generator else "list")
        with progress_bar("trees", len(seeds), verbose=self.verbose) as advance:
            for nodes in run(delayed(grow_one)(*shared, int(seed)) for seed in seeds):
                advance()
                yield nodes

    def _as_tree(self, nodes: Any, saw_missing: npt.NDArray[np.bool_], seed: int) -> MaxMarginIntervalTree:
        names = MaxMarginIntervalTree().get_params().keys() & self.get_params().keys()
        tree = MaxMarginIntervalTree(**{name: getattr(self, name) for name in names})
        tree.random_state, tree.tree_ = int(seed), IntervalTree(nodes, saw_missing)
        tree.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            tree.feature_names_in_ = self.feature_names_in_
        return tree

    def _draw_seeds(self, n_kept: int) -> IntArray:
        """Seeds of the trees to grow; with an integer `random_state` those that follow the seeds of the kept ones."""
        if n_kept > self.n_estimators:
            raise ValueError(
                f"n_estimators: {self.n_estimators} is less than the {n_kept} trees that warm_start keeps."
            )
        random = check_random_state(self.random_state)
        if isinstance(self.random_state, numbers.Integral):
            random.randint(1, LARGEST_SEED, n_kept)
        return random.randint(1, LARGEST_SEED, self.n_estimators - n_kept)

    def _n_draws(self, n_samples: int) -> int:
        if not self.bootstrap:
            return 0
        if self.max_samples is None:
            return n_samples
        if isinstance(self.max_samples, numbers.Integral):
            return int(self.max_samples)
        return max(1, round(n_samples * self.max_samples))

    def _check_parameters(self) -> None:
        check_loss(self.loss, self.margin)
        if not isinstance(self.n_estimators, numbers.Integral) or self.n_estimators < 1:
            raise ValueError(f"n_estimators: expected an integer >= 1, got {self.n_estimators!r}.")
        if self.aggregation not in AGGREGATIONS:
            raise ValueError(f"aggregation: expected one of {AGGREGATIONS}, got {self.aggregation!r}.")
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score: every tree has all rows without bootstrap; set bootstrap=True.")
        is_count = isinstance(self.max_samples, numbers.Integral) and self.max_samples >= 1
        is_share = isinstance(self.max_samples, numbers.Real) and 0 < self.max_samples <= 1
        if self.max_samples is not None and not (is_count or is_share):
            raise ValueError(f"max_samples: expected an integer >= 1 or a float in (0, 1], got {self.max_samples!r}.")

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The rows that each tree drew, with repetitions."""
        check_is_fitted(self)
        rows = np.arange(self.n_samples_)
        return [np.repeat(rows, count_draws(seed, len(rows), self._n_draws(len(rows)))) for seed in self._seeds()]

    def _seeds(self) -> list[int]:
        return [tree.random_state for tree in self.estimators_]

    def _aggregate(self, predictions: FloatArray) -> FloatArray:
        """One prediction per column from those of the trees, where these are not NaN."""
        present = ~np.isnan(predictions)
        if self.aggregation == "median":
            predictions[:, ~present.any(axis=0)] = np.inf  # any number, overwritten below
            result = np.nanmedian(predictions, axis=0)
        else:
            with np.errstate(invalid="ignore"):
                result = np.where(present, predictions, 0.0).sum(axis=0) / present.sum(axis=0)
        return np.where(present.any(axis=0), result, np.nan)

    def _predict(self, X: FloatArray, drawn: npt.NDArray[np.bool_] | None = None) -> FloatArray:
        """Predict block by block, in threads; with `drawn` only by the trees that did not draw a row."""

        def predict_block(rows: slice) -> FloatArray:
            predictions = np.array([tree.tree_.predict(X[rows]) for tree in self.estimators_])
            if drawn is not None:
                predictions[drawn[:, rows]] = np.nan
            return self._aggregate(predictions)

        blocks = [slice(start, start + BLOCK) for start in range(0, len(X), BLOCK)]
        run = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return np.concatenate(run(delayed(predict_block)(rows) for rows in blocks))

    def _score_oob(self, X: FloatArray, intervals: FloatArray, weights: FloatArray) -> None:
        drawn = np.array([count_draws(seed, len(X), self._n_draws(len(X))) > 0 for seed in self._seeds()])
        self.oob_prediction_ = self._predict(X, drawn)
        scored = ~np.isnan(self.oob_prediction_) & (weights > 0)
        n_left_out = np.count_nonzero(weights) - np.count_nonzero(scored)
        if n_left_out > 0:
            message = (
                f"oob_score: {n_left_out} of {len(X)} rows were drawn by every tree and have no out-of-bag prediction. "
                "More trees (n_estimators) help."
            )
            warnings.warn(message, UserWarning, stacklevel=4)
        self._oob_rows = scored
        self.oob_score_ = self._oob(interval_d2_score, intervals, weights)

    def _oob(self, metric: Any, intervals: FloatArray, weights: FloatArray) -> float:
        rows = self._oob_rows
        if not rows.any():
            return np.nan
        return metric(intervals[rows], self.oob_prediction_[rows], sample_weight=weights[rows])

    def tune_oob(
        self,
        X: Any,
        y: Any,
        *,
        margins: Any = "auto",
        losses: Any = None,
        min_samples_leaf: Any = None,
        max_features: Any = None,
        sample_weight: Any = None,
    ) -> MaxMarginIntervalForest:
        """Choose parameters by the out-of-bag interval MSE, without cross-validation, and fit with them.

        Features and limits are sorted once for all candidates. The parameters of this forest are set to the best ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples, 2)
            Intervals, in any form that `fit` accepts.
        margins : "auto" or sequence of float, default="auto"
            Margins to try; "auto" is 0 and six that are log-spaced up to the range of the limits.
        losses : sequence of str, default=None
            Losses to try; None for the present one.
        min_samples_leaf : sequence of int or float, default=None
            Leaf sizes to try; None for the present one.
        max_features : sequence, default=None
            Numbers of candidate features to try; None for the present one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        MaxMarginIntervalForest
            The fitted forest. `tuning_results_` holds the candidates and their out-of-bag interval MSE.
        """
        if not self.bootstrap:
            raise ValueError("tune_oob: there are no out-of-bag rows without bootstrap; set bootstrap=True.")
        self._check_parameters()
        X = check_features(self, X, reset=True)
        intervals, weights = check_targets(X, y, sample_weight)
        if isinstance(margins, str):
            margins = margin_grid(intervals, N_MARGINS)
        orders, target = sort_features(X), Target(intervals)
        grid = {"margin": margins, "loss": losses, "min_samples_leaf": min_samples_leaf, "max_features": max_features}
        grid = {name: [getattr(self, name)] if values is None else list(values) for name, values in grid.items()}
        candidates = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        best, errors = self, []
        for candidate in candidates:
            forest = clone(self).set_params(**candidate, oob_score=True, warm_start=False)
            forest._check_parameters()
            forest.n_features_in_ = self.n_features_in_
            forest._fit(X, intervals, weights, orders, target)
            errors.append(forest._oob(interval_mean_squared_error, intervals, weights))
            if errors[-1] == min(errors) and errors.count(errors[-1]) == 1:
                best = forest
        self.set_params(**{name: getattr(best, name) for name in grid})
        for name in ("estimators_", "n_samples_", "oob_prediction_", "oob_score_", "_oob_rows"):
            setattr(self, name, getattr(best, name))
        self.tuning_results_ = {"params": candidates, "oob_mse": np.array(errors)}
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict the mean, or the median, of the trees' predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return self._predict(check_features(self, X))

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of every row in every tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Rows of the trees' node tables.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        return np.column_stack([tree.tree_.apply(X) for tree in self.estimators_])

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the trees' importances, normalised."""
        check_is_fitted(self)
        importances = np.mean([tree.feature_importances_ for tree in self.estimators_], axis=0)
        total = importances.sum()
        return importances / total if total > 0 else importances

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
