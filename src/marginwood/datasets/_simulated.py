"""Interval targets simulated with a known signal, or made of ordinary regressions.

The three simulations follow Drouin, Hocking and Laviolette, "Maximum Margin Interval Trees" (2017):
many features, of which one, the signal feature, determines the target through a function f, and
intervals of random width and position around f. Here

- features uniform on (0, 10), the first of them the signal feature;
- centre of an interval: f plus a normal shift with standard deviation 0.2;
- interval: the least and the greatest of 10 normal draws around the centre, with standard deviation
  0.3;
- open ends: with probability 0.2 a row has one infinite end, the lower or the upper one with equal
  chance.

Signals, widths, scatter and open ends agree with the data sets published with the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from marginwood._support.arrays import as_numbers
from marginwood._support.checks import check_count, check_number
from marginwood.intervals import FloatArray

__all__ = ["make_absolute", "make_intervals_from_regression", "make_linear", "make_sine"]

FEATURE_MAX = 10.0
SHIFT_SD = 0.2
DRAW_SD = 0.3
N_DRAWS = 10
OPEN_SHARE = 0.2

RandomState = int | np.random.RandomState | None
Samples = tuple[FloatArray, FloatArray]  # X and y


def make_sine(
    n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None
) -> Samples:
    """Simulate intervals around the sine of the first feature.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=20
        Number of features. All but the first are noise.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform on (0, 10).
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends, of which one is infinite in about a fifth of the rows.

    Examples
    --------
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> X.shape, y.shape
    ((200, 20), (200, 2))
    >>> bool((y[:, 0] < y[:, 1]).all())
    True
    """
    return _simulate(np.sin, n_samples, n_features, random_state)


def make_absolute(
    n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None
) -> Samples:
    """Simulate intervals around the distance of the first feature from 5.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=20
        Number of features. All but the first are noise.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform on (0, 10).
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends, of which one is infinite in about a fifth of the rows.

    Examples
    --------
    >>> from marginwood.datasets import make_absolute
    >>> X, y = make_absolute(50, 3, random_state=0)
    >>> X.shape, y.shape
    ((50, 3), (50, 2))
    """
    return _simulate(distance_from_middle, n_samples, n_features, random_state)


def make_linear(
    n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None
) -> Samples:
    """Simulate intervals around a fifth of the first feature.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=20
        Number of features. All but the first are noise.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, uniform on (0, 10).
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends, of which one is infinite in about a fifth of the rows.

    Examples
    --------
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(50, 3, random_state=0)
    >>> X.shape, y.shape
    ((50, 3), (50, 2))
    """
    return _simulate(fifth, n_samples, n_features, random_state)


def make_intervals_from_regression(
    X: Any,
    y: Any,
    *,
    width: float = 0.5,
    left: float = 0.1,
    right: float = 0.1,
    uncensored: float = 0.0,
    random_state: RandomState = None,
) -> Samples:
    """Turn an ordinary regression data set into one with interval targets.

    Every row gets an interval around its value, whose two sides are uniform on ``(0, width)`` in
    units of the standard deviation of `y`. Then a share of the rows loses the lower end, a share
    the upper end, and a share keeps the value itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features; returned as they are, in float64.
    y : array-like of shape (n_samples,)
        The values.
    width : float, default=0.5
        Mean width of the intervals, in standard deviations of `y`.
    left, right, uncensored : float, default=0.1, 0.1, 0.0
        Probability that a row is left-censored, right-censored, or not censored at all; the rest is
        interval-censored. Their sum must not exceed 1.
    random_state : int, RandomState instance or None, default=None
        Seed or generator. An integer gives the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples, 2)
        Lower and upper ends. Every interval holds its row's value.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from marginwood.datasets import make_intervals_from_regression
    >>> from marginwood.intervals import censoring_kind
    >>> X, y = make_intervals_from_regression(*load_diabetes(return_X_y=True), right=0.5, random_state=0)
    >>> round(float((censoring_kind(y) == "right").mean()), 1)
    0.5
    """
    values = as_numbers(y, "y")
    X = as_numbers(X, "X")
    if values.ndim != 1 or X.ndim != 2 or len(X) != len(values) or not np.isfinite(values).all():
        raise ValueError(
            f"X, y: expected rows and one finite value for each; got shapes {X.shape} and {values.shape}."
        )
    shares = {"left": left, "right": right, "uncensored": uncensored}
    if min(shares.values()) < 0 or sum(shares.values()) > 1 + 1e-12:
        raise ValueError(
            f"left, right, uncensored: expected shares >= 0 whose sum is at most 1, got {shares}."
        )
    check_number("width", width, "a finite number >= 0", lambda number: 0 <= number < np.inf)
    random = check_random_state(random_state)
    sides = random.uniform(0.0, width * values.std(), (2, len(values)))
    intervals = np.column_stack([values - sides[0], values + sides[1]])
    draw = _open_ends(intervals, left, right, random)
    is_exact = (draw >= left) & (draw < left + uncensored)
    intervals[is_exact] = values[is_exact, np.newaxis]
    return X, intervals


def distance_from_middle(x: FloatArray) -> FloatArray:
    """Distance from the middle of the feature's range."""
    return np.abs(x - FEATURE_MAX / 2)


def fifth(x: FloatArray) -> FloatArray:
    """A line from 0 to 2 over the feature's range."""
    return x / 5


def _simulate(
    signal: Callable[..., FloatArray], n_samples: int, n_features: int, random_state: RandomState
) -> Samples:
    """Features and intervals around `signal` of the first feature."""
    for name, count in (("n_samples", n_samples), ("n_features", n_features)):
        check_count(name, count, 1)
    random = check_random_state(random_state)
    X = random.uniform(0.0, FEATURE_MAX, (n_samples, n_features))
    centre = signal(X[:, 0]) + random.normal(0.0, SHIFT_SD, n_samples)
    draws = random.normal(centre[:, np.newaxis], DRAW_SD, (n_samples, N_DRAWS))
    y = np.column_stack([draws.min(axis=1), draws.max(axis=1)])
    _open_ends(y, OPEN_SHARE / 2, OPEN_SHARE / 2, random)
    return X, y


def _open_ends(
    y: FloatArray, left: float, right: float, random: np.random.RandomState
) -> FloatArray:
    """Open the lower end of a share `left` of the rows and the upper end of others; returns what decided."""
    # One draw decides about both ends, which keeps them from opening together.
    draw = random.uniform(size=len(y))
    y[draw < left, 0] = -np.inf
    y[draw > 1.0 - right, 1] = np.inf
    return draw
