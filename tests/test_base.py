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
