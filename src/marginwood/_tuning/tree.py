"""MaxMarginIntervalTreeCV: loss, margin and pruning chosen together by cross-validation.

Raising the margin makes a tree split more, so the best alpha for one margin says nothing about another: they are
searched together.
"""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import LARGEST_SEED, Rows, all_or_nothing, check_features, check_rows, copy_feature_names
from marginwood._core.order import sort_features
from marginwood._core.problem import Target
from marginwood._support.threads import run_in_threads
from marginwood._trees.table import IntervalTree, OptimumReader
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.fold import Fold, ScoredPath
from marginwood._tuning.journal import Journal, digest
from marginwood._tuning.margins import check_margins
from marginwood._tuning.search import Piece, grow_pieces, select, tabulate
from marginwood._tuning.selection import check_selection, split_rows
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import check_loss_name
from marginwood.metrics import get_scorer

__all__ = ["MaxMarginIntervalTreeCV"]

GROWING = (
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
)


class MaxMarginIntervalTreeCV(OptimumReader, BaseEstimator):
    """Maximum margin interval tree that chooses its loss, its margin and its pruning by cross-validation.

    For each loss and margin a tree is grown on all data and pruned step by step. Each step is a candidate; its alpha is
    the geometric mean of the two between which it is best (0 for the whole tree, infinity for the root alone). Its
    score is the mean, over the folds, of the scores of trees grown on the other folds and pruned at that alpha.
    The best candidate's tree is `best_estimator_`.

    Parameters
    ----------
    losses : sequence of {"linear_hinge", "squared_hinge"}, default=("linear_hinge", "squared_hinge")
        Losses to try, or the name of one.
    margins : "auto" or sequence of float, default="auto"
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the limits.
    n_margins : int, default=21
        Number of margins if they are "auto".
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the rows of each fold.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better. If there are
        sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, and of tied ones the smallest tree. "1se" takes the smallest tree whose
        mean score is within one standard error of the best.
    max_depth : int, default=None
        Depth of the trees; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many features to try in each node, drawn at random; None for all, without randomness.
    max_leaf_nodes : int, default=None
        Grow best first, by the decrease of the cost, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Least decrease of the cost by a split, per unit of total sample weight.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of features; without effect when all features are tried.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere log progress to the logger "marginwood".
    checkpoint : path-like, default=None
        File to which each finished tree's scores are appended. A fit that was interrupted or killed and is started
        again with the same data and parameters does only what is missing. A custom scorer is known by
        its name only. The file stays when the fit is done.

    Attributes
    ----------
    best_estimator_ : MaxMarginIntervalTree
        The chosen tree, grown on all data.
    tree_ : IntervalTree
        Its node table; `apply`, `get_depth` and so on read it.
    best_params_ : dict
        Its ``loss``, ``margin`` and ``ccp_alpha``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: ``param_loss``, ``param_margin``, ``param_ccp_alpha``, ``n_leaves`` (of the tree on all
        data), ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    margins_ : ndarray
        The margins tried.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    Trees, their pruning and the averages over test rows use the sample weights. Ctrl-C stops the fit at once.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import CensoringStratifiedKFold, MaxMarginIntervalTreeCV
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> centre = np.where(X < 20, 0.0, 5.0)
    >>> y = np.hstack([centre - 1, centre + 1])
    >>> model = MaxMarginIntervalTreeCV().fit(X, y)
    >>> model.best_estimator_.get_n_leaves()
    2
    >>> model.predict([[3.0], [30.0]]).tolist()
    [0.0, 5.0]

    Nested cross-validation, to tell how good the whole procedure is:

    >>> from sklearn.model_selection import cross_val_score
    >>> cross_val_score(model, X, y, cv=CensoringStratifiedKFold(4)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        *,
        losses: Any = ("linear_hinge", "squared_hinge"),
        margins: Any = "auto",
        n_margins: int = 21,
        cv: Any = 5,
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.losses = losses
        self.margins = margins
        self.n_margins = n_margins
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> MaxMarginIntervalTreeCV:
        """Score all candidates and grow the best one on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent, but take part in the split into folds.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        MaxMarginIntervalTreeCV
            The fitted estimator.
        """
        X = check_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        splits = [(np.flatnonzero(rows.weight), np.empty(0, dtype=np.int64)), *split_rows(rows, self.cv, groups)]
        folds, self.n_splits_ = [Fold(rows, *split) for split in splits], len(splits) - 1
        draws = self.max_features is not None
        if draws and self.random_state is None and self.checkpoint is not None:
            raise ValueError(
                "random_state: a checkpoint with max_features needs a seed, or a new run draws other features."
            )
        seed = int(check_random_state(self.random_state).randint(1, LARGEST_SEED)) if draws else None
        trees, scorer = self._make_grid(rows.intervals, seed), get_scorer(self.scoring)

        def grow(piece: Piece) -> ScoredPath:
            return folds[piece.fold].score_path(trees[piece.tree], scorer, weighted=sample_weight is not None)

        with self._open_journal(rows, splits, seed) as journal:
            paths = grow_pieces(grow, len(trees), folds, journal=journal, n_jobs=self.n_jobs, verbose=self.verbose)
        self.cv_results_ = tabulate(trees, paths, self.n_splits_)
        self.best_index_ = select(self.cv_results_, self.n_splits_, self.selection)
        best = {name: column[[self.best_index_]].tolist()[0] for name, column in self.cv_results_.items()}
        self.best_score_ = best["mean_test_score"]
        self.best_params_ = {name: best[f"param_{name}"] for name in ("loss", "margin", "ccp_alpha")}
        self.best_estimator_ = self._refit(rows.take(splits[0][0]), seed)
        return self

    def _loss_names(self) -> list[str]:
        return [self.losses] if isinstance(self.losses, str) else list(self.losses)

    def _make_grid(self, intervals: FloatArray, seed: int | None) -> list[MaxMarginIntervalTree]:
        """A tree for each loss and margin, not grown yet."""
        check_selection(self.selection)
        losses = self._loss_names()
        self.margins_ = check_margins(self.margins, intervals, self.n_margins)
        if not losses or not len(self.margins_):
            raise ValueError("losses, margins: expected at least one of each.")
        for loss in losses:
            check_loss_name("losses", loss)
        growing = {name: getattr(self, name) for name in GROWING}
        return [
            MaxMarginIntervalTree(loss=loss, margin=margin, random_state=seed, **growing)
            for loss in losses
            for margin in self.margins_.tolist()
        ]

    def _open_journal(self, rows: Rows, splits: list[tuple[IntArray, IntArray]], seed: int | None) -> Any:
        """The journal, with all that the pieces depend on in its header; nothing without a checkpoint."""
        if self.checkpoint is None:
            return nullcontext()
        names = ("X", "y", "sample_weight")
        header: dict[str, Any] = {name: digest(array) for name, array in zip(names, rows, strict=True)}
        header["cv"] = digest(*(part for split in splits for part in split))
        header |= {name: str(getattr(self, name)) for name in GROWING}
        header |= {"losses": self._loss_names(), "margins": self.margins_.tolist()}
        header["scoring"] = re.sub(" at 0x[0-9a-fA-F]+", "", str(self.scoring))
        header["random_state"] = seed
        return Journal(self.checkpoint, header)

    def _refit(self, rows: Rows, seed: int | None) -> MaxMarginIntervalTree:
        """The chosen tree on all data; grown in a thread, so that it can be interrupted."""
        growing = {name: getattr(self, name) for name in GROWING}
        tree = MaxMarginIntervalTree(**self.best_params_, **growing, random_state=seed)
        copy_feature_names(self, tree)
        target = Target(rows.intervals)
        ((_, tree),) = run_in_threads(lambda X: tree._grow(X, sort_features(X), target, rows.weight), [rows.X])
        return tree

    @property
    def tree_(self) -> IntervalTree:  # type: ignore[override]
        """The node table of the chosen tree."""
        check_is_fitted(self)
        return self.best_estimator_.tree_
