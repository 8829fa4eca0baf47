"""The parameters of an estimator, checked, as XGBoost takes them."""

from __future__ import annotations

import os
from typing import Any

from marginwood._monotonic import effects_of
from marginwood._support.checks import check_count, check_positive
from marginwood._support.notices import warn
from marginwood._support.threads import ask_joblib
from marginwood._validation import check_early_stopping
from marginwood.intervals import FloatArray
from marginwood.losses import LOSSES, check_loss, optimal_constant
from marginwood.xgb._data import LARGEST_FEATURE, Sample
from marginwood.xgb._objective import (
    IntervalMetric,
    IntervalObjective,
    bring_to_unit,
    typical_distance,
    unit_factor,
)
from marginwood.xgb._parameters import PASSED_ON, check_xgb_params
from marginwood.xgb._rounds import Plan

__all__ = ["check_parameters", "count_threads", "make_plan"]


def check_parameters(model: Any) -> None:
    """Raise if a parameter of an `XGBIntervalRegressor` is wrong."""
    if not isinstance(model.loss, IntervalObjective):
        if not isinstance(model.loss, str) or model.loss not in LOSSES:
            expected = " or ".join(map(repr, LOSSES))
            raise ValueError(
                f"loss: expected {expected}, or an IntervalObjective, got {model.loss!r}."
            )
        check_loss(model.loss, model.margin)
    elif model.margin != 0:
        raise ValueError(
            f"margin: expected 0 beside an objective, which has its own; got {model.margin!r}."
        )
    check_xgb_params(model.xgb_params, model.get_params(deep=False))
    check_positive("learning_rate", model.learning_rate)
    check_count("n_estimators", model.n_estimators, 1)
    if model.max_depth is not None:
        check_count("max_depth", model.max_depth, 1, otherwise=" or None")
    check_count("max_bin", model.max_bin, 2)
    if not isinstance(model.verbose, bool):
        check_count("verbose", model.verbose, 0)
    if model.n_jobs is not None:
        check_count("n_jobs", model.n_jobs, -1)
    check_early_stopping(model.n_iter_no_change, model.validation_fraction)


def count_threads(model: Any) -> int:
    """How many threads XGBoost may use; more than there are processors would only wait for each other."""
    return min(ask_joblib(model.n_jobs), os.cpu_count() or 1)


def make_plan(model: Any, sample: Sample, seed: int) -> Plan:
    """What to train; the first prediction and the scale come from the sample."""
    intervals, weight = sample
    if weight is not None:
        _check_weights(model, weight)
    objective = _objective(model, sample)
    effects = effects_of(model)
    best = optimal_constant(
        intervals, loss=objective.loss, margin=objective.margin, sample_weight=weight
    )
    params = {
        **{name: getattr(model, name) for name in PASSED_ON},
        "max_depth": 0
        if model.max_depth is None
        else model.max_depth,  # XGBoost's word for no bound
        "base_score": best.value,
        "seed": seed,
        "disable_default_eval_metric": True,
        "nthread": count_threads(model),
        **({} if effects is None else {"monotone_constraints": effects}),
        **check_xgb_params(model.xgb_params, model.get_params(deep=False)),
    }
    if objective is not model.loss:
        bring_to_unit(params, objective)
    # The validation loss has no margin, so that models of different margins compare.
    metric = IntervalMetric(objective)
    return Plan(
        params, objective, metric, int(model.n_estimators), model.n_iter_no_change, model.verbose
    )


def _objective(model: Any, sample: Sample) -> IntervalObjective:
    """The user's, or one for which gains are near 1."""
    if isinstance(model.loss, IntervalObjective):
        return model.loss
    scale = typical_distance(*sample)
    return IntervalObjective(model.loss, model.margin, scale, unit_factor(scale))


def _check_weights(model: Any, weight: FloatArray) -> None:
    if weight.max() > LARGEST_FEATURE:
        raise ValueError(
            f"sample_weight: expected at most {LARGEST_FEATURE:g}, as 32-bit floats; divide them."
        )
    total = weight.sum()
    least = model.min_child_weight
    if total < 2 * least <= len(weight):
        needed = f"a split needs twice min_child_weight={least:g}"
        warn(
            f"sample_weight: they sum up to {total:g}, but {needed}. Multiply them, for instance to a mean of 1."
        )
