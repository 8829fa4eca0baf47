"""MaxMarginIntervalTreeCV: loss, margin and pruning chosen together by cross-validation.

Raising the margin makes a tree split more, so the best pruning for one margin says nothing about
another: they are searched together.
"""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows
from marginwood._resampling.folds import split_rows
from marginwood._resampling.splitters import RepeatedCensoringStratifiedKFold
from marginwood._support.checks import check_each, check_not_negative, check_share
from marginwood._trees.table import IntervalTree, OptimumReader
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.estimator import SearchCV
from marginwood._tuning.search import Point
from marginwood._tuning.teacher import fit_with_unseen, teach
from marginwood.intervals import IntArray

__all__ = ["MaxMarginIntervalTreeCV"]


class MaxMarginIntervalTreeCV(OptimumReader, SearchCV):
    """Maximum margin interval tree that chooses its loss, its margin and its pruning by cross-validation.

    For each loss and margin a tree is grown on all data and pruned step by step. Each step is a
    candidate; its alpha is the geometric mean of the two between which it is best (0 for the whole
    tree, infinity for the root alone). Its score is the mean, over the folds, of the scores of
    trees grown on the other folds and pruned at that alpha. The best candidate's tree is
    `best_estimator_`.

    Parameters
    ----------
    teacher : estimator, default=None
        A better model that the tree learns from: an `IntervalSuperLearner`, a
        `MaxMarginIntervalForest`, a `CrossFittedIntervalRegressor` of any other, or whatever has
        `oof_prediction_` once it is fitted. It sees X as it is given. None for no teacher.
    teacher_share : float, default=0.8
        With a teacher, the label of a row is the mean of what it predicts of the row without having
        seen it, which has this weight, and of the number nearest to that in the row's interval.
    losses : sequence of {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        Losses to try, or the name of one.
    margins : "auto" or sequence of float, default="auto"
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the
        limits. Rows with ``lower == upper`` have no margin. With a teacher labels are numbers, so
        "auto" is 0 alone.
    n_margins : int, default=7
        Number of margins if they are "auto".
    anchors : sequence of float, default=(0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
        Anchors to try: weights of the parent's value in the value of a node. A tree is grown once
        for all of them.
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
    categorical_features : "from_dtype", sequence of str, int or bool, or None, default="from_dtype"
        Features whose values are categories: names, indices or a mask. "from_dtype" takes the
        columns of a frame that have a categorical type: categories of pandas, Categorical and Enum
        of polars. None for no feature.
    monotonic_cst : sequence of {-1, 0, 1} or dict of them by name, default=None
        For each feature 1 if it must not lower the prediction, -1 if it must not raise it, and 0 if
        it may do either.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of features; without effect when all features are tried.
    cv : int, splitter or iterable of (train, test), default=None
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold. None for five folds that are dealt out three times, by
        `RepeatedCensoringStratifiedKFold`: pruning depends on the folds more than other choices do.
        With groups, None is five folds of `GroupKFold`.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, and of tied ones the smallest tree. "1se" takes the
        smallest tree whose mean score is within one standard error of the best.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    checkpoint : path-like, default=None
        File to which each finished tree's scores are appended. A fit that was interrupted or killed
        and is started again with the same data and parameters does only what is missing. A custom
        scorer is known by its name only. The file stays when the fit is done.

    Attributes
    ----------
    best_estimator_ : MaxMarginIntervalTree
        The chosen tree, grown on all data.
    tree_ : IntervalTree
        Its node table; `apply`, `get_depth` and so on read it.
    best_params_ : dict
        Its ``loss``, ``margin``, ``anchor`` and ``ccp_alpha``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: ``param_loss``, ``param_margin``, ``param_anchor``,
        ``param_ccp_alpha``, ``n_leaves`` (of the tree on all data), ``split0_test_score`` and so
        on, ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    Notes
    -----
    Trees, their pruning and the averages over test rows use the sample weights. Ctrl-C stops the
    fit at once.

    A tree that has a teacher is nearer to the truth where labels are noisy or few, and as a rule
    larger. Its labels are numbers, so the ranges of equally good values in its leaves are numbers,
    too. Its scores in `cv_results_` are too good, because the teacher has seen all rows before they
    are dealt out: ask `cross_val_score` for honest ones. A checkpoint keeps the scores of trees,
    not the teacher, which is trained again and needs a seed.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import CensoringStratifiedKFold, MaxMarginIntervalTreeCV
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> centre = np.where(X < 20, 0.0, 5.0)
    >>> y = np.hstack([centre - 1, centre + 1])
    >>> model = MaxMarginIntervalTreeCV(anchors=[0.0]).fit(X, y)
    >>> model.best_estimator_.get_n_leaves()
    2
    >>> model.predict([[3.0], [30.0]]).tolist()
    [0.0, 5.0]

    A tree that learns from a forest:

    >>> from marginwood import MaxMarginIntervalForest
    >>> taught = MaxMarginIntervalTreeCV(teacher=MaxMarginIntervalForest(random_state=0)).fit(X, y)
    >>> taught.predict([[3.0], [30.0]]).round(1).tolist()
    [0.0, 5.0]

    Nested cross-validation, to tell how good the whole procedure is:

    >>> from sklearn.model_selection import cross_val_score
    >>> cross_val_score(model, X, y, cv=CensoringStratifiedKFold(4)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        *,
        teacher: Any = None,
        teacher_share: float = 0.8,
        losses: Any = "squared_hinge",
        margins: Any = "auto",
        n_margins: int = 7,
        anchors: Any = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0),
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        random_state: Any = None,
        cv: Any = None,
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.teacher = teacher
        self.teacher_share = teacher_share
        self.losses = losses
        self.margins = margins
        self.n_margins = n_margins
        self.anchors = anchors
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _draws(self) -> bool:
        return self.max_features is not None

    def _split(self, rows: Rows, groups: Any) -> list[tuple[IntArray, IntArray]]:
        is_repeated = self.cv is None and groups is None
        return split_rows(
            rows,
            RepeatedCensoringStratifiedKFold(random_state=0) if is_repeated else self.cv,
            groups,
        )

    def _teach(self, X: Any, rows: Rows, groups: Any, *, weighted: bool) -> Rows:
        if self.teacher is None:
            return rows
        check_share("teacher_share", self.teacher_share)
        _, opinion = fit_with_unseen(
            "teacher", self.teacher, X, rows, weighted=weighted, groups=groups
        )
        return teach(rows, opinion, float(self.teacher_share))

    def _refit_params(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs}

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:
        tree = MaxMarginIntervalTree(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            random_state=seed,
            **self._of_features(),
        )
        # Anchors vary fastest: the tree of one loss and margin is grown once for all of them.
        axes: dict[str, list[Any]] = {
            "loss": self._check_losses(),
            "margin": self._check_margins(rows),
            "anchor": check_each("anchors", self.anchors, check_not_negative),
        }
        return self._make_grid(tree, axes)

    def _check_margins(self, rows: Rows) -> list[float]:
        is_auto = isinstance(self.margins, str) and self.margins == "auto"
        return [0.0] if self.teacher is not None and is_auto else super()._check_margins(rows)

    @property
    def tree_(self) -> IntervalTree:  # type: ignore[override]
        """The node table of the chosen tree."""
        check_is_fitted(self)
        return self.best_estimator_.tree_
