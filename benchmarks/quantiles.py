"""Medians against scikit-learn's ``absolute_error``, and quantiles of several libraries on held-out rows.

``python -m benchmarks --only absolute_error`` measures the first, ``python -m benchmarks.quantiles`` the second.
"""

import argparse
import csv
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from benchmarks import measure
from benchmarks.problems import simulate
from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree

# Rows, features, and trees of a forest; both sides have this depth.
SIZES = ((10**3, 10, 50), (10**4, 20, 10), (10**5, 10, 2), (10**6, 10, 1))
DEPTH = 6
FEWEST = 200  # rows: fewer are learned by heart
QUANTILES = (0.1, 0.5, 0.9)
N_TREES = 100
N_SIMULATED = 2000
N_FOLDS = 5
TREE = "marginwood tree"


class Pair(NamedTuple):
    """The same work by both sides, not fitted."""

    what: str
    ours: object
    theirs: object


def pairs(n_trees):
    """Trees and forests of absolute distances, which on exact labels are medians."""
    forest = {"max_depth": DEPTH, "max_features": 1 / 3, "random_state": 0, "n_jobs": 1}
    return (
        Pair(
            f"tree of depth {DEPTH}",
            MaxMarginIntervalTree(loss="linear_hinge", max_depth=DEPTH),
            DecisionTreeRegressor(criterion="absolute_error", max_depth=DEPTH, random_state=0),
        ),
        Pair(
            f"forest, {n_trees} of depth {DEPTH}",
            MaxMarginIntervalForest(n_trees, loss="linear_hinge", **forest),
            RandomForestRegressor(n_trees, criterion="absolute_error", **forest),
        ),
    )


def absolute_errors(settings):
    """Yield what was fitted to how many rows, our CPU seconds and scikit-learn's, and the mean distance of both."""
    small = simulate(200, 3)
    for pair in pairs(1):
        pair.ours.fit(small.X, small.centre)
    for n_samples, n_features, n_trees in SIZES:
        problem = simulate(max(n_samples // settings.shrink, FEWEST), n_features)
        X, y = problem.X, problem.centre
        repeats = settings.repeats if n_samples < 10**5 else 1
        for what, ours, theirs in pairs(n_trees):
            tasks = {"ours": partial(ours.fit, X, y), "theirs": partial(theirs.fit, X, y)}
            seconds = measure.best_times(tasks, repeats, clock=process_time)
            losses = [np.abs(y - model.predict(X)).mean() for model in (ours, theirs)]
            yield f"{what}, n={len(X):,} p={n_features}", *seconds.values(), *losses


def sets():
    """Eight regressions, by name: three that scikit-learn ships, five that are simulated."""
    wine, cancer = datasets.load_wine(), datasets.load_breast_cancer()
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_SIMULATED, 6))
    skewed = np.sin(6 * X[:, 0]) + (0.2 + X[:, 1]) * rng.exponential(size=N_SIMULATED)
    options = {"n_samples": N_SIMULATED, "random_state": 0}
    return {
        "diabetes": datasets.load_diabetes(return_X_y=True),
        "wine, alcohol": (wine.data[:, 1:], wine.data[:, 0]),
        "breast cancer, texture": (np.delete(cancer.data, [1, 11, 21], axis=1), cancer.data[:, 1]),
        "friedman 1": datasets.make_friedman1(noise=1.0, **options),
        "friedman 2": datasets.make_friedman2(noise=100.0, **options),
        "friedman 3": datasets.make_friedman3(noise=0.2, **options),
        "sparse uncorrelated": datasets.make_sparse_uncorrelated(**options),
        "skewed, growing noise": (X, skewed),
    }


def _fitted(model, X, y, X_new):
    return model.fit(X, y).predict(X_new)


def methods(quantile):
    """What predicts the quantile of new rows, by name: the defaults of libraries, 100 trees, the same leaves."""
    linear = {"loss": "linear_hinge", "quantile": quantile}
    forest = {"min_samples_leaf": 10, "max_features": 1 / 3, "random_state": 0}
    found = {
        TREE: MaxMarginIntervalTree(min_samples_leaf=30, **linear),
        "marginwood forest": MaxMarginIntervalForest(N_TREES, **forest, **linear),
        "marginwood boosting": MaxMarginIntervalBoosting(random_state=0, **linear),
        "scikit-learn GradientBoosting": GradientBoostingRegressor(
            loss="quantile", alpha=quantile, random_state=0
        ),
        "scikit-learn HistGradientBoosting": HistGradientBoostingRegressor(
            loss="quantile", quantile=quantile, random_state=0
        ),
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMRegressor

        found["LightGBM"] = LGBMRegressor(
            objective="quantile", alpha=quantile, n_jobs=1, random_state=0, verbose=-1
        )
    predictors = {name: partial(_fitted, model) for name, model in found.items()}
    weighed = MaxMarginIntervalForest(N_TREES, **forest)
    predictors["marginwood forest, predict_quantile"] = lambda X, y, X_new: weighed.fit(
        X, y
    ).predict_quantile(X_new, quantile)
    if find_spec("quantile_forest") is not None:
        from quantile_forest import RandomForestQuantileRegressor

        other = RandomForestQuantileRegressor(N_TREES, n_jobs=1, **forest)
        predictors["quantile-forest"] = lambda X, y, X_new: other.fit(X, y).predict(
            X_new, quantiles=[quantile]
        )
    return predictors


def held_out(data, quantile):
    """Yield every method, its mean pinball loss on the rows of all folds over the best constant's, and CPU seconds."""
    X, y = data
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(X))
    constant = np.empty(len(y))
    for train, test in folds:
        constant[test] = np.quantile(y[train], quantile)
    least = mean_pinball_loss(y, constant, alpha=quantile)
    for name, predict in methods(quantile).items():
        start = process_time()
        prediction = np.empty(len(y))
        for train, test in folds:
            prediction[test] = np.ravel(predict(X[train], y[train], X[test]))
        seconds = process_time() - start
        yield name, mean_pinball_loss(y, prediction, alpha=quantile) / least, seconds


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantiles", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/quantiles.csv"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("set", "quantile", "method", "loss", "seconds"))
        for name, data in sets().items():
            for quantile in QUANTILES:
                for method, loss, seconds in held_out(data, quantile):
                    rows.append((name, quantile, method, loss, seconds))
                    writer.writerow((name, quantile, method, f"{loss:.4f}", f"{seconds:.3f}"))
                file.flush()
                print(f"{name}, {quantile}", file=sys.stderr, flush=True)
    print_table(rows)


def print_table(rows):
    """Of every method the geometric mean of the loss over the best constant's, by quantile; sets won; CPU seconds."""
    names = list(dict.fromkeys(row[2] for row in rows))
    problems = {row[:2] for row in rows}
    best = {
        problem: min((row[3], row[2]) for row in rows if row[:2] == problem)[1]
        for problem in problems
    }
    print("| method | " + " | ".join(f"q = {q:g}" for q in QUANTILES) + " | all | best | s |")
    print("|---" * (len(QUANTILES) + 4) + "|")
    for name in names:
        own = [row for row in rows if row[2] == name]
        groups = [[row[3] for row in own if row[1] == q] for q in QUANTILES]
        groups.append([row[3] for row in own])
        means = [np.exp(np.mean(np.log(group))) for group in groups]
        n_best = sum(winner == name for winner in best.values())
        cells = [f"{mean:.3f}" for mean in means]
        seconds = sum(row[4] for row in own)
        print(f"| {name} | {' | '.join(cells)} | {n_best} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
