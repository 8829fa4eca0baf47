"""Groups: the samples of a node that share a category, and what they cost at some values.

Samples without a category, whose code is NaN, are a group like any other. An order of such a
feature keeps groups together, but in any sequence: only NaN comes last when a search is over.

Eight values are chosen for each node, four on either side of its minimiser. What a group costs
there says what it costs anywhere, nearly: see `pairs`.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.frontier import PENDING_DTYPE, Frontier
from marginwood._core.hinge import SQUARED
from marginwood._core.jit import PREFETCH_DISTANCE, borrow, inlined, inner, prefetch
from marginwood._core.lanes import N_LANES, load, lower_of, spread, store
from marginwood._core.order import NEW_VALUE, SAMPLE_MASK
from marginwood._core.rankset import FIRST, N_SENTINELS
from marginwood._core.screen import GROUP

# All subsets of up to this many groups are tried.
FEW = 8
N_SUBSETS = 2 ** (FEW - 1)
N_VALUES = N_LANES
HALF = N_VALUES // 2
# Where the values on either side of the minimiser lie: limits beyond the outermost have this share
# of the side's squared distances, those beyond the others this share of its distances. So there is
# a value near limits far away if they matter.
SHARES = (0.3, 0.4, 0.7, 0.95)


class GroupRoom(NamedTuple):
    """Room for the groups of one feature in a node.

    `starts` says where groups start in the order of the feature, counted from the start of the
    node, with one entry more than there are groups; `costs` is what they cost at `values`. `pairs`
    and `sides` are sums of costs, see `pairs`, and `factors` turn costs at the values into costs at
    others. `proposed` are groups to send left, and `chosen` those on the left of the best split;
    `queue` is a heap of groups that may have to change sides, and `arranged` holds samples as a
    sweep is to meet them. Of few groups `sums` are their pulls, `subset_sums` those of all subsets,
    and `bounds` those of the subsets' prices.
    """

    arranged: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    costs: np.ndarray
    pairs: np.ndarray
    sides: np.ndarray
    factors: np.ndarray
    chosen: np.ndarray
    proposed: np.ndarray
    queue: Frontier
    sums: np.ndarray
    subset_sums: np.ndarray
    bounds: np.ndarray


def make_room(n_samples, n_categories):
    """Room for features of up to this many categories; without values if there are none."""
    n_groups = min(n_samples, n_categories + 1)
    return GroupRoom(
        arranged=np.empty(n_samples, dtype=np.int32),
        starts=np.empty(n_groups + 1, dtype=np.int64),
        values=np.empty(N_VALUES if n_categories else 0),
        costs=np.empty((n_groups, N_VALUES)),
        pairs=np.empty(2 * N_LANES),
        sides=np.empty((2, N_VALUES)),
        factors=np.empty(N_VALUES),
        chosen=np.empty(n_groups, dtype=np.uint8),
        proposed=np.empty(n_groups, dtype=np.uint8),
        queue=Frontier(
            np.empty(n_groups), np.empty(n_groups, dtype=np.int64), np.empty(0, dtype=PENDING_DTYPE)
        ),
        sums=np.empty((FEW, 2 * GROUP)),
        subset_sums=np.empty((2 * GROUP, N_SUBSETS)),
        bounds=np.empty(N_SUBSETS),
    )


@inlined
def borrow_room(room):
    """The same without reference counting."""
    queue = Frontier(
        borrow(room.queue.priority), borrow(room.queue.slots), borrow(room.queue.pending)
    )
    return GroupRoom(
        borrow(room.arranged), borrow(room.starts), borrow(room.values), borrow(room.costs), borrow(room.pairs),
        borrow(room.sides), borrow(room.factors), borrow(room.chosen), borrow(room.proposed), queue, borrow(room.sums),
        borrow(room.subset_sums), borrow(room.bounds),
    )  # fmt: skip


@inlined
def _add_distance(points, rank, side, mu, sums):
    """Sums of the weighted distances and of their squares, with those of a limit that pulls to this side of `mu`."""
    distance = side * (mu - points[rank, 0])
    weighted = max(side * points[rank, 1], 0.0) * distance
    return sums[0] + weighted, sums[1] + weighted * distance


@inner
def _put_values(values, points, ends, mu, side):
    """Fill the values left (side 1) or right (-1) of the minimiser; `ends` are the first rank and the last."""
    outermost = ends[0] if side > 0 else ends[1]
    rank = outermost
    whole = (0.0, 0.0)
    while ends[0] <= rank <= ends[1] and side * (mu - points[rank, 0]) > 0:
        whole = _add_distance(points, rank, side, mu, whole)
        rank += side
    rank = outermost
    part = (0.0, 0.0)
    n_put = 0
    while n_put < HALF and ends[0] <= rank <= ends[1] and side * (mu - points[rank, 0]) > 0:
        part = _add_distance(points, rank, side, mu, part)
        is_reached = (
            part[1] > SHARES[0] * whole[1] if n_put == 0 else part[0] > SHARES[n_put] * whole[0]
        )
        while n_put < HALF and is_reached:
            values[n_put if side > 0 else N_VALUES - 1 - n_put] = points[rank, 0]
            n_put += 1
            is_reached = n_put < HALF and part[0] > SHARES[n_put] * whole[0]
        rank += side
    for i in range(n_put, HALF):
        values[i if side > 0 else N_VALUES - 1 - i] = mu


@inner
def choose_values(room, points, mu):
    """Choose the values of a node with the minimiser `mu`, in ascending order; nothing to do without categories."""
    values = borrow(room.values)
    if values.shape[0] == 0:
        return
    points = borrow(points)
    ends = np.int64(FIRST), np.int64(points.shape[0] - N_SENTINELS + FIRST - 1)
    _put_values(values, points, ends, mu, np.int64(1))
    _put_values(values, points, ends, mu, np.int64(-1))


@inner
def list_groups(room, samples, order, start, stop, loss):
    """Number the groups of a node as they come and add up what they cost at the values; returns how many there are."""
    starts = borrow(room.starts)
    costs = borrow(room.costs)
    samples = borrow(samples)
    order = borrow(order)
    values = load(borrow(room.values), np.int64(0))
    zero = spread(0.0)
    sums = zero
    group = np.int64(-1)
    starts[0] = 0
    for i in range(start, stop):
        # Sums are begun afresh by a factor and written at every sample: groups may be small, and
        # the end of one cannot be foreseen.
        is_new = order[i] < 0 or i == start
        group += is_new
        prefetch(
            samples, np.int64(order[np.uint64(min(i + PREFETCH_DISTANCE, stop - 1))] & SAMPLE_MASK)
        )
        sample = samples[np.uint64(order[i] & SAMPLE_MASK)]
        weight = sample["weight"]
        # Violations with the sign turned: the lower of them and 0.
        x = lower_of(
            values - spread(sample["lower"] if sample["lower_rank"] > 0 else -np.inf), zero
        )
        y = lower_of(spread(sample["upper"] if sample["upper_rank"] > 0 else np.inf) - values, zero)
        if loss.code == SQUARED:
            own = spread(weight) * (x * x + y * y)
        else:
            lower, upper = loss.prices
            own = spread(-weight) * (spread(lower) * x + spread(upper) * y)
        sums = sums * spread(0.0 if is_new else 1.0) + own
        store(costs, group * N_VALUES, sums)
        starts[np.uint64(group + 1)] = i + 1 - start
    return group + 1


@inner
def add_pulls(room, pulls, order, start, n_groups, code):
    """Add up the pulls of few groups."""
    sums = borrow(room.sums)
    starts = borrow(room.starts)
    pulls = borrow(pulls)
    order = borrow(order)
    n_parts = 1 if code == SQUARED else 2
    for group in range(n_groups):
        sums[group, :] = 0.0
        for i in range(start + starts[group], start + starts[group + 1]):
            at = np.int64(order[i] & SAMPLE_MASK) * n_parts
            for part in range(n_parts):
                for k in range(GROUP):
                    sums[group, GROUP * part + k] += pulls[at + part, k]


@inner
def gather(room, order, start, n_groups, is_left, side, at):
    """Write the groups on one side to `arranged` from `at` on; return where they end."""
    arranged = borrow(room.arranged)
    starts = borrow(room.starts)
    order = borrow(order)
    is_left = borrow(is_left)
    for group in range(n_groups):
        if is_left[group] == side:
            first = at
            for j in range(start + starts[group], start + starts[group + 1]):
                arranged[at] = order[j] & SAMPLE_MASK
                at += 1
            arranged[first] |= NEW_VALUE
    return at


@inner
def put_back(room, order, start, stop):
    """Replace the order of a node by the one that is arranged."""
    arranged = borrow(room.arranged)
    order = borrow(order)
    for i in range(start, stop):
        order[i] = arranged[i - start]
