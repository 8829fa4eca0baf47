"""Linear algebra on one thread."""

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (has a BLAS of its own)
from threadpoolctl import threadpool_info, threadpool_limits

from marginwood import CensoredLinearRegression, KernelIntervalRegression, L1IntervalRegression
from marginwood._support.blas import one_blas_thread
from marginwood._support.threads import run_in_threads
from marginwood.datasets import make_linear


def n_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, "blas"):
        yield


def test_the_threads_that_there_were_come_back():
    with one_blas_thread():
        assert n_threads() == {1}
    assert n_threads() == {2}
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert n_threads() == {2}


def test_fits_that_overlap_have_one_each_until_the_last_of_them_ends():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert n_threads() == {1}
    second.__exit__(None, None, None)
    assert n_threads() == {2}


def test_threads_of_the_package_have_one_each():
    assert [found for _, found in run_in_threads(lambda _: n_threads(), range(3), 2)] == [{1}] * 3
    assert n_threads() == {2}


@pytest.mark.parametrize(
    "model",
    [CensoredLinearRegression(), KernelIntervalRegression(random_state=0), L1IntervalRegression()],
)
def test_the_bits_of_a_model_do_not_depend_on_threads_of_the_blas(model):
    X, y = make_linear(400, random_state=0)
    predictions = []
    for number in (1, 2):
        with threadpool_limits(number, "blas"):
            model.fit(X, y)
        with threadpool_limits(1, "blas"):
            predictions.append(model.predict(X))
    np.testing.assert_array_equal(*predictions)
