"""Scores of all subtrees of a pruning path at once."""

import numpy as np
from marginwood._tuning.fold import score_subtrees

from marginwood import MaxMarginIntervalTree
from marginwood._base import Rows
from marginwood._trees.pruning import pruning_path
from marginwood.metrics import SCORERS


def test_no_accuracy_is_below_zero_where_every_row_is_missed():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y, weight = rng.normal(size=(40, 1)), rng.normal(size=40), rng.exponential(size=40)
        tree = MaxMarginIntervalTree().fit(X, y)
        missed = Rows(X, np.column_stack([y + 1000, y + 1000]), weight)
        scores = score_subtrees(
            tree, pruning_path(tree.tree_.nodes), missed, SCORERS["interval_accuracy"], weighted=True
        )
        assert len(scores) > 5
        assert (scores >= 0).all()
        np.testing.assert_allclose(scores, 0, atol=1e-15)
