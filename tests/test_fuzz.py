"""The fuzzer: its oracle against the brute force, its first cases, and what it says about a wrong number."""

import numpy as np
import pytest

import fuzz
import reference


@pytest.mark.parametrize("case", range(60))
def test_the_oracle_of_the_fuzzer_agrees_with_brute_force(case):
    limits = [limit for row in fuzz.limits_of(fuzz.draw_problem(case)) for limit in row]
    for loss, power in fuzz.POWERS.items():
        found = fuzz.best_of(limits, power)
        literal = [reference.Limit(k.at * fuzz.UNIT, k.sign < 0, k.weight * fuzz.UNIT) for k in limits]
        expected = reference.minimum(literal, loss)
        assert (found.cost, found.low, found.high) == expected


@pytest.mark.parametrize("case", range(40))
def test_the_first_cases_hold(case):
    fuzz.check_case(case)


def test_light_limits_do_not_lead_a_sweep_to_limits_out_of_reach():
    # A weight of 1e-20 is all that is active on the left of the best split, after heavier limits have left the sums;
    # other limits lie a billion away.
    fuzz.check_tree(fuzz.draw_problem(40014152), by_descent=False)


def test_cases_repeat():
    for first, second in zip(fuzz.draw_problem(7), fuzz.draw_problem(7), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_wrong_cost_ends_the_run_with_the_command_that_repeats_it(monkeypatch):
    monkeypatch.setattr(fuzz, "optimal_constant", lambda _, **__: fuzz.optimal_costs([0.0], [1.0]))
    monkeypatch.setattr("sys.argv", ["fuzz", "--minutes", "1", "--first", "3"])
    with pytest.raises(SystemExit, match=r"python -m tests\.fuzz --case 3"):
        fuzz.main()
