"""The engine behind every estimator that tunes itself: grid x folds, whole paths scored, one candidate chosen.

A *point* of the grid is an estimator that is not fitted yet; one fit of it gives a whole `Path` of
models. A *piece* of the work is one point on one *fold*: rows to train on and rows to score. A
*candidate* is a point together with a value of the path's parameter.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from marginwood._base import Rows
from marginwood._resampling.journal import Journal
from marginwood._support.progress import progress_bar
from marginwood._support.threads import run_in_threads
from marginwood._trees.pruning import geometric_means, subtree_at
from marginwood._tuning.selection import spread
from marginwood.intervals import FloatArray, IntArray

__all__ = ["Fold", "OutOfBag", "Piece", "Point", "ScoredPath", "Whole", "run_pieces", "tabulate"]


class Point(NamedTuple):
    """An estimator, the parameters in which it differs from the other points, and the values of its path.

    The values come from the simplest model to the most complex. They are None where only a fit can
    find them, as on a pruning path.
    """

    estimator: Any
    params: dict[str, Any]
    values: FloatArray | IntArray | None = None


class ScoredPath(NamedTuple):
    """The values of a path, the complexity of its models, and their scores, if there were rows to score."""

    values: FloatArray | IntArray
    complexity: IntArray
    scores: FloatArray


class Fold:
    """Rows to train on and rows to score, all of positive weight; threads may share it.

    Both are among the same rows; those to train on may have been taught other labels.

    What all points share, such as sorted features, is prepared on first use and lives until
    `release`.
    """

    def __init__(
        self,
        taught: Rows,
        rows: Rows,
        train: IntArray,
        test: IntArray,
        scorer: Any,
        *,
        weighted: bool,
    ) -> None:
        self._taught = taught
        self._rows = rows
        self._train = train
        self._test = test
        self._scorer = scorer
        self._weighted = weighted
        self._lock = threading.Lock()
        self._prepared: Any = None

    def release(self) -> None:
        """Forget what was prepared."""
        self._prepared = None

    def score(self, point: Point) -> ScoredPath:
        """Fit the path of a point and score its models."""
        with self._lock:
            if self._prepared is None:
                self._prepared = point.estimator._prepare(self._taught.take(self._train))
            prepared = self._prepared
        path = point.estimator._fit_path(prepared, point.values)
        return ScoredPath(path.values, path.complexity, self._scores(path))

    def _scores(self, path: Any) -> FloatArray:
        scores: FloatArray = path.scores(
            self._rows.take(self._test), self._scorer, weighted=self._weighted
        )
        return scores


class Whole(Fold):
    """All rows, to find the values of a path; nothing is scored."""

    def __init__(self, rows: Rows) -> None:
        none = np.empty(0, dtype=np.int64)
        super().__init__(rows, rows, np.flatnonzero(rows.weight), none, None, weighted=False)

    def _scores(self, path: Any) -> FloatArray:  # noqa: ARG002 (a fold without test rows)
        return np.empty(0)


class OutOfBag(Fold):
    """All rows, each scored by the trees that did not draw it."""

    def __init__(self, rows: Rows, scorer: Any, *, weighted: bool) -> None:
        every = np.arange(len(rows.X))
        super().__init__(rows, rows, every, every, scorer, weighted=weighted)

    def _scores(self, path: Any) -> FloatArray:
        scores: FloatArray = path.oob_scores(self._rows, self._scorer, weighted=self._weighted)
        return scores


class Piece(NamedTuple):
    """Numbers of a point of the grid and of a fold."""

    point: int
    fold: int


def run_pieces(
    points: Sequence[Point],
    folds: Sequence[Fold],
    *,
    journal: Journal | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[Piece, ScoredPath]:
    """Score every point on every fold, but for the pieces that the journal holds already.

    A thread writes its piece to the journal before it takes another: a run that is killed loses
    only unfinished pieces. The pieces of a fold follow one another, and the thread that ends the
    last releases it: there are never more prepared folds than threads.
    """
    done: dict[Piece, ScoredPath] = {}
    for line in journal.pieces if journal else []:
        done[Piece(line["point"], line["fold"])] = ScoredPath(
            *(np.array(line[name]) for name in ScoredPath._fields)
        )
    pieces = [Piece(point, fold) for fold in range(len(folds)) for point in range(len(points))]
    missing = [piece for piece in pieces if piece not in done]
    n_missing = Counter(piece.fold for piece in missing)
    releasing = threading.Lock()

    def run(piece: Piece) -> ScoredPath:
        path = folds[piece.fold].score(points[piece.point])
        if journal:
            journal.append(
                {
                    **piece._asdict(),
                    **{name: array.tolist() for name, array in path._asdict().items()},
                }
            )
        with releasing:
            n_missing[piece.fold] -= 1
            if n_missing[piece.fold] == 0:
                folds[piece.fold].release()
        return path

    with (
        progress_bar("cross-validation", len(pieces), verbose=verbose, done=len(done)) as advance,
        closing(run_in_threads(run, missing, n_jobs)) as results,
    ):
        for piece, path in results:
            done[piece] = path
            advance()
    return done


def tabulate(
    points: Sequence[Point], paths: dict[Piece, ScoredPath], n_folds: int
) -> tuple[dict[str, Any], IntArray]:
    """The table of all candidates, with the names of scikit-learn's searches, and how complex each of them is.

    Where values had to be found, fold 0 is the `Whole` that found them.
    """
    blocks = []
    for number, point in enumerate(points):
        folds = [paths[Piece(number, fold)] for fold in range(n_folds)]
        blocks.append(
            _found_candidates(*folds)
            if point.values is None
            else _given_candidates(point.values, folds)
        )
    results: dict[str, Any] = {}
    for name in points[0].params:
        columns = [
            [point.params[name]] * len(block.values)
            for point, block in zip(points, blocks, strict=True)
        ]
        results[f"param_{name}"] = _column([value for column in columns for value in column])
    path_parameter = points[0].estimator.path_parameter
    if path_parameter is not None:
        results[f"param_{path_parameter}"] = np.concatenate([block.values for block in blocks])
    complexity = np.concatenate([block.complexity for block in blocks])
    if points[0].values is None:
        results["n_leaves"] = complexity
    scores = np.concatenate([block.scores for block in blocks], axis=1)
    for fold, row in enumerate(scores):
        results[f"split{fold}_test_score"] = row
    results["mean_test_score"] = scores.mean(axis=0)
    results["std_test_score"] = spread(scores)
    losses = -results["mean_test_score"]
    results["rank_test_score"] = rankdata(np.where(np.isnan(losses), np.inf, losses), "min").astype(
        np.int32
    )
    return results, complexity


class _Block(NamedTuple):
    """The candidates of one point: values, complexity, and a row of scores for each fold."""

    values: FloatArray | IntArray
    complexity: IntArray
    scores: FloatArray


def _found_candidates(whole: ScoredPath, *folds: ScoredPath) -> _Block:
    """A candidate for each model of the path on all rows, at a value well between its own and the next model's.

    The last subtree of a pruning path, the root alone, goes on to infinity.
    """
    values = np.append(geometric_means(whole.values), np.inf)
    scores = np.stack([fold.scores[subtree_at(fold.values, values)] for fold in folds])
    return _Block(values, whole.complexity[subtree_at(whole.values, values)], scores)


def _given_candidates(values: FloatArray | IntArray, folds: list[ScoredPath]) -> _Block:
    """A candidate for each value of a grid, which all folds share."""
    complexity = np.sum([fold.complexity for fold in folds], axis=0)
    return _Block(values, complexity, np.stack([fold.scores for fold in folds]))


def _column(values: list[Any]) -> Any:
    """Numbers of one type as numbers, everything else as objects: 1 is a count where 1.0 is a share."""
    if {type(value) for value in values} in ({int}, {float}):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
