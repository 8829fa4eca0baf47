"""RankSet: ranks divided into two sides, as a hierarchical bitset.

A rank is one bit of the bottom level, 0 on the RIGHT side and 1 on the LEFT side. Each side has
levels of its own above that, where a bit says whether a word of the level below holds any rank of
the side. Moving a rank from right to left and finding a neighbour on either side touch one word per
level, at most four levels for 16 million ranks, and the bottom level of 100,000 ranks is 12 KB: it
stays in the first-level cache.

Ranks are numbered from FIRST. Each side has a sentinel below them, LEFT 0 and RIGHT 1, and one
above them, so that every rank has a neighbour on both sides of it.
"""

from itertools import accumulate

import numpy as np

from marginwood._core.jit import inlined, inner, leading_zeros, trailing_zeros

LEFT, RIGHT = np.int64(0), np.int64(1)
FIRST = 2  # two sentinels below the ranks
N_SENTINELS = 4  # and two above

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
NONE = np.uint64(0)
N_LEVELS = 6  # of 64 bits each: 2**36 ranks, more than 32-bit limits can number
HEADER = 2 * N_LEVELS


def make_rank_set(n_ranks):
    """Room for `n_ranks` ranks; `reset` it before anything else.

    One array, because a kernel that takes a tuple of arrays counts references at every call: the
    first words say where each level of each side starts. The bottom level is shared.
    """
    n_words = [(n_ranks + N_SENTINELS >> 6 * level + 6) + 1 for level in range(N_LEVELS)]
    left = list(accumulate(n_words, initial=HEADER))
    right = [HEADER, *(start + sum(n_words[1:]) for start in left[1:])]
    ranks = np.zeros(right[-1], dtype=np.uint64)
    ranks[:HEADER] = left[:N_LEVELS] + right[:N_LEVELS]
    return ranks


@inlined
def _level(ranks, side, level):
    return np.int64(ranks[side * N_LEVELS + level])


@inner
def reset(ranks, n_ranks):
    """Put all of `n_ranks` ranks on the right side."""
    last = n_ranks + N_SENTINELS - 1
    for level in range(N_LEVELS):
        left, right = _level(ranks, LEFT, level), _level(ranks, RIGHT, level)
        n_spare = np.uint64(63 - (last & 63))
        last >>= 6
        for i in range(last + 1):
            # At the bottom, which both sides share, a bit of 0 is a rank of the right side.
            if level > 0:
                ranks[right + i] = ALL
            ranks[left + i] = NONE
        if level > 0:
            ranks[right + last] = ALL >> n_spare
    move_left(ranks, np.int64(0))
    move_left(ranks, n_ranks + FIRST)


@inlined
def move_left(ranks, rank):
    """Move a rank from the right side to the left."""
    idx = HEADER + (rank >> 6)
    before = ranks[idx]
    after = before | (ONE << np.uint64(rank & 63))
    ranks[idx] = after
    # Only the first rank of a word to enter the left, and the last to leave the right, are news to
    # the levels above.
    if before == NONE or after == ALL:
        _move_words(ranks, rank >> 6, before == NONE, after == ALL)


@inner
def _move_words(ranks, word, enters_left, leaves_right):
    """Record that a word of the bottom level holds ranks of the left, or none of the right any more."""
    at = word
    for level in range(1, N_LEVELS):
        if not enters_left:
            break
        idx = _level(ranks, LEFT, level) + (at >> 6)
        enters_left = ranks[idx] == NONE
        ranks[idx] |= ONE << np.uint64(at & 63)
        at >>= 6
    at = word
    for level in range(1, N_LEVELS):
        if not leaves_right:
            break
        idx = _level(ranks, RIGHT, level) + (at >> 6)
        ranks[idx] &= ~(ONE << np.uint64(at & 63))
        leaves_right = ranks[idx] == NONE
        at >>= 6


@inlined
def next_rank(ranks, side, rank):
    """The side's smallest rank above `rank`."""
    position = rank + 1
    flip = ALL if side == RIGHT else NONE
    word = (ranks[HEADER + (position >> 6)] ^ flip) >> np.uint64(position & 63)
    if word != NONE:
        return position + trailing_zeros(word)
    return _next_in_other_word(ranks, side, position)


@inner
def _next_in_other_word(ranks, side, position):
    level = 0
    word = NONE
    # Up to the first level that holds anything beyond, then down to its first rank. The sentinel
    # ends the search.
    while word == NONE:
        level += 1
        position = (position >> 6) + 1
        word = ranks[_level(ranks, side, level) + (position >> 6)] >> np.uint64(position & 63)
    position += trailing_zeros(word)
    while level > 0:
        level -= 1
        word = ranks[_level(ranks, side, level) + position]
        word = ~word if level == 0 and side == RIGHT else word
        position = (position << 6) + trailing_zeros(word)
    return position


@inlined
def previous_rank(ranks, side, rank):
    """The side's largest rank below `rank`."""
    position = rank - 1
    flip = ALL if side == RIGHT else NONE
    word = (ranks[HEADER + (position >> 6)] ^ flip) << np.uint64(63 - (position & 63))
    if word != NONE:
        return position - leading_zeros(word)
    return _previous_in_other_word(ranks, side, position)


@inner
def _previous_in_other_word(ranks, side, position):
    level = 0
    word = NONE
    while word == NONE:
        level += 1
        position = (position >> 6) - 1
        word = ranks[_level(ranks, side, level) + (position >> 6)] << np.uint64(
            63 - (position & 63)
        )
    position -= leading_zeros(word)
    while level > 0:
        level -= 1
        word = ranks[_level(ranks, side, level) + position]
        word = ~word if level == 0 and side == RIGHT else word
        position = (position << 6) + 63 - leading_zeros(word)
    return position
