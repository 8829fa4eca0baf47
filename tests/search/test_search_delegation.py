"""What the best estimator has, its search has."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from searches import every_search, make_problem, make_search


@pytest.mark.parametrize("name", ["forest", "out of bag", "boosting"])
def test_an_ensemble_is_read_through_its_search(name):
    X, y = make_problem()
    search = make_search(name)
    for method in ("apply", "predict"):
        with pytest.raises(NotFittedError):
            getattr(search, method)(X)
    search.fit(X, y)
    best = search.best_estimator_
    np.testing.assert_array_equal(search.apply(X), best.apply(X))
    np.testing.assert_array_equal(search.feature_importances_, best.feature_importances_)
    assert search.estimators_ is best.estimators_
    if name == "boosting":
        np.testing.assert_array_equal(list(search.staged_predict(X)), list(best.staged_predict(X)))
    else:
        assert not hasattr(search, "staged_predict")


@pytest.mark.parametrize("name", ["tree", "cart", "transformation"])
def test_a_tree_is_read_through_its_search(name):
    X, y = make_problem()
    search = make_search(name).fit(X, y)
    assert search.tree_ is search.best_estimator_.tree_
    np.testing.assert_array_equal(search.apply(X), search.best_estimator_.apply(X))
    assert search.get_n_leaves() == search.best_estimator_.get_n_leaves()
    assert not hasattr(search, "estimators_")
    assert not hasattr(search, "staged_predict")


def test_a_linear_model_is_read_through_its_search():
    X, y = make_problem()
    search = make_search("linear").fit(X, y)
    np.testing.assert_array_equal(search.coef_, search.best_estimator_.coef_)
    assert search.intercept_ == search.best_estimator_.intercept_
    for name in ("apply", "staged_predict", "estimators_", "feature_importances_"):
        assert not hasattr(search, name)


@every_search
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_names_of_columns_reach_the_best_estimator_and_its_trees(name, frame):
    X, y = make_problem()
    X = frame(dict(zip(["age", "dose", "mass"], X.T, strict=True)))
    search = make_search(name).fit(X, y)
    for model in (search, search.best_estimator_, *getattr(search, "estimators_", [])):
        assert model.feature_names_in_.tolist() == ["age", "dose", "mass"]
    np.testing.assert_array_equal(search.best_estimator_.predict(X), search.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        search.predict(X[["mass", "dose", "age"]])
