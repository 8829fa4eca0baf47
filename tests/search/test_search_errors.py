"""What searches refuse."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from marginwood import (
    CensoredLinearRegression,
    IntervalSearchCV,
    MaxMarginIntervalTree,
)
from searches import FOLDED, SEARCHES, every_search, make_problem, make_search


@pytest.mark.parametrize(
    ("name", "grid", "error", "message"),
    [
        (
            "forest",
            {"depth": [3]},
            ValueError,
            "grid: expected names among .*max_depth.*, got 'depth'",
        ),
        (
            "likelihood",
            {"depth": [3]},
            ValueError,
            "grid: expected names among .*noise.*, got 'depth'",
        ),
        ("forest", {"n_jobs": [1, 2]}, ValueError, "grid: .*got 'n_jobs'"),
        ("boosting", {"n_iter_no_change": [1, 2]}, ValueError, "grid: .*got 'n_iter_no_change'"),
        ("forest", {"random_state": [1, 2]}, ValueError, "grid: .*got 'random_state'"),
        (
            "forest",
            {"max_depth": []},
            ValueError,
            r"grid: expected a list of .* max_depth, got \[\]",
        ),
        ("forest", {"max_depth": 3}, ValueError, "grid: expected a list of .* max_depth, got 3"),
        ("forest", {"max_features": "sqrt"}, ValueError, "grid: expected a list .*, got 'sqrt'"),
        ("tree", {"anchor": 3}, ValueError, "grid: expected a list .* anchor, or 'auto', got 3"),
        ("linear", {"alpha": 0.5}, ValueError, "grid: .*alpha, or 'auto', or how many, got 0.5"),
        ("linear", {"alpha": 1}, ValueError, "grid: alpha: expected an integer >= 2, got 1"),
        ("linear", {"alpha": "many"}, ValueError, "grid: .* or how many, got 'many'"),
        ("linear", {"alpha": []}, ValueError, "grid: expected a list"),
        (
            "linear",
            {"alpha": [0.1, -1.0]},
            ValueError,
            "alpha: expected a finite number > 0, got -1.0",
        ),
        ("kernel", {"alpha": [0.1, -1.0]}, ValueError, "alpha: expected a number >= .*, got -1.0"),
        ("forest", {"min_samples_leaf": [1, 0]}, ValueError, "min_samples_leaf: expected"),
        (
            "out of bag",
            {"bootstrap": [True, False]},
            ValueError,
            "cv: there are no out-of-bag rows",
        ),
        (
            "boosting",
            {"n_estimators": [0]},
            ValueError,
            "n_estimators: expected an integer >= 1, got 0",
        ),
        ("boosting", {"n_estimators": [2.5]}, TypeError, "n_estimators: expected an integer >= 1"),
        ("transformation", {"significance": [0.5, 1.5]}, ValueError, "significance: .*, got 1.5"),
        ("transformation", {"significance": "many"}, ValueError, "grid: expected a list"),
        ("tree", {"loss": ["hinge"]}, ValueError, "loss: expected one of .*, got 'hinge'"),
        ("tree", {"anchor": [0.0, -1.0]}, ValueError, "anchor: expected a number >= 0, got -1.0"),
        ("tree", {"ccp_alpha": [-1.0]}, ValueError, "ccp_alpha: expected a number >= 0, got -1.0"),
        ("cart", {"max_depth": [0]}, ValueError, "max_depth"),
    ],
    ids=str,
)
def test_a_bad_grid_is_refused_by_name(name, grid, error, message):
    X, y = make_problem()
    with pytest.raises(error, match=message):
        make_search(name, grid).fit(X, y)


@pytest.mark.parametrize("grid", [[("max_depth", [3])], 3, "automatic", None], ids=str)
def test_what_is_no_grid_is_refused(grid):
    X, y = make_problem()
    with pytest.raises(
        TypeError, match=r"grid: expected 'auto' or a dict of parameters of Max.*, got"
    ):
        IntervalSearchCV(MaxMarginIntervalTree(), grid).fit(X, y)
    for empty in ("auto", {}, grid):
        with pytest.raises(TypeError, match="grid: expected a dict of parameters of Censored"):
            IntervalSearchCV(CensoredLinearRegression(), empty).fit(X, y)


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        (
            "out of bag",
            {"bootstrap": False},
            ValueError,
            "cv: there are no out-of-bag rows without bootstrap",
        ),
        (
            "out of bag",
            {"n_estimators": 0},
            ValueError,
            "n_estimators: expected an integer >= 1, got 0",
        ),
        (
            "boosting",
            {"n_estimators": 0},
            ValueError,
            "n_estimators: expected an integer >= 1, got 0",
        ),
        (
            "boosting",
            {"n_estimators": 2.5},
            TypeError,
            "n_estimators: expected an integer >= 1, got 2.5",
        ),
        ("boosting", {"learning_rate": 0.0}, ValueError, "learning_rate: expected"),
        ("boosting", {"n_iter_no_change": 0}, ValueError, "n_iter_no_change: expected"),
        ("linear", {"tol": 0.0}, ValueError, "tol: expected"),
        ("cart", {"max_depth": 0}, ValueError, "max_depth"),
        ("tree", {"max_depth": 0}, ValueError, "max_depth: expected"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(name, parameters, error, message):
    X, y = make_problem()
    search = make_search(name)
    search.estimator.set_params(**parameters)
    with pytest.raises(error, match=message):
        search.fit(X, y)


@pytest.mark.parametrize("estimator", ["tree", MaxMarginIntervalTree, StandardScaler()])
def test_what_is_no_estimator_is_refused(estimator):
    X, y = make_problem()
    with pytest.raises(
        TypeError, match="estimator: expected an estimator with fit and predict, got"
    ):
        IntervalSearchCV(estimator).fit(X, y)


@every_search
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"selection": "best"}, "selection: expected one of 'min', '1se', got 'best'"),
        ({"scoring": "r2"}, "scoring: expected one of .*, got 'r2'"),
        ({"cv": 50}, "expected at most n_samples=48, got 50"),
        ({"cv": 1}, "n_splits: expected an integer >= 2, got 1"),
        (
            {"cv": "five"},
            "cv: expected a number of folds, a splitter or the rows of each fold, got 'five'",
        ),
        (
            {"cv": 2.5},
            "cv: expected a number of folds, a splitter or the rows of each fold, got 2.5",
        ),
        ({"cv": []}, "cv: expected at least one fold"),
        ({"cv": [(np.arange(20), np.arange(0))]}, "cv: no test row of fold 0"),
        ({"cv": [(np.arange(0), np.arange(20))]}, "cv: no training row of fold 0"),
    ],
    ids=str,
)
def test_bad_parameters_of_every_search_are_refused_by_name(name, parameters, message):
    X, y = make_problem()
    with pytest.raises(ValueError, match=message):
        make_search(name, **parameters).fit(X, y)


@pytest.mark.parametrize("name", [name for name in FOLDED if name != "forest"])
def test_only_a_forest_has_out_of_bag_rows(name):
    X, y = make_problem()
    with pytest.raises(ValueError, match=r"cv: expected a number of folds, .* got 'oob'"):
        make_search(name, cv="oob").fit(X, y)


@pytest.mark.parametrize(
    "name", [name for name in SEARCHES if name not in ("transformation", "likelihood")]
)
@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ([-1.0], "margin: expected a number >= 0"),
        ([], "grid: expected a list of values to try for margin"),
        ("automatic", "grid: .* margin, or 'auto', or how many, got 'automatic'"),
        (0, "grid: margin: expected an integer >= 2, got 0"),
    ],
    ids=str,
)
def test_bad_margins_are_refused_by_name(name, margins, message):
    X, y = make_problem()
    with pytest.raises(ValueError, match=message):
        make_search(name, {"margin": margins}).fit(X, y)
