"""A table of errors: all rows, and those of each kind of censoring."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood.intervals import CENSORING_KINDS, FloatArray, IntArray, censoring_kind
from marginwood.losses import optimal_constant
from marginwood.metrics._points import (
    _check_arguments,
    interval_accuracy,
    interval_d2_score,
    interval_mean_absolute_error,
    interval_mean_squared_error,
)

__all__ = ["error_table"]

METRICS = {
    "mse": interval_mean_squared_error,
    "mae": interval_mean_absolute_error,
    "inside": interval_accuracy,
}
HEADINGS = {"mse": "MSE", "mae": "MAE", "inside": "inside"}


class ErrorTable(NamedTuple):
    """What :func:`error_table` returns; ``print`` shows it, and ``pandas.DataFrame(table.to_dict())`` takes it.

    Attributes
    ----------
    groups : list of str
        ``"all"``, then the kinds of censoring that occur.
    n_rows : ndarray of shape (k,)
        Number of rows of each group.
    scores : dict of ndarray of shape (k,)
        ``"mse"``, ``"mae"`` and ``"inside"`` of the predictions, by group.
    constant_scores : dict of ndarray of shape (k,)
        The same of the constant that has the least squared error on all rows.
    d2 : float
        Share of the constant's squared error that the predictions save, on all rows.
    """

    groups: list[str]
    n_rows: IntArray
    scores: dict[str, FloatArray]
    constant_scores: dict[str, FloatArray]
    d2: float

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name, each a list with an entry per group.

        Returns
        -------
        dict of list
            ``group``, ``n``, each score and ``constant_`` score, and ``d2``, which is NaN but for
            all rows.

        Examples
        --------
        >>> from marginwood.metrics import error_table
        >>> error_table([(1, 2), (3, float("inf"))], [4.0, 5.0]).to_dict()["mse"]
        [2.0, 0.0, 4.0]
        """
        columns: dict[str, list[Any]] = {"group": list(self.groups), "n": self.n_rows.tolist()}
        for name in METRICS:
            columns[name] = self.scores[name].tolist()
            columns[f"constant_{name}"] = self.constant_scores[name].tolist()
        return columns | {"d2": [self.d2] + [float("nan")] * (len(self.groups) - 1)}

    def __str__(self) -> str:
        heading = "".join(f"{HEADINGS[name]:>12}{'constant':>12}" for name in METRICS)
        lines = [f"{'':14}{'rows':>9}{heading}{'D2':>9}"]
        for k, group in enumerate(self.groups):
            cells = "".join(
                f"{self.scores[name][k]:12.4g}{self.constant_scores[name][k]:12.4g}"
                for name in METRICS
            )
            d2 = f"{self.d2:9.3f}" if k == 0 else ""
            lines.append(f"{group:14}{self.n_rows[k]:9d}{cells}{d2}")
        return "\n".join(lines)


def error_table(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> ErrorTable:
    """Tabulate errors of predictions, of all rows and by kind of censoring, beside those of the best constant.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts. One at
        least needs a finite limit.
    y_pred : array-like of shape (n,)
        Predictions.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows. Those of weight 0 are left out.

    Returns
    -------
    ErrorTable
        A row for all and one for each kind of censoring that occurs, with the number of rows, the
        mean squared and absolute error, and the share of predictions inside of the interval; D2 for
        all.

    Examples
    --------
    >>> from marginwood.metrics import error_table
    >>> print(error_table([(1, 2), (3, 3), (4, float("inf"))], [1.5, 4.0, 6.0]))
                       rows         MSE    constant         MAE    constant      inside    constant       D2
    all                   3      0.3333      0.6667      0.3333      0.6667      0.6667      0.3333    0.500
    uncensored            1           1           0           1           0           0           1
    right                 1           0           1           0           1           1           0
    interval              1           0           1           0           1           1           0
    """
    intervals, prediction, weight = _check_arguments(y_true, y_pred, sample_weight)
    if weight is not None:
        counted = weight > 0
        intervals = intervals[counted]
        prediction = prediction[counted]
        weight = weight[counted]
    if not np.isfinite(intervals).any():
        raise ValueError(
            "y_true: no row of positive weight has a finite limit, so there are no errors to tabulate."
        )
    kinds = censoring_kind(intervals)
    members = {"all": np.ones(len(kinds), np.bool_)}
    members |= {kind: kinds == kind for kind in CENSORING_KINDS if (kinds == kind).any()}
    constant = np.full(len(kinds), optimal_constant(intervals, sample_weight=weight).value)

    def by_group(values: FloatArray) -> dict[str, FloatArray]:
        return {
            name: np.array(
                [
                    metric(
                        intervals[rows],
                        values[rows],
                        sample_weight=None if weight is None else weight[rows],
                    )
                    for rows in members.values()
                ]
            )
            for name, metric in METRICS.items()
        }

    return ErrorTable(
        groups=list(members),
        n_rows=np.array([np.count_nonzero(rows) for rows in members.values()]),
        scores=by_group(prediction),
        constant_scores=by_group(constant),
        d2=interval_d2_score(intervals, prediction, sample_weight=weight),
    )
