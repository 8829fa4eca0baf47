"""Options of the command line beside the target: logarithms, weights, groups, ranges, kept columns, pictures."""

import json
import re

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import GroupKFold

import marginwood
from marginwood import (
    ConformalIntervalRegressor,
    DistributionalIntervalRegressor,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
)
from marginwood.metrics import error_table, interval_coverage

RANDOM = np.random.RandomState(0)
N_ROWS = 80
X = RANDOM.uniform(0, 10, (N_ROWS, 2))
VALUES = np.exp(0.3 * X[:, 0] + RANDOM.normal(0, 0.4, N_ROWS)).round(3)
Y = marginwood.from_detection_limits(VALUES, 2.0)
WEIGHT = RANDOM.randint(1, 4, N_ROWS).astype(float)
SITE = np.array([f"site {number % 8}" for number in range(N_ROWS)])
TARGET = ["--value", "lead", "--lower-limit", "2"]
FRAME = pl.DataFrame({"depth": X[:, 0], "age": X[:, 1]})


@pytest.fixture(scope="module")
def wells(tmp_path_factory):
    path = tmp_path_factory.mktemp("wells") / "wells.csv"
    names = [f"W{number}" for number in range(N_ROWS)]
    FRAME.with_columns(lead=VALUES, weight=WEIGHT, site=SITE, id=pl.Series(names)).write_csv(path)
    return path


@pytest.fixture
def train(call, wells, tmp_path):
    """Train by a command and load the model; its file."""

    def run(verb, *options):
        path = tmp_path / "model.mw"
        code, _, stderr = call(
            verb, wells, *TARGET, *options, "--drop", "id", "site", "--seed", 0, "--out", path, "-q"
        )
        assert code == 0, stderr
        return path, marginwood.load(path)

    return run


TREE = MaxMarginIntervalTree(max_depth=2, random_state=0)
FIT = ["--max-depth", 2, "--drop", "weight"]


def assert_same(found, expected):
    np.testing.assert_array_equal(found.predict(FRAME), expected.predict(X))


@pytest.mark.parametrize("seed", ["-1", "4294967296", "one"])
def test_a_seed_that_generators_do_not_take_is_refused_by_name(call, wells, tmp_path, seed):
    code, _, stderr = call("fit", wells, *TARGET, f"--seed={seed}", "--out", tmp_path / "model.mw")
    assert (code, "argument --seed: " in stderr) == (2, True)


def test_the_logarithm_is_learned_and_the_target_predicted_and_drawn(call, train):
    path, model = train("fit", "--features", "depth", "age", "--max-depth", 2, "--log")
    assert_same(model, TransformedIntervalRegressor(TREE).fit(X, Y))
    shown = call("show", path, "--decimals", 5)[1]
    assert "importances" in shown
    leaves = {float(value) for value in re.findall(r"value: ([\d.]+)", shown)}
    assert leaves == set(np.unique(model.predict(FRAME)).round(5))


def test_weights_are_those_of_a_column_that_is_no_feature(call, train, wells):
    path, model = train("fit", "--max-depth", 2, "--weight", "weight")
    assert model.feature_names_in_.tolist() == ["depth", "age"]
    assert_same(model, MaxMarginIntervalTree(max_depth=2, random_state=0).fit(X, Y, WEIGHT))
    printed = call("evaluate", path, wells, "--weight", "weight")[1]
    assert str(error_table(Y, model.predict(FRAME), sample_weight=WEIGHT)) in printed


def test_the_score_of_the_training_data_counts_weights_and_says_what_medians_are_not_made_for(
    call, wells, tmp_path
):
    fit = ["fit", wells, *TARGET, *FIT[:2], "--features", "depth", "age", "--weight", "weight"]
    stderr = call(*fit, "--out", tmp_path / "m")[2]
    score = marginwood.load(tmp_path / "m").score(FRAME, Y, WEIGHT)
    assert stderr.endswith(f"saved, D2 on the training data {score:.3f}\n")
    assert (
        "medians are not made for D2"
        in call(*fit, "--distribution", "--log", "--out", tmp_path / "m")[2]
    )


def test_groups_stay_whole_in_the_folds_of_tuning(call, wells, tmp_path):
    path = tmp_path / "model.mw"
    options = [
        "--groups",
        "site",
        "--drop",
        "id",
        "weight",
        "--model",
        "linear",
        "--cv",
        4,
        "--out",
        path,
        "-q",
    ]
    code, _, stderr = call("tune", wells, *TARGET, *options)
    assert code == 0, stderr
    model = marginwood.load(path)
    assert model.feature_names_in_.tolist() == ["depth", "age"]
    _, codes = np.unique(SITE, return_inverse=True)
    expected = marginwood.IntervalSearchCV(marginwood.L1IntervalRegression(), cv=GroupKFold(4)).fit(
        X, Y, groups=codes
    )
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_tuning_maximises_the_score_of_that_name(train):
    options = [
        "--features",
        "depth",
        "age",
        "--max-depth",
        2,
        "--loss",
        "squared_hinge",
        "--margin",
        0,
        "--cv",
        2,
    ]
    _, model = train("tune", *options, "--scoring", "interval_concordance_index")
    assert model.scoring == "interval_concordance_index"
    assert 0.5 < model.best_score_ <= 1


def test_what_a_search_of_logarithms_chose_is_shown(call, train):
    path, model = train("tune", *FIT, "--cv", 2, "--loss", "squared_hinge", "--log")
    margin = model.regressor_.best_params_["margin"]
    assert f"\nchosen: loss squared_hinge, margin {margin:.4g}, anchor " in call("show", path)[1]
    assert "chosen" not in call("show", train("fit", *FIT)[0])[1]


def test_ranges_are_calibrated_saved_and_predicted(call, train, wells):
    path, _ = train("fit", *FIT, "--ranges", "meets", "--log")
    inner = ConformalIntervalRegressor(TREE, mode="meets", random_state=0)
    expected = TransformedIntervalRegressor(inner).fit(X, Y).predict_interval(X, 0.8)
    code, out, stderr = call("predict", path, wells, "--range", "0.8", "--decimals", 3)
    assert code == 0, stderr
    found = np.array([line.split(",")[1:] for line in out.splitlines()[1:]], float)
    np.testing.assert_array_equal(found, expected.round(3))
    coverage = interval_coverage(
        Y, TransformedIntervalRegressor(inner).fit(X, Y).predict_interval(X)
    )
    said = f"ranges contain {coverage.contain_rate:.1%} of the intervals, and meet {coverage.meet_rate:.1%}"
    assert said in call("evaluate", path, wells)[1]


def test_a_forest_calibrates_ranges_out_of_bag(train):
    _, model = train(
        "fit", "--drop", "weight", "--model", "forest", "--n-estimators", 20, "--ranges", "meets"
    )
    forest = MaxMarginIntervalForest(20, random_state=0)
    expected = ConformalIntervalRegressor(forest, mode="meets", method="oob", random_state=0).fit(
        X, Y
    )
    np.testing.assert_array_equal(model.predict_interval(FRAME), expected.predict_interval(X))


def test_a_distribution_is_learned_for_quantiles(call, train, wells):
    path, model = train("fit", *FIT, "--distribution")
    expected = DistributionalIntervalRegressor(TREE).fit(X, Y).predict_quantile(X, [0.1, 0.9])
    np.testing.assert_array_equal(model.predict_quantile(FRAME, [0.1, 0.9]), expected)
    assert call("predict", path, wells, "--quantiles", "0.1,0.9")[1].startswith(
        "prediction,q0.1,q0.9\n"
    )


def test_progress_is_not_shown_again_for_every_fold(call, wells, tmp_path):
    forest = [
        "--model",
        "forest",
        "--n-estimators",
        5,
        "--drop",
        "id",
        "site",
        "weight",
        "--out",
        tmp_path / "m",
    ]
    assert "trees: 5 of 5" in call("fit", wells, *TARGET, *forest)[2]
    assert "trees: " not in call("fit", wells, *TARGET, *forest, "--ranges", "meets")[2]


def test_kept_columns_come_before_the_predictions(call, train, wells):
    path, model = train("fit", *FIT)
    code, out, stderr = call("predict", path, wells, "--keep", "id", "site", "--decimals", 1)
    assert code == 0, stderr
    lines = out.splitlines()
    assert lines[0] == "id,site,prediction"
    assert lines[3] == f"W2,site 2,{model.predict(FRAME)[2]:.1f}"


def test_kept_texts_are_safe_for_spreadsheets_if_that_is_asked_for(call, train, tmp_path):
    path, model = train("fit", *FIT)
    cells = ["=1+1", "-5", "-5 mg", "@x", "+49 170", "\t=2", "a=b", None]
    frame = pl.DataFrame(FRAME[: len(cells)]).with_columns(
        pl.Series("=id", cells), pl.Series("shift", [-0.5] * len(cells))
    )
    frame.write_csv(tmp_path / "new.csv")
    words = [
        "predict",
        path,
        tmp_path / "new.csv",
        "--keep",
        "=id",
        "shift",
        "--out",
        tmp_path / "out.csv",
    ]
    assert call(*words)[0] == 0
    assert pl.read_csv(tmp_path / "out.csv")["=id"].to_list() == cells
    assert call(*words, "--safe-cells")[0] == 0
    found = pl.read_csv(tmp_path / "out.csv")
    assert found["'=id"].to_list() == [
        "'=1+1",
        "-5",
        "'-5 mg",
        "'@x",
        "'+49 170",
        "'\t=2",
        "a=b",
        None,
    ]
    assert found["shift"].to_list() == [-0.5] * len(cells)
    np.testing.assert_array_equal(found["prediction"], model.predict(FRAME[: len(cells)]))


def test_a_report_names_rows_and_shows_ranges(call, train, wells, tmp_path):
    path, model = train("fit", *FIT, "--ranges", "upper", "--log")
    code, _, stderr = call(
        "report", path, wells, "--keep", "id", "site", "--out", tmp_path / "r.html"
    )
    assert code == 0, stderr
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    content = json.loads(text.partition('id="content">')[2].partition("</script>")[0])
    assert content["rows"]["name"][3] == "W3, site 3"
    ranges = model.predict_interval(FRAME)
    assert content["ranges"]["contain_rate"] == interval_coverage(Y, ranges).contain_rate
    assert [float(end) for end in content["ranges"]["upper"]] == ranges[:, 1].tolist()
    assert content["ranges"]["level"] == 0.9


def test_show_writes_files_in_every_form(call, train, tmp_path):
    path, _ = train("fit", "--drop", "weight", "--model", "linear", "--alpha", "0.1")
    assert '* "depth"' in call("show", path, "--format", "sql")[1]
    assert call("show", path, "--format", "onnx", "--out", tmp_path / "m.onnx")[0] == 0
    assert (tmp_path / "m.onnx").stat().st_size > 100
    assert call("show", path, "--out", tmp_path / "m.txt")[:2] == (0, "")
    assert "intercept" in (tmp_path / "m.txt").read_text()


STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
PICTURES = [
    ("tree", "fit", FIT, []),
    ("tree", "fit", [*FIT, "--log"], ["wells.csv"]),
    ("importances", "fit", FIT, []),
    ("pruning", "fit", FIT, []),
    ("search", "tune", [*FIT, "--cv", 2, "--loss", "squared_hinge"], []),
    ("search", "tune", [*FIT, "--cv", 2, "--loss", "squared_hinge", "--log"], []),
    ("intervals", "fit", FIT, ["wells.csv", "--feature", "age"]),
    ("intervals", "fit", [*FIT, "--ranges", "meets", "--log"], ["wells.csv", "--range", "0.8"]),
    ("dependence", "fit", FIT, ["wells.csv", "--feature", "age", "depth"]),
    ("survival", "fit", [*FIT, "--distribution"], ["wells.csv"]),
    ("quantiles", "fit", [*FIT, "--distribution"], ["wells.csv", "--feature", "depth"]),
    ("survival", "fit", [*FIT, "--model", "forest", "--log"], ["wells.csv"]),
    ("roc", "fit", FIT, ["wells.csv"]),
    ("calibration", "fit", [*FIT, "--distribution"], ["wells.csv"]),
]


@pytest.mark.parametrize(("kind", "verb", "options", "words"), PICTURES)
def test_every_kind_of_picture_is_drawn(
    call, train, wells, monkeypatch, tmp_path, kind, verb, options, words
):
    path, _ = train(verb, *options)
    monkeypatch.chdir(wells.parent)
    suffix = list(STARTS)[len(words) % 3]
    out = tmp_path / f"picture.{suffix}"
    code, _, stderr = call("plot", path, *words, "--kind", kind, "--out", out)
    assert code == 0, stderr
    assert out.read_bytes().startswith(STARTS[suffix])


@pytest.mark.parametrize("log_option", [(), ("--log",)])
@pytest.mark.parametrize("kind", ["intervals", "quantiles", "survival"])
def test_axes_are_called_as_the_columns_and_logarithmic_for_a_logarithm(
    call, train, wells, tmp_path, kind, log_option
):
    path, _ = train(
        "fit", "--drop", "weight", "--model", "forest", "--n-estimators", 5, *log_option
    )
    over = [] if kind == "survival" else ["--feature", "depth"]
    out = tmp_path / "picture.svg"
    code, _, stderr = call("plot", path, wells, "--kind", kind, *over, "--out", out)
    assert code == 0, stderr
    written = re.findall(
        r"<!-- (.*?) -->", out.read_text(encoding="utf-8")
    )  # what stands beside drawn letters
    assert {"lead", "depth"} - set(written) == ({"depth"} if kind == "survival" else set())
    assert written.count("0") == (kind != "survival") + (
        not log_option
    )  # the axis of depth has a 0, no log axis has


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["fit", "wells.csv", *TARGET, "--groups", "site", "--out", "m"],
            "--groups matter to folds",
        ),
        (
            ["fit", "wells.csv", *TARGET, "--ranges", "meets", "--distribution", "--out", "m"],
            "expected one of them",
        ),
        (
            ["tune", "wells.csv", *TARGET, "--model", "constant", "--groups", "site", "--out", "m"],
            "which has no folds",
        ),
        (
            ["tune", "wells.csv", *TARGET, "--ranges", "meets", "--checkpoint", "c", "--out", "m"],
            "--checkpoint",
        ),
        (
            ["predict", "MODEL", "named.csv", "--keep", "prediction"],
            "--keep: prediction is a column",
        ),
        (
            ["evaluate", "MODEL", "wells.csv", "--weight", "age"],
            "--weight: expected a column that is no feature of the",
        ),
        (
            ["fit", "wells.csv", *TARGET, "--features", "age", "age", "--out", "m"],
            "--features: a column is named twice",
        ),
        (
            ["fit", "wells.csv", *TARGET, "--features", "age", "lead", "--out", "m"],
            "--value: expected a column that is no",
        ),
        (
            ["predict", "MODEL", "wells.csv", "--range", "0.9"],
            "fit and tune with --ranges give any model ranges",
        ),
        (
            ["predict", "MODEL", "wells.csv", "--out", "p.xlsx"],
            "expected a file that ends in csv, tsv, txt",
        ),
        (["predict", "MODEL", "wells.csv", "--out", "p.json.gz"], "or parquet, got p.json.gz"),
        (
            ["tune", "wells.csv", *TARGET, "--groups", "site", "--cv", 9, "--out", "m"],
            "--groups: expected at least 9 groups, one per fold, got 8 in 'site'; --cv 8 makes fewer folds",
        ),
        (
            ["show", "MODEL", "--format", "rules", "--decimals", "1"],
            "--decimals cannot be set for --format rules",
        ),
        (["predict", "MODEL", "wells.csv", "--decimals", "-1"], "expected a whole number >= 0"),
        (["show", "MODEL", "--format", "onnx"], "name a file by --out"),
        (["plot", "MODEL", "--out", "picture.xyz"], "expected a file that ends in png, svg, pdf"),
        (["plot", "MODEL", "--kind", "roc", "--out", "picture.png"], "--kind roc needs data"),
        (
            ["plot", "MODEL", "wells.csv", "--kind", "survival", "--out", "p.png"],
            "does not predict a survival_function; fit and tune with --distribution, --model forest or",
        ),
        (
            ["plot", "MODEL", "wells.csv", "--kind", "dependence", "--out", "p.png"],
            "--feature: expected features",
        ),
        (
            [
                "plot",
                "MODEL",
                "wells.csv",
                "--kind",
                "dependence",
                "--feature",
                "x",
                "--out",
                "p.png",
            ],
            "got ['x']",
        ),
    ],
)
def test_options_that_do_not_fit_together_end_with_code_2(
    call, train, wells, monkeypatch, words, message
):
    path, _ = train("fit", *FIT)
    monkeypatch.chdir(wells.parent)
    pl.read_csv(wells).rename({"id": "prediction"}).write_csv("named.csv")
    code, _, stderr = call(*(path if word == "MODEL" else word for word in words))
    assert code == 2, stderr
    assert message in stderr.splitlines()[-1]
