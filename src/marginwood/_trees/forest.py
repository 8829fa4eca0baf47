"""MaxMarginIntervalForest: many trees on bootstrap samples, with random candidate features in every node.

A row is *out of bag* for the trees that did not draw it: their predictions of it are as good as on
new data.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from itertools import chain, starmap
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    BLOCK,
    LARGEST_SEED,
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
    forget,
    own_d2,
)
from marginwood._categories import count_categories
from marginwood._ends import check_entry
from marginwood._monotonic import effects_of
from marginwood._predictive import DistributionMixin
from marginwood._searchable import AUTO, Searchable
from marginwood._support.notices import warn
from marginwood._support.progress import progress_bar
from marginwood._support.threads import check_stopped, count_threads
from marginwood._trees.bagging import THIRD, Draw, aggregate, choose_features, grow_trees
from marginwood._trees.growing import Grown, SortedRows
from marginwood._trees.leafweights import (
    decode_rows,
    encode_rows,
    find_cuts,
    keeps_rows,
    predict_by_leaves,
)
from marginwood._trees.outofbag import ForestPath, OutOfBag
from marginwood._trees.rules import UNBOUNDED, Rules, count_draws
from marginwood._trees.table import IntervalTree
from marginwood._trees.tree import MaxMarginIntervalTree, make_tree
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import Loss

__all__ = ["MaxMarginIntervalForest"]


class MaxMarginIntervalForest(Searchable, DistributionMixin, IntervalRegressorMixin, BaseEstimator):
    """Random forest of maximum margin interval trees.

    Every tree is grown on a bootstrap sample, and every node tries a random part of the features.
    The prediction is the mean, or the median, of the trees' predictions. The result depends on
    `random_state` only, not on `n_jobs` or on where the trees are grown.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The loss of the trees.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin.
    quantile : float, default=0.5
        Which quantile the linear hinge is to estimate: a prediction below its range costs
        ``2 * quantile`` times the distance, one above ``2 * (1 - quantile)`` times. 0.5 is the
        median.
    max_depth : int, default=None
        Depth of the trees; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of the tree's rows.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of the tree's rows. A row that was drawn twice
        counts once.
    max_features : int, float, {"auto", "sqrt", "log2"} or None, default="auto"
        How many features to try in each node; a float is a share, None is all. "auto" is a third,
        or all where some trees say, out of bag, that these have less than 0.9 of the error: a third
        of many features seldom holds the one that matters. Forests of fewer than 25 trees take a
        third.
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
    oob_score : bool, default=False
        Score every row by the trees that did not draw it.
    n_jobs : int, default=None
        Number of threads (joblib's rule). Within ``joblib.parallel_config(backend="dask")`` the
        trees are grown by the cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.
    keep_rows : bool, default=True
        Keep what predictions of distributions need of the training rows: their intervals and
        weights, and between which thresholds their features lie. Without, there are none, and
        a file holds the trees alone.

    Attributes
    ----------
    estimators_ : list of MaxMarginIntervalTree
        The trees.
    max_features_ : int
        How many features each node tried.
    estimators_samples_ : list of ndarray
        The rows that each tree drew, with repetitions.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean of the trees' importances.
    oob_prediction_ : ndarray of shape (n_samples,)
        Prediction of every row by the trees that did not draw it; NaN if all drew it. With
        `oob_score` only.
    oob_score_ : float
        Interval D2 of these predictions, as `score` computes it. With `oob_score` only.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalForest
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> forest = MaxMarginIntervalForest(n_estimators=50, margin=0.2, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.5
    True
    """

    default_folds = "oob"

    # Of rows that are seen only because their value is greater.
    _entry: FloatArray | None = None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: Loss = "squared_hinge",
        margin: float = 0.0,
        quantile: float = 0.5,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = AUTO,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        anchor: float = 0.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        aggregation: str = "mean",
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        keep_rows: bool = True,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.margin = margin
        self.quantile = quantile
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
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.keep_rows = keep_rows

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, entry: Any = None
    ) -> MaxMarginIntervalForest:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; they multiply how often a row was drawn.
        entry : array-like of shape (n_samples,), default=None
            Delayed entry (left truncation): a row is there only because its value is greater; -inf
            is no condition. Predicted distributions take it into account, trees do not.

        Returns
        -------
        MaxMarginIntervalForest
            The fitted forest.
        """
        rules = self._rules()
        is_warm = self.warm_start and hasattr(self, "estimators_")
        rows = check_rows(check_features(self, X, reset=not is_warm), y, sample_weight)
        forget(self, "_entry")
        if entry is not None:
            self._entry, intervals = check_entry(entry, rows.intervals)
            rows = rows._replace(intervals=intervals)
        prepared = SortedRows(rows, count_categories(self.categories_))
        rules = rules._replace(monotonic_cst=effects_of(self))
        return self._fit(prepared, rules, len(self.estimators_) if is_warm else 0)

    def _rules(self) -> Rules:
        count_draws(self, UNBOUNDED)  # of as many rows as may come
        known = {"max_features": THIRD} if self._chooses_features() else {}
        return Rules.of(self, **known)

    def _search_space(self, rows: Rows) -> dict[str, Any]:  # noqa: ARG002 (nothing depends on them)
        return {"loss": self._rules().losses, "margin": AUTO}

    def _chooses_features(self) -> bool:
        return isinstance(self.max_features, str) and self.max_features == AUTO

    def _prepare(self, rows: Rows) -> SortedRows:
        return SortedRows(rows, count_categories(self.categorical_features.categories))

    def _fit_path(self, rows: SortedRows, values: Any) -> ForestPath:  # noqa: ARG002 (there is one model)
        forest = clone(self).set_params(oob_score=False, warm_start=False, verbose=0)
        forest.n_features_in_ = rows.X.shape[1]
        return ForestPath(forest._fit(rows, forest._rules()))

    def _draw_rows(self, n_samples: int, n_kept: int) -> list[Draw]:
        """Draws of the trees to grow; with an integer `random_state` those that follow the ones of the kept trees."""
        n_new = self.n_estimators - n_kept
        if n_new < 0:
            expected = f"at least the {n_kept} trees that warm_start keeps"
            raise ValueError(f"n_estimators: expected {expected}, got {self.n_estimators}.")
        n_seeds = self.n_estimators if isinstance(self.random_state, numbers.Integral) else n_new
        seeds = check_random_state(self.random_state).randint(1, LARGEST_SEED, n_seeds)[
            n_seeds - n_new :
        ]
        return [Draw(int(seed), n_samples, count_draws(self, n_samples)) for seed in seeds]

    def _fit(self, rows: SortedRows, rules: Rules, n_kept: int = 0) -> MaxMarginIntervalForest:
        """Grow a tree per draw after the trees that are kept."""
        draws = self._draw_rows(len(rows.X), n_kept)
        if (
            self.oob_score
            and n_kept
            and any(draw.n_samples != len(rows.X) for draw in starmap(Draw, self._draws))
        ):
            raise ValueError(
                "oob_score: the trees that warm_start keeps were grown from another number of rows."
            )
        first: list[Grown] = []
        if self._chooses_features():
            if n_kept:
                rules = rules._replace(max_features=self.max_features_)
            elif self.bootstrap and rows.X.shape[1] > 1:
                rules, first = choose_features(rows, rules, draws, self.aggregation, self.n_jobs)
        self.max_features_: int = rules.options(len(rows.X), rows.X.shape[1], 1.0).max_features
        prototype = make_tree(rules, self)
        trees = []
        others = grow_trees(rows, rules, draws[len(first) :], self.n_jobs)
        with progress_bar("trees", len(draws), verbose=self.verbose) as advance:
            for grown, draw in zip(chain(first, others), draws, strict=True):
                check_stopped()
                tree = copy.copy(prototype)
                tree.random_state = draw.seed
                tree.tree_ = IntervalTree(grown.nodes, rows.saw_missing, grown.subsets)
                trees.append(tree)
                advance()
        forget(self, "oob_prediction_", "oob_score_", "_codes", "_intervals", "_weight")
        self.estimators_: list[MaxMarginIntervalTree] = [
            *(self.estimators_ if n_kept else []),
            *trees,
        ]
        self._draws: list[tuple[int, ...]] = [*(self._draws if n_kept else []), *map(tuple, draws)]
        if self.keep_rows:
            # Distributions are read off them later, when arrays of the user may hold other numbers.
            X, self._intervals, self._weight = rows.rows._replace(
                intervals=rows.rows.intervals.copy(), weight=rows.rows.weight.copy()
            )
            self._codes = encode_rows(X, find_cuts(self._tables()))
        else:
            forget(self, "_entry")
        if self.oob_score:
            self._score_oob(rows.rows)
        return self

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The rows that each tree drew, with repetitions."""
        check_is_fitted(self)
        return [
            np.repeat(np.arange(draw.n_samples), draw.counts())
            for draw in starmap(Draw, self._draws)
        ]

    def _over_blocks(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        """Results of a function of a block of rows, one after another, in threads."""
        blocks = [slice(start, start + BLOCK) for start in range(0, n_rows, BLOCK)]
        run = Parallel(n_jobs=count_threads(self.n_jobs, len(blocks)), require="sharedmem")
        return np.concatenate(run(delayed(function)(rows) for rows in blocks))

    def _predict(self, X: FloatArray, drawn: BoolArray | None = None) -> FloatArray:
        """Predict; with `drawn`, of shape (n_estimators, n_rows), only by the trees that did not draw a row."""

        def predict_block(rows: slice) -> FloatArray:
            predictions = np.array([tree.tree_.predict(X[rows]) for tree in self.estimators_])
            return aggregate(
                predictions, False if drawn is None else drawn[:, rows], self.aggregation
            )

        return self._over_blocks(predict_block, len(X))

    def _drawn(self) -> BoolArray:
        """Which trees drew each training row, of shape (n_estimators, n_rows)."""
        return np.array([draw.counts() > 0 for draw in starmap(Draw, self._draws)])

    def _predict_oob(self, X: FloatArray) -> FloatArray:
        """Predict the training rows by the trees that did not draw them; NaN where all did."""
        return self._predict(X, self._drawn())

    def _out_of_bag(self) -> OutOfBag:
        return OutOfBag(self)

    def _score_oob(self, rows: Rows) -> None:
        self.oob_prediction_ = self._predict_oob(rows.X)
        is_scored = ~np.isnan(self.oob_prediction_) & (rows.weight > 0)
        n_left_out = np.count_nonzero(~is_scored & (rows.weight > 0))
        if n_left_out > 0:
            warn(
                f"oob_score: {n_left_out} of {len(rows.X)} rows were drawn by every tree and have no out-of-bag "
                "prediction. More trees (n_estimators) help."
            )
        self.oob_score_ = np.nan
        if is_scored.any():
            _, intervals, weight = rows.take(is_scored)
            self.oob_score_ = own_d2(self, intervals, self.oob_prediction_[is_scored], weight)

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

    @available_if(keeps_rows)  # type: ignore[untyped-decorator]
    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row.

        The training rows that share leaves with a row, weighed by how often they do, have a maximum
        likelihood distribution. It needs no assumption on the errors. Leaves of 10 rows or more and
        many features per node suit it: choose them by
        ``IntervalSearchCV(MaxMarginIntervalForest(), ..., scoring="neg_interval_log_loss")``.

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
        return predict_by_leaves(self, self.apply(X))

    def _tables(self) -> list[IntervalTree]:
        return [tree.tree_ for tree in self.estimators_]

    def _training_leaves(self) -> IntArray:
        """The leaf of every training row in every tree, of shape (n_rows, n_estimators)."""
        return self._apply(decode_rows(self._codes, find_cuts(self._tables())))

    def _apply(self, X: FloatArray) -> IntArray:
        def apply_block(rows: slice) -> IntArray:
            return np.column_stack([tree.apply(X[rows]) for tree in self._tables()])

        return self._over_blocks(apply_block, len(X))

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
        return self._apply(check_features(self, X))

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the trees' importances, normalised."""
        check_is_fitted(self)
        importances = np.mean([tree.feature_importances_ for tree in self.estimators_], axis=0)
        total = importances.sum()
        return importances / total if total > 0 else importances
