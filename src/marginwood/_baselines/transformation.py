"""Transformation trees: every node holds a normal distribution of the target, fitted to intervals.

The *scores* of a node's rows (see `normal`) tell which way each row would move the node's mean. A
feature that goes with the scores is one to split on: features are compared by tests of association,
of which the significance also says when to stop. Tests and their distribution follow conditional
inference trees.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from marginwood._base import Rows, all_or_nothing, check_features, check_rows, units_of
from marginwood._baselines.association import bounded_features, find_split
from marginwood._baselines.normal import fit_normal, location_scores
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE, parents
from marginwood._core.search import Options
from marginwood._searchable import ModelPath, Searchable
from marginwood._support.checks import check_each, check_number
from marginwood._trees.pruning import collapse
from marginwood._trees.rules import Rules
from marginwood._trees.table import IntervalTree, TreeReader, find_missing
from marginwood.intervals import FloatArray
from marginwood.losses import optimal_constant

__all__ = ["TransformationTree", "check_significance"]


# Levels of significance that a search tries.
LEVELS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.99)


class _Grown(NamedTuple):
    """A tree, with the adjusted p-value of every split; NaN for a leaf."""

    tree: IntervalTree
    p_values: FloatArray

    def cut(self, significance: float) -> IntervalTree:
        """The tree that stops where a split is not significant."""
        is_leaf = ~(self.p_values <= significance)
        for node, parent in enumerate(parents(self.tree.nodes).tolist()):
            is_leaf[node] |= is_leaf[parent]  # parents come first
        return IntervalTree(collapse(self.tree.nodes, is_leaf), self.tree.saw_missing)


class TransformationTree(Searchable, TreeReader, BaseEstimator):
    """Tree whose nodes hold normal distributions, split by tests of association.

    The normal distribution of a node is fitted by maximum likelihood to its intervals. Each feature
    is tested for association with the derivatives of the rows' log-likelihoods in the mean: the
    linear statistic ``sum_i x_i score_i`` is standardised by its mean and variance over all
    permutations of the rows, and compared with the normal distribution. The feature of least
    p-value is split where the two sides' scores differ most. A node whose least p-value, times the
    number of features, exceeds `significance` is a leaf.

    Parameters
    ----------
    significance : float, default=0.05
        Level of significance of a split, after adjustment for the number of features. 1 lets the
        tree grow on.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=20
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=7
        Fewest samples of a leaf; a float is a share of all samples.

    Attributes
    ----------
    tree_ : IntervalTree
        The node table. `impurity` is the negative log-likelihood of a node's distribution, for
        targets in units of their largest distance from the median limit.
    p_values_ : ndarray of shape (node_count,)
        Adjusted p-value of the split of every node; NaN for a leaf.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    The prediction of a node is the median of its distribution, but never beyond the node's finite
    limits. A node whose rows are all satisfied by some constant is a leaf: it predicts the middle
    of these constants or, if all its rows are censored on one side, the least extreme of them,
    which is a limit.

    Features may hold NaN, which a test leaves out and a split sends to the side that makes it more
    significant, and infinities, which tests take for the largest finite values. Sample weights
    count as repeated rows.

    References
    ----------
    .. [1] Hothorn, Hornik and Zeileis (2006), "Unbiased Recursive Partitioning: A Conditional Inference Framework",
       Journal of Computational and Graphical Statistics 15(3).
    .. [2] Hothorn and Zeileis (2021), "Predictive Distribution Modeling Using Transformation Forests", Journal of
       Computational and Graphical Statistics 30(4).

    Examples
    --------
    >>> from marginwood import TransformationTree
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> tree = TransformationTree().fit(X[:150], y[:150])
    >>> tree.get_n_leaves(), round(tree.score(X[150:], y[150:]), 1)
    (4, 0.9)
    """

    path_parameters = ("significance",)

    def __init__(
        self,
        *,
        significance: float = 0.05,
        max_depth: int | None = None,
        min_samples_split: int | float = 20,
        min_samples_leaf: int | float = 7,
    ) -> None:
        self.significance = significance
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TransformationTree:
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
        TransformationTree
            The fitted tree.
        """
        check_significance("significance", self.significance)
        rows = check_rows(check_features(self, X, reset=True), y, sample_weight)
        self.tree_, self.p_values_ = self._grow(self._prepare(rows), self.significance)
        return self

    def _grow(self, rows: Rows, significance: float) -> _Grown:
        rules = Rules(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        ).checked()
        return _grow(
            rows, rules.options(len(rows.X), rows.X.shape[1], rows.weight.sum()), significance
        )

    def _prepare(self, rows: Rows) -> Rows:
        return rows.informative()

    def _search_space(self, rows: Rows) -> dict[str, Any]:  # noqa: ARG002 (nothing depends on them)
        return {"significance": LEVELS}

    def _fit_path(self, rows: Rows, values: Mapping[str, Any]) -> SignificancePath:
        levels = np.sort(check_each("significance", values["significance"], check_significance))
        return SignificancePath(self, self._grow(rows, levels[-1]), levels)


class SignificancePath(ModelPath):
    """One tree, grown at the greatest level and cut at the others."""

    def __init__(self, estimator: TransformationTree, grown: _Grown, levels: FloatArray) -> None:
        super().__init__(levels, np.arange(len(levels)))
        self._estimator = estimator
        self._grown = grown

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions at every level."""
        for level in self.values:
            yield self._grown.cut(level).predict(X)

    def model(self, step: int) -> TransformationTree:
        """The estimator with the cut tree."""
        model = copy.copy(self._estimator)
        model.significance = self.values[step]
        model.tree_ = self._grown.cut(model.significance)
        model.n_features_in_ = model.tree_.n_features
        return model


def check_significance(name: str, value: Any) -> None:
    """Raise unless an argument is a level of significance."""
    check_number(name, value, "a number > 0 and <= 1", lambda number: 0 < number <= 1)


def _grow(data: Rows, options: Options, significance: float) -> _Grown:
    """Grow a tree breadth first, on targets near 0 and 1 so that neither offset nor unit matters."""
    centre, scale = units_of(data.intervals)
    data = Rows(data.X, (data.intervals - centre) / scale, data.weight)
    bounded = bounded_features(data.X)
    places = [(np.arange(len(data.X)), 0)]
    table = []
    for rows, depth in places:
        here = data.take(rows)
        node, scores = _node_model(here)
        split = None
        if (
            scores is not None
            and depth < options.max_depth
            and len(rows) >= options.min_samples_split
        ):
            split = find_split(here, bounded[rows], scores, options.min_samples_leaf)
        if split is not None and split.p_value <= significance:
            x = here.X[:, split.feature]
            goes_left = np.where(np.isnan(x), split.missing_go_to_left, x <= split.threshold)
            node |= split._asdict() | {
                "children_left": len(places),
                "children_right": len(places) + 1,
            }
            places += [(rows[goes_left], depth + 1), (rows[~goes_left], depth + 1)]
        table.append(node)
    nodes = np.zeros(len(table), NODE_DTYPE)
    for name in table[0].keys() - {"p_value"}:
        nodes[name] = [node[name] for node in table]
    nodes["value"] = centre + scale * nodes["value"]
    nodes["value_low"] = nodes["value_high"] = nodes["value"]
    return _Grown(
        IntervalTree(nodes, find_missing(data.X)), np.array([node["p_value"] for node in table])
    )


def _node_model(rows: Rows) -> tuple[dict[str, Any], FloatArray | None]:
    """A leaf of the node table, and the scores of its rows unless a constant satisfies them all."""
    leaf: dict[str, Any] = {
        "children_left": LEAF,
        "children_right": LEAF,
        "feature": NO_FEATURE,
        "threshold": NO_FEATURE,
    }
    leaf |= {"missing_go_to_left": False, "p_value": np.nan}
    leaf |= {"n_node_samples": len(rows.X), "weighted_n_node_samples": rows.weight.sum()}
    lower, upper = rows.intervals.T
    if lower.max() <= upper.min():
        return leaf | {"value": optimal_constant(rows.intervals).value, "impurity": 0.0}, None
    # In units of the node: its limits may lie close together, far from those of other nodes.
    centre, scale = units_of(rows.intervals)
    intervals = (rows.intervals - centre) / scale
    fit = fit_normal(intervals, rows.weight)
    limits = rows.intervals[np.isfinite(rows.intervals)]
    # Densities of un-censored rows have a unit, probabilities of intervals have none.
    impurity = rows.weight[lower == upper].sum() * np.log(scale) - fit.log_likelihood
    leaf |= {
        "value": np.clip(centre + scale * fit.mean, limits.min(), limits.max()),
        "impurity": impurity,
    }
    return leaf, location_scores(intervals, fit.mean, fit.scale)
