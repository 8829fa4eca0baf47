"""Permutation importance: by any score, on out-of-bag rows, of mixtures and wrappers, with a spread."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwood import (
    CensoredLinearRegression,
    ConformalIntervalRegressor,
    DistributionalSuperLearner,
    IntervalDummyRegressor,
    IntervalSuperLearner,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
)
from marginwood.metrics import SCORERS, interval_d2_score, permutation_importance
from marginwood.plotting import plot_importances

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
MIDDLE = 3 * X[:, 1] + 0.3 * RNG.normal(size=160)
Y = np.column_stack([MIDDLE - RNG.exponential(size=160), MIDDLE + RNG.exponential(size=160)])
TRAIN, TEST = slice(0, 80), slice(80, 160)


@pytest.fixture(scope="module")
def forest():
    return MaxMarginIntervalForest(40, random_state=0).fit(X[TRAIN], Y[TRAIN])


def test_the_fall_is_that_of_the_score_of_permuted_rows(forest):
    found = permutation_importance(forest, X[TEST], Y[TEST], n_repeats=3, random_state=5)
    assert (found.rows, found.names) == ("all", ["x[0]", "x[1]", "x[2]"])
    assert found.score == forest.score(X[TEST], Y[TEST])
    seeds = np.random.RandomState(5).randint(2**31 - 1, size=(3, 3))
    for idx in range(3):
        for repeat in range(3):
            permuted = X[TEST].copy()
            order = np.random.RandomState(seeds[idx, repeat]).permutation(80)
            permuted[:, idx] = permuted[order, idx]
            fall = found.score - interval_d2_score(Y[TEST], forest.predict(permuted))
            assert found.importances[idx, repeat] == pytest.approx(fall)
    np.testing.assert_allclose(found.importances_std, found.importances.std(axis=1, ddof=1))


def test_a_forest_is_asked_about_rows_that_its_trees_have_not_drawn(forest):
    found = permutation_importance(forest, X[TRAIN], Y[TRAIN], random_state=0)
    assert found.rows == "oob"
    prediction = forest._predict_oob(X[TRAIN])
    known = ~np.isnan(prediction)
    expected = interval_d2_score(Y[TRAIN][known], prediction[known])
    assert found.score == pytest.approx(expected)
    seen = permutation_importance(forest, X[TRAIN], Y[TRAIN], rows="all", random_state=0)
    assert seen.score > found.score
    assert found.importances_mean.argmax() == 1
    curves = permutation_importance(
        forest, X[TRAIN], Y[TRAIN], scoring="neg_interval_crps", n_repeats=1, random_state=0
    )
    assert curves.rows == "oob"
    assert curves.importances_mean.argmax() == 1


@pytest.mark.parametrize("scoring", sorted(SCORERS))
def test_every_score_takes_part(forest, scoring):
    found = permutation_importance(
        forest, X[TEST], Y[TEST], scoring=scoring, n_repeats=2, random_state=0
    )
    assert found.importances_mean.argmax() == 1
    assert scoring in str(found)


MODELS = {
    "linear": CensoredLinearRegression(),
    "pipeline": make_pipeline(StandardScaler(), MaxMarginIntervalTree(max_depth=4)),
    "mixture": IntervalSuperLearner(
        [("tree", MaxMarginIntervalTree(max_depth=4)), ("constant", IntervalDummyRegressor())], cv=2
    ),
    "curves": DistributionalSuperLearner(
        [("linear", CensoredLinearRegression()), ("forest", MaxMarginIntervalForest(5))], cv=2
    ),
    "ranges": ConformalIntervalRegressor(MaxMarginIntervalTree(max_depth=4), random_state=0),
    "wrapper": TransformedIntervalRegressor(CensoredLinearRegression(), func="arcsinh"),
}


@pytest.mark.filterwarnings("ignore:predict. .* medians lie beyond")
@pytest.mark.parametrize("name", MODELS)
def test_mixtures_and_wrappers_have_importances_that_are_drawn(name):
    model = MODELS[name].fit(X[TRAIN], Y[TRAIN])
    found = permutation_importance(model, X[TEST], Y[TEST], random_state=0)
    assert found.importances_mean.argmax() == 1
    ax = plot_importances(found, feature_names=["a", "b", "c"], n_top=2)
    assert ax.get_yticklabels()[0].get_text() == "b"
    assert ax.patches[0].get_width() == pytest.approx(found.importances_mean[1])
    (line, *_) = ax.collections[0].get_segments()
    low, high = found.importances_mean[1] + found.importances_std[1] * np.array([-1, 1])
    np.testing.assert_allclose(line[:, 0], [low, high])
    assert "interval_d2" in ax.get_xlabel()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_categories_keep_their_types(library):
    frames = pytest.importorskip(library)
    group = np.where(X[:, 1] > 0, "high", "low")
    values = {"noise": X[:, 0], "group": group}
    frame = frames.DataFrame(values)
    if library == "pandas":
        frame["group"] = frame["group"].astype("category")
    else:
        frame = frame.with_columns(frames.col("group").cast(frames.Enum(["high", "low"])))
    forest = MaxMarginIntervalForest(20, random_state=0).fit(frame, Y)
    found = permutation_importance(forest, frame, Y, random_state=0)
    assert found.names == ["noise", "group"]
    assert found.rows == "oob"
    assert found.table()["feature"][0] == "group"


def test_threads_and_seeds_give_the_same_and_weights_count(forest):
    arguments = {"scoring": "interval_concordance_index", "n_repeats": 2, "random_state": 3}
    one = permutation_importance(forest, X[TEST], Y[TEST], **arguments)
    two = permutation_importance(forest, X[TEST], Y[TEST], n_jobs=2, **arguments)
    np.testing.assert_array_equal(one.importances, two.importances)
    weight = np.arange(80.0)
    weighed = permutation_importance(forest, X[TEST], Y[TEST], sample_weight=weight, **arguments)
    assert weighed.score != one.score


def test_out_of_bag_rows_that_there_are_not_are_refused(forest):
    with pytest.raises(ValueError, match='"oob" expected a forest, its training rows'):
        permutation_importance(forest, X[TEST], Y[TEST], rows="oob")
    with pytest.raises(TypeError, match=r"metrics\.permutation_importance"):
        plot_importances(CensoredLinearRegression().fit(X, Y))


def test_a_forest_without_rows_is_asked_about_the_rows_that_are_given():
    forest = MaxMarginIntervalForest(5, keep_rows=False, random_state=0).fit(X, Y)
    found = permutation_importance(forest, X, Y, random_state=0)
    assert found.rows == "all"
    with pytest.raises(NotFittedError):
        permutation_importance(MaxMarginIntervalForest(5), X, Y)


def test_training_rows_with_entries_are_known_again():
    entry = np.full(len(X), -100.0)
    entry[0] = Y[0, 0] - 1
    forest = MaxMarginIntervalForest(20, random_state=0).fit(X, Y, entry=entry)
    assert permutation_importance(forest, X, Y, random_state=0).rows == "oob"
