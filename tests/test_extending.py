"""docs/extending.md shows real source."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
EXCERPTS = re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_block_of_code_names_its_source():
    assert len(EXCERPTS) == PAGE.count("```python") > 5


@pytest.mark.parametrize(("path", "code"), EXCERPTS)
def test_the_code_stands_in_the_source(path, code):
    assert code in (ROOT / path).read_text(encoding="utf-8")
