"""What all estimators share."""

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginwood
from marginwood._base import takes_intervals
from marginwood.datasets import make_sine
from marginwood.intervals import censoring_kind, check_intervals
from models import small_models

X, y = make_sine(40, 2, random_state=0)
MODELS = small_models()


def with_parameter(name):
    """Names of the models that have a parameter."""
    return [
        model for model, estimator in MODELS.items() if name in estimator.get_params(deep=False)
    ]


def fit_tree(y):
    return marginwood.MaxMarginIntervalTree(max_depth=1).fit(X, y)


def cross_validate_tree(y):
    return cross_val_score(marginwood.MaxMarginIntervalTree(max_depth=1), X, y, cv=2)


@pytest.mark.parametrize("use", [check_intervals, censoring_kind, fit_tree, cross_validate_tree])
def test_a_warning_about_the_target_points_at_the_line_that_called_the_package(use):
    with pytest.warns(DataConversionWarning, match="column-vector") as caught:
        use(X[:, :1])
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("use", [fit_tree, cross_validate_tree])
def test_a_warning_about_open_rows_points_at_the_line_that_called_the_package(use):
    with pytest.warns(UserWarning, match=r"rows are \(-inf, inf\)") as caught:
        use(np.where(np.arange(40)[:, np.newaxis] % 3, y, [-np.inf, np.inf]))
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("texts", "row", "text"), [(["u", "v"], 0, "u"), ([None, "v"], 1, "v"), (["1", "v"], 1, "v")]
)
def test_a_column_of_text_is_named_with_its_first_text(library, texts, row, text):
    frame = pytest.importorskip(library).DataFrame({"dose": ["1", "2"], "city": texts})
    found = rf"text in column 'city' \(first: row {row}, value '{text}'\)"
    message = f"X: expected numbers, got {found}. If these are categories, name them"
    with pytest.raises(ValueError, match=message):
        marginwood.MaxMarginIntervalTree().fit(frame, [1.0, 2.0])


def test_text_beside_missing_text_is_found():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"city": pd.array([None, "v"], dtype="string")})
    with pytest.raises(
        ValueError, match=r"X: expected numbers, got text in column 'city' \(first: row 1"
    ):
        marginwood.MaxMarginIntervalTree().fit(frame, [1.0, 2.0])


def test_text_in_a_list_is_named_by_the_number_of_its_column():
    with pytest.raises(
        ValueError, match=r"X: expected numbers, got text in column 1 \(first: row 1, value 'u'\)"
    ):
        marginwood.MaxMarginIntervalTree().fit([[1, 2], [3, "u"]], [1.0, 2.0])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*infinite")  # ranges of rows that are mostly open
def test_a_fit_that_fails_on_its_target_leaves_the_estimator_as_it_was(name, tmp_path):
    model = clone(MODELS[name])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="lower"):
        model.fit(X, y[:, ::-1])
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        marginwood.save(model, tmp_path / "model.mw")
    expected = model.fit(X, y).predict(X)
    with pytest.raises(ValueError, match="lower"):
        model.fit(X[:, :1], y[:, ::-1])
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(ValueError, match=r"1 features, but .* is expecting 2"):
        model.predict(X[:, :1])


def test_a_table_refuses_rows_of_another_width():
    with pytest.raises(ValueError, match="X: expected 2 features, got 1"):
        fit_tree(y).tree_.predict(X[:, :1])


@pytest.mark.parametrize("name", with_parameter("cv"))
def test_a_fit_that_fails_on_its_folds_leaves_the_estimator_unfitted(name):
    model = clone(MODELS[name]).set_params(cv=[(np.arange(20), np.arange(20, 60))])
    with pytest.raises(IndexError):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


PATHS = [
    partial(marginwood.IntervalSearchCV, marginwood.L1IntervalRegression()),
    partial(marginwood.IntervalSearchCV, marginwood.TransformationTree()),
    partial(marginwood.IntervalSearchCV, marginwood.IntervalCART(random_state=0)),
]


@pytest.mark.parametrize("estimator", [*PATHS, marginwood.IntervalSearchCV])
def test_a_fold_without_weight_is_refused(estimator):
    weight = np.repeat([1.0, 0.0], 20)
    first, second = np.arange(20), np.arange(20, 40)
    with pytest.raises(ValueError, match=r"cv: no test row of fold 1 has a positive weight\."):
        estimator(cv=[(first, first), (first, second)]).fit(X, y, weight)


@pytest.mark.filterwarnings("ignore:y. 20 of 40 rows are")
@pytest.mark.parametrize("estimator", PATHS)
def test_rows_that_say_nothing_count_in_the_error_and_not_in_the_fit(estimator):
    is_test = np.arange(40) < 15
    silent = np.where(np.arange(40) % 2, y.T, [[-np.inf], [np.inf]]).T
    fitted = estimator(cv=[(np.flatnonzero(~is_test), np.flatnonzero(is_test))]).fit(X, silent)
    without = estimator(cv=[(np.arange(20) >= 7, np.arange(20) < 7)]).fit(X[1::2], silent[1::2])
    np.testing.assert_allclose(fitted.predict(X), without.predict(X), rtol=1e-6)
    scores = (search.cv_results_["mean_test_score"] for search in (fitted, without))
    np.testing.assert_allclose(next(scores), next(scores) * 7 / 15, rtol=1e-5)


def test_results_that_a_fit_does_not_make_are_not_left_from_another():
    forest = marginwood.MaxMarginIntervalForest(20, oob_score=True, random_state=0).fit(X, y)
    assert hasattr(forest, "oob_score_")
    forest.set_params(oob_score=False).fit(X[:30], y[:30])
    assert not {"oob_score_", "oob_prediction_"} & vars(forest).keys()


def test_what_is_masked_is_missing():
    masked = np.ma.masked_array([[1.0], [2.0], [-999.0], [4.0]], mask=[[0], [0], [1], [0]])
    tree = marginwood.MaxMarginIntervalTree().fit(masked, [0.0, 0.0, 10.0, 10.0])
    assert tree.tree_.saw_missing.all()
    assert tree.predict(masked).tolist() == [0.0, 0.0, 10.0, 10.0]


@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_dates_are_not_numbers(library):
    days = np.arange("2024-01-01", "2024-01-05", dtype="datetime64[ms]")
    frame = (
        days[:, np.newaxis]
        if library is None
        else pytest.importorskip(library).DataFrame({"day": days})
    )
    where = "" if library is None else " in column 'day'"
    with pytest.raises(
        TypeError, match=f"X: expected numbers, got dates or durations{where}. Make them numbers"
    ):
        marginwood.MaxMarginIntervalTree().fit(frame, [0.0, 0.0, 10.0, 10.0])


@pytest.mark.parametrize("name", with_parameter("margin"))
def test_a_margin_may_be_a_number_of_any_type(name):
    model = clone(MODELS[name])
    expected = model.set_params(margin=0.25).fit(X, y).predict(X)
    for margin in (Fraction(1, 4), np.float32(0.25)):
        np.testing.assert_array_equal(
            model.set_params(margin=margin).fit(X, y).predict(X), expected
        )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_no_table_of_features(library):
    with pytest.raises(
        ValueError, match=r"Expected 2D array, got 1D array|Expected a 2-dimensional container"
    ):
        marginwood.MaxMarginIntervalTree().fit(pytest.importorskip(library).Series(X[:, 0]), y)


@pytest.mark.parametrize(
    "name", ["MaxMarginIntervalTree", "MaxMarginIntervalForest", "MaxMarginIntervalBoosting"]
)
def test_trees_say_what_to_do_with_sparse_features(name):
    message = (
        rf"X: {name} expected a dense array, got a sparse matrix\. Pass X\.toarray\(\) .* "
        "or use L1Int.* or XGBInterval"
    )
    for kind in (sparse.csr_matrix, sparse.csc_array):
        with pytest.raises(TypeError, match=message):
            getattr(marginwood, name)().fit(kind(X), y)


HOLDERS = {
    "cross-fitted": partial(marginwood.CrossFittedIntervalRegressor, cv=3),
    "distributional": partial(marginwood.DistributionalIntervalRegressor, cv=3),
    "super learner": lambda inner: marginwood.IntervalSuperLearner(
        [("inner", inner)], cv=3, random_state=0
    ),
    "conformal": partial(
        marginwood.ConformalIntervalRegressor, confidence_level=0.8, cv=3, random_state=0
    ),
    "boosting": lambda inner: marginwood.MaxMarginIntervalBoosting(3, init=inner, random_state=0),
    "transformed": partial(marginwood.TransformedIntervalRegressor, func="arcsinh"),
}


class IntervalMiddle(RegressorMixin, BaseEstimator):
    """A regressor of someone else that takes intervals."""

    def fit(self, X, y):
        self.middle_ = np.mean(y[np.isfinite(y).all(axis=1)])
        assert y.shape == (len(X), 2)
        return self

    def predict(self, X):
        return np.full(len(X), self.middle_)


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(
    "inner", [Ridge(), make_pipeline(StandardScaler(), GridSearchCV(Ridge(), {"alpha": [1, 2]}))]
)
def test_a_regressor_of_scikit_learn_learns_exact_labels(holder, inner):
    model = HOLDERS[holder](inner).fit(X, X[:, 0])
    assert model.predict(X).shape == (len(X),)
    assert model.score(X, X[:, 0]) > 0.8


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_regressor_of_scikit_learn_refuses_intervals(holder):
    ends = np.column_stack([X[:, 0], X[:, 0]])
    ends[7, 1] += 1
    with pytest.raises(
        ValueError, match=r"Ridge expected exact labels, got intervals in 1 of \d+ rows.*L1Interval"
    ):
        HOLDERS[holder](Ridge()).fit(X, ends)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_regressor_of_anyone_learns_intervals(holder):
    model = HOLDERS[holder](make_pipeline(StandardScaler(), IntervalMiddle())).fit(X, y)
    assert model.predict(X).shape == (len(X),)


@pytest.mark.parametrize("holder", [*HOLDERS, "mixture", "recipe"])
def test_rows_that_say_nothing_are_warned_of_once_by_their_own_numbers(holder):
    curves = marginwood.DistributionalSuperLearner(cv=3, random_state=0)
    others = {"mixture": curves, "recipe": marginwood.TransformedIntervalRegressor(curves)}
    model = others.get(holder) or HOLDERS[holder](marginwood.MaxMarginIntervalTree(max_depth=2))
    ends = np.exp(y) if holder == "recipe" else y.copy()
    ends[[11, 30]] = [0 if holder == "recipe" else -np.inf, np.inf]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, ends)
    # Equal warnings of one line are shown once.
    shown = {(str(warning.message), warning.filename) for warning in caught}
    assert [pair for pair in shown if "carry no information" in pair[0]] == [
        (
            "y: 2 of 40 rows are (-inf, inf) (first: row 11). They are kept, but carry no information "
            "about the target.",
            __file__,
        )
    ]


def test_what_takes_intervals_is_told_by_what_predicts():
    assert takes_intervals(GridSearchCV(marginwood.MaxMarginIntervalTree(), {}))
    assert takes_intervals(IntervalMiddle())
    assert not takes_intervals(type("OwnRidge", (Ridge,), {})())
    assert not takes_intervals(GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {}))
