"""Numba may change what `_core/compiler.py` builds on: then its own compiler does all, after one notice.

Run as a program, this module breaks one thing after the other in the numba of its process, and
compiles a small kernel after each.
"""

import ast
import importlib
import json
import os
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest
from numba import config

SOURCES = Path(__file__).parents[1] / "src"
# Methods that only the shortcuts call.
METHODS = (
    ("numba.core.compiler", "CompileResult", "_find_referenced_environments"),
    ("numba.core.compiler_machinery", "PassManager", "add_pass_after"),
)
# Published by numba, for extensions.
PUBLISHED = {"numba", "numba.extending", "llvmlite"}

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels run as plain Python"
)


def internals():
    """The names that the module of shortcuts imports from inside of numba."""
    tree = ast.parse((SOURCES / "marginwood" / "_core" / "compiler.py").read_text("utf-8"))
    return [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in PUBLISHED
        for alias in node.names
        if node.module.startswith("numba")
    ]


class Other:
    """What has taken the place of something else, and is used in another way."""

    def __init__(self):
        raise TypeError("it is made in another way")


@contextmanager
def replaced(module, name, value=None):
    """Whoever imports from a module meanwhile finds something else under a name, or, with None, nothing."""
    stand_in = ModuleType(module)
    vars(stand_in).update(vars(sys.modules[module]))
    if value is None:
        delattr(stand_in, name)
    else:
        setattr(stand_in, name, value)
    with patch.dict(sys.modules, {module: stand_in}):
        yield


def breakages():
    """A name for each way to break numba, and what does it while the core is imported and while it compiles."""
    for module, name in internals():
        if f"{module}.{name}" not in sys.modules:  # a module would be found all the same
            yield f"without {module}.{name}", replaced(module, name), nullcontext()
        yield f"another {module}.{name}", replaced(module, name, Other), nullcontext()
    for module, cls, name in METHODS:
        owner = getattr(sys.modules[module], cls)
        yield f"another {cls}.{name}", nullcontext(), patch.object(owner, name, Other)


def compile_and_call(folder, importing, compiling):
    """What a kernel of a fresh import of the core gives, kept in a folder of its own, and what is said meanwhile."""
    config.CACHE_DIR = folder
    for name in [name for name in sys.modules if name.startswith("marginwood._core")]:
        del sys.modules[name]
    with importing:
        jit = importlib.import_module("marginwood._core.jit")
    said = []
    jit._notices.say = said.append
    two = jit.Constant(2, "two")

    @jit.inner
    def least(numbers):
        return min(numbers[0], numbers[1])

    @jit.filling
    def call(constant, numbers):
        return least(numbers) if constant == two else -least(numbers)

    numbers = np.array([3.0, 5.0])
    with compiling:
        found = [call(jit.Constant(value, ""), numbers) for value in (1, 2)]
    return {"found": found, "said": said}


def break_each(folder):
    """What comes of each breakage."""
    ways = [("whole", nullcontext(), nullcontext()), *breakages()]
    return {name: compile_and_call(f"{folder}/{name}", *meanwhile) for name, *meanwhile in ways}


def run(words):
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_any_of_numbas_internals_its_own_compiler_takes_over_with_one_notice(tmp_path):
    report = json.loads(run([__file__, str(tmp_path)]))
    whole = report.pop("whole")
    assert whole["found"] == [-3.0, 3.0]
    assert [line for line in whole["said"] if "shortcuts" in line] == []
    assert len(report) > 25
    for name, answer in report.items():
        assert answer["found"] == [-3.0, 3.0], name
        assert len([line for line in answer["said"] if "takes no shortcuts" in line]) == 1, name


# As integers: the kernels of a fit have other types then, and are compiled, or kept, apart.
FIT = """
import sys
if sys.argv[1] == "broken":
    import numba.core.codegen
    del numba.core.codegen.JITCodeLibrary
import numpy as np
from marginwood import MaxMarginIntervalTree
random = np.random.default_rng(0)
X, y = random.integers(0, 5, (60, 3)).astype(float), np.sort(random.normal(size=(60, 2)), axis=1)
tree = MaxMarginIntervalTree(margin=0.1, categorical_features=[0]).fit(X, y)
print([number.hex() for number in tree.predict(X)])
"""


def test_trees_grow_the_same_without_shortcuts():
    assert run(["-c", FIT, "broken"]) == run(["-c", FIT, "whole"])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(break_each(sys.argv[1])))
