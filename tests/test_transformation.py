"""Transformation trees: the normal model, the tests of association, the tree."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.stats import norm
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CensoringStratifiedKFold,
    IntervalSearchCV,
    TransformationTree,
    export_text,
)
from marginwood._baselines.association import association_log_p_values
from marginwood._baselines.normal import _rows, fit_normal, location_scores
from marginwood.datasets import make_linear, make_sine
from marginwood.losses import hinge_loss
from marginwood.metrics import get_scorer
from strategies import informative_intervals, one_sided_intervals, spread_weights, tree_problems


def expected_failures(estimator):
    failures = {}
    if estimator.min_samples_leaf != 1:
        failures["check_sample_weight_equivalence_on_dense_data"] = (
            "sizes of nodes count rows, not weights"
        )
    return failures


@parametrize_with_checks(
    [TransformationTree(), TransformationTree(min_samples_split=2, min_samples_leaf=1)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def log_likelihoods(intervals, mean, scale):
    return _rows(intervals, 1 / scale, mean / scale).log_likelihood


def censored_sample(n=60, seed=0):
    """Normal draws of mean 3 and scale 2, censored in every way."""
    rng = np.random.default_rng(seed)
    value, sides = rng.normal(3, 2, n), rng.exponential(size=(2, n))
    y = np.column_stack([value - sides[0], value + sides[1]])
    kind = rng.integers(5, size=n)
    y[kind == 0, 0] = -inf
    y[kind == 1, 1] = inf
    y[kind == 2] = value[kind == 2, None]
    y[kind == 3, 1] = y[kind == 3, 0] + 1e-9
    return y, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((1.5, 1.5), norm.logpdf(1.5, 1, 2)),
        ((0.0, 3.0), np.log(norm.cdf(3, 1, 2) - norm.cdf(0, 1, 2))),
        ((2.0, inf), norm.logsf(2, 1, 2)),
        ((-inf, 2.0), norm.logcdf(2, 1, 2)),
        ((2.0, 2.0 + 1e-9), norm.logpdf(2, 1, 2) + np.log((2 + 1e-9) - 2)),
        ((60.0, inf), norm.logsf(60, 1, 2)),
        (
            (60.0, 62.0),
            norm.logsf(60, 1, 2) + np.log1p(-np.exp(norm.logsf(62, 1, 2) - norm.logsf(60, 1, 2))),
        ),
    ],
)
def test_log_likelihoods_of_all_kinds_of_censoring(row, expected):
    np.testing.assert_allclose(log_likelihoods(np.array([row]), 1.0, 2.0), expected, rtol=1e-9)


def test_scores_are_derivatives_of_the_log_likelihoods_in_the_mean():
    y, _ = censored_sample()
    y = np.vstack([y, [[40, inf], [-inf, -40], [40, 41], [2, 2 + 1e-4], [2, 2 + 1e-6]]])
    step = 1e-5
    slope = (log_likelihoods(y, 1 + step, 2.0) - log_likelihoods(y, 1 - step, 2.0)) / (2 * step)
    np.testing.assert_allclose(location_scores(y, 1.0, 2.0), slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_a_maximum_of_the_likelihood(seed):
    y, weight = censored_sample(seed=seed)

    def negative(parameters):
        return -weight @ log_likelihoods(y, parameters[0], np.exp(parameters[1]))

    fit = fit_normal(y, weight)
    at = np.array([fit.mean, np.log(fit.scale)])
    np.testing.assert_allclose(fit.log_likelihood, -negative(at), rtol=1e-12)
    np.testing.assert_allclose(weight @ location_scores(y, fit.mean, fit.scale), 0, atol=1e-8)
    np.testing.assert_allclose(approx_fprime(at, negative, 1e-7), 0, atol=1e-3)
    other = minimize(
        negative, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}
    )
    np.testing.assert_allclose(other.x, at, atol=1e-5)


@given(y=informative_intervals(min_size=2, max_size=20), data=st.data())
def test_the_mean_of_any_fit_is_optimal_for_its_scale(y, data):
    weight = data.draw(spread_weights(len(y)))
    informative = np.isfinite(y).any(axis=1)
    y, weight = y[informative], weight[informative]
    assume(y[:, 0].max() > y[:, 1].min())
    fit = fit_normal(y, weight)
    scores = location_scores(y, fit.mean, fit.scale)
    # A fit ends when a step gains less than 1e-9: the slope is then of the order of its root.
    assert abs(weight @ scores) <= 1e-5 * (weight @ np.abs(scores))


def test_without_censoring_the_fit_is_mean_and_standard_deviation():
    values = np.random.default_rng(0).normal(size=50)
    fit = fit_normal(np.column_stack([values, values]), np.ones(50))
    np.testing.assert_allclose([fit.mean, fit.scale], [values.mean(), values.std()], rtol=1e-9)


def test_a_likelihood_without_maximum_still_gives_a_finite_fit():
    y = np.array(
        [[1, inf]] * 5 + [[-inf, 0]] * 3
    )  # wider and wider distributions fit better and better
    fit = fit_normal(y, np.ones(8))
    np.testing.assert_allclose(fit.scale, 100)
    np.testing.assert_allclose(location_scores(y, fit.mean, fit.scale).sum(), 0, atol=1e-9)


def test_p_values_are_those_of_permutations():
    rng = np.random.default_rng(0)
    x, scores = rng.normal(size=40), rng.normal(size=40)
    scores += 0.3 * x
    found = np.exp(association_log_p_values(x[:, None], scores, np.ones(40))[0])
    permuted = np.array([x @ rng.permutation(scores) for _ in range(20_000)])
    centred = x @ scores - x.sum() * scores.mean()
    share = np.mean(np.abs(permuted - x.sum() * scores.mean()) >= abs(centred))
    assert 0.005 < share < 0.5
    np.testing.assert_allclose(found, share, rtol=0.1)


def test_p_values_are_adjusted_for_the_features_that_vary():
    rng = np.random.default_rng(0)
    x, scores, weight = (
        rng.normal(size=(40, 1)),
        rng.normal(size=40),
        rng.integers(1, 4, size=40).astype(float),
    )
    scores += x[:, 0]
    alone = association_log_p_values(x, scores, weight)[0]
    among = association_log_p_values(
        np.column_stack([x, x, np.ones(40), np.full(40, nan)]), scores, weight
    )
    np.testing.assert_allclose(among, [alone + np.log(2)] * 2 + [0, 0])
    repeated = association_log_p_values(
        *(np.repeat(a, weight.astype(int), axis=0) for a in (x, scores)), np.ones(int(weight.sum()))
    )
    np.testing.assert_allclose(repeated, alone)


def test_missing_values_are_left_out_of_a_test():
    rng = np.random.default_rng(0)
    x, scores = rng.normal(size=(40, 1)), rng.normal(size=40)
    with_missing = np.vstack([x, np.full((5, 1), nan)])
    found = association_log_p_values(with_missing, np.append(scores, np.full(5, 50.0)), np.ones(45))
    np.testing.assert_allclose(found, association_log_p_values(x, scores, np.ones(40)))


def step_problem(n=200, seed=0):
    """A step of the second of three features, with rows of every kind of censoring."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    value = np.where(X[:, 1] > 0.6, 4.0, 0.0) + rng.normal(scale=0.5, size=n)
    y = np.column_stack([value - rng.exponential(size=n), value + rng.exponential(size=n)])
    y[::5, 0], y[1::5, 1] = -inf, inf
    return X, y


def test_the_first_split_finds_the_step():
    X, y = step_problem()
    tree = TransformationTree().fit(X, y)
    assert tree.tree_.feature[0] == 1
    np.testing.assert_allclose(tree.tree_.threshold[0], 0.6, atol=0.02)
    np.testing.assert_allclose(tree.predict([[0.5, 0.1, 0.5], [0.5, 0.9, 0.5]]), [0, 4], atol=0.3)
    assert tree.score(X, y) > 0.9
    assert tree.p_values_[0] < 1e-10


def test_the_threshold_separates_the_scores_best():
    X, y = step_problem(60)
    root = TransformationTree(max_depth=1, min_samples_leaf=5, min_samples_split=10).fit(X, y).tree_
    fit = fit_normal(y, np.ones(60))
    scores = location_scores(y, fit.mean, fit.scale)
    x = X[:, root.feature[0]]

    def statistic(threshold):
        left = x <= threshold
        return (scores[left].mean() - scores[~left].mean()) ** 2 * left.sum() * (~left).sum()

    candidates = [statistic(t) for t in np.sort(x)[4:-5]]
    np.testing.assert_allclose(statistic(root.threshold[0]), max(candidates))


def test_without_signal_a_tree_is_seldom_split():
    n_split = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_split += (
            TransformationTree(significance=0.1)
            .fit(rng.normal(size=(50, 5)), rng.normal(size=50))
            .get_n_leaves()
            > 1
        )
    assert n_split <= 12  # 6 expected; more than 12 has probability 0.005


def test_a_smaller_level_of_significance_gives_a_part_of_the_tree():
    X, y = step_problem()
    large, small = (
        TransformationTree(significance=significance).fit(X, y) for significance in (0.9, 1e-8)
    )
    assert 1 < small.get_n_leaves() < large.get_n_leaves()
    assert small.get_depth() <= large.get_depth()
    # Every leaf of the larger tree lies in one leaf of the smaller.
    pairs = {(a, b) for a, b in zip(large.apply(X), small.apply(X), strict=True)}
    assert len(pairs) == large.get_n_leaves()
    assert (small.p_values_[small.tree_.children_left != -1] <= 1e-8).all()


def test_leaves_keep_their_least_size_and_depth():
    X, y = step_problem()
    tree = TransformationTree(
        significance=1.0, min_samples_leaf=15, min_samples_split=40, max_depth=3
    ).fit(X, y)
    assert np.bincount(tree.apply(X))[tree.tree_.children_left == -1].min() >= 15
    assert tree.tree_.n_node_samples[tree.tree_.children_left != -1].min() >= 40
    assert tree.get_depth() == 3


@given(y=one_sided_intervals())
def test_one_kind_of_censoring_falls_back_to_the_least_extreme_limit(y):
    tree = TransformationTree(significance=1.0, min_samples_split=2, min_samples_leaf=1).fit(
        np.arange(len(y))[:, None], y
    )
    limit = y[:, 1].min() if np.isinf(y[0, 0]) else y[:, 0].max()
    np.testing.assert_allclose(tree.predict([[0.0]]), limit, rtol=1e-12, atol=1e-12)
    assert tree.get_n_leaves() == 1


def extreme_weights(n):
    """Weights that vanish beside one another."""
    return st.lists(st.sampled_from([1e-200, 1e-6, 1.0, 1e6, 1e200]), min_size=n, max_size=n).map(
        np.array
    )


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
@given(problem=tree_problems(extreme_weights), significance=st.sampled_from([0.05, 1.0]))
def test_any_weights_give_finite_predictions_between_the_limits(problem, significance):
    X, y, weights = problem
    tree = TransformationTree(
        significance=significance, min_samples_split=2, min_samples_leaf=1
    ).fit(X, y, weights)
    limits = y[np.isfinite(y)]
    prediction = tree.predict(X)
    rounding = 1e-9 * (1 + np.abs(limits).max())
    assert (prediction >= limits.min() - rounding).all()
    assert (prediction <= limits.max() + rounding).all()
    assert np.isfinite(tree.tree_.impurity).all()


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
@given(problem=tree_problems(), significance=st.sampled_from([0.05, 1.0]))
def test_any_data_gives_finite_predictions_between_the_limits(problem, significance):
    X, y, weights = problem
    tree = TransformationTree(
        significance=significance, min_samples_split=2, min_samples_leaf=1
    ).fit(X, y, weights)
    counted = y if weights is None else y[weights > 0]
    limits = counted[np.isfinite(counted)]
    prediction = tree.predict(X)
    rounding = 1e-9 * (1 + np.abs(limits).max())
    assert (prediction >= limits.min() - rounding).all()
    assert (prediction <= limits.max() + rounding).all()
    # Leaves count the rows of positive weight that have a limit.
    kept = np.isfinite(y).any(axis=1) & (True if weights is None else weights > 0)
    counts = np.bincount(tree.apply(X)[kept], minlength=tree.tree_.node_count)
    is_leaf = tree.tree_.children_left == -1
    np.testing.assert_array_equal(counts[is_leaf], tree.tree_.n_node_samples[is_leaf])


@pytest.mark.parametrize("light", [1e-6, 1e-200])
def test_a_row_of_next_to_no_weight_leaves_the_others_as_they_are(light):
    y = np.array([[0, 0], [-inf, -1]])
    tree = TransformationTree().fit([[0.0], [1.0]], y, sample_weight=[1 / light, light])
    np.testing.assert_allclose(tree.predict([[0.0], [1.0]]), 0, atol=1e-6)
    assert np.isfinite(tree.tree_.impurity).all()
    value, step = np.random.default_rng(0).normal(size=40), np.repeat([0.0, 3.0], 20)
    heavy = TransformationTree(significance=1.0).fit(
        np.append(step, 9)[:, None],
        np.append(value + step, 50),
        sample_weight=np.append(np.ones(40), light),
    )
    assert heavy.tree_.threshold[0] == 1.5


def test_the_unit_of_a_node_does_not_change_its_leaves():
    X, y = step_problem(120)
    far = np.vstack([y * 1e-200, np.tile([1.0, 1.5], (60, 1))])
    X = np.column_stack([np.vstack([X, X[:60]]), np.repeat([0, 1], [120, 60])])
    near = TransformationTree(significance=0.5).fit(X[:120], y)
    tree = TransformationTree(significance=0.5).fit(X, far)
    assert tree.tree_.feature[0] == 3
    np.testing.assert_allclose(tree.predict(X[:120]) * 1e200, near.predict(X[:120]), rtol=1e-9)


def test_impurities_are_in_units_of_all_targets():
    x = np.repeat([0.0, 1.0], 30)[:, None]
    y = np.random.default_rng(0).normal(size=60) * np.where(x[:, 0], 1, 0.01) + 5 * x[:, 0]
    tree = TransformationTree().fit(x, y).tree_
    assert tree.node_count == 3
    units = (y - np.median(y)) / np.abs(y - np.median(y)).max()
    for node, rows in enumerate([slice(None), slice(30), slice(30, None)]):
        log_density = norm.logpdf(units[rows], units[rows].mean(), units[rows].std())
        np.testing.assert_allclose(tree.impurity[node], -log_density.sum(), rtol=1e-9)


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-100), (0.0, 1e100)])
def test_offset_and_unit_of_the_target_do_not_change_the_tree(shift, scale):
    X, y = step_problem()
    tree = TransformationTree(significance=0.5).fit(X, y)
    other = TransformationTree(significance=0.5).fit(X, (y + shift) * scale)
    np.testing.assert_array_equal(tree.tree_.feature, other.tree_.feature)
    np.testing.assert_allclose(tree.tree_.threshold, other.tree_.threshold)
    np.testing.assert_allclose(other.predict(X) / scale - shift, tree.predict(X), atol=1e-5)


def test_offset_and_unit_of_a_feature_do_not_change_the_leaves():
    X, y = step_problem()
    leaves = TransformationTree(significance=0.5).fit(X, y).apply(X)
    units = np.array([2.0**300, 2.0**-300, 1.0])
    np.testing.assert_array_equal(
        TransformationTree(significance=0.5).fit(X * units, y).apply(X * units), leaves
    )


def test_infinities_and_missing_values_in_features_are_data():
    X, y = step_problem()
    X[:, 1] = np.where(X[:, 1] < 0.1, -inf, np.where(X[:, 1] > 0.9, inf, X[:, 1]))
    high = X[:, 1] > 0.6
    X[np.flatnonzero(high)[:20], 1] = nan
    tree = TransformationTree().fit(X, y)
    np.testing.assert_allclose(
        tree.predict([[0.5, -inf, 0.5], [0.5, inf, 0.5], [0.5, nan, 0.5]]), [0, 4, 4], atol=0.6
    )


def test_a_fitted_tree_can_be_drawn():
    X, y = step_problem()
    assert "dose <= 0.596" in export_text(
        TransformationTree().fit(X, y), feature_names=["age", "dose", "mass"]
    )


@pytest.mark.parametrize("significance", [0.0, 1.5, nan])
def test_a_level_outside_0_to_1_is_refused(significance):
    with pytest.raises(ValueError, match="significance: expected a number > 0 and <= 1, got"):
        TransformationTree(significance=significance).fit(*step_problem())


def test_cross_validation_scores_what_a_fit_on_the_fold_predicts():
    X, y = step_problem(120)
    splitter = CensoringStratifiedKFold(3)
    search = IntervalSearchCV(
        TransformationTree(), {"significance": [0.9, 1e-4, 1e-30]}, cv=splitter
    ).fit(X, y)
    levels = search.cv_results_["param_significance"]
    np.testing.assert_array_equal(levels, [1e-30, 1e-4, 0.9])
    for fold, (train, test) in enumerate(splitter.split(X, y)):
        for place, level in enumerate(levels):
            tree = TransformationTree(significance=level).fit(X[train], y[train])
            error = hinge_loss(y[test], tree.predict(X[test])).mean()
            np.testing.assert_allclose(search.cv_results_[f"split{fold}_test_score"][place], -error)
    assert search.best_params_["significance"] > 1e-30
    whole = TransformationTree(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), whole.predict(X))


def test_grid_search_and_the_built_in_search_beat_a_constant_on_a_line():
    X, y = make_linear(random_state=0)
    scorer = get_scorer("interval_d2")
    search = GridSearchCV(
        TransformationTree(),
        {"significance": [1e-4, 0.05]},
        scoring=scorer,
        cv=CensoringStratifiedKFold(3),
    )
    assert search.fit(X, y).best_score_ > 0.7
    X_test, y_test = make_linear(random_state=1)
    assert (
        IntervalSearchCV(TransformationTree(), selection="1se").fit(X, y).score(X_test, y_test)
        > 0.7
    )


def test_a_leaf_has_one_value_and_no_optimal_interval():
    X, y = make_sine(random_state=0)
    model = TransformationTree().fit(X, y + 7.0)
    np.testing.assert_array_equal(model.tree_.value_low, model.tree_.nodes["value"])
    assert not hasattr(
        model, "predict_optimal_interval"
    )  # a median of a distribution minimises no cost
