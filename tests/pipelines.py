"""Data with a column of text, and pipelines that learn from them, which tests of exports, plots and reports share."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

RNG = np.random.RandomState(0)
FRAME = pd.DataFrame(
    {
        "town": RNG.choice(["Bonn", "Köln", "Ulm"], 120),
        "age": RNG.randint(20, 80, 120),
        "dose": RNG.uniform(0, 5, 120),
    }
)
CENTRE = (
    3.0 * (FRAME["town"] == "Köln") + 0.1 * FRAME["age"] + np.where(FRAME["dose"] > 2, 4.0, 0.0)
)
TARGET = np.column_stack([CENTRE - 0.5, np.where(np.arange(120) % 3, CENTRE + 0.5, np.inf)])
# Names after the steps, in the order in which the estimator sees them.
NAMES = ["town_Bonn", "town_Köln", "town_Ulm", "age", "dose"]


def encoder():
    """One column of 0 and 1 per town; the others as they are."""
    encode = (OneHotEncoder(sparse_output=False), ["town"])
    return make_column_transformer(encode, remainder="passthrough", verbose_feature_names_out=False)


def fit_pipeline(estimator):
    """A pipeline from the frame to an estimator, fitted."""
    return make_pipeline(encoder(), estimator).fit(FRAME, TARGET)
