"""A journal survives its process, and belongs to one set of data and parameters."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from conftest import PATIENCE
from marginwood import (
    IntervalSearchCV,
    IntervalSuperLearner,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
)
from marginwood._resampling import journal as module
from marginwood._resampling.journal import Journal, describe, digest
from marginwood._support.threads import run_in_threads
from marginwood._version import __version__
from marginwood.datasets import make_sine
from marginwood.losses import LOSSES
from marginwood.metrics import SCORERS

HEADER = {"X": "abc", "margins": [0.0, 0.1]}
PIECE = {"tree": 1, "scores": [0.1, 1 / 3, float("inf")]}
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX systems")


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
        n_pieces = max(
            whole[:length].count(b"\n") - 2, 0
        )  # a header and the name of the run come first
        assert read(path) == [PIECE, {"tree": 2}][:n_pieces]
        write(path, {"tree": 3})
        assert read(path) == [*[PIECE, {"tree": 2}][:n_pieces], {"tree": 3}]


def test_pieces_from_many_threads_stay_whole(tmp_path):
    pieces = [{"piece": number, "scores": [1 / 3] * number} for number in range(200)]
    with Journal(tmp_path / "journal", HEADER) as journal:
        list(run_in_threads(journal.append, pieces, 8))
    assert sorted(read(tmp_path / "journal"), key=lambda piece: piece["piece"]) == pieces


def test_a_piece_that_is_finished_after_the_journal_is_dropped(tmp_path):
    with Journal(tmp_path / "journal", HEADER) as journal:
        journal.append(PIECE)
    journal.append({"tree": 2})
    assert read(tmp_path / "journal") == [PIECE]


@posix
def test_a_full_disk_is_an_error_that_names_the_file_and_loses_no_piece(tmp_path):
    code = (
        "import resource, sys\n"
        "from marginwood._resampling.journal import Journal\n"
        f"with Journal(sys.argv[1], {HEADER}) as journal:\n"
        "    journal.append({'piece': 1})\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "    try:\n"
        "        journal.append({'piece': 'x' * 2000})\n"
        "    except OSError as error:\n"
        "        print(error)\n"
        "    journal.append({'piece': 2})\n"
    )
    path = tmp_path / "journal"
    command = [sys.executable, "-c", code, path]
    process = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert process.stdout.startswith("[Errno")
    assert str(path) in process.stdout
    assert read(path) == [{"piece": 1}, {"piece": 2}]


def test_a_journal_of_another_version_is_refused_and_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    write(path, PIECE)
    before = path.read_bytes()
    monkeypatch.setattr(module, "__version__", "99.0")
    with pytest.raises(
        ValueError,
        match=f"written by marginwood {__version__}; results of marginwood 99.0 may differ",
    ):
        Journal(path, HEADER)
    assert path.read_bytes() == before


def test_two_journals_of_one_file_cannot_be_open_at_once(tmp_path):
    path = tmp_path / "journal"
    with Journal(path, HEADER) as journal:
        journal.append(PIECE)
        before = path.read_bytes()
        with pytest.raises(
            ValueError, match=f"in use by process {os.getpid()} on {socket.gethostname()}"
        ):
            Journal(path, HEADER)
        assert path.read_bytes() == before
    assert read(path) == [PIECE]


def test_a_file_that_another_program_has_locked_is_refused(tmp_path):
    path = tmp_path / "journal"
    with path.open("a+b", buffering=0) as file:
        assert module._lock_if_free(file)
        with pytest.raises(ValueError, match="in use by another process"):
            Journal(path, HEADER)
    write(path, PIECE)
    assert read(path) == [PIECE]


def test_where_nothing_can_be_locked_the_user_is_warned(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(module, "_lock_if_free", refuse)
    with pytest.warns(UserWarning, match=r"cannot be locked: No locks available. Make sure"):
        write(tmp_path / "journal", PIECE)
    with pytest.warns(UserWarning, match="cannot be locked"):
        assert read(tmp_path / "journal") == [PIECE]


def test_a_journal_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "journal"
    write(path, PIECE)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"other data or parameters: margins differ"):
        Journal(path, {**HEADER, "margins": [0.5]})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"lower,upper\n1,2\n", b"notes", b"[1, 2]\n", b"\x00\xff\n"])
def test_a_file_that_is_not_a_journal_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a journal"):
        Journal(path, HEADER)
    assert path.read_bytes() == content


@pytest.mark.parametrize("line", [b"{half", b"3"])
def test_a_damaged_journal_is_refused(tmp_path, line):
    path = tmp_path / "journal"
    write(path, PIECE, {"tree": 2})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + line + b"\n" + lines[3])
    with pytest.raises(ValueError, match="damaged"):
        Journal(path, HEADER)


def test_a_digest_tells_values_shapes_and_types_apart():
    arrays = [
        np.arange(4.0),
        np.arange(4),
        np.arange(4.0).reshape(2, 2),
        np.arange(1, 5.0),
        np.empty(0),
    ]
    assert len({digest(array) for array in arrays}) == len(arrays)
    assert digest(np.arange(4.0)) == digest(np.arange(8.0)[::2] / 2)


def test_a_digest_reads_frames_and_lists():
    frames = [pd.DataFrame({"a": [1.5, 2.0], "b": labels}) for labels in (["x", "y"], ["x", "z"])]
    assert digest(frames[0]) == digest(frames[0].copy()) != digest(frames[1])
    plain = [{"margin": 0.1}, {"margin": 0.2}]
    assert digest(plain) == digest([dict(part) for part in plain]) != digest(plain[:1])


def scaled_by(factor):
    return lambda x: factor * x


class Opaque:
    def __init__(self, inside):
        self.inside = inside


MANY = np.arange(3000.0)
ALIKE = {
    "arrays": [MANY, np.where(MANY == 1500, -1, MANY), MANY.astype(int), MANY.reshape(2, -1)],
    "sparse matrices": [csr_array(MANY), csr_array(np.where(MANY == 1500, -1, MANY))],
    "functions": [lambda x: x + 1, lambda x: x + 2, lambda x: x.real, lambda x, y=1: x + y],
    "functions inside": [lambda x: [a + 1 for a in x], lambda x: [a - 1 for a in x]],
    "closures": [scaled_by(2), scaled_by(3)],
    "parts of functions": [partial(pow, 2), partial(pow, 3), partial(pow, exp=2)],
    "methods": [Opaque(1).__eq__, "x".__eq__],
    "objects": [Opaque(1), Opaque(2)],
    "generators": [np.random.RandomState(0), np.random.RandomState(1)],
    "estimators in lists": [[("a", KFold(2))], [("a", KFold(3))]],
    "counts and shares": [1, 1.0, True],
    "sets": [{1, 2}, {1, 3}],
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_would_be_printed_alike_is_told_apart_and_json_holds_it(name):
    told = [json.dumps(describe({"func": value})) for value in ALIKE[name]]
    assert len(set(told)) == len(told)


def test_the_same_is_told_alike():
    for first, second in [
        (lambda x: x + 1, lambda x: x + 1),
        (scaled_by(2), scaled_by(2)),
        (Opaque(MANY), Opaque(MANY.copy())),
        (np.random.RandomState(5), np.random.RandomState(5)),
        ({"a", "b", "c"}, {"c", "b", "a"}),
    ]:
        names = [json.dumps(describe(value)) for value in (first, second)]
        assert names[0] == names[1]


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(
        TypeError, match=r"checkpoint: expected parameters that can be told .*Opaque"
    ):
        describe(Opaque(lambda x: x))


@pytest.mark.filterwarnings("ignore:checkpoint. the model")  # a file holds no functions
def test_a_function_of_a_model_that_is_another_is_noticed(tmp_path):
    X, y = make_sine(40, 2, random_state=0)

    def learn(func):
        tree = TransformedIntervalRegressor(
            MaxMarginIntervalTree(max_depth=2), func=func, inverse_func=scaled_by(1.0)
        )
        path = tmp_path / "pieces"
        return IntervalSuperLearner([("tree", tree)], random_state=0, checkpoint=path).fit(X, y)

    learn(lambda x: x * 1.0)
    learn(lambda x: x * 1.0)
    with pytest.raises(ValueError, match=r"checkpoint: .*models differ"):
        learn(lambda x: x * 2.0)


# A search whose scorer stops in the middle of a piece. The calling thread may get stuck when it
# hears of the first finished piece: threads that work must not depend on it.
SEARCH = """
import json, logging, os, signal, sys, threading
from marginwood import IntervalSearchCV
from marginwood._resampling.journal import digest
from marginwood.datasets import make_sine
from marginwood.losses import LOSSES
from marginwood.metrics import SCORERS

path, stop_at, how, n_jobs, is_stuck = json.loads(sys.argv[1])
lock, calls, begun = threading.Lock(), 0, set()

class Stuck(logging.Handler):
    def emit(self, record):
        threading.Event().wait()

def scorer(estimator, X, y):
    global calls
    with lock:
        calls += 1
        begun.add((estimator.loss, estimator.margin, digest(X)))
        if calls == stop_at:
            print(json.dumps(sorted(begun)), flush=True)
            if how:
                os.kill(os.getpid(), getattr(signal, how))
            stop = True
        else:
            stop = calls > stop_at
    if stop:
        threading.Event().wait()  # a piece that never ends
    return SCORERS["neg_interval_mean_squared_error"](estimator, X, y)

class Named:
    __call__ = staticmethod(scorer)

    def __repr__(self):
        return "scorer"

if is_stuck:
    logging.getLogger("marginwood").addHandler(Stuck())
    logging.getLogger("marginwood").setLevel(logging.INFO)
X, y = make_sine(40, 2, random_state=0)
options = {"cv": 3, "scoring": Named(), "checkpoint": path, "verbose": 1}
IntervalSearchCV(None, {"loss": LOSSES, "margin": 3}, **options, n_jobs=n_jobs).fit(X, y)
"""


@contextmanager
def stopped_search(path, stop_at, how=None, n_jobs=1, *, is_stuck=False):
    """A search in a process of its own that stops in a piece, and the pieces that it had begun to score."""
    arguments = json.dumps([str(path), stop_at, how, n_jobs, is_stuck])
    command = [sys.executable, "-c", SEARCH, arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield process, {tuple(piece) for piece in json.loads(line)}
        finally:
            watchdog.cancel()
            process.kill()


def scorer(estimator, X, y):
    scorer.pieces.add((estimator.loss, estimator.margin, digest(X)))
    return SCORERS["neg_interval_mean_squared_error"](estimator, X, y)


class Named:
    """A scorer that is known by its name: it is written otherwise in the process above."""

    __call__ = staticmethod(scorer)

    def __repr__(self):
        return "scorer"


def search(path=None):
    scorer.pieces = set()
    X, y = make_sine(40, 2, random_state=0)
    return IntervalSearchCV(
        MaxMarginIntervalTree(),
        {"loss": LOSSES, "margin": 3},
        cv=3,
        scoring=Named(),
        checkpoint=path,
    ).fit(X, y)


def same(first, second):
    assert first.best_params_ == second.best_params_
    assert (first.best_estimator_.tree_.nodes == second.best_estimator_.tree_.nodes).all()
    for name, column in first.cv_results_.items():
        np.testing.assert_array_equal(second.cv_results_[name], column)


@posix
@pytest.mark.parametrize(("stop_at", "n_jobs"), [(1, 1), (60, 1), (100, 2)])
def test_a_killed_search_does_only_unfinished_pieces_again(tmp_path, stop_at, n_jobs):
    path = tmp_path / "journal"
    with stopped_search(path, stop_at, "SIGKILL", n_jobs, is_stuck=True) as (process, begun):
        assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr.read()
    with path.open("ab") as file:  # a line that was being written
        file.write(b'{"tree": 5, "fold": 3, "alph')
    before = path.read_bytes()
    resumed = search(path)
    assert path.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert 1 <= len(begun & scorer.pieces) <= n_jobs
    assert len(begun) > n_jobs or stop_at == 1
    same(search(), resumed)
    assert len(scorer.pieces) == 18
    assert begun < scorer.pieces


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_is_heard_while_a_piece_never_ends(tmp_path, n_jobs):
    path = tmp_path / "journal"
    with stopped_search(path, 60, "SIGINT", n_jobs) as (process, _):
        _, message = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in message
    assert process.returncode not in (0, -signal.SIGKILL)
    assert path.read_bytes().endswith(b"\n")
    same(search(), search(path))


def test_a_second_search_is_told_who_has_the_journal_until_that_one_is_gone(tmp_path):
    path = tmp_path / "journal"
    with stopped_search(path, 60) as (process, _):
        before = path.read_bytes()
        for _ in range(2):
            with pytest.raises(
                ValueError, match=f"in use by process {process.pid} on {socket.gethostname()}"
            ):
                search(path)
        assert not scorer.pieces
        assert path.read_bytes() == before
        process.kill()
        process.wait()
    same(search(), search(path))


def test_a_finished_search_is_not_done_again(tmp_path):
    first = search(tmp_path / "journal")
    again = search(tmp_path / "journal")
    assert not scorer.pieces
    same(first, again)


def test_another_selection_reads_the_same_journal(tmp_path):
    X, y = make_sine(40, 2, random_state=0)
    path = tmp_path / "journal"
    IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 3}, cv=3, checkpoint=path).fit(X, y)
    n_lines = len(path.read_bytes().splitlines())
    model = IntervalSearchCV(
        MaxMarginIntervalTree(), {"margin": 3}, cv=3, checkpoint=path, selection="1se", n_jobs=2
    ).fit(X, y)
    assert len(path.read_bytes().splitlines()) == n_lines + 1  # the name of the second run
    assert model.selection == "1se"


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"estimator__max_depth": 3}, "max_depth"),
        ({"grid": {"margin": 3, "loss": ["linear_hinge"]}}, "grid"),
        ({"grid": {"margin": [0.0, 0.3]}}, "grid"),
        ({"cv": 4}, "cv"),
        ({"scoring": "interval_d2"}, "scoring"),
        ({"estimator__max_features": 1, "random_state": 0}, "max_features, random_state"),
    ],
)
def test_other_parameters_are_refused(tmp_path, parameters, names):
    X, y = make_sine(40, 2, random_state=0)
    search = IntervalSearchCV(
        MaxMarginIntervalTree(), {"margin": 3}, cv=3, checkpoint=tmp_path / "journal"
    ).fit(X, y)
    search.set_params(**parameters)
    with pytest.raises(ValueError, match=f"other data or parameters: {names} differ"):
        search.fit(X, y)


def test_other_data_are_refused(tmp_path):
    X, y = make_sine(40, 2, random_state=0)
    model = IntervalSearchCV(
        MaxMarginIntervalTree(), {"margin": [0.1]}, cv=3, checkpoint=tmp_path / "journal"
    ).fit(X, y)
    with pytest.raises(ValueError, match="parameters: X differ"):
        model.fit(X + 1, y)
    with pytest.raises(ValueError, match="parameters: sample_weight differ"):
        model.fit(X, y, np.full(40, 2.0))
