"""What a report says: the dictionary behind the page, and the page as a text that no data can break out of."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwood import (
    ConformalIntervalRegressor,
    CrossFittedIntervalRegressor,
    DistributionalIntervalRegressor,
    IntervalCART,
    IntervalDummyRegressor,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformationTree,
    TransformedIntervalRegressor,
    from_events,
    interval_accuracy,
    interval_mean_absolute_error,
    interval_mean_squared_error,
    make_intervals,
)
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull
from marginwood.intervals import censoring_kind
from marginwood.losses import LOSSES, hinge_loss
from marginwood.metrics import (
    get_scorer,
    interval_concordance_index,
    interval_coverage,
    interval_log_loss,
)
from marginwood.report import _content as content_module
from marginwood.report import _trees as trees_module
from marginwood.report import _tuning as tuning_module
from marginwood.report import write_report
from marginwood.report._content import describe
from marginwood.report._page import render
from pipelines import FRAME, NAMES, TARGET, fit_pipeline

X, Y = make_sine(150, 3, random_state=0)
X_NEW, Y_NEW = make_sine(90, 3, random_state=1)
MODELS = {
    "tree": MaxMarginIntervalTree(margin=0.1, max_leaf_nodes=12),
    "tree cv": IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 4}, cv=3),
    "forest": MaxMarginIntervalForest(8, oob_score=True, random_state=0),
    "median forest": MaxMarginIntervalForest(5, aggregation="median", random_state=0),
    "boosting": MaxMarginIntervalBoosting(12, n_iter_no_change=3, random_state=0),
    "linear": L1IntervalRegression(alpha=0.01),
    "linear cv": IntervalSearchCV(L1IntervalRegression(), cv=3),
    "constant": IntervalDummyRegressor(),
    "cart": IntervalCART(random_state=0),
    "transformation": TransformationTree(),
    "transformation cv": IntervalSearchCV(TransformationTree(), cv=3),
}


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "oob_score")
        return {name: model.fit(X, Y) for name, model in MODELS.items()}


def numbers(column):
    return np.array([float(value) for value in column])


def content_of(page):
    """The content of a page, as a browser finds it."""
    (text,) = re.findall(
        r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is no JSON"))


def walk(table, values, row):
    """The way of a row through a table of the report, by what the page holds and nothing else."""
    path, at = [table["id"][0]], 0
    while table["left"][at] >= 0:
        value = float(values[str(table["feature"][at])][row])
        is_left = (
            bool(table["missing_left"][at])
            if np.isnan(value)
            else value <= float(table["threshold"][at])
        )
        at = table["left"][at] if is_left else table["right"][at]
        path.append(table["id"][at])
    return path, float(table["value"][at])


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_every_model_are_those_of_the_metrics(fitted, name):
    content = content_of(render(describe(fitted[name], X_NEW, Y_NEW) | {"title": ""}))
    prediction = fitted[name].predict(X_NEW)
    assert content["model"] == type(fitted[name]).__name__
    assert content["scores"]["d2"] == fitted[name].score(X_NEW, Y_NEW)
    assert content["scores"]["mse"][0] == interval_mean_squared_error(Y_NEW, prediction)
    assert content["scores"]["mae"][0] == interval_mean_absolute_error(Y_NEW, prediction)
    assert content["scores"]["inside"][0] == interval_accuracy(Y_NEW, prediction)
    assert numbers(content["rows"]["prediction"]).tolist() == prediction.tolist()
    assert np.array_equal(
        np.column_stack([numbers(content["rows"][end]) for end in ("lower", "upper")]), Y_NEW
    )


def test_rows_show_the_ends_that_were_meant_and_which_belong_to_them(fitted):
    closed = np.resize(["right", "left", "both", "neither"], len(X_NEW))
    y = make_intervals(np.arange(90.0), np.arange(90.0) + 3, closed=closed)
    content = describe(fitted["tree"], X_NEW, y)
    assert content["rows"]["closed"] == closed.tolist()
    assert content["rows"]["lower"] == list(range(90))
    assert content["rows"]["upper"] == list(range(3, 93))
    assert (content["target"]["low"], content["target"]["high"]) == (0, 92)


@pytest.mark.parametrize("name", ["tree", "tree cv", "transformation", "transformation cv"])
def test_rows_walk_through_the_table_as_through_the_tree(fitted, name):
    content = describe(fitted[name], X_NEW, Y_NEW)
    (table,) = content["trees"]
    paths = fitted[name].decision_path(X_NEW)
    for row, prediction in enumerate(fitted[name].predict(X_NEW)):
        path, value = walk(table, content["rows"]["values"], row)
        assert path == paths[row].indices.tolist()
        assert path[-1] == fitted[name].apply(X_NEW)[row]
        assert value == prediction


@pytest.mark.parametrize("name", ["forest", "median forest", "boosting"])
def test_trees_of_an_ensemble_give_its_predictions_and_the_end_of_its_curve(fitted, name):
    model, content = fitted[name], describe(fitted[name], X_NEW, Y_NEW)
    assert content["n_trees"] == len(content["trees"]) == len(model.estimators_)
    values = [
        [walk(table, content["rows"]["values"], row)[1] for row in range(90)]
        for table in content["trees"]
    ]
    combine = {"forest": np.mean, "median forest": np.median, "boosting": np.sum}[name]
    first = model.init_ if name == "boosting" else 0.0
    np.testing.assert_allclose(first + combine(values, axis=0), model.predict(X_NEW))
    line = content["curves"][0]["lines"][0]
    assert line["x"][-1] == len(model.estimators_)
    np.testing.assert_allclose(
        line["y"][-1], interval_mean_squared_error(Y_NEW, model.predict(X_NEW))
    )


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["bare", "in a pipeline"])
@pytest.mark.parametrize(
    ("inner", "loss"),
    [
        (MaxMarginIntervalTree(max_depth=3), "squared_hinge"),
        (MaxMarginIntervalTree(loss="linear_hinge", max_depth=3), "linear_hinge"),
        (
            IntervalSearchCV(
                MaxMarginIntervalTree(), {"loss": ["linear_hinge"], "margin": 2}, cv=2
            ),
            "linear_hinge",
        ),
        (IntervalCART(random_state=0), "squared_hinge"),
        (TransformationTree(), "squared_hinge"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_cross_fitted_trees_have_the_curve_of_the_loss_that_they_share(
    inner, loss, steps, tmp_path
):
    model = make_pipeline(*steps, CrossFittedIntervalRegressor(inner, cv=3)).fit(X, Y)
    model = model if steps else model[-1]
    (curve,) = describe(model, X_NEW, Y_NEW)["curves"]
    assert curve["y"] == tuning_module.UNITS[loss]
    np.testing.assert_allclose(
        curve["lines"][0]["y"][-1], hinge_loss(Y_NEW, model.predict(X_NEW), loss=loss).mean()
    )
    write_report(model, X_NEW, Y_NEW, tmp_path / "page.html")


def test_cross_fitted_trees_of_categories_make_a_report(tmp_path):
    frame = pd.DataFrame(
        {"x": X[:, 0], "side": pd.Categorical(np.where(X[:, 0] > 0, "right", "left"))}
    )
    model = CrossFittedIntervalRegressor(MaxMarginIntervalTree(max_depth=3)).fit(frame, Y)
    write_report(model, frame, Y, tmp_path / "page.html")
    assert describe(model, frame, Y)["n_trees"] == 0


def test_out_of_bag_errors_are_drawn_on_the_training_rows_only(fitted):
    forest = fitted["forest"]
    names = [line["name"] for line in describe(forest, X_NEW, Y_NEW)["curves"][0]["lines"]]
    assert names == ["these data"]
    _, oob = describe(forest, X, Y)["curves"][0]["lines"]
    known = ~np.isnan(forest.oob_prediction_)
    np.testing.assert_allclose(
        oob["y"][-1], interval_mean_squared_error(Y[known], forest.oob_prediction_[known])
    )


def test_boosting_shows_what_it_scored_while_it_trained(fitted):
    model = fitted["boosting"]
    lines = {
        line["name"]: line["y"] for line in describe(model, X_NEW, Y_NEW)["curves"][0]["lines"]
    }
    assert lines["training, with margin"] == model.train_score_.tolist()
    assert lines["validation, with margin"] == model.validation_score_.tolist()


def test_the_surface_holds_the_chosen_candidate_and_true_scores(fitted):
    model, surface = fitted["tree cv"], describe(fitted["tree cv"], X, Y)["surface"]
    chosen = surface["chosen"]
    (part,) = [part for part in surface["losses"] if part["loss"] == chosen["loss"]]
    row, column = chosen["row"], chosen["column"]
    assert part["margins"][row] == model.best_params_["margin"]
    assert float(part["level"][row][column]) == model.best_params_["ccp_alpha"]
    assert part["error"][row][column] == -model.best_score_
    results = model.cv_results_
    known = set(
        zip(
            results["param_ccp_alpha"],
            -results["mean_test_score"],
            results["n_leaves"],
            strict=True,
        )
    )
    for part in surface["losses"]:
        for cells in zip(part["level"], part["error"], part["leaves"], strict=True):
            assert {
                (float(alpha), error, leaves) for alpha, error, leaves in zip(*cells, strict=True)
            } <= known


def test_a_search_that_knows_only_the_root_has_neither_surface_nor_curve():
    model = IntervalSearchCV(
        MaxMarginIntervalTree(), {"loss": LOSSES, "margin": [0.0], "anchor": [0.0]}, cv=2
    )
    model.fit(np.zeros((6, 1)), np.arange(6.0))
    content = describe(model, np.zeros((6, 1)), np.arange(6.0))
    assert content["surface"] is None
    assert content["curves"] == []
    assert [row[0] for row in content["candidates"]["rows"]] == ["linear_hinge", "squared_hinge"]


def test_the_curve_of_a_pruned_tree_runs_over_the_leaves_of_the_chosen_path(fitted):
    model, (curve,) = fitted["tree cv"], describe(fitted["tree cv"], X, Y)["curves"]
    results, best = model.cv_results_, model.best_index_
    chosen = np.flatnonzero(
        (results["param_loss"] == model.best_params_["loss"])
        & (results["param_margin"] == model.best_params_["margin"])
        & (results["param_anchor"] == model.best_params_["anchor"])
    )[::-1]
    (line,) = curve["lines"]
    assert line["x"] == results["n_leaves"][chosen].tolist()
    assert line["y"] == (-results["mean_test_score"][chosen]).tolist()
    assert (curve["x"], curve["chosen"], line["name"]) == (
        "leaves",
        results["n_leaves"][best],
        "mean over 3 folds",
    )


def grid_search(model, grid):
    """A search of scikit-learn, whose table has the shape of every search."""
    search = GridSearchCV(
        model, grid, scoring=get_scorer("neg_interval_mean_squared_error"), cv=2
    ).fit(X, Y)
    search.scoring = "neg_interval_mean_squared_error"  # it takes scorers of others as objects only
    return search


def test_the_curve_of_a_search_runs_over_the_parameter_with_most_values():
    search = grid_search(
        L1IntervalRegression(), {"alpha": np.geomspace(1e-3, 1, 7), "margin": [0.0, 0.3]}
    )
    (curve,) = describe(search, X, Y)["curves"]
    results, chosen = search.cv_results_, search.best_params_
    rows = np.flatnonzero(np.asarray(results["param_margin"] == chosen["margin"]))
    assert (curve["x"], curve["y"], curve["log_x"]) == (
        "alpha",
        "interval mean squared error",
        True,
    )
    assert curve["lines"][0]["x"] == [results["param_alpha"][row] for row in rows]
    assert curve["lines"][0]["y"] == (-results["mean_test_score"][rows]).tolist()
    assert curve["chosen"] == chosen["alpha"]


def test_a_search_over_stages_has_both_curves_and_a_surface_of_the_chosen_grid():
    grid = {"n_estimators": list(range(1, 9)), "margin": [0.0, 0.2], "max_depth": [1, 3]}
    search = grid_search(MaxMarginIntervalBoosting(), grid)
    content = describe(search, X, Y)
    assert [curve["x"] for curve in content["curves"]] == ["stages", "n_estimators"]
    surface, tried = content["surface"], content["candidates"]
    (part,) = surface["losses"]
    assert (surface["level"], part["loss"], part["margins"]) == ("n_estimators", "", [0.0, 0.2])
    results = search.cv_results_
    rows = np.flatnonzero(
        np.asarray(results["param_max_depth"] == search.best_params_["max_depth"])
    )
    assert part["error"] == (-results["mean_test_score"][rows]).reshape(2, 8).tolist()
    assert (
        part["error"][surface["chosen"]["row"]][surface["chosen"]["column"]] == -search.best_score_
    )
    assert "leaves" not in part
    assert tried["names"] == ["margin", "max_depth", "n_estimators"]
    assert len(tried["rows"]) == 4  # the best number of stages for every margin and depth
    assert tried["rows"][0] == [f"{search.best_params_[name]:g}" for name in tried["names"]]
    assert tried["errors"] == sorted(tried["errors"])


def test_candidates_of_a_grid_are_listed_from_the_chosen_one_on(monkeypatch):
    grid = {"margin": [0.0, 5.0], "max_features": ["sqrt", None]}
    search = grid_search(MaxMarginIntervalForest(5, random_state=0), grid)
    content = describe(search, X, Y)
    tried, results = content["candidates"], search.cv_results_
    assert content["surface"] is None
    assert tried["names"] == ["margin", "max_features"]
    assert tried["rows"][0] == [
        f"{search.best_params_['margin']:g}",
        str(search.best_params_["max_features"]),
    ]
    assert tried["errors"][0] == -search.best_score_
    best = [
        -results["mean_test_score"][np.asarray(results["param_max_features"] == name)].max()
        for name in ("sqrt", None)
    ]
    assert tried["errors"] == sorted(best)
    monkeypatch.setattr(tuning_module, "N_CANDIDATES", 1)
    cut = describe(search, X, Y)["candidates"]
    assert (len(cut["rows"]), cut["n_more"]) == (1, 1)


@pytest.mark.parametrize("scores", [[-np.inf, -1.0, -2.0], [np.nan, np.nan, -2.0], [np.nan] * 3])
def test_scores_that_are_not_numbers_make_a_report(scores):
    search = grid_search(MaxMarginIntervalTree(), {"max_depth": [1, 2, None], "margin": [0.0]})
    search.cv_results_["mean_test_score"] = np.array(scores)
    content_of(render(describe(search, X, Y) | {"title": ""}))


def test_importances_and_weights_come_in_order_and_without_zeros(fitted):
    importances = describe(fitted["tree"], X, Y)["importances"]
    expected = fitted["tree"].feature_importances_
    assert importances["value"] == sorted(expected[expected > 0], reverse=True)
    assert [expected[feature] for feature in importances["feature"]] == importances["value"]
    weights = describe(fitted["linear"], X, Y)["importances"]
    assert weights["name"] == "weights"
    assert weights["value"] == [fitted["linear"].coef_[feature] for feature in weights["feature"]]
    assert describe(fitted["constant"], X, Y)["importances"] is None


def test_errors_by_kind_add_up_to_all(fitted):
    y = Y_NEW.copy()
    y[0], y[1] = [1.0, 1.0], [-np.inf, np.inf]
    content = describe(fitted["tree"], X_NEW, y)
    kinds = censoring_kind(y)
    assert {kind["kind"]: kind["rows"] for kind in content["kinds"]} == {
        kind: int((kinds == kind).sum())
        for kind in ("uncensored", "left", "right", "interval", "uninformative")
    }
    total = sum(kind["rows"] * kind["mse"] for kind in content["kinds"])
    np.testing.assert_allclose(total / 90, content["scores"]["mse"][0])


def warnings_of(model, X, y):
    return "\n".join(describe(model, X, y)["warnings"])


def test_uninformative_rows_one_sided_leaves_and_unused_features_are_warned_of():
    X = np.array([[0.0, 0], [1, 0], [2, 0]])
    y = np.array([[0.0, 1], [5, np.inf], [5, np.inf]])
    tree = MaxMarginIntervalTree().fit(X, y)
    found = warnings_of(tree, X[:2], [(-np.inf, np.inf), (0, 1)])
    assert "1 of 2 rows are (-inf, inf)" in found
    assert "1 of 2 leaves are one-sided" in found
    assert "splits on 1 of 2 features" in found
    assert "as many" not in found
    assert "trained on 3 rows, as many" in warnings_of(tree, X, y)
    assert (
        warnings_of(
            MaxMarginIntervalTree().fit(X[:, :1], [(0, 1), (5, 6), (5, 6)]), X[:2, :1], [(0, 1)] * 2
        )
        == ""
    )


def test_a_forest_on_its_own_rows_shows_what_it_scores_out_of_bag():
    forest = MaxMarginIntervalForest(30, oob_score=True, random_state=0).fit(X, Y)
    known = ~np.isnan(forest.oob_prediction_)
    error = interval_mean_squared_error(Y[known], forest.oob_prediction_[known])
    found = warnings_of(forest, X, Y)
    assert "trained on these intervals" in found
    assert (
        f"Out of bag, by the trees that did not draw a row, D2 is {forest.oob_score_:.4g}" in found
    )
    assert f"the interval MSE {error:.4g}." in found
    assert "trained on" not in warnings_of(forest, X_NEW, Y_NEW)
    whole = MaxMarginIntervalForest(3, bootstrap=False, random_state=0).fit(X, Y)
    assert "flatter it" in warnings_of(whole, X, Y)
    assert "Out of bag" not in warnings_of(whole, X, Y)


def test_boosting_on_as_many_rows_as_it_was_trained_on_is_warned_of():
    boosting = MaxMarginIntervalBoosting(5).fit(X, Y)
    assert "trained on 150 rows, as many as there are here" in warnings_of(boosting, X, Y)
    assert "as many" not in warnings_of(boosting, X_NEW, Y_NEW)


def test_early_and_late_predictions_are_warned_of_where_rows_are_open_and_the_remedy_is_not():
    times = from_events(np.exp(X[:, 0] / 5), np.arange(150) % 2)
    tree = MaxMarginIntervalTree(max_depth=2)
    found = warnings_of(tree.fit(X, times), X, times)
    assert "50% of the rows are open above." in found
    assert (
        "too low (early). DistributionalIntervalRegressor around it (--distribution on the command line)"
        in found
    )
    mirrored = -times[:, ::-1]
    assert "50% of the rows are open below." in warnings_of(tree.fit(X, mirrored), X, mirrored)
    seldom = from_events(np.exp(X[:, 0] / 5), np.arange(150) % 5 > 0)
    assert "are open" not in warnings_of(tree.fit(X, seldom), X, seldom)
    medians = DistributionalIntervalRegressor(tree, cv=2)
    assert "are open" not in warnings_of(medians.fit(X, times), X, times)
    assert "are open" not in warnings_of(
        TransformedIntervalRegressor(medians, func="log").fit(X, times), X, times
    )


def test_the_curves_of_rows_are_the_predicted_survival_functions(fitted):
    model = DistributionalIntervalRegressor(MODELS["tree"], cv=3).fit(X, Y)
    content = content_of(render(describe(model, X_NEW, Y_NEW) | {"title": ""}))
    times, curves = content["survival"]["times"], np.array(content["survival"]["rows"])
    np.testing.assert_allclose(curves, model.predict_survival_function(X_NEW, times), atol=5e-5)
    estimate = content["survival"]["all"]
    between = (np.array(estimate["times"][:-1]) + estimate["times"][1:]) / 2
    everyone = turnbull(Y_NEW)
    np.testing.assert_allclose(
        estimate["least"][:-1], everyone.sf(between, bound="lower"), atol=5e-5
    )
    np.testing.assert_allclose(
        estimate["greatest"][:-1], everyone.sf(between, bound="upper"), atol=5e-5
    )
    assert describe(fitted["tree"], X_NEW, Y_NEW)["survival"] is None


def test_scores_of_the_ranking_are_there_for_all_models_and_those_of_distributions_for_some(fitted):
    content = describe(fitted["linear"], X_NEW, Y_NEW)["more_scores"]
    assert [score["name"] for score in content["scores"]] == [
        "concordance index",
        "target-interval AUC",
    ]
    expected = interval_concordance_index(Y_NEW, fitted["linear"].predict(X_NEW))
    assert content["scores"][0] == {
        "name": "concordance index",
        "model": expected,
        "constant": 0.5,
        "reason": "",
    }
    scores = {
        score["name"]: score
        for score in describe(fitted["forest"], X_NEW, Y_NEW)["more_scores"]["scores"]
    }
    expected = interval_log_loss(Y_NEW, fitted["forest"].predict_distribution(X_NEW))
    assert scores["log loss"]["model"] == expected
    assert len(scores) == 6


def test_distributions_of_many_rows_are_scored_on_evenly_spaced_ones(fitted, monkeypatch):
    monkeypatch.setattr(content_module, "MAX_ROWS", 20)
    content = describe(fitted["forest"], X_NEW, Y_NEW)
    spaced = np.linspace(0, 89, 20).round().astype(int)
    scores = {score["name"]: score["model"] for score in content["more_scores"]["scores"]}
    assert content["more_scores"]["n_rows"] == 20
    expected = interval_log_loss(
        Y_NEW[spaced], fitted["forest"].predict_distribution(X_NEW[spaced])
    )
    np.testing.assert_allclose(scores["log loss"], expected)
    assert len(content["survival"]["rows"]) == len(content["rows"]["row"]) > 20


def test_every_leaf_has_the_curve_of_its_rows(fitted):
    tree = fitted["tree"]
    content = describe(tree, X_NEW, Y_NEW)
    leaves = tree.apply(X_NEW)
    assert set(content["leaf_curves"]) == set(map(str, np.unique(leaves)))
    for leaf, steps in content["leaf_curves"].items():
        estimate = turnbull(Y_NEW[leaves == int(leaf)])
        between = (np.array(steps["times"][:-1]) + steps["times"][1:]) / 2
        np.testing.assert_allclose(
            steps["least"][:-1], estimate.sf(between, bound="lower"), atol=5e-5
        )
        np.testing.assert_allclose(
            steps["greatest"][:-1], estimate.sf(between, bound="upper"), atol=5e-5
        )
        np.testing.assert_allclose(
            np.transpose([steps["certain_least"], steps["certain_greatest"]])[:-1],
            estimate.sf(between, bound="certain"),
            atol=5e-5,
        )
    assert describe(fitted["forest"], X_NEW, Y_NEW)["leaf_curves"] == {}


def test_a_model_of_the_logarithm_has_curves_for_a_log_axis(fitted):
    times, new = np.exp(3 * Y), np.exp(3 * Y_NEW)
    for inner in (MODELS["tree"], MaxMarginIntervalForest(8, random_state=0)):
        model = TransformedIntervalRegressor(inner, func="log").fit(X, times)
        content = content_of(render(describe(model, X_NEW, new) | {"title": ""}))
        assert content["target"]["is_log"]
        for steps in content["leaf_curves"].values():
            assert min(steps["times"]) > 0
        if content["survival"] is not None:
            at = np.array(content["survival"]["times"])
            np.testing.assert_allclose(at[1:] / at[:-1], (at[-1] / at[0]) ** (1 / 60))
            assert 0 < at[0] < new[new > 0].min() < new[np.isfinite(new)].max() < at[-1]
            curves = np.array(content["survival"]["rows"])
            np.testing.assert_allclose(
                curves, model.predict_survival_function(X_NEW, at), atol=5e-5
            )
            assert content["survival"]["all"]["times"][0] == at[0]
    plain = describe(fitted["forest"], X_NEW, np.exp(Y_NEW))
    assert not plain["target"]["is_log"]
    assert plain["survival"]["times"][0] == 0


def test_missing_and_infinite_features_are_warned_of_by_name():
    frame = pd.DataFrame({"dose": [0.0, 1, 2], "age": [3.0, 4, 5]})
    tree = MaxMarginIntervalTree().fit(frame, [0.0, 1, 2])
    found = warnings_of(tree, frame.replace({"dose": {1: np.nan}, "age": {4: np.inf}}), [0.0, 1, 2])
    assert "missing values in dose, and none in training" in found
    assert "infinities in age." in found


def test_nan_and_infinities_everywhere_give_valid_json_and_the_right_paths():
    rng = np.random.RandomState(0)
    X = rng.choice([-np.inf, np.inf, np.nan, 0.0, 1.0], size=(80, 3))
    y = np.sort(rng.choice([-np.inf, 0.0, 1.0, 2.0, np.inf], size=(80, 2)), axis=1)
    y[(y[:, 0] == y[:, 1]) & np.isinf(y[:, 0])] = [-np.inf, np.inf]
    with pytest.warns(UserWarning, match="rows are"):
        tree = MaxMarginIntervalTree().fit(X, y)
    assert np.isinf(tree.tree_.value_low).any()
    content = content_of(render(describe(tree, X, y) | {"title": ""}))
    for row in range(80):
        assert (
            walk(content["trees"][0], content["rows"]["values"], row)[0]
            == tree.decision_path(X)[row].indices.tolist()
        )


@pytest.mark.parametrize("y", [[(-1e150, np.inf)], [(1e150, np.inf)], [0.0]])
def test_one_row_makes_a_report(fitted, y):
    for model in fitted.values():
        content_of(render(describe(model, X_NEW[:1], y) | {"title": ""}))


def test_rows_that_all_say_nothing_are_refused(fitted):
    with pytest.raises(ValueError, match=r"all 2 rows are \(-inf, inf\)"):
        describe(fitted["tree"], X_NEW[:2], [(-np.inf, np.inf)] * 2)


def test_many_rows_are_thinned_but_the_worst_stay(fitted, monkeypatch):
    monkeypatch.setattr(content_module, "MAX_ROWS", 30)
    content = describe(fitted["tree"], X_NEW, Y_NEW)
    rows, error = (
        content["rows"],
        np.abs(np.clip(fitted["tree"].predict(X_NEW), *Y_NEW.T) - fitted["tree"].predict(X_NEW)),
    )
    assert content["n_rows"] == 90
    assert 30 <= len(rows["row"]) <= 40
    assert rows["row"] == sorted(set(rows["row"]))
    assert set(rows["worst"]) <= set(rows["row"])
    assert rows["worst"][0] == np.argmax(error)
    assert numbers(rows["error"]).tolist() == error[rows["row"]].tolist()
    monkeypatch.setattr(content_module, "MAX_CELLS", 3)
    assert len(describe(fitted["tree"], X_NEW, Y_NEW)["rows"]["row"]) <= 11


def test_too_many_trees_and_too_large_a_tree_are_cut_and_said_so(fitted, monkeypatch):
    forest, tree = fitted["forest"], fitted["tree"]
    sizes = [part.tree_.node_count for part in forest.estimators_]
    monkeypatch.setattr(trees_module, "MAX_NODES", sum(sizes[:3]))
    assert len(describe(forest, X, Y)["trees"]) == 3
    assert f"first 3 of {len(sizes)} trees" in warnings_of(forest, X, Y)
    monkeypatch.setattr(trees_module, "MAX_NODES", 6)
    content = describe(tree, X, Y)
    (table,) = content["trees"]
    assert len(table["id"]) <= 6
    assert f"top {len(table['id'])} of the {tree.tree_.node_count} nodes" in warnings_of(tree, X, Y)
    for row in range(150):
        path, full = (
            walk(table, content["rows"]["values"], row)[0],
            tree.decision_path(X)[row].indices.tolist(),
        )
        assert path == full[: len(path)]


EMPTY_PAGE = render({})
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "$script ${content} $$",
    "\"'`\\",
    "a\u2028b\u2029c\x00\ud800",
    "NaN",
    "Infinity",
    "",
]


@given(
    names=st.lists(st.text() | st.sampled_from(HOSTILE), min_size=3, max_size=3),
    title=st.text() | st.sampled_from(HOSTILE),
)
def test_names_reach_the_page_as_they_are_and_never_as_markup(names, title):
    content = {"features": names, "title": title, "threshold": ["NaN", "-Infinity", 1.5]}
    page = render(content)
    assert content_of(page) == content
    block = page.split('id="content">')[1].split("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(block)
    assert page.encode().count(b"</script>") == EMPTY_PAGE.count("</script>")


def test_names_that_look_like_numbers_stay_names():
    frame = pd.DataFrame(X, columns=["NaN", "Infinity", "<script>"])
    content = content_of(
        render(describe(MaxMarginIntervalTree().fit(frame, Y), frame, Y) | {"title": "-Infinity"})
    )
    assert content["features"] == ["NaN", "Infinity", "<script>"]


def test_the_page_allows_its_own_scripts_and_nothing_from_elsewhere():
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', EMPTY_PAGE).group(1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    without_licences = re.sub(r"https://d3js.org v[\d.]+", "", EMPTY_PAGE)
    assert not re.search(r"(src|href)=[\"']?(?!data:,)[^ \"']*//", without_licences)
    assert "Mike Bostock" in EMPTY_PAGE


def test_the_same_model_and_data_give_the_same_page(fitted):
    pages = [render(describe(fitted["forest"], X, Y) | {"title": "x"}) for _ in range(2)]
    assert pages[0] == pages[1]


def test_a_report_is_written_whole_or_not_at_all(fitted, tmp_path):
    path = tmp_path / "report.html"
    write_report(fitted["tree"], X, Y, path, title="sine")
    assert content_of(path.read_text(encoding="utf-8"))["title"] == "sine"
    before = path.read_bytes()
    with pytest.raises(ValueError, match="same number of rows, got 150 in X and 149 in y"):
        write_report(fitted["tree"], X, Y[1:], path)
    with pytest.raises(IsADirectoryError):
        write_report(fitted["tree"], X, Y, tmp_path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_model_of_another_package_is_refused():
    with pytest.raises(TypeError, match=r"expected a fitted estimator of marginwood.*got str"):
        describe("tree", X, Y)


def test_a_title_that_is_no_string_is_refused_by_name(fitted, tmp_path):
    for title in (object(), None, b"sine"):
        with pytest.raises(TypeError, match="title: expected a string, got"):
            write_report(fitted["tree"], X, Y, tmp_path / "report.html", title=title)


GRADES = ["I", "I", "II", "II", "III", "III", "III", "III", None]
GRADED = pd.DataFrame({"tgrade": pd.Categorical(GRADES), "age": np.arange(9.0)})
GRADED_TARGET = [1.0, 1, 1, 1, 9, 9, 9, 9, 9]


def test_the_page_holds_the_labels_that_a_split_asks_for():
    tree = MaxMarginIntervalTree(max_depth=1).fit(GRADED[["tgrade"]], GRADED_TARGET)
    content = content_of(render(describe(tree, GRADED[["tgrade"]], GRADED_TARGET) | {"title": ""}))
    (table,) = content["trees"]
    labels = [content["categories"][table["feature"][0]][code] for code in table["codes"][0]]
    assert (content["features"][table["feature"][0]], labels) == ("tgrade", ["I", "II"])
    assert content["feature_table"]["categories"] == [3]
    assert content["feature_table"]["missing"] == [1]


@pytest.mark.parametrize("words", [True, False], ids=["words", "categories"])
@pytest.mark.parametrize("wrapper", [TransformedIntervalRegressor, DistributionalIntervalRegressor])
def test_features_with_categories_that_a_model_encodes_inside_are_counted(wrapper, words):
    X = GRADED.astype({"tgrade": "object"}) if words else GRADED
    tree = MaxMarginIntervalTree(categorical_features=["tgrade"], max_depth=1)
    features = describe(wrapper(tree).fit(X, GRADED_TARGET), X, GRADED_TARGET)["feature_table"]
    assert features["feature"] == [0, 1]
    assert features["categories"] == [3, 0]
    assert features["missing"] == [1, 0]


def test_a_frame_is_taken_without_warnings():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for model in (
        MaxMarginIntervalTree(),
        MaxMarginIntervalForest(3),
        MaxMarginIntervalBoosting(3),
    ):
        assert describe(model.fit(frame, Y), frame, Y)["features"] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=3),
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2),
        MaxMarginIntervalForest(4, random_state=0),
        MaxMarginIntervalBoosting(4),
        L1IntervalRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_report_on_a_pipeline_shows_the_features_that_its_steps_make(model, tmp_path):
    pipeline = fit_pipeline(model)
    write_report(pipeline, FRAME, TARGET, tmp_path / "report.html")
    content = content_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert content["model"] == f"ColumnTransformer > {type(model).__name__}"
    assert content["features"] == NAMES
    assert content["scores"]["d2"] == pipeline.score(FRAME, TARGET)
    assert content["warnings"][0].endswith("the columns of the data after ColumnTransformer.")
    assert numbers(content["rows"]["prediction"]).tolist() == pipeline.predict(FRAME).tolist()
    inner = describe(pipeline[-1], pipeline[:-1].transform(FRAME), TARGET)
    assert content["trees"] == inner["trees"]
    assert content["rows"]["values"] == inner["rows"]["values"]
    assert content["curves"] == inner["curves"]
    assert content["importances"] == inner["importances"]


def test_ranges_are_those_of_the_model_and_counted_on_all_rows(monkeypatch):
    monkeypatch.setattr(content_module, "MAX_ROWS", 20)
    model = ConformalIntervalRegressor(
        MaxMarginIntervalForest(20, random_state=0), mode="meets", method="oob"
    ).fit(X, Y)
    content = describe(model, X_NEW, Y_NEW)
    ranges, kept = model.predict_interval(X_NEW), content["rows"]["row"]
    assert len(kept) < len(X_NEW)
    np.testing.assert_array_equal(numbers(content["ranges"]["lower"]), ranges[kept, 0])
    assert content["ranges"]["meet_rate"] == interval_coverage(Y_NEW, ranges).meet_rate
    assert describe(model.estimators_[0], X_NEW, Y_NEW)["ranges"] is None


def test_rows_have_names_one_each(fitted):
    names = [f"patient {row}" for row in range(len(X_NEW))]
    assert describe(fitted["tree"], X_NEW, Y_NEW, names)["rows"]["name"] == names
    with pytest.raises(ValueError, match="row_names: expected 90 names, one per row of X, got 89"):
        describe(fitted["tree"], X_NEW, Y_NEW, names[1:])


@pytest.mark.parametrize(
    "model",
    [
        TransformedIntervalRegressor(MaxMarginIntervalForest(5, random_state=0), func="arcsinh"),
        TransformedIntervalRegressor(MaxMarginIntervalTree(max_depth=2), func="arcsinh"),
        DistributionalIntervalRegressor(MaxMarginIntervalTree(max_depth=2)),
        ConformalIntervalRegressor(
            MaxMarginIntervalTree(max_depth=2), mode="meets", random_state=0
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_within_others_are_warned_of_on_as_many_rows_as_they_were_trained_on(model):
    model.fit(X, Y)
    text = "trained on 150 rows, as many as there are here"
    assert any(text in warning for warning in describe(model, X, Y)["warnings"])
    assert not any(text in warning for warning in describe(model, X_NEW, Y_NEW)["warnings"])
