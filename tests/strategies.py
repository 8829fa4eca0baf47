"""Named hypothesis strategies: interval targets, weights, feature matrices, margins.

Values come from small grids of integers and halves, so ties are everywhere and sums of them are
exact in floats.
"""

from math import inf, nan
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from marginwood import make_intervals

LOSSES = ("linear_hinge", "squared_hinge")

losses = st.sampled_from(LOSSES)

QUANTILES = (0.5, 0.1, 0.9, 0.25, 0.123456789)

# What is minimised, as keyword arguments. The squared hinge has no quantiles.
OBJECTIVES = (
    {"loss": "squared_hinge"},
    *({"loss": "linear_hinge", "quantile": quantile} for quantile in QUANTILES),
)

objectives = st.sampled_from(OBJECTIVES)

# The last one is larger than every interval that this module draws.
margins = st.sampled_from([0.0, 0.5, 1.5, 100.0])

# 2.0**-1060 makes every limit subnormal.
scales = st.sampled_from([1.0, 1e-9, 1e12, 1e-150, 2.0**-1060])

shifts = st.sampled_from([0.0, 1e9, -1e9, 0.1])


def _row(ends):
    value = ends.map(float)
    return st.one_of(
        st.tuples(value, value).map(lambda pair: (min(pair), max(pair))),
        value.map(lambda end: (end, end)),
        value.map(lambda end: (-inf, end)),
        value.map(lambda end: (end, inf)),
        st.just((-inf, inf)),
    )


def intervals(min_size=1, max_size=12, largest=6):
    """Intervals of every kind of censoring, as an (n, 2) array."""
    rows = st.lists(_row(st.integers(-largest, largest)), min_size=min_size, max_size=max_size)
    return rows.map(lambda pairs: np.array(pairs, dtype=float).reshape(-1, 2))


def informative_intervals(min_size=1, max_size=12, largest=6):
    """Intervals of which at least one has a limit."""
    return intervals(min_size, max_size, largest).filter(lambda y: np.isfinite(y).any())


def one_sided_intervals(min_size=1, max_size=12, largest=6):
    """All left-censored or all right-censored."""
    ends = st.lists(st.integers(-largest, largest).map(float), min_size=min_size, max_size=max_size)
    return st.one_of(
        ends.map(lambda uppers: np.column_stack([np.full(len(uppers), -inf), uppers])),
        ends.map(lambda lowers: np.column_stack([lowers, np.full(len(lowers), inf)])),
    )


class SidedIntervals(NamedTuple):
    """Ends, and which of them belong to their interval."""

    lower: np.ndarray
    upper: np.ndarray
    closed: np.ndarray

    @property
    def y(self):
        """The intervals as the package has them."""
        return make_intervals(self.lower, self.upper, closed=self.closed)


SIDES = ("right", "left", "both", "neither")


def _sided_row(ends):
    row = st.tuples(_row(ends), st.sampled_from(SIDES))
    return row.map(lambda drawn: (*drawn[0], "right" if drawn[0][0] == drawn[0][1] else drawn[1]))


def sided_intervals(min_size=1, max_size=12, largest=6):
    """Intervals of every kind with ends of every side, at least one of them with a limit."""
    rows = st.lists(
        _sided_row(st.integers(-largest, largest)), min_size=min_size, max_size=max_size
    )
    columns = rows.map(lambda drawn: SidedIntervals(*map(np.array, zip(*drawn, strict=True))))
    return columns.filter(lambda rows: (np.isfinite(rows.lower) | np.isfinite(rows.upper)).any())


def no_weights(_):
    """None: every row weighs 1."""
    return st.none()


def count_weights(n):
    """None, or one small whole number per row, zeros among them but never everywhere."""
    counts = st.lists(st.integers(0, 3).map(float), min_size=n, max_size=n).filter(any)
    return st.one_of(st.none(), counts.map(np.array))


def spread_weights(n):
    """One positive weight per row, over six orders of magnitude."""
    exponents = st.lists(st.floats(-3, 3, width=16), min_size=n, max_size=n)
    return exponents.map(lambda powers: 10.0 ** np.array(powers))


def sample_weights(n):
    """Every kind of weights."""
    return st.one_of(count_weights(n), spread_weights(n))


def _columns(n):
    finite = st.integers(0, 3).map(float)
    anything = st.sampled_from([-inf, -1.0, 0.0, 1.0, 1.5, inf, nan])
    return st.one_of(
        st.lists(finite, min_size=n, max_size=n),
        st.lists(anything, min_size=n, max_size=n),
        st.permutations([float(k) for k in range(n)]),
        st.sampled_from([0.0, inf, nan]).map(lambda value: [value] * n),
    )


def feature_matrices(n, max_features=3):
    """Columns of few distinct values, of NaN and infinities among numbers, of distinct values, of one value only."""
    columns = st.lists(_columns(n), min_size=1, max_size=max_features)
    return columns.map(
        lambda drawn: np.ascontiguousarray(np.array(drawn, dtype=float).reshape(-1, n).T)
    )


class TreeProblem(NamedTuple):
    """What `fit` is called with."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None


def _weighted(draw, X, y, weights):
    """The problem with drawn weights, of which at least one informative row gets some."""
    sample_weight = draw(weights(len(y)))
    if sample_weight is not None:
        first_informative = np.flatnonzero(np.isfinite(y).any(axis=1))[0]
        sample_weight[first_informative] = max(sample_weight[first_informative], 1.0)
    return TreeProblem(X, y, sample_weight)


@st.composite
def _small_problems(draw, weights):
    n = draw(st.integers(1, 12))
    y = draw(informative_intervals(min_size=n, max_size=n))
    return _weighted(draw, draw(feature_matrices(n)), y, weights)


@st.composite
def _scattered_problems(draw, weights):
    """Rows from a seed: they shrink less well than drawn ones, and grow trees of more nodes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_features = draw(st.integers(8, 24)), draw(st.integers(1, 3))
    values = np.array(
        draw(
            st.sampled_from([[0.0, 1.0, 2.0, 3.0], [-inf, -1.0, 0.5, inf, nan], [*range(50), nan]])
        )
    )
    X = rng.choice(values, size=(n, n_features))
    y = np.sort(rng.integers(-6, 7, size=(n, 2)).astype(float), axis=1)
    kind = rng.integers(6, size=n)
    y[kind == 0, 0] = -inf
    y[kind == 1, 1] = inf
    y[kind == 2, 1] = y[kind == 2, 0]
    y[(kind == 3) & (np.arange(n) % 4 == 1)] = -inf, inf
    return _weighted(draw, X, y, weights)


def tree_problems(weights=sample_weights):
    """Features, targets and weights, at least one row with a limit and a weight."""
    return st.one_of(_small_problems(weights), _scattered_problems(weights))


@st.composite
def stopping_rules(draw):
    """Keyword arguments that stop a tree from growing, most of them absent."""
    choices = {
        "max_depth": st.integers(1, 3),
        "min_samples_split": st.integers(2, 6),
        "min_samples_leaf": st.integers(2, 4),
        "max_leaf_nodes": st.integers(2, 5),
        "min_impurity_decrease": st.sampled_from([0.013, 0.27, 1.9]),
    }
    names = draw(st.sets(st.sampled_from(sorted(choices)), max_size=2))
    return {name: draw(choices[name]) for name in sorted(names)}


def crossing_order(n_cluster, n_far):
    """Limits around 0, then far ones that alternate so that the squared minimum crosses all the first at every step."""
    cluster = np.arange(n_cluster) - n_cluster // 2
    is_lower = np.arange(n_cluster) % 2 == 0
    y = np.column_stack([np.where(is_lower, cluster, -inf), np.where(is_lower, inf, cluster)])
    # The sum of the far limits alternates between +reach and -reach: beyond the cluster even as a
    # mean over all limits.
    reach = 2.0 * n_cluster * (n_cluster + n_far)
    far = np.tile([[2 * reach, inf], [-inf, -2 * reach]], (n_far // 2 + 1, 1))[:n_far]
    far[0, 0] = reach
    return np.concatenate([y, far])
