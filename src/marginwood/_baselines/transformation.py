"""Transformation trees: every node holds a normal distribution of the target, fitted to intervals.

The *scores* of a node's rows (see `normal`) tell which way each row would move the node's mean. A feature that
goes with the scores is one to split on: features are compared by tests of association, of which the significance also
says when to stop. Tests and their distribution follow conditional inference trees.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from marginwood._base import Rows, all_or_nothing, check_features, check_rows, units_of
from marginwood._baselines.association import bounded_features, find_split
from marginwood._baselines.normal import fit_normal, location_scores
from marginwood._core.grow import Options
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._trees.rules import growing_options
from marginwood._trees.table import IntervalTree, TreeReader
from marginwood._tuning.selection import check_selection, choose, mse_by_fold
from marginwood.intervals import FloatArray, as_numbers
from marginwood.losses import optimal_constant

__all__ = ["TransformationTree", "TransformationTreeCV"]

DEFAULT_ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.99)


class _Grown(NamedTuple):
    """A tree, with the adjusted p-value of every split; NaN for a leaf."""

    tree: IntervalTree
    p_values: FloatArray

    def cut(self, alpha: float) -> IntervalTree:
        """The tree that stops where a split is not significant at the level `alpha`."""
        nodes = self.tree.nodes.copy()
        nodes["children_left"][self.p_values > alpha] = LEAF
        return IntervalTree(nodes, self.tree.saw_missing)


class _TransformationModel(TreeReader, BaseEstimator):
    """What both estimators share; a prediction is the median of the distribution in a leaf."""

    def _check_fit(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        return check_rows(check_features(self, X, reset=True), y, sample_weight)

    def _grow(self, data: Rows, alpha: float) -> _Grown:
        """Grow a tree on the rows that say something."""
        data = data.informative()
        unused = {"max_leaf_nodes": None, "min_impurity_decrease": 0.0, "max_features": None}
        parameters = SimpleNamespace(**{**unused, **self.get_params(deep=False)})
        options = growing_options(parameters, data.X.shape[0], data.X.shape[1], data.weight.sum())
        return _grow(data, options, alpha)


class TransformationTree(_TransformationModel):
    """Tree whose nodes hold normal distributions, split by tests of association.

    The normal distribution of a node is fitted by maximum likelihood to its intervals. Each feature is tested for
    association with the derivatives of the rows' log-likelihoods in the mean: the linear statistic
    ``sum_i x_i score_i`` is standardised by its mean and variance over all permutations of the rows, and compared with
    the normal distribution. The feature of least p-value is split where the two sides' scores differ most. A node
    whose least p-value, times the number of features, exceeds `alpha` is a leaf.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of significance of a split, after adjustment for the number of features. 1 lets the tree grow on.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=20
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=7
        Fewest samples of a leaf; a float is a share of all samples.

    Attributes
    ----------
    tree_ : IntervalTree
        The node table. `impurity` is the negative log-likelihood of a node's distribution, for targets in units of
        their largest distance from the median limit.
    p_values_ : ndarray of shape (node_count,)
        Adjusted p-value of the split of every node; NaN for a leaf.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    The prediction of a node is the median of its distribution, but never beyond the node's finite limits. A node
    whose rows are all satisfied by some constant is a leaf: it predicts the middle of these constants or, if
    all its rows are censored on one side, the least extreme of them, which is a limit.

    Features may hold NaN, which a test leaves out and a split sends to the side that makes it more significant, and
    infinities, which tests take for the largest finite values. Sample weights count as repeated rows.

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

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        max_depth: int | None = None,
        min_samples_split: int | float = 20,
        min_samples_leaf: int | float = 7,
    ) -> None:
        self.alpha = alpha
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
        alpha = _check_levels("alpha", self.alpha)[0]
        self.tree_, self.p_values_ = self._grow(self._check_fit(X, y, sample_weight), alpha)
        return self


class TransformationTreeCV(_TransformationModel):
    """Transformation tree whose level of significance is chosen by cross-validated interval MSE.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=None
        Levels to try; None for 13 levels from 1e-6 to 0.99. Each fold grows one tree for all of them.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=20
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=7
        Fewest samples of a leaf; a float is a share of all samples.
    cv : int, splitter or iterable of (train, test) indices, default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the rows of each fold.
    selection : {"min", "1se"}, default="min"
        The level of least mean error, or the least one within one standard error of it.

    Attributes
    ----------
    tree_ : IntervalTree
        The node table. `impurity` is the negative log-likelihood of a node's distribution, for targets in units of
        their largest distance from the median limit.
    p_values_ : ndarray of shape (node_count,)
        Adjusted p-value of the split of every node; NaN for a leaf.
    alpha_ : float
        The level chosen.
    alphas_ : ndarray of shape (n_alphas,)
        The levels tried, least first.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Interval MSE of every level in every fold.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    TransformationTree : One level, given.

    Examples
    --------
    >>> from marginwood import TransformationTreeCV
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> tree = TransformationTreeCV().fit(X[:150], y[:150])
    >>> round(tree.score(X[150:], y[150:]), 1)
    0.9
    """

    def __init__(
        self,
        *,
        alphas: Any = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 20,
        min_samples_leaf: int | float = 7,
        cv: Any = 5,
        selection: str = "min",
    ) -> None:
        self.alphas = alphas
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.selection = selection

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TransformationTreeCV:
        """Choose the level of significance, and grow the tree with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        TransformationTreeCV
            The fitted tree.
        """
        check_selection(self.selection)
        self.alphas_ = _check_levels("alphas", DEFAULT_ALPHAS if self.alphas is None else self.alphas)
        data = self._check_fit(X, y, sample_weight)
        self.mse_path_ = mse_by_fold(self._predict_path, data, self.cv, groups)
        self.alpha_ = float(self.alphas_[choose(self.mse_path_, self.selection)])
        self.tree_, self.p_values_ = self._grow(data, self.alpha_)
        return self

    def _predict_path(self, training: Rows, X: FloatArray) -> FloatArray:
        """Predictions for every level."""
        grown = self._grow(training, self.alphas_[-1])
        return np.array([grown.cut(alpha).predict(X) for alpha in self.alphas_])


def _check_levels(name: str, levels: Any) -> FloatArray:
    """Levels of significance in (0, 1], in ascending order."""
    ascending = np.sort(np.atleast_1d(as_numbers(levels, name)))
    if ascending.ndim != 1 or not ascending.size or not ((ascending > 0) & (ascending <= 1)).all():
        raise ValueError(f"{name}: expected numbers in (0, 1], got {levels!r}.")
    return ascending


def _grow(data: Rows, options: Options, alpha: float) -> _Grown:
    """Grow a tree breadth first, on targets near 0 and 1 so that neither offset nor unit matters."""
    centre, scale = units_of(data.intervals)
    data = Rows(data.X, (data.intervals - centre) / scale, data.weight)
    bounded = bounded_features(data.X)
    places, table = [(np.arange(len(data.X)), 0)], []
    for rows, depth in places:
        here = data.take(rows)
        node, scores = _node_model(here)
        split = None
        if scores is not None and depth < options.max_depth and len(rows) >= options.min_samples_split:
            split = find_split(here, bounded[rows], scores, options.min_samples_leaf)
        if split is not None and split.p_value <= alpha:
            x = here.X[:, split.feature]
            goes_left = np.where(np.isnan(x), split.missing_go_to_left, x <= split.threshold)
            node |= split._asdict() | {"children_left": len(places), "children_right": len(places) + 1}
            places += [(rows[goes_left], depth + 1), (rows[~goes_left], depth + 1)]
        table.append(node)
    nodes = np.zeros(len(table), NODE_DTYPE)
    for name in table[0].keys() - {"p_value"}:
        nodes[name] = [node[name] for node in table]
    nodes["value"] = centre + scale * nodes["value"]
    nodes["value_low"] = nodes["value_high"] = nodes["value"]
    return _Grown(IntervalTree(nodes, np.isnan(data.X.max(axis=0))), np.array([node["p_value"] for node in table]))


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
    leaf |= {"value": np.clip(centre + scale * fit.mean, limits.min(), limits.max()), "impurity": impurity}
    return leaf, location_scores(intervals, fit.mean, fit.scale)
