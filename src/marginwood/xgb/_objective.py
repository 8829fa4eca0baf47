"""The hinge losses as an objective and as metrics of XGBoost.

The *objective* gives XGBoost the slope and the curvature of every row's loss. It reads the bounds
that XGBoost keeps for ``survival:aft``, `label_lower_bound` and `label_upper_bound`, so that a
script which trains with that objective only has to pass ``obj=IntervalObjective(...)``. The bounds
are those of the target itself: any real numbers, ``-inf`` and ``inf`` for no limit, without
logarithm. XGBoost computes with 32-bit floats. Slopes and curvatures are computed where the
predictions lie: those of CuPy give arrays of CuPy.

With d the distance of the prediction beyond a limit's breakpoint, slope and curvature of the
squared hinge are d and 1 (it is taken as d**2 / 2, as in ``reg:squarederror``). The linear hinge
has no curvature of its own. Beside the slope `scale` it is given the curvature ``scale / max(d,
scale / 10)``: that of the parabola with the same slope which is lowest at the breakpoint. So a
Newton step of a single row ends at its breakpoint, as with the squared hinge, and `scale`, a
typical distance between targets, makes curvatures, and with them XGBoost's `reg_lambda` and
`min_child_weight`, independent of the unit. Limits that the prediction keeps have neither slope nor
curvature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwood._ends import gaps
from marginwood.intervals import FloatArray
from marginwood.losses import Loss, check_loss
from marginwood.xgb._arrays import Bounds, is_on_device, namespace, shift, to_host

__all__ = ["IntervalMetric", "IntervalObjective"]

# Parameters of XGBoost that it compares with slopes, curvatures or gains; these have the target's
# unit to this power.
UNITS = {"reg_lambda": 0, "min_child_weight": 0, "reg_alpha": 1, "gamma": 2}
LARGEST_SCALE = 1e12

# Share of `scale` below which the curvature of the linear hinge grows no more.
CORNER = 0.1


def distances(prediction: Any, data: Any, margin: float) -> tuple[Any, Any, Any]:
    """How far predictions lie beyond the lower and the upper breakpoints of a DMatrix or `Bounds`; and the weights."""
    if isinstance(data, Bounds):
        lower, upper = data.breakpoints(margin)
        weight = data.weight
    else:
        # XGBoost's own arrays are in main memory or on a GPU; predictions say where to compute.
        bring = namespace(prediction).asarray if is_on_device(prediction) else to_host
        names = ("label_lower_bound", "label_upper_bound")
        lower, upper, weight = map(bring, (*map(data.get_float_info, names), data.get_weight()))
        lower, upper = shift(lower, upper, margin)
    if not len(lower) == len(upper) == len(prediction):
        raise ValueError(
            "label_lower_bound and label_upper_bound: expected one of each for every row of the DMatrix, got "
            f"{len(lower)} and {len(upper)} for {len(prediction)} rows."
        )
    return lower - prediction, prediction - upper, weight


class IntervalObjective:
    """A hinge loss as an objective of XGBoost: ``xgboost.train(..., obj=IntervalObjective(...))``.

    A derived class is another loss: it overrides `slopes`, and `losses` for validation.

    Parameters
    ----------
    loss : {"linear_hinge", "squared_hinge"}, default="squared_hinge"
        The distance to the interval, or its square.
    margin : float, default=0.0
        How far inside its interval a prediction should lie, in units of the target. Rows with
        ``lower == upper`` have no margin.
    scale : float, default=1.0
        A typical distance between targets, in their units; it only matters for the linear hinge.
    factor : float, default=1.0
        What slopes and curvatures are multiplied by. XGBoost makes no split that gains less than
        1e-6.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from marginwood.xgb import IntervalMetric, IntervalObjective
    >>> X, lower = np.arange(8.0)[:, np.newaxis], np.repeat([-3.0, 5.0], 4)
    >>> data = xgboost.DMatrix(X, label_lower_bound=lower, label_upper_bound=lower + 1)
    >>> booster = xgboost.train({"base_score": 0, "reg_lambda": 0}, data, 20, obj=IntervalObjective(margin=0.5))
    >>> booster.predict(data).round(1).tolist()
    [-2.5, -2.5, -2.5, -2.5, 5.5, 5.5, 5.5, 5.5]
    """

    def __init__(
        self,
        loss: Loss = "squared_hinge",
        margin: float = 0.0,
        scale: float = 1.0,
        factor: float = 1.0,
    ) -> None:
        check_loss(loss, margin)
        self.loss = loss
        self.margin = float(margin)
        self.scale = float(scale)
        self.factor = float(factor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __call__(self, prediction: Any, data: Any) -> tuple[Any, Any]:
        """Slope and curvature of every row's loss, times its weight and the factor, where the predictions lie."""
        below, above, weight = distances(prediction, data, self.margin)
        slope, curvature = self.slopes(below, above)
        factor = weight * self.factor if len(weight) else self.factor
        return slope * factor, curvature * factor

    def slopes(self, below: Any, above: Any) -> tuple[Any, Any]:
        """Slope and curvature of every row's loss, without weights.

        Parameters
        ----------
        below, above : arrays of shape (n_rows,)
            How far predictions lie below the lower and above the upper breakpoints; negative where
            they keep them, and -inf where there is no limit. They are arrays of NumPy, or of CuPy
            on a GPU.

        Returns
        -------
        slope, curvature : arrays of shape (n_rows,)
            Derivatives with respect to the prediction; a curvature may be larger than the true one,
            but not negative.
        """
        xp = namespace(below)
        if self.loss == "squared_hinge":
            slope = xp.maximum(above, 0) - xp.maximum(below, 0)
            # One of the two for an un-censored row, wherever the prediction lies.
            curvature = (below > 0).astype(np.float32) + (above >= 0)
        else:
            is_below = below > 0
            is_above = above > 0
            slope = (is_above.astype(np.float32) - is_below) * self.scale
            curvature = is_below / xp.maximum(below / self.scale, CORNER)
            curvature += is_above / xp.maximum(above / self.scale, CORNER)
        return slope, curvature

    def losses(self, below: Any, above: Any) -> Any:
        """Return every row's loss, in the unit of the metric.

        Parameters
        ----------
        below, above : arrays of shape (n_rows,)
            As for `slopes`.

        Returns
        -------
        array of shape (n_rows,)
            The distance to the interval, or its square.
        """
        xp = namespace(below)
        power = 2 if self.loss == "squared_hinge" else 1
        return xp.maximum(below, 0) ** power + xp.maximum(above, 0) ** power


class IntervalMetric:
    """The mean hinge loss as a metric of XGBoost: ``xgboost.train(..., custom_metric=IntervalMetric(...))``.

    On a cluster it is the mean over all workers' rows. Without margin it is called ``interval_mse``
    or ``interval_mae``, otherwise by the name of the loss; that of a derived objective by the name
    of its class.

    Parameters
    ----------
    loss : {"linear_hinge", "squared_hinge"} or IntervalObjective, default="squared_hinge"
        The distance to the interval, or its square; or an objective, for its `losses`.
    margin : float, default=0.0
        How far inside its interval a prediction should lie. Rows with ``lower == upper`` have no
        margin.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from marginwood.xgb import IntervalMetric
    >>> data = xgboost.DMatrix(np.zeros((3, 1)), label_lower_bound=[0, 1, 2], label_upper_bound=[1, 3, np.inf])
    >>> IntervalMetric("linear_hinge")(np.array([1.5, 1.5, 1.5]), data)
    ('interval_mae', 0.333...)
    """

    def __init__(
        self, loss: Loss | IntervalObjective = "squared_hinge", margin: float = 0.0
    ) -> None:
        objective = loss if isinstance(loss, IntervalObjective) else IntervalObjective(loss)
        check_loss(objective.loss, margin)
        self.objective = objective
        self.margin = float(margin)

    @property
    def name(self) -> str:
        """How XGBoost reports the metric."""
        if type(self.objective) is not IntervalObjective:
            return type(self.objective).__name__
        if self.margin > 0:
            return self.objective.loss
        return "interval_mse" if self.objective.loss == "squared_hinge" else "interval_mae"

    def __call__(self, prediction: Any, data: Any) -> tuple[str, float]:
        """Name and value; the losses are computed where the predictions lie."""
        from xgboost import collective

        xp = namespace(prediction)
        # Of a worker without rows, XGBoost's predictions have two dimensions.
        below, above, weight = distances(prediction.reshape(-1), data, self.margin)
        losses = self.objective.losses(below, above)
        weight = weight if len(weight) else xp.ones_like(losses)
        sums = np.array([float(losses.dot(weight)), float(weight.sum())])
        if collective.is_distributed():
            sums = collective.allreduce(sums, collective.Op.SUM)
        return self.name, float(sums[0] / sums[1])


def typical_distance(intervals: FloatArray, weight: FloatArray | None) -> float:
    """The distance between the quartiles of the limits, or between their extremes, or 1."""
    weight = np.ones(len(intervals)) if weight is None else weight
    row, side = np.nonzero(np.isfinite(intervals) & (weight > 0)[:, np.newaxis])
    order = np.argsort(intervals[row, side])
    limits = intervals[row, side][order]
    share = np.cumsum(weight[row][order])
    first, third = np.searchsorted(share, np.array([0.25, 0.75]) * share[-1])
    return float(gaps(limits[first], limits[third]) or gaps(limits[0], limits[-1]) or 1.0)


def unit_factor(scale: float) -> float:
    """The `factor` of an objective for which gains are near 1: about 1 / scale**2, and exact to multiply by."""
    if not 1 / LARGEST_SCALE <= scale <= LARGEST_SCALE:
        raise ValueError(
            f"y: a typical distance between limits is {scale:g}, but XGBoost computes with 32-bit floats. Divide y by "
            "a number of that size."
        )
    return float(np.ldexp(1.0, -2 * np.frexp(scale)[1]))


def bring_to_unit(parameters: dict[str, Any], objective: IntervalObjective) -> None:
    """Change parameters so that they mean the same whatever scale and factor the objective has."""
    for name in parameters.keys() & UNITS.keys():
        parameters[name] = parameters[name] * objective.factor * objective.scale ** UNITS[name]
