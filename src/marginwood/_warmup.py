"""Compiling all kernels ahead of the first use."""

from __future__ import annotations

import warnings

import numpy as np

from marginwood._baselines.cart import IntervalCART
from marginwood._core.parallel import LEAST_CELLS
from marginwood._solver import optimal_costs
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.estimator import IntervalSearchCV
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull
from marginwood.intervals import from_events
from marginwood.losses import LOSSES
from marginwood.metrics import interval_concordance_index, interval_crps

__all__ = ["warmup"]


def warmup() -> None:
    """Compile all kernels ahead, so that no later call has to wait.

    Kernels are kept in the user's cache folder for later runs; without this, the first call of any
    estimator compiles what it needs.

    Examples
    --------
    >>> import marginwood
    >>> marginwood.warmup()
    """
    X, y = make_sine(60, 2, random_state=0)
    X[0, 0] = np.nan
    # Each of these outweighs all before it: the minimum swings too far for the first kernels of
    # solver and tree.
    ends = np.arange(1.0, 41.0) * np.where(np.arange(40) % 2, 1, -1)
    swinging = 4.0 ** np.arange(40)
    many = make_sine(LEAST_CELLS // 2 + 1, 2, random_state=0)  # rows enough for threads
    for loss in LOSSES:
        tree = MaxMarginIntervalTree(
            loss=loss, max_leaf_nodes=4, max_features=1, ccp_alpha=1e-6, random_state=0
        )
        tree.fit(X, y).decision_path(X)
        optimal_costs(y[:, 0], y[:, 1], loss=loss)
        optimal_costs(ends, ends, loss=loss, sample_weight=swinging)
        MaxMarginIntervalTree(loss=loss, max_depth=1).fit(np.arange(40.0)[:, None], ends, swinging)
        MaxMarginIntervalTree(loss=loss, max_depth=2, n_jobs=2).fit(*many)
        of_codes = MaxMarginIntervalTree(
            loss=loss, max_depth=1, anchor=1.0, categorical_features=[0]
        )
        of_codes.fit(np.arange(40.0)[:, None] % 10, ends, swinging).apply(np.zeros((1, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows without an out-of-bag prediction
        forest = MaxMarginIntervalForest(n_estimators=2, oob_score=True, random_state=0).fit(X, y)
    MaxMarginIntervalBoosting(n_estimators=1, subsample=0.5, random_state=0).fit(X, y)
    for categories in (None, [1]):
        tree = MaxMarginIntervalTree(categorical_features=categories)
        IntervalSearchCV(tree, {"margin": 2}, cv=2).fit(X, y)
    IntervalCART().fit(X, y)
    distribution = forest.predict_distribution(X)
    distribution.quantile(0.5)
    distribution.cdf(0.0)
    distribution.mean()
    distribution.probability(y)
    interval_crps(y, distribution)
    interval_concordance_index(y, forest.predict(X))
    turnbull(y)
    turnbull(from_events([1.0, 2.0, 2.0], [True, False, True]))
    turnbull([(1.0, 3.0), (2.0, 4.0)], entry=[0.0, 1.0])
