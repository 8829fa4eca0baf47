"""Models as dictionaries: round trips through JSON, and dictionaries that are not to be trusted."""

import copy
import json
import random
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import marginwood
from marginwood import MaxMarginIntervalBoosting, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood.export import export_text, from_dict, to_dict
from models import small_models
from strategies import losses, margins, stopping_rules, tree_problems
from trees import ENSEMBLES, TREES, X, chain, name_of, probes, y

pytestmark = pytest.mark.filterwarnings("ignore:.*are \\(-inf, inf\\):UserWarning")
MODELS = small_models()


def through_json(model):
    return from_dict(json.loads(json.dumps(to_dict(model), allow_nan=False)))


def assert_same(model, loaded, rows):
    assert type(loaded) is type(model)
    assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert loaded.get_params().keys() == model.get_params().keys()


@given(tree_problems(), losses, margins, stopping_rules())
def test_a_tree_survives_json_bit_for_bit(problem, loss, margin, stopping):
    tree = MaxMarginIntervalTree(loss=loss, margin=margin, **stopping).fit(*problem)
    loaded = through_json(tree)
    assert_same(tree, loaded, np.concatenate([problem.X, probes(tree, 20)]))
    assert loaded.tree_.nodes.tobytes() == tree.tree_.nodes.tobytes()
    assert loaded.tree_.nodes.dtype.isalignedstruct
    assert loaded.get_params() == tree.get_params()


@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=name_of)
def test_every_model_of_trees_survives_json(model):
    assert_same(model, through_json(model), probes(model))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*infinite")  # ranges of rows that are mostly open
def test_every_model_of_the_package_survives_json(name):
    features = np.nan_to_num(X, posinf=20.0, neginf=-20.0)
    model = clone(MODELS[name]).fit(features, y)
    assert_same(model, through_json(model), features)


def test_names_and_parameters_come_back():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", 'dose "mg"', "größe"])
    tree = MaxMarginIntervalTree(margin=0.5, max_features=2 / 3).fit(frame, y)
    loaded = through_json(tree)
    assert export_text(loaded) == export_text(tree)
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    assert loaded.get_params() == tree.get_params()
    loaded.fit(frame, y)


def test_infinities_tuples_and_texts_are_kept_apart():
    tree = MaxMarginIntervalTree().fit([[0.0], [nan]], [(2, inf), (-inf, 0)])
    tree.extra_ = [inf, -inf, nan, "inf", (1, (2.5,)), None, True]
    extra = through_json(tree).extra_
    assert repr(extra) == repr(tree.extra_)


def test_arrays_among_the_parameters_are_kept():
    model = copy.copy(TREES[1])
    arrays = np.array([0.1, inf], dtype=np.float32), np.array(["linear_hinge", ""])
    model.grid = dict(zip(("margin", "loss"), arrays, strict=True))
    model.cv = [(np.arange(5, dtype=np.uint64) + 2**63, np.zeros((2, 0), dtype=bool))]
    loaded = through_json(model)
    for kept, array in [
        (loaded.grid["margin"], model.grid["margin"]),
        (loaded.grid["loss"], model.grid["loss"]),
        *zip(*loaded.cv, *model.cv, strict=True),
    ]:
        assert kept.dtype == array.dtype
        np.testing.assert_array_equal(kept, array, strict=True)
    model.grid = {"margin": np.array([1j])}
    with pytest.raises(TypeError, match="got one of complex128"):
        to_dict(model)


def test_a_model_tuned_with_objects_can_be_cloned_and_fitted_again():
    features = np.nan_to_num(X, posinf=20.0, neginf=-20.0)
    loaded = through_json(
        marginwood.IntervalSearchCV(marginwood.L1IntervalRegression(), cv=KFold(3)).fit(features, y)
    )
    plain = marginwood.IntervalSearchCV(marginwood.L1IntervalRegression())
    assert str(loaded.get_params()) == str(plain.get_params())
    clone(loaded).fit(features, y)


def test_whole_numbers_may_stand_for_floats():
    state = to_dict(MaxMarginIntervalTree().fit([[0], [1]], [0.0, 5.0]))
    columns = state["model"]["tree_"]["nodes"]["columns"]
    columns["value"]["items"] = [int(2 * value) for value in columns["value"]["items"]]
    assert from_dict(state).predict([[1]]).tolist() == [10.0]


def test_a_very_deep_tree_survives():
    tree = chain(2000)
    assert_same(tree, through_json(tree), np.arange(-1.0, 4002.0, 200.0)[:, np.newaxis])


def test_what_is_no_fitted_model_is_refused():
    with pytest.raises(NotFittedError):
        to_dict(MaxMarginIntervalTree())
    with pytest.raises(
        TypeError, match=r"expected a fitted estimator of marginwood.*got LinearRegression"
    ):
        to_dict(LinearRegression().fit(np.zeros((2, 1)), [0.0, 1.0]))
    with pytest.raises(TypeError):
        to_dict(3)


SMALL = to_dict(MaxMarginIntervalTree().fit([[0], [1], [2]], [0.0, 5.0, 9.0]))
COLUMNS = ("model", "tree_", "nodes", "columns")


def changed(path, value):
    """The dictionary of a small tree with one entry replaced, or removed if the value is `changed`."""
    state = copy.deepcopy(SMALL)
    *parents, last = path
    place = state
    for key in parents:
        place = place[key]
    if value is changed:
        del place[last]
    else:
        place[last] = value
    return state


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), changed, "with a format"),
        (("format",), True, "with a format"),
        (("format",), 0, "with a format"),
        (("format",), 2, "reads up to 1. Update marginwood"),
        (("model",), changed, "KeyError: 'model'"),
        (("model",), [], "n_features_in_"),
        (("model", "__class__"), "os.system", "not a class of a model"),
        (("model", "__class__"), ["MaxMarginIntervalTree"], "not a class of a model"),
        (("model", "__class__"), "CensoringStratifiedKFold", "expected a model"),
        (("model", "n_features_in_"), 10**30, "n_features_in_"),
        (("model", "n_features_in_"), 2, "a node table is for 1 features, and its tree for 2"),
        (("model", "tree_"), changed, "."),
        (("model", "tree_"), "tree", "no node table"),
        (("model", "tree_"), SMALL["model"], "no node table"),
        (("model", "predict"), "text", "not callable"),
        ((*COLUMNS, "value"), changed, "needs the columns"),
        (
            (*COLUMNS, "other"),
            SMALL["model"]["tree_"]["nodes"]["columns"]["value"],
            "needs the columns",
        ),
        ((*COLUMNS, "feature", "items"), [5, -2, 0, -2, -2], "beyond the 1 of the model"),
        ((*COLUMNS, "feature", "items"), [-1, -2, 0, -2, -2], "beyond the 1 of the model"),
        (
            (*COLUMNS, "feature", "items"),
            [0, 2**31 - 1, 0, -2, -2],
            "a leaf has a child or a feature",
        ),
        (
            (*COLUMNS, "children_right", "items"),
            [2, 4, 4, -1, -1],
            "a leaf has a child or a feature",
        ),
        ((*COLUMNS, "children_left", "items"), [0, -1, 3, -1, -1], "backwards"),
        ((*COLUMNS, "children_left", "items"), [1, 0, 3, -1, -1], "backwards"),
        ((*COLUMNS, "children_left", "items"), [3, -1, 3, -1, -1], "share a child|neighbours"),
        ((*COLUMNS, "children_left", "items"), [1, -1, 2**31 - 1, -1, -1], "beyond the table"),
        ((*COLUMNS, "children_left", "items"), [1, -1, 2**31, -1, -1], "beyond int32"),
        ((*COLUMNS, "children_left", "items"), [1, -1, 10**400, -1, -1], "."),
        ((*COLUMNS, "children_left", "items"), [1.5, -1, 3, -1, -1], "is not of int32"),
        ((*COLUMNS, "children_left", "items"), [True, -1, 3, -1, -1], "is not of int32"),
        ((*COLUMNS, "children_left", "items"), [1, -1, 3], "."),
        ((*COLUMNS, "children_left", "items"), 7, "."),
        ((*COLUMNS, "children_left", "dtype"), "int64", "needs the columns"),
        ((*COLUMNS, "children_left", "dtype"), "object", "KeyError"),
        ((*COLUMNS, "children_left", "dtype"), ["int32"], "."),
        ((*COLUMNS, "children_left", "shape"), [10**15], "."),
        ((*COLUMNS, "children_left", "shape"), ["a"], "."),
        ((*COLUMNS, "children_left", "shape"), [5, 1], "."),
        ((*COLUMNS, "threshold", "items"), ["0.5", 0.0, 0.0, 0.0, 0.0], "is not of float64"),
        ((*COLUMNS, "threshold", "items"), [10**400, 0.0, 0.0, 0.0, 0.0], "."),
        ((*COLUMNS, "threshold", "items"), ["nan", 0.0, 0.0, 0.0, 0.0], "threshold is NaN"),
        ((*COLUMNS, "threshold", "items"), [None, 0.0, 0.0, 0.0, 0.0], "is not of float64"),
        (COLUMNS, {}, "."),
        (COLUMNS, [], "."),
        (("model", "margin"), {"__class__": "float", "text": "1e5"}, "KeyError"),
        (("model", "n_jobs"), "many", "n_jobs: expected an integer or None, got 'many'"),
    ],
)
def test_a_damaged_dictionary_raises_and_says_so(path, value, message):
    with pytest.raises(
        ValueError, match=f"state: not a model of marginwood, or damaged: .*({message})"
    ):
        from_dict(changed(path, value))


def test_an_array_where_a_number_belongs_is_refused():
    state = to_dict(marginwood.IntervalDummyRegressor().fit(X, y))
    for n_values in (2, 3):
        items = [0.5] * n_values
        state["model"]["constant_"] = {
            "__class__": "array",
            "dtype": "float64",
            "shape": [n_values],
            "items": items,
        }
        with pytest.raises(ValueError, match="damaged"):
            from_dict(state)


@pytest.mark.parametrize("state", [None, [], "text", {}, {"format": "1"}])
def test_what_is_no_dictionary_of_a_model_raises(state):
    with pytest.raises(ValueError, match="expected a dictionary of to_dict"):
        from_dict(state)


def test_a_dictionary_that_holds_itself_raises():
    state = changed(("model", "margin"), {})
    state["model"]["margin"] = state["model"]
    with pytest.raises(ValueError, match="recursion"):
        from_dict(state)


def entries(value, path=()):
    """Paths to everything inside a dictionary."""
    for key, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield (*path, key)
        yield from entries(item, (*path, key))


@given(st.randoms(use_true_random=False))
def test_random_damage_gives_a_model_or_a_value_error(rng: random.Random):
    path = rng.choice(list(entries(SMALL)))
    junk = [
        changed,
        None,
        -1,
        7,
        2.5,
        1e308,
        "x",
        [],
        {},
        [[]],
        True,
        2**40,
        {"__class__": "array"},
    ]
    state = changed(path, rng.choice(junk))
    try:
        model = from_dict(state)
    except ValueError:
        return
    assert len(model.predict(np.zeros((3, 1)))) == 3


@pytest.mark.parametrize("model", ENSEMBLES, ids=name_of)
def test_a_broken_tree_inside_an_ensemble_is_found(model):
    state = to_dict(model)
    columns = state["model"]["estimators_"][3]["tree_"]["nodes"]["columns"]
    columns["children_left"]["items"][0] = 0
    with pytest.raises(ValueError, match="backwards"):
        from_dict(state)
    state["model"]["estimators_"] = []
    with pytest.raises(ValueError, match="damaged"):
        from_dict(state)


def test_ensembles_of_one_row_survive():
    for model in (
        MaxMarginIntervalForest(n_estimators=2),
        MaxMarginIntervalBoosting(n_estimators=2),
    ):
        model.fit([[1.0]], [(2.0, inf)])
        assert_same(model, through_json(model), np.array([[0.0], [nan]]))


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(10**9, -1), (-5000, -5000), (None, None), (1, 1)]
)
def test_no_state_asks_for_more_threads_than_there_are_processors(n_jobs, expected):
    forest = MaxMarginIntervalForest(2, random_state=0).fit(X, y).set_params(n_jobs=n_jobs)
    assert from_dict(to_dict(forest)).n_jobs == expected
