"""Compile all kernels ahead, so that no later command waits for it.

Example:
  marginwood warmup
"""

from __future__ import annotations

import argparse
import logging
import time

from marginwood._warmup import warmup


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has none of its own."""


def run(args: argparse.Namespace) -> None:  # noqa: ARG001 - all commands are called alike
    """Compile, and say how long it took."""
    start = time.perf_counter()
    warmup()
    logging.getLogger("marginwood").info("kernels are ready (%.1f s)", time.perf_counter() - start)
