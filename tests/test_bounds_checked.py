"""The kernels with every index checked, on many small problems: no read or write outside of an array.

Run as a program, this module grows the trees.
"""

import os
import subprocess
import sys
import warnings
from math import inf

import numpy as np

from marginwood import (
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    optimal_costs,
)
from marginwood.distributions import turnbull
from marginwood.distributions._weighted import sort_rows, weighted_turnbull
from strategies import LOSSES

N_PROBLEMS = 500


def random_problem(rng):
    """Features with ties and missing values, intervals of every kind at any offset and unit, weights of any size."""
    n, p = (
        rng.choice([2, 5, 20, 63, 64, 65, 130, 300, rng.integers(4090, 4100)]),
        rng.integers(1, 5),
    )
    X = (
        rng.normal(size=(n, p))
        if rng.random() < 0.5
        else rng.integers(0, rng.choice([2, 5, 40]), (n, p)).astype(float)
    )
    X[rng.random((n, p)) < rng.choice([0.0, 0.05, 0.5])] = np.nan
    half = rng.exponential(size=n) * rng.choice([0.0, 0.1, 1.0, 5.0])
    y = (rng.normal(size=n) + np.nan_to_num(X[:, 0]) * rng.choice([0, 1, 3]))[
        :, None
    ] + np.column_stack([-half, half])
    y = np.round(y) if rng.random() < 0.3 else y
    y[1:][rng.random(n - 1) < rng.choice([0.0, 0.3, 0.9]), 0] = -inf
    y[1:][rng.random(n - 1) < rng.choice([0.0, 0.3, 0.9]), 1] = inf
    weights = (
        rng.exponential(size=n) * 10.0 ** rng.integers(-8, 8) if rng.random() < 0.5 else np.ones(n)
    )
    return X, y * rng.choice([1.0, 1e-8, 1e12]) + rng.choice([0.0, 1e6]), weights


def check_leaves(X, tree):
    """The table tells how many rows come to each leaf, and they are enough."""
    nodes, sizes = tree.tree_.nodes, np.bincount(tree.apply(X), minlength=tree.tree_.node_count)
    is_leaf = nodes["children_left"] < 0
    assert sizes[is_leaf].tolist() == nodes["n_node_samples"][is_leaf].tolist()
    assert sizes[is_leaf].min() >= min(tree.min_samples_leaf, len(X))


def estimate_distributions(y, weights, rng):
    """One of all rows, and some of a few rows each."""
    found = turnbull(y, weights / weights.sum())
    assert (found.probability(y[np.isfinite(y).any(axis=1)]) > 0).all()
    rows = rng.integers(len(y), size=60)
    many = weighted_turnbull(sort_rows(y), np.arange(0, 61, 20), rows, weights[rows])
    assert np.isfinite(many.mean(within=(0, 1))).all()
    y = y[np.isfinite(y).any(axis=1)][:300]
    known = np.where(np.isfinite(y[:, 0]), y[:, 0], y[:, 1])
    entry = known - rng.exponential(size=len(y)) * (known.std() + 1)
    entry[(rng.random(len(y)) < 0.5) | (entry >= known)] = -inf
    late = turnbull(y, weights[: len(y)] / weights[: len(y)].sum(), entry=entry)
    assert np.isfinite(late.log_likelihood)


def check_case(seed):
    """A tree of some shape, and sometimes the other users of the kernels."""
    rng = np.random.default_rng(seed)
    X, y, weights = random_problem(rng)
    options = {
        "loss": rng.choice(LOSSES),
        "margin": float(rng.choice([0.0, 0.1, 1.0])),
        "max_depth": rng.choice([None, 3, 8]),
        "min_samples_leaf": int(rng.choice([1, 4])),
        "max_features": rng.choice([None, 1], p=[0.8, 0.2]),
        "random_state": seed % 2**32,
    }
    leaves = rng.choice([None, 6], p=[0.8, 0.2])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y: ")  # uninformative rows
        check_leaves(X, MaxMarginIntervalTree(**options, max_leaf_nodes=leaves).fit(X, y, weights))
        if seed % 10 == 0:
            MaxMarginIntervalForest(3, **options).fit(X, y, weights)
            MaxMarginIntervalBoosting(5, **options, subsample=0.7).fit(X, y, weights)
            optimal_costs(*y.T, loss=options["loss"], sample_weight=weights)
            estimate_distributions(y, weights, rng)


def test_no_kernel_leaves_its_arrays():
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    run = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


if __name__ == "__main__":
    for seed in range(N_PROBLEMS):
        check_case(seed)
