"""What kernels make of `min` and `max`, which are instructions there, is what Python does."""

import math
import struct
from itertools import product

import numpy as np
import pytest

from marginwood._core.jit import inner, kernel

NUMBERS = (-1.0, -0.0, 0.0, 1.0, math.inf, math.nan)


@inner
def least(a, b):
    return min(a, b)


@kernel
def extremes(a, b):
    return least(a, b), max(a, b)


def bits(numbers):
    """What tells zeros of different signs apart, and takes NaN for equal."""
    return [struct.pack("d", number) for number in numbers]


@pytest.mark.parametrize(("a", "b"), list(product(NUMBERS, NUMBERS)))
def test_min_and_max_follow_the_rules_of_python(a, b):
    assert bits(extremes(a, b)) == bits((min(a, b), max(a, b)))


def test_min_and_max_of_two_types_are_of_the_wider_one():
    assert extremes(np.int64(3), 2.5) == (2.5, 3.0)
    assert extremes(np.int32(-3), np.int64(2**40)) == (-3, 2**40)
