"""Random tables and random words for the command line, which must do what it is told or say in one line why not.

A case is a number: `check_case` writes a table of nasty columns, perhaps with damaged bytes, trains
a model on it with random options and lets other commands read model and table. Each command ends
with 0, 1 or 2 and raises nothing; one that ends with 1 or 2 says one line, which is no surprise of
Python's, and leaves no file. What `predict` prints is what the loaded model predicts.
"""

import contextlib
import gzip
import io
import logging
import random
import tempfile
import warnings
from inspect import signature
from pathlib import Path

import numpy as np
import polars as pl

import marginwood
from marginwood._cli.main import main
from marginwood._cli.models import MODELS
from marginwood.conformal._distances import MODES
from marginwood.metrics._scorers import SCORERS

NAMES = ["x", "a b", "ä", 'q"', "=1+1", "-1", "x,y", "", "lower", "0", "event", "\t"]
NAMES += ["predicted", "--out"]
LABELS = ["red", "green", "", "NA", "nan", "1", "=2", "ü", "a,b", '"', "\n"]
NUMBERS = ["0", "1", "-1", "0.5", "1e308", "-1e308", "1e-320", "inf", "-inf", "NaN", "", "NA"]
NUMBERS += ["1e400", "2e9", "٣"]
MEASUREMENTS = ["1.2", "7", "<1", ">50", "", "< 0.5", "≤3", "1000", "NA", "2", "-2", "ND", "text"]
SUFFIXES = [".csv", ".csv", ".csv", ".tsv", ".csv.gz", ".parquet"]
# Options of `fit` and `tune` with values in range, and values out of it.
OPTIONS = {
    "--loss": (["linear_hinge", "squared_hinge"], ["hinge"]),
    "--margin": (["0", "0.5", "1e300"], ["-1", "nan"]),
    "--max-depth": (["1", "2", "100000"], ["0"]),
    "--min-samples-leaf": (["1", "3", "0.2", "99"], ["1.5"]),
    "--max-leaf-nodes": (["2", "3"], ["1"]),
    "--max-features": (["1", "sqrt", "0.5"], ["9", "all"]),
    "--ccp-alpha": (["0", "0.1", "1e300"], ["inf"]),
    "--learning-rate": (["0.1", "1", "1e-9"], ["0", "1e300"]),
    "--subsample": (["0.5", "1", "0.001"], ["2"]),
    "--alpha": (["0.1", "1e-9", "1e9"], ["0"]),
    "--seed": (["0", "1", "4294967295"], ["-1", "99999999999", "one"]),
    "--n-jobs": (["1", "2", "-1"], ["0"]),
}
# As few stages and trees as possible: the command line is tried here, not the models.
FEW = {name: ["--n-estimators", "3"] for name in ("forest", "boosting", "xgb")}
# A mixture of all models takes seconds, so these come less often.
SLOW = ("auto", "curves")


def draw_column(rng, n):
    """The cells of a column, as texts."""
    kind = rng.randrange(7)
    if kind == 0:
        return [str(rng.gauss(0, 1)) for _ in range(n)]
    if kind == 1:
        return [str(rng.randrange(4)) for _ in range(n)]
    if kind == 2:
        return [rng.choice(["1", "2", "3.5", "", "NA"]) for _ in range(n)]
    if kind == 3:
        return [rng.choice(NUMBERS) for _ in range(n)]
    if kind == 4:
        return [rng.choice(["red", "green", "blue"]) for _ in range(n)]
    if kind == 5:
        return [rng.choice(LABELS) for _ in range(n)]
    return [f"id{row}" for row in range(n)]


def draw_target(rng, n):
    """Columns of a target, as texts by name, and the words that name them."""
    centre = [rng.gauss(0, 3) for _ in range(n)]
    if rng.random() < 0.15:
        usual = MEASUREMENTS[: rng.choice([-2, -2, None])]
        columns = {"value": [rng.choice(usual) for _ in range(n)]}
        limits = rng.choice([[], ["--lower-limit", "1"], ["--upper-limit", "50"]])
        return columns, ["--value", "value", *limits]
    if rng.random() < 0.15:
        events = [rng.choice("01") for _ in range(n)]
        columns = {"time": [str(abs(at)) for at in centre], "status": events}
        return columns, ["--time", "time", "--event", "status"]
    lower, upper = ([str(at + sign * rng.choice([0, 1, 2])) for at in centre] for sign in (-1, 1))
    for ends, cells in ((lower, ["", "-inf", "NA"]), (upper, ["", "inf", "NA"])):
        for row in range(n):
            if rng.random() < 0.2:
                ends[row] = rng.choice(cells)
    if rng.random() < 0.1:
        lower[rng.randrange(n)] = rng.choice([*NUMBERS, "high"])
    words = ["--lower", "low", "--upper", "high"]
    words = rng.choice([words, words, words, words[:2], words[2:], [*words[:2], *words]])
    return {"low": lower, "high": upper}, words


def draw_table(rng):
    """Names and columns of texts, and the words that name the target."""
    n = rng.choice([1, 2, 5, 12, 30])
    names = rng.sample(NAMES, rng.choice([1, 2, 3]))
    if rng.random() < 0.05:
        names.append(names[0])
    target, words = draw_target(rng, n)
    columns = [draw_column(rng, n) for _ in names] + list(target.values())
    return [*names, *target], columns, words


def write_table(rng, folder, names, columns):
    """The table as a file of some format; `plain` if it is sure to hold what was drawn."""
    suffix = rng.choice(SUFFIXES)
    path = folder / f"table{suffix}"
    if suffix == ".parquet" and len(set(names)) == len(names):
        frame = pl.DataFrame(dict(zip(names, columns, strict=True)))
        numbers = [frame[name].cast(pl.Float64, strict=False).alias(name) for name in frame.columns]
        read = [column for column in numbers if column.null_count() < len(column)]
        frame.with_columns(read).write_parquet(path)
    else:
        path = path if suffix != ".parquet" else folder / "table.csv"
        mark = "\t" if suffix == ".tsv" else ","
        rows = [names, *zip(*columns, strict=True)]
        text = "\n".join(mark.join(quoted(cell, mark) for cell in row) for row in rows) + "\n"
        content = text.encode()
        path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    if rng.random() < 0.1:
        path.write_bytes(damaged(rng, path.read_bytes()))
    return path


def quoted(cell, mark):
    """A cell as CSV has it."""
    if not any(sign in cell for sign in (mark, '"', "\n")):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def damaged(rng, content):
    """Bytes of which some are missing, doubled or others."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(content) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            del content[at:]
        elif kind == 1:
            content[at : at + 1] = bytes([rng.choice([0, 10, 13, 34, 44, 255, rng.randrange(256)])])
        elif kind == 2:
            content[at:at] = content[max(0, at - 9) : at]
        else:
            del content[at : at + rng.randrange(9)]
    return bytes(content)


def draw_fit(rng, table, names, words, model):
    """The words that train a model."""
    command = rng.choice(["fit", "fit", "fit", "tune"])
    fast = [name for name in MODELS if name not in SLOW]
    choice = rng.choice(SLOW if rng.random() < 0.02 else fast)
    parameters = signature(MODELS[choice].estimator).parameters
    known = [flag for flag in OPTIONS if flag[2:].replace("-", "_") in parameters]
    flags = known if known and rng.random() < 0.9 else sorted(OPTIONS)
    options = []
    for flag in rng.sample(flags, min(rng.choice([0, 0, 1, 2]), len(flags))):
        options += [flag, rng.choice(OPTIONS[flag][rng.random() < 0.1])]
    if rng.random() < 0.1:
        flag = rng.choice(["--features", "--drop", "--categories", "--weight", "--groups"])
        options += [flag, rng.choice(names)]
    options += rng.choice(
        [[], [], [], ["--log"], ["--distribution"], ["--ranges", rng.choice(MODES)]]
    )
    if command == "tune" and choice not in ("xgb", "constant"):
        options += ["--cv", rng.choice(["2", "2", "2", "3", "1", "40"])]
        scoring = ["--scoring", rng.choice(sorted(SCORERS))]
        options += rng.choice([[], ["--selection", "1se"], scoring])
    few = FEW.get(choice, []) if "--n-estimators" not in options else []
    return [command, str(table), *words, "--model", choice, *few, *options, "--out", str(model)]


def draw_use(rng, table, model, folder, names):
    """The words of a command that reads a model, and the file that it writes, if any."""
    kind = rng.randrange(5)
    if kind == 0:
        return ["evaluate", str(model), str(table)], None
    if kind == 1:
        out = folder / "shown"
        form = rng.choice(["text", "dot", "latex", "rules", "sql", "json"])
        return ["show", str(model), "--format", form, "--out", str(out)], out
    if kind == 2:
        out = folder / "report.html"
        return ["report", str(model), str(table), "--out", str(out)], out
    out = folder / f"predicted{rng.choice(SUFFIXES)}"
    more = rng.choice(
        [
            [],
            ["--optimal-interval"],
            ["--quantiles", rng.choice(["0.1,0.5", "0,1", "2", ""])],
            ["--survival", rng.choice(["1", "inf", "-1,nan"])],
            ["--range", rng.choice(["0.8", "1", "0", "x"])],
            ["--keep", rng.choice(names)],
            ["--decimals", rng.choice(["0", "3", "-1", "400"])],
        ]
    )
    return ["predict", str(model), str(table), *more, "--out", str(out)], out


def call(words):
    """Exit code, what is printed and what is said of a command in this process."""
    printed, said = (io.TextIOWrapper(io.BytesIO(), newline="") for _ in range(2))
    log = logging.getLogger("marginwood")
    handlers, level, show = list(log.handlers), log.level, warnings.showwarning
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(said),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            try:
                code = main(words)
            except SystemExit as end:
                code = end.code
    finally:
        log.handlers[:] = handlers
        log.setLevel(level)
        warnings.showwarning = show
    for stream in (printed, said):
        stream.seek(0)
    return code, printed.read(), said.read()


def check_command(words, folder, made=None):
    """Run a command; True if it did what it was told."""
    before = {path.name for path in folder.iterdir()}
    code, printed, said = call(words)
    after = {path.name for path in folder.iterdir()}
    shown = f"{words}\n{said}"
    assert code in (0, 1, 2), shown
    assert "Traceback" not in said, shown
    errors = [line for line in said.splitlines() if line.startswith("marginwood: error: ")]
    if code == 0:
        assert not errors, shown
        assert after == before | ({made.name} if made else set()), shown
        return True
    assert len(errors) == 1, shown
    assert said.splitlines()[-1] == errors[0], shown
    assert "--debug shows where" not in said, shown  # an error that nobody has thought of
    assert printed == "", shown
    assert after == before, shown
    return False


def check_case(number):
    """A table, a model and some commands that read both."""
    rng = random.Random(number)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names, columns, words = draw_table(rng)
        table = write_table(rng, folder, names, columns)
        check_description(random.Random(f"describe {number}"), table, names, words, folder)
        model = folder / "model.mw"
        if not check_command(draw_fit(rng, table, names, words, model), folder, model):
            return
        marginwood.load(model)
        check_predictions(model, table, folder)
        for _ in range(2):
            use, made = draw_use(rng, table, model, folder, names)
            if check_command(use, folder, made) and made:
                made.unlink()


def check_description(rng, table, names, words, folder):
    """A target can be summarised and drawn without a model, or it is said why not."""
    words = ["describe", str(table), *words, "--bootstrap", "2"]
    if rng.random() < 0.5:
        words += [f"--by={rng.choice(names)}"]
    if rng.random() < 0.6:
        words += ["--method", rng.choice(["ros", "lognormal", "mean"])]
    if rng.random() < 0.5:
        words += [f"--threshold={rng.choice(['0', '1', '-1e308', 'inf', 'x'])}"]
    out = folder / rng.choice(["picture.png", "picture.svg", "picture"])
    is_drawn = rng.random() < 0.2
    if (
        check_command(
            [*words, *(["--out", str(out)] if is_drawn else [])], folder, out if is_drawn else None
        )
        and is_drawn
    ):
        out.unlink()


def check_predictions(model, table, folder):
    """What is printed is what the model says of the rows that the command reads."""
    code, printed, said = call(["predict", str(model), str(table), "--quiet"])
    assert code == 0, f"a model cannot predict its own rows: {said}"
    numbers = np.array([float(line) for line in printed.splitlines()[1:]])
    out = folder / "again.parquet"
    assert check_command(["predict", str(model), str(table), "--out", str(out)], folder, out)
    again = pl.read_parquet(out).to_series().to_numpy()
    out.unlink()
    np.testing.assert_array_equal(numbers, again)
    assert np.isfinite(numbers).all()
