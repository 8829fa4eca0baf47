"""What a cell of a table may say: nothing, true or false, a number, and laboratories' words for "less than".

A *measurement* is a number with a side: -1 for ``<1``, which lies below it, 1 for ``>50``, which
lies above, and 0 for the number itself. These two are *strict*; ``≤1`` and ``≥50`` are not, and may
be the number. ``ND`` (not detected) is a strict side without a number; a missing measurement has
neither.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from math import nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwood._support.arrays import as_numbers, raise_first

__all__ = [
    "BOOLEANS",
    "MISSING",
    "Measurement",
    "Measurements",
    "read_measurement",
    "read_measurements",
]

# In lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none")
BOOLEANS = {"true": "1", "false": "0"}

EXPECTED = "a number, '<1', '>50' or 'ND' (not detected), without a unit and with a decimal point"

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
# Thousands: 1,200 or 1 200 or 1'200. No such number starts with a 0, so that 0,125 is an error, as
# 0,5 is.
GROUPED = r"[+-]?[1-9]\d{0,2}(?:([, '])\d{3})(?:\1\d{3})*(?:\.\d+)?"
BELOW = ("<=", "=<", "<", "≤", "⩽", "≦")
ABOVE = (">=", "=>", ">", "≥", "⩾", "≧")
STRICT = ("<", ">")
# Without spaces, dots and hyphens.
NOT_DETECTED = {
    "nd",
    "bdl",
    "blq",
    "bql",
    "bloq",
    "notdetected",
    "nondetect",
    "nondetected",
    "undetected",
} | {"<" + limit for limit in ("dl", "ld", "lod", "mdl", "loq", "lq", "ql", "pql", "rl", "mrl")}
NOT_DETECTED_AT = re.compile(r"n\.?d\.?\s*[(\[]?\s*<?(.*?)[)\]]?")  # ND(0.5), ND <0.5
SAME = str.maketrans({"\N{MINUS SIGN}": "-", "\N{RIGHT SINGLE QUOTATION MARK}": "'"})


class Measurement(NamedTuple):
    """A side, a number, NaN where the cell has none, and whether the number itself is ruled out."""

    side: int
    number: float
    is_strict: bool = False


@lru_cache(maxsize=4096)  # detection limits repeat
def read_measurement(text: str) -> Measurement | None:
    """The measurement that a cell holds; None for what is none."""
    text = unicodedata.normalize("NFKC", text).translate(SAME).strip().lower()
    if text in MISSING:
        return Measurement(0, nan)
    if re.sub(r"[\s.-]", "", text) in NOT_DETECTED:
        return Measurement(-1, nan, True)
    for side, signs in ((-1, BELOW), (1, ABOVE)):
        sign = next((sign for sign in signs if text.startswith(sign)), "")
        if sign:
            return _with_side(side, text.removeprefix(sign), is_strict=sign in STRICT)
    found = NOT_DETECTED_AT.fullmatch(text)
    return _with_side(-1, found[1], is_strict=True) if found else _with_side(0, text)


def _with_side(side: int, text: str, *, is_strict: bool = False) -> Measurement | None:
    text = text.strip()
    if re.fullmatch(GROUPED, text):
        text = re.sub("[, ']", "", text)
    elif not re.fullmatch(NUMBER, text) and (side or text.lstrip("+-") not in ("inf", "infinity")):
        return None
    return Measurement(side, float(text), is_strict)


class Measurements(NamedTuple):
    """Arrays of one shape: measurements as they came, their sides, their numbers, and which are strict."""

    given: npt.NDArray[Any]
    side: npt.NDArray[np.int64]
    number: npt.NDArray[np.float64]
    is_strict: npt.NDArray[np.bool_]


def read_measurements(values: Any, name: str) -> Measurements:
    """Read numbers, texts, or a mixture of both."""
    given = np.asarray(values)
    is_text = [isinstance(cell, str) for cell in given.ravel()] if given.dtype.kind in "OUT" else []
    if not any(is_text):
        numbers = as_numbers(values, name)
        return Measurements(
            numbers, np.zeros(numbers.shape, np.int64), numbers, np.zeros(numbers.shape, np.bool_)
        )
    cells = given.ravel()
    found = [
        read_measurement(cell) if text else Measurement(0, cell)
        for cell, text in zip(cells, is_text, strict=True)
    ]
    unread = np.array([cell is None for cell in found])
    raise_first(unread, f"{name}: expected {EXPECTED}, got something else", "", **{name: cells})
    side, number, is_strict = (
        np.array(column, object) for column in zip(*filter(None, found), strict=True)
    )
    numbers = as_numbers(number, name).reshape(given.shape)
    return Measurements(
        given, side.astype(np.int64).reshape(given.shape), numbers, is_strict.astype(np.bool_)
    )
