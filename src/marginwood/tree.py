"""MaxMarginIntervalTree: one tree, grown exactly.

A fitted tree is a *node table* (`IntervalTree`): arrays with an entry per node, as scikit-learn's ``tree_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._core.nodes import LEAF, parents
from marginwood._core.order import sort_features
from marginwood._core.predict import apply, depths
from marginwood._core.problem import Target, grow_tree
from marginwood.base import (
    LARGEST_SEED,
    IntervalRegressorMixin,
    all_or_nothing,
    check_features,
    check_rows,
    copy_feature_names,
)
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import check_loss
from marginwood.options import check_ccp_alpha, growing_options
from marginwood.pruning import PruningPathMixin, prune

__all__ = ["IntervalTree", "MaxMarginIntervalTree"]


class IntervalTree:
    """The node table of a fitted tree; each attribute is an array with one entry per node.

    Attributes
    ----------
    children_left, children_right : ndarray
        Rows of the children, -1 for a leaf.
    feature, threshold : ndarray
        A sample goes left if its feature is at most the threshold; -2 for a leaf.
    missing_go_to_left : ndarray
        Whether NaN goes left.
    value : ndarray of shape (node_count, 1, 1)
        The prediction, in the shape that scikit-learn's exporters read.
    value_low, value_high : ndarray
        Ends of the set of predictions of least cost; they may be infinite.
    impurity : ndarray
        The cost: the weighted sum of the node's losses, margin included.
    n_node_samples, weighted_n_node_samples : ndarray
        Number and weight of the training samples.
    saw_missing : ndarray of shape (n_features,)
        Whether the training data had NaN in a feature.
    """

    n_outputs = 1
    n_classes = np.array([1])
    max_n_classes = 1

    def __init__(self, nodes: npt.NDArray[np.void], saw_missing: BoolArray) -> None:
        self.nodes = nodes
        self.saw_missing = saw_missing
        self.n_features = len(saw_missing)

    def __getattr__(self, name: str) -> Any:
        nodes = self.__dict__.get("nodes")
        if nodes is None or name not in nodes.dtype.names:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return nodes[name]

    @property
    def value(self) -> FloatArray:
        """The predictions, in scikit-learn's shape (node_count, 1, 1)."""
        return self.nodes["value"].reshape(-1, 1, 1)

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.nodes)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.nodes["children_left"] == LEAF))

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf; 0 for a tree without splits."""
        return int(depths(self.nodes).max())

    def apply(self, X: FloatArray) -> IntArray:
        """The leaf of every row of a checked X."""
        if X.shape[1] != self.n_features:  # the kernel would read beyond the rows
            raise ValueError(f"X: expected {self.n_features} features, got {X.shape[1]}.")
        return apply(self.nodes, X)

    def predict(self, X: FloatArray) -> FloatArray:
        """The prediction for every row of a checked X."""
        return self.nodes["value"][self.apply(X)]

    def decision_path(self, X: FloatArray) -> csr_matrix:
        """Indicator matrix of the nodes that each row passes."""
        parent, at, depth = parents(self.nodes), self.apply(X), depths(self.nodes)
        ends = np.cumsum(depth[at] + 1)
        indices = np.empty(ends[-1], dtype=np.int64)
        for step in range(depth.max() + 1):
            rows = np.flatnonzero(depth[at] == depth.max() - step)
            indices[ends[rows] - 1] = at[rows]
            ends[rows] -= 1
            at[rows] = parent[at[rows]]
        indptr = np.append(ends, len(indices))
        return csr_matrix((np.ones(len(indices), dtype=np.int64), indices, indptr), (len(X), self.node_count))

    def compute_feature_importances(self, normalize: bool = True) -> FloatArray:
        """How much of the cost the splits of each feature took away."""
        splits = self.nodes[self.nodes["children_left"] != LEAF]
        cost = self.nodes["impurity"]
        decrease = splits["impurity"] - cost[splits["children_left"]] - cost[splits["children_right"]]
        importances = np.bincount(splits["feature"], np.maximum(decrease, 0), self.n_features).astype(np.float64)
        total = importances.sum()
        return importances / total if normalize and total > 0 else importances


class TreeReader(IntervalRegressorMixin):
    """What an estimator reads off its node table ``tree_``."""

    tree_: IntervalTree

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row: the value of its leaf.

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
        return self.tree_.predict(check_features(self, X))

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Rows of the node table.
        """
        check_is_fitted(self)
        return self.tree_.apply(check_features(self, X))

    def decision_path(self, X: Any) -> csr_matrix:
        """Find the nodes that every row passes, from the root to its leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
        check_is_fitted(self)
        return self.tree_.decision_path(check_features(self, X))

    def get_depth(self) -> int:
        """Depth of the deepest leaf.

        Returns
        -------
        int
            0 for a tree without splits.
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
            Number of leaves.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of the total decrease of the cost by the splits of each feature."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()


class OptimumReader(TreeReader):
    """What a tree adds whose values minimise the costs of its leaves: middles, or finite ends, of all minimisers."""

    def predict_optimal_interval(self, X: Any) -> FloatArray:
        """Predict, for every row, the interval of all minimisers of the cost of its leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper end. An end is infinite where the leaf holds no limit on that side.
        """
        leaves = self.apply(X)
        return np.column_stack([self.tree_.value_low[leaves], self.tree_.value_high[leaves]])


class MaxMarginIntervalTree(PruningPathMixin, OptimumReader, BaseEstimator):
    """Regression tree for interval labels, grown by exact minimisation of a hinge loss with a margin.

    Every split is the one that lowers the training cost most, over all features and thresholds. The cost of a
    leaf is the sum of its samples' losses: a sample pays the loss of how far the prediction lies
    outside ``[lower + margin, upper - margin]``. A node is split only if that lowers the cost.

    Parameters
    ----------
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The distance to the interval, or its square.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin. Raising it makes the tree split more.
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
        Cost of a leaf in minimal cost-complexity pruning, per unit of total sample weight; 0 for no pruning.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of features; without effect when all features are tried.

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

    Notes
    -----
    Features may hold NaN, for which every split learns a direction, and infinities. Where training saw no NaN, NaN goes
    to the heavier side. Equally good splits are decided by the lowest feature, then NaN right before NaN left, then the
    lowest threshold.

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

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        margin: float = 0.0,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.margin = margin
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state

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
            Weights; rows of weight 0 count as absent.

        Returns
        -------
        MaxMarginIntervalTree
            The fitted tree.
        """
        check_loss(self.loss, self.margin)
        check_ccp_alpha(self.ccp_alpha)
        X = check_features(self, X, reset=True)
        X, intervals, weight = check_rows(X, y, sample_weight).weighted()
        return self._grow(X, sort_features(X), Target(intervals), weight)

    def _grow(self, X: FloatArray, orders: Any, target: Target, weights: FloatArray) -> MaxMarginIntervalTree:
        """Grow and prune the tree from checked rows of positive weight; uses `orders` up."""
        options = growing_options(self, X.shape[0], X.shape[1], weights.sum())
        self.max_features_ = options.max_features
        seed = check_random_state(self.random_state).randint(1, LARGEST_SEED)
        nodes = grow_tree(X, orders, target.at(float(self.margin)), weights, self.loss, options, seed)
        if self.ccp_alpha > 0:
            nodes = prune(nodes, self.ccp_alpha)
        self.tree_ = IntervalTree(nodes, np.isnan(X.max(axis=0)))
        return self


def make_tree(ensemble: Any) -> MaxMarginIntervalTree:
    """A tree, not grown yet, with the parameters and the features of an ensemble that has seen its data."""
    names = MaxMarginIntervalTree().get_params().keys() & ensemble.get_params().keys() - {"random_state"}
    tree = MaxMarginIntervalTree(**{name: getattr(ensemble, name) for name in names})
    copy_feature_names(ensemble, tree)
    return tree
