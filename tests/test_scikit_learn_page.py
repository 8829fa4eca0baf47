"""What docs/scikit_learn.md says that scikit-learn refuses is refused, and what it says instead works."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "scikit_learn.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.*)` \| (.*) \| `(.*)` \|$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def namespace():
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names = {}
    exec(code, names)
    return names


def test_every_row_of_the_table_is_found():
    assert len(ROWS) == PAGE.count("\n| `") >= 14


@pytest.mark.parametrize(("refused", "says"), [row[:2] for row in ROWS])
@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:invalid value encountered")
def test_what_is_refused_says_so(namespace, refused, says):
    if says.startswith("nan"):
        assert np.isnan(eval(refused, namespace)).all()
    else:
        with pytest.raises((ValueError, TypeError), match=says):
            eval(refused, namespace)


@pytest.mark.parametrize("instead", sorted({row[2] for row in ROWS}))
def test_what_to_use_instead_works(namespace, instead):
    found = eval(instead, namespace)
    if hasattr(found, "get_support"):
        assert found.get_support()[0]  # the one feature that matters
    elif hasattr(found, "predict"):
        rows = namespace["words" if "words" in instead else "X"]
        target = namespace["y"] if "np.exp" not in instead else np.exp(namespace["y"])
        assert found.score(rows, target) > 0
    else:
        assert np.isfinite(found).all()
