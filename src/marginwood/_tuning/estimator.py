"""What all estimators that tune themselves share: `fit`, its results, and predictions by the best model."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from itertools import product
from typing import Any
from warnings import WarningMessage, catch_warnings, simplefilter

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    LARGEST_SEED,
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
    copy_feature_names,
)
from marginwood._categories import Encoded
from marginwood._monotonic import effects_of
from marginwood._resampling.folds import split_rows
from marginwood._resampling.journal import Journal, digest
from marginwood._support.checks import check_choice, is_integer
from marginwood._support.notices import warn
from marginwood._support.threads import run_in_threads
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.margins import check_margins
from marginwood._tuning.search import Fold, OutOfBag, Point, Whole, run_pieces, tabulate
from marginwood._tuning.selection import SELECTIONS, select
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import LOSSES, refuse_vanishing_squares
from marginwood.metrics._scorers import average_loss_of, get_scorer, scorer_for

__all__ = ["EnsembleSearchCV", "SearchCV"]

# Parameters of searches that change neither candidates nor their scores, and three that the header
# has in other words.
NOT_IN_JOURNAL = ("selection", "n_jobs", "verbose", "checkpoint", "cv", "random_state", "teacher")


def _describe(value: Any) -> str:
    """A parameter in words that are the same in every process; long arrays would be printed without their middle."""
    if isinstance(value, Mapping):
        return str({name: _describe(values) for name, values in value.items()})
    value = np.asarray(value).tolist() if hasattr(value, "__array__") else value
    return re.sub(" at 0x[0-9a-fA-F]+", "", str(value))


def _fit_and_record(estimator: Any, rows: Rows) -> list[WarningMessage]:
    """The warnings of a fit: in a thread they cannot point at the line of the user."""
    with catch_warnings(record=True) as found:
        simplefilter("always")
        estimator.fit(*rows)
    return found


def _check_squares(rows: Rows, scorer: Any) -> None:
    """Raise if squared errors would all vanish, and the simplest candidate win; folds may be too small to show it."""
    average = average_loss_of(scorer)
    if average is not None and average.row_loss == "squared_distance":
        refuse_vanishing_squares(rows.intervals, rows.weight)


class SearchCV(IntervalRegressorMixin, BaseEstimator):
    """An estimator that chooses its parameters by cross-validation.

    A subclass has the parameters `cv`, `scoring`, `selection`, `n_jobs`, `verbose` and
    `checkpoint`, and says by `_make_points` what is searched.
    """

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:
        """The grid; `seed` is None unless `_draws`."""
        raise NotImplementedError

    def _draws(self) -> bool:
        """Whether the estimators draw at random."""
        return False

    def _refit_params(self) -> dict[str, Any]:
        """What the best estimator has other than the points."""
        return {}

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Score all candidates and fit the best one to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent, but take part in the split into folds.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that stay together in the folds, if `cv` is a number or a splitter that
            knows groups.

        Returns
        -------
        estimator
            The fitted search.
        """
        check_choice("selection", self.selection, SELECTIONS)
        scorer = get_scorer(self.scoring)
        rows = check_rows(self._check_features(X, reset=True), y, sample_weight)
        _check_squares(rows, scorer)
        seed = self._make_seed()
        points = self._make_points(rows, seed)
        scorer = scorer_for(points[0].estimator, scorer)
        splits = self._split(rows, groups)
        weighted = sample_weight is not None
        taught = self._teach(X, rows, groups, weighted=weighted)
        folds = [
            Fold(taught, rows, train, test, scorer, weighted=weighted) for train, test in splits
        ]
        if not splits:
            folds = [OutOfBag(rows, scorer, weighted=weighted)]
        if points[0].values is None:
            folds = [Whole(taught), *folds]
        with self._open_journal(rows, taught, splits, seed) as journal:
            paths = run_pieces(
                points, folds, journal=journal, n_jobs=self.n_jobs, verbose=self.verbose
            )
        self.n_splits_ = len(splits) or 1
        self.cv_results_, complexity = tabulate(points, paths, len(folds))
        means = self.cv_results_["mean_test_score"]
        deviations = self.cv_results_["std_test_score"]
        self.best_index_ = select(means, deviations, complexity, self.n_splits_, self.selection)
        self.best_score_ = float(means[self.best_index_])
        if np.isnan(self.best_score_):
            warn(
                "scoring: the score of every candidate is NaN in some fold; the simplest one is taken."
            )
        self.best_params_ = {
            name.removeprefix("param_"): column[[self.best_index_]].tolist()[0]
            for name, column in self.cv_results_.items()
            if name.startswith("param_")
        }
        self.best_estimator_ = self._refit(points[0].estimator, taught)
        return self

    def _check_features(self, X: Any, *, reset: bool = False) -> FloatArray:
        return check_features(self, X, reset=reset)

    def _split(self, rows: Rows, groups: Any) -> list[tuple[IntArray, IntArray]]:
        """The rows of each fold; none if every row is scored by the trees that did not draw it."""
        return split_rows(rows, self.cv, groups)

    def _teach(self, X: Any, rows: Rows, groups: Any, *, weighted: bool) -> Rows:  # noqa: ARG002 (for who has a teacher)
        """The rows as models learn them; they are scored as they are."""
        return rows

    def _make_seed(self) -> int | None:
        """One seed for all candidates, which then differ by their parameters alone."""
        if not self._draws():
            return None
        if self.random_state is None and self.checkpoint is not None:
            raise ValueError(
                "random_state: a checkpoint needs a seed where rows or features are drawn at random."
            )
        if is_integer(self.random_state):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(1, LARGEST_SEED))

    def _open_journal(
        self, rows: Rows, taught: Rows, splits: list[tuple[IntArray, IntArray]], seed: int | None
    ) -> Any:
        """The journal, with all that the pieces depend on in its header; nothing without a checkpoint."""
        if self.checkpoint is None:
            return nullcontext()
        header: dict[str, Any] = {"estimator": type(self).__name__}
        header |= {
            name: digest(array)
            for name, array in zip(("X", "y", "sample_weight"), rows, strict=True)
        }
        if taught is not rows:
            header["labels"] = digest(taught.intervals)
        header["cv"] = digest(*(part for split in splits for part in split)) if splits else "oob"
        for name, value in self.get_params(deep=False).items():
            if name not in NOT_IN_JOURNAL:
                header[name] = _describe(value)
        header["random_state"] = seed
        return Journal(self.checkpoint, header)

    def _refit(self, estimator: Any, rows: Rows) -> Any:
        """The chosen estimator, fitted to all rows."""
        best = clone(estimator).set_params(**self.best_params_, **self._refit_params())
        if isinstance(
            best, MaxMarginIntervalForest
        ):  # joblib grows it, whose settings belong to this thread
            warnings = _fit_and_record(best, rows)
        else:  # in a thread, so that it can be interrupted
            if hasattr(best, "n_jobs"):
                best.n_jobs = effective_n_jobs(self.n_jobs)
            ((_, warnings),) = run_in_threads(lambda best: _fit_and_record(best, rows), [best])
            best.set_params(**self._refit_params())
        for warning in warnings:
            if not str(warning.message).startswith("y: "):  # the search has said that already
                warn(str(warning.message), warning.category)
        best.set_params(**{name: getattr(self, name) for name in self._of_features()})
        for model in (best, *getattr(best, "estimators_", [])):
            copy_feature_names(self, model)
            if hasattr(self, "categorical_features"):
                model.categorical_features = self.categorical_features
        return best

    def _of_features(self) -> dict[str, Any]:
        """Parameters that speak of single features, as the estimators of the grid take them: for checked rows."""
        if not hasattr(self, "categorical_features"):
            return {}
        return {
            "categorical_features": Encoded(self.categories_),
            "monotonic_cst": effects_of(self),
        }

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def _make_grid(
        self,
        estimator: Any,
        axes: Mapping[str, Iterable[Any]],
        values: FloatArray | IntArray | None = None,
    ) -> list[Point]:
        """A point for each combination of the values of some parameters and of the user's `grid`, if there is one."""
        lists = {name: list(tried) for name, tried in axes.items()} | self._check_grid(estimator)
        points = []
        for combination in product(*lists.values()):
            params = dict(zip(lists, combination, strict=True))
            tried = copy.copy(estimator)  # to clone it takes as long as to grow a small tree
            vars(tried).update(params)
            points.append(Point(tried, params, values))
        return points

    def _check_grid(self, estimator: Any) -> dict[str, list[Any]]:
        """Lists of values of further parameters: those that the search hands on to its estimators as they are."""
        grid = getattr(self, "grid", None)
        if grid is None:
            return {}
        if not isinstance(grid, Mapping):
            raise TypeError(
                f"grid: expected a dict of parameters and the values to try, got {grid!r}."
            )
        known = self.get_params(deep=False).keys() & estimator.get_params(deep=False).keys()
        known -= {
            estimator.path_parameter,
            "random_state",
            "verbose",
            *self._refit_params(),
            *self._of_features(),
        }
        found = {}
        for name, values in grid.items():
            if name not in known:
                raise ValueError(
                    f"grid: expected names among {', '.join(sorted(known))}, got {name!r}."
                )
            if isinstance(values, str) or np.ndim(values) != 1 or not len(values):
                raise ValueError(
                    f"grid: expected a list of values to try for {name}, got {values!r}."
                )
            found[name] = values.tolist() if isinstance(values, np.ndarray) else list(values)
        return found

    def _check_losses(self) -> list[str]:
        """The losses to try: a list of names, or one name."""
        names = [self.losses] if isinstance(self.losses, str) else list(self.losses)
        if not names:
            raise ValueError("losses: expected at least one, got none.")
        for name in names:
            check_choice("losses", name, LOSSES)
        return names

    def _check_margins(self, rows: Rows) -> list[float]:
        """The margins to try; there is at least one."""
        margins = check_margins(self.margins, rows.intervals, self.n_margins)
        if not len(margins):
            raise ValueError("margins: expected at least one, got none.")
        return margins.tolist()


class EnsembleSearchCV(SearchCV):
    """A search whose best estimator is an ensemble of trees."""

    @property
    def estimators_(self) -> list[MaxMarginIntervalTree]:
        """The trees of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.estimators_

    @property
    def feature_importances_(self) -> FloatArray:
        """Importances of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.feature_importances_

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of every row in every tree of the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Rows of the trees' node tables.
        """
        check_is_fitted(self)
        return self.best_estimator_.apply(X)
