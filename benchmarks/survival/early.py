"""How early predictions are: bias and error of the predicted median against the true one, by share of censored rows.

The logarithms of the times are normal, with a mean that two of five features move; they are
right-censored at exponential times. A prediction beyond all times counts as the last one, for every
method.
"""

import warnings
from itertools import product
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.paper.table import Piece, Table, fingerprint
from marginwood import (
    DistributionalIntervalRegressor,
    DistributionalSuperLearner,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalForest,
    from_events,
)
from marginwood._trees.leafweights import predict_by_leaves

N_ROWS, N_NEW, N_SEEDS, N_TREES = 2000, 1000, 3, 100
NOISE = 0.8
# About how many rows are censored: the mean of their exponential censoring times.
MEAN_FOLLOW_UP = {"9 %": 22.0, "41 %": 2.4, "63 %": 0.85}
ALLOWED_BIAS = {"9 %": 0.05, "41 %": 0.05, "63 %": 0.1}
CHOSEN = "the same + errors of similar rows"
RECIPE = "linear models and forests, weighed (`DistributionalSuperLearner`)"
LEAF_WEIGHTS = "forest, leaves of 15, all features, median by leaf weights"
SURVIVAL_FOREST = "random survival forest (scikit-survival), leaves of 15, all features"


class Draw(NamedTuple):
    """Training rows in logarithms of time, new features, and the medians there."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    median: np.ndarray


def simulate(mean_follow_up, seed, n_rows=N_ROWS):
    """Draw rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + N_NEW, 5))
    median = X[:, 0] + 0.5 * X[:, 1]
    time = median + NOISE * rng.normal(size=len(X))
    end = np.log(rng.exponential(mean_follow_up, size=len(X)))
    y = from_events(np.minimum(time, end), time <= end)
    return Draw(X[:n_rows], y[:n_rows], X[n_rows:], median[n_rows:])


def _forest(**parameters):
    return MaxMarginIntervalForest(N_TREES, random_state=0, **parameters)


def _point(model):
    return lambda draw: model.fit(draw.X, draw.y).predict(draw.X_new)


def _leaf_median(forest):
    return lambda draw: forest.fit(draw.X, draw.y).predict_quantile(draw.X_new, 0.5)


def _around(model, cv="own", **options):
    return _point(DistributionalIntervalRegressor(model, cv=cv, **options))


def _second_pass(draw):
    """Leaf medians of a forest that split on completed times: what is censored counts as the median of what is left."""
    first = _forest(min_samples_leaf=15, max_features=None).fit(draw.X, draw.y)
    unseen = predict_by_leaves(first, first._training_leaves(), first._drawn())
    lower, upper = draw.y.T
    passed = unseen.cdf(lower[:, np.newaxis])
    left = np.minimum(unseen.quantile((1 + passed) / 2, bound="lower")[:, 0], lower.max())
    completed = np.where(upper < np.inf, upper, np.maximum(left, lower))
    second = _forest(min_samples_leaf=15, max_features=None).fit(draw.X, completed)
    second._intervals = draw.y
    return second.predict_quantile(draw.X_new, 0.5)


def _filled_tails(draw):
    """Leaf medians; where a curve ends above one half, the median by the errors of similar rows."""
    forest = _forest(min_samples_leaf=15, max_features=None)
    median = _leaf_median(forest)(draw)
    return np.where(np.isfinite(median), median, _around(forest)(draw))


def _survival_forest(draw):
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    target = Surv.from_arrays(np.isfinite(draw.y[:, 1]), np.exp(draw.y[:, 0]))
    model = RandomSurvivalForest(
        N_TREES, min_samples_leaf=15, max_features=None, random_state=0
    ).fit(draw.X, target)
    below = model.predict_survival_function(draw.X_new, return_array=True) <= 0.5
    place = np.where(below.any(axis=1), below.argmax(axis=1), -1)
    return np.log(model.unique_times_[place])


METHODS = {
    "forest, a third of the features, leaves of 5, `predict`": _point(_forest(min_samples_leaf=5)),
    "forest, all features, leaves of 15, `predict`": _point(
        _forest(min_samples_leaf=15, max_features=None)
    ),
    "the same + errors of all rows": _around(
        _forest(min_samples_leaf=15, max_features=None), neighbors=None
    ),
    CHOSEN: _around(_forest(min_samples_leaf=15, max_features=None)),
    "the same, nearest 0.3 of the rows": _around(
        _forest(min_samples_leaf=15, max_features=None), neighbors=0.3
    ),
    "forest, leaves of 5, all features, median by leaf weights": _leaf_median(
        _forest(min_samples_leaf=5, max_features=None)
    ),
    LEAF_WEIGHTS: _leaf_median(_forest(min_samples_leaf=15, max_features=None)),
    "the same, leaves of 30": _leaf_median(_forest(min_samples_leaf=30, max_features=None)),
    "the same, leaves of 15, linear hinge": _leaf_median(
        _forest(loss="linear_hinge", min_samples_leaf=15, max_features=None)
    ),
    "the same, squared hinge, splits by completed times (second pass)": _second_pass,
    "the same, one pass, tails from errors of similar rows": _filled_tails,
    "linear model (L1), `predict`": _point(IntervalSearchCV(L1IntervalRegression(), {"alpha": 30})),
    "the same + errors of similar rows (cross-fitted)": _around(
        IntervalSearchCV(L1IntervalRegression(), {"alpha": 30}), cv=5
    ),
    RECIPE: _point(DistributionalSuperLearner(random_state=0)),
    SURVIVAL_FOREST: _survival_forest,
}


def run(name, share, seed, n_rows):
    """Bias, root mean squared error and CPU seconds of one method on one draw."""
    draw = simulate(MEAN_FOLLOW_UP[share], seed, n_rows)
    start = process_time()
    with warnings.catch_warnings():
        # Medians beyond all limits are cut off there.
        warnings.filterwarnings("ignore", "predict: .* medians lie beyond", UserWarning)
        predicted = np.minimum(METHODS[name](draw), draw.y[:, 0].max())
    seconds = process_time() - start
    error = predicted - draw.median
    return error.mean(), np.sqrt(np.mean(error**2)), seconds


def pieces(shrink=1):
    """All pieces of work, the quick methods first."""
    n_rows = N_ROWS // shrink
    for name, seed, share in product(METHODS, range(max(1, N_SEEDS // shrink)), MEAN_FOLLOW_UP):
        if name == SURVIVAL_FOREST and seed > 0:
            continue  # half a minute for each draw
        settings = fingerprint((name, share, seed, n_rows, NOISE, N_TREES))
        yield Piece((name, share, str(seed), settings), run, (name, share, seed, n_rows))


def measure(path, shrink=1, *, with_others=True):
    """Do what is missing; by method and share of censored rows: mean bias, mean error and mean seconds."""
    work = [piece for piece in pieces(shrink) if with_others or piece.key[0] != SURVIVAL_FOREST]
    table = Table(Path(path), ("method", "censored", "seed"), ("bias", "rmse", "seconds"))
    table.run(work, n_jobs=1)
    found = {}
    for line in table.read(work).values():
        values = [float(line[name]) for name in ("bias", "rmse", "seconds")]
        found.setdefault((line["method"], line["censored"]), []).append(values)
    return {key: np.mean(values, axis=0) for key, values in found.items()}
