"""What a model predicts of rows that it has not seen, and the labels that a tree learns from such a *teacher*.

Labels are noisy, and many say little. A good model's opinion of a row that it has not seen is less noisy, and mostly
nearer to the truth. A simple model that learns from it instead is nearer to the truth, too (*distillation*).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from marginwood._base import Rows, targets_for
from marginwood._support.checks import check_model
from marginwood.intervals import FloatArray

__all__ = ["fit_with_unseen", "teach"]

# Where estimators of the package keep their predictions of training rows by models that have not seen them.
UNSEEN = ("oof_prediction_", "oob_prediction_")


def fit_with_unseen(
    name: str, estimator: Any, X: Any, rows: Rows, *, weighted: bool, groups: Any = None, otherwise: str = ""
) -> tuple[Any, FloatArray]:
    """A fitted copy of an estimator that predicts its training rows by models that have not seen them, and how.

    `otherwise` tells the user what else to do about the argument of that name, if it is no such estimator.
    """
    check_model(name, estimator)
    model = clone(estimator)
    if "oob_score" in model.get_params(deep=False):
        model.set_params(oob_score=True)
    options = {"sample_weight": rows.weight} if weighted else {}
    if groups is not None and has_fit_parameter(model, "groups"):
        options["groups"] = groups
    model.fit(X, targets_for(model, rows.intervals), **options)
    for attribute in UNSEEN:
        if hasattr(model, attribute):
            return model, getattr(model, attribute)
    raise TypeError(
        f"{name}: expected an estimator that has {' or '.join(UNSEEN)} once it is fitted, such as a forest or an "
        f"IntervalSuperLearner, got {type(model).__name__}.{otherwise}"
    )


def teach(rows: Rows, opinion: FloatArray, share: float) -> Rows:
    """The rows with numbers as labels: a share of the teacher's opinion, the rest what the interval has next to it.

    Rows of which the teacher or the interval says nothing keep their interval.
    """
    lower, upper = rows.intervals.T
    label = (1 - share) * np.clip(opinion, lower, upper) + share * opinion
    is_taught = np.isfinite(label) & rows.is_informative
    if not is_taught.any():
        raise ValueError("teacher: no informative row has a prediction by a model that has not seen it.")
    return rows._replace(intervals=np.where(is_taught[:, np.newaxis], label[:, np.newaxis], rows.intervals))
