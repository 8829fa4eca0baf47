"""XGBoost's names for what has a name here, and its parameters that would make another model."""

from __future__ import annotations

from typing import Any

from marginwood._support.checks import check_choice
from marginwood._validation import BOOSTER_NAMES, VALIDATION_NAMES

__all__ = ["ALIASES", "check_xgb_params"]

# Parameters of XGBoost that the estimator hands on under the same name.
PASSED_ON = (
    "learning_rate",
    "min_child_weight",
    "subsample",
    "colsample_bytree",
    "gamma",
    "reg_alpha",
    "reg_lambda",
    "max_bin",
    "tree_method",
    "device",
)
# Its other names for arguments of the estimator.
ALIASES = {
    "eta": "learning_rate",
    "min_split_loss": "gamma",
    "alpha": "reg_alpha",
    "lambda": "reg_lambda",
    "nthread": "n_jobs",
    "seed": "random_state",
    "monotone_constraints": "monotonic_cst",
    "feature_types": "categorical_features",
    "enable_categorical": "categorical_features",
    "num_boost_round": "n_estimators",
    "num_round": "n_estimators",
    "objective": "loss",
    "obj": "loss",
    "gpu_id": 'device="cuda:0"',
    "predictor": "device",
    "verbose_eval": "verbose",
}
# What belongs to another place altogether; XGBoost itself would only warn.
ELSEWHERE = {
    **VALIDATION_NAMES,
    **BOOSTER_NAMES,
    "evals": "X_val and y_val",
    "callbacks": "verbose to follow the rounds, n_iter_no_change to stop early",
    "missing": "NaN in X",
}
# What makes the model one of this package, and why.
FIXED = {
    "base_score": "the first prediction is the best constant",
    "custom_metric": "the validation loss is that of `loss`, without margin",
    "disable_default_eval_metric": "the validation loss is that of `loss`, without margin",
    "eval_metric": "the validation loss is that of `loss`, without margin",
    "feval": "the validation loss is that of `loss`, without margin",
    "multi_strategy": "a row has one prediction",
    "num_class": "a row has one prediction",
    "num_target": "a row has one prediction",
    "process_type": "every round grows trees",
    "updater": "it follows from tree_method",
    "aft_loss_distribution": "it belongs to another objective",
    "aft_loss_distribution_scale": "it belongs to another objective",
    "huber_slope": "it belongs to another objective",
    "quantile_alpha": "it belongs to another objective",
    "scale_pos_weight": "it belongs to another objective",
    "tweedie_variance_power": "it belongs to another objective",
}
BOOSTERS = ("gbtree", "dart")


def check_xgb_params(params: Any, arguments: Any) -> dict[str, Any]:
    """Further parameters of XGBoost, or an error; `arguments` are the names that the estimator has for others."""
    if params is None:
        return {}
    if not isinstance(params, dict) or not all(isinstance(name, str) for name in params):
        raise TypeError(
            f"xgb_params: expected a dict of XGBoost's parameters or None, got {params!r}."
        )
    for name in params:
        if name in arguments or name in ALIASES:
            argument = ALIASES.get(name) or name
            use = argument if "=" in argument else f"{argument}=..."
            raise ValueError(
                f"xgb_params: {name!r} is an argument of the estimator itself; use {use}."
            )
        if name in ELSEWHERE:
            raise ValueError(
                f"xgb_params: {name!r} is not a parameter of the booster; use {ELSEWHERE[name]}."
            )
        if name in FIXED:
            raise ValueError(f"xgb_params: {name!r} cannot be set; {FIXED[name]}.")
    if "booster" in params:
        check_choice("xgb_params: booster", params["booster"], BOOSTERS)
    return dict(params)
