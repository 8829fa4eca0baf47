"""What the files of a release say agrees: one version, true Pythons, extras that exist, notices that are packaged."""

import re
import tomllib
from pathlib import Path

import pytest

import marginwood
from marginwood._support.extras import install_hint

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {*PROJECT["optional-dependencies"]}
HINT = re.compile(r"install_hint\(([^)]*)\)")
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [marginwood.__version__]


def test_the_changelog_has_unreleased_changes_in_kinds_that_keep_a_changelog_knows():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert {*re.findall(r"^### (.*)$", text, re.MULTILINE)} <= kinds


def test_the_classifiers_name_the_pythons_that_are_tested():
    claimed = {
        name.split(" :: ")[-1] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)
    }
    path = ROOT / ".github" / "workflows" / "test.yml"
    if not path.exists():
        pytest.skip("the sdist has no workflows")
    tested = re.search(r"python: \[(.*)\]", path.read_text(encoding="utf-8"))[1]
    assert claimed
    assert claimed <= {*re.findall(r"3\.\d+", tested)}


def test_hints_to_install_extras_name_extras_that_exist():
    calls = [call for path in SOURCES for call in HINT.findall(path.read_text(encoding="utf-8"))]
    named = [extra for call in calls for extra in re.findall(r"[\"']([a-z]+)", call)]
    assert len(named) > 5
    assert {*named} <= EXTRAS


def test_no_hint_asks_for_a_package_that_is_not_published():
    unpublished = re.compile(r"pip install [\"']?marginwood(\[|[\"'\s])")
    assert [
        path.name
        for path in [*SOURCES, *PROSE]
        if unpublished.search(path.read_text(encoding="utf-8"))
    ] == []


def test_a_hint_names_a_checkout_and_a_wheel():
    hint = install_hint("plot", "cli")
    assert 'pip install ".[plot,cli]"' in hint
    assert f"marginwood-{marginwood.__version__}-py3-none-any.whl[plot,cli]" in hint


def test_every_licence_file_is_there_and_names_its_licence():
    for path in PROJECT["license-files"]:
        assert "opyright" in (ROOT / path).read_text(encoding="utf-8")
    assert PROJECT["license"] == "BSD-3-Clause AND ISC AND MIT"
