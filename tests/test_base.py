"""What all estimators share."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import marginwood
from marginwood.datasets import make_sine
from marginwood.xgb import XGBIntervalRegressor

X, y = make_sine(40, 2, random_state=0)
ESTIMATORS = [getattr(marginwood, name) for name in marginwood.__all__ if hasattr(getattr(marginwood, name), "predict")]


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


PATHS = [marginwood.L1IntervalRegressionCV, marginwood.TransformationTreeCV, marginwood.IntervalCART]


@pytest.mark.parametrize("estimator", [*PATHS, marginwood.MaxMarginIntervalTreeCV])
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
    np.testing.assert_allclose(fitted.mse_path_, without.mse_path_ * 7 / 15, rtol=1e-5)


def test_results_that_a_fit_does_not_make_are_not_left_from_another():
    forest = marginwood.MaxMarginIntervalForest(20, random_state=0).tune_oob(X, y, margins=[0.0, 0.2])
    assert hasattr(forest, "oob_score_")
    forest.fit(X[:30], y[:30])
    assert not {"oob_score_", "oob_prediction_", "tuning_results_"} & vars(forest).keys()
    cart = marginwood.IntervalCART(cv=3).fit(X, y)
    assert hasattr(cart, "mse_path_")
    assert not {"alphas_", "mse_path_"} & vars(cart.set_params(cv=None).fit(X, y)).keys()
