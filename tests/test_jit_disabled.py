"""The kernels as plain Python: the same trees and the same prefixes, without a warning.

Run as a program, this module writes its results to the file that it is given.
"""

import os
import subprocess
import sys
import warnings
from math import inf
from pathlib import Path

import numpy as np

from marginwood import MaxMarginIntervalTree, optimal_costs
from marginwood.distributions import turnbull
from strategies import LOSSES, crossing_order

# Beyond two words of ranks, so that the upper levels of the rank set are used.
N_ROWS = 100


def problem():
    """Rows of every kind of censoring; features with ties, NaN, infinities and nearly equal values."""
    rng = np.random.default_rng(0)
    steps = rng.integers(6, size=N_ROWS).astype(float)
    values = rng.normal(size=N_ROWS)
    near = 1.0 + 2.0**-52 * rng.integers(0, 9, size=N_ROWS)
    X = np.column_stack(
        [steps, values, near, rng.choice([-inf, -1.0, 0.0, inf, np.nan], size=N_ROWS)]
    )
    centre = np.round(4 * np.sin(steps) + 3 * (values > 0) + rng.normal(size=N_ROWS), 2)
    y = np.column_stack(
        [centre - rng.integers(0, 3, size=N_ROWS), centre + rng.integers(0, 3, size=N_ROWS)]
    )
    y[::7, 0], y[3::7, 1] = -inf, inf
    return X, y, rng.integers(1, 4, size=N_ROWS).astype(float)


def results():
    """Node tables and prefixes by name."""
    X, y, weights = problem()
    far = crossing_order(20, 40)
    found = {}
    for loss in LOSSES:
        trees = {
            "full": MaxMarginIntervalTree(loss=loss, margin=0.5).fit(X, y),
            "weighted": MaxMarginIntervalTree(loss=loss, max_depth=3, min_samples_leaf=4).fit(
                X, y, weights
            ),
            "best first": MaxMarginIntervalTree(loss=loss, max_leaf_nodes=6, ccp_alpha=0.01).fit(
                X, y
            ),
            "random": MaxMarginIntervalTree(
                loss=loss, max_features=2, max_depth=4, random_state=3
            ).fit(X, y),
            "crossing": MaxMarginIntervalTree(loss=loss, max_depth=1).fit(
                np.arange(len(far))[:, None], far
            ),
        }
        for name, tree in trees.items():
            nodes = tree.tree_.nodes
            found[f"{loss}, {name}"] = np.column_stack(
                [nodes[field] for field in nodes.dtype.names]
            )
            found[f"{loss}, {name}, leaves"] = tree.apply(
                X if X.shape[1] == tree.n_features_in_ else X[:, :1]
            )
        for name, (lower, upper), sample_weight in (
            ("prefixes", y.T, None),
            ("weighted prefixes", y.T, weights),
            ("crossing prefixes", far.T, None),
        ):
            costs = optimal_costs(lower, upper, loss=loss, sample_weight=sample_weight)
            found[f"{loss}, {name}"] = np.column_stack(costs)
    estimate = turnbull(y, weights)
    found["estimate"] = np.column_stack([estimate.support, estimate.mass])
    found["quantiles"] = estimate.quantile([0.1, 0.5, 0.9])
    return found


def test_kernels_give_the_same_results_as_plain_python(tmp_path):
    path = tmp_path / "results.npz"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, __file__, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    plain, compiled = np.load(path), results()
    assert set(plain) == set(compiled)
    for name, expected in compiled.items():
        np.testing.assert_allclose(plain[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)


if __name__ == "__main__":
    warnings.simplefilter("error")
    np.seterr(all="raise", under="ignore")
    np.savez(Path(sys.argv[1]), **results())
