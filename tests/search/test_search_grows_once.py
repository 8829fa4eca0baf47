"""The default search: how often it grows trees, whatever the number of threads."""

from collections import Counter

import pytest

import marginwood._trees.tree
from marginwood import IntervalSearchCV, MaxMarginIntervalTree
from marginwood.datasets import make_sine


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_a_tree_is_grown_once_per_fold_margin_and_loss(n_jobs, monkeypatch):
    X, y = make_sine(48, 3, random_state=0)
    grown = Counter()
    grow = marginwood._trees.tree.grow

    def count(rows, rules, *args):
        grown[id(rows.target), rules.loss, rules.margin] += 1
        kept.append(rows)  # an id is that of other rows once these are gone
        return grow(rows, rules, *args)

    kept = []
    monkeypatch.setattr(marginwood._trees.tree, "grow", count)
    grid = {"loss": ["linear_hinge", "squared_hinge"], "margin": [0.0, 0.1, 0.2]}
    search = IntervalSearchCV(MaxMarginIntervalTree(), grid, cv=4, n_jobs=n_jobs).fit(X, y)
    assert len(set(search.cv_results_["param_anchor"])) == 6
    # On four folds and on all rows, and the best tree once more.
    assert len(grown) == (4 + 1) * 2 * 3 + 1
    assert set(grown.values()) == {1}
