"""Searches that are stopped, fail or go on."""

import json
import signal
import threading
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest

from marginwood import (
    CrossFittedIntervalRegressor,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalTree,
)
from marginwood._tuning.search import Trial
from marginwood.datasets import make_sine
from marginwood.metrics import interval_mean_squared_error
from searches import (
    assert_same_results,
    every_search,
    make_problem,
    make_search,
)


def journal_pieces(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [(line["point"], line["fold"]) for line in lines if "point" in line]


@contextmanager
def recorded_pieces(monkeypatch):
    """The numbers of points that were scored, in a list."""
    found = []
    score = Trial.score

    def record(self, point):
        found.append(point)
        return score(self, point)

    with monkeypatch.context() as patch:
        patch.setattr(Trial, "score", record)
        yield found


def stops(model, X, y):
    """A scorer that fails once, in the middle of a search."""
    stops.n_left -= 1
    if stops.n_left == 0:
        raise KeyboardInterrupt
    return -interval_mean_squared_error(y, model.predict(X))


@every_search
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_that_was_stopped_goes_on_with_what_is_missing(
    name, n_jobs, tmp_path, monkeypatch
):
    X, y = make_problem()
    path = tmp_path / "journal"
    stops.n_left = -1
    whole = make_search(name, scoring=stops).fit(X, y)
    n_calls = -1 - stops.n_left
    stops.n_left = n_calls * 2 // 3
    search = make_search(name, scoring=stops, checkpoint=path, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "best_estimator_")
    done = journal_pieces(path)
    with recorded_pieces(monkeypatch) as scored:
        search.fit(X, y)
    assert_same_results(whole, search)
    pieces = journal_pieces(path)
    assert len(set(pieces)) == len(pieces)
    assert set(done) < set(pieces)
    assert len(scored) == len(pieces) - len(done)
    with recorded_pieces(monkeypatch) as scored:
        assert_same_results(whole, search.fit(X, y))
    assert not scored


@every_search
def test_ctrl_c_is_heard_while_a_piece_never_ends(name):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    before = dict(vars(search))
    go_on = threading.Event()

    def waits(*_):
        if not go_on.is_set():
            signal.raise_signal(signal.SIGINT)
        go_on.wait()
        return 0.0

    search.scoring = waits
    try:
        with pytest.raises(KeyboardInterrupt):
            search.fit(X[:, :2], y)
    finally:
        go_on.set()
    assert vars(search) == before | {"scoring": waits}
    assert search.predict(X).shape == (len(X),)


@every_search
def test_a_scorer_or_a_refit_that_fails_leaves_the_search_as_it_was(name, monkeypatch):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    before = dict(vars(search))

    def fails(*_, **__):
        raise RuntimeError("no luck")

    search.scoring = fails
    with pytest.raises(RuntimeError, match="no luck"):
        search.fit(X[:, :2], y)
    search.scoring = before["scoring"]
    monkeypatch.setattr(type(search.best_estimator_), "fit", fails)
    with pytest.raises(RuntimeError, match="no luck"):
        search.fit(X[:, :2], y)
    assert vars(search) == before


@every_search
def test_progress_is_logged_when_asked_for(name, caplog):
    X, y = make_problem()
    with caplog.at_level("INFO", logger="marginwood"):
        make_search(name).fit(X, y)
        assert not caplog.messages
        make_search(name, verbose=1).fit(X, y)
    counts = [
        message.removeprefix("cross-validation: ").split(" of ") for message in caplog.messages
    ]
    assert counts[-1][0] == counts[-1][1]
    assert all(int(one[0]) < int(other[0]) for one, other in pairwise(counts))


def test_a_journal_of_a_long_grid_with_one_other_value_is_refused(tmp_path):
    X, y = make_problem()
    path = tmp_path / "journal"
    alphas = np.geomspace(1, 1e-3, 2000)
    search = IntervalSearchCV(L1IntervalRegression(tol=1e-3), cv=2, checkpoint=path)
    search.set_params(grid={"alpha": alphas.copy()}).fit(X, y)
    alphas[1000] *= 1.0001
    with pytest.raises(ValueError, match="other data or parameters: grid differ"):
        search.set_params(grid={"alpha": alphas}).fit(X, y)


@pytest.mark.parametrize("name", ["forest", "out of bag", "boosting", "kernel", "cart"])
def test_a_journal_of_random_models_needs_a_seed(name, tmp_path):
    X, y = make_problem()
    with pytest.raises(ValueError, match="random_state: a checkpoint needs a seed"):
        make_search(name, random_state=None, checkpoint=tmp_path / "journal").fit(X, y)
    assert not (tmp_path / "journal").exists()


def test_a_checkpoint_belongs_to_the_folds_inside_of_an_estimator_too(tmp_path):
    X, y = make_sine(60, 2, random_state=0)
    grid = {"estimator__max_depth": [1, 2]}

    def search(n_folds):
        model = CrossFittedIntervalRegressor(MaxMarginIntervalTree(), cv=n_folds)
        return IntervalSearchCV(model, grid, cv=3, checkpoint=tmp_path / "j", random_state=0)

    search(2).fit(X, y)
    with pytest.raises(ValueError, match="other data or parameters: estimator's cv differ"):
        search(5).fit(X, y)
