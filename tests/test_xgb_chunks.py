"""XGBoost on chunks of rows: the same model, and memory that does not grow with them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from marginwood.xgb import XGBIntervalRegressor

xgboost = pytest.importorskip("xgboost", reason="XGBoost is optional")

rng = np.random.default_rng(0)
# Fewer values than bins: however rows are read, the bins are the same.
X = rng.integers(0, 40, size=(1000, 4)) / 10
centre = np.sin(2 * X[:, 0]) + X[:, 1] - 3
y = np.column_stack([centre - rng.exponential(size=1000), centre + rng.exponential(size=1000)])
y[::5, 0], y[1::5, 1] = -np.inf, np.inf
weight = rng.uniform(0.5, 2.0, 1000)
STARTS = [0, 1, 300, 700, 1000]  # a chunk may be a single row


def regressor(**parameters):
    return XGBIntervalRegressor(
        **{"n_estimators": 15, "max_depth": 3, "random_state": 0, **parameters}
    )


def chunks(*arrays):
    """Those rows of some arrays, in four parts."""
    return [tuple(array[start:stop] for array in arrays) for start, stop in pairwise(STARTS)]


@pytest.mark.parametrize("loss", ["linear_hinge", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_give_the_model_of_all_rows(tmp_path, loss, weighted):
    arrays = (X, y, weight) if weighted else (X, y)
    calls = []

    def start():
        calls.append(1)
        yield from chunks(*arrays)

    model = regressor(loss=loss, margin=0.2).fit_chunks(start, cache_dir=tmp_path)
    whole = regressor(loss=loss, margin=0.2).fit(*arrays)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-5)
    assert model.n_features_in_ == 4
    assert 2 <= len(calls) <= 6
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(
        regressor(loss=loss, margin=0.2).fit_chunks(chunks(*arrays)).predict(X), model.predict(X)
    )


def test_chunks_may_be_sparse_or_named_and_hold_missing_and_infinite_cells():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    holes = X.copy()
    holes[::7, 0], holes[1::11, 1], holes[2::11, 1], holes[3::5, 2] = np.nan, -np.inf, np.inf, 0.0
    expected = regressor().fit(holes, y).predict(holes)
    np.testing.assert_allclose(
        regressor().fit_chunks(chunks(holes, y)).predict(holes), expected, atol=1e-5
    )
    thin = regressor().fit_chunks(chunks(sparse.csr_array(holes), y))
    np.testing.assert_allclose(thin.predict(holes), expected, atol=1e-5)
    frame = pandas.DataFrame(holes, columns=list("abcd"))
    named = regressor().fit_chunks(chunks(frame, y))
    assert named.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(named.predict(frame), expected, atol=1e-5)


@pytest.mark.parametrize("words", [False, True], ids=["categories", "words"])
def test_a_feature_has_the_categories_of_all_chunks(words):
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    letters = np.array(list("dbcae"))[(10 * X[:, 2] % 5).astype(int)]
    letters[0], letters[1:300] = "z", "d"  # of these chunks, each has a single category
    frame = pandas.DataFrame(
        {"a": X[:, 0], "letter": letters.astype(object), "site": (10 * X[:, 3]).astype(int)}
    )
    frame.loc[::7, "letter"] = None
    if not words:
        frame["letter"] = frame["letter"].astype("category")
    target = (
        y
        + 3.0 * np.isin(letters, ["b", "e"])[:, np.newaxis]
        + (frame["site"].to_numpy() % 2)[:, np.newaxis]
    )
    parameters = {"categorical_features": ["letter", "site"], "max_depth": 4}
    model = regressor(**parameters).fit_chunks(chunks(frame, target))
    whole = regressor(**parameters).fit(frame, target)
    assert model.categories_ == whole.categories_
    assert model.booster_.feature_types == ["q", "c", "c"]
    np.testing.assert_allclose(model.predict(frame), whole.predict(frame), atol=1e-5)


def test_a_column_of_numbers_has_no_categories_in_later_chunks():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frame = pandas.DataFrame({"a": pandas.Categorical(X[:, 0].round()), "b": X[:, 1].round()})
    later = frame.astype({"b": "category"})
    with pytest.raises(
        ValueError, match="X: expected numbers in column 1, as in the chunks before, got categories"
    ):
        regressor().fit_chunks([(frame, y), (later, y)])


def test_sparse_rows_have_no_categories_even_after_rows_that_had_some():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frame = pandas.DataFrame({"a": X[:, 0], "b": pandas.Categorical(X[:, 1])})
    model = regressor().fit(frame, y)
    assert model.fit(sparse.csr_array(X[:, :2]), y).categories_ is None
    assert model.fit(frame, y).fit_chunks(chunks(sparse.csr_array(X[:, :2]), y)).categories_ is None
    model = regressor(categorical_features=[1])
    for fit in (
        lambda: model.fit(sparse.csr_array(X), y),
        lambda: model.fit_chunks(chunks(sparse.csr_array(X), y)),
    ):
        with pytest.raises(
            ValueError,
            match="categorical_features: a sparse matrix holds numbers only; expected None",
        ):
            fit()


def test_early_stopping_on_validation_data():
    parameters = {"n_estimators": 200, "n_iter_no_change": 3, "learning_rate": 0.5}
    model = regressor(**parameters).fit_chunks(chunks(X, y), X_val=X[:300], y_val=-y[:300, ::-1])
    whole = regressor(**parameters).fit(X, y, X_val=X[:300], y_val=-y[:300, ::-1])
    assert model.n_estimators_ == whole.n_estimators_ < 200
    np.testing.assert_allclose(model.validation_score_, whole.validation_score_, rtol=1e-4)
    with pytest.raises(ValueError, match="X_val and y_val: n_iter_no_change needs validation data"):
        regressor(**parameters).fit_chunks(chunks(X, y))


WRONG = {
    "an iterator": (iter([]), TypeError, "got list_iterator; an iterator can be read only once"),
    "a number": (3, TypeError, "chunks: expected a list of .* got int"),
    "nothing": ([], ValueError, "chunks: expected a list of .* got none"),
    "no pair": ([X], TypeError, "chunk 0: chunks: expected a list of .* got ndarray"),
    "a wrong row": (
        chunks(X, np.where(np.arange(1000)[:, None] == 400, np.nan, y)),
        ValueError,
        "chunk 2: y: NaN .*row 100",
    ),
    "other features": (
        [*chunks(X, y), (X[:, :2], y)],
        ValueError,
        "chunk 4: X has 2 features, but",
    ),
    "other rows": ([(X, y[:3])], ValueError, "chunk 0: X and y: expected the same number of rows"),
    "few weights": (
        [(X, y, weight[:3])],
        ValueError,
        r"chunk 0: sample_weight: expected shape \(1000,\)",
    ),
    "a negative weight": (chunks(X, y, weight - 1), ValueError, "sample_weight: negative"),
    "nothing said": (
        [(X, np.tile([-np.inf, np.inf], (1000, 1)))],
        ValueError,
        r"y: all 1000 rows .*are \(-inf, inf\)",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_chunks_are_told(kind):
    wrong, error, message = WRONG[kind]
    model = regressor()
    with pytest.raises(error, match=message):
        model.fit_chunks(wrong)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    "later", [chunks(X, y)[:2], [*chunks(X, y), (X, y)], [*chunks(X, y)[:3], (X, y)]]
)
def test_chunks_that_change_are_told(tmp_path, later):
    given = iter([chunks(X, y), *[later] * 9])
    with pytest.raises(ValueError, match="chunks: expected"):
        regressor().fit_chunks(lambda: next(given), cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_chunks_need_bins():
    with pytest.raises(ValueError, match="tree_method: expected one of 'hist', got 'exact'"):
        regressor(tree_method="exact").fit_chunks(chunks(X, y))
