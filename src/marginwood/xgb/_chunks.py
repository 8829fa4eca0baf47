"""Rows that come in chunks, for data larger than memory.

Chunks are read several times: once here, to check them, to find all categories and to keep bounds
and weights, 12 bytes per row, then by XGBoost, which writes the bins of their features to files and
reads those files in every round. On a GPU it keeps the bins in memory instead, and copies them to
the GPU in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from marginwood._base import check_features, check_lengths
from marginwood._categories import find_categories, join_categories
from marginwood._support.arrays import as_numbers
from marginwood._support.tables import as_known_table
from marginwood.intervals import FloatArray, check_informative, check_intervals, check_sample_weight
from marginwood.xgb._arrays import Bounds, is_gpu, is_on_device, to_device, to_host
from marginwood.xgb._bytes import import_xgboost
from marginwood.xgb._data import (
    Sample,
    as_features,
    check_device,
    device_features,
    evenly,
    make_bounds,
    no_categories,
)

__all__ = ["ChunkedRows"]

EXPECTED = "chunks: expected a list of (X, y) or (X, y, sample_weight), or a function that returns an iterator of them"


class ChunkedRows:
    """Checked chunks: the bounds of all rows, and features that are read again whenever they are asked for.

    Parameters
    ----------
    estimator : estimator
        It learns the names, the number and the categories of the features.
    chunks : callable or iterable
        What gives the chunks, each time it is asked.
    """

    def __init__(self, estimator: Any, chunks: Any) -> None:
        if not callable(chunks) and (not hasattr(chunks, "__iter__") or iter(chunks) is chunks):
            advice = "; an iterator can be read only once" if hasattr(chunks, "__iter__") else ""
            raise TypeError(f"{EXPECTED}, got {type(chunks).__name__}{advice}.")
        self._estimator = estimator
        self._start: Callable[[], Any] = chunks if callable(chunks) else lambda: chunks
        self._n_rows: list[int] = []
        parts: list[Bounds] = []
        for number, chunk in enumerate(self._start()):
            with _naming(number):
                parts.append(self._read(chunk, reset=number == 0))
            self._n_rows.append(len(parts[-1].lower))
        if not parts:
            raise ValueError(f"{EXPECTED}, got none.")
        columns = (
            [part.lower for part in parts],
            [part.upper for part in parts],
            [part.weight for part in parts],
        )
        self.bounds = Bounds(*map(np.concatenate, columns))
        check_sample_weight(self.bounds.weight, sum(self._n_rows))
        check_informative(
            np.column_stack([self.bounds.lower, self.bounds.upper]), self.bounds.weight
        )

    def _read(self, chunk: Any, *, reset: bool) -> Bounds:
        """Check a chunk, and keep all but its features."""
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            raise TypeError(f"{EXPECTED}, got {type(chunk).__name__}.")
        X, y, *rest = chunk
        intervals = check_intervals(to_host(y))
        if not reset:
            self._find_more_categories(X)
        n_rows = self._features(X, reset=reset).shape[0]
        check_lengths(n_rows, len(intervals))
        weight: FloatArray = np.ones(n_rows)
        if rest and rest[0] is not None:
            weight = as_numbers(to_host(rest[0]), "sample_weight", allow_bool=True)
        if weight.shape != (n_rows,):
            raise ValueError(
                f"sample_weight: expected shape ({n_rows},), one weight per row; got shape {weight.shape}."
            )
        return make_bounds(intervals, weight)

    def _find_more_categories(self, X: Any) -> None:
        """Join the categories of a chunk to those of the chunks before it."""
        estimator = self._estimator
        if estimator.categories_ is None or is_on_device(X) or issparse(X):
            return
        found = find_categories(as_known_table(X, "X"), estimator.categorical_features)
        if found is not None and len(found) == len(estimator.categories_):
            estimator.categories_ = join_categories(estimator.categories_, found)

    def _features(self, X: Any, *, reset: bool = False) -> Any:
        if is_on_device(X):
            check_device(self._estimator, X)
            return device_features(self._estimator, X, reset=reset)
        if reset and issparse(X):
            no_categories(self._estimator, "a sparse matrix")
        X = check_features(self._estimator, X, reset=reset, accept_sparse=True)
        return as_features(X.toarray() if issparse(X) else X)

    def sample(self) -> Sample:
        """Evenly spaced rows."""
        intervals = np.column_stack([evenly(self.bounds.lower), evenly(self.bounds.upper)]).astype(
            np.float64
        )
        return Sample(intervals, evenly(self.bounds.weight).astype(np.float64))

    def again(self) -> Iterator[tuple[Any, Bounds]]:
        """The features of every chunk, with their bounds; raises unless they are as many rows as the first time."""
        first = 0
        number = -1
        for number, chunk in enumerate(self._start()):
            expected = self._n_rows[number] if number < len(self._n_rows) else 0
            with _naming(number):
                X = self._features(chunk[0])
            if X.shape[0] != expected:
                found = f"chunk {number} has {X.shape[0]} rows and had {expected}"
                raise ValueError(f"chunks: expected the same rows each time; {found}.")
            rows = slice(first, first + expected)
            first += expected
            # A booster on a GPU takes bins that were made there only.
            there = to_device(X) if is_gpu(self._estimator.device) else X
            yield there, self.bounds.take(rows)
        if number + 1 != len(self._n_rows):
            raise ValueError(
                f"chunks: expected {len(self._n_rows)} chunks each time, got {number + 1}."
            )

    def as_matrix(self, folder: str, feature_types: dict[str, Any], **options: Any) -> Any:
        """A matrix of XGBoost that lies in files of a folder."""
        xgboost = import_xgboost()
        if feature_types:
            options["enable_categorical"] = True
        types = feature_types.get("feature_types")
        base: Any = xgboost.DataIter

        class Reader(base):
            """The chunks as XGBoost asks for them."""

            def __init__(self, rows: ChunkedRows) -> None:
                self._rows = rows
                self._chunks = rows.again()
                super().__init__(cache_prefix=str(Path(folder) / "bins"))

            def reset(self) -> None:
                """Start anew."""
                self._chunks = self._rows.again()

            def next(self, input_data: Callable[..., Any]) -> bool:
                """Hand over a chunk, if there is another."""
                chunk = next(self._chunks, None)
                if chunk is None:
                    return False
                X, bounds = chunk
                ends = {"label_lower_bound": bounds.lower, "label_upper_bound": bounds.upper}
                input_data(data=X, weight=bounds.weight, feature_types=types, **ends)
                return True

        return xgboost.ExtMemQuantileDMatrix(Reader(self), **options)


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Errors that say which chunk they are about; rows are counted from its first."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"chunk {number}: {error}") from error
