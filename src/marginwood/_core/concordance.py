"""Pairs of rows whose order is known, counted by how predictions order them."""

import numpy as np

from marginwood._core.jit import borrow, kernel


@kernel
def weigh_pairs(rows, is_earlier, ranks, weights, sums):
    """Weigh all pairs of an earlier and a later row: in all, in the right order, tied.

    `rows` is a timeline. Where `is_earlier`, the row is known to be over, and lies before every row
    that is yet to start; elsewhere it starts. `ranks` are those of the predictions, equal for equal
    ones, from 0. `sums` is zeroed scratch, one more than there are ranks: a Fenwick tree, where
    entry i holds the weight of the ``i & -i`` ranks up to i, counted from 1.
    """
    rows = borrow(rows)
    is_earlier = borrow(is_earlier)
    ranks = borrow(ranks)
    weights = borrow(weights)
    sums = borrow(sums)
    same = np.zeros(sums.shape[0])
    over = 0.0
    comparable = 0.0
    concordant = 0.0
    tied = 0.0
    for k in range(rows.shape[0]):
        row = rows[k]
        rank = ranks[row]
        weight = weights[row]
        if is_earlier[k]:
            over += weight
            same[rank] += weight
            i = rank + 1
            while i < sums.shape[0]:
                sums[i] += weight
                i += i & -i
        else:
            below = 0.0
            i = rank
            while i > 0:
                below += sums[i]
                i -= i & -i
            comparable += weight * over
            concordant += weight * below
            tied += weight * same[rank]
    return comparable, concordant, tied
