"""An ordinary regression tree that takes every limit for a value.

scikit-learn grows it on the *ranks* of the features, so that single precision costs nothing and
infinities are data; what it grew becomes a node table with thresholds between the values
themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor

from marginwood._base import Rows, all_or_nothing, check_features, check_rows
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._core.problem import refuse_vanishing
from marginwood._searchable import FOUND, Searchable
from marginwood._support.checks import check_not_negative
from marginwood._trees.pruning import PrunableMixin, SubtreePath, prune, pruning_path
from marginwood._trees.table import IntervalTree, TreeReader, find_missing
from marginwood.intervals import BoolArray, FloatArray, IntArray
from marginwood.losses import breakpoints, check_loss

__all__ = ["IntervalCART"]


class RankedRows(NamedTuple):
    """Rows of positive weight, the ranks of their features, and the values that the ranks stand for."""

    rows: Rows
    ranks: FloatArray  # NaN where the feature is
    values: list[FloatArray]
    saw_missing: BoolArray


class IntervalCART(Searchable, PrunableMixin, TreeReader, BaseEstimator):
    """Ordinary regression tree on the limits of intervals.

    Every sample becomes a row labelled ``lower + margin`` and one labelled ``upper - margin``, of
    which those with an infinite label are left out. scikit-learn's `DecisionTreeRegressor` learns
    these rows. Predictions inside an interval are punished like others, which is what makes this a
    baseline.

    Parameters
    ----------
    margin : float, default=0.0
        How far inside its interval a label lies, in units of the target. Rows with ``lower ==
        upper`` have no margin.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning, per unit of the total weight of the
        labels; 0 for no pruning.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=2
        Fewest labels (limits, not samples) of a node that may be split; a float is a share.
    min_samples_leaf : int or float, default=1
        Fewest labels (limits, not samples) of a leaf; a float is a share.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice between equally good splits.

    Attributes
    ----------
    tree_ : IntervalTree
        The node table. A node's value is the mean of its labels, its impurity their squared
        distances from it, and its samples are labels.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the total decrease of the impurity by the splits of each feature.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    IntervalSearchCV : Chooses margin and pruning by cross-validation.

    Notes
    -----
    Features may hold NaN and infinities.

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
    >>> cart = IntervalCART(margin=0.2, max_depth=3, random_state=0).fit(X[:150], y[:150])
    >>> cart.get_n_leaves(), round(cart.score(X[150:], y[150:]), 1)
    (8, 1.0)
    """

    criterion = "squared_error"

    path_parameters = ("ccp_alpha",)

    def __init__(
        self,
        *,
        margin: float = 0.0,
        ccp_alpha: float = 0.0,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        random_state: Any = None,
    ) -> None:
        self.margin = margin
        self.ccp_alpha = ccp_alpha
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IntervalCART:
        """Grow the tree and prune it.

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
        IntervalCART
            The fitted tree.
        """
        check_loss("squared_hinge", self.margin)
        check_not_negative("ccp_alpha", self.ccp_alpha)
        ranked = self._prepare(check_rows(check_features(self, X, reset=True), y, sample_weight))
        tree = self._grow(ranked)
        self.tree_ = (
            IntervalTree(prune(tree.nodes, self.ccp_alpha), ranked.saw_missing)
            if self.ccp_alpha > 0
            else tree
        )
        return self

    def _prepare(self, rows: Rows) -> RankedRows:
        rows = rows.weighted()
        ranks: FloatArray = np.full(rows.X.shape, np.nan)
        values = []
        for feature, x in enumerate(rows.X.T):
            present = ~np.isnan(x)
            distinct, ranks[present, feature] = np.unique(x[present], return_inverse=True)
            values.append(distinct)
        return RankedRows(rows, ranks, values, find_missing(ranks))

    def _search_space(self, rows: Rows) -> dict[str, Any]:  # noqa: ARG002 (nothing depends on them)
        return {"margin": [self.margin], "ccp_alpha": FOUND}

    def _fit_path(self, ranked: RankedRows, values: Mapping[str, Any]) -> SubtreePath:
        check_loss("squared_hinge", self.margin)
        tree = self._grow(ranked)
        return SubtreePath(self, tree, pruning_path(tree.nodes), values["ccp_alpha"])

    def _grow(self, ranked: RankedRows) -> IntervalTree:
        """Fit scikit-learn's tree to the finite labels, near 0 and 1 so that neither an offset nor a unit matters."""
        _, intervals, weight = ranked.rows
        labels = breakpoints(intervals, self.margin)
        row, side = np.nonzero(np.isfinite(labels))
        labels = labels[row, side]
        ranks = ranked.ranks[row]
        centre, scale = _label_units(labels)
        grown = DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        ).fit(ranks, (labels - centre) / scale, sample_weight=weight[row])
        refuse_vanishing(grown.tree_.impurity[0], int(np.log2(scale)))
        nodes = _node_table(grown, ranks, ranked.values)
        for name in ("value", "value_low", "value_high"):
            nodes[name] = centre + scale * nodes[name]
        nodes["impurity"] *= scale**2
        return IntervalTree(nodes, ranked.saw_missing)


def _label_units(labels: FloatArray) -> tuple[float, float]:
    """Shift and scale that bring labels near 0 and 1; the scale is a power of two, which divides exactly."""
    centre = float(np.median(labels))
    spread = float(np.abs(labels - centre).mean())
    return centre, float(np.ldexp(1.0, np.frexp(spread)[1])) if spread > 0 else 1.0


def _node_table(
    grown: DecisionTreeRegressor, ranks: FloatArray, values: list[FloatArray]
) -> npt.NDArray[np.void]:
    """scikit-learn's tree as a node table; `values` are what the ranks that it learnt stand for."""
    tree = grown.tree_
    order = _children_together(tree.children_left, tree.children_right)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    nodes = np.zeros(len(order), NODE_DTYPE)
    is_leaf = tree.children_left[order] == LEAF
    for side in ("children_left", "children_right"):
        nodes[side] = np.where(is_leaf, LEAF, place[getattr(tree, side)[order]])
    nodes["feature"] = tree.feature[order]
    nodes["threshold"] = np.where(is_leaf, NO_FEATURE, _thresholds(grown, ranks, values)[order])
    nodes["missing_go_to_left"] = np.where(is_leaf, 0, tree.missing_go_to_left[order])
    nodes["value"] = tree.value.ravel()[order]
    nodes["value_low"] = nodes["value"]
    nodes["value_high"] = nodes["value"]
    nodes["weighted_n_node_samples"] = tree.weighted_n_node_samples[order]
    nodes["impurity"] = tree.impurity[order] * nodes["weighted_n_node_samples"]
    nodes["n_node_samples"] = tree.n_node_samples[order]
    return nodes


def _children_together(left: IntArray, right: IntArray) -> IntArray:
    """An order of the nodes in which the two children of a split are neighbours, as node tables have them."""
    order = [0]
    for node in order:  # it grows on the way
        if left[node] != LEAF:
            order += [int(left[node]), int(right[node])]
    return np.array(order)


def _thresholds(
    grown: DecisionTreeRegressor, ranks: FloatArray, values: list[FloatArray]
) -> FloatArray:
    """For each split the middle between the two values of its own rows that it parts; anything for leaves.

    A threshold of ranks may lie far from it: if a node has the ranks 0 and 9 only, that is 4.5, and
    the middle of the values 4 and 5 is somewhere between those of 0 and 9. A split that parts NaN
    from all others is at infinity.
    """
    tree = grown.tree_
    paths = grown.decision_path(ranks)
    row = np.repeat(np.arange(len(ranks)), np.diff(paths.indptr))
    is_split = tree.feature[paths.indices] >= 0
    row = row[is_split]
    node = paths.indices[is_split]
    feature = tree.feature[node]
    rank = ranks[row, feature]
    is_left = rank <= tree.threshold[node]
    is_right = rank > tree.threshold[node]  # NaN is on neither side
    # The values of all features one after another; `place` is where a row's value is among them.
    first = np.cumsum([0, *map(len, values)])
    place = first[feature] + np.nan_to_num(rank).astype(np.int64)
    below = np.zeros(tree.node_count, dtype=np.int64)
    above = np.full(tree.node_count, first[-1])
    np.maximum.at(below, node[is_left], place[is_left])
    np.minimum.at(above, node[is_right], place[is_right])
    low, high = (np.append(np.concatenate(values), np.nan)[side] for side in (below, above))
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    thresholds = np.where((low <= middle) & (middle < high), middle, low)
    return np.where(above == first[-1], np.inf, thresholds)
