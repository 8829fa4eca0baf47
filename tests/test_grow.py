"""Growth that is interrupted to price nodes by descent gives the same tree."""

import numpy as np
import pytest

from marginwood._core.order import sort_features
from marginwood._core.problem import Target, grow_tree, plain
from marginwood._core.search import Options
from strategies import LOSSES


def grown(seed, loss, by_descent, max_leaf_nodes):
    """The node table of a problem in multiples of 1 / 64: costs are exact in any arithmetic, and hardly ever equal."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (30, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    lower = rng.integers(-600, 600, 30) / 64
    y = np.column_stack([lower, lower + rng.integers(0, 400, 30) / 64])
    y[rng.random(30) < 0.2, 1] = np.inf
    options = Options(4, 2, 1, max_leaf_nodes, 0.0, 3, by_descent)
    return grow_tree(
        X, sort_features(X), Target(y).at(0.0), np.ones(30), loss, options, 1, plain(X.shape[1])
    )[0]


@pytest.mark.parametrize("max_leaf_nodes", [0, 6], ids=["in depth", "best first"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_tree_priced_by_descent_is_the_tree_priced_by_sweeps(loss, max_leaf_nodes):
    sizes = []
    for seed in range(20):
        swept, descended = (
            grown(seed, loss, by_descent, max_leaf_nodes) for by_descent in (False, True)
        )
        for field in ("feature", "children_left", "children_right", "threshold", "n_node_samples"):
            np.testing.assert_array_equal(
                swept[field], descended[field], err_msg=f"{field}, seed {seed}"
            )
        np.testing.assert_allclose(swept["impurity"], descended["impurity"], rtol=1e-12, atol=1e-12)
        sizes.append(len(swept))
    assert min(sizes) > 5
