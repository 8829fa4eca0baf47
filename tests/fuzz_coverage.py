"""How often conformal ranges keep their promise, on random populations.

A case is a number: `check_case` draws a population, a model and a promise, and then samples from
the population, again and again, some rows that the model learns from and others that its ranges are
made for. The share of the latter for which the promise is kept may not lie below the promised one
by more than six standard errors, which chance does not bring about in 10^7 cases.
"""

import warnings
from math import inf, sqrt

import numpy as np

from marginwood import (
    ConformalIntervalRegressor,
    IntervalDummyRegressor,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
)
from test_conformal import MODES

N_SAMPLES = 50
N_NEW = 40
CONSTANT = IntervalDummyRegressor()
TREE = MaxMarginIntervalTree(max_depth=2)
MODELS = {
    "split": [CONSTANT, TREE, MaxMarginIntervalBoosting(3)],
    "cv": [CONSTANT, TREE],
    "oob": [MaxMarginIntervalForest(12, max_depth=2)],
}
# Where the logarithm of a target stands that is positive.
NESTINGS = {
    "none": lambda model: model,
    "inside": lambda model: model.set_params(
        estimator=TransformedIntervalRegressor(model.estimator)
    ),
    "outside": TransformedIntervalRegressor,
}


def draw_population(rng):
    """A function that draws rows of one random population: labels that are exact, rounded, or open on a side."""
    slope = rng.choice([0, 1, 3])
    noise = rng.choice([0.0, 0.3, 2.0])
    width = rng.choice([0.0, 0.5, 2.0])
    below, above = rng.choice([0.0, 0.1, 0.3], 2)
    is_rounded = rng.random() < 0.3

    def draw(n):
        X = rng.normal(size=(n, 2))
        centre = slope * X[:, 0] + noise * rng.standard_t(3, size=n)
        centre = np.round(centre) if is_rounded else centre
        y = centre[:, np.newaxis] + width * rng.exponential(size=(n, 2)) * [-1, 1]
        share = rng.random(n)
        y[share < below, 0] = -inf
        y[share > 1 - above, 1] = inf
        return X, y

    return draw


def share_kept(mode, y, ranges):
    """The share of rows for which a promise is kept."""
    low, high = ranges.T
    kept = {
        "contains": (low <= y[:, 0]) & (y[:, 1] <= high),
        "meets": (low <= y[:, 1]) & (y[:, 0] <= high),
        "lower": low <= y[:, 0],
        "upper": y[:, 1] <= high,
    }
    return kept[mode].mean()


def promised_share(method, level, n):
    """What is proven of a method."""
    if method == "split":
        return level
    return 2 * max(level, 0.5) - 1 - (sqrt(2 / n) if method == "cv" else 0.0)


def check_case(number):
    """Compare a share with a promise."""
    rng = np.random.default_rng(number)
    draw = draw_population(rng)
    n = int(rng.choice([10, 20, 50]))
    mode = rng.choice(MODES)
    method = rng.choice(sorted(MODELS))
    level = float(rng.choice([0.5, 0.75, 0.8, 0.9]))
    model = ConformalIntervalRegressor(
        rng.choice(MODELS[method]),
        mode=mode,
        confidence_level=level,
        method=method,
        cv=int(rng.choice([2, 5])),
    )
    nesting = rng.choice(["none", "outside"] if method == "oob" else sorted(NESTINGS))
    model = NESTINGS[nesting](model)
    ranged = getattr(model, "regressor", model)
    scale = np.asarray if nesting == "none" else np.exp
    shares = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(N_SAMPLES):
            X, y = draw(n)
            new_X, new_y = draw(N_NEW)
            ranged.set_params(random_state=seed)
            ranges = model.fit(X, scale(y)).predict_interval(new_X)
            shares.append(share_kept(mode, scale(new_y), ranges))
    promised = max(promised_share(method, level, n), 0.0)
    error = max(np.std(shares, ddof=1), sqrt(promised * (1 - promised) / N_NEW)) / sqrt(N_SAMPLES)
    kept = np.mean(shares)
    found = f"{model}, {n} rows: {kept:.3f} of the promises are kept, not {promised:.3f}"
    assert kept >= promised - 6 * error, found
