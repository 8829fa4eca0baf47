"""Boosters, tuned alike: ours, XGBoost with our objective, and XGBoost's accelerated failure time models.

Every candidate is trained once on each inner fold and scored after every round (ours) or every
fifth (XGBoost's, whose predictions start at the first round again); the best candidate and number
of rounds are trained again on all training rows. Margins and scales are in units of the standard
deviation of the training limits.
"""

import numpy as np
from sklearn.base import BaseEstimator, clone

from benchmarks.boosting import train_aft
from marginwood import IntervalSearchCV, MaxMarginIntervalBoosting
from marginwood._searchable import ModelPath, Searchable
from marginwood.losses import optimal_constant

STEP = 5
SEED = 0
FAR = 1e100  # where a model that diverged is taken to predict, so that its error is finite and never the least


def spread(y):
    """Standard deviation of the finite limits, 1 if there is none."""
    return float(y[np.isfinite(y)].std()) or 1.0


class XGBoostModel(Searchable, BaseEstimator):
    """An adapter of XGBoost to the searches of the package; all rows weigh the same."""

    path_parameters = ("n_estimators",)

    def fit(self, X, y, _):
        """Train `n_estimators` rounds."""
        self.booster_ = self._train(X, y)
        return self

    def predict(self, X):
        """The prediction after all rounds."""
        (prediction,) = self.staged_predict(X, [self.n_estimators])
        return prediction

    def staged_predict(self, X, ends):
        """The predictions after some numbers of rounds."""
        import xgboost

        data = xgboost.DMatrix(_bounded(X), nthread=1)
        for end in ends:
            yield self._from_margin(
                self.booster_.predict(data, iteration_range=(0, int(end))).astype(np.float64)
            )

    def _search_space(self, _):
        return {"n_estimators": range(STEP, self.n_estimators + 1, STEP)}

    def _fit_path(self, rows, values):
        n_rounds = np.array(values["n_estimators"])
        return RoundsPath(clone(self).set_params(n_estimators=n_rounds[-1]).fit(*rows), n_rounds)


class RoundsPath(ModelPath):
    """The models after every `STEP` rounds."""

    def __init__(self, model, values):
        super().__init__(values, np.arange(len(values)))
        self._model = model

    def predictions(self, X):
        """The predictions of every model."""
        for prediction in self._model.staged_predict(X, self.values):
            yield np.nan_to_num(prediction, nan=FAR, posinf=FAR, neginf=-FAR)


class XGBoostHinge(XGBoostModel):
    """XGBoost with our objective."""

    def __init__(
        self,
        n_estimators=100,
        *,
        margin=0.0,
        learning_rate=0.1,
        max_depth=3,
        max_features=1.0,
        subsample=1.0,
    ):
        self.n_estimators = n_estimators
        self.margin = margin
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_features = max_features
        self.subsample = subsample

    def _train(self, X, y):
        from marginwood.xgb import XGBIntervalRegressor

        parameters = self.get_params()
        parameters |= {
            "xgb_params": {"colsample_bynode": parameters.pop("max_features")},
            "random_state": SEED,
        }
        parameters["margin"] *= spread(y)
        return XGBIntervalRegressor(n_jobs=1, **parameters).fit(X, y).booster_

    def _from_margin(self, prediction):
        return prediction


class XGBoostAFT(XGBoostModel):
    """XGBoost's ``survival:aft``, on targets in units of their spread from the best constant.

    All boosters start from that constant; XGBoost by itself would start AFT models from the time
    0.5.
    """

    def __init__(
        self,
        n_estimators=100,
        *,
        distribution="normal",
        scale=1.0,
        learning_rate=0.1,
        max_depth=3,
        max_features=1.0,
        subsample=1.0,
    ):
        self.n_estimators = n_estimators
        self.distribution = distribution
        self.scale = scale
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_features = max_features
        self.subsample = subsample

    def _train(self, X, y):
        self.centre_, self.unit_ = optimal_constant(y).value, spread(y)
        parameters = {
            "aft_loss_distribution": self.distribution,
            "aft_loss_distribution_scale": self.scale,
        }
        parameters |= {
            "base_score": 1.0,
            "eta": self.learning_rate,
            "subsample": self.subsample,
            "seed": SEED,
        }
        parameters["colsample_bynode"] = self.max_features
        target = (y - self.centre_) / self.unit_
        return train_aft(
            _bounded(X), target, self.n_estimators, self.max_depth, nthread=1, **parameters
        )

    def _from_margin(self, prediction):
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.centre_ + self.unit_ * np.log(prediction)


def _bounded(X):
    """XGBoost refuses infinite features; these come before and after all others."""
    return np.clip(X, -1e37, 1e37)


def native(X, y, *, n_rounds, learning_rate, cv, grid):
    """The search of our booster."""
    grid = dict(grid)
    margins = [share * spread(y) for share in grid.pop("margin")]
    return IntervalSearchCV(
        MaxMarginIntervalBoosting(n_rounds, learning_rate=learning_rate, n_iter_no_change=None),
        {"loss": ["squared_hinge"], "margin": margins, **grid},
        random_state=SEED,
        cv=cv,
    ).fit(X, y)


def _xgboost(model):
    def search(X, y, *, n_rounds, learning_rate, cv, grid):
        booster = model(n_rounds, learning_rate=learning_rate)
        return IntervalSearchCV(booster, grid, cv=cv).fit(X, y)

    return search


BOOSTERS = {
    "native": native,
    "xgboost_hinge": _xgboost(XGBoostHinge),
    "xgboost_aft": _xgboost(XGBoostAFT),
}


def tuned(X, y, X_test, *, booster, **settings):
    """Predictions, and parameters, of the candidate and the number of rounds that cross-validation chooses."""
    search = BOOSTERS[booster](X, y, **settings)
    return search.predict(X_test), search.best_params_
