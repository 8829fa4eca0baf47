"""Conformal ranges: equal to their definitions, and true to their promises."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginwood
from marginwood import (
    ConformalIntervalRegressor,
    CrossFittedIntervalRegressor,
    DistributionalIntervalRegressor,
    IntervalDummyRegressor,
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
)
from marginwood.conformal import _members as members_module
from marginwood.datasets import make_sine
from marginwood.metrics import get_scorer, interval_coverage
from pipelines import FRAME, TARGET, encoder
from strategies import intervals

inf = math.inf
MODES = ("contains", "meets", "lower", "upper")
TREE = MaxMarginIntervalTree(max_depth=2)
FOREST = MaxMarginIntervalForest(25, random_state=0)

RNG = np.random.RandomState(0)
X = RNG.uniform(0, 10, (60, 2))
LABEL = np.sin(X[:, 0]) + RNG.normal(0, 0.3, 60)
# Two-sided intervals around the labels, and two that are open above.
Y = np.column_stack([LABEL - RNG.uniform(0, 0.5, 60), LABEL + RNG.uniform(0, 0.5, 60)])
Y[:2, 1] = inf
NEW = RNG.uniform(0, 10, (9, 2))

NOT_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "a row of weight 2 is drawn and calibrates once"
}

levels = st.sampled_from([0.1, 0.5, 0.55, 0.75, 0.8, 0.9])
modes = st.sampled_from(MODES)
infinite = pytest.mark.filterwarnings(
    "ignore:confidence_level. ranges at", "ignore:y. .* are .-inf, inf."
)


class FirstColumn(RegressorMixin, BaseEstimator):
    """Predicts the first feature: fitted from the start."""

    def fit(self, X, y):  # noqa: ARG002 (scikit-learn's)
        return self

    def predict(self, X):
        return np.asarray(X, dtype=float)[:, 0]

    def __sklearn_is_fitted__(self):
        return True


def around(predictions, y, **parameters):
    """Ranges calibrated with given predictions."""
    model = ConformalIntervalRegressor(FirstColumn(), method="prefit", **parameters)
    return model.conformalize(np.reshape(predictions, (-1, 1)), y)


def literal_distance(f, low, high, mode):
    """How far a range around f must reach to keep the promise of a mode."""
    return {
        "contains": max(f - low, high - f),
        "meets": max(low - f, f - high, 0.0),
        "lower": f - low,
        "upper": high - f,
    }[mode]


def literal_plus(centres, radii, level, mode):
    """The jackknife+ range of one new row, from a centre and a radius for every calibration row."""
    n, exact = len(centres), Fraction(str(level))
    lowers = sorted(centre - radius for centre, radius in zip(centres, radii, strict=True))
    uppers = sorted(centre + radius for centre, radius in zip(centres, radii, strict=True))
    if mode in ("contains", "meets"):
        exact = max(exact, Fraction(1, 2))
    k_low, k_high = math.floor((1 - exact) * (n + 1)), math.ceil(exact * (n + 1))
    low = lowers[k_low - 1] if k_low >= 1 and mode != "upper" else -inf
    high = uppers[k_high - 1] if k_high <= n and mode != "lower" else inf
    return low, high


@parametrize_with_checks(
    [
        ConformalIntervalRegressor(TREE, cv=3),
        ConformalIntervalRegressor(TREE, method="split", mode="lower"),
        ConformalIntervalRegressor(FOREST, method="oob", spread="trees", mode="meets"),
    ],
    expected_failed_checks=lambda model: {} if model.method == "cv" else NOT_ROWS,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@infinite
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@given(
    y=intervals(max_size=14).filter(lambda y: np.isfinite(y).any()),
    level=levels,
    mode=modes,
    data=st.data(),
)
@infinite
def test_the_radius_is_the_promised_quantile_of_the_distances(y, level, mode, data):
    f = np.array(data.draw(st.lists(st.integers(-6, 6), min_size=len(y), max_size=len(y))), float)
    distances = sorted(literal_distance(*row, mode) for row in zip(f, *y.T, strict=True))
    rank = math.ceil(Fraction(str(level)) * (len(y) + 1))
    q = distances[rank - 1] if rank <= len(y) else inf
    ranges = around(f, y, mode=mode, confidence_level=level).predict_interval([[2.0], [-1.5]])
    for f_new, (low, high) in zip([2.0, -1.5], ranges, strict=True):
        assert low == (-inf if mode == "upper" else f_new - q)
        # Just beyond the lower end of a row, which the row does not hold.
        assert high == (
            inf
            if mode == "lower"
            else f_new + q
            if mode != "meets"
            else np.nextafter(f_new + q, inf)
        )


@settings(max_examples=50)
@given(y=intervals(min_size=3, max_size=10), level=levels, mode=modes, data=st.data())
@infinite
def test_whichever_row_is_the_new_one_the_promised_share_of_rows_is_kept(y, level, mode, data):
    f = np.array(data.draw(st.lists(st.integers(-6, 6), min_size=len(y), max_size=len(y))), float)
    kept = 0
    for new in range(len(y)):
        rest = np.arange(len(y)) != new
        if not np.isfinite(y[rest]).any():
            return
        model = around(f[rest], y[rest], mode=mode, confidence_level=level)
        coverage = interval_coverage(y[[new]], model.predict_interval(f[new].reshape(1, 1)))
        if mode in ("lower", "upper"):
            low, high = model.predict_interval(f[new].reshape(1, 1))[0]
            kept += low <= y[new, 0] if mode == "lower" else y[new, 1] <= high
        else:
            kept += coverage.contain_rate if mode == "contains" else coverage.meet_rate
    assert kept >= Fraction(str(level)) * len(y)


@settings(max_examples=50)
@given(y=intervals(min_size=3, max_size=10), level=levels, mode=modes, data=st.data())
@infinite
def test_whichever_time_is_the_new_one_the_promised_share_of_times_is_kept(y, level, mode, data):
    """Of whole days: ranges end exactly at limits that many rows share."""
    days = np.ceil(np.exp(y))
    days[np.isneginf(y)] = 0.0
    days[days[:, 1] == 0, 1] = 1.0
    f = np.array(data.draw(st.lists(st.integers(-6, 6), min_size=len(y), max_size=len(y))), float)[
        :, np.newaxis
    ]
    inner = TransformedIntervalRegressor(FirstColumn(), func="log").fit([[0.0]], [1.0])
    model = ConformalIntervalRegressor(inner, method="prefit", mode=mode, confidence_level=level)
    kept = 0
    for new, (lower, upper) in enumerate(days):
        rest = np.arange(len(y)) != new
        if not np.isfinite(y[rest]).any():
            return
        low, high = model.conformalize(f[rest], days[rest]).predict_interval(f[[new]])[0]
        assert low >= 0
        kept += {
            "contains": low <= lower and upper <= high,
            "meets": low <= upper and (lower < high or lower == upper == high),
            "lower": low <= lower,
            "upper": upper <= high,
        }[mode]
    assert kept >= Fraction(str(level)) * len(y)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), mode=modes)
@infinite
def test_whichever_row_is_the_new_one_the_proven_share_is_kept_by_the_jackknife(seed, mode):
    random = np.random.RandomState(seed)
    features, lower = (
        random.randint(0, 4, (8, 1)).astype(float),
        random.randint(0, 9, 8).astype(float),
    )
    y = np.column_stack([lower, lower + random.choice([0, 1, 5, inf], 8)])
    y[:, 1] = np.where(np.isinf(y[:, 1]) & (mode == "upper"), 20.0, y[:, 1])
    model = ConformalIntervalRegressor(
        MaxMarginIntervalTree(max_depth=1), mode=mode, cv=LeaveOneOut()
    )
    model.set_params(confidence_level=0.75)
    kept = 0
    for new in range(8):
        rest = np.arange(8) != new
        low, high = model.fit(features[rest], y[rest]).predict_interval(features[[new]])[0]
        kept += (
            low <= y[new, 1] and y[new, 0] <= high
            if mode == "meets"
            else low <= y[new, 0] and (mode == "lower" or y[new, 1] <= high)
        )
    assert kept > 0.5 * 8


@given(
    y=intervals(max_size=14).filter(lambda y: np.isfinite(y).any()),
    level=levels,
    mode=modes,
    data=st.data(),
)
@infinite
def test_the_bracket_holds_the_radius_of_the_hidden_labels(y, level, mode, data):
    n = len(y)
    f = np.array(data.draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n)), float)
    shares = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) / 4
    low, high = np.clip(y, -9.0, 9.0).T
    labels = low + shares * (high - low)
    given_intervals, given_labels = (
        around(f, target, mode=mode, confidence_level=level)
        for target in (y, np.column_stack([labels, labels]))
    )
    near, far = given_intervals.bracket_
    hidden = given_labels.bracket_
    assert hidden[0] == hidden[1]
    assert near <= hidden[0] <= far
    if mode == "contains":
        assert far == given_intervals.predict_interval([[0.0]])[0, 1]
    if mode == "meets":
        assert np.nextafter(near, inf) == given_intervals.predict_interval([[0.0]])[0, 1]


@given(seed=st.integers(0, 10**6), level=levels)
@infinite
def test_ranges_of_hidden_labels_lie_between_those_that_meet_and_those_that_contain(seed, level):
    """For CV+, with the models that the intervals gave."""
    random = np.random.RandomState(seed)
    held_out = random.rand(4, 11) < 0.4
    held_out[random.randint(0, 4, 11), np.arange(11)] = True
    members = members_module.Members(
        random.randint(-5, 5, (4, 6)).astype(float), random.rand(4, 6), "mean"
    )
    near = random.randint(0, 5, 11).astype(float)
    far = near + random.choice([0, 1, 2, inf], 11)
    hidden = np.minimum(near + random.rand(11), far)
    rank = math.ceil(max(level, 0.5) * 12)
    least, between, most = (
        members_module.find_reach(members, held_out, d, rank) for d in (near, hidden, far)
    )
    assert (least <= between).all()
    assert (between <= most).all()
    assert (-least[0] <= least[1]).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("level", [0.3, 0.8, 0.9, 0.99])
@infinite
def test_cv_is_equal_to_its_definition(mode, level):
    model = ConformalIntervalRegressor(TREE, mode=mode, confidence_level=level, cv=KFold(4)).fit(
        X, Y
    )
    literal = []
    own, new = np.empty(60), np.empty((60, 9))
    for train, test in KFold(4).split(X):
        tree = clone(TREE).fit(X[train], Y[train])
        own[test] = tree.predict(X[test])
        new[test] = tree.predict(NEW)
    radii = [literal_distance(*row, mode) for row in zip(own, *Y.T, strict=True)]
    literal = [literal_plus(new[:, column], radii, level, mode) for column in range(9)]
    np.testing.assert_allclose(model.predict_interval(NEW), literal, rtol=1e-12)
    np.testing.assert_allclose(model.residuals_, Y - own[:, np.newaxis], rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spread", [None, "trees"])
@pytest.mark.parametrize("aggregation", ["mean", "median"])
def test_oob_is_equal_to_its_definition(mode, spread, aggregation):
    forest = clone(FOREST).set_params(aggregation=aggregation)
    model = ConformalIntervalRegressor(
        forest, mode=mode, confidence_level=0.8, method="oob", spread=spread
    ).fit(X, Y)
    forest = clone(forest).fit(X, Y)
    average = np.mean if aggregation == "mean" else np.median
    own = np.array([tree.predict(X) for tree in forest.estimators_])
    new = np.array([tree.predict(NEW) for tree in forest.estimators_])
    units, centres, radii = [], [], []
    for row in range(60):
        unseen = [
            number for number, drawn in enumerate(forest.estimators_samples_) if row not in drawn
        ]
        if not unseen:
            assert row not in model.calibration_idx_
            continue

        def look(table, unseen=unseen):
            centre = average(table[unseen], axis=0)
            deviation = np.sqrt(np.mean((table[unseen] - centre) ** 2, axis=0))
            return centre, np.ones_like(deviation) if spread is None else deviation

        (centre,), (unit,) = look(own[:, [row]])
        distance = literal_distance(centre, *Y[row], mode)
        units.append(unit)
        centres.append(look(new)[0])
        scaled = (
            (0.0 if distance == 0 else math.copysign(inf, distance))
            if unit == 0
            else distance / unit
        )
        radii.append(np.where(np.isinf(scaled), scaled, scaled * look(new)[1]))
    assert len(centres) == len(model.residuals_)
    np.testing.assert_allclose(model.spreads_, units, rtol=1e-12)
    literal = [literal_plus(*columns, 0.8, mode) for columns in np.moveaxis([centres, radii], 2, 0)]
    np.testing.assert_allclose(model.predict_interval(NEW), literal, rtol=1e-10)


def test_split_calibrates_with_the_rows_that_are_held_out():
    model = ConformalIntervalRegressor(TREE, method="split", test_size=20, random_state=1).fit(X, Y)
    test = model.calibration_idx_
    train = np.setdiff1d(np.arange(60), test)
    assert len(test) == 20
    tree = clone(TREE).fit(X[train], Y[train])
    np.testing.assert_array_equal(model.predict(NEW), tree.predict(NEW))
    prefit = ConformalIntervalRegressor(tree, method="prefit").conformalize(X[test], Y[test])
    np.testing.assert_array_equal(model.predict_interval(NEW), prefit.predict_interval(NEW))
    assert model.bracket_ == prefit.bracket_


def test_exact_labels_give_what_mapie_gives():
    """Figures of MAPIE 1.6.0: CrossConformalRegressor(method="plus") and SplitConformalRegressor, absolute score."""
    number = np.arange(30)
    features = np.column_stack([number * 7 % 30, number * 11 % 13]).astype(float)
    label = np.sqrt(features[:, 0]) + (number * 17 % 5) / 4
    new = [[3.0, 4.0], [12.5, 1.0], [28.0, 9.0]]
    crossed = ConformalIntervalRegressor(TREE, confidence_level=0.8, cv=KFold(4)).fit(
        features, label
    )
    expected = [[1.42138029, 3.58314937], [3.16699991, 5.35889894], [4.47099221, 6.52041154]]
    np.testing.assert_allclose(crossed.predict_interval(new), expected, rtol=1e-8)
    fitted = clone(TREE).fit(features[:18], label[:18])
    split = ConformalIntervalRegressor(fitted, confidence_level=0.8, method="prefit")
    split.conformalize(features[18:], label[18:])
    expected = [
        [1.813542813103, 4.028287139316],
        [3.193089830328, 5.407834156541],
        [4.472135955, 6.686880281213],
    ]
    np.testing.assert_allclose(split.predict_interval(new), expected, rtol=1e-11)


def test_a_level_counts_as_its_decimals_say():
    y = np.column_stack([np.arange(99.0), np.arange(99.0)])
    assert math.ceil(0.55 * 100) == 56
    assert around(np.zeros(99), y, confidence_level=0.55).bracket_ == (
        54,
        54,
    )  # the 55th smallest, from 0


def test_a_new_mode_or_level_needs_no_new_fit():
    model = ConformalIntervalRegressor(TREE, cv=3, random_state=0).fit(X, Y)
    for mode in MODES:
        for level in (0.6, 0.9):
            again = ConformalIntervalRegressor(
                TREE, cv=3, mode=mode, confidence_level=level, random_state=0
            )
            expected = again.fit(X, Y).predict_interval(NEW)
            np.testing.assert_array_equal(
                model.set_params(mode=mode).predict_interval(NEW, level), expected
            )
            assert model.set_params(confidence_level=level).bracket_ == again.bracket_


def test_higher_levels_have_wider_ranges_around_the_prediction():
    model = ConformalIntervalRegressor(TREE, method="split", random_state=0).fit(X, LABEL)
    narrow, wide = (model.predict_interval(NEW, level) for level in (0.5, 0.9))
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (narrow[:, 1] < wide[:, 1]).all()
    np.testing.assert_allclose(narrow.mean(axis=1), model.predict(NEW))


def test_large_tables_are_made_in_blocks(monkeypatch):
    model = ConformalIntervalRegressor(FOREST, method="oob", spread="trees").fit(X, Y)
    whole = model.predict_interval(NEW)
    monkeypatch.setattr(members_module, "LARGEST_TABLE", 130)
    np.testing.assert_array_equal(model.predict_interval(NEW), whole)
    np.testing.assert_array_equal(model.predict_interval(NEW[4:5]), whole[4:5])


def test_threads_change_nothing():
    one, two = (
        ConformalIntervalRegressor(TREE, n_jobs=n, random_state=0).fit(X, Y) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_interval(NEW), two.predict_interval(NEW))


def test_ranges_are_wider_where_the_trees_disagree():
    random = np.random.RandomState(0)
    features = random.uniform(0, 1, (400, 1))
    label = np.where(features[:, 0] < 0.5, 0.05, 2.0) * random.standard_normal(400)
    forest = MaxMarginIntervalForest(30, min_samples_leaf=3, random_state=0)
    for method in ("oob", "cv", "split"):
        model = ConformalIntervalRegressor(
            forest, method=method, spread="trees", random_state=0
        ).fit(features, label)
        calm, wild = np.diff(model.predict_interval([[0.2], [0.8]]), axis=1)
        assert 4 * calm < wild
        model = ConformalIntervalRegressor(forest, method=method, random_state=0).fit(
            features, label
        )
        widths = np.diff(model.predict_interval([[0.2], [0.8]]), axis=1)
        assert widths[1] < 2 * widths[0]


def test_ranges_are_wider_where_the_distribution_is():
    forest = MaxMarginIntervalForest(25, min_samples_leaf=5, random_state=0)
    model = ConformalIntervalRegressor(
        forest, method="split", spread="distribution", mode="meets", random_state=0
    )
    model.fit(X, Y[:, :1] * X[:, :1] * [1, 1])
    quantiles = model.estimators_[0].predict_quantile(NEW, np.arange(1, 20) / 20)
    widths = np.diff(model.predict_interval(NEW), axis=1)[:, 0]
    np.testing.assert_allclose(widths, 2 * model.bracket_[0] * np.std(quantiles, axis=1))
    assert widths.max() > 2 * widths.min()


TIMES = np.exp(2 * Y)
LOG_OF = {
    "the model": lambda model: model,
    "a pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "a search": lambda model: GridSearchCV(
        model, {"regressor__max_depth": [2]}, cv=2, scoring=SCORING
    ),
}
SCORING = get_scorer("neg_interval_mean_squared_error")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["cv", "split"])
@pytest.mark.parametrize("name", LOG_OF)
def test_ranges_of_times_are_factors_in_either_nesting(mode, method, name):
    parameters = {"mode": mode, "method": method, "random_state": 0, "confidence_level": 0.8}
    inner = LOG_OF[name](TransformedIntervalRegressor(TREE, func="log"))
    inside = ConformalIntervalRegressor(inner, **parameters).fit(X, TIMES)
    plain = ConformalIntervalRegressor(TREE, **parameters).fit(X, np.log(TIMES))
    outside = TransformedIntervalRegressor(
        ConformalIntervalRegressor(TREE, **parameters), func="log"
    ).fit(X, TIMES)
    ranges = inside.predict_interval(NEW)
    assert (ranges >= 0).all()
    np.testing.assert_allclose(ranges, np.exp(plain.predict_interval(NEW)))
    np.testing.assert_allclose(ranges, outside.predict_interval(NEW), rtol=1e-12)
    np.testing.assert_allclose(inside.predict(NEW), outside.predict(NEW))
    np.testing.assert_allclose(inside.residuals_, plain.residuals_, atol=1e-12)
    np.testing.assert_allclose(inside.bracket_, plain.bracket_)


@pytest.mark.parametrize("func", ["log", "log1p", "sqrt", "arcsinh"])
def test_no_range_is_below_what_its_target_can_be(func):
    target = np.expm1(np.abs(Y).cumsum(axis=1))  # from 0 on
    model = ConformalIntervalRegressor(
        TransformedIntervalRegressor(TREE, func=func), random_state=0, mode="meets"
    )
    for level in (0.5, 0.9, 0.98):
        ranges = model.set_params(confidence_level=level).fit(X, target).predict_interval(NEW)
        least = {"log": 0.0, "log1p": -1.0, "sqrt": 0.0, "arcsinh": -inf}[func]
        assert (ranges[:, 0] >= least).all()
        assert (ranges[:, 0] < ranges[:, 1]).all()
        assert np.isfinite(ranges[:, 1]).all()


@pytest.mark.parametrize("spread", ["trees", "distribution"])
def test_spreads_are_those_of_the_transformed_target(spread):
    parameters = {"method": "split", "spread": spread, "mode": "meets", "random_state": 0}
    inside = ConformalIntervalRegressor(
        TransformedIntervalRegressor(FOREST, func="log"), **parameters
    ).fit(X, TIMES)
    plain = ConformalIntervalRegressor(FOREST, **parameters).fit(X, np.log(TIMES))
    np.testing.assert_allclose(inside.spreads_, plain.spreads_, rtol=1e-6)
    np.testing.assert_allclose(
        inside.predict_interval(NEW), np.exp(plain.predict_interval(NEW)), rtol=1e-6
    )


def test_a_fitted_model_of_the_logarithm_is_calibrated_by_factors_frozen_or_cross_fitted():
    log_tree = TransformedIntervalRegressor(TREE, func="log")
    folds = CrossFittedIntervalRegressor(log_tree, cv=2).fit(X[:30], TIMES[:30])
    for fitted in (folds, FrozenEstimator(folds)):
        model = ConformalIntervalRegressor(fitted, method="prefit", mode="lower").conformalize(
            X[30:], TIMES[30:]
        )
        ratio = np.sort(folds.predict(X[30:]) / TIMES[30:, 0])
        expected = folds.predict(NEW) / ratio[math.ceil(0.9 * 31) - 1]
        np.testing.assert_allclose(model.predict_interval(NEW)[:, 0], expected)
    with pytest.raises(ValueError, match="y: expected upper ends above 0 for func='log'"):
        model.conformalize(X[:2], [(-2.0, -1.0), (1.0, 2.0)])


@pytest.mark.filterwarnings("ignore:predict. .* medians lie beyond all errors")
def test_mass_beyond_the_data_counts_at_the_last_limit():
    y = np.column_stack(
        [np.arange(1.0, 31.0), np.where(np.arange(30) < 5, np.arange(1.0, 31.0), inf)]
    )
    inner = DistributionalIntervalRegressor(IntervalDummyRegressor(), cv=3)
    model = ConformalIntervalRegressor(
        inner, method="split", test_size=10, spread="distribution", mode="lower"
    )
    model.set_params(random_state=0).fit(np.zeros((30, 1)), y)
    assert np.isinf(model.estimators_[0].predict_quantile([[0.0]], 0.75)).all()
    assert np.isfinite(model.spreads_).all()
    assert (model.spreads_ > 0).all()
    assert np.isfinite(model.predict_interval([[0.0]])[0, 0])


def test_a_pipeline_and_a_search_that_end_in_a_forest_have_its_spread():
    target = np.column_stack([TARGET[:, 0], TARGET[:, 0] + 1])
    pipeline = make_pipeline(encoder(), clone(FOREST))
    model = ConformalIntervalRegressor(
        pipeline, method="split", spread="trees", random_state=0
    ).fit(FRAME, target)
    assert len(np.unique(model.spreads_)) > 5
    assert model.predict_interval(FRAME).shape == (120, 2)
    search = IntervalSearchCV(MaxMarginIntervalForest(8), {"margin": [0.0]}, random_state=0)
    model = ConformalIntervalRegressor(search, method="split", spread="trees", random_state=0).fit(
        X, LABEL
    )
    assert len(np.unique(model.spreads_)) > 5


def test_without_spread_only_predictions_that_hit_are_finite():
    forest = MaxMarginIntervalForest(3, max_depth=1, bootstrap=False, random_state=0)
    fitted = forest.fit([[0.0], [1.0]], [0.0, 1.0])
    model = ConformalIntervalRegressor(
        fitted, method="prefit", spread="trees", confidence_level=0.5
    )
    with pytest.warns(
        UserWarning,
        match="3 of 4 calibration intervals are open or have a spread of 0, and at most 1",
    ):
        model.conformalize([[0.0], [0.0], [1.0], [1.0]], [0.0, 5.0, 3.0, 2.0])
    assert np.isinf(model.predict_interval([[0.0]])).all()
    model.conformalize([[0.0], [0.0], [1.0], [1.0]], [0.0, 0.0, 1.0, 2.0])
    assert model.predict_interval([[1.0]]).tolist() == [[1.0, 1.0]]


def test_a_booster_never_stops_early_on_the_fold_that_calibrates():
    booster = MaxMarginIntervalBoosting(200, n_iter_no_change=5, random_state=0)
    model = ConformalIntervalRegressor(booster, cv=KFold(3)).fit(X, Y)
    for inner, (train, _) in zip(model.estimators_, KFold(3).split(X), strict=True):
        np.testing.assert_array_equal(
            inner.predict(X), clone(booster).fit(X[train], Y[train]).predict(X)
        )


@pytest.mark.parametrize(
    "inner", [MaxMarginIntervalTree(max_depth=3), MaxMarginIntervalBoosting(5, random_state=0)]
)
def test_a_cross_fitted_estimator_is_calibrated_by_its_own_folds(inner):
    folds = KFold(4, shuffle=True, random_state=1)
    plain = ConformalIntervalRegressor(inner, cv=folds).fit(X, Y)
    crossed = ConformalIntervalRegressor(CrossFittedIntervalRegressor(inner, cv=folds)).fit(X, Y)
    assert len(crossed.estimators_) == 4
    assert isinstance(crossed.estimators_[0], type(inner))
    np.testing.assert_array_equal(crossed.residuals_, plain.residuals_)
    np.testing.assert_array_equal(crossed.predict_interval(X), plain.predict_interval(X))


def test_weights_reach_the_estimator_and_rows_of_no_weight_nothing():
    weight = np.where(np.arange(60) % 4, 1.0, 0.0)
    for method, estimator in (("cv", TREE), ("split", TREE), ("oob", FOREST)):
        model = ConformalIntervalRegressor(estimator, method=method, mode="lower", random_state=0)
        model.fit(X, Y, sample_weight=weight)
        assert (weight[model.calibration_idx_] > 0).all()
        assert len(model.calibration_idx_) > 5
    weight = np.where(np.arange(60) % 4, 1.0, 50.0)
    model = ConformalIntervalRegressor(TREE, cv=KFold(3)).fit(X, Y, sample_weight=weight)
    train, _ = next(KFold(3).split(X))
    expected = clone(TREE).fit(X[train], Y[train], sample_weight=weight[train]).predict(NEW)
    np.testing.assert_array_equal(model.estimators_[0].predict(NEW), expected)
    assert len(model.calibration_idx_) == 60


def test_groups_go_to_the_splitter():
    groups = np.arange(60) % 6
    model = ConformalIntervalRegressor(TREE, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert len(model.estimators_) == 3
    with pytest.raises(ValueError, match="groups: expected None with method='split'"):
        ConformalIntervalRegressor(TREE, method="split").fit(X, Y, groups=groups)


@pytest.mark.filterwarnings("ignore:y. 2 of 10 rows are")
def test_rows_without_limits_count_as_open():
    y = np.array([[0.0, 0.0]] * 8 + [[-inf, inf]] * 2)
    with pytest.warns(
        UserWarning, match="2 of 10 calibration intervals are open, and at most 1 may be"
    ):
        model = around(np.zeros(10), y, confidence_level=0.8)
    assert model.predict_interval([[3.0]]).tolist() == [[-inf, inf]]
    assert model.predict_interval([[3.0]], 0.7).tolist() == [[3.0, 3.0]]
    assert around(np.zeros(10), y, mode="meets").bracket_[0] == 0


def test_infinite_ranges_say_why_and_what_is_finite():
    y = np.column_stack([np.arange(20.0), np.where(np.arange(20) % 2, np.arange(20.0), inf)])
    with pytest.warns(UserWarning, match="ranges at") as caught:
        model = around(np.arange(20.0), y)
    assert str(caught[0].message) == (
        "confidence_level: ranges at 0.9 are infinite, because 10 of 20 calibration intervals are open, and at most 1 "
        "may be. Finite at this level: mode='lower', mode='meets'."
    )
    assert len(caught) == 1
    assert np.isinf(model.predict_interval([[0.0]])).all()
    assert model.set_params(mode="lower").predict_interval([[5.0]]).tolist() == [[5.0, inf]]
    with pytest.warns(UserWarning, match="10 of 20 calibration intervals are open above, and"):
        around(np.arange(20.0), y, mode="upper")


@pytest.mark.parametrize(("level", "n_needed"), [(0.9, 9), (0.5, 1), (0.95, 19)])
def test_too_few_rows_make_infinite_ranges_and_say_how_many_are_needed(level, n_needed):
    labels = np.arange(float(n_needed))
    assert np.isfinite(around(labels, labels, confidence_level=level).bracket_).all()
    if n_needed > 1:
        message = f"there are {n_needed - 1} calibration rows and at least {n_needed} are needed"
        with pytest.warns(UserWarning, match=message):
            model = around(labels[1:], labels[1:], confidence_level=level)
        assert np.isinf(model.predict_interval([[0.0]])).all()


def test_a_level_of_one_call_warns_for_itself():
    model = ConformalIntervalRegressor(TREE, method="split", random_state=0).fit(X, LABEL)
    with pytest.warns(
        UserWarning, match=r"ranges at 0.99 are infinite, because there are 12 calibration rows"
    ):
        ranges = model.predict_interval(NEW, confidence_level=0.99)
    assert np.isinf(ranges).all()


def test_right_censored_labels_have_a_finite_bound_below():
    features, y = make_sine(200, 2, random_state=0)
    y = np.column_stack([np.where(np.isinf(y[:, 0]), y[:, 1], y[:, 0]), np.full(200, inf)])
    model = ConformalIntervalRegressor(TREE, mode="lower", random_state=0).fit(
        features[:150], y[:150]
    )
    ranges = model.predict_interval(features[150:])
    assert np.isfinite(ranges[:, 0]).all()
    assert interval_coverage(y[150:], ranges).contain_rate > 0.8


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"confidence_level": 1.0},
            ValueError,
            r"confidence_level: expected a number > 0 and < 1, got 1\.0",
        ),
        ({"confidence_level": 0}, ValueError, "confidence_level: expected"),
        ({"confidence_level": math.nan}, ValueError, "confidence_level: expected"),
        ({"confidence_level": "high"}, TypeError, "confidence_level: expected"),
        (
            {"mode": "both"},
            ValueError,
            "mode: expected one of 'contains', 'meets', 'lower', 'upper', got 'both'",
        ),
        (
            {"method": "jackknife"},
            ValueError,
            "method: expected one of 'split', 'cv', 'oob', 'prefit'",
        ),
        (
            {"method": "oob"},
            TypeError,
            "estimator: expected a MaxMarginIntervalForest with bootstrap=True",
        ),
        ({"method": "prefit"}, ValueError, r"call conformalize\(X, y\), not fit"),
        ({"cv": 1}, ValueError, "cv: expected an integer >= 2, got 1"),
        ({"cv": "five"}, ValueError, "cv: expected a number of folds"),
        ({"method": "split", "test_size": 2.0}, ValueError, "test_size"),
        (
            {"spread": "width"},
            ValueError,
            "spread: expected one of 'trees', 'distribution', got 'width'",
        ),
        (
            {"spread": "trees"},
            TypeError,
            "'trees' expects a MaxMarginIntervalForest.*got MaxMarginIntervalTree",
        ),
        (
            {"spread": "distribution"},
            TypeError,
            "'distribution' expects an estimator with predict_distribution",
        ),
    ],
)
def test_wrong_parameters_are_refused_and_leave_the_model_as_it_was(parameters, error, message):
    model = ConformalIntervalRegressor(TREE, cv=3, random_state=0).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.set_params(**parameters).fit(X, Y)
    assert vars(model).keys() == before.keys()
    assert model.estimators_ is before["estimators_"]


def test_a_wrong_level_of_one_call_is_refused():
    model = around([0.0] * 9, [1.0] * 9)
    with pytest.raises(
        ValueError, match=r"confidence_level: expected a number > 0 and < 1, got 90"
    ):
        model.predict_interval([[0.0]], confidence_level=90)


def test_a_forest_without_bootstrap_or_with_distributions_has_no_oob_ranges():
    with pytest.raises(TypeError, match="bootstrap=True"):
        ConformalIntervalRegressor(MaxMarginIntervalForest(bootstrap=False), method="oob").fit(X, Y)
    with pytest.raises(ValueError, match="spread: expected 'trees' or None with method='oob'"):
        ConformalIntervalRegressor(FOREST, method="oob", spread="distribution").fit(X, Y)


def test_rows_that_every_tree_drew_do_not_calibrate():
    forest = MaxMarginIntervalForest(2, random_state=0)
    model = ConformalIntervalRegressor(forest, method="oob").fit(X, Y)
    drawn = [set(rows) for rows in model.estimators_[0].estimators_samples_]
    assert set(model.calibration_idx_) == set(range(60)) - (drawn[0] & drawn[1])
    assert 0 < len(model.calibration_idx_) < 60
    with pytest.raises(ValueError, match="all of them trained every tree"):
        ConformalIntervalRegressor(clone(forest).set_params(n_estimators=1), method="oob").fit(
            X[:1], Y[2:3]
        )


def test_predictions_that_are_not_numbers_are_refused():
    with pytest.raises(
        ValueError, match=r"its predictions are NaN or infinite in 1 of 3 rows \(first: row 1"
    ):
        around([1.0, math.nan, 2.0], [1.0, 2.0, 3.0])


def test_a_prefit_estimator_must_be_fitted_and_calibrated():
    model = ConformalIntervalRegressor(clone(TREE), method="prefit")
    with pytest.raises(NotFittedError, match="estimator: expected a fitted one"):
        model.conformalize(X, Y)
    model = ConformalIntervalRegressor(clone(TREE).fit(X, Y), method="prefit")
    for ask in (model.predict, model.predict_interval):
        with pytest.raises(NotFittedError, match=r"Call conformalize\(X, y\) first"):
            ask(X)
    assert not hasattr(model, "bracket_")
    with pytest.raises(NotFittedError, match=r"Call fit\(X, y\) first"):
        ConformalIntervalRegressor(TREE).predict_interval(X)
    with pytest.raises(ValueError, match="conformalize is for 'prefit'; with 'cv'"):
        ConformalIntervalRegressor(TREE).conformalize(X, Y)


def test_a_frozen_estimator_stays_fitted_in_a_clone():
    frozen = FrozenEstimator(clone(TREE).fit(X[:30], Y[:30]))
    model = clone(ConformalIntervalRegressor(frozen, method="prefit")).conformalize(X[30:], Y[30:])
    np.testing.assert_array_equal(model.predict(NEW), frozen.predict(NEW))


def test_a_pipeline_gets_the_frame_as_it_is():
    pipeline = make_pipeline(encoder(), clone(TREE))
    model = ConformalIntervalRegressor(pipeline, mode="lower", random_state=0).fit(FRAME, TARGET)
    assert model.feature_names_in_.tolist() == ["town", "age", "dose"]
    assert np.isfinite(model.predict_interval(FRAME)[:, 0]).all()
    forest = ConformalIntervalRegressor(FOREST, method="oob").fit(
        pd.DataFrame(X, columns=["a", "b"]), Y
    )
    assert forest.predict_interval(pd.DataFrame(NEW, columns=["a", "b"])).shape == (9, 2)
    last = make_pipeline(encoder(), ConformalIntervalRegressor(TREE, mode="lower")).fit(
        FRAME, TARGET
    )
    assert last[-1].predict_interval(last[:-1].transform(FRAME)).shape == (120, 2)


ESTIMATORS = {
    name: getattr(marginwood, name)
    for name in marginwood.__all__
    if hasattr(getattr(marginwood, name), "predict") and name != "ConformalIntervalRegressor"
}
FAST = {
    "IntervalSuperLearner": {"models": [("tree", TREE), ("none", IntervalDummyRegressor())]},
    "TaughtRegressor": {
        "student": TREE,
        "teacher": marginwood.CrossFittedIntervalRegressor(TREE, cv=2),
    },
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_of_the_package_can_be_wrapped(name):
    wrapped = {"estimator": TREE, "regressor": TREE}
    needed = [key for key in ESTIMATORS[name].__init__.__annotations__ if key in wrapped]
    estimator = ESTIMATORS[name](**{key: wrapped[key] for key in needed}, **FAST.get(name, {}))
    small = {"n_estimators": 5, "n_margins": 2, "cv": 2, "n_alphas": 5}
    estimator.set_params(
        **{key: value for key, value in small.items() if key in estimator.get_params(deep=False)}
    )
    model = ConformalIntervalRegressor(estimator, mode="lower", method="split", random_state=0).fit(
        X, np.exp(Y)
    )
    ranges = model.predict_interval(NEW)
    assert np.isfinite(ranges[:, 0]).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(NEW), ranges)
