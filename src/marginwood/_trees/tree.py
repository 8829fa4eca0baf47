"""MaxMarginIntervalTree: one tree, grown exactly."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from marginwood._base import (
    LARGEST_SEED,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
    copy_feature_names,
)
from marginwood._categories import count_categories
from marginwood._monotonic import effects_of
from marginwood._searchable import AUTO, FOUND, Searchable, SideBySide
from marginwood._support.checks import check_each, check_not_negative
from marginwood._trees.growing import SortedRows, anchored, grow, make_team
from marginwood._trees.pruning import PrunableMixin, SubtreePath, pruning_path
from marginwood._trees.rules import Rules
from marginwood._trees.table import IntervalTree, OptimumReader
from marginwood.losses import Loss

__all__ = ["MaxMarginIntervalTree", "make_tree"]


# Weights of the parent's value that a search tries.
ANCHORS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)


class MaxMarginIntervalTree(Searchable, PrunableMixin, OptimumReader, BaseEstimator):
    """Regression tree for interval labels, grown by exact minimisation of a hinge loss with a margin.

    Every split is the one that lowers the training cost most, over all features and thresholds. The
    cost of a leaf is the sum of its samples' losses: a sample pays the loss of how far the
    prediction lies outside ``[lower + margin, upper - margin]``. A node is split only if that
    lowers the cost.

    Parameters
    ----------
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The distance to the interval, or its square.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin. Raising it makes the tree split more.
    quantile : float, default=0.5
        Which quantile the linear hinge is to estimate: a prediction below its range costs
        ``2 * quantile`` times the distance, one above ``2 * (1 - quantile)`` times. 0.5 is the
        median.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many features to try in each node, drawn at random; None for all, without randomness.
    max_leaf_nodes : int, default=None
        Grow best first, by the decrease of the cost, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Least decrease of the cost by a split, per unit of total sample weight.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning, per unit of total sample weight; 0 for no
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
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of features; without effect when all features are tried.
    n_jobs : int, default=None
        Number of threads that grow a tree from many rows; None for one unless a
        ``joblib.parallel_config`` says otherwise, -1 for all processors. The tree is the same for
        any number.

    Attributes
    ----------
    tree_ : IntervalTree
        The node table.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the total decrease of the cost by the splits of each feature.
    max_features_ : int
        Number of features tried in each node.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    Notes
    -----
    Features may hold NaN, for which every split learns a direction, and infinities. Where training
    saw no NaN, NaN goes to the heavier side. Equally good splits are decided by the lowest feature,
    then NaN right before NaN left, then the lowest threshold.

    A split of categories sends some of them left and all others right. In a node with up to eight
    it is the best of all. Where there are more, the values of both sides and the categories that
    prefer them are found by turns, which is nearly always as good, and the split that results is
    priced exactly. Missing categories, and those that training did not know, go where NaN goes.
    Those that were known but not present in the node go right, where more samples are.

    With `monotonic_cst`, a split of such a feature must have values in that order, and between them
    lies a bound for all values below, to which they are clipped. That is scikit-learn's way; it
    changes no costs.

    References
    ----------
    .. [1] Drouin, Hocking and Laviolette (2017), "Maximum Margin Interval Trees", Advances in Neural Information
       Processing Systems 30.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import MaxMarginIntervalTree
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> y = np.array([[0.0, 1.0], [-np.inf, 2.0], [5.0, 6.0], [4.0, np.inf]])
    >>> tree = MaxMarginIntervalTree(margin=0.5).fit(X, y)
    >>> tree.predict([[1.5], [3.5]]).tolist()
    [0.5, 5.5]
    """

    criterion = "cost"
    path_parameters = ("anchor", "ccp_alpha")
    default_folds = "repeated"  # pruning depends on the folds more than other choices do

    def __init__(
        self,
        *,
        loss: Loss = "squared_hinge",
        margin: float = 0.0,
        quantile: float = 0.5,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        anchor: float = 0.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MaxMarginIntervalTree:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0, or below 1e-300 of the largest, count as absent.

        Returns
        -------
        MaxMarginIntervalTree
            The fitted tree.
        """
        rules = self._rules()
        X = check_features(self, X, reset=True)
        rules = rules._replace(monotonic_cst=effects_of(self))
        checked = check_rows(X, y, sample_weight).weighted()
        self.max_features_ = rules.options(len(X), X.shape[1], 1.0).max_features
        with make_team(self.n_jobs, X) as team:
            rows = SortedRows(
                checked, count_categories(self.categories_), is_shared=False, team=team
            )
            nodes, subsets = grow(rows, rules, self._seed())
        self.tree_ = IntervalTree(nodes, rows.saw_missing, subsets)
        return self

    def _rules(self) -> Rules:
        return Rules.of(self)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(1, LARGEST_SEED))

    @property
    def _is_random(self) -> bool:
        return self.max_features is not None

    def _search_space(self, rows: Rows) -> dict[str, Any]:  # noqa: ARG002 (nothing depends on them)
        return {"loss": [self.loss], "margin": AUTO, "anchor": ANCHORS, "ccp_alpha": FOUND}

    def _prepare(self, rows: Rows) -> SortedRows:
        return SortedRows(rows.weighted(), count_categories(self.categorical_features.categories))

    def _fit_path(self, rows: SortedRows, values: Mapping[str, Any]) -> SideBySide:
        """The subtrees with the values that each anchor gives them: it changes neither splits nor costs."""
        rules = self._rules()._replace(ccp_alpha=0.0, anchor=0.0)
        anchors = check_each("anchor", values["anchor"], check_not_negative)
        seed = 1 if self.max_features is None else self._seed()  # where nothing is drawn, any seed
        grown = grow(rows, rules, seed)
        path = pruning_path(grown.nodes)
        paths = []
        for weight in anchors:
            estimator = copy.copy(self)
            estimator.anchor = weight
            own = anchored(grown, rows, rules._replace(anchor=weight))
            tree = IntervalTree(own.nodes, rows.saw_missing, own.subsets)
            paths.append(SubtreePath(estimator, tree, path, values["ccp_alpha"]))
        return SideBySide(paths)


def make_tree(rules: Rules, ensemble: Any) -> MaxMarginIntervalTree:
    """A tree by these rules, not grown yet, with the features of an ensemble that has seen its data."""
    tree = MaxMarginIntervalTree(
        **rules._asdict(), categorical_features=ensemble.categorical_features
    )
    copy_feature_names(ensemble, tree)
    tree.max_features_ = rules.options(1, ensemble.n_features_in_, 1.0).max_features
    return tree
