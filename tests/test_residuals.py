"""Predictive distributions from residual intervals."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood
from marginwood import (
    CrossFittedIntervalRegressor,
    DistributionalIntervalRegressor,
    IntervalDummyRegressor,
    IntervalSuperLearner,
    L1IntervalRegression,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    from_events,
)
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull

X, Y = make_sine(80, 2, random_state=0)
TREE = MaxMarginIntervalTree(max_depth=3)


@parametrize_with_checks([DistributionalIntervalRegressor(TREE, cv=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_the_distribution_of_residual_intervals_is_put_around_predictions():
    model = DistributionalIntervalRegressor(TREE, cv=4, neighbors=None).fit(X, Y)
    inner = CrossFittedIntervalRegressor(TREE, cv=4).fit(X, Y)
    residual = turnbull(Y - inner.oof_prediction_[:, np.newaxis])
    np.testing.assert_allclose(model.residual_mass_, residual.mass)
    times = np.linspace(-2, 2, 9)
    expected = [residual.sf(times - prediction) for prediction in inner.predict(X)]
    np.testing.assert_allclose(model.predict_survival_function(X, times), expected, atol=1e-12)


def test_errors_around_a_prediction_are_those_of_rows_with_the_nearest_predictions():
    model = DistributionalIntervalRegressor(TREE, cv=4, neighbors=0.75, tol=1e-7).fit(X, Y)
    unseen = model.estimator_.oof_prediction_
    assert (np.diff(model.centres_) > 0).all()
    times = np.linspace(-2, 2, 9)
    for centre, found in zip(model.centres_, model.residual_distribution_, strict=True):
        distance = np.abs(unseen - centre)
        reach = np.sort(distance)[59]
        weight = (1 - np.minimum(distance / reach, 1) ** 3) ** 3
        literal = turnbull(Y - unseen[:, np.newaxis], weight, tol=1e-9)
        np.testing.assert_allclose(
            found.sf(times, bound="lower"), literal.sf(times, bound="lower"), atol=1e-3
        )
    prediction = model.estimator_.predict(X)
    nearest = np.abs(prediction[:, np.newaxis] - model.centres_).argmin(axis=1)
    expected = [
        model.residual_distribution_[int(centre)].sf(times - at)
        for centre, at in zip(nearest, prediction, strict=True)
    ]
    np.testing.assert_allclose(model.predict_survival_function(X, times), expected, atol=1e-12)


def test_ranges_are_wider_where_errors_are():
    random = np.random.RandomState(0)
    x = random.uniform(0, 4, (800, 1))
    y = x[:, 0] + 0.5 * x[:, 0] * random.standard_normal(800)
    ends = np.array([[0.5], [3.5]])
    for neighbors, ratio in ((None, 1.0), (0.3, 7.0)):
        model = DistributionalIntervalRegressor(
            L1IntervalRegression(alpha=0.01), neighbors=neighbors
        ).fit(x, y)
        widths = np.diff(model.predict_quantile(ends, [0.1, 0.9]), axis=1).ravel()
        np.testing.assert_allclose(widths[1] / widths[0], ratio, rtol=0.3)


def test_rows_that_all_have_one_prediction_are_neighbours():
    model = DistributionalIntervalRegressor(
        IntervalDummyRegressor(), cv=[(np.arange(80), np.arange(80))]
    ).fit(X, Y)
    assert len(model.centres_) == 1
    pooled = turnbull(Y - model.estimator_.oof_prediction_[:, np.newaxis])
    np.testing.assert_allclose(model.residual_distribution_[0].sf(0.1), pooled.sf(0.1), atol=0.01)


@pytest.mark.parametrize(
    "estimator",
    [
        MaxMarginIntervalForest(20, random_state=0),
        CrossFittedIntervalRegressor(TREE, cv=3),
        IntervalSuperLearner(
            [("tree", TREE), ("constant", IntervalDummyRegressor())], cv=3, random_state=0
        ),
    ],
    ids=["forest", "cross-fitted", "mixture"],
)
def test_an_estimators_own_predictions_of_unseen_rows_will_do(estimator, tmp_path):
    weight = 1.0 + np.arange(80) % 3
    model = DistributionalIntervalRegressor(estimator, cv="own", neighbors=None).fit(X, Y, weight)
    unseen = getattr(
        model.estimator_, "oof_prediction_", getattr(model.estimator_, "oob_prediction_", None)
    )
    known = np.isfinite(unseen)
    residual = turnbull(Y[known] - unseen[known, np.newaxis], weight[known])
    np.testing.assert_allclose(model.residual_mass_, residual.mass)
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(
        loaded.predict_quantile(X, [0.1, 0.9]), model.predict_quantile(X, [0.1, 0.9])
    )


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"cv": "own"},
            TypeError,
            "estimator: expected .* got MaxMarginIntervalTree. Set cv to the number of folds",
        ),
        ({"cv": "oob"}, ValueError, "cv: expected folds or 'own', got 'oob'"),
        ({"neighbors": 0}, ValueError, "neighbors: expected None or a share > 0 and <= 1, got 0"),
        ({"neighbors": "all"}, TypeError, "neighbors: expected None or a share"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        DistributionalIntervalRegressor(TREE, **parameters).fit(X, Y)


@pytest.mark.filterwarnings("ignore:y. 10 of 80 rows:UserWarning")
def test_errors_of_rows_that_carry_no_information_say_nothing():
    intervals = np.where(np.arange(len(Y))[:, np.newaxis] < 10, [-np.inf, np.inf], Y)
    folds = [(np.arange(10, len(Y)), np.arange(10))]
    with pytest.raises(ValueError, match="estimator: no informative row has a prediction"):
        DistributionalIntervalRegressor(TREE, cv=folds).fit(X, intervals)


def test_curves_fall_from_one_to_zero_and_quantiles_rise():
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    curves = model.predict_survival_function(X, np.linspace(-9, 9, 50))
    assert ((curves >= 0) & (curves <= 1)).all()
    assert (np.diff(curves, axis=1) <= 0).all()
    assert (np.diff(model.predict_quantile(X, [0.1, 0.5, 0.9]), axis=1) >= 0).all()


def test_permuted_rows_are_predicted_alike():
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    order = np.random.RandomState(0).permutation(len(X))
    np.testing.assert_array_equal(
        model.predict_quantile(X[order], 0.3), model.predict_quantile(X, 0.3)[order]
    )


def test_the_prediction_is_the_median():
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    np.testing.assert_allclose(
        model.predict(X), model.predict_distribution(X).median(bound="spread")
    )


def test_a_median_beyond_all_data_is_the_farthest_limit():
    times = np.arange(1.0, 31.0)
    y = from_events(times, times < 5)
    model = DistributionalIntervalRegressor(IntervalDummyRegressor(), cv=3).fit(
        times.reshape(-1, 1), y
    )
    assert np.isinf(model.predict_quantile([[1.0]], 0.9)).all()
    with pytest.warns(UserWarning, match="predict: 3 of 3 medians lie beyond all errors"):
        assert np.isfinite(model.predict([[1.0], [2.0], [3.0]])).all()


def test_right_censored_predictions_are_later_than_those_of_the_plain_model():
    random = np.random.RandomState(0)
    x = random.standard_normal((600, 1))
    time = x[:, 0] + random.standard_normal(600)
    end = random.standard_normal(600) + 0.5
    y = from_events(np.minimum(time, end), time <= end)
    plain = L1IntervalRegression(alpha=0.01).fit(x, y)
    model = DistributionalIntervalRegressor(L1IntervalRegression(alpha=0.01)).fit(x, y)
    bias = [np.mean(predicted - x[:, 0]) for predicted in (plain.predict(x), model.predict(x))]
    assert bias[0] < -0.15
    assert abs(bias[1]) < abs(bias[0]) / 2


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([2.0, 1.0], "times: expected ascending numbers, got 2.0 before 1.0"),
        ([1.0, np.nan], "times: expected finite numbers"),
        ([], "times: expected a number or several"),
    ],
)
def test_times_out_of_order_are_refused(times, message):
    model = DistributionalIntervalRegressor(TREE, cv=3).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict_survival_function(X, times)


@pytest.mark.parametrize(
    ("given", "shown"), [("tree", "'tree'"), (MaxMarginIntervalTree, "the class MaxMargin")]
)
def test_what_is_no_estimator_is_refused(given, shown):
    for wrapper, name in (
        (DistributionalIntervalRegressor, "estimator"),
        (CrossFittedIntervalRegressor, "estimator"),
        (marginwood.TransformedIntervalRegressor, "regressor"),
    ):
        with pytest.raises(
            TypeError, match=f"{name}: expected an estimator with fit and predict, got {shown}"
        ):
            wrapper(given).fit(X, Y)


def test_a_mean_that_does_not_exist_names_the_row():
    with pytest.raises(ValueError, match=r"in 1 of 1 rows \(first: row 0\)\. Give a range"):
        turnbull([(-np.inf, 1), (2, np.inf)]).mean(bound="spread")
