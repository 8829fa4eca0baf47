"""Parquet files larger than memory, through the command line."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import marginwood
from conftest import PATIENCE
from marginwood.xgb import XGBIntervalRegressor

pytest.importorskip("xgboost", reason="XGBoost is optional")

TARGET = ("--lower", "low", "--upper", "high", "--model", "xgb")


def write(path, n_rows, n_features, *, digits=None, row_group_size=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    X = X if digits is None else X.round(digits)
    columns = {f"x{idx}": X[:, idx] for idx in range(n_features)}
    low = X[:, 0] - rng.exponential(size=n_rows)
    high = np.where(np.arange(n_rows) % 4 == 0, np.inf, X[:, 0] + 0.5)
    frame = pl.DataFrame(
        columns | {"low": low, "high": high, "id": [f"row {row}" for row in range(n_rows)]}
    )
    frame.write_parquet(path, row_group_size=row_group_size)
    return path


@pytest.mark.parametrize("chunk_rows", [70, 1000])
def test_chunks_of_a_file_give_the_model_of_all_of_it(call, tmp_path, chunk_rows):
    data = write(tmp_path / "rows.parquet", 200, 3, digits=1, row_group_size=64)
    options = (*TARGET, "--drop", "id", "--n-estimators", "5", "--seed", "1")
    code, _, stderr = call(
        "fit", data, *options, "--chunk-rows", chunk_rows, "--out", tmp_path / "chunks.mw"
    )
    assert code == 0, stderr
    assert "rows.parquet: 200 rows (150 interval, 50 right), 3 features" in stderr
    assert call("fit", data, *options, "--out", tmp_path / "whole.mw")[0] == 0
    chunked, whole = (marginwood.load(tmp_path / f"{name}.mw") for name in ("chunks", "whole"))
    frame = pl.read_parquet(data).select("x0", "x1", "x2")
    np.testing.assert_allclose(chunked.predict(frame), whole.predict(frame), atol=1e-5)
    # Its file knows the names of features and target, as any other does.
    assert call("evaluate", tmp_path / "chunks.mw", data)[0] == 0


def test_what_cannot_be_read_in_chunks_is_told(call, tmp_path):
    data = write(tmp_path / "rows.parquet", 20, 2)
    table = tmp_path / "rows.csv"
    pl.read_parquet(data).drop("id").write_csv(table)
    out = ("--out", tmp_path / "model.mw")
    wrong = [
        (
            (data, "--lower", "low", "--chunk-rows", "5"),
            2,
            "--chunk-rows goes with --model xgb, got tree",
        ),
        (
            (data, *TARGET, "--chunk-rows", "0"),
            2,
            "--chunk-rows: expected a whole number >= 1, got 0",
        ),
        (
            (data, *TARGET, "--chunk-rows", "5", "--log"),
            2,
            "--chunk-rows goes with --model xgb alone",
        ),
        ((data, "--model", "xgb", "--chunk-rows", "5"), 2, "name the target's columns"),
        (("-", *TARGET, "--chunk-rows", "5"), 2, "--chunk-rows: expected a Parquet file, got -"),
        ((table, *TARGET, "--chunk-rows", "5"), 1, "--chunk-rows expected a Parquet file"),
        (
            (data, *TARGET, "--chunk-rows", "5", "--categories", "ward"),
            2,
            "--categories: expected columns to learn from",
        ),
        (
            (
                data,
                "--lower",
                "high",
                "--upper",
                "low",
                "--model",
                "xgb",
                "--drop",
                "id",
                "--chunk-rows",
                "5",
            ),
            1,
            "They look swapped",
        ),
    ]
    for arguments, expected, message in wrong:
        code, _, stderr = call("fit", *arguments, *out)
        assert code == expected
        assert message in stderr
    data.write_bytes(data.read_bytes()[:-30])
    code, _, stderr = call("fit", data, *TARGET, "--chunk-rows", "5", *out)
    assert code == 1
    assert "damaged Parquet file" in stderr
    assert not (tmp_path / "model.mw").exists()


# What is loaded and compiled once is held before the limit is set.
PROGRAM = """
import resource
import sys
from pathlib import Path
from marginwood._cli.main import main

small, large, n_more_bytes, *options = sys.argv[1:]
if main(["fit", small, *options]):
    sys.exit("the small file failed")
lines = Path("/proc/self/status").read_text().splitlines()
held = 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmData")))
resource.setrlimit(resource.RLIMIT_DATA, (held + int(n_more_bytes), resource.RLIM_INFINITY))
sys.exit(main(["fit", large, *options]))
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="needs /proc, and limits that count all private memory"
)
def test_a_file_that_does_not_fit_in_memory_is_trained_on_in_chunks_and_only_so(tmp_path):
    n_features = 300
    large = write(tmp_path / "large.parquet", 80_000, n_features, digits=1, row_group_size=2000)
    small = write(tmp_path / "small.parquet", 4000, n_features, digits=1, row_group_size=2000)
    n_bytes = 2 * 80_000 * n_features * 8 // 3  # 122 MiB; in chunks, 48 were enough
    options = (
        *TARGET,
        "--drop",
        "id",
        "--n-estimators",
        "2",
        "--max-bin",
        "8",
        "--out",
        tmp_path / "model.mw",
    )
    command = [sys.executable, "-c", PROGRAM, small, large, str(n_bytes), *options]
    threads = os.environ | {
        "POLARS_MAX_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }  # each would have an arena of its own

    def run(*more):
        return subprocess.run(
            [*command, *more], capture_output=True, text=True, timeout=PATIENCE, env=threads
        )

    chunked = run("--chunk-rows", "2000")
    assert chunked.returncode == 0, chunked.stderr
    assert "large.parquet: 80000 rows" in chunked.stderr
    whole = run()
    assert whole.returncode != 0
    assert "memory" in whole.stderr.lower()  # a MemoryError of Python, or polars gives up
    assert "small file failed" not in whole.stderr


def test_chunks_may_have_weights(call, tmp_path):
    data = write(tmp_path / "rows.parquet", 200, 3, digits=1)
    weights = pl.Series("w", np.random.default_rng(1).uniform(0.5, 2.0, 200))
    pl.read_parquet(data).with_columns(weights).write_parquet(data)
    options = (*TARGET, "--drop", "id", "--weight", "w", "--n-estimators", "5", "--seed", "1")
    assert call("fit", data, *options, "--chunk-rows", 70, "--out", tmp_path / "chunks.mw")[0] == 0
    assert call("fit", data, *options, "--out", tmp_path / "whole.mw")[0] == 0
    chunked, whole = (marginwood.load(tmp_path / f"{name}.mw") for name in ("chunks", "whole"))
    assert chunked.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    frame = pl.read_parquet(data).select("x0", "x1", "x2")
    np.testing.assert_allclose(chunked.predict(frame), whole.predict(frame), atol=1e-5)


@pytest.mark.parametrize("named", [False, True])
def test_chunks_may_have_categories(call, tmp_path, named):
    data = write(tmp_path / "rows.parquet", 200, 3, digits=1)
    rows = np.arange(200)
    # Each chunk of 70 rows has labels that no other has.
    ward = [f"ward {row // 10}" for row in rows]
    frame = (
        pl.read_parquet(data)
        .drop("id")
        .with_columns(ward=pl.Series(ward), site=pl.Series(rows % 3))
    )
    frame = frame.with_columns(
        low=pl.col("low") + 3.0 * (rows // 10 % 2), high=pl.col("high") + 3.0 * (rows // 10 % 2)
    )
    frame.write_parquet(data)
    options = (
        *TARGET,
        "--n-estimators",
        "5",
        "--seed",
        "1",
        *(("--categories", "ward", "site") if named else ()),
    )
    code, _, log = call("fit", data, *options, "--chunk-rows", 70, "--out", tmp_path / "chunks.mw")
    assert code == 0, log
    assert log.count("columns of text are categories: ward") == int(not named)
    assert call("fit", data, *options, "--out", tmp_path / "whole.mw")[0] == 0
    chunked, whole = (marginwood.load(tmp_path / f"{name}.mw") for name in ("chunks", "whole"))
    assert chunked.categories_ == whole.categories_
    assert [len(labels or []) for labels in chunked.categories_] == [0, 0, 0, 20, 3 if named else 0]
    features = frame.drop("low", "high")
    np.testing.assert_allclose(chunked.predict(features), whole.predict(features), atol=1e-5)
    assert call("evaluate", tmp_path / "chunks.mw", data)[0] == 0


def test_the_model_of_a_file_knows_its_class(call, tmp_path):
    data = write(tmp_path / "rows.parquet", 50, 2)
    code, _, _ = call(
        "fit", data, *TARGET, "--drop", "id", "--chunk-rows", "9", "--out", tmp_path / "model.mw"
    )
    assert code == 0
    assert type(marginwood.load(tmp_path / "model.mw")) is XGBIntervalRegressor
    assert (
        "trained on rows.parquet: 50 rows (37 interval, 13 right), 2 features"
        in call("show", tmp_path / "model.mw")[1]
    )
