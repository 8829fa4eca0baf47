"""How defaults were chosen: by cross-validation inside the training rows of development sets, never by test scores.

For every data set the first published fold is left out, and candidates are scored by
cross-validation on the other rows. Printed is, for each candidate, the geometric mean over the sets
of its error, against that of the first.

- ``python -m benchmarks.choices anchor --data DIR``: the anchors of trees, each with the margin and
  pruning that `IntervalSearchCV` chooses for it.
- ``python -m benchmarks.choices tree --data DIR``: the defaults of a tuned tree, one
  changed at a time, scored on rows that the search has not seen; the last is the paper's search
  with two losses and anchors.
- ``python -m benchmarks.choices forest --data DIR``: the anchors of forests, by out-of-bag rows.
- ``python -m benchmarks.choices boosting --data DIR``: parameters of `MaxMarginIntervalBoosting`,
  one changed at a time; the first are its defaults.
- ``python -m benchmarks.choices stops --data DIR``: cross-fitted boosters with the stages that suit
  the fold of each, and with those that suit the other folds, on rows that none of them has seen.
- ``python -m benchmarks.choices pool --data DIR``: the models of `IntervalSuperLearner`, one left
  out at a time, more forests, and weights that see no margin; mixtures are scored on rows that
  neither models nor weights have seen.
- ``python -m benchmarks.choices aft --data DIR``: no choice, but how `IntervalSuperLearner`, the
  tuned tree with and without it as a teacher, a linear model, the tuned forest and the booster with
  its defaults compare with XGBoost's AFT models as docs/paper.md tunes them, on rows that none of
  them has seen.
- ``python -m benchmarks.choices xgb --data DIR``: parameters of `XGBIntervalRegressor`; the first
  are XGBoost's own.
"""

import argparse
import copy
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.base import clone

from benchmarks.paper.methods import METHODS
from marginwood import (
    CrossFittedIntervalRegressor,
    IntervalSearchCV,
    IntervalSuperLearner,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TaughtRegressor,
    interval_mean_squared_error,
)
from marginwood._base import Rows
from marginwood._ensemble import weights
from marginwood._ensemble.finite import learn_fill, make_finite
from marginwood._ensemble.library import auto_models, seeded
from marginwood._resampling.folds import make_folds
from marginwood._resampling.stops import keep_stages
from marginwood.losses import LOSSES, optimal_constant, quartile_distance
from marginwood.metrics import get_scorer
from marginwood.model_selection import CensoringStratifiedKFold
from marginwood.xgb import XGBIntervalRegressor

ANCHORS = (0.0, 1e-6, 0.3, 1.0, 3.0, 10.0)
ROUNDS = (100, 200)
XGB_OWN = {
    "learning_rate": 0.3,
    "max_depth": 6,
    "subsample": 1.0,
    "min_child_weight": 1.0,
    "colsample_bytree": 1.0,
}
XGB_GRIDS = (
    {"learning_rate": (0.3, 0.1, 0.05), "max_depth": (6, 4, 3, 2)},
    {
        "learning_rate": (0.1,),
        "max_depth": (4, 3),
        "subsample": (0.5,),
        "min_child_weight": (1.0, 3.0, 10.0),
        "colsample_bytree": (1.0, 0.5),
    },
)
TREES = {
    "defaults": {},
    "both losses": {"grid": {"loss": LOSSES}},
    "21 margins": {"grid": {"margin": 21}},
    "folds dealt out once": {"cv": 5},
    "dealt out once, 21 margins": {"cv": 5, "grid": {"margin": 21}},
    "no anchors": {"grid": {"anchor": (0.0,)}},
    "one standard error": {"selection": "1se"},
    "taught": {"share": 0.8},
    "taught, half of the weight": {"share": 0.5},
    "many candidates": {
        "cv": 10,
        "grid": {"loss": LOSSES, "margin": 21, "anchor": (0.0, 1.0, 3.0, 10.0)},
    },
}
FORESTS = {
    "a third of the features": {"max_features": 1 / 3},
    "all features, leaves of 3": {"max_features": None, "min_samples_leaf": 3},
}
# Margins are shares of the distance between the quartiles of the limits.
BOOSTING = (
    {},
    {"share": 0.0},
    {"share": 0.1},
    {"share": 0.5},
    {"learning_rate": 0.1},
    {"learning_rate": 0.02},
    {"subsample": 1.0},
    {"subsample": 0.8},
    {"max_depth": 2},
    {"max_depth": 5},
    {"max_features": 1 / 3},
    {"min_samples_leaf": 5},
    {"anchor": 1.0},
    {"anchor": 3.0},
    {"n_iter_no_change": 10},
    {"validation_fraction": 0.1},
    {"loss": "linear_hinge"},
)
FOREST_MARGIN = 0.5  # of the same distance
AGAINST_AFT = (
    "AFT normal",
    "AFT logistic",
    "super learner",
    "MMIT, taught",
    "MMIT",
    "L1-Linear",
    "forest",
    "boosting, defaults",
)
LEAST_ERROR = 1e-12  # of a set whose rows are all satisfied


def anchor_errors(X, y):
    """The least cross-validated error of each anchor, by its name."""
    search = IntervalSearchCV(
        MaxMarginIntervalTree(),
        {"loss": ["squared_hinge"], "margin": 7, "anchor": ANCHORS},
        n_jobs=-1,
    ).fit(X, y)
    results = search.cv_results_
    return {
        f"{anchor:g}": -results["mean_test_score"][results["param_anchor"] == anchor].max()
        for anchor in ANCHORS
    }


def unseen_errors(X, y, predictors):
    """The error of some ``predict(X, y, X_test)``, by name, on rows that they have not seen, four folds together.

    A thousandth of the constant's error is added, because some errors are 0.
    """
    totals = dict.fromkeys(predictors, 0.0)
    for train, test in CensoringStratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        constant = np.full(len(test), optimal_constant(y[train]).value)
        least = interval_mean_squared_error(y[test], constant) / 1000
        for name, predict in predictors.items():
            prediction = predict(X[train], y[train], X[test])
            totals[name] += interval_mean_squared_error(y[test], prediction) + least
    return totals


def tree_errors(X, y):
    """The error of tuned trees on rows that they have not seen."""

    def predict(X, y, X_test, **options):
        share = options.pop("share", None)
        model = IntervalSearchCV(MaxMarginIntervalTree(), n_jobs=-1).set_params(**options)
        if share is not None:
            model = TaughtRegressor(model, IntervalSuperLearner(random_state=0), share=share)
        return model.fit(X, y).predict(X_test)

    return unseen_errors(
        X, y, {name: partial(predict, **options) for name, options in TREES.items()}
    )


def aft_errors(X, y):
    """The error of tuned AFT models, and of ours, on rows that they have not seen."""

    def predict(X, y, X_test, *, method):
        prediction, _ = method.predict(X, y, X_test, **method.settings)
        return prediction

    return unseen_errors(
        X, y, {name: partial(predict, method=METHODS[name]) for name in AGAINST_AFT}
    )


def xgb_candidates():
    """XGBoost's own parameters, then every other point of the grids."""
    points = [
        XGB_OWN | dict(zip(grid, values, strict=True))
        for grid in XGB_GRIDS
        for values in product(*grid.values())
    ]
    return [point for number, point in enumerate(points) if point not in points[:number]]


def xgb_errors(X, y):
    """The cross-validated error of all candidates after some numbers of rounds, by their parameters."""
    folds = list(CensoringStratifiedKFold(3).split(X, y))
    errors = {}
    for candidate in xgb_candidates():
        curves = []
        for train, test in folds:
            model = XGBIntervalRegressor(max(ROUNDS), random_state=0, n_jobs=1, **candidate)
            model.fit(X[train], y[train], X_val=X[test], y_val=y[test])
            curves.append(model.validation_score_)
        for rounds in ROUNDS:
            name = " ".join(f"{value:g}" for value in (rounds, *candidate.values()))
            errors[name] = np.mean(curves, axis=0)[rounds - 1]
    return errors


def forest_errors(X, y):
    """The out-of-bag error of forests with and without anchors."""
    errors = {}
    for name, options in FORESTS.items():
        for anchor in (0.0, 1.0, 3.0):
            forest = MaxMarginIntervalForest(
                oob_score=True, anchor=anchor, random_state=0, **options
            ).fit(X, y)
            errors[f"{name}, anchor {anchor:g}"] = interval_mean_squared_error(
                y, forest.oob_prediction_
            )
    return errors


def boosting_errors(X, y):
    """The cross-validated error of boosters that hold out rows of their own; it is that of five folds together."""
    errors = {}
    for candidate in BOOSTING:
        options = dict(candidate)
        if "share" in options:
            options["margin"] = options.pop("share") * quartile_distance(y)
        prediction = np.empty(len(y))
        for train, test in CensoringStratifiedKFold(5).split(X, y):
            model = MaxMarginIntervalBoosting(random_state=0, **options).fit(X[train], y[train])
            prediction[test] = model.predict(X[test])
        name = " ".join(
            f"{key}={value:.3g}" if key != "loss" else value for key, value in candidate.items()
        )
        errors[name or "defaults"] = interval_mean_squared_error(y, prediction)
    return errors


def stop_errors(X, y):
    """The error of cross-fitted boosters by which fold says when each of them stops; that of five folds together."""
    predictions = {"own fold": np.empty(len(y)), "other folds": np.empty(len(y))}
    for train, test in CensoringStratifiedKFold(5).split(X, y):
        rows = Rows(X[train], y[train], np.ones(len(train)))
        booster = MaxMarginIntervalBoosting(random_state=0)
        folds = make_folds(rows, 5, None, weighted=False)
        models = {fold: fold.fit(booster, watched=True) for fold in folds}
        for name, prediction in predictions.items():
            kept = {
                replace(fold, watchers=own) if name == "own fold" else fold: copy.copy(model)
                for (fold, model), own in zip(models.items(), np.eye(len(folds)), strict=True)
            }
            keep_stages(kept)
            prediction[test] = np.mean([model.predict(X[test]) for model in kept.values()], axis=0)
    return {name: interval_mean_squared_error(y, found) for name, found in predictions.items()}


def predict_unseen(model, X, y, X_test):
    """What a model predicts of its training rows without having seen them, and of others."""
    if isinstance(model, MaxMarginIntervalForest):
        fitted = clone(model).set_params(oob_score=True).fit(X, y)
        return fitted.oob_prediction_, fitted.predict(X_test)
    fitted = CrossFittedIntervalRegressor(model).fit(X, y)
    return fitted.oof_prediction_, fitted.predict(X_test)


def pool_models(X, y):
    """The models of `IntervalSuperLearner`, and beside them forests with margins."""
    models = auto_models(y[np.isfinite(y).any(axis=1)], X.shape[1], len(X) * 4 // 5, None)
    margin = FOREST_MARGIN * quartile_distance(y)
    extra = {
        f"{name} with a margin": clone(model).set_params(margin=margin)
        for name, model in models
        if "forest" in name
    }
    return dict(models), extra


def pool_errors(X, y):
    """The error of mixtures on rows that neither models nor weights have seen, two of four folds together.

    A thousandth of the constant's error is added, because some errors are 0.
    """
    X = make_finite(X, learn_fill(X))
    scorer = get_scorer("neg_interval_mean_squared_error")
    totals = {}
    for train, test in list(CensoringStratifiedKFold(4).split(X, y))[:2]:
        rows = Rows(X[train], y[train], np.ones(len(train)))
        models, extra = pool_models(rows.X, rows.intervals)
        random = np.random.RandomState(0)
        known = {
            name: predict_unseen(seeded(model, random), *rows[:2], X[test])
            for name, model in (models | extra).items()
        }
        mixtures = {"all models": list(models), "all, weights without a margin": list(models)}
        mixtures |= {
            f"without {left_out}": [name for name in models if name != left_out]
            for left_out in models
        }
        mixtures["with forests with a margin"] = list(known)
        least = interval_mean_squared_error(y[test], known["constant"][1]) / 1000
        for mixture, names in mixtures.items():
            unseen, tested = (np.array([known[name][part] for name in names]) for part in (0, 1))
            margin = 0.0 if "weights without" in mixture else weights.MARGIN
            with patch.object(weights, "MARGIN", margin):
                found = weights.select_weights(None, rows, unseen, scorer, weighted=False, seed=1)
            error = interval_mean_squared_error(y[test], found @ tested) + least
            totals[mixture] = totals.get(mixture, 0.0) + error
    return totals


CHOICES = {
    "anchor": anchor_errors,
    "aft": aft_errors,
    "tree": tree_errors,
    "forest": forest_errors,
    "boosting": boosting_errors,
    "stops": stop_errors,
    "pool": pool_errors,
    "xgb": xgb_errors,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("choice", choices=list(CHOICES))
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of .npz files with X, y and folds"
    )
    parser.add_argument("--largest", type=int, default=2000, help="leave out sets of more rows")
    args = parser.parse_args()
    ratios = []
    for path in sorted(args.data.rglob("*.npz")):
        data = np.load(path)
        if len(data["y"]) > args.largest:
            continue
        rows = data["folds"] != data["folds"].min()
        found = CHOICES[args.choice](data["X"][rows], data["y"][rows])
        errors = np.maximum(list(found.values()), LEAST_ERROR)
        ratios.append(errors / errors[0])
        print(
            f"{path.stem:40} best: {list(found)[errors.argmin()]} ({ratios[-1].min():.3f})",
            flush=True,
        )
    logs = np.log(ratios)
    print(f"{args.choice:40}{'ratio':>8}{'better':>8}  of {len(ratios)} sets")
    for name, mean, better in zip(
        found, np.exp(logs.mean(axis=0)), (logs < 0).sum(axis=0), strict=True
    ):
        print(f"{name:40}{mean:8.3f}{better:8d}")


if __name__ == "__main__":
    main()
