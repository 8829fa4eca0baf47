"""Test-wide settings that must be in place before matplotlib is imported, and the command line within this process."""

import logging
import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest
from hypothesis import HealthCheck, settings

os.environ["MPLBACKEND"] = "Agg"

# Seconds after which a wait for another process or thread is given up: longer than any machine
# needs.
PATIENCE = 600

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that. With a
# handler of its own this process hands its children the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without JIT a kernel is about a hundred times slower.
N_EXAMPLES = 10 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 100
# A busy machine is no failure.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("repeatable", derandomize=True, max_examples=N_EXAMPLES, **PATIENT)
# New examples for every seed: tools/nightly.py.
settings.register_profile("nightly", derandomize=False, max_examples=10 * N_EXAMPLES, **PATIENT)
settings.load_profile("repeatable")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Compile the kernels once, before several processes all start by doing so."""
    subprocess.run([sys.executable, "-m", "marginwood", "warmup"], check=True)


@pytest.fixture(autouse=True)
def _no_thread_outlives_its_test():
    """A thread that nobody waits for any more, after Ctrl-C say, would work in the midst of another test."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name == "marginwood":
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a thread of this test never ends"


@pytest.fixture(autouse=True)
def _close_figures():
    """Which tests share a process is chance, and matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def call(capsys, monkeypatch):
    """Run a command in this process: exit code, stdout and stderr, for what needs no process of its own."""
    from marginwood._cli.main import main

    log = logging.getLogger("marginwood")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    handlers, level = list(log.handlers), log.level

    def call_main(*words):
        with warnings.catch_warnings():
            try:
                code = main([str(word) for word in words])
            except SystemExit as end:
                code = end.code
        return code, *capsys.readouterr()

    yield call_main
    log.handlers[:] = handlers
    log.setLevel(level)
