"""DistributionalSuperLearner: a mixture of predicted distributions, weighed by how they predict unseen rows.

The *pool* of some distributions is their weighted mean: its curve is the weighted mean of their
curves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags, _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_outer_features,
    check_rows,
)
from marginwood._categories import find_categories
from marginwood._ensemble.crossfit import fit_fold
from marginwood._ensemble.finite import FiniteMixin
from marginwood._ensemble.library import check_models
from marginwood._ensemble.members import Member, make_members, takes_finite_only
from marginwood._ensemble.mixture import (
    choose_limits,
    find_medians,
    make_steps,
    measure,
    select_weights,
    widen,
)
from marginwood._linear.censored import CensoredLinearRegression
from marginwood._linear.errors import ERRORS
from marginwood._predictive import DistributionMixin
from marginwood._support.threads import run_in_threads
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood._trees.outofbag import predict_oob_distribution
from marginwood._tuning.selection import split_rows
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray, IntArray

__all__ = ["DistributionalSuperLearner"]

AUTO = "auto"


class DistributionalSuperLearner(
    FiniteMixin, DistributionMixin, MetaEstimatorMixin, IntervalRegressorMixin, BaseEstimator
):
    """A weighted mean of predicted distributions that need not be chosen, for curves without tuning.

    Every model predicts the distribution of rows that it has not seen: a forest by the trees that
    did not draw them, every other model by cross-fitting. Weights are chosen for the least log loss
    of the mixture on these rows, and the models are fitted to all rows.

    Parameters
    ----------
    models : "auto" or list of (str, estimator), default="auto"
        Names and models that have `predict_distribution`: a `CensoredLinearRegression`, a forest,
        or any model in a `DistributionalIntervalRegressor`. "auto" is linear models with errors of
        three shapes, and two forests.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds, or any of scikit-learn's splitters, or the rows of each fold. So many folds
        are those of `CensoringStratifiedKFold`, or with groups of `GroupKFold`. Forests are
        cross-fitted too if there are groups or folds of your own.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    random_state : int, RandomState instance or None, default=None
        Seed of models that draw at random and have no seed of their own.

    Attributes
    ----------
    weights_ : dict of float
        The weights of the models, by name; they sum up to 1.
    log_losses_ : dict of float
        By name, the mean log loss of rows that a model has not seen. A value counts as known up to
        a bin that holds a twentieth of the limits.
    estimators_ : dict of estimator
        The models of positive weight, by name, fitted to all rows.
    limits_ : ndarray of shape (m,)
        Values between which predicted curves are straight lines: limits of the training rows.
    categories_ : list or None
        For each feature its labels, or None if it holds numbers; None if no feature has categories.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    IntervalSuperLearner : A mixture of models that predict numbers.
    TransformedIntervalRegressor : Around it, for times: models see their logarithms.

    Notes
    -----
    Models that take neither NaN nor infinities, such as `CensoredLinearRegression`, see medians for
    NaN and the extremes of a column for infinities, and indicators in place of the categories of a
    frame. A model that holds others, such as a pipeline, sees X as it is.

    Examples
    --------
    >>> from marginwood import DistributionalSuperLearner
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = DistributionalSuperLearner(random_state=0).fit(X, y)
    >>> model.weights_["forest"] < 0.5
    True
    >>> low, high = model.predict_quantile(X[:1], [0.1, 0.9])[0]
    >>> bool(low < model.predict(X[:1])[0] < high)
    True
    """

    weights_: dict[str, float]
    estimators_: dict[str, Any]

    def __init__(
        self,
        models: Any = AUTO,
        *,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.models = models
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> DistributionalSuperLearner:
        """Train the models and weigh them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as the models take them.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent, but take part in the split into folds.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that stay together in the folds.

        Returns
        -------
        DistributionalSuperLearner
            The fitted mixture.
        """
        X = check_outer_features(self, X, reset=True)
        rows = check_rows(X, y, sample_weight)
        self.categories_ = find_categories(X, "from_dtype")
        members = self._make_members(groups)
        self._learn_finite(rows, [member.name for member in members if member.takes_finite_only])
        weighted = sample_weight is not None
        splits = split_rows(rows, self.cv, groups)
        self.limits_ = choose_limits(rows)
        probability, bagged = self._score(members, rows, splits, weighted=weighted, groups=groups)
        is_known = ~np.isnan(probability).any(axis=0) & rows.is_informative
        if not is_known.any():
            raise ValueError(
                "models, cv: expected informative rows that every model can predict unseen, got none."
            )
        probability = probability[:, is_known]
        weights = select_weights(probability, rows.weight[is_known])
        losses = -np.average(np.log(probability), axis=1, weights=rows.weight[is_known])
        names = [member.name for member in members]
        self.weights_ = dict(zip(names, weights.tolist(), strict=True))
        self.log_losses_ = dict(zip(names, losses.tolist(), strict=True))
        chosen = [member for member in members if self.weights_[member.name] > 0]
        self.estimators_ = self._refit(chosen, bagged, rows, weighted=weighted, groups=groups)
        return self

    def _make_members(self, groups: Any) -> list[Member]:
        is_auto = isinstance(self.models, str) and self.models == AUTO
        models = auto_models() if is_auto else check_models(self.models)
        for name, estimator in models:
            if not hasattr(estimator, "predict_distribution"):
                raise TypeError(
                    f"models: expected estimators with predict_distribution, got {name!r} of type "
                    f"{type(estimator).__name__}. Put it into a DistributionalIntervalRegressor."
                )
        random = check_random_state(self.random_state)
        return make_members(models, random, self.categories_, cv=self.cv, groups=groups)

    def _features(self, name: str, X: Any) -> Any:
        """The features as a model takes them."""
        return self._as_finite(X) if name in self._takes_finite else X

    def _score(
        self,
        members: list[Member],
        rows: Rows,
        splits: list[tuple[IntArray, IntArray]],
        *,
        weighted: bool,
        groups: Any,
    ) -> tuple[FloatArray, dict[str, Any]]:
        """The probability of every row's bins by every model that has not seen it, NaN where there is none.

        And the forests that are scored by their own bags, by name: these are fitted to all rows.
        """
        bins = widen(rows)
        pieces = [
            (number, fold)
            for number, member in enumerate(members)
            for fold in range(1 if member.is_out_of_bag else len(splits))
        ]
        bagged: dict[str, Any] = {}

        def run(piece: tuple[int, int]) -> tuple[IntArray, FloatArray]:
            member = members[piece[0]]
            own = rows._replace(X=self._features(member.name, rows.X))
            if member.is_out_of_bag:
                every = np.flatnonzero(rows.is_informative)
                model = fit_fold(member.estimator, own, every, every[:0], weighted=weighted)
                bagged[member.name] = model
                is_unseen = ~model._drawn().all(axis=0)
                unseen = every[is_unseen]
                if not len(unseen):
                    return unseen, np.empty(0)
                return unseen, measure(predict_oob_distribution(model, is_unseen), bins[unseen])
            train, test = splits[piece[1]]
            model = fit_fold(member.estimator, own, train, test, weighted=weighted, groups=groups)
            return test, measure(
                model.predict_distribution(_safe_indexing(own.X, test)), bins[test]
            )

        probability = np.full((len(members), len(rows.intervals)), np.nan)
        for (number, _), (test, found) in run_in_threads(run, pieces, self.n_jobs):
            probability[number, test] = found
        return probability, bagged

    def _refit(
        self,
        members: list[Member],
        bagged: dict[str, Any],
        rows: Rows,
        *,
        weighted: bool,
        groups: Any,
    ) -> dict[str, Any]:
        """The models fitted to all rows, by name; those of `bagged` are already."""
        every = np.flatnonzero(rows.is_informative)

        def run(member: Member) -> Any:
            if member.is_out_of_bag:
                return bagged[member.name]
            own = rows._replace(X=self._features(member.name, rows.X))
            return fit_fold(
                member.estimator, own, every, every[:0], weighted=weighted, groups=groups
            )

        fitted = {member.name: model for member, model in run_in_threads(run, members, self.n_jobs)}
        return {member.name: fitted[member.name] for member in members}

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
        return make_steps(self._pool(X)[0], self.limits_)

    def _pool(self, X: Any) -> tuple[FloatArray, list[IntervalDistribution]]:
        """The pooled curves at the limits, and the distributions of the models."""
        check_is_fitted(self)
        X = check_outer_features(self, X)
        names = list(self.estimators_)
        pooled = np.zeros((X.shape[0], len(self.limits_)))
        # In the order of the models, whatever thread is first: sums depend on their order.
        found = dict(run_in_threads(lambda name: self._cumulate(name, X), names, self.n_jobs))
        for name in names:
            pooled += self.weights_[name] * found[name][0]
        return pooled, [found[name][1] for name in names]

    def _cumulate(self, name: str, X: Any) -> tuple[FloatArray, IntervalDistribution]:
        """The curves of a model at the limits, which rounding must not make fall or exceed 1, and its distributions."""
        distribution = self.estimators_[name].predict_distribution(self._features(name, X))
        curves = distribution.cdf(self.limits_)
        return np.minimum(np.maximum.accumulate(curves, axis=1), 1.0), distribution

    def predict(self, X: Any) -> FloatArray:
        """Predict the median of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Medians. Where a curve ends before it reaches one half, what is left of it is placed as
            those models place it that go on beyond the limits, such as linear ones; if there is
            none, it is the farthest limit.
        """
        pooled, members = self._pool(X)
        return find_medians(
            pooled, self.limits_, members, [self.weights_[name] for name in self.estimators_]
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        models = [] if isinstance(self.models, str) else check_models(self.models)
        tags.input_tags.allow_nan = all(
            takes_finite_only(model) or get_tags(model).input_tags.allow_nan for _, model in models
        )
        return tags


def auto_models() -> list[tuple[str, Any]]:
    """Linear models with errors of every shape, and forests of small and large leaves."""
    models: list[tuple[str, Any]] = [
        (f"linear-{name}", CensoredLinearRegression(error=name)) for name in ERRORS
    ]
    models.append(("forest", MaxMarginIntervalForest(max_features=1 / 3, min_samples_leaf=15)))
    models.append(("forest-fine", MaxMarginIntervalForest(max_features=1 / 3, min_samples_leaf=5)))
    return models
