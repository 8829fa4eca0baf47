"""What a model predicts of rows that it has not seen, and the labels that a tree learns from such a *teacher*.

Labels are noisy, and many say little. A good model's opinion of a row that it has not seen is less
noisy, and mostly nearer to the truth. A simple model that learns from it instead is nearer to the
truth, too (*distillation*).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from marginwood._base import IntervalRegressorMixin, Rows, targets_for
from marginwood._support.checks import check_model
from marginwood.intervals import BoolArray, FloatArray

__all__ = ["find_known", "fit_with_unseen", "teach"]

OTHERWISE = "Wrap it in a CrossFittedIntervalRegressor, which has such predictions of any model."


def fit_with_unseen(
    name: str,
    estimator: Any,
    X: Any,
    rows: Rows,
    *,
    weighted: bool,
    groups: Any = None,
    otherwise: str = OTHERWISE,
) -> tuple[Any, FloatArray]:
    """A fitted copy of an estimator, and its predictions of the training rows by models that have not seen them.

    Those are NaN where there are none. If it has no such predictions, `otherwise` tells the user
    what else to do about the argument of that name.
    """
    check_model(name, estimator)
    model = clone(estimator)
    if "oob_score" in model.get_params(deep=False):
        model.set_params(oob_score=True)
    options = {"sample_weight": rows.weight} if weighted else {}
    if groups is not None and not has_fit_parameter(model, "groups"):
        raise ValueError(
            f"{name}: {type(model).__name__} knows no groups, and would predict rows from others of their group. "
            f"{otherwise}"
        )
    if groups is not None:
        options["groups"] = groups
    model.fit(X, targets_for(model, rows.intervals), **options)
    found = _unseen_predictions(model)
    if found is None:
        raise TypeError(
            f"{name}: expected an estimator that predicts its training rows by models that have not seen them, such as "
            f"MaxMarginIntervalForest or IntervalSuperLearner, got {type(model).__name__}. {otherwise}"
        )
    prediction = np.asarray(found, dtype=np.float64)
    if prediction.shape != rows.weight.shape:
        raise ValueError(
            f"{name}: expected {len(rows.weight)} predictions of the training rows, got an array of shape "
            f"{prediction.shape} from {type(model).__name__}."
        )
    return model, prediction


def _unseen_predictions(model: Any) -> Any:
    """The predictions of the training rows by models that have not seen them, or None."""
    if hasattr(model, "oof_prediction_"):
        return model.oof_prediction_
    # Where every tree has drawn a row, those of scikit-learn are 0 and ours NaN.
    return (
        getattr(model, "oob_prediction_", None)
        if isinstance(model, IntervalRegressorMixin)
        else None
    )


def find_known(name: str, prediction: FloatArray, rows: Rows) -> BoolArray:
    """Which informative rows have a prediction by a model that has not seen them, or an error if none has."""
    is_known = np.isfinite(prediction) & rows.is_informative
    if not is_known.any():
        raise ValueError(
            f"{name}: no informative row has a prediction by a model that has not seen it."
        )
    return is_known


def teach(rows: Rows, opinion: FloatArray, share: float) -> Rows:
    """The rows with numbers as labels: a share of the teacher's opinion, the rest what the interval has next to it.

    Rows of which the teacher or the interval says nothing keep their interval.
    """
    lower, upper = rows.intervals.T
    is_taught = find_known("teacher", opinion, rows)
    opinion = np.where(is_taught, opinion, 0.0)
    label = (1 - share) * np.clip(opinion, lower, upper) + share * opinion
    return rows._replace(
        intervals=np.where(is_taught[:, np.newaxis], label[:, np.newaxis], rows.intervals)
    )
