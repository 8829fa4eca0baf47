"""Archives of skops.io: zip files of a schema and arrays, of which nothing is used before it is checked.

The *schema* is a JSON object that says what skops makes of the arrays. Each of its nodes names a loader of skops and
a type. Members are stored, not compressed, so that no archive is larger inside than outside.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import zipfile
from typing import Any

import numpy as np

__all__ = ["ArchiveError", "load_plain", "load_transformer", "read_members"]

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
# What may make transformers of scikit-learn; which types, skops knows. Others are left out because they call what the
# archive names, or because scikit-learn and SciPy read beyond such an object if its links are wrong: trees, sparse
# matrices, states of random generators.
TRANSFORMER_LOADERS = {*PLAIN, "ObjectNode", "SetNode", "SliceNode", "FunctionNode", "DTypeNode", "CachedNode"}
# Beside what skops trusts by default: values that do nothing, which imputers and column transformers hold.
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
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
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
    """A transformer of scikit-learn; raises ArchiveError, with names, if there is more than skops trusts by default."""
    import skops.io

    members = read_members(io.BytesIO(content))
    refused = _find_refused(json.loads(members.pop(SCHEMA)))
    refused |= set(skops.io.get_untrusted_types(data=content)) - set(HARMLESS)
    if refused:
        raise ArchiveError(f"{', '.join(sorted(refused))} cannot be in a model file.")
    for array in members.values():
        _check_array(array)
    return skops.io.loads(content, trusted=HARMLESS)


def _check_plain(node: Any, unused: set[str], ids: Any) -> None:
    """Raise unless a node of the schema and all below are plain and each array is used once.

    Nodes get numbers of ours: with its own an archive could make a node part of itself.
    """
    loader = node["__loader__"]
    if PLAIN.get(loader) != f"{node['__module__']}.{node['__class__']}":
        raise ArchiveError(f"{node['__module__']}.{node['__class__']} ({loader}) is not allowed in a model file.")
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
    for child in content.values() if loader == "DictNode" else content if isinstance(content, list) else ():
        _check_plain(child, unused, ids)


def _find_refused(node: Any) -> set[str]:
    """The types that a schema makes by loaders which are not those of transformers."""
    if isinstance(node, list):
        return set().union(*map(_find_refused, node))
    if not isinstance(node, dict):
        return set()
    refused = set().union(*map(_find_refused, node.values()))
    if "__loader__" in node and node["__loader__"] not in TRANSFORMER_LOADERS:
        refused.add(f"{node['__module__']}.{node['__class__']}")
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
    if dtype.hasobject or min(shape, default=0) < 0 or n_entries * dtype.itemsize != len(content) - stream.tell():
        raise ArchiveError("an array has another size than its header says, or holds objects.")
