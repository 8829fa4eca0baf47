"""A journal survives its process, and belongs to one set of data and parameters."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from marginwood import MaxMarginIntervalTreeCV
from marginwood._tuning.journal import Journal, digest
from marginwood.datasets import make_sine
from marginwood.metrics import SCORERS

HEADER = {"X": "abc", "margins": [0.0, 0.1]}
PIECE = {"tree": 1, "scores": [0.1, 1 / 3, float("inf")]}


def write(path, *pieces):
    with Journal(path, HEADER) as journal:
        for piece in pieces:
            journal.append(piece)


def read(path):
    with Journal(path, HEADER) as journal:
        return journal.pieces


def test_pieces_come_back_bit_for_bit(tmp_path):
    write(tmp_path / "journal", PIECE)
    write(tmp_path / "journal", {"tree": 2})
    assert read(tmp_path / "journal") == [PIECE, {"tree": 2}]


def test_a_journal_cut_anywhere_keeps_its_whole_lines(tmp_path):
    path = tmp_path / "journal"
    write(path, PIECE, {"tree": 2})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        n_pieces = max(whole[:length].count(b"\n") - 1, 0)
        assert read(path) == [PIECE, {"tree": 2}][:n_pieces]
        write(path, {"tree": 3})
        assert read(path) == [*[PIECE, {"tree": 2}][:n_pieces], {"tree": 3}]


def test_a_journal_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "journal"
    write(path, PIECE)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"other data or parameters: margins differ"):
        Journal(path, {**HEADER, "margins": [0.5]})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"lower,upper\n1,2\n", b"notes", b"[1, 2]\n", b"\x00\xff\n"])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a journal"):
        Journal(path, HEADER)
    assert path.read_bytes() == content


def test_a_damaged_journal_is_refused(tmp_path):
    path = tmp_path / "journal"
    write(path, PIECE, {"tree": 2})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{half\n" + lines[2])
    with pytest.raises(ValueError, match="damaged"):
        Journal(path, HEADER)


def test_a_digest_tells_values_shapes_and_types_apart():
    arrays = [np.arange(4.0), np.arange(4), np.arange(4.0).reshape(2, 2), np.arange(1, 5.0), np.empty(0)]
    assert len({digest(array) for array in arrays}) == len(arrays)
    assert digest(np.arange(4.0)) == digest(np.arange(8.0)[::2] / 2)


SEARCH = """
import os, signal, sys, threading
import numpy as np
from marginwood import MaxMarginIntervalTreeCV
from marginwood.datasets import make_sine
from marginwood.metrics import SCORERS

path, stop_at, how, n_jobs = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
lock, calls = threading.Lock(), 0

def scorer(estimator, X, y):
    global calls
    with lock:
        calls += 1
        stop = calls == stop_at
    if stop:
        os.kill(os.getpid(), getattr(signal, how))
        threading.Event().wait()  # a piece that never ends
    return SCORERS["neg_interval_mean_squared_error"](estimator, X, y)

X, y = make_sine(40, 2, random_state=0)
print("ready", flush=True)
MaxMarginIntervalTreeCV(n_margins=3, cv=3, scoring=scorer, n_jobs=n_jobs, checkpoint=path).fit(X, y)
"""


def run_and_stop(path, stop_at, how, n_jobs):
    """Run a search in a process that is stopped in the middle of a piece."""
    command = [sys.executable, "-c", SEARCH, str(path), str(stop_at), how, str(n_jobs)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def scorer(estimator, X, y):
    scorer.pieces.add((estimator.loss, estimator.margin, len(y), digest(X)))
    return SCORERS["neg_interval_mean_squared_error"](estimator, X, y)


def search(path=None):
    scorer.pieces = set()
    X, y = make_sine(40, 2, random_state=0)
    return MaxMarginIntervalTreeCV(n_margins=3, cv=3, scoring=scorer, checkpoint=path).fit(X, y)


def same(first, second):
    assert first.best_params_ == second.best_params_
    assert (first.best_estimator_.tree_.nodes == second.best_estimator_.tree_.nodes).all()
    for name, column in first.cv_results_.items():
        np.testing.assert_array_equal(second.cv_results_[name], column)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize(("stop_at", "n_jobs"), [(1, 1), (60, 1), (100, 2)])
def test_a_killed_search_goes_on_where_it_stopped(tmp_path, stop_at, n_jobs):
    path = tmp_path / "journal"
    process = run_and_stop(path, stop_at, "SIGKILL", n_jobs)
    assert process.returncode == -signal.SIGKILL, process.stderr
    n_done = len(path.read_bytes().splitlines()) - 1
    assert 6 <= n_done < 24
    with path.open("ab") as file:  # a line that was being written
        file.write(b'{"tree": 5, "fold": 3, "alph')
    before = path.read_bytes()
    resumed = search(path)
    assert path.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert len(scorer.pieces) == 24 - n_done
    same(search(), resumed)


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself are different there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_is_heard_while_a_piece_never_ends(tmp_path, n_jobs):
    path = tmp_path / "journal"
    process = run_and_stop(path, 60, "SIGINT", n_jobs)
    assert "KeyboardInterrupt" in process.stderr
    assert process.returncode != 0
    assert path.read_bytes().endswith(b"\n")
    same(search(), search(path))


def test_a_finished_search_is_not_done_again(tmp_path):
    first = search(tmp_path / "journal")
    again = search(tmp_path / "journal")
    assert not scorer.pieces
    same(first, again)


def test_another_selection_reads_the_same_journal(tmp_path):
    X, y = make_sine(40, 2, random_state=0)
    path = tmp_path / "journal"
    MaxMarginIntervalTreeCV(n_margins=3, cv=3, checkpoint=path).fit(X, y)
    before = path.read_bytes()
    model = MaxMarginIntervalTreeCV(n_margins=3, cv=3, checkpoint=path, selection="1se", n_jobs=2).fit(X, y)
    assert path.read_bytes() == before
    assert model.selection == "1se"


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"max_depth": 3}, "max_depth"),
        ({"losses": ["linear_hinge"]}, "losses"),
        ({"margins": [0.0, 0.3]}, "margins"),
        ({"cv": 4}, "cv"),
        ({"scoring": "interval_d2"}, "scoring"),
        ({"max_features": 1, "random_state": 0}, "max_features, random_state"),
    ],
)
def test_other_parameters_are_refused(tmp_path, parameters, names):
    X, y = make_sine(40, 2, random_state=0)
    base = {"n_margins": 3, "cv": 3, "checkpoint": tmp_path / "journal"}
    MaxMarginIntervalTreeCV(**base).fit(X, y)
    with pytest.raises(ValueError, match=f"other data or parameters: {names} differ"):
        MaxMarginIntervalTreeCV(**{**base, **parameters}).fit(X, y)


def test_other_data_are_refused(tmp_path):
    X, y = make_sine(40, 2, random_state=0)
    model = MaxMarginIntervalTreeCV(margins=[0.1], cv=3, checkpoint=tmp_path / "journal").fit(X, y)
    with pytest.raises(ValueError, match="parameters: X differ"):
        model.fit(X + 1, y)
    with pytest.raises(ValueError, match="parameters: sample_weight differ"):
        model.fit(X, y, np.full(40, 2.0))
