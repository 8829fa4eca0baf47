"""For tests and doctests: modules that need an optional library are left out where it is missing; nothing is random."""

from importlib.util import find_spec

import numpy as np

NEEDS = {
    "xgboost": "src/marginwood/xgb*",
    "distributed": "src/marginwood/xgb_dask.py",
    "matplotlib": "src/marginwood/plotting/*.py",
    "onnxruntime": "src/marginwood/export/_onnx.py",
}

collect_ignore_glob = [modules for library, modules in NEEDS.items() if not find_spec(library)]


def pytest_runtest_setup():
    """Models without a seed draw from NumPy's global generator: let every run of a test draw the same."""
    np.random.seed(0)
