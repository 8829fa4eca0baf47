"""Models of a function of the target."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood
from marginwood import (
    ConformalIntervalRegressor,
    DistributionalIntervalRegressor,
    IntervalDummyRegressor,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    check_intervals,
)
from marginwood.datasets import make_sine

X, LOGS = make_sine(80, 2, random_state=0)
TIMES = np.exp(LOGS)
with np.errstate(divide="ignore"):
    LOGS = np.log(TIMES)  # with the rounding of the way there
TREE = MaxMarginIntervalTree(max_depth=3, margin=0.1)


@parametrize_with_checks([TransformedIntervalRegressor(TREE, func=np.arcsinh, inverse_func=np.sinh)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_the_logarithm_of_both_ends_is_learned_and_brought_back():
    model = TransformedIntervalRegressor(TREE).fit(X, TIMES)
    literal = clone(TREE).fit(X, LOGS)
    np.testing.assert_allclose(model.predict(X), np.exp(literal.predict(X)))


def test_a_pair_of_functions_does_the_same():
    named = TransformedIntervalRegressor(TREE).fit(X, TIMES)
    pair = TransformedIntervalRegressor(TREE, func=np.log, inverse_func=np.exp).fit(X, np.maximum(TIMES, 1e-300))
    np.testing.assert_allclose(named.predict(X), pair.predict(X))


def test_curves_and_quantiles_come_back_in_units_of_the_target():
    inner = DistributionalIntervalRegressor(TREE, cv=3)
    model = TransformedIntervalRegressor(inner).fit(X, TIMES)
    literal = clone(inner).fit(X, LOGS)
    np.testing.assert_allclose(model.predict_quantile(X, [0.2, 0.5]), np.exp(literal.predict_quantile(X, [0.2, 0.5])))
    days = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(
        model.predict_survival_function(X, days), literal.predict_survival_function(X, np.log(days))
    )
    np.testing.assert_allclose(model.predict_distribution(X[:3]).cdf(-1.0), 0.0)


def test_a_regressor_without_distributions_has_none_here():
    assert not hasattr(TransformedIntervalRegressor(TREE), "predict_distribution")
    assert hasattr(TransformedIntervalRegressor(DistributionalIntervalRegressor(TREE)), "predict_quantile")


def test_a_time_from_zero_on_is_open_below():
    y = np.array([[0.0, 2.0], [3.0, np.inf]])
    model = TransformedIntervalRegressor(MaxMarginIntervalTree()).fit([[0.0], [1.0]], y)
    assert model.regressor_.tree_.value_low[model.regressor_.apply([[0.0]])[0]] == -np.inf


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        ([(-3, -2), (1, 2)], {}, "expected upper ends above 0 for func='log', got others in 1 of 2 rows"),
        ([(-3, 2), (1, 2)], {}, "expected lower ends from 0 on, got others in 1 of 2 rows .*An unknown end is -inf"),
        ([(1, 2), (1, 2)], {"func": "cube"}, "func: expected one of 'log', 'log1p', 'sqrt', 'arcsinh', got 'cube'"),
        ([(1, 2), (1, 2)], {"inverse_func": np.exp}, "inverse_func: expected None"),
        ([(1, 2), (1, 2)], {"func": np.negative, "inverse_func": np.negative}, "expected an increasing function"),
    ],
)
def test_what_has_no_transform_is_refused(y, parameters, message):
    with pytest.raises(ValueError, match=message):
        TransformedIntervalRegressor(TREE, **parameters).fit([[0.0], [1.0]], y)


def test_a_function_needs_its_inverse():
    with pytest.raises(TypeError, match="inverse_func"):
        TransformedIntervalRegressor(TREE, func=np.log).fit(X, TIMES)


def test_times_and_events_in_the_place_of_ends_are_recognised():
    with pytest.raises(ValueError, match=r"upper < lower in 2 of 3 rows .*from_events\(time, event\)"):
        check_intervals([(5.0, 1), (7.0, 0), (1.0, 1)])


def test_a_file_refuses_functions_that_it_cannot_hold(tmp_path):
    model = TransformedIntervalRegressor(TREE, func=np.arcsinh, inverse_func=np.sinh).fit(X, LOGS)
    with pytest.raises(TypeError, match=r"func_.* cannot be saved"):
        marginwood.save(model, tmp_path / "model.mw")


def test_a_tree_of_a_transformed_target_has_values_of_the_target():
    model = TransformedIntervalRegressor(MaxMarginIntervalTree(max_depth=2)).fit(X, TIMES)
    np.testing.assert_array_equal(model.tree_.predict(X), model.predict(X))
    assert (model.tree_.value_low >= 0).all()
    assert not hasattr(TransformedIntervalRegressor(IntervalDummyRegressor()).fit(X, TIMES), "tree_")


@pytest.mark.parametrize(("func", "least"), [("log", 0.0), ("log1p", -1.0), ("sqrt", 0.0), ("arcsinh", -np.inf)])
def test_ranges_come_back_in_units_of_the_target(func, least):
    inner = ConformalIntervalRegressor(MaxMarginIntervalTree(max_depth=2), mode="upper", random_state=0)
    model = TransformedIntervalRegressor(inner, func=func).fit(X, np.exp(X[:, 0]))
    lower, upper = model.predict_interval(X, 0.8).T
    np.testing.assert_array_equal(lower, np.full(len(X), least))
    inverse = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square, "arcsinh": np.sinh}[func]
    np.testing.assert_array_equal(upper, inverse(model.regressor_.predict_interval(X, 0.8)[:, 1]))
    assert not hasattr(TransformedIntervalRegressor(MaxMarginIntervalTree()), "predict_interval")
