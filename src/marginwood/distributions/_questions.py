"""What step distributions are asked: curves, probabilities, quantiles and moments.

Answers have several forms, by *bound*: ``"spread"`` spreads each mass evenly over its support
interval, ``"lower"`` and ``"upper"`` are the least and the greatest answer that any place of the
masses gives, ``"both"`` is these two. ``"certain"`` asks the rows behind the masses: the least and
the greatest answer that any values inside their intervals give.
"""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

import numpy as np

from marginwood._core import curves
from marginwood._ends import as_written
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import check_choice
from marginwood.distributions._checks import check_range
from marginwood.distributions._draws import find_deviations
from marginwood.intervals import FloatArray, check_intervals

__all__ = ["Questions"]

Part: TypeAlias = Literal["spread", "lower", "upper"]
Bound: TypeAlias = Literal["spread", "lower", "upper", "certain"]
Bounds: TypeAlias = Literal["both", "spread", "lower", "upper", "certain"]

CERTAIN = "certain"
CODES = {"lower": curves.LOWER, "spread": curves.SPREAD, "upper": curves.UPPER}
OPPOSITE: dict[str, Any] = {"lower": "upper", "spread": "spread", "upper": "lower"}


class Questions:
    """The questions; what they are asked of is an `IntervalDistribution`."""

    _steps: curves.Steps
    _mass: FloatArray
    _is_single: bool

    def _extremes(self) -> tuple[Self, Self]:
        """The distributions of the rows behind this one, all as small, and all as large, as can be."""
        raise NotImplementedError

    def cdf(self, t: Any, *, bound: Bound = "spread") -> FloatArray:
        """Probability of at most t.

        Parameters
        ----------
        t : number, array-like of shape (m,) or (n, m)
            Where. With n rows: one number or m numbers for all of them, or m for each. A single
            distribution takes any shape.
        bound : {"spread", "lower", "upper", "certain"}, default="spread"
            Masses spread over their support intervals, or the lower or upper curve, or both curves
            that the rows allow, whatever is assumed.

        Returns
        -------
        ndarray
            Of the shape of `t`; with n rows of shape (n,) or (n, m). And 2 at the end for
            "certain".

        Examples
        --------
        >>> from marginwood.distributions import turnbull
        >>> estimate = turnbull([(0, 2), (1, 3), (5, 6), (5, float("inf"))])
        >>> estimate.cdf([1.5, 4.0]).tolist()
        [0.25, 0.5]
        >>> estimate.cdf([1.5, 4.0], bound="upper").tolist()
        [0.5, 0.5]

        For certain there are at most as many rows as end by then, and as begin before:

        >>> estimate.cdf([1.5, 4.0], bound="certain").tolist()
        [[0.0, 0.5], [0.5, 0.5]]
        """
        check_choice("bound", bound, [*CODES, CERTAIN])
        if bound == CERTAIN:
            low, high = self._extremes()
            return np.stack([high.cdf(t), low.cdf(t)], axis=-1)
        return self._ask(curves.cumulate, t, "t", bound)

    def sf(self, t: Any, *, bound: Bound = "spread") -> FloatArray:
        """Probability of more than t: the survival function.

        Parameters
        ----------
        t : number, array-like of shape (m,) or (n, m)
            Where, as in :meth:`cdf`.
        bound : {"spread", "lower", "upper", "certain"}, default="spread"
            Masses spread over their support intervals, or the lower or upper curve, or both curves
            that the rows allow, whatever is assumed.

        Returns
        -------
        ndarray
            Of the shape of `t`; with n rows of shape (n,) or (n, m). And 2 at the end for
            "certain".

        Examples
        --------
        >>> from marginwood import from_events
        >>> from marginwood.distributions import turnbull
        >>> turnbull(from_events([1, 2, 3, 4], [1, 0, 1, 0])).sf([1, 2, 3]).tolist()
        [0.75, 0.75, 0.375]
        """
        check_choice("bound", bound, [*CODES, CERTAIN])
        if bound == CERTAIN:
            return 1.0 - self.cdf(t, bound=CERTAIN)[..., ::-1]
        return 1.0 - self.cdf(t, bound=OPPOSITE[bound])

    def probability(self, y: Any, *, bound: Part = "spread") -> FloatArray:
        """Probability of intervals.

        An interval counts with its upper end and without its lower one, so that those of touching
        brackets add up to 1. Other sides are those of `make_intervals` and its `closed`.

        Parameters
        ----------
        y : array-like
            Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts, one
            for each row. A single distribution takes any number of them.
        bound : {"spread", "lower", "upper"}, default="spread"
            Masses spread over their support intervals, or the least or greatest probability.

        Returns
        -------
        ndarray of shape (n,)
            One for each interval.

        Examples
        --------
        >>> from marginwood.distributions import IntervalDistribution
        >>> IntervalDistribution([(1, 1), (2, 6)], [0.25, 0.75]).probability([(0, 1), (3, 5)]).tolist()
        [0.25, 0.375]
        """
        intervals = check_intervals(y)
        n_rows = len(self._steps.start)
        if not self._is_single and len(intervals) != n_rows:
            raise ValueError(
                f"y: expected one interval for each of {n_rows} rows, got {len(intervals)}."
            )
        table = intervals[np.newaxis] if self._is_single else intervals[:, np.newaxis]
        answer = np.empty(table.shape[:2])
        check_choice("bound", bound, CODES)
        curves.measure(self._steps, table, CODES[bound], answer)
        return answer.ravel()

    def quantile(self, q: Any, *, bound: Bounds = "both") -> FloatArray:
        """The least value that a share q of the distribution does not exceed.

        Parameters
        ----------
        q : number, array-like of shape (m,) or (n, m)
            Shares from 0 to 1. With n rows: one share or m shares for all of them, or m for each.
        bound : {"both", "spread", "lower", "upper", "certain"}, default="both"
            An interval that holds the quantile of the estimate, or the quantile of masses that are
            spread over their support intervals, or one end of the interval; or the interval of all
            quantiles that the rows allow, whatever is assumed.

        Returns
        -------
        ndarray
            Shape of `q`, with n rows (n,) or (n, m); and 2 at the end for two bounds, which are
            equal where the quantile is determined. Infinite in the mass of unbounded support
            intervals.

        Examples
        --------
        >>> from marginwood import from_events
        >>> from marginwood.distributions import turnbull
        >>> turnbull(from_events([1, 2, 3, 4], [1, 0, 1, 0])).quantile([0.1, 0.25, 0.9]).tolist()
        [[1.0, 1.0], [1.0, 3.0], [4.0, inf]]
        """
        levels = as_numbers(q, "q")
        outside = ~((levels >= 0) & (levels <= 1))
        if outside.any():
            raise ValueError(f"q: expected shares from 0 to 1, got {levels[outside].flat[0]}.")
        check_choice("bound", bound, ["both", *CODES, CERTAIN])
        if bound in ("both", CERTAIN):
            low, high = self._extremes() if bound == CERTAIN else (self, self)
            ends = low._ask(_invert, levels, "q", "lower"), high._ask(_invert, levels, "q", "upper")
            return np.stack(ends, axis=-1)
        return self._ask(_invert, levels, "q", bound)

    def median(self, *, bound: Bounds = "both") -> FloatArray:
        """The value that is exceeded as often as not.

        Parameters
        ----------
        bound : {"both", "spread", "lower", "upper", "certain"}, default="both"
            As in :meth:`quantile`.

        Returns
        -------
        ndarray
            Shape (), with n rows (n,); and 2 at the end for two bounds.

        Examples
        --------
        >>> from marginwood.distributions import turnbull
        >>> turnbull([(0, 2), (1, 3), (1, 8)]).median().tolist()
        [1.0, 2.0]
        """
        return self.quantile(0.5, bound=bound)

    def mean(
        self, *, bound: Bounds = "both", within: tuple[float, float] | None = None
    ) -> FloatArray:
        """The mean, or that of values clipped to a range.

        Parameters
        ----------
        bound : {"both", "spread", "lower", "upper", "certain"}, default="both"
            The least and the greatest mean of the estimate, or that of masses spread over their
            support intervals, or one of the bounds; or the two that the rows allow, whatever is
            assumed.
        within : (low, high), default=None
            The range; ``(0, t)`` gives the mean survival time restricted to t. Without it the mass
            of an unbounded support interval makes a bound infinite.

        Returns
        -------
        ndarray
            Shape (), with n rows (n,); and 2 at the end for two bounds.

        Examples
        --------
        >>> from marginwood import from_events
        >>> from marginwood.distributions import turnbull
        >>> estimate = turnbull(from_events([1, 2, 3, 4], [1, 0, 1, 0]))
        >>> estimate.mean().tolist()
        [2.875, inf]
        >>> estimate.mean(within=(0, 4)).tolist()
        [2.875, 2.875]
        """
        check_choice("bound", bound, ["both", *CODES, CERTAIN])
        if bound in ("both", CERTAIN):
            least, most = self._extremes() if bound == CERTAIN else (self, self)
            ends = least.mean(bound="lower", within=within), most.mean(bound="upper", within=within)
            return np.stack(ends, axis=-1)
        low, high = (-np.inf, np.inf) if within is None else check_range(within)
        answer = np.empty(len(self._steps.start))
        curves.average(self._steps, low, high, CODES[bound], answer)
        advice = ' Give a range, mean(within=(low, high)), or ask for bound="both".'
        raise_first(np.isnan(answer), "mean: mass below every limit and above every limit", advice)
        return answer[0] if self._is_single else answer

    def std(self) -> FloatArray:
        """The standard deviation of masses that are spread over their support intervals.

        Returns
        -------
        ndarray
            Shape (), with n rows (n,). Infinite with mass in an unbounded support interval.

        Examples
        --------
        >>> from marginwood.distributions import IntervalDistribution
        >>> float(IntervalDistribution([(0, 0), (2, 2)], [0.5, 0.5]).std())
        1.0
        """
        deviations = find_deviations(self._steps, self._mass)
        return deviations[0] if self._is_single else deviations

    def _ask(self, kernel: Any, points: Any, name: str, bound: str) -> FloatArray:
        """Run a kernel of points, as one row of them for each row of the distribution."""
        values = as_numbers(points, name)
        if np.isnan(values).any():
            n_missing = np.count_nonzero(np.isnan(values))
            raise ValueError(
                f"{name}: expected numbers, got NaN or None in {n_missing} of {values.size} values."
            )
        if self._is_single:
            table = values.reshape(1, -1)
        else:
            n_rows = len(self._steps.start)
            if values.ndim > 2 or (values.ndim == 2 and len(values) != n_rows):
                raise ValueError(
                    f"{name}: expected a number, shape (m,), or shape ({n_rows}, m) with one line for each row; "
                    f"got shape {values.shape}."
                )
            table = np.broadcast_to(values, (n_rows, values.shape[-1] if values.ndim else 1))
        answer = np.empty(table.shape)
        kernel(self._steps, np.ascontiguousarray(table), CODES[bound], answer)
        if self._is_single:
            return answer.reshape(values.shape)[()]
        return answer[:, 0] if values.ndim == 0 else answer


def _invert(steps: curves.Steps, levels: FloatArray, bound: int, quantile: FloatArray) -> None:
    """Fill in quantiles, ends of support intervals as they were written."""
    is_end = np.empty(quantile.shape, np.bool_)
    curves.invert(steps, levels, bound, quantile, is_end)
    quantile[is_end] = as_written(quantile[is_end])
