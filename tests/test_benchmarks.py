"""Every work of the benchmarks, on few rows, and the table that its rows become."""

import csv
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import works
from benchmarks.works import WORKS, Settings

SHRUNK = Settings(repeats=1, shrink=200)
# Works that have no rows without libraries that the tests do not ask for.
NEEDED = {"forest_survival": ("sksurv",), "survival": ("lifelines", "sksurv", "surpyval")}


@pytest.mark.parametrize("name", WORKS)
def test_each_work_measures_what_it_names(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some leave figures and tables in `build`
    if name == "startup":  # an empty cache would be filled, which takes longer than all else here
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    if name == "memory":  # a process for each row
        monkeypatch.setattr(works, "LOSSES", works.LOSSES[:1])
    rows = list(WORKS[name](SHRUNK))
    has_all = all(find_spec(library) is not None for library in NEEDED.get(name, ()))
    assert bool(rows) == has_all
    assert [row for row in rows if not np.isfinite(row.ratio) or row.ratio < 0] == []
    assert len({(row.work, row.against) for row in rows}) == len(rows)
    if name == "boost":  # the default depth, and that of the other library
        assert {depth for depth in (3, 6) for row in rows if f"depth {depth}," in row.work} == {
            3,
            6,
        }


def test_the_command_prints_the_rows_that_it_writes(tmp_path, monkeypatch, capsys):
    out = tmp_path / "rows.csv"
    monkeypatch.setattr(
        sys, "argv", ["benchmarks", "--quick", "--only", "crossing,predict", "--out", str(out)]
    )
    command.main()
    with out.open(newline="", encoding="utf-8") as file:
        measured = [row["work"] for row in csv.DictReader(file)]
    assert len(measured) == 2
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in printed[-2:]] == measured
