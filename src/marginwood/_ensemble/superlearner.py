"""IntervalSuperLearner: a mixture of different models, weighed by how they predict rows that they have not seen."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import LARGEST_SEED, all_or_nothing, check_outer_features
from marginwood._baselines.dummy import IntervalDummyRegressor
from marginwood._ensemble.checkpoint import Checkpoint
from marginwood._ensemble.finite import sum_indicators
from marginwood._ensemble.leaderboard import Leaderboard
from marginwood._ensemble.library import auto_models, check_models
from marginwood._ensemble.members import Finished, Member, MixtureMixin, Piece, list_pieces
from marginwood._ensemble.weights import score_known, select_weights
from marginwood._resampling.folds import Fold, fingerprint, make_folds, mean_unseen
from marginwood._resampling.journal import describe
from marginwood._resampling.run import run
from marginwood._support.checks import check_positive
from marginwood._support.notices import warn
from marginwood.intervals import BoolArray, FloatArray
from marginwood.metrics import get_scorer

__all__ = ["IntervalSuperLearner"]

AUTO = "auto"
clock = time.monotonic


class IntervalSuperLearner(MixtureMixin, BaseEstimator):
    """A weighted mean of different models, for good predictions without choosing or tuning one.

    Every model predicts rows that it has not seen: a forest by the trees that did not draw them,
    every other model by cross-fitting (see `CrossFittedIntervalRegressor`), on the same folds. By
    these predictions weights are chosen: greedily, the model first that improves the mixture the
    most, on many bootstrap samples of the rows.

    Parameters
    ----------
    models : "auto" or list of (str, estimator), default="auto"
        Names and models, in the order in which they are trained; where all labels are exact,
        regressors of scikit-learn may be among them. "auto" is the best constant, two linear models
        (`CensoredLinearRegression` and a tuned `L1IntervalRegression`), a tuned tree, two
        forests, four boosters (one starts from the linear model), three of
        tuned `KernelIntervalRegression` up to 10,000 rows and a small tree beyond and, if XGBoost is
        installed, `XGBIntervalRegressor`, with settings that suit the data.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds, or any of scikit-learn's splitters, or the rows of each fold. So many folds
        are those of `CensoringStratifiedKFold`, or with groups of `GroupKFold`. Forests are
        cross-fitted too if there are groups or folds of your own.
    scoring : str or callable, default="neg_interval_mean_squared_error"
        What the weights maximise: a name in ``marginwood.metrics.SCORERS``, or ``scorer(estimator,
        X, y)``; greater is better. If there are sample weights, it is called with ``sample_weight``
        too. For the weights, not for the scores, the squared error counts from a margin of a
        quarter of the distance between the quartiles of the limits: more rows than those outside of
        their interval then have a say.
    time_limit : float, default=None
        Seconds after which no model is trained any further. Only models whose folds are all
        finished count; the best constant always is. A warning names the others. None for no limit.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 is all processors. It does not change the
        result.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap samples, and of models that draw at random and have no seed of their
        own.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere ten lines, in the log or on stderr.
    checkpoint : path-like, default=None
        Folder in which every finished piece, a model without a fold, is kept. A fit that was
        interrupted or killed, or that had no more time, and is started again with the same data and
        parameters does only what is missing. Needs a `random_state`. The folder stays when the fit
        is done.

    Attributes
    ----------
    weights_ : dict of float
        The weights of the models that were finished, by name; they sum up to 1.
    estimators_ : dict of estimator
        The models of positive weight, by name: forests, and a `CrossFittedIntervalRegressor` of
        everything else.
    leaderboard_ : Leaderboard
        A table of names, scores, weights and seconds to print;
        ``pandas.DataFrame(leaderboard_.to_dict())`` takes it.
    oof_prediction_ : ndarray of shape (n_samples,)
        The mixture's prediction of every training row by models that have not seen it, with weights
        that were chosen without its fold; NaN if there are none. With a single fold there are no
        other rows to choose by.
    oof_score_ : float
        Its score.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Weighted mean of the importances, over the models that have any.
    categories_ : list or None
        For each feature its labels, or None if it holds numbers; None if no feature has categories.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    Notes
    -----
    Models that take neither NaN nor infinities, such as `L1IntervalRegression`, see medians for
    NaN and the extremes of a column for infinities, and indicators in place of the categories of a
    frame. A model that holds others, such as a pipeline, sees X as it is.

    Examples
    --------
    >>> from marginwood import IntervalDummyRegressor, IntervalSuperLearner, MaxMarginIntervalForest
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.datasets import make_sine
    >>> X, y = make_sine(random_state=0)
    >>> models = [
    ...     ("constant", IntervalDummyRegressor()),
    ...     ("tree", MaxMarginIntervalTree(max_depth=5, margin=0.2)),
    ...     ("forest", MaxMarginIntervalForest(50, margin=0.2)),
    ... ]
    >>> model = IntervalSuperLearner(models, random_state=0).fit(X[:150], y[:150])
    >>> sorted(model.weights_, key=model.weights_.get)[0]
    'constant'
    >>> model.score(X[150:], y[150:]) > 0.5
    True
    """

    def __init__(
        self,
        models: Any = AUTO,
        *,
        cv: Any = 5,
        scoring: Any = "neg_interval_mean_squared_error",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.models = models
        self.cv = cv
        self.scoring = scoring
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> IntervalSuperLearner:
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
        IntervalSuperLearner
            The fitted mixture.
        """
        ends = clock() + self._check_limit()
        scorer = get_scorer(self.scoring)
        seed = self._make_seed()
        rows = self._check_rows(X, y, sample_weight)
        folds = make_folds(rows, self.cv, groups, weighted=sample_weight is not None)
        members = self._make_members(self._choose_models(folds), folds, np.random.RandomState(seed))
        with self._open_checkpoint(folds, members, seed) as checkpoint:
            finished = self._run(members, checkpoint, lambda: ends - clock())
        models, unseen = self._collect(members, finished)
        self._weigh(models, unseen, folds, scorer, seed)
        return self

    def _check_limit(self) -> float:
        if self.time_limit is None:
            return math.inf
        check_positive("time_limit", self.time_limit)
        return float(self.time_limit)

    def _make_seed(self) -> int:
        if self.random_state is None and self.checkpoint is not None:
            raise ValueError(
                "random_state: a checkpoint needs a seed, since rows are drawn at random."
            )
        return int(check_random_state(self.random_state).randint(1, LARGEST_SEED))

    def _choose_models(self, folds: list[Fold]) -> list[tuple[str, Any]]:
        """The models of the user, or the library for the smallest training fold."""
        if not (isinstance(self.models, str) and self.models == AUTO):
            return check_models(self.models)
        rows = folds[0].rows
        trains = [fold.train[rows.is_informative[fold.train]] for fold in folds]
        n_groups = None
        if folds[0].groups is not None:
            n_groups = min(len(np.unique(np.asarray(folds[0].groups)[train])) for train in trains)
        n_rows = min(map(len, trains))
        return auto_models(rows.informative().intervals, rows.X.shape[1], n_rows, n_groups)

    def _open_checkpoint(self, folds: list[Fold], members: list[Member], seed: int) -> Any:
        """The checkpoint, with all that the pieces depend on in the header of its journal; nothing without one."""
        if self.checkpoint is None:
            return nullcontext()
        header: dict[str, Any] = {"estimator": type(self).__name__} | fingerprint(folds)
        if self.categories_ is not None:
            header["categories"] = self.categories_
        header["random_state"] = seed
        header["models"] = {member.name: describe(member.estimator) for member in members}
        return Checkpoint(self.checkpoint, header, members)

    def _run(
        self,
        members: list[Member],
        checkpoint: Checkpoint | None,
        time_left: Callable[[], float],
    ) -> dict[Piece, Finished]:
        """Fit all pieces that there is time for; the best constant is always fitted."""

        def fit(piece: Piece) -> Finished:
            member = members[piece.member]
            start = time.perf_counter()
            try:
                model = member.fit(piece.fold)
                prediction = member.predict_unseen(piece.fold, model)
            except Exception as error:
                error.add_note(f"This happened while the model {member.name!r} was trained.")
                raise
            return Finished(model, prediction, time.perf_counter() - start)

        pieces = list_pieces(members)
        finished = run(
            fit,
            pieces,
            label="models x folds",
            keeper=checkpoint,
            certain=[piece for piece in pieces if _is_constant(members[piece.member])],
            time_left=time_left,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        for name, reason in checkpoint.unsaved.items() if checkpoint else ():
            warn(f"checkpoint: the model {name!r} is not kept and would be trained again. {reason}")
        return finished

    def _collect(
        self, members: list[Member], finished: dict[Piece, Finished]
    ) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """The models whose pieces are all finished, and their predictions of rows that they have not seen."""
        self._seconds: dict[str, float] = {}
        models: dict[str, Any] = {}
        unseen: dict[str, FloatArray] = {}
        for number, member in enumerate(members):
            found = [result for piece, result in finished.items() if piece.member == number]
            self._seconds[member.name] = float(sum(result.seconds for result in found))
            if len(found) == len(member.folds):
                models[member.name], unseen[member.name] = member.combine(found, self.cv)
        if not models:
            raise ValueError(
                f"time_limit: no model was finished in {self.time_limit} seconds. Allow more, or add an "
                "IntervalDummyRegressor to the models, which always is."
            )
        late = [member.name for member in members if member.name not in models]
        if late:
            warn(
                f"time_limit: {', '.join(map(repr, late))} {'was' if len(late) == 1 else 'were'} not finished in "
                f"{self.time_limit} seconds and left out. Allow more, or go on from a checkpoint."
            )
        return models, unseen

    def _weigh(
        self,
        models: dict[str, Any],
        unseen: dict[str, FloatArray],
        folds: list[Fold],
        scorer: Any,
        seed: int,
    ) -> None:
        """Choose the weights, and keep the models that have any."""
        every, weighted = folds[0].rows, folds[0].weighted
        predictions = np.array(list(unseen.values()))
        is_known = np.isfinite(predictions).all(axis=0) & every.is_informative
        if not is_known.any():
            poor = [
                name for name, prediction in unseen.items() if not np.isfinite(prediction).any()
            ]
            raise ValueError(
                "models: no informative row has a finite prediction of every model that has not seen it"
                + (f"; {', '.join(map(repr, poor))} gave none." if poor else ".")
            )

        def choose(chosen: BoolArray) -> FloatArray:
            known, rows = predictions[:, chosen], every.take(chosen)
            return select_weights(self, rows, known, scorer, weighted=weighted, seed=seed)

        def score(prediction: FloatArray) -> float:
            rows, known = every.take(is_known), prediction[is_known]
            return score_known(self, rows, known, scorer, weighted=weighted)

        weights = choose(is_known)
        self.weights_ = dict(zip(models, weights.tolist(), strict=True))
        self._scores = {name: score(prediction) for name, prediction in unseen.items()}
        unscored = [name for name, score in self._scores.items() if not np.isfinite(score)]
        if unscored:
            warn(
                f"scoring: expected finite scores, got others for {', '.join(map(repr, unscored))}."
            )
        self.estimators_ = {
            name: model for name, model in models.items() if self.weights_[name] > 0
        }
        self.oof_prediction_ = self._mix_unseen(predictions, choose, is_known, folds)
        self.oof_score_ = score(self.oof_prediction_)

    def _mix_unseen(
        self,
        predictions: FloatArray,
        choose: Callable[[BoolArray], FloatArray],
        is_known: BoolArray,
        folds: list[Fold],
    ) -> FloatArray:
        """The mixture's predictions by weights that other folds chose; where there are none, by those of all rows.

        Rows that had chosen the weights of their own predictions would look a little too good.
        """

        def mix(fold: Fold) -> FloatArray:
            others = is_known.copy()
            others[fold.unseen] = False
            weights = choose(others if others.any() else is_known)
            kept = weights > 0  # the others may have no finite prediction
            return np.average(predictions[kept][:, fold.unseen], axis=0, weights=weights[kept])

        return mean_unseen(run(mix, folds, n_jobs=self.n_jobs))

    def _mix(self, predictions: dict[str, FloatArray]) -> FloatArray:
        """The weighted mean of the predictions of the models that are kept."""
        weights = [self.weights_[name] for name in self.estimators_]
        return np.average([predictions[name] for name in self.estimators_], axis=0, weights=weights)

    def predict(self, X: Any) -> FloatArray:
        """Predict the weighted mean of the models' predictions.

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
        X = check_outer_features(self, X)

        def predict(name: str) -> FloatArray:
            return self.estimators_[name].predict(self._features(name, X))

        return self._mix(run(predict, list(self.estimators_), n_jobs=self.n_jobs))

    @property
    def feature_importances_(self) -> FloatArray:
        """Weighted mean of the importances, over the models that have any."""
        check_is_fitted(self)
        found = {
            name: sum_indicators(
                model.feature_importances_, self.categories_ if name in self._takes_finite else None
            )
            for name, model in self.estimators_.items()
            if hasattr(model, "feature_importances_")
        }
        if not found:
            raise AttributeError(
                f"none of the models has importances: {', '.join(self.estimators_)}."
            )
        return np.average(
            list(found.values()), axis=0, weights=[self.weights_[name] for name in found]
        )

    @property
    def leaderboard_(self) -> Leaderboard:
        """The table of all models, the best first."""
        check_is_fitted(self)
        scores = np.array([self._scores.get(name, np.nan) for name in self._seconds])
        order = np.argsort(-scores, kind="stable")  # NaN comes last
        names = [list(self._seconds)[place] for place in order]
        weights = np.array([self.weights_.get(name, 0.0) for name in names])
        return Leaderboard(
            names, scores[order], weights, np.array([self._seconds[name] for name in names])
        )


def _is_constant(member: Member) -> bool:
    return isinstance(member.estimator, IntervalDummyRegressor)
