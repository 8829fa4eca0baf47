"""Models as the dictionaries that `shap.TreeExplainer` takes, and features as it takes them.

It knows thresholds only. A split of categories becomes thresholds on their codes: one *run* for all
consecutive codes that go to the same child, and a copy of that child for every run. While the
feature is unknown, both children count by their weights. The copies of a child share its weight, so
the values are those of the split itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._core.nodes import LEAF
from marginwood._fitted import read_ensemble
from marginwood._trees.table import IntervalTree
from marginwood.intervals import FloatArray

__all__ = ["to_codes", "to_shap"]

MAX_NODES = 2**20  # of a whole model; shap takes some 100 bytes for each
NAMES = (
    "children_left",
    "children_right",
    "children_default",
    "features",
    "thresholds",
    "values",
    "node_sample_weight",
)


def to_shap(model: Any) -> dict[str, Any]:
    """Turn a fitted tree, forest or boosting into the dictionary that ``shap.TreeExplainer`` takes.

    Parameters
    ----------
    model : estimator
        A fitted tree of this package, boosting, or a forest that takes the mean. A pipeline that
        changes the columns is refused: pass its last step, which predicts from the changed ones.

    Returns
    -------
    dict
        ``trees``, a dictionary of arrays for each, and ``base_offset``, which is added to their
        sum.

    See Also
    --------
    to_codes : The rows that the explainer takes, if the model has categories.

    Notes
    -----
    With ``explainer = shap.TreeExplainer(to_shap(model))`` the values ``explainer.shap_values(X)``
    of a row and ``explainer.expected_value`` add up to the prediction. Everything is in doubles,
    and NaN goes where the model sends it. X must be an array or a frame of floats.

    With categories, pass ``explainer.shap_values(to_codes(model, X))``. A split of categories
    becomes thresholds on their codes, and the values are those of the split itself. That takes
    copies of what follows the split: a model that would grow beyond 1,048,576 nodes is refused.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import to_codes, to_shap
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (2, 3)])
    >>> to_shap(tree)["trees"][0]["thresholds"].tolist()
    [1.5, -2.0, -2.0]

    Of the categories A, B and C, the one in the middle goes its own way:

    >>> X = [["A"], ["B"], ["C"]]
    >>> tree = MaxMarginIntervalTree(categorical_features=[0]).fit(X, [2.0, 8.0, 2.0])
    >>> to_shap(tree)["trees"][0]["thresholds"].tolist()
    [0.5, -2.0, 1.5, -2.0, -2.0]
    >>> to_codes(tree, [["C"], ["A"], [None]]).tolist()
    [[2.0], [0.0], [nan]]
    """
    fitted, ensemble = read_ensemble(model)
    fitted.untransformed("to_shap")
    trees, aggregation, init = ensemble.added("to_shap")
    n_averaged = len(trees) if aggregation == "mean" else 1
    exported = []
    n_unfolded = 0
    for tree in trees:
        if tree.subsets is None:
            columns = _columns(tree)
        else:
            columns = _unfolded(tree, MAX_NODES - n_unfolded)
            n_unfolded += len(columns["values"])
        columns["values"] = columns["values"][:, np.newaxis] / n_averaged
        exported.append(columns)
    return {"trees": exported, "base_offset": init, "tree_output": "raw_value"}


def to_codes(model: Any, X: Any) -> FloatArray:
    """Turn rows into the numbers that the trees of a model compare: codes in place of categories.

    Parameters
    ----------
    model : estimator
        A fitted model that `to_shap` takes.
    X : array-like of shape (n_samples, n_features)
        Features, as `predict` takes them.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Doubles. A category is its place in ``model.categories_``; a missing or unknown one is NaN.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import to_codes
    >>> tree = MaxMarginIntervalTree(categorical_features=[0]).fit([["B"], ["A"]], [(0, 1), (2, 3)])
    >>> tree.categories_
    [['A', 'B']]
    >>> to_codes(tree, [["B"], ["never seen"]]).tolist()
    [[1.0], [nan]]
    """
    fitted, _ = read_ensemble(model)
    fitted.untransformed("to_codes")
    return fitted.transform(X)


def _columns(tree: IntervalTree) -> dict[str, Any]:
    """A tree that splits numbers alone."""
    columns = (
        tree.children_left,
        tree.children_right,
        np.where(tree.missing_go_to_left, tree.children_left, tree.children_right),
        tree.feature,
        tree.threshold,
        tree.nodes["value"],
        tree.weighted_n_node_samples,
    )
    return {name: column.copy() for name, column in zip(NAMES, columns, strict=True)}


class Run(NamedTuple):
    """Codes from `low` to below `high` that go to the same child; where there are none, only missing values do."""

    child: int
    low: int
    high: int
    share: float  # of the child's weight


class UnfoldedNode(NamedTuple):
    """What a node of the unfolded tree stands for: a node of the tree, or a choice between runs of its split."""

    node: int
    share: float  # of the node's weight
    codes: dict[
        int, tuple[int, int]
    ]  # by feature, the first code that gets here, and the one after the last
    runs: list[Run]  # none for the node itself


def _unfolded(tree: IntervalTree, max_nodes: int) -> dict[str, Any]:
    """A tree with splits of categories, as thresholds on their codes."""
    found: list[tuple[Any, ...]] = []
    places = [UnfoldedNode(0, 1.0, {}, [])]
    while len(found) < len(places):
        place = places[len(found)]
        node = tree.nodes[place.node]
        left, right = int(node["children_left"]), int(node["children_right"])
        threshold = node["threshold"]
        weight = place.share * node["weighted_n_node_samples"]
        first = len(places)
        if left == LEAF:
            found.append((LEAF, LEAF, LEAF, node["feature"], threshold, node["value"], weight))
            continue
        missing = left if node["missing_go_to_left"] else right
        if tree.codes_of(place.node) is None:
            default = first if missing == left else first + 1
            places += [place._replace(node=child) for child in (left, right)]
        else:
            runs = place.runs or _runs(tree, place)
            # Halves of halves: one threshold after the other would make a tree as deep as there are
            # categories.
            lower, higher = runs[: len(runs) // 2], runs[len(runs) // 2 :]
            default = first if any(run.child == missing for run in lower) else first + 1
            threshold = higher[0].low - 0.5 if higher[0].low < higher[0].high else np.inf
            weight = sum(run.share * tree.weighted_n_node_samples[run.child] for run in runs)
            places += [_narrowed(place, part, node["feature"]) for part in (lower, higher)]
        found.append((first, first + 1, default, node["feature"], threshold, node["value"], weight))
        if len(places) > max_nodes:
            raise ValueError(
                f"model: to_shap expected categories that unfold into at most {MAX_NODES:,} nodes, got more. Fit fewer "
                "or smaller trees, or join rare categories."
            )
    return dict(zip(NAMES, map(np.array, zip(*found, strict=True)), strict=True))


def _runs(tree: IntervalTree, place: UnfoldedNode) -> list[Run]:
    """The runs of a split, ascending: of the codes 0 to 3 of which 1 and 2 go left, these are 0, 1 to 2, and 3."""
    node = tree.nodes[place.node]
    feature = int(node["feature"])
    n_categories = tree.subset_arrays()["n_categories"][feature]
    sides = np.repeat(node["children_right"], n_categories)
    sides[tree.codes_of(place.node)] = node["children_left"]
    low, high = place.codes.get(feature, (0, len(sides)))
    starts = [code for code in range(low, high) if code == low or sides[code] != sides[code - 1]]
    children = [int(sides[start]) for start in starts]
    # A child that no code goes to still counts while the feature is unknown.
    children += [
        child for child in (node["children_left"], node["children_right"]) if child not in children
    ]
    starts += [high] * (len(children) - len(starts))
    shares = [place.share / children.count(child) for child in children]
    return [Run(*run) for run in zip(children, starts, [*starts[1:], high], shares, strict=True)]


def _narrowed(place: UnfoldedNode, runs: list[Run], feature: int) -> UnfoldedNode:
    """A choice between some runs of a split, or the child of the only one."""
    if len(runs) > 1:
        return place._replace(runs=runs)
    (run,) = runs
    return UnfoldedNode(
        run.child, run.share, {**place.codes, int(feature): (run.low, run.high)}, []
    )
