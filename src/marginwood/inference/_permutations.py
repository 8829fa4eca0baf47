"""Sums of scores by group when labels change places at random: their covariance, and p-values."""

from __future__ import annotations

from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from marginwood.intervals import FloatArray, IntArray

__all__ = ["permutation_covariance", "permute", "quadratic"]

# Up to so many arrangements of the labels are tried one by one.
MOST_ARRANGEMENTS = 100_000
MOST_LABELS = 1 << 25  # in all arrangements: 256 MB
BLOCK = 1 << 22  # labels that are drawn at once
# Statistics that differ by less than this share of them are the same.
ROUNDING = 1e-9


def quadratic(differences: Any, covariance: Any) -> tuple[Any, int]:
    """Squared lengths of vectors by a covariance without full rank, and its rank."""
    inverse = np.linalg.pinv(covariance, rcond=ROUNDING, hermitian=True)
    rank = int(np.linalg.matrix_rank(inverse @ covariance, tol=1e-6))
    return np.einsum("...i,ij,...j->...", differences, inverse, differences), rank


def permutation_covariance(scores: FloatArray, weight: FloatArray, sizes: FloatArray) -> FloatArray:
    """The covariance of sums of scores over groups of some sizes, if rows are drawn into them at random."""
    total = sizes.sum()
    variance = weight @ scores**2 / max(total - 1, 1.0)
    return np.asarray(variance * (np.diag(sizes) - np.outer(sizes, sizes) / total))


def permute(
    parts: list[tuple[IntArray, FloatArray]], n_groups: int, n_permutations: int, rng: Any
) -> float:
    """The share of arrangements of labels with a statistic of scores at least as large."""
    parts = [(codes, scores - scores.mean()) for codes, scores in parts]
    sizes = [np.bincount(codes, minlength=n_groups) for codes, _ in parts]
    covariance = sum(
        permutation_covariance(scores, np.ones(len(scores)), size.astype(float))
        for (_, scores), size in zip(parts, sizes, strict=True)
    )
    observed = np.sum(
        [_sum_by_group(codes[np.newaxis], scores, n_groups) for codes, scores in parts], 0
    )
    least = quadratic(observed, covariance)[0][0] * (1 - ROUNDING) - ROUNDING
    n_arrangements = prod(
        comb(int(left), int(n))
        for size in sizes
        for n, left in zip(size, np.cumsum(size[::-1])[::-1], strict=True)
    )
    n_most = max(len(codes) for codes, _ in parts)
    if n_arrangements <= MOST_ARRANGEMENTS and n_arrangements * n_most <= MOST_LABELS:
        sums = np.zeros((1, n_groups))
        for (_, scores), size in zip(parts, sizes, strict=True):
            arranged = _sum_by_group(_arrange(size.tolist()), scores, n_groups)
            sums = (sums[:, np.newaxis] + arranged).reshape(-1, n_groups)
        return float(np.mean(quadratic(sums, covariance)[0] >= least))
    n_rows = sum(len(codes) for codes, _ in parts)
    n_above = 1  # the labels as they are count as one draw
    block = max(1, BLOCK // n_rows)
    for start in range(0, n_permutations, block):
        n_draws = min(block, n_permutations - start)
        sums = np.zeros((n_draws, n_groups))
        for codes, scores in parts:
            order = np.argsort(rng.random_sample((n_draws, len(codes))), axis=1)
            sums += _sum_by_group(codes[order], scores, n_groups)
        n_above += int(np.count_nonzero(quadratic(sums, covariance)[0] >= least))
    return n_above / (n_permutations + 1)


def _sum_by_group(codes: IntArray, scores: FloatArray, n_groups: int) -> FloatArray:
    """Sums of scores by group, for each line of codes."""
    return np.column_stack([(codes == group) @ scores for group in range(n_groups)])


def _arrange(sizes: list[int]) -> IntArray:
    """All different lines of codes with some number of each."""
    n = sum(sizes)
    if len(sizes) == 1:
        return np.zeros((1, n), np.int64)
    rest = _arrange(sizes[1:]) + 1
    lines = []
    for chosen in combinations(range(n), sizes[0]):
        block = np.zeros((len(rest), n), np.int64)
        block[:, np.setdiff1d(np.arange(n), chosen)] = rest
        lines.append(block)
    return np.concatenate(lines)
