"""One way to grow: rows sorted once, and `grow`, which everything that needs a tree calls.

Trees on the same rows share what depends on the rows alone: the order of every feature, the sorted
limits, and which features hold NaN. They differ by their rules, their seed and their *draw*: a
factor of every row's weight, such as how often a bootstrap drew it; rows of factor 0 are left out.

What grows trees is imported where it is called: whoever only predicts does without most of the core.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwood._base import Rows
from marginwood._support.threads import count_threads
from marginwood._trees.pruning import prune
from marginwood._trees.rules import Rules
from marginwood._trees.table import find_missing
from marginwood.intervals import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from marginwood._core.problem import Limits
    from marginwood._core.subsets import Subsets
    from marginwood._support.team import Team

__all__ = ["Grown", "Nodes", "SortedRows", "anchored", "grow", "make_team"]

Nodes = npt.NDArray[np.void]


class Grown(NamedTuple):
    """A node table, and the categories of its splits; None if all features hold numbers."""

    nodes: Nodes
    subsets: Subsets | None


def make_team(n_jobs: int | None, X: FloatArray) -> AbstractContextManager[Team | None]:
    """A team of joblib's `n_jobs` threads for trees on these rows; none for one thread, or if that is as fast."""
    n_threads = count_threads(n_jobs, X.size)
    if n_threads == 1:
        return nullcontext()
    from marginwood._core import parallel
    from marginwood._support.team import Team

    return Team(n_threads) if X.size >= parallel.LEAST_CELLS else nullcontext()


class SortedRows:
    """Checked rows, sorted once for all trees that are grown from them; threads may share them.

    `n_categories` of each feature are 0 if it holds numbers, or None if all do. With
    ``is_shared=False`` the first tree uses the orders up, which saves their copy. A team of
    threads, if there is one, sorts the rows and grows the trees.
    """

    def __init__(
        self,
        rows: Rows,
        n_categories: IntArray | None,
        *,
        is_shared: bool = True,
        team: Team | None = None,
    ) -> None:
        from marginwood._core.order import sort_features
        from marginwood._core.problem import Target

        self.X, intervals, self.weight = rows
        self.rows = rows
        self.n_categories = n_categories
        self.team = team
        self.orders = sort_features(self.X, team)
        self.target = Target(intervals, team=team)
        self.saw_missing = find_missing(self.X)
        self._is_shared = is_shared
        self._limits: tuple[tuple[float, float], Limits] | None = None
        # Copies of the orders that trees have used up: the next tree fills one again, which is
        # faster than a new one.
        self._spares: list[Any] = []
        # The copy of these rows on a cluster: its client, and the future.
        self.on_cluster: tuple[Any, Any] | None = None

    def with_target(self, intervals: FloatArray, is_exact: BoolArray) -> SortedRows:
        """The same rows with other intervals; those of `is_exact` have no margin."""
        from marginwood._core.problem import Target

        other = SortedRows.__new__(SortedRows)
        vars(other).update(vars(self))  # with the spare orders, too
        other.target = Target(intervals, is_exact, self.team)
        other._limits = None
        return other

    def limits_at(self, margin: float, quantile: float) -> Limits:
        """The limits at a margin, kept for the next tree; they must not be used up."""
        kept = self._limits
        if kept is None or kept[0] != (margin, quantile):
            kept = (margin, quantile), self.target.at(margin, quantile)
            self._limits = kept
        return kept[1]

    def lend_orders(self) -> Any:
        """Orders that a tree may use up; `return_orders` takes them back."""
        if not self._is_shared:
            return self.orders
        try:
            spare = self._spares.pop()
        except IndexError:
            return self.orders.copy()
        np.copyto(spare, self.orders)
        return spare

    def return_orders(self, orders: Any) -> None:
        """Keep used up orders for the next tree."""
        if self._is_shared:
            self._spares.append(orders)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_spares": [], "team": None, "on_cluster": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # joblib's processes and Dask hand over read-only arrays, for which kernels would be
        # compiled anew.
        vars(self).update({name: _writeable(value) for name, value in state.items()})
        self.rows = Rows(self.X, _writeable(self.rows.intervals), self.weight)
        vars(self.target).update(
            {name: _writeable(value) for name, value in vars(self.target).items()}
        )


def _writeable(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_writeable, value))
    return (
        np.require(np.asarray(value), requirements="W") if isinstance(value, np.ndarray) else value
    )


def anchored(grown: Grown, rows: SortedRows, rules: Rules) -> Grown:
    """A copy of a tree that was grown from all rows, with the values that the rules' anchor gives its nodes."""
    grown = grown._replace(nodes=grown.nodes.copy())
    if rules.anchor > 0:
        _anchor(grown, rows, rules, rows.weight)
    return grown


def _anchor(grown: Grown, rows: SortedRows, rules: Rules, weight: FloatArray) -> None:
    """Give the nodes of a grown table their anchored values."""
    from marginwood._core.anchor import anchor_values
    from marginwood._core.problem import LOSS_CODES

    limits = rows.limits_at(float(rules.margin), rules.quantile)
    signs = rules.signs(rows.X.shape[1])
    anchor_values(*grown, rows.X, limits, weight, LOSS_CODES[rules.loss], rules.anchor, signs)


def _call(team: Team | None, *functions: Callable[[], Any]) -> list[Any]:
    """What functions return that may be called side by side."""
    return [function() for function in functions] if team is None else team.call(*functions)


def grow(rows: SortedRows, rules: Rules, seed: int, draw: npt.NDArray[Any] | None = None) -> Grown:
    """Grow one tree by the rules and prune it."""
    from marginwood._core.problem import Kinds, grow_tree, subsample

    at = float(rules.margin), rules.quantile
    weight = rows.weight
    if draw is None:
        orders, limits = _call(rows.team, rows.lend_orders, lambda: rows.target.at(*at))
    else:
        weight = weight * draw
        orders, limits = subsample(rows.orders, rows.limits_at(*at), weight, rows.team)
        if not len(limits.in_order):
            # Nothing is known of the rows drawn: the best constant of all rows.
            return grow(rows, rules._replace(min_samples_split=len(weight) + 1), seed)
    options = rules.options(orders.shape[1], rows.X.shape[1], weight.sum())
    kinds = Kinds(rows.n_categories, rules.signs(rows.X.shape[1]))
    grown = Grown(
        *grow_tree(rows.X, orders, limits, weight, rules.loss, options, seed, kinds, rows.team)
    )
    if draw is None:
        rows.return_orders(orders)
    if rules.anchor > 0:
        _anchor(grown, rows, rules, weight)
    return (
        grown._replace(nodes=prune(grown.nodes, rules.ccp_alpha)) if rules.ccp_alpha > 0 else grown
    )
