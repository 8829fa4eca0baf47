"""RankSet against two Python sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core import rankset
from marginwood._core.jit import kernel
from marginwood._core.rankset import FIRST, HEADER, LEFT, N_SENTINELS, RIGHT, make_rank_set

# Around the sizes of one, two and three levels of words, sentinels included.
SIZES = [1, 2, 59, 60, 61, 62, 124, 64**2 - N_SENTINELS, 64**2 - N_SENTINELS + 1, 64**2 + 70]


@kernel
def reset(ranks, n_ranks):
    rankset.reset(ranks, n_ranks)


@kernel
def move_left(ranks, moved):
    for i in range(moved.shape[0]):
        rankset.move_left(ranks, moved[i])


@kernel
def find_neighbours(ranks, asked, neighbours):
    """Per asked rank: previous and next on the left, previous and next on the right."""
    for i in range(asked.shape[0]):
        neighbours[i, 0] = rankset.previous_rank(ranks, LEFT, asked[i])
        neighbours[i, 1] = rankset.next_rank(ranks, LEFT, asked[i])
        neighbours[i, 2] = rankset.previous_rank(ranks, RIGHT, asked[i])
        neighbours[i, 3] = rankset.next_rank(ranks, RIGHT, asked[i])


def neighbours_of(ranks, asked):
    found = np.empty((len(asked), 4), dtype=np.int64)
    find_neighbours(ranks, np.asarray(asked, dtype=np.int64), found)
    return found


def naive_neighbours(n_ranks, moved, asked):
    """The same from sorted lists; each side has its own sentinels."""
    left = np.array(sorted({0, n_ranks + FIRST, *moved}))
    right = np.array(sorted(set(range(1, n_ranks + N_SENTINELS)) - {n_ranks + FIRST} - set(moved)))
    columns = []
    for side in (left, right):
        columns.append(side[np.searchsorted(side, asked) - 1])
        columns.append(side[np.searchsorted(side, asked, side="right")])
    return np.column_stack(columns)


def soiled_rank_set(n_ranks):
    """Room that is full of what some earlier use left behind."""
    ranks = make_rank_set(n_ranks)
    ranks[HEADER:] = np.random.default_rng(0).integers(
        2**64, size=len(ranks) - HEADER, dtype=np.uint64
    )
    return ranks


@given(st.data(), st.sampled_from(SIZES[:7]))
def test_neighbours_on_both_sides_are_those_of_two_sets(data, n_ranks):
    moved = data.draw(
        st.lists(st.integers(FIRST, n_ranks + FIRST - 1), unique=True, max_size=n_ranks)
    )
    ranks = soiled_rank_set(n_ranks)
    reset(ranks, n_ranks)
    move_left(ranks, np.array(moved, dtype=np.int64))
    asked = np.arange(FIRST, n_ranks + FIRST)
    np.testing.assert_array_equal(
        neighbours_of(ranks, asked), naive_neighbours(n_ranks, moved, asked)
    )


@pytest.mark.parametrize("n_ranks", SIZES)
def test_ranks_move_one_by_one_until_the_right_side_is_empty(n_ranks):
    rng = np.random.default_rng(n_ranks)
    order = FIRST + rng.permutation(n_ranks)
    ranks = soiled_rank_set(n_ranks)
    reset(ranks, n_ranks)
    for n_moved in sorted({0, 1, n_ranks // 2, n_ranks - 1, n_ranks}):
        move_left(ranks, order[:n_moved])  # a rank that is on the left already stays there
        asked = np.unique(FIRST + rng.integers(n_ranks, size=50))
        expected = naive_neighbours(n_ranks, order[:n_moved].tolist(), asked)
        np.testing.assert_array_equal(neighbours_of(ranks, asked), expected)


@pytest.mark.parametrize("n_ranks", SIZES)
def test_an_empty_side_has_its_sentinels_as_neighbours(n_ranks):
    ranks = soiled_rank_set(n_ranks)
    asked = [FIRST, n_ranks + FIRST - 1]
    reset(ranks, n_ranks)
    assert neighbours_of(ranks, asked)[:, :2].tolist() == [[LEFT, n_ranks + FIRST]] * 2
    move_left(ranks, np.arange(FIRST, n_ranks + FIRST))
    assert neighbours_of(ranks, asked)[:, 2:].tolist() == [[RIGHT, n_ranks + FIRST + 1]] * 2


def test_a_room_for_many_ranks_serves_fewer():
    ranks = soiled_rank_set(10_000)
    for n_ranks in (10_000, 70, 3, 5_000):
        reset(ranks, n_ranks)
        moved = np.arange(FIRST, n_ranks + FIRST, 3)
        move_left(ranks, moved)
        asked = np.unique(np.linspace(FIRST, n_ranks + FIRST - 1, 40).astype(np.int64))
        expected = naive_neighbours(n_ranks, moved.tolist(), asked)
        np.testing.assert_array_equal(neighbours_of(ranks, asked), expected)


def test_neighbours_are_found_through_all_levels_of_words():
    n_ranks = 64**3 + 64**2 + 5
    ranks = soiled_rank_set(n_ranks)
    reset(ranks, n_ranks)
    first, last = FIRST, n_ranks + FIRST - 1
    move_left(ranks, np.array([first, last]))
    assert neighbours_of(ranks, [n_ranks // 2])[0].tolist() == [
        first,
        last,
        n_ranks // 2 - 1,
        n_ranks // 2 + 1,
    ]
    move_left(ranks, np.arange(first + 1, last))
    assert neighbours_of(ranks, [n_ranks // 2])[0].tolist()[2:] == [RIGHT, n_ranks + FIRST + 1]
