"""Distributions of noise around a linear prediction: normal, logistic, and that of the smallest of many values.

The noise of a logarithm of time is normal if the times are log-normal, logistic if they are
log-logistic, and Gumbel's if they are Weibull's. All are log-concave, so likelihoods of intervals
have one maximum.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import log_expit, log_ndtr, ndtri

from marginwood.intervals import FloatArray

__all__ = ["NOISES", "Noise", "make_steps"]

# Beyond, the exponential of standardised noise would overflow; the likelihood is 0 long before.
LARGEST_EXPONENT = 700.0
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
# The distribution of noise in steps: so many of one width between quantiles of so small shares. A
# probability is then off by less than 1e-4. Beyond, each step is wider than the one before, up to
# where next to nothing is left: there the exponential of noise may still matter to a mean.
N_STEPS = 400
TAIL = 1e-6
GROWTH = 1.05 ** np.arange(1, 150)
LEAST_LOG = np.log(1e-300)


class Noise(Protocol):
    """Standardised noise; everything in logarithms, so that tails keep their digits."""

    def log_cdf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of at most z."""

    def log_sf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of more than z."""

    def log_density(self, z: FloatArray) -> FloatArray:
        """Logarithm of the density."""

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the logarithm of the density."""

    def quantile(self, q: FloatArray) -> FloatArray:
        """The value that a share q does not exceed."""


class Normal:
    """The normal distribution."""

    def log_cdf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of at most z."""
        return log_ndtr(z)

    def log_sf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of more than z."""
        return log_ndtr(-z)

    def log_density(self, z: FloatArray) -> FloatArray:
        """Logarithm of the density."""
        return -0.5 * z * z - HALF_LOG_2PI

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the logarithm of the density."""
        return -z, np.full_like(z, -1.0)

    def quantile(self, q: FloatArray) -> FloatArray:
        """The value that a share q does not exceed."""
        return ndtri(q)


class Logistic:
    """The logistic distribution."""

    def log_cdf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of at most z."""
        return log_expit(z)

    def log_sf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of more than z."""
        return log_expit(-z)

    def log_density(self, z: FloatArray) -> FloatArray:
        """Logarithm of the density."""
        return log_expit(z) + log_expit(-z)

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the logarithm of the density."""
        return -np.tanh(z / 2), -2 * np.exp(self.log_density(z))

    def quantile(self, q: FloatArray) -> FloatArray:
        """The value that a share q does not exceed."""
        return np.log(q) - np.log1p(-q)


class Gumbel:
    """Gumbel's distribution of the smallest of many values."""

    def log_cdf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of at most z."""
        hazard = self._hazard(z)
        # For a small hazard it is the hazard itself, of which the logarithm is z.
        return np.where(z < -LARGEST_EXPONENT, z, np.log(-np.expm1(-hazard)))

    def log_sf(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability of more than z."""
        return -self._hazard(z)

    def log_density(self, z: FloatArray) -> FloatArray:
        """Logarithm of the density."""
        return z - self._hazard(z)

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the logarithm of the density."""
        hazard = self._hazard(z)
        return 1 - hazard, -hazard

    def quantile(self, q: FloatArray) -> FloatArray:
        """The value that a share q does not exceed."""
        return np.log(-np.log1p(-q))

    @staticmethod
    def _hazard(z: FloatArray) -> FloatArray:
        return np.exp(np.clip(z, -LARGEST_EXPONENT, LARGEST_EXPONENT))


NOISES: dict[str, Noise] = {"normal": Normal(), "logistic": Logistic(), "gumbel": Gumbel()}


def make_steps(noise: Noise) -> tuple[FloatArray, FloatArray]:
    """Edges of steps, and the probabilities between them."""
    low, high = noise.quantile(np.array([TAIL, 1 - TAIL]))
    edges = np.linspace(low, high, N_STEPS + 1)
    beyond = np.cumsum((edges[1] - edges[0]) * GROWTH)
    edges = np.concatenate([edges[0] - beyond[::-1], edges, edges[-1] + beyond])
    edges = edges[np.minimum(noise.log_cdf(edges), noise.log_sf(edges)) > LEAST_LOG]
    # Differences of the smaller tail, so that small probabilities keep their digits.
    below, above = np.exp(noise.log_cdf(edges)), np.exp(noise.log_sf(edges))
    return edges, np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
