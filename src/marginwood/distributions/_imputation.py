"""Complete labels from censored ones, for tools that take numbers."""

from __future__ import annotations

from typing import Any

from marginwood._support.checks import check_count
from marginwood.distributions._steps import IntervalDistribution
from marginwood.intervals import FloatArray, check_intervals

__all__ = ["impute"]


def impute(
    y: Any,
    distribution: IntervalDistribution,
    *,
    n_imputations: int = 10,
    random_state: Any = None,
) -> FloatArray:
    """Draw complete labels: numbers inside their intervals, for tools that take no intervals.

    Each set of labels is one that could have been seen. Fit the tool to each, and pool what it
    finds: the mean of the estimates has the variance of Rubin's rules, that within the sets plus
    ``1 + 1 / n_imputations`` times that between them.

    Parameters
    ----------
    y : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts. An
        un-censored row keeps its value.
    distribution : IntervalDistribution
        What the values are drawn from, given their intervals: one for all rows, or one for each, as
        ``predict_distribution(X)`` has it.
    n_imputations : int, default=10
        How many sets of labels.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (n_imputations, n)
        One set of labels per line.

    Notes
    -----
    Draws from one fitted distribution leave out that it is itself an estimate, and intervals of
    confidence come out a little short. Where that matters, draw each set from a distribution that
    was fitted to other rows, drawn with replacement.

    Examples
    --------
    >>> from marginwood.distributions import impute, turnbull
    >>> y = [(0, 2), (1, 3), (2, 2), (2, 5)]
    >>> labels = impute(y, turnbull(y), n_imputations=3, random_state=0)
    >>> labels.shape, labels[:, 2].tolist()
    ((3, 4), [2.0, 2.0, 2.0])
    """
    intervals = check_intervals(y)
    if not isinstance(distribution, IntervalDistribution):
        raise TypeError(
            "distribution: expected an IntervalDistribution, as turnbull and predict_distribution return, got "
            f"{type(distribution).__name__}."
        )
    check_count("n_imputations", n_imputations, 1)
    if not distribution._is_single and len(distribution) != len(intervals):
        raise ValueError(
            f"distribution: expected one, or one for each of {len(intervals)} rows of y, got {len(distribution)}."
        )
    return distribution._draw_within(intervals, n_imputations, random_state).T.copy()
