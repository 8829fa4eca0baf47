"""Scores of survival analysis that weigh rows by the inverse probability of not being censored (IPCW).

They are for events and right-censored rows. What a censored row would have shown is left to rows
like it: a row that is seen at t counts 1 / G(t) times, where G is the estimate of Kaplan and Meier
for the times of censoring. This takes censoring that does not depend on the features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import trapezoid

from marginwood._ends import below
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import check_count, check_share
from marginwood.distributions import turnbull
from marginwood.inference import Table
from marginwood.intervals import BoolArray, FloatArray, check_intervals
from marginwood.metrics._probabilities import check_target, evaluate, make_rows

__all__ = [
    "CumulativeDynamicAuc",
    "calibration_at",
    "cumulative_dynamic_auc",
    "integrated_ipcw_brier_score",
    "ipcw_brier_score",
]

N_TIMES = 101
# The default range of times: shares of all rows that ended before.
RANGE = 0.05, 0.95


class _Events(NamedTuple):
    """Times, which of them are events, weights of rows, and 1 / G at their times if they are events, else 0."""

    time: FloatArray
    is_event: BoolArray
    weight: FloatArray
    inverse: FloatArray


class CumulativeDynamicAuc(NamedTuple):
    """What :func:`cumulative_dynamic_auc` returns.

    Attributes
    ----------
    times : ndarray of shape (m,)
        When.
    auc : ndarray of shape (m,)
        The AUC at each time.
    mean : float
        Their mean, weighed by how many events lie between two times.
    """

    times: FloatArray
    auc: FloatArray
    mean: float


def ipcw_brier_score(
    y_true: Any, distribution: Any, times: Any, *, y_train: Any = None, sample_weight: Any = None
) -> float | FloatArray:
    """Brier score of right-censored rows, weighed by the inverse probability of censoring.

    At time t, an event by then counts ``sf(t) ** 2 / G(time)``, a row that is known to be later
    ``(1 - sf(t)) ** 2 / G(t)``, and one that was censored before 0 (Graf and others 1999).

    Parameters
    ----------
    y_true : array-like
        Events and right-censored rows: `from_events`, or any other form of them.
    distribution : object
        One distribution per row: an :class:`~marginwood.distributions.IntervalDistribution`, or an
        object with ``cdf(t)`` like those of scipy.stats.
    times : float or array-like of shape (m,)
        Times, before the last one of `y_true`.
    y_train : array-like, default=None
        Rows to estimate the censoring from; by default `y_true`.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float or ndarray of shape (m,)
        A score per time, 0 is best; 1/4 is what a probability of one half gets.

    See Also
    --------
    interval_brier_score : For rows of any censoring.

    References
    ----------
    .. [1] Graf, Schmoor, Sauerbrei and Schumacher (1999), "Assessment and comparison of prognostic classification
       schemes for survival data", Statistics in Medicine 18.

    Examples
    --------
    >>> from scipy.stats import expon
    >>> from marginwood import from_events
    >>> from marginwood.metrics import ipcw_brier_score
    >>> y = from_events([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    >>> ipcw_brier_score(y, expon(scale=[1, 2, 3, 4]), [1.5, 3.5]).round(4)
    array([0.1452, 0.1641])
    """
    values = _check_times(times)
    events, censoring = _read(y_true, y_train, sample_weight)
    scores = _brier(events, censoring, distribution, np.atleast_1d(values))
    return scores if values.ndim else float(scores[0])


def integrated_ipcw_brier_score(
    y_true: Any,
    distribution: Any,
    times: Any = None,
    *,
    y_train: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean of :func:`ipcw_brier_score` over a range of times, by the trapezoidal rule.

    Parameters
    ----------
    y_true : array-like
        Events and right-censored rows.
    distribution : object
        One distribution per row.
    times : array-like of shape (m,), default=None
        At least two rising times; by default 101 between the 5 % and the 95 % quantile of the times
        of `y_true`.
    y_train : array-like, default=None
        Rows to estimate the censoring from; by default `y_true`.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from scipy.stats import expon
    >>> from marginwood import from_events
    >>> from marginwood.metrics import integrated_ipcw_brier_score
    >>> y = from_events([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    >>> round(integrated_ipcw_brier_score(y, expon(scale=[1, 2, 3, 4]), [1.5, 2.5, 3.5]), 4)
    0.1786
    """
    events, censoring = _read(y_true, y_train, sample_weight)
    if times is None:
        counted = events.time[events.weight > 0]
        low, high = np.quantile(counted, RANGE)
        if low == high:
            raise ValueError("y_true: expected rows of different times.")
        grid = np.linspace(low, high, N_TIMES)
    else:
        grid = np.atleast_1d(_check_times(times))
        if len(grid) < 2:
            raise ValueError(f"times: expected at least two, got {len(grid)}.")
    scores = _brier(events, censoring, distribution, grid)
    return float(trapezoid(scores, grid) / (grid[-1] - grid[0]))


def cumulative_dynamic_auc(
    y_true: Any, prediction: Any, times: Any, *, y_train: Any = None, sample_weight: Any = None
) -> CumulativeDynamicAuc:
    """How well predictions tell rows with an event by a time from those without (time-dependent AUC).

    Of all pairs of an event by t and a row that is later than t, the share whose predictions are in
    that order, a tie counting half; events count 1 / G(time) times (Uno and others 2007).

    Parameters
    ----------
    y_true : array-like
        Events and right-censored rows.
    prediction : array-like of shape (n,) or (n, m)
        Predicted times, or anything else that is greater for later events, such as
        ``model.predict_survival_function(X, times)``; with m columns, one for each time.
    times : float or array-like of shape (m,)
        Times between the first event and the last time of `y_true`.
    y_train : array-like, default=None
        Rows to estimate the censoring from; by default `y_true`.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows.

    Returns
    -------
    CumulativeDynamicAuc
        `times`, `auc` and their `mean`.

    References
    ----------
    .. [1] Uno, Cai, Tian and Wei (2007), "Evaluating prediction rules for t-year survivors with censored regression
       models", Journal of the American Statistical Association 102.

    Examples
    --------
    >>> from marginwood import from_events
    >>> from marginwood.metrics import cumulative_dynamic_auc
    >>> y = from_events([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    >>> cumulative_dynamic_auc(y, [1.0, 3.0, 2.5, 2.0], [1.5, 3.5]).auc.round(3).tolist()
    [1.0, 0.4]
    """
    values = np.atleast_1d(_check_times(times))
    events, _ = _read(y_true, y_train, sample_weight)
    table = as_numbers(prediction, "prediction")
    n_rows = len(events.time)
    if table.shape not in ((n_rows,), (n_rows, len(values))):
        raise ValueError(
            f"prediction: expected shape ({n_rows},) or ({n_rows}, {len(values)}), got shape {table.shape}."
        )
    if np.isnan(table).any():
        raise ValueError("prediction: expected numbers, got NaN.")
    columns = np.broadcast_to(table.reshape(n_rows, -1), (n_rows, len(values)))
    auc = np.array([_auc(events, *pair) for pair in zip(columns.T, values, strict=True)])
    survival = turnbull(
        np.column_stack([events.time, np.where(events.is_event, events.time, np.inf)]),
        sample_weight=events.weight,
    ).sf(values)
    shares = -np.diff(survival, prepend=1.0)
    total = 1 - survival[-1]
    mean = float(auc[0]) if len(auc) == 1 else float(auc @ shares / total)
    return CumulativeDynamicAuc(values, auc, mean)


def calibration_at(
    y_true: Any, distribution: Any, time: float, *, n_groups: int = 10, level: float = 0.95
) -> Table:
    """Compare predicted and observed probabilities of being later than a time, by groups of risk.

    Parameters
    ----------
    y_true : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts, of any
        kind of censoring.
    distribution : object
        One distribution per row.
    time : float
        When.
    n_groups : int, default=10
        Number of groups of about as many rows each, by predicted probability; there are fewer where
        many rows have the same.
    level : float, default=0.95
        Level of the confidence intervals.

    Returns
    -------
    Table
        A row for each group, the greatest risk first: `n`, the mean `predicted` probability, the
        `observed` one by the nonparametric estimate of the group, and its confidence interval,
        `lower` and `upper`.

    Examples
    --------
    >>> from scipy.stats import expon
    >>> from marginwood.metrics import calibration_at
    >>> times = [0.5, 1.0, 1.5, 2.0, 4.0, 3.0, 6.0, 9.0]
    >>> print(calibration_at(times, expon(scale=[1, 1, 2, 2, 4, 4, 8, 8]), 2.5, n_groups=2))
    Probability of more than 2.5, by groups of predicted risk
    group  n  predicted  observed   lower   upper
    1      4     0.1843         0       0  0.3814
    2      4     0.6334         1  0.6186       1
    Confidence intervals: 95 %.
    """
    intervals, _ = check_target(y_true, None)
    check_count("n_groups", n_groups, 2)
    check_share("level", level)
    informative = np.isfinite(intervals).any(axis=1)
    when = _check_times(time)
    if when.size != 1:
        raise ValueError(f"time: expected one finite number, got {when.size}.")
    when = np.full(len(intervals), when.item())
    survival = 1 - evaluate(make_rows(distribution, len(intervals)), "cdf", when)
    survival, intervals = survival[informative], intervals[informative]
    edges = np.unique(np.quantile(survival, np.linspace(0, 1, n_groups + 1)[1:-1]))
    group = np.searchsorted(edges, survival, side="left")
    columns: dict[str, list[Any]] = {
        name: [] for name in ("group", "n", "predicted", "observed", "lower", "upper")
    }
    for number in np.unique(group):
        rows = group == number
        estimate = turnbull(intervals[rows])
        band = estimate.confidence_band([when[0]], level=level)
        found = (
            str(len(columns["n"]) + 1),
            int(rows.sum()),
            float(survival[rows].mean()),
            float(estimate.sf(when[0])),
            float(band.lower[0]),
            float(band.upper[0]),
        )
        for name, value in zip(columns, found, strict=True):
            columns[name].append(value)
    return Table(
        columns,
        f"Probability of more than {when[0]:g}, by groups of predicted risk",
        [f"Confidence intervals: {100 * level:g} %."],
    )


def _check_times(times: Any) -> FloatArray:
    values = as_numbers(times, "times")
    if values.ndim > 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"times: expected a number or finite numbers in a list, got {times!r:.80}."
        )
    if (np.diff(np.atleast_1d(values)) <= 0).any():
        raise ValueError("times: expected each to be greater than the one before.")
    return values


def _read(y_true: Any, y_train: Any, sample_weight: Any) -> tuple[_Events, Any]:
    """The rows, and the distribution of the times of censoring."""
    intervals, weight = check_target(y_true, sample_weight)
    time, is_event = _split(intervals, "y_true")
    weight = np.ones(len(time)) if weight is None else weight
    if y_train is None:
        train_time, train_event, train_weight = time, is_event, weight
    else:
        train_time, train_event = _split(check_intervals(y_train, name="y_train"), "y_train")
        train_weight = np.ones(len(train_time))
    # An event comes before a censoring at the same time: its own would have come from then on.
    start = np.where(train_event, below(train_time), train_time)
    censoring = turnbull(
        np.column_stack([start, np.where(train_event, np.inf, train_time)]),
        sample_weight=train_weight,
    )
    return _Events(
        time, is_event, weight, _invert(censoring.sf(time), is_event & (weight > 0), time)
    ), censoring


def _invert(probability: FloatArray, is_used: BoolArray, time: FloatArray) -> FloatArray:
    """1 / G where it is needed, and 0 elsewhere."""
    raise_first(
        is_used & ~(probability > 0),
        "times: nobody is uncensored for as long",
        " Score at earlier times, or give a y_train of which some rows are longer uncensored.",
        time=time,
    )
    return np.where(is_used, 1 / np.where(probability > 0, probability, 1.0), 0.0)


def _split(intervals: FloatArray, name: str) -> tuple[FloatArray, BoolArray]:
    """Times of events and censorings; other rows are refused."""
    lower, upper = intervals.T
    is_event = lower == upper
    raise_first(
        ~is_event & ~(np.isfinite(lower) & np.isinf(upper)),
        f"{name}: expected events and right-censored rows, got another",
        " interval_brier_score and interval_crps take any.",
        lower=lower,
        upper=upper,
    )
    return lower, is_event


def _brier(events: _Events, censoring: Any, distribution: Any, times: FloatArray) -> FloatArray:
    n_rows = len(events.time)
    predicted = make_rows(distribution, n_rows)
    is_later = np.array([((events.time > time) & (events.weight > 0)).any() for time in times])
    later = _invert(censoring.sf(times), is_later, times)
    scores = np.empty(len(times))
    for k, time in enumerate(times):
        survival = 1 - evaluate(predicted, "cdf", np.full(n_rows, time))
        is_before = events.time <= time
        losses = np.where(is_before, events.inverse * survival**2, later[k] * (1 - survival) ** 2)
        scores[k] = np.average(losses, weights=events.weight)
    return scores


def _auc(events: _Events, prediction: FloatArray, time: float) -> float:
    """The share of ordered pairs of an event by a time and a later row."""
    is_case = events.is_event & (events.time <= time) & (events.weight > 0)
    is_control = (events.time > time) & (events.weight > 0)
    if not is_case.any() or not is_control.any():
        raise ValueError(
            f"times: expected events by {time:g} and rows that are later, got {is_case.sum()} and {is_control.sum()}."
        )
    order = np.argsort(prediction[is_control], kind="stable")
    values = prediction[is_control][order]
    total = np.concatenate([[0.0], np.cumsum(events.weight[is_control][order])])
    # Weights of the controls above, and half of those that are equal.
    above = total[-1] - total[np.searchsorted(values, prediction[is_case], side="right")]
    least = total[-1] - total[np.searchsorted(values, prediction[is_case], side="left")]
    weight = (events.weight * events.inverse)[is_case]
    return float(weight @ ((above + least) / 2) / (weight.sum() * total[-1]))
