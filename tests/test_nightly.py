"""The nightly run: every fuzzer has a turn, and what fails is printed as the command that repeats it."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tools import nightly
from tools.nightly import WORKS, Failure, Found

from conftest import N_EXAMPLES

TESTS = Path(__file__).parent
posix = pytest.mark.skipif(os.name != "posix", reason="cases run in forked children")

# Case 3 is wrong, and case 7 ends the process.
FUZZER = """
import os, signal

def check_case(case):
    assert case != 3, "three is wrong"
    if case == 7:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_a_wrong_case_and_one_that_crashes_are_known_by_number_and_end_nothing(
    tmp_path, monkeypatch
):
    (tmp_path / "fuzz_of_a_test.py").write_text(FUZZER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(nightly, "SECONDS_PER_CASE", 10)
    found = nightly.numbered("mine", "fuzz_of_a_test").run(0, 1e-9)
    assert found == Found(0, [])  # no time, no case
    clock = iter([0.0, 0.0, 2.0])  # the start, before the first batch, and after it
    monkeypatch.setattr(nightly.time, "monotonic", lambda: next(clock))
    n_cases, failures = nightly.numbered("mine", "fuzz_of_a_test").run(0, 1.0)
    assert n_cases == 25
    commands = [f"python -m tools.nightly --works mine --case {case}" for case in (3, 7)]
    assert [failure.command for failure in failures] == commands
    assert "three is wrong" in failures[0].what
    assert "status 9" in failures[1].what


@pytest.mark.parametrize("module", sorted(path.stem for path in TESTS.glob("fuzz*.py")))
def test_every_fuzzer_has_a_turn(module):
    assert f'"{module}"' in Path(nightly.__file__).read_text()


def test_every_property_has_a_turn_and_none_two_of_them():
    works = nightly.CATEGORIES + nightly.DISTRIBUTIONS + nightly.SCORES
    assert len(set(works)) == len(works)
    assert set(works) <= set(nightly.ALL)
    assert {*works, *nightly.OTHERS} == set(nightly.ALL)
    assert "nightly" not in nightly.ALL  # which holds a property as text only


def test_properties_are_tried_with_more_examples_than_in_a_run_of_the_tests():
    found = nightly.try_properties("tests/test_notation.py", 1, {})
    assert found.failures == []
    assert found.n_cases >= 10 * N_EXAMPLES


PROPERTY = """
from hypothesis import given, strategies

drawn = []

@given(strategies.integers())
def check(number):
    drawn.append(number)

def test_draws():
    check()
    print("drawn:", drawn)
"""


def test_the_nightly_profile_draws_by_the_seed_and_that_of_every_day_does_not(tmp_path):
    (tmp_path / "test_drawing.py").write_text(PROPERTY)
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())

    def draws(profile, seed):
        options = [f"--hypothesis-profile={profile}", f"--hypothesis-seed={seed}"]
        words = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *options]
        run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        return run.stdout.partition("drawn:")[2].splitlines()[0]

    assert draws("nightly", 1) == draws("nightly", 1) != draws("nightly", 2)
    assert draws("repeatable", 1) == draws("repeatable", 2)


def answer(monkeypatch, stdout, returncode=1):
    """Let every other process answer this; the words that it was given are kept."""
    given = []

    def run_python(words, **_):
        given.append(words)
        return subprocess.CompletedProcess(words, returncode, stdout, "")

    monkeypatch.setattr(nightly, "run_python", run_python)
    return given


def test_a_property_that_fails_is_repeated_by_its_name_and_seed(monkeypatch):
    failed = "tests/test_x.py::test_y[a - 'b']"
    answer(
        monkeypatch,
        f"  - 12 passing, 0 failing\nFAILED {failed} - AssertionError: 1 - 1\nERROR tests/test_z.py\n",
    )
    found = nightly.try_properties("tests/test_x.py", 5, {"NUMBA_BOUNDSCHECK": "1"})
    assert found.n_cases == 12
    words = [shlex.split(failure.command) for failure in found.failures]
    options = ["-m", "hypothesis", "--hypothesis-profile=nightly", "--hypothesis-seed=5"]
    expected = ["NUMBA_BOUNDSCHECK=1", "python", "-m", "pytest", *options]
    assert words == [[*expected, failed], [*expected, "tests/test_z.py"]]


def test_a_module_of_tests_that_crashes_is_repeated_as_a_whole(monkeypatch):
    answer(monkeypatch, "", -11)
    (failure,) = nightly.try_properties("tests/test_x.py", 5, {}).failures
    assert failure.command.endswith("--hypothesis-seed=5 tests/test_x.py")
    assert "status -11" in failure.what


def test_a_mutation_that_fails_is_repeated_by_its_number(monkeypatch):
    given = answer(monkeypatch, "case 13: ValueError: x | y\n2000 cases, 1 failures\n")
    clock = iter([0.0, 0.0, 2.0])
    monkeypatch.setattr(nightly.time, "monotonic", lambda: next(clock))
    found = nightly.mutated("--boosters").run(10, 1.0)
    again = "python -m tests.mutations --boosters --cases 1 --first 13"
    assert found == Found(2000, [Failure(again, "ValueError: x | y")])
    assert given == [["-m", "tests.mutations", "--boosters", "--cases", "2000", "--first", "10"]]


def test_a_turn_that_ends_by_a_signal_is_a_failure(monkeypatch):
    answer(monkeypatch, "", -9)
    (failure,) = nightly.take_turn("trees", 4, 60.0).failures
    assert failure.command == "python -m tools.nightly --works trees --seed 4 --seconds 60"


def test_works_take_turns_with_new_seeds_and_the_summary_adds_up(monkeypatch, tmp_path, capsys):
    turns = []

    def take_turn(name, seed, seconds):
        turns.append((name, seed, seconds))
        clock[0] += 1800.0
        return Found(10, [Failure("python -m again", "wrong")] if name == "b" else [])

    clock = [0.0]
    monkeypatch.setattr(nightly.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(nightly, "take_turn", take_turn)
    assert nightly.run_all(["a", "b"], 2.0, 7, tmp_path)
    assert [name for name, _, _ in turns] == ["a", "b", "a", "b"]
    assert len({seed for _, seed, _ in turns}) == 4
    assert {seconds for _, _, seconds in turns} == {600}
    text, found = (
        (tmp_path / "summary.txt").read_text(),
        json.loads((tmp_path / "summary.json").read_text()),
    )
    assert text.startswith("40 cases in 2.0 hours, 2 failures\n")
    assert text.count("python -m again") == 2
    assert found["seed"] == "7"
    assert found["works"]["a"] == {"cases": 20, "seconds": 3600, "failures": []}
    assert len(found["works"]["b"]["failures"]) == 2
    assert "python -m again" in capsys.readouterr().out


@posix
def test_one_case_is_run_again_by_its_command():
    words = [sys.executable, "-m", "tools.nightly", "--works", "trees", "--case", "5"]
    subprocess.run(words, cwd=TESTS.parent, check=True)


def test_a_work_without_numbers_says_so():
    assert WORKS["files"].check is None
    words = [sys.executable, "-m", "tools.nightly", "--works", "files", "--case", "5"]
    run = subprocess.run(words, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "--case: files has no numbers" in run.stderr
