"""Archives of skops.io: zip files of a schema and arrays, of which nothing is used before it is checked.

The *schema* is a JSON object that says what skops makes of the arrays. Each of its nodes names a
loader of skops and a type. Members are stored, not compressed, so that no archive is larger inside
than outside.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import zipfile
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from marginwood._support.checks import is_integer
from marginwood._support.threads import cap_jobs

__all__ = ["ArchiveError", "find_estimators", "load_plain", "load_transformer", "read_members"]

SCHEMA = "schema.json"
# What makes plain values: skops' name for the maker, and the type.
PLAIN = {
    "JsonNode": "builtins.str",
    "DictNode": "builtins.dict",
    "ListNode": "builtins.list",
    "TupleNode": "builtins.tuple",
    "TypeNode": "builtins.str",
    "NdArrayNode": "numpy.ndarray",
}
# What may make transformers of scikit-learn. Others are left out because they call what the archive
# names, or because SciPy reads beyond such an object if its links are wrong: sparse matrices,
# states of random generators.
TRANSFORMER_LOADERS = {
    *PLAIN,
    "ObjectNode",
    "SetNode",
    "SliceNode",
    "FunctionNode",
    "DTypeNode",
    "CachedNode",
}
# The types of scikit-learn that may be in an archive. They transform by functions of NumPy and
# SciPy that check their arguments; what the only one needs that does not, `_check_encoder` checks.
# Others, such as support vectors, trees, neighbours and factorisations, are read by compiled code
# that trusts them.
STEPS = {
    *(
        "ColumnTransformer",
        "FeatureUnion",
        "Pipeline",
        "FunctionTransformer",
        "make_column_selector",
    ),
    *("OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "Binarizer", "KBinsDiscretizer"),
    *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer"),
    *("PowerTransformer", "QuantileTransformer", "PolynomialFeatures", "VarianceThreshold"),
    *("SimpleImputer", "KNNImputer", "MissingIndicator"),
    *(
        "PCA",
        "IncrementalPCA",
        "TruncatedSVD",
        "FactorAnalysis",
        "FastICA",
        "GaussianRandomProjection",
    ),
    *("KernelPCA", "KernelCenterer", "Nystroem", "RBFSampler"),
}
# Beside what skops trusts by default: values that do nothing, which imputers and column
# transformers hold.
HARMLESS = [
    "builtins.object",
    "numpy.dtype",
    "numpy.number",
    "sklearn.compose._column_transformer.make_column_selector",
]


class ArchiveError(ValueError):
    """What is wrong with an archive, or in it."""


def read_members(file: Any) -> dict[str, bytes]:
    """All members of an open archive whose checksums are right."""
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(
            member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members
        ):
            raise ArchiveError("a member is compressed or encrypted.")
        if sum(member.file_size for member in members) > size:
            raise ArchiveError("it is larger inside than outside.")
        if len({member.filename for member in members}) != len(members):
            raise ArchiveError("two members have one name.")
        return {member.filename: archive.read(member) for member in members}


def load_plain(members: dict[str, bytes]) -> Any:
    """What skops makes of members that hold dicts, lists, tuples, strings, numbers and arrays, and nothing else."""
    import skops.io

    schema = json.loads(members.pop(SCHEMA))
    unused = set(members)
    _check_plain(schema, unused, itertools.count(1))
    if unused:
        raise ArchiveError("a member belongs to nothing.")
    for content in members.values():
        _check_array(content)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(SCHEMA, json.dumps(schema))
    return skops.io.loads(buffer.getvalue(), trusted=[])


def load_transformer(content: bytes) -> Any:
    """A transformer of scikit-learn; raises ArchiveError if it holds others than `STEPS` and plain values."""
    import skops.io

    members = read_members(io.BytesIO(content))
    refused = _find_refused(json.loads(members.pop(SCHEMA)))
    refused |= set(skops.io.get_untrusted_types(data=content)) - set(HARMLESS)
    if refused:
        raise ArchiveError(f"{', '.join(sorted(refused))} cannot be in a model file.")
    for array in members.values():
        _check_array(array)
    transformer = skops.io.loads(content, trusted=HARMLESS)
    for part in find_estimators(transformer):
        if isinstance(part, OneHotEncoder):
            _check_encoder(part)
        if isinstance(part, Pipeline):
            part.memory = None  # a folder of pickles, if it were used
        if "n_jobs" in vars(part):
            part.n_jobs = cap_jobs(part.n_jobs)
    return transformer


def find_estimators(model: BaseEstimator) -> list[BaseEstimator]:
    """An estimator and all estimators inside of it."""
    found: list[BaseEstimator] = []
    waiting: list[Any] = [model]
    seen = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, BaseEstimator):
            found.append(value)
            value = vars(value)
        if isinstance(value, np.ndarray) and value.dtype == object:
            value = value.ravel().tolist()
        waiting += (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list | tuple | set)
            else ()
        )
    return found


def _check_encoder(encoder: OneHotEncoder) -> None:
    """Raise unless every label of a fitted encoder has a column: columns become indices of a sparse matrix, unchecked.

    ``["a", "b", "c"]`` have the places 0, 1 and 2; rare labels share the last one. If "b" is
    dropped, 2 is column 1.
    """
    state = vars(encoder)
    lists = state.get("categories_", []), state.get("_n_features_outs", [])
    drop = state.get("_drop_idx_after_grouping")
    if drop is not None and np.shape(drop) != (len(lists[0]),):
        raise ArchiveError("an encoder drops labels of other features.")
    for idx, (labels, n_columns) in enumerate(zip(*lists, strict=True)):
        rare = state["_infrequent_indices"][idx] if state["_infrequent_enabled"] else None
        place = (
            np.arange(len(labels))
            if rare is None
            else state["_default_to_infrequent_mappings"][idx]
        )
        is_sorted = labels.dtype.kind in "OSU" or np.array_equal(
            labels, np.unique(labels), equal_nan=True
        )
        if (
            np.shape(place) != labels.shape or labels.ndim != 1 or not is_sorted
        ):  # numbers are looked up by bisection
            raise ArchiveError("an encoder has labels in disorder.")
        if drop is not None and drop[idx] is not None:
            place = place[place != drop[idx]]
            place = place - (place > drop[idx])
        columns = np.unique(place)
        if (
            not is_integer(n_columns)
            or n_columns != len(columns)
            or (columns != np.arange(len(columns))).any()
        ):
            raise ArchiveError(
                "an encoder has labels without a column, or columns without a label."
            )
    if not isinstance(lists[1], list):
        raise ArchiveError("an encoder has no list of columns.")


def _check_plain(node: Any, unused: set[str], ids: Any) -> None:
    """Raise unless a node of the schema and all below are plain and each array is used once.

    Nodes get numbers of ours: with its own an archive could make a node part of itself.
    """
    loader = node["__loader__"]
    if PLAIN.get(loader) != f"{node['__module__']}.{node['__class__']}":
        raise ArchiveError(
            f"{node['__module__']}.{node['__class__']} ({loader}) is not allowed in a model file."
        )
    node["__id__"] = next(ids)
    content = node.get("content")
    if loader == "NdArrayNode":
        if node["type"] != "numpy":
            raise ArchiveError("an array of objects is not allowed in a model file.")
        unused.remove(node["file"])
    elif loader == "JsonNode" and not isinstance(content, str):
        raise ArchiveError("a value is not text.")
    elif loader == "DictNode":
        _check_plain(node["key_types"], unused, ids)
        if len(node["key_types"]["content"]) != len(content):
            raise ArchiveError("a dict has more or fewer types than keys.")
    for child in (
        content.values() if loader == "DictNode" else content if isinstance(content, list) else ()
    ):
        _check_plain(child, unused, ids)


def _find_refused(node: Any) -> set[str]:
    """The types that a schema makes by other loaders than those of transformers, or that are not among `STEPS`."""
    if isinstance(node, list):
        return set().union(*map(_find_refused, node))
    if not isinstance(node, dict):
        return set()
    refused = set().union(*map(_find_refused, node.values()))
    if "__loader__" in node:
        module, name = node["__module__"], node["__class__"]
        is_foreign = str(module).split(".")[0] == "sklearn" and name not in STEPS
        if is_foreign or node["__loader__"] not in TRANSFORMER_LOADERS:
            refused.add(f"{module}.{name}")
    return refused


def _check_array(content: bytes) -> None:
    """Raise unless bytes are an array in NumPy's format, without objects, of the size that its header says."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read_header(stream)
    n_entries = int(np.prod([int(length) for length in shape], dtype=object))
    if (
        dtype.hasobject
        or min(shape, default=0) < 0
        or n_entries * dtype.itemsize != len(content) - stream.tell()
    ):
        raise ArchiveError("an array has another size than its header says, or holds objects.")
