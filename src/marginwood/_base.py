"""What estimators share: the score, and the checks at the door of `fit`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import validate_data

from marginwood._categories import Categories, Encoded, encode_features, find_categories
from marginwood._mistakes import warn_of_events
from marginwood._support.arrays import raise_first
from marginwood._support.tables import as_known_table
from marginwood.intervals import (
    BoolArray,
    FloatArray,
    check_informative,
    check_intervals,
    check_sample_weight,
)

__all__ = ["IntervalRegressorMixin"]

LARGEST_SEED = 2**31 - 1
# Modules of regressors that take one number per row.
EXACT_LABELS = ("sklearn.", "xgboost.", "lightgbm.", "catboost.")
# Modules of what estimators of anyone are derived from.
FOR_ANYONE = ("sklearn.base", "sklearn.utils.")
# Rows that all trees of an ensemble predict before the next rows: the block stays in the cache.
BLOCK = 4096

# How NumPy refuses what is no table, and cells that hold more than a number.
NO_NUMBERS = ("float() argument", "setting an array element")

Method = TypeVar("Method", bound=Callable[..., Any])


class IntervalRegressorMixin(RegressorMixin):
    """The score of every estimator of intervals, and that it takes NaN."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the interval D2 of the predictions; for un-censored targets it is R2.

        Predictions of another quantile than the median are scored by their pinball loss.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples, 2)
            Intervals, in any form that `fit` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            1 - (interval MSE of the predictions) / (interval MSE of the best constant), or the same
            with pinball losses.
        """
        return own_d2(self, y, self.predict(X), sample_weight)


def own_d2(
    estimator: Any, y: Any, prediction: FloatArray, sample_weight: FloatArray | None
) -> float:
    """The D2 of an estimator's predictions: by squared errors, or by the pinball loss of a quantile but the median."""
    from marginwood.metrics import interval_d2_score
    from marginwood.metrics._scorers import quantile_of

    quantile = quantile_of(estimator)
    quantile = None if quantile == 0.5 else quantile
    return interval_d2_score(y, prediction, quantile=quantile, sample_weight=sample_weight)


def all_or_nothing(fit: Method) -> Method:
    """A method that, if it fails or is interrupted, leaves its estimator as it was.

    A fitted model whose number of features has changed already would read beyond the rows that it
    predicts.
    """

    @wraps(fit)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast("Method", method)


class Rows(NamedTuple):
    """Checked rows of data; weights are not negative. X may be sparse, by rows, where an estimator takes that."""

    X: Any
    intervals: FloatArray
    weight: FloatArray

    def take(self, index: Any) -> Rows:
        """A part of the rows, by numbers or by a mask; X may be a frame."""
        intervals = self.intervals[index]
        if not hasattr(self.X, "columns"):
            return Rows(self.X[index], intervals, self.weight[index])
        places = np.arange(len(self.intervals))[index]  # a frame of polars takes no mask
        return Rows(_safe_indexing(self.X, places), intervals, self.weight[index])

    def weighted(self) -> Rows:
        """The rows of positive weight."""
        return self if self.weight.all() else self.take(self.weight > 0)

    @property
    def is_informative(self) -> BoolArray:
        """Which rows have a positive weight and a finite limit."""
        return (self.weight > 0) & np.isfinite(self.intervals).any(axis=1)

    def informative(self) -> Rows:
        """The rows of positive weight that have a finite limit."""
        return self.take(self.is_informative)


def check_features(
    estimator: Any,
    X: Any,
    *,
    reset: bool = False,
    accept_sparse: bool = False,
    categories: Categories | None = None,
) -> Any:
    """X as a C-contiguous, writeable float64 array; NaN and infinities are data, and what is masked is NaN.

    Categories become codes: those that are given, or that the estimator finds itself, if it takes
    any. Where they are accepted, sparse matrices come back by rows.
    """
    X = as_known_table(X, "X")
    if issparse(X):
        if not accept_sparse:
            raise TypeError(
                f"X: {type(estimator).__name__} expected a dense array, got a sparse matrix. Pass X.toarray() if it "
                "fits in memory, or use L1IntervalRegression or XGBIntervalRegressor, which take sparse ones."
            )
        _check_n_rows(X)
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            accept_sparse="csr",
            ensure_all_finite=False,
        )
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    _refuse_times(X)
    if categories is None:
        categories = _categories_of(estimator, X, reset=reset)
    try:
        if categories is None:
            X = validate_data(
                estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False
            )
        else:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            X = encode_features(X, categories)
    except (TypeError, ValueError) as error:
        if "string" in str(error) and np.ndim(X) == 2:
            _refuse_text(X, categories, takes_categories=hasattr(estimator, "categorical_features"))
        if str(error).startswith(NO_NUMBERS):
            found = f"{type(X).__name__}: {error}"
            raise type(error)(f"X: expected rows of numbers, got {found}") from None
        raise
    _check_n_rows(X)
    return np.require(X, requirements="W")


def _categories_of(estimator: Any, X: Any, *, reset: bool) -> Categories | None:
    """The categories to encode X by, those of X itself on `reset`; None if there are none, or X holds codes already."""
    if not hasattr(estimator, "categorical_features"):
        return None
    if reset:
        estimator.categories_ = find_categories(X, estimator.categorical_features)
    is_encoded = isinstance(estimator.categorical_features, Encoded)
    return None if is_encoded else getattr(estimator, "categories_", None)


MAX_SAMPLES = 2**30 - 1  # the core numbers limits by 2 * sample + kind, in 32 bits


def _check_n_rows(X: Any) -> None:
    if X.shape[0] > MAX_SAMPLES:
        raise ValueError(f"X: expected at most {MAX_SAMPLES} rows, got {X.shape[0]}.")


def check_outer_features(
    estimator: Any, X: Any, *, reset: bool = False, accept_sparse: bool = False
) -> Any:
    """X for an estimator that hands it on to others: a frame as it is, since they may encode its text; else numbers."""
    X = as_known_table(X, "X")
    if not hasattr(X, "columns"):
        return check_features(estimator, X, reset=reset, accept_sparse=accept_sparse)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X


def _refuse_times(X: Any) -> None:
    """Raise a TypeError if X holds dates or durations: as numbers they depend on the unit that they are kept in."""
    columns = (
        zip(X.columns, X.dtypes, strict=True)
        if hasattr(X, "columns")
        else [(None, getattr(X, "dtype", None))]
    )
    for name, dtype in columns:
        if getattr(dtype, "kind", "") in ("m", "M") or getattr(dtype, "is_temporal", bool)():
            where = "" if name is None else f" in column {name!r}"
            advice = "Make them numbers, for instance days since a date."
            raise TypeError(f"X: expected numbers, got dates or durations{where}. {advice}")


def _refuse_text(X: Any, categories: Categories | None, *, takes_categories: bool) -> None:
    """Raise a ValueError that names all columns of X that hold text but no numbers, if there are any."""
    found: dict[Any, tuple[int, str]] = {}
    entries = np.asarray(X, dtype=object)
    for idx in range(entries.shape[1]):
        if categories is None or categories[idx] is None:
            bad = next(filter(_is_no_number, enumerate(entries[:, idx])), None)
            if bad is not None:
                found[getattr(X, "columns", range(idx + 1))[idx]] = bad
    if not found:
        return
    (name, (row, entry)), *others = found.items()
    where = f"columns {', '.join(map(repr, found))}" if others else f"column {name!r}"
    advice = (
        "If these are categories, name them in categorical_features"
        if takes_categories
        else "Encode categories as numbers first, for instance with sklearn.preprocessing.OneHotEncoder"
    )
    raise ValueError(
        f"X: expected numbers, got text in {where} (first: row {row}, value {entry!r:.60}). {advice}."
    )


def _is_no_number(numbered: tuple[int, Any]) -> bool:
    entry = numbered[1]
    try:
        float(entry if isinstance(entry, str) else 0)
    except ValueError:
        return True
    return False


def check_feature_names(model: Any, feature_names: Any = None) -> list[str]:
    """The names of a fitted model's features: those given, those seen by `fit`, or ``x[0]``, ``x[1]``, ..."""
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        return [f"x[{idx}]" for idx in range(model.n_features_in_)]
    if isinstance(feature_names, str) or not hasattr(feature_names, "__len__"):
        raise TypeError(f"feature_names: expected a sequence of names, got {feature_names!r}.")
    if len(feature_names) != model.n_features_in_:
        raise ValueError(
            f"feature_names: expected {model.n_features_in_} names, one per feature, got {len(feature_names)}."
        )
    return [str(name) for name in feature_names]


def copy_feature_names(source: Any, estimator: Any) -> None:
    """Give an estimator the number and the names of the features that another one saw."""
    for name in ("n_features_in_", "feature_names_in_", "categories_"):
        if hasattr(source, name):
            setattr(estimator, name, getattr(source, name))


def forget(estimator: Any, *names: str) -> None:
    """Drop results of an earlier fit that this one does not make again."""
    for name in names:
        vars(estimator).pop(name, None)


def refuse_features(bad: BoolArray, what: str, X: FloatArray, advice: str) -> None:
    """Raise a ValueError that counts the bad entries of X and shows the first, if there is any."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"X: {what} in {np.count_nonzero(bad)} of {X.size} entries "
            f"(first: row {row}, column {column}, value {X[row, column]}). {advice}"
        )


def check_lengths(n_rows: int, n_targets: int) -> None:
    """Raise unless there are as many targets as rows of features."""
    if n_rows != n_targets:
        raise ValueError(
            f"X and y: expected the same number of rows, got inconsistent numbers of samples: "
            f"{n_rows} in X, {n_targets} in y."
        )


def check_rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    """Check targets and weights against features that are checked already."""
    intervals = check_intervals(y)
    n_rows = X.shape[0]  # a sparse matrix has no length
    check_lengths(n_rows, len(intervals))
    weight = check_sample_weight(sample_weight, n_rows)
    check_informative(intervals, weight)
    warn_of_events(intervals)
    return Rows(X, intervals, np.ones(n_rows) if weight is None else weight)


def takes_intervals(estimator: Any) -> bool:
    """Whether an estimator, or one inside it, is not of a library whose regressors know exact labels only."""
    parts = [estimator, *estimator.get_params().values()]
    return any(hasattr(part, "predict") and not _is_of_exact_labels(type(part)) for part in parts)


def _is_of_exact_labels(kind: type) -> bool:
    """Whether a class is derived from a regressor of such a library."""
    modules = [
        base.__module__ for base in kind.__mro__ if not base.__module__.startswith(FOR_ANYONE)
    ]
    is_ours = issubclass(kind, IntervalRegressorMixin)
    return not is_ours and any(module.startswith(EXACT_LABELS) for module in modules)


def targets_for(estimator: Any, intervals: FloatArray, rows: Any = slice(None)) -> FloatArray:
    """The intervals of some rows as an estimator takes them: those of exact labels only as numbers, or an error."""
    if takes_intervals(estimator):
        return intervals[rows]
    lower, upper = intervals.T
    is_taken = np.zeros(len(intervals), np.bool_)
    is_taken[rows] = True
    raise_first(
        is_taken & (lower != upper),
        f"estimator: {type(estimator).__name__} expected exact labels, got intervals",
        " Estimators of marginwood take them, such as L1IntervalRegression or MaxMarginIntervalForest.",
        lower=lower,
        upper=upper,
    )
    return lower[rows].copy()


def units_of(limits: FloatArray) -> tuple[float, float]:
    """Centre and scale that bring the finite ones of some limits between -1 and 1."""
    limits = limits[np.isfinite(limits)]
    centre = float(np.median(limits))
    return centre, float(np.abs(limits - centre).max()) or 1.0
