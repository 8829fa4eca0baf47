"""Step distributions: masses, each somewhere inside its own *support interval*.

Intervals do not tell where inside a support interval its mass lies. What is asked of such a
distribution therefore has a least and a greatest answer, and one between them: that of masses
spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from marginwood._core import curves
from marginwood._ends import read_sides
from marginwood._support.arrays import as_numbers, raise_first
from marginwood._support.checks import check_count, is_integer
from marginwood.distributions._checks import check_offsets, check_steps
from marginwood.distributions._draws import condition, draw, find_tails
from marginwood.distributions._known import KnownRows
from marginwood.distributions._questions import Questions
from marginwood.intervals import FloatArray, IntArray, check_intervals, make_intervals

__all__ = ["IntervalDistribution"]


class IntervalDistribution(Questions):
    """A step distribution, or one for each of n rows.

    A mass lies somewhere inside its support interval, and where is not known. `bound` says what to
    do about it, in all methods: ``"lower"`` and ``"upper"`` give the least and the greatest answer
    that is possible, ``"spread"`` the one of masses that are spread evenly over their support
    intervals. The mass of an unbounded support interval counts as infinitely far away when it is
    spread. ``"certain"`` gives the two answers between which every distribution lies that puts the
    values of the training rows inside their intervals: what `turnbull` and forests return knows
    these rows.

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

    # What is known of the rows behind the masses, if anything is.
    _known: KnownRows | None = None
    # Of a distribution that is conditioned: the scales of its tails before that.
    _tails: FloatArray | None = None

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
        if self._known is not None and not moved.any():
            taken._known = self._known._replace(queries=self._known.queries[rows])
        if self._tails is not None:
            taken._tails = self._tails[rows]
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
        made = IntervalDistribution._of(
            support, self._mass[place], None if self._is_single else offsets
        )
        if self._known is not None:
            made._known = self._known._replace(intervals=function(self._known.intervals))
        return made

    def _extremes(self) -> tuple[IntervalDistribution, IntervalDistribution]:
        if self._known is None:
            raise ValueError(
                "bound: 'certain' asks the rows behind a distribution, which are known of those of turnbull, of "
                "MaxMarginIntervalForest, and of a TransformedIntervalRegressor around one, without delayed entry; not "
                "of this one."
            )
        _, rows = np.unique(self._known.queries, return_inverse=True)
        least, most = (
            IntervalDistribution._of(*pooled)._with_rows(rows, is_single=self._is_single)
            for pooled in self._known.extremes()
        )
        return least, most

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

    def given(self, lower: Any, upper: Any) -> IntervalDistribution:
        """Condition on what is known of each row.

        A support interval that crosses an end keeps the share of its mass that lies inside, as if
        it were spread evenly; one that is unbounded has its mass infinitely far away.

        Parameters
        ----------
        lower, upper : number, array-like of shape (n,) or None
            The value is known to be greater than `lower` and at most `upper`: ``given(5, inf)``, or
            ``given(5, None)``, is about what comes after 5. Two equal ends are that value, whatever
            the distribution says of it. Arrays make n rows of a single distribution.

        Returns
        -------
        IntervalDistribution
            One row for each row of the distribution or of the ends; a single distribution if both
            are single.

        Examples
        --------
        >>> from marginwood.distributions import IntervalDistribution
        >>> life = IntervalDistribution([(0, 10), (10, 20)], [0.5, 0.5])
        >>> life.given(5, float("inf")).sf([5, 10, 20]).round(3).tolist()
        [1.0, 0.667, 0.0]
        """
        intervals = make_intervals(lower, upper, nan="raise")
        n_rows = len(self._steps.start)
        if not self._is_single and len(intervals) == 1:
            intervals = np.repeat(intervals, n_rows, axis=0)
        if not self._is_single and len(intervals) != n_rows:
            raise ValueError(
                f"lower, upper: expected numbers or one for each of {n_rows} rows, got {len(intervals)}."
            )
        rows = self._rows_of(intervals)
        support, mass, offsets = condition(self._steps, self._mass, rows, intervals)
        is_single = self._is_single and np.ndim(lower) == np.ndim(upper) == 0
        made = IntervalDistribution._of(support, mass, None if is_single else offsets)
        made._tails = self._find_tails()[rows]
        return made

    def _rows_of(self, intervals: FloatArray) -> IntArray:
        """The row that each interval is about."""
        return np.zeros(len(intervals), np.int64) if self._is_single else np.arange(len(self))

    def _find_tails(self) -> FloatArray:
        return find_tails(self._steps, self._mass) if self._tails is None else self._tails

    def _draw_within(self, intervals: FloatArray, n: int, random_state: Any) -> FloatArray:
        """Values inside of intervals, n for each."""
        random, rows = check_random_state(random_state), self._rows_of(intervals)
        return draw(self._steps, self._mass, self._find_tails(), rows, intervals, n, random)

    def sample(self, n: int, *, random_state: Any = None) -> FloatArray:
        """Draw values.

        A draw is a support interval, by its mass, and a place in it, evenly. Beyond the least and
        the greatest finite end, where an estimate says nothing, draws have an exponential tail: its
        hazard is the mean hazard between these two ends.

        Parameters
        ----------
        n : int
            How many values, at least 1.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray of shape (n,)
            With several rows of shape (rows, n).

        Examples
        --------
        >>> from marginwood.distributions import turnbull
        >>> visits = turnbull([(0, 1), (0, 1), (1, 2), (2, 3)])
        >>> draws = visits.given(1, 3).sample(1000, random_state=0)
        >>> float(draws.min()) > 1, float(draws.max()) <= 3, round(float(draws.mean()), 1)
        (True, True, 2.0)
        """
        check_count("n", n, 1)
        everything = np.tile([-np.inf, np.inf], (len(self._steps.start), 1))
        values = self._draw_within(everything, n, random_state)
        return values[0] if self._is_single else values

    def __repr__(self) -> str:
        if self._is_single:
            return f"<{type(self).__name__} of {len(self.mass)} support intervals>"
        return f"<{type(self).__name__} of {len(self)} rows>"
