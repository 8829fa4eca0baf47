"""Trees in TikZ."""

import re
import shutil
import subprocess
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from conftest import PATIENCE
from marginwood import MaxMarginIntervalTree
from marginwood.export import export_latex
from marginwood.export._latex import SPECIAL, escape
from trees import TREES, chain, name_of

HOSTILE = [
    "50% of $x_1$ & more",
    "#1 {brace} }{",
    r"\input{/etc/passwd}",
    "a~b^c",
    '<"a"|b>',
    "a[0], b=[1]",
    "größe",
]
DOCUMENT = r"""
\documentclass{standalone}
\usepackage[T1]{fontenc}
\usepackage{forest}
\begin{document}
%s
\end{document}
"""
# A control symbol as `\$`, or a control word with the empty group that ends it.
CONTROL = re.compile(r"\\([a-z]+\{\}|[^a-z])")


def stump():
    return MaxMarginIntervalTree(max_depth=1).fit(
        [[1], [2], [3]], [[0.0, 1.0], [2.0, 3.0], [8.0, 9.0]]
    )


def n_open(latex):
    """Braces and brackets that are not closed."""
    plain = re.sub(r"\\[{}]", "", latex)
    return plain.count("{") - plain.count("}"), plain.count("[") - plain.count("]")


@given(st.text())
def test_escaped_text_means_the_text_and_holds_nothing_special(text):
    escaped = escape(text)
    meaning = {control: character for character, control in SPECIAL.items()}
    assert not set("{}$&#_%~^\\") & set(CONTROL.sub("", escaped))
    printable = "".join(character if character.isprintable() else " " for character in text)
    assert CONTROL.sub(lambda control: meaning[control[0]], escaped) == printable


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_leave_braces_and_brackets_balanced(name):
    latex = export_latex(stump(), feature_names=[name])
    assert f"[{{{escape(name)} $" in latex
    assert n_open(latex) == (0, 0)


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_every_leaf_of_every_kind_of_tree_is_drawn(model):
    latex = export_latex(model)
    assert latex.count("value:") == model.get_n_leaves()
    assert latex.count("edge label") == model.tree_.node_count - 1
    assert n_open(latex) == (0, 0)


def test_brackets_nest_as_the_tree_does():
    tree = MaxMarginIntervalTree().fit([[1], [3], [5]], [0.0, 1.0, 6.0])
    lines = export_latex(tree, decimals=0).split("\n")[2:-1]
    assert [re.match(r" *(\]|\[\{[^}:]*)", line)[0] for line in lines] == [
        r"  [{x[0] $\le 4$",
        r"    [{x[0] $\le 2$",
        "      [{value",
        "      [{value",
        "    ]",
        "    [{value",
        "  ]",
    ]


def test_missing_values_are_named_and_infinite_ends_are_signs():
    latex = export_latex(
        MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [(2, inf), (2, inf), (-inf, 0)])
    )
    assert "{x[0] is present}" in latex
    assert r"in [$2$, $\infty$]" in latex
    assert r"in [$-\infty$, $0$]" in latex
    assert latex.count("missing") == 0
    latex = export_latex(MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [0.0, 9.0, 9.0]))
    assert "{no or missing}" in latex


def test_a_cut_drawing_ends_in_dots():
    tree = MaxMarginIntervalTree().fit([[1], [2], [3], [4]], [0.0, 1.0, 6.0, 8.0])
    latex = export_latex(tree, max_depth=0)
    assert latex.count(r"[{\dots}") == 2
    assert n_open(latex) == (0, 0)


def test_a_very_deep_tree_is_drawn_without_recursion():
    latex = export_latex(chain(1500))
    assert latex.count("value:") == 1501
    assert n_open(latex) == (0, 0)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_compiles_hostile_names(tmp_path):
    for number, name in enumerate(HOSTILE):
        path = tmp_path / f"tree{number}.tex"
        path.write_text(DOCUMENT % export_latex(stump(), feature_names=[name]), encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)


def test_an_unfitted_tree_is_refused():
    with pytest.raises(NotFittedError):
        export_latex(MaxMarginIntervalTree())
