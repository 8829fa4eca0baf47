"""Frames with categories in a super learner: every model sees them in the form that it takes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.inspection import partial_dependence

from marginwood import (
    IntervalCART,
    IntervalDummyRegressor,
    IntervalSuperLearner,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    load,
    save,
)
from marginwood._categories import make_indicators
from marginwood._ensemble.finite import sum_indicators
from marginwood._ensemble.members import Member

RANDOM = np.random.RandomState(0)
N_ROWS = 90
KIND = RANDOM.choice(["a", "b", "c"], N_ROWS)
NOISE = RANDOM.normal(size=N_ROWS)
VALUE = 3.0 * (KIND == "b") + 0.5 * NOISE + RANDOM.normal(0, 0.1, N_ROWS)
Y = np.column_stack([VALUE - 0.1, np.where(RANDOM.uniform(size=N_ROWS) < 0.2, np.inf, VALUE + 0.1)])
PANDAS = pd.DataFrame({"kind": pd.Categorical(KIND), "noise": NOISE})
PANDAS.loc[3, "kind"] = np.nan
POLARS = pl.DataFrame(
    {
        "kind": pl.Series([None if row == 3 else kind for row, kind in enumerate(KIND)]),
        "noise": NOISE,
    }
)
POLARS = POLARS.with_columns(pl.col("kind").cast(pl.Categorical))
frames = pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])
MODELS = [
    ("constant", IntervalDummyRegressor()),
    ("cart", IntervalCART()),
    ("linear", L1IntervalRegression(alpha=0.01)),
    ("tree", MaxMarginIntervalTree(max_depth=3)),
    ("forest", MaxMarginIntervalForest(10)),
    ("boosting", MaxMarginIntervalBoosting(20, init=L1IntervalRegression(alpha=0.01))),
]
NUMBERS_ONLY = ["constant", "cart", "linear", "boosting"]


def learn(frame, models=MODELS, **options):
    return IntervalSuperLearner(models, cv=3, random_state=0, **options).fit(frame, Y)


@frames
@pytest.mark.parametrize(("name", "member"), MODELS, ids=[name for name, _ in MODELS])
def test_a_model_sees_the_frame_or_indicators_of_its_categories(frame, name, member):
    model = learn(frame, [(name, member)])
    assert model.categories_ == [["a", "b", "c"], None]
    if name in NUMBERS_ONLY:
        indicators = np.column_stack([KIND == "b", KIND == "c", NOISE]).astype(float)
        indicators[3, :2] = 0.0
        np.testing.assert_array_equal(
            model.predict(frame), learn(indicators, [(name, member)]).predict(indicators)
        )
    else:
        assert model.estimators_[name].estimators_[0].categories_ == model.categories_


@frames
def test_the_mixture_is_as_good_as_its_models(frame):
    model = learn(frame)
    assert model._takes_finite == NUMBERS_ONLY
    assert model.score(frame, Y) > 0.9


@frames
def test_the_library_learns_categories(frame):
    model = IntervalSuperLearner(cv=2, random_state=0).fit(frame, Y)
    assert model.score(frame, Y) > 0.9
    linear = {"linear", "likelihood", "boosting-linear"}
    assert (
        set(model._takes_finite)
        == {"constant", "kernel", "kernel-middle", "kernel-additive"} | linear
    )


@frames
def test_importances_of_indicators_count_for_their_feature(frame):
    linear_first = learn(frame, [MODELS[-1]])
    inner = linear_first.estimators_["boosting"].feature_importances_
    assert inner.shape == (3,)
    np.testing.assert_allclose(linear_first.feature_importances_, [inner[0] + inner[1], inner[2]])
    assert learn(frame).feature_importances_.shape == (2,)


def test_importances_of_indicators_add_up_by_feature():
    categories = [["a", "b", "c"], None, ["only"]]
    assert make_indicators(np.array([[2.0, 7.0, 0.0]]), categories).tolist() == [[0.0, 1.0, 7.0]]
    assert sum_indicators(np.array([1.0, 2.0, 4.0]), categories).tolist() == [3.0, 4.0, 0.0]
    assert sum_indicators(np.zeros(1), [["only"]]).tolist() == [0.0]
    assert sum_indicators(np.array([1.0, 2.0]), None).tolist() == [1.0, 2.0]


@frames
def test_a_file_keeps_the_categories(frame, tmp_path):
    model = learn(frame)
    save(model, tmp_path / "model.mw")
    loaded = load(tmp_path / "model.mw")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.categories_ == model.categories_


@frames
def test_a_checkpoint_goes_on_with_the_same_categories_only(frame, tmp_path, monkeypatch):
    model = learn(frame, checkpoint=tmp_path)
    monkeypatch.setattr(Member, "fit", None)  # nothing is fitted again
    np.testing.assert_array_equal(
        learn(frame, checkpoint=tmp_path).predict(frame), model.predict(frame)
    )
    with pytest.raises(ValueError, match="categories"):
        learn(PANDAS.assign(kind=PANDAS["kind"].cat.add_categories("d")), checkpoint=tmp_path)


def test_a_label_that_training_did_not_have_counts_as_missing():
    model = learn(PANDAS)
    other = PANDAS.astype({"kind": object})
    other.loc[:, "kind"] = "z"
    missing = PANDAS.assign(kind=pd.Categorical([None] * N_ROWS, ["a"]))
    np.testing.assert_array_equal(
        model.predict(other.astype({"kind": "category"})), model.predict(missing)
    )


def test_partial_dependence_and_pictures_take_numbers_and_categories():
    from marginwood.plotting import plot_importances, plot_partial_dependence

    model = learn(PANDAS)
    found = partial_dependence(
        model, PANDAS.dropna(), ["kind"], categorical_features=["kind"], kind="average"
    )
    assert found["average"][0].argmax() == 1
    assert plot_importances(model) is not None
    assert plot_partial_dependence(model, PANDAS, ["noise"]) is not None


def test_text_beside_categories_is_refused_by_name():
    with pytest.raises(ValueError, match="got text in column 'site'"):
        learn(PANDAS.assign(site="left"))
