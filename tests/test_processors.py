"""Kernels for the instructions that all processors of a kind have give the bits of those for this one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import test_jit_disabled
from test_jit_disabled import results

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels run as plain Python"
)


# Vectors of another width, no fused multiplication and addition, or another order of what is
# compiled.
@pytest.mark.parametrize(
    "settings", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_OPT": "1", "NUMBA_LOOP_VECTORIZE": "0"}]
)
def test_code_for_other_processors_gives_the_same_bits(settings, tmp_path):
    path = tmp_path / "results.npz"
    program = Path(test_jit_disabled.__file__)
    command = [sys.executable, program, path]
    run = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    elsewhere, here = (
        {name: bits.tobytes() for name, bits in found.items()}
        for found in (np.load(path), results())
    )
    assert elsewhere == here
