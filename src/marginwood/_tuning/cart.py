"""IntervalCARTCV: margin and pruning of an ordinary regression tree on limits, chosen by cross-validation."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows
from marginwood._baselines.cart import IntervalCART
from marginwood._trees.table import IntervalTree, TreeReader
from marginwood._tuning.estimator import SearchCV
from marginwood._tuning.search import Point

__all__ = ["IntervalCARTCV"]


class IntervalCARTCV(TreeReader, SearchCV):
    """Ordinary regression tree on the limits of intervals, whose margin and pruning are chosen by cross-validation.

    Both labels of a sample are in one fold.

    Parameters
    ----------
    margins : "auto" or sequence of float, default=(0.0,)
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the
        limits. Rows with ``lower == upper`` have no margin.
    n_margins : int, default=7
        Number of margins if they are "auto".
    max_depth : int, default=None
        Depth of the tree; None for no bound.
    min_samples_split : int or float, default=2
        Fewest labels (limits, not samples) of a node that may be split; a float is a share.
    min_samples_leaf : int or float, default=1
        Fewest labels (limits, not samples) of a leaf; a float is a share.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice between equally good splits.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, "1se" the smallest tree whose mean score is within one
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
    best_estimator_ : IntervalCART
        The chosen model, fitted to all rows.
    best_params_ : dict
        Its ``margin`` and ``ccp_alpha``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: the parameters, as ``param_margin``, ``param_ccp_alpha``,
        ``n_leaves``; ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``.
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
    IntervalCART : The tree with given parameters.

    Examples
    --------
    >>> from marginwood import IntervalCARTCV
    >>> from marginwood.datasets import make_absolute
    >>> X, y = make_absolute(random_state=0)
    >>> cart = IntervalCARTCV(margins=[0.2], random_state=0).fit(X[:150], y[:150])
    >>> cart.get_n_leaves(), round(cart.score(X[150:], y[150:]), 1)
    (8, 1.0)
    """

    def __init__(
        self,
        *,
        margins: Any = (0.0,),
        n_margins: int = 7,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
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
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
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
        cart = IntervalCART(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            random_state=seed,
        )
        return self._make_grid(cart, {"margin": self._check_margins(rows)})

    @property
    def tree_(self) -> IntervalTree:  # type: ignore[override]
        """The node table of the chosen tree."""
        check_is_fitted(self)
        return self.best_estimator_.tree_
