"""ConformalIntervalRegressor: which rows calibrate, and what is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_outer_features,
    check_rows,
)
from marginwood._ensemble.crossfit import CrossFittedIntervalRegressor
from marginwood._ensemble.transformed import bring_back, bring_ranges_back
from marginwood._resampling.folds import make_folds
from marginwood._resampling.run import run
from marginwood._support.arrays import raise_first
from marginwood._support.checks import check_choice, check_count, is_integer
from marginwood._support.notices import warn
from marginwood._trees.bagging import Draw
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood.conformal._distances import (
    MODES,
    check_level,
    find_distances,
    find_rank,
    kth_smallest,
    promised_distances,
    tell_infinite,
)
from marginwood.conformal._members import (
    SPREADS,
    Members,
    ask_models,
    ask_trees,
    find_reach,
    find_scale,
)
from marginwood.intervals import BoolArray, FloatArray

__all__ = ["ConformalIntervalRegressor"]

METHODS = ("split", "cv", "oob", "prefit")


class ConformalIntervalRegressor(MetaEstimatorMixin, IntervalRegressorMixin, BaseEstimator):
    """Ranges around the predictions of any estimator that keep a promise of coverage, however poor the estimator.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package, or any regressor that takes intervals, such as a pipeline that
        ends in one. Where all labels are exact, a regressor of scikit-learn does, too.
    mode : {"contains", "meets", "lower", "upper"}, default="contains"
        What is promised of a range and the interval of a new row: that it contains the interval,
        that it meets the interval, that it bounds the interval from below, or from above.
        `predict_interval` reads it: a new mode needs no new fit.
    confidence_level : float, default=0.9
        Probability of what is promised. `predict_interval` reads it, too.
    method : {"split", "cv", "oob", "prefit"}, default="cv"
        Which rows calibrate: a part that is held out; all rows, each predicted without its fold
        (CV+); all rows, each predicted by the trees of a `MaxMarginIntervalForest` that did not
        draw it (jackknife+ after bootstrap); or those given to `conformalize`, around an estimator
        that is fitted already.
    cv : int, splitter or iterable of (train, test), default=5
        For "cv": number of random folds, or any of scikit-learn's splitters, or the rows of each
        fold. Folds that depend on the targets, such as `CensoringStratifiedKFold`, weaken the
        promise a little. The models of a `CrossFittedIntervalRegressor` have folds already, which
        are taken instead.
    test_size : float or int, default=0.2
        For "split": share or number of the rows that calibrate.
    spread : {"trees", "distribution"}, default=None
        Make ranges wider where the model is less certain: distances are counted in units of the
        standard deviation of the predictions of a forest's trees, or of ``predict_distribution``,
        whose mass beyond the data counts at the last limit. By default all ranges are equally wide.
    n_jobs : int, default=None
        Number of threads for the folds, as in joblib: None is 1, -1 is all processors. It does not
        change the result.
    random_state : int, RandomState instance or None, default=None
        Seed of the random folds, or of the part that is held out.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted models: one per fold, or a single one.
    calibration_idx_ : ndarray of shape (n_calibration,)
        Numbers of the calibration rows.
    residuals_ : ndarray of shape (n_calibration, 2)
        Interval less prediction, of every calibration row; both transformed, if the models have a transformed target.
    spreads_ : ndarray of shape (n_calibration,)
        Spread of every calibration row; 1 without `spread`.
    bracket_ : tuple of float
        Quantiles of the near and of the far distances at `confidence_level`. The same quantile of
        the hidden labels' distances, which would be the radius if labels were exact, lies surely
        between them. One-sided modes have signed distances. In units of the spread, if there is
        one.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    marginwood.metrics.interval_coverage : How often ranges contain and meet intervals.

    Notes
    -----
    All promises assume that calibration rows and new rows are exchangeable, for instance drawn
    independently from one population, intervals included. With "split" and "prefit":

    - "contains": with probability at least `confidence_level` the whole interval of a new row lies
      in its range, and hence the label does.
    - "meets": with probability at least `confidence_level` the range and the interval have a value
      in common. That the label lies in the range does not follow.
    - "lower", "upper": with probability at least `confidence_level` the interval, hence the label,
      lies above the lower end of the range, or below its upper end.

    With "cv" and "oob" these probabilities are close to `confidence_level` in practice. What is
    proven is ``2 * confidence_level - 1``, for "cv" less ``sqrt(2 / n)``, for "oob" if there are
    many trees. Levels below a half give the ranges of a half there.

    Not promised: a level for given features or within a subgroup (probabilities are means over all
    rows, and over what may be drawn for calibration); that all of many new rows are covered at
    once; anything for rows from elsewhere or from later, if things have changed.

    Infinite ranges are not an error. If more than ``1 - confidence_level`` of the intervals are
    open, no finite range contains as many as promised, and fewer than ``confidence_level / (1 -
    confidence_level)`` calibration rows cannot support any. Both bring a warning. Where only one
    side is open, the other bound stays finite: ``mode="lower"`` for right-censored labels. Rows
    ``(-inf, inf)`` count as open on both sides.

    Of a `TransformedIntervalRegressor`, also at the end of a pipeline or a search, distances are those of the function:
    with the logarithm ranges are factors around predictions, and no range of times is negative. It may as well be
    around the ranges. A lower end at the least value, such as 0, counts as open then.

    Weights are those of the training: every calibration row of positive weight counts once. The time that "cv" and
    "oob" take for ranges grows with the number of calibration rows times that of new rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from marginwood import ConformalIntervalRegressor, MaxMarginIntervalForest
    >>> from marginwood.datasets import make_intervals_from_regression
    >>> from marginwood.metrics import interval_coverage
    >>> X, y = make_intervals_from_regression(*load_diabetes(return_X_y=True), left=0, right=0.3, random_state=0)
    >>> forest = MaxMarginIntervalForest(random_state=0)
    >>> model = ConformalIntervalRegressor(forest, mode="lower", method="oob").fit(X[:300], y[:300])
    >>> ranges = model.predict_interval(X[300:])
    >>> ranges.shape
    (142, 2)
    >>> interval_coverage(y[300:], ranges).contain_rate > 0.85
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        mode: str = "contains",
        confidence_level: float = 0.9,
        method: str = "cv",
        cv: Any = 5,
        test_size: float | int = 0.2,
        spread: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.mode = mode
        self.confidence_level = confidence_level
        self.method = method
        self.cv = cv
        self.test_size = test_size
        self.spread = spread
        self.n_jobs = n_jobs
        self.random_state = random_state

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> ConformalIntervalRegressor:
        """Fit the estimator and calibrate the ranges.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the estimator. Rows of weight 0 count as absent; all others calibrate alike.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter that `cv` is.

        Returns
        -------
        ConformalIntervalRegressor
            The fitted and calibrated estimator.
        """
        self._check_parameters()
        if self.method == "prefit":
            raise ValueError(
                "method: 'prefit' takes an estimator that is fitted; call conformalize(X, y), not fit."
            )
        if groups is not None and self.method != "cv":
            raise ValueError(
                f"groups: expected None with method={self.method!r}; they matter to the folds of 'cv'."
            )
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        if self.method == "oob":
            return self._fit_forest(rows, weighted=sample_weight is not None)
        estimator, cv = self._find_folds()
        folds = make_folds(rows, cv, groups, weighted=sample_weight is not None)
        models = run(lambda fold: fold.fit(estimator), folds, n_jobs=self.n_jobs)
        held_out = np.zeros((len(folds), len(rows.intervals)), np.bool_)
        for number, fold in enumerate(folds):
            held_out[number, fold.unseen] = True
        return self._calibrate(list(models.values()), rows, held_out)

    @all_or_nothing
    def conformalize(self, X: Any, y: Any) -> ConformalIntervalRegressor:
        """Calibrate the ranges around an estimator that is fitted already, with ``method="prefit"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of rows that the estimator was not fitted to.
        y : array-like of shape (n_samples, 2)
            Their intervals, in any form that `check_intervals` accepts.

        Returns
        -------
        ConformalIntervalRegressor
            The calibrated estimator.
        """
        self._check_parameters()
        if self.method != "prefit":
            raise ValueError(
                f"method: conformalize is for 'prefit'; with {self.method!r} fit(X, y) calibrates, too."
            )
        try:
            check_is_fitted(self.estimator)
        except NotFittedError as error:
            raise NotFittedError(
                "estimator: expected a fitted one with method='prefit'. Copies by clone are not fitted, unless the "
                "estimator is within sklearn.frozen.FrozenEstimator."
            ) from error
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, None)
        return self._calibrate([self.estimator], rows, np.ones((1, len(rows.intervals)), np.bool_))

    def predict(self, X: Any) -> FloatArray:
        """Predict the mean of the models' predictions, on the scale of a transformed target if they have one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        self._check_calibrated()
        X = check_outer_features(self, X)
        if len(self.estimators_) == 1:
            return self.estimators_[0].predict(X)
        centre = ask_models(self.estimators_, X, None).predictions.mean(axis=0)
        scale = find_scale(self.estimators_[0])
        return centre if scale is None else bring_back(centre, scale._fitted_transformation())

    def predict_interval(self, X: Any, confidence_level: float | None = None) -> FloatArray:
        """Predict a range for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        confidence_level : float, default=None
            Probability of what is promised, instead of that of the estimator.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; they belong to the range. One of them is infinite in a one-sided mode, both where
            there is no finite range. In place of ``-inf`` stands the least value of a transformed target, 0 for "log".
        """
        self._check_calibrated()
        self._check_parameters()
        level = self.confidence_level if confidence_level is None else confidence_level
        check_level(level)
        if confidence_level is not None:
            self._warn_of_infinite(level)
        distances = promised_distances(self.residuals_, self.spreads_, self.mode)
        rank = find_rank(level, len(distances))
        if len(self._held_out) > 1 and self.mode in ("contains", "meets"):
            # With ranks below that of a half, the lower end could lie above the upper one.
            rank = max(rank, find_rank(0.5, len(distances)))
        down, up = find_reach(
            self._ask(check_outer_features(self, X)), self._held_out, distances, rank
        )
        lower = np.full_like(down, -np.inf) if self.mode == "upper" else -down
        upper = np.full_like(up, np.inf) if self.mode == "lower" else up
        if (
            self.mode == "meets"
        ):  # an interval begins right after its lower end, which the range must go beyond
            upper = np.nextafter(upper, np.inf)
        ranges = np.column_stack([lower, upper])
        scale = find_scale(self.estimators_[0])
        return (
            ranges if scale is None else bring_ranges_back(ranges, scale._fitted_transformation())
        )

    @property
    def bracket_(self) -> tuple[float, float]:
        """Quantiles of the near and of the far distances: that of the hidden labels' distances lies between them."""
        self._check_calibrated()
        self._check_parameters()
        rank = find_rank(self.confidence_level, len(self.residuals_))
        near, far = find_distances(self.residuals_, self.spreads_, self.mode)
        return float(kth_smallest(near, rank)), float(kth_smallest(far, rank))

    def _check_parameters(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_choice("method", self.method, METHODS)
        check_level(self.confidence_level)
        if self.spread is not None:
            check_choice("spread", self.spread, SPREADS)
        if self.method == "oob":
            if (
                not isinstance(self.estimator, MaxMarginIntervalForest)
                or not self.estimator.bootstrap
            ):
                raise TypeError(
                    "estimator: expected a MaxMarginIntervalForest with bootstrap=True for method='oob', got "
                    f"{self.estimator!r:.200}. method='cv' takes any estimator."
                )
            if self.spread == "distribution":
                raise ValueError(
                    "spread: expected 'trees' or None with method='oob', got 'distribution'."
                )

    def _check_calibrated(self) -> None:
        if not hasattr(self, "residuals_"):
            step = "conformalize" if self.method == "prefit" else "fit"
            raise NotFittedError(
                f"This ConformalIntervalRegressor is not fitted yet. Call {step}(X, y) first."
            )

    def _find_folds(self) -> tuple[Any, Any]:
        """What is fitted without each fold, and the folds: a cross-fitted estimator has its own."""
        if self.method == "split":
            return self.estimator, ShuffleSplit(
                1, test_size=self.test_size, random_state=self.random_state
            )
        if isinstance(self.estimator, CrossFittedIntervalRegressor):
            return self.estimator.estimator, self.estimator.cv
        if is_integer(self.cv):
            return self.estimator, KFold(
                check_count("cv", self.cv, 2), shuffle=True, random_state=self.random_state
            )
        return self.estimator, self.cv

    def _fit_forest(self, rows: Rows, *, weighted: bool) -> ConformalIntervalRegressor:
        forest = clone(self.estimator).set_params(oob_score=False, warm_start=False)
        forest.fit(rows.X, rows.intervals, rows.weight if weighted else None)
        return self._calibrate(
            [forest], rows, np.array([Draw(*draw).counts() == 0 for draw in forest._draws])
        )

    def _calibrate(
        self, models: list[Any], rows: Rows, held_out: BoolArray
    ) -> ConformalIntervalRegressor:
        """Keep models and what they make of the rows that did not train them; `held_out` has a row per member."""
        idx = np.flatnonzero(held_out.any(axis=0) & (rows.weight > 0))
        if not len(idx):
            raise ValueError(
                f"X: n_samples={held_out.shape[1]}, and all of them trained every tree, so that none can calibrate. "
                "Use more trees, or more rows."
            )
        self.estimators_ = models
        self._has_trees_as_members = self.method == "oob"
        self._spread = self.spread
        self._held_out = held_out[:, idx]
        centre, spreads = self._ask(_safe_indexing(rows.X, idx)).combine(~self._held_out)
        raise_first(
            ~np.isfinite(centre),
            "estimator: its predictions are NaN or infinite",
            prediction=centre,
        )
        scale = find_scale(models[0])
        y = (
            rows.intervals
            if scale is None
            else scale._transform(rows.intervals, scale._fitted_transformation())
        )
        self.calibration_idx_ = idx
        self.residuals_ = y[idx] - centre[:, np.newaxis]
        self.spreads_ = spreads
        self._warn_of_infinite(self.confidence_level)
        return self

    def _ask(self, X: Any) -> Members:
        if self._has_trees_as_members:
            return ask_trees(self.estimators_[0], X, self._spread)
        return ask_models(self.estimators_, X, self._spread)

    def _warn_of_infinite(self, level: float) -> None:
        reason = tell_infinite(self.residuals_, self.spreads_, self.mode, level)
        if reason is not None:
            warn(reason)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
