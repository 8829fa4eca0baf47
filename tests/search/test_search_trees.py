"""The tree that tunes itself, against cross-validation written out: grow, prune and predict with every subtree."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, LeaveOneGroupOut

from marginwood import (
    CensoringStratifiedKFold,
    IntervalSearchCV,
    MaxMarginIntervalTree,
    export_text,
)
from marginwood.datasets import make_absolute, make_sine
from marginwood.losses import LOSSES
from marginwood.metrics import (
    SCORERS,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.model_selection import margin_grid


def mean_interval_width(tree, X, y, sample_weight=None):
    """A scorer that looks at more than predictions: the leaves' optimal intervals, and the size of the tree."""
    low, high = np.clip(tree.predict_optimal_interval(X), -3, 3).T
    return np.average(low - high, weights=sample_weight) - 0.1 * tree.get_n_leaves() + len(y)


def literal_scores(model, X, y, splits, sample_weight=None):
    """Rows of loss, margin, anchor, alpha, leaves on all data, and a score per fold."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    scorer = (
        SCORERS.get(model.scoring, model.scoring)
        if isinstance(model.scoring, str)
        else model.scoring
    )
    grid = model.grid
    rows = []
    for loss, margin, anchor in product(
        grid["loss"], margin_grid(y, grid["margin"]), grid["anchor"]
    ):
        tree = MaxMarginIntervalTree(
            loss=loss, margin=margin, anchor=anchor, max_depth=model.estimator.max_depth
        )
        alphas = tree.cost_complexity_pruning_path(X, y, weight).ccp_alphas
        candidates = [np.sqrt(left * right) for left, right in pairwise(alphas)] + [np.inf]
        for alpha in candidates:
            pruned = clone(tree).set_params(ccp_alpha=alpha)
            scores = []
            for train, test in splits:
                pruned.fit(X[train], y[train], weight[train])
                scores.append(scorer(pruned, X[test], y[test], sample_weight=weight[test]))
            rows.append(
                (loss, margin, anchor, alpha, pruned.fit(X, y, weight).get_n_leaves(), scores)
            )
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
    model = IntervalSearchCV(
        MaxMarginIntervalTree(max_depth=4),
        {"loss": LOSSES, "margin": 3, "anchor": [0.0, 2.0]},
        cv=3,
        scoring=scoring,
    )
    model.fit(X, y, weight)
    splits = list(CensoringStratifiedKFold(3).split(X, y))
    rows = literal_scores(model, X, y, splits, weight)
    results = model.cv_results_
    assert results["param_loss"].tolist() == [row[0] for row in rows]
    assert results["param_margin"].tolist() == [row[1] for row in rows]
    assert results["param_anchor"].tolist() == [row[2] for row in rows]
    np.testing.assert_allclose(results["param_ccp_alpha"], [row[3] for row in rows])
    assert results["n_leaves"].tolist() == [row[4] for row in rows]
    scores = np.array([row[5] for row in rows])
    for fold in range(3):
        np.testing.assert_allclose(
            results[f"split{fold}_test_score"], scores[:, fold], rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(
        results["mean_test_score"], scores.mean(axis=1), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(results["std_test_score"], scores.std(axis=1), rtol=1e-7, atol=1e-9)
    best = scores.mean(axis=1).max()
    tied = [row for row in rows if np.mean(row[5]) >= best - 1e-10 * abs(best)]
    assert model.best_estimator_.get_n_leaves() == min(row[4] for row in tied)
    assert model.best_score_ == pytest.approx(best)


def test_the_best_tree_is_the_tree_of_its_parameters():
    X, y = make_absolute(80, 3, random_state=0)
    model = IntervalSearchCV(
        MaxMarginIntervalTree(max_depth=5, min_samples_leaf=3), {"margin": 4}
    ).fit(X, y)
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
    tree = MaxMarginIntervalTree(max_features=2)
    model = IntervalSearchCV(tree, {"margin": 3}, cv=3, random_state=7).fit(X, y)
    assert model.best_estimator_.get_n_leaves() == model.cv_results_["n_leaves"][model.best_index_]
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )


def test_one_standard_error_takes_the_smallest_tree_of_a_search():
    X, y = make_absolute(100, 3, random_state=2)
    least = IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 5}).fit(X, y)
    smallest = clone(least).set_params(selection="1se").fit(X, y)
    results = least.cv_results_
    error = np.std(
        [results[f"split{k}_test_score"][least.best_index_] for k in range(5)], ddof=1
    ) / np.sqrt(5)
    good = results["mean_test_score"] >= least.best_score_ - error - 1e-12
    assert smallest.best_estimator_.get_n_leaves() == results["n_leaves"][good].min()
    assert smallest.best_estimator_.get_n_leaves() < least.best_estimator_.get_n_leaves()


def test_a_fold_may_be_a_group():
    X, y = make_sine(60, 2, random_state=0)
    search = IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=LeaveOneGroupOut()).fit(
        X, y, groups=np.arange(60) // 10
    )
    assert search.n_splits_ == 6


def test_folds_may_be_masks():
    X, y = make_sine(40, 2, random_state=0)
    splits = [(train, test) for train, test in KFold(2).split(X)]
    masks = [tuple(np.isin(np.arange(40), part) for part in split) for split in splits]
    models = [
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=cv).fit(X, y)
        for cv in (splits, masks)
    ]
    assert models[0].best_score_ == models[1].best_score_


def test_uninformative_rows_are_warned_about_once():
    X, y = make_sine(40, 2, random_state=0)
    y[7] = -np.inf, np.inf
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 2}, cv=2).fit(X, y)
    assert (
        len([warning for warning in caught if "carry no information" in str(warning.message)]) == 1
    )


def test_a_target_without_any_split_gives_the_root():
    model = IntervalSearchCV(MaxMarginIntervalTree(), {"anchor": [0.0]}, cv=2).fit(
        np.arange(6.0)[:, None], np.full(6, 2.5)
    )
    assert model.cv_results_["param_margin"].tolist() == [0.0]
    assert model.best_estimator_.get_n_leaves() == 1
    assert model.predict([[0.0]]).tolist() == [2.5]


def test_the_default_score_is_the_interval_mse_of_the_paper():
    X, y = make_sine(60, 2, random_state=0)
    splits = list(KFold(2).split(X))
    for scoring, metric in (
        ("neg_interval_mean_squared_error", interval_mean_squared_error),
        ("neg_interval_mean_absolute_error", interval_mean_absolute_error),
    ):
        model = IntervalSearchCV(
            MaxMarginIntervalTree(),
            {"loss": ["linear_hinge"], "margin": [0.1]},
            cv=splits,
            scoring=scoring,
        ).fit(X, y)
        errors = [
            metric(y[test], clone(model.best_estimator_).fit(X[train], y[train]).predict(X[test]))
            for train, test in splits
        ]
        assert model.best_score_ == pytest.approx(-np.mean(errors))


def test_the_chosen_tree_can_be_read_through_the_search():
    X, y = make_sine(random_state=0)
    search = IntervalSearchCV(MaxMarginIntervalTree(max_depth=4), {"margin": 2}, cv=3).fit(X, y)
    assert export_text(search) == export_text(search.best_estimator_)
    assert search.get_n_leaves() == search.best_estimator_.get_n_leaves()
    np.testing.assert_array_equal(
        search.feature_importances_, search.best_estimator_.feature_importances_
    )


def test_a_checkpoint_of_random_trees_needs_a_seed(tmp_path):
    X, y = make_sine(random_state=0)
    search = IntervalSearchCV(
        MaxMarginIntervalTree(max_features=0.5),
        {"margin": 2},
        cv=2,
        checkpoint=tmp_path / "journal",
    )
    with pytest.raises(ValueError, match="random_state: a checkpoint"):
        search.fit(X, y)
