"""DistributionalIntervalRegressor: the distribution of a model's own errors around its predictions.

The *residual interval* of a row is its interval less its prediction by models that have not seen
it. The maximum likelihood distribution of residual intervals, moved to a prediction, is the
predictive distribution there. It is estimated at a few *centres*, which are typical predictions,
from the rows with predictions near by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_outer_features,
    check_rows,
    copy_feature_names,
)
from marginwood._ends import carry_over
from marginwood._ensemble.crossfit import CrossFittedIntervalRegressor
from marginwood._ensemble.teacher import find_known, fit_with_unseen
from marginwood._predictive import DistributionMixin
from marginwood._support.checks import check_model, check_number
from marginwood._support.notices import warn
from marginwood.distributions import IntervalDistribution, turnbull
from marginwood.distributions._weighted import sort_rows, weighted_turnbull
from marginwood.intervals import FloatArray, IntArray, check_intervals

__all__ = ["DistributionalIntervalRegressor"]

OWN = "own"
MOST_CENTRES = 32
# Fewer rows leave a distribution too rough, and more make it less local without being needed.
FEWEST_NEIGHBORS = 50
MOST_NEIGHBORS = 5_000


class DistributionalIntervalRegressor(
    DistributionMixin, MetaEstimatorMixin, IntervalRegressorMixin, BaseEstimator
):
    """Predictive distributions for any estimator that predicts numbers.

    The estimator is cross-fitted; the maximum likelihood distribution of its out-of-fold residual
    intervals is put around its predictions. This assumes that errors are distributed alike for rows
    with similar predictions.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package, or any regressor that takes intervals. Where all labels are
        exact, a regressor of scikit-learn does, too.
    cv : int, splitter, iterable of (train, test) or "own", default=5
        Number of folds of `CensoringStratifiedKFold`, or any of scikit-learn's splitters, or the
        rows of each fold. "own" fits the estimator once and takes its own predictions of rows that
        it has not seen: `oof_prediction_`, as an `IntervalSuperLearner` has it, or
        `oob_prediction_` of a forest.
    neighbors : float or None, default=0.7
        From which share of the rows the errors around a prediction are learned: those with the
        nearest predictions, 50 to 5,000 of them; the nearest count most. With None all rows count
        alike, which assumes that errors are distributed alike for all rows.
    tol : float, default=1e-3
        How far the log-likelihood of the residuals' distributions may be from its maximum.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.

    Attributes
    ----------
    estimator_ : estimator
        What predicts: a `CrossFittedIntervalRegressor`, or with ``cv="own"`` the estimator, fitted.
    centres_ : ndarray of shape (m,)
        Typical predictions, ascending; around any other prediction errors are those of the nearest
        one.
    residual_distribution_ : IntervalDistribution
        The distribution of the residual intervals around each centre.
    residual_support_, residual_mass_, residual_offsets_ : ndarray
        Its support intervals, their masses, and where those of each centre start.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    MaxMarginIntervalForest : Its own distributions need no assumption on the errors.

    Notes
    -----
    Where most rows are open above, a plain model predicts early, because nothing is paid for
    predicting too low. The median of the residuals is then above 0, and `predict`, which is the
    median here, later.

    Examples
    --------
    >>> from marginwood import DistributionalIntervalRegressor, MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> model = DistributionalIntervalRegressor(MaxMarginIntervalTree(margin=0.2, max_leaf_nodes=6)).fit(X, y)
    >>> low, middle, high = model.predict_quantile(X[:1], [0.1, 0.5, 0.9])[0]
    >>> bool(low <= middle <= high)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = 5,
        neighbors: float | None = 0.7,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.neighbors = neighbors
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> DistributionalIntervalRegressor:
        """Cross-fit the estimator and find the distribution of its errors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        DistributionalIntervalRegressor
            The fitted estimator.
        """
        check_model("estimator", self.estimator)
        if self.neighbors is not None:
            check_number(
                "neighbors",
                self.neighbors,
                "None or a share > 0 and <= 1",
                lambda share: 0 < share <= 1,
            )
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        model, prediction = self._fit_estimator(rows, sample_weight, groups)
        known = find_known("estimator", prediction, rows)
        centres = prediction[known]
        residual = carry_over(rows.intervals[known], lambda ends: ends - centres[:, np.newaxis])
        residual = check_intervals(residual, name="residuals")
        if self.neighbors is None:
            pooled = turnbull(residual, rows.weight[known], tol=self.tol)
            self.centres_ = np.median(centres, keepdims=True)
            self.residual_support_ = pooled._ends
            self.residual_mass_ = pooled.mass
            self.residual_offsets_ = np.array([0, len(pooled.mass)])
        else:
            self.centres_ = _choose_centres(centres)
            entries = _weigh_neighbors(centres, self.centres_, rows.weight[known], self.neighbors)
            steps = weighted_turnbull(sort_rows(residual), *entries, tol=self.tol)
            self.residual_support_ = np.column_stack(steps._steps[:2])
            self.residual_mass_ = steps._mass
            self.residual_offsets_ = np.append(steps._steps.start, len(steps._mass))
        self.estimator_ = model
        return self

    def _fit_estimator(self, rows: Rows, sample_weight: Any, groups: Any) -> tuple[Any, FloatArray]:
        """A fitted model, and its predictions of the training rows by models that have not seen them."""
        if not isinstance(self.cv, str):
            model = CrossFittedIntervalRegressor(
                self.estimator, cv=self.cv, n_jobs=self.n_jobs, verbose=self.verbose
            )
            model.fit(rows.X, rows.intervals, sample_weight, groups)
            copy_feature_names(self, model)
            return model, model.oof_prediction_
        if self.cv != OWN:
            raise ValueError(f"cv: expected folds or {OWN!r}, got {self.cv!r}.")
        otherwise = "Set cv to the number of folds instead."
        weighted = sample_weight is not None
        return fit_with_unseen(
            "estimator",
            self.estimator,
            rows.X,
            rows,
            weighted=weighted,
            groups=groups,
            otherwise=otherwise,
        )

    @property
    def residual_distribution_(self) -> IntervalDistribution:
        """The distribution of the residual intervals around each centre."""
        check_is_fitted(self)
        return IntervalDistribution(
            self.residual_support_, self.residual_mass_, self.residual_offsets_
        )

    def _find_centres(self, prediction: FloatArray) -> IntArray:
        """The nearest centre of every prediction."""
        return np.searchsorted((self.centres_[1:] + self.centres_[:-1]) / 2, prediction)

    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        IntervalDistribution
            One row per row of X.
        """
        check_is_fitted(self)
        prediction = self.estimator_.predict(check_outer_features(self, X))
        return self.residual_distribution_[self._find_centres(prediction)].shifted(prediction)

    def predict(self, X: Any) -> FloatArray:
        """Predict the median of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Medians. Where more than half of the mass lies beyond all finite limits, the farthest of
            these; a warning counts such rows.
        """
        check_is_fitted(self)
        prediction = self.estimator_.predict(check_outer_features(self, X))
        centres = self._find_centres(prediction)
        errors = self.residual_distribution_
        n_beyond = np.count_nonzero(np.isinf(errors.median(bound="spread"))[centres])
        if n_beyond:
            warn(
                f"predict: {n_beyond} of {len(centres)} medians lie beyond all errors that were seen. "
                "The last limit of these stands for them."
            )
        return prediction + _finite_medians(errors)[centres]

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean importances of the models."""
        check_is_fitted(self)
        return self.estimator_.feature_importances_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def _choose_centres(prediction: FloatArray) -> FloatArray:
    """Typical predictions: an equal number of rows around each."""
    shares = (np.arange(MOST_CENTRES) + 0.5) / MOST_CENTRES
    return np.unique(np.quantile(prediction, shares, method="inverted_cdf"))


def _weigh_neighbors(
    prediction: FloatArray, centres: FloatArray, weight: FloatArray, share: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """The rows around each centre and their weights, which fall to 0 at the distance of the farthest (tricube)."""
    n_neighbors = int(np.clip(np.ceil(share * len(prediction)), FEWEST_NEIGHBORS, MOST_NEIGHBORS))
    n_neighbors = min(n_neighbors, len(prediction))
    rows, weights = [], []
    for centre in centres:
        distance = np.abs(prediction - centre)
        reach = np.partition(distance, n_neighbors - 1)[n_neighbors - 1]
        # Where that many predictions are equal, these alone are neighbours.
        scaled = distance / reach if reach > 0 else np.where(distance > 0, 1.0, 0.0)
        near = np.flatnonzero(scaled < 1)
        rows.append(near)
        weights.append(weight[near] * (1 - scaled[near] ** 3) ** 3)
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets, np.concatenate(rows), np.concatenate(weights)


def _finite_medians(distribution: IntervalDistribution) -> FloatArray:
    """The median of every row of a distribution, or the finite limit nearest to it."""
    medians = distribution.median(bound="spread")
    for row in np.flatnonzero(np.isinf(medians)):
        ends = distribution[row].support
        ends = ends[np.isfinite(ends)]
        medians[row] = np.clip(medians[row], ends.min(), ends.max())
    return medians
