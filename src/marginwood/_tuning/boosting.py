"""MaxMarginIntervalBoostingCV: loss, margin, number of stages and more, chosen by cross-validation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows
from marginwood._support.checks import check_count, check_model
from marginwood._support.hints import hint
from marginwood._trees.boosting import MaxMarginIntervalBoosting
from marginwood._tuning.estimator import EnsembleSearchCV
from marginwood._tuning.search import Point
from marginwood._validation import BOOSTER_NAMES
from marginwood.intervals import FloatArray
from marginwood.losses import LOSSES

__all__ = ["MaxMarginIntervalBoostingCV"]

AUTO = "auto"
# What is tried of parameters that are "auto".
DEPTHS = (2, 4)
SHARES = (None, 1 / 3)
ROW_SHARES = (0.5, 1.0)


class MaxMarginIntervalBoostingCV(EnsembleSearchCV):
    """Boosted maximum margin interval trees that choose their loss, margin, number of stages and more.

    One fit of a fold scores all numbers of stages; it ends early when its score no longer rises.
    Features are sorted once per fold for all losses, margins and other parameters.

    Parameters
    ----------
    n_estimators : int, default=1000
        Largest number of stages.
    losses : sequence of {"linear_hinge", "squared_hinge"}, default=("linear_hinge", "squared_hinge")
        Losses to try, or the name of one.
    margins : "auto" or sequence of float, default="auto"
        Margins to try; "auto" is `margin_grid`: 0 and a geometric series up to the range of the
        limits. Rows with ``lower == upper`` have no margin.
    n_margins : int, default=7
        Number of margins if they are "auto".
    grid : dict, default=None
        Further parameters and the values to try, as ``{"max_depth": (2, 4), "subsample": (0.5,
        1.0)}``.
    learning_rate : float, default=0.05
        Factor of each stage.
    max_depth : int or "auto", default="auto"
        Depth of the trees; None for no bound, "auto" to try 2 and 4.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of the tree's rows.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of the tree's rows.
    max_features : int, float, {"sqrt", "log2", "auto"} or None, default="auto"
        How many features to try in each node, drawn at random; None for all, "auto" to try all and
        a third of them.
    subsample : float or "auto", default=0.5
        Share of the rows that each stage draws, without replacement; "auto" to try a half and all,
        which doubles the time of the search.
    anchor : float, default=0.0
        Weight of the parent's value in the value of a node, as if it were one more un-censored row:
        it draws the values of small and one-sided leaves towards those of their ancestors. It
        changes neither splits nor costs.
    categorical_features : "from_dtype", sequence of str, int or bool, or None, default="from_dtype"
        Features whose values are categories: names, indices or a mask. "from_dtype" takes the
        columns of a frame that have a categorical type: categories of pandas, Categorical and Enum
        of polars. None for no feature.
    monotonic_cst : sequence of {-1, 0, 1} or dict of them by name, default=None
        For each feature 1 if it must not lower the prediction, -1 if it must not raise it, and 0 if
        it may do either.
    init : estimator, default=None
        A model of intervals for the first prediction, fitted for every candidate and fold; None for
        the best constant.
    n_iter_no_change : int, default=30
        Stop growing the stages of a fold when its score has not risen for this many of them; None
        for never.
    random_state : int, RandomState instance or None, default=None
        Seed of all random draws; all candidates share it.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        A name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator, X, y)``; greater is better.
        If there are sample weights, it is called with ``sample_weight`` too.
    selection : {"min", "1se"}, default="min"
        "min" takes the best mean score, "1se" the fewest stages whose mean score is within one
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
    best_estimator_ : MaxMarginIntervalBoosting
        The chosen model, fitted to all rows.
    estimators_ : list of MaxMarginIntervalTree
        Its trees.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Its importances of the features.
    best_params_ : dict
        Its ``loss``, ``margin``, the parameters of `grid`, and ``n_estimators``.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        One entry per candidate: the parameters, as ``param_margin``, ``param_n_estimators``;
        ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    See Also
    --------
    MaxMarginIntervalBoosting : Boosting with given parameters.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalBoostingCV
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> search = MaxMarginIntervalBoostingCV(
    ...     400, losses="squared_hinge", margins=[0.0, 0.2], grid={"max_depth": [1, 3]}, cv=3, random_state=0
    ... ).fit(X, y)
    >>> search.best_params_["max_depth"], search.best_estimator_.n_estimators < 400
    (3, True)
    """

    @hint(BOOSTER_NAMES)
    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        losses: Any = LOSSES,
        margins: Any = "auto",
        n_margins: int = 7,
        grid: dict[str, Any] | None = None,
        learning_rate: float = 0.05,
        max_depth: int | str | None = AUTO,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = AUTO,
        subsample: float | str = 0.5,
        anchor: float = 0.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        init: Any = None,
        n_iter_no_change: int | None = 30,
        random_state: Any = None,
        cv: Any = 5,
        scoring: Any = "neg_interval_mean_squared_error",
        selection: str = "min",
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.losses = losses
        self.margins = margins
        self.n_margins = n_margins
        self.grid = grid
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.subsample = subsample
        self.anchor = anchor
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.init = init
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _draws(self) -> bool:
        grid = self.grid if isinstance(self.grid, Mapping) else {}
        return (
            self.max_features is not None
            or self.subsample != 1
            or "max_features" in grid
            or "subsample" in grid
        )

    def _make_points(self, rows: Rows, seed: int | None) -> list[Point]:
        n_stages = check_count("n_estimators", self.n_estimators, 1)
        axes: dict[str, Sequence[Any]] = {
            "loss": self._check_losses(),
            "margin": self._check_margins(rows),
        }
        given: dict[str, Any] = {}
        check_model("init", self.init, or_none=True)
        for name, tried in (
            ("max_depth", DEPTHS),
            ("max_features", SHARES),
            ("subsample", ROW_SHARES),
        ):
            value = getattr(self, name)
            if isinstance(value, str) and value == AUTO:
                axes[name] = tried
            else:
                given[name] = value
        booster = MaxMarginIntervalBoosting(
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            anchor=self.anchor,
            init=self.init,
            n_iter_no_change=self.n_iter_no_change,
            random_state=seed,
            **self._of_features(),
            **given,
        )
        return self._make_grid(booster, axes, np.arange(1, n_stages + 1))

    def _refit_params(self) -> dict[str, Any]:
        return {"n_iter_no_change": None, "n_jobs": self.n_jobs}

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Predict after every stage of the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            The prediction of the first stage, of the first two, and so on; the last one is that of
            `predict`.
        """
        check_is_fitted(self)
        yield from self.best_estimator_.staged_predict(X)
