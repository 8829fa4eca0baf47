"""A small model of every kind: an estimator that becomes public is among them by itself."""

import inspect
from importlib.util import find_spec

import marginwood
from marginwood._searchable import Searchable

SMALL = {"n_estimators": 5, "n_margins": 3, "cv": 3, "max_depth": 3, "random_state": 0}


def small(cls):
    """A small model of a class; what it wraps is a small tree."""
    parameters = inspect.signature(cls).parameters
    options = {name: value for name, value in SMALL.items() if name in parameters}
    tree = marginwood.MaxMarginIntervalTree(max_depth=2)
    if "estimator" in parameters:
        options["estimator"] = tree
    if {"grid", "estimator"} <= parameters.keys():
        options["grid"] = {"margin": 3}
    if "student" in parameters:
        teacher = marginwood.CrossFittedIntervalRegressor(tree, cv=3)
        options |= {"student": tree, "teacher": teacher}
    if "regressor" in parameters:  # any target may be transformed by these
        options |= {"regressor": tree, "func": "arcsinh"}
    if "models" in parameters:
        options["models"] = [("tree", tree), ("constant", marginwood.IntervalDummyRegressor())]
        if hasattr(cls, "predict_distribution"):  # and so must have its models
            options["models"] = [
                (name, marginwood.DistributionalIntervalRegressor(model, cv=2))
                for name, model in options["models"]
            ]
    if (
        "confidence_level" in parameters
    ):  # a range that contains most intervals of a test is infinite
        options["mode"] = "meets"
    return cls(**options)


def public_classes():
    classes = {name: getattr(marginwood, name) for name in marginwood.__all__}
    if find_spec("xgboost"):
        from marginwood.xgb import XGBIntervalRegressor

        classes["XGBIntervalRegressor"] = XGBIntervalRegressor
    return {name: cls for name, cls in classes.items() if hasattr(cls, "predict")}


def small_models():
    """Small models, not fitted, by the names of their classes; and a search around every kind that has a grid."""
    models = {name: small(cls) for name, cls in public_classes().items()}
    searches = {
        f"IntervalSearchCV of {name}": marginwood.IntervalSearchCV(model, cv=3, random_state=0)
        for name, model in models.items()
        if isinstance(model, Searchable)
    }
    return models | searches
