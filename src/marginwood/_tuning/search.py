"""The grid behind `MaxMarginIntervalTreeCV`: grow every tree, score every subtree, choose one, survey them all.

A *piece* of the work is one tree: one loss, one margin, and one fold or all data. A *candidate* is one subtree of the
pruning path of a tree on all data. A *surface* shows candidates by margin and alpha, on alphas that all margins share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from marginwood._support.progress import progress_bar
from marginwood._support.threads import run_in_threads
from marginwood._trees.pruning import geometric_means, subtree_at
from marginwood._trees.tree import MaxMarginIntervalTree
from marginwood._tuning.fold import Fold, ScoredPath
from marginwood._tuning.journal import Journal
from marginwood._tuning.selection import good_enough, spread
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = [
    "Piece",
    "Surface",
    "candidate_alphas",
    "grow_pieces",
    "make_surface",
    "select",
    "surface_levels",
    "tabulate",
]

MOST_LEVELS = 40  # of a surface, beside 0 and infinity


class Piece(NamedTuple):
    """Numbers of a tree of the grid and of a fold; fold 0 is all data."""

    tree: int
    fold: int


def grow_pieces(
    function: Callable[[Piece], ScoredPath],
    n_trees: int,
    folds: list[Fold],
    *,
    journal: Journal | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[Piece, ScoredPath]:
    """Apply a function to every piece that the journal does not hold yet; returns all results.

    A thread writes its piece to the journal before it takes another: a run that is killed loses only unfinished pieces.
    The pieces of a fold follow one another, and it is released after the last: at any time few folds are in memory.
    """
    paths: dict[Piece, ScoredPath] = {}
    for line in journal.pieces if journal else []:
        paths[Piece(line["tree"], line["fold"])] = ScoredPath(*(np.array(line[name]) for name in ScoredPath._fields))
    pieces = [Piece(tree, fold) for fold in range(len(folds)) for tree in range(n_trees)]
    missing = [piece for piece in pieces if piece not in paths]
    n_missing = Counter(piece.fold for piece in missing)

    def work(piece: Piece) -> ScoredPath:
        path = function(piece)
        if journal:
            journal.append({**piece._asdict(), **{name: array.tolist() for name, array in path._asdict().items()}})
        return path

    with (
        progress_bar("cross-validation", len(pieces), verbose=verbose, done=len(paths)) as advance,
        closing(run_in_threads(work, missing, n_jobs)) as results,
    ):
        for piece, path in results:
            paths[piece] = path
            n_missing[piece.fold] -= 1
            if n_missing[piece.fold] == 0:
                folds[piece.fold].release()
            advance()
    return paths


def candidate_alphas(alphas: FloatArray) -> FloatArray:
    """The alphas between those of a path; the last subtree, the root alone, goes on to infinity."""
    return np.append(geometric_means(alphas), np.inf)


def tabulate(trees: list[MaxMarginIntervalTree], paths: dict[Piece, ScoredPath], n_folds: int) -> dict[str, Any]:
    """The table of all candidates, with the names of scikit-learn's searches."""
    columns: dict[str, list[Any]] = {}
    for number, tree in enumerate(trees):
        whole = paths[Piece(number, 0)]
        alphas = candidate_alphas(whole.alphas)
        block = {
            "param_loss": np.full(len(alphas), tree.loss, dtype=object),
            "param_margin": np.full(len(alphas), float(tree.margin)),
            "param_ccp_alpha": alphas,
            "n_leaves": whole.n_leaves[subtree_at(whole.alphas, alphas)],
        }
        for fold in range(1, n_folds + 1):
            path = paths[Piece(number, fold)]
            block[f"split{fold - 1}_test_score"] = path.scores[subtree_at(path.alphas, alphas)]
        for name, column in block.items():
            columns.setdefault(name, []).append(column)
    results: dict[str, Any] = {name: np.concatenate(blocks) for name, blocks in columns.items()}
    scores = np.stack([results[f"split{fold}_test_score"] for fold in range(n_folds)])
    results["mean_test_score"], results["std_test_score"] = scores.mean(axis=0), spread(scores)
    results["rank_test_score"] = rankdata(-results["mean_test_score"], method="min", nan_policy="omit")
    return results


def select(results: dict[str, Any], n_folds: int, selection: str) -> int:
    """The candidate with the fewest leaves among those whose score is good enough, then the best score."""
    means = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    good = np.flatnonzero(good_enough(means, results["std_test_score"], n_folds, selection))
    return int(good[np.lexsort((-means[good], results["n_leaves"][good]))[0]])


class Surface(NamedTuple):
    """Candidates by margin and level, which is an alpha or another parameter."""

    margins: FloatArray
    candidates: IntArray  # a row per margin, a column per level; -1 where no candidate is near
    chosen: tuple[int, int] | None  # row and column of the chosen candidate


def surface_levels(level: FloatArray) -> FloatArray:
    """The columns of a surface: all levels, or a geometric series if they are many."""
    levels = np.unique(level)
    inner = levels[(levels > 0) & np.isfinite(levels)]
    if len(inner) <= MOST_LEVELS:
        return levels
    series = np.geomspace(inner[0], inner[-1], MOST_LEVELS)
    if np.all(inner == inner.round()):
        series = series.round()
    return np.unique(np.concatenate([levels[levels <= 0], series, levels[np.isinf(levels)]]))


def make_surface(
    margin: FloatArray,
    level: FloatArray,
    score: FloatArray,
    is_chosen: BoolArray,
    levels: FloatArray,
    reach: float = np.inf,
) -> Surface:
    """For every margin and level the candidate whose own level is nearest, on a log scale and within reach.

    Of equally near ones it is the best, save that the chosen candidate always has a cell.
    """
    margins, places, chosen = np.unique(margin), _log_places(levels, levels), None
    candidates = np.empty((len(margins), len(levels)), np.int64)
    for row, value in enumerate(margins):
        own = np.flatnonzero(margin == value)
        own = own[np.argsort(-score[own], kind="stable")]
        distance = np.abs(places[:, np.newaxis] - _log_places(level[own], levels))
        nearest = distance.min(axis=1)
        best = own[(distance <= nearest[:, np.newaxis] + 1e-9).argmax(axis=1)]
        candidates[row] = np.where(nearest <= reach, best, -1)
        for place in np.flatnonzero(is_chosen[own]):
            chosen = row, int(distance[:, place].argmin())
            candidates[chosen] = own[place]
    return Surface(margins, candidates, chosen)


def _log_places(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Values on a log scale, with 0 and infinity a step of 1 beyond all other levels."""
    inner = levels[(levels > 0) & np.isfinite(levels)]
    least, most = np.log10([inner.min(), inner.max()]) if len(inner) else (0.0, 0.0)
    with np.errstate(divide="ignore"):
        return np.clip(np.log10(np.maximum(values, 0.0)), least - 1, most + 1)
