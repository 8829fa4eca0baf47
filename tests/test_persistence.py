"""Models in files: round trips, whole writes, and files that are not to be trusted."""

import importlib.util
import inspect
import io
import json
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import traceback
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

import marginwood
from conftest import PATIENCE
from marginwood._archive import SCHEMA
from marginwood._persistence import HEADER, load_with_header
from marginwood._states import encode, known_classes
from marginwood._support.files import write_whole
from marginwood.datasets import make_sine
from marginwood.metrics import get_scorer
from models import small_models
from mutations import OF_TREES, fitted_models, fuzz, places

X, y = make_sine(80, 3, random_state=0)
X_missing = np.where(X > 9, np.nan, X)
MODELS = small_models()
# IntervalCART holds a tree of scikit-learn, which is not saved; this goes when it has a node table.


def same(a, b):
    """Whether two values are equal through and through, types of containers included."""
    if isinstance(a, np.ndarray):
        return (
            type(b) is np.ndarray
            and a.dtype == b.dtype
            and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
        )
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__") and not isinstance(a, type):
        keys = vars(a).keys() - {"random_state", "tree_", "booster_"}
        return type(a) is type(b) and all(same(vars(a)[key], vars(b)[key]) for key in keys)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b or (a != a and b != b)


def files(path):
    """The members of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def tree_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tree.mw"
    marginwood.save(marginwood.MaxMarginIntervalTree(max_depth=3).fit(X, y), path)
    return path


def test_classes_that_nothing_has_used_yet_are_known():
    program = "from marginwood._states import encode, known_classes; print(*known_classes())"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert set(result.stdout.split()) >= {
        name for name in marginwood.__all__ if name.endswith(("Regressor", "CV"))
    }


def test_every_estimator_of_the_package_is_known_by_its_name():
    assert {"MaxMarginIntervalTree", "CensoringStratifiedKFold"} <= known_classes().keys()
    for name, model in MODELS.items():
        assert known_classes()[name.partition(" ")[0]] is type(model)
    for cls in known_classes().values():
        assert cls.__module__.startswith("marginwood.")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("as_frame", [False, True])
def test_predictions_after_a_round_trip_are_identical(tmp_path, name, as_frame):
    features = X_missing if MODELS[name].__sklearn_tags__().input_tags.allow_nan else X
    if as_frame:
        features = pd.DataFrame(features, columns=["a", "dose (mg)", "größe"])
    model = MODELS[name].fit(features, y)
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    assert type(loaded) is type(model)
    assert loaded.predict(features).tobytes() == model.predict(features).tobytes()
    assert same(model, loaded)
    assert loaded.get_params().keys() == model.get_params().keys()


def test_a_loaded_tree_keeps_its_table_and_the_layout_that_kernels_are_compiled_for(tree_file):
    tree = marginwood.MaxMarginIntervalTree(max_depth=3).fit(X, y)
    loaded = marginwood.load(tree_file)
    assert loaded.tree_.nodes.tobytes() == tree.tree_.nodes.tobytes()
    assert loaded.tree_.nodes.dtype.isalignedstruct
    assert marginwood.export_text(loaded) == marginwood.export_text(tree)


def test_parameters_that_are_objects_come_back_as_their_defaults(tmp_path):
    random_state = np.random.RandomState(0)
    model = marginwood.IntervalSearchCV(
        marginwood.MaxMarginIntervalTree(),
        {"margin": 2},
        cv=KFold(3),
        scoring=get_scorer("neg_interval_mean_absolute_error"),
        checkpoint=tmp_path / "journal",
        random_state=random_state,
    ).fit(X, y)
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    tree = marginwood.MaxMarginIntervalTree()
    expected = marginwood.IntervalSearchCV(
        tree, {"margin": 2}, checkpoint=str(tmp_path / "journal")
    )
    assert str(loaded.get_params()) == str(expected.get_params())
    assert (loaded.predict(X) == model.predict(X)).all()
    clone(loaded).set_params(checkpoint=None).fit(X, y)
    model.cv = marginwood.CensoringStratifiedKFold(3, shuffle=True, random_state=random_state)
    marginwood.save(model, tmp_path / "model.mw")
    assert vars(marginwood.load(tmp_path / "model.mw").cv) == {
        "n_splits": 3,
        "shuffle": True,
        "random_state": None,
    }


def test_files_with_the_text_of_an_object_are_still_read(tmp_path):
    model = (
        marginwood.IntervalSearchCV(marginwood.L1IntervalRegression(), cv=3)
        .fit(X, y)
        .set_params(cv=str(KFold(3)))
    )
    marginwood.save(model, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    assert loaded.cv == str(KFold(3))
    assert (loaded.predict(X) == model.predict(X)).all()


def test_the_header_holds_version_names_and_notes(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    marginwood.save(
        MODELS["IntervalDummyRegressor"].fit(frame, y), tmp_path / "m.mw", notes={"rows": 80}
    )
    _, header = load_with_header(tmp_path / "m.mw")
    assert header["version"] == marginwood.__version__
    assert header["feature_names"] == ["a", "b", "c"]
    assert header["notes"] == {"rows": 80}


def test_what_cannot_be_saved_raises_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.mw"
    path.write_bytes(b"old")
    model = marginwood.MaxMarginIntervalTree().fit(X, y)
    model.extra_ = object()
    with pytest.raises(
        TypeError, match=r"MaxMarginIntervalTree\.extra_: a builtins\.object cannot be saved"
    ):
        marginwood.save(model, path)
    with pytest.raises(TypeError, match="cannot be saved"):
        marginwood.save(LinearRegression().fit(X, y[:, 0] > 0), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "model.mw"
    path.write_bytes(b"old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        marginwood.save(MODELS["IntervalDummyRegressor"].fit(X, y), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model.mw")
    marginwood.save(MODELS["IntervalDummyRegressor"].fit(X, y), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    marginwood.load(tmp_path / "model.mw")


def test_a_newer_format_is_named(tree_file, tmp_path):
    members = files(tree_file)
    members[HEADER] = json.dumps(json.loads(members[HEADER]) | {"format": 2, "version": "9.0"})
    with pytest.raises(ValueError, match=r"format 2 of marginwood '9.0'.*Update marginwood"):
        marginwood.load(zipped(tmp_path / "m.mw", members))


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX systems")
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_never_ends_or_begins_is_no_model_file(tmp_path, kind):
    path = tmp_path / "pipe" if kind == "pipe" else Path("/dev/zero")
    if kind == "pipe":
        os.mkfifo(path)
    program = "import marginwood, sys; marginwood.load(sys.argv[1])"
    words = [sys.executable, "-c", program, path]
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "ValueError" in result.stderr
    assert "it is no plain file" in result.stderr


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        marginwood.load(tmp_path / "nothing.mw")


class Bomb:
    def __reduce__(self):
        return Path.touch, (Path("was_run"),)


def test_a_pickle_is_refused_and_not_run(tmp_path, monkeypatch, tree_file):
    monkeypatch.chdir(tmp_path)
    Path("bare.mw").write_bytes(pickle.dumps(Bomb()))
    members = files(tree_file)
    array = next(name for name in members if name.endswith(".npy"))
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()]), allow_pickle=True)
    zipped("inside.mw", members | {array: stream.getvalue()})
    for name in ("bare.mw", "inside.mw"):
        with pytest.raises(ValueError, match="not a model file"):
            marginwood.load(name)
    assert not Path("was_run").exists()


def plain(value):
    """A schema node of a value of JSON."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


FOREIGN = {
    "a function": {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
    "a type": {"__class__": "Popen", "__module__": "subprocess", "__loader__": "TypeNode"},
    "an estimator of scikit-learn": {
        "__class__": "LinearRegression",
        "__module__": "sklearn.linear_model._base",
        "__loader__": "ObjectNode",
    },
    "a constructor": {
        "__class__": "Popen",
        "__module__": "subprocess",
        "__loader__": "ConstructorFromReduceNode",
        "content": {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "content": [plain("ls")],
        },
    },
    "a type of skops' defaults": {
        "__class__": "add",
        "__module__": "numpy",
        "__loader__": "FunctionNode",
    },
    "another type by a known loader": {
        "__class__": "defaultdict",
        "__module__": "collections",
        "__loader__": "DictNode",
        "content": {},
        "key_types": {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "content": [],
        },
    },
    "a reference": {"__class__": None, "__module__": None, "__loader__": "CachedNode", "__id__": 1},
    "no node": "text",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_types_are_refused(tree_file, tmp_path, kind):
    members = files(tree_file)
    schema = json.loads(members[SCHEMA])
    schema["content"]["margin"] = FOREIGN[kind]
    with pytest.raises(ValueError, match="not a model file"):
        marginwood.load(zipped(tmp_path / "m.mw", members | {SCHEMA: json.dumps(schema)}))


def test_what_a_file_says_cannot_command_a_terminal(tree_file, tmp_path):
    members = files(tree_file)
    schema = json.loads(members[SCHEMA])
    schema["content"]["margin"] |= {"__module__": "x\x1b[2J", "__class__": "dict"}
    with pytest.raises(ValueError, match=r"x\\x1b\[2J\.dict") as caught:
        marginwood.load(zipped(tmp_path / "m.mw", members | {SCHEMA: json.dumps(schema)}))
    assert "\x1b" not in "".join(traceback.format_exception(caught.value))


def with_state(tree_file, path, change):
    """A copy of a file whose plain state went through `change`."""
    import skops.io

    members = files(tree_file)
    header = members.pop(HEADER)
    state = skops.io.loads(zipped(path, members).read_bytes())
    change(state)
    path.write_bytes(skops.io.dumps(state))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(HEADER, header)
    return path


def set_cell(column, row, value):
    def change(state):
        state["tree_"]["nodes"][column][row] = value

    return change


def replace(key, value):
    return lambda state: state["tree_"].update({key: value})


HOSTILE = {
    "a child beyond the table": set_cell("children_left", 0, 10**6),
    "children in a circle": set_cell("children_left", 1, 0),
    "a negative child": set_cell("children_left", 0, -7),
    "children that are not neighbours": set_cell("children_right", 0, 4),
    "a feature beyond X": set_cell("feature", 0, 3),
    "a negative feature": set_cell("feature", 0, -2),
    "a leaf with a feature far beyond X": set_cell("feature", -1, 2**31 - 1),
    "a leaf with a child": set_cell("children_right", -1, 1),
    "a node that is nobody's child": lambda state: state["tree_"].update(
        nodes=np.concatenate([state["tree_"]["nodes"], state["tree_"]["nodes"][-1:]])
    ),
    "a threshold that is NaN": set_cell("threshold", 0, np.nan),
    "a value that is NaN": set_cell("value", -1, np.nan),
    "a value that is infinite": set_cell("value", -1, np.inf),
    "an impurity that is infinite": set_cell("impurity", 0, np.inf),
    "a weight that is infinite": set_cell("weighted_n_node_samples", 0, np.inf),
    "a side that is neither": set_cell("missing_go_to_left", 0, 7),
    "fewer than no samples": set_cell("n_node_samples", 0, -1),
    "names for other features": lambda state: state.update(feature_names_in_=np.array(["a", "b"])),
    "names that are numbers": lambda state: state.update(feature_names_in_=np.arange(3)),
    "a number of threads in words": lambda state: state.update(n_jobs="many"),
    "an empty table": replace(
        "nodes", np.empty(0, marginwood.MaxMarginIntervalTree().fit(X, y).tree_.nodes.dtype)
    ),
    "a table of numbers": replace("nodes", np.zeros(5)),
    "a table of text": replace("nodes", "nodes"),
    "too few features": replace("saw_missing", np.zeros(2, dtype=bool)),
    "no estimator": lambda state: state.update(__class__="eval"),
    "a splitter": lambda state: state.update(__class__="CensoringStratifiedKFold"),
    "another estimator": lambda state: state.update(__class__="MaxMarginIntervalForest"),
    "many features": lambda state: state.update(n_features_in_=10**12),
    "a number of features in words": lambda state: state.update(n_features_in_="three"),
    "no table": lambda state: state.pop("tree_"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_states_are_refused(tree_file, tmp_path, kind):
    with pytest.raises(ValueError, match="not a model file"):
        marginwood.load(with_state(tree_file, tmp_path / "m.mw", HOSTILE[kind]))


def test_a_compressed_member_is_refused_before_it_is_read(tree_file, tmp_path):
    members = files(tree_file) | {"bomb.npy": bytes(10**7)}
    path = zipped(tmp_path / "m.mw", members, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**5
    with pytest.raises(ValueError, match="compressed"):
        marginwood.load(path)


def test_an_array_that_claims_to_be_larger_is_refused(tree_file, tmp_path):
    members = files(tree_file)
    array = next(name for name in members if name.endswith(".npy"))
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    members[array] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    with pytest.raises(ValueError, match="another size"):
        marginwood.load(zipped(tmp_path / "m.mw", members))


def test_deep_nesting_is_refused(tree_file, tmp_path):
    members = files(tree_file)
    opened = (
        '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": ['
    )
    members[SCHEMA] = opened * 20_000 + "]}" * 20_000
    with pytest.raises(ValueError, match="not a model file"):
        marginwood.load(zipped(tmp_path / "m.mw", members))


def survives(path):
    """Load a file: either it is refused with a ValueError, or it is a model that predicts."""
    try:
        model = marginwood.load(path)
    except ValueError:
        return False
    model.predict(np.zeros((5, model.n_features_in_)))
    return True


def test_truncated_and_mutated_files_are_refused_or_harmless(tree_file, tmp_path):
    valid, path, rng = tree_file.read_bytes(), tmp_path / "m.mw", random.Random(0)
    n_loaded = 0
    for _ in range(1500):
        content = bytearray(valid)
        if rng.random() < 0.2:
            del content[rng.randrange(len(content)) :]
        else:
            for _ in range(rng.choice([1, 1, 2, 10])):
                content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        n_loaded += survives(path)
    assert n_loaded < 750  # most bytes count


@pytest.mark.parametrize(
    "name", ["MaxMarginIntervalTree", "MaxMarginIntervalForest", "MaxMarginIntervalBoosting"]
)
def test_mutated_members_with_right_checksums_are_refused_or_harmless(tmp_path, name):
    path, rng = tmp_path / "m.mw", random.Random(0)
    marginwood.save(MODELS[name].fit(X[:12], y[:12]), path)
    valid = files(path)
    n_loaded = 0
    for _ in range(500):
        members = dict(valid)
        for _ in range(rng.choice([1, 1, 2, 5])):
            member = rng.choice(list(members))
            content = bytearray(members[member])
            place = rng.randrange(len(content))
            if member.endswith(".npy"):
                place = rng.randrange(min(64, len(content) - 1), len(content))
            content[place] = rng.choice(
                [0, 1, 255, ord("0"), ord("9"), rng.randrange(256), content[place] ^ 1]
            )
            members[member] = bytes(content)
        n_loaded += survives(zipped(path, members))
    assert 0 < n_loaded < 500


def frame_with_text():
    city = np.array(["Bonn", "Köln", "Ulm"])[np.arange(len(X)) % 3]
    return pd.DataFrame(
        {"city": city, "dose": np.where(X[:, 0] > 9, np.nan, X[:, 0]), "age": X[:, 1]}
    )


def columns_and(model):
    """A pipeline that encodes the text, fills holes and scales."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [
        ("text", OneHotEncoder(), ["city"]),
        ("numbers", numbers, make_column_selector(dtype_include="number")),
    ]
    return Pipeline([("columns", ColumnTransformer(parts, sparse_threshold=0.0)), ("model", model)])


@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_that_ends_with_a_model_survives(tmp_path, name):
    frame = frame_with_text()
    pipeline = columns_and(clone(MODELS[name])).fit(frame, y)
    marginwood.save(pipeline, tmp_path / "model.mw")
    loaded, header = load_with_header(tmp_path / "model.mw")
    assert loaded.predict(frame).tobytes() == pipeline.predict(frame).tobytes()
    assert [step for step, _ in loaded.steps] == ["columns", "model"]
    assert same(pipeline[-1], loaded[-1])
    assert header["feature_names"] == ["city", "dose", "age"]
    clone(loaded).fit(frame, y)


def test_a_pipeline_inside_a_pipeline_and_steps_that_pass_on_survive(tmp_path):
    inner = make_pipeline(
        "passthrough", MaxAbsScaler(), marginwood.MaxMarginIntervalTree(max_depth=2)
    )
    pipeline = Pipeline(
        [("none", None), ("log", FunctionTransformer(np.log1p)), ("rest", inner)]
    ).fit(X, y)
    marginwood.save(pipeline, tmp_path / "model.mw")
    loaded = marginwood.load(tmp_path / "model.mw")
    assert loaded.predict(X).tobytes() == pipeline.predict(X).tobytes()


REFUSED = {
    "a function of the user": (
        FunctionTransformer(lambda rows: rows),
        r"<lambda> cannot be in a model file",
    ),
    "a forest of scikit-learn": (
        SelectFromModel(RandomForestRegressor(2)),
        r"SelectFromModel.*sklearn\.tree\._tree\.Tree cannot be in a model file",
    ),
    "a generator": (
        PCA(2, random_state=np.random.RandomState(0)),
        r"RandomState cannot be in a model file",
    ),
    "splines": (SplineTransformer(), r"SplineTransformer cannot be in a model file"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_step_that_cannot_be_saved_is_named_with_the_reason(tmp_path, kind):
    step, reason = REFUSED[kind]
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("odd one", step),
            ("tree", marginwood.MaxMarginIntervalTree()),
        ]
    )
    target = X[:, 0] if kind == "a forest of scikit-learn" else y
    with pytest.raises(
        TypeError, match=f"'odd one': this step of the pipeline cannot be saved: .*{reason}"
    ):
        marginwood.save(pipeline.fit(X, target), tmp_path / "model.mw")
    assert list(tmp_path.iterdir()) == []


def test_a_pipeline_that_ends_with_another_model_cannot_be_saved(tmp_path):
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X[:, 0])
    with pytest.raises(
        TypeError, match=r"'linearregression': a sklearn.*LinearRegression cannot be saved"
    ):
        marginwood.save(pipeline, tmp_path / "model.mw")


def hostile_steps():
    """Archives of skops that are no transformers, or hold more than skops trusts."""
    import skops.io

    scaler = StandardScaler().fit(X)
    yield "an estimator without transform", skops.io.dumps(LinearRegression().fit(X, X[:, 0]))
    yield "no estimator", skops.io.dumps([1, 2])
    yield "a function", skops.io.dumps(FunctionTransformer(Path.touch))
    yield "a constructor", skops.io.dumps(FunctionTransformer(kw_args={"path": Path("was_run")}))
    yield "a pickle", pickle.dumps(Bomb())
    yield "compressed", skops.io.dumps(scaler, compression=zipfile.ZIP_DEFLATED)
    yield "nothing", b""
    yield "cut off", skops.io.dumps(scaler)[:-30]


HOSTILE_STEPS = dict(hostile_steps())


@pytest.mark.parametrize("kind", HOSTILE_STEPS)
def test_hostile_steps_are_refused_and_not_run(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    pipeline = make_pipeline(StandardScaler(), marginwood.MaxMarginIntervalTree()).fit(X, y)
    marginwood.save(pipeline, "model.mw")

    def change(state):
        state["steps"] = [("scale", np.frombuffer(HOSTILE_STEPS[kind], dtype=np.uint8))]

    with pytest.raises(ValueError, match="not a model file"):
        marginwood.load(with_state(Path("model.mw"), Path("m.mw"), change))
    assert not Path("was_run").exists()


def test_requests_for_routing_are_left_out(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = marginwood.MaxMarginIntervalTree().set_fit_request(sample_weight=True).fit(X, y)
        marginwood.save(model, tmp_path / "model.mw")
    assert marginwood.load(tmp_path / "model.mw").predict(X).tobytes() == model.predict(X).tobytes()


def test_attributes_of_any_plain_shape_come_back(tmp_path):
    model = marginwood.MaxMarginIntervalTree().fit(X, y)
    model.extra_ = {
        "weights": {"a": 0.5, "b": np.float64(1.5)},
        "by number": {0: [1], (1, "x"): np.arange(3), None: {}},
        "masses": [np.ones((2, 3), dtype=np.float32), np.array(["ä", None, 3], dtype=object)],
        "models": {
            "inner": [marginwood.MaxMarginIntervalForest(2, random_state=0).fit(X[:, :2], y)]
        },
        "__class__": "a key like any other",
    }
    marginwood.save(model, tmp_path / "model.mw")
    assert same(model.extra_, marginwood.load(tmp_path / "model.mw").extra_)


def test_an_ensemble_is_never_loaded_with_a_tree_for_other_features(tmp_path):
    booster = marginwood.MaxMarginIntervalBoosting(3, random_state=0).fit(X, y)
    booster.estimators_[1] = marginwood.MaxMarginIntervalTree().fit(X[:, :2], y)
    marginwood.save(booster, tmp_path / "model.mw")
    with pytest.raises(ValueError, match="expected 2 features, got 3"):
        marginwood.load(tmp_path / "model.mw")


posix = pytest.mark.skipif(
    os.name != "posix", reason="permissions, signals and locks of POSIX systems"
)


@posix
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "model.mw"
    model = MODELS["IntervalDummyRegressor"].fit(X, y)
    marginwood.save(model, path)
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    path.chmod(0o600)
    marginwood.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o600


KILLED = """
import os, runpy, signal, sys
files = runpy.run_path(sys.argv[1])
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
files["write_whole"](sys.argv[2], b"new")
"""


@posix
def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path):
    path, other = tmp_path / "model.mw", tmp_path / ".another.mw.0123abcd.partial"
    path.write_bytes(b"old")
    other.touch()
    for _ in range(2):
        words = [sys.executable, "-c", KILLED, inspect.getsourcefile(write_whole), path]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    left = [entry for entry in tmp_path.iterdir() if entry not in (path, other)]
    assert [entry.read_bytes() for entry in left] == [
        b"new"
    ]  # the second removed what the first had left
    assert path.read_bytes() == b"old"
    write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert sorted(tmp_path.iterdir()) == sorted([path, other])


@posix
def test_what_another_process_is_writing_is_left_alone(tmp_path):
    import fcntl

    path, partial = tmp_path / "model.mw", tmp_path / ".model.mw.0123abcd.partial"
    with partial.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(path, b"whole")
        assert partial.exists()
    write_whole(path, b"whole")
    assert not partial.exists()


WRITE = "import runpy, sys; runpy.run_path(sys.argv[1])['write_whole'](sys.argv[2], b'new')"


@posix
def test_pipes_and_links_that_are_named_like_partial_files_are_left_alone(tmp_path):
    path, pipe, link = (
        tmp_path / name for name in ("m.mw", ".m.mw.0123abcd.partial", ".m.mw.4567abcd.partial")
    )
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "other")
    (tmp_path / "other").touch()
    words = [sys.executable, "-c", WRITE, inspect.getsourcefile(write_whole), path]
    subprocess.run(
        words, check=True, timeout=PATIENCE
    )  # a process that waits for ever can be ended
    assert path.read_bytes() == b"new"
    assert pipe.is_fifo()
    assert link.is_symlink()


@posix
def test_many_writers_of_one_file_all_succeed_and_leave_nothing(tmp_path):
    path = tmp_path / "model.mw"
    contents = [bytes([number]) * 100_000 for number in range(8)]

    def write(content):
        for _ in range(30):
            write_whole(path, content)

    with ThreadPoolExecutor(len(contents)) as pool:
        list(pool.map(write, contents))
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("boosters", [False, True])
def test_mutated_models_raise_or_are_models(boosters):
    # A process of its own, which forks: a crash ends a child, and threads of other tests are not
    # there.
    if boosters and not importlib.util.find_spec("xgboost"):
        pytest.skip("XGBoost is optional")
    n_cases = int(os.environ.get("MARGINWOOD_MUTATIONS", "300"))
    printed = fuzz(0, cases=n_cases, boosters=boosters)
    assert printed.splitlines()[-1] == f"{n_cases} cases, 0 failures", printed


def test_models_with_categories_are_among_those_mutated():
    names = {path[-1] for model in fitted_models() for path in places(encode(model))}
    assert names >= OF_TREES


# The second case would never end.
BUSY = """
import mutations
mutations.SECONDS_PER_CASE = 1
def run(number):
    while number == 1:
        pass
print(mutations.run_batch([0, 1, 2], run))
"""


@posix
def test_a_mutated_model_that_keeps_the_processor_busy_is_given_up():
    words = [sys.executable, "-c", BUSY]
    folder = Path(__file__).parent
    result = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert f"[(1, 'the process ended with status {signal.SIGPROF:d}')]" in result.stdout


def test_what_the_trees_of_a_forest_have_in_common_is_written_once(tmp_path):
    X, y = make_sine(60, random_state=0)
    sizes = []
    for n_trees in (20, 40):
        forest = marginwood.MaxMarginIntervalForest(n_trees, max_depth=1, random_state=0).fit(X, y)
        marginwood.save(forest, tmp_path / "forest.mw")
        sizes.append((tmp_path / "forest.mw").stat().st_size)
        loaded = marginwood.load(tmp_path / "forest.mw")
        for own, kept in zip(forest.estimators_, loaded.estimators_, strict=True):
            assert own.get_params() == kept.get_params()
            assert np.array_equal(own.tree_.nodes, kept.tree_.nodes)
    assert sizes[1] - sizes[0] < 20 * 8000
