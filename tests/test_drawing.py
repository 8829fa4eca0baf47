"""What all drawings share: the places and words of a tree, the surface of a search."""

from math import inf, nan

import numpy as np
import pytest

from marginwood import MaxMarginIntervalTree
from marginwood._drawing import (
    DrawnNode,
    answer,
    condition,
    make_surface,
    name_value,
    places,
    show_number,
    surface_levels,
    survey,
)
from marginwood._fitted import Search
from trees import chain


def stairs():
    """Two splits: the root's right child is split again."""
    return MaxMarginIntervalTree().fit([[1], [3], [5]], [0.0, 6.0, 7.0]).tree_


def test_parents_come_before_their_children_and_the_left_before_the_right():
    assert list(places(stairs(), None)) == [
        DrawnNode(0, depth=0, parent=-1, is_left=False, is_cut=False),
        DrawnNode(1, depth=1, parent=0, is_left=True, is_cut=False),
        DrawnNode(2, depth=1, parent=0, is_left=False, is_cut=False),
        DrawnNode(3, depth=2, parent=2, is_left=True, is_cut=False),
        DrawnNode(4, depth=2, parent=2, is_left=False, is_cut=False),
    ]


def test_a_drawing_is_cut_at_splits_below_the_depth_and_never_at_leaves():
    assert [(place.idx, place.is_cut) for place in places(stairs(), 0)] == [
        (0, False),
        (1, False),
        (2, True),
    ]
    assert list(places(stairs(), 1)) == list(places(stairs(), None))


def test_a_very_deep_tree_is_walked_without_recursion():
    assert max(place.depth for place in places(chain(5000).tree_, None)) == 5000


@pytest.mark.parametrize(
    ("last", "answers"), [(0.0, ["", "yes or missing", "no"]), (9.0, ["", "yes", "no or missing"])]
)
def test_answers_name_missing_values_where_they_go(last, answers):
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [0.0, 9.0, last]).tree_
    assert [answer(tree, place) for place in places(tree, None)] == answers


def test_a_split_that_parts_missing_values_from_all_others_is_put_in_words():
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [2.0, 2.0, 9.0]).tree_
    assert [condition(tree, 0, "dose", "?", is_left=side) for side in (True, False)] == [
        "dose is present",
        "dose is missing",
    ]
    assert [answer(tree, place) for place in places(tree, None)] == ["", "yes", "no"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (6.9421, "6.94"),
        (1987.5, "1987.5"),
        (1807.0, "1807"),
        (0.00023812, "0.000238"),
        (-0.0714, "-0.0714"),
        (0.5, "0.5"),
        (1 / 3, "0.333"),
        (0.9999, "1"),
        (100.0, "100"),
        (2.3812e-6, "2.38e-06"),
        (12345678.0, "1.23e+07"),
        (0.0, "0"),
        (-0.0, "0"),
        (inf, "inf"),
        (-inf, "-inf"),
    ],
)
def test_a_number_has_two_decimals_or_three_significant_digits(value, shown):
    assert show_number(value, 2) == shown


def test_whole_numbers_keep_their_zeros_without_decimals():
    assert [show_number(value, 0) for value in (100.0, 6.94, 0.0238)] == ["100", "7", "0.0238"]


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (6.94, 6.94, 6.94, "6.94"),
        (6.94, 6.9399999, 6.9400001, "6.94"),
        (5, 4, 6, "5 in [4, 6]"),
        (1, -np.inf, 1, "1 in [-inf, 1]"),
        (0.2, 0.1, 0.1, "0.2 (its rows alone: 0.1)"),
        (0.2, 0.3, 0.4, "0.2 (its rows alone: [0.3, 0.4])"),
    ],
)
def test_a_value_is_put_beside_those_that_are_as_good_or_better_for_its_rows(
    value, low, high, text
):
    assert name_value(value, low, high, lambda number: show_number(number, 2)) == text


def test_every_other_split_is_put_as_the_comparison():
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [0.0, 9.0, 9.0]).tree_
    assert condition(tree, 0, "dose", "<= 0.5") == "dose <= 0.5"
    tree.nodes["threshold"][0], tree.nodes["missing_go_to_left"][0] = inf, True
    assert condition(tree, 0, "dose", "<= inf") == "dose <= inf"


def test_a_surface_shows_the_nearest_candidate_of_each_margin_the_best_of_ties_and_the_chosen_one():
    margin = np.array([0.0, 0, 0, 0, 0, 1, 1])
    alpha = np.array([0.0, 1, 1, 1, inf, 0.5, inf])
    score = np.array([-3.0, nan, -2, -1, -4, -5, -6])
    levels, nobody = surface_levels(alpha), np.zeros(7, dtype=bool)
    assert levels.tolist() == [0, 0.5, 1, inf]
    surface = make_surface(margin, alpha, score, nobody, levels)
    assert surface.candidates.tolist() == [[0, 3, 3, 4], [5, 5, 5, 6]]
    assert surface.chosen is None
    chosen = make_surface(margin, alpha, score, np.arange(7) == 2, levels)
    assert chosen.candidates.tolist() == [[0, 3, 2, 4], [5, 5, 5, 6]]
    assert chosen.chosen == (0, 2)
    near = make_surface(margin, alpha, score, nobody, levels, reach=1e-9)
    assert near.candidates.tolist() == [[0, -1, 3, 4], [-1, 5, -1, 6]]


def test_a_surface_of_many_alphas_keeps_both_ends_and_subnormal_numbers():
    alpha = np.concatenate([[0.0, inf], np.geomspace(5e-324, 1e300, 500)])
    levels = surface_levels(alpha)
    assert len(levels) <= 42
    assert levels[[0, 1, -2, -1]].tolist() == [0, 5e-324, 1e300, inf]
    surface = make_surface(np.zeros(502), alpha, -alpha, alpha == 5e-324, levels)
    np.testing.assert_array_equal(
        alpha[surface.candidates[0, [0, 1, -2, -1]]], levels[[0, 1, -2, -1]]
    )


def tried(**columns):
    columns = {name: np.asarray(column) for name, column in columns.items()}
    score = np.arange(len(columns["param_margin"]), dtype=float)
    return Search(columns | {"mean_test_score": score}, 3, "score", 2)


def test_a_survey_of_a_grid_shows_what_was_tried_and_numbers_it_as_the_search_does():
    grid = tried(
        param_margin=[0.0, 0.0, 0.5, 0.5], param_max_depth=[1, 9, 1, 3], param_loss=list("abab")
    )
    surface = survey(
        grid, np.array([1, 2, 3]), grid.numbers("max_depth"), np.array([1.0, 3.0, 9.0])
    )
    assert surface.candidates.tolist() == [[-1, -1, 1], [2, 3, -1]]
    assert surface.chosen == (1, 1)


def test_a_survey_of_a_path_fills_every_cell_with_the_nearest_candidate():
    path = tried(
        param_margin=[0.0, 0.0, 0.5, 0.5],
        param_ccp_alpha=[0.1, inf, 0.3, inf],
        n_leaves=[3, 1, 4, 1],
    )
    level = path.numbers("ccp_alpha")
    assert survey(path, np.arange(4), level, surface_levels(level)).candidates.tolist() == [
        [0, 0, 1],
        [2, 2, 3],
    ]
    stages = tried(param_margin=np.zeros(1000), param_n_estimators=np.arange(1000) + 1)
    level = stages.numbers("n_estimators")
    assert (survey(stages, np.arange(1000), level, surface_levels(level)).candidates >= 0).all()
