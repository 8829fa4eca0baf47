"""The one reader of fitted models: through pipelines and searches, down to trees and how they add up."""

from math import inf

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from marginwood import (
    DistributionalIntervalRegressor,
    IntervalDummyRegressor,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood._base import IntervalRegressorMixin
from marginwood._fitted import Search, read, read_ensemble, read_search, read_tree
from marginwood.export import export_text, to_shap
from marginwood.metrics import get_scorer
from marginwood.report._content import describe
from pipelines import FRAME, NAMES, TARGET, encoder, fit_pipeline
from trees import ENSEMBLES, TREES, X, name_of, probes, y

MSE = get_scorer("neg_interval_mean_squared_error")


def add_up(ensemble, rows):
    """The prediction, in words of the definition."""
    combine = {"sum": np.sum, "mean": np.mean, "median": np.median}[ensemble.aggregation]
    return ensemble.init + combine([tree.predict(rows) for tree in ensemble.trees], axis=0)


MODELS = [
    *TREES,
    *ENSEMBLES,
    MaxMarginIntervalForest(7, aggregation="median", random_state=0).fit(X, y),
]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_the_trees_of_every_model_add_up_to_its_prediction(model):
    rows = probes(model)
    fitted, ensemble = read_ensemble(model)
    np.testing.assert_allclose(add_up(ensemble, rows), model.predict(rows))
    assert (fitted.own, fitted.steps) == (model, [])


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=4),
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2),
        MaxMarginIntervalForest(4, random_state=0),
        MaxMarginIntervalBoosting(4),
    ],
    ids=name_of,
)
def test_a_pipeline_is_its_steps_and_the_trees_of_its_last_step(model):
    pipeline = fit_pipeline(model)
    fitted, ensemble = read_ensemble(pipeline)
    assert fitted.own is pipeline[-1]
    assert fitted.name == f"ColumnTransformer > {name_of(model)}"
    rows = fitted.transform(FRAME)
    assert rows.shape == (120, 5)
    np.testing.assert_allclose(add_up(ensemble, rows), pipeline.predict(FRAME))
    assert fitted.feature_names() == NAMES
    assert fitted.feature_names(["a", "b", "c", "d", "e"]) == ["a", "b", "c", "d", "e"]


def test_what_a_pipeline_does_not_pass_on_is_predicted_from_rows_before_its_steps():
    pipeline = fit_pipeline(DistributionalIntervalRegressor(MaxMarginIntervalTree(max_depth=2)))
    fitted = read(pipeline)
    assert fitted.predicts("quantile")
    assert not fitted.predicts("optimal_interval")
    quantiles = pipeline[-1].predict_quantile(pipeline[:-1].transform(FRAME), [0.1, 0.9])
    np.testing.assert_array_equal(fitted.predict("quantile", FRAME, [0.1, 0.9]), quantiles)


def test_names_follow_all_steps_and_nested_pipelines():
    pipeline = make_pipeline(
        encoder(), make_pipeline(StandardScaler(), MaxMarginIntervalTree())
    ).fit(FRAME, TARGET)
    fitted, _ = read_tree(pipeline)
    assert fitted.step_names == ["ColumnTransformer", "StandardScaler"]
    assert fitted.feature_names() == NAMES
    np.testing.assert_array_equal(
        fitted.own.predict(fitted.transform(FRAME)), pipeline.predict(FRAME)
    )


def test_steps_that_hand_on_frames_name_the_features_themselves():
    pipeline = (
        make_pipeline(encoder(), MaxMarginIntervalTree())
        .set_output(transform="pandas")
        .fit(FRAME, TARGET)
    )
    assert read(pipeline).feature_names() == NAMES
    assert read(pipeline).transform(FRAME).shape == (120, 5)


def test_features_without_names_are_numbered_through_the_steps():
    fitted = read(
        make_pipeline(StandardScaler(), MaxMarginIntervalTree()).fit(np.eye(3), np.arange(3.0))
    )
    assert fitted.feature_names() == ["x[0]", "x[1]", "x[2]"]


@pytest.mark.parametrize(
    "step",
    [FunctionTransformer(np.sqrt), encoder().set_params(remainder=FunctionTransformer(np.sqrt))],
)
def test_a_step_that_knows_no_names_leaves_numbers(step):
    frame = FRAME if hasattr(step, "remainder") else FRAME[["age", "dose"]].to_numpy()
    fitted = read(make_pipeline(step, MaxMarginIntervalTree(max_depth=2)).fit(frame, TARGET))
    assert fitted.feature_names()[:2] == ["x[0]", "x[1]"]


def test_steps_that_pass_everything_through_are_none():
    frame = FRAME[["age", "dose"]]
    pipeline = Pipeline([("nothing", "passthrough"), ("tree", MaxMarginIntervalTree())]).fit(
        frame, TARGET
    )
    assert read(pipeline).steps == []
    assert read(pipeline).feature_names() == ["age", "dose"]
    assert read(pipeline).untransformed("to_sql").own is pipeline[-1]


def test_a_search_is_read_down_to_what_it_chose():
    search = IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2).fit(X, y)
    fitted = read(search)
    assert fitted.own is search
    assert fitted.estimator is search.best_estimator_
    assert fitted.search.results is search.cv_results_
    assert read(search.best_estimator_).search is None


def test_a_search_of_scikit_learn_over_a_pipeline_is_read_too():
    pipeline = make_pipeline(encoder(), MaxMarginIntervalTree())
    grid = {
        "maxmarginintervaltree__margin": [0.0, 1.0],
        "maxmarginintervaltree__max_depth": [1, 3, None],
    }
    search = GridSearchCV(pipeline, grid, scoring=MSE, cv=2).fit(FRAME, TARGET)
    fitted, tree = read_tree(search)
    assert tree is search.best_estimator_[-1].tree_
    assert fitted.feature_names() == NAMES
    tried = fitted.search
    assert tried.varied == ["margin", "max_depth"]
    assert tried.longest() == "max_depth"
    assert tried.longest("max_depth") == "margin"
    assert tried.numbers("max_depth").tolist() == [1, 3, inf, 1, 3, inf]
    assert [tried.parameters["margin"][idx] for idx in tried.beside("max_depth")] == [
        search.best_params_["maxmarginintervaltree__margin"]
    ] * 3


def test_errors_are_scores_with_the_sign_that_their_name_says():
    results = {"param_margin": np.array([0.0, 1.0]), "mean_test_score": np.array([-2.0, -3.0])}
    error = Search(results, 0, "neg_interval_mean_squared_error", 5)
    assert (error.errors.tolist(), error.is_error, error.what) == (
        [2.0, 3.0],
        True,
        "interval mean squared error",
    )
    score = Search(results, 0, "score", 5)
    assert (score.errors.tolist(), score.is_error, score.what) == ([-2.0, -3.0], False, "score")


def test_a_search_with_several_scorers_has_no_table_to_read():
    scorers = {"mse": MSE, "d2": get_scorer("interval_d2")}
    search = GridSearchCV(
        MaxMarginIntervalTree(), {"margin": [0.0]}, scoring=scorers, refit="d2", cv=2
    )
    assert read_search(search.fit(X, y)) is None


def test_what_is_not_ours_or_not_fitted_is_refused():
    with pytest.raises(
        TypeError,
        match=r"model: expected a fitted estimator of marginwood, or a pipeline.*, got str",
    ):
        read("tree")
    with pytest.raises(TypeError, match="got Pipeline that ends in LinearRegression"):
        read(make_pipeline(StandardScaler(), LinearRegression()))
    for model in (
        MaxMarginIntervalTree(),
        IntervalSearchCV(MaxMarginIntervalTree()),
        make_pipeline(MaxMarginIntervalForest()),
    ):
        with pytest.raises(NotFittedError):
            read(model)


def test_one_tree_is_asked_for_and_trees_are_asked_for_by_name():
    constant = IntervalDummyRegressor().fit(np.zeros((3, 1)), np.arange(3.0))
    with pytest.raises(
        TypeError, match="tree: expected one tree, got MaxMarginIntervalForest; pass one of its est"
    ):
        read_tree(ENSEMBLES[0])
    with pytest.raises(
        TypeError, match=r"tree: expected a fitted tree of marginwood.*got IntervalDummyRegressor"
    ):
        read_tree(constant)
    with pytest.raises(
        TypeError,
        match=r"model: expected a fitted tree.*forest or boosting.*IntervalDummyRegressor",
    ):
        read_ensemble(constant)
    assert read_tree(ENSEMBLES[0].estimators_[0])[1] is ENSEMBLES[0].estimators_[0].tree_


def test_a_form_that_predicts_from_columns_refuses_steps_that_change_them():
    with pytest.raises(
        ValueError, match=r"to_sql predicts from the columns.*\(ColumnTransformer\).*model\[-1\]"
    ):
        read(fit_pipeline(MaxMarginIntervalTree())).untransformed("to_sql")


def test_rows_are_checked_as_by_the_estimator():
    fitted = read(MaxMarginIntervalTree().fit(pd.DataFrame({"a": [0.0, 1.0]}), [0.0, 1.0]))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame({"b": [0.0]}))


class Tuned(IntervalRegressorMixin, BaseEstimator):
    """An estimator that tunes itself and that no reader has heard of: all it has are the attributes of a search."""

    def __init__(self, estimator, grid, scoring="neg_interval_mean_squared_error"):
        self.estimator = estimator
        self.grid = grid
        self.scoring = scoring

    def fit(self, X, y):
        search = GridSearchCV(
            self.estimator, self.grid, scoring=get_scorer(self.scoring), cv=2
        ).fit(X, y)
        for name in (
            "best_estimator_",
            "best_params_",
            "best_score_",
            "best_index_",
            "cv_results_",
            "n_splits_",
        ):
            setattr(self, name, getattr(search, name))
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def predict(self, X):
        return self.best_estimator_.predict(X)


@pytest.mark.parametrize(
    ("estimator", "grid", "path"),
    [
        (MaxMarginIntervalForest(5, random_state=0), {"margin": [0.0, 0.5, 2.0]}, "margin"),
        (
            MaxMarginIntervalBoosting(),
            {"margin": [0.0, 0.5], "n_estimators": [1, 2, 4, 8]},
            "n_estimators",
        ),
        (L1IntervalRegression(), {"alpha": [0.01, 0.1, 1.0]}, "alpha"),
        (MaxMarginIntervalTree(), {"ccp_alpha": [0.0, 0.1, 1.0]}, "ccp_alpha"),
    ],
    ids=lambda value: name_of(value) if hasattr(value, "fit") else "",
)
def test_an_estimator_that_tunes_itself_needs_no_registration(estimator, grid, path):
    pipeline = fit_pipeline(Tuned(estimator, grid))
    model = pipeline[-1]
    content = describe(pipeline, FRAME, TARGET)
    assert content["model"] == "ColumnTransformer > Tuned"
    assert content["curves"][-1]["x"] == path
    assert content["curves"][-1]["chosen"] == model.best_params_[path]
    assert content["curves"][-1]["y"] == "interval mean squared error"
    assert list(content["parameters"])[: len(grid)] == list(model.best_params_)
    fitted = read(pipeline)
    assert fitted.own is model
    assert fitted.estimator is model.best_estimator_
    if fitted.ensemble is not None:
        np.testing.assert_allclose(
            add_up(fitted.ensemble, fitted.transform(FRAME)), pipeline.predict(FRAME)
        )
        assert to_shap(model)["trees"]
    if fitted.tree is not None:
        assert export_text(pipeline) == export_text(model.best_estimator_, feature_names=NAMES)


def test_an_estimator_of_other_parts_than_trees_has_no_trees():
    model = Tuned(L1IntervalRegression(), {"alpha": [0.1]}).fit(
        FRAME[["age", "dose"]].to_numpy(), TARGET
    )
    model.best_estimator_.estimators_ = [model, MaxMarginIntervalTree()]
    assert read(model).ensemble is None
