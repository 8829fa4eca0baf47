"""What is said while kernels are compiled: why a call takes seconds, and whether the next run waits as long."""

import sys
from contextlib import suppress

from marginwood._core.cache import UnusableError

# What a user waits for while a kernel, or those of a module, are compiled.
PURPOSES = {
    "price_by_descent": "trees of far-flung targets or weights",
    "anchor": "anchored values",
    "cells": "distributions",
    "concordance": "concordance",
    "crps": "scores of distributions",
    "curves": "distributions",
    "grow": "trees",
    "late": "distributions",
    "optimum": "constants",
    "order": "trees",
    "predict": "predictions",
    "prefixes": "optimal_costs",
    "prune": "pruning",
    "queries": "distributions",
    "subsets": "trees",
    "turnbull": "distributions",
    "wide": "trees in threads",
}


def purpose_of(function):
    """What a kernel is for, in words of the user."""
    module = function.__module__.rpartition(".")[2]
    return PURPOSES.get(function.__name__) or PURPOSES.get(module, module)


class Notices:
    """Lines on stderr, each said once; `store` returns where kernels are kept."""

    def __init__(self, store):
        self.said = set()
        self.last = None
        self.are_kept = True
        self.is_fast = True
        self._store = store

    def say(self, message):
        """One line, at once; where stderr is closed, nothing."""
        with suppress(AttributeError, OSError, ValueError):
            sys.stderr.write(f"marginwood: {message}\n")
            sys.stderr.flush()

    def compiling(self, purpose):
        """Say it once for each purpose: sorting for trees and then growing them with a loss count as one."""
        is_known = purpose in self.said or (self.last is not None and purpose.startswith(self.last))
        self.said.add(purpose)
        self.last = purpose
        if is_known or not self.are_kept:
            return
        try:
            store = self._store()
            store.try_out()
        except UnusableError as error:
            self.not_kept(f"compiling kernels for {purpose}", error)
        else:
            self.say(f"compiling kernels for {purpose}, kept for later runs in {store.folder}")

    def not_kept(self, what, error):
        """Say it once."""
        if self.are_kept:
            self.say(f"{what}, which cannot be kept for later runs ({error})")
        self.are_kept = False

    def without_shortcuts(self, numba, error):
        """Say it once."""
        if self.is_fast:
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            self.say(f"{numba} takes no shortcuts, so compiling takes twice as long ({why})")
        self.is_fast = False
