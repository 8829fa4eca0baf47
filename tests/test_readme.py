"""The README's Python blocks run in order in one namespace; a text block after one is what it prints."""

import contextlib
import io
import itertools
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def code_and_output(markdown):
    """Pairs of a Python block and the text block that follows it, or None where another block follows."""
    blocks = [*FENCE.findall(markdown), ("", "")]
    return [
        (code, following if following_language == "text" else None)
        for (language, code), (following_language, following) in itertools.pairwise(blocks)
        if language == "python"
    ]


def run(code, namespace):
    """What the code prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(README), "exec"), namespace)
    return printed.getvalue()


def without_trailing_blanks(text):
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_blocks_are_paired_with_the_text_that_follows():
    markdown = "```python\na\n```\nprints\n```text\n1\n```\n```python\nb\n```\n```\nmake\n```\n"
    assert code_and_output(markdown) == [("a\n", "1\n"), ("b\n", None)]


def test_readme_code_runs_and_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = code_and_output(README.read_text(encoding="utf-8"))
    assert pairs
    namespace = {"__name__": "readme"}
    for code, expected in pairs:
        printed = run(code, namespace)
        if expected is not None:
            assert without_trailing_blanks(printed) == without_trailing_blanks(expected)
