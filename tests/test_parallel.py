"""One tree by a team of threads has all bits of the tree that one thread grows, whoever helps whom and when."""

from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalTree,
)
from marginwood._core import parallel
from marginwood._core.order import sort_features
from marginwood._core.problem import Kinds, Target, grow_tree, plain
from marginwood._support.team import Team
from marginwood._trees.rules import Rules
from strategies import LOSSES, crossing_order, losses, margins, stopping_rules, tree_problems


class EagerTeam(Team):
    """Helpers do all that they can before the one who is helped begins."""

    @contextmanager
    def helped(self, function):
        function()
        yield


class IdleTeam(Team):
    """Nobody helps."""

    @contextmanager
    def helped(self, function):  # noqa: ARG002
        yield


TEAMS = (Team, EagerTeam, IdleTeam)


@pytest.fixture(scope="module", autouse=True)
def _small_data_count_as_large():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "LEAST_CELLS", 1)
        patch.setattr(parallel, "CELLS_PER_CALL", 5)
        yield


@pytest.fixture(scope="module")
def teams():
    with Team(2) as team, EagerTeam(1) as eager, IdleTeam(3) as idle:
        yield team, eager, idle


def grown(X, y, weights, margin, rules, *, by_descent=False, kinds=None, team=None):
    """The bytes of a node table, and of the categories of its splits."""
    weights = np.ones(len(X)) if weights is None else weights
    is_there = weights > 0
    X, y, weights = np.ascontiguousarray(X[is_there]), y[is_there], weights[is_there]
    options = rules.options(*X.shape, weights.sum())._replace(by_descent=by_descent)
    limits = Target(y, team=team).at(margin)
    kinds = plain(X.shape[1]) if kinds is None else kinds
    nodes, subsets = grow_tree(
        X, sort_features(X, team), limits, weights, rules.loss, options, 7, kinds, team
    )
    return nodes.tobytes(), b"" if subsets is None else subsets.codes.tobytes()


@given(
    problem=tree_problems(),
    loss=losses,
    margin=margins,
    rules=stopping_rules(),
    max_features=st.sampled_from([None, None, 1, 2]),
    share=st.sampled_from([0.0, 1.0]),
    by_descent=st.booleans(),
)
def test_a_team_grows_the_same_tree(
    teams, problem, loss, margin, rules, max_features, share, by_descent
):
    rules = Rules(loss=loss, max_features=max_features, **rules)
    expected = grown(*problem, margin, rules, by_descent=by_descent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "SHARE", share)
        for team in teams:
            assert grown(*problem, margin, rules, by_descent=by_descent, team=team) == expected


def noisy_problem(n_rows, seed=0):
    """Rows with missing values, a feature twice, and one that is the mirror image of another: splits of equal price."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.05] = np.nan
    X = np.column_stack([X, X[:, 0], -X[:, 1], -X[:, 0]])
    lower = np.nan_to_num(X[:, 0]) + (X[:, 1] > 0) + rng.normal(size=n_rows)
    y = np.column_stack([lower, lower + rng.exponential(size=n_rows)])
    y[::5, 0] = -np.inf
    y[1::5, 1] = np.inf
    return X, y


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_leaf_nodes": 20}, {"max_features": 2}, {"min_impurity_decrease": 0.001}],
    ids=["full", "best first", "draws", "decrease"],
)
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_of_many_nodes_with_equally_good_splits_are_the_same(
    teams, monkeypatch, loss, parameters, share
):
    monkeypatch.setattr(parallel, "SHARE", share)
    X, y = noisy_problem(400)
    rules = Rules(loss=loss, **parameters)
    expected = grown(X, y, None, 0.3, rules)
    for team in teams:
        assert grown(X, y, None, 0.3, rules, team=team) == expected


@pytest.mark.parametrize("by_descent", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"max_leaf_nodes": 20}, {"max_features": 2}], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_splits_of_categories_and_monotone_effects_are_the_same(
    teams, loss, parameters, by_descent
):
    X, y = noisy_problem(300)
    X[:, 1] = np.clip(X[:, 1] + 4, 0, 8)  # codes, and NaN
    X[:, 2] = np.random.default_rng(1).integers(0, 40, len(X))
    kinds = Kinds(np.array([0, 9, 40, 0, 0, 0, 0]), np.array([1, 0, 0, -1, 0, 0, 0], dtype=np.int8))
    rules = Rules(loss=loss, **parameters)
    expected = grown(X, y, None, 0.3, rules, by_descent=by_descent, kinds=kinds)
    assert expected[1]
    for team in teams:
        assert (
            grown(X, y, None, 0.3, rules, by_descent=by_descent, kinds=kinds, team=team) == expected
        )


@pytest.mark.parametrize("max_leaf_nodes", [None, 6], ids=["in depth", "best first"])
@pytest.mark.parametrize("loss", LOSSES)
def test_nodes_that_walking_cannot_price_are_the_same(teams, monkeypatch, loss, max_leaf_nodes):
    priced = []
    price_by_descent = parallel.price_by_descent

    def count(*args):
        priced.append(1)
        return price_by_descent(*args)

    monkeypatch.setattr(parallel, "price_by_descent", count)
    y = crossing_order(60, 120)
    X = np.arange(len(y))[:, None] % 97.0
    weights = 10.0 ** np.random.default_rng(0).uniform(-9, 9, len(y))
    rules = Rules(loss=loss, max_leaf_nodes=max_leaf_nodes)
    for weight in (None, weights):
        expected = grown(X, y, weight, 0.0, rules)
        for team in teams:
            assert grown(X, y, weight, 0.0, rules, team=team) == expected
    assert priced or max_leaf_nodes


MODELS = {
    "tree": MaxMarginIntervalTree(max_depth=6, margin=0.1),
    "drawn features": MaxMarginIntervalTree(
        max_features=2, random_state=0, ccp_alpha=0.001, anchor=1.0
    ),
    "boosting": MaxMarginIntervalBoosting(5, max_depth=4, subsample=0.7, random_state=0),
    "early": MaxMarginIntervalBoosting(20, n_iter_no_change=2, random_state=0, loss="linear_hinge"),
    "search": IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_n_jobs_changes_nothing(name):
    X, y = noisy_problem(300)
    one, many = (MODELS[name].set_params(n_jobs=n_jobs).fit(X, y).predict(X) for n_jobs in (1, 3))
    assert one.tobytes() == many.tobytes()


@pytest.fixture
def n_threads(monkeypatch):
    """How many threads each team had."""
    started = []

    def make(n_threads):
        started.append(n_threads)
        return Team(n_threads)

    monkeypatch.setattr("marginwood._support.team.Team", make)
    return started


def test_one_thread_is_the_default_and_joblib_may_say_otherwise(n_threads):
    X, y = noisy_problem(30)
    tree = MaxMarginIntervalTree()
    tree.fit(X, y)
    assert n_threads == []
    with joblib.parallel_config(n_jobs=2):
        tree.fit(X, y)
    tree.set_params(n_jobs=3).fit(X, y)
    assert n_threads == [2, 3]


def test_no_thread_is_started_for_few_rows(n_threads, monkeypatch):
    X, y = noisy_problem(30)
    monkeypatch.setattr(parallel, "LEAST_CELLS", X.size + 1)
    MaxMarginIntervalTree(n_jobs=2).fit(X, y)
    MaxMarginIntervalBoosting(2, n_jobs=2).fit(X, y)
    assert n_threads == []


def test_the_final_fit_of_a_search_has_the_threads_of_the_search(n_threads):
    X, y = noisy_problem(60)
    search = IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=2, n_jobs=2).fit(X, y)
    assert n_threads == [2]
    assert search.best_estimator_.n_jobs == 2
    with joblib.parallel_config(n_jobs=3):
        search.set_params(n_jobs=None).fit(X, y)
    assert n_threads == [2, 3]
    assert search.best_estimator_.n_jobs is None
