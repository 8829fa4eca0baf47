"""What fitted models hold: every part of every state has a check, and every check refuses what is unsound."""

import ast
import inspect
import re
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import marginwood
from marginwood._archive import STEPS, ArchiveError, find_estimators, load_transformer
from marginwood._soundness import ATTRIBUTES, check_attributes
from marginwood._states import CLASS, DECODERS, LEFT_OUT, decode_model, encode, known_classes
from marginwood._trees.bagging import DRAWN_AT_ONCE, Draw
from marginwood.datasets import make_sine
from marginwood.export import from_dict, to_dict
from mutations import at, fitted_models, fitted_steps, places

X, y = make_sine(40, 3, random_state=0)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
STATES = [
    encode(model)
    for model in [*fitted_models(), marginwood.MaxMarginIntervalTree(max_depth=1).fit(FRAME, y)]
]
LOADED = [decode_model(state) for state in STATES]
TREE_PARTS = {"nodes", "saw_missing", "n_categories", "offsets", "codes"}


def parameters_of(name):
    return inspect.signature(known_classes()[name]).parameters.keys()


def holders():
    """All estimators of the package inside the loaded models."""
    parts = [part for model in LOADED for part in find_estimators(model)]
    return [part for part in parts if type(part).__name__ in known_classes()]


def holder_of(name):
    """The attributes of an estimator that has this one, with something in it if it is an array."""
    found = [vars(part) for part in holders() if name in vars(part)]
    return max(found, key=lambda attributes: getattr(attributes[name], "size", 1) > 0)


def test_every_attribute_that_a_class_of_the_package_sets_has_a_check():
    found = set()
    for name, cls in known_classes().items():
        for base in cls.__mro__:
            if base.__module__.startswith("marginwood."):
                nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(base))))
                stored = [
                    node
                    for node in nodes
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                ]
                found |= {
                    node.attr for node in stored if ast.unparse(node.value) == "self"
                } - parameters_of(name)
    assert found > {"_intervals", "residual_mass_", "coef_"}
    # `shuffle` is a parameter of splitters, of which one has no choice.
    assert found - LEFT_OUT - {"shuffle"} <= ATTRIBUTES.keys()


def test_every_attribute_of_every_loaded_model_has_a_check_and_passes_it():
    found = set()
    for part in holders():
        found |= vars(part).keys() - parameters_of(type(part).__name__)
        check_attributes(vars(part))
    assert found == ATTRIBUTES.keys()


def test_every_array_of_every_state_has_a_check():
    """Kernels read arrays of node tables and of attributes; boosters and steps have checks of their own."""
    found = set()
    for state in STATES:
        for path in places(state):
            if isinstance(at(state, path), np.ndarray):
                above = [(at(state, path[:n]), path[n]) for n in range(len(path))]
                owner, name = [
                    (part, key) for part, key in above if isinstance(part, dict) and CLASS in part
                ][-1]
                found.add((owner[CLASS], name))
    assert {name for kind, name in found if kind == "IntervalTree"} == TREE_PARTS
    assert {kind for kind, _ in found} & DECODERS.keys() == {
        "IntervalTree",
        "Booster",
        "Pipeline",
        "ndarray",
    } - {"ndarray"}
    assert {name for kind, name in found if kind in known_classes()} <= ATTRIBUTES.keys()


def unsound(value):
    """What an attribute that has this value never has."""
    yield object()
    if isinstance(value, bool):
        yield from (0, "True", None)
    elif isinstance(value, int | float):
        yield from (True, "1", None, np.array([1.0, 2.0]))
    elif isinstance(value, str):
        yield from (3, ["a"])
    elif isinstance(value, np.ndarray):
        other_type = {"f": np.float32, "O": "U"}.get(value.dtype.kind, np.int16)
        yield from (
            None,
            value.tolist(),
            value[..., np.newaxis],
            value[0],
            value.astype(other_type),
        )
        if value.ndim == 2:
            yield value.repeat(2, axis=1)[:, ::2]  # not in C order
        if value.dtype == np.float64:
            yield value.astype(value.dtype.newbyteorder("S"))
    elif isinstance(value, list | tuple | dict):
        yield from (None, 3, "text", {3: 4}, [object()])


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_a_check_refuses_what_its_attribute_never_has(name):
    found = holder_of(name)
    for value in unsound(found[name]):
        # Any error is one of a damaged file.
        with pytest.raises((TypeError, ValueError, LookupError, AttributeError)):
            check_attributes(found | {name: value})


def forest_with(**changes):
    """The dictionary of a forest with other attributes."""
    forest = marginwood.MaxMarginIntervalForest(3, random_state=0).fit(X, y)
    vars(forest).update(changes)
    return to_dict(forest)


def with_row(array, row, value):
    changed = array.copy()
    changed[row] = value
    return changed


FOREST = marginwood.MaxMarginIntervalForest(3, random_state=0).fit(X, y)
UNSOUND_FORESTS = {
    "an end that is NaN": {"_intervals": with_row(FOREST._intervals, 3, np.nan)},
    "ends that are swapped": {"_intervals": FOREST._intervals + np.array([5.0, -5.0])},
    "an interval at infinity": {"_intervals": with_row(FOREST._intervals, 3, np.inf)},
    "a weight that is NaN": {"_weight": with_row(FOREST._weight, 3, np.nan)},
    "a negative weight": {"_weight": with_row(FOREST._weight, 3, -1.0)},
    "fewer weights than rows": {"_weight": FOREST._weight[:-1]},
    "a code beyond all cuts": {"_codes": with_row(FOREST._codes, 3, 255)},
    "codes that may be negative": {"_codes": FOREST._codes.astype(np.int64)},
    "codes of fewer rows": {"_codes": FOREST._codes[:-1]},
    "codes of fewer features": {"_codes": FOREST._codes[:, :-1]},
    "draws for fewer trees": {"_draws": FOREST._draws[1:]},
    "draws from more rows than can be": {"_draws": [(1, 10**12, 40)] * 3},
    "very many draws": {"_draws": [(1, 40, 3 * 10**8)] * 3},
    "a negative number of draws": {"_draws": [(1, 40, -1)] * 3},
    "a seed beyond those of NumPy": {"_draws": [(2**32, 40, 40)] * 3},
}


@pytest.mark.parametrize("what", UNSOUND_FORESTS)
def test_a_forest_whose_training_rows_are_unsound_is_refused(what):
    with pytest.raises(ValueError, match="not a model of marginwood, or damaged: "):
        from_dict(forest_with(**UNSOUND_FORESTS[what]))


def test_rows_are_drawn_as_at_once():
    draw = Draw(7, 30, 2 * DRAWN_AT_ONCE + 5)
    rows = np.random.RandomState(7).randint(0, 30, draw.n_draws)
    assert draw.counts().tolist() == np.bincount(rows, minlength=30).tolist()


def test_no_forest_that_could_not_be_loaded_is_fitted():
    marginwood.MaxMarginIntervalForest(1, max_samples=10**6, max_depth=1, random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match="max_samples: expected at most 1000000 draws from 40 rows, got 1000001"
    ):
        marginwood.MaxMarginIntervalForest(1, max_samples=10**6 + 1).fit(X, y)


def test_a_mixture_whose_weights_are_no_shares_is_refused():
    state = next(
        to_dict(part) for part in holders() if type(part).__name__ == "DistributionalSuperLearner"
    )
    names = list(state["model"]["weights_"])
    for weight in ({"__class__": "float", "text": "nan"}, -1.0, 1e308, True):
        with pytest.raises(ValueError, match="weights_: not what fit would have set"):
            from_dict(
                {**state, "model": {**state["model"], "weights_": dict.fromkeys(names, weight)}}
            )


@pytest.mark.parametrize(
    "step", [step for step, _ in fitted_steps()], ids=lambda step: type(step).__name__
)
def test_a_step_that_may_be_in_a_file_is_loaded(step):
    loaded = load_transformer(skops.io.dumps(step))
    assert type(loaded) is type(step)


def test_every_type_of_step_that_may_be_in_a_file_is_tried_out():
    parts = [part for step, _ in fitted_steps() for part in find_estimators(step)]
    assert {type(part).__name__ for part in parts} == STEPS - {"make_column_selector"}


def test_the_page_on_files_lists_these_types():
    page = (Path(__file__).parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    (line,) = [item for item in page.split("\n- ") if "ColumnTransformer" in item]
    assert set(re.findall("`([A-Za-z]+)`", line)) == STEPS - {
        "KernelCenterer",
        "make_column_selector",
    }


def test_support_vectors_are_refused_before_they_are_used():
    voting = VotingRegressor([("support", SVR())]).fit(X, X[:, 0])
    del voting.named_estimators_
    voting.estimators_[0]._dual_coef_ = voting.estimators_[0]._dual_coef_[:, :1]
    with pytest.raises(
        ArchiveError,
        match=r"VotingRegressor, sklearn\.svm\._classes\.SVR cannot be in a model file",
    ):
        load_transformer(skops.io.dumps(voting))


def test_a_step_gets_no_more_processes_than_there_are_processors_and_no_folder_of_pickles(tmp_path):
    union = FeatureUnion([("a", StandardScaler()), ("b", StandardScaler())], n_jobs=10_000)
    inner = Pipeline([("union", union), ("scale", StandardScaler())], memory=str(tmp_path))
    loaded = load_transformer(
        skops.io.dumps(ColumnTransformer([("inner", inner, [0, 1])], n_jobs=2**40))
    )
    assert {part.n_jobs for part in find_estimators(loaded) if hasattr(part, "n_jobs")} == {-1}
    assert {part.memory for part in find_estimators(loaded) if hasattr(part, "memory")} == {None}
    with pytest.raises(ValueError, match="n_jobs: expected an integer or None, got 'many'"):
        load_transformer(skops.io.dumps(union.set_params(n_jobs="many")))


def test_steps_are_found_wherever_they_are():
    inside = [OneHotEncoder(), PCA(), StandardScaler(), MinMaxScaler()]
    table = np.array([["a", inside[0]]], dtype=object)
    union = FeatureUnion(table)
    union.extra_ = {"x": (inside[1], [inside[2]]), "y": {inside[3]}, "itself": union}
    assert set(map(id, find_estimators(union))) == {id(union), *map(id, inside)}


LABELS = np.arange(40)[:, np.newaxis] % 4
ENCODERS = [
    *(OneHotEncoder(), OneHotEncoder(drop="first"), KBinsDiscretizer(4, strategy="uniform")),
    *(OneHotEncoder(max_categories=3), OneHotEncoder(max_categories=3, drop=[3])),
]
UNSOUND_ENCODERS = {
    "fewer columns than labels": {"_n_features_outs": [1]},
    "more columns than labels": {"_n_features_outs": [10**9]},
    "columns that would be added": {"_n_features_outs": np.array([4])},
    "a dropped label that is none": {"_drop_idx_after_grouping": np.array([-1], dtype=object)},
    "dropped labels of other features": {
        "_drop_idx_after_grouping": np.array([0, 0], dtype=object)
    },
    "labels in disorder": {"categories_": [np.array([3.0, 1.0, 2.0, 0.0])]},
    "labels in a table": {"categories_": [np.array([[0.0, 1.0, 2.0, 3.0]])]},
    "other labels": {"categories_": [np.arange(9.0)]},
    "rare labels beyond the columns": {
        "_infrequent_enabled": True,
        "_infrequent_indices": [np.array([0])],
        "_default_to_infrequent_mappings": [np.array([9, 0, 1, 2])],
    },
    "rare labels without a column": {
        "_infrequent_enabled": True,
        "_infrequent_indices": [np.array([0])],
        "_default_to_infrequent_mappings": [None],
    },
}


@pytest.mark.parametrize("what", UNSOUND_ENCODERS)
@pytest.mark.parametrize("step", ENCODERS, ids=repr)
def test_an_encoder_whose_labels_lead_beyond_its_columns_is_refused(step, what):
    step = clone(step).fit(LABELS.astype(np.float64))
    load_transformer(skops.io.dumps(step))
    vars(getattr(step, "_encoder", step)).update(UNSOUND_ENCODERS[what])
    with pytest.raises(ArchiveError, match="an encoder"):
        load_transformer(skops.io.dumps(step))
