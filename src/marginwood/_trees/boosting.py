"""MaxMarginIntervalBoosting: a sum of small trees, each fitted to what the ones before it left open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    BLOCK,
    LARGEST_SEED,
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_features,
    check_rows,
)
from marginwood._categories import count_categories
from marginwood._monotonic import effects_of
from marginwood._searchable import AUTO, Searchable
from marginwood._support.checks import (
    check_choice,
    check_count,
    check_model,
    check_number,
    check_positive,
)
from marginwood._support.hints import hint
from marginwood._support.progress import progress_bar
from marginwood._trees.growing import SortedRows, make_team
from marginwood._trees.rules import Rules
from marginwood._trees.stages import StagedRows, StagePath, first_prediction, grow_stages
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._validation import (
    BOOSTER_NAMES,
    VALIDATION_NAMES,
    check_early_stopping,
    check_validation,
    hold_out,
    stop_early,
)
from marginwood.intervals import FloatArray, IntArray
from marginwood.losses import Loss, quartile_distance

__all__ = ["MaxMarginIntervalBoosting"]

MARGIN = 0.25  # of the distance between the quartiles of the limits, where it is "auto"
# Depths, and shares of the features in a node, that a search tries.
DEPTHS = (2, 4)
SHARES = (None, 1 / 3)


class MaxMarginIntervalBoosting(Searchable, IntervalRegressorMixin, BaseEstimator):
    """Boosted maximum margin interval trees.

    The first prediction is the best constant, or that of another model. Each stage grows a tree on
    the residual intervals ``(lower - F, upper - F)``, F being the prediction so far, with the same
    loss and margin, and adds `learning_rate` times its prediction. Splits are exact, as those of
    `MaxMarginIntervalTree`. The defaults suit most data: small steps on half of the rows, as many
    as a fifth of the rows, which is held out, asks for.

    Parameters
    ----------
    n_estimators : int, default=1000
        Number of stages; with early stopping the largest number.
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The distance to the interval, or its square.
    margin : float or "auto", default="auto"
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin. "auto" is a quarter of the distance between the quartiles
        of the limits.
    quantile : float, default=0.5
        Which quantile the linear hinge is to estimate: a prediction below its range costs
        ``2 * quantile`` times the distance, one above ``2 * (1 - quantile)`` times. 0.5 is the
        median.
    learning_rate : float, default=0.05
        Factor of each stage. A smaller one needs more stages. With at most 1, all rows and no
        anchor, no stage raises the training loss.
    max_depth : int, default=3
        Depth of the trees; None for no bound.
    min_samples_split : int or float, default=2
        Fewest samples of a node that may be split; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Fewest samples of a leaf; a float is a share of all samples.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many features to try in each node, drawn at random; None for all. Where few features
        matter, a draw loses them.
    subsample : float, default=0.5
        Share of the rows that each stage draws, without replacement.
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
        A model of intervals for the first prediction, such as a search around `L1IntervalRegression`: the
        stages learn what it leaves open. Where all labels are exact, a regressor of scikit-learn does,
        too. None for the best constant.
    n_iter_no_change : int, default=30
        Stop when the validation loss has not fallen for this many stages, and keep the stages up to
        the best one. None for all stages.
    validation_fraction : float, default=0.2
        Share of the rows to hold out as validation data. Only with `n_iter_no_change`, and if `fit`
        is not given validation data.
    tol : float, default=1e-4
        Share by which the validation loss must fall to count as fallen.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features.
    n_jobs : int, default=None
        Number of threads that grow each stage from many rows; None for one unless a
        ``joblib.parallel_config`` says otherwise, -1 for all processors. The model is the same for
        any number.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    warm_start : bool, default=False
        Keep the stages of the last fit and add more; to be used with the same training data.

    Attributes
    ----------
    estimators_ : list of MaxMarginIntervalTree
        The trees. Their values are multiplied by the learning rate: the prediction is the first one
        plus their sum.
    init_ : float or estimator
        The first prediction: the best constant, or the fitted copy of `init`.
    margin_ : float
        The margin, in units of the target.
    n_estimators_ : int
        Number of stages that are kept.
    train_score_ : ndarray
        Mean training loss, margin included, after each stage that was grown.
    validation_score_ : ndarray
        Mean validation loss, margin included, after each stage that was grown: with a margin most
        rows are informative about when to stop, not only those whose prediction lies outside of its
        interval. Empty without validation data.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the total decrease of the cost by the splits of each feature; `init` does not
        count.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalBoosting
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> model = MaxMarginIntervalBoosting(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    path_parameters = ("n_estimators",)
    parts = ("init",)
    parameters_of_best = MappingProxyType({"n_iter_no_change": None})  # its stages are counted
    aggregation = "sum"  # how the trees' predictions become one, beside `init_`
    init_: Any
    margin_: float
    estimators_: list[MaxMarginIntervalTree]
    _seed: int
    _n_rows: int

    @hint(BOOSTER_NAMES)
    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        loss: Loss = "squared_hinge",
        margin: float | str = "auto",
        quantile: float = 0.5,
        learning_rate: float = 0.05,
        max_depth: int | None = 3,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = None,
        subsample: float = 0.5,
        anchor: float = 0.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        init: Any = None,
        n_iter_no_change: int | None = 30,
        validation_fraction: float = 0.2,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.margin = margin
        self.quantile = quantile
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
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start

    @hint(VALIDATION_NAMES)
    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> MaxMarginIntervalBoosting:
        """Grow the stages.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; NaN and infinities are allowed.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        X_val : array-like of shape (n_validation, n_features), default=None
            Features of validation data.
        y_val : array-like of shape (n_validation, 2), default=None
            Their intervals.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.

        Returns
        -------
        MaxMarginIntervalBoosting
            The fitted model.
        """
        self._fit_stages(X, y, sample_weight, X_val, y_val, sample_weight_val)
        return stop_early(self)

    def _fit_stages(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
    ) -> None:
        """Grow stages until validation says stop, and keep all of them."""
        self._rules()
        is_resumed = self.warm_start and hasattr(self, "estimators_")
        X = check_features(self, X, reset=not is_resumed)
        training = check_rows(X, y, sample_weight)
        validation = check_validation(self, X_val, y_val, sample_weight_val)
        seed = (
            self._seed
            if is_resumed
            else check_random_state(self.random_state).randint(1, LARGEST_SEED)
        )
        if validation is None and self.n_iter_no_change is not None:
            training, validation = hold_out(training, self.validation_fraction, seed)
        training = training.weighted()
        if not is_resumed:
            self._start(training)
        kept = self.estimators_ if is_resumed else []
        with make_team(self.n_jobs, training.X) as team:
            rows = SortedRows(training, count_categories(self.categories_), team=team)
            trees, train_score, validation_score = self._boost(rows, validation, kept, seed)
        self.estimators_ = trees
        self._seed = seed
        self._n_rows = len(X)
        self.train_score_ = np.array(train_score)
        self.validation_score_ = np.array(validation_score)
        self.n_estimators_ = len(trees)

    def _keep_stages(self, n_stages: int) -> None:
        """Forget the stages after the first ones."""
        self.estimators_ = self.estimators_[:n_stages]
        self.n_estimators_ = len(self.estimators_)

    def _start(self, training: Rows) -> None:
        """Find the margin and the first prediction."""
        is_auto = isinstance(self.margin, str)
        self.margin_ = (
            MARGIN * quartile_distance(training.intervals) if is_auto else float(self.margin)
        )
        self.init_ = first_prediction(self, training)

    def _first(self, X: FloatArray) -> float | FloatArray:
        """The prediction before the first stage: one number, or one for every row."""
        if isinstance(self.init_, float):
            return self.init_
        return np.asarray(self.init_.predict(X), dtype=np.float64)

    def _boost(
        self,
        rows: SortedRows,
        validation: Rows | None,
        kept: list[MaxMarginIntervalTree],
        seed: int,
    ) -> tuple[list[MaxMarginIntervalTree], list[float], list[float]]:
        """Walk through the stages that are there and grow more, until there are enough or validation says stop."""
        if len(kept) > self.n_estimators:
            expected = f"at least the {len(kept)} stages that warm_start keeps"
            raise ValueError(f"n_estimators: expected {expected}, got {self.n_estimators}.")
        fitted = StagedRows(self, rows.rows, rows.team)
        held_out = None if validation is None else StagedRows(self, validation, rows.team)
        trees: list[MaxMarginIntervalTree] = []
        train_score: list[float] = []
        validation_score: list[float] = []
        with progress_bar("stages", self.n_estimators, verbose=self.verbose) as advance:
            rules = self._rules(self.margin_)._replace(monotonic_cst=effects_of(self))
            for tree in grow_stages(self, rows, rules, fitted, seed, kept):
                trees.append(tree)
                train_score.append(fitted.mean_loss(self))
                advance()
                if held_out is not None:
                    held_out.add(tree)
                    validation_score.append(held_out.mean_loss(self))
                    if self._has_stalled(validation_score):
                        break
        return trees, train_score, validation_score

    def _has_stalled(self, scores: list[float]) -> bool:
        patience = self.n_iter_no_change
        if patience is None or len(scores) <= patience:
            return False
        return min(scores[-patience:]) >= (1 - self.tol) * min(scores[:-patience])

    def _rules(self, margin: float | None = None) -> Rules:
        """The rules of a stage, checked; the margin is that of the estimator unless it is given."""
        if margin is None and isinstance(self.margin, str):
            check_choice("margin", self.margin, [AUTO])
            margin = 0.0
        check_early_stopping(self.n_iter_no_change, self.validation_fraction)
        check_model("init", self.init, or_none=True)
        check_count("n_estimators", self.n_estimators, 1)
        check_positive("learning_rate", self.learning_rate)
        check_number(
            "subsample", self.subsample, "a number > 0 and <= 1", lambda share: 0 < share <= 1
        )
        check_number("tol", self.tol, "a number >= 0 and < 1", lambda share: 0 <= share < 1)
        return Rules.of(self, margin=self.margin if margin is None else margin)

    @property
    def _is_random(self) -> bool:
        return self.max_features is not None or self.subsample != 1

    def _search_space(self, rows: Rows) -> dict[str, Any]:  # noqa: ARG002 (nothing depends on them)
        stages = range(1, check_count("n_estimators", self.n_estimators, 1) + 1)
        losses = self._rules().losses
        space = {"loss": losses, "margin": AUTO, "max_depth": DEPTHS, "max_features": SHARES}
        return space | {"n_estimators": stages}

    def _prepare(self, rows: Rows) -> SortedRows:
        return SortedRows(rows.weighted(), count_categories(self.categorical_features.categories))

    def _fit_path(self, rows: SortedRows, values: Mapping[str, Any]) -> StagePath:
        return StagePath(self, rows, values["n_estimators"])

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            The first prediction plus the sum of the trees' predictions.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        total = np.empty(len(X))
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            *_, total[rows] = self._staged(X[rows])
        return total

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Predict after every stage.

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
        yield from self._staged(check_features(self, X))

    def _staged(self, X: FloatArray) -> Iterator[FloatArray]:
        first = self._first(X)
        total = np.zeros(len(X))
        for tree in self.estimators_:
            total += tree.tree_.predict(X)
            yield first + total

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of every row in every tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators_)
            Rows of the trees' node tables.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        return np.column_stack([tree.tree_.apply(X) for tree in self.estimators_])

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of the total decrease of the cost by the splits of each feature."""
        check_is_fitted(self)
        decreases = [
            tree.tree_.compute_feature_importances(normalize=False) for tree in self.estimators_
        ]
        total = np.sum(decreases, axis=0)
        return total / total.sum() if total.sum() > 0 else total

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.init is not None:
            tags.input_tags.allow_nan = get_tags(self.init).input_tags.allow_nan
        return tags
