"""Models as the dictionaries that `shap.TreeExplainer` takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._fitted import read_ensemble

__all__ = ["to_shap"]


def to_shap(model: Any) -> dict[str, Any]:
    """Turn a fitted tree, forest or boosting into the dictionary that ``shap.TreeExplainer`` takes.

    Parameters
    ----------
    model : estimator
        A fitted tree of this package, boosting, or a forest that takes the mean. A pipeline that changes the columns
        is refused: pass its last step, which predicts from the changed ones.

    Returns
    -------
    dict
        ``trees``, a dictionary of arrays for each, and ``base_offset``, which is added to their sum.

    Notes
    -----
    With ``explainer = shap.TreeExplainer(to_shap(model))`` the values ``explainer.shap_values(X)`` of a row and
    ``explainer.expected_value`` add up to the prediction. Everything is in doubles, and NaN goes where the model
    sends it. X must be an array or a frame of floats.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import to_shap
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (2, 3)])
    >>> to_shap(tree)["trees"][0]["thresholds"].tolist()
    [1.5, -2.0, -2.0]
    """
    fitted, ensemble = read_ensemble(model)
    fitted.untransformed("to_shap").of_numbers("to_shap")
    trees, aggregation, init = ensemble.added("to_shap")
    n_averaged = len(trees) if aggregation == "mean" else 1
    return {
        "trees": [
            {
                "children_left": tree.children_left.copy(),
                "children_right": tree.children_right.copy(),
                "children_default": np.where(tree.missing_go_to_left, tree.children_left, tree.children_right),
                "features": tree.feature.copy(),
                "thresholds": tree.threshold.copy(),
                "values": tree.nodes["value"][:, np.newaxis] / n_averaged,
                "node_sample_weight": tree.weighted_n_node_samples.copy(),
            }
            for tree in trees
        ],
        "base_offset": init,
        "tree_output": "raw_value",
    }
