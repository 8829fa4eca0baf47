"""Searches around estimators that come without a grid, and around ours with values of the user."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwood import (
    CensoredLinearRegression,
    CensoringStratifiedKFold,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood.metrics import get_scorer
from marginwood.model_selection import margin_grid
from searches import make_problem, make_search, split_scores

PIPELINE = make_pipeline(StandardScaler(), L1IntervalRegression(tol=1e-10))
GRID = {"l1intervalregression__alpha": [0.5, 0.05], "l1intervalregression__margin": [0.0, 0.2]}


def test_steps_of_a_pipeline_are_searched_as_by_scikit_learn():
    X, y = make_problem()
    scorer = get_scorer("neg_interval_mean_squared_error")
    ours = IntervalSearchCV(PIPELINE, GRID, cv=4).fit(X, y)
    other = GridSearchCV(PIPELINE, GRID, scoring=scorer, cv=CensoringStratifiedKFold(4)).fit(X, y)
    assert ours.cv_results_["params"] == other.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "split3_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], other.cv_results_[name])
    assert ours.best_params_ == other.best_params_
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    assert ours.best_estimator_[0].n_features_in_ == ours.n_features_in_ == 3


def test_a_step_may_encode_what_a_frame_holds():
    X, y = make_problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    search = IntervalSearchCV(PIPELINE, GRID, cv=3).fit(frame, y)
    assert search.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(search.predict(frame), search.best_estimator_.predict(frame))


def test_margins_of_a_step_may_be_those_of_the_targets():
    X, y = make_problem()
    grid = {"l1intervalregression__margin": 3}
    search = IntervalSearchCV(PIPELINE, grid, cv=2).fit(X, y)
    column = search.cv_results_["param_l1intervalregression__margin"]
    assert column.tolist() == margin_grid(y, 3).tolist()


def test_xgboost_is_searched_by_a_dict():
    pytest.importorskip("xgboost")
    from marginwood.xgb import XGBIntervalRegressor

    X, y = make_problem()
    booster = XGBIntervalRegressor(5, n_jobs=1, random_state=0)
    search = IntervalSearchCV(booster, {"max_depth": [1, 3]}, cv=3).fit(X, y)
    assert search.best_estimator_.max_depth == search.best_params_["max_depth"]
    scores = cross_val_score(
        search.best_estimator_,
        X,
        y,
        cv=CensoringStratifiedKFold(3),
        scoring=get_scorer("neg_interval_mean_squared_error"),
    )
    assert search.best_score_ == pytest.approx(scores.mean())


def test_a_regressor_of_scikit_learn_is_searched_where_labels_are_exact():
    X, y = make_problem()
    exact = X @ [1.0, 2.0, 0.0]
    search = IntervalSearchCV(Ridge(), {"alpha": [100.0, 1e-3]}, cv=KFold(3)).fit(X, exact)
    assert search.best_params_ == {"alpha": 1e-3}
    with pytest.raises(ValueError, match="Ridge expected exact labels, got intervals"):
        IntervalSearchCV(Ridge(), {"alpha": [1.0]}, cv=3).fit(X, y)


def test_of_equal_candidates_of_others_the_first_is_taken():
    X, y = make_problem()
    grid = {"max_iter": [200, 300, 100]}
    search = IntervalSearchCV(CensoredLinearRegression(), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"max_iter": 200}


def test_given_prunings_are_scored_as_trees_pruned_so():
    X, y = make_problem()
    alphas = [0.3, 0.0, 0.01]
    search = make_search("tree", {"ccp_alpha": alphas, "anchor": [0.0, 1.0]}).fit(X, y)
    scorer = get_scorer("neg_interval_mean_squared_error")
    for params, scores in zip(search.cv_results_["params"], split_scores(search).T, strict=True):
        tree = MaxMarginIntervalTree(max_depth=3).set_params(**params)
        folds = CensoringStratifiedKFold(3)
        np.testing.assert_allclose(scores, cross_val_score(tree, X, y, cv=folds, scoring=scorer))
    assert sorted(set(search.cv_results_["param_ccp_alpha"])) == sorted(alphas)


def test_a_seed_of_the_estimator_stays_and_the_search_gives_one_to_others():
    X, y = make_problem()
    grid = {"loss": ["squared_hinge"], "margin": [0.0]}
    own = IntervalSearchCV(MaxMarginIntervalForest(12, random_state=7), grid, random_state=1)
    assert own.fit(X, y).best_estimator_.random_state == 7
    given = IntervalSearchCV(MaxMarginIntervalForest(12), grid, random_state=7).fit(X, y)
    assert given.best_estimator_.random_state == 7
    np.testing.assert_array_equal(given.predict(X), own.predict(X))
