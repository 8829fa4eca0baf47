"""RankSet: a set of ranks as a hierarchical bitset.

Rank r is bit ``r % 64`` of word ``r // 64`` on the bottom level; a bit of level l + 1 says whether a
word of level l is non-zero. Insertion, removal and the search for a neighbour touch one word per level,
at most four levels for 16 million ranks, and the bottom level of 100,000 ranks is 12 KB: it stays in the
first-level cache.

A set over ranks 1..n_ranks always holds the two sentinels 0 and n_ranks + 1, so that every rank in
between has a neighbour on both sides.
"""

import numpy as np

from marginwood._core.jit import inlined, kernel, leading_zeros, trailing_zeros

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
N_LEVELS = 6


def make_rank_set(n_ranks):
    """Room for ranks 0..n_ranks + 1; `clear` or `fill` it before anything else.

    One array, because a kernel that takes a tuple of arrays counts references at every call: the first
    words say where each level starts.
    """
    starts, n_bits, size = [], n_ranks + 2, N_LEVELS
    for _ in range(N_LEVELS):
        starts.append(size)
        n_bits = (n_bits >> 6) + 1
        size += n_bits
    ranks = np.zeros(size, dtype=np.uint64)
    ranks[:N_LEVELS] = starts
    return ranks


@inlined
def _level_start(ranks, level):
    return np.int64(ranks[level])


@kernel
def clear(ranks, n_ranks):
    """Make it the empty set over 1..n_ranks."""
    last = n_ranks + 1
    for level in range(N_LEVELS):
        start = _level_start(ranks, level)
        last >>= 6
        for i in range(start, start + last + 1):
            ranks[i] = 0
    insert(ranks, 0)
    insert(ranks, n_ranks + 1)


@kernel
def fill(ranks, n_ranks):
    """Make it the full set 1..n_ranks."""
    last = n_ranks + 1
    for level in range(N_LEVELS):
        start = _level_start(ranks, level)
        n_spare = 63 - (last & 63)
        last >>= 6
        for i in range(start, start + last):
            ranks[i] = ALL
        ranks[start + last] = ALL >> np.uint64(n_spare)


@inlined
def insert(ranks, rank):
    """Add a rank that is not a member."""
    for level in range(N_LEVELS):
        idx = _level_start(ranks, level) + (rank >> 6)
        word = ranks[idx]
        ranks[idx] = word | (ONE << np.uint64(rank & 63))
        if word != 0:
            break
        rank >>= 6


@inlined
def remove(ranks, rank):
    """Take out a member."""
    for level in range(N_LEVELS):
        idx = _level_start(ranks, level) + (rank >> 6)
        word = ranks[idx] ^ (ONE << np.uint64(rank & 63))
        ranks[idx] = word
        if word != 0:
            break
        rank >>= 6


@inlined
def next_member(ranks, rank):
    """Smallest member above `rank`, for ``rank <= n_ranks``."""
    position = rank + 1
    word = ranks[N_LEVELS + (position >> 6)] >> np.uint64(position & 63)
    if word != 0:
        return position + trailing_zeros(word)
    return _next_in_other_word(ranks, position)


@kernel
def _next_in_other_word(ranks, position):
    level, word = 0, np.uint64(0)
    while word == 0:
        level += 1
        position = (position >> 6) + 1
        word = ranks[_level_start(ranks, level) + (position >> 6)] >> np.uint64(position & 63)
    position += trailing_zeros(word)
    while level > 0:
        level -= 1
        word = ranks[_level_start(ranks, level) + position]
        position = (position << 6) + trailing_zeros(word)
    return position


@inlined
def previous_member(ranks, rank):
    """Largest member below `rank`, for ``rank >= 1``."""
    position = rank - 1
    word = ranks[N_LEVELS + (position >> 6)] << np.uint64(63 - (position & 63))
    if word != 0:
        return position - leading_zeros(word)
    return _previous_in_other_word(ranks, position)


@kernel
def _previous_in_other_word(ranks, position):
    level, word = 0, np.uint64(0)
    while word == 0:
        level += 1
        position = (position >> 6) - 1
        word = ranks[_level_start(ranks, level) + (position >> 6)] << np.uint64(63 - (position & 63))
    position -= leading_zeros(word)
    while level > 0:
        level -= 1
        word = ranks[_level_start(ranks, level) + position]
        position = (position << 6) + 63 - leading_zeros(word)
    return position
