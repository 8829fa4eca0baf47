"""XGBoost on interval targets that are spread over a Dask cluster; needs ``marginwood[xgboost,cluster]``.

XGBoost trains where the partitions lie and exchanges histograms, so no machine ever holds all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import LARGEST_SEED, all_or_nothing
from marginwood.intervals import FloatArray
from marginwood.xgb._model import XGBIntervalRegressor, as_features

__all__ = ["DaskXGBIntervalRegressor"]

# The first prediction and the scale come from at most this many rows, evenly spaced.
MAX_SAMPLE = 1_000_000


def import_xgboost_dask() -> Any:
    """XGBoost's Dask interface, or an ImportError that says how to get it."""
    try:
        import distributed  # noqa: F401  # XGBoost's own message is about an attribute of None
        import xgboost.dask
    except ImportError as error:
        raise ImportError(
            'marginwood.xgb_dask needs XGBoost and Dask: pip install "marginwood[xgboost,cluster]".'
        ) from error
    return xgboost.dask


def as_array(column: Any) -> Any:
    """A column as a Dask array with known chunks."""
    if hasattr(column, "to_dask_array"):
        return column.to_dask_array(lengths=True)
    return column.compute_chunk_sizes() if np.isnan(column.shape[0]) else column


def sample_targets(lower: Any, upper: Any, sample_weight: Any) -> tuple[FloatArray, FloatArray | None]:
    """Check the bounds on the workers; returns intervals and weights of evenly spaced rows."""
    from dask.base import compute

    columns = [as_array(column) for column in (lower, upper, sample_weight) if column is not None]
    step = -(-columns[0].shape[0] // MAX_SAMPLE)
    n_wrong, *sample = compute((~(columns[0] <= columns[1])).sum(), *(column[::step] for column in columns))
    if n_wrong:
        raise ValueError(f"lower and upper: NaN, or upper < lower, in {n_wrong} of {columns[0].shape[0]} rows.")
    intervals = np.column_stack(sample[:2]).astype(np.float64)
    return intervals, sample[2] if len(sample) == 3 else None


class DaskXGBIntervalRegressor(XGBIntervalRegressor):
    """`XGBIntervalRegressor` for data on a Dask cluster.

    Parameters and attributes are those of `XGBIntervalRegressor`; `n_jobs` are the threads of each worker. The fitted
    booster is an ordinary one: `save` and `load` work, and `predict` takes arrays of this process too.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.xgb_dask import DaskXGBIntervalRegressor
    >>> X, y = make_sine(random_state=0)
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     model = DaskXGBIntervalRegressor(20, n_jobs=1).fit(*map(da.from_array, (X, y[:, 0], y[:, 1])))
    >>> model.score(X, y) > 0.8
    True
    """

    @all_or_nothing
    def fit(  # type: ignore[override]
        self,
        X: Any,
        lower: Any,
        upper: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any, Any] | None = None,
        client: Any = None,
    ) -> DaskXGBIntervalRegressor:
        """Train the booster on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        lower : dask array or series of shape (n_samples,)
            Lower ends of the intervals; ``-inf`` for none.
        upper : dask array or series of shape (n_samples,)
            Upper ends; ``inf`` for none.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights.
        validation : tuple of Dask collections, default=None
            Features, lower and upper ends of validation data; needed for early stopping.
        client : distributed.Client, default=None
            The cluster; None for the current client.

        Returns
        -------
        DaskXGBIntervalRegressor
            The fitted model.
        """
        dask_xgboost = import_xgboost_dask()
        self._check_parameters()
        if validation is None and self.early_stopping_rounds is not None:
            raise ValueError("validation: early_stopping_rounds needs validation data.")
        intervals, weight = sample_targets(lower, upper, sample_weight)
        seed = check_random_state(self.random_state).randint(1, LARGEST_SEED)
        arguments = self._arguments(intervals, weight, seed, stops=validation is not None)

        def matrix(X: Any, lower: Any, upper: Any, weight: Any = None, **reference: Any) -> Any:
            bounds = {"label_lower_bound": lower, "label_upper_bound": upper, "weight": weight}
            kind = dask_xgboost.DaskQuantileDMatrix if self.tree_method == "hist" else dask_xgboost.DaskDMatrix
            binning = {"max_bin": int(self.max_bin), **reference} if self.tree_method == "hist" else {}
            return kind(client, as_features(X), **bounds, **binning)

        data = matrix(X, lower, upper, sample_weight)
        evals = [] if validation is None else [(matrix(*validation, ref=data), "validation")]
        result = dask_xgboost.train(client, dtrain=data, evals=evals, **arguments)
        self.n_features_in_ = X.shape[1]
        if all(isinstance(name, str) for name in getattr(X, "columns", [0])):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
        self._finish(result["booster"], result["history"], arguments["obj"])
        return self

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
