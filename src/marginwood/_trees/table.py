"""The *node table*: a fitted tree as arrays with an entry per node, as scikit-learn's ``tree_``, and what reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from marginwood._base import IntervalRegressorMixin, check_features
from marginwood._core.nodes import LEAF, parents
from marginwood.intervals import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from marginwood._core.subsets import Subsets

__all__ = ["IntervalTree", "OptimumReader", "TreeReader", "find_missing"]


def find_missing(X: FloatArray) -> BoolArray:
    """Which features hold NaN."""
    found: BoolArray = np.isnan(X.max(axis=0))  # without a mask of all cells
    return found


class IntervalTree:
    """The node table of a fitted tree; each attribute is an array with one entry per node.

    Attributes
    ----------
    children_left, children_right : ndarray
        Rows of the children, -1 for a leaf.
    feature, threshold : ndarray
        A sample goes left if its feature is at most the threshold; -2 for a leaf. If the feature
        has categories, the threshold is the number of the split among `subsets`.
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
    subsets : Subsets or None
        The codes of the categories that splits send left: all others go right. None if all features
        hold numbers.
    """

    n_outputs = 1
    n_classes = np.array([1])
    max_n_classes = 1

    def __init__(
        self, nodes: npt.NDArray[np.void], saw_missing: BoolArray, subsets: Subsets | None = None
    ) -> None:
        self.nodes = nodes
        self.saw_missing = saw_missing
        self.subsets = subsets
        self.n_features = len(saw_missing)

    @property
    def threshold(self) -> FloatArray:
        """What the feature of a split is compared with; -2 for a leaf."""
        return self.nodes["threshold"]

    @property
    def feature(self) -> IntArray:
        """The feature of a split; -2 for a leaf."""
        return self.nodes["feature"]

    @property
    def children_left(self) -> IntArray:
        """The row of the left child; -1 for a leaf."""
        return self.nodes["children_left"]

    @property
    def children_right(self) -> IntArray:
        """The row of the right child; -1 for a leaf."""
        return self.nodes["children_right"]

    @property
    def missing_go_to_left(self) -> IntArray:
        """Whether NaN goes left."""
        return self.nodes["missing_go_to_left"]

    @property
    def value_low(self) -> FloatArray:
        """Lower end of the set of predictions of least cost; it may be infinite."""
        return self.nodes["value_low"]

    @property
    def value_high(self) -> FloatArray:
        """Upper end of the set of predictions of least cost; it may be infinite."""
        return self.nodes["value_high"]

    @property
    def impurity(self) -> FloatArray:
        """The cost of every node."""
        return self.nodes["impurity"]

    @property
    def n_node_samples(self) -> IntArray:
        """Number of the training samples of every node."""
        return self.nodes["n_node_samples"]

    @property
    def weighted_n_node_samples(self) -> FloatArray:
        """Weight of the training samples of every node."""
        return self.nodes["weighted_n_node_samples"]

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
        from marginwood._core.predict import depths

        return int(depths(self.nodes).max())

    def apply(self, X: FloatArray) -> IntArray:
        """The leaf of every row of a checked X."""
        from marginwood._core.predict import apply

        if X.shape[1] != self.n_features:  # the kernel would read beyond the rows
            raise ValueError(f"X: expected {self.n_features} features, got {X.shape[1]}.")
        return apply(self.nodes, X, self.subsets)

    def subset_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of `subsets` by name; none if there are none."""
        return {} if self.subsets is None else self.subsets._asdict()

    def codes_of(self, idx: int) -> IntArray | None:
        """The codes that a split of categories sends left, ascending; None for a split of numbers."""
        node = self.nodes[idx]
        if self.subsets is None or not self.subsets.n_categories[node["feature"]]:
            return None
        number = int(node["threshold"])
        return self.subsets.codes[self.subsets.offsets[number] : self.subsets.offsets[number + 1]]

    def predict(self, X: FloatArray) -> FloatArray:
        """The prediction for every row of a checked X."""
        return self.nodes["value"][self.apply(X)]

    def decision_path(self, X: FloatArray) -> csr_matrix:
        """Indicator matrix of the nodes that each row passes."""
        from marginwood._core.predict import decision_paths, depths

        indptr, indices = decision_paths(parents(self.nodes), depths(self.nodes), self.apply(X))
        return csr_matrix(
            (np.ones(len(indices), dtype=np.int64), indices, indptr), (len(X), self.node_count)
        )

    def compute_feature_importances(self, normalize: bool = True) -> FloatArray:
        """How much of the cost the splits of each feature took away."""
        splits = self.nodes[self.nodes["children_left"] != LEAF]
        cost = self.nodes["impurity"]
        decrease = (
            splits["impurity"] - cost[splits["children_left"]] - cost[splits["children_right"]]
        )
        importances = np.bincount(
            splits["feature"], np.maximum(decrease, 0), self.n_features
        ).astype(np.float64)
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
