"""Mixtures of models on the command line: every command takes what ``--model auto`` has trained."""

import io
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import marginwood
from marginwood import (
    IntervalDummyRegressor,
    L1IntervalRegression,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
)
from marginwood._ensemble import superlearner
from marginwood._fitted import parts_of
from marginwood.datasets import make_sine

NAMES = ["depth", "age"]
TARGET = ["--lower", "lo", "--upper", "up"]
X, Y = make_sine(60, 2, random_state=0)
Y = Y + 3  # for logarithms
FRAME = pl.DataFrame(dict(zip(NAMES, X.T, strict=True)))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("auto") / "table.csv"
    FRAME.with_columns(lo=Y[:, 0], up=Y[:, 1]).write_csv(path)
    return path


@pytest.fixture
def small(monkeypatch):
    """A library of four small models."""
    models = [
        ("constant", IntervalDummyRegressor()),
        ("tree", MaxMarginIntervalTree(max_depth=3, margin=0.1)),
        ("forest", MaxMarginIntervalForest(10, min_samples_leaf=3)),
        ("linear", L1IntervalRegression(alpha=0.1)),
    ]
    monkeypatch.setattr(superlearner, "auto_models", lambda *_: models)


@pytest.fixture
def train(call, table, tmp_path, small):  # noqa: ARG001 (what is trained)
    """Train a mixture of the small models by a command; its file and what was logged."""

    def run(verb, *options):
        path = tmp_path / "model.mw"
        code, _, log = call(verb, table, *TARGET, "--model", "auto", *options, "--out", path)
        assert code == 0, log
        return path, log

    return run


def all_parts(model):
    return [model, *(inner for part in parts_of(model) for inner in all_parts(part))]


@pytest.mark.parametrize("options", [(), ("--log",)])
def test_the_weights_of_a_mixture_are_logged_and_shown(call, train, options):
    path, log = train("tune", *options)
    model = marginwood.load(path)
    mixture = getattr(model, "regressor_", model)
    weights = ", ".join(
        f"{name} {weight:.4g}" for name, weight in mixture.weights_.items() if weight > 0
    )
    assert log.endswith(f"saved; weights: {weights}\n")
    assert f"\nweights: {weights}\n" in call("show", path)[1]


@pytest.mark.parametrize("verb", ["fit", "tune"])
@pytest.mark.parametrize("options", [(), ("--log",), ("--distribution",), ("--ranges", "meets")])
def test_a_mixture_is_trained_and_every_model_that_sees_the_columns_knows_their_names(
    train, verb, options
):
    path, _ = train(verb, *options)
    model = marginwood.load(path)
    for part in all_parts(model):
        assert part.feature_names_in_.tolist() == NAMES
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error"
        )  # a model that has not been told the names would warn of those of the frame
        np.testing.assert_allclose(model.predict(FRAME), model.predict(FRAME.to_pandas()))


def test_tuning_says_how_the_models_are_weighed(train):
    path, log = train("tune")
    weights = marginwood.load(path).weights_
    assert all(f"{name} {weight:.4g}" in log for name, weight in weights.items() if weight > 0)


def test_every_command_takes_a_mixture(call, train, table, tmp_path):
    path, _ = train("fit")
    model = marginwood.load(path)
    code, out, log = call("predict", path, table)
    assert code == 0, log
    np.testing.assert_array_equal(
        pl.read_csv(io.StringIO(out))["prediction"].to_numpy(), model.predict(FRAME)
    )
    code, out, log = call("evaluate", path, table)
    assert code == 0, log
    assert "D2" in out
    code, out, log = call("show", path)
    assert code == 0, log
    assert "IntervalSuperLearner" in out
    assert "depth" in out
    code, _, log = call("report", path, table, "--out", tmp_path / "page.html")
    assert code == 0, log
    kinds = {"intervals": (), "importances": (), "roc": (), "dependence": ("--feature", "depth")}
    for kind, options in kinds.items():
        code, _, log = call(
            "plot", path, table, "--kind", kind, *options, "--out", tmp_path / f"{kind}.svg"
        )
        assert code == 0, log


def test_a_time_limit_goes_to_the_mixture_and_to_no_other_model(call, train, table, tmp_path):
    path, _ = train("fit", "--time-limit", "1000000")
    assert marginwood.load(path).time_limit == 1e6
    words = ("fit", table, *TARGET, "--out", tmp_path / "m.mw", "--time-limit")
    code, _, log = call(*words, "5")
    assert code == 2
    assert "--time-limit cannot be set for this command with --model tree" in log
    assert call(*words, "0", "--model", "auto")[0] == 2


@pytest.mark.parametrize("options", [(), ("--log",)])
@pytest.mark.usefixtures("small")
def test_a_tree_learns_from_the_mixture(call, table, tmp_path, options):
    path = tmp_path / "tree.mw"
    words = ("tune", table, *TARGET, "--out", path, "--cv", "3", "--teacher")
    code, _, log = call(*words, "auto", "--seed", "1", *options)
    assert code == 0, log
    model = marginwood.load(path)
    tree = getattr(model, "regressor_", model)
    assert (type(tree.teacher).__name__, tree.teacher.random_state) == ("IntervalSuperLearner", 1)
    np.testing.assert_array_equal(model.predict(FRAME), clone(model).fit(FRAME, Y).predict(FRAME))
    code, _, log = call(*words, "forest", "--model", "linear")
    assert code == 2
    assert "--teacher cannot be set for this command with --model linear" in log


@pytest.mark.usefixtures("small")
def test_the_folds_of_a_teacher_keep_groups_together(call, tmp_path):
    table = tmp_path / "sites.csv"
    FRAME.with_columns(lo=Y[:, 0], up=Y[:, 1], site=np.arange(60) % 12).write_csv(table)
    words = (
        "tune",
        table,
        *TARGET,
        "--groups",
        "site",
        "--cv",
        "3",
        "--out",
        tmp_path / "tree.mw",
        "--teacher",
    )
    code, _, log = call(*words, "auto")
    assert code == 0, log
    code, _, log = call(*words, "forest")
    assert code == 1
    assert "teacher: MaxMarginIntervalForest knows no groups" in log


@pytest.mark.parametrize(("verb", "options"), [("fit", ()), ("tune", ("--log", "--cv", "3"))])
def test_curves_are_a_mixture_of_distributions(call, table, tmp_path, verb, options):
    path = tmp_path / "curves.mw"
    code, _, log = call(
        verb, table, *TARGET, "--model", "curves", *options, "--seed", "0", "--out", path
    )
    assert code == 0, log
    model = marginwood.load(path)
    for part in all_parts(model):
        assert part.feature_names_in_.tolist() == NAMES
    code, out, log = call("predict", path, table, "--quantiles", "0.1,0.5", "--survival", "3,4")
    assert code == 0, log
    found = pl.read_csv(io.StringIO(out))
    assert found.columns == ["prediction", "q0.1", "q0.5", "s3", "s4"]
    np.testing.assert_allclose(found["prediction"], model.predict(FRAME))
    np.testing.assert_allclose(
        found.select("s3", "s4").to_numpy(), model.predict_survival_function(FRAME, [3.0, 4.0])
    )
    code, out, log = call("evaluate", path, table)
    assert code == 0, log
    assert "CRPS" in out
    for command in (("show", path), ("report", path, table, "--out", tmp_path / "page.html")):
        code, _, log = call(*command)
        assert code == 0, log


def test_curves_need_no_distribution_around_them(call, table, tmp_path):
    words = (
        "fit",
        table,
        *TARGET,
        "--model",
        "curves",
        "--distribution",
        "--out",
        tmp_path / "m.mw",
    )
    code, _, log = call(*words)
    assert code == 2
    assert "--model curves learns distributions itself" in log
