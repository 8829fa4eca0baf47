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
