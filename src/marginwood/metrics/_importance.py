"""Permutation importance: how much worse a score gets if the values of a feature are dealt out anew."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state

from marginwood._support.checks import check_choice, check_count
from marginwood._support.tables import as_known_table
from marginwood._support.threads import count_threads
from marginwood.inference import Table
from marginwood.intervals import FloatArray, IntArray, check_intervals, check_sample_weight
from marginwood.metrics._scorers import Metric, get_scorer

__all__ = ["PermutationImportance", "permutation_importance"]

LARGEST_SEED = 2**31 - 1


class PermutationImportance(NamedTuple):
    """What :func:`permutation_importance` returns; ``print`` shows it, `plot_importances` draws it.

    Attributes
    ----------
    names : list of str
        The features.
    importances : ndarray of shape (n_features, n_repeats)
        By how much the score falls.
    score : float
        The score without permutation.
    scoring : str
        Its name.
    rows : str
        "oob" if it is that of out-of-bag rows, else "all".
    """

    names: list[str]
    importances: FloatArray
    score: float
    scoring: str
    rows: str

    @property
    def importances_mean(self) -> FloatArray:
        """Means over the repeats."""
        return self.importances.mean(axis=1)

    @property
    def importances_std(self) -> FloatArray:
        """Standard deviations over the repeats."""
        return self.importances.std(axis=1, ddof=1 if self.importances.shape[1] > 1 else 0)

    def table(self) -> Table:
        """The features, the most important first.

        Returns
        -------
        Table
            `feature`, `importance` and its spread over the repeats, `std`.
        """
        order = np.argsort(-self.importances_mean, kind="stable")
        of_rows = "out-of-bag rows" if self.rows == "oob" else "the rows given"
        return Table(
            {
                "feature": [self.names[idx] for idx in order],
                "importance": self.importances_mean[order].tolist(),
                "std": self.importances_std[order].tolist(),
            },
            f"By how much {self.scoring} falls from {self.score:.4g}, on {of_rows}",
        )

    def __str__(self) -> str:
        return str(self.table())


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: str | Metric = "interval_d2",
    n_repeats: int = 5,
    rows: str = "auto",
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> PermutationImportance:
    """Measure by how much a score falls if the values of one feature are dealt out anew.

    It works for every model, mixture and pipeline, by any score, and for columns of text, too. Of
    features that say the same, each may seem to matter little, because the other is left.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Rows that the model has not seen; or, for a forest, the training rows in their order.
    y : array-like
        Their targets, in any form that `fit` accepts.
    scoring : str or callable, default="interval_d2"
        A key of ``SCORERS``, or a function ``scorer(estimator, X, y)``; greater is better.
        "interval_concordance_index" suits rows that are open above.
    n_repeats : int, default=5
        How often every feature is permuted.
    rows : {"auto", "oob", "all"}, default="auto"
        "oob" predicts each of the training rows by the trees that did not draw it: importances of a
        forest without further data. "all" predicts the rows by the whole model. "auto" is "oob" if
        the model is a forest and X and y have its training rows' intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    n_jobs : int, default=None
        Number of threads; -1 uses all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    PermutationImportance
        `importances` of each repeat, their `importances_mean` and `importances_std`.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalForest
    >>> from marginwood.datasets import make_sine
    >>> from marginwood.metrics import permutation_importance
    >>> X, y = make_sine(100, 3, random_state=0)
    >>> forest = MaxMarginIntervalForest(50, random_state=0).fit(X, y)
    >>> found = permutation_importance(forest, X, y, random_state=0)
    >>> found.rows, int(found.importances_mean.argmax())
    ('oob', 0)
    """
    check_count("n_repeats", n_repeats, 1)
    check_choice("rows", rows, ("auto", "oob", "all"))
    scorer = get_scorer(scoring)
    X = as_known_table(X, "X")
    X = X if hasattr(X, "columns") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X: expected rows of features, dense, got shape {X.shape}.")
    intervals = check_intervals(y)
    weight = check_sample_weight(sample_weight, len(intervals))
    view = _unseen_by(model, intervals, rows)
    kept = np.arange(len(intervals))
    if view is not None:
        kept = np.flatnonzero(view.known)
        X, intervals = _safe_indexing(X, kept), intervals[kept]
    given = {} if weight is None else {"sample_weight": weight[kept]}
    predictor = model if view is None else view
    score = float(scorer(predictor, X, intervals, **given))
    n_features = X.shape[1]
    seeds = check_random_state(random_state).randint(LARGEST_SEED, size=(n_features, n_repeats))

    def measure(idx: int) -> list[float]:
        falls = []
        for seed in seeds[idx]:
            order = np.random.RandomState(seed).permutation(len(intervals))
            permuted = _permute(X, idx, order)
            falls.append(score - float(scorer(predictor, permuted, intervals, **given)))
        return falls

    run = Parallel(n_jobs=count_threads(n_jobs, n_features), require="sharedmem")
    falls = np.array(run(delayed(measure)(idx) for idx in range(n_features)))
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "the score")
    return PermutationImportance(
        _names(model, X), falls, score, name, "all" if view is None else "oob"
    )


def _unseen_by(model: Any, intervals: FloatArray, rows: str) -> Any:
    """The predictions of training rows by trees that did not draw them, or None for the whole model."""
    forest = getattr(model, "best_estimator_", model)
    kept = getattr(forest, "_intervals", None)
    if kept is not None and getattr(forest, "_entry", None) is not None:
        # It keeps what is left of intervals above their entries.
        same_shape = len(kept) == len(intervals)
        entry = forest._entry if same_shape else -np.inf
        intervals = np.column_stack([np.maximum(intervals[:, 0], entry), intervals[:, 1]])
    is_training = kept is not None and np.array_equal(kept, intervals)
    view = forest._out_of_bag() if rows != "all" and is_training else None
    is_unseen = view is not None and view.known.sum() > 1
    if rows == "oob" and not is_unseen:
        raise ValueError(
            'rows: "oob" expected a forest, its training rows, and trees that left some of them out. '
            'Pass rows="all" and rows that the model has not seen.'
        )
    return view if is_unseen else None


def _permute(X: Any, idx: int, order: IntArray) -> Any:
    """A copy with one column in another order."""
    if hasattr(X, "isetitem"):
        X = X.copy(deep=False)
        X.isetitem(idx, X.iloc[order, idx].array)
        return X
    if hasattr(X, "columns"):
        return X.with_columns(X.to_series(idx)[order])
    X = X.copy()
    X[:, idx] = X[order, idx]
    return X


def _names(model: Any, X: Any) -> list[str]:
    names = getattr(X, "columns", None)
    if names is None:
        inner = model[0] if isinstance(model, Pipeline) else model
        names = getattr(inner, "feature_names_in_", None)
    return [f"x[{idx}]" for idx in range(X.shape[1])] if names is None else [*map(str, names)]
