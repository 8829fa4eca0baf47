"""Boosters, tuned alike: ours, XGBoost with our objective, and XGBoost's accelerated failure time models.

A *stage* is a number of rounds, a multiple of `STEP`. Every candidate is trained once on each inner fold and scored
at all stages; the best candidate and stage are trained again on all training rows. Margins and scales are in units of
the standard deviation of the training limits.
"""

from functools import partial
from itertools import product

import numpy as np

from benchmarks.boosting import train_aft
from marginwood import CensoringStratifiedKFold, MaxMarginIntervalBoosting
from marginwood.losses import hinge_loss, optimal_constant

STEP = 5
SEED = 0


def spread(y):
    """Standard deviation of the finite limits, 1 if there is none."""
    return float(y[np.isfinite(y)].std()) or 1.0


def native(X, y, X_test, n_rounds, *, margin, **parameters):
    """Predictions of our booster at every stage."""
    model = MaxMarginIntervalBoosting(n_rounds, margin=margin * spread(y), random_state=SEED, **parameters).fit(X, y)
    return np.array(list(model.staged_predict(X_test)))[STEP - 1 :: STEP]


def xgboost_hinge(X, y, X_test, n_rounds, *, margin, max_features, **parameters):
    """The same by XGBoost with our objective."""
    from marginwood.xgb import XGBIntervalRegressor

    parameters |= {"margin": margin * spread(y), "xgb_params": {"colsample_bynode": max_features}, "random_state": SEED}
    model = XGBIntervalRegressor(n_rounds, n_jobs=1, **parameters).fit(X, y)
    return _stages(model.booster_, X_test, n_rounds)


def xgboost_aft(X, y, X_test, n_rounds, *, distribution, scale, learning_rate, max_depth, max_features, subsample):
    """The same by XGBoost's ``survival:aft``, on targets in units of their spread from the best constant.

    All boosters start from that constant; XGBoost by itself would start AFT models from the time 0.5.
    """
    centre, unit = optimal_constant(y).value, spread(y)
    parameters = {"aft_loss_distribution": distribution, "aft_loss_distribution_scale": scale, "eta": learning_rate}
    parameters |= {"base_score": 1.0, "subsample": subsample, "colsample_bynode": max_features, "seed": SEED}
    booster = train_aft(_bounded(X), (y - centre) / unit, n_rounds, max_depth, nthread=1, **parameters)
    with np.errstate(divide="ignore", invalid="ignore"):
        return centre + unit * np.log(_stages(booster, X_test, n_rounds))


def _bounded(X):
    """XGBoost refuses infinite features; these come before and after all others."""
    return np.clip(X, -1e37, 1e37)


def _stages(booster, X_test, n_rounds):
    import xgboost

    test = xgboost.DMatrix(_bounded(X_test), nthread=1)
    ends = range(STEP, n_rounds + 1, STEP)
    return np.array([booster.predict(test, iteration_range=(0, end)) for end in ends], dtype=np.float64)


BOOSTERS = {train.__name__: train for train in (native, xgboost_hinge, xgboost_aft)}


def tuned(X, y, X_test, *, booster, n_rounds, learning_rate, cv, grid):
    """Predictions, and parameters, of the candidate and stage that cross-validation chooses."""
    train = partial(BOOSTERS[booster], learning_rate=learning_rate)
    candidates = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    losses = np.zeros((len(candidates), n_rounds // STEP))
    for training, held_out in CensoringStratifiedKFold(cv).split(X, y):
        for row, candidate in enumerate(candidates):
            stages = train(X[training], y[training], X[held_out], n_rounds, **candidate)
            # A model that diverged predicts infinities, and its loss is infinite or no number.
            with np.errstate(invalid="ignore", over="ignore"):
                losses[row] += [hinge_loss(y[held_out], prediction).sum() for prediction in stages]
    best, stage = np.unravel_index(np.argmin(np.nan_to_num(losses, nan=np.inf)), losses.shape)
    chosen = {**candidates[best], "n_rounds": (int(stage) + 1) * STEP}
    return train(X, y, X_test, **chosen)[-1], chosen
