"""The smooth model of a Gaussian kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CensoringStratifiedKFold,
    IntervalSearchCV,
    KernelIntervalRegression,
    L1IntervalRegression,
    load,
    save,
)
from marginwood.datasets import make_sine
from marginwood.losses import hinge_loss, optimal_constant

X, Y = make_sine(120, 3, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)


def bumps_of(features, length_scale, additivity):
    """The kernel of standardised features, row by row."""
    Z = features - features.mean(axis=0)
    deviation = Z.std(axis=0)
    Z = Z / np.where(deviation > 0, deviation, np.inf)
    kernel = np.empty((len(Z), len(Z)))
    for i, a in enumerate(Z):
        for j, b in enumerate(Z):
            together = np.exp(-((a - b) ** 2).sum() / (2 * length_scale**2 * Z.shape[1]))
            each = np.exp(-((a - b) ** 2) / (2 * length_scale**2))
            kernel[i, j] = (1 - additivity) * together + additivity * each.mean()
    return kernel


@given(
    st.integers(0, 1000),
    st.sampled_from([0.3, 1.0, 3.0]),
    st.sampled_from([1e-3, 1e-2, 1.0]),
    st.sampled_from([0.0, 0.4, 3.0]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_other_weights_cost_less(seed, length_scale, alpha, margin, additivity):
    random = np.random.default_rng(seed)
    features = random.normal(size=(12, 2))
    lower = random.normal(size=12)
    intervals = np.column_stack([lower, lower + random.exponential(size=12)])
    intervals[random.random(12) < 0.2, 1] = np.inf
    model = KernelIntervalRegression(
        alpha=alpha, length_scale=length_scale, margin=margin, additivity=additivity
    )
    model.fit(features, intervals)
    kernel = bumps_of(features, length_scale, additivity)

    def cost(coefs):
        prediction = kernel @ coefs[1:] + coefs[0]
        return (
            hinge_loss(intervals, prediction, margin=margin).mean()
            + alpha * coefs[1:] @ kernel @ coefs[1:]
        )

    own = np.append(model.intercept_, model.dual_coef_)
    np.testing.assert_allclose(kernel @ own[1:] + own[0], model.predict(features), atol=1e-6)
    best = minimize(cost, own, method="BFGS", options={"maxiter": 200}).fun
    assert cost(own) <= best * (1 + 1e-6) + 1e-9


def test_exact_targets_and_no_offset_give_kernel_ridge_regression():
    target = np.sin(X[:, 0])
    target -= target.mean()
    model = KernelIntervalRegression(alpha=1e-2, length_scale=0.7, n_components=len(X)).fit(
        X, target
    )
    kernel = bumps_of(X, 0.7, 0.5)
    # The intercept is free: ridge regression of what is left after it.
    ridge = KernelRidge(alpha=1e-2 * len(X), kernel="precomputed").fit(
        kernel, target - model.intercept_
    )
    np.testing.assert_allclose(
        model.predict(X), ridge.predict(kernel) + model.intercept_, atol=1e-7
    )


def test_weights_are_repeated_rows():
    rows = np.repeat(np.arange(len(X)), WEIGHTS.astype(int))
    model = KernelIntervalRegression(margin=0.2, n_components=1000)
    weighted = clone(model).fit(X, Y, WEIGHTS)
    repeated = model.fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    np.testing.assert_allclose(
        clone(model).fit(X, Y, 1e6 * WEIGHTS).predict(X), weighted.predict(X), atol=1e-9
    )


@pytest.mark.parametrize(("shift", "factor"), [(1e6, 1.0), (0.0, 2.0**300), (0.0, 2.0**-200)])
def test_neither_offset_nor_unit_matters(shift, factor):
    model = KernelIntervalRegression(margin=0.2, random_state=0).fit(X, Y)
    other = KernelIntervalRegression(margin=0.2 * factor, random_state=0).fit(
        X * 2.0**40 + 7, Y * factor + shift
    )
    found = (other.predict(X * 2.0**40 + 7) - shift) / factor
    np.testing.assert_allclose(found, model.predict(X), atol=1e-5)


def test_a_constant_that_satisfies_all_rows_is_the_model():
    intervals = np.column_stack([X[:, 0] - 20, X[:, 0] + 20])
    model = KernelIntervalRegression().fit(X, intervals)
    np.testing.assert_array_equal(
        model.predict(X), np.full(len(X), optimal_constant(intervals).value)
    )


def test_far_from_all_rows_the_intercept_predicts():
    model = KernelIntervalRegression(margin=0.2).fit(X, Y)
    assert model.predict(np.full((1, 3), 1e9))[0] == model.intercept_
    assert model.predict(np.full((1, 3), 1e308))[0] == model.intercept_
    together = KernelIntervalRegression(margin=0.2, additivity=0.0).fit(X, Y)
    assert together.predict([[1e9, 0, 0]])[0] == together.intercept_


def test_an_additive_kernel_adds_up_functions_of_single_features():
    model = KernelIntervalRegression(margin=0.2, additivity=1.0).fit(X, Y)
    corners = model.predict([[0, 0, 0], [3, 0, 0], [0, 2, 0], [3, 2, 0]])
    assert corners[3] - corners[2] == pytest.approx(corners[1] - corners[0])
    interacting = (
        KernelIntervalRegression(margin=0.2)
        .fit(X, Y)
        .predict([[0, 0, 0], [3, 0, 0], [0, 2, 0], [3, 2, 0]])
    )
    assert interacting[3] - interacting[2] != pytest.approx(interacting[1] - interacting[0])


def test_a_sum_of_many_functions_is_learned_from_fewer_rows_if_features_add_up():
    random = np.random.default_rng(0)
    features = random.uniform(-2, 2, (200, 10))
    hidden = np.sin(2 * features).sum(axis=1)
    intervals = np.column_stack(
        [hidden - random.exponential(size=200), hidden + random.exponential(size=200)]
    )
    scores = []
    for additivity in (0.0, 1.0):
        search = IntervalSearchCV(
            KernelIntervalRegression(),
            {"additivity": (additivity,), "relevance": (0.0,)},
            random_state=0,
        )
        scores.append(
            search.fit(features[:100], intervals[:100]).score(features[100:], intervals[100:])
        )
    assert scores[1] > scores[0] + 0.2


def test_more_rows_than_landmarks_come_close():
    features, targets = make_sine(600, 1, random_state=0)
    whole = KernelIntervalRegression(margin=0.2, n_components=600).fit(features, targets)
    few = KernelIntervalRegression(margin=0.2, n_components=30, random_state=0).fit(
        features, targets
    )
    assert few.landmarks_.shape == (30, 1)
    np.testing.assert_allclose(few.predict(features), whole.predict(features), atol=0.02)
    again = KernelIntervalRegression(margin=0.2, n_components=30, random_state=0).fit(
        features, targets
    )
    np.testing.assert_array_equal(few.predict(features), again.predict(features))


def test_constant_and_repeated_features_do_no_harm():
    model = KernelIntervalRegression(margin=0.2, length_scale=1.0).fit(X[:, :1], Y)
    wide = KernelIntervalRegression(margin=0.2, length_scale=1.0).fit(
        np.column_stack([X[:, :1]] * 2), Y
    )
    np.testing.assert_allclose(
        wide.predict(np.column_stack([X[:, :1]] * 2)), model.predict(X[:, :1]), atol=1e-6
    )
    constants = np.column_stack([X[:, :1], np.ones((len(X), 20))])
    for relevance in (0.0, 1.0):
        alone = clone(model).set_params(relevance=relevance).fit(X[:, :1], Y)
        beside = clone(alone).fit(constants, Y)
        np.testing.assert_allclose(beside.predict(constants), alone.predict(X[:, :1]), atol=1e-6)
    flat = KernelIntervalRegression().fit(np.zeros((len(X), 2)), Y)
    np.testing.assert_allclose(flat.predict(np.zeros((1, 2))), optimal_constant(Y).value, atol=1e-6)


def test_the_search_scores_each_candidate_as_a_fit_of_its_own():
    search = IntervalSearchCV(
        KernelIntervalRegression(),
        {
            "margin": (0.0, 0.3),
            "length_scale": (0.5, 2.0),
            "relevance": (0.0, 1.0),
            "additivity": (0.0, 0.7),
            "alpha": (1e-4, 1e-2),
        },
        cv=3,
        random_state=0,
    ).fit(X, Y)
    results = search.cv_results_
    assert len(results["mean_test_score"]) == 32
    (train, test), *_ = CensoringStratifiedKFold(3).split(X, Y)
    for number in (0, 5, 10, 19, 31):
        model = KernelIntervalRegression(
            margin=results["param_margin"][number],
            length_scale=results["param_length_scale"][number],
            relevance=results["param_relevance"][number],
            additivity=results["param_additivity"][number],
            alpha=results["param_alpha"][number],
            random_state=0,
        ).fit(X[train], Y[train])
        error = hinge_loss(Y[test], model.predict(X[test])).mean()
        assert results["split0_test_score"][number] == pytest.approx(-error, rel=1e-6)
    assert search.best_score_ == results["mean_test_score"].max()
    assert search.best_estimator_.alpha == search.best_params_["alpha"]


def test_a_smooth_signal_of_several_features_is_learned_better_than_by_a_line():
    random = np.random.default_rng(0)
    features = random.uniform(-2, 2, (300, 3))
    hidden = np.sin(features[:, 0]) * features[:, 1] + features[:, 2] ** 2
    intervals = np.column_stack(
        [hidden - random.exponential(size=300), hidden + random.exponential(size=300)]
    )
    smooth = IntervalSearchCV(KernelIntervalRegression(), {"margin": 3}, cv=3, random_state=0)
    line = IntervalSearchCV(L1IntervalRegression(), {"alpha": 20})
    errors = []
    for model in (smooth, line):
        prediction = model.fit(features[:200], intervals[:200]).predict(features[200:])
        errors.append(np.mean((prediction - hidden[200:]) ** 2))
    assert errors[0] < 0.3 * errors[1]


def test_scaled_features_are_those_of_the_kernel():
    model = KernelIntervalRegression(
        relevance=1.0, length_scale=0.7, additivity=0.0, n_components=len(X)
    ).fit(X, Y)
    plain = KernelIntervalRegression(length_scale=0.7, n_components=len(X)).fit(X, Y)
    scales = plain.deviation_ / model.deviation_
    assert np.mean(scales**2) == pytest.approx(1)
    assert scales.argmax() == 0  # the sine's feature
    Z = (X - X.mean(axis=0)) / X.std(axis=0) * scales
    distances = ((Z[:, np.newaxis] - Z) ** 2).sum(axis=2)
    kernel = np.exp(-distances / (2 * 0.7**2 * X.shape[1]))
    np.testing.assert_allclose(
        kernel @ model.dual_coef_ + model.intercept_, model.predict(X), atol=1e-8
    )


def test_a_signal_in_one_of_twenty_features_is_found_by_its_relevance():
    features, targets = make_sine(300, 20, random_state=0)
    alike = IntervalSearchCV(
        KernelIntervalRegression(), {"relevance": (0.0,)}, cv=3, random_state=0
    ).fit(features[:200], targets[:200])
    scaled = IntervalSearchCV(KernelIntervalRegression(), cv=3, random_state=0).fit(
        features[:200], targets[:200]
    )
    assert scaled.best_params_["relevance"] > 0
    assert 1 - scaled.score(features[200:], targets[200:]) < 0.5 * (
        1 - alike.score(features[200:], targets[200:])
    )


def test_features_none_of_which_matters_count_alike():
    constant = np.tile([0.0, 1.0], (len(X), 1))
    model = KernelIntervalRegression(relevance=1.0).fit(X, constant)
    np.testing.assert_allclose(model.deviation_, X.std(axis=0))


def test_a_search_with_relevance_is_the_same_on_any_number_of_threads():
    one = IntervalSearchCV(KernelIntervalRegression(), cv=3, random_state=0).fit(X, Y)
    three = IntervalSearchCV(KernelIntervalRegression(), cv=3, random_state=0, n_jobs=3).fit(X, Y)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], three.cv_results_["mean_test_score"]
    )


def test_models_survive_a_file(tmp_path):
    for number, model in enumerate(
        (
            KernelIntervalRegression(),
            IntervalSearchCV(KernelIntervalRegression(), cv=3, random_state=0),
        )
    ):
        model.fit(X, Y)
        save(model, tmp_path / f"{number}.mw")
        np.testing.assert_array_equal(load(tmp_path / f"{number}.mw").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha: expected a number >= 1e-12, got 0.0"),
        ({"length_scale": 0.0}, "length_scale: expected a finite number > 0, got 0.0"),
        ({"relevance": -1.0}, "relevance: expected a number >= 0, got -1.0"),
        ({"additivity": -0.1}, "additivity: expected a number from 0 to 1, got -0.1"),
        ({"n_components": 0}, "n_components: expected an integer >= 1, got 0"),
        ({"margin": -1.0}, "margin: expected a number >= 0"),
    ],
)
def test_a_wrong_parameter_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelIntervalRegression(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"alpha": ()}, "grid: expected a list of values to try for alpha"),
        ({"alpha": "none"}, "grid: .* got 'none'"),
        ({"alpha": (1.0, -1.0)}, "alpha: expected a number >= 1e-12, got -1.0"),
        ({"length_scale": ()}, "grid: expected a list of values to try for length_scale"),
        ({"length_scale": (1.0, 0.0)}, "length_scale: expected a finite number > 0"),
        ({"relevance": (1.0, np.nan)}, "relevance: expected a number >= 0, got nan"),
        ({"additivity": (0.5, 1.5)}, "additivity: expected a number from 0 to 1, got 1.5"),
    ],
)
def test_a_wrong_value_in_the_grid_of_a_search_is_named(grid, message):
    with pytest.raises(ValueError, match=message):
        IntervalSearchCV(KernelIntervalRegression(), grid).fit(X, Y)


def test_features_must_be_finite():
    holes = X.copy()
    holes[3, 1] = np.nan
    for model in (KernelIntervalRegression(), IntervalSearchCV(KernelIntervalRegression())):
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.fit(holes, Y)


@parametrize_with_checks(
    [
        KernelIntervalRegression(),
        IntervalSearchCV(KernelIntervalRegression(), {"length_scale": (1.0,)}, cv=3),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
