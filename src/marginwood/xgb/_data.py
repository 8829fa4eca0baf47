"""Rows as XGBoost takes them, checked where they lie: in memory, dense or sparse, or on a GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from marginwood._base import check_features, check_lengths, check_rows
from marginwood._mistakes import warn_of_events
from marginwood._support.tables import library_of
from marginwood._validation import draw_held_out
from marginwood.intervals import FloatArray, check_informative, check_intervals, check_sample_weight
from marginwood.xgb._arrays import Bounds, is_gpu, is_on_device, namespace, to_host

__all__ = [
    "BoosterRows",
    "Sample",
    "as_features",
    "check_device",
    "device_features",
    "evenly",
    "hold_out",
    "make_bounds",
    "no_categories",
    "read_data",
]

# XGBoost refuses infinite features; these come before and after all others.
LARGEST_FEATURE = 1e37
# The first prediction and the scale of the target come from at most this many rows, evenly spaced:
# its error is about 1 / 300 of their spread. A million rows, sorted on one processor, take about as
# long as 100 rounds of them on an H200.
MAX_SAMPLE = 100_000


class BoosterRows(NamedTuple):
    """Features, an array of NumPy or CuPy or a sparse matrix by rows, and bounds."""

    X: Any
    bounds: Bounds

    def take(self, rows: Any) -> BoosterRows:
        """Some rows, by a mask of NumPy."""
        rows = namespace(self.bounds.lower).asarray(rows)
        return BoosterRows(self.X[rows], self.bounds.take(rows))


class Sample(NamedTuple):
    """Intervals and weights of evenly spaced rows, in memory."""

    intervals: FloatArray
    weight: FloatArray | None


def as_features(X: Any) -> Any:
    """Features without infinities."""
    if not issparse(X):
        return X.clip(-LARGEST_FEATURE, LARGEST_FEATURE)
    X = X.copy()
    X.data = X.data.clip(-LARGEST_FEATURE, LARGEST_FEATURE)
    return X


def read_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool
) -> tuple[BoosterRows, Sample]:
    """Check rows where their features lie."""
    if is_on_device(X):
        return _read_device(estimator, X, y, sample_weight, reset=reset)
    if reset and issparse(X):
        no_categories(estimator, "a sparse matrix")
    X = check_features(estimator, X, reset=reset, accept_sparse=True)
    rows = check_rows(X, to_host(y), to_host(sample_weight))
    return BoosterRows(as_features(X), make_bounds(*rows[1:])), Sample(
        evenly(rows.intervals), evenly(rows.weight)
    )


def make_bounds(intervals: FloatArray, weight: FloatArray) -> Bounds:
    """Bounds of checked rows in memory."""
    with np.errstate(over="ignore"):  # a limit beyond 32 bits is none
        lower, upper = np.ascontiguousarray(intervals.T, dtype=np.float32)
        return Bounds(lower, upper, weight.astype(np.float32))


def check_device(estimator: Any, X: Any) -> None:
    """Raise a ValueError if rows to train on lie on a GPU, but the booster would be elsewhere."""
    if is_on_device(X) and not is_gpu(estimator.device):
        advice = "use device='cuda', or X in memory (X.get() for CuPy, X.to_pandas() for cuDF)"
        raise ValueError(f"device: X lies on a GPU, but got device={estimator.device!r}; {advice}.")


def _read_device(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool
) -> tuple[BoosterRows, Sample]:
    check_device(estimator, X)
    X = device_features(estimator, X, reset=reset)
    intervals, sample = _device_intervals(namespace(X), y)
    lower, upper = intervals[:, 0], intervals[:, 1]
    n_rows = X.shape[0]
    check_lengths(n_rows, len(lower))
    weight = _device_weight(namespace(X), sample_weight, n_rows)
    xp = namespace(X)
    says_something = xp.isfinite(lower) | xp.isfinite(upper)
    if not bool(says_something.all()):
        check_informative(to_host(intervals), to_host(weight))
    warn_of_events(sample)
    bounds = Bounds(xp.ascontiguousarray(lower), xp.ascontiguousarray(upper), weight)
    return BoosterRows(X, bounds), Sample(sample, to_host(evenly(weight)))


def device_features(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Features that lie on a GPU, as 32-bit floats without infinities; their names are checked as everywhere."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset:
        no_categories(estimator, "data on a GPU")
    if library_of(X) == "cudf":
        X = X.to_cupy(dtype="float32", na_value=np.nan)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"X: expected a 2D array of numbers, got {X.ndim} dimensions and dtype {X.dtype}."
        )
    if not all(X.shape):
        raise ValueError(f"X: expected at least one row and one feature, got shape {X.shape}.")
    return as_features(X.astype(np.float32, copy=False))


def no_categories(estimator: Any, where: str) -> None:
    """Say that no feature has categories, or raise a ValueError if some are asked for where there can be none."""
    estimator.categories_ = None
    if not isinstance(estimator.categorical_features, str | None):
        got = estimator.categorical_features
        raise ValueError(
            f"categorical_features: {where} holds numbers only; expected None, got {got!r}."
        )


def _device_intervals(xp: Any, y: Any) -> tuple[Any, FloatArray]:
    """Intervals on the device, and evenly spaced ones in memory; the usual error if something is wrong."""
    if not is_on_device(y):
        checked = check_intervals(y)
        with np.errstate(over="ignore"):
            return xp.asarray(checked.astype(np.float32)), evenly(checked)
    values = y.to_cupy(dtype="float64", na_value=np.nan) if library_of(y) == "cudf" else y
    if values.ndim == 1:
        values = xp.stack([values, values], axis=1)
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        check_intervals(to_host(values))
    lower, upper = values[:, 0], values[:, 1]
    if not bool(((lower <= upper) & (lower < np.inf) & (upper > -np.inf)).all()):
        check_intervals(to_host(values))
    return values.astype(np.float32), check_intervals(to_host(evenly(values)))


def _device_weight(xp: Any, sample_weight: Any, n_rows: int) -> Any:
    """Weights on the device; the usual error if something is wrong."""
    if sample_weight is None:
        return xp.ones(n_rows, dtype=np.float32)
    if (
        is_on_device(sample_weight)
        and library_of(sample_weight) != "cudf"
        and sample_weight.shape == (n_rows,)
    ):
        is_good = (sample_weight >= 0) & (sample_weight < np.inf)
        if bool(is_good.all()) and bool((sample_weight > 0).any()):
            return sample_weight.astype(np.float32)
    return xp.asarray(check_sample_weight(to_host(sample_weight), n_rows), dtype=np.float32)


def hold_out(data: BoosterRows, fraction: float, seed: int) -> tuple[BoosterRows, BoosterRows]:
    """Split off a random share of the informative rows, for validation."""
    lower = data.bounds.lower
    upper = data.bounds.upper
    weight = data.bounds.weight
    xp = namespace(lower)
    candidates = to_host((xp.isfinite(lower) | xp.isfinite(upper)) & (weight > 0))
    held_out = draw_held_out(candidates, fraction, seed)
    return data.take(~held_out), data.take(held_out)


def evenly(rows: Any) -> Any:
    """At most `MAX_SAMPLE` rows, evenly spaced."""
    return rows[:: max(-(-len(rows) // MAX_SAMPLE), 1)]
