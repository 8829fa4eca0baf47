"""Folds keep the mix of censoring and the spread of the target."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

import strategies
from marginwood import (
    CensoringStratifiedKFold,
    MaxMarginIntervalTree,
    RepeatedCensoringStratifiedKFold,
)
from marginwood._resampling.splitters import make_splitter
from marginwood.datasets import make_sine
from marginwood.intervals import CENSORING_KINDS, censoring_kind
from marginwood.metrics import get_scorer


@given(strategies.intervals(min_size=5, max_size=40), st.integers(2, 5), st.booleans())
def test_every_row_is_tested_once_and_all_counts_differ_by_at_most_one(y, n_splits, shuffle):
    folds = CensoringStratifiedKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    splits = list(folds.split(np.zeros(len(y)), y))
    assert len(splits) == folds.get_n_splits() == n_splits
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(y)))
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(y)))
    kinds = censoring_kind(y)
    counts = np.array(
        [[np.count_nonzero(kinds[test] == kind) for kind in CENSORING_KINDS] for _, test in splits]
    )
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_fold_covers_the_range_of_the_target(shuffle):
    values = np.random.default_rng(0).permutation(100).astype(float)
    for _, test in CensoringStratifiedKFold(5, shuffle=shuffle, random_state=None).split(
        values, values
    ):
        per_tenth = np.bincount((values[test] // 10).astype(int), minlength=10)
        np.testing.assert_array_equal(per_tenth, 2)
        assert abs(values[test].mean() - values.mean()) < 2.5


def test_without_shuffle_no_fold_gets_all_the_lowest():
    values = np.arange(20.0)
    means = [values[test].mean() for _, test in CensoringStratifiedKFold(5).split(values, values)]
    assert means == [values.mean()] * 5


def test_the_shuffle_is_repeatable_and_depends_on_its_seed():
    _, y = make_sine(60, 1, random_state=0)

    def tests(seed):
        folds = CensoringStratifiedKFold(4, shuffle=True, random_state=seed)
        return [test.tolist() for _, test in folds.split(y, y)]

    assert tests(1) == tests(1) != tests(2)


def test_every_repeat_deals_all_rows_anew():
    _, y = make_sine(60, 1, random_state=0)
    folds = RepeatedCensoringStratifiedKFold(4, n_repeats=3, random_state=0)
    tests = [test.tolist() for _, test in folds.split(y, y)]
    assert len(tests) == folds.get_n_splits() == 12
    deals = [tests[start : start + 4] for start in (0, 4, 8)]
    assert all(sorted(row for test in deal for row in test) == list(range(60)) for deal in deals)
    assert deals[0] != deals[1] != deals[2] != deals[0]
    assert [test.tolist() for _, test in folds.split(y, y)] == tests
    with pytest.raises(ValueError, match="n_repeats: expected an integer >= 1, got 0"):
        RepeatedCensoringStratifiedKFold(n_repeats=0)


def test_fewer_rows_than_folds_are_refused():
    with pytest.raises(ValueError, match="expected at most n_samples=3, got 5"):
        list(CensoringStratifiedKFold(5).split(None, [1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("n_splits", "error"), [(1, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_a_bad_number_of_folds_is_refused(n_splits, error):
    with pytest.raises(error, match="n_splits"):
        CensoringStratifiedKFold(n_splits)


def test_it_works_as_a_cv_of_scikit_learn():
    X, y = make_sine(60, 2, random_state=0)
    folds = CensoringStratifiedKFold(3)
    scorer = get_scorer("neg_interval_mean_squared_error")
    scores = cross_val_score(MaxMarginIntervalTree(), X, y, cv=folds, scoring=scorer)
    expected = [
        scorer(MaxMarginIntervalTree().fit(X[train], y[train]), X[test], y[test])
        for train, test in folds.split(X, y)
    ]
    assert scores.tolist() == expected
    assert repr(folds) == "CensoringStratifiedKFold(n_splits=3, random_state=None, shuffle=False)"


def test_no_cv_means_five_stratified_folds():
    splitter = make_splitter(None)
    assert isinstance(splitter, CensoringStratifiedKFold)
    assert splitter.get_n_splits() == 5


def test_groups_are_ignored_with_a_warning():
    y = np.arange(10.0)
    with pytest.warns(
        UserWarning, match=r"groups: CensoringStratifiedKFold ignores them; .* GroupKFold"
    ):
        splits = list(CensoringStratifiedKFold(2).split(y, y, groups=np.zeros(10)))
    assert len(splits) == 2


@pytest.mark.parametrize("cv", ["oob", 2.5, True])
def test_what_is_not_a_splitter_is_refused(cv):
    with pytest.raises(
        ValueError, match=f"cv: expected a number of folds, a splitter or .*, got {cv!r}"
    ):
        make_splitter(cv)
