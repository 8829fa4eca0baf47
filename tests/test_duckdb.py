"""DuckDB: its relations as tables, and models as SQL that it runs, to the last bit."""

import numpy as np
import pytest

from marginwood import (
    IntervalDummyRegressor,
    L1IntervalRegression,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    save,
)
from marginwood._cli.main import main
from marginwood.export import to_sql
from marginwood.export._sql import _number
from test_export_sql import HOSTILE, left_turns, quoted
from trees import ENSEMBLES, TREES, chain, name_of, probes

duckdb = pytest.importorskip("duckdb", minversion="1.1.0", reason="DuckDB is optional")


@pytest.fixture
def base():
    with duckdb.connect() as connection:
        yield connection


def predict(base, model, X, names=None):
    """What DuckDB makes of the expression for every row; NaN is NULL."""
    names = [f"x[{idx}]" for idx in range(X.shape[1])] if names is None else names
    columns = ", ".join(f"{quoted(name)} DOUBLE" for name in names)
    base.execute(f"CREATE TABLE hard (place INTEGER, {columns})")
    rows = np.where(np.isnan(X), None, X).tolist()
    marks = ", ".join("?" * (1 + len(names)))
    base.executemany(
        f"INSERT INTO hard VALUES ({marks})", [[i, *row] for i, row in enumerate(rows)]
    )
    query = f"SELECT {to_sql(model, feature_names=names, table='hard')} FROM hard ORDER BY place"
    found = [value for (value,) in base.execute(query).fetchall()]
    base.execute("DROP TABLE hard")
    return found


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES, chain(500), left_turns(60)], ids=name_of)
def test_the_same_numbers_are_predicted_for_every_kind_of_model(base, model):
    X = probes(model, 100)
    assert predict(base, model, X) == model.predict(X).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_values_of_few_digits_are_added_as_doubles_and_not_as_decimals(base, seed):
    rng = np.random.default_rng(seed)
    X = np.arange(6.0)[:, np.newaxis]
    y = np.round(rng.normal(size=6) * 10.0 ** rng.integers(-3, 6, 6), 3)
    forest = MaxMarginIntervalForest(3, random_state=seed)
    boosting = MaxMarginIntervalBoosting(3, learning_rate=0.5, max_depth=2, random_state=seed)
    for model in (forest, boosting):
        assert predict(base, model.fit(X, y), X) == model.predict(X).tolist()


def test_every_literal_is_read_as_its_double(base):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    values = np.concatenate(
        [values[np.isfinite(values)], rng.normal(size=500), np.round(rng.normal(size=500), 2)]
    )
    literals = ", ".join(_number(value) for value in values.tolist())
    found = base.execute(f"SELECT unnest([{literals}])").fetchall()
    assert [value for (value,) in found] == values.tolist()


def test_any_name_is_a_column(base):
    X = np.random.default_rng(0).normal(size=(40, len(HOSTILE)))
    tree = MaxMarginIntervalTree().fit(X, X.sum(axis=1))
    assert predict(base, tree, X, HOSTILE) == tree.predict(X).tolist()


def test_categories_are_labels_of_an_enumeration_booleans_and_whole_numbers(base):
    base.execute("CREATE TYPE grade AS ENUM ('a', 'b')")
    base.execute(
        "CREATE TABLE t AS SELECT (['a', 'b', NULL])[1 + i % 3]::grade AS g, i % 2 = 0 AS b, (i % 4)::BIGINT AS k,"
        " (i % 5)::DOUBLE AS x FROM range(40) r(i)"
    )
    frame = base.sql("SELECT g::VARCHAR AS g, b, k, x FROM t").pl()
    y = np.random.default_rng(0).normal(size=40)
    tree = MaxMarginIntervalTree(categorical_features=["g", "b", "k"]).fit(frame, y)
    found = base.execute(f"SELECT {to_sql(tree, table='t')} FROM t").fetchall()
    assert [value for (value,) in found] == tree.predict(frame).tolist()


@pytest.fixture
def table(base):
    """Columns of many types; the connection stays open as long as its relations are read."""
    base.execute(
        "CREATE TABLE t AS SELECT i::INTEGER AS i, (i * 0.37)::DOUBLE AS x, i::DECIMAL(9, 3) AS d,"
        " (i * i)::HUGEINT AS h, CASE WHEN i % 5 = 0 THEN NULL ELSE (i * 1.5)::FLOAT END AS f, i % 2 = 0 AS b,"
        " (i * 0.2)::DOUBLE AS low, (i * 0.2 + 1)::DOUBLE AS high FROM range(40) r(i)"
    )
    return base.sql


MODELS = [
    MaxMarginIntervalTree(max_depth=3),
    MaxMarginIntervalForest(3, random_state=0),
    MaxMarginIntervalBoosting(3, random_state=0),
    IntervalDummyRegressor(),
]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_a_relation_is_a_table_of_features_and_of_targets(table, model):
    query, target = "SELECT i, x, d, h, f, b FROM t", "SELECT low, high FROM t"
    arrays = [table(text).pl().cast(float).to_numpy() for text in (query, target)]
    expected = model.fit(*arrays).predict(arrays[0])
    model.fit(table(query), table(target))
    assert model.feature_names_in_.tolist() == ["i", "x", "d", "h", "f", "b"]
    np.testing.assert_array_equal(model.predict(table(query)), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table("SELECT x, i, d, h, f, b FROM t"))


def test_a_linear_model_takes_a_relation_too(table):
    query = "SELECT x, i FROM t"
    model = L1IntervalRegression(alpha=0.1).fit(table(query), table("SELECT low, high FROM t"))
    np.testing.assert_array_equal(model.predict(table(query)), model.predict(table(query).pl()))


def test_weights_are_one_column_of_a_frame_and_not_a_relation(table):
    X, y, weights = (
        table("SELECT x FROM t").pl(),
        table("SELECT low, high FROM t").pl(),
        "SELECT i + 1 AS i FROM t",
    )
    tree = MaxMarginIntervalTree()
    with pytest.raises(
        ValueError, match=r"sample_weight: expected a number or shape \(40,\).*got shape \(40, 1\)"
    ):
        tree.fit(X, y, sample_weight=table(weights))
    tree.fit(X, y, sample_weight=table(weights).pl()["i"])
    assert tree.tree_.weighted_n_node_samples[0] == 820


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT ['a', 'b'][1 + i % 2] AS s FROM t", "X: expected numbers, got text in column 's'"),
        (
            "SELECT DATE '2020-01-01' + i AS day FROM t",
            "X: expected numbers, got dates or durations in column 'day'",
        ),
        ("SELECT [x] AS l FROM t", "X: expected rows of numbers"),
        ("SELECT x, x FROM t", "X: expected columns of different names|different numbers"),
        ("SELECT x FROM t WHERE i < 0", "0 sample"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(table, query, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MaxMarginIntervalTree().fit(table(query), table("SELECT low, high FROM t"))


def test_a_connection_that_waits_for_its_rows_to_be_fetched_is_no_table(base):
    with pytest.raises(TypeError, match="X: expected rows of numbers, got DuckDBPyConnection"):
        MaxMarginIntervalTree().fit(base.execute("SELECT 1.0"), [1.0])


def test_sql_of_the_command_line_runs(table, base, tmp_path, capsys):
    tree = MaxMarginIntervalTree(max_depth=3).fit(
        table("SELECT x, f FROM t"), table("SELECT low, high FROM t")
    )
    save(tree, tmp_path / "tree.mw")
    assert main(["show", str(tmp_path / "tree.mw"), "--format", "sql"]) == 0
    found = base.execute(f"SELECT {capsys.readouterr().out} FROM t").fetchall()
    assert [value for (value,) in found] == tree.predict(table("SELECT x, f FROM t")).tolist()
