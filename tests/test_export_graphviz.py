"""Trees in DOT."""

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
from marginwood._support.text import one_line, printable
from marginwood.export import export_graphviz
from trees import TREES, chain, name_of

HOSTILE = [
    'a"b',
    "back\\slash",
    "two\nlines",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "größe ≤ 3 µm",
    "\\N",
    '"];}',
]
STRING = r'"(?:[^"\\]|\\.)*"'
STATEMENT = re.compile(rf"(\d+)(?: -> (\d+))? \[(\w+={STRING}(?:, \w+={STRING})*)\];")
MEANING = {r"\\": "\\", r"\"": '"', r"\n": "\n", "&amp;": "&"}


def stump():
    return MaxMarginIntervalTree(max_depth=1).fit(
        [[1], [2], [3]], [[0.0, 1.0], [2.0, 3.0], [8.0, 9.0]]
    )


def parse(dot):
    """Labels and colours of nodes, and labels of edges, as Graphviz reads them."""
    opening, node_defaults, edge_defaults, *statements, closing = dot.split("\n")
    assert (opening, closing) == ("digraph tree {", "}")
    assert node_defaults.strip().startswith("node [")
    assert edge_defaults.strip().startswith("edge [")
    nodes, edges = {}, {}
    for statement in statements:
        match = STATEMENT.fullmatch(statement.strip())
        assert match, statement
        attributes = {key: text[1:-1] for key, text in re.findall(rf"(\w+)=({STRING})", match[3])}
        attributes["label"] = re.sub(
            r"\\.|&amp;", lambda found: MEANING[found[0]], attributes["label"]
        )
        if match[2] is None:
            nodes[int(match[1])] = attributes
        else:
            edges[int(match[1]), int(match[2])] = attributes["label"]
    return nodes, edges


def test_splits_leaves_and_answers_are_drawn():
    nodes, edges = parse(export_graphviz(stump(), feature_names=["dose"]))
    assert nodes[0]["label"].startswith("dose <= 2.5\nsamples: 3\ncost: ")
    assert nodes[1]["label"] == "value: 1.5\nsamples: 2\ncost: 0.5"
    assert nodes[2]["label"] == "value: 8.5 in [8, 9]\nsamples: 1\ncost: 0"
    assert edges == {(0, 1): "yes", (0, 2): "no"}


def test_colours_go_from_the_least_value_to_the_largest():
    nodes, _ = parse(export_graphviz(stump()))
    assert nodes[1]["fillcolor"] == "#ffffff"
    assert nodes[2]["fillcolor"] == "#78bee6"


@pytest.mark.parametrize("targets", [[-1e150, 1e150], [3.0, 3.0]])
def test_the_largest_values_and_equal_values_have_colours(targets):
    nodes, _ = parse(
        export_graphviz(MaxMarginIntervalTree(loss="linear_hinge").fit([[0], [1]], targets))
    )
    assert all(re.fullmatch("#[0-9a-f]{6}", node["fillcolor"]) for node in nodes.values())


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_every_node_and_edge_of_every_kind_of_tree_is_drawn(model):
    nodes, edges = parse(export_graphviz(model))
    assert len(nodes) == model.tree_.node_count
    assert len(edges) == len(nodes) - 1
    table = model.tree_
    assert all(
        child in (table.children_left[parent], table.children_right[parent])
        for parent, child in edges
    )


def test_missing_values_are_named_on_the_answer_that_they_take():
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [0.0, 9.0, 0.0])
    assert parse(export_graphviz(tree))[1] == {(0, 1): "yes or missing", (0, 2): "no"}


def test_a_cut_drawing_ends_in_dots():
    tree = MaxMarginIntervalTree().fit([[1], [2], [3], [4]], [0.0, 1.0, 6.0, 8.0])
    nodes, edges = parse(export_graphviz(tree, max_depth=0))
    assert [node["label"] for node in nodes.values()][1:] == ["...", "..."]
    assert len(edges) == 2


@given(st.text())
def test_any_name_is_shown_on_one_line_with_its_control_characters_escaped(name):
    dot = export_graphviz(stump(), feature_names=[name])
    assert printable(dot) == dot
    assert parse(dot)[0][0]["label"].startswith(f"{one_line(name)} <= 2.5\n")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", HOSTILE)
def test_graphviz_reads_it(name):
    dot = export_graphviz(stump(), feature_names=[name])
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=dot.encode(), capture_output=True, check=True, timeout=PATIENCE
    )
    assert drawn.stdout.count(b"\nnode ") == 3


def test_a_very_deep_tree_is_drawn_without_recursion():
    assert export_graphviz(chain(2000)).count("value:") == 2001


def test_infinite_ends_and_splits_that_part_missing_values_are_words():
    dot = export_graphviz(
        MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [(2, inf), (2, inf), (-inf, 0)])
    )
    assert "x[0] is present" in dot
    assert parse(dot)[1] == {(0, 1): "yes", (0, 2): "no"}
    assert "in [2, inf]" in dot


def test_an_unfitted_tree_is_refused():
    with pytest.raises(NotFittedError):
        export_graphviz(MaxMarginIntervalTree())
