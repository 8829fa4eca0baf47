"""The engine of searches: grid x folds, whole paths scored, one candidate chosen.

A *point* of the grid is an estimator that is not fitted yet; one fit of it gives a whole path of
models. A *piece* of the work is one point on one *fold*: rows to train on and rows to score. A
*candidate* is a point together with values of the path's parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from marginwood._base import Rows
from marginwood._paths import FOUND, ModelPath, is_searchable
from marginwood._resampling import folds as resampling
from marginwood._resampling.journal import Journal
from marginwood._support.progress import progress_bar
from marginwood._support.threads import count_threads, run_in_threads
from marginwood._trees.pruning import geometric_means, subtree_at
from marginwood._tuning.selection import spread
from marginwood.intervals import FloatArray, IntArray

__all__ = ["Fold", "OutOfBag", "Piece", "Point", "ScoredPath", "Whole", "run_pieces", "tabulate"]


class Point(NamedTuple):
    """An estimator, the parameters in which it differs from the other points, and the values of its path.

    A path is `FOUND` where only a fit can find its values, as when a tree is pruned.
    """

    estimator: Any
    params: dict[str, Any]
    values: Mapping[str, Any]

    @property
    def is_found(self) -> bool:
        """Whether a fit to all rows finds the values of the path."""
        return any(values is FOUND for values in self.values.values())


class ScoredPath(NamedTuple):
    """The values of a path, the complexity of its models, and their scores, if there were rows to score.

    Scores have a row for each value of the path's first parameter, if it has two.
    """

    values: FloatArray | IntArray
    complexity: IntArray
    scores: FloatArray


class PlainPath(ModelPath):
    """A fitted estimator of anyone, as the only model; a search cannot tell how complex it is."""

    def __init__(self, fitted: Any) -> None:
        super().__init__(np.zeros(1), np.zeros(1, dtype=np.int64))
        self._fitted = fitted

    def predictions(self, X: Any) -> Iterator[FloatArray]:
        """The predictions of the estimator."""
        yield np.asarray(self._fitted.predict(X), dtype=np.float64)

    def model(self, step: int) -> Any:  # noqa: ARG002 (there is one)
        """The estimator."""
        return self._fitted


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
        groups: Any = None,
    ) -> None:
        self._taught = taught
        self._rows = rows
        self._train = train
        self._test = test
        self._scorer = scorer
        self._weighted = weighted
        self._groups = groups
        self._lock = threading.Lock()
        self._prepared: Any = None

    def release(self) -> None:
        """Forget what was prepared."""
        self._prepared = None

    def score(self, point: Point) -> ScoredPath:
        """Fit the path of a point and score its models."""
        path = self._fit(point)
        return ScoredPath(path.values, path.complexity, self._scores(path))

    def _fit(self, point: Point) -> Any:
        if not is_searchable(point.estimator):
            fold = resampling.Fold(
                self._taught, self._train, self._test, self._weighted, self._groups
            )
            return PlainPath(fold.fit(point.estimator))
        with self._lock:
            if self._prepared is None:
                self._prepared = point.estimator._prepare(self._taught.take(self._train))
            prepared = self._prepared
        return point.estimator._fit_path(prepared, point.values)

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

    def __init__(self, taught: Rows, rows: Rows, scorer: Any, *, weighted: bool) -> None:
        every = np.arange(len(rows.X))
        super().__init__(taught, rows, every, every, scorer, weighted=weighted)

    def _scores(self, path: Any) -> FloatArray:
        scores: FloatArray = path.oob_scores(self._rows, self._scorer, weighted=self._weighted)
        return scores


class Piece(NamedTuple):
    """Numbers of a point of the grid and of a fold."""

    point: int
    fold: int


class _Schedule:
    """Which piece a thread takes next: one of a fold that no other thread is at, if there is one.

    So every thread prepares a fold of its own rather than wait for another to do so, and there are
    never more prepared folds than threads. A thread without a fold of its own helps with the one
    that has most left to do.
    """

    def __init__(self, missing: Sequence[Piece], n_threads: int) -> None:
        self._lock = threading.Lock()
        self._n_threads = n_threads
        self._waiting: dict[int, list[Piece]] = {}
        for piece in reversed(missing):
            self._waiting.setdefault(piece.fold, []).append(piece)
        self._unopened = sorted(self._waiting, reverse=True)
        self._n_at: dict[int, int] = {}  # threads at each open fold

    def take(self) -> Piece:
        """The next piece."""
        with self._lock:
            open_folds = [fold for fold in self._n_at if self._waiting[fold]]
            free = [fold for fold in open_folds if not self._n_at[fold]]
            if free:
                fold = free[0]
            elif self._unopened and len(self._n_at) < self._n_threads:
                fold = self._unopened.pop()
            else:
                fold = max(open_folds, key=lambda fold: len(self._waiting[fold]))
            self._n_at[fold] = self._n_at.get(fold, 0) + 1
            return self._waiting[fold].pop()

    def give_back(self, piece: Piece) -> bool:
        """Whether that piece, which is done, was the last of its fold."""
        with self._lock:
            self._n_at[piece.fold] -= 1
            is_last = not self._n_at[piece.fold] and not self._waiting[piece.fold]
            if is_last:
                del self._n_at[piece.fold]
            return is_last


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
    only unfinished pieces. The thread that ends the last piece of a fold releases it.
    """
    done: dict[Piece, ScoredPath] = {}
    for line in journal.pieces if journal else []:
        done[Piece(line["point"], line["fold"])] = ScoredPath(
            *(np.array(line[name]) for name in ScoredPath._fields)
        )
    pieces = [Piece(point, fold) for fold in range(len(folds)) for point in range(len(points))]
    missing = [piece for piece in pieces if piece not in done]
    schedule = _Schedule(missing, count_threads(n_jobs, len(missing)))

    def run(_: int) -> tuple[Piece, ScoredPath]:
        piece = schedule.take()
        path = folds[piece.fold].score(points[piece.point])
        if journal:
            journal.append(
                {
                    **piece._asdict(),
                    **{name: array.tolist() for name, array in path._asdict().items()},
                }
            )
        if schedule.give_back(piece):
            folds[piece.fold].release()
        return piece, path

    with (
        progress_bar("cross-validation", len(pieces), verbose=verbose, done=len(done)) as advance,
        closing(run_in_threads(run, range(len(missing)), n_jobs)) as results,
    ):
        for _, (piece, path) in results:
            done[piece] = path
            advance()
    return done


def tabulate(
    points: Sequence[Point], paths: dict[Piece, ScoredPath], n_folds: int
) -> tuple[dict[str, Any], IntArray]:
    """The table of all candidates, with the names of scikit-learn's searches, and how complex each of them is.

    Where values had to be found, fold 0 is the `Whole` that found them.
    """
    is_found = points[0].is_found
    blocks = []
    for number, point in enumerate(points):
        folds = [paths[Piece(number, fold)] for fold in range(n_folds)]
        block = _found_candidates(*folds) if is_found else _given_candidates(folds)
        if not is_searchable(point.estimator):
            block = block._replace(complexity=np.full(1, number))  # as the user lists them
        blocks.append(block)
    columns = _list_parameters(points, blocks)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    results: dict[str, Any] = {f"param_{name}": column for name, column in columns.items()}
    results["params"] = [dict(zip(columns, row, strict=True)) for row in rows]
    complexity = np.concatenate([block.complexity for block in blocks])
    if is_found:
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
    """The candidates of one point: values of the path, complexity, and a row of scores for each fold.

    With two parameters of the path all values come once for each value of the first.
    """

    values: FloatArray | IntArray
    complexity: IntArray
    scores: FloatArray


def _found_candidates(whole: ScoredPath, *folds: ScoredPath) -> _Block:
    """A candidate for each model of the path on all rows, at a value well between its own and the next model's.

    The last subtree of a pruning path, the root alone, goes on to infinity.
    """
    values = np.append(geometric_means(whole.values), np.inf)
    scores = [np.atleast_2d(fold.scores)[:, subtree_at(fold.values, values)] for fold in folds]
    return _block(values, whole.complexity[subtree_at(whole.values, values)], scores)


def _given_candidates(folds: list[ScoredPath]) -> _Block:
    """A candidate for each value of a path, which all folds share."""
    complexity = np.sum([fold.complexity for fold in folds], axis=0)
    return _block(folds[0].values, complexity, [np.atleast_2d(fold.scores) for fold in folds])


def _block(values: Any, complexity: IntArray, scores: list[FloatArray]) -> _Block:
    n_outer = len(scores[0])
    return _Block(values, np.tile(complexity, n_outer), np.stack([row.ravel() for row in scores]))


def _list_parameters(points: Sequence[Point], blocks: list[_Block]) -> dict[str, Any]:
    """The column of each parameter; the last one of a path varies fastest."""
    n_candidates = [len(block.complexity) for block in blocks]
    columns = {
        name: np.repeat(_column([point.params[name] for point in points]), n_candidates)
        for name in points[0].params
    }
    *outer, inner = [*points[0].values] or [""]
    for name in outer:
        columns[name] = np.concatenate(
            [
                np.repeat(_column(point.values[name]), len(block.values))
                for point, block in zip(points, blocks, strict=True)
            ]
        )
    if inner:
        columns[inner] = np.concatenate(
            [
                np.tile(block.values, n // len(block.values))
                for n, block in zip(n_candidates, blocks, strict=True)
            ]
        )
    return columns


def _column(values: list[Any]) -> Any:
    """Numbers of one type as numbers, everything else as objects: 1 is a count where 1.0 is a share."""
    if {type(value) for value in values} in ({int}, {float}):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
