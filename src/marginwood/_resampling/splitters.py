"""Folds that respect what an interval target is: how its rows are censored, and where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import check_random_state

from marginwood._support.checks import check_count, is_integer
from marginwood._support.notices import warn
from marginwood.intervals import (
    CENSORING_KINDS,
    FloatArray,
    IntArray,
    censoring_kind,
    check_intervals,
)

__all__ = ["CensoringStratifiedKFold", "RepeatedCensoringStratifiedKFold", "centres"]

N_SPLITS = 5
N_REPEATS = 3


class CensoringStratifiedKFold(BaseCrossValidator):
    """K folds with the same mix of censoring and the same spread of the target.

    The rows of each kind (left-, right-, interval- and un-censored) are sorted by the middle of
    their limits and dealt out to the folds in turns. So the folds' numbers of rows differ by at
    most one, in total and for each kind, and each fold covers the range of the target.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether each turn deals in random order, and equal targets are taken in random order.
        Without it the folds depend on the data alone.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import CensoringStratifiedKFold
    >>> y = [(0, 1), (2, 3), (-np.inf, 1), (-np.inf, 5), (4, 4), (7, 7)]
    >>> for train, test in CensoringStratifiedKFold(2).split(y, y):
    ...     print(train, test)
    [1 3 5] [0 2 4]
    [0 2 4] [1 3 5]
    """

    n_repeats = 1  # how often the folds are dealt out

    def __init__(
        self, n_splits: int = N_SPLITS, *, shuffle: bool = False, random_state: Any = None
    ) -> None:
        self.n_splits: int = check_count("n_splits", n_splits, 2)
        self.shuffle: bool = shuffle
        self.random_state: Any = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002 (scikit-learn's)
        """Tell the number of folds, of all deals together.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.

        Returns
        -------
        int
            The number.
        """
        return self.n_splits * self.n_repeats

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:  # noqa: ARG002 (X)
        """Generate the rows of each fold.

        Parameters
        ----------
        X : object
            Ignored.
        y : array-like of shape (n_samples, 2)
            Intervals, in any form that `check_intervals` accepts.
        groups : object, default=None
            Ignored, with a warning.

        Yields
        ------
        train, test : ndarray
            Row numbers, ascending.
        """
        if groups is not None:
            warn(
                "groups: CensoringStratifiedKFold ignores them; set cv to a splitter such as sklearn's GroupKFold."
            )
        intervals = check_intervals(y)
        random = check_random_state(self.random_state) if self.shuffle else None
        for _ in range(self.n_repeats):
            fold = self._deal(intervals, random)
            for number in range(self.n_splits):
                yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def _deal(self, intervals: FloatArray, random: np.random.RandomState | None) -> IntArray:
        """The fold of every row; without a generator it depends on the intervals alone."""
        n_samples = len(intervals)
        n_splits = self.n_splits
        if n_samples < n_splits:
            raise ValueError(f"n_splits: expected at most n_samples={n_samples}, got {n_splits}.")
        rows = np.arange(n_samples) if random is None else random.permutation(n_samples)
        centre = centres(intervals)
        kind = censoring_kind(intervals)
        fold = np.empty(n_samples, dtype=np.int64)
        sizes = np.zeros(n_splits, dtype=np.int64)
        for name in CENSORING_KINDS:
            of_kind = rows[kind[rows] == name]
            of_kind = of_kind[np.argsort(centre[of_kind], kind="stable")]
            turns = -(-len(of_kind) // n_splits)
            # Every second turn deals backwards: otherwise the first fold would get the least of
            # every turn.
            hands = np.tile(np.arange(n_splits), (turns, 1))
            hands[1::2] = hands[1::2, ::-1]
            if random is not None:
                hands = np.argsort(random.random_sample(hands.shape), axis=1)
            n_left = len(of_kind) % n_splits
            if n_left:
                hands[-1, :n_left] = np.argsort(sizes, kind="stable")[:n_left]
            hand = hands.ravel()[: len(of_kind)]
            fold[of_kind] = hand
            sizes += np.bincount(hand, minlength=n_splits)
        return fold


class RepeatedCensoringStratifiedKFold(CensoringStratifiedKFold):
    """K folds of `CensoringStratifiedKFold`, dealt out several times, each time in another random order.

    Which rows share a fold is chance, and on few rows it decides which candidate of a search is the
    best. Means over several deals depend less on it.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds of a deal, at least 2.
    n_repeats : int, default=3
        Number of deals.
    random_state : int, RandomState instance or None, default=None
        Seed of the deals.

    Examples
    --------
    >>> from marginwood import IntervalSearchCV, RepeatedCensoringStratifiedKFold
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> folds = RepeatedCensoringStratifiedKFold(5, n_repeats=4, random_state=0)
    >>> IntervalSearchCV(cv=folds).fit(X, y).n_splits_
    20
    """

    def __init__(
        self, n_splits: int = N_SPLITS, *, n_repeats: int = N_REPEATS, random_state: Any = None
    ) -> None:
        super().__init__(n_splits, shuffle=True, random_state=random_state)
        self.n_repeats = check_count("n_repeats", n_repeats, 1)


def centres(intervals: FloatArray) -> FloatArray:
    """The middle of the finite ends of each interval; 0 where there is none."""
    is_finite = np.isfinite(intervals)
    return np.where(is_finite, intervals / 2, 0).sum(axis=1) * np.where(is_finite.all(axis=1), 1, 2)


def make_splitter(cv: Any) -> Any:
    """The splitter that an estimator's `cv` means: so many censoring-stratified folds, or five for None."""
    cv = N_SPLITS if cv is None else cv
    if is_integer(cv):
        return CensoringStratifiedKFold(cv)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(
            f"cv: expected a number of folds, a splitter or the rows of each fold, got {cv!r}."
        )
    return check_cv(cv)
