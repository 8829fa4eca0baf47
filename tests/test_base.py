"""What all estimators share."""

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import cross_val_score

import marginwood
from marginwood.datasets import make_sine
from marginwood.intervals import censoring_kind, check_intervals
from marginwood.xgb import XGBIntervalRegressor

X, y = make_sine(40, 2, random_state=0)
ESTIMATORS = [getattr(marginwood, name) for name in marginwood.__all__ if hasattr(getattr(marginwood, name), "predict")]


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
@pytest.mark.parametrize(("texts", "row", "text"), [(["u", "v"], 0, "u"), ([None, "v"], 1, "v"), (["1", "v"], 1, "v")])
def test_a_column_of_text_is_named_with_its_first_text(library, texts, row, text):
    frame = pytest.importorskip(library).DataFrame({"dose": ["1", "2"], "city": texts})
    message = rf"X: column 'city' holds text \(first: row {row}, value '{text}'\). Encode categories as numbers first"
    with pytest.raises(ValueError, match=message):
        marginwood.MaxMarginIntervalTree().fit(frame, [1.0, 2.0])


def test_text_beside_missing_text_is_found():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"city": pd.array([None, "v"], dtype="string")})
    with pytest.raises(ValueError, match=r"X: column 'city' holds text \(first: row 1"):
        marginwood.MaxMarginIntervalTree().fit(frame, [1.0, 2.0])


def test_text_in_a_list_is_named_by_the_number_of_its_column():
    with pytest.raises(ValueError, match=r"X: column 1 holds text \(first: row 1, value 'u'\)"):
        marginwood.MaxMarginIntervalTree().fit([[1, 2], [3, "u"]], [1.0, 2.0])


@pytest.mark.parametrize("estimator", [*ESTIMATORS, XGBIntervalRegressor], ids=lambda cls: cls.__name__)
def test_a_fit_that_fails_on_its_target_leaves_the_estimator_unfitted(estimator, tmp_path):
    if estimator is XGBIntervalRegressor:
        pytest.importorskip("xgboost", reason="XGBoost is optional")
    model = estimator()
    with pytest.raises(ValueError, match="lower"):
        model.fit(X, y[:, ::-1])
    assert model.n_features_in_ == 2
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        marginwood.save(model, tmp_path / "model.mw")


@pytest.mark.parametrize("estimator", [cls for cls in ESTIMATORS if "cv" in cls().get_params()])
def test_a_fit_that_fails_on_its_folds_leaves_the_estimator_unfitted(estimator):
    model = estimator(cv=[(np.arange(20), np.arange(20, 60))])
    with pytest.raises(IndexError):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
