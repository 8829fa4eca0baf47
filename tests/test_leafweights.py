"""Distributions of a forest: training rows weighed by shared leaves, one maximum likelihood estimate per query."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginwood
from marginwood import (
    DistributionalIntervalRegressor,
    IntervalSearchCV,
    MaxMarginIntervalForest,
    from_events,
)
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull
from strategies import informative_intervals

X, Y = make_sine(90, 2, random_state=0)
NEW, _ = make_sine(20, 2, random_state=1)
FOREST = {"n_estimators": 12, "min_samples_leaf": 8, "max_features": None, "random_state": 0}
TIMES = np.linspace(-2, 2, 15)


def literal_weights(forest, X, weight=None):
    """Leaf weights by their definition, of shape (n_queries, n_rows)."""
    weight = np.ones(len(forest._intervals)) if weight is None else weight
    found = np.zeros((len(X), len(weight)))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=len(weight)) * weight
        same = tree.apply(X)[:, np.newaxis] == tree.apply(forest_rows(forest))
        found += same * counts / (same * counts).sum(axis=1, keepdims=True)
    return found / len(forest.estimators_)


def forest_rows(forest):
    assert len(forest._intervals) == len(X)
    return X


@pytest.mark.parametrize("kind", ["mixed", "right-censored"])
def test_a_row_is_the_estimate_of_the_training_rows_by_their_leaf_weights(kind):
    y = Y if kind == "mixed" else from_events(np.exp(X[:, 0]), np.arange(90) % 3 > 0)
    forest = MaxMarginIntervalForest(**FOREST).fit(X, y)
    found = forest.predict_distribution(NEW)
    for row, weights in enumerate(literal_weights(forest, NEW)):
        literal = turnbull(y, weights, tol=1e-9)
        lowest = found[row].sf(TIMES, bound="lower"), found[row].sf(TIMES, bound="upper")
        # Both are within a small gap of one maximum, and their curves close.
        np.testing.assert_allclose(lowest[0], literal.sf(TIMES, bound="lower"), atol=0.02)
        np.testing.assert_allclose(lowest[1], literal.sf(TIMES, bound="upper"), atol=0.02)


def test_arrays_that_change_after_the_fit_change_no_distribution():
    y, weight = np.array(Y), np.ones(90)
    forest = MaxMarginIntervalForest(**FOREST).fit(X, y, weight)
    before = forest.predict_distribution(NEW)
    curves, certain = before.cdf(TIMES), before.cdf(TIMES, bound="certain")
    y += 10
    weight[:45] = 0
    np.testing.assert_array_equal(forest.predict_distribution(NEW).cdf(TIMES), curves)
    np.testing.assert_array_equal(before.cdf(TIMES, bound="certain"), certain)


def test_weights_count_and_rows_of_no_weight_do_not():
    weight = np.where(np.arange(90) % 4, 1.0 + np.arange(90) % 3, 0.0)
    forest = MaxMarginIntervalForest(**FOREST).fit(X, Y, weight)
    found = forest.predict_survival_function(NEW, TIMES)
    literal = [
        turnbull(Y, weights, tol=1e-9).sf(TIMES) for weights in literal_weights(forest, NEW, weight)
    ]
    np.testing.assert_allclose(found, literal, atol=0.03)


def test_curves_fall_and_quantiles_rise():
    forest = MaxMarginIntervalForest(**FOREST).fit(X, Y)
    curves = forest.predict_survival_function(NEW, TIMES)
    assert ((curves >= 0) & (curves <= 1)).all()
    assert (np.diff(curves, axis=1) <= 1e-12).all()
    assert (np.diff(forest.predict_quantile(NEW, [0.1, 0.5, 0.9]), axis=1) >= 0).all()


@given(
    y=informative_intervals(min_size=8, max_size=20),
    random=st.randoms(use_true_random=False),
    wrapped=st.booleans(),
)
@settings(max_examples=30)
@pytest.mark.filterwarnings("ignore:.*rows")  # uninformative rows, or that every tree drew
def test_any_curve_falls_from_one_to_zero_and_rows_do_not_know_their_order(y, random, wrapped):
    X = np.arange(len(y), dtype=float)[:, np.newaxis] % 5
    model = MaxMarginIntervalForest(12, min_samples_leaf=2, random_state=0)
    if wrapped:
        model = DistributionalIntervalRegressor(model, cv="own")
    model.fit(X, y)
    times = np.arange(-7.0, 8.0) / 2
    curves = model.predict_survival_function(X, times)
    assert ((curves >= 0) & (curves <= 1)).all()
    assert (np.diff(curves, axis=1) <= 1e-12).all()
    order = random.sample(range(len(X)), len(X))
    np.testing.assert_array_equal(model.predict_survival_function(X[order], times), curves[order])


def test_neither_threads_nor_the_order_of_rows_matter():
    forest = MaxMarginIntervalForest(**FOREST).fit(X, Y)
    many = np.vstack([NEW] * 30)
    one = forest.predict_quantile(many, 0.4)
    two = forest.set_params(n_jobs=2).predict_quantile(many, 0.4)
    np.testing.assert_array_equal(one, two)
    order = np.random.RandomState(0).permutation(len(many))
    np.testing.assert_array_equal(forest.predict_quantile(many[order], 0.4), one[order])


def test_a_saved_forest_predicts_the_same_distributions(tmp_path):
    forest = MaxMarginIntervalForest(**FOREST).fit(X, Y)
    marginwood.save(forest, tmp_path / "forest.mw")
    loaded = marginwood.load(tmp_path / "forest.mw")
    np.testing.assert_array_equal(
        loaded.predict_quantile(NEW, [0.2, 0.7]), forest.predict_quantile(NEW, [0.2, 0.7])
    )


def test_trees_that_were_kept_from_other_rows_have_no_distribution():
    forest = MaxMarginIntervalForest(3, warm_start=True, random_state=0).fit(X, Y)
    forest.set_params(n_estimators=5).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match="warm_start kept were grown from other rows"):
        forest.predict_distribution(NEW)


def test_leaf_sizes_are_chosen_by_the_out_of_bag_log_loss():
    search = IntervalSearchCV(
        MaxMarginIntervalForest(20, max_features=None),
        {"loss": ["squared_hinge"], "margin": [0.0], "min_samples_leaf": [1, 8]},
        scoring="neg_interval_log_loss",
        random_state=0,
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["min_samples_leaf"] == 8


def test_right_censored_medians_are_not_early():
    random = np.random.RandomState(0)
    x = random.uniform(-1, 1, (800, 3))
    time = 2 * x[:, 0] + 0.5 * random.standard_normal(800)
    end = 2 * x[:, 0] + 0.5 * random.standard_normal(800) + 0.3
    y = from_events(np.minimum(time, end), time <= end)
    forest = MaxMarginIntervalForest(
        60, min_samples_leaf=15, max_features=None, random_state=0
    ).fit(x, y)
    plain = np.mean(forest.predict(x) - 2 * x[:, 0])
    median = np.mean(forest.predict_quantile(x, 0.5) - 2 * x[:, 0])
    assert plain < -0.08
    assert abs(median) < abs(plain) / 2


def nasty_rows(n_rows, seed):
    """Features with ties, NaN, both infinities and categories, one of which no row has."""
    rng = np.random.default_rng(seed)
    number = rng.choice([-np.inf, -1.0, -0.0, 0.0, 0.5, np.inf, np.nan], size=n_rows)
    frame = pd.DataFrame({"steps": rng.integers(0, 4, n_rows), "number": number})
    frame["any"] = rng.normal(size=n_rows)
    labels = rng.choice(["a", "b", "c", None], size=n_rows)
    frame["label"] = pd.Categorical(labels, categories=["d", "a", "c", "b"])
    centre = frame["steps"] + (frame["label"] == "b") + rng.normal(size=n_rows)
    return frame, np.column_stack([centre - 0.2, centre + rng.exponential(size=n_rows)])


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_that_a_forest_keeps_lead_to_the_leaves_of_its_training_rows(seed):
    frame, y = nasty_rows(60, seed)
    forest = MaxMarginIntervalForest(6, max_features=2, random_state=seed).fit(frame, y)
    assert np.array_equal(forest._training_leaves(), forest.apply(frame))
    forest.set_params(warm_start=True, n_estimators=9).fit(frame, y)
    assert np.array_equal(forest._training_leaves(), forest.apply(frame))


def test_a_forest_that_is_told_so_keeps_no_rows(tmp_path):
    sizes = {}
    for keep_rows in (True, False):
        forest = MaxMarginIntervalForest(**FOREST, keep_rows=keep_rows).fit(X, Y)
        marginwood.save(forest, tmp_path / "forest.mw")
        sizes[keep_rows] = (tmp_path / "forest.mw").stat().st_size
        assert hasattr(forest, "predict_distribution") == keep_rows
    assert np.array_equal(marginwood.load(tmp_path / "forest.mw").predict(NEW), forest.predict(NEW))
    with pytest.raises(AttributeError, match="predict_distribution") as caught:
        forest.predict_quantile(NEW, [0.5])
    assert "fit it with keep_rows=True" in str(caught.value.__cause__)
    # Per row the two ends and the weight, and a code for each feature; three members of an archive.
    assert 0 < sizes[True] - sizes[False] < len(X) * (3 * 8 + X.shape[1]) + 3 * 1000


def test_rows_that_were_not_kept_are_not_there_after_the_next_fit_either():
    forest = MaxMarginIntervalForest(**FOREST).fit(X, Y)
    forest.set_params(keep_rows=False).fit(X, Y)
    assert not any(hasattr(forest, name) for name in ("_codes", "_intervals", "_weight"))
    assert not hasattr(forest.set_params(keep_rows=True), "predict_distribution")
