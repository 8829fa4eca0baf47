"""L1-regularised linear models: optimality of the solver, and the estimators."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import IntervalSearchCV, L1IntervalRegression
from marginwood._linear.features import standardise
from marginwood.datasets import make_linear
from marginwood.losses import hinge_loss


@parametrize_with_checks([L1IntervalRegression()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def mixed_problem(n, p, seed, correlation=0.0):
    """Rows of every kind of censoring around a linear function of three features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + correlation * rng.normal(size=(n, 1))
    centre = X[:, :3] @ [2.0, -1.0, 0.5][: min(p, 3)] + rng.normal(scale=0.5, size=n)
    y = np.column_stack([centre - rng.exponential(size=n), centre + rng.exponential(size=n)])
    kind = rng.integers(5, size=n)
    y[kind == 0, 0] = -inf
    y[kind == 1, 1] = inf
    y[kind == 2] = centre[kind == 2, None]
    return X, y


def pulls(model, X, y, margin, weights):
    """Derivatives of the penalised half mean loss in the standardised weights and in the intercept, sans penalty."""
    weights = weights / weights.sum()
    mean = weights @ X
    deviation = np.sqrt(weights @ (X - mean) ** 2)
    prediction = model.predict(X)
    row_margin = np.where(y[:, 0] == y[:, 1], 0.0, margin)
    slope = np.maximum(prediction - y[:, 1] + row_margin, 0) - np.maximum(
        y[:, 0] + row_margin - prediction, 0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = np.where(deviation > 0, (X - mean) / deviation, 0.0)
    return standardised.T @ (weights * slope), weights @ slope


def assert_optimal(model, X, y, *, alpha, margin=0.0, weights=None, tolerance=1e-4):
    """The conditions of Karush, Kuhn and Tucker, relative to the penalty."""
    pull, intercept_pull = pulls(
        model, X, y, margin, np.ones(len(X)) if weights is None else weights
    )
    assert abs(intercept_pull) <= tolerance * alpha
    assert (np.abs(pull) <= alpha * (1 + tolerance)).all()
    is_used = model.coef_ != 0
    np.testing.assert_allclose(
        pull[is_used], -alpha * np.sign(model.coef_[is_used]), atol=tolerance * alpha
    )


problems = st.tuples(
    st.integers(5, 60),
    st.integers(1, 80),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 3.0, 100.0]),
)


@given(
    problem=problems,
    share=st.sampled_from([0.9, 0.3, 0.03, 0.003]),
    margin=st.sampled_from([0.0, 0.3, 5.0]),
)
def test_solutions_fulfil_the_optimality_conditions(problem, share, margin):
    X, y = mixed_problem(*problem)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X)) + 1e-3
    largest = L1IntervalRegression(alpha=1e9, margin=margin).fit(X, y, weights).alpha_max_
    if largest < 1e-9:
        return
    model = L1IntervalRegression(alpha=share * largest, margin=margin, tol=1e-12).fit(X, y, weights)
    assert_optimal(model, X, y, alpha=share * largest, margin=margin, weights=weights)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_no_other_solver_finds_a_lower_objective(seed, margin):
    X, y = mixed_problem(30, 4, seed)
    Z = StandardScaler().fit_transform(X)
    alpha = 0.1

    def objective(parameters):
        # Weights are differences of two parts that are not negative, which makes the penalty
        # linear.
        up, down, intercept = parameters[:4], parameters[4:8], parameters[8]
        prediction = Z @ (up - down) + intercept
        return hinge_loss(y, prediction, margin=margin).mean() / 2 + alpha * (up + down).sum()

    bounds = [(0, None)] * 8 + [(None, None)]
    other = minimize(
        objective,
        np.zeros(9),
        bounds=bounds,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    model = L1IntervalRegression(alpha=alpha, margin=margin, tol=1e-12).fit(X, y)
    ours = (
        hinge_loss(y, model.predict(X), margin=margin).mean() / 2
        + alpha * np.abs(model.coef_ * X.std(axis=0)).sum()
    )
    assert ours <= other.fun + 1e-10
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), other.x[:4] - other.x[4:8], atol=1e-4)


def test_for_uncensored_targets_it_is_the_lasso():
    X, _ = mixed_problem(50, 8, 0)
    y = X[:, 0] - 2 * X[:, 1] + np.random.default_rng(1).normal(size=50)
    scaler = StandardScaler().fit(X)
    lasso = Lasso(alpha=0.2, tol=1e-12, max_iter=100_000).fit(scaler.transform(X), y)
    model = L1IntervalRegression(alpha=0.2, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(model.coef_ * scaler.scale_, lasso.coef_, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), lasso.predict(scaler.transform(X)), atol=1e-7)


def test_weights_vanish_exactly_from_the_largest_penalty_on():
    X, y = mixed_problem(60, 10, 0)
    largest = L1IntervalRegression(alpha=1.0).fit(X, y).alpha_max_
    assert not L1IntervalRegression(alpha=largest).fit(X, y).coef_.any()
    assert L1IntervalRegression(alpha=0.99 * largest).fit(X, y).coef_.any()


def test_the_path_goes_from_the_largest_penalty_to_the_given_one():
    X, y = mixed_problem(60, 10, 0)
    model = L1IntervalRegression(alpha=0.01).fit(X, y)
    np.testing.assert_allclose([model.alphas_[0], model.alphas_[-1]], [model.alpha_max_, 0.01])
    assert not model.coef_path_[0].any()
    np.testing.assert_array_equal(model.coef_path_[-1], model.coef_)
    assert model.intercept_path_[-1] == model.intercept_
    assert (model.dual_gaps_ <= 1e-8).all()
    assert len(model.alphas_) <= model.n_iter_ < 10 * len(model.alphas_)


def test_badly_scaled_features_give_the_same_predictions():
    X, y = mixed_problem(60, 6, 0)
    units, offsets = 10.0 ** np.array([-150, -9, 0, 4, 9, 150]), np.array([0, 1, 1e6, -1e9, 0, 0])
    model = L1IntervalRegression(alpha=0.05, tol=1e-12).fit(X, y)
    other = L1IntervalRegression(alpha=0.05, tol=1e-12).fit(X * units + offsets * units, y)
    np.testing.assert_allclose(
        other.predict(X * units + offsets * units), model.predict(X), atol=1e-5
    )


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-100), (0.0, 1e100)])
def test_offset_and_unit_of_the_target_carry_over(shift, scale):
    X, y = mixed_problem(60, 6, 0)
    model = L1IntervalRegression(alpha=0.05, margin=0.1).fit(X, y)
    other = L1IntervalRegression(alpha=0.05 * scale, margin=0.1 * scale).fit(X, (y + shift) * scale)
    np.testing.assert_allclose(other.predict(X) / scale - shift, model.predict(X), atol=1e-5)


def test_constant_features_get_no_weight():
    X, y = mixed_problem(40, 3, 0)
    X = np.column_stack([X, np.full(40, 0.1), np.zeros(40), np.full(40, 1e300)])
    model = L1IntervalRegression(alpha=0.01).fit(X, y)
    assert model.coef_[:3].all()
    assert not model.coef_[3:].any()


@pytest.mark.parametrize("cell", [5e-324, 1e-310, -5e-324])
def test_features_whose_deviation_vanishes_get_no_weight(cell):
    X, y = mixed_problem(40, 2, seed=3)
    tiny = np.zeros((40, 1))
    tiny[7] = cell
    model = L1IntervalRegression(alpha=0.01).fit(np.hstack([X, tiny]), y)
    assert model.coef_[2] == 0
    np.testing.assert_array_equal(
        model.predict(np.hstack([X, tiny])), L1IntervalRegression(alpha=0.01).fit(X, y).predict(X)
    )


@pytest.mark.parametrize("unit", [1e-290, 1.7e308])
def test_the_smallest_and_largest_features_are_fitted(unit):
    X, y = mixed_problem(60, 2, seed=1)
    X /= np.abs(X).max(axis=0)
    expected = L1IntervalRegression(alpha=0.01).fit(X, y).predict(X)
    np.testing.assert_allclose(
        L1IntervalRegression(alpha=0.01).fit(X * unit, y).predict(X * unit), expected, rtol=1e-6
    )


def test_a_feature_too_small_for_a_finite_weight_is_refused():
    X, y = mixed_problem(60, 2, seed=1)
    with pytest.raises(
        ValueError, match=r"X: column 1 has a standard deviation of 8e-291, too small .* Rescale it"
    ):
        L1IntervalRegression(alpha=1e98).fit(X * [1.0, 1e-290], y * 1e100)


@pytest.mark.parametrize("side", [0, 1])
def test_targets_censored_on_one_side_are_met_by_a_constant(side):
    X, y = mixed_problem(20, 3, 0)
    y = np.sort(np.where(np.isfinite(y), y, 0.0), axis=1)
    y[:, side] = [-inf, inf][side]
    for model in (L1IntervalRegression(alpha=0.1), IntervalSearchCV(L1IntervalRegression(), cv=3)):
        model.fit(X, y)
        assert not model.coef_.any()
        np.testing.assert_allclose(
            model.intercept_, y[:, 1].min() if side == 0 else y[:, 0].max(), rtol=1e-12
        )


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
def test_rows_without_limits_and_rows_of_no_weight_change_nothing():
    X, y = mixed_problem(40, 5, 0)
    more_X = np.vstack([X, 100 + X[:10]])
    open_rows, strange_rows = np.tile([-inf, inf], (10, 1)), np.full((10, 2), 1e6)
    model = L1IntervalRegression(alpha=0.05).fit(X, y)
    with_open = L1IntervalRegression(alpha=0.05).fit(more_X, np.vstack([y, open_rows]))
    weights = np.repeat([1.0, 0.0], [40, 10])
    with_absent = L1IntervalRegression(alpha=0.05).fit(
        more_X, np.vstack([y, strange_rows]), weights
    )
    np.testing.assert_array_equal(with_open.coef_, model.coef_)
    np.testing.assert_array_equal(with_absent.coef_, model.coef_)


def test_too_few_rounds_warn():
    X, y = mixed_problem(40, 10, 0, 10.0)
    with pytest.warns(ConvergenceWarning, match="duality gap .* above tol=1e-12"):
        L1IntervalRegression(alpha=1e-4, max_iter=1, tol=1e-12).fit(X, y)


def test_a_penalty_below_rounding_ends_early_and_warns():
    X, y = mixed_problem(30, 5, 0)
    model = L1IntervalRegression(alpha=1e-17, tol=1e-13)
    with pytest.warns(
        ConvergenceWarning, match=r"above tol=1e-13, after \d+ rounds .* Rounding hides"
    ):
        model.fit(X, y)
    assert model.n_iter_ < 10 * len(model.alphas_)
    assert 1e-13 < model.dual_gaps_.max() < 1e-4


BALANCED = [
    (
        [[2], [0], [0], [2], [0], [1], [0], [1], [2], [0]],
        [
            (-1, 1),
            (0, 2),
            (-1, 1),
            (-2, 0),
            (-1, inf),
            (-2, 0),
            (-3, -1),
            (-1, 1),
            (-1, 1),
            (-3, -1),
        ],
    ),
    ([[0], [1], [2]] * 4, [0] * 6 + [1] * 6),
    ([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, [0, 1, 1, 0] * 5),
    (np.repeat([[0.1], [0.3], [0.7]], 200, axis=0) + 1e6, np.tile([0.1, 0.8], 300) - 1e6),
]


@pytest.mark.parametrize(("X", "y"), BALANCED)
def test_features_that_do_not_go_with_the_target_get_no_weight(X, y):
    for alpha in (1.0, 1e-20):
        model = L1IntervalRegression(alpha=alpha).fit(X, y)
        assert model.alpha_max_ == 0
        assert not model.coef_.any()
    search = IntervalSearchCV(L1IntervalRegression(), {"alpha": 20}, cv=3).fit(X, y)
    assert not search.best_estimator_.coef_path_.any()
    assert search.best_estimator_.n_iter_ == 0


@given(
    rows=st.lists(
        st.tuples(*[st.integers(0, 3)] * 2, st.integers(-3, 3), st.integers(0, 2)),
        min_size=5,
        max_size=30,
    ),
    one_sided=st.sets(st.integers(0, 29), max_size=5),
)
def test_small_integers_take_few_rounds(rows, one_sided):
    X, lower, width = np.split(np.array(rows, dtype=float), [2, 3], axis=1)
    y = np.column_stack([lower, lower + width])
    y[[row for row in one_sided if row < len(y)], 1] = inf
    search = IntervalSearchCV(L1IntervalRegression(max_iter=20), {"alpha": 10}, cv=3).fit(
        X, y
    )  # else it would warn
    assert np.isfinite([*search.coef_, search.intercept_]).all()


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200])
def test_targets_whose_squares_vanish_are_fitted(scale):
    y = np.tile([0.0, scale], 5)
    for model in (
        L1IntervalRegression(),
        IntervalSearchCV(L1IntervalRegression(), cv=3, scoring="neg_interval_mean_absolute_error"),
    ):
        prediction = model.fit(np.arange(10.0)[:, None], y).predict([[0.0], [9.0]])
        assert ((prediction >= 0) & (prediction <= scale)).all()


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_features_that_are_not_finite_are_refused_with_advice(bad):
    X, y = mixed_problem(20, 3, 0)
    X[4, 1] = bad
    with pytest.raises(
        ValueError, match=r"X: NaN or infinity in 1 of 60 .*row 4, column 1.* MaxMarginIntervalTree"
    ):
        IntervalSearchCV(L1IntervalRegression()).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha: expected a finite number > 0, got 0.0"),
        ({"alpha": "auto"}, TypeError, "alpha: expected a finite number > 0, got 'auto'"),
        ({"tol": -1.0}, ValueError, "tol: "),
        ({"max_iter": 2.5}, TypeError, "max_iter: expected an integer"),
        ({"margin": -1.0}, ValueError, "margin: "),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        L1IntervalRegression(**parameters).fit(*mixed_problem(20, 3, 0))


def test_cross_validation_finds_the_one_feature_that_matters():
    X, y = make_linear(random_state=0)
    X_test, y_test = make_linear(random_state=1)
    least, simplest = (
        IntervalSearchCV(L1IntervalRegression(), {"alpha": 30}, selection=rule).fit(X, y)
        for rule in ("min", "1se")
    )
    assert least.score(X_test, y_test) > 0.9
    assert simplest.best_params_["alpha"] >= least.best_params_["alpha"]
    assert np.count_nonzero(simplest.coef_) < np.count_nonzero(least.coef_)
    assert np.abs(simplest.coef_).argmax() == 0
    assert least.best_score_ == least.cv_results_["mean_test_score"].max()


def test_penalties_go_from_the_largest_of_all_rows_down_to_a_thousandth_of_it():
    X, y = mixed_problem(60, 4, 0)
    search = IntervalSearchCV(L1IntervalRegression(), {"margin": [0.0, 0.5], "alpha": 7}, cv=3).fit(
        X, y
    )
    alphas = search.cv_results_["param_alpha"].reshape(2, 7)
    for margin, tried in zip([0.0, 0.5], alphas, strict=True):
        largest = L1IntervalRegression(alpha=1.0, margin=margin).fit(X, y).alpha_max_
        np.testing.assert_allclose(tried, np.geomspace(largest, largest * 1e-3, 7))


def test_cross_validation_scores_what_a_fit_on_the_fold_predicts():
    X, y = mixed_problem(45, 4, 0)
    groups = np.arange(45) % 3
    search = IntervalSearchCV(
        L1IntervalRegression(tol=1e-12), {"alpha": [0.01, 0.1], "margin": [0.2]}, cv=GroupKFold(3)
    )
    search.fit(X, y, groups=groups)
    np.testing.assert_array_equal(search.cv_results_["param_alpha"], [0.1, 0.01])
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, groups=groups)):
        for place, alpha in enumerate([0.1, 0.01]):
            model = L1IntervalRegression(alpha=alpha, margin=0.2, tol=1e-12).fit(X[train], y[train])
            error = hinge_loss(y[test], model.predict(X[test])).mean()
            np.testing.assert_allclose(
                search.cv_results_[f"split{fold}_test_score"][place], -error, rtol=1e-4
            )
    whole = L1IntervalRegression(**search.best_params_, tol=1e-12).fit(X, y)
    np.testing.assert_array_equal(search.coef_, whole.coef_)


def sparse_problem(n, p, seed, share=0.2):
    """A problem with many zeros; one column has none, another is constant, and one is empty."""
    X, y = mixed_problem(n, p, seed)
    rng = np.random.default_rng(seed)
    X[rng.uniform(size=X.shape) > share] = 0.0
    X[:, -1] = rng.normal(size=n) + 1e6
    X[:, -2], X[:, -3] = 0.0, 7.0
    return X, y


@given(
    problem=st.tuples(st.integers(5, 60), st.integers(4, 40), st.integers(0, 10**6)),
    share=st.sampled_from([0.9, 0.3, 0.03]),
    kind=st.sampled_from(
        [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]
    ),
)
@settings(max_examples=25)
def test_sparse_features_give_the_model_of_dense_ones(problem, share, kind):
    X, y = sparse_problem(*problem)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X)) + 1e-3
    largest = L1IntervalRegression(alpha=1e9).fit(X, y, weights).alpha_max_
    if largest < 1e-9:
        return
    model = L1IntervalRegression(alpha=share * largest, tol=1e-11).fit(X, y, weights)
    other = L1IntervalRegression(alpha=share * largest, tol=1e-11).fit(kind(X), y, weights)
    np.testing.assert_allclose(other.alpha_max_, model.alpha_max_, rtol=1e-8)
    np.testing.assert_allclose(other.predict(kind(X)), model.predict(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other.predict(X), other.predict(kind(X)), atol=1e-8)
    assert_optimal(other, X, y, alpha=share * largest, weights=weights)


@given(problem=st.tuples(st.integers(3, 30), st.integers(4, 20), st.integers(0, 10**6)))
def test_products_with_sparse_features_are_those_with_dense_ones(problem):
    X, _ = sparse_problem(*problem)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.1, 1.0, len(X))
    weight /= weight.sum()
    (dense, found), (thin, same) = (
        standardise(features, weight) for features in (X, sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(same.mean, found.mean, rtol=1e-12)
    np.testing.assert_allclose(same.deviation, found.deviation, rtol=1e-7)
    columns = np.flatnonzero(rng.uniform(size=X.shape[1]) < 0.6)
    weights, terms, active = (
        rng.normal(size=len(columns)),
        rng.normal(size=len(X)),
        rng.integers(0, 2, len(X)) * weight,
    )
    tolerance = {"rtol": 1e-7, "atol": 1e-7}
    np.testing.assert_allclose(
        thin.combine(columns, weights), dense.combine(columns, weights), **tolerance
    )
    np.testing.assert_allclose(thin.pull(terms), dense.pull(terms), **tolerance)
    np.testing.assert_allclose(thin.reach(np.abs(terms)), dense.reach(np.abs(terms)), **tolerance)
    np.testing.assert_allclose(thin.gram(columns, active), dense.gram(columns, active), **tolerance)


def test_a_search_over_sparse_features_chooses_as_over_dense_ones(tmp_path):
    X, y = sparse_problem(80, 10, 0)
    search = IntervalSearchCV(L1IntervalRegression(), {"alpha": 20}, cv=3).fit(X, y)
    other = IntervalSearchCV(
        L1IntervalRegression(), {"alpha": 20}, cv=3, checkpoint=tmp_path / "journal"
    ).fit(sparse.csc_array(X), y)
    assert other.best_index_ == search.best_index_
    np.testing.assert_allclose(
        other.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-5
    )
    with pytest.raises(ValueError, match="X"):
        IntervalSearchCV(
            L1IntervalRegression(), {"alpha": 20}, cv=3, checkpoint=tmp_path / "journal"
        ).fit(sparse.csc_array(2 * X), y)


def test_sparse_features_are_never_made_dense(monkeypatch):
    n, p, n_entries = 100_000, 40_000, 400_000
    rng = np.random.default_rng(0)
    places = rng.integers(n, size=n_entries), rng.integers(p, size=n_entries)
    X = sparse.coo_array(
        (rng.normal(size=n_entries), places), shape=(n, p)
    ).tocsr()  # 32 GB if it were dense
    y = X @ np.repeat([5.0, 0.0], [50, p - 50]) + rng.normal(size=n) / 10
    for kind in (sparse.csr_array, sparse.csc_array):
        make_dense = kind.toarray

        def check(matrix, *args, make_dense=make_dense, **kwargs):
            assert max(matrix.shape) < 1000
            return make_dense(matrix, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", check)
    model = L1IntervalRegression(alpha=0.005, tol=1e-5).fit(X, y)
    assert set(np.flatnonzero(model.coef_)) == set(range(50))


def test_nan_among_sparse_entries_is_told_with_its_place():
    X = sparse.csr_array(([1.0, nan], ([0, 2], [1, 3])), shape=(3, 4))
    with pytest.raises(
        ValueError, match=r"X: NaN or infinity .*\(first: row 2, column 3, value nan\)"
    ):
        L1IntervalRegression().fit(X, [0.0, 1.0, 2.0])
