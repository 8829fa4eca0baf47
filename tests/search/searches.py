"""Small searches around every kind of estimator, and what their results have in common."""

import numpy as np
import pytest
from sklearn.base import clone

from marginwood import (
    CensoredLinearRegression,
    IntervalCART,
    IntervalSearchCV,
    KernelIntervalRegression,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformationTree,
)
from marginwood._searchable import ModelPath
from marginwood.datasets import make_sine

SEARCHES = {
    "tree": IntervalSearchCV(
        MaxMarginIntervalTree(max_depth=3), {"margin": 2, "anchor": [0.0, 2.0]}, cv=3
    ),
    "forest": IntervalSearchCV(
        MaxMarginIntervalForest(6),
        {"loss": ["squared_hinge"], "margin": 2, "min_samples_leaf": [1, 5]},
        cv=3,
        random_state=0,
    ),
    "out of bag": IntervalSearchCV(
        MaxMarginIntervalForest(12),
        {"loss": ["linear_hinge"], "margin": 2, "max_features": [1, 1.0]},
        random_state=0,
    ),
    "boosting": IntervalSearchCV(
        MaxMarginIntervalBoosting(5, subsample=0.7),
        {"loss": ["squared_hinge"], "margin": 2, "max_depth": [1, 2]},
        cv=3,
        random_state=0,
    ),
    "linear": IntervalSearchCV(
        L1IntervalRegression(tol=1e-12), {"margin": [0.0, 0.2], "alpha": 6}, cv=3
    ),
    "kernel": IntervalSearchCV(
        KernelIntervalRegression(n_components=20),
        {"margin": [0.0, 0.2], "length_scale": [1.0, 2.0], "alpha": [1e-1, 1e-3, 1e-5]},
        cv=3,
        random_state=0,
    ),
    "cart": IntervalSearchCV(
        IntervalCART(max_depth=4), {"margin": [0.0, 0.2]}, cv=3, random_state=0
    ),
    "transformation": IntervalSearchCV(
        TransformationTree(min_samples_split=6, min_samples_leaf=3),
        {"significance": [0.9, 1e-6, 0.1]},
        cv=3,
    ),
    "likelihood": IntervalSearchCV(
        CensoredLinearRegression(), {"noise": ["normal", "logistic"]}, cv=3
    ),
}
FOLDED = [name for name in SEARCHES if name != "out of bag"]

every_search = pytest.mark.parametrize("name", SEARCHES)
every_folded_search = pytest.mark.parametrize("name", FOLDED)


def make_search(name, grid=(), **parameters):
    """A search of `SEARCHES` with other parameters, and with more in its grid."""
    search = clone(SEARCHES[name])
    return search.set_params(grid=search.grid | dict(grid), **parameters)


def make_problem(n=48):
    """Rows of every kind of censoring."""
    X, y = make_sine(n, 3, random_state=0)
    X[:, 1] += y[:, 0].clip(-1, 1)
    y[::7, 1] = y[::7, 0] = np.nan_to_num(y[::7, 0], neginf=0.0)
    return X, y


def parameters_of(search):
    """The parameters of every candidate, in the order of `cv_results_`."""
    columns = {
        name: column for name, column in search.cv_results_.items() if name.startswith("param_")
    }
    n_candidates = len(search.cv_results_["mean_test_score"])
    return [
        {name.removeprefix("param_"): column[[idx]].tolist()[0] for name, column in columns.items()}
        for idx in range(n_candidates)
    ]


def split_scores(search):
    """A row of scores per fold."""
    return np.array(
        [search.cv_results_[f"split{fold}_test_score"] for fold in range(search.n_splits_)]
    )


def assert_same_results(one, other):
    """The same bits, up to the predictions of the best estimator."""
    assert one.cv_results_.keys() == other.cv_results_.keys()
    for column, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, other.cv_results_[column])
    assert one.best_params_ == other.best_params_
    assert one.best_index_ == other.best_index_
    X, _ = make_problem()
    np.testing.assert_array_equal(one.best_estimator_.predict(X), other.best_estimator_.predict(X))


def looks_inside(model, X, y, sample_weight=None):
    """A scorer that looks at more than the predictions of the test rows."""
    errors = (model.predict(X) - np.clip(model.predict(X), *y.T)) ** 2
    size = sum(
        np.count_nonzero(getattr(model, name)) if name == "coef_" else len(getattr(model, name))
        for name in ("estimators_", "coef_")
        if hasattr(model, name)
    )
    if hasattr(model, "tree_"):
        size += model.tree_.n_leaves
    moved = model.predict(X + 1.0).mean()
    return -np.average(errors, weights=sample_weight) - 1e-3 * size + 1e-2 * moved


class FakePath(ModelPath):
    """Scores given in advance, as predictions of one row whose target is 0."""

    def __init__(self, errors, patience):
        super().__init__(np.arange(len(errors)), np.arange(len(errors)))
        self.errors = errors
        self.patience = patience
        self.n_predicted = 0

    def predictions(self, X):
        for error in self.errors:
            self.n_predicted += 1
            yield np.full(len(X), error)

    def model(self, _):
        return MaxMarginIntervalTree()
