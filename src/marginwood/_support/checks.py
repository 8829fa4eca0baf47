"""Checks of single arguments: a TypeError for what is not a number, a ValueError for the wrong number or name."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

__all__ = [
    "check_choice",
    "check_count",
    "check_each",
    "check_model",
    "check_not_negative",
    "check_number",
    "check_positive",
    "check_share",
    "is_integer",
]


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number by type; booleans are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_number(name: str, value: Any, expected: str, holds: Callable[[Any], bool]) -> None:
    """Raise unless an argument is a number for which `holds`, which `expected` says in words."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    # A NumPy scalar would cast what it is compared with to its own type, which may overflow.
    if not is_number or not holds(value.item() if isinstance(value, np.generic) else value):
        kind = ValueError if is_number else TypeError
        raise kind(f"{name}: expected {expected}, got {value!r}.")


def check_each(name: str, values: Any, check: Callable[[str, Any], None]) -> list[Any]:
    """An argument that is one value or a sequence of them as a list: at least one, and each of them checked."""
    found: list[Any] = np.ravel(values).tolist()
    if not found:
        raise ValueError(f"{name}: expected at least one, got none.")
    for value in found:
        check(name, value)
    return found


def check_count(name: str, value: Any, least: int, *, otherwise: str = "") -> int:
    """Return an argument that is an integer of at least `least`, or raise; `otherwise` says what else it may be."""
    message = f"{name}: expected an integer >= {least}{otherwise}, got {value!r}."
    if not is_integer(value):
        raise TypeError(message)
    if value < least:
        raise ValueError(message)
    return int(value)


def check_positive(name: str, value: Any) -> None:
    """Raise unless an argument is a finite number greater than 0."""
    check_number(
        name, value, "a finite number > 0", lambda number: 0 < number <= sys.float_info.max
    )


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless an argument is a number of at least 0."""
    check_number(name, value, "a number >= 0", lambda number: number >= 0)


def check_share(name: str, value: Any) -> None:
    """Raise unless an argument is a number from 0 to 1."""
    check_number(name, value, "a number from 0 to 1", lambda number: 0 <= number <= 1)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise unless an argument is one of some names."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_model(name: str, model: Any, *, or_none: bool = False) -> None:
    """Raise unless an argument is an estimator, fitted or not, with fit and predict, or None where that is allowed."""
    if or_none and model is None:
        return
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        found = (
            f"the class {model.__name__}; call it" if isinstance(model, type) else repr(model)[:80]
        )
        otherwise = " or None" if or_none else ""
        raise TypeError(
            f"{name}: expected an estimator with fit and predict{otherwise}, got {found}."
        )
