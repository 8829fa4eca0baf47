"""Folds, groups and weights of searches."""

import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from marginwood import (
    CensoringStratifiedKFold,
)
from marginwood._base import Rows
from marginwood._resampling.folds import Fold
from marginwood._searchable import Searchable
from marginwood._tuning.search import Point, Trial, score_paths
from marginwood.metrics import get_scorer
from searches import (
    FakePath,
    assert_same_results,
    every_folded_search,
    make_problem,
    make_search,
    parameters_of,
    split_scores,
)


@every_folded_search
def test_groups_reach_the_splitter(name):
    X, y = make_problem()
    groups = np.arange(len(y)) // 6
    listed = list(GroupKFold(4).split(X, y, groups))
    expected = make_search(name, cv=listed).fit(X, y)
    assert_same_results(make_search(name, cv=GroupKFold(4)).fit(X, y, groups=groups), expected)
    assert_same_results(make_search(name, cv=4).fit(X, y, groups=groups), expected)


def test_groups_that_nobody_reads_are_warned_about():
    X, y = make_problem()
    with pytest.warns(UserWarning, match=r"groups: .* ignore.* GroupKFold"):
        make_search("out of bag", cv="oob").fit(X, y, groups=np.arange(len(y)))


@every_folded_search
def test_one_fold_has_no_standard_error(name):
    X, y = make_problem()
    fold = [(np.arange(30), np.arange(30, 48))]
    one_error = make_search(name, cv=fold, selection="1se").fit(X, y)
    assert one_error.n_splits_ == 1
    assert not one_error.cv_results_["std_test_score"].any()
    assert_same_results(one_error, make_search(name, cv=fold).fit(X, y))


def test_one_standard_error_takes_the_forest_of_fewest_leaves():
    X, y = make_problem()
    least = make_search("forest").fit(X, y)
    simplest = make_search("forest", selection="1se").fit(X, y)
    good = least.cv_results_["mean_test_score"] >= least.best_score_ - np.std(
        split_scores(least)[:, least.best_index_], ddof=1
    ) / np.sqrt(3)
    assert good.sum() > 1
    leaves = [
        sum(
            tree.get_n_leaves()
            for train, _ in CensoringStratifiedKFold(3).split(X, y)
            for tree in clone(least.best_estimator_)
            .set_params(**candidate)
            .fit(X[train], y[train])
            .estimators_
        )
        for candidate in parameters_of(least)
    ]
    assert leaves[simplest.best_index_] == min(np.array(leaves)[good])
    out_of_bag = make_search("out of bag", selection="1se").fit(X, y)
    assert out_of_bag.best_index_ == make_search("out of bag").fit(X, y).best_index_


@pytest.mark.parametrize("name", ["tree", "boosting", "linear", "kernel", "cart", "transformation"])
def test_a_row_of_weight_two_is_two_rows(name):
    X, y = make_problem()
    weight = np.random.default_rng(1).integers(1, 3, size=len(y))
    folds = list(KFold(3).split(X))
    row = np.repeat(np.arange(len(y)), weight)
    twice = [tuple(np.flatnonzero(np.isin(row, part)) for part in fold) for fold in folds]
    parameters = {"estimator__subsample": 1.0} if name == "boosting" else {}
    if name == "transformation":
        parameters = {"estimator__min_samples_split": 2, "estimator__min_samples_leaf": 1}
    if name == "cart":  # in small nodes splits are equally good, and rounding chooses
        parameters = {"estimator__max_depth": 2}
    if name == "kernel":  # all rows are landmarks, and no forest draws any
        parameters = {"estimator__n_components": 200, "grid": {"relevance": (0.0,)}}
    weighted = make_search(name, cv=folds, **parameters).fit(X, y, weight)
    repeated = make_search(name, cv=twice, **parameters).fit(X[row], y[row])
    for column in weighted.cv_results_:
        if column.endswith("score") and column != "rank_test_score":
            np.testing.assert_allclose(
                weighted.cv_results_[column], repeated.cv_results_[column], rtol=1e-5, atol=1e-8
            )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["tree", "boosting", "linear", "kernel", "cart", "transformation"])
def test_rows_of_weight_zero_count_as_absent(name):
    X, y = make_problem()
    weight = np.random.default_rng(2).integers(0, 3, size=len(y)).astype(float)
    kept = weight > 0
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    place = np.cumsum(kept) - 1
    left = [tuple(place[part[kept[part]]] for part in fold) for fold in folds]
    grid = {} if name in ("transformation", "likelihood") else {"margin": [0.0, 0.1]}
    with_zeros = make_search(name, grid, cv=folds).fit(X, y, weight)
    without = make_search(name, grid, cv=left).fit(X[kept], y[kept], weight[kept])
    if name == "linear":  # whose penalties depend on sums over all rows
        np.testing.assert_allclose(split_scores(with_zeros), split_scores(without), rtol=1e-9)
    else:
        assert_same_results(with_zeros, without)


class Recorder(Searchable):
    """An estimator whose rows are counted while they are prepared."""

    prepared = 0
    most = 0
    lock = threading.Lock()

    def _prepare(self, _):
        return Prepared(type(self))

    def _fit_path(self, *_):
        return FakePath([1.0], None)


class Prepared:
    def __init__(self, owner):
        self.owner = owner
        with owner.lock:
            owner.prepared += 1
            owner.most = max(owner.most, owner.prepared)

    def __del__(self):
        with self.owner.lock:
            self.owner.prepared -= 1


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_no_more_folds_are_prepared_than_there_are_threads(n_jobs):
    Recorder.most = 0
    rows = Rows(np.zeros((20, 1)), np.zeros((20, 2)), np.ones(20))
    scorer = get_scorer("neg_interval_mean_squared_error")
    folds = [Trial(Fold(rows, *split), scorer) for split in KFold(10).split(rows.X)]
    points = [Point(Recorder(), {}, {}) for _ in range(3)]
    paths = score_paths(points, folds, n_jobs=n_jobs)
    assert len(paths) == 30
    assert 1 <= Recorder.most <= n_jobs
    assert Recorder.prepared == 0
