"""Categories and monotone effects that are passed through to XGBoost."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from marginwood import load, save
from marginwood.export import to_sql
from marginwood.xgb import XGBIntervalRegressor
from marginwood.xgb._bytes import booster_from_bytes

pytest.importorskip("xgboost")

LETTERS = list("abcdefghijkl")


def problem(n=300):
    """A target that is smooth in nothing: neighbouring categories differ, and a number falls with another."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, n)
    X = pd.DataFrame({"x": rng.normal(size=n), "g": pd.Categorical.from_codes(codes, LETTERS)})
    centre = 3 * np.sin(7.0 * codes) + X["x"].to_numpy()
    return X, np.column_stack([centre - 0.1, centre + 0.1])


def test_categories_are_passed_through_and_kept_in_files(tmp_path):
    X, y = problem()
    model = XGBIntervalRegressor(20, max_depth=3, n_jobs=1).fit(X, y)
    assert model.categories_ == [None, LETTERS]
    assert model.booster_.feature_types == ["q", "c"]
    as_numbers = XGBIntervalRegressor(20, max_depth=3, n_jobs=1).fit(
        X.assign(g=X["g"].cat.codes), y
    )
    assert model.score(X, y) > as_numbers.score(X.assign(g=X["g"].cat.codes), y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    others = pd.DataFrame({"x": [0.0, 0.0], "g": ["never seen", None]})
    assert len(set(model.predict(others))) == 1


@pytest.mark.parametrize("max_cat_to_onehot", [1, 100], ids=["sets", "one category each"])
def test_sqlite_predicts_from_labels_what_xgboost_predicts(max_cat_to_onehot):
    X, y = problem()
    X.loc[::9, "g"] = np.nan
    X["h"] = pd.Categorical(np.where(X.index % 5 < 2, "it's", "other"))
    params = {"max_cat_to_onehot": max_cat_to_onehot}
    model = XGBIntervalRegressor(20, max_depth=4, n_jobs=1, xgb_params=params).fit(X, y)
    rows = pd.concat(
        [X, pd.DataFrame({"x": [0.5, np.nan], "g": ["never seen", None], "h": [None, "it's"]})]
    )
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE rows (x REAL, g TEXT, h TEXT)")
        cells = rows.astype(object).where(rows.notna(), None)
        base.executemany(
            "INSERT INTO rows VALUES (?, ?, ?)", cells.itertuples(index=False, name=None)
        )
        found = [value for (value,) in base.execute(f"SELECT {to_sql(model)} FROM rows")]
    np.testing.assert_allclose(found, model.predict(rows), rtol=2e-6, atol=2e-6)


def test_effects_are_passed_through():
    X, y = problem()
    line = pd.DataFrame({"x": np.linspace(-2, 2, 60), "g": ["a"] * 60})
    rising = XGBIntervalRegressor(20, n_jobs=1, monotonic_cst={"x": 1}).fit(X, y).predict(line)
    falling = XGBIntervalRegressor(20, n_jobs=1, monotonic_cst=[-1, 0]).fit(X, y).predict(line)
    assert (np.diff(rising) >= 0).all()
    assert (np.diff(falling) <= 0).all()
    assert rising[-1] > rising[0]
    with pytest.raises(ValueError, match="use monotonic_cst"):
        XGBIntervalRegressor(xgb_params={"monotone_constraints": "(1,0)"}).fit(X, y)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("categories", lambda items: [-1, *items[1:]]),
        ("categories", lambda items: [2**24, *items[1:]]),
        ("categories", lambda items: items[1:]),
        ("categories_nodes", lambda items: [10**6, *items[1:]]),
        ("categories_nodes", lambda items: items[1:]),
        ("categories_segments", lambda items: [10**6, *items[1:]]),
        ("categories_sizes", lambda items: [10**6, *items[1:]]),
        ("split_type", lambda items: [2, *items[1:]]),
        ("split_type", lambda items: [1] * len(items)),
        ("split_type", lambda items: items[1:]),
    ],
)
def test_a_booster_whose_categories_lead_nowhere_is_refused(name, change):
    X, y = problem()
    booster = XGBIntervalRegressor(1, max_depth=2, n_jobs=1).fit(X, y).booster_
    content = json.loads(bytes(booster.save_raw("json")))
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    assert tree["categories"]
    booster_from_bytes(json.dumps(content).encode())
    tree[name] = change(tree[name])
    with pytest.raises(ValueError, match=r"categor|split_type"):
        booster_from_bytes(json.dumps(content).encode())
