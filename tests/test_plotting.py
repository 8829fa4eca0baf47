"""Pictures, by what is in them: numbers of artists, places, texts and colours, never pixels."""

import importlib.util
import sys
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from marginwood import (
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    from_events,
    plotting,
)
from marginwood._core.nodes import LEAF, NODE_DTYPE
from marginwood._trees.table import IntervalTree
from marginwood.datasets import make_sine
from marginwood.distributions import turnbull
from marginwood.losses import LOSSES
from marginwood.metrics import get_scorer
from marginwood.plotting import (
    plot_cost,
    plot_importances,
    plot_intervals,
    plot_margin_heatmap,
    plot_partial_dependence,
    plot_pruning_path,
    plot_tree,
)
from marginwood.plotting._layout import end_of_nodes, lay_out
from marginwood.plotting._tree import STRIP_HEIGHT
from pipelines import FRAME, TARGET, fit_pipeline
from pipelines import NAMES as TRANSFORMED

plt = pytest.importorskip("matplotlib.pyplot")

X, y = make_sine(300, 4, random_state=0)
DOCS = Path(__file__).parents[1] / "docs"
AWKWARD_NAMES = ["$x_{", "größe λ ≤ 1", "a long name of 200 characters " * 7, "two\nlines"]


def table_tree(children_left, children_right, n_features=4):
    """A fitted tree with a given table; values count up, and node i has i + 1 samples."""
    nodes = np.zeros(len(children_left), dtype=NODE_DTYPE)
    nodes["children_left"], nodes["children_right"] = children_left, children_right
    order = np.arange(len(nodes))
    nodes["value"], nodes["value_low"], nodes["value_high"] = order, order - 0.5, order + 0.5
    nodes["feature"], nodes["threshold"], nodes["n_node_samples"] = (
        order % n_features,
        -1234.5,
        order + 1,
    )
    tree = MaxMarginIntervalTree().fit(np.zeros((1, n_features)), [1.0])
    tree.tree_ = IntervalTree(nodes, np.ones(n_features, dtype=np.bool_))
    return tree


def full_tree(depth):
    """Every split has two children, down to a depth."""
    idx, n_splits = np.arange(2 ** (depth + 1) - 1), 2**depth - 1
    return table_tree(*(np.where(idx < n_splits, 2 * idx + side, LEAF) for side in (1, 2)))


def chain(n_splits):
    """Every split takes one leaf off."""
    idx = np.arange(2 * n_splits + 1)
    is_split = (idx % 2 == 0) & (idx < 2 * n_splits)
    return table_tree(*(np.where(is_split, idx + side, LEAF) for side in (1, 2)))


def drawn_boxes(ax):
    """Extents in pixels of the boxes, and of the texts that are centred in them."""
    ax.figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_ha() == "center"]
    return [[artist.get_window_extent() for artist in artists] for artists in (ax.patches, texts)]


def overlap(one, other):
    return min(one.x1, other.x1) > max(one.x0, other.x0) and min(one.y1, other.y1) > max(
        one.y0, other.y0
    )


def assert_readable(ax):
    """No box touches another, every text lies in its box, no text touches another, all are in the axes."""
    boxes, texts = drawn_boxes(ax)
    assert len(boxes) == len(texts)
    assert not any(
        overlap(one, other) for place, one in enumerate(boxes) for other in boxes[:place]
    )
    for box, text in zip(boxes, texts, strict=True):
        assert box.x0 <= text.x0 < text.x1 <= box.x1
        assert box.y0 <= text.y0 < text.y1 <= box.y1
    extents = [text.get_window_extent() for text in ax.texts]
    assert not any(
        overlap(one, other) for place, one in enumerate(extents) for other in extents[:place]
    )
    frame = ax.figure.bbox
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
    assert all(frame.y0 <= box.y0 and box.y1 <= frame.y1 for box in boxes)


def box_texts(ax):
    return [text.get_text() for text in ax.texts if text.get_ha() == "center"]


@pytest.mark.parametrize("names", [None, AWKWARD_NAMES])
def test_a_full_tree_of_depth_five_is_readable(names):
    ax = plot_tree(full_tree(5), feature_names=names)
    assert len(ax.patches) == 63
    assert_readable(ax)


@pytest.mark.parametrize(
    "tree", [chain(12), full_tree(0), table_tree([1, 2, -1, -1, -1], [4, 3, -1, -1, -1])]
)
def test_trees_of_other_shapes_are_readable(tree):
    ax = plot_tree(tree)
    assert len(ax.patches) == tree.tree_.node_count
    assert_readable(ax)


def test_a_drawing_in_given_axes_is_scaled_to_their_room():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5))
    assert plot_tree(full_tree(3), ax=left) is left
    assert plt.get_fignums() == [figure.number]
    assert not right.texts
    assert_readable(left)


def test_a_very_deep_tree_is_laid_out_without_recursion():
    layout = lay_out(chain(3000).tree_, None)
    assert layout.depth.max() == 3000
    assert layout.row.max() == 3000


def test_a_deep_tree_is_drawn_in_a_figure_of_bounded_size():
    ax = plot_tree(chain(150))
    assert len(ax.patches) == 301
    assert max(ax.figure.get_size_inches()) <= 60


def test_leaves_show_value_optimal_interval_and_samples_and_splits_their_rule():
    tree = MaxMarginIntervalTree().fit(
        [[1.0], [2.0], [3.0]], [[0.0, 1.0], [-2.0, -1.0], [8.0, inf]]
    )
    texts = box_texts(plot_tree(tree, feature_names=["dose"], decimals=1))
    assert texts[0] == "dose ≤ 2.5\n3 samples"
    assert "−1.5 in [−2, −1]\n1 sample" in texts  # noqa: RUF001
    assert texts[-1] == "8 in [8, inf]\n1 sample"


def test_exact_values_are_points_in_their_strips():
    target = np.column_stack([np.arange(6.0), np.arange(6.0)])
    target[5] = 5.0, 9.0
    tree = MaxMarginIntervalTree(max_depth=1).fit(np.arange(6.0)[:, np.newaxis], target)
    strip = plot_tree(tree, np.arange(6.0)[:, np.newaxis], target).child_axes[1]
    (points,) = strip.lines
    assert sorted(points.get_xdata()) == [0, 1, 2, 3, 4]
    assert points.get_markersize() > 1
    (interval,) = strip.collections[0].get_segments()
    assert interval[:, 0].tolist() == [5, 9]


def test_numbers_of_small_units_have_significant_digits():
    tree = MaxMarginIntervalTree().fit(
        [[0.00023], [0.000246]], [(1e-7, 2e-7), (0.0123456, 0.0123456)]
    )
    assert box_texts(plot_tree(tree)) == [
        "x[0] ≤ 0.000238\n2 samples",
        "1.5e−07 in [1e−07, 2e−07]\n1 sample",  # noqa: RUF001
        "0.0123\n1 sample",
    ]


def test_huge_values_are_written_short():
    tree = MaxMarginIntervalTree().fit([[1.0], [2.0]], [1e100, -1e150])
    assert max(map(len, box_texts(plot_tree(tree, [[1.0], [2.0]], [1e100, -1e150])))) < 60


@pytest.mark.parametrize(
    ("target", "answers"), [(0.0, ["yes or missing", "no"]), (9.0, ["yes", "no or missing"])]
)
def test_branches_say_where_missing_values_go(target, answers):
    tree = MaxMarginIntervalTree(max_depth=1).fit([[0.0], [1.0], [nan]], [0.0, 9.0, target])
    assert [text.get_text() for text in plot_tree(tree).texts if text.get_ha() == "left"][
        :2
    ] == answers


def test_a_split_that_parts_missing_values_from_all_others_says_so():
    ax = plot_tree(MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [2.0, 2.0, 9.0]))
    assert box_texts(ax)[0] == "x[0] is present\n3 samples"
    assert [text.get_text() for text in ax.texts if text.get_ha() == "left"][:2] == ["yes", "no"]


def test_boxes_are_coloured_by_value_and_their_text_stands_out():
    ax = plot_tree(full_tree(3))
    colors = np.array([box.get_facecolor() for box in ax.patches])
    assert len(np.unique(colors, axis=0)) == 15
    ink = [text.get_color() for text in ax.texts if text.get_ha() == "center"]
    assert (ink[0], ink[-1]) == ("white", "black")  # viridis runs from dark to light
    (scale,) = ax.child_axes
    np.testing.assert_allclose(scale.get_xlim(), (0, 14), atol=0.1)


def test_a_cut_drawing_ends_in_dots_and_its_strips_hold_all_rows():
    tree = MaxMarginIntervalTree(max_depth=4, margin=0.5).fit(X, y)
    ax = plot_tree(tree, X, y, max_depth=1)
    assert [text.startswith("…") for text in box_texts(ax)] == [
        False,
        False,
        True,
        True,
        False,
        True,
        True,
    ]
    assert_readable(ax)
    strip = ax.child_axes[1]
    assert len(strip.collections[0].get_segments()) == len(y)


def test_leaves_show_the_curves_of_their_rows():
    times = np.arange(1.0, 9.0)
    target = from_events(times, [1, 0, 1, 1, 1, 1, 0, 1])
    tree = MaxMarginIntervalTree(max_leaf_nodes=2).fit(times[:, np.newaxis] > 4, target)
    ax = plot_tree(tree, times[:, np.newaxis] > 4, target, leaves="curves")
    strip = ax.child_axes[1]
    assert len(strip.lines) == 2
    for line, rows in zip(strip.lines, (slice(4), slice(4, 8)), strict=True):
        t, drawn = line.get_data()
        expected = turnbull(target[rows]).sf((t[:-1] + t[1:]) / 2, bound="upper")
        np.testing.assert_allclose(1 - (drawn[0] - drawn[:-1]) / STRIP_HEIGHT, expected, atol=1e-12)
    with pytest.raises(
        ValueError, match="leaves: expected one of 'intervals', 'curves', got 'bars'"
    ):
        plot_tree(tree, leaves="bars")


def test_every_strip_holds_the_intervals_of_its_leaf():
    tree = MaxMarginIntervalTree(max_depth=2, margin=0.2).fit(X, y)
    ax = plot_tree(tree, X, y)
    strip = ax.child_axes[1]
    rows, values = strip.collections
    middles = np.sort([np.mean(segment[:, 1]) for segment in values.get_segments()])
    drawn = np.array(rows.get_segments())
    leaf = np.argmin(np.abs(drawn[:, :1, 1] - middles), axis=1)
    layout = lay_out(tree.tree_, None)
    sizes = tree.tree_.n_node_samples[layout.node_idx[layout.is_end]]
    np.testing.assert_array_equal(np.bincount(leaf)[::-1], sizes)
    finite = np.isfinite(y).all(axis=1)
    drawn_ends = {tuple(segment[:, 0]) for segment in drawn}
    assert {tuple(row) for row in y[finite]} <= drawn_ends
    assert np.isfinite(drawn).all()
    assert len(strip.patches) == 4  # the optimal intervals


def test_ends_of_a_cut_layout_own_everything_below_them():
    tree = full_tree(3).tree_
    layout = lay_out(tree, 0)
    np.testing.assert_array_equal(layout.node_idx, [0, 1, 2])
    np.testing.assert_array_equal(layout.row, [0.5, 0, 1])
    end = end_of_nodes(tree, layout)
    np.testing.assert_array_equal(end[[0, 1, 2, 3, 4, 5, 6, 7, 14]], [-1, 1, 2, 1, 1, 2, 2, 1, 2])


def test_every_model_with_a_node_table_is_drawn():
    forest = MaxMarginIntervalForest(n_estimators=2, max_depth=2, random_state=0).fit(X, y)
    boosting = MaxMarginIntervalBoosting(n_estimators=2, max_depth=2).fit(X, y)
    search = IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.1]}, cv=2).fit(X, y)
    for tree in (forest.estimators_[0], boosting.estimators_[1], search):
        assert len(plot_tree(tree, X, y).patches) == tree.tree_.node_count


def test_tree_arguments_are_checked_before_a_figure_is_made():
    tree = MaxMarginIntervalTree(max_depth=2).fit(X, y)
    forest = MaxMarginIntervalForest(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(NotFittedError):
        plot_tree(MaxMarginIntervalTree())
    with pytest.raises(TypeError, match="got MaxMarginIntervalForest; pass one of its estimators_"):
        plot_tree(forest)
    with pytest.raises(ValueError, match="X, y: expected both"):
        plot_tree(tree, X)
    with pytest.raises(
        ValueError, match="X, y: expected the same number of rows, got 299 in X, 300 in y"
    ):
        plot_tree(tree, X[1:], y)
    with pytest.raises(ValueError, match="feature_names: expected 4 names"):
        plot_tree(tree, feature_names=["a"])
    with pytest.raises(ValueError, match="max_depth: expected an integer >= 0, got -1"):
        plot_tree(tree, max_depth=-1)
    with pytest.raises(TypeError, match="decimals: expected an integer"):
        plot_tree(tree, decimals=1.5)
    with pytest.raises(TypeError, match="ax: expected matplotlib axes or None, got int"):
        plot_tree(tree, ax=3)
    assert plt.get_fignums() == []


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def target_forms():
    pairs = np.array([(0.0, 1.0), (2.0, inf), (3.0, 3.0)])
    survival = np.array([(True, 1.0), (False, 2.0)], dtype=[("event", "?"), ("time", "<f8")])
    forms = [pairs, pairs.tolist(), [1.0, 2.0], survival, from_events([1.0, 2.0], [True, False])]
    if importlib.util.find_spec("pandas"):
        import pandas

        forms += [pandas.DataFrame(pairs), pandas.cut([0.5, 1.5], [0, 1, 2])]
    if importlib.util.find_spec("polars"):
        import polars

        forms.append(polars.DataFrame({"low": pairs[:, 0], "high": pairs[:, 1]}))
    return forms


@pytest.mark.parametrize("target", target_forms(), ids=lambda target: type(target).__name__)
def test_every_form_of_target_is_drawn(target):
    n_rows = len(target)
    ax = plot_intervals(target, np.zeros(n_rows), x=np.arange(n_rows))
    assert legend(ax)[-1] == "prediction"
    ax.figure.canvas.draw()


def test_bars_arrows_and_dots_stand_where_their_rows_are():
    target = [(0, 1), (2, inf), (-inf, 4), (3, 3), (-inf, inf), (5, 6)]
    ax = plot_intervals(target, [0.5, 2, 3, 3, 9, 7], x=[10, 20, 30, 40, 50, 60])
    bars = [segment.tolist() for segment in ax.collections[0].get_segments()]
    assert bars == [[[10, 0], [10, 1]], [[60, 5], [60, 6]]]
    marks = [list(zip(*line.get_data(), strict=True)) for line in ax.lines if len(line.get_xdata())]
    assert marks[:2] == [[(10, 0), (60, 5)], [(10, 1), (60, 6)]]  # caps
    assert marks[2:5] == [[(20, 2)], [(30, 4)], [(40, 3)]]  # open above, open below, exact
    arrows = [line.get_marker().vertices[:, 1] for line in ax.lines[2:4]]
    assert arrows[0].max() > 0 > arrows[1].min()
    assert len(marks[5]) == 6
    assert legend(ax) == [
        "interval (1 without limits not drawn)",
        "open end",
        "exact value",
        "prediction",
    ]
    assert np.isfinite(ax.get_ylim()).all()


@pytest.mark.parametrize(
    ("rows", "begins_at_0"),
    [
        ([(1, 2), (3, inf), (8, 8), (-inf, inf)], True),
        ([(0, 2), (50, 60)], True),
        ([(1950, 1960), (1990, inf)], False),
        ([(-1, 2), (3, 4)], False),
        ([(-inf, 1), (3, 4)], False),  # room for the arrow
    ],
)
def test_the_axis_of_times_begins_at_0(rows, begins_at_0):
    ax = plot_intervals(rows)
    low, high = ax.get_ylim()
    assert (low == 0) == begins_at_0
    ends = np.array(rows, float).ravel()
    ends = ends[np.isfinite(ends)]
    assert low <= ends.min() < ends.max() < high
    ax.set_yscale("log")
    assert 0 < ax.get_ylim()[0] <= ends[ends > 0].min()


def test_ranges_stand_behind_their_rows_and_infinite_ones_run_to_the_edge():
    ranges = [(-1, 2), (1, inf), (-inf, inf)]
    ax = plot_intervals([(0, 1), (2, inf), (3, 3)], [0.5, 2, 3], ranges=ranges, x=[10, 20, 30])
    bottom, top = ax.get_ylim()
    assert bottom < -1
    assert top > 3
    drawn = [
        segment[:, 1].clip(bottom, top).tolist() for segment in ax.collections[-1].get_segments()
    ]
    assert drawn == [[-1, 2], [1, top], [bottom, top]]
    ax.set_yscale("log")
    bottom, top = ax.get_ylim()
    assert 0 < bottom < 1 < 3 < top < 10
    nothing = plot_intervals([(-inf, inf)], ranges=[(-inf, inf)])
    (segment,) = nothing.collections[-1].get_segments()
    bottom, top = nothing.get_ylim()
    assert segment[0, 1] < bottom < top < segment[1, 1]
    assert ax.collections[-1].get_zorder() < min(line.get_zorder() for line in ax.lines)
    assert legend(ax) == ["interval", "open end", "exact value", "prediction", "predicted range"]


def test_rows_are_sorted_by_prediction_or_by_the_middle_of_the_interval():
    target = [(4, 6), (0, 1), (2, inf)]
    by_middle = plot_intervals(target)
    assert [segment[0, 0] for segment in by_middle.collections[0].get_segments()] == [2, 0]
    assert by_middle.get_xlabel() == "rows, sorted by middle of the interval"
    by_prediction = plot_intervals(target, [1.0, 2.0, 3.0])
    assert [segment[0, 0] for segment in by_prediction.collections[0].get_segments()] == [0, 1]
    assert by_prediction.lines[-1].get_ydata().tolist() == [1, 2, 3]


def test_many_rows_need_no_more_artists_than_few():
    few, many = (
        plot_intervals(make_sine(n_rows, 1, random_state=0)[1]) for n_rows in (100, 20_000)
    )
    assert len(few.get_children()) == len(many.get_children())


def test_a_column_of_a_frame_names_the_axis_as_it_stands():
    pandas = pytest.importorskip("pandas")
    ax = plot_intervals([1.0, 2.0], x=pandas.Series([1.0, 2.0], name="$x_{"))
    assert ax.get_xlabel() == "$x_{"
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prediction": [1.0, nan]}, "prediction: NaN or infinite in 1 of 2 rows .first: row 1"),
        ({"prediction": [1.0, -inf]}, "prediction: NaN or infinite"),
        (
            {"prediction": [1.0]},
            r"prediction: expected shape \(2,\), one number per row of y; got shape \(1,\)",
        ),
        ({"x": [[1.0, 2.0]]}, r"x: expected shape \(2,\)"),
        ({"x": [nan, 1.0]}, "x: NaN or infinite"),
        (
            {"ranges": [1.0, 2.0]},
            r"ranges: expected shape \(2, 2\), a lower and an upper end per row of y; got \(2,\)",
        ),
        ({"ranges": [(1.0, 2.0), (2.0, 1.0)]}, "ranges: upper < lower in 1 of 2 rows"),
    ],
)
def test_rows_that_have_no_place_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_intervals([1.0, 2.0], **arguments)
    assert plt.get_fignums() == []


def curve(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return np.array(line.get_data())


def test_the_cost_of_the_papers_example_is_drawn_exactly():
    ax = plot_cost([(1, inf), (-inf, 4)], loss="linear_hinge", margin=1)
    value, cost = curve(ax, "all rows")
    np.testing.assert_allclose(
        cost, np.maximum(2 - value, 0) + np.maximum(value - 3, 0), atol=1e-12
    )
    np.testing.assert_allclose(curve(ax, "breakpoint"), [[2, 3], [0, 0]])
    assert legend(ax)[-1] == "least cost 0 on [2, 3]"
    (span,) = ax.patches
    np.testing.assert_allclose(
        span.get_extents().intervalx, ax.transData.transform([(2, 0), (3, 0)])[:, 0]
    )


def test_weights_count_and_rows_of_weight_zero_are_absent():
    ax = plot_cost([0.0, 1.0, 50.0], sample_weight=[1.0, 3.0, 0.0])
    assert legend(ax)[-1] == "least cost 0.75 at 0.75"
    assert curve(ax, "breakpoint")[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    "target", [[(-inf, 3)], [0.0], [(2, inf), (-inf, inf)], [1e150], [1e9, 1e9 + 1], [0, 1e-150]]
)
@pytest.mark.parametrize("loss", ["linear_hinge", "squared_hinge"])
def test_costs_of_unusual_targets_are_drawn(target, loss):
    plot_cost(target, loss=loss).figure.canvas.draw()


def test_many_rows_are_drawn_without_their_hinges():
    ax = plot_cost(make_sine(2000, 1, random_state=0)[1])
    assert "one row" not in legend(ax)
    assert len(curve(ax, "breakpoint")[0]) > 2000


def test_a_cost_without_any_limit_or_with_a_wrong_loss_is_refused():
    with pytest.raises(
        ValueError, match="y: expected a row of positive weight with a finite limit"
    ):
        plot_cost([(-inf, inf)])
    with pytest.raises(ValueError, match="loss: expected one of"):
        plot_cost([1.0], loss="hinge")
    assert plt.get_fignums() == []


def test_the_pruning_path_is_the_same_from_a_tree_and_from_its_path():
    tree = MaxMarginIntervalTree(margin=0.1)
    path = tree.cost_complexity_pruning_path(X, y)
    for source in (path, tree.fit(X, y)):
        ax = plot_pruning_path(source)
        alphas, costs = ax.lines[0].get_data()
        np.testing.assert_allclose(alphas[1:-1], path.ccp_alphas[1:])
        np.testing.assert_allclose(costs[:-1], path.impurities)
        (twin,) = [axes for axes in ax.figure.axes if axes is not ax]
        assert twin.lines[0].get_ydata()[-1] == 1
        np.testing.assert_array_equal(twin.lines[0].get_ydata()[:-1], path.n_leaves)
        ax.figure.canvas.draw()


def test_the_path_of_a_lone_leaf_is_a_flat_line():
    ax = plot_pruning_path(MaxMarginIntervalTree().fit([[1.0]], [2.0]))
    assert np.ptp(ax.lines[0].get_ydata()) == 0


def test_a_path_of_something_else_is_refused():
    with pytest.raises(NotFittedError):
        plot_pruning_path(MaxMarginIntervalTree())
    with pytest.raises(TypeError, match=r"path: expected a fitted tree.*got L1Interval"):
        plot_pruning_path(L1IntervalRegression().fit(X, y))


@pytest.fixture(scope="module")
def search():
    return IntervalSearchCV(
        MaxMarginIntervalTree(), {"loss": LOSSES, "margin": [0.0, 0.1, 0.3, 1.0]}, cv=3
    ).fit(X, y)


@pytest.mark.parametrize("against", ["ccp_alpha", "n_leaves"])
@pytest.mark.parametrize("loss", [None, "linear_hinge", "squared_hinge"])
def test_a_heatmap_has_a_column_for_every_margin_and_scores_of_its_own_loss_only(
    search, against, loss
):
    ax = plot_margin_heatmap(search, against=against, loss=loss)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "0.1", "0.3", "1"]
    table = ax.collections[0].get_array()
    results = search.cv_results_
    for idx, margin in enumerate([0.0, 0.1, 0.3, 1.0]):
        rows = (results["param_margin"] == margin) & (
            results["param_loss"] == (loss or search.best_params_["loss"])
        )
        rows &= results["param_anchor"] == search.best_params_["anchor"]
        assert set(table[:, idx].tolist()) <= set((-results["mean_test_score"][rows]).tolist())
        if against == "ccp_alpha":  # the last row is infinity: the root alone
            assert table[-1, idx] == -results["mean_test_score"][rows & (results["n_leaves"] == 1)]
    n_stars = sum(line.get_marker() == "*" for line in ax.lines)
    assert n_stars == (loss in (None, search.best_params_["loss"]))
    ax.figure.canvas.draw()


def test_a_heatmap_of_a_grid_search_shows_what_it_tried_and_nothing_else():
    grid = [{"margin": [0.0, 0.2], "max_depth": [2, None]}, {"margin": [0.4], "max_depth": [3]}]
    grid_search = GridSearchCV(
        MaxMarginIntervalTree(), grid, scoring=get_scorer("interval_d2"), cv=2
    ).fit(X, y)
    ax = plot_margin_heatmap(grid_search, against="max_depth")
    table = ax.collections[0].get_array()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2", "3", "∞"]
    np.testing.assert_array_equal(np.ma.getmaskarray(table), [[0, 0, 1], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(table[0, 0], grid_search.cv_results_["mean_test_score"][0])


def test_a_heatmap_draws_the_longest_path_and_holds_other_parameters_at_the_chosen_ones():
    grid = {
        "margin": [0.0, 0.5],
        "n_estimators": [1, 2, 3],
        "max_depth": [1, 2],
        "loss": ["squared_hinge"],
    }
    stages = GridSearchCV(
        MaxMarginIntervalBoosting(), grid, scoring=get_scorer("interval_d2"), cv=2
    ).fit(X, y)
    ax = plot_margin_heatmap(stages)
    assert ax.get_ylabel() == "n_estimators"
    results = stages.cv_results_
    rows = np.asarray(results["param_max_depth"] == stages.best_params_["max_depth"])
    shown = np.asarray(results["mean_test_score"])[rows].reshape(2, 3).T  # margin, then stages
    np.testing.assert_allclose(ax.collections[0].get_array(), shown)


def test_a_heatmap_looks_through_pipelines():
    inside = fit_pipeline(IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2))
    drawn, expected = (
        plot_margin_heatmap(model).collections[0].get_array() for model in (inside, inside[-1])
    )
    np.testing.assert_array_equal(drawn, expected)
    grid = {"maxmarginintervaltree__margin": [0.0, 0.5], "maxmarginintervaltree__max_depth": [1, 2]}
    around = GridSearchCV(
        fit_pipeline(MaxMarginIntervalTree()), grid, scoring=get_scorer("interval_d2"), cv=2
    )
    assert plot_margin_heatmap(around.fit(FRAME, TARGET)).get_ylabel() == "max_depth"


def test_a_heatmap_of_a_transformed_target_is_that_of_its_search():
    model = TransformedIntervalRegressor(
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2), func="arcsinh"
    ).fit(X, y)
    drawn, expected = (plot_margin_heatmap(search) for search in (model, model.regressor_))
    np.testing.assert_array_equal(
        drawn.collections[0].get_array(), expected.collections[0].get_array()
    )
    for shown in (drawn, plot_margin_heatmap(fit_pipeline(model))):
        assert shown.figure.axes[-1].get_ylabel().endswith("of the transformed target")
    assert not expected.figure.axes[-1].get_ylabel().endswith("of the transformed target")
    drawn.figure.draw_without_rendering()
    extent = drawn.figure.axes[-1].yaxis.label.get_window_extent()
    assert 0 <= extent.y0 < extent.y1 <= drawn.figure.bbox.height
    with pytest.raises(
        ValueError, match="search: expected a fitted search over margins, got Transformed"
    ):
        plot_margin_heatmap(
            TransformedIntervalRegressor(MaxMarginIntervalTree(), func="arcsinh").fit(X, y)
        )


def test_searches_without_what_is_asked_for_are_refused(search):
    with pytest.raises(NotFittedError):
        plot_margin_heatmap(IntervalSearchCV(MaxMarginIntervalTree()))
    with pytest.raises(
        ValueError, match="search: expected a fitted search over margins, got MaxMarginIntervalTree"
    ):
        plot_margin_heatmap(MaxMarginIntervalTree().fit(X, y))
    with pytest.raises(ValueError, match=r"against: expected one of \['loss', .*got 'depth'"):
        plot_margin_heatmap(search, against="depth")
    with pytest.raises(
        ValueError, match=r"loss: expected one of \['linear_hinge', 'squared_hinge'\]"
    ):
        plot_margin_heatmap(search, loss="hinge")
    assert plt.get_fignums() == []


def test_importances_are_bars_from_the_largest_down():
    tree = MaxMarginIntervalTree(max_depth=4).fit(X, y)
    ax = plot_importances(tree, feature_names=AWKWARD_NAMES, n_top=3)
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], np.sort(tree.feature_importances_)[:0:-1]
    )
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    order = np.argsort(-tree.feature_importances_)[:3]
    shown = ["$x_{", "größe λ ≤ 1", "a long nam…characters", "two lines"]
    assert [label.replace(" ", "")[:8] for label in labels] == [
        shown[idx].replace(" ", "")[:8] for idx in order
    ]
    assert max(map(len, labels)) <= 22
    assert ax.get_legend() is None


def test_a_forest_shows_the_spread_over_its_trees():
    forest = MaxMarginIntervalForest(n_estimators=7, random_state=0).fit(X, y)
    ax = plot_importances(forest)
    spread = np.array(ax.collections[0].get_segments())[:, :, 0]
    top = np.argsort(-forest.feature_importances_)
    in_trees = np.array([tree.feature_importances_ for tree in forest.estimators_])[:, top]
    np.testing.assert_allclose(spread.T, np.quantile(in_trees, [0.1, 0.9], axis=0))
    assert legend(ax) == ["10 % to 90 % of 7 trees"]


def test_models_without_importances_are_refused():
    with pytest.raises(NotFittedError):
        plot_importances(MaxMarginIntervalForest())
    with pytest.raises(
        TypeError, match="model: expected an estimator with feature_importances_, got L1Interval"
    ):
        plot_importances(L1IntervalRegression().fit(X, y))
    with pytest.raises(ValueError, match="n_top: expected an integer >= 1, got 0"):
        plot_importances(MaxMarginIntervalTree().fit(X, y), n_top=0)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=3),
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.1]}, cv=2),
        MaxMarginIntervalForest(n_estimators=3, random_state=0),
        MaxMarginIntervalBoosting(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_partial_dependence_is_the_mean_prediction(model):
    model.fit(X, y)
    display = plot_partial_dependence(model, X, [0, (0, 1)], grid_resolution=5)
    assert display.axes_.shape == (1, 2)
    values = display.pd_results[0]["grid_values"][0]
    means = [
        model.predict(np.column_stack([np.full(len(X), value), X[:, 1:]])).mean()
        for value in values
    ]
    np.testing.assert_allclose(display.axes_[0, 0].lines[0].get_ydata(), means)


def test_partial_dependence_takes_integers_frames_names_and_missing_values():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    counts = (10 * X).astype(int)
    options = {"grid_resolution": 4}
    model = MaxMarginIntervalTree(max_depth=3).fit(counts, y)
    expected = (
        plot_partial_dependence(model, counts, [0], **options).axes_[0, 0].lines[0].get_ydata()
    )
    names = ["$x_{", "b", "c", "d"]
    for frame in (pandas.DataFrame(counts, columns=names), polars.DataFrame(counts, schema=names)):
        model.fit(frame, y)
        display = plot_partial_dependence(model, frame, ["$x_{"], **options)
        np.testing.assert_allclose(display.axes_[0, 0].lines[0].get_ydata(), expected)
        assert display.axes_[0, 0].get_xlabel() == "$x_{"
        display.figure_.canvas.draw()
    with_missing = np.where(X < 1, nan, X)
    model = MaxMarginIntervalTree(max_depth=3).fit(with_missing, y)
    drawn = (
        plot_partial_dependence(model, with_missing, [0], **options).axes_[0, 0].lines[0].get_data()
    )
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize("features", [[], 0, "x[0]"])
def test_partial_dependence_on_no_list_of_features_is_refused(features):
    with pytest.raises(ValueError, match="features: expected a list"):
        plot_partial_dependence(MaxMarginIntervalTree(max_depth=1).fit(X, y), X, features)


def test_partial_dependence_of_a_constant_is_a_flat_line():
    display = plot_partial_dependence(MaxMarginIntervalTree().fit(X, np.full(len(X), 3.0)), X, [0])
    assert set(display.lines_[0, 0].get_ydata()) == {3.0}


def test_partial_dependence_draws_into_given_axes_and_refuses_what_it_cannot_draw():
    model = MaxMarginIntervalTree(max_depth=3).fit(X, y)
    figure, ax = plt.subplots()
    assert plot_partial_dependence(model, X, [0], ax=ax).figure_ is figure
    assert plt.get_fignums() == [figure.number]
    with pytest.raises(NotFittedError):
        plot_partial_dependence(MaxMarginIntervalTree(), X, [0])
    with pytest.raises(ValueError, match="X: expected rows in which the features"):
        plot_partial_dependence(model, np.full_like(X, nan), [0])


PIPELINES = [
    MaxMarginIntervalTree(max_depth=3),
    IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2),
    MaxMarginIntervalForest(4, random_state=0),
    MaxMarginIntervalBoosting(4),
]


@pytest.mark.parametrize("model", PIPELINES, ids=lambda model: type(model).__name__)
def test_importances_of_a_pipeline_have_the_names_that_its_steps_give(model):
    pipeline = fit_pipeline(model)
    ax = plot_importances(pipeline)
    order = np.argsort(-pipeline[-1].feature_importances_, kind="stable")
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        TRANSFORMED[idx] for idx in order
    ]
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], pipeline[-1].feature_importances_[order]
    )
    assert (ax.get_legend() is not None) == isinstance(model, MaxMarginIntervalForest)


@pytest.mark.parametrize("model", PIPELINES[:2], ids=lambda model: type(model).__name__)
def test_the_tree_of_a_pipeline_is_drawn_with_rows_before_its_steps(model):
    pipeline = fit_pipeline(model)
    ax = plot_tree(pipeline, FRAME, TARGET)
    assert len(ax.patches) == pipeline[-1].tree_.node_count
    assert len(ax.child_axes[1].collections[0].get_segments()) == len(FRAME)
    words = " ".join(box_texts(ax))
    assert "town_Köln ≤" in words
    assert "x[" not in words
    assert plot_pruning_path(pipeline).has_data()


@pytest.mark.parametrize("model", PIPELINES, ids=lambda model: type(model).__name__)
def test_partial_dependence_of_a_pipeline_is_the_mean_prediction_over_its_own_columns(model):
    pipeline = fit_pipeline(model)
    before = FRAME.copy()
    display = plot_partial_dependence(pipeline, FRAME, ["age", ("age", "dose")], grid_resolution=5)
    (values,) = display.pd_results[0]["grid_values"]
    means = [pipeline.predict(FRAME.assign(age=value)).mean() for value in values]
    np.testing.assert_allclose(display.axes_[0, 0].lines[0].get_ydata(), means)
    assert display.axes_[0, 0].get_xlabel() == "age"
    assert FRAME.equals(before)


def test_partial_dependence_on_a_column_of_text_has_a_bar_for_every_value():
    frame = FRAME.copy()
    frame.loc[3, "town"] = None
    pipeline = fit_pipeline(MaxMarginIntervalTree(max_depth=4))
    display = plot_partial_dependence(pipeline, frame, ["town", "age"])
    present = frame.drop(index=3)
    means = [pipeline.predict(present.assign(town=town)).mean() for town in ("Bonn", "Köln", "Ulm")]
    np.testing.assert_allclose([bar.get_height() for bar in display.axes_[0, 0].patches], means)


def test_partial_dependence_of_a_pipeline_takes_polars_frames_missing_values_and_places():
    polars = pytest.importorskip("polars")
    pipeline = fit_pipeline(MaxMarginIntervalTree(max_depth=4))
    expected = plot_partial_dependence(pipeline, FRAME, ["age"]).axes_[0, 0].lines[0].get_data()
    for rows, feature in (
        (polars.DataFrame(FRAME.to_dict("list")), "age"),
        (FRAME, 1),
        (FRAME.astype({"age": "Int64"}), 1),
    ):
        drawn = plot_partial_dependence(pipeline, rows, [feature]).axes_[0, 0].lines[0].get_data()
        np.testing.assert_allclose(drawn, expected)
    missing = FRAME.astype({"age": float})
    missing.loc[:4, "age"] = nan
    drawn = plot_partial_dependence(pipeline, missing, ["age"]).axes_[0, 0].lines[0].get_data()
    np.testing.assert_allclose(
        drawn, plot_partial_dependence(pipeline, FRAME[5:], ["age"]).axes_[0, 0].lines[0].get_data()
    )


def test_control_characters_in_names_are_drawn_as_escapes():
    ax = plot_importances(
        MaxMarginIntervalTree(max_depth=2).fit(X, y), feature_names=["\x1b[2J", "b", "c", "d"]
    )
    assert "\\x1b[2J" in [label.get_text() for label in ax.get_yticklabels()]
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_intervals(y, ax=ax),
        lambda ax: plot_cost(y[:9], ax=ax),
        lambda ax: plot_tree(full_tree(2), ax=ax),
        lambda ax: plot_pruning_path(MaxMarginIntervalTree().fit(X, y), ax=ax),
        lambda ax: plot_importances(MaxMarginIntervalTree().fit(X, y), ax=ax),
        lambda ax: plot_margin_heatmap(
            IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.1]}, cv=2).fit(X, y), ax=ax
        ),
    ],
)
def test_given_axes_are_drawn_into_and_returned_and_no_figure_is_opened(draw):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert draw(ax) is ax
    assert ax.has_data()
    assert plt.get_fignums() == []


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        plot_intervals,
        plot_cost,
        plot_tree,
        plot_pruning_path,
        plot_importances,
        plot_margin_heatmap,
    ):
        with pytest.raises(ImportError, match=r'pip install "\.\[plot\]"'):
            draw([1.0])
    with pytest.raises(ImportError, match="needs matplotlib"):
        plot_partial_dependence(None, X, [0])


def test_the_gallery_shows_every_plot():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert [name for name in plotting.__all__ if f"plotting.{name}(" not in text] == []
