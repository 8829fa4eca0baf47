"""The self-tuning tree against cross-validation written out: grow, prune and predict with every subtree."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import CensoringStratifiedKFold, MaxMarginIntervalTree, MaxMarginIntervalTreeCV, export_text
from marginwood._tuning.search import candidate_alphas, make_surface, select, surface_levels
from marginwood.datasets import make_absolute, make_sine
from marginwood.metrics import SCORERS, interval_d2_score, interval_mean_absolute_error, interval_mean_squared_error
from marginwood.model_selection import margin_grid


@parametrize_with_checks(
    [MaxMarginIntervalTreeCV(losses=["squared_hinge"], n_margins=2, cv=2)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def mean_interval_width(tree, X, y, sample_weight=None):
    """A scorer that looks at more than predictions: the leaves' optimal intervals, and the size of the tree."""
    low, high = np.clip(tree.predict_optimal_interval(X), -3, 3).T
    return np.average(low - high, weights=sample_weight) - 0.1 * tree.get_n_leaves() + len(y)


def literal_scores(model, X, y, splits, sample_weight=None):
    """Rows of loss, margin, alpha, leaves on all data, and a score per fold."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    scorer = SCORERS.get(model.scoring, model.scoring) if isinstance(model.scoring, str) else model.scoring
    margins = margin_grid(y, model.n_margins) if model.margins == "auto" else model.margins
    rows = []
    for loss in model.losses:
        for margin in margins:
            tree = MaxMarginIntervalTree(loss=loss, margin=margin, max_depth=model.max_depth)
            alphas = tree.cost_complexity_pruning_path(X, y, weight).ccp_alphas
            candidates = [np.sqrt(left * right) for left, right in pairwise(alphas)] + [np.inf]
            for alpha in candidates:
                pruned = clone(tree).set_params(ccp_alpha=alpha)
                scores = []
                for train, test in splits:
                    pruned.fit(X[train], y[train], weight[train])
                    scores.append(scorer(pruned, X[test], y[test], sample_weight=weight[test]))
                rows.append((loss, margin, alpha, pruned.fit(X, y, weight).get_n_leaves(), scores))
    return rows


@pytest.mark.parametrize(
    ("scoring", "weighted"),
    [
        ("neg_interval_mean_squared_error", False),
        ("neg_interval_mean_squared_error", True),
        ("neg_interval_mean_absolute_error", True),
        ("interval_accuracy", True),
        ("interval_d2", False),
        (make_scorer(interval_d2_score), True),
        (mean_interval_width, True),
    ],
)
def test_all_scores_are_those_of_cross_validation_written_out(scoring, weighted):
    X, y = make_sine(36, 2, random_state=0)
    X[::9, 0] = np.nan
    weight = np.random.default_rng(0).uniform(0.2, 3, size=36) if weighted else None
    model = MaxMarginIntervalTreeCV(n_margins=3, cv=3, scoring=scoring, max_depth=4).fit(X, y, weight)
    splits = list(CensoringStratifiedKFold(3).split(X, y))
    rows = literal_scores(model, X, y, splits, weight)
    results = model.cv_results_
    assert results["param_loss"].tolist() == [row[0] for row in rows]
    assert results["param_margin"].tolist() == [row[1] for row in rows]
    np.testing.assert_allclose(results["param_ccp_alpha"], [row[2] for row in rows])
    assert results["n_leaves"].tolist() == [row[3] for row in rows]
    scores = np.array([row[4] for row in rows])
    for fold in range(3):
        np.testing.assert_allclose(results[f"split{fold}_test_score"], scores[:, fold], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(results["std_test_score"], scores.std(axis=1), rtol=1e-7, atol=1e-9)
    best = scores.mean(axis=1).max()
    tied = [row for row in rows if np.mean(row[4]) >= best - 1e-10 * abs(best)]
    assert model.best_estimator_.get_n_leaves() == min(row[3] for row in tied)
    assert model.best_score_ == pytest.approx(best)


def test_the_best_tree_is_the_tree_of_its_parameters():
    X, y = make_absolute(80, 3, random_state=0)
    model = MaxMarginIntervalTreeCV(n_margins=4, max_depth=5, min_samples_leaf=3).fit(X, y)
    tree = MaxMarginIntervalTree(**model.best_params_, max_depth=5, min_samples_leaf=3).fit(X, y)
    assert (tree.tree_.nodes == model.best_estimator_.tree_.nodes).all()
    np.testing.assert_array_equal(model.predict(X), tree.predict(X))
    assert model.score(X, y) == tree.score(X, y)
    index = model.best_index_
    assert model.cv_results_["n_leaves"][index] == tree.get_n_leaves()
    assert model.cv_results_["mean_test_score"][index] == model.best_score_
    assert model.cv_results_["rank_test_score"][index] == 1


def test_drawn_features_are_the_same_in_the_search_and_in_the_best_tree():
    X, y = make_sine(60, 6, random_state=0)
    parameters = {"n_margins": 3, "max_features": 2, "cv": 3, "random_state": 7}
    model = MaxMarginIntervalTreeCV(**parameters).fit(X, y)
    assert model.best_estimator_.get_n_leaves() == model.cv_results_["n_leaves"][model.best_index_]
    again = MaxMarginIntervalTreeCV(**parameters).fit(X, y)
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_the_number_of_threads_changes_nothing(n_jobs):
    X, y = make_sine(70, 3, random_state=0)
    one = MaxMarginIntervalTreeCV(n_margins=5).fit(X, y)
    many = MaxMarginIntervalTreeCV(n_margins=5, n_jobs=n_jobs).fit(X, y)
    for name, column in one.cv_results_.items():
        np.testing.assert_array_equal(many.cv_results_[name], column)
    assert many.best_params_ == one.best_params_


def table_of(means, n_leaves, std=0.0):
    means = np.array(means, dtype=float)
    return {"mean_test_score": means, "std_test_score": np.full(len(means), std), "n_leaves": np.array(n_leaves)}


def test_ties_go_to_the_smaller_tree():
    assert select(table_of([-1, -0.5, -0.5, -2], [2, 9, 4, 1]), 5, "min") == 2
    rounding = -0.5 * (1 + 1e-14)
    assert select(table_of([-1, -0.5, rounding, -2], [2, 9, 4, 1]), 5, "min") == 2


def test_one_standard_error_takes_the_smallest_tree_within_it():
    # Over 5 folds the standard error is std / sqrt(4): the deviation in the table divides by n, not by n - 1.
    results = table_of([-1.0, -0.5, -0.69, -0.71, -0.6], [2, 9, 4, 1, 4], std=0.4)
    assert select(results, 5, "min") == 1
    assert select(results, 5, "1se") == 4


def test_a_score_that_is_not_a_number_is_never_chosen():
    assert select(table_of([np.nan, -3, -2], [1, 2, 3]), 2, "min") == 2


@pytest.mark.parametrize("selection", ["min", "1se"])
def test_without_any_score_the_smallest_tree_is_chosen(selection):
    assert select(table_of([np.nan] * 3, [3, 1, 2], std=np.nan), 5, selection) == 1


def test_one_standard_error_takes_the_smallest_tree_of_a_search():
    X, y = make_absolute(100, 3, random_state=2)
    least = MaxMarginIntervalTreeCV(n_margins=5).fit(X, y)
    smallest = clone(least).set_params(selection="1se").fit(X, y)
    results = least.cv_results_
    error = np.std([results[f"split{k}_test_score"][least.best_index_] for k in range(5)], ddof=1) / np.sqrt(5)
    good = results["mean_test_score"] >= least.best_score_ - error - 1e-12
    assert smallest.best_estimator_.get_n_leaves() == results["n_leaves"][good].min()
    assert smallest.best_estimator_.get_n_leaves() < least.best_estimator_.get_n_leaves()


def test_candidates_lie_between_neighbouring_alphas():
    np.testing.assert_allclose(candidate_alphas(np.array([0.0, 1.0, 4.0, 9.0])), [0, 2, 6, np.inf])
    assert candidate_alphas(np.zeros(1)).tolist() == [np.inf]
    assert candidate_alphas(np.array([0.0, 1e-200, 1e200]))[1] == pytest.approx(1.0)


def test_a_surface_shows_the_nearest_candidate_of_each_margin_the_best_of_ties_and_the_chosen_one():
    margin = np.array([0.0, 0, 0, 0, 0, 1, 1])
    alpha = np.array([0.0, 1, 1, 1, np.inf, 0.5, np.inf])
    score = np.array([-3.0, np.nan, -2, -1, -4, -5, -6])
    levels, nobody = surface_levels(alpha), np.zeros(7, dtype=bool)
    assert levels.tolist() == [0, 0.5, 1, np.inf]
    surface = make_surface(margin, alpha, score, nobody, levels)
    assert surface.candidates.tolist() == [[0, 3, 3, 4], [5, 5, 5, 6]]
    assert surface.chosen is None
    chosen = make_surface(margin, alpha, score, np.arange(7) == 2, levels)
    assert chosen.candidates.tolist() == [[0, 3, 2, 4], [5, 5, 5, 6]]
    assert chosen.chosen == (0, 2)
    near = make_surface(margin, alpha, score, nobody, levels, reach=1e-9)
    assert near.candidates.tolist() == [[0, -1, 3, 4], [-1, 5, -1, 6]]


def test_a_surface_of_many_alphas_keeps_both_ends_and_subnormal_numbers():
    alpha = np.concatenate([[0.0, np.inf], np.geomspace(5e-324, 1e300, 500)])
    levels = surface_levels(alpha)
    assert len(levels) <= 42
    assert levels[[0, 1, -2, -1]].tolist() == [0, 5e-324, 1e300, np.inf]
    surface = make_surface(np.zeros(502), alpha, -alpha, alpha == 5e-324, levels)
    np.testing.assert_array_equal(alpha[surface.candidates[0, [0, 1, -2, -1]]], levels[[0, 1, -2, -1]])


def test_groups_reach_the_splitter():
    X, y = make_sine(60, 2, random_state=0)
    groups = np.arange(60) // 10
    by_group = MaxMarginIntervalTreeCV(n_margins=2, cv=GroupKFold(3)).fit(X, y, groups=groups)
    listed = MaxMarginIntervalTreeCV(n_margins=2, cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(by_group.cv_results_["mean_test_score"], listed.cv_results_["mean_test_score"])
    assert MaxMarginIntervalTreeCV(n_margins=2, cv=LeaveOneGroupOut()).fit(X, y, groups=groups).n_splits_ == 6


def test_folds_may_be_masks():
    X, y = make_sine(40, 2, random_state=0)
    splits = [(train, test) for train, test in KFold(2).split(X)]
    masks = [tuple(np.isin(np.arange(40), part) for part in split) for split in splits]
    models = [MaxMarginIntervalTreeCV(n_margins=2, cv=cv).fit(X, y) for cv in (splits, masks)]
    assert models[0].best_score_ == models[1].best_score_


def test_rows_of_weight_zero_count_as_absent():
    X, y = make_sine(50, 2, random_state=0)
    weight = np.random.default_rng(0).integers(0, 3, size=50).astype(float)
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    place = np.cumsum(weight > 0) - 1
    kept = [tuple(place[part[weight[part] > 0]] for part in split) for split in splits]
    with_zeros = MaxMarginIntervalTreeCV(n_margins=3, cv=splits).fit(X, y, weight)
    without = MaxMarginIntervalTreeCV(n_margins=3, cv=kept, margins=with_zeros.margins_)
    without.fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    np.testing.assert_array_equal(with_zeros.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(with_zeros.predict(X), without.predict(X))


def test_nested_cross_validation_is_one_line():
    X, y = make_sine(150, 2, random_state=0)
    model = make_pipeline(StandardScaler(), MaxMarginIntervalTreeCV(n_margins=3, cv=3))
    scores = cross_val_score(model, X, y, cv=CensoringStratifiedKFold(3))
    assert scores.shape == (3,)
    assert (scores > 0.5).all()


def test_names_of_features_reach_the_best_tree():
    pandas = pytest.importorskip("pandas")
    X, y = make_sine(40, 2, random_state=0)
    frame = pandas.DataFrame(X, columns=["signal", "noise"])
    model = MaxMarginIntervalTreeCV(n_margins=2, cv=2).fit(frame, y)
    assert model.best_estimator_.feature_names_in_.tolist() == ["signal", "noise"]
    np.testing.assert_array_equal(model.best_estimator_.predict(frame), model.predict(frame))


def test_uninformative_rows_are_warned_about_once():
    X, y = make_sine(40, 2, random_state=0)
    y[7] = -np.inf, np.inf
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MaxMarginIntervalTreeCV(n_margins=2, cv=2).fit(X, y)
    assert len([warning for warning in caught if "say nothing" in str(warning.message)]) == 1


def test_a_target_without_any_split_gives_the_root():
    model = MaxMarginIntervalTreeCV(cv=2).fit(np.arange(6.0)[:, None], np.full(6, 2.5))
    assert model.margins_.tolist() == [0.0]
    assert model.best_estimator_.get_n_leaves() == 1
    assert model.predict([[0.0]]).tolist() == [2.5]


def test_the_grid_of_margins_goes_from_the_smallest_gap_to_the_range():
    inf = np.inf
    grid = margin_grid([(0.0, 0.5), (-inf, 8.0), (3.0, inf), (8.0, 8.0)], 9)
    assert grid[0] == 0
    assert grid[1] == pytest.approx(0.5)
    assert grid[-1] == pytest.approx(8.0)
    np.testing.assert_allclose(np.diff(np.log(grid[1:])), np.log(16) / 7)
    assert len(grid) == 9


def test_a_tiny_gap_does_not_stretch_the_grid():
    assert margin_grid([0.0, 1e-12, 10.0])[1] == pytest.approx(0.01)
    assert margin_grid([0.0, 1.0], 1).tolist() == [0.0]
    assert len(margin_grid([0.0, 1.0, 2.5])) == 21


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"losses": ["hinge"]}, "losses: accepted"),
        ({"losses": []}, "at least one"),
        ({"margins": [-1.0]}, "margins: expected a number >= 0"),
        ({"margins": []}, "at least one"),
        ({"margins": "automatic"}, "margins"),
        ({"n_margins": 0}, "n_margins"),
        ({"selection": "best"}, "selection"),
        ({"scoring": "r2"}, "scoring"),
        ({"cv": 50}, "cannot make 50 folds of n_samples=40"),
        ({"cv": []}, "cv: expected at least one fold"),
        ({"cv": [(np.arange(20), np.arange(0))]}, "cv: no test row of fold 0"),
        ({"cv": [(np.arange(0), np.arange(20))]}, "cv: no training row of fold 0"),
        ({"max_depth": 0}, "max_depth"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message):
    X, y = make_sine(40, 2, random_state=0)
    with pytest.raises(ValueError, match=message):
        MaxMarginIntervalTreeCV(**parameters).fit(X, y)


def test_the_default_score_is_the_interval_mse_of_the_paper():
    X, y = make_sine(60, 2, random_state=0)
    splits = list(KFold(2).split(X))
    for scoring, metric in (
        ("neg_interval_mean_squared_error", interval_mean_squared_error),
        ("neg_interval_mean_absolute_error", interval_mean_absolute_error),
    ):
        model = MaxMarginIntervalTreeCV(losses="linear_hinge", margins=[0.1], cv=splits, scoring=scoring).fit(X, y)
        errors = [
            metric(y[test], clone(model.best_estimator_).fit(X[train], y[train]).predict(X[test]))
            for train, test in splits
        ]
        assert model.best_score_ == pytest.approx(-np.mean(errors))


def test_the_chosen_tree_can_be_read_through_the_search():
    X, y = make_sine(random_state=0)
    search = MaxMarginIntervalTreeCV(cv=3, n_margins=2, max_depth=4).fit(X, y)
    assert export_text(search) == export_text(search.best_estimator_)
    assert search.get_n_leaves() == search.best_estimator_.get_n_leaves()
    np.testing.assert_array_equal(search.feature_importances_, search.best_estimator_.feature_importances_)


def test_a_checkpoint_of_random_trees_needs_a_seed(tmp_path):
    X, y = make_sine(random_state=0)
    search = MaxMarginIntervalTreeCV(cv=2, n_margins=2, max_features=0.5, checkpoint=tmp_path / "journal")
    with pytest.raises(ValueError, match="random_state: a checkpoint"):
        search.fit(X, y)
