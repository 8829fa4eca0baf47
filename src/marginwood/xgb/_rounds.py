"""The rounds of a booster: predictions, slopes and curvatures, a tree, and the validation loss.

XGBoost's own `train` would ask for predictions in memory in every round. Here the predictions of
rows that lie on a GPU are added up there, tree by tree, and slopes are computed beside them. Of
rows in memory XGBoost's predictions are used, and where it trains on a GPU, slopes are computed
there, too, if there is CuPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwood._support.progress import progress_bar
from marginwood.intervals import FloatArray
from marginwood.xgb._arrays import Bounds, find_cupy, is_on_device, namespace
from marginwood.xgb._bytes import import_xgboost
from marginwood.xgb._objective import IntervalMetric, IntervalObjective

__all__ = ["Plan", "Prepared", "train"]


class Prepared(NamedTuple):
    """Rows that XGBoost has binned; X, with what is missing in it, is for predictions on a GPU, and may be None."""

    matrix: Any
    bounds: Bounds
    X: Any = None
    missing: float = np.nan

    def brought_to(self, xp: Any) -> Prepared:
        """The same with bounds of a namespace."""
        return (
            self
            if is_on_device(self.bounds.lower)
            else self._replace(bounds=self.bounds.brought_to(xp))
        )


class Plan(NamedTuple):
    """What to train: parameters of XGBoost, the loss and its metric, and when to stop."""

    params: dict[str, Any]
    objective: IntervalObjective
    metric: IntervalMetric
    n_rounds: int
    patience: int | None
    verbose: int


class HostPredictions:
    """Predictions that XGBoost keeps for a matrix that it knows; they come to memory, and go where the bounds lie."""

    def __init__(self, booster: Any, data: Prepared, *, training: bool) -> None:
        self._booster = booster
        self._matrix = data.matrix
        self._xp = namespace(data.bounds.lower)
        self._training = training

    def after(self, n_rounds: int) -> Any:  # noqa: ARG002 (XGBoost knows it)
        """The predictions of all rounds so far."""
        return self._xp.asarray(
            self._booster.predict(self._matrix, output_margin=True, training=self._training)
        )


class DevicePredictions:
    """Predictions that are added up on a GPU, round by round."""

    def __init__(self, booster: Any, data: Prepared, base_score: float) -> None:
        self._booster = booster
        self._X = data.X
        self._missing = data.missing
        self._n_rounds = 0
        self._total = namespace(data.X).full(data.X.shape[0], base_score, dtype=np.float32)

    def after(self, n_rounds: int) -> Any:
        """The predictions of the first rounds; there must be no fewer than last time."""
        if n_rounds > self._n_rounds:
            # What is given as base margin takes the place of the first prediction.
            self._total = self._booster.inplace_predict(
                self._X,
                iteration_range=(self._n_rounds, n_rounds),
                predict_type="margin",
                missing=self._missing,
                base_margin=self._total,
                validate_features=False,
            )
            self._n_rounds = n_rounds
        return self._total


def train(plan: Plan, training: Prepared, validation: Prepared | None) -> tuple[Any, FloatArray]:
    """The booster, with all rounds until it stops, and the validation loss after each of them."""
    # A booster would set its verbosity for the whole process, and again with every prediction.
    params = dict(plan.params)
    chosen = {"verbosity": params.pop("verbosity")} if "verbosity" in params else {}
    with import_xgboost().config_context(**chosen):
        return _train(plan._replace(params=params), training, validation)


def _train(plan: Plan, training: Prepared, validation: Prepared | None) -> tuple[Any, FloatArray]:
    known = [data.matrix for data in (training, validation) if data is not None]
    booster = import_xgboost().Booster(plan.params, known)
    cupy = find_cupy(plan.params["device"])
    if cupy is not None:
        training = training.brought_to(cupy)
        validation = validation and validation.brought_to(cupy)
    fitted = _predictions(plan, booster, training, training=True)
    held_out = (
        None if validation is None else _predictions(plan, booster, validation, training=False)
    )
    scores: list[float] = []
    best = 0
    with progress_bar("rounds", plan.n_rounds, verbose=plan.verbose) as advance:
        for number in range(plan.n_rounds):
            slope, curvature = plan.objective(fitted.after(number), training.bounds)
            booster.boost(training.matrix, number, grad=slope, hess=curvature)
            advance()
            if held_out is None or validation is None:
                continue
            scores.append(plan.metric(held_out.after(number + 1), validation.bounds)[1])
            best = number if scores[number] < scores[best] else best
            if plan.patience is not None and number - best >= plan.patience:
                break
    return booster.reset(), np.array(scores)


def _predictions(
    plan: Plan, booster: Any, data: Prepared, *, training: bool
) -> HostPredictions | DevicePredictions:
    # With dropout, a round changes the trees before it: their sum cannot be kept.
    if is_on_device(data.X) and plan.params.get("booster") != "dart":
        return DevicePredictions(booster, data, plan.params["base_score"])
    return HostPredictions(booster, data, training=training)
