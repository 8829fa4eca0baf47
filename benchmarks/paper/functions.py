"""Figure 3: what methods learn of a function of one feature, when 19 others are noise."""

import json

import numpy as np

from benchmarks.paper.data import SIMULATIONS
from benchmarks.paper.table import Piece, Table, fingerprint
from marginwood.datasets._simulated import FEATURE_MAX, distance_from_middle, fifth

SHOWN = ("L1-Linear", "MMIT-L", "forest", "boosting")
SIGNALS = {
    "simulated.sin": np.sin,
    "simulated.abs": distance_from_middle,
    "simulated.linear": fifth,
}
N_SHOWN = 400


def table(folder):
    """Predictions for `fresh_rows`, and their mean squared distance from the function."""
    return Table(folder / "functions.csv", ("function", "method"), ("mse", "predictions"))


def fresh_rows():
    """Rows in the order of the signal feature, with noise features drawn anew for each: noise that is used shows."""
    X = np.random.default_rng(1).uniform(0, FEATURE_MAX, size=(N_SHOWN, 20))
    X[:, 0] = np.linspace(0, FEATURE_MAX, N_SHOWN)
    return X


def training_rows(name):
    """The training data of a function."""
    return SIMULATIONS[name](random_state=0)


def pieces(methods):
    """Every shown method among these on every function."""
    return [
        Piece(
            (name, method, fingerprint(methods[method].settings, *training_rows(name))),
            fit_function,
            (name, *methods[method][1:]),
        )
        for name in SIMULATIONS
        for method in SHOWN
        if method in methods
    ]


def fit_function(name, predict, settings):
    """Mean squared distance from the function, and the predictions."""
    X = fresh_rows()
    prediction, _ = predict(*training_rows(name), X, **settings)
    distance = prediction - SIGNALS[name](X[:, 0])
    return np.mean(distance**2), json.dumps(np.round(prediction, 5).tolist())
