"""Estimators that hand on what the fitted model inside them has."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sklearn.exceptions import NotFittedError

__all__ = ["Delegating"]

# Names that an estimator must have of its own.
NOT_HANDED_ON = ("_", "fit", "partial_fit", "set_")


class Delegating:
    """Methods and attributes of the fitted model inside, as its own: those that it does not have itself."""

    _inside: str  # the attribute that holds the model

    def _unfitted(self) -> Any:
        """The model inside before `fit`, which knows already what methods there will be."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        own = type(self).__name__
        if not name.startswith(NOT_HANDED_ON) and self._inside in vars(self):
            return getattr(vars(self)[self._inside], name)
        if name.startswith(NOT_HANDED_ON) or name in signature(type(self)).parameters:
            raise AttributeError(f"{own!r} object has no attribute {name!r}")
        message = f"This {own} is not fitted yet: call fit before {name}."
        if callable(getattr(self._unfitted(), name, None)):

            def not_fitted(*_: Any, **__: Any) -> Any:
                raise NotFittedError(message)

            return not_fitted
        raise NotFittedError(message)
