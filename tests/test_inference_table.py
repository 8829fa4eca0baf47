"""Table: one content in four forms."""

import numpy as np
import pytest

from marginwood.inference import Table

TABLE = Table(
    {
        "term": ["age <years>", "s\x1b[2Jex"],
        "coef": [np.float64(0.123456789), float("nan")],
        "n": [np.int64(3), None],
        "p": [1e-9, 0.04999],
    },
    title="A model",
    notes=["Rows: 3 & more."],
)


def test_a_terminal_sees_aligned_columns_and_no_control_characters():
    lines = str(TABLE).splitlines()
    assert lines[0] == "A model"
    assert lines[-1] == "Rows: 3 & more."
    assert "\x1b" not in str(TABLE)
    assert lines[2].split() == ["age", "<years>", "0.1235", "3", "<0.0001"]
    assert lines[3].split() == ["s\\x1b[2Jex", "0.0500"]
    ends = {len(line) for line in lines[1:4]}
    assert len(ends) == 1  # the last column is of numbers, which end at one place


def test_dictionaries_and_frames_keep_all_digits():
    pd = pytest.importorskip("pandas")
    columns = TABLE.to_dict()
    assert columns["coef"][0] == 0.123456789
    assert TABLE["p"] == [1e-9, 0.04999]
    assert type(columns["n"][0]) is int
    frame = TABLE.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc["age <years>", "coef"] == 0.123456789
    columns["n"].clear()
    assert len(TABLE["n"]) == len(TABLE) == 2


def test_a_notebook_sees_escaped_html():
    html = TABLE._repr_html_()
    assert "age &lt;years&gt;" in html
    assert "3 &amp; more" in html
    assert "<caption>A model" in html
    assert html.count("<tr>") == 3


def test_columns_of_two_lengths_are_refused():
    with pytest.raises(ValueError, match=r"columns: expected one length, got \[1, 2\]"):
        Table({"a": [1], "b": [1, 2]})
