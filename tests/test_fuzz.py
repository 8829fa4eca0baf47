"""The fuzzers: their first cases, the oracle of the exact one against the brute force, and what they find."""

import numpy as np
import pytest

import fuzz
import fuzz_commands
import fuzz_coverage
import fuzz_threads
import reference
from marginwood import ConformalIntervalRegressor


@pytest.mark.parametrize("case", range(60))
def test_the_oracle_of_the_fuzzer_agrees_with_brute_force(case):
    limits = [limit for row in fuzz.limits_of(fuzz.draw_problem(case)) for limit in row]
    for loss, power in fuzz.POWERS.items():
        found = fuzz.best_of(limits, power)
        literal = [
            reference.Limit(k.at * fuzz.UNIT, k.sign < 0, k.weight * fuzz.UNIT) for k in limits
        ]
        expected = reference.minimum(literal, loss)
        assert (found.cost, found.low, found.high) == expected


@pytest.mark.parametrize("case", range(40))
def test_the_first_cases_hold(case):
    fuzz.check_case(case)


def test_light_limits_do_not_lead_a_sweep_to_limits_out_of_reach():
    # A weight of 1e-20 is all that is active on the left of the best split, after heavier limits
    # have left the sums; other limits lie a billion away.
    fuzz.check_tree(fuzz.draw_problem(40014152)._replace(quantile=0.5), by_descent=False)


def test_cases_repeat():
    for first, second in zip(fuzz.draw_problem(7), fuzz.draw_problem(7), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_wrong_cost_is_found(monkeypatch):
    right = fuzz.optimal_constant
    monkeypatch.setattr(
        fuzz,
        "optimal_constant",
        lambda *args, **options: right(*args, **options)._replace(cost=1e9),
    )
    with pytest.raises(AssertionError, match=r"constant: cost 1000000000.0, right is"):
        fuzz.check_case(3)


@pytest.mark.parametrize("case", range(40))
def test_the_first_commands_do_what_they_are_told_or_say_why_not(case):
    fuzz_commands.check_case(case)


def test_a_command_that_ends_by_an_error_that_nobody_thought_of_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(
        fuzz_commands,
        "call",
        lambda _: (1, "", "marginwood: error: KeyError (--debug shows where)\n"),
    )
    with pytest.raises(AssertionError, match="KeyError"):
        fuzz_commands.check_command(["fit"], tmp_path)


def test_a_file_that_a_failed_command_leaves_is_found(monkeypatch, tmp_path):
    def fail(_):
        (tmp_path / ".half").touch()
        return 1, "", "marginwood: error: no luck\n"

    monkeypatch.setattr(fuzz_commands, "call", fail)
    with pytest.raises(AssertionError, match="no luck"):
        fuzz_commands.check_command(["fit"], tmp_path)


@pytest.mark.parametrize("case", range(4))
def test_the_first_populations_are_covered(case):
    fuzz_coverage.check_case(case)


def test_ranges_that_are_too_narrow_are_found(monkeypatch):
    predict = ConformalIntervalRegressor.predict_interval
    monkeypatch.setattr(
        ConformalIntervalRegressor, "predict_interval", lambda self, X: predict(self, X, 0.1)
    )
    monkeypatch.setattr(fuzz_coverage, "promised_share", lambda *_: 0.9)
    with pytest.raises(AssertionError, match=r"of the promises are kept, not 0.900"):
        fuzz_coverage.check_case(0)


@pytest.mark.parametrize("case", range(8))
def test_the_first_models_are_the_same_in_threads(case):
    fuzz_threads.check_case(case)


def test_a_model_that_threads_change_is_found(monkeypatch):
    numbers = iter(range(100))
    monkeypatch.setattr(fuzz_threads, "said", lambda *_: next(numbers))
    with pytest.raises(AssertionError):
        fuzz_threads.check_case(0)
