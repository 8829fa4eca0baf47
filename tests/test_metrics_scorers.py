"""Scorers by name, and which loss they average."""

import copy
import functools
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import marginwood
from marginwood import IntervalDummyRegressor, TransformedIntervalRegressor
from marginwood.datasets import make_sine
from marginwood.distributions import IntervalDistribution
from marginwood.losses import hinge_loss
from marginwood.metrics import (
    SCORERS,
    get_scorer,
    integrated_interval_brier_score,
    interval_accuracy,
    interval_crps,
    interval_d2_score,
    interval_hinge_loss,
    interval_log_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
)
from marginwood.metrics._scorers import AverageLoss, average_loss_of, quantile_of

INF = np.inf
OF_DISTRIBUTIONS = [
    "neg_interval_log_loss",
    "neg_interval_crps",
    "neg_integrated_interval_brier_score",
]
OF_NUMBERS = [name for name in SCORERS if name not in OF_DISTRIBUTIONS]
AVERAGES = {
    "neg_interval_mean_squared_error": (
        interval_mean_squared_error,
        -1,
        AverageLoss(0.0, "squared_distance"),
    ),
    "neg_interval_mean_absolute_error": (
        interval_mean_absolute_error,
        -1,
        AverageLoss(0.0, "distance"),
    ),
    "interval_accuracy": (interval_accuracy, 1, AverageLoss(1.0, "miss")),
}
PINBALL = make_scorer(interval_pinball_loss, greater_is_better=False, quantile=0.9)


class FirstFeature(RegressorMixin, BaseEstimator):
    """Predicts `slope` times the first feature, whatever the target is, as if it were a quantile."""

    def __init__(self, slope=1.0, quantile=0.9):
        self.slope = slope
        self.quantile = quantile

    def fit(self, _X, _y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0] * self.slope


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(scale=5, size=(40, 2))
    y = np.column_stack([X[:, 0] - 1, X[:, 0] + 2])
    y[::4, 0], y[1::4, 1] = -INF, INF
    return X, y


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_scorers_work_in_cross_validation_and_grid_search(name, problem):
    X, y = problem
    scores = cross_val_score(FirstFeature(), X, y, scoring=get_scorer(name), cv=4)
    best = 0.0 if name.startswith("neg_") else 1.0
    assert scores.tolist() == [best] * 4
    search = GridSearchCV(FirstFeature(), {"slope": [-3.0, 1.0, 5.0]}, scoring=SCORERS[name], cv=4)
    assert clone(search).fit(X, y).best_params_ == {"slope": 1.0}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_scorers_survive_pickling_and_take_weights(name, problem):
    X, y = problem
    model = FirstFeature(slope=-3.0).fit(X, y)
    scorer = pickle.loads(pickle.dumps(get_scorer(name)))
    weight = np.where(np.arange(len(y)) < 8, 1.0, 0.0)
    assert_allclose(scorer(model, X, y, sample_weight=weight), scorer(model, X[:8], y[:8]))
    assert scorer(model, X, y) <= scorer(FirstFeature().fit(X, y), X, y)


def test_a_scorer_is_found_by_name_and_a_callable_is_its_own_scorer():
    scorer = get_scorer("interval_d2")
    assert scorer is SCORERS["interval_d2"]
    assert get_scorer(scorer) is scorer
    assert get_scorer(len) is len
    with pytest.raises(
        ValueError,
        match=r"scoring: expected one of 'neg_interval_mean_squared_error', .*, got 'r2'",
    ):
        get_scorer("r2")


@pytest.mark.parametrize("name", AVERAGES)
def test_an_average_is_recognised_by_what_it_computes(name):
    metric, sign, average = AVERAGES[name]
    ours = SCORERS[name]
    own = make_scorer(metric, greater_is_better=sign > 0)
    for scorer in (ours, own, pickle.loads(pickle.dumps(ours)), copy.deepcopy(own)):
        assert average_loss_of(scorer) == average


@pytest.mark.parametrize("name", AVERAGES)
def test_a_recognised_score_is_its_best_minus_the_mean_of_its_loss(name, problem):
    X, y = problem
    best, row_loss, _ = average_loss_of(SCORERS[name])
    model = FirstFeature(slope=-3.0).fit(X, y)
    distance = hinge_loss(y, model.predict(X), loss="linear_hinge")
    losses = {"squared_distance": distance**2, "distance": distance, "miss": distance > 0}[row_loss]
    weight = np.arange(1.0, len(y) + 1)
    assert losses.sum() > 0
    expected = best - np.average(losses, weights=weight)
    assert_allclose(SCORERS[name](model, X, y, sample_weight=weight), expected)


def test_a_pinball_loss_is_recognised_as_an_average_with_two_prices(problem):
    X, y = problem
    for scorer in (PINBALL, pickle.loads(pickle.dumps(PINBALL))):
        assert average_loss_of(scorer) == AverageLoss(0.0, "distance", (0.9, pytest.approx(0.1)))
    for slope in (-3.0, 3.0):
        prediction = X[:, 0] * slope
        below, above = np.maximum(y[:, 0] - prediction, 0), np.maximum(prediction - y[:, 1], 0)
        expected = -np.mean(0.9 * below + 0.1 * above)
        assert_allclose(PINBALL(FirstFeature(slope).fit(X, y), X, y), expected)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_the_pinball_scorer_asks_the_model_which_quantile_it_predicts(quantile, problem):
    X, y = problem
    model = FirstFeature(-3.0, quantile).fit(X, y)
    scorer = get_scorer("neg_interval_pinball_loss")
    expected = -interval_pinball_loss(y, model.predict(X), quantile=quantile)
    assert scorer(model, X, y) == expected
    assert scorer(make_pipeline("passthrough", model), X, y) == expected
    search = GridSearchCV(model, {"slope": [-3.0]}, scoring=scorer, cv=2).fit(X, y)
    assert scorer(search, X, y) == expected
    assert quantile_of(TransformedIntervalRegressor(model, func="log")) == quantile
    assert average_loss_of(scorer) is None  # of no model


def test_the_pinball_scorer_refuses_a_model_without_a_quantile(problem):
    X, y = problem
    with pytest.raises(
        TypeError, match=r"expected one with a quantile, got IntervalDummyRegressor"
    ):
        get_scorer("neg_interval_pinball_loss")(IntervalDummyRegressor().fit(X, y), X, y)


def _mean_squared_error(y_true, y_pred, *, sample_weight=None):
    return interval_mean_squared_error(y_true, y_pred, sample_weight=sample_weight)


class _Wrapper:
    """Looks like a scorer and scores otherwise."""

    def __init__(self):
        self._score_func, self._sign, self._kwargs = interval_mean_squared_error, -1, {}
        self._response_method = "predict"

    def __call__(self, _estimator, _X, _y):
        return 0.0


@pytest.mark.parametrize(
    "scorer",
    [
        SCORERS["interval_d2"],
        make_scorer(interval_d2_score, greater_is_better=False),
        make_scorer(interval_mean_squared_error),
        make_scorer(interval_accuracy, greater_is_better=False),
        make_scorer(interval_hinge_loss, greater_is_better=False, margin=1.0),
        make_scorer(interval_mean_absolute_error, greater_is_better=False, sample_weight=None),
        make_scorer(interval_pinball_loss, greater_is_better=False),
        make_scorer(interval_pinball_loss, quantile=0.9),
        make_scorer(interval_pinball_loss, greater_is_better=False, quantile=0.9, x=1),
        make_scorer(
            interval_mean_squared_error,
            greater_is_better=False,
            response_method="decision_function",
        ),
        make_scorer(functools.partial(interval_mean_squared_error), greater_is_better=False),
        make_scorer(_mean_squared_error, greater_is_better=False),
        _Wrapper(),
        len,
        None,
        "interval_accuracy",
    ],
    ids=lambda scorer: re.sub(" at 0x[0-9a-f]+", "", str(scorer)),  # the same in every process
)
def test_anything_else_is_not_taken_for_an_average(scorer):
    assert average_loss_of(scorer) is None


@pytest.mark.parametrize("attribute", ["_score_func", "_sign", "_kwargs", "_response_method"])
def test_a_scorer_without_the_attributes_that_it_is_recognised_by_is_not_taken_for_an_average(
    attribute,
):
    scorer = make_scorer(interval_accuracy)
    assert average_loss_of(scorer) is not None
    delattr(scorer, attribute)
    assert average_loss_of(scorer) is None


class Normal(FirstFeature):
    """Predicts normal distributions around what it predicts."""

    def predict_distribution(self, X):
        return stats.norm(loc=self.predict(X), scale=np.ones(len(X)))


class Steps(FirstFeature):
    """Predicts most of the mass around what it predicts, and some beyond all values."""

    def predict_distribution(self, X):
        errors = IntervalDistribution([(-0.5, 0.5), (1.0, INF)], [0.9, 0.1])
        return errors.shifted(self.predict(X))


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
@pytest.mark.parametrize("model", [Normal, Steps])
def test_scorers_of_distributions_work_in_cross_validation_and_grid_search(name, model, problem):
    X, y = problem
    scores = cross_val_score(model(), X, y, scoring=get_scorer(name), cv=4)
    assert np.all(np.isfinite(scores))
    assert np.all(scores < 0)
    search = GridSearchCV(model(), {"slope": [-3.0, 1.0, 5.0]}, scoring=SCORERS[name], cv=4)
    assert clone(search).fit(X, y).best_params_ == {"slope": 1.0}


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_scorers_of_distributions_survive_pickling_and_take_weights(name, problem):
    X, y = problem
    model = Normal().fit(X, y)
    scorer = pickle.loads(pickle.dumps(get_scorer(name)))
    weight = np.where(np.arange(len(y)) < 8, 1.0, 0.0)
    assert_allclose(scorer(model, X, y, sample_weight=weight), scorer(model, X[:8], y[:8]))
    assert average_loss_of(scorer) is None


def test_scorers_of_distributions_are_the_metrics(problem):
    X, y = problem
    model = Normal().fit(X, y)
    distribution = model.predict_distribution(X)
    limits = y[np.isfinite(y)]
    expected = {
        "neg_interval_log_loss": -interval_log_loss(y, distribution),
        "neg_interval_crps": -interval_crps(y, distribution, span=(limits.min(), limits.max())),
        "neg_integrated_interval_brier_score": -integrated_interval_brier_score(y, distribution),
    }
    assert set(expected) == set(OF_DISTRIBUTIONS)
    for name, value in expected.items():
        assert SCORERS[name](model, X, y) == value


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_scorers_of_distributions_reach_the_last_step_of_a_pipeline(name, problem):
    X, y = problem
    pipeline = make_pipeline(FunctionTransformer(lambda X: X[:, ::-1]), Normal())
    assert SCORERS[name](pipeline.fit(X[:, ::-1], y), X[:, ::-1], y) == SCORERS[name](
        Normal().fit(X, y), X, y
    )


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_an_estimator_without_distributions_is_told_so(name, problem):
    X, y = problem
    model = make_pipeline(FirstFeature()).fit(X, y)
    with pytest.raises(
        TypeError, match="expected one with a method predict_distribution, got FirstFeature"
    ):
        SCORERS[name](model, X, y)


SEARCHES = [
    marginwood.IntervalSearchCV(
        marginwood.MaxMarginIntervalTree(),
        {"loss": ["squared_hinge"], "margin": [0.0], "anchor": [0.0]},
        cv=2,
    ),
    marginwood.IntervalSearchCV(
        marginwood.MaxMarginIntervalForest(4),
        {"loss": ["squared_hinge"], "margin": [0.0]},
        random_state=0,
    ),
    marginwood.IntervalSearchCV(
        marginwood.MaxMarginIntervalBoosting(4), {"loss": ["squared_hinge"], "margin": [0.0]}, cv=2
    ),
    marginwood.IntervalSearchCV(marginwood.L1IntervalRegression(), {"alpha": 3}, cv=2),
    marginwood.IntervalSearchCV(marginwood.IntervalCART(), cv=2),
    marginwood.IntervalSearchCV(marginwood.TransformationTree(), cv=2),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search.estimator).__name__)
@pytest.mark.parametrize("name", SCORERS)
def test_every_search_takes_scorers_by_name(search, name):
    features, intervals = make_sine(60, 2, random_state=0)
    search = clone(search).set_params(scoring=name)
    if name in OF_DISTRIBUTIONS and not hasattr(search, "predict_distribution"):
        with pytest.raises(TypeError, match="expected one with a method predict_distribution"):
            search.fit(features, intervals)
    elif "pinball" in name and "MaxMargin" not in type(search.estimator).__name__:
        with pytest.raises(TypeError, match="expected one with a quantile"):
            search.fit(features, intervals)
    else:
        assert np.isfinite(search.fit(features, intervals).best_score_)
