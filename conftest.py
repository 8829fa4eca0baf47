"""Doctests of modules that need an optional library are left out where it is missing."""

from importlib.util import find_spec

NEEDS = {
    "xgboost": "src/marginwood/xgb*",
    "distributed": "src/marginwood/xgb_dask.py",
    "matplotlib": "src/marginwood/plotting/*.py",
    "onnxruntime": "src/marginwood/export/_onnx.py",
}

collect_ignore_glob = [modules for library, modules in NEEDS.items() if not find_spec(library)]
