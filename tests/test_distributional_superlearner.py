"""DistributionalSuperLearner: mixed distributions, and weights by rows that models have not seen."""

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CensoredLinearRegression,
    DistributionalIntervalRegressor,
    DistributionalSuperLearner,
    IntervalDummyRegressor,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    from_events,
    load,
    save,
)
from marginwood._base import Rows
from marginwood._ensemble import mixture
from marginwood._resampling.folds import Fold
from marginwood.datasets import make_linear, make_sine

X, Y = make_sine(120, 2, random_state=0)
FOREST = MaxMarginIntervalForest(20, min_samples_leaf=5)
MODELS = [
    ("linear", CensoredLinearRegression()),
    ("forest", FOREST),
    ("tree", DistributionalIntervalRegressor(MaxMarginIntervalTree(max_depth=4), cv=3)),
]


# Without a forest, whose draws depend on the number of rows: a weight of two is then a row twice.
@parametrize_with_checks([DistributionalSuperLearner(MODELS[:1], cv=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.filterwarnings("ignore:.* medians lie beyond all limits")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_curves_are_the_weighted_mean_of_the_models_curves():
    model = DistributionalSuperLearner(MODELS, random_state=0).fit(X, Y)
    assert sum(model.weights_.values()) == pytest.approx(1)
    expected = sum(
        model.weights_[name] * member.predict_distribution(X).cdf(model.limits_)
        for name, member in model.estimators_.items()
    )
    found = model.predict_distribution(X)
    np.testing.assert_allclose(found.cdf(model.limits_), expected, atol=1e-9)
    np.testing.assert_allclose(
        model.predict_survival_function(X, model.limits_), 1 - expected, atol=1e-9
    )


def test_the_model_that_suits_the_data_has_most_of_the_weight():
    waves = DistributionalSuperLearner(random_state=0).fit(X, Y)
    assert waves.weights_["forest"] + waves.weights_["forest-fine"] > 0.5
    lines = DistributionalSuperLearner(random_state=0).fit(*make_linear(random_state=0))
    assert lines.weights_["forest"] + lines.weights_["forest-fine"] < 0.5
    assert min(waves.log_losses_, key=waves.log_losses_.get) == max(
        waves.weights_, key=waves.weights_.get
    )


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_steps_of_weights_lead_to_the_least_log_loss_of_the_mixture(seed, n_models, n_rows):
    rng = np.random.default_rng(seed)
    probability = rng.uniform(0.001, 1, size=(n_models, n_rows))
    weight = rng.integers(1, 4, n_rows).astype(float)

    def loss(weights):
        return -weight @ np.log(weights @ probability) / weight.sum()

    equal = np.full(n_models, 1 / n_models)
    found = mixture.climb(equal, probability, weight, 2000)
    least = minimize(
        lambda free: loss(np.exp(free) / np.exp(free).sum()),
        np.zeros(n_models),
        method="L-BFGS-B",
        tol=1e-12,
    ).fun
    assert found.sum() == pytest.approx(1)
    assert loss(found) <= least + 1e-3
    assert loss(mixture.climb(equal, probability, weight, 5)) <= loss(equal) + 1e-12
    twice = np.repeat(np.arange(n_rows), weight.astype(int))
    repeated = mixture.climb(equal, probability[:, twice], np.ones(len(twice)), 30)
    np.testing.assert_allclose(repeated, mixture.climb(equal, probability, weight, 30), atol=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20),
    st.integers(0, 2),
)
@settings(max_examples=50, deadline=None)
def test_bins_hold_their_rows_and_end_at_edges(pairs, kind):
    y = np.sort(np.array(pairs, float), axis=1)
    if kind == 1:
        y[::2, 1] = np.inf
    if kind == 2:
        y[::2, 0] = -np.inf
    bins = mixture.widen(Rows(np.zeros((len(y), 1)), y, np.ones(len(y))))
    assert (bins[:, 0] < bins[:, 1]).all()
    # Like rows, bins are open below: those of known values begin before, those of others may begin
    # where they do.
    is_known = y[:, 0] == y[:, 1]
    assert (bins[:, 0] <= y[:, 0]).all()
    assert (bins[is_known, 0] < y[is_known, 0]).all()
    assert (bins[:, 1] >= y[:, 1]).all()
    # And they are the narrowest of such bins.
    edges = np.unique(bins)
    assert not ((bins[:, :1] < edges) & (edges <= np.nextafter(y[:, :1], -np.inf))).any()
    assert not ((y[:, 1:] <= edges) & (edges < bins[:, 1:])).any()


def test_threads_and_the_order_of_rows_of_a_query_change_nothing():
    one = DistributionalSuperLearner(MODELS, random_state=3).fit(X, Y)
    two = DistributionalSuperLearner(MODELS, random_state=3, n_jobs=2).fit(X, Y)
    assert one.weights_ == two.weights_
    curves = one.predict_survival_function(X, [-1, 0, 1])
    np.testing.assert_array_equal(two.predict_survival_function(X, [-1, 0, 1]), curves)
    np.testing.assert_array_equal(one.predict_survival_function(X[::-1], [-1, 0, 1]), curves[::-1])
    assert (np.diff(curves, axis=1) <= 0).all()
    assert ((curves >= 0) & (curves <= 1)).all()


def test_rows_of_weight_0_count_as_absent():
    rng = np.random.default_rng(0)
    noise = np.column_stack([rng.normal(size=(30, 2)), np.full((30, 2), 50.0)])
    features, target = np.vstack([X, noise[:, :2]]), np.vstack([Y, noise[:, 2:]])
    folds = [
        (np.arange(len(features)) % 3 != fold, np.arange(len(features)) % 3 == fold)
        for fold in range(3)
    ]
    folds = [tuple(map(np.flatnonzero, fold)) for fold in folds]
    weight = np.append(np.ones(len(X)), np.zeros(30))
    weighted = DistributionalSuperLearner(MODELS[::2], cv=folds, random_state=0).fit(
        features, target, weight
    )
    without = [tuple(part[part < len(X)] for part in fold) for fold in folds]
    absent = DistributionalSuperLearner(MODELS[::2], cv=without, random_state=0).fit(X, Y)
    assert weighted.weights_ == pytest.approx(absent.weights_)
    np.testing.assert_allclose(weighted.predict(X), absent.predict(X))


def test_rows_that_every_tree_of_a_forest_drew_do_not_score_it():
    tree = MaxMarginIntervalForest(1, min_samples_leaf=20, random_state=0)
    model = DistributionalSuperLearner([("tree", tree)]).fit(X, Y)
    unseen = ~model.estimators_["tree"]._drawn()[0]
    assert 0 < unseen.sum() < len(X)
    bins = mixture.widen(Rows(X, Y, np.ones(len(X))))[unseen]
    probability = mixture.measure(model.estimators_["tree"].predict_distribution(X[unseen]), bins)
    assert model.log_losses_["tree"] == pytest.approx(-np.log(probability).mean())


def test_a_forest_whose_trees_drew_all_rows_cannot_be_weighed():
    tree = MaxMarginIntervalForest(1, max_samples=2000, random_state=0)
    with pytest.raises(
        ValueError, match="expected informative rows that every model can predict unseen, got none"
    ):
        DistributionalSuperLearner([("tree", tree)]).fit(X, Y)


def test_groups_stay_together_in_the_folds_of_every_model(monkeypatch):
    groups = np.arange(len(X)) % 12
    fit = Fold.fit
    folds = []

    def record(fold, estimator):
        folds.append((type(estimator), set(groups[fold.train]), set(groups[fold.unseen])))
        return fit(fold, estimator)

    monkeypatch.setattr(Fold, "fit", record)
    DistributionalSuperLearner(MODELS[:2], cv=3, random_state=0).fit(X, Y, groups=groups)
    tested = [(kind, train, test) for kind, train, test in folds if test]
    assert [kind for kind, _, _ in tested] == [CensoredLinearRegression] * 3 + [
        MaxMarginIntervalForest
    ] * 3
    assert not any(train & test for _, train, test in tested)
    with pytest.raises(
        ValueError, match="cv: expected at most 12 folds, the number of groups, got 20"
    ):
        DistributionalSuperLearner(MODELS[:2], cv=20).fit(X, Y, groups=groups)


def test_times_with_missing_features_are_learned_and_kept_in_files(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150, 2)), columns=["age", "size"])
    time = np.exp(1 + frame["age"] + 0.3 * rng.normal(size=150)).to_numpy()
    frame.iloc[::9, 1] = np.nan
    y = from_events(np.minimum(time, 5), time <= 5)
    model = TransformedIntervalRegressor(
        DistributionalSuperLearner(random_state=0), func="log"
    ).fit(frame, y)
    with pytest.warns(UserWarning, match="of 150 medians lie beyond all limits"):
        medians = model.predict(frame)
    # The true median is exp(1 + age), for a third of the rows beyond the last limit.
    assert np.corrcoef(np.log(medians), frame["age"])[0, 1] > 0.98
    assert 10 < medians.max() < 100
    save(model, tmp_path / "model.mw")
    again = load(tmp_path / "model.mw")
    np.testing.assert_array_equal(
        again.predict_quantile(frame, [0.1, 0.5]), model.predict_quantile(frame, [0.1, 0.5])
    )


def censor(time, end):
    """Times of which those after an end are open above; those before its opposite open below."""
    y = np.column_stack([np.minimum(time, end), np.where(time > end, np.inf, time)])
    return np.where((time < -end)[:, np.newaxis], [-np.inf, -end], y)


@pytest.mark.parametrize("sign", [1, -1])
def test_medians_beyond_the_limits_are_those_of_models_that_go_on(sign):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 1))
    time = sign * (3 + 2 * features[:, 0] + rng.normal(size=200))
    y = censor(time, 1.0)
    linear = DistributionalSuperLearner(MODELS[:1]).fit(features, y)
    member = linear.estimators_["linear"]
    n_beyond = np.count_nonzero(np.abs(member.predict(features)) > 1)
    with pytest.warns(UserWarning, match=f"predict: {n_beyond} of 200 medians lie beyond all"):
        medians = linear.predict(features)
    np.testing.assert_allclose(medians, member.predict(features), atol=0.05 * member.scale_)
    mixed = DistributionalSuperLearner(MODELS[:2], random_state=0).fit(features, y)
    assert mixed.weights_["forest"] > 0
    order = np.argsort(features[:, 0])
    with pytest.warns(UserWarning, match="They are extrapolated by models of a fixed shape"):
        beyond = mixed.predict(features)[order][-100:]
    assert (sign * np.diff(beyond) > 0).all()
    assert (sign * beyond > 1).all()


def test_medians_beyond_the_limits_of_all_models_are_the_farthest_limit():
    y = np.where((np.arange(120) % 3 == 0)[:, np.newaxis], [[1.0, 1.0]], [[2.0, np.inf]])
    model = DistributionalSuperLearner(MODELS[1:2], random_state=0).fit(X, y)
    mirrored = DistributionalSuperLearner(MODELS[1:2], random_state=0).fit(X, -y[:, ::-1])
    for one, sign in ((model, 1), (mirrored, -1)):
        with pytest.warns(UserWarning, match="of 120 medians .*, they are the last limit"):
            assert (sign * one.predict(X)).max() == 2.0


def test_no_median_lies_below_a_least_limit_that_holds_half_of_the_rows():
    y = np.where(np.arange(120) % 3 == 0, 1.0, 0.0)
    model = DistributionalSuperLearner(MODELS[1:2], random_state=0).fit(X, y)
    assert model.predict(X).min() == 0.0


def test_equal_targets_are_predicted():
    model = DistributionalSuperLearner(MODELS[1:2], random_state=0).fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0)


def test_models_without_distributions_are_refused_by_name():
    with pytest.raises(
        TypeError, match="predict_distribution, got 'constant' of type IntervalDummyRegressor"
    ):
        DistributionalSuperLearner([("constant", IntervalDummyRegressor())]).fit(X, Y)
    with pytest.raises(ValueError, match="models: expected 'auto' or a list"):
        DistributionalSuperLearner("all").fit(X, Y)


def test_categories_of_a_frame_are_learned_by_every_model(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], size=150)
    frame = pd.DataFrame({"kind": pd.Categorical(kind), "noise": rng.normal(size=150)})
    target = 3.0 * (kind == "b") + 0.1 * rng.normal(size=150)
    frame.loc[3, "kind"] = np.nan
    model = DistributionalSuperLearner([("linear", CensoredLinearRegression(alpha=0.0))]).fit(
        frame, target
    )
    assert model.estimators_["linear"].coef_.round(1).tolist() == [3.0, 0.0, 0.0]
    mixed = DistributionalSuperLearner(random_state=0).fit(frame, target)
    assert np.corrcoef(mixed.predict(frame), target)[0, 1] > 0.9
    save(mixed, tmp_path / "model.mw")
    np.testing.assert_array_equal(load(tmp_path / "model.mw").predict(frame), mixed.predict(frame))
    other = polars.from_pandas(frame)
    np.testing.assert_array_equal(
        DistributionalSuperLearner(random_state=0).fit(other, target).predict(other),
        mixed.predict(frame),
    )
