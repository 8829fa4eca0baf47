"""The package loads what is used, and nothing else."""

import subprocess
import sys

import pytest

import marginwood


def loaded(code):
    """The modules that a fresh process has loaded after this code."""
    words = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


def test_a_user_of_trees_does_not_wait_for_other_models():
    assert "numpy" not in loaded("import marginwood")
    modules = loaded("from marginwood import MaxMarginIntervalTree")
    assert "marginwood._trees.tree" in modules
    others = (
        "marginwood._ensemble",
        "marginwood._tuning",
        "marginwood.export",
        "sklearn.tree",
        "scipy.io",
    )
    assert [module for module in modules if module.startswith(others)] == []


def test_who_imports_or_loads_a_tree_loads_few_modules_and_what_grows_trees_only_to_fit(tmp_path):
    tree = marginwood.MaxMarginIntervalTree(max_depth=1).fit([[1.0], [2.0]], [(0, 1), (2, 3)])
    marginwood.save(tree, tmp_path / "tree.mw")
    ours = {}
    for name, code in {
        "import": "from marginwood import MaxMarginIntervalTree",
        "fit": "from marginwood import MaxMarginIntervalTree as Tree\nTree().fit([[1], [2]], [1, 2])",
        "load": f"import marginwood\nmarginwood.load({str(tmp_path / 'tree.mw')!r})",
    }.items():
        modules = loaded(code)
        assert ("numba" in modules) == (name != "import")
        ours[name] = {module for module in modules if module.split(".")[0] == "marginwood"}
    assert "marginwood._core.grow" in ours["fit"] - ours["load"]
    # Half of what they were when everything was imported at once: 71 and 187.
    assert len(ours["import"]) <= 35
    assert len(ours["load"]) <= 60


@pytest.mark.parametrize("name", ["conformal", "metrics", "xgb", "datasets", "report"])
def test_public_modules_need_no_import_of_their_own(name):
    assert f"marginwood.{name}" in loaded(f"import marginwood\nmarginwood.{name}")


def test_every_name_is_there_and_an_unknown_one_is_refused():
    assert dir(marginwood) == marginwood.__all__
    assert [
        name
        for name in marginwood.__all__
        if getattr(marginwood, name).__name__.split(".")[-1] != name
    ] == []
    with pytest.raises(AttributeError, match="tree"):
        marginwood.tree  # noqa: B018
