"""Orders: features and limits sorted once, before a tree grows.

A feature's order lists the samples by value; an entry below zero starts a new value (its sample is
``entry & SAMPLE_MASK``), so that a sweep sees every boundary without reading the values. NaN comes
last. A limit is the number ``2 * sample + kind``.
"""

from typing import NamedTuple

import numpy as np

from marginwood._core.jit import PREFETCH_DISTANCE, borrow, filling, inner, leading_zeros, prefetch

SAMPLE_MASK = np.int32(0x7FFFFFFF)
NEW_VALUE = np.int32(-0x80000000)

DIGIT_BITS = 8
N_DIGITS = 4
N_BUCKETS = 1 << DIGIT_BITS
DIGIT_MASK = np.uint64(N_BUCKETS - 1)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
SIGN_BIT = np.uint64(0x8000000000000000)
NAN_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
INFINITY_KEY = np.uint64(0x7FF0000000000000)
SHORT_RUN = 32
RIGHT_BELOW_0 = -5e-324
ONE = np.uint64(1)
NOTHING = np.int32(0)


@inner
def _make_keys_sortable(keys):
    """Turn the bits of doubles into integers of the same order, NaN last; return where they differ.

    -0.0 becomes 0.0.
    """
    keys = borrow(keys)
    differ = np.uint64(0)
    first = NAN_KEY
    for i in range(keys.shape[0]):
        key = keys[i]
        key = np.uint64(0) if key == SIGN_BIT else key
        is_nan = (key & ~SIGN_BIT) > INFINITY_KEY
        key ^= SIGN_BIT if key < SIGN_BIT else NAN_KEY
        key = NAN_KEY if is_nan else key
        first = key if i == 0 else first
        keys[i] = key
        differ |= key ^ first
    return differ


@inner
def _sort_words(words, spare, counts):
    """Sort 64-bit words by their upper halves, stably: a radix sort. Returns whether they end up in `spare`.

    Four passes over 256 buckets, whose ends stay in the first-level cache, take less time than
    three over 2,048. A digit that is the same in all words costs no pass.
    """
    words = borrow(words)
    spare = borrow(spare)
    counts = borrow(counts)
    n = words.shape[0]
    for digit in range(N_DIGITS):
        for bucket in range(N_BUCKETS):
            counts[digit, bucket] = 0
    for i in range(n):
        upper = words[i] >> HALF
        for digit in range(N_DIGITS):
            counts[digit, np.int64((upper >> np.uint64(digit * DIGIT_BITS)) & DIGIT_MASK)] += 1
    swapped = False
    for digit in range(N_DIGITS):
        shift = HALF + np.uint64(digit * DIGIT_BITS)
        if counts[digit, np.int64((words[0] >> shift) & DIGIT_MASK)] == n:
            continue
        # From how many words a bucket has to where its words start.
        place = 0
        for bucket in range(N_BUCKETS):
            n_words = counts[digit, bucket]
            counts[digit, bucket] = place
            place += n_words
        for i in range(n):
            word = words[i]
            bucket = np.int64((word >> shift) & DIGIT_MASK)
            place = counts[digit, bucket]
            spare[place] = word
            counts[digit, bucket] = place + 1
        words, spare = spare, words
        swapped = not swapped
    return swapped


@inner
def _gather(keys, words, in_order):
    """Read the keys in the order of the words."""
    keys = borrow(keys)
    words = borrow(words)
    in_order = borrow(in_order)
    n = words.shape[0]
    for i in range(n):
        prefetch(keys, np.int64(words[min(i + PREFETCH_DISTANCE, n - 1)] & LOW_HALF))
        in_order[i] = keys[np.int64(words[i] & LOW_HALF)]


@inner
def _sort_run(words, in_order, keys, counts):
    """Finish a run of words whose keys share their upper bits; `in_order` are these keys."""
    n = words.shape[0]
    if n > SHORT_RUN:
        # The upper bits are decided: sort by the lower ones.
        for i in range(n):
            words[i] = (in_order[i] << HALF) | (words[i] & LOW_HALF)
        if _sort_words(words, in_order, counts):
            for i in range(n):
                words[i] = in_order[i]
        _gather(keys, words, in_order)
        return
    for i in range(1, n):
        word = words[i]
        key = in_order[i]
        j = i
        while j > 0 and in_order[j - 1] > key:
            words[j] = words[j - 1]
            in_order[j] = in_order[j - 1]
            j -= 1
        words[j] = word
        in_order[j] = key


@inner
def argsort(keys, words, spare, counts):
    """Sort words by key, stably: the lower half of a word is the position of its key.

    `keys` are the bits of doubles; they become integers of the same order. The 32 highest bits in
    which they differ are sorted together with the position in one 64-bit word; what they leave
    undecided are short runs. Returns the sorted words and their keys, which lie in `words` and
    `spare`, or the other way round.
    """
    keys = borrow(keys)
    words = borrow(words)
    spare = borrow(spare)
    n = words.shape[0]
    differ = _make_keys_sortable(keys)
    shift = np.uint64(0)
    if n > 0 and differ != 0:
        shift = np.uint64(max(0, 32 - leading_zeros(differ)))
        for i in range(n):
            words[i] |= ((keys[np.int64(words[i])] >> shift) & LOW_HALF) << HALF
        if _sort_words(words, spare, counts):
            words, spare = spare, words
    _gather(keys, words, spare)
    # Bits below the 32 that were sorted by may still differ within a run of equal upper halves.
    start = 0
    i = 1
    while shift > 0 and i < n:
        start = start if (words[i] >> HALF) == (words[start] >> HALF) else i
        if spare[i - 1] <= spare[i]:
            i += 1
            continue
        while i < n and (words[i] >> HALF) == (words[start] >> HALF):
            i += 1
        _sort_run(words[start:i], spare[start:i], keys, counts)
        start = min(i, n - 1)
    return words, spare


class Workspace(NamedTuple):
    """Room to sort n values, and their bits. NumPy's large arrays lie on huge pages, numba's do not: twice as fast."""

    values: np.ndarray
    keys: np.ndarray
    words: np.ndarray
    spare: np.ndarray
    counts: np.ndarray


def make_workspace(n):
    """Room to sort `n` values."""
    keys, words, spare = (np.empty(n, dtype=np.uint64) for _ in range(3))
    return Workspace(
        keys.view(np.float64), keys, words, spare, np.empty((N_DIGITS, N_BUCKETS), dtype=np.int64)
    )


def sort_features(X, team=None):
    """Flagged order of every feature: an int32 array of shape (n_features, n_samples)."""
    orders = np.empty(X.shape[::-1], dtype=np.int32)

    def sort(features):
        workspace = make_workspace(len(X))
        for first, last in features:
            _sort_columns(X, orders, first, last, workspace)

    n_features = len(orders)
    if team is None:
        sort([(0, n_features)])
    else:
        team.map(sort, [(feature, feature + 1) for feature in range(n_features)])
    return orders


@filling
def _sort_columns(X, orders, first, last, workspace):
    values, keys, words, spare, counts = workspace
    X = borrow(X)
    orders = borrow(orders)
    values = borrow(values)
    words = borrow(words)
    n_samples = X.shape[0]
    for feature in range(first, last):
        for i in range(n_samples):
            values[i] = X[i, feature]
            words[i] = np.uint64(i)
        in_order, sorted_keys = argsort(keys, words, spare, counts)
        for i in range(n_samples):
            sample = np.int32(in_order[i] & LOW_HALF)
            is_new = i == 0 or sorted_keys[i] != sorted_keys[i - 1]
            orders[feature, i] = sample | NEW_VALUE if is_new else sample


# The lists of limits: their kind, and whether they are of un-censored rows, of which a list holds
# both limits.
LISTS = (0, False), (1, False), (0, True)


def sort_limits(intervals, is_exact, team=None):
    """Three lists of finite limits, sorted, each with its values: lower, upper, and both of un-censored rows."""
    lists = [None] * len(LISTS)

    def sort(some):
        workspace = make_workspace(len(intervals))
        for i in some:
            room = len(intervals) * (2 if LISTS[i][1] else 1)
            limits = np.empty(room, dtype=np.int32)
            breakpoints = np.empty(room)
            n_limits = _sort_limits(
                intervals, is_exact, *LISTS[i], limits, breakpoints.view(np.uint64), workspace
            )
            lists[i] = limits[:n_limits], breakpoints[:n_limits]

    if team is None:
        sort(range(len(LISTS)))
    else:
        team.map(sort, range(len(LISTS)))
    return lists


@inner
def _collect(limits, is_exact, exact, values, words):
    """Put the rows with a finite limit, un-censored ones or the others, into `words`; return their number."""
    limits = borrow(limits)
    is_exact = borrow(is_exact)
    values = borrow(values)
    words = borrow(words)
    n_limits = 0
    for i in range(limits.shape[0]):
        words[n_limits] = np.uint64(i)
        # The neighbour of 0 stands for 0 (`_ends`), and no square of a distance is as small as it.
        values[i] = 0.0 if limits[i] == RIGHT_BELOW_0 else limits[i]
        n_limits += is_exact[i] == exact and -np.inf < values[i] < np.inf
    return n_limits


@filling
def _sort_limits(intervals, is_exact, kind, exact, limits, breakpoints, workspace):
    """Fill one of the lists, `breakpoints` as bits of doubles; returns how many limits it has."""
    values, keys, words, spare, counts = workspace
    intervals = borrow(intervals)
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    words = borrow(words)
    n_rows = _collect(intervals[:, kind], is_exact, exact, values, words)
    in_order, sorted_keys = argsort(keys, words[:n_rows], spare[:n_rows], counts)
    n_twins = 2 if exact else 1
    for i in range(n_rows):
        sample = np.int64(in_order[i] & LOW_HALF)
        key = sorted_keys[i]
        bits = key ^ (SIGN_BIT if key >= SIGN_BIT else NAN_KEY)  # undoes what made it sortable
        for twin in range(n_twins):
            limits[n_twins * i + twin] = 2 * sample + kind + twin
            breakpoints[n_twins * i + twin] = bits
    return n_twins * n_rows


def merge_limits(limits_a, values_a, limits_b, values_b):
    """Merge two sorted lists of limits and their values; ties take from the first list."""
    n_limits = len(limits_a) + len(limits_b)
    limits = np.empty(n_limits, dtype=np.int32)
    values = np.empty(n_limits)
    _merge(limits_a, values_a, limits_b, values_b, limits, values)
    return limits, values


@filling
def _merge(limits_a, values_a, limits_b, values_b, limits, values):
    limits_a = borrow(limits_a)
    values_a = borrow(values_a)
    limits_b = borrow(limits_b)
    values_b = borrow(values_b)
    limits = borrow(limits)
    values = borrow(values)
    n_a, n_b = limits_a.shape[0], limits_b.shape[0]
    a, b = 0, 0
    while a < n_a and b < n_b:
        from_a = values_a[a] <= values_b[b]
        limits[a + b] = limits_a[a] if from_a else limits_b[b]
        values[a + b] = values_a[a] if from_a else values_b[b]
        a, b = a + from_a, b + (not from_a)
    for i in range(a, n_a):
        limits[i + b] = limits_a[i]
        values[i + b] = values_a[i]
    for i in range(b, n_b):
        limits[a + i] = limits_b[i]
        values[a + i] = values_b[i]


@filling
def keep_orders(orders, weights, kept):
    """Fill `kept` with the entries of samples of positive weight, and with the boundaries between them."""
    orders = borrow(orders)
    weights = borrow(weights)
    kept = borrow(kept)
    n_kept = np.uint64(kept.shape[1])
    for feature in range(orders.shape[0]):
        order = orders[feature]
        kept_order = kept[feature]
        at = np.uint64(0)
        i = np.uint64(0)
        new = NOTHING
        # Every entry is written, and overwritten unless it is kept: draws cannot be guessed, so a
        # branch would be slow.
        while at < n_kept:
            entry = order[i]
            new |= entry & ~SAMPLE_MASK
            is_kept = weights[np.uint64(entry & SAMPLE_MASK)] > 0
            kept_order[at] = entry | new
            new = NOTHING if is_kept else new
            at += np.uint64(is_kept)
            i += ONE


@filling
def keep_limits(limits, breakpoints, weights, kept_limits, kept_breakpoints):
    """The same for limits; returns their number."""
    limits = borrow(limits)
    breakpoints = borrow(breakpoints)
    weights = borrow(weights)
    kept_limits = borrow(kept_limits)
    kept_breakpoints = borrow(kept_breakpoints)
    at = np.uint64(0)
    for i in range(limits.shape[0]):
        limit = limits[i]
        kept_limits[at] = limit
        kept_breakpoints[at] = breakpoints[i]
        at += np.uint64(weights[np.uint64(limit >> 1)] > 0)
    return np.int64(at)
