"""Tables of other libraries as features and as targets."""

import numpy as np
import pytest

import marginwood
from marginwood.datasets import make_sine
from marginwood.intervals import check_intervals, from_events
from marginwood.xgb import XGBIntervalRegressor

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is optional")
polars = pytest.importorskip("polars", reason="polars is optional")

X, y = make_sine(60, 3, random_state=0)
NAMES = ["a", "b", "c"]
FEATURES = pyarrow.table({name: X[:, idx] for idx, name in enumerate(NAMES)})
TARGETS = pyarrow.table({"lower": y[:, 0], "upper": y[:, 1]})


class Stream:
    """A table that offers Arrow's stream and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A table that offers the older protocol and nothing else."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, *args, **kwargs):
        return self._table.__dataframe__(*args, **kwargs)


FORMS = {"table": lambda table: table, "stream": Stream, "interchange": Interchange}
MODELS = [
    marginwood.MaxMarginIntervalTree(max_depth=3),
    marginwood.MaxMarginIntervalForest(3, random_state=0),
    marginwood.L1IntervalRegression(),
    marginwood.IntervalDummyRegressor(),
    marginwood.CrossFittedIntervalRegressor(marginwood.MaxMarginIntervalTree(max_depth=2), cv=2),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_of_tables_is_that_of_arrays_and_knows_their_names(model, form):
    make = FORMS[form]
    expected = model.fit(X, y).predict(X)
    model.fit(make(FEATURES), make(TARGETS))
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(make(FEATURES)), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(make(FEATURES.select(["b", "a", "c"])))


def test_xgboost_takes_tables():
    pytest.importorskip("xgboost", reason="XGBoost is optional")
    model = XGBIntervalRegressor(3).fit(FEATURES, TARGETS, X_val=FEATURES, y_val=TARGETS)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(
        model.predict(FEATURES), model.predict(polars.DataFrame(FEATURES))
    )


def test_missing_cells_of_a_table_are_nan():
    table = pyarrow.table({"a": [1, None, 3, 4], "b": [0.5, 1.5, None, 2.5]})
    tree = marginwood.MaxMarginIntervalTree().fit(table, [0.0, 0.0, 10.0, 10.0])
    assert tree.tree_.saw_missing.all()


def test_a_column_of_arrow_is_a_target_a_weight_and_a_time():
    column = pyarrow.chunked_array([[1.0, 2.0], [3.0]])
    np.testing.assert_array_equal(check_intervals(column), [[1, 1], [2, 2], [3, 3]])
    events = from_events(column, pyarrow.chunked_array([[True, False, True]]))
    np.testing.assert_array_equal(events, [[1, 1], [2, np.inf], [3, 3]])
    tree = marginwood.MaxMarginIntervalTree().fit(
        [[0.0], [1.0], [2.0]], column, sample_weight=column
    )
    assert tree.tree_.weighted_n_node_samples[0] == 6


def test_a_lazy_frame_is_to_be_collected():
    with pytest.raises(
        TypeError,
        match=r"X: expected rows, got a LazyFrame of polars, which holds none yet; pass X\.collect\(\)",
    ):
        marginwood.MaxMarginIntervalTree().fit(polars.DataFrame(X).lazy(), y)
    with pytest.raises(
        TypeError,
        match=r"y: expected rows, got a LazyFrame of polars, which holds none yet; pass y\.collect\(\)",
    ):
        marginwood.MaxMarginIntervalTree().fit(X, polars.DataFrame(y).lazy())


def test_without_polars_a_table_goes_through_arrow_and_pandas(monkeypatch):
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    from marginwood._support import tables

    monkeypatch.setattr(tables, "find_spec", lambda name: None if name == "polars" else name)
    assert isinstance(tables.as_known_table(FEATURES, "X"), pandas.DataFrame)
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    for table in (FEATURES, Interchange(FEATURES)):
        with pytest.raises(
            ImportError, match=r"X: a table of type .* is read with polars or pyarrow: pip install"
        ):
            tables.as_known_table(table, "X")


def test_a_table_of_one_column_is_refused_as_weights_and_as_times_by_its_shape():
    table = pyarrow.table({"w": [1.0, 2.0]})
    with pytest.raises(
        ValueError, match=r"sample_weight: expected a number or shape \(2,\).*got shape \(2, 1\)"
    ):
        marginwood.MaxMarginIntervalTree().fit(
            [[1.0], [2.0]], [1.0, 2.0], sample_weight=Stream(table)
        )
    with pytest.raises(
        ValueError, match=r"expected 1-D arrays of one length; time has shape \(2, 1\)"
    ):
        from_events(Stream(table), [True, False])


def test_two_columns_of_one_name_are_refused():
    table = pyarrow.table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"])
    with pytest.raises(ValueError, match=r"X: expected columns of different names: .*a"):
        marginwood.MaxMarginIntervalTree().fit(table, [1.0, 2.0])


@pytest.mark.parametrize(
    ("X", "error"),
    [
        (pyarrow.table({"a": [[1.0], [2.0, 3.0]]}), ValueError),
        (pyarrow.table({"a": [{"b": 1.0}, {"b": 2.0}]}), (TypeError, ValueError)),
        ([[{}], [{}]], TypeError),
        (object(), TypeError),
    ],
    ids=["lists", "structs", "dictionaries", "no table"],
)
def test_what_holds_no_rows_of_numbers_is_refused_by_name(X, error):
    with pytest.raises(error, match=r"^X: expected rows of numbers, got "):
        marginwood.MaxMarginIntervalTree().fit(X, [1.0, 2.0])
