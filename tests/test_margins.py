"""Margins worth trying: from the smallest gap between limits to their range."""

import numpy as np
import pytest

from marginwood import from_detection_limits
from marginwood.model_selection import margin_grid


def test_the_grid_of_margins_goes_from_the_smallest_gap_to_the_range():
    inf = np.inf
    grid = margin_grid([(0.0, 0.5), (-inf, 8.0), (3.0, inf), (8.0, 8.0)], 9)
    assert grid[0] == 0
    assert grid[1] == pytest.approx(0.5)
    assert grid[-1] == pytest.approx(8.0)
    np.testing.assert_allclose(np.diff(np.log(grid[1:])), np.log(16) / 7)
    assert len(grid) == 9


def test_a_tiny_gap_does_not_stretch_the_grid():
    assert margin_grid([0.0, 1e-12, 10.0])[1] == pytest.approx(0.01)
    assert margin_grid([0.0, 1.0], 1).tolist() == [0.0]
    assert len(margin_grid([0.0, 1.0, 2.5])) == 21


def test_equal_limits_leave_no_margin():
    assert margin_grid([(2.5, np.inf), (2.5, 2.5)]).tolist() == [0.0]
    assert margin_grid(from_detection_limits(["<2.5", "2.5", "≥2.5"])).tolist() == [0.0]
    assert margin_grid(from_detection_limits(["<0", "0", "≥0"])).tolist() == [0.0]


def test_which_ends_belong_to_intervals_makes_no_difference():
    y = from_detection_limits(["<1", "1", "≥1", "7", "<3", "3"])
    np.testing.assert_allclose(margin_grid(y, 5), margin_grid(y.round(), 5), rtol=1e-12)
