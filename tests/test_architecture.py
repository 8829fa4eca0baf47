"""The import rules of ARCHITECTURE.md and the sizes of modules, functions and kernels.

A finding is a line ``file:line: what is wrong``. Every check is a function from one parsed source
file to its findings, so that the checks themselves are tested on small strings.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "marginwood"

# The rooms, from the ground up. A room may import itself and the rooms of lower layers, and nothing
# else.
LAYERS = (
    {"_version"},
    {"_support", "_core"},
    {"_mistakes", "_ends"},
    {"_brackets"},
    {"intervals"},
    {"losses"},
    {"datasets", "_solver", "distributions"},
    {"inference"},
    {"metrics"},
    {"_categories"},
    {"_base"},
    {"_monotonic", "_validation", "_searchable", "_predictive"},
    {"_trees"},
    {"_linear", "xgb"},
    {"_smooth", "_baselines", "xgb_dask"},
    {"_resampling"},
    {"_tuning"},
    {"_archive", "_soundness"},
    {"_states"},
    {"_persistence"},
    {"_ensemble"},
    {"conformal"},
    {"model_selection", "_warmup"},
    {"_fitted"},
    {"_drawing"},
    {"export", "plotting", "report"},
    {"_cli"},
    {"__main__", "__init__"},
)
LAYER_OF = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
# Ways in for users; every other module has an underscore in its path.
PUBLIC = {
    "conformal",
    "datasets",
    "distributions",
    "export",
    "inference",
    "intervals",
    "losses",
    "metrics",
    "model_selection",
    "plotting",
    "report",
    "xgb",
    "xgb_dask",
}
OPTIONAL = {
    "dask",
    "distributed",
    "matplotlib",
    "onnx",
    "pandas",
    "polars",
    "pyarrow",
    "shap",
    "xgboost",
}

MAX_MODULE_LINES = 460
MAX_BODY_LINES = 65
MAX_FIT_LINES = 40
MAX_KERNEL_ARGUMENTS = 10

# "file: function", or "file" alone for its length -> why it is clearer longer.
EXCEPTIONS: dict[str, str] = {
    "intervals.py": "one door: every form that a target comes in",
    "_cli/data.py": "one story: which columns are what",
}


class Source(NamedTuple):
    """One parsed file; `path` is relative to the package, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self):
        """The module or folder that the import rules speak of."""
        return self.path.split("/")[0].removesuffix(".py")


class Import(NamedTuple):
    """One imported name, absolute, and whether importing the module imports it at once."""

    name: str
    line: int
    at_top_level: bool


def parse(path, text):
    return Source(path, text, ast.parse(text))


def functions(source):
    return [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


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
    for name, line, _ in imports(source):
        parts = name.split(".")
        if parts[0] == "marginwood":
            is_module = len(parts) > 2 or (len(parts) == 2 and parts[1] in LAYER_OF)
            yield (parts[1] if is_module else "__init__"), line


def find_upward_imports(source):
    if source.room not in LAYER_OF:
        return [f"{source.path}:1: {source.room} has no place in LAYERS"]
    own = LAYER_OF[source.room]
    return [
        f"{source.path}:{line}: {source.room} must not import {room}"
        for room, line in package_imports(source)
        if room != source.room and LAYER_OF.get(room, len(LAYERS)) >= own
    ]


def find_public_looks(source):
    """A module is public by its name alone, so all others must look private."""
    parts = source.path.removesuffix(".py").split("/")
    is_private = any(part.startswith("_") and part != "__init__" for part in parts)
    is_public = parts[0] in PUBLIC and len(parts) == (2 if parts[-1] == "__init__" else 1)
    if is_private or is_public or source.path == "__init__.py":
        return []
    return [f"{source.path}:1: not a public path, and does not look private"]


def find_numba_outside_jit(source):
    if source.path in {"_core/compiler.py", "_core/jit.py"}:
        return []
    return [
        f"{source.path}:{line}: {name} is imported outside _core/compiler.py and _core/jit.py"
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


def body_lines(source, function):
    """Lines from the first statement after the docstring to the last, but for comments."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    lines = source.text.splitlines()[body[0].lineno - 1 : body[-1].end_lineno]
    return sum(not line.lstrip().startswith("#") for line in lines)


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
        n_lines = body_lines(source, function)
        if n_lines > limit:
            too_large.append((key, function.lineno, f"{function.name} has {n_lines} lines"))
        if source.room == "_core" and count_arguments(function) > MAX_KERNEL_ARGUMENTS:
            wide = f"{function.name} takes {count_arguments(function)} arguments"
            too_large.append((key, function.lineno, wide))
    return [
        f"{source.path}:{line}: {what}" for key, line, what in too_large if key not in exceptions
    ]


SOURCES = [
    parse(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
]
CHECKS = [
    find_upward_imports,
    find_public_looks,
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
        if find_large_things(source, exceptions={})
        != find_large_things(source, exceptions={key: ""})
    }
    assert needed == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("_core/split.py", "from marginwood.losses import linear_hinge"),
        ("_core/split.py", "from ..losses import linear_hinge"),
        ("_core/split.py", "import marginwood._trees.tree"),
        ("intervals.py", "from marginwood import losses"),
        ("losses.py", "from .metrics import interval_accuracy"),
        ("metrics/_points.py", "from marginwood import MaxMarginIntervalTree"),
        ("_linear/l1.py", "from marginwood.xgb import XGBIntervalRegressor"),
        ("_trees/tree.py", "from marginwood._linear.l1 import L1IntervalRegression"),
        ("_trees/tree.py", "from marginwood.export import export_text"),
        ("_trees/tree.py", "def fit():\n    from marginwood import plotting"),
        ("_trees/tree.py", "import marginwood"),
        ("export/_text.py", "from marginwood.report import write"),
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
        ("metrics/_points.py", "from marginwood.intervals import check_intervals"),
        ("_trees/tree.py", "from marginwood import metrics"),
        ("export/_text.py", "from marginwood._trees.tree import MaxMarginIntervalTree"),
        ("_cli/fit.py", "from marginwood._cli import commands"),
        ("_cli/show.py", "from marginwood.export import export_text"),
        ("__main__.py", "from marginwood._cli.main import main"),
        ("__init__.py", "from marginwood.export import export_text"),
    ],
)
def test_a_downward_import_is_allowed(path, statement):
    assert find_upward_imports(parse(path, statement)) == []


def test_a_room_without_a_place_in_the_layers_is_found():
    assert len(find_upward_imports(parse("utilities.py", ""))) == 1


def test_a_private_module_that_looks_public_is_found():
    for path in ("helpers.py", "export/text.py", "trees/tree.py"):
        assert len(find_public_looks(parse(path, ""))) == 1
    for path in (
        "metrics/__init__.py",
        "metrics/_points.py",
        "_trees/tree.py",
        "losses.py",
        "__init__.py",
    ):
        assert find_public_looks(parse(path, "")) == []


@pytest.mark.parametrize(
    "statement", ["import numba", "from numba import njit", "import llvmlite.ir as ir"]
)
def test_numba_is_found_outside_jit_and_allowed_in_it(statement):
    assert len(find_numba_outside_jit(parse("_core/grow.py", statement))) == 1
    for path in ("_core/compiler.py", "_core/jit.py"):
        assert find_numba_outside_jit(parse(path, statement)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "from sklearn.tree import _tree",
        "from sklearn.tree._tree import Tree",
        "import sklearn.tree._utils",
    ],
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
    assert find_large_things(parse("tree.py", function_of(65))) == []
    assert find_large_things(parse("tree.py", "\n" + function_of(66))) == [
        "tree.py:2: grow has 66 lines"
    ]


def test_a_long_fit_is_found():
    assert find_large_things(parse("tree.py", function_of(40, "fit"))) == []
    assert find_large_things(parse("tree.py", function_of(41, "fit"))) == [
        "tree.py:1: fit has 41 lines"
    ]


def test_a_kernel_with_many_arguments_is_found_in_core_only():
    wide = function_of(1, arguments="a, b, c, d, e, f, g, h, i, j, *, k")
    assert find_large_things(parse("_core/grow.py", wide)) == [
        "_core/grow.py:1: grow takes 11 arguments"
    ]
    assert find_large_things(parse("tree.py", wide)) == []


def test_a_long_module_is_found():
    assert find_large_things(parse("tree.py", "a = 1\n" * 460)) == []
    assert find_large_things(parse("tree.py", "a = 1\n" * 461)) == ["tree.py:1: 461 lines"]


def test_an_exception_silences_exactly_what_it_names():
    source = parse("tree.py", function_of(66) + function_of(70, "prune"))
    assert find_large_things(source, {"tree.py: grow": "a reason"}) == [
        "tree.py:69: prune has 70 lines"
    ]


def read_map():
    """The lines of the map in ARCHITECTURE.md."""
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return text.partition("src/marginwood/\n")[2].partition("tests/")[0].splitlines()


def test_the_map_names_every_module():
    text = " ".join(read_map()) + " "
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "_cli"]
    missing = [
        path.name
        for path in modules
        if not path.stem.startswith("__") and f" {path.name} " not in text
    ]
    assert not missing


def test_the_map_and_the_ways_are_read_in_ten_minutes():
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.split()) < 2500


def test_the_map_follows_the_layers():
    lines = [line for line in read_map() if line.startswith("  ") and not line.startswith("   ")]
    rooms = [line.split()[0].removesuffix("/").removesuffix(".py") for line in lines]
    assert set(rooms) == {Source(path.name, "", None).room for path in PACKAGE.iterdir()} - {
        "__init__",
        "__init__.pyi",
        "__main__",
        "__pycache__",
        "py.typed",
    }
    layers = [LAYER_OF[room] for room in rooms]
    assert layers == sorted(layers)
