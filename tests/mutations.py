"""Mutated models, each loaded in a forked child: a model file or a dictionary must raise ValueError or be a model.

``python -m tests.mutations --cases 100000`` tries so many states of models, or ``--hours 2`` as
many as fit, and prints what went wrong, one line each; with ``--boosters`` it tries boosters of
XGBoost. A case is known by its number: ``--first 1234 --cases 1`` runs it again. `fuzz` does the
same for other programs.
"""

import argparse
import contextlib
import copy
import faulthandler
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import (
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    KernelPCA,
    TruncatedSVD,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection

import marginwood
from marginwood._archive import SCHEMA
from marginwood._persistence import FORMAT, HEADER
from marginwood._states import CLASS, encode
from marginwood.conformal import ConformalIntervalRegressor
from marginwood.datasets import make_sine
from marginwood.export import export_text, from_dict, to_dict, to_rules, to_sql

sys.path.insert(0, str(Path(__file__).parent))
from conftest import PATIENCE
from models import small_models

BATCH = 25
# Of the processor: a busy machine is no failure.
SECONDS_PER_CASE = 10
MEMORY = 6 << 30
OF_TREES = {"nodes", "n_categories", "offsets", "codes"}
# What compiled code reads deserves a good share of the mutations.
OF_KERNELS = OF_TREES | {
    "_intervals",
    "_weight",
    "_codes",
    "_draws",
    "limits_",
    "weights_",
    "steps",
}
OF_KERNELS |= {f"residual_{name}_" for name in ("support", "mass", "offsets")}

INTEGERS = [
    -(2**63),
    -(2**31),
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    2**20,
    2**31 - 1,
    2**31,
    10**9,
    2**63 - 1,
]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0, 1e308, -1e308, 5e-324]
DTYPES = [
    "bool",
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint64",
    "float16",
    "float32",
    "float64",
    ">i4",
    ">f8",
    "U3",
    "S3",
]
JUNK = [
    *(
        None,
        True,
        False,
        "",
        "x",
        "passthrough",
        "inf",
        [],
        (),
        {},
        [[]],
        [None],
        {"a": 1},
        10**30,
        1e400,
    ),
    *(
        {CLASS: "os.system"},
        {CLASS: "dict", "items": [1]},
        {CLASS: "ndarray", "items": [[0]]},
        {CLASS: []},
    ),
    *(
        {CLASS: "MaxMarginIntervalTree"},
        {CLASS: "CensoringStratifiedKFold"},
        {CLASS: "IntervalTree"},
    ),
]


def fitted_models():
    """Fitted models of each kind, with and without categories where they take some, and of kinds within kinds."""
    X, y = make_sine(40, 3, random_state=0)
    labels = np.floor(4 * X) % 5
    kinds = small_models()
    with_categories = [
        clone(model).set_params(categorical_features=[0, 2]).fit(labels, y)
        for model in kinds.values()
        if "categorical_features" in model.get_params(deep=False)
    ]
    forest, constant = kinds["MaxMarginIntervalForest"], marginwood.IntervalDummyRegressor()
    linear, tree = marginwood.L1IntervalRegression(), kinds["MaxMarginIntervalTree"]
    holes = np.where(X > 9, np.nan, X)
    others = [
        clone(forest).set_params(n_estimators=20, oob_score=True).fit(X, y),
        clone(forest).fit(X, y, entry=np.full(len(y), -50.0)),
        clone(forest)
        .set_params(n_estimators=7, warm_start=True)
        .fit(X[:30], y[:30])
        .set_params(n_estimators=9)
        .fit(X, y),
        marginwood.MaxMarginIntervalBoosting(4, init=linear, random_state=0).fit(X, y),
        marginwood.IntervalSuperLearner([("linear", linear), ("constant", constant)], cv=2).fit(
            holes, y
        ),
        marginwood.DistributionalIntervalRegressor(tree, cv=2, neighbors=None).fit(X, y),
        marginwood.TransformedIntervalRegressor(clone(forest), func="arcsinh").fit(X, y),
        marginwood.DistributionalSuperLearner(
            [("curve", marginwood.CensoredLinearRegression()), ("forest", clone(forest))], cv=2
        ).fit(holes, y),
        marginwood.CensoredLinearRegression(alpha=0).fit(X, y),
        ConformalIntervalRegressor(clone(forest), method="oob", mode="meets").fit(X, y),
        ConformalIntervalRegressor(clone(forest), spread="distribution", cv=2, mode="meets").fit(
            X, y
        ),
    ]
    return [
        *(model.fit(X, y) for model in kinds.values()),
        *with_categories,
        *others,
        *fitted_pipelines(),
    ]


def fitted_steps():
    """Every transformer that a model file may hold, fitted, and what it makes of some rows."""
    X, _ = make_sine(40, 3, random_state=0)
    labels = np.floor(4 * X) % 5
    holes = np.where(X > 9, np.nan, X)
    encoders = [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first", sparse_output=False),
        OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist", drop="if_binary"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, max_categories=3),
        TargetEncoder(),
    ]
    scalers = [
        *(
            StandardScaler(),
            MinMaxScaler(),
            MaxAbsScaler(),
            RobustScaler(),
            Normalizer(),
            Binarizer(),
        ),
        *(
            PowerTransformer(),
            QuantileTransformer(n_quantiles=9),
            PolynomialFeatures(),
            VarianceThreshold(),
        ),
        *(
            KBinsDiscretizer(3, strategy="uniform"),
            KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
        ),
        *(
            PCA(2),
            IncrementalPCA(2),
            TruncatedSVD(2),
            FactorAnalysis(2),
            FastICA(2),
            GaussianRandomProjection(2),
        ),
        *(KernelPCA(2, kernel="rbf"), Nystroem(n_components=9), RBFSampler(n_components=9)),
        *(
            FunctionTransformer(np.arcsinh),
            FeatureUnion([("a", StandardScaler()), ("b", PCA(1))], n_jobs=1),
        ),
        ColumnTransformer(
            [("a", StandardScaler(), [0, 2]), ("b", "passthrough", slice(1, 2))],
            remainder=MinMaxScaler(),
        ),
    ]
    fillers = [
        SimpleImputer(add_indicator=True),
        MissingIndicator(),
        KNNImputer(n_neighbors=2),
        make_pipeline(SimpleImputer(), StandardScaler()),
    ]
    steps = [
        *((step.fit(labels, X[:, 0]), labels) for step in encoders),
        *((step.fit(X), X) for step in scalers),
        *((step.fit(holes), holes) for step in fillers),
    ]
    return [(step, step.transform(rows)) for step, rows in steps]


def fitted_pipelines():
    """A pipeline for each of these steps, with a model that takes sparse rows, too."""
    _, y = make_sine(40, 3, random_state=0)
    model = marginwood.L1IntervalRegression()
    return [
        Pipeline([("step", step), ("model", clone(model).fit(rows, y))])
        for step, rows in fitted_steps()
    ]


def at(state, path):
    """What a state holds at a path."""
    for key in path:
        state = state[key]
    return state


def places(state, path=()):
    """Paths to everything inside a plain state or a dictionary of JSON."""
    inside = (
        state.items()
        if isinstance(state, dict)
        else enumerate(state)
        if isinstance(state, list | tuple)
        else ()
    )
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


def replaced(state, path, change):
    """A copy of a state with the value at a path changed; None for removed."""
    if not path:
        return change(state)
    items = dict(state) if isinstance(state, dict) else list(state)
    items[path[0]] = replaced(items[path[0]], path[1:], change)
    if items[path[0]] is REMOVED:
        del items[path[0]]
    return tuple(items) if isinstance(state, tuple) else items


REMOVED = object()


def mutate_array(array, rng):
    """An array with another cell, type, shape or order."""
    kind = rng.randrange(8)
    array = array.copy()
    if kind < 4 and array.size:  # most of the time: it is cells that kernels read
        column = array[rng.choice(array.dtype.names)] if array.dtype.names else array
        flat = column.reshape(-1)
        value = rng.choice(
            INTEGERS + FLOATS + flat[: 2 + len(flat)].tolist() + [len(flat), len(flat) - 1]
        )
        with np.errstate(all="ignore"):
            cast = np.array(value, dtype=object if flat.dtype.kind in "US" else None).astype(
                flat.dtype
            )
        flat[rng.randrange(len(flat)) if rng.random() < 0.8 else slice(None)] = cast
        return array
    if kind == 4:
        with np.errstate(all="ignore"):
            if not array.dtype.names:
                return array.astype(rng.choice(DTYPES))
            name = rng.choice(array.dtype.names)
            types = [
                (field, rng.choice(DTYPES) if field == name else array.dtype[field])
                for field in array.dtype.names
            ]
            return array.astype(types)
    if kind == 5:
        shapes = [(-1, 1), (1, -1), (1, 1, -1)] + ([()] if array.size == 1 else [])
        return array.reshape(rng.choice(shapes))
    if kind == 6:
        array = np.atleast_1d(array)
        return rng.choice(
            [array[:0], array[:-1], array[::2], np.concatenate([array, array]), array[::-1]]
        )
    if array.dtype.names:
        names = list(array.dtype.names)
        rng.shuffle(names)
        array.dtype.names = tuple(names)
        return array
    return rng.choice(
        [array.tolist(), np.asfortranarray(array), array.byteswap(), array.astype("U")]
    )


def mutate_archive(content, rng):
    """The archive of a step, of which an array or a value is another."""
    with zipfile.ZipFile(io.BytesIO(content.tobytes())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members.pop(SCHEMA))
    arrays = [name for name in members if name.endswith(".npy")]
    for _ in range(rng.choice([1, 1, 2])):
        if arrays and rng.random() < 0.4:
            name = rng.choice(arrays)
            changed = io.BytesIO()
            np.save(
                changed,
                mutate_array(np.load(io.BytesIO(members[name]), allow_pickle=False), rng),
                False,
            )
            members[name] = changed.getvalue()
        else:
            values = [
                path
                for path in places(schema)
                if path[-1] == "content" and isinstance(at(schema, path), str)
            ]
            value = rng.choice([*INTEGERS, *FLOATS, None, True, "x", "mean", [], [0, 5], {}, 0.5])
            if rng.random() < 0.9:
                schema = replaced(
                    schema, rng.choice(values), lambda _, value=value: json.dumps(value)
                )
            else:  # a part of the step where another part belongs
                nodes = [path for path in places(schema) if path[-1] == "content"]
                other = at(schema, rng.choice(nodes))
                schema = replaced(
                    schema, rng.choice(nodes), lambda _, other=other: copy.deepcopy(other)
                )
    mutated = io.BytesIO()
    with zipfile.ZipFile(mutated, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        archive.writestr(SCHEMA, json.dumps(schema))
    return np.frombuffer(mutated.getvalue(), dtype=np.uint8)


def mutate(state, rng, junk):
    """A plain state, or a dictionary of JSON, of which something is changed."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        paths = list(places(state)) or [()]
        telling = [path for path in paths if OF_KERNELS & set(path)]
        path = rng.choice(telling if telling and rng.random() < 0.4 else paths)

        def change(value, whole=state, path=path):
            if isinstance(value, np.ndarray) and "steps" in path and rng.random() < 0.9:
                return mutate_archive(value, rng)
            if isinstance(value, np.ndarray) and rng.random() < 0.9:
                return mutate_array(value, rng)
            if type(value) is int and rng.random() < 0.7:
                return rng.choice(INTEGERS)
            if type(value) is float and rng.random() < 0.7:
                return rng.choice(FLOATS)
            if isinstance(value, list | tuple) and value and rng.random() < 0.5:
                return type(value)(
                    rng.choice([value[1:], value[::-1], [*value, *value], [value[0]] * len(value)])
                )
            if rng.random() < 0.2:
                return at(
                    whole, rng.choice(list(places(whole)) or [()])
                )  # a part where another belongs
            return rng.choice([REMOVED, *junk, *INTEGERS, *FLOATS])

        try:
            changed = replaced(state, path, change)
        except Exception:
            continue  # this value has no such form
        state = state if changed is REMOVED else changed
    return state


def as_file(state):
    import skops.io

    buffer = io.BytesIO(skops.io.dumps(state))
    header = {
        "format": FORMAT,
        "version": "0",
        "estimator": "x",
        "feature_names": None,
        "notes": {},
    }
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(HEADER, json.dumps(header))
    return buffer.getvalue()


def use(model):
    """Everything that reads a model's parts; only the process must survive all of it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, model.n_features_in_))
    rows[0], rows[1], rows[2] = np.nan, np.inf, -np.inf
    rows[3:6] = rng.integers(0, 5, rows[3:6].shape)  # categories, where a model has some
    finite = np.abs(np.nan_to_num(rows, posinf=1.0, neginf=0.0))
    for read in (
        lambda: model.predict(rows),
        lambda: model.predict(finite),
        lambda: model.predict_quantile(finite, [0.0, 0.3, 0.5, 1.0]),
        lambda: model.predict_survival_function(rows, [-1.0, 0.0, 0.7]),
        lambda: model.predict_distribution(finite).mean(within=(-2, 2)),
        lambda: model.predict_distribution(finite[:1])[0].support,
        lambda: model.predict_interval(finite, 0.5),
        lambda: model.apply(rows),
        lambda: model.decision_path(rows),
        lambda: model.feature_importances_,
        lambda: model.predict_optimal_interval(rows),
        lambda: model.get_depth(),
        lambda: export_text(model),
        lambda: to_dict(model),
        lambda: to_rules(model),
        lambda: to_sql(model),
    ):
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            read()  # a wrong parameter may be told when it is used


def run_case(number, plain, dictionaries, folder):
    """Raise anything but ValueError if a mutated model is not refused as it should be."""
    rng = random.Random(number)
    if number % 2:
        state = mutate(copy.deepcopy(rng.choice(plain)), rng, JUNK)
        try:
            content = as_file(state)
        except Exception:  # skops cannot write it, so no file holds it
            return
        path = folder / f"case-{number}.mw"
        path.write_bytes(content)
        try:
            model = marginwood.load(path)
        except ValueError:
            return
        finally:
            path.unlink()
    else:
        state = mutate(
            copy.deepcopy(rng.choice(dictionaries)),
            rng,
            [*JUNK, {CLASS: "array"}, {CLASS: "table"}],
        )
        try:
            model = from_dict(state)
        except ValueError:
            return
    n_features = getattr(model, "n_features_in_", None)
    if type(n_features) is not int or not 1 <= n_features <= 100:
        return
    if not isinstance(model, Pipeline):  # steps may refuse rows
        model.predict(np.zeros((3, n_features)))
    use(model)


def run_batch(numbers, run):
    """Run cases in a child; returns pairs of a case's number and what went wrong."""
    import resource  # of POSIX systems, as forks are

    read, write = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write, "w") as report:
            faulthandler.register(signal.SIGPROF, file=sys.stdout, chain=True)
            for number in numbers:
                signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_CASE)
                signal.alarm(PATIENCE)  # for one that waits for ever
                print(number, "started", file=report, flush=True)
                try:
                    run(number)
                except BaseException:
                    print(
                        number, traceback.format_exc().replace("\n", " | "), file=report, flush=True
                    )
            report.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as report:
        lines = [line.rstrip("\n").split(" ", 1) for line in report]
    _, status = os.waitpid(child, 0)
    failures = [(int(number), what) for number, what in lines if what != "started"]
    if status:
        last = int(lines[-1][0])
        failures.append((last, f"the process ended with status {status}"))
        failures += run_batch([number for number in numbers if number > last], run)
    return failures


def states_checker(folder):
    """A function of a case's number: a mutated state of any kind of model, odd numbers as files, even ones as JSON."""
    models = fitted_models()
    plain = [encode(model) for model in models]
    # No dictionary holds the steps of a pipeline.
    dictionaries = [
        json.loads(json.dumps(to_dict(model)))
        for model in models
        if not isinstance(model, Pipeline)
    ]
    for model in models:
        use(model)  # kernels are compiled before the children are made
    return lambda number: run_case(number, plain, dictionaries, folder)


def mutate_booster(booster, rng):
    """The JSON of a booster of which something is changed, mostly in the trees."""
    for _ in range(rng.choice([1, 1, 2])):
        paths = [
            path
            for path in places(booster)
            if len(path) < 3 or "trees" in path or rng.random() < 0.3
        ]
        path = rng.choice(paths)

        def change(value):
            if isinstance(value, list) and value and rng.random() < 0.5:
                return rng.choice(
                    [value[1:], value[::-1], value + value, [value[0]] * len(value), []]
                )
            if isinstance(value, str) and rng.random() < 0.5:
                return str(rng.choice([*INTEGERS, *FLOATS, "[1.0, 2.0]", "[]", "x"]))
            return rng.choice(
                [REMOVED, *INTEGERS, *INTEGERS, *FLOATS, None, True, "1", [], {}, [0], 10**30]
            )

        booster = replaced(booster, path, change)
        booster = {} if booster is REMOVED else booster
    return booster


def boosters_checker():
    """A function of a case's number: a mutated booster of XGBoost."""
    from marginwood.xgb import XGBIntervalRegressor

    X, y = make_sine(40, 3, random_state=0)
    kinds = [
        {},
        {"tree_method": "exact", "gamma": 0.2},
        {"xgb_params": {"booster": "dart", "rate_drop": 0.5}},
    ]
    states = [to_dict(XGBIntervalRegressor(3, max_depth=3, **kind).fit(X, y)) for kind in kinds]
    boosters = [bytes(state["model"]["booster_"]["content"]["items"]) for state in states]

    def run(number):
        rng = random.Random(number)
        which = rng.randrange(len(states))
        content = json.dumps(mutate_booster(json.loads(boosters[which]), rng)).encode()
        if rng.random() < 0.1:
            content = content[: rng.randrange(len(content))]
        state = copy.deepcopy(states[which])
        state["model"]["booster_"]["content"] = {
            CLASS: "array",
            "dtype": "uint8",
            "shape": [len(content)],
            "items": list(content),
        }
        try:
            model = from_dict(state)
        except ValueError:
            return
        model.predict(np.concatenate([X, np.full((1, 3), np.nan)]))
        use(model)
        model.booster_.trees_to_dataframe()

    return run


def fuzz(first, *, cases=None, hours=None, boosters=False):
    """Try mutations from a case on, so many or so long, in a process of their own.

    Returns what that prints: a line per failure, and in the last line the numbers of cases and of
    failures.
    """
    amount = ["--hours", str(hours)] if cases is None else ["--cases", str(cases)]
    words = [sys.executable, __file__, "--first", str(first), *amount, *["--boosters"] * boosters]
    result = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return result.stdout


def main():
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--cases", type=int, default=1000)
    amount.add_argument("--hours", type=float, help="go on for so long instead")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--boosters", action="store_true", help="boosters of XGBoost instead of states"
    )
    args = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        # XGBoost in a child would wait for the threads that OpenMP has made in this process: start
        # again without them.
        os.execve(sys.executable, sys.orig_argv, os.environ | {"OMP_NUM_THREADS": "1"})
    end = None if args.hours is None else time.monotonic() + 3600 * args.hours
    n_cases = n_failures = 0
    with tempfile.TemporaryDirectory() as folder:
        check = boosters_checker() if args.boosters else states_checker(Path(folder))
        while n_cases < args.cases if end is None else time.monotonic() < end:
            start = args.first + n_cases
            n_batch = BATCH if end is not None else min(BATCH, args.cases - n_cases)
            failures = run_batch(range(start, start + n_batch), check)
            for number, what in failures:
                sys.stdout.write(f"case {number}: {what}\n")
            sys.stdout.flush()
            n_cases += n_batch
            n_failures += len(failures)
    sys.stdout.write(f"{n_cases} cases, {n_failures} failures\n")
    return bool(n_failures)


if __name__ == "__main__":
    sys.exit(main())
