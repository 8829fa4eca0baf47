"""Which splits of a feature may be better than the best one so far: a bound of every split's price, before any sweep.

At the minimiser ``mu`` of a node's cost, let a side violate lower limits by ``x``, of total weight ``c``, and upper
limits by ``y``, of total weight ``d``. Say its own minimum lies at ``mu + z``, z > 0. There it violates those upper
limits by ``y + z`` and costs, with weights in all sums, at least

=================  ==========================================================================================
squared hinge      ``sum(x**2 + y**2) - 2 * z * sum(x - y) + d * z**2 >= sum(x**2 + y**2) - sum(x - y)**2 / d``
linear hinge       ``max(sum(x) - c * z, 0) + sum(y) + d * z          >= sum(y) + sum(x) * d / c``
=================  ==========================================================================================

and for z < 0 the two kinds change places. These sums run over the samples of the side, and what a sample adds to
them, its pull, is the same for all features: the bounds of all splits of a feature cost a fraction of a sweep. They
show most features to be worse than the best one so far.
"""

import numpy as np

from marginwood._core.hinge import SQUARED, least_linear, least_squared
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inlined, inner, prefetch
from marginwood._core.order import SAMPLE_MASK
from marginwood._core.split import Path, path_row

# Squared hinge: sum(x**2 + y**2), sum(x - y), c, d. Linear hinge: sum(x), sum(y), c, d.
N_PULLS = 4


@inner
def fill_pulls(order, start, stop, samples, mu, loss, pulls):
    """Fill the pulls of a node's samples; return their sums."""
    order, samples, pulls = borrow(order), borrow(samples), borrow(pulls)
    total_a, total_b, total_c, total_d = 0.0, 0.0, 0.0, 0.0
    for row in range(start, stop):
        idx = order[row] & SAMPLE_MASK
        sample = samples[idx]
        x = max(sample["lower"] - mu, 0.0) if sample["lower_rank"] > 0 else 0.0
        y = max(mu - sample["upper"], 0.0) if sample["upper_rank"] > 0 else 0.0
        c = sample["weight"] if x > 0 else 0.0
        d = sample["weight"] if y > 0 else 0.0
        a, b = c * x, d * y
        if loss == SQUARED:
            a, b = a * x + b * y, a - b
        pulls[idx, 0], pulls[idx, 1], pulls[idx, 2], pulls[idx, 3] = a, b, c, d
        total_a, total_b, total_c, total_d = total_a + a, total_b + b, total_c + c, total_d + d
    return total_a, total_b, total_c, total_d


@inlined
def _least(loss, a, b, c, d):
    """A lower bound of the cost of a side with these sums of pulls."""
    return least_squared(a, b, c, d) if loss == SQUARED else least_linear(a, b, c, d)


@inner
def screen(order, pulls, totals, path, loss, price):
    """The path, with only the splits from the first to the last that may cost less than `price`."""
    order, pulls = borrow(order), borrow(pulls)
    first, last, n_samples = path.last + 1, path.first - 1, path.stop - path.start
    total_a, total_b, total_c, total_d = totals
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for position in range(path.last + 1):
        entry = order[np.uint64(path_row(path, position))]  # unsigned: no check for an index from the end
        if position + PREFETCH_DISTANCE < n_samples:
            ahead = order[np.uint64(path_row(path, position + PREFETCH_DISTANCE))]
            prefetch(pulls, np.int64(ahead & SAMPLE_MASK) * N_PULLS)
        if entry < 0 and position >= path.first:
            least = _least(loss, a, b, c, d) + _least(loss, total_a - a, total_b - b, total_c - c, total_d - d)
            if not least >= price:
                first, last = min(first, position), position
        idx = np.uint64(entry & SAMPLE_MASK)
        a += pulls[idx, 0]
        b += pulls[idx, 1]
        c += pulls[idx, 2]
        d += pulls[idx, 3]
    return Path(path.start, path.stop, path.n_missing, path.missing_left, first, last)
