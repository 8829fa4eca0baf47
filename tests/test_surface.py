"""Surfaces of scores: the candidates of a search by margin and alpha."""

import numpy as np
from marginwood._tuning.surface import make_surface, surface_levels


def test_a_surface_shows_the_nearest_candidate_of_each_margin_the_best_of_ties_and_the_chosen_one():
    margin = np.array([0.0, 0, 0, 0, 0, 1, 1])
    alpha = np.array([0.0, 1, 1, 1, np.inf, 0.5, np.inf])
    score = np.array([-3.0, np.nan, -2, -1, -4, -5, -6])
    levels, nobody = surface_levels(alpha), np.zeros(7, dtype=bool)
    assert levels.tolist() == [0, 0.5, 1, np.inf]
    surface = make_surface(margin, alpha, score, nobody, levels)
    assert surface.candidates.tolist() == [[0, 3, 3, 4], [5, 5, 5, 6]]
    assert surface.chosen is None
    chosen = make_surface(margin, alpha, score, np.arange(7) == 2, levels)
    assert chosen.candidates.tolist() == [[0, 3, 2, 4], [5, 5, 5, 6]]
    assert chosen.chosen == (0, 2)
    near = make_surface(margin, alpha, score, nobody, levels, reach=1e-9)
    assert near.candidates.tolist() == [[0, -1, 3, 4], [-1, 5, -1, 6]]


def test_a_surface_of_many_alphas_keeps_both_ends_and_subnormal_numbers():
    alpha = np.concatenate([[0.0, np.inf], np.geomspace(5e-324, 1e300, 500)])
    levels = surface_levels(alpha)
    assert len(levels) <= 42
    assert levels[[0, 1, -2, -1]].tolist() == [0, 5e-324, 1e300, np.inf]
    surface = make_surface(np.zeros(502), alpha, -alpha, alpha == 5e-324, levels)
    np.testing.assert_array_equal(alpha[surface.candidates[0, [0, 1, -2, -1]]], levels[[0, 1, -2, -1]])
