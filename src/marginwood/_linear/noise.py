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

__all__ = ["NOISES", "Noise"]

# Beyond, the exponential of standardised noise would overflow; the likelihood is 0 long before.
LARGEST_EXPONENT = 700.0
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


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
