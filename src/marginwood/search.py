"""The grid behind `MaxMarginIntervalTreeCV`: grow every tree, score every subtree, choose one.

A *piece* of the work is one tree: one loss, one margin, and one fold or all data. A *candidate* is one subtree of the
pruning path of a tree on all data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from marginwood.base import good_enough, spread
from marginwood.checkpoint import Journal
from marginwood.fold import Fold, ScoredPath
from marginwood.intervals import FloatArray
from marginwood.progress import progress_bar
from marginwood.pruning import geometric_means, subtree_at
from marginwood.threads import run_in_threads
from marginwood.tree import MaxMarginIntervalTree

__all__ = ["Piece", "candidate_alphas", "grow_pieces", "select", "tabulate"]


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

    The pieces of a fold follow one another, and it is released after the last: at any time few folds are in memory.
    """
    paths: dict[Piece, ScoredPath] = {}
    for line in journal.pieces if journal else []:
        paths[Piece(line["tree"], line["fold"])] = ScoredPath(*(np.array(line[name]) for name in ScoredPath._fields))
    pieces = [Piece(tree, fold) for fold in range(len(folds)) for tree in range(n_trees)]
    missing = [piece for piece in pieces if piece not in paths]
    n_missing = Counter(piece.fold for piece in missing)
    with (
        progress_bar("cross-validation", len(pieces), verbose=verbose, done=len(paths)) as advance,
        closing(run_in_threads(function, missing, n_jobs)) as results,
    ):
        for piece, path in results:
            paths[piece] = path
            if journal:
                journal.append({**piece._asdict(), **{name: array.tolist() for name, array in path._asdict().items()}})
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
