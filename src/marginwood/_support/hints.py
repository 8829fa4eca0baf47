"""Arguments by the names that other libraries have for them: the error says what they are called here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["hint"]

Method = TypeVar("Method", bound=Callable[..., Any])


def hint(names: Mapping[str, str]) -> Callable[[Method], Method]:
    """Decorate a method so that an unknown argument among `names` raises a TypeError that says what to use."""

    def decorate(function: Method) -> Method:
        @wraps(function)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() & names.keys():
                where = (
                    type(self).__name__ if function.__name__ == "__init__" else function.__name__
                )
                raise TypeError(f"{where}: there is no argument {name!r}; use {names[name]}.")
            return function(self, *args, **kwargs)

        return cast("Method", method)

    return decorate
