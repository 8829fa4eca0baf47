"""Pictures of distributions and of scores, by what is in them: places, texts and numbers of artists."""

import warnings
from itertools import pairwise
from math import inf, nan

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.model_selection import GridSearchCV

from marginwood import (
    DistributionalIntervalRegressor,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    from_events,
)
from marginwood.datasets import load_mercury, make_sine
from marginwood.distributions import turnbull
from marginwood.inference import compare_groups
from marginwood.metrics import calibration_at, d_calibration, target_interval_auc
from marginwood.plotting import (
    plot_calibration,
    plot_censored_box,
    plot_intervals,
    plot_partial_dependence,
    plot_quantiles,
    plot_roc,
    plot_survival,
    plot_turnbull,
)
from pipelines import FRAME, TARGET, fit_pipeline

plt = pytest.importorskip("matplotlib.pyplot")

X, y = make_sine(120, 2, random_state=0)


@pytest.fixture(scope="module")
def model():
    return DistributionalIntervalRegressor(MaxMarginIntervalTree(max_leaf_nodes=6), cv=3).fit(X, y)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def step_at(line, t):
    """The height of a drawn step at t."""
    x, height = line.get_data()
    return height[np.searchsorted(x, t, side="right") - 1]


def test_right_censored_rows_give_the_curve_of_kaplan_and_meier():
    ax = plot_turnbull(from_events([1, 2, 2, 3, 4], [1, 0, 1, 1, 0]))
    assert labels(ax) == ["Kaplan-Meier", "not determined", "censored", "certain bounds"]
    curve, censored = ax.lines
    # By hand: 4 of 5 survive 1, 3 of 4 survive 2, 1 of 2 survives 3.
    survival = [1.0, 0.8, 0.8 * 3 / 4, 0.8 * 3 / 4 / 2, 0.8 * 3 / 4 / 2]
    np.testing.assert_allclose([step_at(curve, t) for t in (0.9, 1.0, 2.5, 3.0, 3.9)], survival)
    np.testing.assert_allclose(censored.get_data(), [(2, 4), (0.6, 0.3)])
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[corners[:, 1] == 0][:, 0].min() == 4  # beyond the last row all is possible


def test_uncensored_rows_leave_nothing_undetermined():
    ax = plot_turnbull([3.0, 1.0, 2.0, 2.0])
    assert labels(ax) == ["Kaplan-Meier"]
    assert not ax.collections
    assert [step_at(ax.lines[0], t) for t in (0.99, 1.0, 2.0, 3.0)] == [1.0, 0.75, 0.25, 0.0]


def test_between_the_curves_of_overlapping_intervals_it_is_shaded():
    ax = plot_turnbull(
        [(0, 2), (1, 3), (5, 6), (5, inf), (-inf, 7)]
    )  # masses in [1, 2] and in [5, 6]
    assert labels(ax) == ["Turnbull", "not determined", "certain bounds"]
    greatest, least = ax.lines
    np.testing.assert_allclose(
        [step_at(greatest, t) for t in (0.5, 1.5, 2.5, 5.5, 6.5)], [1, 1, 0.5, 0.5, 0], atol=1e-3
    )
    np.testing.assert_allclose(
        [step_at(least, t) for t in (0.5, 1.5, 2.5, 5.5, 6.5)], [1, 0.5, 0.5, 0, 0], atol=1e-3
    )


def heights(band, t):
    """The lower and the upper edge of a band of steps at a value."""
    corners = band.get_paths()[0].vertices
    at = np.abs(corners[:, 0] - t).min() == np.abs(corners[:, 0] - t)
    return corners[at][:, 1].min(), corners[at][:, 1].max()


def test_a_pale_band_holds_what_the_rows_say_for_certain():
    y = [(0, 2), (1, 3), (5, 6), (5, inf), (4, 4)]
    band = plot_turnbull(y, sample_weight=[1, 1, 1, 1, 4]).collections[-1]
    # Before 4 a weight of 2 has ended; at 4 one of 6 has, and no other row has begun.
    assert heights(band, 4) == pytest.approx((2 / 8, 6 / 8))
    corners = band.get_paths()[0].vertices
    times = np.unique(corners[:, 0])
    assert {0, 1, 2, 3, 4, 5, 6} <= set(times)
    estimate = turnbull(y, [1, 1, 1, 1, 4])
    for begin, end in pairwise(times):
        sides = [corners[corners[:, 0] == t][:, 1] for t in (begin, end)]
        held = [value for value in sides[0] if np.isclose(value, sides[1]).any()]
        expected = estimate.sf((begin + end) / 2, bound="certain")
        assert {round(value, 9) for value in expected} <= {round(value, 9) for value in held}


def test_the_curve_of_one_row_of_a_forest_has_the_band_of_its_rows(forest):
    grid = np.linspace(-1, 1, 9)
    ax = plot_survival(forest, X[:1], grid)
    (band,) = ax.collections
    expected = forest.predict_distribution(X[:1]).sf(grid, bound="certain")[0]
    for t, (low, high) in zip(grid, expected, strict=True):
        assert heights(band, t) == pytest.approx((low, high))
    assert not plot_survival(forest, X[:2], grid).collections


def test_a_weight_counts_as_rows():
    twice = plot_turnbull([1.0, 2.0, 2.0]).lines[0].get_ydata()
    np.testing.assert_allclose(
        plot_turnbull([1.0, 2.0], sample_weight=[1, 2]).lines[0].get_ydata(), twice
    )


def test_a_single_value_has_an_axis_of_some_length():
    low, high = plot_turnbull([5.0]).get_xlim()
    assert low < 5 < high


def test_no_limits_have_no_curve():
    with pytest.raises(ValueError, match="At least one row needs a finite"):
        plot_turnbull([(-inf, inf)])


def test_the_survival_of_a_few_rows_is_a_curve_each(model):
    times = [-1.0, 0.0, 0.5]
    ax = plot_survival(model, X[:3], times)
    assert [text.get_text() for text in ax.texts] == ["row 0", "row 1", "row 2"]
    drawn = np.array([line.get_ydata() for line in ax.lines])
    np.testing.assert_array_equal(drawn, model.predict_survival_function(X[:3], times))
    colors = [line.get_color() for line in ax.lines]
    assert len(set(colors)) == 3
    assert colors == [text.get_color() for text in ax.texts]


@pytest.mark.parametrize("size", [(7, 4.2), (3.2, 2.4)])
@pytest.mark.parametrize("rows", [range(6), [0, 0, 0, 1], [5]], ids=str)
def test_the_names_of_lines_lie_inside_the_axes_apart_from_each_other_and_beside_their_line(
    model, rows, size
):
    _, ax = plt.subplots(figsize=size)
    plot_survival(model, X[list(rows)], ax=ax).figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == len(rows)
    outline = ax.get_window_extent()
    for place, (text, line, box) in enumerate(zip(ax.texts, ax.lines, boxes, strict=True)):
        assert all(outline.contains(*corner) for corner in box.corners())
        assert not any(box.overlaps(other) for other in boxes[:place])
        on_screen = ax.transData.transform(np.column_stack(line.get_data()))
        assert np.abs(on_screen - ax.transAxes.transform(text.xy)).max(axis=1).min() < 1


def test_a_name_is_where_its_line_is_far_from_others():
    """Two lines that are one up to 4, and then part."""
    rows = np.array([[0.0], [1.0]])
    times = from_events([1, 2, 3, 4, 5, 5, 1, 2, 3, 4, 50, 60], np.ones(12, bool))
    forest = MaxMarginIntervalForest(1, bootstrap=False, random_state=0).fit(
        np.repeat(rows, 6, axis=0), times
    )
    ax = plot_survival(forest, rows)
    assert all(ax.transLimits.inverted().transform(text.xy)[0] > 4 for text in ax.texts)


def test_the_survival_of_many_rows_is_drawn_with_its_mean(model):
    ax = plot_survival(model, X[:20], [-1.0, 0.0, 0.5])
    assert labels(ax) == ["20 rows", "their mean"]
    mean = model.predict_survival_function(X[:20], [-1.0, 0.0, 0.5]).mean(axis=0)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), mean)


def test_times_cover_the_distributions_by_default(model):
    ax = plot_survival(model, X[:1])
    (line,) = ax.lines
    (low, _), (_, high) = model.predict_distribution(X[:1]).quantile([0.001, 0.99])[0]
    np.testing.assert_allclose(line.get_xdata()[[0, -1]], [low - 0.05 * (high - low), high])
    assert line.get_ydata()[0] == 1
    assert (np.diff(line.get_ydata()) <= 0).all()
    assert ax.get_xlim() == (line.get_xdata()[0], high)


TIMES = from_events(np.exp(X[:, 0] / 2), np.arange(120) % 3 > 0)


@pytest.fixture(scope="module")
def forest():
    return MaxMarginIntervalForest(10, min_samples_leaf=10, random_state=0).fit(X, TIMES)


@pytest.fixture(scope="module")
def log_forest():
    inner = MaxMarginIntervalForest(10, min_samples_leaf=10, random_state=0)
    return TransformedIntervalRegressor(inner, func="log").fit(X, TIMES)


def test_curves_of_times_begin_at_0_and_1(forest):
    for ax in (plot_turnbull(TIMES), plot_survival(forest, X[:4]), plot_survival(forest, X)):
        ax.figure.draw_without_rendering()
        assert (ax.get_xlim()[0], ax.get_ylim()[0]) == (0, 0)
        for line in ax.lines:
            if len(line.get_xdata()) and line.get_linestyle() != "None":
                assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 1)
        assert 1 < ax.get_ylim()[1] < 1.1


def test_a_curve_falls_at_0_where_values_are_0_and_begins_near_values_that_are_far_from_0():
    curve = plot_turnbull([0.0, 0.0, 1.0, 2.0]).lines[0]
    assert list(zip(*curve.get_data(), strict=True))[:2] == [(0, 1), (0, 0.5)]
    assert plot_turnbull([1950.0, 2000.0]).get_xlim()[0] == 1947.5
    assert plot_turnbull([-3.0, 2.0]).get_xlim()[0] == -3.25


def test_a_model_of_the_logarithm_has_a_log_axis_with_plain_numbers(forest, log_forest):
    assert (
        plot_survival(forest, X[:3]).get_xscale()
        == plot_quantiles(forest, X, 0).get_yscale()
        == "linear"
    )
    survival = plot_survival(log_forest, X[:3])
    quantiles = plot_quantiles(log_forest, X, 0, y=TIMES)
    assert survival.get_xscale() == quantiles.get_yscale() == "log"
    for axis, low, high in ((survival.xaxis, 1, 100), (quantiles.yaxis, 1, 100)):
        axis.axes.figure.draw_without_rendering()
        bottom, top = axis.get_view_interval()
        assert 0 < low / 10 < bottom < top < 10 * high
        shown = [
            label.get_text() for label in [*axis.get_majorticklabels(), *axis.get_minorticklabels()]
        ]
        assert {"10", "20", "50"} <= set(shown)
    grid, curve = survival.lines[0].get_data()
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(grid[1] / grid[0]))
    assert curve[0] == 1


def test_a_log_axis_of_many_decades_names_powers_of_ten_only(log_forest):
    ax = plot_survival(log_forest, X[:1], np.geomspace(1e-3, 1e3, 50))
    ax.figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_xmajorticklabels()][1:-1] == [
        "0.001",
        "0.01",
        "0.1",
        "1",
        "10",
        "100",
        "1000",
    ]
    assert not any(label.get_text() for label in ax.get_xminorticklabels())


def test_pictures_survive_a_log_axis(forest):
    ends = TIMES[np.isfinite(TIMES) & (TIMES > 0)]
    curve = plot_turnbull(TIMES)
    curve.set(xscale="log", yscale="log")
    survival = plot_survival(forest, X[:4])
    survival.set_xscale("log")
    band = plot_quantiles(forest, X, 0, y=np.column_stack([np.zeros(120), TIMES[:, 0]]))
    band.set_yscale("log")
    for low, high in (curve.get_xlim(), survival.get_xlim(), band.get_ylim()):
        assert ends.min() / 10 < low < np.median(ends) < high < 10 * ends.max()
    assert 1e-3 < curve.get_ylim()[0] < 1 < curve.get_ylim()[1]
    for ax in (curve, survival, band):
        ax.figure.canvas.draw()


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_an_infinite_quantile_lies_beyond_the_edge_on_every_axis(scale):
    rows = np.arange(40.0)[:, np.newaxis]
    times = from_events(np.arange(1.0, 41.0), np.arange(40) < 20)
    forest = MaxMarginIntervalForest(10, min_samples_leaf=5, random_state=0).fit(rows, times)
    ax = plot_quantiles(forest, rows, 0)
    ax.set_yscale(scale)
    (band,) = ax.collections
    assert band.get_paths()[0].vertices[:, 1].max() > 10 * ax.get_ylim()[1]
    assert ax.get_ylim()[1] < 100


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (TIMES, "target"),
        (pd.Series(TIMES[:, 0], name="days"), "days"),
        (pd.Series(TIMES[:, 0]), "target"),
        (pd.Series(pd.arrays.IntervalArray.from_tuples([(1, 2), (2, 4)]), name="$x_{"), "$x_{"),
        (pd.DataFrame(TIMES, columns=["days_min", "days_max"]), "days"),
        (pl.DataFrame(TIMES, schema=["dose (mg) from", "dose (mg) to"]), "dose (mg)"),
        (pd.DataFrame(TIMES, columns=["lower_bound", "upper_bound"]), "target"),
        (pd.DataFrame(TIMES), "target"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_axis_is_called_as_the_target(named, expected):
    ax = plot_turnbull(named)
    assert ax.get_xlabel() == expected
    assert plot_intervals(named).get_ylabel() == expected
    ax.figure.draw_without_rendering()


def test_the_axis_is_called_as_the_feature_that_the_model_saw(model):
    named = DistributionalIntervalRegressor(MaxMarginIntervalTree(max_leaf_nodes=6), cv=3)
    named.fit(pd.DataFrame(X, columns=["dose", "age"]), y).feature_names_in_ = np.array(
        ["dose", "age"], object
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        assert plot_quantiles(named, X, 1).get_xlabel() == "age"
        assert plot_quantiles(named, X, "dose").get_xlabel() == "dose"
    assert plot_quantiles(model, X, 1).get_xlabel() == "x[1]"


@pytest.mark.parametrize("q", [(0.1, 0.5, 0.9), (0.05, 0.25, 0.5, 0.75, 0.95)])
def test_a_legend_stays_inside_the_width_of_a_page(forest, q):
    figure, ax = plt.subplots(figsize=(6.5, 4))
    plot_quantiles(forest, X, 0, q, y=TIMES, ax=ax)
    figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    assert ax.get_window_extent().x0 <= legend.x0
    assert legend.x1 <= figure.bbox.x1


def test_frames_of_polars_are_drawn_without_pandas_and_pyarrow(monkeypatch):
    rows = pl.DataFrame(
        {"dose": X[:, 0], "town": pl.Series(["Ulm", "Bonn", None] * 40, dtype=pl.Categorical)}
    )
    rows = rows.with_columns(pl.Series("n", np.arange(120) % 7))
    named = MaxMarginIntervalForest(10, min_samples_leaf=10, random_state=0).fit(rows, TIMES)
    in_pandas = pd.DataFrame({name: rows[name].to_list() for name in rows.columns}).astype(
        {"town": "category"}
    )
    drawings = [
        lambda X: plot_quantiles(named, X, "dose", y=TIMES),
        lambda X: plot_quantiles(named, X, 2),
    ]
    expected = [draw(in_pandas) for draw in drawings]
    features = ["dose", "town", "n", ("dose", "n")]
    in_pandas.loc[in_pandas["town"].isna(), "town"] = None
    wanted = plot_partial_dependence(named, in_pandas, features)
    monkeypatch.setattr(pl.DataFrame, "to_pandas", lambda _: pytest.fail("to_pandas needs pyarrow"))
    for draw, other in zip(drawings, expected, strict=True):
        ax = draw(rows)
        np.testing.assert_array_equal(ax.lines[-1].get_data(), other.lines[-1].get_data())
        np.testing.assert_array_equal(
            ax.collections[-1].get_paths()[0].vertices,
            other.collections[-1].get_paths()[0].vertices,
        )
    display = plot_partial_dependence(named, rows, features)
    for found, other in zip(display.pd_results, wanted.pd_results, strict=True):
        np.testing.assert_allclose(found["average"], other["average"])
    assert [label.get_text() for label in display.axes_[0, 1].get_xticklabels()] == ["Bonn", "Ulm"]
    pair = plot_partial_dependence(named, rows, [("town", "town")]).axes_[0, 0]
    assert [label.get_text() for label in pair.get_xticklabels()] == ["Bonn", "Ulm"]
    assert [label.get_text() for label in pair.get_yticklabels()] == ["Bonn", "Ulm"]


@pytest.mark.parametrize(
    "wrap",
    [lambda tree: fit_pipeline(tree), lambda tree: _search(tree), lambda tree: _frames(tree)],
)
def test_curves_look_through_pipelines_and_searches_and_take_frames_with_text(wrap):
    model = wrap(DistributionalIntervalRegressor(MaxMarginIntervalTree(max_depth=2), cv=2))
    assert len(plot_survival(model, FRAME[:4]).lines) == 4
    ax = plot_quantiles(model, FRAME, "dose", y=TARGET)
    assert ax.get_xlabel() == "dose"
    assert labels(ax)[-2:] == ["quantiles 0.1 to 0.9", "median"]


def _search(model):
    scorer = "neg_interval_mean_squared_error"
    from marginwood.metrics import get_scorer

    grid = {"distributionalintervalregressor__tol": [1e-3]}
    return GridSearchCV(fit_pipeline(model), grid, scoring=get_scorer(scorer), cv=2).fit(
        FRAME, TARGET
    )


def _frames(model):
    return model.set_params(estimator=fit_pipeline(model.estimator)).fit(FRAME, TARGET)


def test_the_band_is_the_quantiles_at_each_value_of_the_feature():
    rows = X[:, :1]
    forest = MaxMarginIntervalForest(10, min_samples_leaf=10, random_state=0).fit(rows, y)
    ax = plot_quantiles(forest, rows, 0, (0.1, 0.25, 0.5, 0.75, 0.9))
    assert labels(ax) == ["quantiles 0.1 to 0.9", "quantiles 0.25 to 0.75", "median"]
    x, median = ax.lines[0].get_data()
    np.testing.assert_array_equal(median, forest.predict_quantile(x[:, np.newaxis], 0.5))
    low, high = forest.predict_quantile(x[:, np.newaxis], [0.1, 0.9]).T
    corners = {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices.tolist()}
    assert {
        *zip(x.tolist(), low.tolist(), strict=True),
        *zip(x.tolist(), high.tolist(), strict=True),
    } <= corners


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_missing_values_of_the_feature_are_left_out(frame):
    rows = X.copy()
    rows[::3, 0] = nan
    named = frame(dict(zip(["dose", "$age"], rows.T, strict=True)))
    tree = DistributionalIntervalRegressor(MaxMarginIntervalTree(max_leaf_nodes=6), cv=3).fit(
        named, y
    )
    ax = plot_quantiles(tree, named, "dose", 0.25, y=y)
    assert labels(ax)[-1] == "quantile 0.25"
    grid = ax.lines[-1].get_xdata()
    assert np.isfinite(grid).all()
    assert set(grid) <= set(rows[:, 0])


def test_a_band_with_an_infinite_end_reaches_the_edge():
    rows = np.arange(40.0)[:, np.newaxis]
    times = from_events(np.arange(1.0, 41.0), np.arange(40) < 20)
    forest = MaxMarginIntervalForest(10, min_samples_leaf=5, random_state=0).fit(rows, times)
    assert np.isinf(forest.predict_quantile(rows[-1:], 0.9)).all()
    ax = plot_quantiles(forest, rows, 0, y=times)
    (band,) = (path for path in ax.collections if path.get_label() == "quantiles 0.1 to 0.9")
    corners = band.get_paths()[0].vertices
    assert corners[:, 0].max() == rows[-1, 0]
    assert corners[:, 1].max() > ax.get_ylim()[1] > times[:, 0].max()


def test_lines_at_infinity_are_not_drawn():
    rows = np.arange(40.0)[:, np.newaxis]
    times = from_events(np.arange(1.0, 41.0), np.arange(40) < 20)
    forest = MaxMarginIntervalForest(10, min_samples_leaf=5, random_state=0).fit(rows, times)
    assert np.isinf(forest.predict_quantile(rows[-1:], 0.9)).all()
    ax = plot_quantiles(forest, rows, 0, 0.9)
    drawn = ax.lines[0].get_ydata()
    assert np.isnan(drawn[-1])
    assert np.isfinite(drawn[0])
    with pytest.raises(ValueError, match="q: expected quantiles that are finite somewhere"):
        plot_quantiles(forest, rows[-5:], 0, 0.99)


def test_the_curve_of_rows_without_an_event_is_flat():
    forest = MaxMarginIntervalForest(2, bootstrap=False, random_state=0).fit(
        [[1.0], [1.0]], [(1, inf), (2, inf)]
    )
    (line,) = plot_survival(forest, [[1.0]]).lines
    assert set(line.get_ydata()) == {1.0}
    assert line.get_xdata()[-1] == 2


def test_curves_of_a_transformed_target_come_back_in_its_unit(model):
    inner = DistributionalIntervalRegressor(MaxMarginIntervalTree(max_leaf_nodes=6), cv=3)
    times = TransformedIntervalRegressor(inner, func="log").fit(X, np.exp(y))
    (line,) = plot_survival(times, X[:1], [0.5, 1.0, 2.0]).lines
    np.testing.assert_allclose(
        line.get_ydata(), model.predict_survival_function(X[:1], np.log([0.5, 1.0, 2.0]))[0]
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda _: plot_survival(MaxMarginIntervalTree().fit(X, y), X),
            TypeError,
            "predicts distributions, got MaxMargin",
        ),
        (
            lambda _: plot_quantiles(MaxMarginIntervalTree().fit(X, y), X, 0),
            TypeError,
            "predicts distributions",
        ),
        (
            lambda model: plot_survival(model, X[:2], [2.0, 1.0]),
            ValueError,
            "times: expected ascending",
        ),
        (
            lambda model: plot_quantiles(model, X, 7),
            ValueError,
            "feature: expected a column of X, by number or name; got 7",
        ),
        (
            lambda model: plot_quantiles(model, X, 0, [0.5, 1.5]),
            ValueError,
            "q: expected shares from 0 to 1",
        ),
        (
            lambda model: plot_quantiles(model, X, 0, []),
            ValueError,
            "q: expected shares from 0 to 1",
        ),
        (
            lambda model: plot_quantiles(model, X, 0, y=y[:5]),
            ValueError,
            "X, y: expected the same number of rows",
        ),
        (
            lambda model: plot_quantiles(model, np.full((3, 2), nan), 0),
            ValueError,
            "X: expected rows in which",
        ),
        (
            lambda _: plot_roc([(1, inf)], [0.0]),
            ValueError,
            "no row of positive weight has a finite upper limit",
        ),
        (
            lambda model: plot_calibration(y, model.predict_distribution(X[:3])),
            ValueError,
            "distribution: ",
        ),
        (lambda _: plot_turnbull(y, ax="here"), TypeError, "ax: expected matplotlib axes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(model, call, error, message):
    with pytest.raises(error, match=message):
        call(model)


def test_a_column_of_words_has_no_band():
    pipeline = fit_pipeline(
        DistributionalIntervalRegressor(MaxMarginIntervalTree(max_depth=2), cv=2)
    )
    with pytest.raises(ValueError, match="feature: expected a column of numbers"):
        plot_quantiles(pipeline, FRAME, "town")


def test_the_roc_marks_the_predictions_as_they_are():
    prediction = np.round(X[:, 0] / 5 - 1, 1)
    rounded = np.round(y, 1)  # so that some predictions lie on a limit
    ax = plot_roc(rounded, prediction)
    lower, upper = rounded.T
    _, curve, here = ax.lines
    below = np.mean((prediction < lower)[np.isfinite(lower)])
    not_above = np.mean((prediction <= upper)[np.isfinite(upper)])
    np.testing.assert_allclose(np.ravel(here.get_data()), [below, not_above])
    assert labels(ax) == [
        f"AUC {target_interval_auc(rounded, prediction):.3f}",
        "predictions as they are",
    ]
    area = np.trapezoid(curve.get_ydata(), curve.get_xdata())
    assert f"AUC {area:.3f}" == labels(ax)[0]


def test_the_bars_of_calibration_are_shares_and_the_legend_has_the_p_value():
    distribution = norm(loc=y.clip(-1, 1).mean(axis=1))
    ax = plot_calibration(y, distribution, n_bins=5)
    masses, p_value = (
        d_calibration(y, distribution, n_bins=5).bin_masses,
        d_calibration(y, distribution, n_bins=5).p_value,
    )
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], masses / len(y))
    np.testing.assert_allclose([bar.get_x() for bar in ax.patches], np.arange(5) / 5)
    assert f"targets (p-value {p_value:.2g})" in labels(ax)
    assert ax.lines[0].get_ydata()[0] == 0.2


def test_calibration_at_a_time_has_a_dot_and_a_bar_for_each_group_of_risk():
    distribution = norm(loc=y.clip(-1, 1).mean(axis=1))
    table = calibration_at(y, distribution, 0.3, n_groups=4)
    ax = plot_calibration(y, distribution, n_bins=4, time=0.3)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), table["predicted"])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), table["observed"])
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose(
        [bar[:, 1] for bar in bars], list(zip(table["lower"], table["upper"], strict=True))
    )
    with pytest.raises(ValueError, match="sample_weight: expected None with a time"):
        plot_calibration(y, distribution, time=0.3, sample_weight=np.ones(len(y)))


def test_all_draw_into_given_axes(model):
    figure, axes = plt.subplots(1, 5)
    drawn = [
        plot_turnbull(y, ax=axes[0]),
        plot_survival(model, X[:2], ax=axes[1]),
        plot_quantiles(model, X, 0, y=y, ax=axes[2]),
        plot_roc(y, model.predict(X), ax=axes[3]),
        plot_calibration(y, model.predict_distribution(X), ax=axes[4]),
    ]
    assert drawn == list(axes)
    assert plt.get_fignums() == [figure.number]


GROUPS = ["a", "b"] * 10
EVENTS = from_events(np.arange(1, 21), [1, 1, 0, 1, 1] * 4)


def test_groups_have_a_curve_a_band_and_counts_each():
    ax = plot_turnbull(EVENTS, by=GROUPS, test="logrank")
    ax.figure.draw_without_rendering()
    curves = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    for curve, name in zip(curves, "ab", strict=True):
        estimate = turnbull(EVENTS, by=GROUPS)[name]
        times = np.array([2.5, 7.5, 12.5])
        assert [step_at(curve, t) for t in times] == pytest.approx(estimate.sf(times))
    assert len({curve.get_color() for curve in curves}) == 2
    band = turnbull(EVENTS, by=GROUPS)["a"].confidence_band([8.5])
    assert heights(ax.collections[0], 7) == pytest.approx((band.lower[0], band.upper[0]), abs=0.2)
    texts = [text.get_text() for text in ax.texts]
    p_value = compare_groups(EVENTS, GROUPS).p_value
    assert f"log-rank p = {p_value:.4f}" in texts
    assert "at risk" in texts
    # At 0 both groups are whole; at 10 the rows from 11 on of a, and from 10 on of b, are left.
    counts = [int(text) for text in texts if text.isdigit()]
    n_ticks = len(counts) // 2
    assert (counts[0], counts[n_ticks]) == (10, 10)
    ticks = [tick for tick in ax.get_xticks() if 0 <= tick <= ax.get_xlim()[1]]
    place = ticks.index(10.0)
    assert (counts[place], counts[n_ticks + place]) == (5, 6)


def test_censored_rows_of_groups_are_ticks_on_their_curve():
    ax = plot_turnbull(EVENTS, by=GROUPS, level=0, at_risk=False)
    assert not ax.collections
    marks = [line for line in ax.lines if line.get_marker() == "|"]
    drawn = np.concatenate([line.get_xdata() for line in marks])
    assert sorted(drawn) == [3, 8, 13, 18]


def test_names_stand_beside_curves_that_end_apart_and_else_in_a_legend():
    apart = plot_turnbull(
        from_events([1, 2, 3, 4] * 2, [1, 0, 0, 0, 1, 1, 1, 0]), by=list("aaaabbbb")
    )
    assert apart.get_legend() is None
    assert {"a", "b"} <= {text.get_text() for text in apart.texts}
    assert labels(plot_turnbull([1.0, 2.0, 3.0, 4.0], by=list("abab"))) == ["a", "b"]


def test_intervals_of_groups_are_drawn_between_their_bounds():
    ax = plot_turnbull([(0, 2), (1, 3), (5, 6), (5, inf)], by=list("aabb"), level=0, at_risk=False)
    assert len(ax.lines) == 4  # the least and the greatest curve of both


@pytest.mark.parametrize("level", [None, 0.9])
def test_one_curve_may_have_a_band_and_a_log_axis(level):
    ax = plot_turnbull([1.0, 3.0, 10.0, 30.0], level=level, log=True)
    ax.figure.draw_without_rendering()
    assert ax.get_xscale() == "log"
    assert len(ax.collections) == (level is not None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": list("abcdefg")}, "by: expected at most 6 groups"),
        ({"by": ["a"]}, r"by: expected shape \(7,\)"),
        ({"test": "logrank"}, "test: needs groups"),
        ({"level": 2}, "level: expected"),
        ({"log": True}, "log: expected positive ends"),
    ],
)
def test_what_cannot_be_drawn_of_groups_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        plot_turnbull(-np.arange(1.0, 8.0), **options)


def test_boxes_have_the_quantiles_of_the_estimate():
    data = load_mercury(as_frame=True)
    ax = plot_censored_box(data.y, by=data.X["LandUse"], log=True)
    ax.figure.draw_without_rendering()
    names = [label.get_text().splitlines() for label in ax.get_xticklabels()]
    assert names[1] == ["Ag", "42 rows", "12% censored"]
    medians = [line for line in ax.lines if line.get_linewidth() == 2.2]
    found = [line.get_ydata()[0] for line in medians]
    expected = [one.median().mean() for one in turnbull(data.y, by=data.X["LandUse"]).values()]
    assert found == pytest.approx(expected)
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("y", [[(-inf, 1)], [2.0], [(-inf, 1), (-inf, 2)], [(1, inf), (2, 3)]])
@pytest.mark.parametrize("log", [False, True])
def test_next_to_nothing_has_a_box(y, log):
    plot_censored_box(np.array(y, float), log=log).figure.draw_without_rendering()


def test_boxes_of_no_positive_limits_have_no_log_axis():
    with pytest.raises(ValueError, match="log: expected positive ends"):
        plot_censored_box([(-inf, -1)], log=True)
