"""Tests of whether groups have one distribution: the log-rank test, for intervals of any kind.

Each row has a *score*: how much earlier it is than the pooled NPMLE expects. A group's scores add
up to its observed minus its expected number of events. Right-censored rows are compared as
survdiff of R does, with the hypergeometric variance of the events at each time; left-censored rows
as the same, mirrored. All others have the scores of a proportional-hazards model at 0 (Finkelstein
1986; Sun 1996) or of Peto and Peto, and the variance of sums of scores under permutation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2, norm
from sklearn.utils import check_random_state

from marginwood._core.turnbull import make_scratch
from marginwood._ends import half_open
from marginwood._support.arrays import as_numbers
from marginwood._support.checks import check_choice, check_count
from marginwood._support.labels import read_labels
from marginwood.distributions._bands import is_left_censored
from marginwood.distributions._solve import LEAST_TOLERANCE, make_problem, solve
from marginwood.inference._permutations import permutation_covariance, permute, quadratic
from marginwood.inference._table import Table, make_table
from marginwood.intervals import (
    BoolArray,
    FloatArray,
    IntArray,
    check_informative,
    check_intervals,
    check_sample_weight,
)

__all__ = ["GroupComparison", "TrendAcross", "compare_groups", "show_p_value"]

# The pooled estimate's log-likelihood is this close to its maximum.
CLOSE = 1e-6


class TrendAcross(NamedTuple):
    """A test against a trend over ordered groups.

    Parameters
    ----------
    z : float
        Positive where higher groups have their events earlier.
    p_value : float
        Two-sided.
    """

    z: float
    p_value: float


class _Tally(NamedTuple):
    """What one stratum says: sums by group, their covariance, and the scores of its rows."""

    observed: FloatArray
    expected: FloatArray
    covariance: FloatArray
    scores: FloatArray


class GroupComparison(Table):
    """What :func:`compare_groups` returns: a table of groups, and the test.

    Attributes
    ----------
    groups : list
        Their labels, in order.
    observed, expected : ndarray of shape (k,)
        Events by group, weighted as the test weighs them.
    covariance : ndarray of shape (k, k)
        That of ``observed - expected`` if all groups have one distribution.
    statistic, df, p_value : float, int, float
        Chi-squared, its degrees of freedom, and the probability of at least that much.
    permutation_p_value : float or None
        The share of permuted labels with at least the statistic of scores, if asked for.
    """

    groups: list[Any]
    observed: FloatArray
    expected: FloatArray
    covariance: FloatArray
    statistic: float
    df: int
    p_value: float
    permutation_p_value: float | None
    _rows: _Rows

    def trend(self, scores: Any = None) -> TrendAcross:
        """Test against a trend over ordered groups.

        Parameters
        ----------
        scores : array-like of shape (k,), default=None
            Numbers of the groups, such as doses; by default their labels if those are numbers, else
            0, 1, 2 and so on.

        Returns
        -------
        TrendAcross
            `z` and the two-sided `p_value`.

        Examples
        --------
        >>> from marginwood.inference import compare_groups
        >>> compare_groups([9, 8, 7, 5, 6, 3, 4, 2, 1], list("aaabbbccc")).trend().p_value.__round__(4)
        0.0021
        """
        if scores is None:
            is_numeric = all(isinstance(name, int | float) for name in self.groups)
            scores = self.groups if is_numeric else range(len(self.groups))
        numbers = as_numbers(list(scores), "scores", allow_bool=True)
        if numbers.shape != (len(self.groups),) or not np.isfinite(numbers).all():
            raise ValueError(
                f"scores: expected a finite number for each of {len(self.groups)} groups, got {scores!r:.80}."
            )
        numbers = numbers - numbers.mean()
        variance = float(numbers @ self.covariance @ numbers)
        difference = float(numbers @ (self.observed - self.expected))
        z = difference / np.sqrt(variance) if variance > 0 else 0.0
        return TrendAcross(float(z), float(2 * norm.sf(abs(z))))

    def pairwise(self) -> Table:
        """Compare every pair of groups by itself, with p-values adjusted by Holm's method.

        Returns
        -------
        Table
            A line for each pair, with the statistic, its p-value and the adjusted one.

        Examples
        --------
        >>> from marginwood.inference import compare_groups
        >>> test = compare_groups([9, 8, 7, 6, 5, 3, 4, 2, 1], list("aaabbbccc"))
        >>> [round(p, 3) for p in test.pairwise()["p Holm"]]
        [0.074, 0.074, 0.11]
        """
        pairs = list(combinations(range(len(self.groups)), 2))
        found = [_test(self._rows.only(pair), 2)[:2] for pair in pairs]
        p_values = np.array([chi2.sf(statistic, 1) if df else 1.0 for statistic, df in found])
        order = np.argsort(p_values, kind="stable")
        adjusted = np.empty(len(pairs))
        factors = np.arange(len(pairs), 0, -1)
        adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
        columns = {
            "group": [str(self.groups[one]) for one, _ in pairs],
            "against": [str(self.groups[other]) for _, other in pairs],
            "chi-squared": [statistic for statistic, _ in found],
            "p": p_values.tolist(),
            "p Holm": adjusted.tolist(),
        }
        return Table(columns, "Pairs of groups")


class _Rows(NamedTuple):
    """Informative rows, with codes of groups and strata."""

    intervals: FloatArray
    weight: FloatArray
    codes: IntArray
    strata: IntArray
    rho: int

    def only(self, groups: tuple[int, ...]) -> _Rows:
        """The rows of some groups, numbered again."""
        chosen = np.isin(self.codes, groups)
        codes = np.searchsorted(groups, self.codes[chosen])
        return _Rows(
            self.intervals[chosen], self.weight[chosen], codes, self.strata[chosen], self.rho
        )

    def by_stratum(self) -> Iterator[_Rows]:
        """The rows of each stratum."""
        for stratum in np.unique(self.strata):
            chosen = self.strata == stratum
            yield _Rows(
                self.intervals[chosen],
                self.weight[chosen],
                self.codes[chosen],
                self.strata[chosen],
                self.rho,
            )


def compare_groups(
    y: Any,
    groups: Any,
    *,
    weights: Literal["logrank", "peto"] = "logrank",
    strata: Any = None,
    sample_weight: Any = None,
    n_permutations: int | None = None,
    random_state: Any = None,
) -> GroupComparison:
    """Test whether groups have the same distribution: the log-rank test, for any censoring.

    Parameters
    ----------
    y : array-like
        Intervals in any form that :func:`~marginwood.intervals.check_intervals` accepts.
    groups : array-like of shape (n,)
        A label for each row, two or more different ones.
    weights : {"logrank", "peto"}, default="logrank"
        ``"logrank"`` weighs all differences alike, and is best where one hazard is a multiple of
        the other. ``"peto"`` weighs early ones more (Peto and Prentice's Wilcoxon test): ``rho =
        1`` in survdiff of R. Of left-censored rows the high values are the early ones.
    strata : array-like of shape (n,), default=None
        Labels of strata, such as sites: only rows of one stratum are compared.
    sample_weight : array-like of shape (n,) or number, default=None
        Weights of the rows: one of weight 2 counts as two rows.
    n_permutations : int, default=None
        How often labels are permuted within strata, for a p-value that needs no large sample. Up to
        100,000 different arrangements of few rows are all tried, whatever the number: then it is
        exact.
    random_state : int, RandomState or None, default=None
        For the permutations.

    Returns
    -------
    GroupComparison
        A table of groups with `statistic`, `df`, `p_value`, and methods `trend` and `pairwise`.

    Notes
    -----
    Except for right- or left-censored rows, the test takes it that groups are observed alike: if
    one was visited more often, its rows look different for that reason alone. More than 0 for
    ``observed - expected`` says that a group has its events earlier, which means lower values; of
    left-censored rows, which are mirrored, higher ones.

    Examples
    --------
    >>> from marginwood.datasets import load_gbsg2
    >>> from marginwood.inference import compare_groups
    >>> women = load_gbsg2(as_frame=True)
    >>> print(compare_groups(women.y, women.X["horTh"]))
    Log-rank test
    group    n  observed  expected
    no     440       205     180.3
    yes    246        94     118.7
    chi-squared 8.565 on 1 degree of freedom, p = 0.0034
    """
    intervals = check_intervals(y)
    check_choice("weights", weights, ("logrank", "peto"))
    labels = read_labels(groups, len(intervals), "groups")
    blocks = np.zeros(len(intervals), np.int64)
    if strata is not None:
        blocks = read_labels(strata, len(intervals), "strata").codes
    weight = check_sample_weight(sample_weight, len(intervals))
    if n_permutations is not None:
        check_count("n_permutations", n_permutations, 1)
        if weight is not None:
            raise ValueError(
                "n_permutations: rows with weights cannot change places. Leave out sample_weight, or repeat the rows."
            )
    check_informative(intervals, weight)
    counted = np.isfinite(intervals).any(axis=1) & (True if weight is None else weight > 0)
    names = [
        name for code, name in enumerate(labels.names) if (labels.codes[counted] == code).any()
    ]
    if len(names) < 2:
        raise ValueError(
            f"groups: expected two or more with informative rows, got {len(names)}: {names!r:.80}."
        )
    codes = np.unique(labels.codes[counted], return_inverse=True)[1]
    weight = np.ones(len(intervals)) if weight is None else weight
    rows = _Rows(
        intervals[counted], weight[counted], codes, blocks[counted], int(weights == "peto")
    )
    statistic, df, tallies = _test(rows, len(names))
    permuted = None
    if n_permutations is not None:
        parts = [
            (part.codes, tally.scores)
            for part, tally in zip(rows.by_stratum(), tallies, strict=True)
        ]
        permuted = permute(parts, len(names), n_permutations, check_random_state(random_state))
    return _report(rows, names, statistic, df, tallies, permuted, strata is not None)


def _report(
    rows: _Rows,
    names: list[Any],
    statistic: float,
    df: int,
    tallies: list[_Tally],
    permuted: float | None,
    is_stratified: bool,
) -> GroupComparison:
    observed, expected, covariance = (sum(parts) for parts in list(zip(*tallies, strict=True))[:3])
    p_value = float(chi2.sf(statistic, df)) if df else 1.0
    n_rows = np.bincount(rows.codes, rows.weight, len(names))
    whole = bool((n_rows == n_rows.round()).all())
    columns = {
        "group": [str(name) for name in names],
        "n": [int(n) for n in n_rows] if whole else n_rows.tolist(),
        "observed": observed.tolist(),
        "expected": expected.tolist(),
    }
    kind = "Peto and Prentice's Wilcoxon test" if rows.rho else "Log-rank test"
    degrees = "1 degree" if df == 1 else f"{df} degrees"
    note = f"chi-squared {statistic:.4g} on {degrees} of freedom, p {show_p_value(p_value)}"
    if permuted is not None:
        note += f"; by permutation p {show_p_value(permuted)}"
    return make_table(
        GroupComparison,
        columns,
        f"{kind}, stratified" if is_stratified else kind,
        (note,),
        groups=names,
        observed=observed,
        expected=expected,
        covariance=covariance,
        statistic=statistic,
        df=df,
        p_value=p_value,
        permutation_p_value=permuted,
        _rows=rows,
    )


def show_p_value(p_value: float) -> str:
    """A p-value after the letter p."""
    return "< 0.0001" if p_value < 1e-4 else f"= {p_value:.4f}"


def _test(rows: _Rows, n_groups: int) -> tuple[float, int, list[_Tally]]:
    """Chi-squared, its degrees of freedom, and what each stratum says."""
    tallies = [_tally(part, n_groups) for part in rows.by_stratum()]
    difference = np.sum([tally.observed - tally.expected for tally in tallies], axis=0)
    covariance = np.sum([tally.covariance for tally in tallies], axis=0)
    statistic, df = quadratic(difference, covariance)
    return float(statistic), df, tallies


def _tally(rows: _Rows, n_groups: int) -> _Tally:
    """The scores of the rows of a stratum, and their sums."""
    total = float(rows.weight.sum())
    support, ranges = make_problem(rows.intervals, rows.weight / total)
    n_cells = len(support)
    starts, stops = half_open(support).T
    lower, upper = half_open(rows.intervals).T
    first = np.searchsorted(starts, lower, side="left")
    stop = np.searchsorted(stops, upper, side="right")
    is_one_cell = stop == first + 1
    has_end = np.ones(n_cells, np.bool_)
    if np.all(is_one_cell | (stop == n_cells)) and not is_left_censored(rows.intervals):
        has_end[-1] = np.isfinite(stops[-1])
        return _tally_events(rows, n_groups, first, is_one_cell, has_end)
    if np.all(is_one_cell | (first == 0)):
        has_end[-1] = np.isfinite(starts[0])
        return _tally_events(rows, n_groups, n_cells - stop, is_one_cell, has_end)
    scratch = make_scratch(len(ranges.first), n_cells)
    mass, _ = solve(ranges, n_cells, max(CLOSE / total, LEAST_TOLERANCE), scratch)
    beyond = np.append(np.cumsum(mass[::-1])[::-1], 0.0)  # S before each cell
    high, low = beyond[first], beyond[stop]
    if rows.rho:
        scores = high + low - 1
        events = np.where(np.isfinite(upper), (high + low) / 2, 0.0)
    else:
        scores = (xlogy(high, high) - xlogy(low, low)) / (high - low)
        events = np.isfinite(upper).astype(float)
    scores = scores - np.average(scores, weights=rows.weight)
    observed, difference, sizes = (
        np.bincount(rows.codes, rows.weight * values, n_groups).astype(np.float64)
        for values in (events, scores, np.ones(len(scores)))
    )
    covariance = permutation_covariance(scores, rows.weight, sizes)
    return _Tally(observed, observed - difference, covariance, scores)


def _tally_events(
    rows: _Rows, n_groups: int, first: IntArray, is_event: BoolArray, has_end: BoolArray
) -> _Tally:
    """Rows that have their event in one cell, or are censored before the first cell that they may lie in."""
    n_cells = len(has_end)
    table = (n_groups, n_cells)
    place = rows.codes * n_cells + first
    events = np.bincount(place, rows.weight * is_event, n_groups * n_cells).reshape(table)
    starting = np.bincount(place, rows.weight, n_groups * n_cells).reshape(table)
    beyond = np.cumsum(starting[:, ::-1], axis=1)[:, ::-1] - starting
    at_risk = events + beyond
    seen = np.where(has_end, events, 0.0)
    n_events, n_at_risk = seen.sum(axis=0), at_risk.sum(axis=0)
    hazard = np.divide(n_events, n_at_risk, out=np.zeros(n_cells), where=n_at_risk > 0)
    before = np.append(1.0, np.cumprod(1 - hazard)[:-1])
    worth = before**rows.rho
    share = np.divide(at_risk, n_at_risk, out=np.zeros(table), where=n_at_risk > 0)
    expected = share * n_events
    spread = np.divide(
        worth**2 * n_events * (n_at_risk - n_events),
        n_at_risk - 1,
        out=np.zeros(n_cells),
        where=n_at_risk > 1 + 1e-9,
    )
    covariance = np.diag(share @ spread) - (share * spread) @ share.T
    # A row's event, and what was expected of it while it was at risk.
    running = np.append(0.0, np.cumsum(worth * hazard))
    is_seen = is_event & has_end[first]
    scores = np.where(is_seen, worth[first], 0.0) - running[first + is_event]
    return _Tally(seen @ worth, expected @ worth, covariance, scores)
