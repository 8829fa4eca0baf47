"""Standardised features as the solver uses them: dense, or sparse without ever being made dense.

A standardised feature has weighted mean 0 and deviation 1, so it has no zeros to leave out. Sparse
features stay as they are, and mean and deviation enter where products with them are formed. That
costs few digits: where zeros are left out, the mean is at most about the square root of the number
of rows in deviations. A column without zeros, whose mean may be anything, is counted from its first
value.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse

from marginwood.intervals import FloatArray, IntArray

__all__ = ["Features", "Standardisation", "standardise"]

EPS = np.finfo(np.float64).eps


class Standardisation(NamedTuple):
    """Weighted mean and standard deviation of every feature.

    A feature that is constant, or whose deviation is too small for a double of full precision, has
    an infinite one.
    """

    mean: FloatArray
    deviation: FloatArray


class Features(Protocol):
    """Products with standardised features Z."""

    n_features: int

    def combine(self, columns: IntArray, weights: FloatArray) -> FloatArray:
        """``Z[:, columns] @ weights``."""

    def pull(self, terms: FloatArray) -> FloatArray:
        """``Z.T @ terms``."""

    def reach(self, terms: FloatArray) -> FloatArray:
        """``abs(Z).T @ terms``."""

    def gram(self, columns: IntArray, active: FloatArray) -> FloatArray:
        """``D.T @ diag(active) @ D``, where D is a column of ones beside ``Z[:, columns]``."""


class DenseFeatures:
    """Standardised features as an array."""

    def __init__(self, Z: FloatArray) -> None:
        self.Z = Z
        self.n_features = Z.shape[1]

    def combine(self, columns: IntArray, weights: FloatArray) -> FloatArray:
        """``Z[:, columns] @ weights``."""
        return self.Z[:, columns] @ weights

    def pull(self, terms: FloatArray) -> FloatArray:
        """``Z.T @ terms``."""
        return self.Z.T @ terms

    def reach(self, terms: FloatArray) -> FloatArray:
        """``abs(Z).T @ terms``."""
        return np.abs(self.Z).T @ terms

    def gram(self, columns: IntArray, active: FloatArray) -> FloatArray:
        """``D.T @ diag(active) @ D``, where D is a column of ones beside ``Z[:, columns]``."""
        rows = np.flatnonzero(active)
        design = np.column_stack([np.ones(len(rows)), self.Z[np.ix_(rows, columns)]])
        return design.T @ (active[rows, np.newaxis] * design)


class SparseFeatures:
    """Standardised features ``Z = (S - mean) / deviation``, of which the matrix S is kept by columns."""

    def __init__(self, S: Any, mean: FloatArray, deviation: FloatArray) -> None:
        self.S = S
        self.mean = mean
        self.inverse = 1 / deviation
        self.n_features = S.shape[1]
        # abs(S - mean) where S has an entry, less the abs(mean) that it is where there is none.
        self._beyond = S.copy()
        means = np.repeat(mean, np.diff(S.indptr))
        self._beyond.data = np.abs(S.data - means) - np.abs(means)

    def combine(self, columns: IntArray, weights: FloatArray) -> FloatArray:
        """``Z[:, columns] @ weights``."""
        weights = weights * self.inverse[columns]
        return self.S[:, columns] @ weights - self.mean[columns] @ weights

    def pull(self, terms: FloatArray) -> FloatArray:
        """``Z.T @ terms``."""
        return (self.S.T @ terms - self.mean * terms.sum()) * self.inverse

    def reach(self, terms: FloatArray) -> FloatArray:
        """``abs(Z).T @ terms``."""
        return (self._beyond.T @ terms + np.abs(self.mean) * terms.sum()) * self.inverse

    def gram(self, columns: IntArray, active: FloatArray) -> FloatArray:
        """``D.T @ diag(active) @ D``, where D is a column of ones beside ``Z[:, columns]``."""
        S = self.S[:, columns]
        mean = self.mean[columns]
        total = active.sum()
        weighted = S.copy()
        weighted.data = S.data * active[S.indices]
        sums = S.T @ active
        result = np.empty((len(columns) + 1, len(columns) + 1))
        result[0, 0] = total
        result[0, 1:] = result[1:, 0] = sums - mean * total
        result[1:, 1:] = (
            (S.T @ weighted).toarray() - np.outer(mean, sums) - np.outer(sums - mean * total, mean)
        )
        result[1:] *= self.inverse[columns, np.newaxis]
        result[:, 1:] *= self.inverse[columns]
        return result


def standardise(X: Any, weight: FloatArray) -> tuple[Features, Standardisation]:
    """Features of mean 0 and deviation 1, whatever their offset and unit; constant ones are 0."""
    return _standardise_sparse(X, weight) if issparse(X) else _standardise_dense(X, weight)


def _standardise_dense(X: FloatArray, weight: FloatArray) -> tuple[Features, Standardisation]:
    first = X[np.argmax(weight > 0)]
    largest = np.abs(X[weight > 0]).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    offset = X / unit - first / unit
    mean = np.average(offset, axis=0, weights=weight)
    deviation = _usable(np.sqrt(np.average((offset - mean) ** 2, axis=0, weights=weight)), unit)
    found = Standardisation((first / unit + mean) * unit, deviation * unit)
    # A difference may exceed the largest double, a half cannot.
    return DenseFeatures((X / 2 - found.mean / 2) / (found.deviation / 2)), found


def _standardise_sparse(X: Any, weight: FloatArray) -> tuple[Features, Standardisation]:
    S = X[weight > 0].tocsc()
    weight = weight[weight > 0]
    S.sum_duplicates()
    n_entries = np.diff(S.indptr)
    largest = np.zeros(S.shape[1])
    is_filled = n_entries > 0
    largest[is_filled] = (
        np.maximum.reduceat(np.abs(S.data), S.indptr[:-1][is_filled]) if S.nnz else 0.0
    )
    unit = np.where(largest > 0, largest, 1.0)
    S.data = S.data / np.repeat(unit, n_entries)
    first = np.zeros(S.shape[1])
    is_full = n_entries == S.shape[0]
    first[is_full] = S.data[S.indptr[:-1][is_full]]
    S.data = S.data - np.repeat(first, n_entries)
    mean = S.T @ weight
    squares = S.copy()
    squares.data = (S.data - np.repeat(mean, n_entries)) ** 2
    stored = S.copy()
    stored.data = np.ones(S.nnz)
    absent = np.where(is_full, 0.0, np.maximum(1 - stored.T @ weight, 0.0))
    deviation = _usable(np.sqrt(squares.T @ weight + mean**2 * absent), unit)
    return SparseFeatures(S, mean, deviation), Standardisation(
        (first + mean) * unit, deviation * unit
    )


def _usable(deviation: FloatArray, unit: FloatArray) -> FloatArray:
    """Deviations in units of the largest entry; infinite where a weight would be far off or infinite."""
    is_lost = (deviation <= 4 * EPS) | (deviation * unit < np.finfo(np.float64).tiny)
    return np.where(is_lost, np.inf, deviation)
