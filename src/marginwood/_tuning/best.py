"""The best estimator of a search: for rows that are checked already, fitted to all of them, and given back."""

from __future__ import annotations

from typing import Any
from warnings import WarningMessage, catch_warnings, simplefilter

from joblib import effective_n_jobs
from sklearn.base import clone

from marginwood._base import Rows, copy_feature_names
from marginwood._categories import Encoded
from marginwood._monotonic import effects_of
from marginwood._resampling.folds import make_whole
from marginwood._searchable import is_searchable
from marginwood._support.notices import warn
from marginwood._support.threads import run_in_threads
from marginwood._trees.forest import MaxMarginIntervalForest

__all__ = ["as_given", "for_checked_rows", "refit"]

OF_FEATURES = ("categorical_features", "monotonic_cst")


def for_checked_rows(estimator: Any) -> Any:
    """A copy of an estimator that has seen its features: categories are codes, and features have places."""
    copied = clone(estimator)
    if is_searchable(estimator) and hasattr(estimator, "categorical_features"):
        copied.categorical_features = Encoded(estimator.categories_)
        copied.monotonic_cst = effects_of(estimator)
    return copied


def as_given(best: Any, estimator: Any) -> Any:
    """A fitted copy of an estimator for checked rows as if it had been fitted to the user's."""
    if not is_searchable(estimator):
        return best
    own = {name: value for name, value in vars(estimator).items() if name in OF_FEATURES}
    best.set_params(**own)
    for model in (best, *getattr(best, "estimators_", [])):
        copy_feature_names(estimator, model)
        if "categorical_features" in own:
            model.categorical_features = own["categorical_features"]
    return best


def refit(best: Any, rows: Rows, n_jobs: int | None, *, weighted: bool, groups: Any) -> Any:
    """The chosen estimator, fitted to all rows; it has the search's `n_jobs` unless it has its own."""
    is_ours = is_searchable(best)
    if is_ours:
        best.set_params(**best.parameters_of_best)
    has_jobs = hasattr(best, "n_jobs")
    if has_jobs and best.n_jobs is None:
        best.n_jobs = n_jobs
    jobs = best.n_jobs if has_jobs else None

    def fit(best: Any) -> tuple[Any, list[WarningMessage]]:
        # In a thread warnings cannot point at the line of the user.
        with catch_warnings(record=True) as found:
            simplefilter("always")
            if is_ours:
                return best.fit(*rows), found
            whole = make_whole(rows, weighted=weighted, groups=groups)
            return whole.fit(best), found

    if isinstance(best, MaxMarginIntervalForest):
        # joblib grows it, whose settings belong to this thread.
        best, warnings = fit(best)
    else:  # in a thread, so that it can be interrupted
        if is_ours and has_jobs:
            best.n_jobs = effective_n_jobs(jobs)  # by the settings of this thread
        ((_, (best, warnings)),) = run_in_threads(fit, [best])
    if is_ours and has_jobs:
        best.n_jobs = jobs
    for warning in warnings:
        if not str(warning.message).startswith("y: "):  # the search has said that already
            warn(str(warning.message), warning.category)
    return best
