"""Step distributions: masses, each somewhere inside its own *support interval*.

Intervals do not tell where inside a support interval its mass lies. What is asked of such a
distribution therefore has a least and a greatest answer, and one between them: that of masses
spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from marginwood._core import curves
from marginwood._ends import as_written, read_sides
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import is_integer
from marginwood.distributions._checks import check_bound, check_offsets, check_range, check_steps
from marginwood.intervals import FloatArray, IntArray, check_intervals

__all__ = ["IntervalDistribution"]

Bound: TypeAlias = Literal["spread", "lower", "upper"]
Bounds: TypeAlias = Literal["both", "spread", "lower", "upper"]

_CODES = {"lower": curves.LOWER, "spread": curves.SPREAD, "upper": curves.UPPER}
_OPPOSITE: dict[str, Any] = {"lower": "upper", "spread": "spread", "upper": "lower"}


class IntervalDistribution:
    """A step distribution, or one for each of n rows.

    A mass lies somewhere inside its support interval, and where is not known. `bound` says what to
    do about it, in all methods: ``"lower"`` and ``"upper"`` give the least and the greatest answer
    that is possible, ``"spread"`` the one of masses that are spread evenly over their support
    intervals. The mass of an unbounded support interval counts as infinitely far away when it is
    spread.

    Parameters
    ----------
    support : array-like of shape (k, 2)
        Support intervals, row by row, in increasing order within a row; neighbours may share an
        end. Like all intervals they hold their upper end and not their lower one; two equal ends
        are a point.
    mass : array-like of shape (k,)
        Their masses, positive and adding up to 1 in each row.
    offsets : array-like of shape (n + 1,), default=None
        Where the rows start: row i has the support intervals ``support[offsets[i]:offsets[i +
        1]]``. None makes a single distribution.

    See Also
    --------
    turnbull : The distribution that explains intervals best.

    Examples
    --------
    >>> from marginwood.distributions import IntervalDistribution
    >>> die = IntervalDistribution([(1, 1), (2, 6)], [0.25, 0.75])
    >>> die.cdf([1, 3, 6]).tolist()
    [0.25, 0.4375, 1.0]
    >>> die.median().tolist()
    [2.0, 6.0]

    Two rows, asked at once:

    >>> pair = IntervalDistribution([(1, 1), (2, 2), (5, 5)], [0.5, 0.5, 1.0], offsets=[0, 2, 3])
    >>> pair.sf([1, 2, 3]).tolist()
    [[0.5, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, support: Any, mass: Any, offsets: Any = None) -> None:
        ends = check_intervals(support, name="support")
        masses = as_numbers(mass, "mass")
        if masses.shape != (len(ends),):
            raise ValueError(
                f"mass: expected shape ({len(ends)},), one per support interval; got {masses.shape}."
            )
        self._is_single = offsets is None
        starts = check_offsets([0, len(ends)] if offsets is None else offsets, len(ends))
        check_steps(ends, masses, starts)
        self._set(ends, masses, starts)

    @classmethod
    def _of(cls, support: FloatArray, mass: FloatArray, offsets: IntArray | None = None) -> Self:
        """A distribution of arrays that need no checks."""
        made = cls.__new__(cls)
        made._is_single = offsets is None
        made._set(support, mass, np.array([0, len(mass)]) if offsets is None else offsets)
        return made

    def _set(self, support: FloatArray, mass: FloatArray, offsets: IntArray) -> None:
        cumulative = np.empty(len(mass))
        curves.accumulate_segments(mass, offsets, cumulative)
        lower, upper = np.ascontiguousarray(support.T)
        self._mass = mass
        self._steps = curves.Steps(
            lower, upper, cumulative, offsets[:-1], offsets[1:], np.zeros(len(offsets) - 1)
        )

    @property
    def support(self) -> FloatArray:
        """Support intervals of a single distribution, of shape (k, 2).

        Ends that were moved to the number right below them, as ``make_intervals(..., closed=...)``
        does, are shown where they were.
        """
        return read_sides(self._ends)[0]

    @property
    def _ends(self) -> FloatArray:
        """The same, as they are."""
        start, stop = self._segment("support")
        ends = np.column_stack([self._steps.lower[start:stop], self._steps.upper[start:stop]])
        return ends + self._steps.shift[0]

    @property
    def mass(self) -> FloatArray:
        """Masses of a single distribution, of shape (k,)."""
        start, stop = self._segment("mass")
        return self._mass[start:stop]

    def _segment(self, name: str) -> tuple[int, int]:
        if not self._is_single:
            raise AttributeError(
                f"{name}: there is one for each of {len(self)} rows; take distribution[row].{name}."
            )
        return int(self._steps.start[0]), int(self._steps.stop[0])

    def __len__(self) -> int:
        if self._is_single:
            raise TypeError("a single distribution has no length.")
        return len(self._steps.start)

    def __getitem__(self, rows: Any) -> IntervalDistribution:
        if self._is_single:
            raise TypeError("a single distribution has no rows.")
        is_single = is_integer(rows)
        chosen = np.arange(len(self))[rows]
        return self._with_rows(np.atleast_1d(chosen), is_single=is_single)

    def _with_rows(
        self, rows: IntArray, *, is_single: bool = False, shift: FloatArray | None = None
    ) -> IntervalDistribution:
        """Some of the rows, in any order, moved."""
        taken = IntervalDistribution.__new__(IntervalDistribution)
        steps = self._steps
        moved = steps.shift[rows] if shift is None else steps.shift[rows] + shift
        taken._mass = self._mass
        taken._steps = steps._replace(start=steps.start[rows], stop=steps.stop[rows], shift=moved)
        taken._is_single = is_single
        return taken

    def _mapped(self, function: Callable[[FloatArray], FloatArray]) -> IntervalDistribution:
        """The distribution of an increasing function of the values: that of both ends of every support interval."""
        steps = self._steps
        n_masses = steps.stop - steps.start
        offsets = np.append(0, np.cumsum(n_masses))
        place = np.arange(offsets[-1]) + np.repeat(steps.start - offsets[:-1], n_masses)
        shift = np.repeat(steps.shift, n_masses)
        # What lies beyond the largest number has an end there, and none above.
        lower = np.minimum(function(steps.lower[place] + shift), np.finfo(np.float64).max)
        support = np.column_stack([lower, function(steps.upper[place] + shift)])
        return IntervalDistribution._of(
            support, self._mass[place], None if self._is_single else offsets
        )

    def shifted(self, by: Any) -> IntervalDistribution:
        """Move the distribution, or each row of it.

        Parameters
        ----------
        by : number or array-like of shape (n,)
            What is added to the values. An array makes n rows of a single distribution, which share
            its masses.

        Returns
        -------
        IntervalDistribution
            One row for each number of `by`; a single distribution if there is only a number.

        Examples
        --------
        >>> from marginwood.distributions import IntervalDistribution
        >>> errors = IntervalDistribution([(-1, -1), (1, 1)], [0.5, 0.5])
        >>> errors.shifted([10, 20]).quantile(0.9, bound="spread").tolist()
        [11.0, 21.0]
        """
        shift = as_numbers(by, "by")
        rows = np.zeros(max(shift.size, 1), np.int64) if self._is_single else np.arange(len(self))
        if shift.ndim > 1 or (shift.ndim == 1 and len(shift) != len(rows)):
            raise ValueError(
                f"by: expected a number or shape ({len(rows)},); got shape {shift.shape}."
            )
        raise_first(
            ~np.isfinite(np.atleast_1d(shift)),
            "by: expected finite numbers, got another",
            by=np.atleast_1d(shift),
        )
        return self._with_rows(rows, is_single=self._is_single and shift.ndim == 0, shift=shift)

    def cdf(self, t: Any, *, bound: Bound = "spread") -> FloatArray:
        """Probability of at most t.

        Parameters
        ----------
        t : number, array-like of shape (m,) or (n, m)
            Where. With n rows: one number or m numbers for all of them, or m for each. A single
            distribution takes any shape.
        bound : {"spread", "lower", "upper"}, default="spread"
            Masses spread over their support intervals, or the lower or upper curve.

        Returns
        -------
        ndarray
            Of the shape of `t`; with n rows of shape (n,) or (n, m).

        Examples
        --------
        >>> from marginwood.distributions import turnbull
        >>> estimate = turnbull([(0, 2), (1, 3), (5, 6), (5, float("inf"))])
        >>> estimate.cdf([1.5, 4.0]).tolist()
        [0.25, 0.5]
        >>> estimate.cdf([1.5, 4.0], bound="upper").tolist()
        [0.5, 0.5]
        """
        return self._ask(curves.cumulate, t, "t", bound)

    def sf(self, t: Any, *, bound: Bound = "spread") -> FloatArray:
        """Probability of more than t: the survival function.

        Parameters
        ----------
        t : number, array-like of shape (m,) or (n, m)
            Where, as in :meth:`cdf`.
        bound : {"spread", "lower", "upper"}, default="spread"
            Masses spread over their support intervals, or the lower or upper curve.

        Returns
        -------
        ndarray
            Of the shape of `t`; with n rows of shape (n,) or (n, m).

        Examples
        --------
        >>> from marginwood import from_events
        >>> from marginwood.distributions import turnbull
        >>> turnbull(from_events([1, 2, 3, 4], [1, 0, 1, 0])).sf([1, 2, 3]).tolist()
        [0.75, 0.75, 0.375]
        """
        check_bound(bound, _CODES)
        return 1.0 - self.cdf(t, bound=_OPPOSITE[bound])

    def probability(self, y: Any, *, bound: Bound = "spread") -> FloatArray:
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
        if not self._is_single and len(intervals) != len(self):
            raise ValueError(
                f"y: expected one interval for each of {len(self)} rows, got {len(intervals)}."
            )
        table = intervals[np.newaxis] if self._is_single else intervals[:, np.newaxis]
        answer = np.empty(table.shape[:2])
        curves.measure(self._steps, table, check_bound(bound, _CODES), answer)
        return answer.ravel()

    def quantile(self, q: Any, *, bound: Bounds = "both") -> FloatArray:
        """The least value that a share q of the distribution does not exceed.

        Parameters
        ----------
        q : number, array-like of shape (m,) or (n, m)
            Shares from 0 to 1. With n rows: one share or m shares for all of them, or m for each.
        bound : {"both", "spread", "lower", "upper"}, default="both"
            An interval that holds the quantile for certain, or the quantile of masses that are
            spread over their support intervals, or one end of the interval.

        Returns
        -------
        ndarray
            Shape of `q`, with n rows (n,) or (n, m); and 2 at the end for both bounds, which are
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
        check_bound(bound, {"both": 0, **_CODES})
        if bound == "both":
            ends = [self._ask(_invert, levels, "q", end) for end in ("lower", "upper")]
            return np.stack(ends, axis=-1)
        return self._ask(_invert, levels, "q", bound)

    def median(self, *, bound: Bounds = "both") -> FloatArray:
        """The value that is exceeded as often as not.

        Parameters
        ----------
        bound : {"both", "spread", "lower", "upper"}, default="both"
            As in :meth:`quantile`.

        Returns
        -------
        ndarray
            Shape (), with n rows (n,); and 2 at the end for both bounds.

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
        bound : {"both", "spread", "lower", "upper"}, default="both"
            The least and the greatest mean that is possible, or that of masses spread over their
            support intervals, or one of the bounds.
        within : (low, high), default=None
            The range; ``(0, t)`` gives the mean survival time restricted to t. Without it the mass
            of an unbounded support interval makes a bound infinite.

        Returns
        -------
        ndarray
            Shape (), with n rows (n,); and 2 at the end for both bounds.

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
        check_bound(bound, {"both": 0, **_CODES})
        if bound == "both":
            return np.stack(
                [self.mean(bound=end, within=within) for end in ("lower", "upper")], axis=-1
            )
        low, high = (-np.inf, np.inf) if within is None else check_range(within)
        answer = np.empty(len(self._steps.start))
        curves.average(self._steps, low, high, _CODES[bound], answer)
        advice = ' Give a range, mean(within=(low, high)), or ask for bound="both".'
        raise_first(np.isnan(answer), "mean: mass below every limit and above every limit", advice)
        return answer[0] if self._is_single else answer

    def _ask(self, kernel: Any, points: Any, name: str, bound: str) -> FloatArray:
        """Run a kernel of points, as one row of them for each row of the distribution."""
        code = check_bound(bound, _CODES)
        values = as_numbers(points, name)
        if np.isnan(values).any():
            n_missing = np.count_nonzero(np.isnan(values))
            raise ValueError(
                f"{name}: expected numbers, got NaN or None in {n_missing} of {values.size} values."
            )
        if self._is_single:
            table = values.reshape(1, -1)
        else:
            n_rows = len(self)
            if values.ndim > 2 or (values.ndim == 2 and len(values) != n_rows):
                raise ValueError(
                    f"{name}: expected a number, shape (m,), or shape ({n_rows}, m) with one line for each row; "
                    f"got shape {values.shape}."
                )
            table = np.broadcast_to(values, (n_rows, values.shape[-1] if values.ndim else 1))
        answer = np.empty(table.shape)
        kernel(self._steps, np.ascontiguousarray(table), code, answer)
        if self._is_single:
            return answer.reshape(values.shape)[()]
        return answer[:, 0] if values.ndim == 0 else answer

    def __repr__(self) -> str:
        if self._is_single:
            return f"<{type(self).__name__} of {len(self.mass)} support intervals>"
        return f"<{type(self).__name__} of {len(self)} rows>"


def _invert(steps: curves.Steps, levels: FloatArray, bound: int, quantile: FloatArray) -> None:
    """Fill in quantiles, ends of support intervals as they were written."""
    is_end = np.empty(quantile.shape, np.bool_)
    curves.invert(steps, levels, bound, quantile, is_end)
    quantile[is_end] = as_written(quantile[is_end])
