"""`XGBIntervalRegressor`: XGBoost on interval targets as an estimator of scikit-learn."""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    BLOCK,
    LARGEST_SEED,
    IntervalRegressorMixin,
    all_or_nothing,
    check_features,
)
from marginwood._support.checks import check_choice
from marginwood._support.hints import hint
from marginwood._validation import BOOSTER_NAMES, VALIDATION_NAMES, check_pair, stop_early
from marginwood.intervals import FloatArray
from marginwood.losses import Loss
from marginwood.xgb._arrays import is_on_device, to_host
from marginwood.xgb._bytes import import_xgboost, settle
from marginwood.xgb._chunks import ChunkedRows
from marginwood.xgb._data import BoosterRows, as_features, device_features, hold_out, read_data
from marginwood.xgb._objective import IntervalObjective
from marginwood.xgb._parameters import ALIASES
from marginwood.xgb._plan import check_parameters, count_threads, make_plan
from marginwood.xgb._rounds import Prepared, train

__all__ = ["XGBIntervalRegressor"]


class XGBIntervalRegressor(IntervalRegressorMixin, BaseEstimator):
    """XGBoost on interval targets, with the hinge losses of this package.

    The first prediction is the best constant. Parameters that are not listed here go through
    `xgb_params`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds; with early stopping the largest number.
    loss : {"linear_hinge", "squared_hinge"} or IntervalObjective, default="squared_hinge"
        The distance to the interval, or its square. An objective is used as it is, with its own
        margin, scale and factor, and penalties then have the units of its slopes; a class derived
        from it is another loss. The first prediction is then the best constant of the hinge that it
        derives from.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin.
    learning_rate : float, default=0.1
        Factor of each tree.
    max_depth : int, default=2
        Depth of the trees; None for no bound.
    min_child_weight : float, default=1.0
        Least sum of curvatures in a leaf; a row that has a loss adds about its weight.
    subsample : float, default=1.0
        Share of the rows that each tree draws.
    colsample_bytree : float, default=1.0
        Share of the features that each tree draws.
    gamma : float, default=0.0
        Least decrease of XGBoost's loss by a split, for targets in units of a typical distance
        between them.
    reg_alpha : float, default=0.0
        L1 penalty of the leaves, for targets in the same unit.
    reg_lambda : float, default=1.0
        L2 penalty of the leaves.
    max_bin : int, default=256
        Bins of a feature.
    tree_method : str, default="hist"
        How XGBoost grows trees.
    device : str, default="cpu"
        Where; ``"cuda"`` for a GPU, with CuPy installed if possible: without it slopes are computed
        in memory.
    categorical_features : "from_dtype", sequence of str, int or bool, or None, default="from_dtype"
        Features whose values are categories: names, indices or a mask. "from_dtype" takes the
        columns of a frame that have a categorical type: categories of pandas, Categorical and Enum
        of polars. None for no feature.
    monotonic_cst : sequence of {-1, 0, 1} or dict of them by name, default=None
        For each feature 1 if it must not lower the prediction, -1 if it must not raise it, and 0 if
        it may do either.
    n_iter_no_change : int, default=None
        Stop when the validation loss, without margin, has not fallen for this many rounds, and keep
        the rounds up to the best one.
    validation_fraction : float, default=0.1
        Share of the rows to hold out. Only with `n_iter_no_change`, and if `fit` is not given
        validation data.
    n_jobs : int, default=None
        Threads; None for one, -1 for all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    verbose : int, default=0
        Show a progress bar on a terminal; elsewhere log progress to the logger "marginwood".
    xgb_params : dict, default=None
        Other parameters of XGBoost, such as ``{"max_leaves": 31, "grow_policy": "lossguide"}``.
        What has an argument above, and what would make another model, is refused.

    Attributes
    ----------
    booster_ : xgboost.Booster
        The model of XGBoost; its method `save_model` writes it for programs that have XGBoost only.
    n_estimators_ : int
        Number of rounds that are kept.
    validation_score_ : ndarray
        Validation loss after each round; empty without validation data.
    zeros_are_missing_ : bool
        Whether `fit` saw sparse features, whose zeros XGBoost takes for missing; so does `predict`
        then, also those of dense features.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.
    categories_ : list or None
        For each feature its categories, or None if it holds numbers; None if no feature has any.

    Notes
    -----
    The unit of the target does not matter, but XGBoost keeps features and targets as 32-bit floats:
    subtract a large constant from the target first. Weights count as repeated rows: their unit
    matters to `reg_lambda` and `min_child_weight`. Infinite features become the largest and
    smallest numbers.

    Examples
    --------
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.xgb import XGBIntervalRegressor
    >>> X, y = make_sine(random_state=0)
    >>> XGBIntervalRegressor(max_depth=3, margin=0.1, n_jobs=1).fit(X, y).score(X, y) > 0.8
    True
    """

    @hint(BOOSTER_NAMES | ALIASES)
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: Loss | IntervalObjective = "squared_hinge",
        margin: float = 0.0,
        learning_rate: float = 0.1,
        max_depth: int | None = 2,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        gamma: float = 0.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 1.0,
        max_bin: int = 256,
        tree_method: str = "hist",
        device: str = "cpu",
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        xgb_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.margin = margin
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.gamma = gamma
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.tree_method = tree_method
        self.device = device
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.xgb_params = xgb_params

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
    ) -> XGBIntervalRegressor:
        """Train the booster.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; NaN and infinities are allowed. Zeros count as missing if it is sparse. An
            array of CuPy or a frame of cuDF stays on its GPU.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        X_val : array-like of shape (n_validation, n_features), default=None
            Features of validation data.
        y_val : array-like of shape (n_validation, 2), default=None
            Their intervals.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.

        Returns
        -------
        XGBIntervalRegressor
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
        """Train until validation says stop, and keep all rounds."""
        import_xgboost()
        check_parameters(self)
        check_pair(X_val, y_val)
        training, sample = read_data(self, X, y, sample_weight, reset=True)
        validation = None
        if X_val is not None:
            validation, _ = read_data(self, X_val, y_val, sample_weight_val, reset=False)
        seed = check_random_state(self.random_state).randint(1, LARGEST_SEED)
        if validation is None and self.n_iter_no_change is not None:
            training, validation = hold_out(training, self.validation_fraction, seed)
        self.zeros_are_missing_ = issparse(training.X)
        plan = make_plan(self, sample, seed)
        prepared = self._prepare(training)
        held_out = None if validation is None else self._prepare(validation, ref=prepared.matrix)
        self._finish(*train(plan, prepared, held_out))

    @all_or_nothing
    def fit_chunks(
        self,
        chunks: Any,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> XGBIntervalRegressor:
        """Train the booster on data larger than memory.

        XGBoost bins the features chunk by chunk into files, a byte per cell. In memory are one
        chunk at a time, about 100 bytes per row (bounds, predictions, slopes, curvatures), and
        while bins are made some megabytes per feature. With ``device="cuda"`` chunks go to the GPU
        one by one, by CuPy, and bins are kept in memory instead of files.

        Parameters
        ----------
        chunks : callable or list
            A function without arguments that returns an iterator of chunks, and the same ones each
            time: they are read about five times. A chunk is a tuple ``(X, y)`` or ``(X, y,
            sample_weight)``, of what `fit` takes. A list of chunks will do for data that fit in
            memory. Zeros of sparse chunks are zeros, and a feature has the categories of all
            chunks.
        X_val : array-like of shape (n_validation, n_features), default=None
            Features of validation data, which must fit in memory; needed for early stopping.
        y_val : array-like of shape (n_validation, 2), default=None
            Their intervals.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.
        cache_dir : path-like, default=None
            Folder for the files of bins, which are removed in the end; None for the system's
            temporary folder.

        Returns
        -------
        XGBIntervalRegressor
            The fitted model.

        Examples
        --------
        >>> from marginwood.datasets import make_sine
        >>> from marginwood.xgb import XGBIntervalRegressor
        >>> def chunks():
        ...     for number in range(4):  # in practice, parts of a file or of a table in a database
        ...         yield make_sine(random_state=number)
        >>> model = XGBIntervalRegressor(20, n_jobs=1).fit_chunks(chunks)
        >>> model.score(*make_sine(random_state=9)) > 0.8
        True
        """
        import_xgboost()
        check_parameters(self)
        check_choice("tree_method", self.tree_method, ["hist"])
        check_pair(X_val, y_val)
        if X_val is None and self.n_iter_no_change is not None:
            raise ValueError("X_val and y_val: n_iter_no_change needs validation data.")
        rows = ChunkedRows(self, chunks)
        self.zeros_are_missing_ = False
        validation = None
        if X_val is not None:
            validation, _ = read_data(self, X_val, y_val, sample_weight_val, reset=False)
        seed = check_random_state(self.random_state).randint(1, LARGEST_SEED)
        plan = make_plan(self, rows.sample(), seed)
        with TemporaryDirectory(dir=cache_dir, prefix="marginwood-") as folder:
            types = self._feature_types()
            matrix = rows.as_matrix(
                folder, types, max_bin=int(self.max_bin), nthread=count_threads(self)
            )
            held_out = None if validation is None else self._prepare(validation, ref=matrix)
            booster, scores = train(plan, Prepared(matrix, rows.bounds), held_out)
            del matrix, held_out  # XGBoost removes its files itself
        self._finish(booster, scores)
        return stop_early(self)

    def _prepare(self, data: BoosterRows, ref: Any = None) -> Prepared:
        """Rows as XGBoost bins them."""
        xgboost = import_xgboost()
        X, bounds = data
        if issparse(X) and not self.zeros_are_missing_:
            X = X.toarray()
        missing = self._missing()
        options = {"weight": bounds.weight, "nthread": count_threads(self), "missing": missing}
        options |= {
            "label_lower_bound": bounds.lower,
            "label_upper_bound": bounds.upper,
        } | self._feature_types()
        if self.tree_method != "hist":
            return Prepared(xgboost.DMatrix(X, **options), bounds, X, missing)
        matrix = xgboost.QuantileDMatrix(X, max_bin=int(self.max_bin), ref=ref, **options)
        return Prepared(matrix, bounds, X, missing)

    def _feature_types(self) -> dict[str, Any]:
        """What XGBoost must know of features that hold codes of categories."""
        if getattr(self, "categories_", None) is None:
            return {}
        types = ["q" if labels is None else "c" for labels in self.categories_]
        return {"feature_types": types, "enable_categorical": True}

    def _missing(self) -> float:
        """What counts as missing beside NaN."""
        return 0.0 if self.zeros_are_missing_ else np.nan

    def _finish(self, booster: Any, validation_score: FloatArray) -> None:
        self.booster_ = booster
        self.n_estimators_ = booster.num_boosted_rounds()
        self.validation_score_ = validation_score

    def _keep_stages(self, n_rounds: int) -> None:
        """Forget the rounds after the first ones."""
        if n_rounds < self.n_estimators_:
            self.booster_ = self.booster_[:n_rounds].reset()
            self.n_estimators_ = n_rounds

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, in memory or on a GPU.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        booster = self.booster_
        n_threads = count_threads(self)
        # A booster that was loaded would take all processors.
        settle(booster, nthread=n_threads)
        if is_on_device(X):
            X = device_features(self, X)
            # It may have been trained, or loaded, on the processor.
            settle(booster, device=f"cuda:{X.device.id}")
            prediction = booster.inplace_predict(
                X, missing=self._missing(), validate_features=False
            )
            return to_host(prediction).astype(np.float64)
        X = as_features(check_features(self, X, accept_sparse=True))
        if issparse(X) and not self.zeros_are_missing_:
            blocks = [X[start : start + BLOCK].toarray() for start in range(0, X.shape[0], BLOCK)]
        else:
            blocks = [X]
        options = {
            "nthread": n_threads,
            "missing": self._missing(),
            "feature_names": booster.feature_names,
        }
        options |= self._feature_types()
        matrices = (import_xgboost().DMatrix(block, **options) for block in blocks)
        return np.concatenate([booster.predict(matrix) for matrix in matrices]).astype(np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the interval D2 of the predictions; for un-censored targets it is R2.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, in memory or on a GPU.
        y : array-like of shape (n_samples, 2)
            Intervals, in any form that `fit` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            1 - (interval MSE of the predictions) / (interval MSE of the best constant).
        """
        return super().score(X, to_host(y), to_host(sample_weight))

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of the total gain by the splits of each feature."""
        check_is_fitted(self)
        gains = self.booster_.get_score(importance_type="total_gain")
        names = self.booster_.feature_names or [
            f"f{feature}" for feature in range(self.n_features_in_)
        ]
        total = np.array([gains.get(name, 0.0) for name in names])
        return total / total.sum() if total.sum() > 0 else total

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
