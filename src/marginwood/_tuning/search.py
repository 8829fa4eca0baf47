"""The engine of searches: grid x folds, whole paths scored, one candidate chosen.

A *point* of the grid is an estimator that is not fitted yet; one fit of it gives a whole path of
models. A *piece* of the work is one point on one *fold*: rows to train on and rows to score. A
*candidate* is a point together with values of the path's parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from marginwood._resampling.folds import Bags, Fold
from marginwood._resampling.journal import Journal
from marginwood._resampling.run import run
from marginwood._searchable import FOUND, ModelPath, is_searchable
from marginwood._trees.pruning import geometric_means, subtree_at
from marginwood._tuning.selection import spread
from marginwood.intervals import FloatArray, IntArray

__all__ = [
    "Label",
    "PathJournal",
    "Piece",
    "Point",
    "ScoredPath",
    "Trial",
    "score_paths",
    "tabulate",
]

# From numbers of rows to what a teacher that has seen no others says of them; None for all rows.
Label = Callable[[IntArray | None], FloatArray]


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


class Trial:
    """A fold of a search; models may learn labels of a teacher that has seen no rows but those that train.

    What all points share, such as labels and sorted features, is prepared on first use and lives
    until `release`; threads may share it.
    """

    def __init__(self, fold: Fold, scorer: Any, label: Label | None = None) -> None:
        self._fold = fold
        self._scorer = scorer
        self._label = label
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
        with self._lock:
            if self._prepared is None:
                self._prepared = self._prepare(point.estimator)
            prepared = self._prepared
        if is_searchable(point.estimator):
            return point.estimator._fit_path(prepared, point.values)
        return PlainPath(prepared.fit(point.estimator))

    def _prepare(self, estimator: Any) -> Any:
        """The fold with its labels; for estimators that search, the rows that train as they share them."""
        fold = self._fold
        if self._label is not None:
            rows = fold.rows._replace(intervals=fold.rows.intervals.copy())
            rows.intervals[fold.train] = self._label(fold.train)
            fold = replace(fold, rows=rows)
        return estimator._prepare(fold.rows.take(fold.train)) if is_searchable(estimator) else fold

    def _scores(self, path: Any) -> FloatArray:
        scores: FloatArray = np.empty(0)  # unless rows are unseen, values of the path are all
        if isinstance(self._fold, Bags):
            scores = path.oob_scores(self._fold.rows, self._scorer, weighted=self._fold.weighted)
        elif len(self._fold.unseen):
            unseen = self._fold.rows.take(self._fold.unseen)
            scores = path.scores(unseen, self._scorer, weighted=self._fold.weighted)
        return scores


class Piece(NamedTuple):
    """Numbers of a point of the grid and of a trial."""

    point: int
    fold: int


class PathJournal(Journal):
    """A journal of scored paths."""

    def kept(self) -> dict[Piece, ScoredPath]:
        """The paths that are there."""
        return {
            Piece(line["point"], line["fold"]): ScoredPath(
                *(np.array(line[name]) for name in ScoredPath._fields)
            )
            for line in self.pieces
        }

    def keep(self, piece: Piece, result: ScoredPath) -> None:
        """Keep a path."""
        arrays = {name: array.tolist() for name, array in result._asdict().items()}
        self.append({**piece._asdict(), **arrays})


def score_paths(
    points: Sequence[Point],
    trials: Sequence[Trial],
    *,
    journal: PathJournal | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[Piece, ScoredPath]:
    """Score every point in every trial, but for the pieces that the journal holds already."""
    return run(
        lambda piece: trials[piece.fold].score(points[piece.point]),
        [Piece(point, fold) for fold in range(len(trials)) for point in range(len(points))],
        label="cross-validation",
        keeper=journal,
        shared=lambda piece: trials[piece.fold],
        n_jobs=n_jobs,
        verbose=verbose,
    )


def tabulate(
    points: Sequence[Point], paths: dict[Piece, ScoredPath], n_folds: int
) -> tuple[dict[str, Any], IntArray]:
    """The table of all candidates, with the names of scikit-learn's searches, and how complex each of them is.

    Where values had to be found, the first fold is the whole that found them.
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
