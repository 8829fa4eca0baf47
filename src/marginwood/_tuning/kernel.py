"""KernelIntervalRegressionCV: what the smooth model depends on, chosen by cross-validation."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils import Tags

from marginwood._base import Rows
from marginwood._linear.l1 import check_finite_features
from marginwood._smooth.gaussian import KernelIntervalRegression, check_alpha
from marginwood._support.checks import (
    check_choice,
    check_each,
    check_not_negative,
    check_positive,
    check_share,
)
from marginwood._tuning.estimator import SearchCV
from marginwood._tuning.search import Point
from marginwood.intervals import FloatArray

__all__ = ["KernelIntervalRegressionCV"]

PENALTIES = np.geomspace(1e-1, 1e-7, 13)


class KernelIntervalRegressionCV(SearchCV):
    """Smooth model with a Gaussian kernel that chooses its parameters by cross-validation.

    Parameters
    ----------
    margins : "auto" or sequence of float, default=(0.0,)
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the
        limits. Rows with ``lower == upper`` have no margin.
    n_margins : int, default=7
        Number of margins if they are "auto".
    length_scales : sequence of float, default=(0.5, 1.0, 2.0, 4.0)
        Length scales to try.
    relevances : sequence of float, default=(0.0, 0.5, 1.0)
        How much the features' importances in a forest, one for each fold, scale them: 0 counts all
        alike.
    additivities : sequence of float, default=(0.5,)
        Shares of the kernel in which features add up rather than interact.
    alphas : "auto" or array-like of shape (n_alphas,), default="auto"
        Penalties to try; "auto" is thirteen, from 0.1 down to 1e-7.
    n_components : int, default=100
        Most landmarks; with more rows they are drawn at random.
    random_state : int, RandomState instance or None, default=None
        Seed of that draw; all candidates share it.
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
    best_estimator_ : KernelIntervalRegression
        The chosen model, fitted to all rows.
    best_params_ : dict
        Its ``margin``, ``length_scale``, ``relevance``, ``additivity`` and ``alpha``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: the parameters, as ``param_margin``, ``param_length_scale``,
        ``param_relevance``, ``param_additivity``, ``param_alpha``; ``split0_test_score`` and so on,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    KernelIntervalRegression : The model with given parameters.

    Examples
    --------
    >>> from marginwood import KernelIntervalRegressionCV
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> model = KernelIntervalRegressionCV(margins=(0.0, 0.2)).fit(X[:150, :1], y[:150])
    >>> model.score(X[150:, :1], y[150:]) > 0.95
    True
    """

    def __init__(
        self,
        *,
        margins: Any = (0.0,),
        n_margins: int = 7,
        length_scales: Any = (0.5, 1.0, 2.0, 4.0),
        relevances: Any = (0.0, 0.5, 1.0),
        additivities: Any = (0.5,),
        alphas: Any = "auto",
        n_components: int = 100,
        random_state: Any = None,
        cv: Any = 5,
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.margins = margins
        self.n_margins = n_margins
        self.length_scales = length_scales
        self.relevances = relevances
        self.additivities = additivities
        self.alphas = alphas
        self.n_components = n_components
        self.random_state = random_state
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _draws(self) -> bool:
        return True

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:
        model = KernelIntervalRegression(n_components=self.n_components, random_state=seed)
        axes = {
            "margin": self._check_margins(rows),
            "length_scale": check_each("length_scales", self.length_scales, check_positive),
            "relevance": check_each("relevances", self.relevances, check_not_negative),
            "additivity": check_each("additivities", self.additivities, check_share),
        }
        return self._make_grid(model, axes, self._penalties())

    def _penalties(self) -> FloatArray:
        """The penalties to try, largest first."""
        if isinstance(self.alphas, str):
            check_choice("alphas", self.alphas, ["auto"])
            return PENALTIES
        alphas = check_each("alphas", self.alphas, check_alpha)
        return np.sort(np.array(alphas, dtype=np.float64))[::-1]

    def _check_features(self, X: Any, *, reset: bool = False) -> Any:
        return check_finite_features(self, X, reset=reset, accept_sparse=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
