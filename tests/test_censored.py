"""CensoredLinearRegression: the maximum of the likelihood, its distributions, and what it does with poor data."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import CensoredLinearRegression, TransformedIntervalRegressor, load, save
from marginwood._linear.likelihood import PRIOR_LIMIT, PRIOR_WEIGHT
from marginwood._linear.noise import NOISES

SHAPES = {"normal": stats.norm, "logistic": stats.logistic, "gumbel": stats.gumbel_l}


def draw_rows(seed, n_rows=60, n_features=3, noise="normal"):
    """Values of which a quarter is known exactly, the others between visits or from one side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    value = X[:, 0] - 0.5 * X[:, 1] + 0.7 * SHAPES[noise].rvs(size=n_rows, random_state=rng)
    lower = value - rng.exponential(size=n_rows)
    upper = value + rng.exponential(size=n_rows)
    kind = rng.integers(0, 4, n_rows)
    lower = np.select([kind == 0, kind == 3], [value, -np.inf], lower)
    upper = np.select([kind == 0, kind == 2], [value, np.inf], upper)
    return X, np.column_stack([lower, upper])


def objective(parameters, X, y, shape, alpha):
    """The penalised log-likelihood, from SciPy's distributions, written as the docstring says."""
    lower, upper = y.T
    scale = np.exp(parameters[-1])
    location = parameters[0] + X @ parameters[1:-1]
    is_exact = lower == upper
    is_informative = np.isfinite(y).any(axis=1)
    probability = shape.cdf(upper, location, scale) - shape.cdf(lower, location, scale)
    known = np.log(
        np.where(is_exact, shape.pdf(np.where(is_exact, lower, 0.0), location, scale), probability)
    )
    limits = y[np.isfinite(y)]
    prior = limits.mean() + limits.std() * PRIOR_LIMIT * np.array([1, -1])
    centre = parameters[0] + X[is_informative].mean(axis=0) @ parameters[1:-1]
    known = (
        known[is_informative].sum()
        + PRIOR_WEIGHT * (alpha > 0) * np.log(shape.pdf(prior, centre, scale) * limits.std()).sum()
    )
    weights = parameters[1:-1] * X[is_informative].std(axis=0) / scale
    return known - 0.5 * alpha * is_informative.sum() * (weights**2).sum()


@given(st.integers(0, 10**6), st.sampled_from(sorted(SHAPES)), st.sampled_from([0.0, 0.01, 0.3]))
@settings(max_examples=25, deadline=None)
def test_no_other_model_is_more_likely(seed, noise, alpha):
    X, y = draw_rows(seed, noise=noise)
    model = CensoredLinearRegression(noise=noise, alpha=alpha).fit(X, y)
    location = model.intercept_ - model.scale_ * SHAPES[noise].median()
    found = np.concatenate([[location], model.coef_, [np.log(model.scale_)]])
    arguments = (X, y, SHAPES[noise], alpha)
    reached = objective(found, *arguments)
    other = minimize(lambda parameters: -objective(parameters, *arguments), found, method="BFGS")
    assert reached >= -other.fun - 1e-5
    steps = 1e-3 * np.vstack([np.eye(len(found)), -np.eye(len(found))])
    assert all(objective(found + step, *arguments) <= reached + 1e-6 for step in steps)


@pytest.mark.parametrize("noise", SHAPES)
def test_noise_is_that_of_scipy(noise):
    z = np.linspace(-6, 2, 50)
    ours, theirs = NOISES[noise], SHAPES[noise]
    np.testing.assert_allclose(ours.log_cdf(z), theirs.logcdf(z), rtol=1e-9)
    np.testing.assert_allclose(ours.log_sf(z), theirs.logsf(z), rtol=1e-9)
    np.testing.assert_allclose(ours.log_density(z), theirs.logpdf(z), rtol=1e-9)
    np.testing.assert_allclose(ours.quantile(theirs.cdf(z)), z, rtol=1e-7, atol=1e-9)
    first, second = ours.slopes(z)
    step = 1e-4
    np.testing.assert_allclose(
        first, (ours.log_density(z + step) - ours.log_density(z - step)) / 2 / step, atol=1e-5
    )
    np.testing.assert_allclose(
        second, (ours.slopes(z + step)[0] - ours.slopes(z - step)[0]) / 2 / step, atol=1e-5
    )


@pytest.mark.parametrize("exponent", [-565, 340])
def test_targets_whose_squares_vanish_or_overflow_are_fitted(exponent):
    X, y = draw_rows(3)
    model = CensoredLinearRegression().fit(X, y)
    same = CensoredLinearRegression().fit(X, np.ldexp(y, exponent))
    np.testing.assert_allclose(np.ldexp(same.predict(X), -exponent), model.predict(X), rtol=1e-9)


def test_known_values_with_normal_errors_give_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1, 10, 0.1] + 5
    y = X @ [1.0, 0.2, 3.0] + rng.normal(size=2000)
    model = CensoredLinearRegression(alpha=0.0).fit(X, y)
    ridge = Ridge(alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=2e-3)
    assert abs(model.scale_ - np.std(y - ridge.predict(X))) < 2e-3


@pytest.mark.parametrize("noise", SHAPES)
def test_distributions_have_the_shape_of_the_noise(noise):
    X, y = draw_rows(1, noise=noise)
    model = CensoredLinearRegression(noise=noise).fit(X, y)
    values = np.linspace(-4, 4, 30)
    location = model.predict(X) - model.scale_ * SHAPES[noise].median()
    expected = SHAPES[noise].sf(values, location[:, np.newaxis], model.scale_)
    np.testing.assert_allclose(model.predict_survival_function(X, values), expected, atol=2e-4)
    np.testing.assert_allclose(
        model.predict_quantile(X, 0.5), model.predict(X), atol=1e-3 * model.scale_
    )


@pytest.mark.parametrize("noise", SHAPES)
def test_moments_are_those_of_the_noise(noise):
    X, y = draw_rows(1, noise=noise)
    model = CensoredLinearRegression(noise=noise).fit(X, y)
    found = model.predict_distribution(X)
    location = model.predict(X) - model.scale_ * SHAPES[noise].median()
    expected = SHAPES[noise](location, model.scale_)
    np.testing.assert_allclose(
        found.mean(bound="spread"), expected.mean(), atol=1e-4 * model.scale_
    )
    np.testing.assert_allclose(found.std(), expected.std(), rtol=1e-3)
    for q in (1e-9, 1e-3, 0.9, 1 - 1e-6):
        np.testing.assert_allclose(
            found.quantile(q, bound="spread"), expected.ppf(q), atol=0.02 * model.scale_
        )


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        ("normal", stats.lognorm),
        ("gumbel", lambda scale: stats.weibull_min(1 / scale)),
        ("logistic", lambda scale: stats.fisk(1 / scale)),
    ],
)
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 2.0])
def test_moments_of_times_are_finite_and_right(noise, law, scale):
    # Of a log-logistic time the mean is infinite from scale 1 on, and the deviation from 1/2 on.
    X, y = draw_rows(1, noise=noise)
    model = TransformedIntervalRegressor(CensoredLinearRegression(noise=noise)).fit(X, np.exp(y))
    inner = model.regressor_
    inner.coef_, inner.scale_ = np.zeros(X.shape[1]), scale
    inner.intercept_ = np.log(7.0 * law(scale).median())
    found = model.predict_distribution(X[:2])
    expected = law(scale)
    if np.isfinite(expected.mean()):
        low, high = found.mean().T
        assert np.isfinite(high).all()
        assert (low <= 7 * expected.mean()).all()
        assert (7 * expected.mean() <= high).all()
        np.testing.assert_allclose(found.mean(bound="spread"), 7 * expected.mean(), rtol=2e-3)
    if np.isfinite(expected.std()):
        np.testing.assert_allclose(found.std(), 7 * expected.std(), rtol=5e-3)
    levels = np.array([1e-6, 0.01, 0.5, 0.99, 1 - 1e-6])
    np.testing.assert_allclose(
        np.log(found.quantile(levels, bound="spread")),
        np.tile(np.log(7 * expected.ppf(levels)), (2, 1)),
        atol=0.05 * scale,
    )


@pytest.mark.parametrize("noise", SHAPES)
def test_a_weight_of_two_is_a_row_twice_and_offsets_and_units_do_not_matter(noise):
    X, y = draw_rows(2)
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    model = CensoredLinearRegression(noise=noise).fit(X, y, sample_weight=weight)
    repeated = CensoredLinearRegression(noise=noise).fit(X[twice], y[twice])
    moved = CensoredLinearRegression(noise=noise).fit(
        X * 1e6 + 7e6, y * 1e-8 + 3, sample_weight=weight
    )
    np.testing.assert_allclose(repeated.predict(X), model.predict(X), atol=1e-6)
    np.testing.assert_allclose(
        (moved.predict(X * 1e6 + 7e6) - 3) * 1e8, model.predict(X), atol=1e-5
    )


@pytest.mark.parametrize("noise", SHAPES)
def test_weights_that_are_shares_give_the_model_of_equal_rows(noise):
    X, y = draw_rows(5)
    model = CensoredLinearRegression(noise=noise).fit(X, y)
    shares = CensoredLinearRegression(noise=noise).fit(
        X, y, sample_weight=np.full(len(X), 1 / len(X))
    )
    np.testing.assert_allclose(shares.predict(X), model.predict(X), atol=1e-6)
    assert shares.scale_ == pytest.approx(model.scale_, rel=1e-6)
    weight = np.linspace(0.1, 1.0, len(X))
    uneven = CensoredLinearRegression(noise=noise).fit(X, y, sample_weight=weight)
    less = CensoredLinearRegression(noise=noise).fit(X, y, sample_weight=weight / 1000)
    np.testing.assert_allclose(less.predict(X), uneven.predict(X), atol=1e-6)


def test_more_features_than_rows_are_fitted_as_the_penalty_wants():
    rng = np.random.default_rng(0)
    few, y = draw_rows(3, n_rows=40)
    wide = np.column_stack([few, rng.normal(size=(40, 60))])
    model = CensoredLinearRegression(alpha=0.1).fit(wide, y)
    tall = CensoredLinearRegression(alpha=0.1).fit(np.vstack([wide] * 3), np.vstack([y] * 3))
    # Three copies differ by the two half rows only.
    assert np.corrcoef(model.predict(wide), tall.predict(wide))[0, 1] > 0.999


@pytest.mark.parametrize("noise", SHAPES)
@pytest.mark.parametrize(
    "y",
    [
        [(0.0, 1.0)] * 20,
        [(5.0, 5.0)] * 20,
        [(3.0, np.inf)] * 20,
        [(-np.inf, 3.0)] * 20,
        [(-np.inf, 0.0)] * 10 + [(1.0, np.inf)] * 10,
        [(-1e149, -1e149)] + [(0.0, 1.0)] * 19,
        [(float(row), float(row) + 1e-12) for row in range(20)],
        [(1e6, np.inf)] + [(float(row), float(row)) for row in range(19)],
    ],
)
def test_poor_data_give_finite_models(noise, y):
    X = np.arange(20.0)[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rounding ends the search early, with limits of 1e149
        model = CensoredLinearRegression(noise=noise).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert 0 < model.scale_ < np.inf
    curves = model.predict_survival_function(X, [-1.0, 0.0, 10.0])
    assert (np.diff(curves, axis=1) <= 0).all()


@pytest.mark.parametrize("noise", SHAPES)
@pytest.mark.parametrize("kind", ["right", "left and right", "exact"])
def test_limits_of_one_value_give_the_same_model_in_every_unit(noise, kind):
    X = np.arange(20.0)[:, np.newaxis]
    is_late = np.ones(20, bool) if kind == "right" else X[:, 0] > 8
    y = np.column_stack([np.where(is_late, 5.0, -np.inf), np.where(is_late, np.inf, 5.0)])
    y = np.full((20, 2), 5.0) if kind == "exact" else y
    model = CensoredLinearRegression(noise=noise).fit(X, y)
    chances = model.predict_distribution(X).cdf(5.0)
    for unit in (1e-300, 1e-6, 1000.0, 1e140):
        other = CensoredLinearRegression(noise=noise).fit(X, unit * y)
        np.testing.assert_allclose(other.predict(X), unit * model.predict(X), rtol=1e-12)
        assert other.scale_ == pytest.approx(unit * model.scale_, rel=1e-9)
        np.testing.assert_allclose(
            other.predict_distribution(X).cdf(5.0 * unit), chances, atol=1e-6
        )
        # Of a logarithm a unit is added.
        moved = CensoredLinearRegression(noise=noise).fit(X, y + np.log(unit))
        np.testing.assert_allclose(moved.predict(X), model.predict(X) + np.log(unit), atol=0.01)
    assert chances.std() > 0.1 or kind != "left and right"


def test_files_keep_the_model(tmp_path):
    X, y = draw_rows(4)
    model = CensoredLinearRegression(noise="gumbel").fit(X, y)
    save(model, tmp_path / "model.mw")
    np.testing.assert_array_equal(
        load(tmp_path / "model.mw").predict_quantile(X, [0.2]), model.predict_quantile(X, [0.2])
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"noise": "cauchy"}, "noise: expected"),
        ({"alpha": -1.0}, "alpha: expected a number >= 0, got -1.0"),
        ({"tol": 0.0}, "tol: expected"),
        ({"max_iter": 0}, "max_iter: expected"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = draw_rows(0)
    with pytest.raises(ValueError, match=message):
        CensoredLinearRegression(**parameters).fit(X, y)


@parametrize_with_checks([CensoredLinearRegression()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
