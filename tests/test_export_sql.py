"""Models as SQL, run in SQLite: the predictions must be the same doubles."""

import contextlib
import math
import sqlite3
from math import inf, nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from marginwood import MaxMarginIntervalForest, MaxMarginIntervalTree, TransformedIntervalRegressor
from marginwood._core.nodes import LEAF, NODE_DTYPE
from marginwood._trees.table import IntervalTree
from marginwood.export import Condition, to_sql
from marginwood.export._sql import _membership, _number
from strategies import losses, tree_problems
from trees import ENSEMBLES, TREES, X, chain, name_of, probes, y

HOSTILE = [
    'a"b',
    "'; DROP TABLE rows; --",
    "back\\slash",
    "größe (µm)",
    "select",
    "a.b",
    " ",
    "two\nlines",
    "?1 :x @y $z",
]
pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def run(sql, X, names):
    """What SQLite makes of the expression for every row; NaN is bound as NULL."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            f'CREATE TABLE "rows" ({", ".join(f"{quoted(name)} REAL" for name in names)})'
        )
        marks = ", ".join("?" * len(names))
        rows = [[None if math.isnan(value) else value for value in row] for row in X.tolist()]
        database.executemany(f'INSERT INTO "rows" VALUES ({marks})', rows)
        return [value for (value,) in database.execute(f'SELECT {sql} FROM "rows" ORDER BY rowid')]


def check(model, X, names=None):
    names = [f"x[{idx}]" for idx in range(X.shape[1])] if names is None else names
    for table in (None, "rows"):
        assert (
            run(to_sql(model, feature_names=names, table=table), X, names)
            == model.predict(X).tolist()
        )


@given(tree_problems(), losses)
def test_sqlite_predicts_the_same(problem, loss):
    tree = MaxMarginIntervalTree(loss=loss, margin=1.0).fit(*problem)
    check(tree, np.concatenate([problem.X, probes(tree, 40)]))


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=name_of)
def test_sqlite_predicts_the_same_for_every_kind_of_model(model):
    check(model, probes(model))


def test_any_name_is_a_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(HOSTILE)))
    tree = MaxMarginIntervalTree().fit(X, X.sum(axis=1))
    check(tree, X, HOSTILE)


def test_a_column_that_the_table_does_not_have_is_found_by_sqlite():
    tree = MaxMarginIntervalTree().fit([[1], [2]], [0.0, 5.0])
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        run(to_sql(tree, feature_names=["doze"], table="rows"), np.array([[1.0]]), ["dose"])


def test_infinite_thresholds_are_written_without_infinities():
    X = np.array([[-inf, 0.0], [0.0, 0.0], [0.0, nan]])
    tree = MaxMarginIntervalTree().fit(X, [0.0, 5.0, 9.0])
    assert {-inf, inf} <= set(tree.tree_.threshold)
    sql = to_sql(tree)
    assert '"x[0]" < -1.7976931348623157e308' in sql
    assert '"x[1]" IS NOT NULL' in sql
    check(
        tree,
        np.array([[a, b] for a in (-inf, -1.7e308, 0.0, inf, nan) for b in (-inf, 1.0, inf, nan)]),
    )


def test_a_lone_leaf_is_a_number():
    tree = MaxMarginIntervalTree().fit([[0.0]], [[-2.5, -2.5]])
    assert to_sql(tree) == "-2.5e0"


@given(
    st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda value: value == 0 or abs(value) > 1e-280
    )
)
@example(0.0717085058433184)  # the shortest text of this double is read wrong by SQLite 3.40
@example(123456789012345680.0)
@example(1.7976931348623157e308)
def test_sqlite_reads_every_number_as_it_was(value):
    assert run(_number(value), np.zeros((1, 1)), ["x"]) == [value]


def test_a_whole_number_of_json_is_written_as_a_double():
    assert _number.__wrapped__(2) == "2.0e0"


@pytest.mark.parametrize(
    "value", [0.0, 1.0, 0.1, -2.5, 1e22, 123456789012345680.0, 0.0717085058433184]
)
def test_every_number_has_an_exponent_so_that_standard_sql_reads_a_double_and_no_decimal(value):
    assert "e" in _number(value)
    assert float(_number(value)) == value


def test_a_sum_beyond_the_doubles_of_a_broken_model_stays_an_expression():
    assert [_number(value) for value in (inf, -inf, nan)] == ["9e999", "-9e999", "NULL"]
    assert run("9e999", np.zeros((1, 1)), ["x"]) == [inf]


def test_a_deep_tree_is_flat():
    rows = np.array([[-1.0], [0.0], [1.5], [1999.0], [3998.0], [inf], [nan]])
    check(chain(2000), rows)
    mirrored = chain(2000)
    nodes = mirrored.tree_.nodes
    nodes["children_left"], nodes["children_right"] = (
        nodes["children_right"].copy(),
        nodes["children_left"].copy(),
    )
    nodes["threshold"] = 4000 - nodes["threshold"]
    check(mirrored, rows)


def left_turns(n_features):
    """A path that turns left at every feature."""
    nodes = np.zeros(2 * n_features + 1, dtype=NODE_DTYPE)
    splits = np.arange(0, 2 * n_features, 2)
    nodes["children_left"], nodes["children_right"] = LEAF, LEAF
    nodes["children_left"][splits], nodes["children_right"][splits] = splits + 2, splits + 1
    nodes["feature"][splits], nodes["value"] = np.arange(n_features), np.arange(len(nodes))
    tree = MaxMarginIntervalTree().fit(np.zeros((1, n_features)), [1.0])
    tree.tree_ = IntervalTree(nodes, np.zeros(n_features, dtype=bool))
    return tree


def test_paths_of_many_features_and_many_trees_stay_below_the_limits_of_sqlite():
    check(left_turns(200), np.where(np.eye(4, 200, 197) > 0, 1.0, -1.0))
    forest = MaxMarginIntervalForest(n_estimators=9, max_leaf_nodes=2, random_state=0).fit(X, y)
    forest.estimators_ *= 100
    check(forest, X[:5])


@pytest.mark.parametrize("table", ["", "a\0b", 5])
def test_a_wrong_name_of_a_table_is_refused(table):
    with pytest.raises(ValueError, match="table: expected the name"):
        to_sql(TREES[0], table=table)


def test_what_sql_cannot_say_is_refused():
    with pytest.raises(ValueError, match="aggregation='median'"):
        to_sql(MaxMarginIntervalForest(n_estimators=2, aggregation="median").fit(X, y))
    with pytest.raises(ValueError, match="feature_names: expected names of columns, all different"):
        to_sql(TREES[0], feature_names=["a", "b", "a"])
    with pytest.raises(ValueError, match="NUL"):
        to_sql(TREES[0], feature_names=["a", "b", "c\0"])
    with pytest.raises(NotFittedError):
        to_sql(MaxMarginIntervalForest())
    with pytest.raises(
        TypeError, match=r"expected a fitted tree.*forest or boosting.*LinearRegression"
    ):
        to_sql(LinearRegression())
    logarithms = TransformedIntervalRegressor(
        MaxMarginIntervalForest(n_estimators=2), func="arcsinh"
    ).fit(X, y)
    with pytest.raises(
        TypeError, match="which predicts a function of what its trees add up to; its regressor_"
    ):
        to_sql(logarithms)
    assert to_sql(logarithms.regressor_)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("held", [(), ("a",), ("a", "b")], ids=str)
def test_any_set_of_categories_is_a_predicate(held, missing):
    predicate = _membership(Condition('"g"', missing=missing, categories=held), ["a", "b"])
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        rows = database.execute(
            f"SELECT g FROM (SELECT 'a' AS g UNION SELECT 'b' UNION SELECT NULL) WHERE {predicate}"
        )
        assert {label for (label,) in rows} == {*held, *([None] if missing else [])}
    assert "()" not in predicate  # which other databases refuse
