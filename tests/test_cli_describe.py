"""The command that summarises a target."""

import numpy as np
import polars as pl
import pytest

from marginwood.datasets import load_gbsg2, load_mercury
from marginwood.inference import censored_summary, compare_groups


@pytest.fixture
def wells(tmp_path):
    data = load_mercury(as_frame=True)
    lower, upper = np.asarray(data.y).T
    values = [
        f"{u:g}" if low == u else f"<{np.nextafter(u, np.inf):g}"
        for low, u in zip(lower, upper, strict=True)
    ]
    path = tmp_path / "wells.csv"
    pl.DataFrame({"Hg": values, "use": data.X["LandUse"].astype(str).to_list()}).write_csv(path)
    return path


def test_what_is_printed_is_the_summary_and_the_test(call, wells, tmp_path):
    options = ["--value", "Hg", "--by", "use", "--method", "lognormal", "--threshold", "0.3"]
    out = tmp_path / "boxes.png"
    code, stdout, stderr = call("describe", wells, *options, "--out", out)
    assert code == 0, stderr
    data = load_mercury(as_frame=True)
    uses = data.X["LandUse"].astype(str)
    summary = censored_summary(data.y, by=uses, method="lognormal", threshold=0.3)
    assert stdout == f"{summary}\n\n{compare_groups(data.y, uses)}\n"
    assert "133 rows (15 left, 118 un-censored)" in stderr
    assert out.read_bytes().startswith(b"\x89PNG")


def test_the_bootstrap_has_a_seed(call, wells):
    options = ["--value", "Hg", "--bootstrap", "20"]
    texts = [call("describe", wells, *options, "--seed", seed)[1] for seed in "007"]
    assert texts[0] == texts[1] != texts[2]


def test_survival_times_are_drawn_as_curves(call, tmp_path):
    women = load_gbsg2(as_frame=True)
    lower, upper = np.asarray(women.y).T
    table = {
        "days": lower,
        "died": (lower == upper).astype(int),
        "therapy": women.X["horTh"].astype(str),
    }
    path, out = tmp_path / "women.csv", tmp_path / "curves.svg"
    pl.DataFrame({name: list(cells) for name, cells in table.items()}).write_csv(path)
    options = ["--time", "days", "--event", "died", "--by", "therapy", "--bootstrap", "5"]
    code, stdout, stderr = call("describe", path, *options, "--out", out)
    assert code == 0, stderr
    assert "chi-squared 8.565" in stdout
    assert "at risk" in out.read_text() or out.stat().st_size > 10_000


def test_rows_without_a_group_are_one(call, tmp_path):
    path = tmp_path / "wells.csv"
    path.write_text("v,g\n<1,a\n2,a\n3,\n4,\n")
    code, stdout, stderr = call("describe", path, "--value", "v", "--by", "g", "--bootstrap", "5")
    assert code == 0, stderr
    assert "(none)" in stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name the target's columns"),
        (["--value", "Hg", "--out", "wells.txt"], "--out: expected a file that ends in"),
        (["--value", "Hg", "--by", "well"], "no column named 'well'"),
        (["--value", "Hg", "--threshold", "inf"], "threshold: expected a finite number"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call, wells, options, message):
    code, stdout, stderr = call("describe", wells, *options)
    assert code in (1, 2)
    assert message in stderr
    assert not stdout
