"""Models of a function of the target."""

import numpy as np
import pytest
import sklearn
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood
from marginwood import (
    CensoredLinearRegression,
    ConformalIntervalRegressor,
    DistributionalIntervalRegressor,
    IntervalDummyRegressor,
    L1IntervalRegression,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    check_intervals,
)
from marginwood.datasets import make_sine
from marginwood.metrics import SCORERS, get_scorer, interval_log_loss

X, LOGS = make_sine(80, 2, random_state=0)
TIMES = np.exp(LOGS)
with np.errstate(divide="ignore"):
    LOGS = np.log(TIMES)  # with the rounding of the way there
TREE = MaxMarginIntervalTree(max_depth=3, margin=0.1)


@parametrize_with_checks(
    [TransformedIntervalRegressor(TREE, func=np.arcsinh, inverse_func=np.sinh)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_the_logarithm_of_both_ends_is_learned_and_brought_back():
    model = TransformedIntervalRegressor(TREE).fit(X, TIMES)
    literal = clone(TREE).fit(X, LOGS)
    np.testing.assert_allclose(model.predict(X), np.exp(literal.predict(X)))


def test_a_pair_of_functions_does_the_same():
    named = TransformedIntervalRegressor(TREE).fit(X, TIMES)
    pair = TransformedIntervalRegressor(TREE, func=np.log, inverse_func=np.exp).fit(
        X, np.maximum(TIMES, 1e-300)
    )
    np.testing.assert_allclose(named.predict(X), pair.predict(X))


def test_curves_and_quantiles_come_back_in_units_of_the_target():
    inner = DistributionalIntervalRegressor(TREE, cv=3)
    curves = TransformedIntervalRegressor(inner).fit(X, TIMES).predict_distribution(X)
    literal = clone(inner).fit(X, LOGS).predict_distribution(X)
    shares = [0.0, 0.2, 0.5, 1.0]
    np.testing.assert_allclose(curves.quantile(shares), np.exp(literal.quantile(shares)))
    days = np.array([0.5, 1.0, 2.0])
    for bound in ("lower", "upper"):
        np.testing.assert_allclose(
            curves.sf(days, bound=bound), literal.sf(np.log(days), bound=bound)
        )
    np.testing.assert_allclose(curves.cdf(-1.0), 0.0)
    np.testing.assert_allclose(curves[3].support, np.exp(literal[3].support))
    np.testing.assert_allclose(curves[3].mass, literal[3].mass)


def test_curves_quantiles_and_means_agree():
    model = TransformedIntervalRegressor(CensoredLinearRegression()).fit(X, TIMES)
    curves = model.predict_distribution(X[:5])
    shares = np.array([0.05, 0.3, 0.5, 0.95])
    quantiles = curves.quantile(shares, bound="spread")
    np.testing.assert_allclose(curves.cdf(quantiles), np.tile(shares, (5, 1)))
    np.testing.assert_allclose(model.predict(X[:5]), curves.median(bound="spread"), rtol=1e-3)
    # The mean of a log-normal value.
    expected = model.predict(X[:5]) * np.exp(model.regressor_.scale_**2 / 2)
    np.testing.assert_allclose(curves.mean(bound="spread", within=(0, 100)), expected, rtol=1e-3)


@pytest.mark.parametrize(
    "name", [name for name in SCORERS if "log_loss" in name or "crps" in name or "brier" in name]
)
@pytest.mark.parametrize(
    "inner", [CensoredLinearRegression(), MaxMarginIntervalForest(5, random_state=0)]
)
def test_transformed_distributions_are_scored(inner, name):
    model = TransformedIntervalRegressor(inner)
    scores = cross_val_score(model, X, TIMES, scoring=get_scorer(name), cv=2, error_score="raise")
    assert np.isfinite(scores).all()


def test_probabilities_between_limits_are_those_of_the_logarithm():
    inner = MaxMarginIntervalForest(20, min_samples_leaf=10, random_state=0)
    times = np.exp(X[:, 0])
    curves = TransformedIntervalRegressor(inner).fit(X, times).predict_distribution(X)
    literal = clone(inner).fit(X, np.log(times)).predict_distribution(X)
    assert interval_log_loss(np.column_stack([times - 0.1, times + 0.1]), curves) == pytest.approx(
        interval_log_loss(np.log(np.column_stack([times - 0.1, times + 0.1])), literal)
    )


def test_mass_beyond_the_largest_number_is_open_above():
    far = np.where(np.arange(80) % 2, 1e150, -1e150)
    model = TransformedIntervalRegressor(CensoredLinearRegression(), func="arcsinh").fit(X, far)
    curves = model.predict_distribution(X[:3])
    assert (curves.quantile(1.0, bound="spread") == np.inf).all()
    assert np.isfinite(curves.median()).all()
    assert (np.diff(curves.cdf(np.array([-1e308, -1.0, 0.0, 1.0, 1e308]))) >= 0).all()


def test_a_regressor_without_distributions_has_none_here():
    assert not hasattr(TransformedIntervalRegressor(TREE), "predict_distribution")
    assert hasattr(
        TransformedIntervalRegressor(DistributionalIntervalRegressor(TREE)), "predict_quantile"
    )


def test_a_time_from_zero_on_is_open_below():
    y = np.array([[0.0, 2.0], [3.0, np.inf]])
    model = TransformedIntervalRegressor(MaxMarginIntervalTree()).fit([[0.0], [1.0]], y)
    assert model.regressor_.tree_.value_low[model.regressor_.apply([[0.0]])[0]] == -np.inf


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        (
            [(-3, -2), (1, 2)],
            {},
            "expected upper ends above 0 for func='log', got others in 1 of 2 rows",
        ),
        (
            [(-3, 2), (1, 2)],
            {},
            "expected lower ends from 0 on, got others in 1 of 2 rows .*An unknown end is -inf",
        ),
        (
            [(1, 2), (1, 2)],
            {"func": "cube"},
            "func: expected one of 'log', 'log1p', 'sqrt', 'arcsinh', got 'cube'",
        ),
        ([(1, 2), (1, 2)], {"inverse_func": np.exp}, "inverse_func: expected None"),
        (
            [(1, 2), (1, 2)],
            {"func": np.negative, "inverse_func": np.negative},
            "got -1 for 1 and -2 for 2",
        ),
        (
            [1, 2],
            {"func": np.reciprocal, "inverse_func": np.reciprocal},
            "an increasing function, got 1 for 1 and 0.5",
        ),
        (
            [3, 2],
            {"func": np.log, "inverse_func": np.square},
            r"the inverse of func, got 0.48\d* for func\(2\) = 0.69",
        ),
        (
            [3, 2],
            {"func": np.sign, "inverse_func": np.sign},
            r"the inverse of func, got 1 for func\(2\) = 1",
        ),
    ],
)
def test_what_has_no_transform_is_refused(y, parameters, message):
    with pytest.raises(ValueError, match=message):
        TransformedIntervalRegressor(TREE, **parameters).fit([[0.0], [1.0]], y)


@pytest.mark.parametrize(("func", "least"), [("log", 0.0), ("log1p", -1.0), ("sqrt", 0.0)])
@pytest.mark.parametrize("inner", [CensoredLinearRegression(), L1IntervalRegression(alpha=0.001)])
def test_predictions_rise_and_stay_in_the_range_of_the_function(inner, func, least):
    line = np.linspace(1.0, 5.0, 40)[:, np.newaxis]
    model = TransformedIntervalRegressor(inner, func=func).fit(line, line[:, 0] ** 2)
    beyond = np.linspace(-9.0, 9.0, 30)[:, np.newaxis]
    prediction = model.predict(beyond)
    assert (np.diff(prediction) >= 0).all()
    assert (prediction >= least).all()
    if hasattr(model, "predict_quantile"):
        quantiles = model.predict_quantile(beyond, [0.0, 0.001, 0.05, 0.5, 0.95])
        assert (np.diff(quantiles, axis=1) >= 0).all()
        assert (quantiles >= least).all()


def test_a_pair_of_functions_brings_infinities_back_to_the_ends_of_its_range():
    inner = ConformalIntervalRegressor(
        MaxMarginIntervalTree(max_depth=2), mode="upper", random_state=0
    )
    model = TransformedIntervalRegressor(inner, func=logit, inverse_func=expit).fit(
        X, expit(X[:, 0])
    )
    assert (model.predict_interval(X, 0.8)[:, 0] == 0.0).all()
    pair = TransformedIntervalRegressor(inner, func=np.cbrt, inverse_func=lambda root: root**3).fit(
        X, X[:, 0]
    )
    assert (pair.predict_interval(X, 0.8)[:, 0] == -np.inf).all()


def test_a_function_needs_its_inverse():
    with pytest.raises(TypeError, match="inverse_func"):
        TransformedIntervalRegressor(TREE, func=np.log).fit(X, TIMES)


def test_times_and_events_in_the_place_of_ends_are_recognised():
    with pytest.raises(
        ValueError, match=r"upper < lower in 2 of 3 rows .*from_events\(time, event\)"
    ):
        check_intervals([(5.0, 1), (7.0, 0), (1.0, 1)])


def test_a_file_refuses_functions_that_it_cannot_hold(tmp_path):
    model = TransformedIntervalRegressor(TREE, func=np.arcsinh, inverse_func=np.sinh).fit(X, LOGS)
    with pytest.raises(TypeError, match=r"func_.* cannot be saved"):
        marginwood.save(model, tmp_path / "model.mw")


def test_a_tree_of_a_transformed_target_has_values_of_the_target():
    model = TransformedIntervalRegressor(MaxMarginIntervalTree(max_depth=2)).fit(X, TIMES)
    np.testing.assert_array_equal(model.tree_.predict(X), model.predict(X))
    assert (model.tree_.value_low >= 0).all()
    assert not hasattr(
        TransformedIntervalRegressor(IntervalDummyRegressor()).fit(X, TIMES), "tree_"
    )


@pytest.mark.parametrize(
    ("func", "least"), [("log", 0.0), ("log1p", -1.0), ("sqrt", 0.0), ("arcsinh", -np.inf)]
)
def test_ranges_come_back_in_units_of_the_target(func, least):
    inner = ConformalIntervalRegressor(
        MaxMarginIntervalTree(max_depth=2), mode="upper", random_state=0
    )
    model = TransformedIntervalRegressor(inner, func=func).fit(X, np.exp(X[:, 0]))
    lower, upper = model.predict_interval(X, 0.8).T
    np.testing.assert_array_equal(lower, np.full(len(X), least))
    inverse = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square, "arcsinh": np.sinh}[func]
    np.testing.assert_allclose(
        upper, inverse(model.regressor_.predict_interval(X, 0.8)[:, 1]), rtol=1e-11
    )
    assert not hasattr(TransformedIntervalRegressor(MaxMarginIntervalTree()), "predict_interval")


def test_groups_reach_the_regressor_also_by_metadata_routing():
    X, y = make_sine(60, random_state=0)
    groups = np.arange(60) // 6
    search = marginwood.IntervalSearchCV(
        marginwood.MaxMarginIntervalTree(), {"loss": ["squared_hinge"], "margin": [0.0]}, cv=3
    )
    with sklearn.config_context(enable_metadata_routing=True):
        model = TransformedIntervalRegressor(search, func="arcsinh").set_fit_request(groups=True)
        found = cross_validate(
            model, X, y, cv=GroupKFold(2), params={"groups": groups}, return_estimator=True
        )
    train, _ = next(GroupKFold(2).split(X, y, groups))
    alone = clone(search).fit(X[train], np.arcsinh(y[train]), groups=groups[train])
    assert found["estimator"][0].regressor_.best_params_ == alone.best_params_
    assert found["estimator"][0].regressor_.best_score_ == alone.best_score_
