"""Test-wide settings that must be in place before matplotlib is imported."""

import os

from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"

# Without JIT a kernel is about a hundred times slower.
N_EXAMPLES = 10 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 100
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, max_examples=N_EXAMPLES)
settings.load_profile("repeatable")
