"""Models in files: `save` and `load`.

A model file is a zip archive in the format of skops.io with a *header*: a JSON object that holds the version of the
format, the version of the package, the estimator's name, the feature names and notes. Members are stored, not
compressed, so that no file is larger inside than outside. Only plain types of skops are allowed, of which `states`
makes estimators, so loading never runs code that a file names.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import zipfile
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwood._states import decode_model, encode
from marginwood._support.files import write_whole
from marginwood._version import __version__

__all__ = ["load", "load_with_header", "save"]

FORMAT = 1
HEADER = "marginwood.json"
SCHEMA = "schema.json"
# What skops may make: its name for the maker, and the type.
ALLOWED_TYPES = {
    "JsonNode": "builtins.str",
    "DictNode": "builtins.dict",
    "ListNode": "builtins.list",
    "TupleNode": "builtins.tuple",
    "TypeNode": "builtins.str",
    "NdArrayNode": "numpy.ndarray",
}


def save(model: Any, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to one file, which appears whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package. Parameters that are objects, such as a ``RandomState``, a function or
        a splitter of scikit-learn, matter to `fit` only; their defaults are saved.
    path : path-like
        The file.
    notes : dict, default=None
        Anything that JSON can hold, kept in the file's header.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import marginwood
    >>> tree = marginwood.MaxMarginIntervalTree().fit([[1.0], [2.0]], [(0, 1), (2, 3)])
    >>> with TemporaryDirectory() as folder:
    ...     marginwood.save(tree, Path(folder, "tree.mw"))
    ...     marginwood.load(Path(folder, "tree.mw")).predict([[1.2]]).tolist()
    [0.5]
    """
    import skops.io

    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    header = {
        "format": FORMAT,
        "version": __version__,
        "estimator": type(model).__name__,
        "feature_names": None if names is None else [str(name) for name in names],
        "notes": notes or {},
    }
    buffer = io.BytesIO(skops.io.dumps(encode(model, type(model).__name__)))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(HEADER, json.dumps(header))
    write_whole(path, buffer.getbuffer())


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote.

    No code of the file runs, whatever it holds, and node tables are checked before they are used.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator
        The fitted estimator; its predictions are those of the one saved.

    Raises
    ------
    ValueError
        If the file is something else, is damaged, or was written by a newer version.

    See Also
    --------
    save : Writes the file; its example shows both.
    """
    return load_with_header(path)[0]


def load_with_header(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The model of a file and the file's header."""
    with open(path, "rb") as file:  # noqa: PTH123 - any path-like
        try:
            members = _read_members(file)
            header = _check_header(members.pop(HEADER, None))
            model = decode_model(_load_plain(members))
            if header["feature_names"] is not None and len(header["feature_names"]) != model.n_features_in_:
                raise ValueError("there are more or fewer names than features.")
            return model, header
        except Exception as error:
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            raise ValueError(f"{os.fspath(path)}: not a model file of marginwood, or damaged: {reason}") from error


def _read_members(file: Any) -> dict[str, bytes]:
    """All members of an archive whose checksums are right."""
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
            raise ValueError("a member is compressed or encrypted.")
        if sum(member.file_size for member in members) > size:
            raise ValueError("it is larger inside than outside.")
        if len({member.filename for member in members}) != len(members):
            raise ValueError("two members have one name.")
        return {member.filename: archive.read(member) for member in members}


def _check_header(text: bytes | None) -> dict[str, Any]:
    header = json.loads(text) if text is not None else None
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise ValueError(f"{HEADER} is missing or is no header.")
    if header["format"] > FORMAT:
        raise ValueError(
            f"it has format {header['format']} of marginwood {header.get('version')!r:.20}, this is {__version__}, "
            f"which reads formats up to {FORMAT}. Update marginwood."
        )
    names = header.get("feature_names")
    if header["format"] != FORMAT or not isinstance(header.get("notes"), dict) or not _are_names(names):
        raise ValueError(f"{HEADER} is no header.")
    return header


def _are_names(names: Any) -> bool:
    return names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names))


def _load_plain(members: dict[str, bytes]) -> Any:
    """What skops makes of members that hold plain types only."""
    import skops.io

    schema = json.loads(members.pop(SCHEMA))
    unused = set(members)
    _check_node(schema, unused, itertools.count(1))
    if unused:
        raise ValueError("a member belongs to nothing.")
    for content in members.values():
        _check_array(content)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(SCHEMA, json.dumps(schema))
    return skops.io.loads(buffer.getvalue(), trusted=[])


def _check_node(node: Any, unused: set[str], ids: Any) -> None:
    """Raise unless a node of the schema and all below are plain and each array is used once.

    Nodes get numbers of ours: with its own a file could make a node part of itself.
    """
    loader = node["__loader__"]
    if ALLOWED_TYPES.get(loader) != f"{node['__module__']}.{node['__class__']}":
        raise ValueError(f"{node['__module__']}.{node['__class__']} ({loader}) is not allowed in a model file.")
    node["__id__"] = next(ids)
    content = node.get("content")
    if loader == "NdArrayNode":
        if node["type"] != "numpy":
            raise ValueError("an array of objects is not allowed in a model file.")
        unused.remove(node["file"])
    elif loader == "JsonNode" and not isinstance(content, str):
        raise ValueError("a value is not text.")
    elif loader == "DictNode":
        _check_node(node["key_types"], unused, ids)
        if len(node["key_types"]["content"]) != len(content):
            raise ValueError("a dict has more or fewer types than keys.")
    for child in content.values() if loader == "DictNode" else content if isinstance(content, list) else ():
        _check_node(child, unused, ids)


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
        raise ValueError("an array has another size than its header says, or holds objects.")
