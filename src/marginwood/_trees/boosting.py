"""MaxMarginIntervalBoosting: a sum of small trees, each fitted to what the ones before it left open.

A *residual interval* is what remains of an interval after a prediction F: F + h lies in (lower, upper) exactly when
h lies in (lower - F, upper - F). So a stage is an interval tree on residual intervals; there is no gradient.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    BLOCK,
    LARGEST_SEED,
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
)
from marginwood._core.order import sort_features
from marginwood._core.problem import Target, grow_tree, subsample
from marginwood._support.checks import check_count, check_number, check_positive
from marginwood._support.progress import progress_bar
from marginwood._trees.rules import growing_options
from marginwood._trees.table import IntervalTree
from marginwood._trees.tree import MaxMarginIntervalTree, make_tree
from marginwood._validation import check_early_stopping, check_validation, hold_out
from marginwood.intervals import LARGEST_LIMIT, FloatArray, IntArray
from marginwood.losses import Loss, breakpoints, check_loss, hinge_loss, optimal_constant

__all__ = ["MaxMarginIntervalBoosting"]


class Fitted:
    """Rows and what the stages so far predict for them, counted from the first prediction, `init`."""

    def __init__(self, data: Rows, init: float, margin: float) -> None:
        self.X, intervals, self.weight = data
        self.centred = self.residual = intervals - init
        self.starts = breakpoints(intervals, margin) - init
        self.prediction = np.zeros(len(self.X))
        self.total_weight = self.weight.sum()

    def add(self, tree: MaxMarginIntervalTree) -> None:
        """Add a stage."""
        with np.errstate(over="ignore"):
            self.prediction += tree.tree_.predict(self.X)
        if not np.abs(self.prediction).max() <= 4 * LARGEST_LIMIT:
            raise ValueError("learning_rate: the predictions of the stages grow without bound; use a smaller one.")
        self.residual = self.centred - self.prediction[:, np.newaxis]

    def mean_loss(self, loss: Loss) -> float:
        """Weighted mean of the loss."""
        losses = hinge_loss(self.starts, self.prediction, loss=loss)
        return float((self.weight * losses).sum() / self.total_weight)


class MaxMarginIntervalBoosting(IntervalRegressorMixin, BaseEstimator):
    """Boosted maximum margin interval trees.

    The first prediction is the best constant. Each stage grows a tree on the residual intervals
    ``(lower - F, upper - F)``, F being the prediction so far, with the same loss and margin, and adds `learning_rate`
    times its prediction. Splits are exact, as those of `MaxMarginIntervalTree`. Without `subsample` and with
    a `learning_rate` of at most 1 no stage raises the training loss.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of stages; with early stopping the largest number.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The distance to the interval, or its square.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target.
    learning_rate : float, default=0.1
        Factor of each stage. A smaller one needs more stages.
    max_depth : int, default=3
        Depth of the trees; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many features to try in each node, drawn at random; None for all.
    subsample : float, default=1.0
        Share of the rows that each stage draws, without replacement.
    n_iter_no_change : int, default=None
        Stop when the validation loss has not fallen for this many stages, and keep the stages up to the best one. None
        for all stages.
    validation_fraction : float, default=0.1
        Share of the rows to hold out as validation data. Only with `n_iter_no_change`, and if `fit` is
        not given validation data.
    tol : float, default=1e-4
        Share by which the validation loss must fall to count as fallen.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere log progress to the logger "marginwood".
    warm_start : bool, default=False
        Keep the stages of the last fit and add more; to be used with the same training data.

    Attributes
    ----------
    estimators_ : list of MaxMarginIntervalTree
        The trees. Their values are multiplied by the learning rate: the prediction is `init_` plus their sum.
    init_ : float
        The first prediction: the best constant.
    n_estimators_ : int
        Number of stages that are kept.
    train_score_ : ndarray
        Mean training loss, margin included, after each stage that was grown.
    validation_score_ : ndarray
        Mean validation loss after each stage that was grown: the loss without margin, so that models of different
        margins compare. Empty without validation data.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the total decrease of the cost by the splits of each feature.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalBoosting
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> model = MaxMarginIntervalBoosting(margin=0.2, n_iter_no_change=10, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    init_: float
    estimators_: list[MaxMarginIntervalTree]
    _seed: int

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: Loss = "squared_hinge",
        margin: float = 0.0,
        learning_rate: float = 0.1,
        max_depth: int | None = 3,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = None,
        subsample: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.margin = margin
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> MaxMarginIntervalBoosting:
        """Grow the stages.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        X_val : array-like of shape (n_validation, n_features), default=None
            Features of validation data.
        y_val : array-like of shape (n_validation, 2), default=None
            Their intervals.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.

        Returns
        -------
        MaxMarginIntervalBoosting
            The fitted model.
        """
        self._check_parameters()
        is_resumed = self.warm_start and hasattr(self, "estimators_")
        X = check_features(self, X, reset=not is_resumed)
        training = check_rows(X, y, sample_weight)
        validation = check_validation(self, X_val, y_val, sample_weight_val)
        seed = self._seed if is_resumed else check_random_state(self.random_state).randint(1, LARGEST_SEED)
        if validation is None and self.n_iter_no_change is not None:
            training, validation = hold_out(training, self.validation_fraction, seed)
        training = training.weighted()
        init, kept = (self.init_, self.estimators_) if is_resumed else (self._best_constant(training), [])
        trees, train_score, validation_score = self._boost(training, validation, init, kept, seed)
        if validation is not None and self.n_iter_no_change is not None:
            del trees[np.argmin(validation_score) + 1 :]
        self.init_, self.estimators_, self._seed = init, trees, seed
        self.train_score_, self.validation_score_ = np.array(train_score), np.array(validation_score)
        self.n_estimators_ = len(trees)
        return self

    def _best_constant(self, training: Rows) -> float:
        _, intervals, weight = training
        return optimal_constant(intervals, loss=self.loss, margin=self.margin, sample_weight=weight).value

    def _boost(
        self,
        training: Rows,
        validation: Rows | None,
        init: float,
        kept: list[MaxMarginIntervalTree],
        seed: int,
    ) -> tuple[list[MaxMarginIntervalTree], list[float], list[float]]:
        """Walk through the stages that are there and grow more, until there are enough or validation says stop."""
        if len(kept) > self.n_estimators:
            raise ValueError(
                f"n_estimators: {self.n_estimators} is less than the {len(kept)} stages that warm_start keeps."
            )
        fitted = Fitted(training, init, self.margin)
        held_out = None if validation is None else Fitted(validation, init, 0.0)
        grow = self._prepare(training)
        seeds = np.random.RandomState(seed).randint(1, LARGEST_SEED, self.n_estimators)
        trees: list[MaxMarginIntervalTree] = []
        train_score: list[float] = []
        validation_score: list[float] = []
        with progress_bar("stages", len(seeds), verbose=self.verbose) as advance:
            for stage, stage_seed in enumerate(seeds):
                trees.append(kept[stage] if stage < len(kept) else grow(fitted.residual, int(stage_seed)))
                fitted.add(trees[-1])
                train_score.append(fitted.mean_loss(self.loss))
                advance()
                if held_out is not None:
                    held_out.add(trees[-1])
                    validation_score.append(held_out.mean_loss(self.loss))
                    if self._has_stalled(validation_score):
                        break
        return trees, train_score, validation_score

    def _prepare(self, training: Rows) -> Callable[[FloatArray, int], MaxMarginIntervalTree]:
        """Sort the features, once; returns a function that grows a stage from residual intervals and a seed."""
        X, intervals, weights = training
        is_exact = intervals[:, 0] == intervals[:, 1]  # narrow residuals may round to a point, and keep their margin
        prototype = make_tree(self)
        options = growing_options(prototype, X.shape[0], X.shape[1], weights.sum())
        orders, saw_missing = sort_features(X), np.isnan(X.max(axis=0))
        used_up = np.empty_like(orders)
        n_drawn, random = max(1, round(self.subsample * len(X))), np.random.RandomState()  # a new one takes 0.1 ms

        def grow(residual: FloatArray, seed: int) -> MaxMarginIntervalTree:
            limits, weight, stage_orders = Target(residual, is_exact).at(float(self.margin)), weights, used_up
            if n_drawn < len(X):
                random.seed(seed)
                weight = np.where(random.permutation(len(X)) < n_drawn, weights, 0.0)
                stage_orders, limits = subsample(orders, limits, weight)
            else:
                np.copyto(used_up, orders)
            nodes = grow_tree(X, stage_orders, limits, weight, self.loss, options, seed)
            with np.errstate(over="ignore"):
                for field in ("value", "value_low", "value_high"):
                    nodes[field] *= self.learning_rate
            tree = copy.copy(prototype)
            tree.random_state, tree.tree_ = seed, IntervalTree(nodes, saw_missing)
            return tree

        return grow

    def _has_stalled(self, scores: list[float]) -> bool:
        patience = self.n_iter_no_change
        if patience is None or len(scores) <= patience:
            return False
        return min(scores[-patience:]) >= (1 - self.tol) * min(scores[:-patience])

    def _check_parameters(self) -> None:
        check_loss(self.loss, self.margin)
        check_early_stopping("n_iter_no_change", self.n_iter_no_change, self.validation_fraction)
        check_count("n_estimators", self.n_estimators, 1)
        check_positive("learning_rate", self.learning_rate)
        check_number("subsample", self.subsample, "a number > 0 and <= 1", lambda share: 0 < share <= 1)
        check_number("tol", self.tol, "a number >= 0 and < 1", lambda share: 0 <= share < 1)

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            `init_` plus the sum of the trees' predictions.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        total = np.empty(len(X))
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            *_, total[rows] = self._staged(X[rows])
        return total

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Predict after every stage.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            The prediction of the first stage, of the first two, and so on; the last one is that of `predict`.
        """
        check_is_fitted(self)
        yield from self._staged(check_features(self, X))

    def _staged(self, X: FloatArray) -> Iterator[FloatArray]:
        total = np.zeros(len(X))
        for tree in self.estimators_:
            total += tree.tree_.predict(X)
            yield self.init_ + total

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of every row in every tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators_)
            Rows of the trees' node tables.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        return np.column_stack([tree.tree_.apply(X) for tree in self.estimators_])

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of the total decrease of the cost by the splits of each feature."""
        check_is_fitted(self)
        decreases = [tree.tree_.compute_feature_importances(normalize=False) for tree in self.estimators_]
        total = np.sum(decreases, axis=0)
        return total / total.sum() if total.sum() > 0 else total
