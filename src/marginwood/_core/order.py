"""Orders: features and limits sorted once, before a tree grows.

A feature's order lists the samples by value; an entry below zero starts a new value (its sample is
``entry & SAMPLE_MASK``), so that a sweep sees every boundary without reading the values. NaN comes last.
A limit is the number ``2 * sample + kind``.
"""

import numpy as np

from marginwood._core.jit import borrow, inner, kernel, leading_zeros

SAMPLE_MASK = np.int32(0x7FFFFFFF)
NEW_VALUE = np.int32(-0x80000000)

DIGIT_BITS = 11
N_DIGITS = 3
N_BUCKETS = 1 << DIGIT_BITS
DIGIT_MASK = np.uint64(N_BUCKETS - 1)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
SIGN_BIT = np.uint64(0x8000000000000000)
NAN_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
SHORT_RUN = 32


@inner
def _make_keys_sortable(keys):
    """Turn the bits of doubles into integers of the same order, NaN last; return where they differ.

    -0.0 becomes 0.0.
    """
    differ = np.uint64(0)
    for i in range(keys.shape[0]):
        key = keys[i]
        if key << np.uint64(1) > np.uint64(0xFFE0000000000000):
            key = NAN_KEY
        elif key == SIGN_BIT or key == 0:
            key = SIGN_BIT
        else:
            key = ~key if key & SIGN_BIT else key | SIGN_BIT
        keys[i] = key
        differ |= key ^ keys[0]
    return differ


@inner
def _sort_words(words, spare, counts):
    """Sort 64-bit words by their upper halves, stably, in place: a radix sort of three passes.

    A digit that is the same in all words costs no pass.
    """
    words, spare, counts = borrow(words), borrow(spare), borrow(counts)
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
        place = 0
        for bucket in range(N_BUCKETS):
            place, counts[digit, bucket] = place + counts[digit, bucket], place
        for i in range(n):
            word = words[i]
            bucket = np.int64((word >> shift) & DIGIT_MASK)
            spare[counts[digit, bucket]] = word
            counts[digit, bucket] += 1
        words, spare = spare, words
        swapped = not swapped
    if swapped:
        for i in range(n):
            spare[i] = words[i]


@inner
def _sort_run(words, spare, counts, keys):
    """Finish a run of words whose keys share their upper bits."""
    n = words.shape[0]
    first, differ = keys[np.int64(words[0] & LOW_HALF)], np.uint64(0)
    for i in range(n):
        differ |= keys[np.int64(words[i] & LOW_HALF)] ^ first
    if differ == 0:
        return
    if n > SHORT_RUN:
        for i in range(n):
            sample = words[i] & LOW_HALF
            words[i] = (keys[np.int64(sample)] << HALF) | sample
        _sort_words(words, spare, counts)
        return
    for i in range(1, n):
        word, j = words[i], i
        key = keys[np.int64(word & LOW_HALF)]
        while j > 0 and keys[np.int64(words[j - 1] & LOW_HALF)] > key:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word


@inner
def argsort(keys):
    """Stable order, as words whose lower halves are the positions; `keys` is a view of doubles and is spoilt.

    The 32 highest bits in which the keys differ are sorted together with the position in one 64-bit word;
    what they leave undecided are short runs. At 10^6 values this takes half the time of a radix sort of
    whole keys.
    """
    n = keys.shape[0]
    words, spare = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    differ = _make_keys_sortable(keys)
    shift = np.uint64(max(0, 32 - leading_zeros(differ)) if differ != 0 else 0)
    for i in range(n):
        words[i] = (((keys[i] >> shift) & LOW_HALF) << HALF) | np.uint64(i)
    if differ == 0:
        return words
    counts = np.empty((N_DIGITS, N_BUCKETS), dtype=np.int64)
    _sort_words(words, spare, counts)
    start = 0
    for stop in range(1, n + 1):
        if stop == n or (words[stop] >> HALF) != (words[start] >> HALF):
            if shift > 0 and stop - start > 1:
                _sort_run(words[start:stop], spare[start:stop], counts, keys)
            start = stop
    return words


@kernel
def sort_features(X):
    """Flagged order of every feature: an int32 array of shape (n_features, n_samples)."""
    n_samples, n_features = X.shape
    orders = np.empty((n_features, n_samples), dtype=np.int32)
    column = np.empty(n_samples)
    for feature in range(n_features):
        for i in range(n_samples):
            column[i] = X[i, feature]
        words = argsort(column.view(np.uint64))
        last = np.nan
        for i in range(n_samples):
            sample = np.int32(words[i] & LOW_HALF)
            value = X[sample, feature]
            same = value == last or (value != value and last != last and i > 0)
            orders[feature, i] = sample if same else sample | NEW_VALUE
            last = value
    return orders


@kernel
def sort_limits(limits, breakpoints):
    """Sort limits by breakpoint, stably; returns a new array."""
    values = np.empty(limits.shape[0])
    for i in range(limits.shape[0]):
        values[i] = breakpoints[limits[i]]
    words = argsort(values.view(np.uint64))
    in_order = np.empty_like(limits)
    for i in range(limits.shape[0]):
        in_order[i] = limits[np.int64(words[i] & LOW_HALF)]
    return in_order


@kernel
def merge_limits(limits_a, limits_b, breakpoints):
    """Merge two lists of limits, each sorted by breakpoint; ties take from the first list."""
    n_a, n_b = limits_a.shape[0], limits_b.shape[0]
    merged = np.empty(n_a + n_b, dtype=np.int32)
    a, b = 0, 0
    for i in range(n_a + n_b):
        if b == n_b or (a < n_a and breakpoints[limits_a[a]] <= breakpoints[limits_b[b]]):
            merged[i] = limits_a[a]
            a += 1
        else:
            merged[i] = limits_b[b]
            b += 1
    return merged
