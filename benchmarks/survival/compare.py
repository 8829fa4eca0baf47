"""Methods x sets x folds: concordance, Brier score, log loss and CPU seconds, every method tuned alike inside its rows.

The parameters of a method are those of least integrated Brier score in three folds of the training
rows. Ranked are mean times restricted to the range that is scored, so that all methods are ranked
by their curves.
"""

import warnings
from collections import Counter
from itertools import islice, product
from time import process_time

import numpy as np

from benchmarks.paper.table import Piece, Table, fingerprint
from benchmarks.survival.methods import METHODS
from benchmarks.survival.sets import load_sets
from marginwood import CensoringStratifiedKFold
from marginwood._ends import half_open
from marginwood.distributions import turnbull
from marginwood.metrics import integrated_interval_brier_score, interval_concordance_index

N_REPEATS, N_FOLDS, N_INNER = 2, 5, 3
N_TIMES, N_BINS = 50, 12
FLOOR = 1e-3  # probabilities below this count as this in the log loss
KEYS = ("set", "repeat", "fold", "method")
SCORES = ("concordance", "brier", "log_loss", "seconds")


class Curves:
    """Survival curves at some times as distributions, which are asked at these times only."""

    def __init__(self, times, survival):
        self._times = times
        self._survival = survival

    def cdf(self, values):
        """Probability of at most a value, one per row."""
        return 1 - self._survival[np.arange(len(values)), np.searchsorted(self._times, values)]


def score_times(y):
    """Times between which curves are scored: where there are limits, but not in the last tenth."""
    limits = y[np.isfinite(y) & (y > 0)]
    return np.linspace(*np.quantile(limits, [0.05, 0.9]), N_TIMES)


def _survive(predict, X, times):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.clip(np.asarray(predict(X, times), float), 0.0, 1.0)


def brier(train, test, times, survival):
    """The integrated Brier score; the status of censored rows is expected by the estimate from the training rows."""
    return integrated_interval_brier_score(
        test, Curves(times, survival), times, reference=turnbull(train)
    )


def ipcw_brier(train, test, times, survival):
    """Scikit-survival's integrated Brier score of right-censored rows."""
    from sksurv.metrics import integrated_brier_score
    from sksurv.util import Surv

    # It refuses times beyond those of the training rows: such rows are censored at the last of
    # these.
    last = np.nextafter(train[:, 0].max(), 0)
    time = np.minimum(test[:, 0], last)
    event = np.isfinite(test[:, 1]) & (test[:, 0] <= last)
    known = Surv.from_arrays(np.isfinite(train[:, 1]), train[:, 0])
    inside = (times >= time.min()) & (times < time.max())
    return integrated_brier_score(
        known, Surv.from_arrays(event, time), survival[:, inside], times[inside]
    )


def binned_log_loss(train, test, predict, X):
    """The log loss of intervals that are widened to bins, so that steps and densities compare."""
    limits = train[np.isfinite(train) & (train > 0)]
    edges = np.unique(np.quantile(limits, np.arange(1, N_BINS) / N_BINS))
    survival = np.column_stack([np.ones(len(X)), _survive(predict, X, edges), np.zeros(len(X))])
    edges = np.concatenate([[0.0], edges, [np.inf]])
    lower, upper = half_open(test).T
    begin = np.maximum(np.searchsorted(edges, lower, side="right") - 1, 0)
    end = np.searchsorted(edges, upper)
    rows = np.arange(len(X))
    probability = survival[rows, begin] - survival[rows, end]
    return -np.log(np.maximum(probability, FLOOR)).mean()


def tune(method, X, y, times):
    """The parameters of least Brier score on rows held out of the training rows."""
    if len(method.grid) == 1:
        return method.grid[0]
    errors = np.zeros(len(method.grid))
    for train, test in CensoringStratifiedKFold(N_INNER, shuffle=True, random_state=0).split(X, y):
        for number, parameters in enumerate(method.grid):
            survival = _survive(method.fit(X[train], y[train], **parameters), X[test], times)
            errors[number] += brier(y[train], y[test], times, survival)
    return method.grid[int(np.argmin(errors))]


def run(method, data, train, test):
    """The scores of one method on one fold; NaN, and the reason, where its library gives up."""
    warnings.simplefilter("ignore")
    X, y = data.X, data.y
    times = score_times(y[train])
    start = process_time()
    try:
        predict = method.fit(X[train], y[train], **tune(method, X[train], y[train], times))
        survival = _survive(predict, X[test], times)
        seconds = process_time() - start
        log_loss = binned_log_loss(y[train], y[test], predict, X[test])
    except Exception as error:
        return (*[np.nan] * len(SCORES), f"{type(error).__name__}: {error}"[:200])
    mean = np.trapezoid(survival, times, axis=1)
    score = brier if data.events is None else ipcw_brier
    measured = score(y[train], y[test], times, survival)
    return interval_concordance_index(y[test], mean), measured, log_loss, seconds, ""


def pieces(shrink=1):
    """All pieces of work, the first repeat of all sets first."""
    sets = list(load_sets())
    for repeat, data in product(range(max(1, N_REPEATS // shrink)), sets):
        splits = CensoringStratifiedKFold(N_FOLDS, shuffle=True, random_state=repeat).split(
            data.X, data.y
        )
        for fold, (train, test) in enumerate(islice(splits, max(1, N_FOLDS // shrink))):
            for method in METHODS:
                if data.events is not None or method.takes_intervals:
                    settings = fingerprint(
                        (method.name, method.grid, N_INNER, N_TIMES), data.X, data.y
                    )
                    key = (data.name, str(repeat), str(fold), method.name, settings)
                    yield Piece(key, run, (method, data, train, test))


def is_ours(method):
    """Whether a method is of this package."""
    return method.startswith("marginwood")


def measure(path, shrink=1):
    """Do what is missing; by set and method, the mean scores."""
    work = list(pieces(shrink))
    table = Table(path, KEYS, (*SCORES, "error"))
    table.run(work, n_jobs=1)
    return average(table.read(work).values())


def read(path):
    """What is done, of folds that all methods have finished: by set and method, the mean scores."""
    work = list(pieces())
    lines = list(Table(path, KEYS, (*SCORES, "error")).read(work).values())
    methods = Counter(piece.key[:3] for piece in work)
    done = Counter((line["set"], line["repeat"], line["fold"]) for line in lines)
    return average(
        line
        for line in lines
        if done[fold := (line["set"], line["repeat"], line["fold"])] == methods[fold]
    )


def average(lines):
    """By set and method, the mean scores; `discordance` is what is missing of a concordance of 1."""
    scores = {}
    for line in lines:
        scores.setdefault((line["set"], line["method"]), []).append(
            [float(line[name]) for name in SCORES]
        )
    means = {
        key: dict(zip(SCORES, np.mean(values, axis=0), strict=True))
        for key, values in scores.items()
    }
    return {key: {**mean, "discordance": 1 - mean["concordance"]} for key, mean in means.items()}
