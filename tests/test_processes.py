"""Models in other processes, however these are started, have the bits of those in this one.

Run as a program, this module starts processes by the method that it is given.
"""

import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from conftest import PATIENCE
from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood._support.threads import count_threads
from marginwood.datasets import make_sine
from models import small_models

X, y = make_sine(80, 3, random_state=0)


def fit(model):
    """A fitted copy, and what it predicts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        model = clone(model).fit(X, y)
    return model, model.predict(X).tobytes()


def predict(model):
    """What a fitted model predicts."""
    return model.predict(X).tobytes()


def compare(method):
    """Raise unless models learn, predict, come and go alike in processes of this kind."""
    models = small_models()
    if method == "fork":
        # A process that is forked from one that has used XGBoost waits for threads of OpenMP that
        # it does not have.
        models.pop("XGBIntervalRegressor", None)
    fitted = {name: fit(model) for name, model in models.items()}
    with multiprocessing.get_context(method).Pool(2) as pool:
        elsewhere = dict(zip(models, pool.map(fit, models.values()), strict=True))
        asked = pool.map(predict, [model for model, _ in fitted.values()])
    for (name, (_, expected)), said in zip(fitted.items(), asked, strict=True):
        model, found = elsewhere[name]
        assert found == said == predict(model) == expected, name


@pytest.mark.parametrize(
    "method",
    [method for method in multiprocessing.get_all_start_methods() if method != "forkserver"],
)
def test_models_learn_and_predict_alike_in_processes(method):
    words = [sys.executable, __file__, method]
    result = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert result.returncode == 0, result.stderr


def count(n_jobs):
    """How many threads there are for a number of jobs, or what is warned of instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return count_threads(n_jobs, 3)


def test_a_process_of_a_pool_has_as_many_threads_as_any_other():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(count, [None, 1, 3, -1]) == [count(n_jobs) for n_jobs in [None, 1, 3, -1]]
    assert count(3) == 3


@pytest.mark.parametrize(
    "model",
    [
        MaxMarginIntervalTree(max_depth=3),
        MaxMarginIntervalForest(3, max_depth=3, random_state=0),
        MaxMarginIntervalBoosting(3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_joblib_hands_processes_what_they_may_not_write_to(model):
    # Beyond a megabyte joblib puts arrays into files, which its processes map into their memory to
    # read.
    many, targets = make_sine(60_000, 3, random_state=0)
    assert many.nbytes > 1 << 20
    one = cross_val_predict(model, many, targets, cv=2)
    try:
        two = cross_val_predict(model, many, targets, cv=2, n_jobs=2)
    finally:
        get_reusable_executor().shutdown()
    np.testing.assert_array_equal(one, two)


def test_models_and_what_they_predict_with_survive_pickling_before_and_after_a_fit():
    for name, model in small_models().items():
        fitted, expected = fit(pickle.loads(pickle.dumps(model)))
        assert predict(pickle.loads(pickle.dumps(fitted))) == expected, name


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    compare(sys.argv[1])
