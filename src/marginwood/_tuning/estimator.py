"""IntervalSearchCV: an estimator that chooses its parameters by cross-validation."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    LARGEST_SEED,
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_outer_features,
    check_rows,
    copy_feature_names,
    forget,
)
from marginwood._resampling.folds import Bags, Fold, fingerprint, make_folds
from marginwood._resampling.journal import describe, digest
from marginwood._resampling.splitters import N_SPLITS, RepeatedCensoringStratifiedKFold
from marginwood._searchable import AUTO, is_searchable
from marginwood._support.checks import check_choice, check_model, is_integer
from marginwood._support.notices import warn
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.best import as_given, for_checked_rows, refit
from marginwood._tuning.delegation import Delegating
from marginwood._tuning.search import Label, PathJournal, Point, Trial, score_paths, tabulate
from marginwood._tuning.selection import SELECTIONS, select
from marginwood._tuning.space import make_points
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import refuse_vanishing_squares
from marginwood.metrics._scorers import average_loss_of, default_scoring, get_scorer, scorer_for

__all__ = ["IntervalSearchCV"]

OOB = "oob"


def _check_squares(rows: Rows, scorer: Any) -> None:
    """Raise if squared errors would all vanish, and the simplest candidate win; folds may be too small to show it."""
    average = average_loss_of(scorer)
    if average is not None and average.row_loss == "squared_distance":
        refuse_vanishing_squares(rows.intervals, rows.weight)


class IntervalSearchCV(Delegating, IntervalRegressorMixin, BaseEstimator):
    """An estimator that chooses its parameters by cross-validation.

    Every candidate is scored on rows that it has not seen, and the best one is fitted to all rows.
    It predicts, and all else that it can do, or that `fit` finds out, the search has, too:
    ``search.tree_`` and ``search.apply(X)`` of a tree, ``search.coef_`` of a linear model.

    What one fit can serve is fitted once: all prunings and anchors of a tree, all penalties of a
    linear or smooth model, all numbers of stages of boosting. Features are sorted once per fold.

    Parameters
    ----------
    estimator : estimator, default=None
        What is tuned: an estimator of this package, or any regressor that takes intervals, such as
        a pipeline that ends in one. None for a `MaxMarginIntervalTree`. Where all labels are exact,
        a regressor of scikit-learn does, too.
    grid : "auto" or dict, default="auto"
        Parameters and the values to try, such as ``{"margin": [0.0, 0.2]}``; all other parameters
        are those of `estimator`. "auto" is what suits the estimator, see Notes; a dict adds to that
        or replaces it. A parameter that "auto" tries may be "auto", and a margin, or the penalty of
        a linear model, may be a number: how many values to try. Other estimators need a dict, with
        parameters of steps as ``step__parameter``.
    cv : "oob", int, splitter or iterable of (train, test), default=None
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold. "oob", for a forest, scores every row by the trees that did not draw it,
        without folds. None is "oob" for a forest, five folds that are dealt out three times by
        `RepeatedCensoringStratifiedKFold` for a tree, because pruning depends on the folds more
        than other choices do, and five folds otherwise; with groups, None is five folds of
        `GroupKFold`.
    scoring : str or callable, default=None
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too. None is
        "neg_interval_pinball_loss" for an estimator with a `quantile` other than 0.5, and
        "neg_interval_mean_squared_error" otherwise.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, and of tied ones the simplest model. "1se" takes the
        simplest model whose mean score is within one standard error of the best: the fewest leaves,
        the fewest stages, the largest penalty, the least level of significance. Models of which the
        search does not know how complex they are count as simpler the earlier their values stand in
        `grid`.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result. The best estimator is given it, too, unless it has a number of its own.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    checkpoint : path-like, default=None
        File to which each finished piece of the search is appended. A fit that was interrupted or
        killed and is started again with the same data and parameters does only what is missing. A
        custom scorer is known by its name only. The file stays when the fit is done.
    random_state : int, RandomState instance or None, default=None
        Seed of estimators that draw at random and have none of their own. All candidates share it:
        they differ by their parameters alone.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen model, fitted to all rows.
    best_params_ : dict
        Its parameters among those that were searched.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict
        One entry per candidate, with the names of scikit-learn's searches: ``params``, a list of
        dicts, and of each parameter a column as ``param_margin``; ``n_leaves`` of the tree on all
        data, where it is pruned; ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    TaughtRegressor : A model that learns from a better one.

    Notes
    -----
    With ``grid="auto"`` these parameters are searched; "margins" are 0 and a geometric series up to
    the range of the limits, seven in all, see `margin_grid`.

    - `MaxMarginIntervalTree`: margins, anchors (0, 0.3, 1, 3, 10, 30) and pruning. For each loss
      and margin a tree is grown on all data and pruned step by step. Each step is a candidate; its
      `ccp_alpha` is the geometric mean of the two between which it is best (0 for the whole tree,
      infinity for the root alone).
    - `MaxMarginIntervalForest`: both losses, margins.
    - `MaxMarginIntervalBoosting`: both losses, margins, depths 2 and 4, all features or a third of
      them in a node, and the number of stages up to `n_estimators`. The stages of a fold end when
      its score has not risen for `n_iter_no_change` of them; the best model has as many as were
      best, and holds no rows out.
    - `L1IntervalRegression`: 100 penalties, from the one at which all weights vanish down to a
      thousandth of it, for each margin its own.
    - `KernelIntervalRegression`: length scales (0.5, 1, 2, 4), relevances (0, 0.5, 1) and thirteen
      penalties from 0.1 down to 1e-7.
    - `IntervalCART`: pruning.
    - `TransformationTree`: thirteen levels of significance from 1e-6 to 0.99.

    Ctrl-C stops the fit at once.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood import CensoringStratifiedKFold, IntervalSearchCV, MaxMarginIntervalTree
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> centre = np.where(X < 20, 0.0, 5.0)
    >>> y = np.hstack([centre - 1, centre + 1])
    >>> search = IntervalSearchCV(MaxMarginIntervalTree(), {"anchor": [0.0]}).fit(X, y)
    >>> search.get_n_leaves()
    2
    >>> search.predict([[3.0], [30.0]]).tolist()
    [0.0, 5.0]

    A forest, scored on the rows that its trees have not drawn:

    >>> from marginwood import MaxMarginIntervalForest
    >>> from marginwood.datasets import make_sine
    >>> forest = MaxMarginIntervalForest(30)
    >>> grid = {"loss": ["squared_hinge"], "margin": [0.0, 5.0], "min_samples_leaf": [1, 30]}
    >>> search = IntervalSearchCV(forest, grid, cv="oob", random_state=0).fit(*make_sine(random_state=0))
    >>> search.best_params_
    {'loss': 'squared_hinge', 'margin': 0.0, 'min_samples_leaf': 1}

    Nested cross-validation, to tell how good the whole procedure is:

    >>> from sklearn.model_selection import cross_val_score
    >>> search = IntervalSearchCV(MaxMarginIntervalTree(), {"anchor": [0.0]})
    >>> cross_val_score(search, X, y, cv=CensoringStratifiedKFold(4)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _inside = "best_estimator_"

    def __init__(
        self,
        estimator: Any = None,
        grid: Any = AUTO,
        *,
        cv: Any = None,
        scoring: Any = None,
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _unfitted(self) -> Any:
        return MaxMarginIntervalTree() if self.estimator is None else self.estimator

    def _scoring(self) -> Any:
        return default_scoring(self._unfitted()) if self.scoring is None else self.scoring

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Score all candidates and fit the best one to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent, but take part in the split into folds.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that stay together in the folds, if `cv` is a number or a splitter that
            knows groups.

        Returns
        -------
        IntervalSearchCV
            The fitted search.
        """
        return self._search(X, y, sample_weight, groups)

    def _search(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, label: Label | None = None
    ) -> IntervalSearchCV:
        """Fit; models learn labels, if there is a teacher, and are scored by the targets."""
        check_choice("selection", self.selection, SELECTIONS)
        check_model("estimator", self._unfitted())
        if is_searchable(self._unfitted()):
            self._unfitted()._check_parts()
        scorer = get_scorer(self._scoring())
        estimator = clone(self._unfitted())
        rows = check_rows(self._check_features(estimator, X), y, sample_weight)
        _check_squares(rows, scorer)
        taught = rows if label is None else rows._replace(intervals=label(None))
        points = make_points(
            for_checked_rows(estimator), self.grid, rows, is_taught=label is not None
        )
        if is_searchable(estimator):  # whose quantile is not searched
            scorer = scorer_for(estimator, scorer)
        seed = self._seed(points)
        weighted = sample_weight is not None
        cv = self._choose_folds(estimator, groups, is_taught=label is not None)
        folds = self._make_folds(cv, points, rows, groups, weighted=weighted)
        trials = [Trial(fold, scorer, label) for fold in folds]
        if points[0].is_found:
            every = np.flatnonzero(taught.weight)
            trials = [Trial(Fold(taught, every, every[:0]), scorer), *trials]
        with self._open_journal(points, taught, folds, seed) as journal:
            paths = score_paths(
                points, trials, journal=journal, n_jobs=self.n_jobs, verbose=self.verbose
            )
        self.n_splits_ = len(folds)
        self.cv_results_, complexity = tabulate(points, paths, len(trials))
        self._choose(complexity)
        best = clone(points[0].estimator).set_params(**self.best_params_)
        best = refit(best, taught, self.n_jobs, weighted=weighted, groups=groups)
        self.best_estimator_ = as_given(best, estimator)
        return self

    def _check_features(self, estimator: Any, X: Any) -> Any:
        """X as the estimators of the grid take it; names of features are learnt from it."""
        if not is_searchable(estimator):
            accept_sparse = get_tags(estimator).input_tags.sparse
            return check_outer_features(self, X, reset=True, accept_sparse=accept_sparse)
        X = estimator._check_features(X, reset=True)
        forget(self, "feature_names_in_", "categories_")
        copy_feature_names(estimator, self)
        return X

    def _seed(self, points: list[Point]) -> int | None:
        """Give all candidates one seed where they draw and have none; None if they need none."""
        params = points[0].estimator.get_params()
        names = [name for name in params if name.rpartition("__")[2] == "random_state"]
        names = [name for name in names if not is_integer(params[name])]
        draws = any("__" in name for name in names) or any(
            getattr(point.estimator, "_is_random", True) for point in points
        )
        if not names or not draws:
            return None
        source = self.random_state
        if source is None:  # a generator is used up, and would tell candidates apart
            source = next((params[name] for name in names if params[name] is not None), None)
        if source is None and self.checkpoint is not None:
            raise ValueError(
                "random_state: a checkpoint needs a seed where rows or features are drawn at random."
            )
        seed = (
            int(source)
            if is_integer(source)
            else int(check_random_state(source).randint(1, LARGEST_SEED))
        )
        for point in points:
            tried = [name for name in names if name not in point.params]
            point.estimator.set_params(**dict.fromkeys(tried, seed))
        return seed

    def _choose_folds(self, estimator: Any, groups: Any, *, is_taught: bool) -> Any:
        """The `cv`, or what suits an estimator; None for rows that are scored out of bag."""
        default = getattr(estimator, "default_folds", "folds")
        is_oob = isinstance(self.cv, str) and self.cv == OOB and default == OOB
        if is_taught and is_oob:
            raise ValueError(
                "cv: a teacher has seen the rows that are out of bag; expected folds, got 'oob'."
            )
        if self.cv is not None or groups is not None or default == "folds" or is_taught:
            return None if is_oob else N_SPLITS if self.cv is None else self.cv
        return None if default == OOB else RepeatedCensoringStratifiedKFold(random_state=0)

    def _make_folds(
        self, cv: Any, points: list[Point], rows: Rows, groups: Any, *, weighted: bool
    ) -> list[Fold]:
        """The folds; one, of all rows, if every row is scored by the trees that did not draw it."""
        if cv is not None:
            return make_folds(rows, cv, groups, weighted=weighted)
        if not all(point.estimator.bootstrap for point in points):
            raise ValueError(
                "cv: there are no out-of-bag rows without bootstrap; set bootstrap=True or cv=5."
            )
        if groups is not None:
            warn(
                "groups: out-of-bag scores ignore them; set cv to a splitter such as sklearn's GroupKFold."
            )
        every = np.arange(len(rows.weight))
        return [Bags(rows, every, every, weighted)]

    def _open_journal(
        self, points: list[Point], taught: Rows, folds: list[Fold], seed: int | None
    ) -> Any:
        """The journal, with all that the pieces depend on in its header; nothing without a checkpoint."""
        if self.checkpoint is None:
            return nullcontext()
        own: dict[str, Any] = dict(fingerprint(folds))
        if folds[0].rows is not taught:
            own["labels"] = digest(taught.intervals)
        own["scoring"] = describe(self._scoring())
        own["grid"] = digest([point.params | dict(point.values) for point in points])
        own["random_state"] = seed
        # An estimator may have folds, a grid or a seed, too.
        parameters = {
            f"estimator's {name}" if name in own else name: value
            for name, value in describe(self._unfitted()).items()
        }
        return PathJournal(self.checkpoint, parameters | own)

    def _choose(self, complexity: IntArray) -> None:
        """Set which candidate is the best."""
        means = self.cv_results_["mean_test_score"]
        deviations = self.cv_results_["std_test_score"]
        self.best_index_ = select(means, deviations, complexity, self.n_splits_, self.selection)
        self.best_score_ = float(means[self.best_index_])
        self.best_params_ = dict(self.cv_results_["params"][self.best_index_])
        if np.isnan(self.best_score_):
            warn(
                "scoring: the score of every candidate is NaN in some fold; the simplest one is taken."
            )

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._unfitted()).input_tags
        return tags
