"""The best constant, and the ordinary regression tree on limits."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CensoringStratifiedKFold,
    IntervalCART,
    IntervalDummyRegressor,
    interval_mean_squared_error,
)
from marginwood._tuning.selection import choose
from marginwood.datasets import make_absolute, make_sine
from marginwood.losses import hinge_loss
from marginwood.metrics import get_scorer
from strategies import informative_intervals, losses, margins


@parametrize_with_checks([IntervalDummyRegressor(), IntervalCART(cv=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def labels_of(y, margin):
    """Row and label of each finite limit."""
    row_margin = np.where(y[:, 0] == y[:, 1], 0.0, margin)[:, None] * [1, -1]
    rows, sides = np.nonzero(np.isfinite(y))
    return rows, (y + row_margin)[rows, sides]


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
@given(y=informative_intervals(), loss=losses, margin=margins)
def test_no_constant_costs_less_than_the_dummys(y, loss, margin):
    dummy = IntervalDummyRegressor(loss=loss, margin=margin).fit(np.zeros((len(y), 1)), y)
    cost = hinge_loss(y, dummy.constant_, loss=loss, margin=margin).sum()
    finite = y[np.isfinite(y)]
    for other in np.linspace(finite.min() - 1, finite.max() + 1, 41):
        assert cost <= hinge_loss(y, other, loss=loss, margin=margin).sum() + 1e-9
    assert dummy.optimal_interval_[0] <= dummy.constant_ <= dummy.optimal_interval_[1]


def test_the_dummy_weighs_rows_and_takes_any_features():
    X, y = [[nan], [inf], [0.0]], [1.0, 2.0, 9.0]
    dummy = IntervalDummyRegressor().fit(X, y, sample_weight=[1, 3, 0])
    np.testing.assert_allclose(dummy.predict(X), 1.75)
    assert dummy.score(X, [1.75, 1.75, 1.75]) == 1


def test_without_pruning_the_tree_is_scikit_learns_on_the_limits():
    X, y = make_sine(random_state=0)
    rows, labels = labels_of(y, 0.2)
    cart = IntervalCART(margin=0.2, cv=None, max_depth=5).fit(X, y)
    plain = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X[rows], (labels - cart.centre_) / cart.scale_)
    np.testing.assert_allclose(cart.predict(X), cart.centre_ + cart.scale_ * plain.predict(X))
    assert cart.get_n_leaves() == plain.get_n_leaves()
    assert cart.get_depth() == plain.get_depth()
    np.testing.assert_array_equal(cart.apply(X), plain.apply(X))


def test_every_penalty_is_scored_by_the_tree_that_scikit_learn_prunes_with_it():
    X, y = make_sine(80, 3, random_state=0)
    splitter = CensoringStratifiedKFold(3)
    cart = IntervalCART(margin=0.1, cv=splitter).fit(X, y)
    assert cart.mse_path_.shape == (len(cart.alphas_), 3)
    assert (np.diff(cart.alphas_) < 0).all()
    for fold, (train, test) in enumerate(splitter.split(X, y)):
        rows, labels = labels_of(y[train], 0.1)
        labels = (labels - cart.centre_) / cart.scale_
        for place in range(0, len(cart.alphas_), 7):
            pruned = DecisionTreeRegressor(ccp_alpha=cart.alphas_[place], random_state=0).fit(X[train][rows], labels)
            prediction = cart.centre_ + cart.scale_ * pruned.predict(X[test])
            error = interval_mean_squared_error(y[test], prediction)
            np.testing.assert_allclose(cart.mse_path_[place, fold], error, rtol=1e-7)


def test_the_penalty_of_least_error_prunes_the_final_tree():
    X, y = make_absolute(random_state=1)
    cart = IntervalCART(margin=0.2).fit(X, y)
    assert cart.mse_path_.mean(axis=1).min() == cart.mse_path_.mean(axis=1)[list(cart.alphas_).index(cart.alpha_)]
    assert 1 < cart.get_n_leaves() < IntervalCART(margin=0.2, cv=None).fit(X, y).get_n_leaves()
    X_test, y_test = make_absolute(random_state=2)
    assert cart.score(X_test, y_test) > 0.9


def test_noise_alone_is_pruned_to_the_root():
    X, y = np.random.default_rng(0).normal(size=(100, 3)), np.random.default_rng(1).normal(size=100)
    cart = IntervalCART().fit(X, y)
    assert cart.get_n_leaves() == 1
    np.testing.assert_allclose(cart.predict(X[:1]), y.mean())


def test_a_long_path_is_thinned_out_among_large_trees():
    X, y = make_sine(400, 5, random_state=0)
    cart = IntervalCART(cv=2).fit(X, y)
    whole = IntervalCART(cv=None).fit(X, y).get_n_leaves()
    assert len(cart.alphas_) < 200 < whole
    assert cart.alphas_[-1] == 0


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [2.0**-30, 2.0**30])
def test_offset_and_unit_of_the_target_do_not_change_the_tree(shift, scale):
    X, y = make_sine(100, 3, random_state=0)
    y = np.round(y, 3)
    cart = IntervalCART(margin=0.125).fit(X, y)
    other = IntervalCART(margin=0.125 * scale).fit(X, (y + shift) * scale)
    np.testing.assert_array_equal(cart.apply(X), other.apply(X))
    np.testing.assert_allclose(other.predict(X) / scale - shift, cart.predict(X), atol=1e-6)


def test_two_fits_give_the_same_tree():
    X, y = make_sine(random_state=0)
    X[:, 1] = X[:, 0]  # equally good splits
    first, second = IntervalCART().fit(X, y), IntervalCART().fit(X, y)
    np.testing.assert_array_equal(first.estimator_.tree_.feature, second.estimator_.tree_.feature)
    np.testing.assert_array_equal(first.mse_path_, second.mse_path_)


def test_nan_in_features_is_learnt_and_infinity_is_refused_with_advice():
    X, y = make_sine(random_state=0)
    X[::5, 0] = nan
    assert IntervalCART().fit(X, y).score(X, y) > 0.3
    X[3, 7] = -inf
    with pytest.raises(ValueError, match=r"X: infinity .* row 3, column 7, value -inf.* MaxMarginIntervalTree"):
        IntervalCART().fit(X, y)


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
def test_rows_without_limits_do_not_change_the_tree():
    X, y = make_sine(100, 3, random_state=0)
    more_X, more_y = np.vstack([X, X[:20] + 0.1]), np.vstack([y, np.tile([-inf, inf], (20, 1))])
    one = IntervalCART(cv=None, max_depth=4).fit(X, y)
    other = IntervalCART(cv=None, max_depth=4).fit(more_X, more_y)
    np.testing.assert_allclose(one.predict(X), other.predict(X))


def test_groups_reach_the_splitter():
    X, y = make_sine(60, 2, random_state=0)
    cart = IntervalCART(cv=GroupKFold(3)).fit(X, y, groups=np.arange(60) % 3)
    assert cart.mse_path_.shape[1] == 3


def test_a_fold_without_limits_to_train_on_is_named():
    X, y = np.zeros((4, 1)), np.array([[0, 1], [-inf, inf], [-inf, inf], [-inf, inf]])
    with pytest.warns(UserWarning, match="3 of 4"), pytest.raises(ValueError, match="cv: no training row of fold 0"):
        IntervalCART(cv=[([1, 2], [0, 3])]).fit(X, y)


def test_grid_search_tunes_the_margin():
    X, y = make_sine(100, 3, random_state=0)
    scorer = get_scorer("neg_interval_mean_squared_error")
    search = GridSearchCV(IntervalCART(cv=3), {"margin": [0.0, 0.2]}, scoring=scorer, cv=CensoringStratifiedKFold(3))
    assert search.fit(X, y).best_score_ > scorer(clone(IntervalDummyRegressor()).fit(X, y), X, y)


def test_one_standard_error_takes_the_simplest_model_that_is_good_enough():
    errors = np.array([[3.0, 3.0], [1.1, 1.3], [0.8, 1.2], [1.0, 1.0], [0.9, 1.3]])
    assert choose(errors, "min") == 2  # tied with the next one, which is more complex
    assert choose(errors, "1se") == 1  # 1.2 <= 1.0 + sqrt(0.08) / sqrt(2)
    assert choose(errors[:, :1], "1se") == 2
    errors[0, 0] = np.inf
    assert choose(errors, "1se") == 1
