"""XGBoost on interval targets that are spread over a Dask cluster; needs ``marginwood[xgboost,cluster]``.

XGBoost trains where the partitions lie and exchanges histograms, so no machine ever holds all rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import LARGEST_SEED, all_or_nothing, forget
from marginwood._support.extras import install_hint
from marginwood._support.hints import hint
from marginwood._validation import VALIDATION_NAMES, check_pair, stop_early
from marginwood.xgb._data import MAX_SAMPLE, Sample, as_features, no_categories
from marginwood.xgb._model import XGBIntervalRegressor
from marginwood.xgb._plan import check_parameters, make_plan

__all__ = ["DaskXGBIntervalRegressor"]


def import_xgboost_dask() -> Any:
    """XGBoost's Dask interface, or an ImportError that says how to get it."""
    try:
        import distributed  # noqa: F401  # XGBoost's own message is about an attribute of None
        import xgboost.dask
    except ImportError as error:
        raise ImportError(
            f"marginwood.xgb_dask needs XGBoost and Dask: {install_hint('xgboost', 'cluster')}."
        ) from error
    return xgboost.dask


class Columns(NamedTuple):
    """Data on the cluster as XGBoost takes them: features, the two ends, and weights, in partitions that agree."""

    X: Any
    lower: Any
    upper: Any
    weight: Any


def as_array(values: Any, name: str) -> Any:
    """A Dask array, frame or series as an array with known chunks."""
    if hasattr(values, "to_dask_array"):
        return values.to_dask_array(lengths=True)
    if not hasattr(values, "dask"):
        raise TypeError(f"{name}: expected a Dask array or dataframe, got {type(values).__name__}.")
    return values.compute_chunk_sizes() if np.isnan(values.shape[0]) else values


def split_columns(X: Any, y: Any, sample_weight: Any, suffix: str = "") -> Columns:
    """The two ends of targets as columns of their own; `suffix` is the end of the arguments' names."""
    if not hasattr(X, "dask"):
        raise TypeError(f"X{suffix}: expected a Dask array or dataframe, got {type(X).__name__}.")
    if getattr(y, "ndim", 0) != 2 or y.shape[1] != 2:
        came = f"shape {y.shape}" if hasattr(y, "shape") else type(y).__name__
        raise ValueError(
            f"y{suffix}: expected a Dask array or dataframe of two columns, lower and upper, got {came}."
        )
    if hasattr(y, "columns"):
        lower, upper = (y[name] for name in y.columns)
        return Columns(X, lower, upper, sample_weight)
    y = as_array(y, f"y{suffix}").rechunk({1: -1})
    if not hasattr(X, "columns"):
        X = as_array(X, f"X{suffix}")
        if len(X) != len(y):
            raise ValueError(
                f"X{suffix} and y{suffix}: expected the same number of rows, got {len(X)} and {len(y)}."
            )
        y = y.rechunk({0: X.chunks[0]})
    return Columns(X, y[:, 0], y[:, 1], sample_weight)


def check_columns(columns: Columns, suffix: str = "") -> Sample:
    """Check targets and weights on the workers; returns intervals and weights of evenly spaced rows."""
    from dask.base import compute

    lower, upper = (as_array(column, f"y{suffix}") for column in (columns.lower, columns.upper))
    weight = None if columns.weight is None else as_array(columns.weight, f"sample_weight{suffix}")
    n_rows = len(lower)
    if weight is not None and weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight{suffix}: expected one weight per row, shape ({n_rows},), got {weight.shape}."
        )
    is_wrong = ~((lower <= upper) & (lower < np.inf) & (upper > -np.inf))
    has_limit = (lower > -np.inf) | (upper < np.inf)
    wrong_weight = is_wrong[:0] if weight is None else ~((weight >= 0) & (weight < np.inf))
    step = -(-n_rows // MAX_SAMPLE)
    sample = [column[::step] for column in (lower, upper, weight) if column is not None]
    n_wrong, n_limits, n_wrong_weights, *sample = compute(
        is_wrong.sum(), has_limit.sum(), wrong_weight.sum(), *sample
    )
    if n_wrong:
        first = int(is_wrong.argmax())
        ends = f"lower={float(lower[first])}, upper={float(upper[first])}"
        what = f"y{suffix}: NaN, upper < lower, or both ends at the same infinity"
        raise ValueError(f"{what} in {n_wrong} of {n_rows} rows (first: row {first}, {ends}).")
    if not n_limits:
        raise ValueError(
            f"y{suffix}: all {n_rows} rows are (-inf, inf). At least one row needs a finite limit."
        )
    if n_wrong_weights:
        found = f"{n_wrong_weights} of {n_rows} rows (first: row {int(wrong_weight.argmax())})"
        raise ValueError(f"sample_weight{suffix}: NaN, infinite or negative in {found}.")
    intervals = np.column_stack(sample[:2]).astype(np.float64)
    return Sample(intervals, sample[2] if len(sample) == 3 else None)


class DaskXGBIntervalRegressor(XGBIntervalRegressor):
    """`XGBIntervalRegressor` for data on a Dask cluster.

    Parameters and attributes are those of `XGBIntervalRegressor`; `n_jobs` are the threads of each
    worker, -1 for all that it has. The fitted booster is an ordinary one: `marginwood.save` takes
    the model, and `predict` takes arrays of this process, too.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.xgb_dask import DaskXGBIntervalRegressor
    >>> X, y = make_sine(random_state=0)
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     model = DaskXGBIntervalRegressor(20, n_jobs=1).fit(da.from_array(X), da.from_array(y))
    >>> model.score(X, y) > 0.8
    True
    """

    @hint(VALIDATION_NAMES)
    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        client: Any = None,
    ) -> DaskXGBIntervalRegressor:
        """Train the booster on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : dask array or dataframe of shape (n_samples, 2)
            Lower and upper end of each interval; ``-inf`` and ``inf`` for none.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights.
        X_val : dask array or dataframe of shape (n_validation, n_features), default=None
            Features of validation data; needed for early stopping.
        y_val : dask array or dataframe of shape (n_validation, 2), default=None
            Their intervals.
        sample_weight_val : dask array or series of shape (n_validation,), default=None
            Their weights.
        client : distributed.Client, default=None
            The cluster; None for the current client.

        Returns
        -------
        DaskXGBIntervalRegressor
            The fitted model.
        """
        dask_xgboost = import_xgboost_dask()
        check_parameters(self)
        check_pair(X_val, y_val)
        if X_val is None and self.n_iter_no_change is not None:
            raise ValueError("X_val and y_val: n_iter_no_change needs validation data.")
        self.n_features_in_ = X.shape[1]
        no_categories(self, "data on a cluster")
        forget(self, "feature_names_in_")
        if all(isinstance(name, str) for name in getattr(X, "columns", [0])):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
        training = split_columns(X, y, sample_weight)
        sample = check_columns(training)
        seed = check_random_state(self.random_state).randint(1, LARGEST_SEED)
        plan = make_plan(self, sample, seed)
        data = self._as_dask_matrix(training, client)
        evals = []
        if X_val is not None:
            validation = split_columns(X_val, y_val, sample_weight_val, "_val")
            check_columns(validation, "_val")
            evals.append((self._as_dask_matrix(validation, client, ref=data), "validation"))
        result = dask_xgboost.train(
            client,
            plan.params,
            data,
            plan.n_rounds,
            evals=evals,
            obj=plan.objective,
            custom_metric=plan.metric,
            early_stopping_rounds=plan.patience,
            verbose_eval=bool(plan.verbose),
        )
        self.zeros_are_missing_ = False
        scores = np.array(result["history"].get("validation", {}).get(plan.metric.name, []))
        self._finish(result["booster"], scores)
        return stop_early(self)

    _fit_stages = None  # type: ignore[assignment]  # it takes data in memory

    def _as_dask_matrix(self, data: Columns, client: Any, **reference: Any) -> Any:
        dask_xgboost = import_xgboost_dask()
        bounds = {
            "label_lower_bound": data.lower,
            "label_upper_bound": data.upper,
            "weight": data.weight,
        }
        if self.tree_method != "hist":
            return dask_xgboost.DaskDMatrix(client, as_features(data.X), **bounds)
        binning = {"max_bin": int(self.max_bin), **reference}
        return dask_xgboost.DaskQuantileDMatrix(client, as_features(data.X), **bounds, **binning)

    def predict(self, X: Any, *, client: Any = None) -> Any:
        """Predict a number for every row.

        Parameters
        ----------
        X : dask array or dataframe, or array-like, of shape (n_samples, n_features)
            Features.
        client : distributed.Client, default=None
            The cluster; None for the current client.

        Returns
        -------
        dask array or series, or ndarray, of shape (n_samples,)
            Predictions, on the cluster if X is there.
        """
        if not hasattr(X, "dask"):
            return super().predict(X)
        check_is_fitted(self)
        return import_xgboost_dask().predict(client, self.booster_, as_features(X))
