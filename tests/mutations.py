"""Mutated models, each loaded in a forked child: a model file or a dictionary must raise ValueError or be a model.

``python -m tests.mutations --cases 10000`` tries that many of each kind and prints what went wrong, one line each. A
case is known by its number: ``--first 1234 --cases 1`` runs it again. Others may call `check_states` and
`check_boosters`, in a process with ``OMP_NUM_THREADS=1``.
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
import sys
import traceback
import zipfile
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import marginwood
from marginwood._persistence import FORMAT, HEADER
from marginwood._states import CLASS, encode
from marginwood.datasets import make_sine
from marginwood.export import export_text, from_dict, to_dict

sys.path.insert(0, str(Path(__file__).parent))
from conftest import PATIENCE
from models import small_models

BATCH = 25
# Of the processor: a busy machine is no failure.
SECONDS_PER_CASE = 10
MEMORY = 6 << 30
# What kernels read: it deserves a good share of the mutations.
OF_TREES = {"nodes", "n_categories", "offsets", "codes"}

INTEGERS = [-(2**63), -(2**31), -3, -2, -1, 0, 1, 2, 3, 7, 2**20, 2**31 - 1, 2**31, 10**9, 2**63 - 1]
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
    *(None, True, False, "", "x", "passthrough", "inf", [], (), {}, [[]], [None], {"a": 1}, 10**30, 1e400),
    *({CLASS: "os.system"}, {CLASS: "dict", "items": [1]}, {CLASS: "ndarray", "items": [[0]]}, {CLASS: []}),
    *({CLASS: "MaxMarginIntervalTree"}, {CLASS: "CensoringStratifiedKFold"}, {CLASS: "IntervalTree"}),
]


def fitted_models():
    """Two fitted models of each kind that takes categories, with and without them, one of each other; a pipeline."""
    X, y = make_sine(40, 3, random_state=0)
    labels = np.floor(4 * X) % 5
    kinds = small_models().values()
    with_categories = [
        clone(model).set_params(categorical_features=[0, 2]).fit(labels, y)
        for model in kinds
        if "categorical_features" in model.get_params(deep=False)
    ]
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", marginwood.MaxMarginIntervalTree())])
    return [*(model.fit(X, y) for model in (*kinds, pipeline)), *with_categories]


def places(state, path=()):
    """Paths to everything inside a plain state or a dictionary of JSON."""
    inside = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list | tuple) else ()
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
        value = rng.choice(INTEGERS + FLOATS + flat[: 2 + len(flat)].tolist() + [len(flat), len(flat) - 1])
        with np.errstate(all="ignore"):
            cast = np.array(value, dtype=object if flat.dtype.kind in "US" else None).astype(flat.dtype)
        flat[rng.randrange(len(flat)) if rng.random() < 0.8 else slice(None)] = cast
        return array
    if kind == 4:
        with np.errstate(all="ignore"):
            if not array.dtype.names:
                return array.astype(rng.choice(DTYPES))
            name = rng.choice(array.dtype.names)
            types = [
                (field, rng.choice(DTYPES) if field == name else array.dtype[field]) for field in array.dtype.names
            ]
            return array.astype(types)
    if kind == 5:
        shapes = [(-1, 1), (1, -1), (1, 1, -1)] + ([()] if array.size == 1 else [])
        return array.reshape(rng.choice(shapes))
    if kind == 6:
        array = np.atleast_1d(array)
        return rng.choice([array[:0], array[:-1], array[::2], np.concatenate([array, array]), array[::-1]])
    if array.dtype.names:
        names = list(array.dtype.names)
        rng.shuffle(names)
        array.dtype.names = tuple(names)
        return array
    return rng.choice([array.tolist(), np.asfortranarray(array), array.byteswap(), array.astype("U")])


def mutate(state, rng, junk):
    """A plain state, or a dictionary of JSON, of which something is changed."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        paths = list(places(state)) or [()]
        tables = [path for path in paths if OF_TREES & set(path)]
        path = rng.choice(tables if tables and rng.random() < 0.4 else paths)

        def change(value, whole=state):
            if isinstance(value, np.ndarray) and rng.random() < 0.9:
                return mutate_array(value, rng)
            if type(value) is int and rng.random() < 0.7:
                return rng.choice(INTEGERS)
            if type(value) is float and rng.random() < 0.7:
                return rng.choice(FLOATS)
            if isinstance(value, list | tuple) and value and rng.random() < 0.5:
                return type(value)(rng.choice([value[1:], value[::-1], [*value, *value], [value[0]] * len(value)]))
            if rng.random() < 0.2:
                other = whole  # a part of the model where another part belongs
                for key in rng.choice(list(places(whole)) or [()]):
                    other = other[key]
                return other
            return rng.choice([REMOVED, *junk, *INTEGERS, *FLOATS])

        try:
            changed = replaced(state, path, change)
        except (TypeError, ValueError, OverflowError):
            continue  # this value has no such form
        state = state if changed is REMOVED else changed
    return state


def as_file(state):
    import skops.io

    buffer = io.BytesIO(skops.io.dumps(state))
    header = {"format": FORMAT, "version": "0", "estimator": "x", "feature_names": None, "notes": {}}
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(HEADER, json.dumps(header))
    return buffer.getvalue()


def use(model):
    """Everything that reads a model's parts; only the process must survive all of it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, model.n_features_in_))
    rows[0], rows[1], rows[2] = np.nan, np.inf, -np.inf
    rows[3:6] = rng.integers(0, 5, rows[3:6].shape)  # categories, where a model has some
    for read in (
        lambda: model.predict(rows),
        lambda: model.apply(rows),
        lambda: model.decision_path(rows),
        lambda: model.feature_importances_,
        lambda: model.predict_optimal_interval(rows),
        lambda: model.get_depth(),
        lambda: export_text(model),
        lambda: to_dict(model),
    ):
        with contextlib.suppress(Exception):  # a wrong parameter may be told when it is used
            read()


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
        state = mutate(copy.deepcopy(rng.choice(dictionaries)), rng, [*JUNK, {CLASS: "array"}, {CLASS: "table"}])
        try:
            model = from_dict(state)
        except ValueError:
            return
    n_features = getattr(model, "n_features_in_", None)
    if not isinstance(n_features, int) or n_features > 100:
        return
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
                    print(number, traceback.format_exc().replace("\n", " | "), file=report, flush=True)
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


def run_cases(numbers, run):
    """Run cases in children; returns what went wrong."""
    numbers = list(numbers)
    batches = [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]
    return [failure for batch in batches for failure in run_batch(batch, run)]


def check_states(numbers, folder):
    """Mutated states of every kind of model: odd numbers as files, even ones as dictionaries."""
    models = fitted_models()
    plain = [encode(model) for model in models]
    # No dictionary holds the steps of a pipeline.
    dictionaries = [json.loads(json.dumps(to_dict(model))) for model in models if not isinstance(model, Pipeline)]
    for model in models:
        use(model)  # kernels are compiled before the children are made
    return run_cases(numbers, lambda number: run_case(number, plain, dictionaries, folder))


def mutate_booster(booster, rng):
    """The JSON of a booster of which something is changed, mostly in the trees."""
    for _ in range(rng.choice([1, 1, 2])):
        paths = [path for path in places(booster) if len(path) < 3 or "trees" in path or rng.random() < 0.3]
        path = rng.choice(paths)

        def change(value):
            if isinstance(value, list) and value and rng.random() < 0.5:
                return rng.choice([value[1:], value[::-1], value + value, [value[0]] * len(value), []])
            if isinstance(value, str) and rng.random() < 0.5:
                return str(rng.choice([*INTEGERS, *FLOATS, "[1.0, 2.0]", "[]", "x"]))
            return rng.choice([REMOVED, *INTEGERS, *INTEGERS, *FLOATS, None, True, "1", [], {}, [0], 10**30])

        booster = replaced(booster, path, change)
        booster = {} if booster is REMOVED else booster
    return booster


def check_boosters(numbers):
    """Mutated boosters of XGBoost."""
    from marginwood.xgb import XGBIntervalRegressor

    X, y = make_sine(40, 3, random_state=0)
    kinds = [{}, {"tree_method": "exact", "gamma": 0.2}, {"xgb_params": {"booster": "dart", "rate_drop": 0.5}}]
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

    return run_cases(numbers, run)


def main():
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--boosters", action="store_true", help="boosters of XGBoost instead of states")
    args = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        # XGBoost in a child would wait for the threads that OpenMP has made in this process: start again without them.
        os.execve(sys.executable, sys.orig_argv, os.environ | {"OMP_NUM_THREADS": "1"})
    numbers = range(args.first, args.first + args.cases)
    with tempfile.TemporaryDirectory() as folder:
        failures = check_boosters(numbers) if args.boosters else check_states(numbers, Path(folder))
    for number, what in failures:
        sys.stdout.write(f"case {number}: {what}\n")
    sys.stdout.write(f"{args.cases} cases, {len(failures)} failures\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
