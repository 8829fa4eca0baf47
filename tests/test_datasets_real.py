"""The packaged data sets: what they hold, how text becomes numbers, and whose they are."""

import csv
import sys
import zipfile
from collections import Counter
from hashlib import sha256
from importlib.resources import files
from math import inf, nextafter

import numpy as np
import pytest

from marginwood import MaxMarginIntervalTree, datasets
from marginwood.intervals import censoring_kind

DATA = files("marginwood.datasets") / "data"
# Rows, features, and rows by kind of censoring.
CONTENTS = {
    "atrazine": (423, 7, {"left": 266, "right": 157}),
    "botulinum": (25, 2, {"interval": 11, "uncensored": 6, "right": 8}),
    "diabetic_nephropathy": (731, 1, {"uncensored": 595, "interval": 136}),
    "gbsg2": (686, 8, {"uncensored": 299, "right": 387}),
    "incomes": (944, 9, {"interval": 876, "right": 68}),
    "mercury": (133, 12, {"uncensored": 118, "left": 15}),
    "trichloroethylene": (247, 4, {"left": 194, "uncensored": 53}),
}
each_name = pytest.mark.parametrize("name", CONTENTS)


def load(name, **options):
    return getattr(datasets, f"load_{name}")(**options)


def read_cells(name):
    return list(csv.DictReader((DATA / f"{name}.csv").read_text(encoding="utf-8").splitlines()))


@each_name
def test_a_data_set_has_the_rows_features_and_censoring_that_it_is_known_for(name):
    data = load(name)
    n_rows, n_features, kinds = CONTENTS[name]
    assert data.X.shape == (n_rows, n_features) == (n_rows, len(data.feature_names))
    assert Counter(censoring_kind(data.y).tolist()) == kinds
    assert data.name == name


@each_name
def test_features_are_the_cells_of_the_file(name):
    data = load(name)
    for row, cells in enumerate(read_cells(name)):
        for idx, feature in enumerate(data.feature_names):
            value = data.X[row, idx]
            if feature in data.categories:
                assert data.categories[feature][int(value)] == cells[feature]
            elif cells[feature]:
                assert value == float(cells[feature])
            else:
                assert np.isnan(value)


@each_name
def test_a_tree_fits_it_and_beats_the_constant_on_its_own_rows(name):
    X, y = load(name, return_X_y=True)
    assert MaxMarginIntervalTree(max_depth=2).fit(X, y).score(X, y) > 0


@each_name
def test_frames_hold_the_same_rows(name):
    pytest.importorskip("pandas")
    data, frames = load(name), load(name, as_frame=True)
    assert frames.X.columns.tolist() == data.feature_names
    assert frames.y.columns.tolist() == ["lower", "upper"]
    np.testing.assert_array_equal(frames.y.to_numpy(), data.y)
    for idx, feature in enumerate(data.feature_names):
        column = frames.X[feature]
        is_text = feature in data.categories
        assert (column.dtype == "category") == is_text
        np.testing.assert_array_equal(column.cat.codes if is_text else column, data.X[:, idx])


def test_targets_are_made_of_the_columns_that_hold_them():
    is_event = [cells["cens"] == "1" for cells in read_cells("gbsg2")]
    assert datasets.load_gbsg2().y[0].tolist() == [1814, 1814]
    assert (np.isfinite(datasets.load_gbsg2().y[:, 1]) == is_event).all()
    first_below = next(
        row for row, cells in enumerate(read_cells("mercury")) if cells["HgCen"] == "True"
    )
    limit = float(read_cells("mercury")[first_below]["Hg"])
    assert datasets.load_mercury().y[first_below].tolist() == [-inf, nextafter(limit, 0)]
    answer = [int(cells["income"]) for cells in read_cells("incomes")]
    for bracket, ends in {
        1: [0, 3000],
        10: [14_000, 15_000],
        15: [25_000, 30_000],
        24: [105_000, inf],
    }.items():
        # From the lower end on, to under the upper one; 0 is left out.
        expected = [nextafter(end, 0) if np.isfinite(end) else end for end in ends]
        assert datasets.load_incomes().y[answer.index(bracket)].tolist() == expected


@each_name
def test_every_file_has_a_notice_and_every_description_its_licence_and_source(name):
    notice = (DATA / "NOTICE.md").read_text(encoding="utf-8")
    assert f"{name}.csv" in notice
    description = " ".join(load(name).DESCR.split())
    assert "MIT licence" in description or "Public domain" in description
    assert ".. [1]" in description


def test_every_packaged_file_is_loaded_by_a_function():
    assert {path.name for path in DATA.iterdir()} == {f"{name}.csv" for name in CONTENTS} | {
        "NOTICE.md"
    }


def test_a_frame_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[frames\]"'):
        datasets.load_mercury(as_frame=True)


ARFF = """@relation hearts
@attribute lenfol numeric
@attribute fstat {0,1}
@attribute bmi numeric
@attribute 'risk' {low,high}
@data
10,1,?,high
20,0,31.5,low
"""


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "some.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sksurv/datasets/data/whas500.arff", ARFF)
        archive.writestr("sksurv/datasets/base.py", "raise RuntimeError")
    return path


def test_survival_data_are_taken_out_of_an_archive_whose_digest_is_known(wheel, tmp_path):
    digest = sha256(wheel.read_bytes()).hexdigest()
    home = tmp_path / "home"
    options = {"data_home": home, "url": wheel.as_uri(), "sha256": digest}
    data = datasets.fetch_survival_data("whas500", **options)
    assert data.y.tolist() == [[10, 10], [20, inf]]
    assert data.feature_names == ["bmi", "risk"]
    assert data.categories == {"risk": ["high", "low"]}
    np.testing.assert_array_equal(data.X, [[np.nan, 0], [31.5, 1]])
    assert data.name == "whas500"
    assert [path.name for path in home.rglob("*") if path.is_file()] == ["whas500.arff"]
    wheel.unlink()
    X, _ = datasets.fetch_survival_data("whas500", **options, return_X_y=True)
    np.testing.assert_array_equal(X, data.X)


def test_an_archive_of_another_digest_is_refused(wheel, tmp_path):
    with pytest.raises(OSError, match="expected a file of sha256"):
        datasets.fetch_survival_data("whas500", data_home=tmp_path / "home", url=wheel.as_uri())
    assert not (tmp_path / "home" / "survival").exists()


def test_unknown_and_missing_survival_data_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"name: .*'flchain', 'veteran'"):
        datasets.fetch_survival_data("aids", data_home=tmp_path)
    with pytest.raises(OSError, match="download_if_missing is False"):
        datasets.fetch_survival_data("veteran", data_home=tmp_path, download_if_missing=False)
