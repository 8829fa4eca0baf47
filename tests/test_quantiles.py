"""Quantile trees, forests and boosting: what they share with the median, and where the quantile shows."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    export_text,
    load,
    save,
)
from marginwood._core.nodes import LEAF
from marginwood._core.problem import prices_of
from marginwood._fitted import read_search
from marginwood.datasets import make_sine
from marginwood.export import export_graphviz, export_latex, from_dict, to_dict
from marginwood.losses import hinge_loss, optimal_constant
from marginwood.metrics import interval_d2_score, interval_pinball_loss
from marginwood.report._content import describe
from strategies import QUANTILES, informative_intervals

RULES = {"loss": "linear_hinge"}
TREE = MaxMarginIntervalTree(loss="linear_hinge")
FOREST = MaxMarginIntervalForest(20, loss="linear_hinge", random_state=0)
BOOSTING = MaxMarginIntervalBoosting(30, loss="linear_hinge", margin=0.0, random_state=0)
MODELS = [TREE, FOREST, BOOSTING]
others = pytest.mark.parametrize("quantile", [0.1, 0.25, 0.9, 0.123456789])
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def noisy(n, seed=0):
    """Exact labels whose spread grows with the first of three features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.sin(4 * X[:, 1]) + (0.2 + X[:, 0]) * rng.normal(size=n)


def censored(n):
    return make_sine(n, 2, random_state=0)


@pytest.mark.parametrize(
    ("quantile", "prices"), [(0.5, (1, 1, 1)), (0.9, (9, 1, 0.2)), (1 / 3, (1, 2, 2 / 3))]
)
def test_prices_of_shares_are_whole_numbers(quantile, prices):
    assert prices_of(quantile) == prices


@given(st.floats(1e-6, 1 - 1e-6))
def test_prices_are_twice_the_quantile_and_twice_the_rest(quantile):
    lower, upper, unit = prices_of(quantile)
    assert lower * unit == pytest.approx(2 * quantile, rel=1e-12)
    assert upper * unit == pytest.approx(2 * (1 - quantile), rel=1e-12)


@pytest.mark.parametrize("quantile", [0.05, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 0.95])
@pytest.mark.parametrize("n_rows", [7, 10, 20, 300, 1000])
def test_the_best_constant_of_exact_labels_is_their_quantile(quantile, n_rows):
    y = np.random.default_rng(n_rows).normal(size=n_rows)
    found = optimal_constant(y, **RULES, quantile=quantile)
    # Where q n is whole, anything between two neighbours is a quantile, and NumPy takes the middle.
    expected = np.quantile(y, quantile, method="averaged_inverted_cdf")
    assert found.value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    below = np.mean(y < found.value)
    assert below <= quantile + 1e-12
    assert quantile - 1e-12 <= np.mean(y <= found.value)


@given(informative_intervals(), st.sampled_from(QUANTILES))
def test_mirrored_intervals_have_the_mirrored_quantile_of_the_rest(y, quantile):
    found = optimal_constant(y, **RULES, quantile=quantile)
    mirrored = optimal_constant(-y[:, ::-1], **RULES, quantile=1 - quantile)
    assert mirrored.cost == pytest.approx(found.cost, rel=1e-12)
    assert (-mirrored.high, -mirrored.low) == pytest.approx((found.low, found.high))


def test_a_quantile_of_half_is_the_same_to_the_last_bit():
    X, y = censored(200)
    for model in MODELS:
        plain, half = clone(model).fit(X, y), clone(model).set_params(quantile=0.5).fit(X, y)
        np.testing.assert_array_equal(plain.predict(X), half.predict(X))


def rows_of_nodes(tree, X):
    return tree.decision_path(X).toarray().astype(bool).T


@others
@pytest.mark.parametrize("draw", [noisy, censored])
def test_every_node_has_the_best_constant_of_its_rows(quantile, draw):
    X, y = draw(300)
    tree = clone(TREE).set_params(quantile=quantile, min_samples_leaf=20).fit(X, y)
    assert tree.get_n_leaves() > 4
    for node, rows in zip(tree.tree_.nodes, rows_of_nodes(tree, X), strict=True):
        best = optimal_constant(y[rows], **RULES, quantile=quantile)
        found = [node[name] for name in ("value", "value_low", "value_high", "impurity")]
        assert found == pytest.approx(best, rel=1e-9, abs=1e-9)


@others
def test_a_share_of_the_rows_of_every_leaf_lies_below(quantile):
    X, y = noisy(2000)
    tree = clone(TREE).set_params(quantile=quantile, min_samples_leaf=50).fit(X, y)
    leaves = tree.apply(X)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        value = tree.tree_.nodes["value"][leaf]
        assert (
            np.sum(y[rows] < value) <= quantile * rows.sum() + 1e-9 <= np.sum(y[rows] <= value) + 1
        )


@every_model
def test_an_ensemble_of_a_high_quantile_lies_above_one_of_a_low_quantile(model):
    X, y = noisy(2000)
    X_new, y_new = noisy(2000, seed=1)
    leaves = {} if isinstance(model, MaxMarginIntervalBoosting) else {"max_depth": 6}
    predictions = {
        quantile: clone(model)
        .set_params(quantile=quantile, min_samples_leaf=20, **leaves)
        .fit(X, y)
        .predict(X_new)
        for quantile in (0.1, 0.5, 0.9)
    }
    below = [np.mean(y_new < prediction) for prediction in predictions.values()]
    assert below == pytest.approx([0.1, 0.5, 0.9], abs=0.09)
    for quantile, prediction in predictions.items():
        losses = [interval_pinball_loss(y_new, p, quantile=quantile) for p in predictions.values()]
        assert min(losses) == interval_pinball_loss(y_new, prediction, quantile=quantile)


@others
def test_a_stage_of_boosting_lowers_the_loss_of_the_quantile(quantile):
    X, y = censored(200)
    model = clone(BOOSTING).set_params(quantile=quantile, n_iter_no_change=None, subsample=1.0)
    model.fit(X, y)
    assert model.init_ == optimal_constant(y, **RULES, quantile=quantile).value
    for stage, prediction in enumerate(model.staged_predict(X)):
        expected = hinge_loss(y, prediction, **RULES, quantile=quantile).mean()
        assert model.train_score_[stage] == pytest.approx(expected)
    assert np.all(np.diff(model.train_score_) <= 1e-12)


def test_boosting_agrees_with_that_of_scikit_learn_on_exact_labels():
    X, y = noisy(1500)
    X_new, y_new = noisy(1500, seed=1)
    options = {"n_estimators": 60, "learning_rate": 0.1, "max_depth": 3, "subsample": 1.0}
    ours = MaxMarginIntervalBoosting(
        **RULES, quantile=0.9, margin=0.0, n_iter_no_change=None, random_state=0, **options
    )
    theirs = GradientBoostingRegressor(loss="quantile", alpha=0.9, random_state=0, **options)
    losses = [
        interval_pinball_loss(y_new, model.fit(X, y).predict(X_new), quantile=0.9)
        for model in (ours, theirs)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.1)


@others
def test_a_search_scores_by_the_pinball_loss_of_its_models(quantile):
    X, y = censored(200)
    tree = clone(TREE).set_params(quantile=quantile)
    train, test = np.arange(120), np.arange(120, 200)
    grid = {"margin": [0.0], "anchor": [0.0, 4.0], "ccp_alpha": [0.0, 0.01, 0.05]}
    search = IntervalSearchCV(tree, grid, cv=[(train, test)]).fit(X, y)
    scores = search.cv_results_["split0_test_score"]
    assert len(set(scores)) > 2
    for params, score in zip(search.cv_results_["params"], scores, strict=True):
        prediction = clone(tree).set_params(**params).fit(X[train], y[train]).predict(X[test])
        expected = -interval_pinball_loss(y[test], prediction, quantile=quantile)
        assert score == pytest.approx(expected, rel=1e-9)
    assert read_search(search).scoring == "neg_interval_pinball_loss"
    assert search.score(X, y) == search.best_estimator_.score(X, y)


@others
def test_a_search_scores_out_of_bag_rows_by_the_pinball_loss(quantile):
    X, y = censored(120)
    forest = clone(FOREST).set_params(quantile=quantile, n_estimators=60)
    search = IntervalSearchCV(forest, {"margin": [0.0], "min_samples_leaf": [1, 10]}).fit(X, y)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        model = clone(forest).set_params(**params, oob_score=True).fit(X, y)
        expected = -interval_pinball_loss(y, model.oob_prediction_, quantile=quantile)
        assert score == pytest.approx(expected, rel=1e-9)


def test_a_search_over_quantiles_is_refused_and_the_median_is_chosen_as_before():
    X, y = censored(60)
    with pytest.raises(ValueError, match=r"grid: expected names among .*, got 'quantile'"):
        IntervalSearchCV(TREE, {"quantile": [0.1, 0.9]}).fit(X, y)
    search = IntervalSearchCV(TREE, {"margin": [0.0], "anchor": [0.0]}, cv=2).fit(X, y)
    assert read_search(search).scoring == "neg_interval_mean_squared_error"


@others
@every_model
def test_a_model_of_a_quantile_is_scored_by_its_pinball_loss(model, quantile):
    X, y = censored(200)
    fitted = clone(model).set_params(quantile=quantile).fit(X, y)
    expected = interval_d2_score(y, fitted.predict(X), quantile=quantile)
    assert fitted.score(X, y) == expected
    pipeline = make_pipeline(StandardScaler(), clone(fitted)).fit(X, y)
    scaled = interval_d2_score(y, pipeline.predict(X), quantile=quantile)
    assert pipeline.score(X, y) == scaled


@others
def test_out_of_bag_rows_are_scored_by_the_pinball_loss(quantile):
    X, y = censored(200)
    forest = clone(FOREST).set_params(quantile=quantile, oob_score=True, n_estimators=60).fit(X, y)
    expected = interval_d2_score(y, forest.oob_prediction_, quantile=quantile)
    assert forest.oob_score_ == expected


@others
def test_monotonic_constraints_hold_for_quantiles(quantile):
    X, y = noisy(400)
    for model in MODELS:
        fitted = clone(model).set_params(quantile=quantile, monotonic_cst=[0, -1, 0]).fit(X, y)
        grid = np.repeat(X[:20], 30, axis=0)
        grid[:, 1] = np.tile(np.linspace(0, 1, 30), 20)
        steps = np.diff(fitted.predict(grid).reshape(20, 30), axis=1)
        assert np.all(steps <= 1e-12)


@others
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_no_bit(quantile, n_jobs):
    X, y = noisy(20_000)
    X = np.hstack([X, X[:, ::-1] ** 2, X - X[:, :1]])
    rules = {"quantile": quantile, "max_depth": 5}
    alone = clone(TREE).set_params(**rules).fit(X, y).tree_.nodes
    shared = clone(TREE).set_params(**rules, n_jobs=n_jobs).fit(X, y).tree_.nodes
    np.testing.assert_array_equal(alone, shared)


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.1, 1e-9, np.nan, np.inf])
def test_a_quantile_that_is_none_is_refused(quantile):
    for model in MODELS:
        with pytest.raises(
            ValueError, match=r"quantile: expected a number from 1e-06 to 0\.999999"
        ):
            clone(model).set_params(quantile=quantile).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("quantile", ["0.5", None, True])
def test_what_is_no_number_is_refused(quantile):
    with pytest.raises(TypeError, match="quantile: expected a number"):
        optimal_constant([1.0, 2.0], **RULES, quantile=quantile)


@every_model
def test_the_squared_hinge_has_no_quantile_but_says_why(model):
    model = clone(model).set_params(loss="squared_hinge", quantile=0.9)
    with pytest.raises(
        ValueError, match=r'quantile: expected 0\.5 with loss="squared_hinge".*expectile'
    ):
        model.fit([[0.0], [1.0]], [0.0, 1.0])


def test_texts_and_drawings_name_the_quantile():
    X, y = noisy(60)
    tree = clone(TREE).set_params(quantile=0.9, max_depth=1).fit(X, y)
    assert export_text(tree).count("quantile 0.9: ") == 2
    assert export_graphviz(tree).count("quantile 0.9: ") == 2
    assert export_latex(tree).count("quantile 0.9: ") == 2
    for write in (export_text, export_graphviz, export_latex):
        assert "value: " not in write(tree)
        assert "value: " in write(clone(tree).set_params(quantile=0.5).fit(X, y))


def test_a_plot_names_the_quantile_of_its_colours():
    pytest.importorskip("matplotlib")
    from marginwood.plotting import plot_tree

    X, y = noisy(60)
    for quantile, name in ((0.9, "quantile 0.9"), (0.5, "value")):
        ax = plot_tree(clone(TREE).set_params(quantile=quantile, max_depth=1).fit(X, y))
        assert name in [text.get_text() for text in ax.texts]


def test_several_quantile_models_are_a_band():
    pytest.importorskip("matplotlib")
    from marginwood.plotting import plot_quantiles

    X, y = noisy(300)
    rules = {"max_depth": 3, "min_samples_leaf": 20}
    models = [clone(TREE).set_params(quantile=q, **rules).fit(X, y) for q in (0.9, 0.1, 0.5)]
    ax = plot_quantiles(models, X, 0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "quantiles 0.1 to 0.9",
        "median",
    ]
    line = ax.get_lines()[0]
    grid, values = line.get_data()
    moved = np.repeat(
        X[np.unique(np.linspace(0, 299, 100).round().astype(int))][None], len(grid), 0
    )
    moved[:, :, 0] = grid[:, None]
    expected = np.median(models[2].predict(moved.reshape(-1, 3)).reshape(len(grid), -1), axis=1)
    np.testing.assert_array_equal(values, expected)
    with pytest.raises(ValueError, match="q: expected None with several models"):
        plot_quantiles(models, X, 0, q=[0.5])
    with pytest.raises(ValueError, match="model: expected models of a quantile each"):
        plot_quantiles([models[0], models[0]], X, 0)


@others
@every_model
def test_files_and_dictionaries_keep_the_quantile(model, quantile, tmp_path):
    X, y = noisy(60)
    fitted = clone(model).set_params(quantile=quantile).fit(X, y)
    save(fitted, tmp_path / "model.mw")
    for other in (load(tmp_path / "model.mw"), from_dict(json.loads(json.dumps(to_dict(fitted))))):
        assert other.quantile == quantile
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))


def test_a_report_names_the_quantile_and_its_loss():
    X, y = noisy(200)
    forest = clone(FOREST).set_params(quantile=0.9, oob_score=True, n_estimators=60).fit(X, y)
    content = describe(forest, X, y)
    assert content["outcome"] == "quantile 0.9"
    score = content["more_scores"]["scores"][-1]
    assert score["name"] == "pinball loss, quantile 0.9"
    best = optimal_constant(y, **RULES, quantile=0.9).value
    expected = [
        interval_pinball_loss(y, prediction, quantile=0.9)
        for prediction in (forest.predict(X), np.full(len(y), best))
    ]
    assert [score["model"], score["constant"]] == pytest.approx(expected)
    curve = content["curves"][0]
    assert "quantile 0.9" in json.dumps(curve)
    assert "out of bag" in json.dumps(curve)
    assert (
        describe(clone(forest).set_params(quantile=0.5).fit(X, y), X, y)["outcome"] == "prediction"
    )


def test_leaves_of_one_kind_of_limit_are_predicted_by_their_finite_end():
    y = np.array([[1.0, np.inf], [3.0, np.inf], [-np.inf, 5.0], [-np.inf, 9.0]])
    tree = clone(TREE).set_params(quantile=0.9, max_depth=1)
    X = np.arange(4.0)[:, None]
    nodes = tree.fit(X, np.vstack([y[:2], y[2:] - 6])).tree_.nodes
    leaves = nodes["children_left"] == LEAF
    assert nodes["value"][leaves].tolist() == [3.0, -1.0]
