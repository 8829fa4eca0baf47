"""The normal distribution, fitted by maximum likelihood to intervals.

A row contributes the density at its value if it is un-censored, otherwise the probability of its
interval. In the parameters ``precision = 1 / scale`` and ``shift = mean / scale`` the
log-likelihood is concave, and a limit stands at ``precision * limit - shift`` standard deviations.
The *score* of a row is the derivative of its log-likelihood in the mean: positive if the row would
have the mean larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from marginwood.intervals import BoolArray, FloatArray

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)

# Intervals narrower than this, in standard deviations, count as their middle: the probability is
# then density times width up to a relative error of 1e-11, and a difference of probabilities would
# lose more.
NARROW = 1e-5

# Bounds of the scale, as shares of the range of the limits. Without rows of two limits, the
# likelihood may grow with the scale for ever.
LEAST_SCALE, LARGEST_SCALE = 1e-8, 1e2

MAX_STEPS = 100

# A step squares the relative error near the maximum. Once the gain of the next one, per unit of
# weight, is as small as this, that step is the last; rounding would hide whether it is a gain.
LAST_GAIN = 1e-9


class NormalFit(NamedTuple):
    """A fitted normal distribution and its log-likelihood."""

    mean: float
    scale: float
    log_likelihood: float


class _Rows(NamedTuple):
    """What each row's log-likelihood does at given parameters.

    `z` is the middle of narrow rows in standard deviations; `lower` and `upper` are the ends of the
    others, `density_lower` and `density_upper` the normal densities there over the probability of
    the interval. All are 0 where they do not apply.
    """

    narrow: BoolArray
    log_likelihood: FloatArray
    z: FloatArray
    lower: FloatArray
    upper: FloatArray
    density_lower: FloatArray
    density_upper: FloatArray


def fit_normal(intervals: FloatArray, weight: FloatArray) -> NormalFit:
    """Fit mean and scale to intervals of which no constant satisfies all: Newton's method with step control.

    The scale stays within 1e-8 and 100 times the range of the finite limits.
    """
    limits = intervals[np.isfinite(intervals)]
    extent = limits.max() - limits.min()
    bounds = 1 / (LARGEST_SCALE * extent), 1 / (LEAST_SCALE * extent)
    spread = max(float(np.std(limits)), 1e-3 * extent)
    at = np.array([1 / spread, np.median(limits) / spread])
    total = weight.sum()
    share = weight / total  # large weights would overflow in the determinant, small ones vanish
    value, gradient, hessian = _log_likelihood(intervals, share, at)
    for _ in range(MAX_STEPS):
        step = _newton_step(gradient, hessian, at[0], bounds)
        gain = gradient @ step
        size = 1.0
        following = _log_likelihood(intervals, share, at + step)
        if gain <= LAST_GAIN:
            if following[0] >= value - LAST_GAIN:
                at = at + step
                value = following[0]
            break
        while not following[0] >= value + 1e-4 * size * gain and size > 1e-10:
            size /= 2
            following = _log_likelihood(intervals, share, at + size * step)
        if size <= 1e-10:
            break
        at = at + size * step
        (value, gradient, hessian) = following
    return NormalFit(at[1] / at[0], 1 / at[0], value * total)


def location_scores(intervals: FloatArray, mean: float, scale: float) -> FloatArray:
    """The score of every row, of any kind of censoring but ``(-inf, inf)``."""
    rows = _rows(intervals, 1 / scale, mean / scale)
    return (rows.z + rows.density_lower - rows.density_upper) / scale


def _newton_step(
    gradient: FloatArray, hessian: FloatArray, precision: float, bounds: tuple[float, float]
) -> FloatArray:
    """An ascent step in (precision, shift) that keeps the precision in its bounds."""
    # Rounding may leave a nearly flat direction without curvature; the diagonal gives it some.
    curvature = -hessian + np.diag(1e-12 * np.abs(hessian.diagonal()))
    step = gradient / np.maximum(curvature.diagonal(), np.finfo(np.float64).tiny)
    if np.linalg.det(curvature) > 0:
        step = np.linalg.solve(curvature, gradient).astype(np.float64)
    room = (bounds[1] if step[0] > 0 else bounds[0]) - precision
    if abs(room) <= 1e-9 * precision:
        return np.array([0.0, gradient[1] / curvature[1, 1]])
    return step if abs(step[0]) <= abs(room) else step * (room / step[0])


def _rows(intervals: FloatArray, precision: float, shift: float) -> _Rows:
    """Log-likelihood and its ingredients for every row."""
    ends = precision * intervals - shift
    lower, upper = ends.T
    width = precision * (intervals[:, 1] - intervals[:, 0])
    middle = lower + np.where(np.isfinite(width), width / 2, 0.0)
    narrow = width * np.maximum(np.abs(middle), 1.0) < NARROW
    log_likelihood = np.zeros(len(ends))
    z = np.where(narrow, middle, 0.0)
    log_density = -(z[narrow] ** 2) / 2 - LOG_SQRT_2PI
    unit = np.where(width[narrow] > 0, width[narrow], precision)
    log_likelihood[narrow] = log_density + np.log(unit)

    wide = ~narrow
    # In the upper tail probabilities round to 1: there the interval is mirrored.
    low, high = np.where(
        lower[wide] + upper[wide] > 0, (-upper[wide], -lower[wide]), (lower[wide], upper[wide])
    )
    log_high = log_ndtr(high)
    log_likelihood[wide] = log_high + np.log1p(-np.exp(log_ndtr(low) - log_high))
    is_wide_end = np.isfinite(ends) & wide[:, np.newaxis]
    ends = np.where(is_wide_end, ends, 0.0)
    log_density = -(ends**2) / 2 - LOG_SQRT_2PI - log_likelihood[:, np.newaxis]
    density = np.exp(np.where(is_wide_end, log_density, -np.inf))
    return _Rows(narrow, log_likelihood, z, ends[:, 0], ends[:, 1], density[:, 0], density[:, 1])


# A trial step may put an interval where its probability rounds to 0: the value is then -inf, and
# the step refused.
@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _log_likelihood(
    intervals: FloatArray, weight: FloatArray, at: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Value, gradient and Hessian in (precision, shift)."""
    precision, shift = at
    rows = _rows(intervals, precision, shift)
    # The limits themselves, from their standardised places: exact enough, and 0 where there is
    # none.
    narrow = rows.narrow
    z = rows.z
    value = np.where(narrow, (z + shift) / precision, 0.0)
    low, high = (rows.lower + shift) / precision, (rows.upper + shift) / precision
    at_low, at_high = rows.density_lower, rows.density_upper
    d_precision = np.where(narrow, 1 / precision - z * value, at_high * high - at_low * low)
    d_shift = np.where(narrow, z, at_low - at_high)
    bend_low = rows.lower * at_low - at_low**2
    bend_high = -rows.upper * at_high - at_high**2
    both = at_low * at_high
    pp = np.where(
        narrow,
        -(value**2) - 1 / precision**2,
        bend_high * high**2 + 2 * both * high * low + bend_low * low**2,
    )
    ps = np.where(narrow, value, -(bend_high * high + both * (high + low) + bend_low * low))
    ss = np.where(narrow, -1.0, bend_high + 2 * both + bend_low)
    gradient = np.array([weight @ d_precision, weight @ d_shift])
    hessian = np.array([[weight @ pp, weight @ ps], [weight @ ps, weight @ ss]])
    return float(weight @ rows.log_likelihood), gradient, hessian
