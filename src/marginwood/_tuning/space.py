"""What a search tries: an estimator's own space, with the values of the user's grid added or put in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from marginwood._base import Rows
from marginwood._searchable import AUTO, FOUND, is_searchable
from marginwood._support.checks import check_count, is_integer
from marginwood._tuning.margins import margin_grid
from marginwood._tuning.search import Point

__all__ = ["make_points"]

N_MARGINS = 7
# Parameters of our own estimators that change no model, of which the search itself takes care, or
# whose losses do not compare.
NOT_SEARCHED = {
    "categorical_features",
    "monotonic_cst",
    "n_iter_no_change",
    "n_jobs",
    "oob_score",
    "quantile",
    "random_state",
    "verbose",
    "warm_start",
}


def make_points(estimator: Any, grid: Any, rows: Rows, *, is_taught: bool = False) -> list[Point]:
    """The points of the grid.

    Rows that were taught are numbers, which have no margin.
    """
    own = estimator._search_space(rows) if is_searchable(estimator) else {}
    given = _check_grid(estimator, grid, own)

    def margins(n_values: int = N_MARGINS) -> list[float]:
        return [0.0] if is_taught else margin_grid(rows.intervals, n_values).tolist()

    along = getattr(estimator, "path_parameters", ())
    axes = {
        name: _expand(name, own | given, own, margins) for name in own | given if name not in along
    }
    points = []
    for combination in product(*axes.values()):
        params = dict(zip(axes, combination, strict=True))
        tried = clone(estimator).set_params(**params)
        here = tried._search_space(rows) if along else {}  # it may depend on the parameters
        values = {name: _expand(name, here | given, here, margins) for name in along}
        points.append(Point(tried, params, values))
    return points


def _expand(
    name: str,
    space: Mapping[str, Any],
    own: Mapping[str, Any],
    margins: Callable[..., list[float]],
) -> Any:
    """The values that an entry of the grid means: a list, a path that the fit finds, or as many as were asked for."""
    values = space[name]
    maker: Any = margins if _is_margin(name) else own.get(name)
    if isinstance(values, str) and values == AUTO:
        values = maker
    if callable(values):
        return values()
    if values is FOUND:
        return FOUND
    if is_integer(values):
        return maker(check_count(f"grid: {name}", values, 2))
    return list(values)


def _is_margin(name: str) -> bool:
    """Whether a parameter, or one of a step, is a margin."""
    return name.rpartition("__")[2] == "margin"


def _check_grid(estimator: Any, grid: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """The user's values by parameter: lists, or "auto", or how many, where the estimator knows values of its own."""
    is_ours = is_searchable(estimator)
    if isinstance(grid, str) and grid == AUTO and is_ours:
        return {}
    if not isinstance(grid, Mapping) or not (grid or is_ours):
        otherwise = "'auto' or " if is_ours else ""
        raise TypeError(
            f"grid: expected {otherwise}a dict of parameters of {type(estimator).__name__} and the values to try, "
            f"got {grid!r}."
        )
    known = set(estimator.get_params()) - (NOT_SEARCHED if is_ours else set())
    found = {}
    for name, values in grid.items():
        if name not in known:
            raise ValueError(
                f"grid: expected names among {', '.join(sorted(known))}, got {name!r}."
            )
        has_own = name in own or _is_margin(name)
        may_count = _is_margin(name) or callable(own.get(name))
        if not _is_list(values):
            is_auto = isinstance(values, str) and values == AUTO
            if not (has_own and is_auto) and not (may_count and is_integer(values)):
                otherwise = ", or 'auto'" * has_own + ", or how many" * may_count
                raise ValueError(
                    f"grid: expected a list of values to try for {name}{otherwise}, got {values!r}."
                )
        found[name] = values.tolist() if isinstance(values, np.ndarray) else values
    return found


def _is_list(values: Any) -> bool:
    """Whether there are values in an order, one at least."""
    is_sequence = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    return (is_sequence or getattr(values, "ndim", 0) == 1) and len(values) > 0
