"""Models as SQL in DuckDB and PostgreSQL: the predictions must be the same doubles, whatever a column holds."""

import os
import shutil
import subprocess
import tempfile
from math import inf, nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from marginwood import (
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood.export import to_sql

duckdb = pytest.importorskip("duckdb")

N_ROWS = 10_000
NAMES = ['a "quoted" name', "may be NaN", "flag", "site", "share"]
SITES = ["north", "it's", 'a "b"', "größe"]


def make_frame(n_rows, seed):
    """Numbers with infinities, NaN, booleans, words with quotes, and numbers between 0 and 1."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.choice([-inf, inf, 0.1, -1e300, 5e-324], n_rows),
        rng.normal(size=n_rows).round(2),
        rng.random(n_rows) < 0.5,
        pd.Categorical(rng.choice(SITES, n_rows), SITES),
        rng.random(n_rows).round(3),
    ]
    columns[0] = np.where(rng.random(n_rows) < 0.8, rng.normal(size=n_rows), columns[0])
    columns[1][rng.random(n_rows) < 0.2] = nan
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)))


TRAINING = make_frame(400, 0)
TARGET = (
    np.nan_to_num(TRAINING[NAMES[0]].to_numpy(), posinf=3, neginf=-3).clip(-3, 3)
    + 2 * TRAINING["flag"].to_numpy()
    + TRAINING["site"].cat.codes.to_numpy()
    + np.nan_to_num(TRAINING["may be NaN"].to_numpy(), nan=5.0)
    + TRAINING["share"].to_numpy()
)
MODELS = [
    MaxMarginIntervalTree(max_depth=6),
    MaxMarginIntervalForest(5, max_depth=5, random_state=0),
    MaxMarginIntervalBoosting(6, learning_rate=0.3, n_iter_no_change=None, random_state=0),
]
NEW = make_frame(N_ROWS, 1)


def fitted(model):
    return model.fit(TRAINING, TARGET)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("table", [None, "new rows"])
def test_duckdb_predicts_the_same(model, table):
    sql = to_sql(fitted(model), table=table, dialect="duckdb")
    with duckdb.connect() as database:
        database.register("frame", NEW)
        database.execute('CREATE TABLE "new rows" AS SELECT * FROM frame')
        # Frames bring NULL for NaN; files of numbers bring NaN.
        database.execute(
            """UPDATE "new rows" SET "may be NaN" = 'NaN' WHERE "may be NaN" IS NULL AND share < 0.5"""
        )
        found = database.execute(f'SELECT {sql} FROM "new rows"').fetchnumpy()
    assert (next(iter(found.values())) == model.predict(NEW)).all()


def test_duckdb_adds_up_a_linear_model_of_booleans():
    columns = ["share", "flag"]
    model = L1IntervalRegression(alpha=1e-3).fit(TRAINING[columns].astype(float), TARGET)
    sql = to_sql(model, dialect="duckdb")
    frame = NEW[columns]
    with duckdb.connect() as database:
        database.register("frame", frame)
        found = database.execute(f"SELECT {sql} AS p FROM frame").fetchnumpy()["p"]
    np.testing.assert_allclose(found, model.predict(frame.astype(float)), rtol=1e-13)


class PostgreSQL:
    """A server of its own in a folder, on a socket there and on no port."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        # It does not run as root; Debian's packages bring a user for it.
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.as_user:
            shutil.chown(folder, "postgres")
        self.data = folder / "data"
        self.call(
            "initdb", "-D", self.data, "-U", "marginwood", "-E", "UTF8", "--locale=C", "-A", "trust"
        )
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        self.call("pg_ctl", "-D", self.data, "-w", "-l", folder / "log", "-o", options, "start")

    def call(self, program, *arguments, text=None):
        command = [*self.as_user, str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, cwd=self.folder, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, script):
        options = "-h", self.folder, "-U", "marginwood", "-d", "postgres", "-v", "ON_ERROR_STOP=1"
        return self.call("psql", *options, "-q", "-t", "-A", text=script)

    def stop(self):
        self.call("pg_ctl", "-D", self.data, "-m", "immediate", "stop")


@pytest.fixture(scope="module")
def postgres():
    programs = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin"))) or [
        str(Path(path).parent) for path in [shutil.which("initdb")] if path
    ]
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    # The paths of sockets must be short.
    with tempfile.TemporaryDirectory(prefix="mw", dir="/tmp") as folder:
        server = PostgreSQL(Path(programs[-1]), Path(folder))
        try:
            yield server
        finally:
            server.stop()


def as_copy(frame):
    """A frame as COPY takes it: NaN as NULL where the share is large, as NaN elsewhere."""
    lines = []
    for row in frame.itertuples(index=False):
        cells = ["t" if cell is True else "f" if cell is False else str(cell) for cell in row]
        cells[1] = "\\N" if cells[1] == "nan" and row[4] >= 0.5 else cells[1]
        lines.append("\t".join(cells))
    return "\n".join(lines)


def test_postgresql_predicts_the_same(postgres):
    names = ", ".join(
        f'"{name.replace(chr(34), 2 * chr(34))}" {kind}'
        for name, kind in zip(NAMES, ["float8", "float8", "boolean", "text", "float8"], strict=True)
    )
    script = f'CREATE TABLE "new rows" ("row" serial, {names});\n'
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in NAMES)
    script += f'COPY "new rows" ({columns}) FROM STDIN;\n{as_copy(NEW)}\n\\.\n'
    postgres.run(script)
    for model in MODELS:
        for table in (None, "new rows"):
            sql = to_sql(fitted(model), table=table, dialect="postgres")
            printed = postgres.run(f'SELECT {sql} FROM "new rows" ORDER BY "row";').split()
            assert [float(number) for number in printed] == model.predict(NEW).tolist()


def test_postgresql_reads_every_number_as_the_same_double(postgres):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 300, dtype=np.uint64).view(np.float64)
    numbers = [*numbers[np.isfinite(numbers)].tolist(), 0.1, 5e-324, 1.7976931348623157e308]
    trees = [
        MaxMarginIntervalTree().fit([[0.0]], [value]) for value in numbers if abs(value) < 1e150
    ]
    script = "\n".join(f"SELECT {to_sql(tree, dialect='postgres')};" for tree in trees)
    assert [float(number) for number in postgres.run(script).split()] == [
        tree.predict([[0.0]]).item() for tree in trees
    ]


def test_another_dialect_is_refused_by_name():
    with pytest.raises(
        ValueError, match="dialect: expected one of 'ansi', 'duckdb', 'postgres', got 'oracle'"
    ):
        to_sql(fitted(MODELS[0]), dialect="oracle")
