"""Targets on the command line: measurements as laboratories write them, kinds of censoring, probable mistakes."""

import numpy as np
import polars as pl
import pytest

import marginwood
from marginwood._cli.data import read_target
from marginwood._cli.errors import with_options
from marginwood._cli.tables import read_table

RANDOM = np.random.RandomState(0)
DEPTH = RANDOM.uniform(0, 10, 60)
ARSENIC = np.exp(0.2 * DEPTH + RANDOM.normal(0, 0.5, 60)).round(2)
LIMIT = np.where(np.arange(60) % 2, 2.0, 1.0)
IS_BELOW = ARSENIC < LIMIT
INTERVALS = marginwood.from_detection_limits(np.where(IS_BELOW, LIMIT, ARSENIC), nondetect=IS_BELOW)


def write(path, **columns):
    pl.DataFrame({"depth": DEPTH} | columns).write_csv(path)
    return path


def texts(mark="<"):
    return [
        f"{mark}{limit:g}" if below else f"{value}"
        for value, limit, below in zip(ARSENIC, LIMIT, IS_BELOW, strict=True)
    ]


def assert_learned(call, path, *target):
    """A model of these columns is the one of the intervals; its file evaluates without naming them again."""
    model = path.with_suffix(".mw")
    code, _, stderr = call("fit", path, *target, "--max-depth", "2", "--out", model)
    assert code == 0, stderr
    fitted = marginwood.load(model)
    expected = marginwood.MaxMarginIntervalTree(max_depth=2).fit(DEPTH[:, np.newaxis], INTERVALS)
    assert fitted.feature_names_in_.tolist() == ["depth"]
    assert np.array_equal(
        fitted.predict(pl.DataFrame({"depth": DEPTH})), expected.predict(DEPTH[:, np.newaxis])
    )
    assert call("evaluate", model, path)[0] == 0
    return stderr, model


def test_measurements_are_read_in_the_notation_of_laboratories(call, tmp_path):
    path = write(tmp_path / "wells.csv", arsenic=texts())
    stderr, model = assert_learned(call, path, "--value", "arsenic")
    n_below = IS_BELOW.sum()
    assert f"wells.csv: 60 rows ({n_below} left, {60 - n_below} un-censored), 1 features" in stderr
    assert "target: --value arsenic" in call("show", model)[1]


@pytest.mark.parametrize(
    "marks", [("True", "False"), ("1", "0"), ("1.0", "0.0"), ("<", ""), ("U", "")]
)
def test_flags_in_a_column_of_their_own_mark_what_was_not_detected(call, tmp_path, marks):
    measured = np.where(IS_BELOW, LIMIT, ARSENIC)
    path = write(tmp_path / "wells.csv", arsenic=measured, remark=np.where(IS_BELOW, *marks))
    assert_learned(call, path, "--value", "arsenic", "--nondetect", "remark")


@pytest.mark.parametrize("closed", [None, "left", "both", "neither"])
def test_the_ends_that_belong_to_intervals_are_named_and_kept_in_the_file(call, tmp_path, closed):
    # The columns have the names of sides, too.
    left = np.floor(ARSENIC)
    path = write(tmp_path / "wells.csv", left=left, right=left + 1)
    options = ["--lower", "left", "--upper", "right"] + (["--closed", closed] if closed else [])
    code, _, stderr = call("fit", path, *options, "--max-depth", "2", "--out", tmp_path / "m.mw")
    assert code == 0, stderr
    assert marginwood.load(tmp_path / "m.mw").feature_names_in_.tolist() == ["depth"]
    assert f"target: {' '.join(options)}\n" in call("show", tmp_path / "m.mw")[1]
    target = {"lower": "left", "upper": "right"} | ({"closed": closed} if closed else {})
    expected = marginwood.make_intervals(left, left + 1, closed=closed or "right")
    assert np.array_equal(read_target(read_table(str(path)), target), expected)
    # Where both ends belong to them, brackets that touch are not known to be in order.
    code, stdout, stderr = call("evaluate", tmp_path / "m.mw", path)
    assert code == 0, stderr
    if closed != "both":
        default = stdout
        assert call("evaluate", tmp_path / "m.mw", path, "--closed", "both")[1] != default


def test_predictions_at_an_end_that_was_moved_show_the_number_that_was_meant(call, tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("x,from,to\n1,0,18\n1,18,30\n2,,45\n2,45,60\n", encoding="utf-8")
    options = ["--lower", "from", "--upper", "to", "--closed", "left", "--out", tmp_path / "m.mw"]
    assert call("fit", path, *options)[0] == 0
    stdout = call("predict", tmp_path / "m.mw", path, "--optimal-interval")[1]
    assert stdout.splitlines()[1:] == ["18.0,18.0,18.0"] * 2 + ["45.0,45.0,45.0"] * 2


def test_a_folder_has_sides_too(call, tmp_path):
    write(tmp_path / "features.csv")
    left = np.floor(ARSENIC)
    pl.DataFrame({"from": left, "to": left + 1}).write_csv(tmp_path / "targets.csv")
    code, _, stderr = call("fit", tmp_path, "--closed", "left", "--out", tmp_path / "m.mw")
    assert code == 0, stderr
    assert "target: --closed left --lower from --upper to" in call("show", tmp_path / "m.mw")[1]


def test_limits_may_be_a_column(call, tmp_path):
    path = write(
        tmp_path / "wells.csv", arsenic=np.where(IS_BELOW, "ND", ARSENIC.astype(str)), limit=LIMIT
    )
    _, model = assert_learned(call, path, "--value", "arsenic", "--lower-limit", "limit")
    assert "--value arsenic --lower-limit limit" in call("show", model)[1]


def test_limits_may_be_a_number_and_are_in_the_file_too(call, tmp_path):
    path = write(tmp_path / "wells.csv", arsenic=ARSENIC)
    code, _, stderr = call(
        "fit",
        path,
        "--value",
        "arsenic",
        "--lower-limit",
        2,
        "--upper-limit",
        4,
        "--out",
        tmp_path / "m",
    )
    assert code == 0, stderr
    assert f"({(ARSENIC <= 2).sum()} left, {(ARSENIC >= 4).sum()} right, " in stderr
    assert (
        f"({(ARSENIC <= 2).sum()} left, {(ARSENIC >= 4).sum()} right, "
        in call("evaluate", tmp_path / "m", path)[2]
    )


def test_a_decimal_comma_goes_with_semicolons(call, tmp_path):
    path = tmp_path / "wells.csv"
    cells = [text.replace(".", ",") for text in texts("< ")]
    frame = pl.DataFrame(
        {"depth": [str(depth).replace(".", ",") for depth in DEPTH], "arsenic": cells}
    )
    frame.write_csv(path, separator=";")
    assert_learned(call, path, "--value", "arsenic")


@pytest.mark.filterwarnings("default")
def test_a_row_without_a_measurement_says_nothing(call, tmp_path):
    path = write(
        tmp_path / "wells.csv",
        arsenic=["", "NA", *texts()[2:]],
        remark=["", "", *np.where(IS_BELOW, "<", "")[2:]],
    )
    for target in (["--value", "arsenic"], ["--value", "arsenic", "--nondetect", "remark"]):
        code, _, stderr = call("fit", path, *target, "--features", "depth", "--out", tmp_path / "m")
        assert code == 0, stderr
        assert "2 uninformative" in stderr
        assert "2 of 60 rows are (-inf, inf)" in stderr


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (
            ["--lower", "arsenic"],
            1,
            "expected a number, got '<1'; cells such as <1 and ND are read by --value 'arsenic'",
        ),
        (
            ["--time", "days", "--event", "arsenic"],
            1,
            "expected a number, got '<1'; --event expects 1 or true (event at that time) and 0 or false (later)",
        ),
        (["--value", "depth", "--lower", "depth"], 2, "--value with nothing else"),
        (["--nondetect", "flag"], 2, "go with --value"),
        (["--value", "depth", "--closed", "left"], 2, "--closed goes with --lower and --upper"),
        (
            ["--time", "days", "--event", "event", "--closed", "left"],
            2,
            "--closed goes with --lower and --upper",
        ),
        (["--closed", "left"], 2, "name the target's columns: --lower COL --upper COL"),
        (["--lower", "days", "--closed", "up"], 2, "argument --closed: invalid choice: 'up'"),
        (
            ["--lower", "days", "--upper", "days", "--closed", "neither"],
            1,
            "wells.csv: lower, upper: no number lies between open ends in 60 of 60 rows",
        ),
        (
            ["--value", "arsenic", "--nondetect", "flag"],
            1,
            "column 'flag', row 3: expected 1 or 0, true or false",
        ),
        (
            ["--value", "arsenic", "--lower-limit", "x"],
            2,
            "--lower-limit: expected a number or a column",
        ),
        (
            ["--value", "odd"],
            1,
            "wells.csv: odd: expected a number, '<1', '>50' or 'ND' (not detected)",
        ),
        (
            ["--value", "unlimited"],
            1,
            "wells.csv: y: not detected, but no detection limit is given, in 1 of 60 rows (first: row 0, y=ND). "
            "Pass --lower-limit: a number, or one for each row.",
        ),
        (
            ["--lower", "days", "--upper", "event"],
            1,
            "They look like times and events: use --time and --event.",
        ),
        (
            ["--lower", "days", "--weight", "nothing", "--features", "depth"],
            1,
            "--weight: all weights are zero",
        ),
    ],
)
def test_what_cannot_be_a_target_is_refused_in_one_line(call, tmp_path, target, code, message):
    odd = ["1 mg", *texts()[1:]]
    flag = ["1", "0", "1", "maybe", *["0"] * 56]
    numbers = {"days": np.arange(2, 62), "event": np.arange(60) % 2, "nothing": np.zeros(60)}
    path = write(
        tmp_path / "wells.csv",
        arsenic=["<1", *texts()[1:]],
        odd=odd,
        flag=flag,
        unlimited=["ND", *texts()[1:]],
        **numbers,
    )
    found, _, stderr = call("fit", path, *target, "--out", tmp_path / "m")
    assert found == code, stderr
    assert message in stderr.splitlines()[-1]


@pytest.mark.filterwarnings("default")
def test_swapped_ends_and_events_taken_for_ends_are_warned_of(call, tmp_path):
    times = RANDOM.exponential(100, 60)
    ends = np.minimum(times, 80)
    upper = np.where(times > 80, np.nan, ends)
    path = write(
        tmp_path / "patients.csv",
        start=ends,
        end=pl.Series(upper, nan_to_null=True),
        died=(times <= 80).astype(int),
    )
    _, _, stderr = call(
        "fit", path, "--lower", "start", "--upper", "end", "--drop", "died", "--out", tmp_path / "m"
    )
    assert "warning" not in stderr
    _, _, stderr = call(
        "fit", path, "--lower", "end", "--upper", "start", "--drop", "died", "--out", tmp_path / "m"
    )
    assert "one-sided rows are open below" in stderr
    assert "are lower and upper swapped?" in stderr
    _, _, stderr = call(
        "fit", path, "--lower", "died", "--upper", "start", "--drop", "end", "--out", tmp_path / "m"
    )
    assert "warning: y: every lower end is 0 or 1" in stderr
    assert "are times, use --time and --event." in stderr


@pytest.mark.filterwarnings("default")
def test_rows_that_are_all_open_on_one_side_are_warned_of(call, tmp_path):
    path = write(tmp_path / "wells.csv", arsenic=ARSENIC, ends=ARSENIC + 1, never=np.zeros(60))
    fit = ["fit", path, "--features", "depth", "--out", tmp_path / "m"]
    forgotten = call(*fit, "--lower", "arsenic")[2]
    assert (
        "all rows are open above, so that any large number satisfies them; --upper names the other"
        in forgotten
    )
    assert (
        "any small number satisfies them; --lower names the other"
        in call(*fit, "--upper", "arsenic")[2]
    )
    assert "satisfies them\n" in call(*fit, "--time", "arsenic", "--event", "never")[2]
    assert "satisfies" not in call(*fit, "--lower", "arsenic", "--upper", "ends")[2]


def test_names_of_columns_are_not_taken_for_options():
    names = "'lower_limit', my_lower_limit, lower_limit=2"
    assert with_options(names) == names
    assert with_options("y: NaN. Pass lower_limit.") == "y: NaN. Pass --lower-limit."
