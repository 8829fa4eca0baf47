"""The hinge losses on XGBoost."""

import json
import pickle
import sys
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood
from marginwood import (
    MaxMarginIntervalBoosting,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)
from marginwood.datasets import make_sine
from marginwood.export import from_dict, to_dict, to_sql
from marginwood.losses import hinge_loss, optimal_constant
from marginwood.xgb import IntervalMetric, IntervalObjective, XGBIntervalRegressor
from marginwood.xgb._data import Sample
from marginwood.xgb._objective import typical_distance
from marginwood.xgb._plan import make_plan
from marginwood.xgb_dask import DaskXGBIntervalRegressor
from strategies import LOSSES, informative_intervals, losses, margins

xgboost = pytest.importorskip("xgboost", reason="XGBoost is optional")

X, y = make_sine(150, 5, random_state=0)
rng = np.random.default_rng(0)
weights = rng.uniform(0.5, 2.0, len(X))


class Bounds:
    """What an objective reads of a DMatrix, in 64 bits."""

    def __init__(self, intervals, weight=()):
        self.info = {"label_lower_bound": intervals[:, 0], "label_upper_bound": intervals[:, 1]}
        self.weight = np.asarray(weight)

    def get_float_info(self, name):
        return self.info[name]

    def get_weight(self):
        return self.weight


def regressor(**parameters):
    return XGBIntervalRegressor(
        **{"n_estimators": 30, "max_depth": 3, "n_jobs": 1, "random_state": 0, **parameters}
    )


@given(informative_intervals(), losses, margins, st.floats(-8, 8, width=16))
def test_slopes_are_those_of_the_loss(intervals, loss, margin, prediction):
    # Halfway between two multiples of 1/2 no breakpoint is near.
    prediction = np.full(len(intervals), np.round(2 * prediction) / 2 + 0.25)
    weight = np.arange(len(intervals)) + 1.0
    slope, _ = IntervalObjective(loss, margin, scale=3.0)(prediction, Bounds(intervals, weight))
    step = 1e-6
    ends = [
        hinge_loss(intervals, prediction + sign * step, loss=loss, margin=margin)
        for sign in (1, -1)
    ]
    # The squared hinge is halved, the linear one multiplied by the scale.
    factor = 0.5 if loss == "squared_hinge" else 3.0
    np.testing.assert_allclose(
        slope, factor * weight * (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6
    )


@given(informative_intervals(), losses, margins)
def test_a_newton_step_of_one_distant_limit_ends_at_its_breakpoint(intervals, loss, margin):
    prediction = np.full(len(intervals), 7.25)
    slope, curvature = IntervalObjective(loss, margin)(prediction, Bounds(intervals))
    starts = intervals + np.where(intervals[:, :1] == intervals[:, 1:], 0.0, margin) * [1, -1]
    above, below = starts[:, 1] < prediction, starts[:, 0] > prediction
    assert ((curvature > 0) == (above | below)).all()
    one = above & ~below
    np.testing.assert_allclose(
        (prediction - slope / np.where(one, curvature, 1))[one], starts[one, 1]
    )


def test_weights_multiply_slope_and_curvature():
    prediction = np.linspace(-2, 2, len(X))
    for loss in LOSSES:
        plain = IntervalObjective(loss)(prediction, Bounds(y))
        weighted = IntervalObjective(loss)(prediction, Bounds(y, weights))
        np.testing.assert_allclose(weighted, [part * weights for part in plain], rtol=1e-6)


def test_uncensored_targets_give_the_model_of_squared_error():
    target = X[:, 0] + np.sin(X[:, 1])
    parameters = {"max_depth": 3, "learning_rate": 0.3, "base_score": target.mean(), "nthread": 1}
    theirs = xgboost.train(parameters, xgboost.DMatrix(X, label=target, weight=weights), 30)
    data = xgboost.DMatrix(X, label_lower_bound=target, label_upper_bound=target, weight=weights)
    ours = xgboost.train(parameters, data, 30, obj=IntervalObjective(margin=1.0))
    np.testing.assert_allclose(ours.predict(data), theirs.predict(data), atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "name", "metric"),
    [
        ("squared_hinge", "interval_mse", interval_mean_squared_error),
        ("linear_hinge", "interval_mae", interval_mean_absolute_error),
    ],
)
def test_the_metric_is_that_of_the_package(loss, name, metric):
    data = xgboost.DMatrix(X, label_lower_bound=y[:, 0], label_upper_bound=y[:, 1], weight=weights)
    prediction = np.linspace(-2, 2, len(X), dtype=np.float32)
    found, value = IntervalMetric(loss)(prediction, data)
    assert found == name
    assert value == pytest.approx(metric(y, prediction, sample_weight=weights), rel=1e-5)
    assert IntervalMetric(loss, margin=0.5)(prediction, data)[0] == loss
    assert IntervalMetric(loss, margin=0.5)(prediction, data)[1] > value


def test_a_matrix_without_bounds_is_refused():
    with pytest.raises(
        ValueError, match="label_lower_bound and label_upper_bound: expected one of each"
    ):
        xgboost.train({}, xgboost.DMatrix(X, label=X[:, 0]), 1, obj=IntervalObjective())


@pytest.mark.parametrize("loss", LOSSES)
def test_the_estimator_learns_targets_of_any_sign(loss):
    negative = y - 5
    model = regressor(loss=loss, margin=0.1).fit(X, negative)
    assert model.score(X, negative) > 0.9
    assert model.predict(X).max() < 0
    assert model.feature_importances_.argmax() == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_shifted_targets_shift_the_predictions(loss):
    model = regressor(loss=loss).fit(X, y)
    np.testing.assert_allclose(
        regressor(loss=loss).fit(X, y - 16).predict(X), model.predict(X) - 16, atol=0.05
    )


def test_without_a_useful_split_the_best_constant_is_predicted():
    model = regressor(margin=0.3, gamma=1e9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), optimal_constant(y, margin=0.3).value, rtol=1e-4)


def test_early_stopping_keeps_the_best_rounds():
    model = regressor(n_estimators=300, n_iter_no_change=5)
    model.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    scores = model.validation_score_
    assert model.n_estimators_ == np.argmin(scores) + 1 == len(scores) - 5
    error = interval_mean_squared_error(y[100:], model.predict(X[100:]))
    assert error == pytest.approx(scores.min(), rel=1e-4)
    held_out = regressor(n_estimators=300, n_iter_no_change=5, validation_fraction=0.3).fit(X, y)
    assert held_out.n_estimators_ < 300


def test_a_saved_model_predicts_the_same_and_xgboost_reads_its_booster(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = regressor(loss="linear_hinge", margin=0.1).fit(frame, y)
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.feature_names_in_.tolist() == list("abcde")
    model.booster_.save_model(tmp_path / "model.json")
    theirs = xgboost.Booster(model_file=tmp_path / "model.json").predict(xgboost.DMatrix(X))
    np.testing.assert_array_equal(theirs, model.predict(frame))


KINDS = {
    "plain": {},
    "stopped early": {"n_iter_no_change": 2},
    "pruned": {"tree_method": "exact", "gamma": 0.2, "max_depth": 6},
    "dart": {"xgb_params": {"booster": "dart", "rate_drop": 0.5}},
    "several trees a round": {"xgb_params": {"num_parallel_tree": 3}, "subsample": 0.5},
    "constrained": {"monotonic_cst": (1, 0, 0, 0, 0)},
    "without a split": {"gamma": 1e9},
}


@pytest.mark.filterwarnings("ignore:.*booster=dart")
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_the_saved_one(tmp_path, kind):
    model = regressor(n_estimators=np.int64(7), **KINDS[kind]).fit(X, y)
    marginwood.save(model, tmp_path / "model.mw")
    for loaded in (
        marginwood.load(tmp_path / "model.mw"),
        from_dict(json.loads(json.dumps(to_dict(model)))),
    ):
        assert loaded.get_params() == model.get_params()
        assert vars(loaded).keys() == vars(model).keys()
        np.testing.assert_array_equal(
            loaded.validation_score_, model.validation_score_, strict=True
        )
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
        assert loaded.booster_.save_raw("json") == model.booster_.save_raw("json")
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict(X), model.predict(X))


def test_parameters_that_are_objects_are_loaded_as_their_defaults(tmp_path):
    model = regressor(random_state=np.random.RandomState(0)).fit(X, y)
    marginwood.save(model, tmp_path / "model.mw")
    assert (
        marginwood.load(tmp_path / "model.mw").get_params()
        == regressor(random_state=None).get_params()
    )


def test_a_booster_of_another_kind_cannot_be_saved(tmp_path):
    model = regressor().fit(X, y)
    model.booster_ = xgboost.train(
        {"objective": "reg:pseudohubererror"}, xgboost.DMatrix(X, label=X[:, 0]), 1
    )
    with pytest.raises(
        TypeError, match="booster_: this kind of booster cannot be saved: expected the objective"
    ):
        marginwood.save(model, tmp_path / "model.mw")
    assert list(tmp_path.iterdir()) == []


BOOSTER = regressor(n_estimators=2, max_depth=2).fit(X, y)


def with_tree(**columns):
    """The dictionary of a small model of which columns of the first tree are changed: (node, value), or all of it."""
    state = to_dict(BOOSTER)
    booster = json.loads(bytes(state["model"]["booster_"]["content"]["items"]))
    tree = booster["learner"]["gradient_booster"]["model"]["trees"][0]
    for name, change in columns.items():
        if isinstance(change, tuple):
            tree[name][change[0]] = change[1]
        else:
            tree[name] = change
    content = json.dumps(booster).encode()
    state["model"]["booster_"]["content"] |= {"shape": [len(content)], "items": list(content)}
    return state


DAMAGE = {
    "a child beyond the tree": ({"left_children": (0, 2**31 - 1)}, "a child lies beyond its tree"),
    "a negative child": ({"right_children": (0, -7)}, "a child lies beyond its tree"),
    "the root as a child": ({"left_children": (1, 0)}, "a child lies beyond its tree"),
    "a child twice": ({"left_children": (0, 2)}, "share a child"),
    "children in a circle": ({"left_children": (3, 1), "right_children": (3, 2)}, "share a child"),
    "another parent": ({"parents": (1, 2)}, "do not agree"),
    "a root with a parent": ({"parents": (0, 1)}, "do not agree"),
    "one child": ({"right_children": (3, 5)}, "a child lies beyond its tree"),
    "a feature beyond": ({"split_indices": (0, 5)}, "beyond the 5 of the model"),
    "a leaf's feature beyond": ({"split_indices": (3, 2**31 - 2)}, "beyond the 5 of the model"),
    "a threshold that is infinite": ({"split_conditions": (0, inf)}, "list of numbers"),
    "a leaf that is NaN": ({"base_weights": (3, nan)}, "list of numbers"),
    "a value beyond 32 bits": ({"split_conditions": (0, 1e39)}, "list of numbers"),
    "text": ({"split_conditions": (0, "1.5")}, "list of numbers"),
    "a side that is neither": ({"default_left": (0, 2)}, "default_left"),
    "a category": ({"split_type": (0, 1)}, "a split by category"),
    "categories": ({"categories": [1]}, "the categories of a split lie beyond"),
    "a short column": ({"sum_hessian": [1.0]}, "different lengths"),
    "no nodes": ({name: [] for name in ("split_indices", "left_children")}, "different lengths"),
    "a column that is a number": ({"left_children": 7}, "expected a list"),
    "a large whole number": ({"left_children": (0, 10**30)}, "list of whole numbers"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_booster_is_refused_before_xgboost_sees_it(monkeypatch, kind):
    monkeypatch.setattr(xgboost, "Booster", None)
    columns, message = DAMAGE[kind]
    with pytest.raises(ValueError, match=f"damaged: .*{message}"):
        from_dict(with_tree(**columns))


def test_without_xgboost_a_file_of_its_model_says_what_to_install(tmp_path, monkeypatch):
    marginwood.save(BOOSTER, tmp_path / "model.mw")
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[xgboost\]"'):
        marginwood.load(tmp_path / "model.mw")


def test_a_booster_for_other_features_is_refused():
    state = with_tree()
    state["model"]["n_features_in_"] = 4
    with pytest.raises(ValueError, match="damaged"):
        from_dict(state)


def test_depth_and_threads_mean_what_they_mean_everywhere():
    unbounded, bounded = (
        regressor(max_depth=depth, n_estimators=1).fit(X, y) for depth in (None, 2)
    )
    n_nodes = [len(model.booster_.trees_to_dataframe()) for model in (unbounded, bounded)]
    assert n_nodes[0] > 7 >= n_nodes[1]
    config = json.loads(XGBIntervalRegressor(2).fit(X, y).booster_.save_config())
    assert config["learner"]["generic_param"]["nthread"] == "1"


@pytest.mark.parametrize(
    ("name", "value", "error", "least"),
    [
        ("n_estimators", 0, ValueError, 1),
        ("n_estimators", -3, ValueError, 1),
        ("n_estimators", 5.0, TypeError, 1),
        ("max_depth", 0, ValueError, "1 or None"),
        ("max_depth", 2.0, TypeError, "1 or None"),
        ("max_bin", 1, ValueError, 2),
        ("max_bin", None, TypeError, 2),
        ("n_jobs", 1.5, TypeError, -1),
        ("verbose", -1, ValueError, 0),
    ],
)
def test_counts_are_checked(name, value, error, least):
    with pytest.raises(error, match=f"{name}: expected an integer >= {least}, got {value}"):
        regressor(**{name: value}).fit(X, y)


def test_counts_may_be_integers_of_numpy_and_verbose_a_boolean():
    counts = {
        name: np.int64(value)
        for name, value in {"n_estimators": 2, "max_depth": 3, "max_bin": 4}.items()
    }
    assert regressor(**counts, verbose=False).fit(X, y).n_estimators_ == 2


def test_a_pickled_model_predicts_the_same():
    model = regressor().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_features_may_hold_nan_and_infinities():
    holes = X.copy()
    holes[::7, 0], holes[1::11, 1], holes[2::11, 1] = nan, -inf, inf
    assert regressor().fit(holes, y).score(holes, y) > 0.8


@pytest.mark.parametrize("tree_method", ["approx", "exact"])
def test_other_parameters_reach_xgboost(tree_method):
    model = regressor(
        tree_method=tree_method, xgb_params={"max_leaves": 2, "grow_policy": "lossguide"}
    )
    if tree_method == "exact":  # which knows no best-first growth
        model.set_params(max_depth=1, xgb_params={"max_delta_step": 1})
    leaves = (
        model.fit(X, y)
        .booster_.trees_to_dataframe()
        .groupby("Tree")["Feature"]
        .apply(lambda f: (f == "Leaf").sum())
    )
    assert leaves.max() == 2
    assert clone(model).get_params() == model.get_params()


REFUSED = {
    "eta": "use learning_rate=",
    "learning_rate": "use learning_rate=",
    "max_depth": "use max_depth=",
    "min_split_loss": "use gamma=",
    "lambda": "use reg_lambda=",
    "alpha": "use reg_alpha=",
    "nthread": "use n_jobs=",
    "seed": "use random_state=",
    "num_boost_round": "use n_estimators=",
    "gpu_id": 'use device="cuda:0"',
    "objective": "use loss=",
    "eval_metric": "the validation loss is that of `loss`",
    "base_score": "the first prediction is the best constant",
    "process_type": "every round grows trees",
    "num_class": "one prediction",
    "aft_loss_distribution": "another objective",
    "early_stopping_rounds": "use n_iter_no_change",
    "eval_set": "use X_val and y_val",
    "evals": "use X_val and y_val",
    "callbacks": "use verbose to follow",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_parameter_that_has_another_place_is_refused_with_it(name):
    with pytest.raises(ValueError, match=f"xgb_params: '{name}' .*{REFUSED[name]}"):
        regressor(xgb_params={name: 0.1}).fit(X, y)


def test_a_fit_leaves_the_verbosity_of_xgboost_as_it_was():
    before = xgboost.get_config()
    model = regressor(xgb_params={"verbosity": 0, "no_such_parameter": 1}).fit(X, y)
    assert xgboost.get_config() == before
    model.predict(X)
    assert xgboost.get_config() == before


@pytest.mark.parametrize("loss", ["hinge", None, IntervalObjective])
def test_a_wrong_loss_is_told_what_is_accepted(loss):
    with pytest.raises(
        ValueError, match="expected 'linear_hinge' or 'squared_hinge', or an IntervalObjective, got"
    ):
        regressor(loss=loss).fit(X, y)


def test_further_parameters_are_a_dict_and_grow_trees():
    with pytest.raises(
        TypeError, match="xgb_params: expected a dict of XGBoost's parameters or None, got 'eta=1'"
    ):
        regressor(xgb_params="eta=1").fit(X, y)
    with pytest.raises(
        ValueError, match="xgb_params: booster: expected one of 'gbtree', 'dart', got 'gblinear'"
    ):
        regressor(xgb_params={"booster": "gblinear"}).fit(X, y)


@pytest.mark.parametrize("estimator", [XGBIntervalRegressor, MaxMarginIntervalBoosting])
def test_names_of_other_libraries_are_told_in_the_constructor(estimator):
    for name in ("early_stopping_rounds", "early_stopping"):
        with pytest.raises(
            TypeError, match=f"{estimator.__name__}: .*no argument '{name}'; use n_iter_no_change"
        ):
            estimator(**{name: 5})
    with pytest.raises(TypeError, match="unexpected keyword argument 'patience'"):
        estimator(patience=5)


def test_names_of_xgboost_are_told_in_the_constructor():
    with pytest.raises(
        TypeError, match="XGBIntervalRegressor: there is no argument 'eta'; use learning_rate"
    ):
        XGBIntervalRegressor(eta=0.1)


@pytest.mark.parametrize(
    "estimator", [XGBIntervalRegressor, DaskXGBIntervalRegressor, MaxMarginIntervalBoosting]
)
def test_names_of_other_libraries_are_told_in_fit(estimator):
    with pytest.raises(
        TypeError, match="fit: there is no argument 'eval_set'; use X_val and y_val"
    ):
        estimator(2).fit(X, y, eval_set=[(X, y)])


def test_an_objective_of_the_user_is_used_as_it_is():
    scale = typical_distance(y, None)
    named = regressor(loss="linear_hinge", margin=0.2)
    factor = make_plan(named, Sample(y, None), 0).objective.factor
    penalties = {"reg_lambda": float(factor), "min_child_weight": float(factor)}
    own = regressor(loss=IntervalObjective("linear_hinge", 0.2, scale, factor), **penalties)
    np.testing.assert_array_equal(own.fit(X, y).predict(X), named.fit(X, y).predict(X))
    assert clone(own).fit(X, y).score(X, y) == named.score(X, y)
    with pytest.raises(
        ValueError, match=r"margin: expected 0 beside an objective, which has its own; got 0\.1"
    ):
        regressor(loss=IntervalObjective(), margin=0.1).fit(X, y)


class Lopsided(IntervalObjective):
    """Too large a prediction costs four times as much as one that is too small."""

    def __call__(self, prediction, data):
        slope, curvature = super().__call__(prediction, data)
        factor = np.where(slope > 0, np.float32(4), np.float32(1))
        return slope * factor, curvature * factor


def test_a_class_of_the_user_may_compute_other_slopes(tmp_path):
    noise = np.random.default_rng(0).normal(size=len(X))
    model, plain = (
        regressor(loss=loss, max_depth=1).fit(X, noise)
        for loss in (Lopsided(), IntervalObjective())
    )
    assert model.predict(X).mean() < plain.predict(X).mean() - 0.2
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.loss == "squared_hinge"  # a file holds no code


def test_the_typical_distance_is_positive():
    assert typical_distance(np.array([[0.0, inf], [4.0, 4.0]]), None) == 4.0
    assert typical_distance(np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([1.0, 9.0])) == 2.0
    assert typical_distance(np.array([[3.0, inf], [9.0, 9.0]]), np.array([1.0, 0.0])) == 1.0
    # The number right below 3 is 3, on the other side.
    assert typical_distance(np.array([[-inf, np.nextafter(3, 0)], [3.0, 3.0]]), None) == 1.0


@parametrize_with_checks([XGBIntervalRegressor(10, n_jobs=1)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unit", [2.0**-33, 1e-4, 3.0, 2.0**33])
def test_the_unit_of_the_target_does_not_matter(loss, unit):
    X, y = make_sine(random_state=0)
    parameters = {
        "loss": loss,
        "learning_rate": 0.3,
        "max_depth": 6,
        "gamma": 0.01,
        "reg_alpha": 0.1,
    }
    model = XGBIntervalRegressor(20, margin=0.1, **parameters).fit(X, y)
    scaled = XGBIntervalRegressor(20, margin=0.1 * unit, **parameters)
    assert len(np.unique(model.predict(X))) > 50
    np.testing.assert_allclose(
        scaled.fit(X, y * unit).predict(X) / unit, model.predict(X), atol=0.02
    )


@pytest.mark.parametrize("unit", [1e-13, 1e20])
def test_targets_beyond_32_bits_are_refused(unit):
    X, y = make_sine(random_state=0)
    with pytest.raises(
        ValueError, match=r"y: a typical distance between limits is .* Divide y by a number of that"
    ):
        XGBIntervalRegressor(2, n_jobs=1).fit(X, y * unit)


def test_weights_that_allow_no_split_are_told():
    X, y = make_sine(random_state=0)
    with pytest.warns(
        UserWarning,
        match="sample_weight: they sum up to 1, but a split needs twice min_child_weight=1",
    ):
        XGBIntervalRegressor(2, n_jobs=1).fit(X, y, np.full(len(X), 1 / len(X)))
    with pytest.raises(ValueError, match=r"sample_weight: expected at most 1e\+37"):
        XGBIntervalRegressor(2, n_jobs=1).fit(X, y, np.full(len(X), 1e40))


def test_a_learning_rate_is_a_positive_number():
    with pytest.raises(ValueError, match="learning_rate: expected a finite number > 0, got nan"):
        XGBIntervalRegressor(2, learning_rate=float("nan")).fit([[0.0], [1.0]], [0.0, 1.0])


KINDS_OF_ROUNDS = {
    "plain": {},
    "dart": {"xgb_params": {"booster": "dart", "rate_drop": 0.5}},
    "drawn": {"subsample": 0.5, "colsample_bytree": 0.5},
    "approx": {"tree_method": "approx"},
}


@pytest.mark.filterwarnings("ignore:.*booster=dart")
@pytest.mark.parametrize("kind", KINDS_OF_ROUNDS)
def test_the_rounds_are_those_of_xgboost(kind):
    model = regressor(
        n_iter_no_change=40,
        n_estimators=40,
        loss="linear_hinge",
        margin=0.2,
        **KINDS_OF_ROUNDS[kind],
    )
    model.fit(X[:100], y[:100], weights[:100], X_val=X[100:], y_val=y[100:])
    plan = make_plan(
        model, Sample(y[:100], weights[:100]), np.random.RandomState(0).randint(1, 2**31 - 1)
    )
    make, options = (xgboost.QuantileDMatrix, {"max_bin": 256})
    if kind == "approx":
        make, options = (xgboost.DMatrix, {})
    first, last = (
        {"label_lower_bound": part[:, 0], "label_upper_bound": part[:, 1]}
        for part in (y[:100], y[100:])
    )
    training = make(X[:100], weight=weights[:100], **first, **options)
    validation = make(X[100:], **last, **options, **({} if kind == "approx" else {"ref": training}))
    history = {}
    booster = xgboost.train(
        plan.params,
        training,
        40,
        evals=[(validation, "validation")],
        obj=plan.objective,
        custom_metric=plan.metric,
        evals_result=history,
        verbose_eval=False,
    )
    # XGBoost writes scores as texts of six digits.
    np.testing.assert_allclose(
        model.validation_score_, history["validation"]["interval_mae"], atol=1e-6
    )
    kept = booster[: model.n_estimators_]
    np.testing.assert_array_equal(model.predict(X[100:]), kept.predict(validation))


def thin(seed=0):
    """Features with many zeros, and intervals that follow the others."""
    rng = np.random.default_rng(seed)
    features = np.where(rng.uniform(size=(200, 6)) < 0.4, rng.normal(size=(200, 6)), 0.0)
    target = features[:, 0] + (features[:, 1] != 0)
    return features, np.column_stack([target - 0.1, target + 0.1])


@pytest.mark.parametrize(
    "kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]
)
def test_zeros_of_sparse_features_are_missing_to_fit_and_predict(kind):
    features, targets = thin()
    model = regressor().fit(kind(features), targets)
    assert model.zeros_are_missing_
    holes = regressor().fit(np.where(features == 0, nan, features), targets)
    np.testing.assert_array_equal(
        model.predict(kind(features)), holes.predict(np.where(features == 0, nan, features))
    )
    np.testing.assert_array_equal(model.predict(features), model.predict(kind(features)))


def test_zeros_of_dense_features_are_zeros_to_predict_whatever_comes():
    features, targets = thin()
    model = regressor().fit(features, targets)
    assert not model.zeros_are_missing_
    many = np.tile(features, (50, 1))  # more than one block
    np.testing.assert_array_equal(model.predict(sparse.csc_array(many)), model.predict(many))


def test_a_model_whose_zeros_are_missing_is_not_exported():
    features, targets = thin()
    model = regressor().fit(sparse.csr_array(features), targets)
    with pytest.raises(
        ValueError, match="model: it was trained on sparse features and takes zeros for missing"
    ):
        to_sql(model)


def test_sparse_features_may_be_infinite_held_out_and_saved(tmp_path):
    features, targets = thin()
    features[3, 0], features[5, 1], features[7, 2] = inf, -inf, nan
    model = regressor(n_iter_no_change=5).fit(sparse.csr_array(features), targets)
    assert len(model.validation_score_) > 0
    given = regressor(n_iter_no_change=5)
    given.fit(sparse.csr_array(features), targets, X_val=features, y_val=targets)
    other = regressor(n_iter_no_change=5).fit(
        features, targets, X_val=sparse.csr_array(features), y_val=targets
    )
    same = regressor(n_iter_no_change=5).fit(features, targets, X_val=features, y_val=targets)
    np.testing.assert_array_equal(other.validation_score_, same.validation_score_)
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(
        loaded.predict(features), model.predict(sparse.csr_array(features))
    )
