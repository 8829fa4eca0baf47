"""The stages of boosting: trees on residual intervals, one after another.

A *residual interval* is what remains of an interval after a prediction F: F + h lies in (lower,
upper) exactly when h lies in (lower - F, upper - F). So a stage is an interval tree on residual
intervals; there is no gradient.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from marginwood._base import LARGEST_SEED, Rows, targets_for
from marginwood._searchable import ModelPath
from marginwood._support.checks import check_count
from marginwood._support.team import Team
from marginwood._support.threads import check_stopped
from marginwood._trees.growing import SortedRows, grow
from marginwood._trees.rules import Rules
from marginwood._trees.table import IntervalTree
from marginwood._trees.tree import MaxMarginIntervalTree, make_tree
from marginwood.intervals import LARGEST_LIMIT, FloatArray
from marginwood.losses import breakpoints, hinge_loss, optimal_constant

__all__ = ["StagePath", "StagedRows", "first_prediction", "grow_stages"]


class Booster(Protocol):
    """What the stages read of their booster: it knows them, and they know no more of it than this."""

    init: Any
    loss: Any
    quantile: float
    margin_: float
    learning_rate: float
    subsample: float
    n_estimators: int
    n_iter_no_change: int | None
    random_state: Any
    categorical_features: Any
    monotonic_cst: Any

    def _start(self, training: Rows) -> None: ...
    def _first(self, X: FloatArray) -> float | FloatArray: ...
    def _rules(self, margin: float | None = None) -> Rules: ...


# How many rows a thread of a team adds a stage to in one go.
ROWS_AT_ONCE = 2**14


class StagedRows:
    """Rows and what the stages of a booster predict for them, counted from its first prediction.

    That is one number, or one for every row.
    """

    def __init__(self, booster: Booster, data: Rows, team: Team | None = None) -> None:
        self.X, intervals, self.weight = data
        first = np.reshape(booster._first(self.X), (-1, 1))
        self.centred = intervals - first
        self.residual = self.centred.copy()
        self.starts = breakpoints(intervals, booster.margin_) - first
        self.prediction = np.zeros(len(self.X))
        self.total_weight = self.weight.sum()
        self._team = team

    def add(self, tree: MaxMarginIntervalTree) -> None:
        """Add a stage."""
        if self._team is None:
            self._add_to([slice(None)], tree)
        else:
            blocks = [
                slice(start, start + ROWS_AT_ONCE) for start in range(0, len(self.X), ROWS_AT_ONCE)
            ]
            self._team.map(lambda some: self._add_to(some, tree), blocks)
        if not np.abs(self.prediction).max() <= 4 * LARGEST_LIMIT:
            raise ValueError(
                "learning_rate: the predictions of the stages grow without bound; use a smaller one."
            )

    def _add_to(self, blocks: Iterable[slice], tree: MaxMarginIntervalTree) -> None:
        """Add a stage to the predictions of blocks of rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by `add`
            for rows in blocks:
                self.prediction[rows] += tree.tree_.predict(self.X[rows])
                np.subtract(
                    self.centred[rows], self.prediction[rows, np.newaxis], out=self.residual[rows]
                )

    def mean_loss(self, booster: Any) -> float:
        """Weighted mean of a booster's loss."""
        loss, quantile = booster.loss, booster.quantile
        losses = hinge_loss(self.starts, self.prediction, loss=loss, quantile=quantile)
        return float((self.weight * losses).sum() / self.total_weight)


def first_prediction(booster: Booster, training: Rows) -> Any:
    """The best constant at the margin of a booster, or its `init`, fitted."""
    _, intervals, weight = training
    if booster.init is None:
        rules = {"loss": booster.loss, "margin": booster.margin_, "quantile": booster.quantile}
        return optimal_constant(intervals, **rules, sample_weight=weight).value
    known = getattr(
        booster.categorical_features, "categories", getattr(booster, "categories_", None)
    )
    if known is not None or booster.monotonic_cst is not None:
        raise ValueError(
            "init: expected None beside categories and monotonic_cst, which it would not obey."
        )
    X, intervals, weight = training.informative()
    weighted = {}
    if has_fit_parameter(booster.init, "sample_weight"):
        weighted["sample_weight"] = weight
    elif (weight != weight[0]).any():
        raise ValueError(
            f"init: a {type(booster.init).__name__} takes no sample_weight, and rows differ in theirs."
        )
    return clone(booster.init).fit(X, targets_for(booster.init, intervals), **weighted)


def grow_stages(
    booster: Booster,
    rows: SortedRows,
    rules: Rules,
    fitted: StagedRows,
    seed: int,
    kept: Sequence[MaxMarginIntervalTree] = (),
) -> Iterator[MaxMarginIntervalTree]:
    """The trees of the stages that are kept, then new ones, each grown on what `fitted` has left open and added."""
    for tree in kept:
        fitted.add(tree)
        yield tree
    _, intervals, _ = rows.rows
    is_exact = (
        intervals[:, 0] == intervals[:, 1]
    )  # narrow residuals may round to a point, and keep their margin
    n_drawn = max(1, round(booster.subsample * len(intervals)))
    random = np.random.RandomState()  # one for all stages: a new one takes 0.1 ms
    prototype = make_tree(rules, booster)
    seeds = np.random.RandomState(seed).randint(1, LARGEST_SEED, booster.n_estimators).tolist()
    for stage_seed in seeds[len(kept) :]:
        check_stopped()
        draw = None
        if n_drawn < len(intervals):
            random.seed(stage_seed)
            draw = random.permutation(len(intervals)) < n_drawn
        nodes, subsets = grow(rows.with_target(fitted.residual, is_exact), rules, stage_seed, draw)
        with np.errstate(over="ignore"):
            for field in ("value", "value_low", "value_high"):
                nodes[field] *= booster.learning_rate
        tree = copy.copy(prototype)
        tree.random_state = stage_seed
        tree.tree_ = IntervalTree(nodes, rows.saw_missing, subsets)
        fitted.add(tree)
        yield tree


class StagePath(ModelPath):
    """The stages of boosting as models of growing `n_estimators`; they are grown while they are scored."""

    def __init__(self, booster: Booster, rows: SortedRows, n_stages: Iterable[int]) -> None:
        values = np.unique([check_count("n_estimators", number, 1) for number in n_stages])
        super().__init__(values, values)
        # Patience counts stages, and would count others if some of them were not scored.
        self.patience = booster.n_iter_no_change if len(values) == values[-1] else None
        self._rows = rows
        self._booster = copy.copy(cast(Any, booster))
        self._booster.n_estimators = int(values[-1])
        self._booster.n_features_in_ = rows.X.shape[1]
        self._booster._start(rows.rows)
        self._booster.estimators_ = []

    def predictions(self, X: FloatArray) -> Iterator[FloatArray]:
        """The predictions after every stage that is a value of the path."""
        booster = self._booster
        seed = check_random_state(booster.random_state).randint(1, LARGEST_SEED)
        fitted = StagedRows(booster, self._rows.rows)
        first = booster._first(X)
        total = np.zeros(len(X))
        booster.estimators_ = []
        is_value = np.isin(np.arange(1, booster.n_estimators + 1), self.values)
        for tree in grow_stages(booster, self._rows, booster._rules(booster.margin_), fitted, seed):
            booster.estimators_.append(tree)
            total += tree.tree_.predict(X)
            if is_value[len(booster.estimators_) - 1]:
                yield first + total

    def model(self, step: int) -> Any:
        """The booster of the first stages."""
        model = copy.copy(self._booster)
        n_stages = int(self.values[step])
        model.n_estimators = model.n_estimators_ = n_stages
        model.estimators_ = self._booster.estimators_[:n_stages]
        return model
