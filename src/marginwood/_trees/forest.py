"""MaxMarginIntervalForest: many trees on bootstrap samples, with random candidate features in every node.

A row is *out of bag* for the trees that did not draw it: their predictions of it are as good as on new data.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from itertools import product, starmap
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    BLOCK,
    LARGEST_SEED,
    IntervalRegressorMixin,
    all_or_nothing,
    check_features,
    check_rows,
    copy_feature_names,
    forget,
)
from marginwood._core.order import sort_features
from marginwood._core.problem import Target
from marginwood._support.notices import warn
from marginwood._support.progress import progress_bar
from marginwood._trees.bagging import Draw, Training, aggregate, grow_trees
from marginwood._trees.rules import check_ccp_alpha, count_draws, growing_options
from marginwood._trees.table import IntervalTree
from marginwood._trees.tree import MaxMarginIntervalTree, make_tree
from marginwood._tuning.margins import check_margins
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import check_loss
from marginwood.metrics import interval_d2_score, interval_mean_squared_error

__all__ = ["MaxMarginIntervalForest"]

N_MARGINS = 7


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
        Fewest samples of a node that may be split; a float is a share of the tree's rows.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of the tree's rows. A row that was drawn twice counts once.
    max_features : int, float, {"sqrt", "log2"} or None, default=1/3
        How many features to try in each node; a float is a share, None is all.
    max_leaf_nodes : int, default=None
        Grow the trees best first, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Least decrease of the cost by a split, per unit of the weight of the tree's rows.
    ccp_alpha : float, default=0.0
        Cost of a leaf in the pruning of every tree, per unit of the weight of its rows; 0 for no pruning.
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
        Show a progress bar on a terminal; elsewhere log progress to the logger "marginwood".
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
    tuning_results_ : dict
        After `tune_oob`: the candidates, ``params``, and their out-of-bag interval MSE, ``oob_mse``.
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
        ccp_alpha: float = 0.0,
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
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.aggregation = aggregation
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    @all_or_nothing
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
        is_warm = self.warm_start and hasattr(self, "estimators_")
        training = self._check_training(X, y, sample_weight, reset=not is_warm)
        n_kept = len(self.estimators_) if is_warm else 0
        return self._fit(training, self._draw_rows(len(training.rows.X), n_kept), n_kept)

    def _check_parameters(self) -> None:
        check_loss(self.loss, self.margin)
        check_ccp_alpha(self.ccp_alpha)
        count_draws(self, 1)

    def _check_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Training:
        rows = check_rows(check_features(self, X, reset=reset), y, sample_weight)
        return Training(rows, sort_features(rows.X), Target(rows.intervals))

    def _draw_rows(self, n_samples: int, n_kept: int) -> list[Draw]:
        """Draws of the trees to grow; with an integer `random_state` those that follow the ones of the kept trees."""
        n_new = self.n_estimators - n_kept
        if n_new < 0:
            message = f"n_estimators: {self.n_estimators} is less than the {n_kept} trees that warm_start keeps."
            raise ValueError(message)
        n_seeds = self.n_estimators if isinstance(self.random_state, numbers.Integral) else n_new
        seeds = check_random_state(self.random_state).randint(1, LARGEST_SEED, n_seeds)[n_seeds - n_new :]
        return [Draw(int(seed), n_samples, count_draws(self, n_samples)) for seed in seeds]

    def _fit(self, training: Training, draws: list[Draw], n_kept: int = 0) -> MaxMarginIntervalForest:
        """Grow a tree per draw after the trees that are kept."""
        X, _, weight = training.rows
        if self.oob_score and n_kept and any(draw.n_samples != len(X) for draw in starmap(Draw, self._draws)):
            raise ValueError("oob_score: the trees that warm_start keeps were grown from another number of rows.")
        tree = make_tree(self)
        tree.max_features_ = growing_options(tree, X.shape[0], X.shape[1], weight.sum()).max_features
        saw_missing, trees = np.isnan(X.max(axis=0)), []
        with progress_bar("trees", len(draws), verbose=self.verbose) as advance:
            for nodes, draw in zip(grow_trees(tree, training, draws, self.n_jobs), draws, strict=True):
                trees.append(copy.copy(tree).set_params(random_state=draw.seed))
                trees[-1].tree_ = IntervalTree(nodes, saw_missing)
                advance()
        forget(self, "oob_prediction_", "oob_score_", "tuning_results_")
        self.estimators_: list[MaxMarginIntervalTree] = [*(self.estimators_ if n_kept else []), *trees]
        self._draws: list[tuple[int, ...]] = [*(self._draws if n_kept else []), *map(tuple, draws)]
        if self.oob_score:
            self._score_oob(training)
        return self

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The rows that each tree drew, with repetitions."""
        check_is_fitted(self)
        return [np.repeat(np.arange(draw.n_samples), draw.counts()) for draw in starmap(Draw, self._draws)]

    def _over_blocks(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        """Results of a function of a block of rows, one after another, in threads."""
        blocks = [slice(start, start + BLOCK) for start in range(0, n_rows, BLOCK)]
        run = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return np.concatenate(run(delayed(function)(rows) for rows in blocks))

    def _predict(self, X: FloatArray, drawn: BoolArray | None = None) -> FloatArray:
        """Predict; with `drawn`, of shape (n_estimators, n_rows), only by the trees that did not draw a row."""

        def predict_block(rows: slice) -> FloatArray:
            predictions = np.array([tree.tree_.predict(X[rows]) for tree in self.estimators_])
            return aggregate(predictions, False if drawn is None else drawn[:, rows], self.aggregation)

        return self._over_blocks(predict_block, len(X))

    def _score_oob(self, training: Training) -> None:
        X, _, weight = training.rows
        drawn = np.array([draw.counts() > 0 for draw in starmap(Draw, self._draws)])
        self.oob_prediction_ = self._predict(X, drawn)
        n_left_out = np.count_nonzero(np.isnan(self.oob_prediction_) & (weight > 0))
        if n_left_out > 0:
            message = (
                f"oob_score: {n_left_out} of {len(X)} rows were drawn by every tree and have no out-of-bag prediction. "
                "More trees (n_estimators) help."
            )
            warn(message)
        self.oob_score_ = self._oob(interval_d2_score, training)

    def _oob(self, metric: Any, training: Training) -> float:
        """A metric of the out-of-bag predictions that there are."""
        is_scored = ~np.isnan(self.oob_prediction_) & (training.rows.weight > 0)
        if not is_scored.any():
            return np.nan
        _, intervals, weight = training.rows.take(is_scored)
        return metric(intervals, self.oob_prediction_[is_scored], sample_weight=weight)

    @all_or_nothing
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
            The fitted forest, with `tuning_results_`.

        Examples
        --------
        >>> from marginwood import MaxMarginIntervalForest
        >>> from marginwood.datasets import make_sine
        >>> forest = MaxMarginIntervalForest(n_estimators=30, random_state=0)
        >>> forest = forest.tune_oob(*make_sine(random_state=0), margins=[0.0, 0.2, 5.0], min_samples_leaf=[1, 30])
        >>> forest.margin, forest.min_samples_leaf
        (0.2, 1)
        """
        if not self.bootstrap:
            raise ValueError("tune_oob: there are no out-of-bag rows without bootstrap; set bootstrap=True.")
        self._check_parameters()
        training = self._check_training(X, y, sample_weight, reset=True)
        margins = check_margins(margins, training.rows.intervals, N_MARGINS)
        grid = {"margin": margins, "loss": losses, "min_samples_leaf": min_samples_leaf, "max_features": max_features}
        grid = {name: getattr(self, name) if values is None else values for name, values in grid.items()}
        lists = [[values] if np.ndim(values) == 0 else np.asarray(values, object).tolist() for values in grid.values()]
        for name, values in zip(("margins", "losses", "min_samples_leaf", "max_features"), lists, strict=True):
            if not values:
                raise ValueError(f"{name}: expected at least one value to try.")
        candidates = [dict(zip(grid, values, strict=True)) for values in product(*lists)]
        draws = self._draw_rows(len(training.rows.X), 0)
        best, errors = self, []
        with progress_bar("candidates", len(candidates), verbose=self.verbose) as advance:
            for candidate in candidates:
                forest = clone(self).set_params(**candidate, oob_score=True, verbose=0)
                forest._check_parameters()
                copy_feature_names(self, forest)
                forest._fit(training, draws)
                errors.append(forest._oob(interval_mean_squared_error, training))
                if len(errors) == 1 or errors[-1] < min(errors[:-1]):
                    best = forest
                advance()
        self.set_params(**{name: getattr(best, name) for name in grid})
        for name in ("estimators_", "_draws", "oob_prediction_", "oob_score_"):
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

        def apply_block(rows: slice) -> IntArray:
            return np.column_stack([tree.tree_.apply(X[rows]) for tree in self.estimators_])

        return self._over_blocks(apply_block, len(X))

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the trees' importances, normalised."""
        check_is_fitted(self)
        importances = np.mean([tree.feature_importances_ for tree in self.estimators_], axis=0)
        total = importances.sum()
        return importances / total if total > 0 else importances
