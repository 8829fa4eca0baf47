"""DistributionalSuperLearner: a mixture of predicted distributions, weighed by how they predict unseen rows.

The curve of a *mixture* of distributions is the weighted mean of their curves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import Rows, all_or_nothing, check_outer_features
from marginwood._ensemble.library import check_models
from marginwood._ensemble.members import Member, MixtureMixin, Piece, list_pieces
from marginwood._ensemble.mixture import (
    choose_limits,
    find_medians,
    make_steps,
    measure,
    select_weights,
    widen,
)
from marginwood._linear.censored import CensoredLinearRegression
from marginwood._linear.noise import NOISES
from marginwood._predictive import DistributionMixin
from marginwood._resampling.folds import make_folds, make_whole
from marginwood._resampling.run import run
from marginwood._support.notices import warn
from marginwood._trees.forest import MaxMarginIntervalForest
from marginwood.distributions import IntervalDistribution
from marginwood.intervals import FloatArray, IntArray

__all__ = ["DistributionalSuperLearner"]

AUTO = "auto"


class DistributionalSuperLearner(DistributionMixin, MixtureMixin, BaseEstimator):
    """A weighted mean of predicted distributions that need not be chosen, for curves without tuning.

    Every model predicts the distribution of rows that it has not seen: a forest by the trees that
    did not draw them, every other model by cross-fitting. Weights are chosen for the least log loss
    of the mixture on these rows, and the models are fitted to all rows.

    Parameters
    ----------
    models : "auto" or list of (str, estimator), default="auto"
        Names and models that have `predict_distribution`: a `CensoredLinearRegression`, a forest,
        or any model in a `DistributionalIntervalRegressor`. "auto" is linear models with noise of
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
        rows = self._check_rows(X, y, sample_weight)
        models = self._check_models()
        random = check_random_state(self.random_state)
        folds = make_folds(rows, self.cv, groups, weighted=sample_weight is not None)
        members = self._make_members(models, folds, random)
        self.limits_ = choose_limits(rows)
        probability, bagged = self._score(members, rows)
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
        self.estimators_ = self._refit(members, bagged)
        return self

    def _check_models(self) -> list[tuple[str, Any]]:
        is_auto = isinstance(self.models, str) and self.models == AUTO
        models = auto_models() if is_auto else check_models(self.models)
        for name, estimator in models:
            if not hasattr(estimator, "predict_distribution"):
                raise TypeError(
                    f"models: expected estimators with predict_distribution, got {name!r} of type "
                    f"{type(estimator).__name__}. Put it into a DistributionalIntervalRegressor."
                )
        return models

    def _score(self, members: list[Member], rows: Rows) -> tuple[FloatArray, dict[str, Any]]:
        """The probability of every row's bins by every model that has not seen it, NaN where there is none.

        And the forests that are scored by their own bags, by name: these are fitted to all rows.
        """
        bins = widen(rows)
        bagged: dict[str, Any] = {}

        def score(piece: Piece) -> tuple[IntArray, FloatArray]:
            member = members[piece.member]
            fold = member.folds[piece.fold]
            model = fold.fit(member.estimator)
            if member.is_out_of_bag:
                bagged[member.name] = model
            unseen = fold.unseen_by(model)
            if not len(unseen):
                return unseen, np.empty(0)
            return unseen, measure(fold.predict_distribution(model), bins[unseen])

        probability = np.full((len(members), len(rows.intervals)), np.nan)
        scored = run(score, list_pieces(members), n_jobs=self.n_jobs)
        for piece, (unseen, found) in scored.items():
            probability[piece.member, unseen] = found
        return probability, bagged

    def _refit(self, members: list[Member], bagged: dict[str, Any]) -> dict[str, Any]:
        """The models of positive weight, fitted to all rows, by name; those of `bagged` are already."""
        chosen = {member.name: member for member in members if self.weights_[member.name] > 0}

        def fit(name: str) -> Any:
            fold = chosen[name].folds[0]
            whole = make_whole(fold.rows, weighted=fold.weighted, groups=fold.groups)
            return bagged[name] if name in bagged else whole.fit(chosen[name].estimator)

        return run(fit, list(chosen), n_jobs=self.n_jobs)

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
        return make_steps(self._mix(X)[0], self.limits_)

    def _mix(self, X: Any) -> tuple[FloatArray, list[IntervalDistribution]]:
        """The mixed curves at the limits, and the distributions of the models."""
        check_is_fitted(self)
        X = check_outer_features(self, X)
        names = list(self.estimators_)
        mixed = np.zeros((X.shape[0], len(self.limits_)))
        # In the order of the models, whatever thread is first: sums depend on their order.
        found = run(lambda name: self._cumulate(name, X), names, n_jobs=self.n_jobs)
        for name, (curves, _) in found.items():
            mixed += self.weights_[name] * curves
        return mixed, [distribution for _, distribution in found.values()]

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
            none, it is the farthest limit. A warning counts such rows.
        """
        mixed, members = self._mix(X)
        n_beyond = np.count_nonzero((mixed[:, 0] > 0.5) | (mixed[:, -1] < 0.5))
        if n_beyond:
            warn(
                f"predict: {n_beyond} of {len(mixed)} medians lie beyond all limits of the training rows. They are "
                "extrapolated by models of a fixed shape; where there is none, they are the last limit."
            )
        return find_medians(
            mixed, self.limits_, members, [self.weights_[name] for name in self.estimators_]
        )


def auto_models() -> list[tuple[str, Any]]:
    """Linear models with noise of every shape, and forests of small and large leaves."""
    models: list[tuple[str, Any]] = [
        (f"linear-{name}", CensoredLinearRegression(noise=name)) for name in NOISES
    ]
    models.append(("forest", MaxMarginIntervalForest(max_features=1 / 3, min_samples_leaf=15)))
    models.append(("forest-fine", MaxMarginIntervalForest(max_features=1 / 3, min_samples_leaf=5)))
    return models
