"""Which candidate is chosen: the best one, or the simplest that is about as good."""

import numpy as np
import pytest

from marginwood._tuning.selection import select


def chosen(means, complexity, rule, *, n_folds=5, deviation=0.0):
    means = np.array(means, dtype=float)
    return select(means, np.full(len(means), deviation), np.array(complexity), n_folds, rule)


def test_ties_go_to_the_simpler_candidate():
    assert chosen([-1, -0.5, -0.5, -2], [2, 9, 4, 1], "min") == 2
    rounding = -0.5 * (1 + 1e-14)
    assert chosen([-1, -0.5, rounding, -2], [2, 9, 4, 1], "min") == 2


def test_one_standard_error_takes_the_simplest_candidate_within_it():
    # Over 5 folds the standard error is std / sqrt(4): the deviation in the table divides by n, not
    # by n - 1.
    candidates = [-1.0, -0.5, -0.69, -0.71, -0.6], [2, 9, 4, 1, 4]
    assert chosen(*candidates, "min", deviation=0.4) == 1
    assert chosen(*candidates, "1se", deviation=0.4) == 4
    assert chosen(*candidates, "1se", deviation=0.4, n_folds=1) == 1


def test_an_infinite_error_is_never_within_one_standard_error():
    assert chosen([-np.inf, -1.2, -1.0], [0, 1, 2], "1se", n_folds=2, deviation=0.2) == 1


def test_a_score_that_is_not_a_number_is_never_chosen():
    assert chosen([np.nan, -3, -2], [1, 2, 3], "min") == 2


@pytest.mark.parametrize("selection", ["min", "1se"])
def test_without_any_score_the_simplest_candidate_is_chosen(selection):
    assert chosen([np.nan] * 3, [3, 1, 2], selection, deviation=np.nan) == 1
