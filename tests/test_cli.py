"""The command line as a user meets it: real processes, real files, and everything that goes wrong around them."""

import gzip
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import marginwood
import marginwood.__main__
from conftest import PATIENCE
from marginwood import export
from marginwood._base import IntervalRegressorMixin
from marginwood._cli import tables
from marginwood._cli.main import COMMANDS
from marginwood._cli.models import available_models
from marginwood.datasets import make_sine
from marginwood.metrics import (
    d_calibration,
    error_table,
    interval_concordance_index,
    interval_log_loss,
)
from pipelines import FRAME, fit_pipeline
from pipelines import TARGET as INTERVALS

SRC = Path(marginwood.__file__).parents[1]
NAMES = ["dose (mg)", "age", "x3", "x4"]
TARGET = ["--lower", "lo", "--upper", "up"]
posix = pytest.mark.skipif(
    os.name != "posix", reason="signals, pipes and messages of POSIX systems"
)


def command(*words):
    return [sys.executable, "-m", "marginwood", *map(str, words)]


def environment():
    return os.environ | {"PYTHONPATH": str(SRC), "PYTHONUTF8": "1"}


def run(*words, **options):
    """Run a command in a process of its own."""
    options = {"capture_output": True, "timeout": PATIENCE, "env": environment()} | options
    return subprocess.run(command(*words), check=False, **options)


def make_frame(seed, n_rows=120):
    X, y = make_sine(n_rows, len(NAMES), random_state=seed)
    columns = dict(zip(NAMES, X.T, strict=True)) | {"lo": y[:, 0], "up": y[:, 1]}
    return pl.DataFrame(columns).with_columns(pl.col("lo", "up").replace([-np.inf, np.inf], None))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Clean training data, the same with dirt, new data without target, and a saved tree."""
    path = tmp_path_factory.mktemp("files")
    frame = make_frame(0)
    frame.write_csv(path / "train.csv")
    dirty = (
        frame.rename({"age": " age "})
        .write_csv(separator=";", null_value="NA")
        .replace("\n", "\r\n")
    )
    (path / "dirty.csv").write_bytes(b"\xef\xbb\xbf" + dirty.encode())
    make_frame(1).select(reversed(NAMES)).write_csv(path / "new.csv")
    tree = marginwood.MaxMarginIntervalTree(max_depth=3).fit(
        frame.select(NAMES).to_numpy(), targets(frame)
    )
    tree.feature_names_in_ = np.array(NAMES, dtype=object)
    notes = {"data": "x", "rows": 1, "censoring": {}, "target": {"lower": "lo", "upper": "up"}}
    marginwood.save(tree, path / "tree.mw", notes=notes)
    return path


def targets(frame):
    return marginwood.make_intervals(frame["lo"].to_numpy(), frame["up"].to_numpy())


def expected(**parameters):
    frame = make_frame(0)
    tree = marginwood.MaxMarginIntervalTree(**parameters).fit(
        frame.select(NAMES).to_numpy(), targets(frame)
    )
    return tree, tree.predict(make_frame(1).select(NAMES).to_numpy())


def assert_one_line(result, code, *parts):
    """A process ended with a code and one clear line."""
    stderr = result.stderr.decode() if isinstance(result.stderr, bytes) else result.stderr
    last = stderr.strip().splitlines()[-1]
    assert result.returncode == code, stderr
    assert "Traceback" not in stderr
    assert last.startswith("marginwood")
    for part in parts:
        assert part in last


def test_fit_show_predict_and_evaluate_agree_with_python(folder, tmp_path):
    model = tmp_path / "model.mw"
    fitted = run(
        "fit", folder / "dirty.csv", *TARGET, "--margin", "0.1", "--max-depth", "4", "--out", model
    )
    assert fitted.returncode == 0, fitted.stderr
    assert fitted.stdout == b""
    assert b"120 rows (92 interval, 11 left, 17 right), 4 features" in fitted.stderr
    tree, predictions = expected(margin=0.1, max_depth=4)

    shown = run("show", model)
    assert shown.returncode == 0, shown.stderr
    text = shown.stdout.decode()
    assert "trained on dirty.csv: 120 rows" in text
    assert "margin=0.1" in text
    assert marginwood.export_text(tree, feature_names=NAMES) in text

    predicted = run(
        "predict", model, "-", "-q", input=gzip.compress((folder / "new.csv").read_bytes())
    )
    assert predicted.returncode == 0, predicted.stderr
    header, *lines = predicted.stdout.decode().splitlines()
    assert header == "prediction"
    assert [float(line) for line in lines] == predictions.tolist()
    assert predicted.stderr == b""

    scored = run("evaluate", model, folder / "train.csv")
    assert scored.returncode == 0, scored.stderr
    frame = make_frame(0)
    d2 = tree.score(frame.select(NAMES).to_numpy(), targets(frame))
    errors, scores = scored.stdout.decode().split("\n\n")
    assert [line.split()[0] for line in errors.splitlines()[1:]] == [
        "all",
        "left",
        "right",
        "interval",
    ]
    assert f"{d2:.3f}" in errors.splitlines()[1]
    concordance = interval_concordance_index(
        targets(frame), tree.predict(frame.select(NAMES).to_numpy())
    )
    assert scores.splitlines()[1].split() == ["concordance", "index", f"{concordance:.4g}", "0.5"]
    assert len(scores.splitlines()) == 3


def test_tune_resumes_from_its_checkpoint(folder, tmp_path):
    words = ["tune", folder / "train.csv", *TARGET, "--cv", 3, "--selection", "1se", "--n-jobs", 2]
    words += ["--checkpoint", tmp_path / "journal", "--out", tmp_path / "model.mw"]
    first = run(*words)
    assert first.returncode == 0, first.stderr
    n_pieces = 4 * 7  # each margin in three folds and on all rows
    assert f"cross-validation: {n_pieces} of {n_pieces}".encode() in first.stderr
    assert b"chosen: loss" in first.stderr
    first_model = marginwood.load(tmp_path / "model.mw")
    again = run(*words)
    assert b"cross-validation" not in again.stderr
    assert marginwood.load(tmp_path / "model.mw").best_params_ == first_model.best_params_
    assert first_model.selection == "1se"


@pytest.mark.parametrize("model", available_models())
@pytest.mark.parametrize("verb", ["fit", "tune"])
def test_every_model_is_fitted_tuned_shown_and_scored(call, folder, tmp_path, verb, model):
    size = [
        "--seed",
        1,
        "--n-jobs",
        2,
        *(["--n-estimators", 30] if model in ("forest", "boosting", "xgb") else []),
    ]
    code, _, log = call(
        verb,
        folder / "train.csv",
        *TARGET,
        "--model",
        model,
        *size,
        "--out",
        tmp_path / "m.mw",
        "-q",
    )
    assert (code, log) == (0, "")
    assert list(marginwood.load(tmp_path / "m.mw").feature_names_in_) == NAMES
    for words in (
        ["show", tmp_path / "m.mw"],
        ["evaluate", tmp_path / "m.mw", folder / "train.csv"],
    ):
        code, out, log = call(*words)
        assert code == 0, log
        assert "age" in out or "interval" in out or model == "constant"
    assert (
        call("report", tmp_path / "m.mw", folder / "train.csv", "--out", tmp_path / "r.html")[0]
        == 0
    )


def test_a_report_is_written_for_the_columns_that_the_model_was_trained_on(folder, tmp_path):
    result = run(
        "report", folder / "tree.mw", folder / "train.csv", "--out", tmp_path / "report.html"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == b""
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"features":["dose (mg)","age","x3","x4"]' in page
    assert '"title":"train.csv"' in page
    assert_one_line(
        run("report", folder / "tree.mw", folder / "new.csv", "--out", tmp_path / "none.html"),
        1,
        "no column named 'lo'",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_events_folders_and_chosen_columns(call, tmp_path):
    data, model = tmp_path / "data", tmp_path / "m.mw"
    data.mkdir()
    frame = make_frame(0)
    frame.select(NAMES).write_csv(data / "features.csv")
    frame.select("lo", "up").write_csv(data / "targets.csv")
    assert call("fit", data, "--out", model)[0] == 0
    assert call("predict", model, data, "--out", tmp_path / "p.parquet")[0] == 0
    X = frame.select(NAMES)
    assert (
        pl.read_parquet(tmp_path / "p.parquet")["prediction"].to_list()
        == marginwood.load(model).predict(X).tolist()
    )
    times = frame.with_columns(days=pl.col("age") + 1, died=pl.col("x3") > 5)
    times.write_csv(tmp_path / "times.csv")
    words = [
        "fit",
        tmp_path / "times.csv",
        "--time",
        "days",
        "--event",
        "died",
        "--drop",
        "lo",
        "up",
        "--out",
        model,
    ]
    assert call(*words)[0] == 0
    assert list(marginwood.load(model).feature_names_in_) == NAMES
    code, out, _ = call("evaluate", model, tmp_path / "times.csv")
    assert code == 0
    assert "uncensored" in out
    assert call("fit", tmp_path / "times.csv", *TARGET, "--features", "x4", "--out", model)[0] == 0
    assert list(marginwood.load(model).feature_names_in_) == ["x4"]


def test_the_optimal_interval_holds_the_prediction(call, folder):
    code, out, _ = call("predict", folder / "tree.mw", folder / "new.csv", "--optimal-interval")
    assert code == 0
    header, *rows = out.splitlines()
    assert header == "prediction,lower,upper"
    values = np.array([row.split(",") for row in rows], dtype=float)
    assert ((values[:, 1] <= values[:, 0]) & (values[:, 0] <= values[:, 2])).all()


def test_a_model_without_names_takes_columns_by_place(call, tmp_path):
    marginwood.save(
        marginwood.MaxMarginIntervalTree().fit([[1.0, 2], [3, 4]], [(0, 1), (2, 3)]),
        tmp_path / "m.mw",
    )
    (tmp_path / "two.csv").write_text("p,q\n1,2\n")
    (tmp_path / "three.csv").write_text("p,q,r\n1,2,3\n")
    assert call("predict", tmp_path / "m.mw", tmp_path / "two.csv")[:2] == (0, "prediction\n0.5\n")
    code, _, log = call("predict", tmp_path / "m.mw", tmp_path / "three.csv")
    assert code == 1
    assert "expected 2 columns, since the model knows no names, got 3" in log


def test_a_pipeline_predicts_from_columns_of_text(call, monkeypatch, tmp_path):
    pipeline = fit_pipeline(marginwood.MaxMarginIntervalTree(max_depth=4))
    header = {"feature_names": ["town", "age", "dose"], "notes": {}, "version": "1"}
    for name in ("predict", "show"):
        monkeypatch.setattr(
            f"marginwood._cli.{name}.load_with_header", lambda _: (pipeline, header)
        )
    FRAME[["dose", "town", "age"]].assign(other="x").to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = call("predict", "m.mw", tmp_path / "new.csv", "--optimal-interval")
    assert code == 0
    values = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
    np.testing.assert_array_equal(values[:, 0], pipeline.predict(FRAME))
    ends = pipeline[-1].predict_optimal_interval(pipeline[:-1].transform(FRAME))
    np.testing.assert_array_equal(values[:, 1:], ends)
    code, out, _ = call("show", "m.mw")
    assert out.startswith("ColumnTransformer > MaxMarginIntervalTree, saved by")
    assert "|-- town_Köln <= 0.5" in out
    FRAME[["dose", "town"]].to_csv(tmp_path / "short.csv", index=False)
    code, _, log = call("predict", "m.mw", tmp_path / "short.csv")
    assert (code, "no column named 'age'; there are: dose, town" in log) == (1, True)
    code, _, log = call("show", "m.mw", "--format", "sql")
    assert (code, "to_sql predicts from the columns of the data" in log) == (1, True)


class Ranger(IntervalRegressorMixin, BaseEstimator):
    """Predicts ranges around 0."""

    n_features_in_ = 4

    def fit(self, X, y):
        raise NotImplementedError

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.zeros(len(X))

    def predict_interval(self, X, confidence_level):
        return np.outer(np.ones(len(X)), [-confidence_level, confidence_level])


@pytest.fixture
def saved(monkeypatch):
    """Makes all commands read a model from no file."""

    def save(model, names):
        header = {
            "feature_names": names,
            "notes": {"target": {"lower": "lo", "upper": "up"}},
            "version": "1",
        }
        for name in ("predict", "evaluate", "report", "show"):
            monkeypatch.setattr(
                f"marginwood._cli.{name}.load_with_header", lambda _: (model, header)
            )
        return model

    return save


@pytest.fixture(scope="module")
def distributional():
    frame = make_frame(0)
    tree = marginwood.MaxMarginIntervalTree(max_depth=3)
    model = marginwood.DistributionalIntervalRegressor(tree)
    return model.fit(frame.select(NAMES).to_numpy(), targets(frame))


def test_quantiles_and_survival_are_columns_of_the_predictions(call, saved, distributional, folder):
    model = saved(distributional, NAMES)
    words = [
        "predict",
        "m.mw",
        folder / "new.csv",
        "--quantiles",
        "0.1,0.5,0.90",
        "--survival=-0.5,0,1e-3",
    ]
    code, out, log = call(*words)
    assert code == 0, log
    table = pl.read_csv(out.encode())
    X = make_frame(1).select(NAMES).to_numpy()
    assert table.columns == ["prediction", "q0.1", "q0.5", "q0.9", "s-0.5", "s0", "s0.001"]
    np.testing.assert_array_equal(table["prediction"], model.predict(X))
    np.testing.assert_array_equal(
        table[:, 1:4].to_numpy(), model.predict_quantile(X, [0.1, 0.5, 0.9])
    )
    np.testing.assert_array_equal(
        table[:, 4:].to_numpy(), model.predict_survival_function(X, [-0.5, 0.0, 1e-3])
    )


def test_a_range_is_two_columns_that_say_its_level(call, saved, folder):
    saved(Ranger(), NAMES)
    code, out, _ = call("predict", "m.mw", folder / "new.csv", "--range", "0.9")
    assert code == 0
    assert out.splitlines()[:2] == ["prediction,lower0.9,upper0.9", "0.0,-0.9,0.9"]


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        (["--quantiles", "0.5"], "fit and tune with --distribution"),
        (["--survival", "1"], "fit and tune with --distribution"),
        (["--range", "0.9"], "fit and tune with --ranges"),
    ],
)
def test_what_a_model_does_not_predict_is_refused_with_what_does(call, folder, option, remedy):
    code, _, log = call("predict", folder / "tree.mw", folder / "new.csv", *option)
    assert code == 2
    assert (
        f"{option[0]}: {folder / 'tree.mw'} is a MaxMarginIntervalTree, which does not predict them"
        in log
    )
    assert remedy in log


def test_distributions_are_scored_beside_one_for_all_rows(call, saved, distributional, folder):
    model = saved(distributional, NAMES)
    code, out, log = call("evaluate", "m.mw", folder / "train.csv")
    assert code == 0, log
    frame = make_frame(0)
    X, y = frame.select(NAMES).to_numpy(), targets(frame)
    errors, scores = out.split("\n\n")
    assert errors == str(error_table(y, model.predict(X)))
    cells = {line[:23].strip(): line[23:].split() for line in scores.splitlines()[1:]}
    assert list(cells) == [
        "concordance index",
        "target-interval AUC",
        "log loss",
        "CRPS",
        "integrated Brier score",
        "D-calibration p-value",
    ]
    distribution = model.predict_distribution(X)
    assert cells["log loss"][0] == f"{interval_log_loss(y, distribution):.4g}"
    assert cells["D-calibration p-value"][0] == f"{d_calibration(y, distribution).p_value:.4g}"
    for name in ("log loss", "CRPS", "integrated Brier score"):
        ours, constant = map(float, cells[name])
        assert 0 < ours < constant


def test_a_score_that_is_not_defined_says_why(call, folder, tmp_path):
    make_frame(0).with_columns(up=None).write_csv(tmp_path / "open.csv")
    code, out, log = call("evaluate", folder / "tree.mw", tmp_path / "open.csv")
    assert code == 0, log
    (auc,) = (line for line in out.splitlines() if line.startswith("target-interval AUC"))
    assert auc.split()[:4] == ["target-interval", "AUC", "-", "-"]
    assert "not defined: y_true: no row of positive weight has a finite upper limit" in auc


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_models_that_encode_text_are_scored_and_reported(call, saved, tmp_path, is_wrapped):
    pipeline = fit_pipeline(marginwood.MaxMarginIntervalTree(max_depth=4))
    if is_wrapped:
        pipeline = marginwood.DistributionalIntervalRegressor(pipeline).fit(FRAME, INTERVALS)
    model = saved(pipeline, list(FRAME.columns))
    FRAME[["dose", "town", "age"]].assign(lo=INTERVALS[:, 0], up=INTERVALS[:, 1]).to_csv(
        tmp_path / "t.csv"
    )
    code, out, log = call("evaluate", "m.mw", tmp_path / "t.csv")
    assert code == 0, log
    assert str(error_table(INTERVALS, model.predict(FRAME))) in out
    assert ("log loss" in out) == is_wrapped
    code, _, log = call("report", "m.mw", tmp_path / "t.csv", "--out", tmp_path / "r.html")
    assert code == 0, log
    assert (tmp_path / "r.html").exists()
    code, out, log = call("predict", "m.mw", tmp_path / "t.csv")
    assert code == 0, log
    assert [float(line) for line in out.splitlines()[1:]] == model.predict(FRAME).tolist()


@pytest.mark.parametrize("model", ["tree", "linear"])
@pytest.mark.parametrize(("verb", "option"), [("tune", "--model"), ("benchmark", "--models")])
def test_the_default_folds_are_those_of_estimators(
    call, folder, monkeypatch, tmp_path, verb, option, model
):
    def tell_folds(model, *_, **__):
        raise ValueError(f"{model.cv} folds")

    monkeypatch.setattr(f"marginwood._cli.{verb}.fit_model", tell_folds)
    log = call(verb, folder / "train.csv", *TARGET, option, model, "--out", tmp_path / "out")[2]
    assert "error: None folds" in log  # those that suit the estimator


def test_benchmark_prints_a_table_and_saves_a_picture(folder, tmp_path):
    words = [
        "benchmark",
        folder / "train.csv",
        *TARGET,
        "--cv",
        2,
        "--models",
        "tree",
        "boosting",
        "constant",
    ]
    result = run(*words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    header, *lines = result.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["tree", "boosting", "constant"]
    assert {"MSE", "MAE", "inside", "D2"} <= set(header.split())
    assert (tmp_path / "benchmark.png").read_bytes().startswith(b"\x89PNG")
    assert b"tree: fold 2 of 2" in result.stderr


def test_demo_shows_the_tree_the_scores_and_a_picture(tmp_path):
    result = run("demo", "--out", "picture.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert b"|-- x0 <=" in result.stdout
    assert b"$ marginwood evaluate tree.mw test.csv" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


def test_warmup_runs_every_kernel_that_python_calls():
    assert run("warmup").returncode == 0
    marginwood.warmup()
    core = [module for name, module in sys.modules.items() if name.startswith("marginwood._core.")]
    kernels = {
        value for module in core for value in vars(module).values() if hasattr(value, "signatures")
    }
    called = [kernel for kernel in kernels if not kernel.targetoptions.get("no_cpython_wrapper")]
    if not called:
        pytest.skip("kernels run as plain Python")
    assert [kernel.__name__ for kernel in called if not kernel.signatures] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(call, name):
    code, out, _ = call(name, "--help")
    assert code == 0
    assert f"marginwood {name}" in out.split("Example:")[1]


def test_the_version_is_told(call):
    assert call("--version")[:2] == (0, f"marginwood {marginwood.__version__}\n")


USAGE = {
    "no command": [],
    "an unknown command": ["grow"],
    "no target": ["fit", "train.csv", "--out", "m.mw"],
    "half of the events": ["fit", "train.csv", "--time", "age", "--out", "m.mw"],
    "no output": ["fit", "train.csv", *TARGET],
    "a report without a place": ["report", "tree.mw", "train.csv"],
    "a negative margin": ["fit", "train.csv", *TARGET, "--out", "m.mw", "--margin", "-1"],
    "an option of another model": [
        "fit",
        "train.csv",
        *TARGET,
        "--out",
        "m.mw",
        "--learning-rate",
        "0.1",
    ],
    "a fold count for xgb": [
        "tune",
        "train.csv",
        *TARGET,
        "--out",
        "m.mw",
        "--model",
        "xgb",
        "--cv",
        "3",
    ],
    "a depth in words": ["fit", "train.csv", *TARGET, "--out", "m.mw", "--max-depth", "deep"],
    "a quantile above 1": ["predict", "tree.mw", "new.csv", "--quantiles", "0.5,1.5"],
    "a quantile twice": ["predict", "tree.mw", "new.csv", "--quantiles", "0.5,0.50"],
    "a quantile in words": ["predict", "tree.mw", "new.csv", "--quantiles", "median"],
    "times out of order": ["predict", "tree.mw", "new.csv", "--survival", "730,365"],
    "an endless time": ["predict", "tree.mw", "new.csv", "--survival", "inf"],
    "a range of certainty": ["predict", "tree.mw", "new.csv", "--range", "1"],
    "the target among the features": [
        "fit",
        "train.csv",
        *TARGET,
        "--out",
        "m.mw",
        "--features",
        "lo",
    ],
}


@pytest.mark.parametrize("kind", USAGE)
def test_bad_usage_ends_with_code_2(call, folder, monkeypatch, kind):
    monkeypatch.chdir(folder)
    code, _, log = call(*USAGE[kind])
    assert code == 2
    (line,) = log.splitlines()
    assert line.startswith("marginwood: error: ")
    assert line.endswith("--help)")
    assert not Path("m.mw").exists()


BAD_DATA = {
    "a repeated header": ("a,a,lo,up\n1,2,3,4\n", "more than one column is named 'a'"),
    "crossed ends": (
        "a,lo,up\n1,5,2\n2,1,2\n",
        "bad.csv: lower, upper: upper < lower in 1 of 2 rows (first: row 0, ",
    ),
    "text in the same row as crossed ends": (
        "a,lo,up\n1,five,2\n2,1,2\n",
        "column 'lo', row 0: expected a number, got 'five'",
    ),
    "a row that is cut off": (
        "a,lo,up\n1,0,1\n2,2,3\n3,60",
        "bad.csv: row 2: expected 3 fields, got 2; ",
    ),
    "a missing target column": ("a,lo\n1,2\n", "no column named 'up'"),
    "no rows": ("a,lo,up\n", "no rows"),
    "no features": ("lo,up\n1,2\n", "no columns are left"),
    "open rows only": ("a,lo,up\n1,,\n2,,NA\n", "At least one row needs a finite"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_end_with_code_1_and_one_line(call, tmp_path, kind):
    content, message = BAD_DATA[kind]
    (tmp_path / "bad.csv").write_text(content)
    code, _, log = call("fit", tmp_path / "bad.csv", *TARGET, "--out", tmp_path / "m.mw")
    assert code == 1
    assert log.splitlines()[-1].startswith("marginwood: error: ")
    assert message in log.splitlines()[-1]
    assert not (tmp_path / "m.mw").exists()


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ("1\n2.5\n", "not whole numbers in 1 of 2 rows (first: row 1, fold=2.5)"),
        ("1\n", "expected 2 whole numbers, one per row; got 1 rows"),
    ],
    ids=["a fraction", "too few"],
)
def test_folds_that_do_not_fit_end_with_code_1_and_their_file(call, tmp_path, folds, message):
    files = {"features": "a\n1\n2\n", "targets": "lo,up\n1,2\n2,3\n", "folds": f"fold\n{folds}"}
    for name, content in files.items():
        (tmp_path / f"{name}.csv").write_text(content)
    code, _, log = call("benchmark", tmp_path, "--out", tmp_path / "b.svg")
    assert code == 1
    assert "folds.csv: " in log
    assert message in log


@pytest.mark.parametrize("form", ["dot", "latex", "rules"])
def test_show_draws_no_forest_and_says_so(call, tmp_path, form):
    marginwood.save(
        marginwood.MaxMarginIntervalForest(2).fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "m.mw"
    )
    code, out, err = call("show", tmp_path / "m.mw", "--format", form)
    assert (code, out) == (1, "")
    assert f"m.mw: --format {form} shows one tree, and this is a MaxMarginIntervalForest" in err


def test_show_prints_the_model_in_other_forms(call, folder):
    tree = marginwood.load(folder / "tree.mw")
    for form, expected in [
        ("dot", export.export_graphviz(tree)),
        ("latex", export.export_latex(tree)),
        ("rules", "\n".join(map(str, export.to_rules(tree)))),
        ("sql", export.to_sql(tree)),
        ("json", json.dumps(export.to_dict(tree))),
    ]:
        assert "dose (mg)" in expected.replace("\\", "")
        assert call("show", folder / "tree.mw", "--format", form) == (0, f"{expected}\n", "")
    cut = call("show", folder / "tree.mw", "--format", "dot", "--max-depth", 1)[1]
    assert cut == f"{export.export_graphviz(tree, max_depth=1)}\n"
    code, _, log = call("show", folder / "tree.mw", "--format", "sql", "--max-depth", 1)
    assert (code, "--max-depth cannot be set for --format sql" in log) == (2, True)


HOSTILE = "\x1b]0;owned\x07\x9b2J\u202e"
ESCAPED = r"\x1b]0;owned\x07\x9b2J\u202e"


@pytest.fixture
def hostile(tmp_path):
    """A table and a model whose columns are named to take over a terminal; the model's notes are, too."""
    (tmp_path / "hostile.csv").write_text(
        f"{HOSTILE},b,lo,up\n1,2,0,1\n3,4,5,6\n5,x\x1b[2J,8,9\n", encoding="utf-8"
    )
    tree = marginwood.MaxMarginIntervalTree().fit([[1.0, 2], [3, 4]], [(0, 1), (5, 6)])
    tree.feature_names_in_ = np.array([HOSTILE, "b"], dtype=object)
    notes = {
        "data": HOSTILE,
        "rows": HOSTILE,
        "censoring": {HOSTILE: 1},
        "target": {"lower": HOSTILE},
    }
    marginwood.save(tree, tmp_path / "m.mw", notes=notes)
    return tmp_path


def assert_tame(text):
    assert not {character for character in text if not character.isprintable()} - {"\n"}


@pytest.mark.parametrize("form", ["text", "rules", "dot", "latex", "json"])
def test_no_name_of_a_model_file_reaches_a_terminal_as_it_is(call, hostile, form):
    code, out, _ = call("show", hostile / "m.mw", "--format", form)
    assert code == 0
    assert_tame(out)
    if form == "text":
        assert (
            out.count(ESCAPED) == 7
        )  # data, rows, censoring, target, importances, both sides of the split
    assert "owned" in out


@posix
def test_names_in_sql_are_exact_for_programs_and_escaped_for_terminals(hostile):
    import pty

    words = ["show", hostile / "m.mw", "--format", "sql"]
    expected = export.to_sql(marginwood.load(hostile / "m.mw"))
    assert HOSTILE in expected
    assert run(*words).stdout.decode() == f"{expected}\n"
    terminal, inner = pty.openpty()
    assert run(*words, capture_output=False, stdout=inner).returncode == 0
    os.close(inner)
    shown = os.read(terminal, 65536).decode().replace("\r\n", "\n")
    os.close(terminal)
    assert_tame(shown)
    assert ESCAPED in shown


def test_no_name_of_a_table_reaches_a_terminal_through_an_error(call, hostile):
    table, model = hostile / "hostile.csv", hostile / "out.mw"
    for words, part in [
        (
            ["fit", table, "--lower", "nothing", "--upper", "up", "--out", model],
            f"there are: {ESCAPED}, b",
        ),
        (["fit", table, *TARGET, "--out", model], r"row 2: expected a number, got 'x\x1b[2J'"),
        (
            ["fit", table, *TARGET, "--features", HOSTILE, HOSTILE + "x", "--out", model],
            "no column named",
        ),
        (
            ["fit", hostile / f"{HOSTILE}.csv", *TARGET, "--out", model],
            f"{ESCAPED}.csv: No such file",
        ),
        (["show", table], "not a model file"),
        (["fit", table, *TARGET, "--out", model, "--model", HOSTILE], "invalid choice"),
    ]:
        code, out, log = call(*words)
        assert code in (1, 2)
        assert_tame(out + log)
        assert part in log
    assert_tame(
        call("fit", table, "--lower", "nothing", "--upper", "up", "--out", model, "--debug")[2]
    )


def test_no_name_reaches_a_terminal_through_the_log(call, hostile):
    table = hostile / f"{HOSTILE}.csv"
    (hostile / "hostile.csv").rename(table)
    code, _, log = call(
        "fit", table, *TARGET, "--features", HOSTILE, "--out", hostile / f"{HOSTILE}.mw"
    )
    assert code == 0
    assert_tame(log)
    assert log.count(ESCAPED) >= 2


@posix
def test_files_that_are_not_there_or_not_files_are_named(call, folder, tmp_path):
    for words, message in [
        (["predict", folder / "tree.mw", tmp_path / "no.csv"], "no.csv: No such file"),
        (["predict", folder / "tree.mw", tmp_path], "a folder without features.csv"),
        (["predict", tmp_path, folder / "new.csv"], "Is a directory"),
        (["show", folder / "train.csv"], "not a model file of marginwood"),
        (["fit", folder / "train.csv", *TARGET, "--out", tmp_path], "Is a directory"),
        (["fit", folder / "train.csv", *TARGET, "--out", tmp_path / "no" / "m.mw"], "No such file"),
    ]:
        code, _, log = call(*words)
        assert code == 1
        assert message in log.splitlines()[-1]


def test_a_missing_column_is_named_in_one_line_and_debug_shows_the_traceback(folder, tmp_path):
    pl.read_csv(folder / "new.csv").drop("age").write_csv(tmp_path / "short.csv")
    words = ["predict", folder / "tree.mw", tmp_path / "short.csv"]
    assert_one_line(run(*words), 1, "no column named 'age'")
    assert b"Traceback" in run(*words, "--debug").stderr


def test_a_place_where_nothing_can_be_written_is_named(folder):
    if not Path("/proc/self").exists():
        pytest.skip("needs /proc, which nobody can write to")
    result = run(
        "predict", folder / "tree.mw", folder / "new.csv", "--out", "/proc/predictions.csv"
    )
    assert_one_line(result, 1, "/proc/")


@pytest.fixture
def small_disk(tmp_path):
    """A folder with no room for a model, and what a process must call to see it so."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode == 0:
        yield disk, None
        subprocess.run(["umount", disk], check=True)
    else:  # not allowed to mount: a limit on the size of files
        resource = pytest.importorskip("resource")
        yield disk, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@posix
def test_a_full_disk_leaves_no_half_of_a_model(folder, small_disk):
    disk, prepare = small_disk
    words = ["fit", folder / "train.csv", *TARGET, "--model", "forest", "--out", disk / "m.mw"]
    assert_one_line(run(*words, preexec_fn=prepare), 1)
    assert list(disk.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_reported(folder):
    with Path("/dev/full").open("wb") as full:
        result = run(
            "predict",
            folder / "tree.mw",
            folder / "new.csv",
            capture_output=False,
            stdout=full,
            stderr=-1,
        )
    assert_one_line(result, 1, "No space left")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_named(folder):
    result = run("report", folder / "tree.mw", folder / "train.csv", "--out", "/dev/full")
    assert_one_line(result, 1, "/dev/full: No space left")


@posix
@pytest.mark.parametrize("content", ["zeros", "zeros, gzipped"])
def test_what_is_no_text_ends_with_its_first_block(folder, tmp_path, content):
    path = Path("/dev/zero") if content == "zeros" else tmp_path / "x.csv.gz"
    if content != "zeros":
        path.write_bytes(gzip.compress(bytes(2**24)))
    assert_one_line(
        run("predict", folder / "tree.mw", path),
        1,
        f"{path}: expected text, gzip or Parquet, got NUL bytes",
    )


@pytest.mark.parametrize("source", ["a pipe", "a gzip file"])
def test_a_stream_has_a_limit_and_a_plain_file_has_none(
    call, folder, tmp_path, monkeypatch, source
):
    content = (folder / "new.csv").read_bytes()
    plain, packed = tmp_path / "x.csv", tmp_path / "x.csv.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    monkeypatch.setattr(tables, "LARGEST_STREAM", len(content) - 1)
    monkeypatch.setattr(tables, "BLOCK", 100)
    assert call("predict", folder / "tree.mw", plain)[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, _, error = call("predict", folder / "tree.mw", packed if source == "a gzip file" else "-")
    assert code == 1
    assert f"more than {len(content) - 1} bytes; write them to a plain file" in error
    monkeypatch.setattr(tables, "LARGEST_STREAM", len(content))
    assert call("predict", folder / "tree.mw", packed)[0] == 0


@posix
def test_a_pipe_is_written_to_as_it_is(folder):
    result = run("report", folder / "tree.mw", folder / "train.csv", "--out", "/dev/stdout")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(b"<!doctype html>")
    assert result.stdout.rstrip().endswith(b"</html>")


@posix
def test_a_pipe_that_is_closed_early_is_no_error_message(folder, tmp_path):
    make_frame(2, 100_000).select(NAMES).write_csv(tmp_path / "long.csv")
    words = command("predict", folder / "tree.mw", tmp_path / "long.csv", "-q")
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stdout.readline() == b"prediction\n"  # the rest does not fit into a pipe
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE) == 1


@posix
def test_ctrl_c_stops_at_once_and_leaves_nothing(tmp_path):
    make_frame(3, 20_000).write_csv(tmp_path / "large.csv")
    words = command(
        "tune", tmp_path / "large.csv", *TARGET, "--cv", 1000, "--out", tmp_path / "m.mw"
    )  # takes hours
    process = subprocess.Popen(words, stderr=subprocess.PIPE, env=environment())
    for line in process.stderr:
        if b"rows" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE) == 130
    assert rest.splitlines()[-1] == b"marginwood: interrupted"
    assert b"Traceback" not in rest
    assert [path.name for path in tmp_path.iterdir()] == ["large.csv"]


def test_without_polars_the_user_is_told_what_to_install(call, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    code, _, log = call("predict", folder / "tree.mw", folder / "new.csv")
    assert code == 1
    assert 'pip install ".[cli]"' in log


def test_without_matplotlib_a_benchmark_prints_its_table(call, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    code, out, log = call(
        "benchmark", folder / "train.csv", *TARGET, "--cv", 2, "--models", "constant"
    )
    assert code == 0
    assert "constant" in out
    assert "no picture" in log
    assert list(tmp_path.iterdir()) == []


def test_without_xgboost_the_user_is_told_what_to_install(call, folder, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    code, _, log = call(
        "fit", folder / "train.csv", *TARGET, "--model", "xgb", "--out", tmp_path / "m.mw"
    )
    assert code == 1
    needed = (
        'marginwood: error: marginwood.xgb needs XGBoost: pip install ".[xgboost]" in a checkout'
    )
    assert log.splitlines()[-1].startswith(needed)


def test_more_threads_than_processors_are_all_processors(call, folder, tmp_path):
    words = [
        "fit",
        folder / "train.csv",
        *TARGET,
        "--model",
        "forest",
        "--n-estimators",
        5,
        "--n-jobs",
        100_000,
    ]
    assert call(*words, "--out", tmp_path / "m.mw")[0] == 0
    assert marginwood.load(tmp_path / "m.mw").n_jobs == os.cpu_count()


@posix
def test_a_closed_stdout_is_an_error_for_what_prints_and_for_nothing_else(folder, tmp_path):
    def run_closed(stream, *words):
        script = f'"$@" {stream}&-'
        words = ["sh", "-c", script, "sh", *command(*words)]
        return subprocess.run(
            words, check=False, capture_output=True, timeout=PATIENCE, env=environment()
        )

    for words in (
        ["predict", folder / "tree.mw", folder / "new.csv"],
        ["show", folder / "tree.mw"],
    ):
        assert_one_line(run_closed(">", *words), 1, "standard output is closed")
    words = ["fit", folder / "train.csv", *TARGET, "--out", tmp_path / "m.mw"]
    assert run_closed(">", *words).returncode == 0
    assert run_closed("2>", *words).returncode == 0
    marginwood.load(tmp_path / "m.mw")
    assert run_closed("2>", "show", tmp_path / "none.mw").returncode == 1
    assert_one_line(run_closed("<", "predict", folder / "tree.mw", "-"), 1, "stdin: empty")


INTERRUPTED = "import os, signal; os.kill(os.getpid(), signal.SIGINT); signal.sigtimedwait([], 60)"


@posix
def test_ctrl_c_during_start_up_ends_the_command_without_a_word(tmp_path):
    (tmp_path / "numpy.py").write_text(INTERRUPTED)  # the first thing that the package imports
    words = [sys.executable, "-m", "marginwood"]
    paths = environment() | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(SRC)])}
    result = subprocess.run(words, check=False, capture_output=True, timeout=PATIENCE, env=paths)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, b"", b"")


def test_the_command_runs_the_command_line_with_ctrl_c_as_it_was(capsys):
    before = signal.getsignal(signal.SIGINT)
    arguments = sys.argv
    try:
        sys.argv = ["marginwood", "--version"]
        with pytest.raises(SystemExit, match="0"):
            marginwood.__main__.main()
    finally:
        sys.argv = arguments
    assert capsys.readouterr().out == f"marginwood {marginwood.__version__}\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_pipeline_that_encodes_text_predicts_and_is_scored(call, tmp_path):
    frame = make_frame(0).with_columns(city=pl.Series(["Bonn", "Ulm", "Köln"] * 40))
    frame.write_csv(tmp_path / "train.csv")
    features = frame.select("city", "age", "x3")
    parts = [("text", OneHotEncoder(), ["city"]), ("numbers", StandardScaler(), ["age", "x3"])]
    columns = ColumnTransformer(parts, sparse_threshold=0.0)
    pipeline = make_pipeline(columns, marginwood.MaxMarginIntervalTree(max_depth=3)).fit(
        features, targets(frame)
    )
    marginwood.save(pipeline, tmp_path / "m.mw", notes={"target": {"lower": "lo", "upper": "up"}})
    code, out, log = call("predict", tmp_path / "m.mw", tmp_path / "train.csv")
    assert code == 0, log
    assert [float(line) for line in out.splitlines()[1:]] == pipeline.predict(features).tolist()
    code, out, log = call("evaluate", tmp_path / "m.mw", tmp_path / "train.csv")
    assert code == 0, log
    assert f"{pipeline.score(features, targets(frame)):.3f}" in out
    frame.drop("city").write_csv(tmp_path / "short.csv")
    assert "no column named 'city'" in call("predict", tmp_path / "m.mw", tmp_path / "short.csv")[2]
