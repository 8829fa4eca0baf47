"""One small adapter per library: fit a tree of a given depth to a problem, predict with it.

A new competitor is one more function that returns a `Library`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.problems import MARGIN


class Library(NamedTuple):
    """`fit(problem, max_depth)` returns a model with `predict(X)`."""

    name: str
    fit: Callable[..., Any]


def marginwood(loss):
    """Our tree."""
    from marginwood import MaxMarginIntervalTree

    def fit(problem, max_depth):
        return MaxMarginIntervalTree(loss=loss, margin=MARGIN, max_depth=max_depth).fit(
            problem.X, problem.y
        )

    return Library(f"marginwood {loss}", fit)


def scikit_learn():
    """CART with squared error, on the middle of each interval."""
    from sklearn.tree import DecisionTreeRegressor

    def fit(problem, max_depth):
        model = DecisionTreeRegressor(
            criterion="squared_error", max_depth=max_depth, random_state=0
        )
        return model.fit(problem.X, problem.centre)

    return Library("scikit-learn DecisionTreeRegressor", fit)
