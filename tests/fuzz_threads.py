"""Models on random problems, alone and in several threads at once: all have the same bits.

A case is a number: `check_case` draws rows and a small model, and fits it with one thread and
nobody beside it; then several threads fit copies of it at the same time, with teams of their own
where the model has `n_jobs`, and all of them ask one fitted model at once.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest.mock import patch

import numpy as np
from sklearn.base import clone

from marginwood._core import parallel
from models import small_models
from test_bounds_checked import random_problem

N_THREADS = 3
MODELS = small_models()
MOST_ROWS = 300


def draw_case(number):
    """A model and a problem of any number of rows up to the most."""
    rng = np.random.default_rng(number)
    X, y, weights = (array[:MOST_ROWS] for array in random_problem(rng))
    model = clone(MODELS[rng.choice(sorted(MODELS))])
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=number % 2**32)
    return model, np.nan_to_num(X) if rng.random() < 0.5 else X, y, weights


def fitted(model, X, y, weights, n_jobs):
    """The fitted copy of a model; what it says, if it cannot learn from these rows."""
    model = clone(model)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    try:
        return model.fit(X, y, weights)
    except ValueError as error:
        return str(error)


def said(model, X):
    """What a model predicts, to the bit; or why it cannot be fitted."""
    return model if isinstance(model, str) else model.predict(X).tobytes()


def check_case(number):
    """Compare what threads get with what one alone gets."""
    with warnings.catch_warnings(), ThreadPoolExecutor(N_THREADS) as threads:
        warnings.simplefilter("ignore")
        model, X, y, weights = draw_case(number)
        alone = fitted(model, X, y, weights, 1)
        with patch.multiple(parallel, LEAST_CELLS=1, CELLS_PER_CALL=5):
            fit = partial(fitted, model, X, y, weights)
            beside = list(threads.map(fit, (1, 2, 3)))
        expected = said(alone, X)
        assert [said(each, X) for each in beside] == [expected] * 3, model
        assert list(threads.map(lambda _: said(alone, X), range(6))) == [expected] * 6, model
