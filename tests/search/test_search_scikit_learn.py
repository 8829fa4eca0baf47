"""Searches among the tools of scikit-learn."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CensoringStratifiedKFold,
    IntervalCART,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformationTree,
)
from searches import every_folded_search, every_search, make_problem, make_search


def expected_failures(search):
    """Check -> why it cannot pass."""
    if isinstance(search.estimator, MaxMarginIntervalForest):
        return {
            "check_sample_weight_equivalence_on_dense_data": "twice as many rows are other rows to draw from"
        }
    if isinstance(search.estimator, TransformationTree):
        return {
            "check_sample_weight_equivalence_on_dense_data": "sizes of nodes count rows, not weights"
        }
    return {}


@parametrize_with_checks(
    [
        IntervalSearchCV(
            MaxMarginIntervalTree(),
            {"loss": ["squared_hinge"], "margin": 2, "anchor": [0.0, 1.0]},
            cv=2,
        ),
        IntervalSearchCV(
            MaxMarginIntervalForest(3), {"loss": ["squared_hinge"], "margin": 2}, random_state=0
        ),
        IntervalSearchCV(
            MaxMarginIntervalForest(3),
            {"loss": ["squared_hinge"], "margin": [0.0]},
            cv=2,
            random_state=0,
        ),
        IntervalSearchCV(
            MaxMarginIntervalBoosting(5, subsample=1.0, learning_rate=0.5),
            {"loss": ["squared_hinge"], "margin": 2, "max_features": [None]},
            cv=2,
        ),
        IntervalSearchCV(L1IntervalRegression(), {"alpha": 5}, cv=3),
        IntervalSearchCV(IntervalCART(), {"margin": [0.0, 0.1]}, cv=3, random_state=0),
        IntervalSearchCV(TransformationTree(), cv=3),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@every_search
def test_parameters_survive_clone_and_set_params(name):
    search = make_search(name)
    name = sorted(search.estimator.get_params())[-1]
    before = search.get_params()
    other = clone(search).set_params(cv=4, selection="1se", **{f"estimator__{name}": 7})
    assert str(clone(search).get_params()) == str(before)
    changed = {"cv": 4, "selection": "1se", f"estimator__{name}": 7, "estimator": other.estimator}
    assert str(other.get_params()) == str(before | changed)
    assert str(search.get_params()) == str(before)


@every_search
def test_nested_cross_validation_is_one_line(name):
    X, y = make_problem()
    model = make_pipeline(StandardScaler(), make_search(name))
    scores = cross_val_score(model, X, y, cv=CensoringStratifiedKFold(2))
    expected = []
    for train, test in CensoringStratifiedKFold(2).split(X, y):
        scaler = StandardScaler().fit(X[train])
        search = make_search(name).fit(scaler.transform(X[train]), y[train])
        expected.append(search.score(scaler.transform(X[test]), y[test]))
    assert scores.tolist() == expected


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@every_folded_search
@pytest.mark.usefixtures("routing")
def test_weights_and_groups_are_routed_through_a_pipeline(name):
    X, y = make_problem()
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    groups = np.arange(len(y)) % 8
    search = make_search(name, cv=GroupKFold(4)).set_fit_request(groups=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
    pipeline.fit(X, y, groups=groups, sample_weight=weight)
    alone = clone(search).fit(pipeline[0].transform(X), y, sample_weight=weight, groups=groups)
    for column, values in alone.cv_results_.items():
        np.testing.assert_array_equal(values, pipeline[-1].cv_results_[column])


@every_folded_search
@pytest.mark.usefixtures("routing")
def test_weights_and_groups_are_routed_through_nested_cross_validation(name):
    X, y = make_problem()
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    groups = np.arange(len(y)) % 8
    search = make_search(name, cv=GroupKFold(2)).set_fit_request(groups=True, sample_weight=True)
    search.set_score_request(sample_weight=True)
    found = cross_validate(
        search,
        X,
        y,
        cv=GroupKFold(2),
        params={"groups": groups, "sample_weight": weight},
        return_estimator=True,
    )
    for (train, test), score, inner in zip(
        GroupKFold(2).split(X, y, groups), found["test_score"], found["estimator"], strict=True
    ):
        alone = make_search(name, cv=GroupKFold(2)).fit(
            X[train], y[train], weight[train], groups[train]
        )
        assert score == alone.score(X[test], y[test], weight[test])
        assert inner.best_params_ == alone.best_params_
