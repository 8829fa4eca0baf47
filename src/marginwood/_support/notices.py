"""Warnings that point at the line of the user."""

from __future__ import annotations

import inspect
import warnings

__all__ = ["warn"]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, by itself or through scikit-learn."""
    frame = inspect.currentframe()  # from Python 3.12 on, skip_file_prefixes can do this
    level = 1
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "marginwood",
        "sklearn",
        "joblib",
    ):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
