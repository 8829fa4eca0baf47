"""The ordinary regression tree on limits, against scikit-learn's on the same labels."""

from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginwood import (
    CensoringStratifiedKFold,
    IntervalCART,
    IntervalDummyRegressor,
    IntervalSearchCV,
    export_text,
    interval_mean_squared_error,
)
from marginwood._core.nodes import LEAF
from marginwood.datasets import make_absolute, make_sine
from marginwood.metrics import get_scorer
from strategies import tree_problems


@parametrize_with_checks(
    [
        IntervalCART(random_state=0),
        IntervalCART(margin=0.1, ccp_alpha=0.01, min_samples_leaf=0.1, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def labels_of(y, margin):
    """Row and label of each finite limit."""
    row_margin = np.where(y[:, 0] == y[:, 1], 0.0, margin)[:, None] * [1, -1]
    rows, sides = np.nonzero(np.isfinite(y))
    return rows, (y + row_margin)[rows, sides]


def units_of(labels):
    """What the tree learns instead of the labels, near 0 and 1: their shift and their scale, a power of two."""
    centre = np.median(labels)
    return centre, 2.0 ** (np.floor(np.log2(np.abs(labels - centre).mean())) + 1)


def plain_tree(X, y, margin=0.0, weight=None, **parameters):
    """Predictions by scikit-learn's tree on the same labels, and the tree; alphas are per unit of total weight."""
    rows, labels = labels_of(y, margin)
    centre, scale = units_of(labels)
    parameters["ccp_alpha"] = parameters.get("ccp_alpha", 0.0) / scale**2
    tree = DecisionTreeRegressor(random_state=0, **parameters)
    tree.fit(X[rows], (labels - centre) / scale, weight if weight is None else weight[rows])
    return (lambda X: centre + scale * tree.predict(X)), tree


def coarse(X):
    """Features that single precision tells apart, and whose middles it holds, as scikit-learn's own tree needs."""
    return np.round(X * 2**10) / 2**10


def censored_problem(seed, n=150, n_features=3):
    rng = np.random.default_rng(seed)
    X = coarse(rng.normal(size=(n, n_features)))
    y = np.sort(rng.normal(size=(n, 2)), axis=1) + 2 * X[:, :1]
    y[::5, 0], y[1::5, 1], y[2::5, 1] = -inf, inf, y[2::5, 0]
    return X, y


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_depth": 5}, {"min_samples_leaf": 4}, {"min_samples_split": 0.1}],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tree_is_scikit_learns_on_the_limits(with_missing, parameters, weighted):
    for seed in range(3):
        X, y = censored_problem(seed)
        fresh = coarse(np.random.default_rng(9).normal(size=(500, 3)))
        if with_missing:
            X[::4, 0] = fresh[::6, 0] = nan
        weight = (
            np.random.default_rng(seed).integers(1, 4, size=len(y)).astype(float)
            if weighted
            else None
        )
        cart = IntervalCART(margin=0.25, random_state=0, **parameters).fit(X, y, weight)
        predict, plain = plain_tree(X, y, 0.25, weight, **parameters)
        assert cart.get_n_leaves() == plain.get_n_leaves() > 10
        assert cart.get_depth() == plain.get_depth()
        for rows in (X, fresh):
            np.testing.assert_allclose(cart.predict(rows), predict(rows), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(cart.feature_importances_, plain.feature_importances_, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_pruning_is_scikit_learns_in_units_of_the_labels(weighted):
    X, y = censored_problem(0)
    y *= 5
    weight = (
        np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float) if weighted else None
    )
    path = IntervalCART(margin=0.25, random_state=0).cost_complexity_pruning_path(X, y, weight)
    assert len(path.ccp_alphas) > 20
    between = [np.sqrt(low * high) for low, high in pairwise(path.ccp_alphas)]
    for alpha in (*between[::4], path.ccp_alphas[-1] * 1.01):
        cart = IntervalCART(margin=0.25, ccp_alpha=alpha, random_state=0).fit(X, y, weight)
        predict, plain = plain_tree(X, y, 0.25, weight, ccp_alpha=alpha)
        assert cart.get_n_leaves() == plain.get_n_leaves()
        np.testing.assert_allclose(cart.predict(X), predict(X), rtol=1e-9, atol=1e-9)
    assert cart.get_n_leaves() == 1


def test_every_candidate_is_scored_by_the_tree_that_scikit_learn_prunes_with_it():
    X, y = make_sine(80, 3, random_state=0)
    X = coarse(X)
    splitter = CensoringStratifiedKFold(3)
    search = IntervalSearchCV(IntervalCART(), {"margin": [0.1]}, cv=splitter, random_state=0).fit(
        X, y
    )
    alphas = search.cv_results_["param_ccp_alpha"]
    assert alphas[-1] == inf
    assert (np.diff(alphas) > 0).all()
    for fold, (train, test) in enumerate(splitter.split(X, y)):
        for place in range(0, len(alphas) - 1, 7):
            predict, _ = plain_tree(X[train], y[train], 0.1, ccp_alpha=alphas[place])
            error = interval_mean_squared_error(y[test], predict(X[test]))
            np.testing.assert_allclose(
                search.cv_results_[f"split{fold}_test_score"][place], -error, rtol=1e-7
            )


def test_the_penalty_of_least_error_prunes_the_final_tree():
    X, y = make_absolute(random_state=1)
    search = IntervalSearchCV(IntervalCART(), {"margin": [0.2]}, random_state=0).fit(X, y)
    whole = IntervalCART(margin=0.2, random_state=0).fit(X, y)
    assert 1 < search.get_n_leaves() < whole.get_n_leaves()
    assert search.get_n_leaves() == search.cv_results_["n_leaves"][search.best_index_]
    X_test, y_test = make_absolute(random_state=2)
    assert search.score(X_test, y_test) > max(0.9, whole.score(X_test, y_test))


def test_noise_alone_is_pruned_to_the_root():
    X, y = np.random.default_rng(0).normal(size=(100, 3)), np.random.default_rng(1).normal(size=100)
    search = IntervalSearchCV(IntervalCART(), random_state=0).fit(X, y)
    assert search.get_n_leaves() == 1
    np.testing.assert_allclose(search.predict(X[:1]), y.mean())


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [2.0**-30, 2.0**30])
def test_offset_and_unit_of_the_target_do_not_change_the_tree(shift, scale):
    X, y = make_sine(100, 3, random_state=0)
    y = np.round(y, 3)
    cart = IntervalSearchCV(IntervalCART(), {"margin": [0.125]}, random_state=0).fit(X, y)
    other = IntervalSearchCV(IntervalCART(), {"margin": [0.125 * scale]}, random_state=0).fit(
        X, (y + shift) * scale
    )
    np.testing.assert_array_equal(cart.apply(X), other.apply(X))
    np.testing.assert_allclose(other.predict(X) / scale - shift, cart.predict(X), atol=1e-6)


def test_values_that_single_precision_cannot_tell_apart_are_split():
    x = 1.0 + 1e-9 * np.arange(4)
    cart = IntervalCART(random_state=0).fit(x[:, None], [0.0, 0.0, 5.0, 5.0])
    assert cart.predict(x[:, None]).tolist() == [0, 0, 5, 5]
    assert x[1] <= cart.tree_.threshold[0] < x[2]
    for unit in (1e-300, 1e300):
        scaled = np.arange(1, 5)[:, None] * unit
        assert IntervalCART(random_state=0).fit(scaled, [0.0, 0.0, 5.0, 5.0]).predict(
            scaled
        ).tolist() == [0, 0, 5, 5]


def test_thresholds_lie_between_the_values_of_the_node_and_not_of_other_rows():
    x = np.array([[0.0, 0.0], [0.0, 10.0], *[[1.0, value] for value in np.linspace(0.0, 1.0, 50)]])
    y = np.array([0.0, 1.0, *[9.0] * 50])
    table = IntervalCART(random_state=0).fit(x, y).tree_
    assert table.feature[[0, 1]].tolist() == [0, 1]
    assert table.threshold[[0, 1]].tolist() == [0.5, 5.0]


def test_infinities_and_missing_values_in_features_are_data():
    x = np.array([-inf, -inf, -3.0, 2.0, inf, inf, nan, nan])[:, None]
    y = np.array([0.0, 0.0, 3.0, 5.0, 7.0, 7.0, 9.0, 9.0])
    cart = IntervalCART(random_state=0).fit(x, y)
    assert cart.predict(x).tolist() == y.tolist()
    assert cart.predict([[-1e300], [-1.0], [1.0], [2.0], [1e300]]).tolist() == [3, 3, 5, 5, 7]
    flat = IntervalCART(random_state=0).fit(
        [[1.0], [1.0], [nan], [nan]], [0.0, 0.0, 1.0, 1.0]
    )  # NaN against all else
    assert flat.predict([[-inf], [1.0], [inf], [nan]]).tolist() == [0, 0, 0, 1]


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
@given(
    problem=tree_problems(),
    ccp_alpha=st.sampled_from([0.0, 0.01, 1.0]),
    margin=st.sampled_from([0.0, 0.5]),
)
def test_every_node_holds_the_labels_that_reach_it(problem, ccp_alpha, margin):
    X, y, weight = problem
    cart = IntervalCART(margin=margin, ccp_alpha=ccp_alpha, random_state=0).fit(X, y, weight)
    weight = np.ones(len(y)) if weight is None else weight
    rows, labels = labels_of(y, margin)
    rows, labels = rows[weight[rows] > 0], labels[weight[rows] > 0]
    table = cart.tree_
    reached = table.decision_path(X).toarray().astype(bool)
    for node in range(table.node_count):
        here = reached[rows, node]
        assert table.n_node_samples[node] == here.sum() > 0
        mean = np.average(labels[here], weights=weight[rows][here])
        cost = (weight[rows] * (labels - mean) ** 2)[here].sum()
        np.testing.assert_allclose(table.nodes["value"][node], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(table.impurity[node], cost, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(table.weighted_n_node_samples[node], weight[rows][here].sum())
    is_split = table.children_left != LEAF
    assert (table.children_right[is_split] == table.children_left[is_split] + 1).all()


def test_two_fits_of_one_seed_give_the_same_tree():
    X, y = make_sine(random_state=0)
    X[:, 1] = X[:, 0]  # equally good splits
    first, second = (IntervalSearchCV(IntervalCART(), random_state=3).fit(X, y) for _ in range(2))
    assert first.tree_.nodes.tobytes() == second.tree_.nodes.tobytes()
    np.testing.assert_array_equal(
        first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"]
    )


@pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
def test_rows_without_limits_and_rows_of_no_weight_do_not_change_the_tree():
    X, y = make_sine(100, 3, random_state=0)
    more_X, more_y = np.vstack([X, X[:20] + 0.1]), np.vstack([y, np.tile([-inf, inf], (20, 1))])
    one = IntervalCART(max_depth=4, random_state=0).fit(X, y)
    open_rows = IntervalCART(max_depth=4, random_state=0).fit(more_X, more_y)
    more_y[100:] = 50.0
    absent = IntervalCART(max_depth=4, random_state=0).fit(
        more_X, more_y, np.repeat([1.0, 0.0], [100, 20])
    )
    for other in (open_rows, absent):
        assert one.tree_.nodes.tobytes() == other.tree_.nodes.tobytes()


def test_a_fold_without_limits_to_train_on_is_named():
    X, y = np.zeros((4, 1)), np.array([[0, 1], [-inf, inf], [-inf, inf], [-inf, inf]])
    with (
        pytest.warns(UserWarning, match="3 of 4"),
        pytest.raises(ValueError, match="cv: no training row of fold 0"),
    ):
        IntervalSearchCV(IntervalCART(), cv=[([1, 2], [0, 3])]).fit(X, y)


def test_grid_search_tunes_the_margin():
    X, y = make_sine(100, 3, random_state=0)
    scorer = get_scorer("neg_interval_mean_squared_error")
    cart = IntervalCART(max_depth=4, random_state=0)
    search = GridSearchCV(
        cart, {"margin": [0.0, 0.2]}, scoring=scorer, cv=CensoringStratifiedKFold(3)
    )
    assert search.fit(X, y).best_score_ > scorer(clone(IntervalDummyRegressor()).fit(X, y), X, y)


def test_a_fitted_tree_can_be_drawn():
    X, y = make_sine(random_state=0)
    cart = IntervalCART(max_depth=2, random_state=0).fit(X, y)
    drawing = export_text(cart)
    assert drawing.count("value") == cart.get_n_leaves() == 4
    assert f"x[0] <= {cart.tree_.threshold[0]:.3g}" in drawing
    search = IntervalSearchCV(IntervalCART(), cv=3, random_state=0).fit(X, y)
    assert export_text(search) == export_text(search.best_estimator_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"margin": -1.0}, "margin: expected"),
        ({"ccp_alpha": -1.0}, "ccp_alpha: expected a number >= 0, got -1.0"),
        ({"ccp_alpha": nan}, "ccp_alpha: expected"),
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"min_samples_split": 1}, "min_samples_split"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = make_sine(20, 2, random_state=0)
    with pytest.raises(ValueError, match=message):
        IntervalCART(**parameters).fit(X, y)
