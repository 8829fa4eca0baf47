"""TransformationTreeCV: the level of significance of a transformation tree, chosen by cross-validation."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows
from marginwood._baselines.transformation import TransformationTree, check_significance
from marginwood._support.arrays import as_numbers
from marginwood._support.checks import check_choice
from marginwood._trees.table import IntervalTree, TreeReader
from marginwood._tuning.estimator import SearchCV
from marginwood._tuning.search import Point
from marginwood.intervals import FloatArray

__all__ = ["TransformationTreeCV"]

LEVELS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.99)


class TransformationTreeCV(TreeReader, SearchCV):
    """Transformation tree whose level of significance is chosen by cross-validation.

    Parameters
    ----------
    significances : "auto" or array-like of shape (n_levels,), default="auto"
        Levels to try; "auto" is 13 levels from 1e-6 to 0.99. Each fold grows one tree for all of
        them.
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=20
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=7
        Fewest samples of a leaf; a float is a share of all samples.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, "1se" the least level whose mean score is within one
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
    best_estimator_ : TransformationTree
        The chosen model, fitted to all rows.
    best_params_ : dict
        Its ``significance``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: the parameters, as ``param_significance``; ``split0_test_score``
        and so on, ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    tree_ : IntervalTree
        The node table of the best estimator; `apply`, `get_depth` and so on read it.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    TransformationTree : One level, given.

    Examples
    --------
    >>> from marginwood import TransformationTreeCV
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> tree = TransformationTreeCV().fit(X[:150], y[:150])
    >>> round(tree.score(X[150:], y[150:]), 1)
    0.9
    """

    def __init__(
        self,
        *,
        significances: Any = "auto",
        max_depth: int | None = None,
        min_samples_split: int | float = 20,
        min_samples_leaf: int | float = 7,
        cv: Any = 5,
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.significances = significances
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:  # noqa: ARG002 (nothing is drawn)
        tree = TransformationTree(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        )
        return self._make_grid(tree, {}, self._levels())

    def _levels(self) -> FloatArray:
        """The levels to try, least first."""
        if isinstance(self.significances, str):
            check_choice("significances", self.significances, ["auto"])
            return np.array(LEVELS)
        levels = np.sort(np.atleast_1d(as_numbers(self.significances, "significances")))
        if levels.ndim != 1 or not levels.size:
            raise ValueError(
                f"significances: expected numbers > 0 and <= 1, or 'auto', got {self.significances!r}."
            )
        for level in levels.tolist():
            check_significance("significances", level)
        return levels

    @property
    def tree_(self) -> IntervalTree:  # type: ignore[override]
        """The node table of the chosen tree."""
        check_is_fitted(self)
        return self.best_estimator_.tree_
