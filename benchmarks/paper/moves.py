"""Figure 2: how far the pointer to the minimum moves, and how long the solver takes.

Moves are counted per limit. The paper's algorithm walks, so that its time is proportional to n
(moves + log n). In the *crossing* order the minimum of the squared hinge crosses half of all limits
at each step: a walk would take O(n^2).
"""

from time import process_time

import numpy as np

from benchmarks.paper.table import Piece, Table, fingerprint
from benchmarks.problems import crossing_order, simulate
from marginwood import optimal_costs
from marginwood.model_selection import margin_grid

LOSSES = ("linear_hinge", "squared_hinge")
# The data set whose limits the paper draws from.
SOURCE = "neuroblastomaProcessed"
JITTER = 1e-3


def moves_table(folder):
    """Moves per limit for every data set, loss, margin and order by a feature."""
    return Table(
        folder / "moves.csv", ("data set", "loss", "margin", "feature"), ("limits", "mean", "max")
    )


def moves_pieces(data_sets, n_margins, n_features=None):
    """Every feature of every data set; `n_features` bounds their number."""
    found = []
    for name, X, y, _ in data_sets:
        settings = fingerprint("moves", X, y)
        for loss in LOSSES:
            for margin in margin_grid(y, n_margins).tolist():
                for feature, values in enumerate(X.T[:n_features]):
                    key = (name, loss, repr(margin), str(feature), settings)
                    found.append(Piece(key, count_moves, (values, y, margin, loss)))
    return found


def count_moves(feature, y, margin, loss):
    """Number of limits, and mean and greatest number of moves per limit, in the order of a feature."""
    lower, upper = y[np.argsort(feature, kind="stable")].T
    return _per_limit(lower, upper, optimal_costs(lower, upper, margin=margin, loss=loss).moves)


def _per_limit(lower, upper, moves):
    n_limits = np.isfinite(lower).astype(np.int64) + np.isfinite(upper)
    return (
        int(n_limits.sum()),
        moves.sum() / n_limits.sum(),
        (moves / np.maximum(n_limits, 1)).max(),
    )


def solver_table(folder):
    """Seconds of one processor, the best of several, for n limits in a drawn order and in the crossing order."""
    return Table(folder / "solver.csv", ("order", "loss", "n"), ("seconds", "mean", "max"))


def solver_pieces(data_sets, sizes, repeats):
    """Limits drawn from those of the paper's data set, or of a simulation without it, and the crossing order."""
    known = [data_set.y for data_set in data_sets if data_set.name.endswith(SOURCE)]
    y = known[0] if known else simulate(10**4, 1).y
    return [
        Piece(
            (order, loss, str(n), fingerprint(repeats, y)), time_solver, (make, loss, n, repeats, y)
        )
        for n in sizes
        for order, make, losses in (("drawn", _drawn, LOSSES), ("crossing", _crossing, LOSSES[1:]))
        for loss in losses
    ]


def _drawn(n, y):
    rng = np.random.default_rng(0)
    rows, sides = np.nonzero(np.isfinite(y))
    drawn = rng.integers(0, len(rows), n)
    row, side = rows[drawn], sides[drawn]
    ends = np.tile([[-np.inf], [np.inf]], n)
    # Limits that are all distinct are the harder case.
    ends[side, np.arange(n)] = y[row, side] + rng.normal(
        scale=JITTER * y[np.isfinite(y)].std(), size=n
    )
    return ends


def _crossing(n, _):
    return np.ascontiguousarray(crossing_order(n).T)


def time_solver(make, loss, n, repeats, y):
    """Seconds of all prefix minima of n limits, and their moves."""
    lower, upper = make(n, y)
    optimal_costs(lower[:100], upper[:100], loss=loss)
    best = np.inf
    for _ in range(repeats):
        start = process_time()
        moves = optimal_costs(lower, upper, loss=loss).moves
        best = min(best, process_time() - start)
    return best, *_per_limit(lower, upper, moves)[1:]
