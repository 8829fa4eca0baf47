"""docs/extending.md shows real source, and losses of one's own that are what it says they are."""

import re
from pathlib import Path

import numpy as np
import pytest
from pages import find_blocks
from scipy.optimize import minimize_scalar

from marginwood import MaxMarginIntervalTree

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
EXCERPTS = re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)
BEND = 0.5


def test_every_block_of_code_names_its_source_or_is_run():
    assert len(EXCERPTS) > 5
    assert len(EXCERPTS) + len(find_blocks(PAGE)) == PAGE.count("```python")


@pytest.mark.parametrize(("path", "code"), EXCERPTS)
def test_the_code_stands_in_the_source(path, code):
    assert code in (ROOT / path).read_text(encoding="utf-8")


def test_the_page_names_every_file_of_the_core_that_knows_which_loss_it_is():
    core = ROOT / "src" / "marginwood" / "_core"
    knowing = {
        path.stem
        for path in core.glob("*.py")
        if re.search(r"\b(LINEAR|SQUARED)\b", path.read_text("utf-8"))
    }
    row = next(line for line in PAGE.splitlines() if "`_core/`" in line)
    assert set(re.findall(r"`(\w+)`", row.partition("`_core/`")[2])) == knowing
    assert len(knowing) == 10


def huber_hinge(intervals, prediction, bend):
    distance = np.maximum(0, np.maximum(intervals[:, 0] - prediction, prediction - intervals[:, 1]))
    return np.where(distance < bend, distance**2, bend * (2 * distance - bend))


def best_constant(intervals, bend):
    """The least sum of Huber-like hinges, by a search that knows nothing but that it is convex."""
    finite = intervals[np.isfinite(intervals)]
    options = {"xatol": 1e-9}
    bounds = (finite.min() - 1, finite.max() + 1)
    return minimize_scalar(
        lambda value: huber_hinge(intervals, value, bend).sum(), bounds=bounds, options=options
    )


def make_rows():
    rng = np.random.default_rng(0)
    X = np.arange(30.0)[:, np.newaxis]
    lower = np.where(X[:, 0] < 11, 0.0, 2.0) + rng.normal(scale=0.8, size=30)
    intervals = np.column_stack([lower, lower + rng.uniform(0, 1, 30)])
    intervals[rng.random(30) < 0.2, 1] = np.inf
    intervals[3::7] += 20
    return X, intervals


def test_the_loss_of_ones_own_ends_at_its_minimum_on_xgboost():
    xgb = pytest.importorskip("marginwood.xgb")
    pytest.importorskip("xgboost", reason="XGBoost is optional")
    names = {}
    code = find_blocks(PAGE)[0].code
    exec(code[: code.index("X, y =")], names)  # the class alone
    loss = names["HuberHinge"](bend=BEND)
    X, y = make_rows()
    halves = X[:, 0] < 11
    model = xgb.XGBIntervalRegressor(200, loss=loss, max_depth=1, learning_rate=1.0, reg_lambda=0.0)
    prediction = model.fit(halves[:, np.newaxis], y).predict(halves[:, np.newaxis])
    for half in (halves, ~halves):
        best = best_constant(y[half], BEND)
        assert huber_hinge(y[half], prediction[half], BEND).sum() == pytest.approx(
            best.fun, rel=1e-4
        )
    assert xgb.IntervalMetric(loss).name == "HuberHinge"
    np.testing.assert_allclose(loss.losses(y[:, 0] - 0.5, 0.5 - y[:, 1]), huber_hinge(y, 0.5, BEND))


def test_an_exact_tree_of_widened_rows_has_the_best_split_of_the_loss_of_ones_own():
    X, y = make_rows()
    n_steps = 8
    widths = BEND * (np.arange(n_steps) + 0.5) / n_steps
    wider = np.concatenate([y + np.array([-width, width]) for width in widths])
    tree = MaxMarginIntervalTree(loss="linear_hinge", max_depth=1).fit(
        np.tile(X, (n_steps, 1)), wider
    )
    costs = [
        best_constant(y[:cut], BEND).fun + best_constant(y[cut:], BEND).fun
        for cut in range(1, len(y))
    ]
    found = huber_hinge(y, tree.predict(X), BEND).sum()
    # The sum of steps is within a quarter of a squared step of the loss itself, in every row.
    assert min(costs) - 1e-6 <= found <= min(costs) + 2 * len(y) * (BEND / n_steps) ** 2 / 4
    assert max(costs) > min(costs) + 1
