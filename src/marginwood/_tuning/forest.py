"""MaxMarginIntervalForestCV: loss, margin and further parameters of a forest, chosen by its out-of-bag rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows
from marginwood._predictive import DistributionMixin
from marginwood._support.notices import warn
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._tuning.estimator import EnsembleSearchCV
from marginwood._tuning.search import Point
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import IntArray
from marginwood.losses import LOSSES

__all__ = ["MaxMarginIntervalForestCV"]


class MaxMarginIntervalForestCV(DistributionMixin, EnsembleSearchCV):
    """Forest of maximum margin interval trees that chooses its loss, its margin and more by its out-of-bag rows.

    Every candidate is a whole forest. Features and limits are sorted once for all of them, and all
    draw the same rows.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    losses : sequence of {"linear_hinge", "squared_hinge"}, default=("linear_hinge", "squared_hinge")
        Losses to try, or the name of one.
    margins : "auto" or sequence of float, default="auto"
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the
        limits. Rows with ``lower == upper`` have no margin.
    n_margins : int, default=7
        Number of margins if they are "auto".
    grid : dict, default=None
        Further parameters and the values to try, as ``{"min_samples_leaf": (1, 5), "max_features":
        (1 / 3, 1.0)}``.
    max_depth : int, default=None
        Depth of the trees; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of the tree's rows.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of the tree's rows.
    max_features : int, float, {"sqrt", "log2"} or None, default=1/3
        How many features to try in each node; a float is a share, None is all.
    max_leaf_nodes : int, default=None
        Grow the trees best first, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Least decrease of the cost by a split, per unit of the weight of the tree's rows.
    ccp_alpha : float, default=0.0
        Cost of a leaf in the pruning of every tree, per unit of the weight of its rows; 0 for no
        pruning.
    anchor : float, default=0.0
        Weight of the parent's value in the value of a node, as if it were one more un-censored row:
        it draws the values of small and one-sided leaves towards those of their ancestors. It
        changes neither splits nor costs.
    categorical_features : "from_dtype", sequence of str, int or bool, or None, default="from_dtype"
        Features whose values are categories: names, indices or a mask. "from_dtype" takes the
        columns of a frame that have a categorical type: categories of pandas, Categorical and Enum
        of polars. None for no feature.
    monotonic_cst : sequence of {-1, 0, 1} or dict of them by name, default=None
        For each feature 1 if it must not lower the prediction, -1 if it must not raise it, and 0 if
        it may do either.
    bootstrap : bool, default=True
        Draw the rows of each tree with replacement; otherwise every tree has all rows.
    max_samples : int or float, default=None
        How many rows to draw for each tree; a float is a share, None is as many as there are.
    aggregation : {"mean", "median"}, default="mean"
        How the trees' predictions become one.
    random_state : int, RandomState instance or None, default=None
        Seed of all random draws; all candidates share it.
    cv : "oob", int, splitter or iterable of (train, test), default="oob"
        "oob" scores every row by the trees that did not draw it, without folds. Otherwise the
        number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score. "1se" takes the forest of fewest leaves whose mean score is
        within one standard error of the best; out of bag there is no standard error.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    checkpoint : path-like, default=None
        File to which each finished piece of the search is appended. A fit that was interrupted or
        killed and is started again with the same data and parameters does only what is missing. A
        custom scorer is known by its name only. The file stays when the fit is done.

    Attributes
    ----------
    best_estimator_ : MaxMarginIntervalForest
        The chosen model, fitted to all rows.
    estimators_ : list of MaxMarginIntervalTree
        Its trees.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Its importances of the features.
    best_params_ : dict
        Its ``loss``, ``margin`` and the parameters of `grid`.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: the parameters, as ``param_margin``; ``split0_test_score`` and so
        on, ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    See Also
    --------
    MaxMarginIntervalForest : The forest with given parameters.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalForestCV
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> search = MaxMarginIntervalForestCV(
    ...     30, losses="squared_hinge", margins=[0.0, 0.2, 5.0], grid={"min_samples_leaf": [1, 30]}, random_state=0
    ... )
    >>> search.fit(X, y).best_params_
    {'loss': 'squared_hinge', 'margin': 0.0, 'min_samples_leaf': 1}
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        losses: Any = LOSSES,
        margins: Any = "auto",
        n_margins: int = 7,
        grid: dict[str, Any] | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = 1 / 3,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        anchor: float = 0.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        aggregation: str = "mean",
        random_state: Any = None,
        cv: Any = "oob",
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.losses = losses
        self.margins = margins
        self.n_margins = n_margins
        self.grid = grid
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.anchor = anchor
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.aggregation = aggregation
        self.random_state = random_state
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _draws(self) -> bool:
        return True

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:
        forest = MaxMarginIntervalForest(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            ccp_alpha=self.ccp_alpha,
            anchor=self.anchor,
            bootstrap=self.bootstrap,
            max_samples=self.max_samples,
            aggregation=self.aggregation,
            random_state=seed,
            **self._of_features(),
        )
        axes: dict[str, list[Any]] = {
            "loss": self._check_losses(),
            "margin": self._check_margins(rows),
        }
        points = self._make_grid(forest, axes, np.zeros(1))
        if self._is_out_of_bag() and not all(point.estimator.bootstrap for point in points):
            raise ValueError(
                "cv: there are no out-of-bag rows without bootstrap; set bootstrap=True or cv=5."
            )
        return points

    def _is_out_of_bag(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "oob"

    def _split(self, rows: Rows, groups: Any) -> list[tuple[IntArray, IntArray]]:
        if not self._is_out_of_bag():
            return super()._split(rows, groups)
        if groups is not None:
            warn(
                "groups: out-of-bag scores ignore them; set cv to a splitter such as sklearn's GroupKFold."
            )
        return []

    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row by the best forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        IntervalDistribution
            One row per row of X.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_distribution(X)

    def _refit_params(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs}
