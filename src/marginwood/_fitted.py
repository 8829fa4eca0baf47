"""What a fitted model is made of: the steps before it, the search that chose it, its trees and how they add up.

Nothing is registered here. An estimator is read by what it has: ``tree_``, the node table of a
single tree; ``estimators_``, trees whose predictions become one by its ``aggregation`` ("mean",
"median", or "sum", to which ``init_`` is added); ``best_estimator_`` and ``cv_results_``, if it is
a search.
"""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from marginwood._base import IntervalRegressorMixin, check_feature_names, check_features
from marginwood._trees.table import IntervalTree
from marginwood.conformal import ConformalIntervalRegressor
from marginwood.conformal._members import find_scale
from marginwood.intervals import FloatArray, IntArray
from marginwood.metrics._scorers import default_scoring, quantile_of

__all__ = [
    "Ensemble",
    "Fitted",
    "Search",
    "parts_of",
    "read",
    "read_ensemble",
    "read_search",
    "read_tree",
]

PASSED = (None, "passthrough")
LOGARITHMS = ("log", np.log, np.log2, np.log10)


class Ensemble(NamedTuple):
    """Node tables; the prediction is `init` plus the sum, the mean or the median of theirs."""

    trees: list[IntervalTree]
    aggregation: str
    init: float

    def added(self, what: str) -> Ensemble:
        """Itself, for forms that can only add; a median raises."""
        if self.aggregation == "median":
            raise ValueError(
                f"model: {what} expected a sum or mean of trees, got aggregation='median'; use 'mean'."
            )
        return self


class Search(NamedTuple):
    """The candidates of a search, by the names of scikit-learn's ``cv_results_``."""

    results: dict[str, Any]
    best_index: int
    scoring: str  # "score" where it has no name
    n_splits: int

    @property
    def parameters(self) -> dict[str, npt.NDArray[np.object_]]:
        """The values of every parameter; that of a pipeline's step goes by its own name, as in ``step__name``."""
        found = [column for column in self.results if column.startswith("param_")]
        short = [column.removeprefix("param_").rpartition("__")[2] for column in found]
        names = (
            short
            if len(set(short)) == len(short)
            else [column.removeprefix("param_") for column in found]
        )
        return {
            name: _as_objects(self.results[column])
            for name, column in zip(names, found, strict=True)
        }

    @property
    def varied(self) -> list[str]:
        """Names of the parameters that take more than one value."""
        return [name for name, values in self.parameters.items() if len(set(map(str, values))) > 1]

    def longest(self, *others: str) -> str | None:
        """The parameter of numbers that takes most values; `others` are left out."""
        parameters = self.parameters
        names = [
            name for name in parameters if name not in others and _are_numbers(parameters[name])
        ]
        return max(names, key=lambda name: len(set(parameters[name])), default=None)

    @property
    def errors(self) -> FloatArray:
        """Mean scores, or mean errors if the scorer's name says that they are negated."""
        scores = np.asarray(self.results["mean_test_score"], np.float64)
        return -scores if self.is_error else scores

    @property
    def is_error(self) -> bool:
        """Whether `errors` are better when they are less."""
        return self.scoring.startswith("neg_")

    @property
    def what(self) -> str:
        """What `errors` are, in words."""
        return self.scoring.removeprefix("neg_").replace("_", " ")

    def beside(self, *free: str) -> IntArray:
        """The candidates that differ from the chosen one in these parameters only."""
        alike = np.ones(len(self.results["mean_test_score"]), np.bool_)
        for name, values in self.parameters.items():
            if name not in free:
                chosen = str(values[self.best_index])
                alike &= np.array([str(value) == chosen for value in values])
        return np.flatnonzero(alike)

    def numbers(self, name: str) -> FloatArray:
        """The values of a parameter of numbers; None, which is no bound, is infinite."""
        return np.array(
            [np.inf if value is None else value for value in self.parameters[name]], np.float64
        )


class Fitted(NamedTuple):
    """A fitted model, taken apart."""

    steps: list[Any]  # what transforms X before `own` sees it
    own: Any  # the outermost estimator of this package
    estimator: Any  # the one that predicts: `own`, or what it chose
    search: Search | None

    @property
    def name(self) -> str:
        """The names of the steps and of the estimator."""
        return " > ".join([*self.step_names, type(self.own).__name__])

    @property
    def step_names(self) -> list[str]:
        """Class names of the steps."""
        return [type(step).__name__ for step in self.steps]

    @property
    def tree(self) -> IntervalTree | None:
        """Its node table; None if it is not a single tree."""
        tree = getattr(self.estimator, "tree_", None)
        return tree if isinstance(tree, IntervalTree) else None

    @property
    def ensemble(self) -> Ensemble | None:
        """Its trees, or its only tree; None if it is not made of trees."""
        if self.tree is not None:
            return Ensemble([self.tree], "sum", 0.0)
        first = getattr(self.estimator, "init_", 0.0)
        if not hasattr(self.estimator, "aggregation") or not isinstance(first, float):
            return None  # a model that comes before the trees is not made of them
        trees = [member.tree_ for member in self.estimator.estimators_]
        return Ensemble(trees, self.estimator.aggregation, first)

    @property
    def quantile(self) -> float | None:
        """The quantile that it predicts, if that is not the median of an L1 loss; None otherwise."""
        quantile = quantile_of(self.estimator)
        return None if quantile == 0.5 else quantile

    def value_name(self, otherwise: str) -> str:
        """What its predictions are called: the quantile, if they are one, or another word."""
        return otherwise if self.quantile is None else f"quantile {self.quantile:g}"

    @property
    def is_of_logarithm(self) -> bool:
        """Whether it learned the logarithm of the target, or has ranges around a model that did."""
        is_conformal = isinstance(self.estimator, ConformalIntervalRegressor)
        scale = find_scale(self.estimator.estimators_[0] if is_conformal else self.estimator)
        return scale is not None and scale.func_ in LOGARITHMS

    @property
    def categories(self) -> Any:
        """For each feature its labels, or None if it holds numbers; None if all do."""
        return getattr(self._encoder, "categories_", None)

    def of_numbers(self, what: str) -> Fitted:
        """Itself, or an error where `what` knows no categories."""
        if self.categories is not None:
            names = self.feature_names()
            found = [
                name
                for name, labels in zip(names, self.categories, strict=True)
                if labels is not None
            ]
            raise ValueError(
                f"model: {what} takes features of numbers, and {', '.join(map(repr, found))} "
                f"{'hold' if len(found) > 1 else 'holds'} categories. Fit a model to numbers in their place, for "
                "instance one column of 0 and 1 per category."
            )
        return self

    def transform(self, X: Any) -> FloatArray:
        """X as the estimator sees it: after the steps, checked."""
        return check_features(self._encoder, self.after_steps(X))

    @property
    def _encoder(self) -> Any:
        """The estimator that knows the categories; that of a transformed target leaves them to its regressor."""
        inner = self.own
        while hasattr(inner, "regressor_") and not hasattr(inner, "categories_"):
            inner = inner.regressor_
        return inner if hasattr(inner, "categories_") else self.own

    def predicts(self, what: str) -> bool:
        """Whether the estimator has a method ``predict_`` of that name, as "quantile"."""
        return hasattr(self.estimator, f"predict_{what}")

    def predict(self, what: str, X: Any, *arguments: Any) -> Any:
        """What that method says of rows before the steps; a pipeline itself passes on ``predict`` alone."""
        return getattr(self.estimator, f"predict_{what}")(self.after_steps(X), *arguments)

    def after_steps(self, X: Any) -> Any:
        """X as the steps leave it, which may still hold words."""
        for step in self.steps:
            X = step.transform(X)
        return X

    def feature_names(self, given: Any = None) -> list[str]:
        """The names of the estimator's features: those given, those it saw, or those that the steps give."""
        if given is None and self.steps and not hasattr(self.own, "feature_names_in_"):
            given = self._transformed_names()
        return check_feature_names(self.own, given)

    def _transformed_names(self) -> list[str] | None:
        """The names after the steps; None if one of them cannot tell."""
        first = self.steps[0]
        names: Any = getattr(first, "feature_names_in_", None)
        if names is None and hasattr(first, "n_features_in_"):
            names = check_feature_names(first)
        try:
            for step in self.steps:
                names = step.get_feature_names_out(names)
        except AttributeError:  # of the step, or of one inside it
            return None
        return list(names)

    def untransformed(self, what: str) -> Fitted:
        """Itself, or an error where `what`, which speaks of the columns of the data, would speak of others."""
        if self.steps:
            raise ValueError(
                f"model: {what} predicts from the columns of the data, and the steps of this pipeline "
                f"({', '.join(self.step_names)}) change them. Pass its last step, model[-1], which predicts from what "
                "the steps make of the columns."
            )
        return self


def read(
    model: Any, argument: str = "model", expected: str = "a fitted estimator of marginwood"
) -> Fitted:
    """Take a fitted model apart, through pipelines and searches."""
    steps: list[Any] = []
    own = search = None
    estimator = model
    while isinstance(estimator, Pipeline) or hasattr(estimator, "best_estimator_"):
        if isinstance(estimator, Pipeline):
            steps += [step for _, step in estimator.steps[:-1] if step not in PASSED]
            estimator = estimator.steps[-1][1]
        else:
            search = _read_results(estimator)
            if own is None and isinstance(estimator, IntervalRegressorMixin):
                own = estimator
            estimator = estimator.best_estimator_
    if not isinstance(estimator, IntervalRegressorMixin):
        raise _wrong_model(argument, expected, model)
    check_is_fitted(estimator)
    return Fitted(steps, estimator if own is None else own, estimator, search)


def parts_of(model: Any) -> list[Any]:
    """The fitted models directly inside a model that see the features as it sees them."""
    for name in ("best_estimator_", "student_"):
        if name in vars(model):  # what else such a model has is of the one inside
            return [vars(model)[name]]
    found = [getattr(model, name) for name in ("regressor_", "estimator_") if hasattr(model, name)]
    members = getattr(model, "estimators_", [])
    if isinstance(
        members, dict
    ):  # of a mixture, which gives some of its models numbers in place of X
        members = [member for name, member in members.items() if name not in model._takes_finite]
    return [*found, *members]


def read_search(model: Any) -> Search | None:
    """The candidates of the innermost search in a fitted model; None if nothing was searched.

    A search for a transformed target is found, too.
    """
    fitted = read(model, "search", "a fitted search")
    inner = getattr(fitted.estimator, "regressor_", None)
    return read_search(inner) if fitted.search is None and inner is not None else fitted.search


def read_ensemble(model: Any) -> tuple[Fitted, Ensemble]:
    """A fitted model that is made of trees, and its trees."""
    expected = "a fitted tree of marginwood, or a forest or boosting of such"
    fitted = read(model, expected=expected)
    ensemble = fitted.ensemble
    if ensemble is None:
        raise _wrong_model("model", expected, model)
    return fitted, ensemble


def read_tree(model: Any, argument: str = "tree") -> tuple[Fitted, IntervalTree]:
    """A fitted model that is a single tree, and its node table."""
    expected = "a fitted tree of marginwood"
    fitted = read(model, argument, expected)
    if fitted.tree is not None:
        return fitted, fitted.tree
    if fitted.ensemble is None:
        raise _wrong_model(argument, expected, model)
    name = type(fitted.estimator).__name__
    raise TypeError(f"{argument}: expected one tree, got {name}; pass one of its estimators_.")


def _read_results(search: Any) -> Search | None:
    if "mean_test_score" not in getattr(
        search, "cv_results_", {}
    ):  # several scorers at once have other names
        return None
    scoring = search.scoring
    if scoring is None and isinstance(search, IntervalRegressorMixin):
        scoring = default_scoring(search.best_estimator_)
    scoring = scoring if isinstance(scoring, str) else "score"
    return Search(search.cv_results_, int(search.best_index_), scoring, int(search.n_splits_))


def _wrong_model(argument: str, expected: str, model: Any) -> TypeError:
    ending = (
        f" that ends in {type(model.steps[-1][1]).__name__}" if isinstance(model, Pipeline) else ""
    )
    got = f"{type(model).__name__}{ending}"
    if hasattr(model, "regressor_"):
        got += ", which predicts a function of what its trees add up to; its regressor_ predicts the transformed target"
    return TypeError(f"{argument}: expected {expected}, or a pipeline that ends in one, got {got}.")


def _as_objects(column: Any) -> npt.NDArray[np.object_]:
    """A column as an array of plain objects; what a grid leaves out, as scikit-learn masks it, is NaN."""
    return np.ma.filled(np.ma.asarray(column).astype(object), np.nan)


def _are_numbers(values: npt.NDArray[np.object_]) -> bool:
    """Whether all values are numbers, or None for no bound; True and False are not."""
    return all(
        value is None or (isinstance(value, numbers.Real) and not isinstance(value, bool))
        for value in values
    )
