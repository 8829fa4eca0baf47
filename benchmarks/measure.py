"""Timing in this process, and what must be measured in a fresh one: start-up and peak memory."""

import gc
import os
import pickle
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

FIRST_FIT = """
from time import perf_counter
import numpy as np
from marginwood import MaxMarginIntervalTree
rng = np.random.default_rng(0)
X, y = rng.normal(size=(1000, 5)), rng.normal(size=(1000, 2))
y.sort(axis=1)
start = perf_counter()
MaxMarginIntervalTree(margin=0.1, max_depth=5).fit(X, y)
print(perf_counter() - start)
"""

# scikit-learn's own modules, and what they import, are loaded before the clock starts.
IMPORT = """
import sklearn.base, sklearn.metrics, sklearn.tree, sklearn.utils.validation
from time import perf_counter
start = perf_counter()
import marginwood
print(perf_counter() - start)
"""

# The high-water mark of the resident set during the fit, minus the resident set when it starts,
# kernels and data loaded. Linux keeps both in /proc and resets the mark on request. Elsewhere the
# mark of getrusage must do, in kilobytes, on macOS in bytes; not on Linux, where a process inherits
# the mark of its parent.
PEAK_MEMORY = """
import pickle, resource, sys
import numpy as np
folder = sys.argv[1]
with open(folder + "/model.pickle", "rb") as file:
    model = pickle.load(file)
def resident(mark):
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(mark))
model.fit(np.arange(4.0)[:, None], np.arange(8.0).reshape(4, 2))
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")
if sys.platform == "linux":
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
before = resident("VmRSS")
model.fit(X, y)
tables = sum(tree.tree_.nodes.nbytes for tree in getattr(model, "estimators_", []))
print(resident("VmHWM") - before - tables)
"""


def best_times(tasks, repeats, clock=perf_counter):
    """Seconds of each task, the best of several, run in turns (A B A B ...) so that all meet the same machine."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            gc.collect()
            start = clock()
            task()
            best[name] = min(best[name], clock() - start)
    return best


def _run(script, *arguments, cache=None):
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    finished = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(finished.stdout)


def first_fit_times(repeats):
    """Seconds of the first fit of a process, with an empty kernel cache and with a filled one."""
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(_run(FIRST_FIT, cache=cache))
            warm.append(_run(FIRST_FIT, cache=cache))
    return min(cold), min(warm)


def import_time(repeats):
    """Seconds of ``import marginwood`` beyond scikit-learn's own import."""
    return min(_run(IMPORT) for _ in range(repeats))


@cache
def _fill_cache():
    """Compile the kernels of a fit, or read them: that takes more memory than fitting."""
    _run(FIRST_FIT)


def peak_memory(problem, model):
    """Bytes that one fit adds, at its peak, to a fresh process that holds X and y. Not for Windows.

    The node tables of a forest's trees do not count.
    """
    _fill_cache()
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", problem.X)
        np.save(Path(folder) / "y.npy", problem.y)
        (Path(folder) / "model.pickle").write_bytes(pickle.dumps(model))
        return _run(PEAK_MEMORY, folder)
