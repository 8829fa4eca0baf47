"""Trees as text, and scikit-learn's own exporters on them."""

from math import inf, nan

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.tree import export_graphviz, plot_tree

from marginwood import (
    IntervalSearchCV,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    export,
    export_text,
)
from marginwood._support.text import printable
from pipelines import FRAME, NAMES, TARGET, fit_pipeline
from trees import chain


def dose_tree(X=None):
    """One split, without cost."""
    X = [[1.0], [2.0], [3.0]] if X is None else X
    return MaxMarginIntervalTree().fit(X, [[0.0, 1.0], [2.0, inf], [8.0, 9.0]])


def test_every_leaf_shows_value_optimal_interval_samples_and_cost():
    tree = MaxMarginIntervalTree(max_depth=1).fit(
        [[1], [2], [3]], [[0.0, 1.0], [2.0, 3.0], [8.0, 9.0]]
    )
    assert export_text(tree) == "\n".join(
        [
            "|-- x[0] <= 2.5",
            "|   |-- value: 1.5, samples: 2, cost: 0.5",
            "|-- x[0] > 2.5",
            "|   |-- value: 8.5 in [8, 9], samples: 1, cost: 0",
        ]
    )


def test_deeper_splits_are_indented():
    tree = MaxMarginIntervalTree().fit([[1], [3], [5]], [0.0, 1.0, 6.0])
    assert export_text(tree, decimals=0) == "\n".join(
        [
            "|-- x[0] <= 4",
            "|   |-- x[0] <= 2",
            "|   |   |-- value: 0, samples: 1, cost: 0",
            "|   |-- x[0] > 2",
            "|   |   |-- value: 1, samples: 1, cost: 0",
            "|-- x[0] > 4",
            "|   |-- value: 6, samples: 1, cost: 0",
        ]
    )


def test_a_lone_leaf_is_one_line_and_an_open_end_is_infinite():
    tree = MaxMarginIntervalTree().fit([[0.0]], [[2.0, inf]])
    assert export_text(tree) == "|-- value: 2 in [2, inf], samples: 1, cost: 0"


@pytest.mark.parametrize(
    ("target", "left", "right"), [(0.0, " or missing", ""), (9.0, "", " or missing")]
)
def test_missing_values_are_named_on_the_side_where_they_go(target, left, right):
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [0.0, 9.0, target])
    lines = export_text(tree).splitlines()
    assert lines[0] == f"|-- x[0] <= 0.5{left}"
    assert lines[2] == f"|-- x[0] > 0.5{right}"


def test_missing_values_are_not_named_where_training_saw_none():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, nan], [3.0, nan]])
    text = export_text(MaxMarginIntervalTree().fit(X, [0.0, 5.0, 20.0, 29.0]))
    assert "missing" not in text
    assert "x[0]" in text


def test_a_split_that_parts_missing_values_from_all_others_says_so():
    tree = MaxMarginIntervalTree().fit([[0.0], [1.0], [nan]], [2.0, 2.0, 9.0])
    assert export_text(tree).splitlines()[::2] == ["|-- x[0] is present", "|-- x[0] is missing"]


def test_a_cut_drawing_shows_dots_below_the_depth():
    tree = MaxMarginIntervalTree().fit([[1], [2], [3], [4]], [0.0, 1.0, 6.0, 8.0])
    assert export_text(tree, max_depth=0).splitlines() == [
        "|-- x[0] <= 2.5",
        "|   |-- ...",
        "|-- x[0] > 2.5",
        "|   |-- ...",
    ]
    assert export_text(tree, max_depth=1) == export_text(tree)


def test_names_come_from_the_frame_or_from_the_caller():
    pandas = pytest.importorskip("pandas")
    tree = dose_tree(pandas.DataFrame({"dose": [1.0, 2.0, 3.0]}))
    assert export_text(tree).startswith("|-- dose <= 1.5\n")
    assert export_text(tree, feature_names=["gram"]).startswith("|-- gram <= 1.5\n")


@pytest.mark.parametrize("names", [[], ["a", "b"]])
def test_a_wrong_number_of_names_is_refused(names):
    with pytest.raises(ValueError, match=f"feature_names: expected 1 names.*got {len(names)}"):
        export_text(dose_tree(), feature_names=names)


@pytest.mark.parametrize("draw", [export_text, export.export_graphviz, export.export_latex])
@pytest.mark.parametrize(
    "argument",
    [
        *({"max_depth": value} for value in (-1, 1.5, "2")),
        *({"decimals": value} for value in (-1, 2.5)),
        *({"feature_names": value} for value in (5, "d")),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(draw, argument):
    with pytest.raises((TypeError, ValueError), match=f"^{next(iter(argument))}: expected"):
        draw(dose_tree(), **argument)


def test_a_name_of_two_lines_is_drawn_on_one():
    assert export_text(dose_tree(), feature_names=["dose\nin gram"]).startswith(
        "|-- dose in gram <= 1.5\n"
    )
    assert str(export.to_rules(dose_tree(), feature_names=["dose\nin gram"])[0]).startswith(
        "dose in gram <= 1.5: "
    )


def test_an_unfitted_tree_is_refused():
    with pytest.raises(NotFittedError):
        export_text(MaxMarginIntervalTree())


def test_a_very_deep_tree_is_drawn_without_recursion():
    assert export_text(chain(2000)).count("value:") == 2001


def test_scikit_learn_exports_the_tree_to_graphviz():
    dot = export_graphviz(dose_tree(), out_file=None, feature_names=["dose"], filled=True)
    assert "dose <= 1.5" in dot
    assert "samples = 3" in dot
    assert "value = 8.5" in dot
    assert "cost = " in dot


def test_scikit_learn_plots_the_tree_once_its_check_of_types_is_off():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    with sklearn.config_context(skip_parameter_validation=True):
        annotations = plot_tree(dose_tree(), ax=axes, feature_names=["dose"], filled=True)
    texts = [annotation.get_text() for annotation in annotations]
    assert any("dose <= 1.5" in text for text in texts)
    assert sum("value = 8.5" in text for text in texts) == 1
    pyplot.close(figure)


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=3),
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": [0.0, 0.5]}, cv=2),
    ],
)
@pytest.mark.parametrize(
    "draw", [export_text, export.export_graphviz, export.export_latex, export.to_rules]
)
def test_a_pipeline_is_drawn_by_its_last_step_with_the_names_that_the_steps_give(draw, model):
    pipeline = fit_pipeline(model)
    assert draw(pipeline) == draw(pipeline[-1], feature_names=NAMES)
    assert draw(pipeline, feature_names=list("abcde")) == draw(
        pipeline[-1], feature_names=list("abcde")
    )


def test_rules_of_a_pipeline_speak_of_the_encoded_values():
    text = "\n".join(map(str, export.to_rules(fit_pipeline(MaxMarginIntervalTree()))))
    assert "town_Köln <= 0.5" in text
    assert "dose" in text


FORMS = [export.to_sql, export.to_onnx, export.to_shap, export.to_dict]


@pytest.mark.parametrize("export_to", FORMS)
def test_forms_that_predict_from_columns_refuse_a_pipeline_that_changes_them(export_to):
    if export_to is export.to_onnx:
        pytest.importorskip("onnx")
    with pytest.raises(
        ValueError,
        match=rf"^model: {export_to.__name__} predicts.*\(ColumnTransformer\).*model\[-1\]",
    ):
        export_to(fit_pipeline(MaxMarginIntervalForest(2, random_state=0)))


@pytest.mark.parametrize("export_to", FORMS)
def test_forms_that_predict_from_columns_take_a_pipeline_that_leaves_them(export_to):
    if export_to is export.to_onnx:
        pytest.importorskip("onnx")
    frame = FRAME[["age", "dose"]]
    pipeline = Pipeline(
        [("nothing", "passthrough"), ("tree", MaxMarginIntervalTree(max_depth=2))]
    ).fit(frame, TARGET)
    assert str(export_to(pipeline)) == str(export_to(pipeline[-1]))


@pytest.mark.parametrize("draw", [export_text, export.export_graphviz, export.export_latex])
def test_a_drawing_holds_no_control_characters(draw):
    for name in ("\x1b[2J", "a\x9bb", "\u202eevil", "bell\x07", "\ud800"):
        text = draw(dose_tree(), feature_names=[name])
        assert printable(text) == text
        rules = "\n".join(map(str, export.to_rules(dose_tree(), feature_names=[name])))
        assert printable(rules) == rules
