"""scikit-learn's own checks of `MaxMarginIntervalTree`, in several settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import MaxMarginIntervalTree


@parametrize_with_checks(
    [
        MaxMarginIntervalTree(),
        MaxMarginIntervalTree(loss="linear_hinge", margin=0.1),
        MaxMarginIntervalTree(max_leaf_nodes=30, max_features=0.5, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
