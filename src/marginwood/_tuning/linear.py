"""L1IntervalRegressionCV: penalty and margin of the linear model, chosen by cross-validation."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows
from marginwood._linear.l1 import L1IntervalRegression, check_finite_features
from marginwood._support.arrays import as_numbers
from marginwood._support.checks import check_choice, check_count
from marginwood._tuning.estimator import SearchCV
from marginwood._tuning.search import Point
from marginwood.intervals import FloatArray

__all__ = ["L1IntervalRegressionCV"]

LAST_SHARE = 1e-3  # the last penalty of a path, as a share of the first


class L1IntervalRegressionCV(SearchCV):
    """L1-regularised linear model for intervals that chooses its penalty, and its margin, by cross-validation.

    Parameters
    ----------
    margins : "auto" or sequence of float, default=(0.0,)
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the
        limits. Rows with ``lower == upper`` have no margin.
    n_margins : int, default=7
        Number of margins if they are "auto".
    alphas : "auto" or array-like of shape (n_alphas,), default="auto"
        Penalties to try, in units of the target; "auto" is a path from the one at which all weights
        vanish down to a thousandth of it, for each margin its own.
    n_alphas : int, default=100
        Length of that path.
    tol : float, default=1e-8
        Largest duality gap of a solution, relative to half the mean loss of the best constant.
    max_iter : int, default=1000
        Most rounds of the solver per penalty. They end earlier where rounding hides what they gain.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, "1se" the largest penalty whose mean score is within one
        standard error of the best.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    checkpoint : path-like, default=None
        File to which each finished piece of the search is appended. A fit that was interrupted or
        killed and is started again with the same data and parameters does only what is missing. A
        custom scorer is known by its name only. The file stays when the fit is done.

    Attributes
    ----------
    best_estimator_ : L1IntervalRegression
        The chosen model, fitted to all rows.
    best_params_ : dict
        Its ``margin`` and ``alpha``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: the parameters, as ``param_margin``, ``param_alpha``;
        ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features in their own units, of the best estimator.
    intercept_ : float
        Its prediction where all features are 0.
    n_iter_ : int
        Rounds of its solver.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    L1IntervalRegression : One penalty, given.

    Examples
    --------
    >>> from marginwood import L1IntervalRegressionCV
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = L1IntervalRegressionCV(selection="1se").fit(X[:150], y[:150])
    >>> int((model.coef_ != 0).sum()), round(model.score(X[150:], y[150:]), 1)
    (1, 1.0)
    """

    def __init__(
        self,
        *,
        margins: Any = (0.0,),
        n_margins: int = 7,
        alphas: Any = "auto",
        n_alphas: int = 100,
        tol: float = 1e-8,
        max_iter: int = 1000,
        cv: Any = 5,
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.margins = margins
        self.n_margins = n_margins
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:  # noqa: ARG002 (nothing is drawn)
        model = L1IntervalRegression(tol=self.tol, max_iter=self.max_iter)
        points = self._make_grid(model, {"margin": self._check_margins(rows)})
        return [point._replace(values=self._penalties(point.estimator, rows)) for point in points]

    def _penalties(self, model: L1IntervalRegression, rows: Rows) -> FloatArray:
        """The penalties to try, largest first."""
        if not isinstance(self.alphas, str):
            alphas = np.sort(np.atleast_1d(as_numbers(self.alphas, "alphas")))[::-1]
            if (
                alphas.ndim != 1
                or not alphas.size
                or not (np.isfinite(alphas) & (alphas > 0)).all()
            ):
                raise ValueError(
                    f"alphas: expected finite numbers > 0 or 'auto', got {self.alphas!r}."
                )
            return alphas
        check_choice("alphas", self.alphas, ["auto"])
        task = model._make_task(rows)
        # Where no feature pulls, all weights vanish whatever the penalty; any scale will do.
        largest = task.largest_penalty() or task.scale
        return np.geomspace(
            largest, largest * LAST_SHARE, check_count("n_alphas", self.n_alphas, 1)
        )

    def _check_features(self, X: Any, *, reset: bool = False) -> Any:
        return check_finite_features(self, X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = True
        return tags

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features, of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.coef_

    @property
    def intercept_(self) -> float:
        """Intercept of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.intercept_

    @property
    def n_iter_(self) -> int:
        """Rounds of the solver for the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.n_iter_
