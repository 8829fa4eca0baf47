"""Models in files: `save` and `load`.

A model file is a zip archive in the format of skops.io with a *header*: a JSON object that holds
the version of the format, the version of the package, the estimator's name, the feature names and
notes. What skops makes of the rest are plain values, of which `_states` makes estimators, so
loading never runs code that a file names.
"""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from typing import Any

from sklearn.utils.validation import check_is_fitted

from marginwood._archive import load_plain, read_members
from marginwood._states import decode_model, encode, shorten
from marginwood._support.files import write_whole
from marginwood._support.text import escaped
from marginwood._version import __version__

__all__ = ["load", "load_with_header", "save"]

FORMAT = 1
HEADER = "marginwood.json"


def save(model: Any, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to one file, which appears whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a ``Pipeline`` that ends with one. Parameters that
        are objects, such as a ``RandomState``, a function or a splitter of scikit-learn, matter to
        `fit` only; their defaults are saved. Steps of a pipeline before the last may be the usual
        transformers of scikit-learn, which encode, scale, fill holes or combine columns, without
        functions of your own.
    path : path-like
        The file.
    notes : dict, default=None
        Anything that JSON can hold, kept in the file's header.

    Raises
    ------
    TypeError
        If the model, or a step of a pipeline, holds something that cannot be saved; the message
        names it.

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
    buffer = io.BytesIO(skops.io.dumps(shorten(encode(model, type(model).__name__))))
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
    with open(path, "rb", opener=_open_at_once) as file:
        try:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is no plain file.")
            members = read_members(file)
            header = _check_header(members.pop(HEADER, None))
            model = decode_model(load_plain(members))
            names = header["feature_names"]
            if names is not None and len(names) != getattr(model, "n_features_in_", len(names)):
                raise ValueError("there are more or fewer names than features.")
            return model, header
        except ImportError:  # XGBoost is not installed
            raise
        except Exception as error:
            reason = str(escaped(error)).strip().split("\n")[0] or type(error).__name__
            raise ValueError(
                f"{os.fspath(path)}: not a model file of marginwood, or damaged: {reason}"
            ) from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; a pipe is not waited for until somebody writes."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_header(text: bytes | None) -> dict[str, Any]:
    header = json.loads(text) if text is not None else None
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise ValueError(f"{HEADER} is missing or is not a header.")
    if header["format"] > FORMAT:
        raise ValueError(
            f"it has format {header['format']} of marginwood {header.get('version')!r:.20}, this is {__version__}, "
            f"which reads formats up to {FORMAT}. Update marginwood."
        )
    names = header.get("feature_names")
    if (
        header["format"] != FORMAT
        or not isinstance(header.get("notes"), dict)
        or not _are_names(names)
    ):
        raise ValueError(f"{HEADER} is not a header.")
    return header


def _are_names(names: Any) -> bool:
    return names is None or (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    )
