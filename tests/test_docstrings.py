"""Docstrings of all that users import say what the signatures say."""

import importlib
import inspect
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

MODULES = [
    "",
    ".conformal",
    ".datasets",
    ".distributions",
    ".export",
    ".inference",
    ".losses",
    ".metrics",
    ".plotting",
    ".report",
    ".xgb",
    ".xgb_dask",
]
CHECKS = {
    "GL08",  # there is none
    "PR01",  # a parameter is missing
    "PR02",  # a parameter is unknown
    "PR03",  # the order is another
    "PR04",  # a parameter has no type
    "PR07",  # a parameter has no description
    "RT01",  # what is returned is missing
    "RT03",  # what is returned has no description
    "YD01",  # what is yielded is missing
}


def members(module):
    """Functions, classes and their methods; a class that inherits its constructor refers to its parent's parameters."""
    for name in module.__all__:
        thing, path = getattr(module, name), f"{module.__name__}.{name}"
        if inspect.isfunction(thing) or (
            inspect.isclass(thing) and vars(thing).keys() & {"__init__", "__new__"}
        ):
            yield path
        if inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("marginwood"):
                    yield f"{path}.{method}"


def find_errors(path):
    return [f"{path}: {code} {what}" for code, what in validate(path)["errors"] if code in CHECKS]


@pytest.mark.parametrize("name", MODULES)
def test_public_docstrings_agree_with_signatures(name):
    module = importlib.import_module(f"marginwood{name}")
    errors = [error for path in members(module) for error in find_errors(path)]
    assert not errors, "\n" + "\n".join(errors)


@pytest.mark.parametrize("name", MODULES)
def test_every_docstring_with_a_margin_says_that_exact_rows_have_none(name):
    module = importlib.import_module(f"marginwood{name}")
    texts = {
        (path, name): text
        for path in members(module)
        for name, text in described_parameters(path).items()
    }
    margins = {place: text for place, text in texts.items() if place[1] in ("margin", "margins")}
    assert [
        place for place, text in margins.items() if "``lower == upper`` have no margin" not in text
    ] == []


def described_parameters(path):
    """What the docstring of an object says of each of its parameters."""
    documented = Validator(get_doc_object(Validator._load_obj(path))).doc_all_parameters
    return {name: " ".join(lines) for name, (_, lines) in documented.items()}


def read_api():
    """The objects that the page of the API lists."""
    listed, module = set(), None
    for line in (
        (Path(__file__).parents[1] / "docs" / "api.rst").read_text(encoding="utf-8").splitlines()
    ):
        if line.startswith(".. currentmodule:: "):
            module = importlib.import_module(line.split()[-1])
        elif line.startswith("   ") and not line.startswith("   :") and " " not in line.strip():
            listed.add(id(getattr(module, line.strip())))
        elif line.startswith(".. py:data:: "):
            listed.add(id(getattr(module, line.split()[-1])))
    return listed


@pytest.mark.parametrize("name", [*MODULES, ".intervals", ".model_selection"])
def test_the_page_of_the_api_lists_everything_public(name):
    module = importlib.import_module(f"marginwood{name}")
    things = {member: getattr(module, member) for member in module.__all__}
    missing = [
        member
        for member, thing in things.items()
        if id(thing) not in read_api() and not inspect.ismodule(thing)
    ]
    assert not missing, f"docs/api.rst does not list {missing}"


def swapped(first, second):
    """Subtract two numbers.

    Parameters
    ----------
    second : int
        What is taken away.
    first : int
        What it is taken from.
    """
    return first - second


def test_parameters_in_another_order_and_a_missing_result_are_found():
    codes = [error.split()[1] for error in find_errors(f"{__name__}.swapped")]
    assert codes == ["PR03", "RT01"]
