"""Simulated data: interval targets of every kind of censoring around a nonlinear function."""

from typing import NamedTuple

import numpy as np

LEFT, RIGHT, UNCENSORED = 0.2, 0.2, 0.1
MARGIN = 0.1
# Rows, features and depth of single trees.
TREE_SIZES = ((10**4, 20, 10), (10**5, 10, 6), (10**6, 10, 6))


class Problem(NamedTuple):
    """Features, interval targets, and the number in the middle of each interval for libraries that need one."""

    X: np.ndarray
    y: np.ndarray
    centre: np.ndarray


def simulate(n_samples, n_features, seed=0):
    """Features uniform or normal; a fifth of the rows censored left, a fifth right, a tenth not at all."""
    rng = np.random.default_rng(seed)
    n_uniform = (n_features + 1) // 2
    X = np.empty((n_samples, n_features))
    X[:, :n_uniform] = rng.uniform(-2, 2, size=(n_samples, n_uniform))
    X[:, n_uniform:] = rng.normal(size=(n_samples, n_features - n_uniform))
    signal = (
        np.sin(3 * X[:, 0]) + X[:, 1 % n_features] * (X[:, -1] > 0) + np.abs(X[:, n_features // 2])
    )
    centre = signal + rng.normal(scale=0.5, size=n_samples)
    return Problem(X, _intervals_around(centre, rng), centre)


def _intervals_around(centre, rng):
    y = centre[:, None] + rng.exponential(size=(len(centre), 2)) * [-1, 1]
    share = rng.random(len(centre))
    y[share < LEFT, 0] = -np.inf
    y[(share >= LEFT) & (share < LEFT + RIGHT), 1] = np.inf
    uncensored = share >= 1 - UNCENSORED
    y[uncensored] = centre[uncensored, None]
    return y


def crossing_order(n_intervals):
    """One-sided limits that make the squared-hinge minimum cross half of them at every step of the second half.

    The first half clusters in [-1, 1]. The far limits of the second half alternate, so that their
    sum flips between +reach and -reach, and divided by the number of all limits it still lies
    beyond the cluster.
    """
    n_cluster = n_intervals // 2
    y = np.tile([-np.inf, np.inf], (n_intervals, 1))
    cluster = np.linspace(-1, 1, n_cluster)
    y[:n_cluster:2, 0] = cluster[::2]
    y[1:n_cluster:2, 1] = cluster[1::2]
    reach = 4.0 * n_intervals
    y[n_cluster::2, 0] = 2 * reach
    y[n_cluster + 1 :: 2, 1] = -2 * reach
    y[n_cluster, 0] = reach
    return y
