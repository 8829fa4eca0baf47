"""The import rules of ARCHITECTURE.md and the sizes of modules, functions and kernels.

A finding is a line ``file:line: what is wrong``. Every check is a function from one parsed source file to its
findings, so that the checks themselves are tested on small strings.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "marginwood"

# What the lowest modules may import from the package. Every other module may import all but TOP.
MAY_IMPORT = {
    "_core": {"_core"},
    "checks": set(),
    "notices": set(),
    "intervals": {"_core", "notices"},
    "losses": {"_core", "checks", "intervals"},
    "metrics": {"_core", "checks", "intervals", "losses"},
}
# Modules that only `__init__`, the module itself and the modules of ABOVE_ALL may import.
TOP = {"export", "plotting", "report", "cli"}
ABOVE_ALL = {"__main__", "cli"}
OPTIONAL = {"dask", "distributed", "matplotlib", "onnx", "pandas", "polars", "pyarrow", "shap", "xgboost"}

MAX_MODULE_LINES = 399
MAX_BODY_LINES = 59
MAX_FIT_LINES = 40
MAX_KERNEL_ARGUMENTS = 10

# "file: function", or "file" alone for its length -> why it is clearer longer.
EXCEPTIONS: dict[str, str] = {}


class Source(NamedTuple):
    """One parsed file; `path` is relative to the package, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def unit(self):
        """The module or subpackage that the import rules speak of."""
        return self.path.split("/")[0].removesuffix(".py")


class Import(NamedTuple):
    """One imported name, absolute, and whether importing the module imports it at once."""

    name: str
    line: int
    at_top_level: bool


def parse(path, text):
    return Source(path, text, ast.parse(text))


def functions(source):
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def imports(source):
    """Every import; ``from a import b`` counts as ``a.b``."""
    deferred = {id(node) for function in functions(source) for node in ast.walk(function)}
    package = ["marginwood", *source.path.split("/")[:-1]]
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*parents, *([node.module] if node.module else [])])
            names = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(name, node.lineno, id(node) not in deferred) for name in names]
    return found


def package_imports(source):
    """Pairs of what is imported from the package and the line; a name that is no module counts as `__init__`."""
    units = {path.stem for path in PACKAGE.iterdir()} | MAY_IMPORT.keys() | TOP
    for name, line, _ in imports(source):
        parts = name.split(".")
        if parts[0] == "marginwood":
            is_module = len(parts) > 2 or (len(parts) == 2 and parts[1] in units)
            yield (parts[1] if is_module else "__init__"), line


def find_upward_imports(source):
    if source.unit == "__init__":
        return []
    findings = []
    for unit, line in package_imports(source):
        allowed = MAY_IMPORT.get(source.unit)
        if unit == "__init__":
            findings.append(f"{source.path}:{line}: imports the package's root")
        elif (allowed is not None and unit not in allowed) or (
            unit in TOP - {source.unit} and source.unit not in ABOVE_ALL
        ):
            findings.append(f"{source.path}:{line}: {source.unit} must not import {unit}")
    return findings


def find_numba_outside_jit(source):
    if source.path == "_core/jit.py":
        return []
    return [
        f"{source.path}:{line}: {name} is imported outside _core/jit.py"
        for name, line, _ in imports(source)
        if name.split(".")[0] in {"numba", "llvmlite"}
    ]


def find_private_trees(source):
    return [
        f"{source.path}:{line}: {name} is private to scikit-learn"
        for name, line, _ in imports(source)
        if name.startswith("sklearn.tree._")
    ]


def find_required_optionals(source):
    return [
        f"{source.path}:{line}: {name} is optional and must be imported where it is used"
        for name, line, at_top_level in imports(source)
        if at_top_level and name.split(".")[0] in OPTIONAL
    ]


def body_lines(function):
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def count_arguments(function):
    return len(function.args.posonlyargs) + len(function.args.args) + len(function.args.kwonlyargs)


def find_large_things(source, exceptions=EXCEPTIONS):
    """Modules, functions and kernels over their size, save the excepted ones."""
    too_large = []
    n_lines = len(source.text.splitlines())
    if n_lines > MAX_MODULE_LINES:
        too_large.append((source.path, 1, f"{n_lines} lines"))
    for function in functions(source):
        key = f"{source.path}: {function.name}"
        limit = MAX_FIT_LINES if function.name == "fit" else MAX_BODY_LINES
        if body_lines(function) > limit:
            too_large.append((key, function.lineno, f"{function.name} has {body_lines(function)} lines"))
        if source.unit == "_core" and count_arguments(function) > MAX_KERNEL_ARGUMENTS:
            wide = f"{function.name} takes {count_arguments(function)} arguments"
            too_large.append((key, function.lineno, wide))
    return [f"{source.path}:{line}: {what}" for key, line, what in too_large if key not in exceptions]


SOURCES = [
    parse(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
]
CHECKS = [
    find_upward_imports,
    find_numba_outside_jit,
    find_private_trees,
    find_required_optionals,
    find_large_things,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_package_keeps_its_rules(check):
    findings = [finding for source in SOURCES for finding in check(source)]
    assert not findings, "\n" + "\n".join(findings)


def test_every_exception_from_the_sizes_is_needed():
    unexcepted = [source for source in SOURCES if find_large_things(source, exceptions={})]
    needed = {
        key
        for key in EXCEPTIONS
        for source in unexcepted
        if find_large_things(source, exceptions={}) != find_large_things(source, exceptions={key: ""})
    }
    assert needed == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("_core/split.py", "from marginwood.losses import linear_hinge"),
        ("_core/split.py", "from ..losses import linear_hinge"),
        ("_core/split.py", "import marginwood.tree"),
        ("intervals.py", "from marginwood import losses"),
        ("losses.py", "from .metrics import interval_accuracy"),
        ("metrics.py", "from marginwood import MaxMarginIntervalTree"),
        ("tree.py", "from marginwood.export import export_text"),
        ("tree.py", "def fit():\n    from marginwood import plotting"),
        ("tree.py", "import marginwood"),
        ("export/text.py", "from marginwood.report import write"),
    ],
)
def test_an_upward_import_is_found_at_its_line(path, statement):
    (finding,) = find_upward_imports(parse(path, statement))
    line = len(statement.splitlines())
    assert finding.startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("_core/split.py", "from marginwood._core import hinge"),
        ("_core/split.py", "from marginwood._core.jit import kernel"),
        ("_core/split.py", "from . import hinge"),
        ("metrics.py", "from marginwood.intervals import check_intervals"),
        ("tree.py", "from marginwood import metrics"),
        ("export/text.py", "from marginwood.tree import MaxMarginIntervalTree"),
        ("cli/fit.py", "from marginwood.cli import commands"),
        ("cli/show.py", "from marginwood.export import export_text"),
        ("__main__.py", "from marginwood.cli.main import main"),
        ("__init__.py", "from marginwood.export import export_text"),
    ],
)
def test_a_downward_import_is_allowed(path, statement):
    assert find_upward_imports(parse(path, statement)) == []


@pytest.mark.parametrize("statement", ["import numba", "from numba import njit", "import llvmlite.ir as ir"])
def test_numba_is_found_outside_jit_and_allowed_in_it(statement):
    assert len(find_numba_outside_jit(parse("_core/grow.py", statement))) == 1
    assert find_numba_outside_jit(parse("_core/jit.py", statement)) == []


@pytest.mark.parametrize(
    "statement",
    ["from sklearn.tree import _tree", "from sklearn.tree._tree import Tree", "import sklearn.tree._utils"],
)
def test_a_private_tree_module_is_found(statement):
    assert len(find_private_trees(parse("tree.py", statement))) == 1
    assert find_private_trees(parse("tree.py", "from sklearn.tree import plot_tree")) == []


def test_an_optional_library_is_found_at_the_top_level_only():
    (finding,) = find_required_optionals(parse("intervals.py", "import numpy\nimport pandas as pd"))
    assert finding.startswith("intervals.py:2: ")
    assert find_required_optionals(parse("intervals.py", "def f():\n    import pandas")) == []


def function_of(n_lines, name="grow", arguments="a"):
    return f'def {name}({arguments}):\n    """One line."""\n' + "    a += 1\n" * n_lines


def test_a_long_function_is_found_and_its_docstring_is_not_counted():
    assert find_large_things(parse("tree.py", function_of(59))) == []
    assert find_large_things(parse("tree.py", "\n" + function_of(60))) == ["tree.py:2: grow has 60 lines"]


def test_a_long_fit_is_found():
    assert find_large_things(parse("tree.py", function_of(40, "fit"))) == []
    assert find_large_things(parse("tree.py", function_of(41, "fit"))) == ["tree.py:1: fit has 41 lines"]


def test_a_kernel_with_many_arguments_is_found_in_core_only():
    wide = function_of(1, arguments="a, b, c, d, e, f, g, h, i, j, *, k")
    assert find_large_things(parse("_core/grow.py", wide)) == ["_core/grow.py:1: grow takes 11 arguments"]
    assert find_large_things(parse("tree.py", wide)) == []


def test_a_long_module_is_found():
    assert find_large_things(parse("tree.py", "a = 1\n" * 399)) == []
    assert find_large_things(parse("tree.py", "a = 1\n" * 400)) == ["tree.py:1: 400 lines"]


def test_an_exception_silences_exactly_what_it_names():
    source = parse("tree.py", function_of(60) + function_of(70, "prune"))
    assert find_large_things(source, {"tree.py: grow": "a reason"}) == ["tree.py:63: prune has 70 lines"]


def test_the_map_names_every_module():
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "cli"]
    missing = [path.name for path in modules if not path.stem.startswith("__") and f" {path.name} " not in text]
    assert not missing
