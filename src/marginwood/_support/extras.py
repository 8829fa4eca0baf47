"""What to do about a missing optional library."""

from __future__ import annotations

from marginwood._version import __version__

__all__ = ["install_hint"]


def install_hint(*extras: str) -> str:
    """How to install extras, from a checkout or a wheel: ``pip install marginwood`` finds nothing before a release."""
    names = ",".join(extras)
    wheel = f"marginwood-{__version__}-py3-none-any.whl"
    return (
        f'pip install ".[{names}]" in a checkout of marginwood, or pip install "{wheel}[{names}]"'
    )
