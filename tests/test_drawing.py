"""What all drawings of a tree share: the tree, its places and words."""

from math import inf, nan

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from marginwood import IntervalDummyRegressor, MaxMarginIntervalTree
from marginwood._drawing import Place, answer, condition, places, read_tree
from trees import ENSEMBLES, X, chain, y


def stairs():
    """Two splits: the root's right child is split again."""
    return read_tree(MaxMarginIntervalTree().fit([[1], [3], [5]], [0.0, 6.0, 7.0]))


def test_what_is_no_fitted_tree_is_refused():
    with pytest.raises(NotFittedError):
        read_tree(MaxMarginIntervalTree())
    with pytest.raises(TypeError, match=r"tree: expected one tree, got a .*Forest; pass one of its estimators_"):
        read_tree(ENSEMBLES[0])
    with pytest.raises(TypeError, match=r"expected a MaxMarginIntervalTree.*got a IntervalDummyRegressor"):
        read_tree(IntervalDummyRegressor().fit(np.nan_to_num(X), y))
    assert read_tree(ENSEMBLES[0].estimators_[0]) is ENSEMBLES[0].estimators_[0].tree_


def test_parents_come_before_their_children_and_the_left_before_the_right():
    assert list(places(stairs(), None)) == [
        Place(0, depth=0, parent=-1, is_left=False, is_cut=False),
        Place(1, depth=1, parent=0, is_left=True, is_cut=False),
        Place(2, depth=1, parent=0, is_left=False, is_cut=False),
        Place(3, depth=2, parent=2, is_left=True, is_cut=False),
        Place(4, depth=2, parent=2, is_left=False, is_cut=False),
    ]


def test_a_drawing_is_cut_at_splits_below_the_depth_and_never_at_leaves():
    assert [(place.idx, place.is_cut) for place in places(stairs(), 0)] == [(0, False), (1, False), (2, True)]
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
    assert [condition(tree.nodes[0], "dose", "?", is_left=side) for side in (True, False)] == [
        "dose is present",
        "dose is missing",
    ]
    assert [answer(tree, place) for place in places(tree, None)] == ["", "yes", "no"]


def test_every_other_split_is_put_as_the_comparison():
    (split, *_) = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [0.0, 9.0, 9.0]).tree_.nodes
    assert condition(split, "dose", "<= 0.5") == "dose <= 0.5"
    split["threshold"], split["missing_go_to_left"] = inf, True
    assert condition(split, "dose", "<= inf") == "dose <= inf"
