"""Inputs chosen to break things: extreme numbers, odd containers, degenerate shapes, absurd parameters."""

from math import inf, nan

import numpy as np
import pytest
from scipy import sparse

from marginwood import (
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalTree,
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
    optimal_costs,
)
from strategies import LOSSES, crossing_order

METRICS = [
    interval_accuracy,
    interval_d2_score,
    interval_hinge_loss,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    interval_pinball_loss,
]

both_losses = pytest.mark.parametrize("loss", LOSSES)


def wave(n=60):
    """Intervals of finite width around a wave of the first of two features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(n, 2))
    centre = 3 * np.sin(X[:, 0]) + rng.normal(scale=0.3, size=n)
    return X, np.column_stack([centre - rng.exponential(size=n), centre + rng.exponential(size=n)])


def fitted(loss, X, y, sample_weight=None, **options):
    return MaxMarginIntervalTree(loss=loss, **{"margin": 0.2, **options}).fit(X, y, sample_weight)


def assert_same_tree(tree, other):
    """The same rules and, up to rounding, the same predictions."""
    for field in ("children_left", "feature", "threshold"):
        np.testing.assert_array_equal(getattr(tree.tree_, field), getattr(other.tree_, field))
    for field in ("value", "value_low", "value_high"):
        np.testing.assert_allclose(
            getattr(tree.tree_, field), getattr(other.tree_, field), rtol=1e-12
        )


@both_losses
@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-9, 1e9, 1e300])
def test_the_unit_of_the_weights_changes_no_rule(loss, weight):
    X, y = wave()
    weighted = fitted(loss, X, y, np.full(len(y), weight))
    assert_same_tree(weighted, fitted(loss, X, y))
    assert weighted.tree_.weighted_n_node_samples[0] == pytest.approx(len(y) * weight)


@both_losses
@pytest.mark.parametrize("light", [1e-14, 1e-30, 1e-290])
def test_weights_a_world_apart_cost_what_the_heavy_rows_cost(loss, light):
    X, y = wave()
    is_heavy = np.arange(len(y)) % 2 == 0
    mixed = fitted(loss, X, y, np.where(is_heavy, 1.0, light), max_depth=2)
    heavy = fitted(loss, X[is_heavy], y[is_heavy], max_depth=2)
    np.testing.assert_allclose(mixed.tree_.impurity, heavy.tree_.impurity, rtol=1e-9)


@both_losses
def test_rows_too_light_for_any_sum_count_as_absent(loss):
    X, y = wave()
    is_heavy = np.arange(len(y)) % 2 == 0
    mixed = fitted(loss, X, y, np.where(is_heavy, 1e300, 1e-300))
    assert_same_tree(mixed, fitted(loss, X[is_heavy], y[is_heavy]))


def test_weights_whose_sum_overflows_are_refused():
    X, y = wave()
    with pytest.raises(ValueError, match=r"sample_weight: the sum .* Divide"):
        MaxMarginIntervalTree().fit(X, y, np.full(len(y), 1.7e308))
    with pytest.raises(ValueError, match=r"sample_weight: the sum .* Divide"):
        interval_mean_squared_error(y, y[:, 0], sample_weight=np.full(len(y), 1.7e308))


@both_losses
def test_one_row_of_positive_weight_makes_one_leaf_of_its_middle(loss):
    X, y = wave()
    weights = np.zeros(len(y))
    weights[7] = 2.0
    tree = fitted(loss, X, y, weights, min_samples_leaf=0.5)
    assert tree.tree_.n_node_samples.tolist() == [1]
    np.testing.assert_allclose(tree.predict(X), y[7].mean())


@both_losses
def test_the_largest_limits_are_fitted_and_scored(loss):
    X, _ = wave()
    y = np.sign(X[:, 0]) * 1e150
    tree = fitted(loss, X, y)
    np.testing.assert_array_equal(tree.predict(X), y)
    assert tree.score(X, y) == 1
    assert np.isfinite(tree.tree_.impurity).all()
    assert np.isfinite(tree.feature_importances_).all()


@pytest.mark.parametrize("exponent", [-170, 340])
def test_a_search_scores_targets_of_every_unit_alike(exponent):
    X, y = wave()
    search, same = (
        IntervalSearchCV(MaxMarginIntervalTree(), cv=3, selection="1se").fit(X, target)
        for target in (y, np.ldexp(y, exponent))
    )
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(
            np.ldexp(same.cv_results_[name], -2 * exponent), search.cv_results_[name], rtol=1e-9
        )
    np.testing.assert_allclose(np.ldexp(same.predict(X), -exponent), search.predict(X), rtol=1e-9)


def test_a_linear_search_by_one_standard_error_takes_targets_whose_squared_errors_have_no_square():
    X, y = wave()
    large = IntervalSearchCV(L1IntervalRegression(), {"alpha": 10}, selection="1se").fit(
        X, np.ldexp(y, 340)
    )
    small = IntervalSearchCV(L1IntervalRegression(), {"alpha": 10}, selection="1se").fit(X, y)
    np.testing.assert_allclose(np.ldexp(large.predict(X), -340), small.predict(X), rtol=1e-6)


@both_losses
def test_stages_that_overshoot_to_infinity_are_refused_beside_open_ends(loss):
    X, y = wave()
    y[::2, 1], y[1::2, 0] = inf, -inf
    with pytest.raises(ValueError, match="learning_rate: "):
        MaxMarginIntervalBoosting(loss=loss, learning_rate=1e308).fit(X, y)


@both_losses
def test_boosting_takes_the_largest_limits(loss):
    X, _ = wave()
    y = np.sign(X[:, 0]) * 1e150
    model = MaxMarginIntervalBoosting(loss=loss, learning_rate=1.0, subsample=1.0, random_state=0)
    np.testing.assert_allclose(model.fit(X, y).predict(X), y)


@pytest.mark.parametrize("margin", [100.0, 1e9, 1e149])
def test_a_margin_beyond_every_interval_leaves_the_linear_cost_the_same_everywhere(margin):
    # Between all upper and all lower breakpoints the cost is constant: no split lowers it.
    X, y = wave()
    tree = fitted("linear_hinge", X, y, margin=margin)
    assert tree.get_n_leaves() == 1
    assert tree.tree_.impurity[0] == pytest.approx(2 * margin * len(y) - np.diff(y).sum())


def test_a_margin_beyond_every_interval_makes_the_squared_prediction_a_mean():
    X, y = wave()
    tree = fitted("squared_hinge", X, y, margin=100.0)
    np.testing.assert_allclose(tree.predict(X), y.mean(axis=1))


@both_losses
@pytest.mark.parametrize("outlier", [1e6, 1e12, 1e30, 1e100])
def test_rows_beside_a_split_off_outlier_are_fitted_as_without_it(loss, outlier):
    X, y = wave(200)
    alone = fitted(loss, X, y, margin=0.0, max_depth=6)
    X_more, y_more = np.vstack([X, [[10.0, 0.0]]]), np.vstack([y, [[outlier, outlier]]])
    together = fitted(loss, X_more, y_more, margin=0.0, max_depth=7)
    assert together.predict(X_more)[-1] == outlier
    assert together.get_n_leaves() == alone.get_n_leaves() + 1
    np.testing.assert_allclose(together.predict(X), alone.predict(X), rtol=1e-12)


@both_losses
@pytest.mark.parametrize("far", [1e6, 1e12, 1e30, 1e149])
def test_an_end_too_far_to_matter_splits_as_an_open_end(loss, far):
    X, y = wave(200)
    y[::3, 1] = inf
    y[1::3, 0] = -inf
    open_ends = fitted(loss, X, y, max_depth=4, min_samples_leaf=10)
    far_ends = fitted(loss, X, np.clip(y, -far, far), max_depth=4, min_samples_leaf=10)
    assert open_ends.get_n_leaves() > 8
    np.testing.assert_array_equal(far_ends.tree_.threshold, open_ends.tree_.threshold)
    np.testing.assert_allclose(
        far_ends.tree_.impurity, open_ends.tree_.impurity, rtol=1e-9, atol=1e-12
    )


@both_losses
@pytest.mark.parametrize("far", [1e9, 1e30])
@pytest.mark.parametrize(
    "ends", [crossing_order(20, 30), np.array([[0.0, inf], [1.0, inf], [5.0, inf], [1.0, 3.0]])]
)
def test_an_end_too_far_to_matter_changes_no_prefix(loss, far, ends):
    ends = np.vstack([np.tile([-inf, inf], (3, 1)), ends])
    open_costs = optimal_costs(*ends.T, loss=loss).costs
    far_costs = optimal_costs(*np.clip(ends, -far, far).T, loss=loss).costs
    np.testing.assert_allclose(far_costs, open_costs, rtol=1e-9, atol=1e-9)


@both_losses
def test_a_hundred_thousand_copies_make_the_tree_of_one(loss):
    X, y = wave(50)
    many = fitted(loss, np.tile(X, (2000, 1)), np.tile(y, (2000, 1)), min_samples_leaf=2000)
    one = fitted(loss, X, y)
    np.testing.assert_allclose(many.predict(X), one.predict(X), rtol=1e-9)
    assert many.tree_.n_node_samples[0] == 100_000


def as_read_only(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@both_losses
@pytest.mark.parametrize(
    "convert",
    [
        as_read_only,
        np.asfortranarray,
        lambda array: np.repeat(array, 2, axis=0)[::2],
        lambda array: array[::-1][::-1],
        lambda array: array.astype(object),
        lambda array: array.astype(">f8"),
        lambda array: array.astype(np.longdouble),
        lambda array: array.tolist(),
    ],
    ids=[
        "read-only",
        "fortran",
        "strided",
        "reversed twice",
        "object",
        "big endian",
        "long double",
        "list",
    ],
)
def test_the_container_changes_nothing(loss, convert):
    X, y = wave()
    converted = fitted(loss, convert(X), convert(y), convert(np.ones(len(y))))
    assert_same_tree(converted, fitted(loss, X, y))
    np.testing.assert_array_equal(converted.predict(convert(X)), converted.predict(X))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32])
def test_narrow_types_are_read_as_the_numbers_they_hold(dtype):
    X, y = wave()
    narrow = np.abs(X).astype(dtype)
    assert_same_tree(fitted(LOSSES[1], narrow, y), fitted(LOSSES[1], narrow.astype(np.float64), y))


def test_frames_give_names_and_missing_values():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = wave()
    X[::5, 1] = nan
    expected = fitted(LOSSES[1], X, y)
    columns = {"a": X[:, 0], "b": [None if np.isnan(value) else value for value in X[:, 1]]}
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        tree = fitted(LOSSES[1], frame, y)
        assert_same_tree(tree, expected)
        assert tree.feature_names_in_.tolist() == ["a", "b"]
        with pytest.raises(ValueError, match="feature names"):
            tree.predict(frame[["b", "a"]])


@both_losses
def test_columns_that_cannot_be_split_are_passed_over(loss):
    X, y = wave()
    useless = [np.full(len(y), value) for value in (nan, inf, -inf, 0.0)]
    tree = fitted(loss, np.column_stack([*useless, X]), y)
    assert set(tree.tree_.feature[tree.tree_.children_left != -1]) <= {4, 5}
    np.testing.assert_array_equal(
        tree.predict(np.column_stack([*useless, X])), fitted(loss, X, y).predict(X)
    )


@both_losses
def test_two_rows_of_nothing_but_nan_make_one_leaf(loss):
    tree = fitted(loss, np.full((2, 3), nan), [[0.0, 1.0], [4.0, 5.0]], margin=0.0)
    assert tree.predict(np.full((1, 3), nan)).tolist() == [2.5]
    assert tree.get_n_leaves() == 1


@both_losses
def test_a_column_of_two_infinities_is_split_between_them(loss):
    X = np.array([[-inf], [inf], [-inf], [inf]])
    tree = fitted(loss, X, [0.0, 9.0, 0.0, 9.0])
    assert tree.predict(X).tolist() == [0.0, 9.0, 0.0, 9.0]


@both_losses
@pytest.mark.parametrize(
    ("options", "n_leaves"),
    [
        ({"max_leaf_nodes": 2}, 2),
        ({"min_samples_leaf": 61}, 1),
        ({"min_samples_leaf": 10**30}, 1),
        ({"min_samples_split": 10**30}, 1),
        ({"min_samples_leaf": 1.0}, 1),
        ({"min_impurity_decrease": 1e308}, 1),
        ({"ccp_alpha": inf}, 1),
        ({"max_depth": 10**30, "max_leaf_nodes": 10**30}, None),
        ({"max_depth": np.int8(100), "min_samples_leaf": np.uint8(1)}, None),
        ({"min_impurity_decrease": 5e-324}, None),
        ({"max_features": 99}, None),
    ],
)
def test_absurd_parameters_mean_what_they_say(loss, options, n_leaves):
    X, y = wave()
    expected = fitted(loss, X, y).get_n_leaves() if n_leaves is None else n_leaves
    assert fitted(loss, X, y, **options).get_n_leaves() == expected


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_leaf_nodes": 1}, ValueError),
        ({"max_depth": 0}, ValueError),
        ({"max_depth": 2.5}, TypeError),
        ({"max_depth": True}, TypeError),
        ({"min_samples_leaf": nan}, ValueError),
        ({"min_samples_leaf": 0}, ValueError),
        ({"min_samples_split": 1}, ValueError),
        ({"min_samples_split": "2"}, TypeError),
        ({"min_impurity_decrease": -1.0}, ValueError),
        ({"min_impurity_decrease": inf}, ValueError),
        ({"ccp_alpha": nan}, ValueError),
        ({"max_features": "all"}, ValueError),
        ({"max_features": 0.0}, ValueError),
        ({"margin": "0.2"}, TypeError),
        ({"margin": nan}, ValueError),
        ({"loss": None}, ValueError),
        ({"loss": ["linear_hinge"]}, ValueError),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named_and_shown(options, error):
    X, y = wave()
    (name, value), *_ = options.items()
    with pytest.raises(error, match=rf"^{name}: .*got ") as caught:
        MaxMarginIntervalTree(**options).fit(X, y)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("convert", "error", "message"),
    [
        (sparse.csr_matrix, TypeError, "[Ss]parse"),
        (lambda X: X[:, :0], ValueError, "0 feature"),
        (lambda X: X[:0], ValueError, "0 sample"),
        (lambda X: X[:, 0], ValueError, "2D array"),
        (lambda X: X[:, :, None], ValueError, "dim 3"),
        (lambda X: X + 1j, ValueError, "Complex"),
        (
            lambda X: X.astype(str).astype(object) + "?",
            ValueError,
            "X: expected numbers, got text in columns 0, 1 .* categorical_features",
        ),
        (lambda X: X[:-1], ValueError, "X and y: .*59 in X, 60 in y"),
    ],
    ids=["sparse", "no columns", "no rows", "1-D", "3-D", "complex", "words", "short"],
)
def test_features_that_are_no_matrix_of_numbers_are_refused(convert, error, message):
    X, y = wave()
    with pytest.raises(error, match=message):
        MaxMarginIntervalTree().fit(convert(X), y)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_refuse_what_is_no_prediction_per_row(metric):
    _, y = wave()
    for prediction in (np.full(len(y), nan), np.full(len(y), inf), y, y[:-1, 0], y[:, :1]):
        with pytest.raises(ValueError, match="y_pred: "):
            metric(y, prediction)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_do_not_depend_on_the_unit_of_the_weights(metric):
    _, y = wave()
    weights = np.random.default_rng(1).exponential(size=len(y))
    expected = metric(y, y[:, 1] + 1, sample_weight=weights)
    for unit in (1e-300, 1e300):
        assert metric(y, y[:, 1] + 1, sample_weight=weights * unit) == pytest.approx(expected)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_are_finite_at_the_largest_limits(metric):
    y = np.array([[-1e150, -1e150], [1e150, 1e150], [-inf, inf]])
    assert np.isfinite(metric(y, [1e150, -1e150, 0.0]))


@both_losses
def test_prefixes_of_the_largest_limits_and_weights_are_priced(loss):
    costs, values, _ = optimal_costs([-1e150, 1e150], [-1e150, 1e150], loss=loss)
    np.testing.assert_allclose(costs, [0.0, 2e150 if loss == "linear_hinge" else 2e300])
    assert values.tolist() == [-1e150, 0.0]
    costs, values, _ = optimal_costs(
        [0.0, 1.0], [0.0, 1.0], loss=loss, sample_weight=[1e307, 1e307]
    )
    np.testing.assert_allclose(costs, [0.0, 1e307 if loss == "linear_hinge" else 5e306])
    assert values.tolist() == [0.0, 0.5]


@pytest.mark.parametrize("share", [1e-5, 1e-6, 1e-7])
def test_a_light_row_far_away_is_split_off_by_the_lowest_of_equal_features(share):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, values, weights = (
            rng.normal(size=(300, 3)),
            rng.normal(size=300),
            rng.uniform(0.1, 1.0, size=300),
        )
        X[0], values[0], weights[0] = 10.0, -1 / share, share * weights.sum()
        tree = fitted(
            "squared_hinge", X, np.repeat(values[:, None], 2, axis=1), weights, max_depth=1
        )
        assert (tree.tree_.feature[0], tree.tree_.n_node_samples[2]) == (0, 1)
