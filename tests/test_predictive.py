"""What holds for the curves of every estimator that predicts distributions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginwood import (
    CensoredLinearRegression,
    DistributionalIntervalRegressor,
    DistributionalSuperLearner,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
)

SHAPES = ("normal", "logistic", "gumbel")
LINEAR = [(shape, CensoredLinearRegression(noise=shape)) for shape in SHAPES]
FOREST = MaxMarginIntervalForest(5, min_samples_leaf=2, random_state=0)
LINES = {
    **dict(LINEAR),
    "mixture of lines": DistributionalSuperLearner(LINEAR, cv=2),
    **{
        func: TransformedIntervalRegressor(LINEAR[0][1], func=func)
        for func in ("log", "log1p", "sqrt", "arcsinh")
    },
}
MODELS = {
    **LINES,
    "mixture": DistributionalSuperLearner([LINEAR[2], ("forest", FOREST)], cv=2),
    "recipe": TransformedIntervalRegressor(
        DistributionalSuperLearner([LINEAR[0], ("forest", FOREST)], cv=2)
    ),
    "log forest": TransformedIntervalRegressor(FOREST),
}
TIMES = np.linspace(0.0, 12.0, 25)
SHARES = np.linspace(0.0, 1.0, 21)
seeds = st.integers(0, 10**6)


def draw_rows(seed, n_rows=24):
    """Positive values, some of them known exactly, between two ends, or from one side; features of new rows go far."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    value = np.exp(0.5 * X[:, 0] + 0.5 * rng.normal(size=n_rows))
    kind = rng.integers(0, 4, n_rows)
    lower = np.select([kind == 1, kind == 3], [0.7 * value, -np.inf], value)
    upper = np.select([kind == 1, kind == 2], [1.4 * value, np.inf], value)
    return X, np.column_stack([lower, upper]), 3 * rng.normal(size=(6, 2))


@pytest.mark.parametrize("name", MODELS)
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_curves_are_probabilities_that_fall_and_quantiles_rise(name, seed):
    X, y, new = draw_rows(seed)
    model = MODELS[name].fit(X, y)
    curves = model.predict_survival_function(new, TIMES)
    assert ((curves >= 0) & (curves <= 1)).all()
    assert (np.diff(curves, axis=1) <= 0).all()
    quantiles = model.predict_quantile(new, SHARES)
    assert not np.isnan(quantiles).any()
    assert (quantiles[:, 1:] >= quantiles[:, :-1]).all()
    # Infinite quantiles are those of mass beyond all limits.
    known = np.where(np.isfinite(quantiles), quantiles, 0.0)
    reached = model.predict_distribution(new).cdf(known) >= SHARES - 1e-9
    assert (reached | np.isinf(quantiles)).all()


@pytest.mark.parametrize("name", MODELS)
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
@pytest.mark.filterwarnings("ignore:.* medians lie beyond all limits")
def test_a_new_row_is_predicted_whatever_rows_are_beside_it(name, seed):
    X, y, new = draw_rows(seed)
    model = MODELS[name].fit(X, y)
    order = np.random.default_rng(seed).permutation(len(new))
    curves = model.predict_survival_function(new, TIMES)
    np.testing.assert_allclose(
        model.predict_survival_function(new[order], TIMES), curves[order], atol=1e-12
    )
    np.testing.assert_allclose(model.predict(new[order]), model.predict(new)[order], rtol=1e-12)


@pytest.mark.parametrize("name", LINES)
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
def test_the_order_of_the_training_rows_does_not_matter(name, seed):
    X, y, new = draw_rows(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    curves = MODELS[name].fit(X, y).predict_survival_function(new, TIMES)
    again = MODELS[name].fit(X[order], y[order]).predict_survival_function(new, TIMES)
    np.testing.assert_allclose(again, curves, atol=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_targets_near_the_largest_have_curves(name):
    X, y, new = draw_rows(0)
    y = y / np.abs(y[np.isfinite(y)]).max()
    curves = MODELS[name].fit(X, y).predict_survival_function(new, TIMES / 12)
    far = MODELS[name].fit(X, 1e150 * y).predict_survival_function(new, 1e150 * (TIMES / 12))
    np.testing.assert_allclose(far, curves, atol=1e-6)


def test_errors_beyond_the_largest_target_are_refused_by_fit():
    X, y, _ = draw_rows(0)
    y = np.where(np.arange(len(X)) % 2, 1e150, -1e150)
    with pytest.raises(ValueError, match=r"residuals: limits beyond 1e\+150"):
        DistributionalIntervalRegressor(MaxMarginIntervalTree(min_samples_leaf=3), cv=2).fit(X, y)
