"""Simulated interval targets with a known signal.

The three data sets follow the simulations of Drouin, Hocking and Laviolette, "Maximum Margin Interval
Trees" (2017): many features, of which one, the signal feature, determines the target through a function f,
and intervals of random width and position around f. Here

- features uniform on (0, 10), the first of them the signal feature;
- centre of an interval: f plus a normal shift with standard deviation 0.2;
- interval: the least and the greatest of 10 normal draws around the centre, with standard deviation 0.3;
- open ends: the lower end is infinite in a fifth of the rows, the upper end in another fifth, never
  both. A row thus always carries at least one limit.

Signals, widths and scatter agree with the data sets published with the paper. Those leave about one end in
nine open; here it is one in five, so that censoring matters in small samples.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["make_absolute", "make_linear", "make_sine"]

FEATURE_MAX = 10.0
SHIFT_SD = 0.2
N_DRAWS = 10
DRAW_SD = 0.3
OPEN_SHARE = 0.2

FloatArray = NDArray[np.float64]
RandomState = int | np.random.RandomState | None


def make_sine(
    n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[FloatArray, FloatArray]:
    """Intervals around the sine of the first feature.

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
        Lower and upper ends. The lower end is -inf in about a fifth of the rows, the upper end inf in
        about another fifth.

    See Also
    --------
    make_absolute : A kink in place of waves.
    make_linear : A straight line.

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
) -> tuple[FloatArray, FloatArray]:
    """Intervals around the distance of the first feature from 5.

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
        Lower and upper ends. The lower end is -inf in about a fifth of the rows, the upper end inf in
        about another fifth.

    See Also
    --------
    make_sine : Waves in place of a kink.
    make_linear : A straight line.

    Examples
    --------
    >>> from marginwood.datasets import make_absolute
    >>> X, y = make_absolute(50, 3, random_state=0)
    >>> X.shape, y.shape
    ((50, 3), (50, 2))
    """
    return _simulate(_distance_from_middle, n_samples, n_features, random_state)


def make_linear(
    n_samples: int = 200, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[FloatArray, FloatArray]:
    """Intervals around a fifth of the first feature.

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
        Lower and upper ends. The lower end is -inf in about a fifth of the rows, the upper end inf in
        about another fifth.

    See Also
    --------
    make_sine : Waves in place of a line.
    make_absolute : A kink in place of a line.

    Examples
    --------
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(50, 3, random_state=0)
    >>> X.shape, y.shape
    ((50, 3), (50, 2))
    """
    return _simulate(_fifth, n_samples, n_features, random_state)


def _distance_from_middle(x: FloatArray) -> FloatArray:
    """Distance from the middle of the feature's range."""
    return np.abs(x - FEATURE_MAX / 2)


def _fifth(x: FloatArray) -> FloatArray:
    """A line from 0 to 2 over the feature's range."""
    return x / 5


def _simulate(
    signal: Callable[[FloatArray], FloatArray], n_samples: int, n_features: int, random_state: RandomState
) -> tuple[FloatArray, FloatArray]:
    """Features and intervals around `signal` of the first feature."""
    for name, count in (("n_samples", n_samples), ("n_features", n_features)):
        if count < 1:
            raise ValueError(f"{name}: an integer of at least 1 is needed, got {count!r}")
    random = check_random_state(random_state)
    X = random.uniform(0.0, FEATURE_MAX, (n_samples, n_features))
    centre = signal(X[:, 0]) + random.normal(0.0, SHIFT_SD, n_samples)
    draws = random.normal(centre[:, np.newaxis], DRAW_SD, (n_samples, N_DRAWS))
    y = np.column_stack([draws.min(axis=1), draws.max(axis=1)])
    # One draw decides about both ends, which keeps them from opening together.
    which_end = random.uniform(size=n_samples)
    y[which_end < OPEN_SHARE, 0] = -np.inf
    y[which_end > 1.0 - OPEN_SHARE, 1] = np.inf
    return X, y
