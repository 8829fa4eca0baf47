"""An ordinary regression tree that takes every limit for a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
    forget,
    refuse_features,
)
from marginwood._core.nodes import NODE_DTYPE
from marginwood._trees.pruning import geometric_means, leaves_along, pruning_path
from marginwood._tuning.selection import choose, mse_by_fold
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import breakpoints, check_loss

__all__ = ["IntervalCART"]

MAX_PATH = 200


class IntervalCART(IntervalRegressorMixin, BaseEstimator):
    """Ordinary regression tree on the limits of intervals, pruned by cross-validation.

    Every sample becomes a row labelled ``lower + margin`` and one labelled ``upper - margin``, of which those
    with an infinite label are left out. scikit-learn's `DecisionTreeRegressor` learns these rows. The penalty of its
    cost-complexity pruning is the one with the least interval MSE over folds of the samples: both rows of a
    sample are in one fold. Predictions inside an interval are punished like others, which is what makes this
    a baseline.

    Parameters
    ----------
    margin : float, default=0.0
        How far inside its interval a label lies, in units of the target. Rows with ``lower == upper``
        have no margin.
    cv : int, splitter or iterable of (train, test) indices, default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the rows of each fold.
        None for a tree without pruning.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=2
        Fewest rows (limits, not samples) of a node that may be split; a float is a share.
    min_samples_leaf : int or float, default=1
        Fewest rows (limits, not samples) of a leaf; a float is a share.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice between equally good splits.

    Attributes
    ----------
    estimator_ : DecisionTreeRegressor
        The pruned tree. Its values are in units of `scale_` from `centre_`.
    alpha_ : float
        The penalty chosen, relative to targets in units of `scale_`; 0 without pruning.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, largest first. Only with pruning.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Interval MSE of every penalty in every fold. Only with pruning.
    centre_, scale_ : float
        What the labels were shifted and divided by, so that neither an offset nor a unit changes the tree.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    Features may hold NaN. scikit-learn's trees refuse infinities and compare features in single precision.
    Penalties tried are geometric means of neighbours on the tree's own pruning path; a path of more than 200 trees
    is thinned out among the largest trees.

    References
    ----------
    .. [1] Drouin, Hocking and Laviolette (2017), "Maximum Margin Interval Trees", Advances in Neural Information
       Processing Systems 30.
    .. [2] Breiman, Friedman, Olshen and Stone (1984), "Classification and Regression Trees", chapter 3.

    Examples
    --------
    >>> from marginwood import IntervalCART
    >>> from marginwood.datasets import make_absolute
    >>> X, y = make_absolute(random_state=0)
    >>> cart = IntervalCART(margin=0.2).fit(X[:150], y[:150])
    >>> cart.get_n_leaves(), round(cart.score(X[150:], y[150:]), 1)
    (8, 1.0)
    """

    def __init__(
        self,
        *,
        margin: float = 0.0,
        cv: Any = 5,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        random_state: Any = 0,
    ) -> None:
        self.margin = margin
        self.cv = cv
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> IntervalCART:
        """Grow the tree and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN is allowed, infinities are not.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        IntervalCART
            The fitted tree.
        """
        check_loss("squared_hinge", self.margin)
        data = check_rows(self._check_features(X, reset=True), y, sample_weight)
        self.centre_, self.scale_ = self._label_units(data)
        estimator, self.alpha_ = self._grow(data), 0.0
        forget(self, "alphas_", "mse_path_")
        if self.cv is not None:
            self.alphas_ = _penalty_grid(pruning_path(_node_table(estimator)).alphas)
            self.mse_path_ = mse_by_fold(self._predict_path, data, self.cv, groups)
            self.alpha_ = float(self.alphas_[choose(self.mse_path_, "min")])
            estimator = self._grow(data, ccp_alpha=self.alpha_)
        self.estimator_ = estimator
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict the mean label of the leaf of every row.

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
        return self.centre_ + self.scale_ * self.estimator_.predict(self._check_features(X))

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Nodes of ``estimator_.tree_``.
        """
        check_is_fitted(self)
        return self.estimator_.apply(self._check_features(X))

    def get_depth(self) -> int:
        """Depth of the deepest leaf.

        Returns
        -------
        int
            0 for a tree without splits.
        """
        check_is_fitted(self)
        return int(self.estimator_.get_depth())

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
            Number of leaves.
        """
        check_is_fitted(self)
        return int(self.estimator_.get_n_leaves())

    def _check_features(self, X: Any, *, reset: bool = False) -> FloatArray:
        X = check_features(self, X, reset=reset)
        advice = (
            "scikit-learn's trees take NaN but no infinities: replace them by a large number or NaN, or use "
            "MaxMarginIntervalTree, which takes both."
        )
        refuse_features(np.abs(X) > np.finfo(np.float32).max, "infinity or a value too large for float32", X, advice)
        return X

    def _label_units(self, data: Rows) -> tuple[float, float]:
        """Shift and scale that bring labels near 0 and 1; the scale is a power of two, which divides exactly."""
        labels = breakpoints(data.intervals, self.margin)[data.weight > 0]
        labels = labels[np.isfinite(labels)]
        centre = float(np.median(labels))
        spread = float(np.abs(labels - centre).mean())
        return centre, float(np.ldexp(1.0, np.frexp(spread)[1])) if spread > 0 else 1.0

    def _grow(self, data: Rows, ccp_alpha: float = 0.0) -> DecisionTreeRegressor:
        """Fit scikit-learn's tree to the finite labels of rows of positive weight."""
        labels = (breakpoints(data.intervals, self.margin) - self.centre_) / self.scale_
        row, side = np.nonzero(np.isfinite(labels) & (data.weight > 0)[:, np.newaxis])
        tree = DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            ccp_alpha=ccp_alpha,
            random_state=self.random_state,
        )
        return tree.fit(data.X[row], labels[row, side], sample_weight=data.weight[row])

    def _predict_path(self, training: Rows, X: FloatArray) -> FloatArray:
        """Predictions of the tree of `training`, pruned with every penalty of `alphas_`."""
        grown = self._grow(training)
        nodes = _node_table(grown)
        path = pruning_path(nodes)
        subtree_of, predictions = path.at(self.alphas_), np.empty((len(self.alphas_), len(X)))
        for subtree, leaves in enumerate(leaves_along(nodes, path, grown.apply(X))):
            predictions[subtree_of == subtree] = nodes["value"][leaves]
        return self.centre_ + self.scale_ * predictions


def _node_table(grown: DecisionTreeRegressor) -> npt.NDArray[np.void]:
    """The links, values and costs of scikit-learn's tree in a table of ours."""
    tree = grown.tree_
    table = np.zeros(tree.node_count, NODE_DTYPE)
    table["children_left"], table["children_right"] = tree.children_left, tree.children_right
    table["value"], table["weighted_n_node_samples"] = tree.value.ravel(), tree.weighted_n_node_samples
    table["impurity"] = tree.impurity * tree.weighted_n_node_samples
    return table


def _penalty_grid(alphas: FloatArray) -> FloatArray:
    """Geometric means of neighbouring penalties of a pruning path, largest first, at most MAX_PATH of them."""
    means = np.append(geometric_means(alphas), alphas[-1])[::-1]
    if len(means) > MAX_PATH:
        means = means[np.unique(np.geomspace(1, len(means), MAX_PATH).astype(np.int64)) - 1]
    return means
