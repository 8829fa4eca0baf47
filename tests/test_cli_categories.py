"""Columns of text on the command line."""

import io
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import marginwood
from marginwood._ensemble import superlearner
from marginwood.losses import optimal_constant


@pytest.fixture(scope="module")
def grades(tmp_path_factory):
    """Data with a column of text, one of numbered sites, a gap in each, and a column of numbers."""
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 3, 90)
    site = rng.integers(1, 4, 90)
    value = 3.0 * (grade == 1) + site + rng.normal(scale=0.1, size=90)
    names = [["low", "high", "it's fine"][code] for code in grade]
    names[0] = ""
    frame = pl.DataFrame(
        {"grade": names, "site": site, "dose": rng.normal(size=90), "lo": value - 0.1, "up": value}
    )
    path = tmp_path_factory.mktemp("grades") / "grades.csv"
    frame.write_csv(path)
    return path


def test_columns_of_text_become_categories_with_a_notice(call, grades, tmp_path):
    file = tmp_path / "tree.mw"
    code, _, log = call(
        "fit", grades, "--lower", "lo", "--upper", "up", "--max-depth", "4", "--out", file
    )
    assert code == 0, log
    assert "columns of text are categories: grade" in log
    model = marginwood.load(file)
    assert model.categories_ == [["high", "it's fine", "low"], None, None]
    frame = pl.read_csv(grades)
    code, out, log = call("predict", file, grades)
    predicted = pl.read_csv(io.StringIO(out))["prediction"].to_numpy()
    np.testing.assert_array_equal(predicted, model.predict(frame.select("grade", "site", "dose")))
    assert "grade in {" in call("show", file)[1]
    assert "IN ('" in call("show", file, "--format", "sql")[1]
    assert call("evaluate", file, grades)[0] == 0
    assert call("report", file, grades, "--out", tmp_path / "r.html")[0] == 0


def test_a_column_of_ids_is_warned_of(call, grades, tmp_path):
    frame = pl.read_csv(grades).with_columns(patient=pl.Series([f"P{row}" for row in range(90)]))
    frame.write_csv(tmp_path / "ids.csv")
    words = ("fit", tmp_path / "ids.csv", "--lower", "lo", "--upper", "up", "--out", tmp_path / "m")
    code, _, log = call(*words)
    assert code == 0, log
    assert "warning: " in log
    assert (
        "column 'patient' differs in every row, as an id does; leave it out by --drop 'patient'"
        in log
    )
    assert "column 'grade'" not in log
    assert "differs in every row" not in call(*words, "--drop", "patient")[2]


def test_numbers_are_categories_where_they_are_named(call, grades, tmp_path):
    file = tmp_path / "forest.mw"
    words = (
        "--lower",
        "lo",
        "--upper",
        "up",
        "--model",
        "forest",
        "--n-estimators",
        "3",
        "--drop",
        "dose",
    )
    code, _, log = call("fit", grades, *words, "--categories", "site", "grade", "--out", file)
    assert code == 0, log
    assert marginwood.load(file).categories_ == [["high", "it's fine", "low"], ["1", "2", "3"]]
    code, _, log = call("evaluate", file, grades)
    assert code == 0, log
    code, _, log = call("fit", grades, *words, "--categories", "dose", "--out", file)
    assert code == 2
    assert "--categories: expected columns to learn from, got 'dose'" in log


def test_a_model_of_numbers_names_all_columns_that_it_cannot_use(call, grades, tmp_path):
    table = pl.read_csv(grades).with_columns(
        pl.lit("x").alias("note"), pl.col("dose").cast(pl.String) + " mg"
    )
    table.write_csv(tmp_path / "more.csv")
    words = (
        "fit",
        tmp_path / "more.csv",
        "--lower",
        "lo",
        "--upper",
        "up",
        "--out",
        tmp_path / "m",
    )
    code, _, log = call(*words, "--model", "linear")
    assert code == 1
    assert "no numbers in 'grade', 'dose', 'note'" in log
    code, _, log = call(*words, "--model", "linear", "--categories", "grade")
    assert code == 2
    assert "--categories: this model takes numbers only" in log


def test_a_few_cells_of_text_among_numbers_are_an_error_not_categories(call, tmp_path):
    (tmp_path / "typo.csv").write_text("dose,lo,up\n1,0,1\n2,0,1\n3 mg,0,1\n4,2,3\n")
    code, _, log = call(
        "fit", tmp_path / "typo.csv", "--lower", "lo", "--upper", "up", "--out", tmp_path / "m"
    )
    assert code == 1
    assert "column 'dose', row 2" in log


def test_a_mixture_takes_columns_of_text(call, grades, tmp_path, monkeypatch):
    small = [
        ("linear", marginwood.L1IntervalRegression(alpha=0.01)),
        ("tree", marginwood.MaxMarginIntervalTree()),
    ]
    monkeypatch.setattr(superlearner, "auto_models", lambda *_: small)
    file = tmp_path / "auto.mw"
    words = ("--lower", "lo", "--upper", "up", "--model", "auto")
    code, _, log = call("fit", grades, *words, "--out", file)
    assert code == 0, log
    assert "columns of text are categories: grade" in log
    model = marginwood.load(file)
    assert model.categories_ == [["high", "it's fine", "low"], None, None]
    code, out, log = call("predict", file, grades)
    assert code == 0, log
    predicted = pl.read_csv(io.StringIO(out))["prediction"].to_numpy()
    np.testing.assert_array_equal(
        predicted, model.predict(pl.read_csv(grades).select("grade", "site", "dose"))
    )
    for command in (
        ("evaluate", file, grades),
        ("report", file, grades, "--out", tmp_path / "r.html"),
        ("show", file),
    ):
        code, _, log = call(*command)
        assert code == 0, log
    code, _, log = call(
        "plot",
        file,
        grades,
        "--kind",
        "dependence",
        "--feature",
        "dose",
        "--out",
        tmp_path / "d.svg",
    )
    assert code == 0, log
    code, _, log = call(
        "fit", grades, *words, "--log", "--categories", "site", "grade", "--out", file
    )
    assert code == 0, log
    code, _, log = call("evaluate", file, grades)
    assert code == 0, log


@pytest.mark.parametrize("kind", ["quantiles", "intervals"])
def test_a_picture_over_a_column_of_categories_is_refused_with_the_kind_that_draws_it(
    call, grades, tmp_path, kind
):
    file = tmp_path / "forest.mw"
    words = ("--lower", "lo", "--upper", "up", "--model", "forest", "--n-estimators", "3")
    assert call("fit", grades, *words, "--out", file)[0] == 0
    over = ("plot", file, grades, "--feature", "grade", "--out", tmp_path / "p.png")
    code, _, log = call(*over, "--kind", kind)
    assert code == 2
    assert f"--kind {kind} expected a column of numbers, got 'grade', which holds categories" in log
    assert call(*over, "--kind", "dependence")[0] == 0


WITHOUT_PANDAS = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())
from marginwood.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "kind", [("quantiles", "dose"), ("dependence", "dose", "grade")], ids=lambda kind: kind[0]
)
def test_pictures_of_tables_with_text_need_neither_pandas_nor_pyarrow(call, grades, tmp_path, kind):
    file, out = tmp_path / "forest.mw", tmp_path / "p.svg"
    words = ("--lower", "lo", "--upper", "up", "--model", "forest", "--n-estimators", "3")
    assert call("fit", grades, *words, "--out", file)[0] == 0
    words = ["plot", file, grades, "--kind", kind[0], "--feature", *kind[1:], "--out", out]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = re.findall(r"<!-- (.*?) -->", out.read_text(encoding="utf-8"))
    assert {"dose"} <= set(written)
    assert ({"high", "it's fine", "low"} <= set(written)) == ("grade" in kind)


def test_a_benchmark_takes_columns_of_text_and_leaves_out_what_cannot(call, grades, tmp_path):
    words = (
        "benchmark",
        grades,
        "--lower",
        "lo",
        "--upper",
        "up",
        "--cv",
        "2",
        "--out",
        tmp_path / "b.png",
    )
    code, out, log = call(*words, "--models", "tree", "constant")
    assert code == 0, log
    assert "columns of text are categories: grade" in log
    tree, constant = (float(line.split()[1]) for line in out.splitlines()[1:])
    assert tree < 0.2 * constant
    code, _, log = call(*words, "--models", "linear", "constant")
    assert code == 1
    assert (
        "linear cannot use categories (grade); leave linear out of --models, or columns out by --drop"
        in log
    )


def test_a_benchmark_without_chosen_models_says_which_it_leaves_out(
    call, grades, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "marginwood._cli.benchmark.available_models", lambda: ["linear", "constant"]
    )
    words = (
        "benchmark",
        grades,
        "--lower",
        "lo",
        "--upper",
        "up",
        "--cv",
        "2",
        "--out",
        tmp_path / "b.png",
    )
    code, out, log = call(*words, "--categories", "grade", "site")
    assert code == 0, log
    assert "linear cannot use categories (grade, site); left out" in log
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["constant"]


def test_a_benchmark_weighs_rows_and_keeps_groups_whole(call, grades, tmp_path):
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 90)
    frame = pl.read_csv(grades).with_columns(w=weight)
    frame.write_csv(tmp_path / "weighted.csv")
    options = (
        "--lower",
        "lo",
        "--upper",
        "up",
        "--groups",
        "site",
        "--weight",
        "w",
        "--out",
        tmp_path / "b.png",
    )
    words = (
        "benchmark",
        tmp_path / "weighted.csv",
        *options,
        "--models",
        "constant",
        "tree",
        "--cv",
    )
    code, out, log = call(*words, "3")
    assert code == 0, log
    y = frame[["lo", "up"]].to_numpy()
    errors = []
    for site in (1, 2, 3):
        tested = (frame["site"] == site).to_numpy()
        constant = optimal_constant(y[~tested], sample_weight=weight[~tested]).value
        predicted = np.full(tested.sum(), constant)
        error = marginwood.interval_mean_squared_error(
            y[tested], predicted, sample_weight=weight[tested]
        )
        errors.append(error)
    assert float(out.splitlines()[1].split()[1]) == pytest.approx(np.mean(errors), rel=1e-3)
    code, _, log = call(*words, "2")
    assert code == 1
    assert "--groups: expected at least two groups" in log
