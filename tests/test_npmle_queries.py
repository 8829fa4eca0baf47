"""The estimate for many queries at once is the estimate of each of them."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood.distributions import _weighted, turnbull
from marginwood.distributions._weighted import sort_rows, weighted_turnbull
from strategies import intervals, sided_intervals

TOL = 1e-6


def ask(y, queries, tol=TOL):
    """The estimates of queries, each a list of pairs of a row and its weight."""
    offsets = np.cumsum([0] + [len(query) for query in queries])
    entries = [entry for query in queries for entry in query]
    rows = np.array([row for row, _ in entries], dtype=np.int64)
    return weighted_turnbull(
        sort_rows(y), offsets, rows, np.array([weight for _, weight in entries]), tol=tol
    )


def answer_alone(y, query, tol=TOL):
    """The same by the estimate of one sample, with weights that add up to the effective number of rows."""
    weight = np.bincount(
        [row for row, _ in query], [weight for _, weight in query], minlength=len(y)
    )
    weight[~np.isfinite(y).any(axis=1)] = 0.0
    if not weight.any():
        return None
    counted = weight > 0
    weight = weight[counted]
    return turnbull(y[counted], weight * weight.sum() / (weight**2).sum(), tol)


@st.composite
def problems(draw):
    y = draw(
        st.one_of(intervals(max_size=12), sided_intervals(max_size=12).map(lambda rows: rows.y))
    )
    entry = st.tuples(st.integers(0, len(y) - 1), st.integers(0, 4).map(float))
    return y, draw(st.lists(st.lists(entry, max_size=15), min_size=1, max_size=4))


@given(problems())
def test_every_query_has_the_estimate_of_its_own_rows_and_weights(problem):
    y, queries = problem
    together = ask(y, queries)
    assert len(together) == len(queries)
    for row, query in enumerate(queries):
        alone = answer_alone(y, query)
        if alone is None:
            assert together[row].support.tolist() == [[-inf, inf]]
            assert together[row].mass.tolist() == [1.0]
        else:
            assert together[row].support.tolist() == alone.support.tolist()
            np.testing.assert_allclose(together[row].mass, alone.mass, atol=1e-6)


@pytest.mark.parametrize("kind", ["right", "left", "interval", "mixed"])
def test_queries_of_many_rows_are_as_certain_as_single_estimates(kind):
    rng = np.random.default_rng(0)
    n = 400
    y = np.sort(rng.normal(size=(n, 2)), axis=1)
    shares = {
        "right": (0, 0.4, 0.6),
        "left": (0.4, 0, 0.6),
        "interval": (0, 0, 0),
        "mixed": (0.2, 0.2, 0.2),
    }
    left, right, exact = shares[kind]
    share = rng.random(n)
    y[share < left, 0] = -inf
    y[(left <= share) & (share < left + right), 1] = inf
    seen = share >= 1 - exact
    y[seen, 1] = y[seen, 0]
    queries = [
        list(zip(rng.integers(n, size=200), rng.exponential(size=200), strict=True))
        for _ in range(5)
    ]
    together = ask(y, queries, tol=1e-2)
    for row, query in enumerate(queries):
        alone = answer_alone(y, query, tol=1e-4)
        weight = np.bincount(
            *np.transpose(query).astype(float).astype(int)[:1], [w for _, w in query], minlength=n
        )
        weight *= weight.sum() / (weight**2).sum()
        counted = weight > 0
        reached = weight[counted] @ np.log(together[row].probability(y[counted]))
        assert alone.log_likelihood - 1e-2 <= reached <= alone.log_likelihood + 1e-4


def test_blocks_of_queries_make_no_difference(monkeypatch):
    rng = np.random.default_rng(1)
    y = np.sort(rng.integers(0, 20, size=(50, 2)).astype(float), axis=1)
    queries = [
        [(int(rng.integers(50)), 1.0) for _ in range(rng.integers(0, 30))] for _ in range(20)
    ]
    whole = ask(y, queries)
    monkeypatch.setattr(_weighted, "BLOCK_ENTRIES", 7)
    blocks = ask(y, queries)
    for row in range(len(queries)):
        assert whole[row].support.tobytes() == blocks[row].support.tobytes()
        assert whole[row].mass.tobytes() == blocks[row].mass.tobytes()


@pytest.mark.parametrize(
    ("rows", "weights", "message"),
    [
        ([2], [1.0], "rows: not a row of the training set in 1 of 1 rows"),
        ([-1], [1.0], "rows: not a row of the training set"),
        ([0], [np.nan], "weights: negative, NaN or infinite"),
        ([0], [-1.0], "weights: negative, NaN or infinite"),
    ],
)
def test_bad_entries_are_named(rows, weights, message):
    training = sort_rows(np.array([(0.0, 1.0), (2.0, 3.0)]))
    with pytest.raises(ValueError, match=message):
        weighted_turnbull(training, np.array([0, 1]), np.array(rows), np.array(weights))
